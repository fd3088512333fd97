//! Which prompt a response answers that names none, where clocks differ and many responses come at once.

use std::sync::Arc;
use std::time::Duration;

use flow::session::{Limits, Memory, Moment, Response};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::desk::{Replica, Time, answer, code, history, now, only};
use crate::talks::Many;

/// Two processes on one store. The clock of the second differs by so many milliseconds.
fn pair(difference: i64) -> [Replica; 2] {
    // So long that a session does not end because a clock is an hour ahead.
    let limits = Limits { idle: Duration::from_hours(12), ..Limits::default() };
    let (store, time) = (Arc::new(Memory::default()), Time::new());
    time.pass(Duration::from_hours(24));
    [time.off_by(0), time.off_by(difference)]
        .map(|time| Replica::new(store.clone(), &time, only(Many::default()), limits))
}

fn received(at: Moment) -> Response {
    Response { value: json!(1), received: Some(at), ..Response::default() }
}

#[test]
fn processes_whose_clocks_differ_take_turns() {
    const HOUR: i64 = 3_600_000;
    for difference in [-HOUR, -200, -1, 0, 1, 200, HOUR] {
        let replicas = pair(difference);
        let id = now(replicas[0].start(json!({}))).unwrap().id;
        for n in 0..20 {
            let replica = &replicas[n % 2];
            let said = now(replica.send(&id, received(replica.monotonic())));
            assert_eq!(answer(said), "ask n", "{difference} ms, response {n}");
            for replica in &replicas {
                replica.time.pass(Duration::from_millis(30));
            }
        }
    }
}

/// Each line: who receives a response and when it is handled, and what comes of it.
#[test]
fn a_response_answers_no_prompt_that_its_process_knows_to_be_newer() {
    for difference in [-200, 0, 200] {
        let [one, two] = pair(difference);
        let id = now(one.start(json!({}))).unwrap().id;
        let early = [one.monotonic(), one.monotonic(), one.monotonic()];
        let (elsewhere, later) = (two.monotonic(), two.monotonic());
        let respond = |replica: &Replica, at| answer(now(replica.send(&id, received(at))));
        assert_eq!(respond(&one, early[0]), "ask n", "the prompt was open");
        assert_eq!(respond(&one, early[1]), "-32003", "it has put another one since");
        assert_eq!(respond(&two, elsewhere), "ask n", "another process cannot know");
        assert_eq!(respond(&two, later), "-32003", "but it knows when it has put one itself");
        assert_eq!(respond(&one, early[2]), "-32003", "and so does the first, whoever put the last one");
        assert_eq!(respond(&one, one.monotonic()), "ask n");
    }
}

/// F03 of the guide, without `promptId`.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_responses_without_a_prompt_one_is_taken() {
    for round in 0..10 {
        let replica = Arc::new(Replica::alone(only(Many::default()), Limits::default()));
        let id = replica.start(json!({})).await.unwrap().id;
        let barrier = Arc::new(Barrier::new(100));
        let mut crowd = JoinSet::new();
        for _ in 0..100 {
            let (replica, barrier, id) = (replica.clone(), barrier.clone(), id.clone());
            crowd.spawn(async move {
                let response = received(replica.monotonic());
                barrier.wait().await;
                replica.send(&id, response).await
            });
        }
        let mut accepted = 0;
        while let Some(said) = crowd.join_next().await {
            match said.unwrap() {
                Ok(said) => accepted += usize::from(said.invalid.is_none()),
                Err(problem) => assert_eq!(code(&problem), -32003, "{problem:?}"),
            }
        }
        assert_eq!(accepted, 1, "round {round}");
        assert_eq!(history(&replica.look(&id).await.unwrap()).len(), 1);
    }
}
