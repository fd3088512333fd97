//! The settings of a project, merged as the CLI merges them, in typed parts without secrets.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::{Fields, scalar};
use super::judging::{Judging, judging};
use super::merged::Merged;
use super::node::{Data, Node};
use super::redact::{redact_command, variable_name};
use super::warning::Warnings;
use crate::Line;

/// What a run would be made with.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Settings {
    /// The name of its experiments. 0.2.30 and 0.4 put it into the names of their folders.
    pub experiment_name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the service does, as its owners say.
    pub service_context: Option<String>,
    /// Whatever else they say of it.
    pub metadata: Map<String, Value>,
    /// Tags.
    pub tags: Vec<String>,
    /// How often each input is run. `None` if the file that would say it is broken.
    pub iterations: Option<u64>,
    /// How the agent is called. `None` if nothing readable says it.
    pub runner: Option<Runner>,
    /// Whether and how conversations are led.
    pub multi_turn: MultiTurn,
    /// Who asks.
    pub personas: Vec<Persona>,
    /// What inputs are made from.
    pub base_inputs: Vec<BaseInput>,
    /// How inputs are varied.
    pub variation: Variation,
    /// How inputs are generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<Value>,
    /// What is judged, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Judging>,
    /// The files that were merged, the weakest first.
    pub files: Vec<String>,
}

/// How the agent is called.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runner {
    /// `python-function` in 0.2 and 0.3, which know nothing else; `function`, `process` or `skill` in 0.4.
    #[serde(rename = "type")]
    pub kind: String,
    /// `module:function`.
    pub target: Option<String>,
    /// A program and its arguments.
    pub command: Option<Vec<String>>,
    /// An address, where somebody wrote one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The skill that is tried.
    pub skill_path: Option<String>,
    /// The tools that a skill may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// Where it is started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// How long one run may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// Names of environment variables. Their values stay in the file.
    pub environment_names: Vec<String>,
}

/// Whether and how conversations are led.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MultiTurn {
    /// Whether they are.
    pub enabled: bool,
    /// When they end at the latest.
    pub max_turns: Option<u64>,
    /// Who offers the model that plays the user.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
}

/// Somebody who asks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Persona {
    /// The name.
    pub name: String,
    /// In a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whatever else is said: characteristics, goals, language …
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// An input that others are made from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BaseInput {
    /// The text.
    pub input: String,
    /// Whatever else is said: the expected intent …
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// How inputs are varied.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Variation {
    /// The strategies.
    pub strategies: Vec<String>,
    /// How many of each.
    pub count: Option<u64>,
    /// How freely.
    pub temperature: Option<f64>,
}

impl Settings {
    pub(super) fn of(merged: &Merged, line: Line, warnings: &mut Warnings) -> Self {
        let all = Fields(Some(&merged.node));
        let metadata = all.mapping("metadata", warnings);
        let iterations = all.count("iterations", warnings);
        Self {
            experiment_name: all.text("name", warnings),
            description: all.text("description", warnings),
            service_context: metadata.text("service_context", warnings),
            metadata: metadata.others(&[]),
            tags: all.texts("tags", warnings),
            iterations: iterations.or((!merged.is_partial && all.get("iterations").is_none()).then_some(1)),
            runner: runner(all, line, warnings),
            multi_turn: multi_turn(all, line, warnings),
            personas: personas(all.list("personas", warnings), warnings),
            base_inputs: base_inputs(all, warnings),
            variation: Variation {
                strategies: strategies(all, warnings),
                count: all.count("variation_count", warnings),
                temperature: all.number("variation_temperature", warnings),
            },
            generation: all.value("input_generation"),
            evaluation: judging(all, warnings),
            files: merged.files.clone(),
        }
    }
}

fn runner(all: Fields<'_>, line: Line, warnings: &mut Warnings) -> Option<Runner> {
    let runner = all.mapping("runner", warnings);
    runner.0?;
    let kind = match line {
        Line::V02 | Line::V03 => "python-function".to_owned(),
        Line::V04 => runner.text("type", warnings).unwrap_or_else(|| "function".to_owned()),
    };
    let in_parts = |warnings: &mut Warnings| {
        let (module, function) =
            (runner.text("module_path", warnings)?, runner.text("function_name", warnings)?);
        Some(format!("{module}:{function}"))
    };
    let endpoint = ["endpoint", "url", "base_url"].into_iter().find_map(|key| runner.text(key, warnings));
    Some(Runner {
        kind,
        target: runner.text("target", warnings).or_else(|| in_parts(warnings)),
        command: command(runner, warnings),
        endpoint,
        skill_path: runner.text("skill_path", warnings),
        allowed_tools: runner.texts("allowed_tools", warnings),
        working_directory: runner.text("working_directory", warnings),
        timeout_seconds: runner.number("timeout_seconds", warnings),
        environment_names: environment_names(runner, warnings),
    })
}

