//! Sessions in a store: a conversation goes on in another process, and an answer is not lost when its process dies.
//! `cargo run -p fluxway-flow --example stored`
//!
//! The store here ends with this program; the two "processes" are two services over it. With a store that outlives them
//! nothing else changes.

#![expect(clippy::print_stdout, reason = "it tells what happens")]

use std::error::Error;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use flow::session::{
    Begin, Limits, Memory, Moment, Owner, Pause, Response, SessionEnv, SessionStore, Sessions, Standing,
    State, Which,
};
use flow::{
    Answers, Conversation, Converse, Entropy, Env, Flow, Halt, Seal, SealKey, confirm, integer, text,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Orders coffee. It takes a second to reserve it.
struct Coffee;

impl Conversation for Coffee {
    type Args = Answers;
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
        let kind = f.ask("kind", text("Which coffee?")).await?;
        let cups = f.ask("cups", integer("How many cups?").within(1..=9).default(1)).await?;
        let reserve = async |key: String| {
            println!("    ... reserving, with the idempotency key {key}");
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(format!("{cups} x {kind}"))
        };
        let reserved = f.step("reserve", reserve).await?;
        if !f.ask("sure", confirm(format!("{reserved}. Shall I order?"))).await? {
            return Err(Halt::refuse("nothing was ordered"));
        }
        f.once("order", async || Ok(format!("ordered {reserved}"))).await
    }
}

/// What a process brings along: the time, randomness, timers, and the conversations that it has.
struct Process;

impl Entropy for Process {
    #[expect(clippy::expect_used, reason = "ids that can be guessed are worse than no program")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system has randomness");
    }
}

impl Env for Process {
    #[expect(clippy::disallowed_methods, reason = "an example has nobody who would give it a clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }
}

impl SessionEnv for Process {
    fn owner(&self) -> Owner<'_> {
        Owner { tenant: "local", subject: "me" }
    }

    /// Time since the program started, and a number for the program.
    fn monotonic(&self) -> Moment {
        static ORIGIN: LazyLock<(u64, Instant)> = LazyLock::new(|| {
            let mut bytes = [0; 8];
            Process.fill(&mut bytes);
            (u64::from_le_bytes(bytes), Instant::now())
        });
        let (instance, origin) = *ORIGIN;
        Moment { instance, reading: origin.elapsed() }
    }

    fn sleep(&self, duration: Duration) -> Pause {
        Box::pin(tokio::time::sleep(duration))
    }

    fn conversation(&self, tool: &str) -> Option<Box<dyn Converse>> {
        (tool == "coffee").then(|| Box::new(Coffee) as _)
    }
}

fn sessions(store: &Arc<Memory>) -> Sessions {
    // The same key in every process, or one would not understand what the other has written down.
    let seal = Seal::new(SealKey::of([42; 32]));
    // Short, so that nobody has to wait here; ten seconds are usual.
    let limits = Limits { lease: Duration::from_millis(700), ..Limits::default() };
    Sessions::new(Arc::clone(store) as Arc<dyn SessionStore>, Arc::new(seal), limits)
}

fn say(value: Value) -> Response {
    Response { value, ..Response::default() }
}

fn show(who: &str, standing: &Standing) {
    let session = &standing.session;
    let what = match session.state() {
        State::WaitingUser => session.current().map(|field| field.prompt.message.clone()),
        State::Completed => session.result().map(ToString::to_string),
        state => session.failed().map(|failed| failed.message.clone()).or(Some(format!("{state:?}"))),
    };
    println!("{who}: {}", what.unwrap_or_default());
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(Memory::default());

    let first = sessions(&store);
    let begun = first.start(&Process, Begin { tool: "coffee".to_owned(), ..Begin::default() }).await?;
    show("first ", &begun);
    let session = Which::Id(&begun.id);
    show("first ", &first.respond(&Process, session, say(json!("espresso"))).await?.standing);

    // The first process dies while it works on the next answer.
    let working = first.respond(&Process, session, say(json!(2)));
    let killed = tokio::time::timeout(Duration::from_millis(300), working).await.is_err();
    drop(first);
    println!("first : {}", if killed { "(killed while it reserves)" } else { "(was faster)" });

    // Another one knows what was answered. As long as the first may still be alive, it only says so …
    let second = sessions(&store);
    show("second", &second.look(&Process, session).await?);
    tokio::time::sleep(Duration::from_secs(1)).await;
    // … and then it goes on, with the same answer and the same idempotency key.
    show("second", &second.look(&Process, session).await?);
    show("second", &second.respond(&Process, session, say(json!("yes"))).await?.standing);
    Ok(())
}
