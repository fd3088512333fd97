//! Whose a session is, and what it is called.

use std::collections::HashSet;

use flow::session::{Begin, Limits, Owner, Problem, Response, Which};
use serde_json::json;

use crate::desk::{ADA, Replica, line, now, only};
use crate::talks::{Five, Trip, talk};

/// Every operation with a session of this name, and what each came to.
fn try_everything(replica: &Replica, owner: Owner<'_>, id: &str) -> Vec<Problem> {
    let (env, sessions, which) = (replica.env(owner), &replica.sessions, Which::Id(id));
    let back = crate::desk::action("back");
    let named = Response { prompt_id: Some("prompt_1".to_owned()), value: json!("x"), ..Response::default() };
    vec![
        now(sessions.look(&env, which)).unwrap_err(),
        now(sessions.go_on(&env, which)).unwrap_err(),
        now(sessions.respond(&env, which, Response::default())).unwrap_err(),
        now(sessions.respond(&env, which, back)).unwrap_err(),
        now(sessions.respond(&env, which, named)).unwrap_err(),
        now(sessions.cancel(&env, which, None)).unwrap_err(),
    ]
}

#[test]
fn somebody_elses_session_is_like_one_that_never_was() {
    let replica = Replica::alone(only(Trip::default()), Limits::default());
    let open = now(replica.start(json!({}))).unwrap().id;
    let over = now(replica.start(json!({}))).unwrap().id;
    now(replica.cancel(&over)).unwrap();
    let before = crate::desk::everything(&now(replica.look(&open)).unwrap());
    let others = [
        Owner { tenant: "t", subject: "eve" },
        Owner { tenant: "u", subject: "ada" },
        Owner { tenant: "", subject: "ada" },
        Owner { tenant: "ta", subject: "da" },
        Owner { tenant: "T", subject: "Ada" },
    ];
    let unknown = ["", "session_", "session_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "x' or 1=1", "\0"];
    let foreign = others.iter().flat_map(|other| [(*other, open.as_str()), (*other, over.as_str())]);
    for (owner, id) in foreign.chain(unknown.map(|id| (ADA, id))) {
        for problem in try_everything(&replica, owner, id) {
            assert!(matches!(problem, Problem::NotFound), "{owner:?} {id}: {problem:?}");
            assert_eq!(problem.to_string(), "there is no such session; start again");
        }
    }
    // Time and sweeping make no difference to them.
    replica.time.pass(std::time::Duration::from_mins(6));
    now(replica.sessions.store().sweep(replica.time.now())).unwrap();
    for problem in try_everything(&replica, others[0], &open) {
        assert!(matches!(problem, Problem::NotFound), "{problem:?}");
    }
    assert_eq!(line(now(replica.look(&open))), "-32002");
    assert_eq!(before["state"], "waiting_user");
}

#[test]
fn a_store_that_mixes_its_rows_up_shows_nothing() {
    // Two sessions of one owner whose sealed bodies were swapped.
    let replica = Replica::alone(only(Five::default()), Limits::default());
    let store = replica.sessions.store();
    let [one, two] = [(), ()].map(|()| now(replica.start(json!({}))).unwrap().id);
    let (_, row) = now(store.load(ADA, &one)).unwrap().unwrap();
    assert!(now(store.save(ADA, &two, 1, row)).unwrap());
    assert_eq!(line(now(replica.look(&two))), "-32001");
    assert_eq!(line(now(replica.look(&one))), "ask a");
}

#[test]
fn ids_are_long_random_and_never_the_same() {
    talk!(Nothing, |_deeds, _f| Ok(json!(null)));
    let replica = Replica::alone(only(Nothing::default()), Limits::default());
    let mut seen = HashSet::new();
    for _ in 0..100_000 {
        // One that its client keeps: a hundred thousand of those cost no memory.
        let begin = Begin { is_stateless: true, ..Begin::default() };
        let id = now(replica.begin(begin)).unwrap().id;
        let random = id.strip_prefix("session_").expect("the documented prefix");
        assert_eq!(random.len(), 32, "24 bytes of randomness");
        assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{id}");
        assert!(seen.insert(id));
    }
}
