//! How much of everything.

use std::sync::Arc;
use std::time::Duration;

use flow::session::{Begin, Limits, Memory, Owner, Problem, Response};
use serde_json::{Value, json};

use crate::desk::{Replica, Time, action, answer, code, line, now, object, only, show};
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
        Problem::Limit { what, most, .. } => (what, *most),
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
        now(replica.sessions.start(&replica.env(other), Begin::default())).unwrap();
    }
    // One that is over makes room, and so does one that has ended without anybody noticing.
    now(replica.cancel(&ids[0])).unwrap();
    now(replica.start(json!({}))).unwrap();
    assert_eq!(code(&now(replica.start(json!({}))).unwrap_err()), -32000);
    replica.time.pass(limits.idle);
    now(replica.start(json!({}))).unwrap();
}

/// In how many seconds to try again.
fn wait(problem: &Problem) -> Option<u64> {
    match problem {
        Problem::Limit { retry_after, .. } => retry_after.map(|wait| wait.as_secs()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn when_there_is_room_for_another_session() {
    let limits = Limits { sessions: 2, ..Limits::default() };
    let replica = Replica::alone(only(Five::default()), limits);
    let begin = |seconds| Begin { timeout: Some(Duration::from_secs(seconds)), ..Begin::default() };
    now(replica.begin(begin(200))).unwrap();
    now(replica.begin(begin(90))).unwrap();
    for (passed, left) in [(0, 90), (60_500, 30), (29_000, 1), (499, 1)] {
        replica.time.pass(Duration::from_millis(passed));
        let refused = now(replica.begin(begin(1))).unwrap_err();
        assert_eq!(wait(&refused), Some(left), "{refused}");
        assert!(refused.to_string().ends_with(&format!("; try again in {left} s")), "{refused}");
    }
    replica.time.pass(Duration::from_secs(1));
    now(replica.begin(begin(1))).unwrap();
    // Who may have none does not get one by waiting.
    let none = Replica::alone(only(Five::default()), Limits { sessions: 0, ..limits });
    assert_eq!(wait(&now(none.begin(begin(1))).unwrap_err()), None);
}

#[test]
fn sessions_that_have_ended_are_remembered_up_to_a_number() {
    let limits = Limits { ended: 3, ..Limits::default() };
    let replica = Replica::alone(only(Five::default()), limits);
    let ids: Vec<_> = (0..6)
        .map(|_| {
            replica.time.pass(Duration::from_secs(1));
            let id = now(replica.start(json!({}))).unwrap().id;
            now(replica.cancel(&id)).unwrap();
            id
        })
        .collect();
    // The last was cancelled after it was begun, which is when they are counted.
    let found: Vec<_> = ids.iter().map(|id| line(now(replica.look(id)))).collect();
    assert_eq!(found, ["-32001", "-32001", "cancelled", "cancelled", "cancelled", "cancelled"]);
    now(replica.start(json!({}))).unwrap();
    assert_eq!(line(now(replica.look(&ids[2]))), "-32001");
    assert_eq!(line(now(replica.look(&ids[3]))), "cancelled");
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

/// Who goes back and forth comes to an end as well.
#[test]
fn turns_that_were_gone_back_from() {
    let limits = Limits { turns: 5, ..Limits::default() };
    for (talk, replica) in [
        ("questions", Replica::alone(only(Many::default()), limits)),
        ("a form", Replica::alone(only(Five::default()), limits)),
    ] {
        let id = now(replica.start(json!({}))).unwrap().id;
        for _ in 0..5 {
            assert_eq!(now(replica.say(&id, json!(1))).unwrap().invalid, None, "{talk}");
            assert_eq!(now(replica.send(&id, action("back"))).unwrap().invalid, None, "{talk}");
        }
        let refused = now(replica.say(&id, json!(1))).unwrap_err();
        assert_eq!((limit(&refused), wait(&refused)), (("turns", 5), None), "{talk}");
        assert_eq!(line(now(replica.look(&id))), "error conversation_too_long", "{talk}");
    }
}

/// Going back gives new attempts, but not for ever: each time costs an answer.
#[test]
fn attempts_after_going_back() {
    let limits = Limits { turns: 5, attempts: 3, rate: (1000, Duration::from_secs(1)), ..Limits::default() };
    let replica = Replica::alone(only(Many::default()), limits);
    let id = now(replica.start(json!({}))).unwrap().id;
    // As many bad ones at each question as may be, without using them up.
    let round = [json!("x"), json!("x"), json!(1), json!("x"), json!("x")];
    let mut refused = 0;
    let end = loop {
        let said = round.iter().try_for_each(|value| {
            refused += usize::from(now(replica.say(&id, value.clone()))?.invalid.is_some());
            Ok(())
        });
        if let Err(problem) = said {
            break problem;
        }
        assert!(refused < 100, "it goes on and on");
        now(replica.send(&id, action("back"))).unwrap();
    };
    // Four whole rounds, and one up to the fifth answer.
    assert_eq!((limit(&end), refused), (("turns", 5), 4 * 4 + 2));
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

/// Refusals are responses too: none of them is free, and all are kept where the session is.
#[test]
fn refused_responses_in_some_time() {
    let limits = Limits { rate: (4, Duration::from_secs(10)), response: 1000, ..Limits::default() };
    let other_prompt = || Response { prompt_id: Some("prompt_9".to_owned()), ..Response::default() };
    let too_large = || Response { value: json!("x".repeat(2000)), ..Response::default() };
    let invalid = || Response { value: json!("x"), ..Response::default() };
    let no_way_back = || action("back");
    let kinds: [(&str, &str, &dyn Fn() -> Response); 4] = [
        ("another prompt", "-32003", &other_prompt),
        ("too large", "-32004", &too_large),
        ("invalid", "refused, ask n !That is not a number", &invalid),
        ("no way back", "refused, ask n !There is no question to go back to", &no_way_back),
    ];
    for (kind, expected, response) in kinds {
        let (store, time) = (Arc::new(Memory::default()), Time::new());
        // Each response comes to another process: what counts is kept.
        let process = || Replica::new(store.clone(), &time, only(Many::default()), limits);
        let id = now(process().start(json!({}))).unwrap().id;
        for _ in 0..4 {
            time.pass(Duration::from_secs(1));
            assert_eq!(answer(now(process().send(&id, response()))), expected, "{kind}");
        }
        // The first window begins with the session.
        for left in (2..=6).rev() {
            let refused = now(process().say(&id, json!(1))).unwrap_err();
            assert_eq!((limit(&refused), wait(&refused)), (("responses", 4), Some(left)), "{kind}");
            time.pass(Duration::from_secs(1));
        }
        time.pass(Duration::from_secs(2));
        assert_eq!(answer(now(process().say(&id, json!(1)))), "ask n", "{kind}");
    }
}

/// Nobody waits for longer than a window because the clock of another machine is ahead.
#[test]
fn a_window_that_was_begun_by_another_clock() {
    let limits =
        Limits { rate: (4, Duration::from_secs(10)), idle: Duration::from_hours(12), ..Limits::default() };
    let (store, time) = (Arc::new(Memory::default()), Time::new());
    time.pass(Duration::from_hours(24));
    let [ahead, behind] = [time.off_by(3_600_000), time.off_by(0)]
        .map(|time| Replica::new(store.clone(), &time, only(Many::default()), limits));
    let id = now(ahead.start(json!({}))).unwrap().id;
    for _ in 0..4 {
        assert_eq!(answer(now(ahead.say(&id, json!(1)))), "ask n");
    }
    assert_eq!(wait(&now(behind.say(&id, json!(1))).unwrap_err()), Some(10));
    behind.time.pass(Duration::from_secs(10));
    assert_eq!(answer(now(behind.say(&id, json!(1)))), "ask n");
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
