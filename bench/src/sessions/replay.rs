//! Long conversations: every turn runs the code from its beginning, against all that was answered before.

use std::sync::Arc;
use std::time::Instant;

use flow::session::Memory;
use flow::{Answers, Conversation, Converse, Flow, Halt, Journal, Turn, TurnContext, choice, integer, text};
use serde_json::{Value, json};

use super::{Client, sessions};
use crate::Outcome;
use crate::table::{Table, median};

/// Answers that a conversation has. The last is the most that a session takes.
const LENGTHS: [usize; 4] = [10, 50, 100, 200];

/// Asks more than anybody answers here.
struct Endless;

impl Conversation for Endless {
    type Args = Answers;
    type Reply = ();

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<(), Halt> {
        for number in 0..1_000 {
            let key = format!("question_{number}");
            match number % 3 {
                0 => drop(f.ask(&key, text("What comes next?").length(2..=80)).await?),
                1 => drop(f.ask(&key, integer("How many of them?").within(1..=9)).await?),
                _ => drop(f.ask(&key, choice("Which?", [("one", "The one"), ("other", "The other")])).await?),
            }
        }
        Ok(())
    }
}

fn answer(number: usize) -> Value {
    [json!("a loaf of bread"), json!(7), json!("other")][number % 3].clone()
}

pub(super) fn table(quick: bool) -> Outcome<Table> {
    let turns = if quick { 20 } else { 2_000 };
    let columns = [
        "a turn, µs",
        "for each replayed answer, µs (20)",
        "the last of them through a session in memory, µs",
    ];
    let mut table = Table::plain("Replay", &columns);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for length in LENGTHS {
        let turn = runtime.block_on(replay(length, turns))?;
        let whole = runtime.block_on(through_session(length, turns / 20))?;
        let name = format!("{length} answers");
        table.row(&name, vec![Some(turn), Some(turn / length as f64), Some(whole)]);
    }
    Ok(table)
}

async fn replay(length: usize, turns: usize) -> Outcome<f64> {
    let arguments = Answers::new();
    let context = TurnContext::for_tests(&arguments);
    let input = |number| Some(Answers::from_iter([(format!("question_{number}"), answer(number))]));
    let mut journal = Journal::default();
    for number in 0..length {
        Endless.advance(&mut journal, input(number), &context).await;
    }
    let mut times = Vec::new();
    for _ in 0..turns {
        let (mut copy, input) = (journal.clone(), input(length));
        let start = Instant::now();
        let turn = Endless.advance(&mut copy, input, &context).await;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        if !matches!(turn, Turn::Ask(_)) || copy.answers() != length + 1 {
            return Err(format!("not asked: {turn:?}").into());
        }
    }
    median(times).ok_or_else(|| "no turns".into())
}

/// The same with all that a session does: open it, judge, replay, seal it.
async fn through_session(length: usize, turns: usize) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..turns.max(1) {
        let sessions = sessions(Arc::new(Memory::default()));
        let client = Client { sessions: &sessions, subject: "bench", conversation: || Box::new(Endless) };
        let id = client.start().await?.id;
        for number in 0..length - 1 {
            client.respond(&id, &answer(number)).await?;
        }
        let start = Instant::now();
        client.respond(&id, &answer(length - 1)).await?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    median(times).ok_or_else(|| "no turns".into())
}
