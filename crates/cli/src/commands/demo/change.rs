//! The main job: from a repository to a reviewed, applied and reversed change.

use std::io;

use serde_json::{Map, Value, json};

use super::{Demo, chapter, list, say, show, text};
use crate::paint;

impl Demo {
    pub(super) fn change_it_and_back(&mut self) -> io::Result<()> {
        chapter("It asks for FluxLoop in that repository: steps, a plan, a verdict, in one call")?;
        let mut found = self.tool("run_integration_workflow", json!({}))?;
        for step in found["integration_steps"]["steps"].as_array().into_iter().flatten() {
            show(text(&step["id"]), text(&step["details"]))?;
        }
        let plan = found["edit_plan"].take();
        show("plan", text(&plan["summary"]))?;
        for file in plan["files"].as_array().into_iter().flatten() {
            say(&paint::diff(text(&file["diff"]), paint::on_stdout()))?;
        }
        let verdict = &found["validation"];
        let checks = verdict["checks_performed"].as_array().map_or(0, Vec::len);
        show(
            "validation",
            &format!("valid: {}, {checks} checks, issues: [{}]", verdict["valid"], list(&verdict["issues"])),
        )?;

        chapter("The user agrees: the plan is applied, all of it or nothing")?;
        let arguments: Map<String, Value> = [("plan".to_owned(), plan)].into_iter().collect();
        let applied = self.tool("apply_edit_plan", Value::Object(arguments.clone()))?;
        show(text(&applied["outcome"]), &list(&applied["files"]))?;
        let again = self.tool("apply_edit_plan", Value::Object(arguments))?;
        show("a second time", text(&again["outcome"]))?;

        chapter("And taken back: exactly what the plan wrote")?;
        let undone = self.tool("undo_edit_plan", json!({ "plan_id": applied["plan_id"] }))?;
        show("undone", &list(&undone["files"]))
    }

    /// The result of a tool, which must be one.
    fn tool(&mut self, name: &str, arguments: Value) -> io::Result<Value> {
        let mut result = self.request("tools/call", json!({ "name": name, "arguments": arguments }))?;
        if result["isError"] == true {
            return Err(io::Error::other(format!("{name}: {}", text(&result["content"][0]["text"]))));
        }
        Ok(result["structuredContent"].take())
    }
}
