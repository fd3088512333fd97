//! `booking` over `interaction.*`, from its start to its end, with five answers.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use memchr::memmem::find;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::flow::booking_answers;
use crate::http::http1::{parse, post};
use crate::http::server::BenchHttpServer;
use crate::peer::{BenchPeer, PeerProcess};
use crate::table::{FigureTable, median};
use crate::{BenchResult, provision};

/// Conversations that go on at the same time.
const CONCURRENT_CONVERSATIONS: usize = 16;

/// Ratios are to the first row. In brackets, what is wanted; nothing fails that misses it.
const COLUMNS: [&str; 6] = [
    "one at a time, µs",
    "times the bare one (3)",
    "sixteen at a time, µs each",
    "times the bare one, sixteen (3)",
    "CPU of the server, µs each",
    "times the bare one's CPU",
];

/// How long conversations take: one at a time, sixteen at a time, and in processor time of the server.
type InteractionFigures = [Vec<f64>; 3];

pub(super) fn build_tables(scratch: &Path, quick: bool) -> BenchResult<Vec<FigureTable>> {
    let (rounds, talks) = if quick { (1, 32) } else { (7, 3_200) };
    let folder = provision::build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (pipes, servers) = (stdio_peers(&folder, scratch), http_servers(&folder)?);
    let mut on_pipes = vec![InteractionFigures::default(); pipes.len()];
    let mut on_http = vec![InteractionFigures::default(); servers.len()];
    // Each round begins with another one, so that whatever else the machine does is shared by all.
    for round in 0..rounds {
        for n in (0..pipes.len()).map(|n| (n + round) % pipes.len()) {
            let mut running = pipes[n].start()?;
            // A disk that is waited for at every turn takes long enough to be measured in fewer.
            let talks = if pipes[n].name.ends_with("file") { talks / 8 } else { talks };
            measure(talks, &mut on_pipes[n], |talks, at_once| {
                run_over_stdio(&mut running, talks, at_once)?;
                running.cpu()
            })
            .map_err(|error| format!("{}: {error}", pipes[n].name))?;
        }
        for n in (0..servers.len()).map(|n| (n + round) % servers.len()) {
            let (name, server) = &servers[n];
            measure(talks, &mut on_http[n], |talks, at_once| {
                run_over_http(&runtime, server.address, talks, at_once)?;
                server.cpu()
            })
            .map_err(|error| format!("{name}: {error}"))?;
        }
    }
    let names = pipes.iter().map(|peer| peer.name.as_str());
    let over_stdio = build_table("Five questions over interaction.*, over stdio", names, &on_pipes);
    let names = servers.iter().map(|(name, _)| *name);
    Ok(vec![over_stdio, build_table("Five questions over interaction.*, over HTTP", names, &on_http)])
}

fn stdio_peers(folder: &Path, scratch: &Path) -> Vec<BenchPeer> {
    let file = format!("sqlite:{}", scratch.join("wire.db").display());
    let bare = folder.join("peer-bare").display().to_string();
    let ours = |name: &str, args: &[&str]| {
        let usual = ["serve", "--config", "/dev/null", "--toolsets", "reference", "--database"];
        BenchPeer::new(name, &folder.join("fluxway").display().to_string(), &[&usual, args].concat())
    };
    vec![
        BenchPeer::new("bare loop, same messages", &bare, &[]),
        BenchPeer::new("bare loop, answers only", &bare, &["quiet"]),
        ours("fluxway, in memory", &["sqlite::memory:"]),
        ours("fluxway, in tokens", &["sqlite::memory:", "--flow-stateless"]),
        ours("fluxway, in an SQLite file", &[&file]),
    ]
}

fn http_servers(folder: &Path) -> BenchResult<Vec<(&'static str, BenchHttpServer)>> {
    let usual = ["serve", "--config", "/dev/null", "--http", "127.0.0.1:0", "--no-auth"];
    let more = ["--toolsets", "reference", "--database", "sqlite::memory:"];
    let ours =
        |args: &[&str]| BenchHttpServer::start(&folder.join("fluxway"), &[&usual[..], &more, args].concat());
    Ok(vec![
        ("bare axum handler", BenchHttpServer::start(&folder.join("peer-bare-http"), &[])?),
        ("fluxway /api/mcp, in memory", ours(&[])?),
        ("fluxway /api/mcp, in tokens", ours(&["--flow-stateless"])?),
    ])
}

/// `hold`: has so many conversations, so many at once, and says how much processor time the server has used so far.
fn measure(
    talks: usize,
    figures: &mut InteractionFigures,
    mut hold: impl FnMut(usize, usize) -> BenchResult<Duration>,
) -> BenchResult<()> {
    let each = |time: Duration, talks: usize| time.as_secs_f64() * 1e6 / talks as f64;
    hold(talks / 4, CONCURRENT_CONVERSATIONS)?; // warm up
    let (few, start) = (talks / 4, Instant::now());
    let cpu = hold(few, 1)?;
    figures[0].push(each(start.elapsed(), few));
    let start = Instant::now();
    let cpu = hold(talks, CONCURRENT_CONVERSATIONS)?.saturating_sub(cpu);
    figures[1].push(each(start.elapsed(), talks));
    figures[2].push(each(cpu, talks));
    Ok(())
}

