//! What only the inside of a session shows: that its two records of what was said agree, and the states that nobody sees.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::machine::Taken;
use super::*;
use crate::journal::Act;
use crate::{
    Answers, Conversation, Converse, Entropy, Env, Flow, Halt, Invalid, Journal, Seal, SealKey, Turn,
    TurnContext, integer,
};

/// A form, a loop, and a form again, each with a rule of its own.
#[derive(Clone)]
struct Forms;

impl Conversation for Forms {
    type Args = Answers;
    type Reply = Value;

    async fn run(&self, flow: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
        let mut all = Vec::new();
        for round in 0..3 {
            let form = (("a", digit()), ("b", digit()), ("c", digit().optional()), ("d", digit()));
            let (a, b, c, d) = flow.form_until("Four numbers", form, rule).await?;
            flow.step("add", async |_| Ok(a + b + d)).await?;
            all.push(json!([a, b, c, d, flow.ask("e", digit()).await?, round]));
        }
        Ok(all.into())
    }
}

fn digit() -> crate::Ask<crate::Integer> {
    integer("A digit").within(0..=9)
}

fn rule((a, b, c, d): &(i64, i64, Option<i64>, i64)) -> Result<(), (String, Invalid)> {
    let refuse = |name: &str| Err((name.to_owned(), Invalid::new("Not so", "Otherwise")));
    match c {
        Some(c) if a > c => refuse("b"),
        Some(c) if c > d => refuse("c"),
        None if a == b => refuse("a"),
        _ if b == d => refuse("all of it"),
        _ => Ok(()),
    }
}

struct Counting(AtomicU64);
impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.fetch_add(0x9E37_79B9, Ordering::Relaxed).to_le_bytes()[2];
        }
    }
}

const MOMENT: Moment = Moment { instance: 1, reading: Duration::ZERO };

impl Env for Counting {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }
}

impl SessionEnv for Counting {
    fn owner(&self) -> Owner<'_> {
        Owner { tenant: "t", subject: "s" }
    }

    fn monotonic(&self) -> Moment {
        MOMENT
    }

    fn sleep(&self, _: Duration) -> Pause {
        Box::pin(std::future::pending())
    }

    fn conversation(&self, _: &str) -> Option<Box<dyn Converse>> {
        Some(Box::new(Forms))
    }
}

/// What the journal has as answers, and what is answered of the open form.
fn recorded(session: &Session) -> Vec<(String, Value)> {
    let entries = session.journal.entries.iter().filter(|entry| matches!(entry.mark.act, Act::Answer(_)));
    entries.map(|entry| (entry.mark.key.clone(), entry.value.clone().unwrap_or_default())).collect()
}

fn told(session: &Session) -> Vec<(String, Value)> {
    session.turns.iter().map(|turn| (turn.name.clone(), turn.value.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is answered, refused, gone back from: the history and the journal tell the same.
    #[test]
    fn history_and_journal_agree(says in prop::collection::vec(-2i64..10, 0..60)) {
        let limits = Limits { attempts: 1000, rate: (1000, Duration::from_secs(1)), ..Limits::default() };
        let sessions = Sessions::new(Arc::new(Memory::default()), Arc::new(Seal::new(SealKey::of([1; 32]))), limits);
        let env = Counting(1.into());
        let begun = sessions.start(&env, Begin::default()).now_or_never().unwrap().unwrap();
        for say in says {
            let action = |action: &str| json!({ "action": action }).as_object().cloned();
            let metadata = match say {
                -2 => action("back"),
                -1 => action("skip"),
                _ => None,
            };
            let response = Response { value: json!(say), metadata, ..Response::default() };
            let said = sessions.respond(&env, Which::Id(&begun.id), response).now_or_never().unwrap();
            let Ok(Responded { standing: Standing { session, .. }, .. }) = said else { break };
            let (recorded, told) = (recorded(&session), told(&session));
            prop_assert_eq!(&told[..recorded.len()], &recorded[..]);
            let rest: Vec<_> = told[recorded.len()..].iter().map(|(name, value)| (name, value)).collect();
            prop_assert_eq!(rest.len(), session.partial.len());
            prop_assert!(rest.iter().all(|(name, value)| session.partial.get(*name) == Some(value)));
        }
    }
}

fn turn(journal: &mut Journal, input: Option<Answers>) -> Turn {
    let arguments = Answers::new();
    Forms.advance(journal, input, &TurnContext::for_tests(&arguments)).now_or_never().unwrap()
}

/// Every state in its turn, also those that are over before anybody could see them.
#[test]
fn every_step_is_one_of_the_document() {
    use State::{Active, Error, Idle, Processing, WaitingUser};
    let (limits, now) = (Limits::default(), Timestamp::UNIX_EPOCH);
    let mut session = Session::new("x".to_owned(), Answers::new(), Answers::new(), limits.idle, now);
    let mut states = vec![session.state()];
    session.run(None);
    states.push(session.state());
    let first = turn(&mut session.journal, None);
    assert_eq!(session.settle(first, now, MOMENT), None);
    states.push(session.state());
    for value in [1, 2, 3, 4] {
        let response = Response { value: json!(value), ..Response::default() };
        match session.take(response, &limits, now, MOMENT).unwrap() {
            Taken::NextField => states.push(session.state()),
            Taken::GoOn(input) => {
                session.run(input.clone());
                states.push(session.state());
                let next = turn(&mut session.journal, input);
                session.settle(next, now, MOMENT);
                states.push(session.state());
            }
            Taken::Refused(invalid) => panic!("{invalid}"),
        }
    }
    session.fail("because", "of that", now);
    states.push(session.state());
    let expected =
        [Idle, Active, WaitingUser, WaitingUser, WaitingUser, WaitingUser, Processing, WaitingUser, Error];
    assert_eq!(states, expected);
    for pair in states.windows(2) {
        assert!(pair[0] == pair[1] || pair[0].may_become(pair[1]), "{pair:?}");
    }
    assert!(session.cancel(None, now).is_err());
}

#[test]
fn what_is_said_about_an_end_is_short() {
    let now = Timestamp::UNIX_EPOCH;
    let mut session = Session::new("x".to_owned(), Answers::new(), Answers::new(), Duration::ZERO, now);
    session.cancel(Some(&"ä".repeat(5000)), now).unwrap();
    assert_eq!(session.failed().unwrap().message.chars().count(), 500);
}

/// What builds wrote that knew less about a session. They are still read, and go on.
#[test]
fn a_session_of_an_older_build_goes_on() {
    let (limits, now) = (Limits::default(), Timestamp::UNIX_EPOCH);
    let mut session = Session::new("x".to_owned(), Answers::new(), Answers::new(), limits.idle, now);
    session.run(None);
    let first = turn(&mut session.journal, None);
    session.settle(first, now, MOMENT);
    let mut written = serde_json::to_value(&session).unwrap();
    for unknown in ["put", "answered"] {
        assert!(written.as_object_mut().unwrap().remove(unknown).is_some(), "{unknown}");
    }
    assert_eq!(written["asked"], json!(now), "older builds cannot read a session without it");
    let mut read: Session = serde_json::from_value(written).unwrap();
    let response = Response { value: json!(1), received: Some(MOMENT), ..Response::default() };
    assert!(matches!(read.take(response, &limits, now, MOMENT), Ok(Taken::NextField)));
}
