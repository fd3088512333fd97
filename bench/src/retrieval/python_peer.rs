//! fluxloop-mcp, the server whose documents fluxway implements, on the same collection.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{JudgedCollection, RankedPages, RankingQuality};
use crate::{BenchResult, provision};

/// Asks its search through a few lines of Python, since its tool gives three passages and no order.
struct PythonSearcher {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The same figures as ours, as far as it has them.
pub(super) fn measure_figures(folder: &Path, collection: &JudgedCollection) -> BenchResult<Vec<Option<f64>>> {
    let mut searcher = PythonSearcher::start(folder)?;
    let indexing: f64 = searcher.read_line()?.trim().parse()?;
    let quality = RankingQuality::measure(collection, |text| searcher.search(text).unwrap_or_default());
    let mut figures = quality.figures();
    figures.extend([None, None, Some(indexing), None, None, Some(quality.p50()), Some(quality.p99())]);
    Ok(figures)
}

impl PythonSearcher {
    fn start(folder: &Path) -> BenchResult<Self> {
        let python = Path::new(&provision::install_fluxloop()?).with_file_name("python");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/python/fluxloop_search.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("it has no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("it has no stdout")?);
        Ok(Self { child, input, output })
    }

    fn read_line(&mut self) -> BenchResult<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line)
    }

    fn search(&mut self, text: &str) -> BenchResult<RankedPages> {
        writeln!(self.input, "{}", serde_json::to_string(text)?)?;
        Ok(serde_json::from_str(&self.read_line()?)?)
    }
}

impl Drop for PythonSearcher {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
