//! A closer look at chosen files, on several threads: which libraries they really import and make something of.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tree::{Budget, ReadError, Reason, Skipped, Tree};

use crate::language::Language;
use crate::lock;
use crate::manifest::{Ecosystem, folder_of, join, name_of};
use crate::plain;
use crate::project::Projects;
use crate::repository_text::{NameKind, RepositoryTexts};
use crate::rules::{self, RULES, RuleId};
use crate::source::{self, Import, Source};
use crate::survey::{Survey, mentions};

/// What a file turned out to say.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Libraries it imports, the line, and the words there.
    pub(crate) imports: Vec<Mention>,
    /// Calls that make a library's central object.
    pub(crate) makers: Vec<Mention>,
    /// Where its `main` is.
    pub(crate) main: Option<u32>,
    /// Its syntax, if it was parsed.
    pub(crate) source: Option<Source>,
}

#[derive(Debug)]
pub(crate) struct Mention {
    pub(crate) rule: RuleId,
    pub(crate) line: u32,
    pub(crate) what: String,
    /// It is done when the file is loaded, not when a function is called.
    pub(crate) at_top: bool,
    /// It is done by a method: a library's way rather than a program's.
    pub(crate) in_method: bool,
}

/// Files that have been looked at.
pub(crate) struct Looks<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) survey: &'a Survey,
    pub(crate) projects: &'a Projects,
    budget: &'a Budget,
    seen: BTreeMap<String, Seen>,
    /// How much the sources that are kept amount to.
    facts: usize,
    /// What was left out because there was too much of it, in words.
    pub(crate) left_out: BTreeSet<String>,
    /// Versions that lock files were asked for. A workspace of five hundred packages has one lock file.
    locked: Mutex<Locks>,
    /// Files that were there a moment ago, and cannot be read now.
    unread: Mutex<BTreeSet<String>>,
    /// Puts names into sentences.
    pub(crate) texts: RepositoryTexts,
}

/// A version and its line, or that there is none.
type Locked = Option<(String, u32)>;

/// What is known of lock files: the text of the last one, and all answers.
#[derive(Default)]
struct Locks {
    path: String,
    text: String,
    versions: BTreeMap<(String, String, String), Locked>,
}

/// The most files that are looked at closely.
const MOST: usize = 4000;
/// The most functions and calls that are kept, of all files.
const MOST_FACTS: usize = 400_000;
/// The largest lock file that is read.
const LOCK_BYTES: u64 = 16 << 20;

