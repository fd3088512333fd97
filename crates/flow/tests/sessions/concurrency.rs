//! Concurrent requests on real threads.

use std::sync::Arc;

use flow::session::{Limits, MemorySessionStore, SessionError, SessionState, UserResponse};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::conversations::{EffectLog, Trip};
use crate::harness::{ManualClock, Replica, answer_history, error_code, single_conversation};

fn replicas(deeds: &EffectLog, n: usize) -> Vec<Arc<Replica>> {
    let (store, time) = (Arc::new(MemorySessionStore::default()), ManualClock::new());
    let limits =
        Limits { response_rate: (1_000_000, std::time::Duration::from_secs(1)), ..Limits::default() };
    (0..n)
        .map(|_| {
            Arc::new(Replica::new(store.clone(), &time, single_conversation(Trip(deeds.clone())), limits))
        })
        .collect()
}

/// Answers the open prompt from all replicas at the same time, and counts the successes.
async fn answer_concurrently(replicas: &[Arc<Replica>], id: &str, value: serde_json::Value) -> usize {
    let prompt_id = replicas[0].status(id).await.unwrap().session.prompt_id();
    let barrier = Arc::new(Barrier::new(100));
    let mut quotas = JoinSet::new();
    for n in 0..100 {
        let (replica, barrier) = (replicas[n % replicas.len()].clone(), barrier.clone());
        let (id, value, prompt_id) = (id.to_owned(), value.clone(), Some(prompt_id.clone()));
        quotas.spawn(async move {
            barrier.wait().await;
            replica.respond_with(&id, UserResponse { value, prompt_id, ..UserResponse::default() }).await
        });
    }
    let mut accepted = 0;
    while let Some(said) = quotas.join_next().await {
        match said.unwrap() {
            Ok(said) => accepted += usize::from(said.invalid.is_none()),
            Err(problem) => assert_eq!(error_code(&problem), -32003, "{problem:?}"),
        }
    }
    accepted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_100_concurrent_answers_is_accepted() {
    for round in 0..10 {
        let deeds = EffectLog::default();
        let replicas = replicas(&deeds, 4);
        let arguments = json!({ "from": 1, "to": 2, "class": "a", "note": "" });
        let id = replicas[0].start(arguments).await.unwrap().id;
        assert_eq!(answer_concurrently(&replicas, &id, json!("Oslo")).await, 1, "round {round}");
        let snapshot = replicas[1].status(&id).await.unwrap();
        assert_eq!(snapshot.session.state(), SessionState::WaitingUser);
        assert_eq!(answer_history(&snapshot), [("city".to_owned(), json!("Oslo"))]);
        assert_eq!(deeds.reservations().len(), 1, "a step is claimed before it runs");

        assert_eq!(answer_concurrently(&replicas, &id, json!(true)).await, 1, "round {round}");
        let snapshot = replicas[2].status(&id).await.unwrap();
        assert_eq!(snapshot.session.state(), SessionState::Completed);
        assert_eq!(answer_history(&snapshot).len(), 2);
        assert_eq!(deeds.booking_count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_concurrent_answers_and_cancellations_wins() {
    for _ in 0..10 {
        let deeds = EffectLog::default();
        let replicas = replicas(&deeds, 2);
        let arguments = json!({ "city": "x", "from": 1, "to": 2, "class": "a", "note": "" });
        let id = replicas[0].start(arguments).await.unwrap().id;
        let mut quotas = JoinSet::new();
        for n in 0..100 {
            let (replica, id) = (replicas[n % 2].clone(), id.clone());
            quotas.spawn(async move {
                match n % 3 {
                    0 => replica.cancel(&id).await.map(|_| "cancelled"),
                    _ => replica.respond(&id, json!(true)).await.map(|_| "answered"),
                }
            });
        }
        let mut won = Vec::new();
        while let Some(done) = quotas.join_next().await {
            match done.unwrap() {
                Ok(what) => won.push(what),
                Err(SessionError::WrongState { .. } | SessionError::Cancelled) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        let state = replicas[0].status(&id).await.unwrap().session.state();
        match won[..] {
            ["answered"] => assert_eq!((state, deeds.booking_count()), (SessionState::Completed, 1)),
            // The cancellation may fall between the effect and its completion, but an effect must not start
            // after it.
            ["cancelled"] => assert!(state == SessionState::Cancelled && deeds.booking_count() <= 1),
            _ => panic!("{won:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_starts_do_not_exceed_the_session_limit() {
    let (store, time) = (Arc::new(MemorySessionStore::default()), ManualClock::new());
    let limits = Limits { max_open_sessions: 10, ..Limits::default() };
    let replicas: Vec<_> = (0..4)
        .map(|_| Arc::new(Replica::new(store.clone(), &time, single_conversation(Trip::default()), limits)))
        .collect();
    let mut quotas = JoinSet::new();
    for n in 0..100 {
        let replica = replicas[n % 4].clone();
        quotas.spawn(async move { replica.start(json!({})).await.is_ok() });
    }
    let begun = quotas.join_all().await.into_iter().filter(|is_begun| *is_begun).count();
    assert_eq!(begun, 10);
}
