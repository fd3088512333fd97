//! Session limits.

use std::sync::Arc;
use std::time::Duration;

use flow::session::{Limits, MemorySessionStore, SessionError, SessionOwner, StartRequest, UserResponse};
use serde_json::{Value, json};

use crate::conversations::{EffectLog, Five, Many, Trip, test_conversation};
use crate::harness::{
    ManualClock, Replica, action_response, error_code, expect_ready, object, reply_to_text, result_to_text,
    single_conversation, snapshot_to_text,
};

test_conversation! {
    /// Accepts any number of strings of any length.
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

fn reached_limit(problem: &SessionError) -> (&'static str, usize) {
    match problem {
        SessionError::LimitReached { what, most, .. } => (what, *most),
        other => panic!("{other:?}"),
    }
}

#[test]
fn open_sessions_per_owner_are_limited() {
    let limits = Limits { max_open_sessions: 3, ..Limits::default() };
    let replica = Replica::with_own_store(single_conversation(Five::default()), limits);
    let ids: Vec<_> = (0..3).map(|_| expect_ready(replica.start(json!({}))).unwrap().id).collect();
    assert_eq!(reached_limit(&expect_ready(replica.start(json!({}))).unwrap_err()), ("sessions", 3));
    // Other owners are not affected.
    for other in [SessionOwner { tenant: "t", subject: "eve" }, SessionOwner { tenant: "u", subject: "ada" }]
    {
        expect_ready(replica.sessions.start(&replica.env(other), StartRequest::default())).unwrap();
    }
    // An ended session makes room, and so does an expired one.
    expect_ready(replica.cancel(&ids[0])).unwrap();
    expect_ready(replica.start(json!({}))).unwrap();
    assert_eq!(error_code(&expect_ready(replica.start(json!({}))).unwrap_err()), -32000);
    replica.time.advance(limits.idle_timeout);
    expect_ready(replica.start(json!({}))).unwrap();
}

/// The `retry_after` of an error, in seconds.
fn retry_after_seconds(problem: &SessionError) -> Option<u64> {
    match problem {
        SessionError::LimitReached { retry_after, .. } => retry_after.map(|wait| wait.as_secs()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn retry_after_is_the_earliest_session_expiry() {
    let limits = Limits { max_open_sessions: 2, ..Limits::default() };
    let replica = Replica::with_own_store(single_conversation(Five::default()), limits);
    let begin =
        |seconds| StartRequest { timeout: Some(Duration::from_secs(seconds)), ..StartRequest::default() };
    expect_ready(replica.start_with(begin(200))).unwrap();
    expect_ready(replica.start_with(begin(90))).unwrap();
    for (passed, left) in [(0, 90), (60_500, 30), (29_000, 1), (499, 1)] {
        replica.time.advance(Duration::from_millis(passed));
        let refused = expect_ready(replica.start_with(begin(1))).unwrap_err();
        assert_eq!(retry_after_seconds(&refused), Some(left), "{refused}");
        assert!(refused.to_string().ends_with(&format!("; try again in {left} s")), "{refused}");
    }
    replica.time.advance(Duration::from_secs(1));
    expect_ready(replica.start_with(begin(1))).unwrap();
    // With a limit of zero, waiting does not help.
    let none = Replica::with_own_store(
        single_conversation(Five::default()),
        Limits { max_open_sessions: 0, ..limits },
    );
    assert_eq!(retry_after_seconds(&expect_ready(none.start_with(begin(1))).unwrap_err()), None);
}

#[test]
fn ended_sessions_are_retained_up_to_the_limit() {
    let limits = Limits { max_ended_sessions: 3, ..Limits::default() };
    let replica = Replica::with_own_store(single_conversation(Five::default()), limits);
    let ids: Vec<_> = (0..6)
        .map(|_| {
            replica.time.advance(Duration::from_secs(1));
            let id = expect_ready(replica.start(json!({}))).unwrap().id;
            expect_ready(replica.cancel(&id)).unwrap();
            id
        })
        .collect();
    // Sessions are only counted when one is started, and the last one was cancelled after that.
    let found: Vec<_> = ids.iter().map(|id| result_to_text(expect_ready(replica.status(id)))).collect();
    assert_eq!(found, ["-32001", "-32001", "cancelled", "cancelled", "cancelled", "cancelled"]);
    expect_ready(replica.start(json!({}))).unwrap();
    assert_eq!(result_to_text(expect_ready(replica.status(&ids[2]))), "-32001");
    assert_eq!(result_to_text(expect_ready(replica.status(&ids[3]))), "cancelled");
}

#[test]
fn turns_per_session_are_limited() {
    let limits = Limits { max_turns: 5, ..Limits::default() };
    let replica = Replica::with_own_store(single_conversation(Many::default()), limits);
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    for _ in 0..5 {
        assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(1)))), "ask n");
    }
    assert_eq!(reached_limit(&expect_ready(replica.respond(&id, json!(1))).unwrap_err()), ("turns", 5));
    assert_eq!(result_to_text(expect_ready(replica.status(&id))), "error conversation_too_long");
    assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(1)))), "-32003");
}

