//! Sessions in tokens that the client keeps.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flow::session::{
    Limits, MemorySessionStore, RespondReply, SessionError, SessionOwner, SessionRef, SessionSnapshot,
    SessionStore, StartRequest, UserResponse,
};
use flow::{Seal, SealKey};
use serde_json::{Value, json};

use crate::conversations::{EffectLog, Five, Trip};
use crate::faulty_store::{FaultySessionStore, StoreFault};
use crate::harness::{
    ADA, ManualClock, Replica, action_response, answer_history, error_code, expect_ready, reply_to_text,
    result_to_text, single_conversation, snapshot_to_text,
};

fn start_stateless(replica: &Replica) -> SessionSnapshot {
    let begin = StartRequest { tool: "tool".to_owned(), is_stateless: true, ..StartRequest::default() };
    expect_ready(replica.start_with(begin)).unwrap()
}

fn respond_with(
    replica: &Replica,
    token: &str,
    response: UserResponse,
) -> Result<RespondReply, SessionError> {
    expect_ready(replica.sessions.respond(&replica.env(ADA), SessionRef::Token(token), response))
}

fn respond(replica: &Replica, token: &str, value: Value) -> Result<RespondReply, SessionError> {
    respond_with(replica, token, UserResponse { value, ..UserResponse::default() })
}

fn status(replica: &Replica, token: &str) -> Result<SessionSnapshot, SessionError> {
    expect_ready(replica.sessions.status(&replica.env(ADA), SessionRef::Token(token)))
}

fn cancel(replica: &Replica, token: &str) -> Result<SessionSnapshot, SessionError> {
    expect_ready(replica.sessions.cancel(&replica.env(ADA), SessionRef::Token(token), None))
}

/// Sends the answers one after the other, and returns every token on the way.
fn collect_tokens(replica: &Replica, answers: &[Value]) -> Vec<String> {
    let mut tokens = vec![start_stateless(replica).token.unwrap()];
    for value in answers {
        let said = respond(replica, tokens.last().unwrap(), value.clone()).unwrap();
        assert_eq!(said.invalid, None);
        tokens.push(said.snapshot.token.unwrap());
    }
    tokens
}

fn trip_replica() -> (EffectLog, Replica) {
    let deeds = EffectLog::default();
    (deeds.clone(), Replica::with_own_store(single_conversation(Trip(deeds)), Limits::default()))
}

/// The answers that complete a trip.
fn all_answers() -> Vec<Value> {
    vec![json!("Oslo"), json!(1), json!(2), json!("b"), json!(true), json!("bye")]
}

#[test]
fn stateless_conversation_runs_from_start_to_result() {
    let (deeds, replica) = trip_replica();
    let tokens = collect_tokens(&replica, &all_answers());
    let end = status(&replica, tokens.last().unwrap()).unwrap();
    assert_eq!(snapshot_to_text(&end), r#"done ["Oslo",1,2,"b",1,true,7,"bye"]"#);
    assert_eq!(answer_history(&end).len(), 6);
    assert_eq!((deeds.reservations().len(), deeds.booking_count()), (1, 1));
    assert_eq!(reply_to_text(respond(&replica, tokens.last().unwrap(), json!(1))), "-32003");
    assert_eq!(result_to_text(status(&replica, &tokens[2])), "ask to", "an old token can still be read");
}

#[test]
fn back_rejection_and_keep_alive_work_with_tokens() {
    let (_, replica) = trip_replica();
    let tokens = collect_tokens(&replica, &all_answers()[..3]);
    let back = respond_with(&replica, &tokens[3], action_response("back")).unwrap().snapshot;
    assert_eq!(snapshot_to_text(&back), "ask to");
    let refused = respond(&replica, back.token.as_ref().unwrap(), json!(0)).unwrap();
    assert_eq!(snapshot_to_text(&refused.snapshot), "ask to !That is before the first day");
    let token = refused.snapshot.token.unwrap();
    replica.time.advance(Duration::from_secs(299));
    let there =
        expect_ready(replica.sessions.keep_alive(&replica.env(ADA), SessionRef::Token(&token))).unwrap();
    replica.time.advance(Duration::from_secs(2));
    assert_eq!(result_to_text(status(&replica, &token)), "-32001", "it is too old");
    assert_eq!(
        result_to_text(status(&replica, &there.token.unwrap())),
        "ask to !That is before the first day"
    );
}

#[test]
fn token_has_the_documented_shape_and_hides_its_content() {
    let (_, replica) = trip_replica();
    let begun = start_stateless(&replica);
    let said = respond(&replica, begun.token.as_ref().unwrap(), json!("Atlantis")).unwrap().snapshot;
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
    // Short strings occur in base64 by chance.
    for secret in ["Atlantis", "Where to?"] {
        assert!(!tells(&bytes, secret), "{secret}");
    }
}

#[test]
fn malformed_token_is_not_found() {
    let (_, replica) = trip_replica();
    let token = collect_tokens(&replica, &all_answers()[..1]).pop().unwrap();
    let refused = |token: &str, why: &str| {
        let all = [
            status(&replica, token).map(drop),
            respond(&replica, token, json!(1)).map(drop),
            cancel(&replica, token).map(drop),
        ];
        for problem in all {
            assert_eq!(error_code(&problem.expect_err(why)), -32001, "{why}");
        }
    };
    // Every character of the token, and every byte under each of its two layers.
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
    // Half of one token and half of another.
    let other: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(start_stateless(&replica).token.unwrap()).unwrap())
            .unwrap();
    for part in ["sessionId", "state", "signature"] {
        let mut mixed = parts.clone();
        mixed[part] = other[part].clone();
        refused(&URL_SAFE_NO_PAD.encode(mixed.to_string()), part);
    }
    assert_eq!(result_to_text(status(&replica, &token)), "ask from", "the real token is unaffected");
}