impl<'a> Looks<'a> {
    pub(crate) fn new(
        tree: &'a Tree,
        survey: &'a Survey,
        projects: &'a Projects,
        budget: &'a Budget,
    ) -> Self {
        Self {
            tree,
            survey,
            projects,
            budget,
            seen: BTreeMap::new(),
            locked: Mutex::default(),
            facts: 0,
            left_out: BTreeSet::new(),
            unread: Mutex::default(),
            texts: RepositoryTexts::default(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Seen> {
        self.seen.get(path)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Seen)> {
        self.seen.iter().map(|(path, seen)| (path.as_str(), seen))
    }

    /// Reads a file, and remembers that it could not: an analysis that has lost one does not pass for a whole one.
    pub(crate) fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
        let read = self.tree.read(path, limit);
        if let Err(ReadError::Io(_)) = &read {
            self.unread.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        }
        read.ok()
    }

    /// Everything that was skipped, by the survey or since.
    pub(crate) fn skipped(&self) -> Vec<Skipped> {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        let since = unread.iter().map(|path| Skipped { path: path.clone(), reason: Reason::Unreadable });
        let all: BTreeSet<Skipped> = self.survey.skipped.iter().cloned().chain(since).collect();
        all.into_iter().collect()
    }

    /// The version of a package in the lock file at `path`, as the project in `folder` gets it, and its line.
    pub(crate) fn locked(&self, path: &str, folder: &str, package: &str) -> Locked {
        let member = folder.strip_prefix(folder_of(path)).unwrap_or(folder).trim_matches('/');
        let member = if lock::knows_members(name_of(path)) { member } else { "" };
        let key = (path.to_owned(), member.to_owned(), package.to_owned());
        let mut locks = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locks.versions.get(&key) {
            return known.clone();
        }
        if locks.path != path {
            let text = self.read(path, LOCK_BYTES).unwrap_or_default();
            (locks.path, locks.text) = (path.to_owned(), String::from_utf8_lossy(&text).into_owned());
        }
        let version = lock::version(name_of(path), &locks.text, member, package);
        locks.versions.insert(key, version.clone());
        version
    }

    /// Looks at these files, those already seen left out.
    pub(crate) fn at(&mut self, mut paths: Vec<&str>) {
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| !self.seen.contains_key(*path));
        let room = MOST.saturating_sub(self.seen.len());
        if paths.len() > room || self.facts > MOST_FACTS {
            self.left_out
                .insert(format!("{} files were looked at closely, others were not", self.seen.len() + room));
            paths.truncate(if self.facts > MOST_FACTS { 0 } else { room });
        }
        let found: Mutex<Vec<(String, Seen)>> = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut own = Vec::new();
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.is_over() {
                    break;
                }
                own.push(((*path).to_owned(), self.look(path)));
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(8).min(paths.len() / 8);
        thread::scope(|scope| {
            for _ in 0..threads.saturating_sub(1) {
                // Parsers need a large stack. Where none is to be had, this thread does it all.
                let _ = thread::Builder::new().stack_size(source::STACK).spawn_scoped(scope, work);
            }
            work();
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.facts +=
            found.iter().map(|(_, seen)| seen.source.as_ref().map_or(0, Source::size)).sum::<usize>();
        self.seen.extend(found);
    }

    /// Whether the time is up or nobody waits any more.
    pub(crate) fn is_over(&self) -> bool {
        self.budget.is_over() || self.budget.is_stopped()
    }

    pub(crate) fn budget(&self) -> &'a Budget {
        self.budget
    }

    fn look(&self, path: &str) -> Seen {
        let Some((file, language)) = self.survey.find(path).and_then(|file| Some((file, file.language?)))
        else {
            return Seen::default();
        };
        let Some(bytes) = self.read(path, source::LARGEST as u64) else { return Seen::default() };
        let text = String::from_utf8_lossy(&bytes);
        // A file that was chosen by its name alone is parsed only if it mentions something.
        let is_known = file.hits.is_some() && language.has_parser();
        if !is_known && mentions(&bytes, language).is_empty() {
            return Seen::default();
        }
        if !language.has_parser() {
            return plain::look(&text, language);
        }
        // A parser that panics costs one file, not the analysis.
        match catch_unwind(AssertUnwindSafe(|| source::parse(path, &text, language))) {
            Ok(Ok(source)) => self.judge(path, language, source),
            Ok(Err(_)) | Err(_) => Seen::default(),
        }
    }

    /// Which of its imports are libraries, and what it makes of them.
    fn judge(&self, path: &str, language: Language, source: Source) -> Seen {
        let mut seen = Seen { main: source.main_guard, ..Seen::default() };
        let Some(ecosystem) = language.ecosystem() else { return seen };
        for import in &source.imports {
            if let Some(rule) = self.library(path, ecosystem, import) {
                let module = self.texts.name(NameKind::Module, &import.module, path, import.line);
                let what = format!("imports {module}");
                seen.imports.push(Mention { rule, line: import.line, what, at_top: true, in_method: false });
            }
        }
        for call in &source.calls {
            let Some((rule, name)) = self.resolve(path, ecosystem, &source, &call.callee) else { continue };
            let makers = RULES[rule].makers;
            let made = if name.is_empty() || name == "default" {
                // `import express from "express"; express()`
                makers.first().copied()
            } else {
                makers.iter().find(|maker| **maker == name).copied()
            };
            if made.is_some() {
                let at_top = call.within.is_none();
                let in_method = call.within.is_some_and(|at| source.functions[at].owner.is_some());
                seen.makers.push(Mention {
                    rule,
                    line: call.line,
                    what: call.callee.clone(),
                    at_top,
                    in_method,
                });
            }
        }
        seen.source = Some(source);
        seen
    }

    /// The library that an import takes something from.
    pub(crate) fn library(&self, path: &str, ecosystem: Ecosystem, import: &Import) -> Option<RuleId> {
        if ecosystem == Ecosystem::Python
            && (import.module.starts_with('.') || self.is_local(path, &import.module))
        {
            return None;
        }
        let longer = import.name.as_ref().map(|name| format!("{}.{name}", import.module));
        let longer = longer.filter(|_| ecosystem == Ecosystem::Python);
        longer
            .and_then(|module| rules::of_module(ecosystem, &module))
            .or_else(|| rules::of_module(ecosystem, &import.module))
    }

    /// Whether a Python module of this name lies in the tree: `agents` may be a folder of one's own.
    fn is_local(&self, path: &str, module: &str) -> bool {
        let top = module.split('.').next().unwrap_or(module);
        let project = self.projects.of(path).map_or("", |at| self.projects.all[at].folder.as_str());
        let src = join(project, "src");
        let folders = [folder_of(path), project, src.as_str(), ""];
        folders.iter().any(|folder| {
            let beneath = self.survey.beneath(&join(folder, top));
            self.survey.has(&join(folder, &format!("{top}.py")))
                || beneath.iter().take(100).any(|file| file.language == Some(Language::Python))
        })
    }

    /// What a dotted name stands for, if it comes from a library: the library, and the name in it.
    pub(crate) fn resolve<'s>(
        &self,
        path: &str,
        ecosystem: Ecosystem,
        source: &'s Source,
        callee: &'s str,
    ) -> Option<(RuleId, String)> {
        // The longest name that is imported: `import a.b` binds all of it.
        let fits = |import: &&Import| {
            !import.local.is_empty()
                && callee
                    .strip_prefix(import.local.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '(']))
        };
        let import = source.imports.iter().filter(fits).max_by_key(|import| import.local.len())?;
        let rule = self.library(path, ecosystem, import)?;
        let rest = callee[import.local.len()..].trim_start_matches("()").trim_start_matches('.');
        let name = match (&import.name, rest.is_empty()) {
            (Some(name), true) => name.clone(),
            (Some(name), false) if name != "default" => format!("{name}.{rest}"),
            _ => rest.to_owned(),
        };
        Some((rule, name))
    }
}