/// Going back and forth reaches the limit as well.
#[test]
fn undone_turns_count_towards_the_limit() {
    let limits = Limits { max_turns: 5, ..Limits::default() };
    for (talk, replica) in [
        ("questions", Replica::with_own_store(single_conversation(Many::default()), limits)),
        ("a form", Replica::with_own_store(single_conversation(Five::default()), limits)),
    ] {
        let id = expect_ready(replica.start(json!({}))).unwrap().id;
        for _ in 0..5 {
            assert_eq!(expect_ready(replica.respond(&id, json!(1))).unwrap().invalid, None, "{talk}");
            assert_eq!(
                expect_ready(replica.respond_with(&id, action_response("back"))).unwrap().invalid,
                None,
                "{talk}"
            );
        }
        let refused = expect_ready(replica.respond(&id, json!(1))).unwrap_err();
        assert_eq!((reached_limit(&refused), retry_after_seconds(&refused)), (("turns", 5), None), "{talk}");
        assert_eq!(
            result_to_text(expect_ready(replica.status(&id))),
            "error conversation_too_long",
            "{talk}"
        );
    }
}

/// Going back resets the attempts, but not forever, because each time costs an answer.
#[test]
fn going_back_does_not_allow_unlimited_attempts() {
    let limits = Limits {
        max_turns: 5,
        max_attempts: 3,
        response_rate: (1000, Duration::from_secs(1)),
        ..Limits::default()
    };
    let replica = Replica::with_own_store(single_conversation(Many::default()), limits);
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    // As many invalid answers to each question as possible without reaching the limit.
    let round = [json!("x"), json!("x"), json!(1), json!("x"), json!("x")];
    let mut refused = 0;
    let end = loop {
        let said = round.iter().try_for_each(|value| {
            refused += usize::from(expect_ready(replica.respond(&id, value.clone()))?.invalid.is_some());
            Ok(())
        });
        if let Err(problem) = said {
            break problem;
        }
        assert!(refused < 100, "it goes on and on");
        expect_ready(replica.respond_with(&id, action_response("back"))).unwrap();
    };
    // Four full rounds, and one up to the fifth answer.
    assert_eq!((reached_limit(&end), refused), (("turns", 5), 4 * 4 + 2));
}

#[test]
fn session_size_is_limited() {
    let replica = Replica::with_own_store(single_conversation(Texts::default()), Limits::default());
    let begun = expect_ready(replica.start(json!({}))).unwrap();
    let large = json!("x".repeat(400_000));
    // An answer is stored in both the history and the journal.
    assert_eq!(reply_to_text(expect_ready(replica.respond(&begun.id, large.clone()))), "ask t");
    replica.time.advance(Duration::from_secs(1));
    assert_eq!(
        reached_limit(&expect_ready(replica.respond(&begun.id, large)).unwrap_err()),
        ("bytes", 1024 * 1024)
    );
    let ended = expect_ready(replica.status(&begun.id)).unwrap();
    assert_eq!(snapshot_to_text(&ended), "error conversation_too_long");
    assert_eq!(ended.session.created(), begun.session.created());
    assert_eq!(reply_to_text(expect_ready(replica.respond(&begun.id, json!("x")))), "-32003");
    // A session that is too large from the start is not created.
    let arguments = json!({ "x": "x".repeat(2 << 20) });
    assert_eq!(reached_limit(&expect_ready(replica.start(arguments)).unwrap_err()), ("bytes", 1024 * 1024));
}

#[test]
fn response_size_is_limited() {
    let replica = Replica::with_own_store(single_conversation(Texts::default()), Limits::default());
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    let huge = "x".repeat(600_000);
    let with = |metadata: Value| UserResponse { metadata: Some(object(metadata)), ..UserResponse::default() };
    for response in [
        UserResponse { value: json!(huge), ..UserResponse::default() },
        UserResponse { value: json!([huge]), ..UserResponse::default() },
        UserResponse { value: json!({ huge.as_str(): 1 }), ..UserResponse::default() },
        UserResponse { timestamp: Some(json!(huge)), ..UserResponse::default() },
        with(json!({ "a": huge })),
        with(json!({ huge.as_str(): 1 })),
        with(json!({ "a": { huge.as_str(): 1 }, "action": "skip" })),
    ] {
        let refused = expect_ready(replica.respond_with(&id, response)).unwrap_err();
        assert!(matches!(refused, SessionError::ResponseTooLarge { limit: 524_288 }), "{refused:?}");
        assert_eq!(result_to_text(expect_ready(replica.status(&id))), "ask t", "nothing happened");
    }
}

