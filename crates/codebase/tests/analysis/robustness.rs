//! Malicious repositories, failing disks, and cancelled analyses.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, Instant};

use codebase::{AnalysisRequest, Profile, ScanDepth, analyze};
use tree::{GlobFilter, LimitHit, Limits, Tree, WorkBudget};

use crate::write_repository;

const SHOP: &str = r#"=== Dockerfile
CMD ["python", "app.py"]
=== requirements.txt
flask==3.0.1
openai==1.55.3
=== app.py
from flask import Flask
from openai import OpenAI
app = Flask(__name__)
client = OpenAI()
@app.post("/ask")
def ask(): return client.responses.create(input="x")
=== web/package.json
{"name": "web", "dependencies": {"express": "^4"}}
=== web/package-lock.json
{"lockfileVersion": 3, "packages": {"node_modules/express": {"version": "4.21.1"}}}
=== web/server.js
const express = require("express");
express().listen(3000);
"#;

fn analyze_tree(tree: &Tree) -> Profile {
    analyze(&AnalysisRequest::new(tree, ScanDepth::Contents), &WorkBudget::unlimited()).unwrap()
}

/// Everything in a profile as one string.
fn debug_text(profile: &Profile) -> String {
    format!("{profile:?}")
}

/// What an analysis is asked for, without the order, which goes by confidence.
fn summarize_profile(profile: &Profile) -> BTreeSet<String> {
    let frameworks = profile.frameworks.iter().map(|one| format!("{} {}", one.name, one.confidence));
    let entries = profile.entry_points.iter().map(|point| point.path.clone());
    let agents = profile.agents.iter().map(|agent| format!("{} {}", agent.path, agent.name));
    let routes = profile.routes.iter().map(|route| format!("{} {}", route.method, route.path));
    let versions = profile.frameworks.iter().filter_map(|one| one.version.clone());
    frameworks.chain(entries).chain(agents).chain(routes).chain(versions).collect()
}

#[test]
fn io_errors_are_reported_and_the_rest_is_analyzed() {
    let (folder, tree) = write_repository(SHOP);
    let whole = summarize_profile(&analyze_tree(&tree));
    let mut lost = 0;
    for n in 0.. {
        let tree = Tree::open(folder.path()).unwrap().failing_at(n);
        let found = analyze_tree(&tree);
        let is_told = !found.manifest_errors.is_empty() || !found.skipped.is_empty();
        if !tree.has_failed() {
            assert!(n > 8, "only {n} operations");
            assert!(!is_told && summarize_profile(&found) == whole, "{found:?}");
            break;
        }
        // Every omission is reported with a reason.
        assert!(
            is_told || summarize_profile(&found) == whole,
            "operation {n}: {:?} instead of {whole:?}",
            summarize_profile(&found)
        );
        lost += usize::from(is_told);
        // One lost file or folder never hides the other half of the repository, unless it is the root.
        let is_root = found.skipped.iter().any(|skipped| skipped.path.is_empty());
        assert_eq!(found.frameworks.is_empty(), is_root, "operation {n}");
    }
    assert!(lost > 5, "only {lost} operations were of any use");
}

#[test]
fn timeout_and_cancellation_are_reported() {
    let (_folder, tree) = write_repository(SHOP);
    let request = AnalysisRequest::new(&tree, ScanDepth::Contents);
    let late = analyze(&request, &WorkBudget::unlimited().with_timeout(Duration::ZERO)).unwrap();
    assert!(late.limits_hit.contains(&LimitHit::Time) && late.frameworks.is_empty());
    let stopped = analyze(&request, &WorkBudget::unlimited().with_cancellation(|| true)).unwrap();
    assert!(stopped.limits_hit.contains(&LimitHit::Cancelled));
    let few = AnalysisRequest {
        limits: Limits { files: 2, ..Limits::default() },
        ..AnalysisRequest::new(&tree, ScanDepth::Contents)
    };
    assert!(analyze(&few, &WorkBudget::unlimited()).unwrap().limits_hit.contains(&LimitHit::Files));
}

