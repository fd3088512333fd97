//! A conversation of five questions: ours beside the same with another SDK, and beside a loop that checks nothing.

use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::peer::{BenchPeer, PeerProcess};
use crate::table::{FigureTable, median, save};
use crate::{BenchResult, provision, turn};

/// What the user answers.
pub(crate) fn booking_answers() -> Value {
    json!({ "destination": "Lisbon", "departure": "2099-05-01", "return": "2099-05-08", "travellers": 2, "class": "business", "confirm": true })
}

pub(crate) fn fill_form(params: &Value) -> Value {
    let wishes = booking_answers();
    let fields = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
    let content: Map<String, Value> = fields.map(|(name, _)| (name.clone(), wishes[name].clone())).collect();
    json!({ "action": "accept", "content": content })
}

/// Conversations that go on at the same time. One alone measures how fast the machine wakes a sleeping process.
const CONCURRENT_CONVERSATIONS: usize = 16;

#[derive(Default)]
struct ElicitationFigures {
    sequential: Vec<f64>,
    concurrent: Vec<f64>,
    cpu: Vec<f64>,
}

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let (rounds, talks) = if quick { (1, 64) } else { (7, 1_600) };
    let peers = provision::eliciting_peers()?;
    let mut figures: Vec<ElicitationFigures> = peers.iter().map(|_| ElicitationFigures::default()).collect();
    for _ in 0..rounds {
        for (peer, figures) in peers.iter().zip(&mut figures) {
            measure(peer, talks, figures)?;
        }
    }
    let columns = ["one at a time, µs", "sixteen at a time, µs each", "CPU of the server, µs each"];
    let mut table = FigureTable::new("Five questions through elicitation, over stdio", &columns);
    for (peer, figures) in peers.iter().zip(figures) {
        table.add_row(
            &peer.name,
            [figures.sequential, figures.concurrent, figures.cpu].into_iter().map(median).collect(),
        );
    }
    table.print();

    let turn = turn::build_table(talks)?;
    turn.print();
    save("flow", &[&table, &turn])
}

fn measure(peer: &BenchPeer, talks: usize, figures: &mut ElicitationFigures) -> BenchResult<()> {
    let mut running = peer.start()?;
    run_conversations(&mut running, talks / 8, CONCURRENT_CONVERSATIONS)?; // warm up
    let start = Instant::now();
    run_conversations(&mut running, talks / 8, 1)?;
    figures.sequential.push(start.elapsed().as_secs_f64() * 1e6 / (talks / 8) as f64);
    let cpu = running.cpu()?;
    let start = Instant::now();
    run_conversations(&mut running, talks, CONCURRENT_CONVERSATIONS)?;
    figures.concurrent.push(start.elapsed().as_secs_f64() * 1e6 / talks as f64);
    figures.cpu.push(running.cpu()?.saturating_sub(cpu).as_secs_f64() * 1e6 / talks as f64);
    Ok(())
}

/// Holds so many conversations, some of them at once, and checks that each asks its five questions.
fn run_conversations(running: &mut PeerProcess, talks: usize, at_once: usize) -> BenchResult<()> {
    let begin = |talk: usize| json!({ "jsonrpc": "2.0", "id": format!("talk-{talk}"), "method": "tools/call", "params": { "name": "booking", "arguments": {} } });
    let mut started = at_once.min(talks);
    for talk in 0..started {
        running.send(&begin(talk))?;
    }
    let (mut questions, mut ended) = (0, 0);
    while ended < talks {
        let message = running.receive()?;
        if message["method"] == "elicitation/create" {
            questions += 1;
            let result = fill_form(&message["params"]);
            running.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))?;
            continue;
        }
        if message["result"].get("structuredContent").is_none() {
            return Err(format!("no booking: {message}").into());
        }
        ended += 1;
        if started < talks {
            running.send(&begin(started))?;
            started += 1;
        }
    }
    if questions == talks * 5 {
        Ok(())
    } else {
        Err(format!("{questions} questions in {talks} conversations").into())
    }
}
