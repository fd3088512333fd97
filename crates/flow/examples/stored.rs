//! Sessions in a store: a conversation continues in another process, and no answer is lost when a process
//! dies. `cargo run -p fluxway-flow --example stored`
//!
//! The store in this example is in memory, and the two "processes" are two services that share it. Nothing
//! else changes with a persistent store.

#![expect(clippy::print_stdout, reason = "the example prints what happens")]

use std::error::Error;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use flow::session::{
    Limits, MemorySessionStore, ProcessInstant, SessionEnv, SessionOwner, SessionRef, SessionSnapshot,
    SessionState, SessionStore, Sessions, SleepFuture, StartRequest, UserResponse,
};
use flow::{
    Answers, Conversation, DynConversation, Entropy, Env, Flow, Halt, Seal, SealKey, confirm, integer, text,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Orders coffee. Reserving it takes a second.
struct Coffee;

impl Conversation for Coffee {
    type Args = Answers;
    type Reply = String;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
        let kind = f.ask("kind", text("Which coffee?")).await?;
        let cups = f.ask("cups", integer("How many cups?").within(1..=9).default(1)).await?;
        let reserve = async |key: String| {
            println!("    ... reserving, idempotency key {key}");
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

/// The environment of a process: time, randomness, timers and conversations.
struct Process;

impl Entropy for Process {
    #[expect(clippy::expect_used, reason = "failing is better than guessable ids")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("system randomness is available");
    }
}

impl Env for Process {
    #[expect(clippy::disallowed_methods, reason = "the example is the host and supplies the clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }
}

impl SessionEnv for Process {
    fn owner(&self) -> SessionOwner<'_> {
        SessionOwner { tenant: "local", subject: "me" }
    }

    /// Time since the program started, with a fixed process number.
    fn monotonic(&self) -> ProcessInstant {
        static ORIGIN: LazyLock<(u64, Instant)> = LazyLock::new(|| {
            let mut bytes = [0; 8];
            Process.fill(&mut bytes);
            (u64::from_le_bytes(bytes), Instant::now())
        });
        let (instance, origin) = *ORIGIN;
        ProcessInstant { instance, reading: origin.elapsed() }
    }

    fn sleep(&self, duration: Duration) -> SleepFuture {
        Box::pin(tokio::time::sleep(duration))
    }

    fn conversation(&self, tool: &str) -> Option<Box<dyn DynConversation>> {
        (tool == "coffee").then(|| Box::new(Coffee) as _)
    }
}

fn sessions(store: &Arc<MemorySessionStore>) -> Sessions {
    // All processes need the same key to read each other's sessions.
    let seal = Seal::new(SealKey::from_bytes([42; 32]));
    // Short, to keep the example fast. The default is ten seconds.
    let limits = Limits { lease_duration: Duration::from_millis(700), ..Limits::default() };
    Sessions::new(Arc::clone(store) as Arc<dyn SessionStore>, Arc::new(seal), limits)
}

fn response(value: Value) -> UserResponse {
    UserResponse { value, ..UserResponse::default() }
}

fn print_snapshot(who: &str, snapshot: &SessionSnapshot) {
    let session = &snapshot.session;
    let what = match session.state() {
        SessionState::WaitingUser => session.current_field().map(|field| field.prompt.message.clone()),
        SessionState::Completed => session.result().map(ToString::to_string),
        state => session.failure().map(|failed| failed.message.clone()).or(Some(format!("{state:?}"))),
    };
    println!("{who}: {}", what.unwrap_or_default());
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(MemorySessionStore::default());

    let first = sessions(&store);
    let begun =
        first.start(&Process, StartRequest { tool: "coffee".to_owned(), ..StartRequest::default() }).await?;
    print_snapshot("first ", &begun);
    let session = SessionRef::Id(&begun.id);
    print_snapshot("first ", &first.respond(&Process, session, response(json!("espresso"))).await?.snapshot);

    // The first process dies while it works on the next answer.
    let working = first.respond(&Process, session, response(json!(2)));
    let killed = tokio::time::timeout(Duration::from_millis(300), working).await.is_err();
    drop(first);
    println!("first : {}", if killed { "(killed while reserving)" } else { "(finished first)" });

    // The second process sees the answer. While the lease of the first is valid, it only reports the state …
    let second = sessions(&store);
    print_snapshot("second", &second.status(&Process, session).await?);
    tokio::time::sleep(Duration::from_secs(1)).await;
    // … and after that it resumes the turn, with the same answer and the same idempotency key.
    print_snapshot("second", &second.status(&Process, session).await?);
    print_snapshot("second", &second.respond(&Process, session, response(json!("yes"))).await?.snapshot);
    Ok(())
}