#[test]
fn attempts_per_question_are_limited() {
    let replica = Replica::with_own_store(single_conversation(Trip::default()), Limits::default());
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    for _ in 0..4 {
        expect_ready(replica.respond(&id, json!(1))).unwrap().invalid.unwrap();
    }
    assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!("Oslo")))), "ask from");
    for _ in 0..5 {
        expect_ready(replica.respond(&id, json!("x"))).unwrap().invalid.unwrap();
    }
    // The attempts are used up, even if the next answer is valid.
    assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(1)))), "-32004");
    let ended = expect_ready(replica.status(&id)).unwrap();
    assert_eq!(snapshot_to_text(&ended), "error too_many_attempts");
    assert_eq!(ended.session.history().len(), 1);
}

#[test]
fn response_rate_is_limited() {
    let limits = Limits { response_rate: (4, Duration::from_secs(10)), ..Limits::default() };
    let replica = Replica::with_own_store(single_conversation(Many::default()), limits);
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    for _ in 0..2 {
        assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(1)))), "ask n");
        expect_ready(replica.respond(&id, json!("x"))).unwrap().invalid.unwrap();
    }
    for _ in 0..3 {
        assert_eq!(
            reached_limit(&expect_ready(replica.respond(&id, json!(1))).unwrap_err()),
            ("responses", 4)
        );
        assert_eq!(
            reached_limit(&expect_ready(replica.respond_with(&id, action_response("back"))).unwrap_err()),
            ("responses", 4)
        );
    }
    assert_eq!(
        result_to_text(expect_ready(replica.status(&id))),
        "ask n !That is not a number",
        "looking is free"
    );
    replica.time.advance(Duration::from_secs(10));
    assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(0)))), "done 2");
}

/// Rejected responses are rate-limited as well, and the count is stored with the session.
#[test]
fn rejected_responses_count_towards_the_rate_limit() {
    let limits =
        Limits { response_rate: (4, Duration::from_secs(10)), max_response_bytes: 1000, ..Limits::default() };
    let other_prompt = || UserResponse { prompt_id: Some("prompt_9".to_owned()), ..UserResponse::default() };
    let too_large = || UserResponse { value: json!("x".repeat(2000)), ..UserResponse::default() };
    let invalid = || UserResponse { value: json!("x"), ..UserResponse::default() };
    let no_way_back = || action_response("back");
    let kinds: [(&str, &str, &dyn Fn() -> UserResponse); 4] = [
        ("another prompt", "-32003", &other_prompt),
        ("too large", "-32004", &too_large),
        ("invalid", "refused, ask n !That is not a number", &invalid),
        ("no way back", "refused, ask n !There is no question to go back to", &no_way_back),
    ];
    for (kind, expected, response) in kinds {
        let (store, time) = (Arc::new(MemorySessionStore::default()), ManualClock::new());
        // Each response arrives at another process, so the count must be stored.
        let process = || Replica::new(store.clone(), &time, single_conversation(Many::default()), limits);
        let id = expect_ready(process().start(json!({}))).unwrap().id;
        for _ in 0..4 {
            time.advance(Duration::from_secs(1));
            assert_eq!(
                reply_to_text(expect_ready(process().respond_with(&id, response()))),
                expected,
                "{kind}"
            );
        }
        // The first window starts with the session.
        for left in (2..=6).rev() {
            let refused = expect_ready(process().respond(&id, json!(1))).unwrap_err();
            assert_eq!(
                (reached_limit(&refused), retry_after_seconds(&refused)),
                (("responses", 4), Some(left)),
                "{kind}"
            );
            time.advance(Duration::from_secs(1));
        }
        time.advance(Duration::from_secs(2));
        assert_eq!(reply_to_text(expect_ready(process().respond(&id, json!(1)))), "ask n", "{kind}");
    }
}

