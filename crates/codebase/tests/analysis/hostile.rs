//! Repositories that mean harm, disks that fail, and clients that go away.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, Instant};

use codebase::{Profile, Reading, Request, analyze};
use tree::{Budget, Cut, Globs, Limits, Tree};

use crate::unpack;

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

fn profile(tree: &Tree) -> Profile {
    analyze(&Request::new(tree, Reading::Contents), &Budget::unlimited()).unwrap()
}

/// Everything that could come out of a profile, as one text.
fn told(profile: &Profile) -> String {
    format!("{profile:?}")
}

/// What an analysis is asked for, without the order, which goes by confidence.
fn gist(profile: &Profile) -> BTreeSet<String> {
    let frameworks = profile.frameworks.iter().map(|one| format!("{} {}", one.name, one.confidence));
    let entries = profile.entry_points.iter().map(|point| point.path.clone());
    let agents = profile.agents.iter().map(|agent| format!("{} {}", agent.path, agent.name));
    let routes = profile.routes.iter().map(|route| format!("{} {}", route.method, route.path));
    let versions = profile.frameworks.iter().filter_map(|one| one.version.clone());
    frameworks.chain(entries).chain(agents).chain(routes).chain(versions).collect()
}

#[test]
fn whatever_operation_fails_is_told_and_the_rest_is_found() {
    let (folder, tree) = unpack(SHOP);
    let whole = gist(&profile(&tree));
    let mut lost = 0;
    for n in 0.. {
        let tree = Tree::open(folder.path()).unwrap().failing_at(n);
        let found = profile(&tree);
        let is_told = !found.broken.is_empty() || !found.skipped.is_empty();
        if !tree.has_failed() {
            assert!(n > 8, "only {n} operations");
            assert!(!is_told && gist(&found) == whole, "{found:?}");
            break;
        }
        // What is missing is missing for a reason that is given.
        assert!(is_told || gist(&found) == whole, "operation {n}: {:?} instead of {whole:?}", gist(&found));
        lost += usize::from(is_told);
        // One lost file or folder never hides the other half of the repository, unless it is the root.
        let is_root = found.skipped.iter().any(|skipped| skipped.path.is_empty());
        assert_eq!(found.frameworks.is_empty(), is_root, "operation {n}");
    }
    assert!(lost > 5, "only {lost} operations were of any use");
}

#[test]
fn the_end_of_time_and_of_interest_are_told() {
    let (_folder, tree) = unpack(SHOP);
    let request = Request::new(&tree, Reading::Contents);
    let late = analyze(&request, &Budget::unlimited().within(Duration::ZERO)).unwrap();
    assert!(late.cuts.contains(&Cut::Time) && late.frameworks.is_empty());
    let stopped = analyze(&request, &Budget::unlimited().until(|| true)).unwrap();
    assert!(stopped.cuts.contains(&Cut::Stopped));
    let few = Request {
        limits: Limits { files: 2, ..Limits::default() },
        ..Request::new(&tree, Reading::Contents)
    };
    assert!(analyze(&few, &Budget::unlimited()).unwrap().cuts.contains(&Cut::Files));
}

#[test]
fn patterns_narrow_files_and_projects() {
    let (_folder, tree) = unpack(SHOP);
    let only = |glob: &str| {
        let globs = Globs::new(&[glob.to_owned()]).unwrap();
        let request = Request { globs, ..Request::new(&tree, Reading::Contents) };
        let profile = analyze(&request, &Budget::unlimited()).unwrap();
        profile.frameworks.iter().map(|one| one.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(only("web/**"), "express");
    assert_eq!(only("*.py"), "flask");
    assert_eq!(only("**"), "express flask");
    assert_eq!(only("nothing/**"), "");
}

#[test]
fn secrets_stay_where_they_are() {
    let (_folder, tree) = unpack(
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
    let profile = profile(&tree);
    assert_eq!(profile.agents.len(), 2, "{:?}", profile.agents);
    let told = told(&profile);
    assert!(!told.contains("secret") && !told.contains("hunter2"), "{told}");
}

#[test]
fn a_local_folder_without_init_is_no_library() {
    let (_folder, tree) = unpack(
        "=== agents/base.py\nclass Agent: pass\n=== main.py\nfrom agents.base import Agent\nAgent()\n",
    );
    assert_eq!(profile(&tree).frameworks.len(), 0);
}

#[test]
fn what_an_engine_allows_does_not_outweigh_the_workspace() {
    let (_folder, tree) = unpack(
        "=== package.json\n{\"name\": \"w\", \"packageManager\": \"pnpm@9.0.0\", \"workspaces\": [\"a\"]}\n=== a/package.json\n{\"name\": \"a\", \"engines\": {\"npm\": \">=9\"}}\n",
    );
    let managers: Vec<_> = profile(&tree).managers.iter().map(|(manager, _)| manager.name()).collect();
    assert_eq!(managers, ["pnpm"]);
}

/// Files that take a simpler program minutes or gigabytes. None may take long; that they end at all is what counts.
#[test]
fn nothing_grows_beyond_what_it_is() {
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
        let (_folder, tree) = unpack(&repository);
        let start = Instant::now();
        let _ = profile(&tree);
        assert!(start.elapsed() < Duration::from_mins(1), "{repository:.60}");
    }
}
