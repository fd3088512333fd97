//! Turns that take long: who works on a session, who knows, and what happens when they are not heard of any more.

use std::sync::Arc;
use std::time::Duration;

use flow::Converse;
use flow::session::{Begin, Limits, Memory, Problem, Responded, Standing};
use serde_json::{Value, json};

use crate::desk::{Replica, Running, Time, answer, code, history, line, now, only, show};
use crate::faults::{Faulty, Way};
use crate::talks::{Deeds, Slow, SlowOnce, SlowStart, SlowStep};

const NOTICEABLE: Duration = Duration::from_millis(25);
const LEASE: Duration = Duration::from_secs(10);
const HEARTBEAT: Duration = Duration::from_millis(500);

/// Two replicas over one store, and a session of the first at its first question.
struct Scene {
    deeds: Deeds,
    time: Time,
    store: Arc<Faulty>,
    one: Replica,
    two: Replica,
    id: String,
}

fn replicas<C: Converse + Clone + 'static>(
    make: impl Fn(Deeds) -> C,
) -> (Deeds, Time, Arc<Faulty>, [Replica; 2]) {
    let (deeds, time, memory) = (Deeds::default(), Time::new(), Arc::new(Memory::default()));
    let store = Arc::new(Faulty::over(&memory));
    let one = Replica::new(store.clone(), &time, only(make(deeds.clone())), Limits::default());
    let two = Replica::new(memory, &time, only(make(deeds.clone())), Limits::default());
    (deeds, time, store, [one, two])
}

fn scene<C: Converse + Clone + 'static>(make: impl Fn(Deeds) -> C) -> Scene {
    let (deeds, time, store, [one, two]) = replicas(make);
    let id = now(one.start(json!({}))).unwrap().id;
    Scene { deeds, time, store, one, two, id }
}

impl Scene {
    /// The first replica begins to work on an answer.
    fn answering(&self, value: Value) -> Running<'_, Result<Responded, Problem>> {
        let mut answering = Running::new(self.one.say(&self.id, value));
        assert!(answering.go().is_none());
        answering
    }

    /// The same, until it is written down that it does.
    fn claimed(&self, value: Value) -> Running<'_, Result<Responded, Problem>> {
        let mut answering = self.answering(value);
        self.time.pass(NOTICEABLE);
        assert!(answering.go().is_none());
        assert_eq!(line(self.look()), "processing");
        answering
    }

    fn look(&self) -> Result<Standing, Problem> {
        now(self.two.look(&self.id))
    }
}

#[test]
fn what_takes_long_is_written_down_and_others_see_it() {
    let scene = scene(Slow);
    let mut answering = scene.answering(json!(5));
    scene.time.pass(Duration::from_millis(24));
    assert!(answering.go().is_none());
    assert_eq!(line(scene.look()), "ask n", "nobody has noticed yet");
    scene.time.pass(Duration::from_millis(1));
    assert!(answering.go().is_none());
    assert_eq!(line(scene.look()), "processing");
    // Its answer is there already; nobody else can answer, and it is not gone on with twice.
    assert_eq!(history(&scene.look().unwrap()), [("n".to_owned(), json!(5))]);
    assert_eq!(answer(now(scene.two.say(&scene.id, json!(6)))), "-32003");
    assert_eq!(line(now(scene.two.go_on(&scene.id))), "processing");
    assert_eq!(scene.deeds.worked(), (1, 0));
    scene.deeds.open_gate();
    assert_eq!(answer(answering.go().unwrap()), "ask sure");
    assert_eq!(line(scene.look()), "ask sure");
    assert_eq!(answer(now(scene.two.say(&scene.id, json!(true)))), "done [5,true]");
}

#[test]
fn a_first_turn_that_takes_long_is_kept_meanwhile() {
    let (deeds, time, store, [one, _]) = replicas(SlowStart);
    let mut starting = Running::new(one.start(json!({})));
    assert!(starting.go().is_none());
    assert_eq!(store.count(), 0);
    time.pass(NOTICEABLE);
    assert!(starting.go().is_none());
    assert_eq!(store.count(), 1, "it is kept");
    deeds.open_gate();
    assert_eq!(line(starting.go().unwrap()), "ask n");
}

