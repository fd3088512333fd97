//! Ways to run a project, for the line of its CLI: what to set, and the command.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use super::{Project, Runner};
use crate::Line;

/// A way to run a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Template {
    /// `smoke`, `repeat` or `multi_turn`.
    pub name: &'static str,
    /// What it is good for.
    pub purpose: &'static str,
    /// The file that these settings go into.
    pub file: String,
    /// The settings.
    pub yaml: String,
    /// The command, from the root of the repository.
    pub command: String,
}

impl Project {
    /// Ways to run it.
    pub fn templates(&self) -> Vec<Template> {
        let template = |name, purpose, iterations: u64, turns: Option<u64>| Template {
            name,
            purpose,
            file: self.settings_file(),
            yaml: self.simulation(iterations, turns),
            command: self.command(name),
        };
        let turns = self.settings.multi_turn.max_turns.unwrap_or(4);
        vec![
            template("smoke", "See that the set-up works.", 1, None),
            template("repeat", "See how much answers differ from run to run.", 5, None),
            template("multi_turn", "Conversations: a model plays the user.", 1, Some(turns)),
        ]
    }

    fn settings_file(&self) -> String {
        let own = |file: &&String| file.ends_with("simulation.yaml") || file.ends_with("setting.yaml");
        let known = self.settings.files.iter().find(own).or(self.settings.files.last());
        known.cloned().unwrap_or_else(|| format!("{}/configs/simulation.yaml", self.folder))
    }

    fn simulation(&self, iterations: u64, turns: Option<u64>) -> String {
        let name = self.settings.experiment_name.as_deref().unwrap_or(&self.name);
        let mut yaml = format!("name: {}\niterations: {iterations}\n", text(name));
        yaml.push_str(&self.settings.runner.as_ref().map(|runner| self.runner(runner)).unwrap_or_default());
        let key = if self.line == Line::V04 { "conversation" } else { "multi_turn" };
        if let Some(turns) = turns {
            let _ = writeln!(yaml, "{key}:\n  enabled: true\n  max_turns: {turns}");
        }
        yaml
    }

    fn runner(&self, runner: &Runner) -> String {
        let mut yaml = "runner:\n".to_owned();
        let mut line = |key: &str, value: String| {
            let _ = writeln!(yaml, "  {key}: {value}");
        };
        if self.line == Line::V04 {
            line("type", text(&runner.kind));
        }
        let texts = [
            ("target", &runner.target),
            ("endpoint", &runner.endpoint),
            ("skill_path", &runner.skill_path),
            ("working_directory", &runner.working_directory),
        ];
        for (key, value) in texts {
            if let Some(value) = value {
                line(key, text(value));
            }
        }
        if let Some(command) = &runner.command {
            line("command", Value::from(command.clone()).to_string());
        }
        yaml
    }

    fn command(&self, template: &str) -> String {
        let name = self.folder.rsplit('/').next().filter(|name| *name != ".");
        let of = |option: &str| name.map(|name| format!(" --{option} {name}")).unwrap_or_default();
        let more = |one: &'static str, several: &'static str| if template == "smoke" { one } else { several };
        match self.line {
            Line::V02 => {
                let turns = if template == "multi_turn" { " --multi-turn" } else { "" };
                format!(
                    "fluxloop run experiment{}{}{turns} --yes",
                    of("project"),
                    more(" --iterations 1", "")
                )
            }
            Line::V03 => {
                format!(
                    "fluxloop test{}{} --skip-upload --no-stream-turns",
                    of("scenario"),
                    more(" --smoke", "")
                )
            }
            Line::V04 => format!("fluxloop run{}{}", of("scenario"), more(" --iterations 1", "")),
        }
    }
}

/// A text of JSON is one of YAML too.
fn text(value: &str) -> String {
    Value::from(value).to_string()
}
