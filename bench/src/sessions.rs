//! Interactive sessions: over the wire beside a loop that checks nothing, in databases, long ones, and many that wait.

mod replay;
mod turns;
mod wait;
mod wire;

use std::time::Duration;

use flow::session::{Begin, Clerk, Limits, Owner, Pause, Response, Sessions, Standing, State, Which};
use flow::{Converse, Seal, SealKey};
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
        Ok(self.sessions.start(&self.clerk(&|_| Some((self.conversation)())), begin).await?)
    }

    async fn respond(&self, session: &str, value: &Value) -> Outcome<State> {
        let response = Response { value: value.clone(), ..Response::default() };
        let tools = |_: &str| Some((self.conversation)());
        let responded = self.sessions.respond(&self.clerk(&tools), Which::Id(session), response).await?;
        match responded.invalid {
            None => Ok(responded.standing.session.state()),
            Some(invalid) => Err(format!("refused: {invalid:?}").into()),
        }
    }

    fn clerk<'a>(&'a self, tools: &'a (dyn Fn(&str) -> Option<Box<dyn Converse>> + Sync)) -> Clerk<'a> {
        Clerk {
            owner: owner(self.subject),
            moment: &|| flow::session::Moment { instance: 0, reading: Duration::ZERO },
            clock: &Timestamp::now,
            entropy: &OsEntropy,
            pause: &pause,
            tools,
            progress: &|_| {},
        }
    }
}

fn owner(subject: &str) -> Owner<'_> {
    Owner { tenant: "bench", subject }
}

fn pause(time: Duration) -> Pause {
    Box::pin(tokio::time::sleep(time))
}

/// The answers to the five questions of [`crate::turn::Five`], in their order.
fn five() -> Vec<Value> {
    let answers = serde_json::json!(["Lisbon", "2099-05-01", 2, "first", true]);
    answers.as_array().cloned().unwrap_or_default()
}
