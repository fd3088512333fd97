//! Slow turns: leases, visibility to other replicas, and recovery after a crash.

use std::sync::Arc;
use std::time::Duration;

use flow::DynConversation;
use flow::session::{Limits, MemorySessionStore, RespondReply, SessionError, SessionSnapshot, StartRequest};
use serde_json::{Value, json};

use crate::conversations::{EffectLog, Slow, SlowOnce, SlowStart, SlowStep};
use crate::faulty_store::{FaultySessionStore, StoreFault};
use crate::harness::{
    ManualClock, PolledFuture, Replica, answer_history, error_code, expect_ready, reply_to_text,
    result_to_text, single_conversation, snapshot_to_text,
};

const SLOW_TURN_THRESHOLD: Duration = Duration::from_millis(25);
const LEASE_DURATION: Duration = Duration::from_secs(10);
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);

/// Two replicas over one store, and a session of the first at its first question.
struct SessionLeaseFixture {
    effects: EffectLog,
    clock: ManualClock,
    store: Arc<FaultySessionStore>,
    one: Replica,
    two: Replica,
    id: String,
}

fn replicas<C: DynConversation + Clone + 'static>(
    make: impl Fn(EffectLog) -> C,
) -> (EffectLog, ManualClock, Arc<FaultySessionStore>, [Replica; 2]) {
    let (deeds, time, memory) =
        (EffectLog::default(), ManualClock::new(), Arc::new(MemorySessionStore::default()));
    let store = Arc::new(FaultySessionStore::with_inner(&memory));
    let one = Replica::new(store.clone(), &time, single_conversation(make(deeds.clone())), Limits::default());
    let two = Replica::new(memory, &time, single_conversation(make(deeds.clone())), Limits::default());
    (deeds, time, store, [one, two])
}

fn lease_fixture<C: DynConversation + Clone + 'static>(make: impl Fn(EffectLog) -> C) -> SessionLeaseFixture {
    let (deeds, time, store, [one, two]) = replicas(make);
    let id = expect_ready(one.start(json!({}))).unwrap().id;
    SessionLeaseFixture { effects: deeds, clock: time, store, one, two, id }
}

impl SessionLeaseFixture {
    /// The first replica starts to process an answer.
    fn start_answer(&self, value: Value) -> PolledFuture<'_, Result<RespondReply, SessionError>> {
        let mut answering = PolledFuture::new(self.one.respond(&self.id, value));
        assert!(answering.poll_once().is_none());
        answering
    }

    /// The same, until the running turn is saved.
    fn start_claimed_answer(&self, value: Value) -> PolledFuture<'_, Result<RespondReply, SessionError>> {
        let mut answering = self.start_answer(value);
        self.clock.advance(SLOW_TURN_THRESHOLD);
        assert!(answering.poll_once().is_none());
        assert_eq!(result_to_text(self.status()), "processing");
        answering
    }

    fn status(&self) -> Result<SessionSnapshot, SessionError> {
        expect_ready(self.two.status(&self.id))
    }
}

#[test]
fn slow_turn_is_saved_and_visible_to_other_replicas() {
    let scene = lease_fixture(Slow);
    let mut answering = scene.start_answer(json!(5));
    scene.clock.advance(Duration::from_millis(24));
    assert!(answering.poll_once().is_none());
    assert_eq!(result_to_text(scene.status()), "ask n", "not visible yet");
    scene.clock.advance(Duration::from_millis(1));
    assert!(answering.poll_once().is_none());
    assert_eq!(result_to_text(scene.status()), "processing");
    // The answer is saved; no other answer is accepted, and the turn does not run twice.
    assert_eq!(answer_history(&scene.status().unwrap()), [("n".to_owned(), json!(5))]);
    assert_eq!(reply_to_text(expect_ready(scene.two.respond(&scene.id, json!(6)))), "-32003");
    assert_eq!(result_to_text(expect_ready(scene.two.keep_alive(&scene.id))), "processing");
    assert_eq!(scene.effects.work_counts(), (1, 0));
    scene.effects.open_gate();
    assert_eq!(reply_to_text(answering.poll_once().unwrap()), "ask sure");
    assert_eq!(result_to_text(scene.status()), "ask sure");
    assert_eq!(reply_to_text(expect_ready(scene.two.respond(&scene.id, json!(true)))), "done [5,true]");
}