#[test]
fn foreign_or_expired_token_is_not_found() {
    let (_, replica) = trip_replica();
    let token = collect_tokens(&replica, &all_answers()[..1]).pop().unwrap();
    for owner in [
        SessionOwner { tenant: "t", subject: "eve" },
        SessionOwner { tenant: "u", subject: "ada" },
        SessionOwner { tenant: "ta", subject: "da" },
        SessionOwner { tenant: "", subject: "t\",\"ada" },
    ] {
        let env = replica.env(owner);
        assert_eq!(
            result_to_text(expect_ready(replica.sessions.status(&env, SessionRef::Token(&token)))),
            "-32001",
            "{owner:?}"
        );
        assert_eq!(
            result_to_text(expect_ready(replica.sessions.cancel(&env, SessionRef::Token(&token), None))),
            "-32001"
        );
    }
    // The id in the token is not accepted: the store has no such session.
    let id = status(&replica, &token).unwrap().id;
    assert_eq!(result_to_text(expect_ready(replica.status(&id))), "-32001");
    replica.time.advance(Duration::from_mins(5));
    assert_eq!(result_to_text(status(&replica, &token)), "-32001");
}

#[test]
fn effects_are_not_repeated_with_any_earlier_token() {
    let (deeds, replica) = trip_replica();
    let answers = all_answers();
    let tokens = collect_tokens(&replica, &answers[..5]);
    assert_eq!((deeds.reservations().len(), deeds.booking_count()), (1, 1));
    // The tokens that the effects were performed with.
    assert_eq!(reply_to_text(respond(&replica, &tokens[3], json!("b"))), "-32001");
    assert_eq!(reply_to_text(respond(&replica, &tokens[4], json!(true))), "-32001");
    assert_eq!(result_to_text(cancel(&replica, &tokens[4])), "-32001");
    // The same tokens, encoded differently.
    for (token, value) in tokens[3..5].iter().zip(&answers[3..]) {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).unwrap()).unwrap();
        let (spaced, escaped) =
            (text.replace("\":\"", "\" : \""), text.replacen("session", "\\u0073ession", 1));
        for other in [spaced, escaped] {
            assert_eq!(
                reply_to_text(respond(&replica, &URL_SAFE_NO_PAD.encode(other), value.clone())),
                "-32001"
            );
        }
    }
    // Older tokens that would lead to the same effects. Asking is harmless; performing them is not.
    for (from, token) in tokens.iter().enumerate().take(3) {
        let mut token = token.clone();
        for (n, value) in answers.iter().enumerate().skip(from) {
            match respond(&replica, &token, value.clone()) {
                Ok(said) => token = said.snapshot.token.unwrap(),
                Err(problem) => {
                    assert_eq!((error_code(&problem), n), (-32001, 3));
                    break;
                }
            }
        }
    }
    assert_eq!((deeds.reservations().len(), deeds.booking_count()), (1, 1));
    // The newest token is valid, and a turn without effects may be repeated.
    for _ in 0..2 {
        let end = reply_to_text(respond(&replica, &tokens[5], json!("bye")));
        assert_eq!(end, r#"done ["Oslo",1,2,"b",1,true,7,"bye"]"#);
    }
}

