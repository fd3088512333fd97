//! Session owners and ids.

use std::collections::HashSet;

use flow::session::{Limits, SessionError, SessionOwner, SessionRef, StartRequest, UserResponse};
use serde_json::json;

use crate::conversations::{Five, Trip, test_conversation};
use crate::harness::{ADA, Replica, expect_ready, result_to_text, single_conversation};

/// Runs every operation on a session id, and returns the results.
fn try_every_operation(replica: &Replica, owner: SessionOwner<'_>, id: &str) -> Vec<SessionError> {
    let (env, sessions, which) = (replica.env(owner), &replica.sessions, SessionRef::Id(id));
    let back = crate::harness::action_response("back");
    let named =
        UserResponse { prompt_id: Some("prompt_1".to_owned()), value: json!("x"), ..UserResponse::default() };
    vec![
        expect_ready(sessions.status(&env, which)).unwrap_err(),
        expect_ready(sessions.keep_alive(&env, which)).unwrap_err(),
        expect_ready(sessions.respond(&env, which, UserResponse::default())).unwrap_err(),
        expect_ready(sessions.respond(&env, which, back)).unwrap_err(),
        expect_ready(sessions.respond(&env, which, named)).unwrap_err(),
        expect_ready(sessions.cancel(&env, which, None)).unwrap_err(),
    ]
}

#[test]
fn session_of_another_owner_is_not_found() {
    let replica = Replica::with_own_store(single_conversation(Trip::default()), Limits::default());
    let open = expect_ready(replica.start(json!({}))).unwrap().id;
    let over = expect_ready(replica.start(json!({}))).unwrap().id;
    expect_ready(replica.cancel(&over)).unwrap();
    let before = crate::harness::snapshot_json(&expect_ready(replica.status(&open)).unwrap());
    let others = [
        SessionOwner { tenant: "t", subject: "eve" },
        SessionOwner { tenant: "u", subject: "ada" },
        SessionOwner { tenant: "", subject: "ada" },
        SessionOwner { tenant: "ta", subject: "da" },
        SessionOwner { tenant: "T", subject: "Ada" },
    ];
    let unknown = ["", "session_", "session_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "x' or 1=1", "\0"];
    let foreign = others.iter().flat_map(|other| [(*other, open.as_str()), (*other, over.as_str())]);
    for (owner, id) in foreign.chain(unknown.map(|id| (ADA, id))) {
        for problem in try_every_operation(&replica, owner, id) {
            assert!(matches!(problem, SessionError::NotFound), "{owner:?} {id}: {problem:?}");
            assert_eq!(problem.to_string(), "session not found; start a new one");
        }
    }
    // Neither time nor sweeping makes a difference.
    replica.time.advance(std::time::Duration::from_mins(6));
    expect_ready(replica.sessions.store().sweep(replica.time.now())).unwrap();
    for problem in try_every_operation(&replica, others[0], &open) {
        assert!(matches!(problem, SessionError::NotFound), "{problem:?}");
    }
    assert_eq!(result_to_text(expect_ready(replica.status(&open))), "-32002");
    assert_eq!(before["state"], "waiting_user");
}

#[test]
fn swapped_session_bodies_are_not_decrypted() {
    // Two sessions of one owner whose sealed bodies were swapped.
    let replica = Replica::with_own_store(single_conversation(Five::default()), Limits::default());
    let store = replica.sessions.store();
    let [one, two] = [(), ()].map(|()| expect_ready(replica.start(json!({}))).unwrap().id);
    let (_, row) = expect_ready(store.load(ADA, &one)).unwrap().unwrap();
    assert!(expect_ready(store.save(ADA, &two, 1, row)).unwrap());
    assert_eq!(result_to_text(expect_ready(replica.status(&two))), "-32001");
    assert_eq!(result_to_text(expect_ready(replica.status(&one))), "ask a");
}

#[test]
fn session_ids_are_long_random_and_unique() {
    test_conversation!(Nothing, |_deeds, _f| Ok(json!(null)));
    let replica = Replica::with_own_store(single_conversation(Nothing::default()), Limits::default());
    let mut seen = HashSet::new();
    for _ in 0..100_000 {
        // Sessions in tokens, because a hundred thousand of them need no memory.
        let begin = StartRequest { is_stateless: true, ..StartRequest::default() };
        let id = expect_ready(replica.start_with(begin)).unwrap().id;
        let random = id.strip_prefix("session_").expect("the documented prefix");
        assert_eq!(random.len(), 32, "24 bytes of randomness");
        assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{id}");
        assert!(seen.insert(id));
    }
}