#[test]
fn slow_first_turn_is_saved_while_running() {
    let (deeds, time, store, [one, _]) = replicas(SlowStart);
    let mut starting = PolledFuture::new(one.start(json!({})));
    assert!(starting.poll_once().is_none());
    assert_eq!(store.operation_count(), 0);
    time.advance(SLOW_TURN_THRESHOLD);
    assert!(starting.poll_once().is_none());
    assert_eq!(store.operation_count(), 1, "it is kept");
    deeds.open_gate();
    assert_eq!(result_to_text(starting.poll_once().unwrap()), "ask n");
}

#[test]
fn cancel_on_another_replica_stops_the_turn() {
    let scene = lease_fixture(Slow);
    let mut answering = scene.start_claimed_answer(json!(5));
    assert_eq!(result_to_text(expect_ready(scene.two.cancel(&scene.id))), "cancelled");
    assert_eq!(scene.effects.work_counts(), (1, 0), "it does not know yet");
    scene.clock.advance(HEARTBEAT_INTERVAL);
    assert_eq!(reply_to_text(answering.poll_once().unwrap()), "-32006");
    assert_eq!(scene.effects.work_counts(), (1, 1), "the work was dropped");
    assert_eq!(result_to_text(scene.status()), "cancelled");
    assert_eq!(result_to_text(expect_ready(scene.one.cancel(&scene.id))), "-32006");
}

#[test]
fn cancel_before_the_first_save_wins() {
    let scene = lease_fixture(Slow);
    let mut answering = scene.start_answer(json!(5));
    assert_eq!(result_to_text(expect_ready(scene.two.cancel(&scene.id))), "cancelled");
    scene.effects.open_gate();
    assert_eq!(reply_to_text(answering.poll_once().unwrap()), "-32006");
    assert_eq!(result_to_text(scene.status()), "cancelled");
}

#[test]
fn cancel_is_retried_after_a_concurrent_save() {
    let scene = lease_fixture(SlowStep);
    let mut answering = PolledFuture::new(scene.two.respond(&scene.id, json!(5)));
    // The cancelling replica has read but not written the session when the other starts a turn.
    scene.store.fail_at(1, StoreFault::WaitUntilCleared);
    let mut cancelling = PolledFuture::new(scene.one.cancel(&scene.id));
    assert!(cancelling.poll_once().is_none());
    assert!(answering.poll_once().is_none());
    scene.store.clear_fault();
    assert_eq!(result_to_text(cancelling.poll_once().unwrap()), "cancelled");
    scene.effects.open_gate();
    assert_eq!(reply_to_text(answering.poll_once().unwrap()), "-32006");
    assert_eq!(result_to_text(scene.status()), "cancelled");
}

#[test]
fn lease_is_renewed_while_the_turn_runs() {
    let scene = lease_fixture(Slow);
    let mut answering = scene.start_claimed_answer(json!(5));
    for _ in 0..60 {
        scene.clock.advance(HEARTBEAT_INTERVAL);
        assert!(answering.poll_once().is_none());
        assert_eq!(result_to_text(scene.status()), "processing");
    }
    assert_eq!(scene.effects.work_counts(), (1, 0));
    scene.effects.open_gate();
    assert_eq!(reply_to_text(answering.poll_once().unwrap()), "ask sure");
}

