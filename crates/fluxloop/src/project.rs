//! FluxLoop projects as they are on the disk: settings, inputs, experiments, evaluations.
//!
//! [`FluxloopProjects::find`] looks for projects of all lines of the CLI and reads their settings and inputs.
//! [`FluxloopProjects::experiments`] reads the summaries of all experiments and, within limits, the traces of the newest;
//! [`ExperimentMetrics::from_experiments`] takes them together. [`FluxloopProjects::document`] gives one file of an experiment to read.
//!
//! Whatever is broken becomes a [`FileWarning`], and everything else is still told. Nothing that leaves has a secret in it
//! as far as [`redact`] knows one. Nothing is ordered by the times of files, which a checkout makes anew.

mod config_node;
mod contract;
mod coverage;
mod documents;
mod errors;
mod evaluation;
mod evaluation_settings;
mod experiment;
mod experiments;
mod fields;
mod file;
mod folder_time;
mod inputs;
mod jsonl;
mod limits;
pub(crate) mod location;
mod loose_json;
mod merged_settings;
mod metrics;
mod multi_line_secrets;
mod parallel;
mod redact;
mod run_templates;
mod runs;
mod secret_names;
mod secret_patterns;
mod secret_values;
mod settings;
mod single_line_secrets;
mod summary;
mod tokens;
mod trace;
mod trace_scores;
mod warning;
mod yaml;

pub use contract::{AssertionStats, FailedAssertion, SkillContractResult};
pub use coverage::{DetailLimits, ExperimentCoverage, SkippedExperiments};
pub use documents::{ExperimentDocument, ExperimentDocumentError, ExperimentDocumentText};
pub use evaluation::{
    CriterionOutcome, EvaluatedTrace, EvaluationCriterion, EvaluationReason, EvaluationRecommendation,
    EvaluatorResult, ExperimentEvaluation, PersonaScore,
};
pub use evaluation_settings::EvaluationSettings;
pub use experiment::{
    ConversationStats, Experiment, ExperimentDetails, ExperimentState, FailedRun, InputRuns, NO_PERSONA,
    RunTally, TokenUsage,
};
pub use experiments::Experiments;
pub use inputs::{InputSource, ProjectInput, ProjectInputs};
pub use metrics::{ExperimentComparison, ExperimentMetrics, ExperimentTrendPoint, MetricsCoverage};
pub use multi_line_secrets::find_secret_lines;
pub use redact::redact;
pub use run_templates::RunTemplate;
pub use secret_patterns::{REDACTED, redact_text};
pub use settings::{
    BaseInput, FluxloopSettings, MultiTurnSettings, Persona, RunnerSettings, VariationSettings,
};
pub use single_line_secrets::contains_secret;
pub use warning::FileWarning;

use codebase::NameKind;
use serde::{Serialize, Serializer};
use serde_json::Value;
use tree::Tree;

use crate::ReleaseLine;
use config_node::{ConfigNode, ConfigValue};
use fields::ConfigFields;
use file::join_path;
use location::FluxloopLocation;
use merged_settings::MergedSettings;
use settings::PersonaNames;
use warning::FileWarnings;

/// The projects of a tree.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FluxloopProjects {
    /// Each of them, by folder.
    pub list: Vec<FluxloopProject>,
    /// The scenario that commands without a name mean, as `context.json` says: its folder, like [`FluxloopProject::folder`] and
    /// [`Experiment::project`], and not its name, which two workspaces of one tree may share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// What is wrong with files that belong to none of them.
    pub warnings: Vec<FileWarning>,
    /// Only those were asked for, and there are others.
    #[serde(skip)]
    is_narrowed: bool,
}

/// A project of 0.2, or a scenario of 0.3 and 0.4.
#[derive(Debug, Clone, Serialize)]
pub struct FluxloopProject {
    /// The line of the CLI that its folders belong to.
    #[serde(serialize_with = "by_name")]
    pub line: ReleaseLine,
    /// Its folder, from the root of the tree; `.` for the root.
    pub folder: String,
    /// Its name: what `project.yaml` or `scenario.yaml` say; of 0.4, the name of the folder.
    pub name: String,
    /// What a run would be made with.
    pub settings: FluxloopSettings,
    /// What a run would take.
    pub inputs: ProjectInputs,
    /// What is wrong with its files.
    pub warnings: Vec<FileWarning>,
    #[serde(skip)]
    location: FluxloopLocation,
    /// The folder with its experiments.
    #[serde(skip)]
    output_folder: String,
    /// Names of personas by their ids.
    #[serde(skip)]
    persona_names: PersonaNames,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn by_name<S: Serializer>(release_line: &ReleaseLine, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(release_line.name())
}

impl FluxloopProjects {
    /// Finds all projects of a tree.
    ///
    /// `inside` is a path from the root: if it lies in one project, only that is found; if projects lie in it, only
    /// those are. Otherwise, and for `""`, all are.
    pub fn find(tree: &Tree, inside: &str) -> Self {
        let inside = file::resolve_path(tree, "", inside).unwrap_or_default();
        let mut warnings = FileWarnings::default();
        let (places, is_cut) = location::search_tree(tree, &inside);
        if is_cut {
            let what = format!(
                "more than {} folders; projects further down may be missing",
                limits::MAX_SEARCH_FOLDERS
            );
            warnings.add(".", None, what);
        }
        let current = read_current_scenario(tree, &places, &mut warnings);
        let all = places.len();
        let places = narrow_to_path(places, &inside);
        let is_narrowed = places.len() < all;
        let list = places.into_iter().map(|place| FluxloopProject::read(tree, place)).collect();
        Self { list, current, warnings: warnings.into_list(), is_narrowed }
    }

