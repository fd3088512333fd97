//! How much of everything.

use std::time::Duration;

use flow::session::{Begin, Limits, Owner, Problem, Response};
use serde_json::{Value, json};

use crate::desk::{Replica, action, answer, code, line, now, object, only, show};
use crate::talks::{Deeds, Five, Many, Trip, talk};

talk! {
    /// Takes texts of any length, as many as one likes.
    Texts, |_deeds, f| {
        let mut bytes = 0;
        loop {
            match f.ask("t", flow::text("More?").length(1..=600_000).optional()).await? {
                None => return Ok(json!(bytes)),
                Some(text) => bytes += text.len(),
            }
        }
    }
}

fn limit(problem: &Problem) -> (&'static str, usize) {
    match problem {
        Problem::Limit { what, most } => (what, *most),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sessions_of_one_owner() {
    let limits = Limits { sessions: 3, ..Limits::default() };
    let replica = Replica::alone(only(Five::default()), limits);
    let ids: Vec<_> = (0..3).map(|_| now(replica.start(json!({}))).unwrap().id).collect();
    assert_eq!(limit(&now(replica.start(json!({}))).unwrap_err()), ("sessions", 3));
    // Others are not concerned.
    for other in [Owner { tenant: "t", subject: "eve" }, Owner { tenant: "u", subject: "ada" }] {
        now(replica.sessions.start(&replica.clerk(other), Begin::default())).unwrap();
    }
    // One that is over makes room, and so does one that has ended without anybody noticing.
    now(replica.cancel(&ids[0])).unwrap();
    now(replica.start(json!({}))).unwrap();
    assert_eq!(code(&now(replica.start(json!({}))).unwrap_err()), -32000);
    replica.time.pass(limits.idle);
    now(replica.start(json!({}))).unwrap();
}

#[test]
fn turns_of_one_session() {
    let limits = Limits { turns: 5, ..Limits::default() };
    let replica = Replica::alone(only(Many::default()), limits);
    let id = now(replica.start(json!({}))).unwrap().id;
    for _ in 0..5 {
        assert_eq!(answer(now(replica.say(&id, json!(1)))), "ask n");
    }
    assert_eq!(limit(&now(replica.say(&id, json!(1))).unwrap_err()), ("turns", 5));
    assert_eq!(line(now(replica.look(&id))), "error conversation_too_long");
    assert_eq!(answer(now(replica.say(&id, json!(1)))), "-32003");
}

#[test]
fn bytes_of_one_session() {
    let replica = Replica::alone(only(Texts::default()), Limits::default());
    let begun = now(replica.start(json!({}))).unwrap();
    let large = json!("x".repeat(400_000));
    // An answer is kept in the history and in the journal.
    assert_eq!(answer(now(replica.say(&begun.id, large.clone()))), "ask t");
    replica.time.pass(Duration::from_secs(1));
    assert_eq!(limit(&now(replica.say(&begun.id, large)).unwrap_err()), ("bytes", 1024 * 1024));
    let ended = now(replica.look(&begun.id)).unwrap();
    assert_eq!(show(&ended), "error conversation_too_long");
    assert_eq!(ended.session.created(), begun.session.created());
    assert_eq!(answer(now(replica.say(&begun.id, json!("x")))), "-32003");
    // One that is too large from the beginning is not begun.
    let arguments = json!({ "x": "x".repeat(2 << 20) });
    assert_eq!(limit(&now(replica.start(arguments)).unwrap_err()), ("bytes", 1024 * 1024));
}

#[test]
fn bytes_of_one_response() {
    let replica = Replica::alone(only(Texts::default()), Limits::default());
    let id = now(replica.start(json!({}))).unwrap().id;
    let huge = "x".repeat(600_000);
    let with = |metadata: Value| Response { metadata: Some(object(metadata)), ..Response::default() };
    for response in [
        Response { value: json!(huge), ..Response::default() },
        Response { value: json!([huge]), ..Response::default() },
        Response { value: json!({ huge.as_str(): 1 }), ..Response::default() },
        Response { timestamp: Some(json!(huge)), ..Response::default() },
        with(json!({ "a": huge })),
        with(json!({ huge.as_str(): 1 })),
        with(json!({ "a": { huge.as_str(): 1 }, "action": "skip" })),
    ] {
        let refused = now(replica.send(&id, response)).unwrap_err();
        assert!(matches!(refused, Problem::TooLarge { limit: 524_288 }), "{refused:?}");
        assert_eq!(line(now(replica.look(&id))), "ask t", "nothing happened");
    }
}

#[test]
fn attempts_at_one_question() {
    let replica = Replica::alone(only(Trip::default()), Limits::default());
    let id = now(replica.start(json!({}))).unwrap().id;
    for _ in 0..4 {
        now(replica.say(&id, json!(1))).unwrap().invalid.unwrap();
    }
    assert_eq!(answer(now(replica.say(&id, json!("Oslo")))), "ask from");
    for _ in 0..5 {
        now(replica.say(&id, json!("x"))).unwrap().invalid.unwrap();
    }
    // They are used up, even if the next one is right.
    assert_eq!(answer(now(replica.say(&id, json!(1)))), "-32004");
    let ended = now(replica.look(&id)).unwrap();
    assert_eq!(show(&ended), "error too_many_attempts");
    assert_eq!(ended.session.history().len(), 1);
}

#[test]
fn responses_in_some_time() {
    let limits = Limits { rate: (4, Duration::from_secs(10)), ..Limits::default() };
    let replica = Replica::alone(only(Many::default()), limits);
    let id = now(replica.start(json!({}))).unwrap().id;
    for _ in 0..2 {
        assert_eq!(answer(now(replica.say(&id, json!(1)))), "ask n");
        now(replica.say(&id, json!("x"))).unwrap().invalid.unwrap();
    }
    for _ in 0..3 {
        assert_eq!(limit(&now(replica.say(&id, json!(1))).unwrap_err()), ("responses", 4));
        assert_eq!(limit(&now(replica.send(&id, action("back"))).unwrap_err()), ("responses", 4));
    }
    assert_eq!(line(now(replica.look(&id))), "ask n !That is not a number", "looking is free");
    replica.time.pass(Duration::from_secs(10));
    assert_eq!(answer(now(replica.say(&id, json!(0)))), "done 2");
}

/// What is done after so many seconds, and what it comes to.
fn timeline(replica: &Replica, id: &str, events: &[(u64, &str, &str)]) {
    for (n, (seconds, event, expected)) in events.iter().enumerate() {
        replica.time.pass(Duration::from_secs(*seconds));
        let found = match *event {
            "look" => line(now(replica.look(id))),
            "go on" => line(now(replica.go_on(id))),
            "cancel" => line(now(replica.cancel(id))),
            "sweep" => now(replica.sessions.store().sweep(replica.time.now())).unwrap().to_string(),
            value => answer(now(replica.say(id, serde_json::from_str(value).unwrap()))),
        };
        assert_eq!(found, *expected, "event {n}");
    }
}

fn many(limits: Limits) -> (Replica, String) {
    let replica = Replica::alone(only(Many::default()), limits);
    let id = now(replica.start(json!({}))).unwrap().id;
    (replica, id)
}

#[test]
fn a_silent_user() {
    let (replica, id) = many(Limits::default());
    timeline(
        &replica,
        &id,
        &[
            (299, "1", "ask n"),
            (299, "\"x\"", "refused, ask n !That is not a number"),
            (299, "go on", "ask n !That is not a number"),
            (299, "look", "ask n !That is not a number"),
            // Looking does not count.
            (1, "look", "-32002"),
            (0, "1", "-32002"),
            (0, "go on", "-32002"),
            (0, "cancel", "-32002"),
            (0, "sweep", "1"),
            (0, "sweep", "0"),
            (0, "look", "-32002"),
            // It was remembered that there was one; then not even that.
            (24 * 3600 - 1, "sweep", "0"),
            (0, "look", "-32002"),
            (1, "sweep", "1"),
            (0, "look", "-32001"),
        ],
    );
}

#[test]
fn a_time_of_ones_own() {
    let replica = Replica::alone(only(Many::default()), Limits::default());
    for (asked_for, given) in [(1, 1), (3600, 3600), (u64::MAX / 2, 24 * 3600)] {
        let timeout = Some(Duration::from_secs(asked_for));
        let begun = now(replica.begin(Begin { timeout, ..Begin::default() })).unwrap();
        assert_eq!(begun.session.timeout(), Duration::from_secs(given));
        let left = begun.ends.duration_since(replica.time.now());
        assert_eq!(left.unsigned_abs(), Duration::from_secs(given));
        timeline(&replica, &begun.id, &[(given - 1, "look", "ask n"), (1, "look", "-32002")]);
    }
}

#[test]
fn the_longest_time() {
    let (replica, id) = many(Limits { longest: Duration::from_secs(700), ..Limits::default() });
    timeline(
        &replica,
        &id,
        &[(299, "1", "ask n"), (299, "1", "ask n"), (101, "1", "ask n"), (1, "1", "-32002")],
    );
}

#[test]
fn grace() {
    let (replica, id) = many(Limits::default());
    timeline(
        &replica,
        &id,
        &[
            (1, "0", "done 0"),
            (59, "look", "done 0"),
            (0, "cancel", "-32003"),
            (0, "1", "-32003"),
            (0, "sweep", "0"),
            (1, "look", "-32002"),
            (0, "cancel", "-32002"),
        ],
    );
    let (replica, id) = many(Limits::default());
    timeline(
        &replica,
        &id,
        &[
            (1, "cancel", "cancelled"),
            (1, "1", "-32006"),
            (58, "go on", "cancelled"),
            (0, "cancel", "-32006"),
            (1, "cancel", "-32002"),
        ],
    );
}

#[test]
fn a_journal_replays_in_as_many_steps_as_it_has() {
    let deeds = Deeds::default();
    let limits = Limits { rate: (1000, Duration::from_secs(1)), ..Limits::default() };
    let replica = Replica::alone(only(Many(deeds.clone())), limits);
    let id = now(replica.start(json!({}))).unwrap().id;
    assert_eq!(deeds.questions(), 1);
    for n in 1..200 {
        assert_eq!(answer(now(replica.say(&id, json!(1)))), "ask n");
        assert_eq!(deeds.questions(), n + 1, "each answer is read once, and then one more is asked for");
        now(replica.look(&id)).unwrap();
        assert_eq!(deeds.questions(), 0, "looking replays nothing");
    }
    assert_eq!(answer(now(replica.say(&id, json!(0)))), "done 199");
}
