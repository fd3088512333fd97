//! Prints what is known about folders, one JSON object in a line each. `cargo run --example profile -- DIR…`
#![expect(clippy::print_stdout, clippy::expect_used, reason = "an example for people")]

use std::path::Path;

use codebase::{Reading, Request, analyze};
use serde_json::json;
use tree::{Budget, Tree};

fn main() {
    let mut names_only = false;
    for folder in std::env::args().skip(1) {
        if folder == "--names" {
            names_only = true;
            continue;
        }
        let tree = Tree::open(Path::new(&folder)).expect("a folder");
        let reading = if names_only { Reading::Names } else { Reading::Contents };
        let request = Request::new(&tree, reading);
        let start = std::time::Instant::now();
        let profile = analyze(&request, &Budget::unlimited()).expect("a thread");
        println!(
            "{}",
            json!({
                "root": folder,
                "ms": start.elapsed().as_millis(),
                "languages": profile.languages.iter().map(|l| format!("{} {} {}", l.language.name(), l.files, l.lines)).collect::<Vec<_>>(),
                "managers": profile.managers.iter().map(|(m, _)| m.name()).collect::<Vec<_>>(),
                "frameworks": profile.frameworks.iter().map(|f| json!({"name": f.name, "confidence": f.confidence, "version": f.version, "project": f.project, "evidence": f.evidence.iter().map(|e| format!("{}:{} {}", e.path, e.line, e.fact)).collect::<Vec<_>>()})).collect::<Vec<_>>(),
                "entries": profile.entry_points.iter().map(|e| format!("{} ({})", e.path, e.says)).collect::<Vec<_>>(),
                "agents": profile.agents.iter().map(|a| format!("{}:{} {} <- {:?} [{}]", a.path, a.line, a.name, a.reached_from, a.why.fact)).collect::<Vec<_>>(),
                "routes": profile.routes.iter().map(|r| format!("{} {} {}:{} {} -> {} {:?} {:?}", r.method, r.path, r.file, r.line, r.handler, r.agent, r.request, r.response)).collect::<Vec<_>>(),
                "projects": profile.projects.iter().map(|p| p.folder.clone()).collect::<Vec<_>>(),
                "risks": profile.risks.iter().map(|r| r.name()).collect::<Vec<_>>(),
                "broken": profile.broken.iter().map(|e| format!("{}:{} {}", e.path, e.line, e.fact)).collect::<Vec<_>>(),
                "skipped": profile.skipped.len(), "cuts": profile.cuts.iter().map(|c| c.name()).collect::<Vec<_>>(),
                "stats": [profile.stats.files, profile.stats.lines, profile.stats.directories],
            })
        );
    }
}
