//! Many at once, on real threads.

use std::sync::Arc;

use flow::session::{Limits, Memory, Problem, Response, State};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::desk::{Replica, Time, code, history, only};
use crate::talks::{Deeds, Trip};

fn replicas(deeds: &Deeds, n: usize) -> Vec<Arc<Replica>> {
    let (store, time) = (Arc::new(Memory::default()), Time::new());
    let limits = Limits { rate: (1_000_000, std::time::Duration::from_secs(1)), ..Limits::default() };
    (0..n).map(|_| Arc::new(Replica::new(store.clone(), &time, only(Trip(deeds.clone())), limits))).collect()
}

/// Lets everybody answer the open prompt at the same time, and counts those who succeed.
async fn answer_at_once(replicas: &[Arc<Replica>], id: &str, value: serde_json::Value) -> usize {
    let prompt_id = replicas[0].look(id).await.unwrap().session.prompt_id();
    let barrier = Arc::new(Barrier::new(100));
    let mut crowd = JoinSet::new();
    for n in 0..100 {
        let (replica, barrier) = (replicas[n % replicas.len()].clone(), barrier.clone());
        let (id, value, prompt_id) = (id.to_owned(), value.clone(), Some(prompt_id.clone()));
        crowd.spawn(async move {
            barrier.wait().await;
            replica.send(&id, Response { value, prompt_id, ..Response::default() }).await
        });
    }
    let mut accepted = 0;
    while let Some(said) = crowd.join_next().await {
        match said.unwrap() {
            Ok(said) => accepted += usize::from(said.invalid.is_none()),
            Err(problem) => assert_eq!(code(&problem), -32003, "{problem:?}"),
        }
    }
    accepted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_answers_one_is_taken() {
    for round in 0..10 {
        let deeds = Deeds::default();
        let replicas = replicas(&deeds, 4);
        let arguments = json!({ "from": 1, "to": 2, "class": "a", "note": "" });
        let id = replicas[0].start(arguments).await.unwrap().id;
        assert_eq!(answer_at_once(&replicas, &id, json!("Oslo")).await, 1, "round {round}");
        let standing = replicas[1].look(&id).await.unwrap();
        assert_eq!(standing.session.state(), State::WaitingUser);
        assert_eq!(history(&standing), [("city".to_owned(), json!("Oslo"))]);
        assert_eq!(deeds.held().len(), 1, "a step is claimed before it is taken");

        assert_eq!(answer_at_once(&replicas, &id, json!(true)).await, 1, "round {round}");
        let standing = replicas[2].look(&id).await.unwrap();
        assert_eq!(standing.session.state(), State::Completed);
        assert_eq!(history(&standing).len(), 2);
        assert_eq!(deeds.booked(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_hundred_answers_and_as_many_cancellations_one_wins() {
    for _ in 0..10 {
        let deeds = Deeds::default();
        let replicas = replicas(&deeds, 2);
        let arguments = json!({ "city": "x", "from": 1, "to": 2, "class": "a", "note": "" });
        let id = replicas[0].start(arguments).await.unwrap().id;
        let mut crowd = JoinSet::new();
        for n in 0..100 {
            let (replica, id) = (replicas[n % 2].clone(), id.clone());
            crowd.spawn(async move {
                match n % 3 {
                    0 => replica.cancel(&id).await.map(|_| "cancelled"),
                    _ => replica.say(&id, json!(true)).await.map(|_| "answered"),
                }
            });
        }
        let mut won = Vec::new();
        while let Some(done) = crowd.join_next().await {
            match done.unwrap() {
                Ok(what) => won.push(what),
                Err(Problem::WrongState { .. } | Problem::Cancelled) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        let state = replicas[0].look(&id).await.unwrap().session.state();
        match won[..] {
            ["answered"] => assert_eq!((state, deeds.booked()), (State::Completed, 1)),
            // It may have been cancelled between the effect and its end, but not before the effect and yet have it.
            ["cancelled"] => assert!(state == State::Cancelled && deeds.booked() <= 1),
            _ => panic!("{won:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_owner_who_begins_a_hundred_at_once_gets_as_many_as_there_may_be() {
    let (store, time) = (Arc::new(Memory::default()), Time::new());
    let limits = Limits { sessions: 10, ..Limits::default() };
    let replicas: Vec<_> =
        (0..4).map(|_| Arc::new(Replica::new(store.clone(), &time, only(Trip::default()), limits))).collect();
    let mut crowd = JoinSet::new();
    for n in 0..100 {
        let replica = replicas[n % 4].clone();
        crowd.spawn(async move { replica.start(json!({})).await.is_ok() });
    }
    let begun = crowd.join_all().await.into_iter().filter(|is_begun| *is_begun).count();
    assert_eq!(begun, 10);
}