#[test]
fn cancelled_tokens_are_rejected() {
    let (deeds, replica) = trip_replica();
    let tokens = collect_tokens(&replica, &all_answers()[..3]);
    let cancelled = cancel(&replica, &tokens[3]).unwrap();
    assert_eq!(snapshot_to_text(&cancelled), "cancelled");
    let token = cancelled.token.unwrap();
    assert_eq!(result_to_text(status(&replica, &token)), "cancelled");
    assert_eq!(reply_to_text(respond(&replica, &token, json!(1))), "-32006");
    assert_eq!(result_to_text(cancel(&replica, &token)), "-32006");
    // No other token of the session works either, for as long as one could be valid.
    replica.time.advance(Duration::from_secs(299));
    for token in &tokens[1..] {
        assert_eq!(reply_to_text(respond(&replica, token, json!("b"))), "-32006");
        assert_eq!(result_to_text(cancel(&replica, token)), "-32006");
        assert_eq!(result_to_text(status(&replica, token)), "-32006");
    }
    expect_ready(replica.sessions.store().sweep(replica.time.now())).unwrap();
    assert_eq!(result_to_text(status(&replica, &tokens[1])), "-32006", "it was not swept away");
    assert_eq!(deeds.reservations().len(), 0);
    // Tokens of other sessions are not affected.
    assert_eq!(
        reply_to_text(respond(&replica, &start_stateless(&replica).token.unwrap(), json!("Oslo"))),
        "ask from"
    );
}

#[test]
fn tokens_survive_key_rotation() {
    let store: Arc<dyn SessionStore> = Arc::new(MemorySessionStore::default());
    let time = ManualClock::new();
    let key = |n| SealKey::from_bytes([n; 32]);
    let with = |seal| {
        Replica::with_seal(
            store.clone(),
            Arc::new(seal),
            &time,
            single_conversation(Five::default()),
            Limits::default(),
            5,
        )
    };
    let old = with(Seal::new(key(1)));
    let token = start_stateless(&old).token.unwrap();
    let stored = expect_ready(old.start(json!({}))).unwrap().id;
    let rotated = with(Seal::new(key(2)).with_old_key(key(1)));
    let said = respond(&rotated, &token, json!(1)).unwrap().snapshot.token.unwrap();
    assert_eq!(reply_to_text(expect_ready(rotated.respond(&stored, json!(1)))), "ask b");
    let removed = with(Seal::new(key(2)));
    assert_eq!(result_to_text(status(&removed, &token)), "-32001");
    assert_eq!(result_to_text(status(&removed, &said)), "ask b", "the token is sealed with the new key now");
    assert_eq!(result_to_text(expect_ready(removed.status(&stored))), "ask b", "so is the stored session");
    let never = expect_ready(old.start(json!({}))).unwrap().id;
    assert_eq!(result_to_text(expect_ready(removed.status(&never))), "-32001");
}

#[test]
fn oversized_token_is_rejected() {
    let limits = Limits { max_session_bytes: 4000, ..Limits::default() };
    let replica = Replica::with_own_store(single_conversation(Five::default()), limits);
    let context = json!({ "x": "x".repeat(9000) }).as_object().cloned().unwrap();
    let begin = StartRequest { is_stateless: true, context, ..StartRequest::default() };
    assert_eq!(result_to_text(expect_ready(replica.start_with(begin))), "-32000");
}

#[test]
fn unreachable_store_is_not_reported_as_missing_session() {
    let deeds = EffectLog::default();
    let store = Arc::new(FaultySessionStore::default());
    let replica = Replica::new(
        store.clone(),
        &ManualClock::new(),
        single_conversation(Trip(deeds.clone())),
        Limits::default(),
    );
    let tokens = collect_tokens(&replica, &all_answers()[..3]);
    assert_eq!(store.operation_count(), 3, "each response checks for cancellation and writes nothing");
    store.fail_from(0, StoreFault::FailBefore);
    assert_eq!(result_to_text(cancel(&replica, &tokens[3])), "-32603");
    assert_eq!(reply_to_text(respond(&replica, &tokens[3], json!("b"))), "-32603");
    assert_eq!(deeds.reservations().len(), 0);
    store.clear_fault();
    assert_eq!(reply_to_text(respond(&replica, &tokens[3], json!("b"))), "ask sure");
}
