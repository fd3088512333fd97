//! Sessions that the client keeps.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flow::session::{
    Begin, Limits, Memory, Owner, Problem, Responded, Response, SessionStore, Standing, Which,
};
use flow::{Seal, SealKey};
use serde_json::{Value, json};

use crate::desk::{ADA, Replica, Time, action, answer, code, history, line, now, only, show};
use crate::faults::{Faulty, Way};
use crate::talks::{Deeds, Five, Trip};

fn begin(replica: &Replica) -> Standing {
    let begin = Begin { tool: "tool".to_owned(), is_stateless: true, ..Begin::default() };
    now(replica.begin(begin)).unwrap()
}

fn send(replica: &Replica, token: &str, response: Response) -> Result<Responded, Problem> {
    now(replica.sessions.respond(&replica.env(ADA), Which::Token(token), response))
}

fn say(replica: &Replica, token: &str, value: Value) -> Result<Responded, Problem> {
    send(replica, token, Response { value, ..Response::default() })
}

fn look(replica: &Replica, token: &str) -> Result<Standing, Problem> {
    now(replica.sessions.look(&replica.env(ADA), Which::Token(token)))
}

fn cancel(replica: &Replica, token: &str) -> Result<Standing, Problem> {
    now(replica.sessions.cancel(&replica.env(ADA), Which::Token(token), None))
}

/// Answers one after the other, and every token on the way.
fn walk(replica: &Replica, answers: &[Value]) -> Vec<String> {
    let mut tokens = vec![begin(replica).token.unwrap()];
    for value in answers {
        let said = say(replica, tokens.last().unwrap(), value.clone()).unwrap();
        assert_eq!(said.invalid, None);
        tokens.push(said.standing.token.unwrap());
    }
    tokens
}

fn trip() -> (Deeds, Replica) {
    let deeds = Deeds::default();
    (deeds.clone(), Replica::alone(only(Trip(deeds)), Limits::default()))
}

/// The answers that lead a trip to the end.
fn all() -> Vec<Value> {
    vec![json!("Oslo"), json!(1), json!(2), json!("b"), json!(true), json!("bye")]
}

#[test]
fn a_whole_conversation_without_a_store() {
    let (deeds, replica) = trip();
    let tokens = walk(&replica, &all());
    let end = look(&replica, tokens.last().unwrap()).unwrap();
    assert_eq!(show(&end), r#"done ["Oslo",1,2,"b",1,true,7,"bye"]"#);
    assert_eq!(history(&end).len(), 6);
    assert_eq!((deeds.held().len(), deeds.booked()), (1, 1));
    assert_eq!(answer(say(&replica, tokens.last().unwrap(), json!(1))), "-32003");
    assert_eq!(line(look(&replica, &tokens[2])), "ask to", "an old one can be looked at");
}

#[test]
fn back_and_refusals_and_presence_work_alike() {
    let (_, replica) = trip();
    let tokens = walk(&replica, &all()[..3]);
    let back = send(&replica, &tokens[3], action("back")).unwrap().standing;
    assert_eq!(show(&back), "ask to");
    let refused = say(&replica, back.token.as_ref().unwrap(), json!(0)).unwrap();
    assert_eq!(show(&refused.standing), "ask to !That is before the first day");
    let token = refused.standing.token.unwrap();
    replica.time.pass(Duration::from_secs(299));
    let there = now(replica.sessions.go_on(&replica.env(ADA), Which::Token(&token))).unwrap();
    replica.time.pass(Duration::from_secs(2));
    assert_eq!(line(look(&replica, &token)), "-32001", "it is too old");
    assert_eq!(line(look(&replica, &there.token.unwrap())), "ask to !That is before the first day");
}

#[test]
fn the_documented_shape_and_nothing_to_read_in_it() {
    let (_, replica) = trip();
    let begun = begin(&replica);
    let said = say(&replica, begun.token.as_ref().unwrap(), json!("Atlantis")).unwrap().standing;
    let bytes = URL_SAFE_NO_PAD.decode(said.token.unwrap()).unwrap();
    let token: Value = serde_json::from_slice(&bytes).unwrap();
    let keys: Vec<_> = token.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["sessionId", "signature", "state"]);
    assert_eq!(token["sessionId"], json!(begun.id));
    let state = URL_SAFE_NO_PAD.decode(token["state"].as_str().unwrap()).unwrap();
    let tells = |text: &[u8], secret: &str| text.windows(secret.len()).any(|part| part == secret.as_bytes());
    for secret in ["Atlantis", "city", "tool", "Where to?"] {
        assert!(!tells(&state, secret), "{secret}");
    }
    // What is short stands in base64 by chance, now and then.
    for secret in ["Atlantis", "Where to?"] {
        assert!(!tells(&bytes, secret), "{secret}");
    }
}

