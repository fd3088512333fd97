//! The process dies or the store fails at every single operation in turn, and another process continues.

use std::sync::Arc;
use std::time::Duration;

use flow::session::{
    Limits, MemorySessionStore, RespondReply, SessionRef, SessionSnapshot, SessionState, StartRequest,
};
use serde_json::{Value, json};

use crate::conversations::{EffectLog, Trip};
use crate::faulty_store::{FaultySessionStore, StoreFault};
use crate::harness::{
    ADA, ManualClock, PolledFuture, Replica, answer_history, expect_ready, single_conversation,
    snapshot_to_text,
};

/// The answers, by name. The first answer to `to` is invalid, which costs one more turn.
fn answer_for(name: &str, is_first: bool) -> Value {
    match name {
        "city" => json!("Oslo"),
        "from" => json!(3),
        "to" if is_first => json!(1),
        "to" => json!(5),
        "class" => json!("b"),
        "sure" => json!(true),
        other => panic!("unexpected question {other}"),
    }
}

/// What the client knows: the session, and the acknowledged answers.
#[derive(Default)]
struct CrashTestClient {
    id: Option<String>,
    snapshot: Option<SessionSnapshot>,
    acknowledged: Vec<(String, Value)>,
}

impl CrashTestClient {
    /// Sends the next request. `None` if the process died while handling it.
    fn perform_next_step(&mut self, replica: &Replica) -> Option<Result<(), i32>> {
        let Some(snapshot) = self.snapshot.take() else {
            let begun = match &self.id {
                None => PolledFuture::new(replica.start(json!({ "note": null }))).poll_once()?,
                Some(id) => PolledFuture::new(replica.status(id)).poll_once()?,
            };
            return Some(
                begun
                    .map_err(|problem| crate::harness::error_code(&problem))
                    .map(|snapshot| self.set_snapshot(snapshot)),
            );
        };
        let name = snapshot.session.current_field().expect("a question is open").name.clone();
        let value = answer_for(&name, snapshot.session.invalid_answer().is_none());
        let said = PolledFuture::new(replica.respond(&snapshot.id, value.clone())).poll_once()?;
        Some(said.map_err(|problem| crate::harness::error_code(&problem)).map(
            |RespondReply { snapshot, invalid }| {
                if invalid.is_none() {
                    self.acknowledged.push((name, value));
                }
                self.set_snapshot(snapshot);
            },
        ))
    }

    fn set_snapshot(&mut self, snapshot: SessionSnapshot) {
        self.id = Some(snapshot.id.clone());
        self.snapshot = Some(snapshot);
    }

    fn is_finished(&self) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| !snapshot.session.state().is_open())
    }
}

/// Runs a trip to its end, with one fault on the way. `false` if the trip ended before the fault.
fn complete_trip_with_fault(n: usize, fault: StoreFault) -> bool {
    let (deeds, time, memory) =
        (EffectLog::default(), ManualClock::new(), Arc::new(MemorySessionStore::default()));
    let store = Arc::new(FaultySessionStore::with_inner(&memory));
    let limits = Limits { max_lifetime: Duration::from_hours(1000), ..Limits::default() };
    let first = Replica::new(store.clone(), &time, single_conversation(Trip(deeds.clone())), limits);
    let second = Replica::new(memory, &time, single_conversation(Trip(deeds.clone())), limits);
    store.fail_at(n, fault);
    let (mut client, mut replica) = (CrashTestClient::default(), &first);
    let case = format!("{fault:?} at operation {n}");
    for _ in 0..40 {
        if client.is_finished() {
            break;
        }
        match client.perform_next_step(replica) {
            Some(Ok(())) => {}
            Some(Err(problem)) => {
                assert!(
                    store.has_faulted() && !fault.kills_process() && problem == -32603,
                    "{case}: {problem}"
                );
                // The client does not know the outcome, and asks again after the lease has expired.
                time.advance(limits.lease_duration);
            }
            None => {
                assert!(fault.kills_process(), "{case}");
                replica = &second;
                time.advance(limits.lease_duration);
            }
        }
    }
    let end = client.snapshot.unwrap_or_else(|| panic!("{case}: the session does not end"));
    let told = answer_history(&end);
    match end.session.state() {
        SessionState::Completed => {
            assert_eq!(snapshot_to_text(&end), r#"done ["Oslo",3,5,"b",1,true,7,null]"#, "{case}");
            assert_eq!(deeds.booking_count(), 1, "{case}");
            let names: Vec<_> = told.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["city", "from", "to", "class", "sure"], "{case}");
        }
        SessionState::Error => {
            assert_eq!(snapshot_to_text(&end), "error outcome_unknown", "{case}");
            assert!(deeds.booking_count() <= 1, "{case}");
        }
        state => panic!("{case}: {state:?}"),
    }
    for answer in &client.acknowledged {
        assert!(told.contains(answer), "{case}: {answer:?} was acknowledged");
    }
    let loaded = deeds.reservations();
    assert!(loaded.len() <= 2 && loaded.iter().all(|key| *key == loaded[0]), "{case}: one step, one key");
    store.has_faulted()
}

#[test]
fn acknowledged_answers_survive_every_fault_without_duplicate_effects() {
    for way in StoreFault::ALL {
        let operations = (0..100).take_while(|n| complete_trip_with_fault(*n, way)).count();
        assert!((12..100).contains(&operations), "{operations} operations were made to fail");
    }
}

/// The same for a session in a token, for which only effects are recorded in the store.
#[test]
fn token_session_survives_every_fault_without_duplicate_effects() {
    for way in StoreFault::ALL {
        for n in 0..8 {
            let (deeds, time, memory) =
                (EffectLog::default(), ManualClock::new(), Arc::new(MemorySessionStore::default()));
            let store = Arc::new(FaultySessionStore::with_inner(&memory));
            let replica = Replica::new(
                store.clone(),
                &time,
                single_conversation(Trip(deeds.clone())),
                Limits::default(),
            );
            store.fail_at(n, way);
            let begin = StartRequest { is_stateless: true, ..StartRequest::default() };
            let mut snapshot = expect_ready(replica.start_with(begin)).unwrap();
            let mut ended = None;
            for value in [json!("Oslo"), json!(3), json!(5), json!("b"), json!(true)] {
                let token = snapshot.token.clone().unwrap();
                let respond = || {
                    let response = flow::session::UserResponse { value: value.clone(), ..Default::default() };
                    let env = replica.env(ADA);
                    PolledFuture::new(async {
                        replica.sessions.respond(&env, SessionRef::Token(&token), response).await
                    })
                    .poll_once()
                };
                // The request fails or its process dies; the client sends it again.
                let said = respond().and_then(Result::ok).map_or_else(|| respond().unwrap(), Ok);
                match said {
                    Ok(said) => snapshot = said.snapshot,
                    Err(problem) => {
                        ended = Some(crate::harness::error_code(&problem));
                        break;
                    }
                }
            }
            let case = format!("{way:?} at operation {n}");
            let happened = matches!(way, StoreFault::FailAfter | StoreFault::DieAfter);
            // Each response first checks for cancellation; the fourth and fifth then record their effect.
            let is_note = [4, 6].contains(&n);
            assert_eq!(ended, (happened && is_note).then_some(-32001), "{case}");
            assert!(deeds.booking_count() <= 1 && deeds.reservations().len() <= 1, "{case}");
            assert_eq!(deeds.booking_count(), usize::from(ended.is_none()), "{case}");
        }
    }
}
