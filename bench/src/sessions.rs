//! Interactive sessions: over the wire beside a loop that checks nothing, in databases, long ones, and many that wait.

mod replay;
mod turns;
mod wait;
mod wire;

use std::time::Duration;

use flow::session::{
    Begin, Limits, Moment, Owner, Pause, Response, SessionEnv, Sessions, Standing, State, Which,
};
use flow::{Converse, Entropy, Env, Seal, SealKey};
use serde_json::Value;
use server::{OsEntropy, Timestamp};

use crate::Outcome;
use crate::database::Scratch;
use crate::table::save;

pub(crate) fn run(quick: bool) -> Outcome<()> {
    let scratch = Scratch::new("sessions")?;
    // Before anything else has used memory in this process.
    let waiting = wait::table(&scratch.0, quick)?;
    let mut tables = wire::tables(&scratch.0, quick)?;
    tables.extend([turns::table(&scratch.0, quick)?, replay::table(quick)?, waiting]);
    tables.iter().for_each(crate::table::Table::print);
    save("sessions", &tables.iter().collect::<Vec<_>>())
}

/// Sessions in a store, with a key of their own. Nobody is slowed down for answering fast.
fn sessions(store: std::sync::Arc<dyn flow::session::SessionStore>) -> Sessions {
    let limits = Limits { rate: (u32::MAX, Duration::from_secs(1)), ..Limits::default() };
    Sessions::new(store, Seal::new(SealKey::generate(&OsEntropy)).into(), limits)
}

/// What a client says in a conversation in this process, one answer after the other.
struct Client<'a> {
    sessions: &'a Sessions,
    subject: &'a str,
    conversation: fn() -> Box<dyn Converse>,
}

impl Client<'_> {
    async fn start(&self) -> Outcome<Standing> {
        let begin = Begin { timeout: Some(Duration::from_hours(24)), ..Begin::default() };
        Ok(self.sessions.start(self, begin).await?)
    }

    async fn respond(&self, session: &str, value: &Value) -> Outcome<State> {
        let response = Response { value: value.clone(), ..Response::default() };
        let responded = self.sessions.respond(self, Which::Id(session), response).await?;
        match responded.invalid {
            None => Ok(responded.standing.session.state()),
            Some(invalid) => Err(format!("refused: {invalid:?}").into()),
        }
    }
}

impl Env for Client<'_> {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> &dyn Entropy {
        &OsEntropy
    }
}

impl SessionEnv for Client<'_> {
    fn owner(&self) -> Owner<'_> {
        owner(self.subject)
    }

    fn monotonic(&self) -> Moment {
        Moment { instance: 0, reading: Duration::ZERO }
    }

    fn sleep(&self, duration: Duration) -> Pause {
        Box::pin(tokio::time::sleep(duration))
    }

    fn conversation(&self, _: &str) -> Option<Box<dyn Converse>> {
        Some((self.conversation)())
    }
}

fn owner(subject: &str) -> Owner<'_> {
    Owner { tenant: "bench", subject }
}

/// The answers to the five questions of [`crate::turn::Five`], in their order.
fn five() -> Vec<Value> {
    let answers = serde_json::json!(["Lisbon", "2099-05-01", 2, "first", true]);
    answers.as_array().cloned().unwrap_or_default()
}