/// A list, or one text for a shell.
fn command(runner: Fields<'_>, warnings: &mut Warnings) -> Option<Vec<String>> {
    match &runner.get("command")?.data {
        Data::Text(_) => runner.text("command", warnings).map(|command| vec![command]),
        _ => Some(redact_command(runner.texts("command", warnings))),
    }
}

fn environment_names(runner: Fields<'_>, warnings: &mut Warnings) -> Vec<String> {
    let mut names = Vec::new();
    for key in ["environment_vars", "env"] {
        let entries: Vec<(String, &Node)> = match runner.get(key).map(|node| &node.data) {
            // `NAME=value`.
            Some(Data::List(items)) => items
                .iter()
                .filter_map(
                    |item| if let Data::Text(text) = &item.data { Some((text.clone(), item)) } else { None },
                )
                .collect(),
            _ => runner
                .mapping(key, warnings)
                .entries()
                .iter()
                .map(|(name, node)| (name.clone(), node))
                .collect(),
        };
        for (entry, node) in entries {
            match variable_name(&entry) {
                Some(name) => names.push(name.to_owned()),
                // The entry itself is not told: it may be the secret.
                None => warnings.add(
                    &node.file,
                    node.line(),
                    format!("an entry of `{key}` has no name; it is left out"),
                ),
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

fn multi_turn(all: Fields<'_>, line: Line, warnings: &mut Warnings) -> MultiTurn {
    let (section, player) = match line {
        Line::V02 | Line::V03 => ("multi_turn", "supervisor"),
        Line::V04 => ("conversation", "simulator"),
    };
    let talk = all.mapping(section, warnings);
    let player = talk.mapping(player, warnings);
    MultiTurn {
        enabled: talk.flag("enabled", warnings).unwrap_or(false),
        max_turns: talk.count("max_turns", warnings),
        provider: player.text("provider", warnings),
        model: player.text("model", warnings),
    }
}

/// Personas, of the settings or of a file that was pulled.
pub(super) fn personas(items: &[Node], warnings: &mut Warnings) -> Vec<Persona> {
    let persona = |item: &Node| {
        let fields = Fields(Some(item));
        let name = fields.text("name", warnings).or_else(|| scalar(item));
        if name.is_none() {
            warnings.add(&item.file, item.line(), "a persona without a name; it is left out");
        }
        let description = fields.text("description", warnings);
        Some(Persona { name: name?, description, others: fields.others(&["name", "description"]) })
    };
    items.iter().filter_map(persona).collect()
}

/// Names of personas by their ids: what was pulled may name them either way.
pub(super) type Names = HashMap<String, String>;

pub(super) fn names(personas: &[Persona]) -> Names {
    let pair =
        |persona: &Persona| Some((persona.others.get("id")?.as_str()?.to_owned(), persona.name.clone()));
    personas.iter().filter_map(pair).collect()
}

fn base_inputs(all: Fields<'_>, warnings: &mut Warnings) -> Vec<BaseInput> {
    let items = all.list("base_inputs", warnings);
    let base_input = |item: &Node| {
        let fields = Fields(Some(item));
        let input = fields.text("input", warnings).or_else(|| scalar(item));
        if input.is_none() {
            warnings.add(&item.file, item.line(), "a base input without `input`; it is left out");
        }
        Some(BaseInput { input: input?, others: fields.others(&["input"]) })
    };
    items.iter().filter_map(base_input).collect()
}

/// Names, or mappings with a name and parameters.
fn strategies(all: Fields<'_>, warnings: &mut Warnings) -> Vec<String> {
    let items = all.list("variation_strategies", warnings);
    let named = |item: &Node| {
        let found = ["type", "name", "strategy"].into_iter().find_map(|key| item.get(key));
        scalar(found.unwrap_or(item))
    };
    items.iter().filter_map(named).collect()
}
