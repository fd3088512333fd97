//! Shared by the `fetch_*_context` tools: arguments, finding projects, and keeping replies small.

mod locate;
pub(in crate::tools) mod topics;
mod truncate;

use std::borrow::Cow;
use std::marker::PhantomData;

use codebase::{NameKind, NameRedactor};
use fluxloop::project::{
    DetailLimits, Experiment, Experiments, FileWarning, FluxloopProject, FluxloopProjects,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use tree::{Roots, WorkBudget};

use super::repository_text::{RepositoryTextView, omitted_texts};
use crate::ToolContext;
use crate::blocking::run_blocking;
use crate::error::RequestError;
pub(crate) use locate::LocatedProjects;
use truncate::{TruncationNote, truncate_to_tokens};

/// Byte limit for traces, which are read for the newest experiments only; summaries are read for all.
const MAX_TRACE_BYTES: u64 = 48 << 20;

/// Fewer tokens would not even fit the keys.
const MIN_MAX_TOKENS: usize = 500;

/// Defines the arguments of a tool that reads projects. The doc comment passed in is the tool's description.
macro_rules! context_args {
    ($(#[$description:meta])*) => {
        $(#[$description])*
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Args {
            /// Repository or project folder.
            #[serde(default = "super::analyze_repository::default_root")]
            root: String,
            /// Name or folder, if there are several.
            #[serde(default)]
            project: Option<String>,
            #[serde(default = "super::support::context_reply::default_limit")]
            #[schemars(range(min = 1))]
            limit: usize,
            #[serde(default)]
            detail: super::support::context_reply::DetailLevel,
            #[serde(default = "super::support::context_reply::default_max_tokens")]
            max_tokens: usize,
        }

        impl From<Args> for super::support::context_reply::ContextQuery {
            fn from(Args { root, project, limit, detail, max_tokens }: Args) -> Self {
                Self { root, project, limit, detail, max_tokens }
            }
        }
    };
}
pub(in crate::tools) use context_args;

pub(in crate::tools) fn default_limit() -> usize {
    5
}

pub(in crate::tools) fn default_max_tokens() -> usize {
    4000
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::tools) enum DetailLevel {
    #[default]
    Brief,
    Full,
}

pub(in crate::tools) struct ContextQuery {
    pub(in crate::tools) root: String,
    pub(in crate::tools) project: Option<String>,
    pub(in crate::tools) limit: usize,
    pub(in crate::tools) detail: DetailLevel,
    pub(in crate::tools) max_tokens: usize,
}

impl ContextQuery {
    pub(in crate::tools) fn is_full(&self) -> bool {
        self.detail == DetailLevel::Full
    }

    /// The experiments, with warnings about them and their projects, and notes on what was not read.
    pub(in crate::tools) fn load_experiments(
        &self,
        located: &LocatedProjects,
        budget: &WorkBudget,
    ) -> LoadedExperiments {
        // Comparing a run with the previous one needs two.
        let detail = DetailLimits { newest: self.limit.max(2), bytes: MAX_TRACE_BYTES };
        let Experiments { list, coverage, warnings } =
            located.projects.experiments(&located.tree, detail, budget);
        let mut told = project_warnings(located);
        told.add(located, &warnings);
        let left_out = coverage.left_out.iter().map(|left| {
            let first = located.redactor.folder(&left.first);
            format!("traces of {} experiments: {} (first: {first})", left.experiments, left.why)
        });
        LoadedExperiments { experiments: list, warnings: told, left_out: left_out.collect() }
    }
}

/// Experiments, with warnings and notes on what was left out.
pub(in crate::tools) struct LoadedExperiments {
    pub(in crate::tools) experiments: Vec<Experiment>,
    pub(in crate::tools) warnings: ContextWarnings,
    pub(in crate::tools) left_out: Vec<String>,
}

/// Finds the projects and builds the reply with `tell`, on a blocking thread.
pub(in crate::tools) async fn build_context_reply<R: ContextReply>(
    call: &ToolContext,
    query: ContextQuery,
    tell: impl FnOnce(&ContextQuery, &LocatedProjects, &WorkBudget) -> R + Send + 'static,
) -> Result<TruncatedReply<R>, RequestError> {
    let roots = Roots::new(call.roots.clone());
    run_blocking(call, move |budget| {
        if query.max_tokens < MIN_MAX_TOKENS {
            return Err(RequestError::invalid_argument(
                "max_tokens",
                format!("must be at least {MIN_MAX_TOKENS}"),
            ));
        }
        let located = LocatedProjects::find(&roots, &query.root)?.select_project(query.project.as_deref())?;
        let reply = tell(&query, &located, budget);
        TruncatedReply::truncate(&reply, query.max_tokens)
    })
    .await
}

/// A reply that may have to be shortened.
pub(crate) trait ContextReply: Serialize + Send + 'static {
    /// Paths of values that are never shortened, because a part of them would be wrong.
    const UNTRUNCATED_PATHS: &'static [&'static str] = &[];
}

/// A reply within its token limit. Its schema is that of the full reply.
pub(crate) struct TruncatedReply<R> {
    answer: Value,
    reply_type: PhantomData<fn() -> R>,
}

impl<R: ContextReply> TruncatedReply<R> {
    /// Shortens a reply that is too long, and lists in `left_out` what is missing.
    pub(in crate::tools) fn truncate(reply: &R, max_tokens: usize) -> Result<Self, RequestError> {
        let mut answer = serde_json::to_value(reply).map_err(RequestError::internal)?;
        let left_out = truncate_to_tokens(&mut answer, max_tokens, R::UNTRUNCATED_PATHS);
        if let Some(told) = answer["left_out"].as_array_mut() {
            told.extend(left_out.iter().map(TruncationNote::message).map(Value::String));
        }
        Ok(Self { answer, reply_type: PhantomData })
    }
}

impl<R> Serialize for TruncatedReply<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.answer.serialize(serializer)
    }
}

