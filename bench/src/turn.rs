//! What one turn of a conversation costs without a pipe: the whole of it, and its parts.

use std::sync::Arc;
use std::time::Instant;

use flow::{
    Answers, Conversation, DynConversation, Flow, Halt, Journal, Seal, SealKey, TokenBinding, Turn,
    TurnContext,
};
use flow::{choice, confirm, date, integer, text};
use serde_json::{Value, json};
use server::transport::memory;
use server::{App, OsEntropy, Principal, Scope, Timestamp};

use crate::BenchResult;
use crate::flow::fill_form;
use crate::table::{FigureTable, median};

/// Five questions, as the booking tool has them.
pub(crate) struct FiveQuestions;

impl Conversation for FiveQuestions {
    type Args = Answers;
    type Reply = Value;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
        let place = f.ask("destination", text("Where to?").length(2..=80)).await?;
        let day = f.ask("departure", date("When?")).await?;
        let people = f.ask("travellers", integer("How many?").within(1..=9)).await?;
        let class =
            f.ask("class", choice("Where to sit?", [("economy", "Economy"), ("first", "First")])).await?;
        let price = f.derive("price", async || Ok(people * 100)).await?;
        let agreed = f.ask("confirm", confirm(format!("{price} for {place}?"))).await?;
        Ok(json!([place, day.to_string(), people, class, agreed]))
    }
}

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    build_table(if quick { 100 } else { 20_000 })?.print();
    Ok(())
}

pub(crate) fn build_table(turns: usize) -> BenchResult<FigureTable> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut table = FigureTable::new("A turn in one process", &["µs"]);
    table.add_row("input_required, from bytes to bytes", vec![Some(runtime.block_on(measure_turns(turns))?)]);
    let (replay, seal) = runtime.block_on(measure_parts(turns))?;
    table.add_row("of which: replay four answers, check the fifth", vec![Some(replay)]);
    table.add_row("of which: seal the journal and open it again", vec![Some(seal)]);
    Ok(table)
}

async fn measure_turns(turns: usize) -> BenchResult<f64> {
    let app: Arc<App> = App::builder().build();
    let mut client = memory::connect(&app, Principal::local_user(Scope::Read));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let mut params = json!({ "name": "booking", "arguments": {}, "_meta": meta });
    let mut times = Vec::new();
    for turn in 0..turns {
        let message =
            json!({ "jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": params }).to_string();
        let start = Instant::now();
        client.send(message.as_bytes());
        let answer = client.next().await.ok_or("the server is gone")?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        let result = serde_json::from_slice::<Value>(&answer)?["result"].take();
        if result["resultType"] == "input_required" {
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] =
                json!({ "question": fill_form(&result["inputRequests"]["question"]["params"]) });
        } else if let Some(params) = params.as_object_mut() {
            params.remove("requestState");
            params.remove("inputResponses");
        }
    }
    median(times).ok_or_else(|| "no turns".into())
}

/// The last turn of a conversation, over and over.
async fn measure_parts(turns: usize) -> BenchResult<(f64, f64)> {
    let arguments = Answers::new();
    let context = TurnContext::for_tests(&arguments);
    let mut journal = Journal::default();
    let answers = json!([{ "destination": "Lisbon" }, { "departure": "2099-05-01" }, { "travellers": 2 }, { "class": "first" }]);
    for answer in answers.as_array().into_iter().flatten() {
        FiveQuestions.advance(&mut journal, answer.as_object().cloned(), &context).await;
    }
    let last = json!({ "confirm": true });
    let seal = Seal::new(SealKey::generate(&OsEntropy));
    let binding = TokenBinding { owner: "bench", method: "tools/call", tool: "five", arguments: &arguments };
    let (mut replays, mut seals) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        let mut copy = journal.clone();
        let input = last.as_object().cloned();
        let start = Instant::now();
        let turn = FiveQuestions.advance(&mut copy, input, &context).await;
        replays.push(start.elapsed().as_secs_f64() * 1e6);
        if !matches!(turn, Turn::Done(_)) {
            return Err(format!("not done: {turn:?}").into());
        }
        let start = Instant::now();
        let token = seal.seal(&journal, &binding, Timestamp::MAX, &OsEntropy);
        let _: Journal = seal.open(&token, &binding, Timestamp::UNIX_EPOCH)?;
        seals.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok((median(replays).unwrap_or_default(), median(seals).unwrap_or_default()))
}
