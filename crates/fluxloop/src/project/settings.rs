//! The settings of a project, merged as the CLI merges them, in typed parts without secrets.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::config_node::{ConfigNode, ConfigValue};
use super::evaluation_settings::{EvaluationSettings, parse_evaluation_settings};
use super::fields::{ConfigFields, scalar_text};
use super::merged_settings::MergedSettings;
use super::redact::{redact_command, variable_name};
use super::warning::FileWarnings;
use crate::ReleaseLine;

/// What a run would be made with.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FluxloopSettings {
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
    pub runner: Option<RunnerSettings>,
    /// Whether and how conversations are led.
    pub multi_turn: MultiTurnSettings,
    /// Who asks.
    pub personas: Vec<Persona>,
    /// What inputs are made from.
    pub base_inputs: Vec<BaseInput>,
    /// How inputs are varied.
    pub variation: VariationSettings,
    /// How inputs are generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<Value>,
    /// What is judged, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<EvaluationSettings>,
    /// The files that were merged, the weakest first.
    pub files: Vec<String>,
}

/// How the agent is called.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunnerSettings {
    /// `python-function` in 0.2 and 0.3, which know nothing else; `function`, `process` or `skill` in 0.4.
    #[serde(rename = "type")]
    pub kind: String,
    /// `module:function`.
    pub target: Option<String>,
    /// A program and its arguments.
    pub command: Option<Vec<String>>,
    /// A URL, if one is set.
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
pub struct MultiTurnSettings {
    /// Whether they are.
    pub enabled: bool,
    /// When they end at the latest.
    pub max_turns: Option<u64>,
    /// Who offers the model that plays the user.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
}

/// A simulated user.
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
pub struct VariationSettings {
    /// The strategies.
    pub strategies: Vec<String>,
    /// How many of each.
    pub count: Option<u64>,
    /// How freely.
    pub temperature: Option<f64>,
}

impl FluxloopSettings {
    pub(super) fn from_merged(
        merged: &MergedSettings,
        release_line: ReleaseLine,
        warnings: &mut FileWarnings,
    ) -> Self {
        let all = ConfigFields(Some(&merged.node));
        let metadata = all.mapping("metadata", warnings);
        let iterations = all.count("iterations", warnings);
        Self {
            experiment_name: all.text("name", warnings),
            description: all.text("description", warnings),
            service_context: metadata.text("service_context", warnings),
            metadata: metadata.remaining(&[]),
            tags: all.texts("tags", warnings),
            iterations: iterations.or((!merged.is_partial && all.get("iterations").is_none()).then_some(1)),
            runner: parse_runner(all, release_line, warnings),
            multi_turn: parse_multi_turn(all, release_line, warnings),
            personas: parse_personas(all.list("personas", warnings), warnings),
            base_inputs: parse_base_inputs(all, warnings),
            variation: VariationSettings {
                strategies: parse_strategies(all, warnings),
                count: all.count("variation_count", warnings),
                temperature: all.number("variation_temperature", warnings),
            },
            generation: all.value("input_generation"),
            evaluation: parse_evaluation_settings(all, warnings),
            files: merged.files.clone(),
        }
    }
}

fn parse_runner(
    all: ConfigFields<'_>,
    release_line: ReleaseLine,
    warnings: &mut FileWarnings,
) -> Option<RunnerSettings> {
    let runner = all.mapping("runner", warnings);
    runner.0?;
    let kind = match release_line {
        ReleaseLine::V02 | ReleaseLine::V03 => "python-function".to_owned(),
        ReleaseLine::V04 => runner.text("type", warnings).unwrap_or_else(|| "function".to_owned()),
    };
    let in_parts = |warnings: &mut FileWarnings| {
        let (module, function) =
            (runner.text("module_path", warnings)?, runner.text("function_name", warnings)?);
        Some(format!("{module}:{function}"))
    };
    let endpoint = ["endpoint", "url", "base_url"].into_iter().find_map(|key| runner.text(key, warnings));
    Some(RunnerSettings {
        kind,
        target: runner.text("target", warnings).or_else(|| in_parts(warnings)),
        command: parse_command(runner, warnings),
        endpoint,
        skill_path: runner.text("skill_path", warnings),
        allowed_tools: runner.texts("allowed_tools", warnings),
        working_directory: runner.text("working_directory", warnings),
        timeout_seconds: runner.number("timeout_seconds", warnings),
        environment_names: parse_environment_names(runner, warnings),
    })
}