#[test]
fn abandoned_turn_is_resumed_only_after_its_lease_expires() {
    let scene = lease_fixture(Slow);
    drop(scene.start_claimed_answer(json!(5)));
    scene.clock.advance(Duration::from_millis(9_999));
    assert_eq!(result_to_text(scene.status()), "processing");
    assert_eq!(scene.effects.work_counts(), (1, 1));
    scene.clock.advance(Duration::from_millis(1));
    scene.effects.open_gate();
    assert_eq!(result_to_text(scene.status()), "ask sure", "the answer was not lost");
    assert_eq!(scene.effects.work_counts(), (2, 1));
    assert_eq!(reply_to_text(expect_ready(scene.two.respond(&scene.id, json!(true)))), "done [5,true]");
}

#[test]
fn crash_before_the_first_save_leaves_the_session_unchanged() {
    let scene = lease_fixture(Slow);
    let before = scene.status().unwrap();
    drop(scene.start_answer(json!(5)));
    let after = scene.status().unwrap();
    assert_eq!(crate::harness::snapshot_json(&before), crate::harness::snapshot_json(&after));
    scene.effects.open_gate();
    assert_eq!(reply_to_text(expect_ready(scene.two.respond(&scene.id, json!(6)))), "ask sure");
}

#[test]
fn step_is_retried_with_the_same_idempotency_key() {
    let scene = lease_fixture(SlowStep);
    let mut answering = scene.start_answer(json!(5));
    assert_eq!(result_to_text(scene.status()), "processing", "the turn is saved before a step");
    assert!(answering.poll_once().is_none());
    drop(answering);
    scene.clock.advance(LEASE_DURATION);
    scene.effects.open_gate();
    assert_eq!(result_to_text(scene.status()), "ask sure");
    let loaded = scene.effects.reservations();
    assert_eq!(loaded.len(), 2);
    assert_eq!(loaded[0], loaded[1]);
    assert_eq!(reply_to_text(expect_ready(scene.two.respond(&scene.id, json!(true)))), "done [5,2,true]");
}

#[test]
fn once_effect_is_not_repeated_after_a_crash() {
    let scene = lease_fixture(SlowOnce);
    drop(scene.start_answer(json!(5)));
    assert_eq!(scene.effects.booking_count(), 1);
    scene.clock.advance(LEASE_DURATION);
    scene.effects.open_gate();
    assert_eq!(result_to_text(scene.status()), "error outcome_unknown");
    assert_eq!(scene.effects.booking_count(), 1);
    assert!(scene.status().unwrap().session.failure().unwrap().message.contains("book"));
}

#[test]
fn turn_with_an_expired_lease_is_rejected() {
    let scene = lease_fixture(Slow);
    let mut answering = scene.start_claimed_answer(json!(5));
    // The process is suspended for longer than its lease, and another one continues.
    scene.clock.advance(LEASE_DURATION);
    let mut looking = PolledFuture::new(scene.two.status(&scene.id));
    assert!(looking.poll_once().is_none());
    scene.clock.advance(SLOW_TURN_THRESHOLD);
    assert!(looking.poll_once().is_none());
    // It wakes up and notices that it has lost the turn.
    scene.clock.advance(HEARTBEAT_INTERVAL);
    assert_eq!(reply_to_text(answering.poll_once().unwrap()), "-32003");
    assert_eq!(scene.effects.work_counts(), (2, 1));
    scene.effects.open_gate();
    assert_eq!(result_to_text(looking.poll_once().unwrap()), "ask sure");
    assert_eq!(answer_history(&scene.status().unwrap()).len(), 1);
}

#[test]
fn concurrent_status_calls_resume_an_abandoned_turn_once() {
    for first_wins in [true, false] {
        let scene = lease_fixture(Slow);
        drop(scene.start_claimed_answer(json!(5)));
        scene.clock.advance(LEASE_DURATION);
        let mut looking =
            [PolledFuture::new(scene.one.status(&scene.id)), PolledFuture::new(scene.two.status(&scene.id))];
        for look in &mut looking {
            assert!(look.poll_once().is_none(), "both work on it");
        }
        scene.effects.open_gate();
        if !first_wins {
            looking.reverse();
        }
        for mut look in looking {
            assert_eq!(result_to_text(look.poll_once().unwrap()), "ask sure");
        }
        assert_eq!(answer_history(&scene.status().unwrap()).len(), 1);
    }
}

