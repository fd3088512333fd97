//! A server on a pipe that speaks the envelope: fluxway does, and so does the server whose documents it implements.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::BenchResult;
use crate::peer::peak_memory;
use crate::table::median;

/// Who has not answered by then does not answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct EnvelopeServer {
    pub(crate) name: &'static str,
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl EnvelopeServer {
    pub(crate) fn start(name: &'static str, words: &[String]) -> BenchResult<Self> {
        let (program, args) = words.split_first().ok_or("no program")?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let (tell, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Ok(Self { name, child, input, lines })
    }

    /// The result of a call, and how many milliseconds it took. The old server reads arguments at the top level.
    pub(crate) fn call(&mut self, tool: &str, params: &Value) -> BenchResult<(Value, f64)> {
        let mut message = params.clone();
        message["type"] = "request".into();
        message["id"] = "1".into();
        message["tool"] = tool.into();
        message["params"] = params.clone();
        // Written at once: a value that is printed to a pipe goes there word by word.
        let bytes = format!("{message}\n").into_bytes();
        let start = Instant::now();
        self.input.write_all(&bytes)?;
        let line = self
            .lines
            .recv_timeout(RESPONSE_TIMEOUT)
            .map_err(|_| format!("{}: {tool}: no answer", self.name))?;
        let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
        let mut answer: Value = serde_json::from_str(&line)?;
        if answer["type"] == "error" {
            return Err(format!("{}: {tool}: {}", self.name, answer["error"]).into());
        }
        Ok((answer["result"].take(), milliseconds))
    }

    pub(crate) fn median_call_time(
        &mut self,
        tool: &str,
        params: &Value,
        rounds: usize,
    ) -> BenchResult<Option<f64>> {
        let mut times = Vec::new();
        for round in 0..=rounds {
            let (_, milliseconds) = self.call(tool, params)?;
            // The first one warms the caches.
            if round > 0 {
                times.push(milliseconds);
            }
        }
        Ok(median(times))
    }

    /// The most that it had in memory so far, in MB.
    pub(crate) fn peak_memory(&self) -> Option<f64> {
        peak_memory(self.child.id()).ok()
    }
}

impl Drop for EnvelopeServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
