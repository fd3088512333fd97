//! What the `fetch_*_context` tools share: their arguments, where a project is found, and how an answer stays small.

mod fit;
mod locate;
pub(in crate::tools) mod topics;

use std::borrow::Cow;
use std::marker::PhantomData;

use codebase::{NameKind, RepositoryTexts};
use fluxloop::project::{Detail, Experiment, Experiments, Project, Projects, Warning};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use tree::{Budget, Roots};

use super::repository_text::{RepositoryText, left_out_of};
use crate::Call;
use crate::blocking::blocking;
use crate::error::Failure;
use fit::{LeftOut, fit};
pub(crate) use locate::Located;

/// Traces of the newest experiments are read up to this much; summaries are read of all.
const TRACES: u64 = 48 << 20;

/// Less is not even room for the keys.
const FEWEST_TOKENS: usize = 500;

/// The arguments of a tool that reads projects; what stands above is its description.
macro_rules! project_args {
    ($(#[$description:meta])*) => {
        $(#[$description])*
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Args {
            /// The folder of the repository or project.
            #[serde(default = "super::analyze_repository::here")]
            root: String,
            /// Its name or folder, if there are several.
            #[serde(default)]
            project: Option<String>,
            #[serde(default = "super::support::context_reply::usual_limit")]
            #[schemars(range(min = 1))]
            limit: usize,
            #[serde(default)]
            detail: super::support::context_reply::HowMuch,
            #[serde(default = "super::support::context_reply::usual_tokens")]
            max_tokens: usize,
        }

        impl From<Args> for super::support::context_reply::Wanted {
            fn from(Args { root, project, limit, detail, max_tokens }: Args) -> Self {
                Self { root, project, limit, detail, max_tokens }
            }
        }
    };
}
pub(in crate::tools) use project_args;

pub(in crate::tools) fn usual_limit() -> usize {
    5
}

pub(in crate::tools) fn usual_tokens() -> usize {
    4000
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::tools) enum HowMuch {
    #[default]
    Brief,
    Full,
}

/// What a caller wants to know.
pub(in crate::tools) struct Wanted {
    pub(in crate::tools) root: String,
    pub(in crate::tools) project: Option<String>,
    pub(in crate::tools) limit: usize,
    pub(in crate::tools) detail: HowMuch,
    pub(in crate::tools) max_tokens: usize,
}

impl Wanted {
    pub(in crate::tools) fn is_full(&self) -> bool {
        self.detail == HowMuch::Full
    }

    /// The experiments, with all that is wrong with them and their projects, and what was not looked into.
    pub(in crate::tools) fn read(&self, located: &Located, budget: &Budget) -> Read {
        // A comparison needs two.
        let detail = Detail { newest: self.limit.max(2), bytes: TRACES };
        let Experiments { list, coverage, warnings } =
            located.projects.experiments(&located.tree, detail, budget);
        let mut told = project_warnings(located);
        told.add(located, &warnings);
        let left_out = coverage.left_out.iter().map(|left| {
            let first = located.texts.folder(&left.first);
            format!("traces of {} experiments: {} (first: {first})", left.experiments, left.why)
        });
        Read { experiments: list, warnings: told, left_out: left_out.collect() }
    }
}

/// What the files of experiments say, and what has to be said about them.
pub(in crate::tools) struct Read {
    pub(in crate::tools) experiments: Vec<Experiment>,
    pub(in crate::tools) warnings: Told,
    pub(in crate::tools) left_out: Vec<String>,
}

/// Finds the projects and lets `tell` make an answer of them, on a thread for work on the disk.
pub(in crate::tools) async fn answer<R: Pack>(
    call: &Call,
    wanted: Wanted,
    tell: impl FnOnce(&Wanted, &Located, &Budget) -> R + Send + 'static,
) -> Result<Packed<R>, Failure> {
    let roots = Roots::new(call.roots.clone());
    blocking(call, move |budget| {
        if wanted.max_tokens < FEWEST_TOKENS {
            return Err(Failure::argument("max_tokens", format!("must be {FEWEST_TOKENS} or more")));
        }
        let located = Located::find(&roots, &wanted.root)?.only(wanted.project.as_deref())?;
        let pack = tell(&wanted, &located, budget);
        Packed::of(&pack, wanted.max_tokens)
    })
    .await
}

/// An answer that may have to be shortened.
pub(crate) trait Pack: Serialize + Send + 'static {
    /// What stays whole, by its path: half of it would be wrong.
    const KEPT: &'static [&'static str] = &[];
}

/// An answer within its tokens. Its schema is that of the whole one.
pub(crate) struct Packed<R> {
    answer: Value,
    of: PhantomData<fn() -> R>,
}

