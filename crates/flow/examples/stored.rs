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
    Begin, Clerk, Limits, Memory, Moment, Owner, Pause, Response, SessionStore, Sessions, Standing, State,
    Which,
};
use flow::{Answers, Conversation, Converse, Entropy, Flow, Halt, Seal, SealKey, confirm, integer, text};
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

struct Random;

impl Entropy for Random {
    #[expect(clippy::expect_used, reason = "ids that can be guessed are worse than no program")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the system has randomness");
    }
}

/// Everything that a process brings along: time, randomness, pauses, and the conversations that it has.
fn clerk() -> Clerk<'static> {
    #[expect(clippy::disallowed_methods, reason = "an example has nobody who would give it a clock")]
    fn clock() -> Timestamp {
        Timestamp::now()
    }
    /// Time since the program started, and a number for the program.
    fn moment() -> Moment {
        static ORIGIN: LazyLock<(u64, Instant)> = LazyLock::new(|| {
            let mut bytes = [0; 8];
            Random.fill(&mut bytes);
            (u64::from_le_bytes(bytes), Instant::now())
        });
        let (instance, origin) = *ORIGIN;
        Moment { instance, reading: origin.elapsed() }
    }
    fn pause(time: Duration) -> Pause {
        Box::pin(tokio::time::sleep(time))
    }
    fn tools(name: &str) -> Option<Box<dyn Converse>> {
        (name == "coffee").then(|| Box::new(Coffee) as _)
    }
    let owner = Owner { tenant: "local", subject: "me" };
    Clerk {
        owner,
        clock: &clock,
        moment: &moment,
        entropy: &Random,
        pause: &pause,
        tools: &tools,
        progress: &|_| {},
    }
}

fn process(store: &Arc<Memory>) -> Sessions {
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
    let (store, clerk) = (Arc::new(Memory::default()), clerk());

    let first = process(&store);
    let begun = first.start(&clerk, Begin { tool: "coffee".to_owned(), ..Begin::default() }).await?;
    show("first ", &begun);
    let session = Which::Id(&begun.id);
    show("first ", &first.respond(&clerk, session, say(json!("espresso"))).await?.standing);

    // The first process dies while it works on the next answer.
    let working = first.respond(&clerk, session, say(json!(2)));
    let killed = tokio::time::timeout(Duration::from_millis(300), working).await.is_err();
    drop(first);
    println!("first : {}", if killed { "(killed while it reserves)" } else { "(was faster)" });

    // Another one knows what was answered. As long as the first may still be alive, it only says so …
    let second = process(&store);
    show("second", &second.look(&clerk, session).await?);
    tokio::time::sleep(Duration::from_secs(1)).await;
    // … and then it goes on, with the same answer and the same idempotency key.
    show("second", &second.look(&clerk, session).await?);
    show("second", &second.respond(&clerk, session, say(json!("yes"))).await?.standing);
    Ok(())
}