/// A client never waits longer than one window, even if the clock of another machine is ahead.
#[test]
fn rate_window_tolerates_a_clock_ahead() {
    let limits = Limits {
        response_rate: (4, Duration::from_secs(10)),
        idle_timeout: Duration::from_hours(12),
        ..Limits::default()
    };
    let (store, time) = (Arc::new(MemorySessionStore::default()), ManualClock::new());
    time.advance(Duration::from_hours(24));
    let [ahead, behind] = [time.skewed_by(3_600_000), time.skewed_by(0)]
        .map(|time| Replica::new(store.clone(), &time, single_conversation(Many::default()), limits));
    let id = expect_ready(ahead.start(json!({}))).unwrap().id;
    for _ in 0..4 {
        assert_eq!(reply_to_text(expect_ready(ahead.respond(&id, json!(1)))), "ask n");
    }
    assert_eq!(retry_after_seconds(&expect_ready(behind.respond(&id, json!(1))).unwrap_err()), Some(10));
    behind.time.advance(Duration::from_secs(10));
    assert_eq!(reply_to_text(expect_ready(behind.respond(&id, json!(1)))), "ask n");
}

/// A delay in seconds, an action, and its expected result.
fn run_timeline(replica: &Replica, id: &str, events: &[(u64, &str, &str)]) {
    for (n, (seconds, event, expected)) in events.iter().enumerate() {
        replica.time.advance(Duration::from_secs(*seconds));
        let found = match *event {
            "look" => result_to_text(expect_ready(replica.status(id))),
            "go on" => result_to_text(expect_ready(replica.keep_alive(id))),
            "cancel" => result_to_text(expect_ready(replica.cancel(id))),
            "sweep" => expect_ready(replica.sessions.store().sweep(replica.time.now())).unwrap().to_string(),
            value => reply_to_text(expect_ready(replica.respond(id, serde_json::from_str(value).unwrap()))),
        };
        assert_eq!(found, *expected, "event {n}");
    }
}

fn start_many_questions(limits: Limits) -> (Replica, String) {
    let replica = Replica::with_own_store(single_conversation(Many::default()), limits);
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    (replica, id)
}

#[test]
fn session_expires_after_the_idle_timeout() {
    let (replica, id) = start_many_questions(Limits::default());
    run_timeline(
        &replica,
        &id,
        &[
            (299, "1", "ask n"),
            (299, "\"x\"", "refused, ask n !That is not a number"),
            (299, "go on", "ask n !That is not a number"),
            (299, "look", "ask n !That is not a number"),
            // A status request does not reset the timeout.
            (1, "look", "-32002"),
            (0, "1", "-32002"),
            (0, "go on", "-32002"),
            (0, "cancel", "-32002"),
            (0, "sweep", "1"),
            (0, "sweep", "0"),
            (0, "look", "-32002"),
            // The session was reported as expired; now it is unknown.
            (24 * 3600 - 1, "sweep", "0"),
            (0, "look", "-32002"),
            (1, "sweep", "1"),
            (0, "look", "-32001"),
        ],
    );
}

#[test]
fn requested_timeout_is_capped_at_the_max_lifetime() {
    let replica = Replica::with_own_store(single_conversation(Many::default()), Limits::default());
    for (asked_for, given) in [(1, 1), (3600, 3600), (u64::MAX / 2, 24 * 3600)] {
        let timeout = Some(Duration::from_secs(asked_for));
        let begun =
            expect_ready(replica.start_with(StartRequest { timeout, ..StartRequest::default() })).unwrap();
        assert_eq!(begun.session.timeout(), Duration::from_secs(given));
        let left = begun.expires_at.duration_since(replica.time.now());
        assert_eq!(left.unsigned_abs(), Duration::from_secs(given));
        run_timeline(&replica, &begun.id, &[(given - 1, "look", "ask n"), (1, "look", "-32002")]);
    }
}

#[test]
fn session_expires_after_the_max_lifetime() {
    let (replica, id) =
        start_many_questions(Limits { max_lifetime: Duration::from_secs(700), ..Limits::default() });
    run_timeline(
        &replica,
        &id,
        &[(299, "1", "ask n"), (299, "1", "ask n"), (101, "1", "ask n"), (1, "1", "-32002")],
    );
}

#[test]
fn finished_session_is_readable_during_the_grace_period() {
    let (replica, id) = start_many_questions(Limits::default());
    run_timeline(
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
    let (replica, id) = start_many_questions(Limits::default());
    run_timeline(
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
fn replay_cost_is_linear_in_the_journal() {
    let deeds = EffectLog::default();
    let limits = Limits { response_rate: (1000, Duration::from_secs(1)), ..Limits::default() };
    let replica = Replica::with_own_store(single_conversation(Many(deeds.clone())), limits);
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    assert_eq!(deeds.take_question_count(), 1);
    for n in 1..200 {
        assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(1)))), "ask n");
        assert_eq!(
            deeds.take_question_count(),
            n + 1,
            "each answer is replayed once, and one more is asked for"
        );
        expect_ready(replica.status(&id)).unwrap();
        assert_eq!(deeds.take_question_count(), 0, "looking replays nothing");
    }
    assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(0)))), "done 199");
}
