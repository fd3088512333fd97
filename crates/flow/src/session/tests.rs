//! Tests of session internals: the agreement of history and journal, and the short-lived states.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::transitions::ResponseOutcome;
use super::*;
use crate::journal::JournalEvent;
use crate::{
    Answers, Conversation, DynConversation, Entropy, Env, Flow, Halt, InvalidAnswer, Journal, Seal, SealKey,
    Turn, TurnContext, integer,
};

/// A form in a loop, with a rule per form.
#[derive(Clone)]
struct FormLoop;

impl Conversation for FormLoop {
    type Args = Answers;
    type Reply = Value;

    async fn run(&self, flow: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
        let mut all = Vec::new();
        for round in 0..3 {
            let form = (("a", digit()), ("b", digit()), ("c", digit().optional()), ("d", digit()));
            let (a, b, c, d) = flow.form_until("Four numbers", form, check_form).await?;
            flow.step("add", async |_| Ok(a + b + d)).await?;
            all.push(json!([a, b, c, d, flow.ask("e", digit()).await?, round]));
        }
        Ok(all.into())
    }
}

fn digit() -> crate::TypedPrompt<crate::Integer> {
    integer("A digit").within(0..=9)
}

fn check_form((a, b, c, d): &(i64, i64, Option<i64>, i64)) -> Result<(), (String, InvalidAnswer)> {
    let refuse = |name: &str| Err((name.to_owned(), InvalidAnswer::new("Not so", "Otherwise")));
    match c {
        Some(c) if a > c => refuse("b"),
        Some(c) if c > d => refuse("c"),
        None if a == b => refuse("a"),
        _ if b == d => refuse("all of it"),
        _ => Ok(()),
    }
}

struct SteppingEntropy(AtomicU64);
impl Entropy for SteppingEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.fetch_add(0x9E37_79B9, Ordering::Relaxed).to_le_bytes()[2];
        }
    }
}

const TEST_INSTANT: ProcessInstant = ProcessInstant { instance: 1, reading: Duration::ZERO };

impl Env for SteppingEntropy {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }
}

impl SessionEnv for SteppingEntropy {
    fn owner(&self) -> SessionOwner<'_> {
        SessionOwner { tenant: "t", subject: "s" }
    }

    fn monotonic(&self) -> ProcessInstant {
        TEST_INSTANT
    }

    fn sleep(&self, _: Duration) -> SleepFuture {
        Box::pin(std::future::pending())
    }

    fn conversation(&self, _: &str) -> Option<Box<dyn DynConversation>> {
        Some(Box::new(FormLoop))
    }
}

/// The answers in the journal and in the open form.
fn journal_answers(session: &Session) -> Vec<(String, Value)> {
    let entries =
        session.journal.entries.iter().filter(|entry| matches!(entry.mark.act, JournalEvent::Answer(_)));
    entries.map(|entry| (entry.mark.key.clone(), entry.value.clone().unwrap_or_default())).collect()
}