/// A list, or one text for a shell.
fn parse_command(runner: ConfigFields<'_>, warnings: &mut FileWarnings) -> Option<Vec<String>> {
    match &runner.get("command")?.data {
        ConfigValue::Text(_) => runner.text("command", warnings).map(|command| vec![command]),
        _ => Some(redact_command(runner.texts("command", warnings))),
    }
}

fn parse_environment_names(runner: ConfigFields<'_>, warnings: &mut FileWarnings) -> Vec<String> {
    let mut names = Vec::new();
    for key in ["environment_vars", "env"] {
        let entries: Vec<(String, &ConfigNode)> = match runner.get(key).map(|node| &node.data) {
            // `NAME=value`.
            Some(ConfigValue::List(items)) => items
                .iter()
                .filter_map(|item| {
                    if let ConfigValue::Text(text) = &item.data { Some((text.clone(), item)) } else { None }
                })
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

fn parse_multi_turn(
    all: ConfigFields<'_>,
    release_line: ReleaseLine,
    warnings: &mut FileWarnings,
) -> MultiTurnSettings {
    let (section, player) = match release_line {
        ReleaseLine::V02 | ReleaseLine::V03 => ("multi_turn", "supervisor"),
        ReleaseLine::V04 => ("conversation", "simulator"),
    };
    let talk = all.mapping(section, warnings);
    let player = talk.mapping(player, warnings);
    MultiTurnSettings {
        enabled: talk.flag("enabled", warnings).unwrap_or(false),
        max_turns: talk.count("max_turns", warnings),
        provider: player.text("provider", warnings),
        model: player.text("model", warnings),
    }
}

/// Personas, of the settings or of a file that was pulled.
pub(super) fn parse_personas(items: &[ConfigNode], warnings: &mut FileWarnings) -> Vec<Persona> {
    let persona = |item: &ConfigNode| {
        let fields = ConfigFields(Some(item));
        let name = fields.text("name", warnings).or_else(|| scalar_text(item));
        if name.is_none() {
            warnings.add(&item.file, item.line(), "a persona without a name; it is left out");
        }
        let description = fields.text("description", warnings);
        Some(Persona { name: name?, description, others: fields.remaining(&["name", "description"]) })
    };
    items.iter().filter_map(persona).collect()
}

/// Names of personas by their ids: what was pulled may name them either way.
pub(super) type PersonaNames = HashMap<String, String>;

pub(super) fn persona_names(personas: &[Persona]) -> PersonaNames {
    let pair =
        |persona: &Persona| Some((persona.others.get("id")?.as_str()?.to_owned(), persona.name.clone()));
    personas.iter().filter_map(pair).collect()
}

fn parse_base_inputs(all: ConfigFields<'_>, warnings: &mut FileWarnings) -> Vec<BaseInput> {
    let items = all.list("base_inputs", warnings);
    let base_input = |item: &ConfigNode| {
        let fields = ConfigFields(Some(item));
        let input = fields.text("input", warnings).or_else(|| scalar_text(item));
        if input.is_none() {
            warnings.add(&item.file, item.line(), "a base input without `input`; it is left out");
        }
        Some(BaseInput { input: input?, others: fields.remaining(&["input"]) })
    };
    items.iter().filter_map(base_input).collect()
}

/// Names, or mappings with a name and parameters.
fn parse_strategies(all: ConfigFields<'_>, warnings: &mut FileWarnings) -> Vec<String> {
    let items = all.list("variation_strategies", warnings);
    let named = |item: &ConfigNode| {
        let found = ["type", "name", "strategy"].into_iter().find_map(|key| item.get(key));
        scalar_text(found.unwrap_or(item))
    };
    items.iter().filter_map(named).collect()
}