    /// Some of them.
    #[must_use]
    pub fn filter(mut self, is_meant: impl Fn(&FluxloopProject) -> bool) -> Self {
        let all = self.list.len();
        self.list.retain(is_meant);
        self.is_narrowed |= self.list.len() < all;
        self
    }

    /// The project in this folder.
    pub fn get(&self, folder: &str) -> Option<&FluxloopProject> {
        self.list.iter().find(|project| project.folder == folder)
    }
}

/// Those that `inside` means.
fn narrow_to_path(places: Vec<FluxloopLocation>, inside: &str) -> Vec<FluxloopLocation> {
    let holds = |folder: &str, path: &str| {
        folder.is_empty()
            || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if inside.is_empty() {
        return places;
    }
    let holder =
        places.iter().filter(|place| holds(&place.folder, inside)).max_by_key(|place| place.folder.len());
    let beneath: Vec<_> = places.iter().filter(|place| holds(inside, &place.folder)).cloned().collect();
    match holder {
        Some(holder) if holder.folder == inside || beneath.is_empty() => vec![holder.clone()],
        _ if beneath.is_empty() => places,
        _ => beneath,
    }
}

/// What `context.json` says, if such a scenario exists.
fn read_current_scenario(
    tree: &Tree,
    places: &[FluxloopLocation],
    warnings: &mut FileWarnings,
) -> Option<String> {
    let mut workspaces: Vec<&String> = places.iter().filter_map(|place| place.workspace.as_ref()).collect();
    workspaces.dedup();
    let mut found = None;
    for workspace in workspaces {
        let path = join_path(workspace, "context.json");
        let Some(context) = file::read_json::<Value>(tree, &path, warnings) else { continue };
        let Some(name) = context.get("current_scenario").and_then(Value::as_str) else { continue };
        let folder = join_path(workspace, &format!("scenarios/{name}"));
        if places.iter().any(|place| place.folder == folder) {
            found = found.or(Some(folder));
        } else {
            let name = warnings.display_name(NameKind::Setting, name, &path, None);
            warnings.add(&path, None, format!("the current scenario `{name}` does not exist"));
        }
    }
    found
}

impl FluxloopProject {
    fn read(tree: &Tree, location: FluxloopLocation) -> Self {
        let mut warnings = FileWarnings::default();
        let merged = MergedSettings::read(tree, &location, &mut warnings);
        let mut settings = FluxloopSettings::from_merged(&merged, location.release_line, &mut warnings);
        settings.personas.extend(read_pulled_personas(tree, &location, &mut warnings));
        let persona_names = settings::persona_names(&settings.personas);
        let inputs = ProjectInputs::read(tree, &location, &merged, &persona_names, &mut warnings);
        let output = ConfigFields(Some(&merged.node)).text("output_directory", &mut warnings);
        let output = output.as_deref().and_then(|output| file::resolve_path(tree, &location.folder, output));
        if location.release_line == ReleaseLine::V04 && location.workspace.is_none() {
            let what = "a scenario of 0.4 without its workspace: its experiments lie in `.fluxloop/results` of the \
                repository, out of reach from here; name the repository as `root` to see them";
            warnings.add(if location.folder.is_empty() { "." } else { &location.folder }, None, what);
        }
        let own_name = merged.project_name.clone().filter(|_| location.release_line != ReleaseLine::V04);
        Self {
            line: location.release_line,
            folder: if location.folder.is_empty() { ".".to_owned() } else { location.folder.clone() },
            name: own_name.unwrap_or_else(|| location::folder_name(tree, &location.folder)),
            settings,
            inputs,
            warnings: warnings.into_list(),
            output_folder: output.unwrap_or_else(|| join_path(&location.folder, "experiments")),
            location,
            persona_names,
        }
    }
}

/// Personas that 0.4 pulled from a workspace on the web.
fn read_pulled_personas(
    tree: &Tree,
    location: &FluxloopLocation,
    warnings: &mut FileWarnings,
) -> Vec<Persona> {
    let path = join_path(&location.folder, "pulled/personas.json");
    if location.release_line != ReleaseLine::V04 || !location::exists(tree, &path) {
        return Vec::new();
    }
    let Some(value) = file::read_json::<Value>(tree, &path, warnings) else { return Vec::new() };
    if let ConfigValue::List(items) = ConfigNode::from_json(&path.as_str().into(), value).data {
        return settings::parse_personas(&items, warnings);
    }
    warnings.add(&path, None, "no list of personas");
    Vec::new()
}
