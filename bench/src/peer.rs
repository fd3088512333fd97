//! A server under measurement.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::BenchResult;

pub(crate) struct BenchPeer {
    pub(crate) name: String,
    program: String,
    args: Vec<String>,
}

pub(crate) struct PeerProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// From the start of the process to the answer to `initialize`.
    pub(crate) first_answer: Duration,
}

/// Which processes use how much of the machine.
#[derive(Clone, Copy, Default)]
pub(crate) struct PipelineCost {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

impl BenchPeer {
    pub(crate) fn new(name: &str, program: &str, args: &[&str]) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self { name: name.to_owned(), program: program.to_owned(), args }
    }

    /// Starts the server and shakes hands.
    pub(crate) fn start(&self) -> BenchResult<PeerProcess> {
        let started = Instant::now();
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::with_capacity(256 * 1024, child.stdout.take().ok_or("no stdout")?);
        let mut running = PeerProcess { child, input, output, first_answer: Duration::ZERO };
        let about = json!({ "name": "bench", "version": "1" });
        let capabilities = json!({ "elicitation": {} });
        let hello =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": about });
        running.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }))?;
        running.receive()?;
        running.first_answer = started.elapsed();
        running.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(running)
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The call that every server answers alike.
pub(crate) fn echo_request(id: usize) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"text\":\"hello, world\"}}}}}}\n")
        .into_bytes()
}

impl PeerProcess {
    pub(crate) fn send(&mut self, message: &Value) -> BenchResult<()> {
        Ok(self.input.write_all(format!("{message}\n").as_bytes())?)
    }

    pub(crate) fn receive(&mut self) -> BenchResult<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err("the server stopped".into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// One call after the other; how long each took.
    pub(crate) fn call_sequentially(&mut self, calls: usize) -> BenchResult<Vec<Duration>> {
        let mut times = Vec::with_capacity(calls);
        let mut line = Vec::new();
        let message = echo_request(1);
        for _ in 0..calls {
            line.clear();
            let start = Instant::now();
            self.input.write_all(&message)?;
            self.output.read_until(b'\n', &mut line)?;
            times.push(start.elapsed());
        }
        if !line.windows(12).any(|part| part == b"hello, world") {
            return Err(format!("not an echo: {}", String::from_utf8_lossy(&line)).into());
        }
        Ok(times)
    }

    /// All calls at once; how long until the last answer.
    pub(crate) fn call_pipelined(&mut self, calls: usize) -> BenchResult<PipelineCost> {
        let cpu = self.cpu()?;
        let start = Instant::now();
        std::thread::scope(|scope| -> BenchResult<()> {
            let input = &mut self.input;
            let writer = scope.spawn(move || -> std::io::Result<()> {
                let mut batch = Vec::with_capacity(64 * 1024);
                for id in 0..calls {
                    batch.extend(echo_request(id));
                    if batch.len() > 60 * 1024 {
                        input.write_all(&batch)?;
                        batch.clear();
                    }
                }
                input.write_all(&batch)
            });
            let mut left = calls;
            let mut chunk = vec![0; 256 * 1024];
            while left > 0 {
                let read = self.output.read(&mut chunk)?;
                if read == 0 {
                    return Err("the server stopped".into());
                }
                left = left.saturating_sub(memchr::memchr_iter(b'\n', &chunk[..read]).count());
            }
            writer.join().map_err(|_| "the writer panicked")??;
            Ok(())
        })?;
        Ok(PipelineCost { wall: start.elapsed(), cpu: self.cpu()?.saturating_sub(cpu) })
    }

    /// Processor time of the server so far, user and system.
    pub(crate) fn cpu(&self) -> BenchResult<Duration> {
        cpu(self.child.id())
    }

    /// Memory in use now, in megabytes.
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn memory(&self) -> BenchResult<f64> {
        memory(self.child.id())
    }

    pub(crate) fn split(&mut self) -> (&mut ChildStdin, &mut BufReader<ChildStdout>) {
        (&mut self.input, &mut self.output)
    }
}

/// Processor time of a process so far, user and system.
pub(crate) fn cpu(process: u32) -> BenchResult<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("stat")?.1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 10)) // a tick is 10 ms on every Linux in use
}

/// Memory that a process has in use now, in megabytes.
pub(crate) fn memory(process: u32) -> BenchResult<f64> {
    read_proc_status(process, "VmRSS:")
}

/// The most that it had so far, in megabytes.
pub(crate) fn peak_memory(process: u32) -> BenchResult<f64> {
    read_proc_status(process, "VmHWM:")
}

fn read_proc_status(process: u32, name: &str) -> BenchResult<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or_else(|| format!("no {name}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}