fn history_answers(session: &Session) -> Vec<(String, Value)> {
    session.turns.iter().map(|turn| (turn.name.clone(), turn.value.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// After any sequence of answers, rejections and undos, the history and the journal agree.
    #[test]
    fn history_and_journal_agree(says in prop::collection::vec(-2i64..10, 0..60)) {
        let limits = Limits { max_attempts: 1000, response_rate: (1000, Duration::from_secs(1)), ..Limits::default() };
        let sessions = Sessions::new(Arc::new(MemorySessionStore::default()), Arc::new(Seal::new(SealKey::from_bytes([1; 32]))), limits);
        let env = SteppingEntropy(1.into());
        let begun = sessions.start(&env, StartRequest::default()).now_or_never().unwrap().unwrap();
        for say in says {
            let action = |action: &str| json!({ "action": action }).as_object().cloned();
            let metadata = match say {
                -2 => action("back"),
                -1 => action("skip"),
                _ => None,
            };
            let response = UserResponse { value: json!(say), metadata, ..UserResponse::default() };
            let said = sessions.respond(&env, SessionRef::Id(&begun.id), response).now_or_never().unwrap();
            let Ok(RespondReply { snapshot: SessionSnapshot { session, .. }, .. }) = said else { break };
            let (recorded, told) = (journal_answers(&session), history_answers(&session));
            prop_assert_eq!(&told[..recorded.len()], &recorded[..]);
            let rest: Vec<_> = told[recorded.len()..].iter().map(|(name, value)| (name, value)).collect();
            prop_assert_eq!(rest.len(), session.partial.len());
            prop_assert!(rest.iter().all(|(name, value)| session.partial.get(*name) == Some(value)));
        }
    }
}

fn advance_form_loop(journal: &mut Journal, input: Option<Answers>) -> Turn {
    let arguments = Answers::new();
    FormLoop.advance(journal, input, &TurnContext::for_tests(&arguments)).now_or_never().unwrap()
}

/// Passes through every state, including those too short-lived to observe.
#[test]
fn every_transition_is_documented() {
    use SessionState::{Active, Error, Idle, Processing, WaitingUser};
    let (limits, now) = (Limits::default(), Timestamp::UNIX_EPOCH);
    let mut session = Session::new("x".to_owned(), Answers::new(), Answers::new(), limits.idle_timeout, now);
    let mut states = vec![session.state()];
    session.mark_running(None);
    states.push(session.state());
    let first = advance_form_loop(&mut session.journal, None);
    assert_eq!(session.apply_turn(first, now, TEST_INSTANT), None);
    states.push(session.state());
    for value in [1, 2, 3, 4] {
        let response = UserResponse { value: json!(value), ..UserResponse::default() };
        match session.accept_response(response, &limits, now, TEST_INSTANT).unwrap() {
            ResponseOutcome::NextField => states.push(session.state()),
            ResponseOutcome::Continue(input) => {
                session.mark_running(input.clone());
                states.push(session.state());
                let next = advance_form_loop(&mut session.journal, input);
                session.apply_turn(next, now, TEST_INSTANT);
                states.push(session.state());
            }
            ResponseOutcome::Rejected(invalid) => panic!("{invalid}"),
        }
    }
    session.fail("because", "of that", now);
    states.push(session.state());
    let expected =
        [Idle, Active, WaitingUser, WaitingUser, WaitingUser, WaitingUser, Processing, WaitingUser, Error];
    assert_eq!(states, expected);
    for pair in states.windows(2) {
        assert!(pair[0] == pair[1] || pair[0].can_transition_to(pair[1]), "{pair:?}");
    }
    assert!(session.cancel(None, now).is_err());
}

#[test]
fn cancel_reason_is_truncated() {
    let now = Timestamp::UNIX_EPOCH;
    let mut session = Session::new("x".to_owned(), Answers::new(), Answers::new(), Duration::ZERO, now);
    session.cancel(Some(&"ä".repeat(5000)), now).unwrap();
    assert_eq!(session.failure().unwrap().message.chars().count(), 500);
}

/// Sessions written by older builds lack some fields. They must load and continue.
#[test]
fn session_of_an_older_build_can_be_continued() {
    let (limits, now) = (Limits::default(), Timestamp::UNIX_EPOCH);
    let mut session = Session::new("x".to_owned(), Answers::new(), Answers::new(), limits.idle_timeout, now);
    session.mark_running(None);
    let first = advance_form_loop(&mut session.journal, None);
    session.apply_turn(first, now, TEST_INSTANT);
    let mut written = serde_json::to_value(&session).unwrap();
    for unknown in ["put", "answered"] {
        assert!(written.as_object_mut().unwrap().remove(unknown).is_some(), "{unknown}");
    }
    assert_eq!(written["asked"], json!(now), "older builds cannot read a session without it");
    let mut read: Session = serde_json::from_value(written).unwrap();
    let response =
        UserResponse { value: json!(1), received_at: Some(TEST_INSTANT), ..UserResponse::default() };
    assert!(matches!(
        read.accept_response(response, &limits, now, TEST_INSTANT),
        Ok(ResponseOutcome::NextField)
    ));
}