#[test]
fn cancelling_elsewhere_stops_the_work() {
    let scene = scene(Slow);
    let mut answering = scene.claimed(json!(5));
    assert_eq!(line(now(scene.two.cancel(&scene.id))), "cancelled");
    assert_eq!(scene.deeds.worked(), (1, 0), "it does not know yet");
    scene.time.pass(HEARTBEAT);
    assert_eq!(answer(answering.go().unwrap()), "-32006");
    assert_eq!(scene.deeds.worked(), (1, 1), "the work was dropped");
    assert_eq!(line(scene.look()), "cancelled");
    assert_eq!(line(now(scene.one.cancel(&scene.id))), "-32006");
}

#[test]
fn cancelling_before_anybody_noticed_wins_too() {
    let scene = scene(Slow);
    let mut answering = scene.answering(json!(5));
    assert_eq!(line(now(scene.two.cancel(&scene.id))), "cancelled");
    scene.deeds.open_gate();
    assert_eq!(answer(answering.go().unwrap()), "-32006");
    assert_eq!(line(scene.look()), "cancelled");
}

#[test]
fn cancelling_is_tried_again_when_the_runner_was_faster() {
    let scene = scene(SlowStep);
    let mut answering = Running::new(scene.two.say(&scene.id, json!(5)));
    // The one who cancels has read the session and not written it yet, when the other begins to work on it.
    scene.store.at(1, Way::Wait);
    let mut cancelling = Running::new(scene.one.cancel(&scene.id));
    assert!(cancelling.go().is_none());
    assert!(answering.go().is_none());
    scene.store.heal();
    assert_eq!(line(cancelling.go().unwrap()), "cancelled");
    scene.deeds.open_gate();
    assert_eq!(answer(answering.go().unwrap()), "-32006");
    assert_eq!(line(scene.look()), "cancelled");
}

#[test]
fn a_lease_is_renewed_as_long_as_the_work_goes_on() {
    let scene = scene(Slow);
    let mut answering = scene.claimed(json!(5));
    for _ in 0..60 {
        scene.time.pass(HEARTBEAT);
        assert!(answering.go().is_none());
        assert_eq!(line(scene.look()), "processing");
    }
    assert_eq!(scene.deeds.worked(), (1, 0));
    scene.deeds.open_gate();
    assert_eq!(answer(answering.go().unwrap()), "ask sure");
}

#[test]
fn who_died_is_followed_when_the_lease_is_over_and_not_before() {
    let scene = scene(Slow);
    drop(scene.claimed(json!(5)));
    scene.time.pass(Duration::from_millis(9_999));
    assert_eq!(line(scene.look()), "processing");
    assert_eq!(scene.deeds.worked(), (1, 1));
    scene.time.pass(Duration::from_millis(1));
    scene.deeds.open_gate();
    assert_eq!(line(scene.look()), "ask sure", "the answer was not lost");
    assert_eq!(scene.deeds.worked(), (2, 1));
    assert_eq!(answer(now(scene.two.say(&scene.id, json!(true)))), "done [5,true]");
}

#[test]
fn who_dies_before_it_was_written_down_leaves_everything_as_it_was() {
    let scene = scene(Slow);
    let before = scene.look().unwrap();
    drop(scene.answering(json!(5)));
    let after = scene.look().unwrap();
    assert_eq!(crate::desk::everything(&before), crate::desk::everything(&after));
    scene.deeds.open_gate();
    assert_eq!(answer(now(scene.two.say(&scene.id, json!(6)))), "ask sure");
}

#[test]
fn a_step_is_taken_again_with_the_same_key() {
    let scene = scene(SlowStep);
    let mut answering = scene.answering(json!(5));
    assert_eq!(line(scene.look()), "processing", "before a step it is written down");
    assert!(answering.go().is_none());
    drop(answering);
    scene.time.pass(LEASE);
    scene.deeds.open_gate();
    assert_eq!(line(scene.look()), "ask sure");
    let held = scene.deeds.held();
    assert_eq!(held.len(), 2);
    assert_eq!(held[0], held[1]);
    assert_eq!(answer(now(scene.two.say(&scene.id, json!(true)))), "done [5,2,true]");
}

#[test]
fn what_must_not_happen_twice_does_not() {
    let scene = scene(SlowOnce);
    drop(scene.answering(json!(5)));
    assert_eq!(scene.deeds.booked(), 1);
    scene.time.pass(LEASE);
    scene.deeds.open_gate();
    assert_eq!(line(scene.look()), "error outcome_unknown");
    assert_eq!(scene.deeds.booked(), 1);
    assert!(scene.look().unwrap().session.failed().unwrap().message.contains("book"));
}