#[test]
fn whatever_is_wrong_with_a_token_it_is_not_found() {
    let (_, replica) = trip();
    let token = walk(&replica, &all()[..1]).pop().unwrap();
    let refused = |token: &str, why: &str| {
        let all = [
            look(&replica, token).map(drop),
            say(&replica, token, json!(1)).map(drop),
            cancel(&replica, token).map(drop),
        ];
        for problem in all {
            assert_eq!(code(&problem.expect_err(why)), -32001, "{why}");
        }
    };
    // Every character of the text, and every byte beneath each of its two layers.
    for n in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[n] = if bytes[n] == b'A' { b'B' } else { b'A' };
        refused(std::str::from_utf8(&bytes).unwrap(), &format!("character {n}"));
    }
    let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap();
    for n in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[n] ^= 1;
        refused(&URL_SAFE_NO_PAD.encode(bytes), &format!("byte {n}"));
    }
    let parts: Value = serde_json::from_slice(&bytes).unwrap();
    let state = URL_SAFE_NO_PAD.decode(parts["state"].as_str().unwrap()).unwrap();
    for n in 0..state.len() {
        let mut state = state.clone();
        state[n] ^= 1;
        let mut parts = parts.clone();
        parts["state"] = json!(URL_SAFE_NO_PAD.encode(state));
        refused(&URL_SAFE_NO_PAD.encode(parts.to_string()), &format!("byte {n} of the state"));
    }
    let (with, without) = (format!("{token}="), &token[..token.len() - 1]);
    for nonsense in ["", "x", "{}", "e30", &with, without, &"A".repeat(5 << 20)] {
        refused(nonsense, "nonsense");
    }
    // Half of one and half of another.
    let other: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(begin(&replica).token.unwrap()).unwrap()).unwrap();
    for part in ["sessionId", "state", "signature"] {
        let mut mixed = parts.clone();
        mixed[part] = other[part].clone();
        refused(&URL_SAFE_NO_PAD.encode(mixed.to_string()), part);
    }
    assert_eq!(line(look(&replica, &token)), "ask from", "nothing happened to the real one");
}

#[test]
fn somebody_elses_token_is_not_found_and_neither_is_an_old_one() {
    let (_, replica) = trip();
    let token = walk(&replica, &all()[..1]).pop().unwrap();
    for owner in [
        Owner { tenant: "t", subject: "eve" },
        Owner { tenant: "u", subject: "ada" },
        Owner { tenant: "ta", subject: "da" },
        Owner { tenant: "", subject: "t\",\"ada" },
    ] {
        let env = replica.env(owner);
        assert_eq!(line(now(replica.sessions.look(&env, Which::Token(&token)))), "-32001", "{owner:?}");
        assert_eq!(line(now(replica.sessions.cancel(&env, Which::Token(&token), None))), "-32001");
    }
    // The id in it names nothing: there is no such session in the store.
    let id = look(&replica, &token).unwrap().id;
    assert_eq!(line(now(replica.look(&id))), "-32001");
    replica.time.pass(Duration::from_mins(5));
    assert_eq!(line(look(&replica, &token)), "-32001");
}