#[test]
fn globs_restrict_files_and_projects() {
    let (_folder, tree) = write_repository(SHOP);
    let only = |glob: &str| {
        let globs = GlobFilter::new(&[glob.to_owned()]).unwrap();
        let request = AnalysisRequest { globs, ..AnalysisRequest::new(&tree, ScanDepth::Contents) };
        let profile = analyze(&request, &WorkBudget::unlimited()).unwrap();
        profile.frameworks.iter().map(|one| one.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(only("web/**"), "express");
    assert_eq!(only("*.py"), "flask");
    assert_eq!(only("**"), "express flask");
    assert_eq!(only("nothing/**"), "");
}

#[test]
fn secrets_do_not_appear_in_the_profile() {
    let (_folder, tree) = write_repository(
        r#"=== .gitignore
.env
=== .env
LANGCHAIN_API_KEY=lsv2_secret
=== requirements.txt
-r .env
-r env.txt
fastapi @ git+https://user:hunter2secret@example.com/fastapi
=== env.txt
langchain-token=sk-secret-1
=== app.py
from typing import Annotated
from fastapi import FastAPI, Header
from openai import OpenAI
app = FastAPI()
client = OpenAI(api_key="sk-secret-2")
@app.post("/ask")
def ask(question: str, key: Annotated[str, Header(default="sk-secret-3")] = "sk-secret-4"):
    return client.responses.create(input=question)
=== package.json
{"name": "x", "scripts": {"start": "node server.js"}, "dependencies": {"openai": "git+ssh://git:secret5@example.com/x", "express": "4"}}
=== server.js
import OpenAI from "openai";
import express from "express";
const openai = new OpenAI({ apiKey: "sk-secret-6" });
const app = express();
app.post("/ask", async function answer({ body, token = "sk-secret-7" }, res) {
  res.json(await openai.chat.completions.create({ q: body.q }));
});
app.listen(1);
"#,
    );
    let profile = analyze_tree(&tree);
    assert_eq!(profile.agents.len(), 2, "{:?}", profile.agents);
    let told = debug_text(&profile);
    assert!(!told.contains("secret") && !told.contains("hunter2"), "{told}");
}

#[test]
fn local_folder_without_init_is_not_a_library() {
    let (_folder, tree) = write_repository(
        "=== agents/base.py\nclass Agent: pass\n=== main.py\nfrom agents.base import Agent\nAgent()\n",
    );
    assert_eq!(analyze_tree(&tree).frameworks.len(), 0);
}

#[test]
fn engines_field_does_not_override_the_workspace_manager() {
    let (_folder, tree) = write_repository(
        "=== package.json\n{\"name\": \"w\", \"packageManager\": \"pnpm@9.0.0\", \"workspaces\": [\"a\"]}\n=== a/package.json\n{\"name\": \"a\", \"engines\": {\"npm\": \">=9\"}}\n",
    );
    let managers: Vec<_> = analyze_tree(&tree).managers.iter().map(|(manager, _)| manager.name()).collect();
    assert_eq!(managers, ["pnpm"]);
}

/// Files that would take a naive analyser minutes or gigabytes. Each must finish quickly.
#[test]
fn pathological_repositories_are_analyzed_in_time() {
    let mut poms =
        String::from("=== pom.xml\n<project><groupId>g</groupId><artifactId>p</artifactId><dependencies>");
    for n in 0..5000 {
        write!(poms, "<dependency><groupId>io.quarkus</groupId><artifactId>a{n}</artifactId></dependency>")
            .unwrap();
    }
    poms.push_str("</dependencies></project>\n");
    for n in 0..500 {
        let parent = "<parent><groupId>g</groupId><artifactId>p</artifactId></parent>";
        writeln!(poms, "=== m{n}/pom.xml\n<project>{parent}<artifactId>m{n}</artifactId></project>").unwrap();
    }
    let peers: Vec<String> = (0..8000).map(|n| format!("\"p{n}\": \"1\"")).collect();
    let calls = format!("import openai\n{}", "def f():f()\n".repeat(1900));
    for repository in [
        poms,
        format!("=== package.json\n{{\"name\": \"x\", \"peerDependencies\": {{{}}}}}\n", peers.join(",")),
        format!("=== a.py\n{calls}\n=== b.py\n{calls}\n=== requirements.txt\nopenai\n"),
        format!("=== a.ts\nimport \"openai\";{}\n", "a<".repeat(8000)),
        format!("=== environment.yml\ndependencies: {}\n", "&a [".repeat(200)),
        "=== requirements.txt\n-r requirements.txt\n-r b.txt\n=== b.txt\n-r requirements.txt\n".to_owned(),
        "=== a.py\nfrom b import x\nimport openai\nx.run()\n=== b.py\nfrom a import x\nx = x()\n=== requirements.txt\nopenai\n".to_owned(),
    ] {
        let (_folder, tree) = write_repository(&repository);
        let start = Instant::now();
        let _ = analyze_tree(&tree);
        assert!(start.elapsed() < Duration::from_mins(1), "{repository:.60}");
    }
}
