//! Interactive sessions: over the wire beside a loop that checks nothing, in databases, long ones, and many that wait.

mod interaction;
mod replay;
mod turns;
mod waiting;

use std::time::Duration;

use flow::session::{
    Limits, ProcessInstant, SessionEnv, SessionOwner, SessionRef, SessionSnapshot, SessionState, Sessions,
    SleepFuture, StartRequest, UserResponse,
};
use flow::{DynConversation, Entropy, Env, Seal, SealKey};
use serde_json::Value;
use server::{OsEntropy, Timestamp};

use crate::BenchResult;
use crate::database::Scratch;
use crate::table::save;

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let scratch = Scratch::new("sessions")?;
    // Before anything else has used memory in this process.
    let waiting = waiting::build_table(&scratch.0, quick)?;
    let mut tables = interaction::build_tables(&scratch.0, quick)?;
    tables.extend([turns::build_table(&scratch.0, quick)?, replay::build_table(quick)?, waiting]);
    tables.iter().for_each(crate::table::FigureTable::print);
    save("sessions", &tables.iter().collect::<Vec<_>>())
}

/// Sessions in a store, with a key of their own. Nobody is slowed down for answering fast.
fn new_sessions(store: std::sync::Arc<dyn flow::session::SessionStore>) -> Sessions {
    let limits = Limits { response_rate: (u32::MAX, Duration::from_secs(1)), ..Limits::default() };
    Sessions::new(store, Seal::new(SealKey::generate(&OsEntropy)).into(), limits)
}

/// What a client says in a conversation in this process, one answer after the other.
struct SessionClient<'a> {
    sessions: &'a Sessions,
    subject: &'a str,
    conversation: fn() -> Box<dyn DynConversation>,
}

impl SessionClient<'_> {
    async fn start(&self) -> BenchResult<SessionSnapshot> {
        let begin = StartRequest { timeout: Some(Duration::from_hours(24)), ..StartRequest::default() };
        Ok(self.sessions.start(self, begin).await?)
    }

    async fn respond(&self, session: &str, value: &Value) -> BenchResult<SessionState> {
        let response = UserResponse { value: value.clone(), ..UserResponse::default() };
        let responded = self.sessions.respond(self, SessionRef::Id(session), response).await?;
        match responded.invalid {
            None => Ok(responded.snapshot.session.state()),
            Some(invalid) => Err(format!("refused: {invalid:?}").into()),
        }
    }
}

impl Env for SessionClient<'_> {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> &dyn Entropy {
        &OsEntropy
    }
}

impl SessionEnv for SessionClient<'_> {
    fn owner(&self) -> SessionOwner<'_> {
        owner(self.subject)
    }

    fn monotonic(&self) -> ProcessInstant {
        ProcessInstant { instance: 0, reading: Duration::ZERO }
    }

    fn sleep(&self, duration: Duration) -> SleepFuture {
        Box::pin(tokio::time::sleep(duration))
    }

    fn conversation(&self, _: &str) -> Option<Box<dyn DynConversation>> {
        Some((self.conversation)())
    }
}

fn owner(subject: &str) -> SessionOwner<'_> {
    SessionOwner { tenant: "bench", subject }
}

/// The answers to the five questions of [`crate::turn::FiveQuestions`], in their order.
fn five_answers() -> Vec<Value> {
    let answers = serde_json::json!(["Lisbon", "2099-05-01", 2, "first", true]);
    answers.as_array().cloned().unwrap_or_default()
}
