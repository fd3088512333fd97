//! A million messages of every dialect, some of them broken, from a seed: every id answered once, memory bounded.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use crate::BenchResult;
use crate::provision;

/// A small generator with a printed seed, so that a failure can be seen again.
struct FuzzRandom(u64);

impl FuzzRandom {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// What the answers must come to.
#[derive(Default)]
struct ExpectedAnswers {
    /// Answers by id, whatever they say.
    ids: usize,
    /// Answers without an id: one for each broken line.
    without_id: usize,
}

fn random_message(dice: &mut FuzzRandom, id: usize, expected: &mut ExpectedAnswers) -> Vec<u8> {
    let text = "x".repeat(usize::try_from(dice.below(200)).unwrap_or(0));
    if dice.below(100) == 0 {
        expected.without_id += 1;
        let broken: [&[u8]; 6] = [
            b"{not json",
            b"\xff\xfe",
            b"[]",
            b"7",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2}",
            b"\"\\ud800\"",
        ];
        return broken[usize::try_from(dice.below(6)).unwrap_or(0)].to_vec();
    }
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let kind = dice.below(9);
    if kind != 8 {
        expected.ids += 1;
    }
    match kind {
        0 => format!(r#"{{"type":"request","id":{id},"tool":"echo","params":{{"text":"{text}"}}}}"#),
        1 => format!(r#"{{"type":"request","id":{id},"tool":"echo","text":"{text}"}}"#),
        2 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}},{meta}}}}}"#),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nope"}}"#),
        4 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"wait","arguments":{{"steps":1,"step_ms":{}}}}}}}"#, dice.below(3)),
        5 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"tell_fortune","arguments":{{"category":"{text}"}}}}}}"#),
        6 => format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        7 => format!(r#"{{"type":"nonsense","id":{id}}}"#),
        _ => r#"{"jsonrpc":"2.0","method":"notifications/nobody/listens"}"#.to_owned(),
    }
    .into_bytes()
}

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let messages = if quick { 20_000 } else { 1_000_000 };
    let seed = 0x5EED_2026;
    let mut running = provision::fluxway_peer()?.start()?;
    let before = running.memory()?;
    let process = running.process_id();
    let (input, output) = running.split();
    let mut memory = vec![before];
    let (expected, answers, nameless, most) = std::thread::scope(|scope| -> BenchResult<_> {
        let writer = scope.spawn(move || -> std::io::Result<ExpectedAnswers> {
            let (mut dice, mut expected) = (FuzzRandom(seed), ExpectedAnswers::default());
            let mut batch = Vec::new();
            for id in 1..=messages {
                batch.extend(random_message(&mut dice, id, &mut expected));
                batch.push(b'\n');
                if batch.len() > 60 * 1024 {
                    input.write_all(&batch)?;
                    batch.clear();
                }
            }
            batch.extend(b"{\"jsonrpc\":\"2.0\",\"id\":\"sync\",\"method\":\"tools/call\",\"params\":{\"name\":\"wait\",\"arguments\":{\"steps\":1,\"step_ms\":3000}}}\n");
            input.write_all(&batch)?;
            Ok(expected)
        });
        let (mut answers, mut nameless) = (HashMap::<u64, u32>::new(), 0);
        let mut line = Vec::new();
        for count in 1_usize.. {
            if count.is_multiple_of(messages / 8) {
                memory.push(crate::peer::memory(process)?);
            }
            line.clear();
            if output.read_until(b'\n', &mut line)? == 0 {
                return Err("the server stopped".into());
            }
            let answer: serde_json::Value = serde_json::from_slice(&line)?;
            match &answer["id"] {
                serde_json::Value::String(id) if id == "sync" => break,
                serde_json::Value::Null => nameless += 1,
                id => *answers.entry(id.as_u64().ok_or("an id of ours")?).or_default() += 1,
            }
        }
        let expected = writer.join().map_err(|_| "the writer panicked")??;
        let most = answers.values().copied().max().unwrap_or(0);
        Ok((expected, answers, nameless, most))
    })?;
    let after = running.memory()?;
    println!(
        "{messages} messages from seed {seed:#x}: {} ids to answer, {} answered, none more than {most} time(s);",
        expected.ids,
        answers.len()
    );
    println!("{} broken lines, {nameless} errors without an id", expected.without_id);
    let memory: Vec<_> = memory.iter().map(|megabytes| format!("{megabytes:.1}")).collect();
    println!("memory, MB, before, at each eighth and after: {} {after:.1}", memory.join(" "));
    if (expected.ids, expected.without_id, 1) == (answers.len(), nameless, most) {
        return Ok(());
    }
    Err("something was lost or said twice".into())
}