impl<R: Pack> Packed<R> {
    /// Shortens what is too long. What was left out is named in `left_out`.
    pub(in crate::tools) fn of(pack: &R, max_tokens: usize) -> Result<Self, Failure> {
        let mut answer = serde_json::to_value(pack).map_err(Failure::internal)?;
        let left_out = fit(&mut answer, max_tokens, R::KEPT);
        if let Some(told) = answer["left_out"].as_array_mut() {
            told.extend(left_out.iter().map(LeftOut::text).map(Value::String));
        }
        Ok(Self { answer, of: PhantomData })
    }
}

impl<R> Serialize for Packed<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.answer.serialize(serializer)
    }
}

impl<R: JsonSchema> JsonSchema for Packed<R> {
    fn schema_name() -> Cow<'static, str> {
        R::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        R::json_schema(generator)
    }
}

/// What is wrong with files, for people and models: `file:line what`.
#[derive(Default)]
pub(in crate::tools) struct Told {
    pub(in crate::tools) sentences: Vec<String>,
    /// What of the files these do not repeat, besides what is [found](Located) to be so later.
    texts: Vec<RepositoryText>,
}

impl Told {
    fn add<'a>(&mut self, located: &Located, warnings: impl IntoIterator<Item = &'a Warning>) {
        for Warning { file, line, what, texts } in warnings {
            let file = located.texts.file(file);
            self.sentences.push(match line {
                Some(line) => format!("{file}:{line} {what}"),
                None => format!("{file} {what}"),
            });
            self.texts.extend(texts.iter().cloned().map(RepositoryText::from));
        }
    }

    /// What of the repository these sentences, and `others`, do not repeat.
    pub(in crate::tools) fn repository_text<'s>(
        &'s self,
        texts: &RepositoryTexts,
        others: impl IntoIterator<Item = &'s String>,
    ) -> Vec<RepositoryText> {
        let sentences = self.sentences.iter().chain(others).map(String::as_str);
        let mut all = [left_out_of(texts, sentences), self.texts.clone()].concat();
        all.sort();
        all.dedup();
        all
    }
}

/// All that is wrong with the projects themselves.
pub(in crate::tools) fn damage(located: &Located) -> Told {
    let Projects { list, warnings, .. } = &located.projects;
    let mut told = Told::default();
    told.add(located, warnings.iter().chain(list.iter().flat_map(|project| &project.warnings)));
    told
}

/// The same. And if there are none, what to do.
pub(in crate::tools) fn project_warnings(located: &Located) -> Told {
    let mut told = damage(located);
    if located.projects.list.is_empty() {
        let path = located.tree.path().display().to_string();
        let is_plain = path.split('/').all(|part| part.is_empty() || NameKind::Folder.is_plain(part));
        let place = if is_plain { path.as_str() } else { "this folder" };
        told.sentences
            .push(format!("no FluxLoop project was found in {place}; the tool `integrate` makes one"));
    }
    told
}

/// Commands name projects; those without a plain name are left to be filled in.
pub(in crate::tools) fn unnamed(located: &Located) -> Vec<String> {
    let is_named = |project: &&Project| {
        let folder = project.folder.rsplit('/').next().unwrap_or(&project.folder);
        [folder, project.name.as_str()].into_iter().all(|name| NameKind::Setting.is_plain(name))
    };
    let unnamed = located.projects.list.iter().filter(|project| !is_named(project));
    let sentence = |project: &Project| {
        let folder = located.texts.folder(&project.folder);
        format!("NAME in commands stands for the name of the project in {folder}, which is not repeated here")
    };
    unnamed.map(sentence).collect()
}

/// The name of a project in a sentence.
pub(in crate::tools) fn shown_name(located: &Located, project: &Project) -> String {
    located.texts.name(NameKind::Setting, &project.name, &project.folder, 0).into_owned()
}

/// The projects in short.
pub(in crate::tools) fn overview(located: &Located) -> Vec<Value> {
    let project = |project: &Project| {
        let mut entry = json!({ "name": project.name, "folder": project.folder, "cli": project.line.name() });
        if located.projects.current.as_deref() == Some(&project.folder) {
            entry["current"] = json!(true);
        }
        entry
    };
    located.projects.list.iter().map(project).collect()
}

/// The first of a list. If that is not all, it is told.
pub(in crate::tools) fn first<T>(
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

/// An object with the project's name in it, where there are several to tell apart.
pub(in crate::tools) fn of_project(located: &Located, project: &Project, entry: &impl Serialize) -> Value {
    let mut entry = serde_json::to_value(entry).unwrap_or_default();
    if let Some(entry) = entry.as_object_mut().filter(|_| located.projects.list.len() > 1) {
        entry.insert("project".to_owned(), json!(located.label(&project.folder)));
    }
    entry
}

/// Keeps some keys of an object.
pub(in crate::tools) fn only_keys(value: Value, keys: &[&str]) -> Value {
    match value {
        Value::Object(map) => {
            let kept: Map<_, _> = map.into_iter().filter(|(key, _)| keys.contains(&key.as_str())).collect();
            Value::Object(kept)
        }
        other => other,
    }
}