#[test]
fn who_was_thought_dead_does_no_harm() {
    let scene = scene(Slow);
    let mut answering = scene.claimed(json!(5));
    // It sleeps for longer than its lease, and somebody else goes on.
    scene.time.pass(LEASE);
    let mut looking = Running::new(scene.two.look(&scene.id));
    assert!(looking.go().is_none());
    scene.time.pass(NOTICEABLE);
    assert!(looking.go().is_none());
    // It wakes up, and learns that it is no longer its turn.
    scene.time.pass(HEARTBEAT);
    assert_eq!(answer(answering.go().unwrap()), "-32003");
    assert_eq!(scene.deeds.worked(), (2, 1));
    scene.deeds.open_gate();
    assert_eq!(line(looking.go().unwrap()), "ask sure");
    assert_eq!(history(&scene.look().unwrap()).len(), 1);
}

#[test]
fn of_two_who_look_at_once_one_goes_on_and_both_see_it() {
    for first_wins in [true, false] {
        let scene = scene(Slow);
        drop(scene.claimed(json!(5)));
        scene.time.pass(LEASE);
        let mut looking = [Running::new(scene.one.look(&scene.id)), Running::new(scene.two.look(&scene.id))];
        for look in &mut looking {
            assert!(look.go().is_none(), "both work on it");
        }
        scene.deeds.open_gate();
        if !first_wins {
            looking.reverse();
        }
        for mut look in looking {
            assert_eq!(line(look.go().unwrap()), "ask sure");
        }
        assert_eq!(history(&scene.look().unwrap()).len(), 1);
    }
}

#[test]
fn of_two_who_look_at_once_one_takes_the_step() {
    let scene = scene(SlowStep);
    drop(scene.answering(json!(5)));
    scene.time.pass(LEASE);
    let mut one = Running::new(scene.one.look(&scene.id));
    assert!(one.go().is_none(), "it takes the step");
    assert_eq!(line(now(scene.two.look(&scene.id))), "processing");
    scene.deeds.open_gate();
    assert_eq!(line(one.go().unwrap()), "ask sure");
    assert_eq!(scene.deeds.held().len(), 2);
}

#[test]
fn presence_gives_way_to_an_answer() {
    let scene = scene(Slow);
    scene.deeds.open_gate();
    scene.store.at(1, Way::Wait);
    let mut present = Running::new(scene.one.go_on(&scene.id));
    assert!(present.go().is_none(), "it has read the session and not written it yet");
    assert_eq!(answer(now(scene.two.say(&scene.id, json!(1)))), "ask sure");
    scene.store.heal();
    assert_eq!(line(present.go().unwrap()), "ask sure");
}

#[test]
fn a_step_beyond_its_time_is_stopped() {
    let scene = scene(Slow);
    let mut answering = scene.claimed(json!(5));
    let mut end = None;
    for _ in 0..700 {
        scene.time.pass(HEARTBEAT);
        end = answering.go();
        if end.is_some() {
            break;
        }
    }
    assert_eq!(answer(end.unwrap()), "-32005");
    assert_eq!(scene.deeds.worked(), (1, 1));
    assert_eq!(line(scene.look()), "error timed_out");
    assert_eq!(answer(now(scene.two.say(&scene.id, json!(1)))), "-32003");
}

#[test]
fn a_store_that_is_away_for_a_while_stops_nothing() {
    let scene = scene(Slow);
    let mut answering = scene.claimed(json!(5));
    scene.store.from(0, Way::FailBefore);
    for _ in 0..5 {
        scene.time.pass(HEARTBEAT);
        assert!(answering.go().is_none());
    }
    scene.store.heal();
    scene.time.pass(HEARTBEAT);
    assert!(answering.go().is_none());
    scene.deeds.open_gate();
    assert_eq!(answer(answering.go().unwrap()), "ask sure");
}

#[test]
fn too_many_sessions_end_a_slow_start_before_it_does_anything() {
    let limits = Limits { sessions: 1, ..Limits::default() };
    let deeds = Deeds::default();
    let replica = Replica::alone(only(SlowStart(deeds.clone())), limits);
    deeds.open_gate();
    assert_eq!(show(&now(replica.begin(Begin::default())).unwrap()), "ask n");
    deeds.close_gate();
    let mut starting = Running::new(replica.begin(Begin::default()));
    assert!(starting.go().is_none());
    replica.time.pass(NOTICEABLE);
    let refused = starting.go().expect("it is over as soon as it is known").unwrap_err();
    assert!(matches!(refused, Problem::Limit { what: "sessions", most: 1, .. }), "{refused:?}");
    assert_eq!((code(&refused), deeds.worked()), (-32000, (2, 1)));
}
