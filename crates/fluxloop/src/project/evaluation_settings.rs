//! What is judged, and how: the evaluation part of the settings.

use serde::Serialize;
use serde_json::Value;

use super::config_node::ConfigValue;
use super::fields::ConfigFields;
use super::warning::FileWarnings;

/// What is judged, and how.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvaluationSettings {
    /// What a good answer is.
    pub goal: Option<String>,
    /// Who judges: name, type, rules or model …
    pub evaluators: Vec<Value>,
    /// When all in all it is a success.
    pub criteria: Option<Value>,
    /// The score from which a trace passes.
    pub threshold: Option<f64>,
    /// What 0.2 has from 0.2.31 on instead of evaluators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Value>,
}

/// What settings say of it, if they do.
pub(super) fn parse_evaluation_settings(
    all: ConfigFields<'_>,
    warnings: &mut FileWarnings,
) -> Option<EvaluationSettings> {
    let keys = ["evaluation_goal", "evaluators", "success_criteria", "aggregate", "metrics"];
    keys.iter().find_map(|key| all.get(key))?;
    let goal = match all.get("evaluation_goal").map(|node| &node.data) {
        Some(ConfigValue::Map(_)) => all.mapping("evaluation_goal", warnings).text("text", warnings),
        _ => all.text("evaluation_goal", warnings),
    };
    all.list("evaluators", warnings);
    let evaluators = if let Some(Value::Array(items)) = all.value("evaluators") { items } else { Vec::new() };
    Some(EvaluationSettings {
        goal,
        evaluators,
        criteria: all.value("success_criteria"),
        threshold: all.mapping("aggregate", warnings).number("threshold", warnings),
        metrics: all.value("metrics"),
    })
}
