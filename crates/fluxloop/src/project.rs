//! FluxLoop projects as they are on the disk: settings, inputs, experiments, evaluations.
//!
//! [`Projects::find`] looks for projects of all lines of the CLI and reads their settings and inputs.
//! [`Projects::experiments`] reads the summaries of all experiments and, within limits, the traces of the newest;
//! [`Metrics::of`] takes them together. [`Projects::document`] gives one file of an experiment to read.
//!
//! Whatever is broken becomes a [`Warning`], and everything else is still told. Nothing that leaves has a secret in it
//! as far as [`redact`] knows one. Nothing is ordered by the times of files, which a checkout makes anew.

mod contract;
mod coverage;
mod documents;
mod errors;
mod evaluation;
mod experiment;
mod experiments;
mod fields;
mod file;
mod inputs;
mod jsonl;
mod judged;
mod judging;
mod limits;
mod loose;
mod merged;
mod metrics;
mod node;
mod parallel;
pub(crate) mod place;
mod redact;
mod runs;
mod secret_line;
mod secret_lines;
mod secret_names;
mod secret_values;
mod settings;
mod shapes;
mod summary;
mod templates;
mod time;
mod tokens;
mod trace;
mod warning;
mod yaml;

pub use contract::{Assertion, BrokenAssertion, Contract};
pub use coverage::{Coverage, Detail, LeftOut};
pub use documents::{Document, DocumentError, DocumentText};
pub use evaluation::{
    Criterion, Evaluation, Evaluator, JudgedTrace, Met, PersonaScore, Reason, Recommendation,
};
pub use experiment::{
    Conversations, Details, Experiment, Failure, InputRuns, NO_PERSONA, State, Tally, Tokens,
};
pub use experiments::Experiments;
pub use inputs::{Input, Inputs, Source};
pub use judging::Judging;
pub use metrics::{Comparison, Covered, Metrics, Point};
pub use redact::redact;
pub use secret_line::holds_secret;
pub use secret_lines::secret_lines;
pub use settings::{BaseInput, MultiTurn, Persona, Runner, Settings, Variation};
pub use shapes::{REDACTED, redact_text};
pub use templates::Template;
pub use warning::Warning;

use codebase::NameKind;
use serde::{Serialize, Serializer};
use serde_json::Value;
use tree::Tree;

use crate::Line;
use fields::Fields;
use file::join;
use merged::Merged;
use node::{Data, Node};
use place::Place;
use settings::Names;
use warning::Warnings;

/// The projects of a tree.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Projects {
    /// Each of them, by folder.
    pub list: Vec<Project>,
    /// The scenario that commands without a name mean, as `context.json` says: its folder, like [`Project::folder`] and
    /// [`Experiment::project`], and not its name, which two workspaces of one tree may share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// What is wrong with files that belong to none of them.
    pub warnings: Vec<Warning>,
    /// Only those were asked for, and there are others.
    #[serde(skip)]
    is_narrowed: bool,
}

/// A project of 0.2, or a scenario of 0.3 and 0.4.
#[derive(Debug, Clone, Serialize)]
pub struct Project {
    /// The line of the CLI that its folders belong to.
    #[serde(serialize_with = "by_name")]
    pub line: Line,
    /// Its folder, from the root of the tree; `.` for the root.
    pub folder: String,
    /// Its name: what `project.yaml` or `scenario.yaml` say; of 0.4, the name of the folder.
    pub name: String,
    /// What a run would be made with.
    pub settings: Settings,
    /// What a run would take.
    pub inputs: Inputs,
    /// What is wrong with its files.
    pub warnings: Vec<Warning>,
    #[serde(skip)]
    place: Place,
    /// The folder with its experiments.
    #[serde(skip)]
    output: String,
    /// Names of personas by their ids.
    #[serde(skip)]
    persona_names: Names,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn by_name<S: Serializer>(line: &Line, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(line.name())
}

impl Projects {
    /// Finds all projects of a tree.
    ///
    /// `inside` is a path from the root: if it lies in one project, only that is found; if projects lie in it, only
    /// those are. Otherwise, and for `""`, all are.
    pub fn find(tree: &Tree, inside: &str) -> Self {
        let inside = file::resolve(tree, "", inside).unwrap_or_default();
        let mut warnings = Warnings::default();
        let (places, is_cut) = place::search(tree, &inside);
        if is_cut {
            let what =
                format!("more than {} folders; projects further down may be missing", limits::SEARCH_FOLDERS);
            warnings.add(".", None, what);
        }
        let current = current(tree, &places, &mut warnings);
        let all = places.len();
        let places = narrowed(places, &inside);
        let is_narrowed = places.len() < all;
        let list = places.into_iter().map(|place| Project::read(tree, place)).collect();
        Self { list, current, warnings: warnings.into_list(), is_narrowed }
    }

