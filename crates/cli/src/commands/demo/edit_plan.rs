//! The main job: from a repository to a reviewed, applied and reversed change.

use std::io;

use serde_json::{Map, Value, json};

use super::{Demo, join_strings, print_entry, print_heading, print_line, str_or_empty};
use crate::styling;

impl Demo {
    pub(super) fn apply_and_undo_plan(&mut self) -> io::Result<()> {
        print_heading("It asks for FluxLoop in that repository: steps, a plan, a verdict, in one call")?;
        let mut found = self.call_structured("run_integration_workflow", json!({}))?;
        for step in found["integration_steps"]["steps"].as_array().into_iter().flatten() {
            print_entry(str_or_empty(&step["id"]), str_or_empty(&step["details"]))?;
        }
        let plan = found["edit_plan"].take();
        print_entry("plan", str_or_empty(&plan["summary"]))?;
        for file in plan["files"].as_array().into_iter().flatten() {
            print_line(&styling::render_diff(str_or_empty(&file["diff"]), styling::use_colour_on_stdout()))?;
        }
        let verdict = &found["validation"];
        let checks = verdict["checks_performed"].as_array().map_or(0, Vec::len);
        print_entry(
            "validation",
            &format!(
                "valid: {}, {checks} checks, issues: [{}]",
                verdict["valid"],
                join_strings(&verdict["issues"])
            ),
        )?;

        print_heading("The user agrees: the plan is applied, all of it or nothing")?;
        let arguments: Map<String, Value> = [("plan".to_owned(), plan)].into_iter().collect();
        let applied = self.call_structured("apply_edit_plan", Value::Object(arguments.clone()))?;
        print_entry(str_or_empty(&applied["outcome"]), &join_strings(&applied["files"]))?;
        let again = self.call_structured("apply_edit_plan", Value::Object(arguments))?;
        print_entry("a second time", str_or_empty(&again["outcome"]))?;

        print_heading("And taken back: exactly what the plan wrote")?;
        let undone = self.call_structured("undo_edit_plan", json!({ "plan_id": applied["plan_id"] }))?;
        print_entry("undone", &join_strings(&undone["files"]))
    }

    /// The result of a tool, which must be one.
    fn call_structured(&mut self, name: &str, arguments: Value) -> io::Result<Value> {
        let mut result = self.request("tools/call", json!({ "name": name, "arguments": arguments }))?;
        if result["isError"] == true {
            return Err(io::Error::other(format!("{name}: {}", str_or_empty(&result["content"][0]["text"]))));
        }
        Ok(result["structuredContent"].take())
    }
}