#[test]
fn what_was_done_is_not_done_again_whichever_token_it_is_tried_with() {
    let (deeds, replica) = trip();
    let answers = all();
    let tokens = walk(&replica, &answers[..5]);
    assert_eq!((deeds.held().len(), deeds.booked()), (1, 1));
    // The tokens that it was done with.
    assert_eq!(answer(say(&replica, &tokens[3], json!("b"))), "-32001");
    assert_eq!(answer(say(&replica, &tokens[4], json!(true))), "-32001");
    assert_eq!(line(cancel(&replica, &tokens[4])), "-32001");
    // The same ones, written differently.
    for (token, value) in tokens[3..5].iter().zip(&answers[3..]) {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
        let (spaced, escaped) =
            (text.replace("\":\"", "\" : \""), text.replacen("session", "\\u0073ession", 1));
        for other in [spaced, escaped] {
            assert_eq!(answer(say(&replica, &URL_SAFE_NO_PAD.encode(other), value.clone())), "-32001");
        }
    }
    // Older ones, from which the same would follow. Asking is harmless; doing is not.
    for (from, token) in tokens.iter().enumerate().take(3) {
        let mut token = token.clone();
        for (n, value) in answers.iter().enumerate().skip(from) {
            match say(&replica, &token, value.clone()) {
                Ok(said) => token = said.standing.token.unwrap(),
                Err(problem) => {
                    assert_eq!((code(&problem), n), (-32001, 3));
                    break;
                }
            }
        }
    }
    assert_eq!((deeds.held().len(), deeds.booked()), (1, 1));
    // The newest is good, and a turn without effects may be repeated.
    for _ in 0..2 {
        let end = answer(say(&replica, &tokens[5], json!("bye")));
        assert_eq!(end, r#"done ["Oslo",1,2,"b",1,true,7,"bye"]"#);
    }
}

#[test]
fn what_is_cancelled_does_nothing_any_more() {
    let (deeds, replica) = trip();
    let tokens = walk(&replica, &all()[..3]);
    let cancelled = cancel(&replica, &tokens[3]).unwrap();
    assert_eq!(show(&cancelled), "cancelled");
    let token = cancelled.token.unwrap();
    assert_eq!(line(look(&replica, &token)), "cancelled");
    assert_eq!(answer(say(&replica, &token, json!(1))), "-32006");
    assert_eq!(line(cancel(&replica, &token)), "-32006");
    // Neither does any other token of it, as long as one could live.
    replica.time.pass(Duration::from_secs(299));
    for token in &tokens[1..] {
        assert_eq!(answer(say(&replica, token, json!("b"))), "-32006");
        assert_eq!(line(cancel(&replica, token)), "-32006");
        assert_eq!(line(look(&replica, token)), "-32006");
    }
    now(replica.sessions.store().sweep(replica.time.now())).unwrap();
    assert_eq!(line(look(&replica, &tokens[1])), "-32006", "it was not swept away");
    assert_eq!(deeds.held().len(), 0);
    // Those of other sessions are not concerned.
    assert_eq!(answer(say(&replica, &begin(&replica).token.unwrap(), json!("Oslo"))), "ask from");
}

#[test]
fn keys_rotate() {
    let store: Arc<dyn SessionStore> = Arc::new(Memory::default());
    let time = Time::new();
    let key = |n| SealKey::of([n; 32]);
    let with = |seal| {
        Replica::sealed(store.clone(), Arc::new(seal), &time, only(Five::default()), Limits::default(), 5)
    };
    let old = with(Seal::new(key(1)));
    let token = begin(&old).token.unwrap();
    let stored = now(old.start(json!({}))).unwrap().id;
    let rotated = with(Seal::new(key(2)).also_opening(key(1)));
    let said = say(&rotated, &token, json!(1)).unwrap().standing.token.unwrap();
    assert_eq!(answer(now(rotated.say(&stored, json!(1)))), "ask b");
    let removed = with(Seal::new(key(2)));
    assert_eq!(line(look(&removed, &token)), "-32001");
    assert_eq!(line(look(&removed, &said)), "ask b", "it is sealed with the new key now");
    assert_eq!(line(now(removed.look(&stored))), "ask b", "and so is what was stored");
    let never = now(old.start(json!({}))).unwrap().id;
    assert_eq!(line(now(removed.look(&never))), "-32001");
}

#[test]
fn a_token_has_a_largest_size() {
    let limits = Limits { bytes: 4000, ..Limits::default() };
    let replica = Replica::alone(only(Five::default()), limits);
    let context = json!({ "x": "x".repeat(9000) }).as_object().cloned().unwrap();
    let begin = Begin { is_stateless: true, context, ..Begin::default() };
    assert_eq!(line(now(replica.begin(begin))), "-32000");
}

#[test]
fn a_store_out_of_reach_is_not_a_missing_session() {
    let deeds = Deeds::default();
    let store = Arc::new(Faulty::default());
    let replica = Replica::new(store.clone(), &Time::new(), only(Trip(deeds.clone())), Limits::default());
    let tokens = walk(&replica, &all()[..3]);
    assert_eq!(store.count(), 3, "each response asks whether it was cancelled, and nothing is written");
    store.from(0, Way::FailBefore);
    assert_eq!(line(cancel(&replica, &tokens[3])), "-32603");
    assert_eq!(answer(say(&replica, &tokens[3], json!("b"))), "-32603");
    assert_eq!(deeds.held().len(), 0);
    store.heal();
    assert_eq!(answer(say(&replica, &tokens[3], json!("b"))), "ask sure");
}
