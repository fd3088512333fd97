//! A plan proposed and judged, beside the old Python server on the same tree.

use std::path::Path;

use serde_json::{Value, json};

use crate::BenchResult;
use crate::envelope::EnvelopeServer;
use crate::provision;
use crate::table::{FigureTable, save};
use crate::tree::generate;

const AGENT_SOURCE: &str = "from openai import OpenAI\n\nclient = OpenAI()\n\n\ndef reply(message: str) -> str:\n    answer = client.chat.completions.create(model=\"m\", messages=[{\"role\": \"user\", \"content\": message}])\n    return answer.choices[0].message.content\n";
const APP_SOURCE: &str = "from fastapi import FastAPI\nfrom agent import reply\n\napp = FastAPI()\n\n\n@app.post(\"/chat\")\ndef chat(message: str):\n    return {\"reply\": reply(message)}\n";

pub(crate) fn run(quick: bool) -> BenchResult<()> {
    let folder = std::env::temp_dir().join(format!("fluxway-bench-plans-{}", std::process::id()));
    generate(&folder, if quick { 200 } else { 1500 })?;
    std::fs::write(folder.join("packages/p0/src/agent.py"), AGENT_SOURCE)?;
    std::fs::write(folder.join("packages/p0/src/main.py"), APP_SOURCE)?;
    let rounds = if quick { 2 } else { 15 };
    let root = folder.display().to_string();
    let mut servers = vec![EnvelopeServer::start("fluxway", &provision::repository_server_command(&root)?)?];
    match provision::install_fluxloop() {
        Ok(program) => servers.push(EnvelopeServer::start("fluxloop-mcp 0.1.3 (Python)", &[program])?),
        Err(error) => println!("NOT MEASURED: fluxloop-mcp: {error}"),
    }
    let mut table = FigureTable::new(
        "Plans for a tree of 1,500 files",
        &["analyse, ms", "workflow, ms", "propose, ms", "validate 50 edits, ms"],
    );
    for server in &mut servers {
        let profile = json!({ "root": root });
        let (found, _) = server.call("analyze_repository", &profile)?;
        let propose = json!({ "root": root, "framework": "fastapi", "repository_profile": found.get("data").unwrap_or(&found) });
        let validate = json!({ "root": root, "plan": fifty_edit_plan(&folder) });
        let mut workflow = profile.clone();
        if server.name != "fluxway" {
            // It does not begin without one, and does not look at it.
            workflow["question"] = "integrate".into();
        }
        let times = vec![
            server.median_call_time("analyze_repository", &profile, rounds)?,
            server.median_call_time("run_integration_workflow", &workflow, rounds)?,
            server.median_call_time("propose_edit_plan", &propose, rounds)?,
            server.median_call_time("validate_edit_plan", &validate, rounds)?,
        ];
        let (reply, _) = server.call("run_integration_workflow", &workflow)?;
        // The old one wraps its answers once more.
        let plan = if reply["data"].is_object() { &reply["data"]["edit_plan"] } else { &reply["edit_plan"] };
        println!("{}: {} {}", server.name, plan["summary"], plan["edits"][0]["filepath"]);
        table.add_row(server.name, times);
    }
    std::fs::remove_dir_all(&folder)?;
    table.print();
    save("plans", &[&table])
}

/// Fifty edits of fifty files, in the documented shape.
fn fifty_edit_plan(folder: &Path) -> Value {
    let edit = |n: usize| {
        let path = format!("packages/p{}/src/module_{}.py", n / 25 * 2, n % 25 + 1);
        debug_assert!(folder.join(&path).exists());
        json!({
            "filepath": path,
            "strategy": "add_decorator",
            "anchors": [{ "type": "before_match", "pattern": format!("def work_{}(", n % 25 + 1), "index": 0 }],
            "payload": { "import": "import fluxloop", "code": "@fluxloop.trace()", "location": "above_function" },
            "rationale": "r",
        })
    };
    json!({
        "summary": "Fifty edits",
        "edits": (0..50).map(edit).collect::<Vec<_>>(),
        "postChecks": ["pytest tests/"],
        "rollback": { "instruction": "undo_edit_plan" },
    })
}
