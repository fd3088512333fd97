//! The process dies, or the store fails, at every single operation in turn; then somebody else goes on.

use std::sync::Arc;
use std::time::Duration;

use flow::session::{Begin, Limits, Memory, Responded, Standing, State, Which};
use serde_json::{Value, json};

use crate::desk::{ADA, Replica, Running, Time, history, now, only, show};
use crate::faults::{Faulty, Way};
use crate::talks::{Deeds, Trip};

/// What is answered, by name. `to` is wrong at first, which costs a turn more.
fn answer_to(name: &str, is_first: bool) -> Value {
    match name {
        "city" => json!("Oslo"),
        "from" => json!(3),
        "to" if is_first => json!(1),
        "to" => json!(5),
        "class" => json!("b"),
        "sure" => json!(true),
        other => panic!("nobody asks for {other}"),
    }
}

/// What a client knows: the session, and the answers that were acknowledged.
#[derive(Default)]
struct Client {
    id: Option<String>,
    standing: Option<Standing>,
    acknowledged: Vec<(String, Value)>,
}

impl Client {
    /// Does the next thing that there is to do. `None`: the process died over it.
    fn go(&mut self, replica: &Replica) -> Option<Result<(), i32>> {
        let Some(standing) = self.standing.take() else {
            let begun = match &self.id {
                None => Running::new(replica.start(json!({ "note": null }))).go()?,
                Some(id) => Running::new(replica.look(id)).go()?,
            };
            return Some(
                begun.map_err(|problem| crate::desk::code(&problem)).map(|standing| self.stands(standing)),
            );
        };
        let name = standing.session.current().expect("a question is open").name.clone();
        let value = answer_to(&name, standing.session.invalid().is_none());
        let said = Running::new(replica.say(&standing.id, value.clone())).go()?;
        Some(said.map_err(|problem| crate::desk::code(&problem)).map(|Responded { standing, invalid }| {
            if invalid.is_none() {
                self.acknowledged.push((name, value));
            }
            self.stands(standing);
        }))
    }

    fn stands(&mut self, standing: Standing) {
        self.id = Some(standing.id.clone());
        self.standing = Some(standing);
    }

    fn is_over(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| !standing.session.state().is_open())
    }
}

/// Runs a trip to its end, with one fault on the way. `false`: the trip was over before that.
fn survive(n: usize, way: Way) -> bool {
    let (deeds, time, memory) = (Deeds::default(), Time::new(), Arc::new(Memory::default()));
    let store = Arc::new(Faulty::over(&memory));
    let limits = Limits { longest: Duration::from_hours(1000), ..Limits::default() };
    let first = Replica::new(store.clone(), &time, only(Trip(deeds.clone())), limits);
    let second = Replica::new(memory, &time, only(Trip(deeds.clone())), limits);
    store.at(n, way);
    let (mut client, mut replica) = (Client::default(), &first);
    let case = format!("{way:?} at operation {n}");
    for _ in 0..40 {
        if client.is_over() {
            break;
        }
        match client.go(replica) {
            Some(Ok(())) => {}
            Some(Err(problem)) => {
                assert!(store.has_struck() && !way.dies() && problem == -32603, "{case}: {problem}");
                // The client does not know what came of it, and asks when the lease is over.
                time.pass(limits.lease);
            }
            None => {
                assert!(way.dies(), "{case}");
                replica = &second;
                time.pass(limits.lease);
            }
        }
    }
    let end = client.standing.unwrap_or_else(|| panic!("{case}: it does not come to an end"));
    let told = history(&end);
    match end.session.state() {
        State::Completed => {
            assert_eq!(show(&end), r#"done ["Oslo",3,5,"b",1,true,7,null]"#, "{case}");
            assert_eq!(deeds.booked(), 1, "{case}");
            let names: Vec<_> = told.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["city", "from", "to", "class", "sure"], "{case}");
        }
        State::Error => {
            assert_eq!(show(&end), "error outcome_unknown", "{case}");
            assert!(deeds.booked() <= 1, "{case}");
        }
        state => panic!("{case}: {state:?}"),
    }
    for answer in &client.acknowledged {
        assert!(told.contains(answer), "{case}: {answer:?} was acknowledged");
    }
    let held = deeds.held();
    assert!(held.len() <= 2 && held.iter().all(|key| *key == held[0]), "{case}: one step, one key");
    store.has_struck()
}

#[test]
fn whatever_goes_wrong_acknowledged_answers_stay_and_nothing_happens_twice() {
    for way in Way::ALL {
        let operations = (0..100).take_while(|n| survive(*n, way)).count();
        assert!((12..100).contains(&operations), "{operations} operations were made to fail");
    }
}

/// The same for a session that its client keeps: there only what is done is written to the store.
#[test]
fn a_token_survives_its_server_and_what_was_done_is_not_done_again() {
    for way in Way::ALL {
        for n in 0..8 {
            let (deeds, time, memory) = (Deeds::default(), Time::new(), Arc::new(Memory::default()));
            let store = Arc::new(Faulty::over(&memory));
            let replica = Replica::new(store.clone(), &time, only(Trip(deeds.clone())), Limits::default());
            store.at(n, way);
            let begin = Begin { is_stateless: true, ..Begin::default() };
            let mut standing = now(replica.begin(begin)).unwrap();
            let mut ended = None;
            for value in [json!("Oslo"), json!(3), json!(5), json!("b"), json!(true)] {
                let token = standing.token.clone().unwrap();
                let respond = || {
                    let response = flow::session::Response { value: value.clone(), ..Default::default() };
                    let env = replica.env(ADA);
                    Running::new(async {
                        replica.sessions.respond(&env, Which::Token(&token), response).await
                    })
                    .go()
                };
                // It fails, or its process dies; the client sends the same again.
                let said = respond().and_then(Result::ok).map_or_else(|| respond().unwrap(), Ok);
                match said {
                    Ok(said) => standing = said.standing,
                    Err(problem) => {
                        ended = Some(crate::desk::code(&problem));
                        break;
                    }
                }
            }
            let case = format!("{way:?} at operation {n}");
            let happened = matches!(way, Way::FailAfter | Way::DieAfter);
            // Each response first asks whether the session was cancelled; the fourth and the fifth then note what they do.
            let is_note = [4, 6].contains(&n);
            assert_eq!(ended, (happened && is_note).then_some(-32001), "{case}");
            assert!(deeds.booked() <= 1 && deeds.held().len() <= 1, "{case}");
            assert_eq!(deeds.booked(), usize::from(ended.is_none()), "{case}");
        }
    }
}
