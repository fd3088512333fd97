//! Ways to run a project, for the line of its CLI: what to set, and the command.

use std::fmt::Write;

use codebase::NameKind;
use serde::Serialize;
use serde_json::Value;

use super::{FluxloopProject, MultiTurnSettings, RunnerSettings};
use crate::ReleaseLine;
use crate::integrate::name_or_placeholder;

/// A way to run a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunTemplate {
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

/// What tells one template from the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunTemplateKind {
    Smoke,
    Repeat,
    MultiTurn,
}

/// How often `repeat` runs each input.
const REPEAT_ITERATIONS: u64 = 5;
/// Length of a conversation by default.
const DEFAULT_MAX_TURNS: u64 = 4;

impl FluxloopProject {
    /// Ways to run it. A skill has no conversations, and commands of its own.
    pub fn templates(&self) -> Vec<RunTemplate> {
        let ways = [RunTemplateKind::Smoke, RunTemplateKind::Repeat, RunTemplateKind::MultiTurn];
        let ways = ways
            .into_iter()
            .filter(|way| *way != RunTemplateKind::MultiTurn || self.skill_runner().is_none());
        ways.map(|way| self.template(way)).collect()
    }

    fn template(&self, kind: RunTemplateKind) -> RunTemplate {
        let (name, purpose) = match kind {
            RunTemplateKind::Smoke => ("smoke", "See that the set-up works."),
            RunTemplateKind::Repeat => ("repeat", "See how much answers differ from run to run."),
            RunTemplateKind::MultiTurn => ("multi_turn", "Conversations: a model plays the user."),
        };
        let command = match self.skill_runner() {
            Some(runner) => self.render_skill_command(runner, kind),
            None => self.render_command(kind),
        };
        RunTemplate { name, purpose, file: self.settings_file(), yaml: self.render_simulation(kind), command }
    }

    /// The runner, if it tries a skill.
    fn skill_runner(&self) -> Option<&RunnerSettings> {
        let runner = self.settings.runner.as_ref()?;
        (self.line == ReleaseLine::V04 && runner.kind == "skill").then_some(runner)
    }

    fn settings_file(&self) -> String {
        let own = |file: &&String| file.ends_with("simulation.yaml") || file.ends_with("setting.yaml");
        let known = self.settings.files.iter().find(own).or(self.settings.files.last());
        known.cloned().unwrap_or_else(|| format!("{}/configs/simulation.yaml", self.folder))
    }

    fn render_simulation(&self, kind: RunTemplateKind) -> String {
        let name = self.settings.experiment_name.as_deref().unwrap_or(&self.name);
        let mut yaml = format!("name: {}\n", yaml_text(name));
        // The commands of skills have a number of their own.
        if self.skill_runner().is_none() {
            let _ = writeln!(
                yaml,
                "iterations: {}",
                if kind == RunTemplateKind::Repeat { REPEAT_ITERATIONS } else { 1 }
            );
        }
        yaml.push_str(
            &self.settings.runner.as_ref().map(|runner| self.render_runner(runner)).unwrap_or_default(),
        );
        if self.skill_runner().is_none()
            && (kind == RunTemplateKind::MultiTurn || self.settings.multi_turn.enabled)
        {
            yaml.push_str(&self.render_conversations());
        }
        yaml
    }