#[test]
fn concurrent_status_calls_repeat_a_step_once() {
    let scene = lease_fixture(SlowStep);
    drop(scene.start_answer(json!(5)));
    scene.clock.advance(LEASE_DURATION);
    let mut one = PolledFuture::new(scene.one.status(&scene.id));
    assert!(one.poll_once().is_none(), "it takes the step");
    assert_eq!(result_to_text(expect_ready(scene.two.status(&scene.id))), "processing");
    scene.effects.open_gate();
    assert_eq!(result_to_text(one.poll_once().unwrap()), "ask sure");
    assert_eq!(scene.effects.reservations().len(), 2);
}

#[test]
fn keep_alive_yields_to_a_concurrent_answer() {
    let scene = lease_fixture(Slow);
    scene.effects.open_gate();
    scene.store.fail_at(1, StoreFault::WaitUntilCleared);
    let mut present = PolledFuture::new(scene.one.keep_alive(&scene.id));
    assert!(present.poll_once().is_none(), "the session is read but not written yet");
    assert_eq!(reply_to_text(expect_ready(scene.two.respond(&scene.id, json!(1)))), "ask sure");
    scene.store.clear_fault();
    assert_eq!(result_to_text(present.poll_once().unwrap()), "ask sure");
}

#[test]
fn turn_exceeding_its_timeout_is_stopped() {
    let scene = lease_fixture(Slow);
    let mut answering = scene.start_claimed_answer(json!(5));
    let mut end = None;
    for _ in 0..700 {
        scene.clock.advance(HEARTBEAT_INTERVAL);
        end = answering.poll_once();
        if end.is_some() {
            break;
        }
    }
    assert_eq!(reply_to_text(end.unwrap()), "-32005");
    assert_eq!(scene.effects.work_counts(), (1, 1));
    assert_eq!(result_to_text(scene.status()), "error timed_out");
    assert_eq!(reply_to_text(expect_ready(scene.two.respond(&scene.id, json!(1)))), "-32003");
}

#[test]
fn short_store_outage_does_not_stop_the_turn() {
    let scene = lease_fixture(Slow);
    let mut answering = scene.start_claimed_answer(json!(5));
    scene.store.fail_from(0, StoreFault::FailBefore);
    for _ in 0..5 {
        scene.clock.advance(HEARTBEAT_INTERVAL);
        assert!(answering.poll_once().is_none());
    }
    scene.store.clear_fault();
    scene.clock.advance(HEARTBEAT_INTERVAL);
    assert!(answering.poll_once().is_none());
    scene.effects.open_gate();
    assert_eq!(reply_to_text(answering.poll_once().unwrap()), "ask sure");
}

#[test]
fn slow_start_over_the_session_limit_is_rejected_early() {
    let limits = Limits { max_open_sessions: 1, ..Limits::default() };
    let deeds = EffectLog::default();
    let replica = Replica::with_own_store(single_conversation(SlowStart(deeds.clone())), limits);
    deeds.open_gate();
    assert_eq!(
        snapshot_to_text(&expect_ready(replica.start_with(StartRequest::default())).unwrap()),
        "ask n"
    );
    deeds.close_gate();
    let mut starting = PolledFuture::new(replica.start_with(StartRequest::default()));
    assert!(starting.poll_once().is_none());
    replica.time.advance(SLOW_TURN_THRESHOLD);
    let refused = starting.poll_once().expect("it ends as soon as the limit is known").unwrap_err();
    assert!(matches!(refused, SessionError::LimitReached { what: "sessions", most: 1, .. }), "{refused:?}");
    assert_eq!((error_code(&refused), deeds.work_counts()), (-32000, (2, 1)));
}