impl<R: JsonSchema> JsonSchema for TruncatedReply<R> {
    fn schema_name() -> Cow<'static, str> {
        R::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        R::json_schema(generator)
    }
}

/// Warnings about files, for people and models: `file:line what`.
#[derive(Default)]
pub(in crate::tools) struct ContextWarnings {
    pub(in crate::tools) sentences: Vec<String>,
    /// Strings from the files that `sentences` does not repeat, besides those that the redactor of
    /// [`LocatedProjects`] knows.
    texts: Vec<RepositoryTextView>,
}

impl ContextWarnings {
    fn add<'a>(&mut self, located: &LocatedProjects, warnings: impl IntoIterator<Item = &'a FileWarning>) {
        for FileWarning { file, line, what, texts } in warnings {
            let file = located.redactor.file(file);
            self.sentences.push(match line {
                Some(line) => format!("{file}:{line} {what}"),
                None => format!("{file} {what}"),
            });
            self.texts.extend(texts.iter().cloned().map(RepositoryTextView::from));
        }
    }

    /// Strings from the repository that these sentences and `others` do not repeat.
    pub(in crate::tools) fn repository_text<'s>(
        &'s self,
        redactor: &NameRedactor,
        others: impl IntoIterator<Item = &'s String>,
    ) -> Vec<RepositoryTextView> {
        let sentences = self.sentences.iter().chain(others).map(String::as_str);
        let mut all = [omitted_texts(redactor, sentences), self.texts.clone()].concat();
        all.sort();
        all.dedup();
        all
    }
}

/// Warnings about the files of the projects.
pub(in crate::tools) fn project_file_warnings(located: &LocatedProjects) -> ContextWarnings {
    let FluxloopProjects { list, warnings, .. } = &located.projects;
    let mut told = ContextWarnings::default();
    told.add(located, warnings.iter().chain(list.iter().flat_map(|project| &project.warnings)));
    told
}

/// Warnings about the projects, with advice if there are none.
pub(in crate::tools) fn project_warnings(located: &LocatedProjects) -> ContextWarnings {
    let mut told = project_file_warnings(located);
    if located.projects.list.is_empty() {
        let path = located.tree.path().display().to_string();
        let is_plain = path.split('/').all(|part| part.is_empty() || NameKind::Folder.is_safe_name(part));
        let place = if is_plain { path.as_str() } else { "this folder" };
        told.sentences
            .push(format!("no FluxLoop project found in {place}; the tool `integrate` creates one"));
    }
    told
}

/// Commands contain project names. One that is not a plain name is left for the user to fill in.
pub(in crate::tools) fn unnamed_project_warnings(located: &LocatedProjects) -> Vec<String> {
    let is_named = |project: &&FluxloopProject| {
        let folder = project.folder.rsplit('/').next().unwrap_or(&project.folder);
        [folder, project.name.as_str()].into_iter().all(|name| NameKind::Setting.is_safe_name(name))
    };
    let unnamed = located.projects.list.iter().filter(|project| !is_named(project));
    let sentence = |project: &FluxloopProject| {
        let folder = located.redactor.folder(&project.folder);
        format!("in commands, replace NAME with the name of the project in {folder}; it is not repeated here")
    };
    unnamed.map(sentence).collect()
}

/// A project's name, for use in a sentence.
pub(in crate::tools) fn display_name(located: &LocatedProjects, project: &FluxloopProject) -> String {
    located.redactor.name(NameKind::Setting, &project.name, &project.folder, 0).into_owned()
}

/// A short entry for each project.
pub(in crate::tools) fn project_overview(located: &LocatedProjects) -> Vec<Value> {
    let project = |project: &FluxloopProject| {
        let mut entry = json!({ "name": project.name, "folder": project.folder, "cli": project.line.name() });
        if located.projects.current.as_deref() == Some(&project.folder) {
            entry["current"] = json!(true);
        }
        entry
    };
    located.projects.list.iter().map(project).collect()
}

/// Truncates a list, and notes in `left_out` if entries are missing.
pub(in crate::tools) fn truncate_list<T>(
    name: &str,
    mut list: Vec<T>,
    limit: usize,
    left_out: &mut Vec<String>,
) -> Vec<T> {
    if list.len() > limit {
        left_out
            .push(format!("{name}: {limit} of {} entries; `limit` or `detail: full` shows more", list.len()));
        list.truncate(limit);
    }
    list
}

/// Serializes an entry, adding the project's label if there are several projects.
pub(in crate::tools) fn with_project_label(
    located: &LocatedProjects,
    project: &FluxloopProject,
    entry: &impl Serialize,
) -> Value {
    let mut entry = serde_json::to_value(entry).unwrap_or_default();
    if let Some(entry) = entry.as_object_mut().filter(|_| located.projects.list.len() > 1) {
        entry.insert("project".to_owned(), json!(located.label(&project.folder)));
    }
    entry
}

/// Removes all other keys from an object.
pub(in crate::tools) fn retain_keys(value: Value, keys: &[&str]) -> Value {
    match value {
        Value::Object(map) => {
            let kept: Map<_, _> = map.into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect();
            Value::Object(kept)
        }
        other => other,
    }
}