    /// Conversations as they are set, or as they could be.
    fn render_conversations(&self) -> String {
        let MultiTurnSettings { max_turns, provider, model, .. } = &self.settings.multi_turn;
        let (key, player) = match self.line {
            ReleaseLine::V02 | ReleaseLine::V03 => ("multi_turn", "supervisor"),
            ReleaseLine::V04 => ("conversation", "simulator"),
        };
        let mut yaml =
            format!("{key}:\n  enabled: true\n  max_turns: {}\n", max_turns.unwrap_or(DEFAULT_MAX_TURNS));
        let said = [("provider", provider), ("model", model)];
        for (at, (key, value)) in
            said.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))).enumerate()
        {
            if at == 0 {
                let _ = writeln!(yaml, "  {player}:");
            }
            let _ = writeln!(yaml, "    {key}: {}", yaml_text(value));
        }
        yaml
    }

    fn render_runner(&self, runner: &RunnerSettings) -> String {
        let mut yaml = "runner:\n".to_owned();
        let mut line = |key: &str, value: String| {
            let _ = writeln!(yaml, "  {key}: {value}");
        };
        if self.line == ReleaseLine::V04 {
            line("type", yaml_text(&runner.kind));
        }
        let texts = [
            ("target", &runner.target),
            ("endpoint", &runner.endpoint),
            ("skill_path", &runner.skill_path),
            ("working_directory", &runner.working_directory),
        ];
        for (key, value) in texts {
            if let Some(value) = value {
                line(key, yaml_text(value));
            }
        }
        if let Some(command) = &runner.command {
            line("command", Value::from(command.clone()).to_string());
        }
        if self.skill_runner().is_some() {
            line("allowed_tools", Value::from(allowed_tools(runner)).to_string());
        }
        yaml
    }

    fn render_command(&self, kind: RunTemplateKind) -> String {
        let name = self.folder.rsplit('/').next().filter(|name| *name != ".");
        let of = |option: &str| {
            name.map(|name| format!(" --{option} {}", name_or_placeholder(name))).unwrap_or_default()
        };
        let more = |one: &'static str| if kind == RunTemplateKind::Smoke { one } else { "" };
        match self.line {
            ReleaseLine::V02 => {
                let turns = if kind == RunTemplateKind::MultiTurn { " --multi-turn" } else { "" };
                format!("fluxloop run experiment{}{}{turns} --yes", of("project"), more(" --iterations 1"))
            }
            ReleaseLine::V03 => {
                format!("fluxloop test{}{} --skip-upload --no-stream-turns", of("scenario"), more(" --smoke"))
            }
            ReleaseLine::V04 => format!(
                "fluxloop run --scenario {}{}",
                name_or_placeholder(&self.name),
                more(" --iterations 1")
            ),
        }
    }

    /// `skill test` and `skill benchmark` check the contract, which `run` does not. What is said to the skill is left to
    /// be filled in: a text from a file is no part of a command of ours.
    fn render_skill_command(&self, runner: &RunnerSettings, kind: RunTemplateKind) -> String {
        let path = runner.skill_path.as_deref().unwrap_or("SKILL.md");
        let runs = if kind == RunTemplateKind::Repeat {
            format!(" --runs {REPEAT_ITERATIONS}")
        } else {
            String::new()
        };
        // What the settings lack, without which 0.4.0 fails.
        let tools = if runner.allowed_tools.is_empty() { " --allowed-tools Read" } else { "" };
        format!(
            "fluxloop skill {} {} --input \"...\" --scenario {}{runs}{tools}",
            if kind == RunTemplateKind::Repeat { "benchmark" } else { "test" },
            shell_word(path),
            name_or_placeholder(&self.name),
        )
    }
}

/// Those that are set. 0.4.0 fails without any.
fn allowed_tools(runner: &RunnerSettings) -> Vec<String> {
    if runner.allowed_tools.is_empty() { vec!["Read".to_owned()] } else { runner.allowed_tools.clone() }
}

/// A path as a word of a command, with quotes where it needs them. What is no plain path is left to be filled in.
fn shell_word(path: &str) -> String {
    let is_bare = |decoded: char| decoded.is_alphanumeric() || "/._-".contains(decoded);
    match NameKind::File.is_safe_name(path) {
        true if path.chars().all(is_bare) => path.to_owned(),
        true => format!("'{path}'"),
        false => "PATH".to_owned(),
    }
}