    /// Some of them.
    #[must_use]
    pub fn only(mut self, is_meant: impl Fn(&Project) -> bool) -> Self {
        let all = self.list.len();
        self.list.retain(is_meant);
        self.is_narrowed |= self.list.len() < all;
        self
    }

    /// The project in this folder.
    pub fn get(&self, folder: &str) -> Option<&Project> {
        self.list.iter().find(|project| project.folder == folder)
    }
}

/// Those that `inside` means.
fn narrowed(places: Vec<Place>, inside: &str) -> Vec<Place> {
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
fn current(tree: &Tree, places: &[Place], warnings: &mut Warnings) -> Option<String> {
    let mut workspaces: Vec<&String> = places.iter().filter_map(|place| place.workspace.as_ref()).collect();
    workspaces.dedup();
    let mut found = None;
    for workspace in workspaces {
        let path = join(workspace, "context.json");
        let Some(context) = file::json::<Value>(tree, &path, warnings) else { continue };
        let Some(name) = context.get("current_scenario").and_then(Value::as_str) else { continue };
        let folder = join(workspace, &format!("scenarios/{name}"));
        if places.iter().any(|place| place.folder == folder) {
            found = found.or(Some(folder));
        } else {
            let name = warnings.name(NameKind::Setting, name, &path, None);
            warnings.add(&path, None, format!("the current scenario `{name}` does not exist"));
        }
    }
    found
}

impl Project {
    fn read(tree: &Tree, place: Place) -> Self {
        let mut warnings = Warnings::default();
        let merged = Merged::read(tree, &place, &mut warnings);
        let mut settings = Settings::of(&merged, place.line, &mut warnings);
        settings.personas.extend(pulled_personas(tree, &place, &mut warnings));
        let persona_names = settings::names(&settings.personas);
        let inputs = Inputs::read(tree, &place, &merged, &persona_names, &mut warnings);
        let output = Fields(Some(&merged.node)).text("output_directory", &mut warnings);
        let output = output.as_deref().and_then(|output| file::resolve(tree, &place.folder, output));
        if place.line == Line::V04 && place.workspace.is_none() {
            let what = "a scenario of 0.4 without its workspace: its experiments lie in `.fluxloop/results` of the \
                repository, out of reach from here; name the repository as `root` to see them";
            warnings.add(if place.folder.is_empty() { "." } else { &place.folder }, None, what);
        }
        let own_name = merged.own_name.clone().filter(|_| place.line != Line::V04);
        Self {
            line: place.line,
            folder: if place.folder.is_empty() { ".".to_owned() } else { place.folder.clone() },
            name: own_name.unwrap_or_else(|| place::own_name(tree, &place.folder)),
            settings,
            inputs,
            warnings: warnings.into_list(),
            output: output.unwrap_or_else(|| join(&place.folder, "experiments")),
            place,
            persona_names,
        }
    }
}

/// Personas that 0.4 pulled from a workspace on the web.
fn pulled_personas(tree: &Tree, place: &Place, warnings: &mut Warnings) -> Vec<Persona> {
    let path = join(&place.folder, "pulled/personas.json");
    if place.line != Line::V04 || !place::is_there(tree, &path) {
        return Vec::new();
    }
    let Some(value) = file::json::<Value>(tree, &path, warnings) else { return Vec::new() };
    if let Data::List(items) = Node::from_json(&path.as_str().into(), value).data {
        return settings::personas(&items, warnings);
    }
    warnings.add(&path, None, "no list of personas");
    Vec::new()
}
