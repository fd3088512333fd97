//! Long conversations: every turn runs the code from its beginning, against all that was answered before.

use std::sync::Arc;
use std::time::Instant;

use flow::session::MemorySessionStore;
use flow::{
    Answers, Conversation, DynConversation, Flow, Halt, Journal, Turn, TurnContext, choice, integer, text,
};
use serde_json::{Value, json};

use super::{SessionClient, new_sessions};
use crate::BenchResult;
use crate::table::{FigureTable, median};

/// Answers that a conversation has. The last is the most that a session takes.
const ANSWER_COUNTS: [usize; 4] = [10, 50, 100, 200];

/// Asks more than anybody answers here.
struct EndlessQuestions;

impl Conversation for EndlessQuestions {
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

pub(super) fn build_table(quick: bool) -> BenchResult<FigureTable> {
    let turns = if quick { 20 } else { 2_000 };
    let columns = [
        "a turn, µs",
        "for each replayed answer, µs (20)",
        "the last of them through a session in memory, µs",
    ];
    let mut table = FigureTable::without_ratios("Replay", &columns);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for length in ANSWER_COUNTS {
        let turn = runtime.block_on(measure_replay(length, turns))?;
        let whole = runtime.block_on(measure_session_turn(length, turns / 20))?;
        let name = format!("{length} answers");
        table.add_row(&name, vec![Some(turn), Some(turn / length as f64), Some(whole)]);
    }
    Ok(table)
}

async fn measure_replay(length: usize, turns: usize) -> BenchResult<f64> {
    let arguments = Answers::new();
    let context = TurnContext::for_tests(&arguments);
    let input = |number| Some(Answers::from_iter([(format!("question_{number}"), answer(number))]));
    let mut journal = Journal::default();
    for number in 0..length {
        EndlessQuestions.advance(&mut journal, input(number), &context).await;
    }
    let mut times = Vec::new();
    for _ in 0..turns {
        let (mut copy, input) = (journal.clone(), input(length));
        let start = Instant::now();
        let turn = EndlessQuestions.advance(&mut copy, input, &context).await;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        if !matches!(turn, Turn::Ask(_)) || copy.answer_count() != length + 1 {
            return Err(format!("not asked: {turn:?}").into());
        }
    }
    median(times).ok_or_else(|| "no turns".into())
}

/// The same with all that a session does: open it, judge, replay, seal it.
async fn measure_session_turn(length: usize, turns: usize) -> BenchResult<f64> {
    let mut times = Vec::new();
    for _ in 0..turns.max(1) {
        let sessions = new_sessions(Arc::new(MemorySessionStore::default()));
        let client = SessionClient {
            sessions: &sessions,
            subject: "bench",
            conversation: || Box::new(EndlessQuestions),
        };
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