/// A text of JSON is one of YAML too.
fn yaml_text(value: &str) -> String {
    Value::from(value).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tree::Tree;

    use super::super::FluxloopProjects;
    use super::*;

    /// The settings and the command of a template of a project among the fixtures.
    #[track_caller]
    fn check(repository: &str, folder: &str, template: &str, yaml: &str, command: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects").join(repository);
        let project = FluxloopProjects::find(&Tree::open(&root).unwrap(), folder).list.remove(0);
        let found = project.templates().into_iter().find(|found| found.name == template).unwrap();
        assert_eq!((found.yaml.as_str(), found.command.as_str()), (yaml, command));
    }

    #[test]
    fn templates_for_0_2_project() {
        let check = |template: &str, iterations: u64, more: &str, command: &str| {
            let runner = "runner:\n  target: \"shop.desk:answer\"\n  working_directory: \"../..\"\n";
            let yaml = format!("name: \"desk_smoke\"\niterations: {iterations}\n{runner}{more}");
            check("bookshop-0.2.30", "fluxloop/desk", template, &yaml, command);
        };
        check("smoke", 1, "", "fluxloop run experiment --project desk --iterations 1 --yes");
        check("repeat", 5, "", "fluxloop run experiment --project desk --yes");
        let turns = "multi_turn:\n  enabled: true\n  max_turns: 4\n  supervisor:\n    provider: \"mock\"\n    model: \"scripted\"\n";
        check("multi_turn", 1, turns, "fluxloop run experiment --project desk --multi-turn --yes");
    }

    #[test]
    fn template_for_project_at_root() {
        let yaml =
            "name: \"echo\"\niterations: 1\nrunner:\n  target: \"echo:run\"\n  working_directory: \".\"\n";
        check("legacy-0.2.30", "", "smoke", yaml, "fluxloop run experiment --iterations 1 --yes");
    }

    #[test]
    fn multi_turn_0_2_project_keeps_conversations() {
        let check = |template: &str, iterations: u64, command: &str| {
            let runner = "runner:\n  target: \"app.tour:guide\"\n  working_directory: \"../..\"\n";
            let turns = "multi_turn:\n  enabled: true\n  max_turns: 2\n";
            let player = "  supervisor:\n    provider: \"mock\"\n    model: \"scripted\"\n";
            let yaml = format!("name: \"tour_talk\"\niterations: {iterations}\n{runner}{turns}{player}");
            check("two-0.2.36", "fluxloop/tour", template, &yaml, command);
        };
        check("smoke", 1, "fluxloop run experiment --project tour --iterations 1 --yes");
        check("repeat", 5, "fluxloop run experiment --project tour --yes");
        check("multi_turn", 1, "fluxloop run experiment --project tour --multi-turn --yes");
    }

    #[test]
    fn templates_for_0_3_scenarios() {
        let check = |scenario: &str, template: &str, iterations: u64, more: &str, command: &str| {
            let runner = "runner:\n  target: \"hotel.agent:answer\"\n  working_directory: \"../../..\"\n";
            let yaml = format!("name: \"{scenario}_guests\"\niterations: {iterations}\n{runner}{more}");
            check("scenarios-0.3.11", &format!(".fluxloop/scenarios/{scenario}"), template, &yaml, command);
        };
        let options = "--skip-upload --no-stream-turns";
        check("desk", "smoke", 1, "", &format!("fluxloop test --scenario desk --smoke {options}"));
        check("desk", "repeat", 5, "", &format!("fluxloop test --scenario desk {options}"));
        let turns = "multi_turn:\n  enabled: true\n  max_turns: 4\n";
        check("desk", "multi_turn", 1, turns, &format!("fluxloop test --scenario desk {options}"));
        let turns = "multi_turn:\n  enabled: true\n  max_turns: 3\n  supervisor:\n    provider: \"mock\"\n    model: \"scripted\"\n";
        check("talk", "smoke", 1, turns, &format!("fluxloop test --scenario talk --smoke {options}"));
        check("talk", "repeat", 5, turns, &format!("fluxloop test --scenario talk {options}"));
    }

    #[test]
    fn templates_for_0_4_scenarios() {
        let check = |scenario: &str, template: &str, yaml: &str, command: &str| {
            check("workspace-0.4.0", &format!(".fluxloop/scenarios/{scenario}"), template, yaml, command);
        };
        let desk = "runner:\n  type: \"function\"\n  target: \"agent.desk:handler\"\n";
        let smoke = format!("name: \"desk\"\niterations: 1\n{desk}");
        check("desk", "smoke", &smoke, "fluxloop run --scenario desk --iterations 1");
        let turns = format!("{smoke}conversation:\n  enabled: true\n  max_turns: 4\n");
        check("desk", "multi_turn", &turns, "fluxloop run --scenario desk");
        let runner = "runner:\n  type: \"process\"\n  command: [\"python3\",\"agent/checkout.py\"]\n";
        let turns = "conversation:\n  enabled: true\n  max_turns: 3\n  simulator:\n    provider: \"openai\"\n    model: \"gpt-4o-mini\"\n";
        let repeat = format!("name: \"talk\"\niterations: 5\n{runner}{turns}");
        check("talk", "repeat", &repeat, "fluxloop run --scenario talk");
    }

    #[test]
    fn templates_for_0_4_skill() {
        let yaml = "name: \"refund-skill\"\nrunner:\n  type: \"skill\"\n  skill_path: \"skills/refund/SKILL.md\"\n  allowed_tools: [\"Read\"]\n";
        let folder = ".fluxloop/scenarios/refund-skill";
        let of = "skills/refund/SKILL.md --input \"...\" --scenario refund-skill";
        check("workspace-0.4.0", folder, "smoke", yaml, &format!("fluxloop skill test {of}"));
        check("workspace-0.4.0", folder, "repeat", yaml, &format!("fluxloop skill benchmark {of} --runs 5"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects/workspace-0.4.0");
        let project = FluxloopProjects::find(&Tree::open(&root).unwrap(), folder).list.remove(0);
        assert_eq!(project.templates().len(), 2, "no conversations with a skill");
    }

    #[test]
    fn paths_are_quoted_for_the_shell() {
        for (path, expected) in [
            ("skills/a-b/SKILL.md", "skills/a-b/SKILL.md"),
            ("skills/$a/SKILL.md", "'skills/$a/SKILL.md'"),
            ("my skill.md", "PATH"),
            ("x'; curl evil '", "PATH"),
        ] {
            assert_eq!(shell_word(path), expected);
        }
    }
}
