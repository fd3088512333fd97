//! A conversation of five questions: ours beside the same with another SDK, and beside a loop that checks nothing.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use server::transport::memory;
use server::{App, Principal, Scope};

use crate::peer::{Peer, Running};
use crate::table::{Table, median, save};
use crate::{Outcome, provision};

/// What the user answers.
fn wishes() -> Value {
    json!({ "destination": "Lisbon", "departure": "2099-05-01", "return": "2099-05-08", "travellers": 2, "class": "business", "confirm": true })
}

fn fill_in(params: &Value) -> Value {
    let wishes = wishes();
    let fields = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
    let content: Map<String, Value> = fields.map(|(name, _)| (name.clone(), wishes[name].clone())).collect();
    json!({ "action": "accept", "content": content })
}

pub(crate) fn run(quick: bool) -> Outcome<()> {
    let (rounds, talks) = if quick { (1, 50) } else { (7, 1_000) };
    let peers = provision::asking()?;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    let mut cpu: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    for _ in 0..rounds {
        for (n, peer) in peers.iter().enumerate() {
            let (wall, processor) = converse_many(peer, talks)?;
            times[n].push(wall);
            cpu[n].push(processor);
        }
    }
    let mut table = Table::new(
        "Five questions through elicitation, over stdio",
        &["a conversation, µs", "CPU of the server, µs"],
    );
    for ((peer, times), cpu) in peers.iter().zip(times).zip(cpu) {
        table.row(&peer.name, vec![median(times), median(cpu)]);
    }
    table.print();

    let mut replay = Table::new("A turn through input_required, in one process", &["a turn, µs"]);
    replay.row("open the state, replay, ask, seal it again", vec![Some(turn_time(talks)?)]);
    replay.print();
    save("flow", &[&table, &replay])
}

fn converse_many(peer: &Peer, talks: usize) -> Outcome<(f64, f64)> {
    let mut running = peer.start()?;
    for _ in 0..talks / 10 {
        converse(&mut running)?;
    }
    let cpu = running.cpu()?;
    let start = Instant::now();
    for _ in 0..talks {
        converse(&mut running)?;
    }
    let wall = start.elapsed().as_secs_f64() * 1e6 / talks as f64;
    Ok((wall, running.cpu()?.saturating_sub(cpu).as_secs_f64() * 1e6 / talks as f64))
}

fn converse(running: &mut Running) -> Outcome<()> {
    running.send(&json!({ "jsonrpc": "2.0", "id": "talk", "method": "tools/call", "params": { "name": "booking", "arguments": {} } }))?;
    let mut questions = 0;
    loop {
        let message = running.receive()?;
        if message["method"] != "elicitation/create" {
            let booked = message["result"].get("structuredContent").is_some() && questions == 5;
            return if booked {
                Ok(())
            } else {
                Err(format!("{questions} questions, then {message}").into())
            };
        }
        questions += 1;
        let result = fill_in(&message["params"]);
        running.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
    }
}

/// The median time of one turn in the middle of a conversation, from bytes to bytes.
fn turn_time(turns: usize) -> Outcome<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let app: Arc<App> = App::builder().build();
        let mut client = memory::connect(&app, Principal::local_user(Scope::Read));
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let mut params = json!({ "name": "booking", "arguments": {}, "_meta": meta });
        let mut times = Vec::new();
        for turn in 0..turns * 6 {
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
                    json!({ "question": fill_in(&result["inputRequests"]["question"]["params"]) });
            } else if let Some(params) = params.as_object_mut() {
                params.remove("requestState");
                params.remove("inputResponses");
            }
        }
        median(times).ok_or_else(|| "no turns".into())
    })
}
