//! Which prompt a response without a prompt id answers, with skewed clocks and concurrent responses.

use std::sync::Arc;
use std::time::Duration;

use flow::session::{Limits, MemorySessionStore, ProcessInstant, UserResponse};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::conversations::Many;
use crate::harness::{
    ManualClock, Replica, answer_history, error_code, expect_ready, reply_to_text, single_conversation,
};

/// Two processes on one store. The clock of the second is off by this many milliseconds.
fn skewed_replicas(difference: i64) -> [Replica; 2] {
    // Long enough that a session does not expire because a clock is an hour ahead.
    let limits = Limits { idle_timeout: Duration::from_hours(12), ..Limits::default() };
    let (store, time) = (Arc::new(MemorySessionStore::default()), ManualClock::new());
    time.advance(Duration::from_hours(24));
    [time.skewed_by(0), time.skewed_by(difference)]
        .map(|time| Replica::new(store.clone(), &time, single_conversation(Many::default()), limits))
}

fn response_received_at(at: ProcessInstant) -> UserResponse {
    UserResponse { value: json!(1), received_at: Some(at), ..UserResponse::default() }
}

#[test]
fn replicas_with_skewed_clocks_can_alternate() {
    const HOUR: i64 = 3_600_000;
    for difference in [-HOUR, -200, -1, 0, 1, 200, HOUR] {
        let replicas = skewed_replicas(difference);
        let id = expect_ready(replicas[0].start(json!({}))).unwrap().id;
        for n in 0..20 {
            let replica = &replicas[n % 2];
            let said = expect_ready(replica.respond_with(&id, response_received_at(replica.monotonic())));
            assert_eq!(reply_to_text(said), "ask n", "{difference} ms, response {n}");
            for replica in &replicas {
                replica.time.advance(Duration::from_millis(30));
            }
        }
    }
}

/// Each line: the process that receives a response, when it arrived, and the expected result.
#[test]
fn response_does_not_answer_a_newer_prompt_of_its_process() {
    for difference in [-200, 0, 200] {
        let [one, two] = skewed_replicas(difference);
        let id = expect_ready(one.start(json!({}))).unwrap().id;
        let early = [one.monotonic(), one.monotonic(), one.monotonic()];
        let (elsewhere, later) = (two.monotonic(), two.monotonic());
        let respond = |replica: &Replica, at| {
            reply_to_text(expect_ready(replica.respond_with(&id, response_received_at(at))))
        };
        assert_eq!(respond(&one, early[0]), "ask n", "the prompt was open");
        assert_eq!(respond(&one, early[1]), "-32003", "this process has issued another prompt since");
        assert_eq!(respond(&two, elsewhere), "ask n", "another process cannot tell");
        assert_eq!(respond(&two, later), "-32003", "but it can once it has issued a prompt itself");
        assert_eq!(respond(&one, early[2]), "-32003", "and so can the first one");
        assert_eq!(respond(&one, one.monotonic()), "ask n");
    }
}

/// F03 of the guide, without `promptId`.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_100_concurrent_responses_without_prompt_id_is_accepted() {
    for round in 0..10 {
        let replica =
            Arc::new(Replica::with_own_store(single_conversation(Many::default()), Limits::default()));
        let id = replica.start(json!({})).await.unwrap().id;
        let barrier = Arc::new(Barrier::new(100));
        let mut quotas = JoinSet::new();
        for _ in 0..100 {
            let (replica, barrier, id) = (replica.clone(), barrier.clone(), id.clone());
            quotas.spawn(async move {
                let response = response_received_at(replica.monotonic());
                barrier.wait().await;
                replica.respond_with(&id, response).await
            });
        }
        let mut accepted = 0;
        while let Some(said) = quotas.join_next().await {
            match said.unwrap() {
                Ok(said) => accepted += usize::from(said.invalid.is_none()),
                Err(problem) => assert_eq!(error_code(&problem), -32003, "{problem:?}"),
            }
        }
        assert_eq!(accepted, 1, "round {round}");
        assert_eq!(answer_history(&replica.status(&id).await.unwrap()).len(), 1);
    }
}