fn build_table<'a>(
    title: &'static str,
    names: impl Iterator<Item = &'a str>,
    figures: &[InteractionFigures],
) -> FigureTable {
    let mut table = FigureTable::without_ratios(title, &COLUMNS);
    for (name, ours) in names.zip(figures) {
        // Of each round by itself: a round in which the machine was busy was so for all.
        let ratio = |ours: &[f64], bare: &[f64]| median(ours.iter().zip(bare).map(|(a, b)| a / b).collect());
        let pair = |(ours, bare): (&Vec<f64>, &Vec<f64>)| [median(ours.clone()), ratio(ours, bare)];
        table.add_row(name, ours.iter().zip(&figures[0]).flat_map(pair).collect());
    }
    table
}

/// Every message has an id of its own: eight are set aside for a conversation.
fn start_message(talk: usize) -> Value {
    let id = talk * 8;
    let params = json!({ "toolName": "booking", "initialParams": { "travellers": 2 } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "interaction.start", "params": params })
}

/// The answer to whatever is asked. `None`: it is over, and five questions were answered.
fn next_message(message: &Value) -> BenchResult<Option<Value>> {
    let result = &message["result"];
    let prompt = result.get("nextPrompt").or_else(|| result.get("initialPrompt"));
    let Some(prompt) = prompt else {
        let is_good = result["state"] == "completed" && result["result"]["success"] == true;
        return if is_good { Ok(None) } else { Err(format!("no booking: {message}").into()) };
    };
    let id = message["id"].as_u64().ok_or("an answer without an id")? + 1;
    let value = &booking_answers()[prompt["name"].as_str().ok_or("a prompt without a name")?];
    let which = if result.get("token").is_some() { "token" } else { "sessionId" };
    let params =
        json!({ which: result[which], "promptId": prompt["promptId"], "response": { "value": value } });
    Ok(Some(json!({ "jsonrpc": "2.0", "id": id, "method": "interaction.respond", "params": params })))
}

/// Holds so many conversations over a pipe. What the server says by itself is read, and not looked at.
fn run_over_stdio(running: &mut PeerProcess, talks: usize, at_once: usize) -> BenchResult<()> {
    let (input, output) = running.split();
    let mut send = |message: Value| input.write_all(format!("{message}\n").as_bytes());
    let mut started = at_once.min(talks);
    (0..started).try_for_each(|talk| send(start_message(talk)))?;
    let (mut answers, mut ended, mut line) = (0, 0, Vec::new());
    while ended < talks {
        line.clear();
        if output.read_until(b'\n', &mut line)? == 0 {
            return Err("the server stopped".into());
        }
        if find(&line, b"\"method\":").is_some() {
            continue;
        }
        if let Some(answer) = next_message(&serde_json::from_slice(&line)?)? {
            answers += 1;
            send(answer)?;
            continue;
        }
        ended += 1;
        if started < talks {
            send(start_message(started))?;
            started += 1;
        }
    }
    if answers == talks * 5 { Ok(()) } else { Err(format!("{answers} answers in {talks} talks").into()) }
}

/// Holds so many conversations over so many connections, which stay open.
fn run_over_http(runtime: &Runtime, address: SocketAddr, talks: usize, at_once: usize) -> BenchResult<()> {
    runtime.block_on(async {
        let clients: Vec<_> =
            (0..at_once).map(|_| tokio::spawn(run_conversations(address, talks / at_once))).collect();
        for client in clients {
            client.await??;
        }
        Ok(())
    })
}

async fn run_conversations(address: SocketAddr, talks: usize) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).await.map_err(text)?;
    stream.set_nodelay(true).map_err(text)?;
    let mut buffer = Vec::with_capacity(8 * 1024);
    for number in 0..talks {
        let (mut message, mut answers) = (Some(start_message(number)), 0);
        while let Some(request) = message {
            let request = post(address, "/api/mcp", "", &request.to_string());
            stream.write_all(&request).await.map_err(text)?;
            buffer.clear();
            let reply = loop {
                if stream.read_buf(&mut buffer).await.map_err(text)? == 0 {
                    return Err("the server hung up".to_owned());
                }
                if let Some(reply) = parse(&buffer)? {
                    break reply;
                }
            };
            let body = serde_json::from_slice(&buffer[reply.body..reply.end]);
            let body = body.map_err(|error| error.to_string())?;
            message = next_message(&body).map_err(|error| error.to_string())?;
            answers += usize::from(message.is_some());
        }
        if answers != 5 {
            return Err(format!("{answers} answers"));
        }
    }
    Ok(())
}
