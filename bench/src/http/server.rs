//! A server under measurement that listens on a port of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::BenchResult;
use crate::peer;

pub(crate) struct BenchHttpServer {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// What fluxway is started with, whatever else.
const FLUXWAY_ARGS: [&str; 7] =
    ["serve", "--config", "/dev/null", "--http", "127.0.0.1:0", "--toolsets", "diagnostics"];

impl BenchHttpServer {
    pub(crate) fn start_fluxway(folder: &Path, args: &[&str]) -> BenchResult<Self> {
        Self::start(&folder.join("fluxway"), &[&FLUXWAY_ARGS, args].concat())
    }

    /// Starts a program and waits until it says where it listens.
    pub(crate) fn start(program: &Path, args: &[&str]) -> BenchResult<Self> {
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut said = BufReader::new(child.stderr.take().ok_or("no stderr")?);
        // From here on the child ends with this.
        let mut server = Self { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let (mut all, mut line) = (String::new(), String::new());
        while said.read_line(&mut line)? > 0 {
            if let Some(address) = parse_address(&line) {
                server.address = address;
                // Whatever it says later must not fill the pipe.
                std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
                return Ok(server);
            }
            all += &std::mem::take(&mut line);
        }
        Err(format!("{} did not listen: {all}", program.display()).into())
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn cpu(&self) -> BenchResult<Duration> {
        peer::cpu(self.child.id())
    }

    pub(crate) fn memory(&self) -> BenchResult<f64> {
        peer::memory(self.child.id())
    }
}

impl Drop for BenchHttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// From `… listens on http://127.0.0.1:8080/mcp …`.
fn parse_address(line: &str) -> Option<SocketAddr> {
    line.split_once("listens on http://")?.1.split('/').next()?.parse().ok()
}
