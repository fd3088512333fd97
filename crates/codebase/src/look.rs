//! A closer look at chosen files, on several threads: which libraries they really import and make something of.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tree::{Budget, Tree};

use crate::language::Language;
use crate::lock;
use crate::manifest::{Ecosystem, folder_of, join, name_of};
use crate::plain;
use crate::project::Projects;
use crate::rules::{self, RULES, RuleId};
use crate::source::{self, Import, Source};
use crate::survey::{Survey, ecosystem_of, mentions};

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
    /// Versions that lock files were asked for. A workspace of five hundred packages has one lock file.
    locked: Mutex<BTreeMap<(String, String), Locked>>,
}

/// A version and its line, or that there is none.
type Locked = Option<(String, u32)>;

/// The most files that are looked at closely.
const MOST: usize = 4000;
/// The largest lock file that is read.
const LOCK_BYTES: u64 = 16 << 20;

impl<'a> Looks<'a> {
    pub(crate) fn new(
        tree: &'a Tree,
        survey: &'a Survey,
        projects: &'a Projects,
        budget: &'a Budget,
    ) -> Self {
        Self { tree, survey, projects, budget, seen: BTreeMap::new(), locked: Mutex::default() }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Seen> {
        self.seen.get(path)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Seen)> {
        self.seen.iter().map(|(path, seen)| (path.as_str(), seen))
    }

    /// The version of a package in the lock file at `path`, and its line.
    pub(crate) fn locked(&self, path: &str, package: &str) -> Locked {
        let key = (path.to_owned(), package.to_owned());
        let mut known = self.locked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let find = || {
            let text = self.tree.read(path, LOCK_BYTES).ok()?;
            lock::version(name_of(path), &String::from_utf8_lossy(&text), package)
        };
        known.entry(key).or_insert_with(find).clone()
    }

    /// Looks at these files, those already seen left out.
    pub(crate) fn at(&mut self, mut paths: Vec<&str>) {
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| !self.seen.contains_key(*path));
        paths.truncate(MOST.saturating_sub(self.seen.len()));
        let found: Mutex<Vec<(String, Seen)>> = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut own = Vec::new();
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.budget.is_stopped() || self.budget.is_over() {
                    break;
                }
                own.push(((*path).to_owned(), self.look(path)));
            }
            found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut own);
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(8).min(paths.len() / 8);
        thread::scope(|scope| {
            for _ in 0..threads.saturating_sub(1) {
                // Parsers need a large stack. Where none is to be had, this thread does it all.
                let _ = thread::Builder::new().stack_size(source::STACK).spawn_scoped(scope, work);
            }
            work();
        });
        self.seen.extend(found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    fn look(&self, path: &str) -> Seen {
        let Some((file, language)) = self.survey.find(path).and_then(|file| Some((file, file.language?)))
        else {
            return Seen::default();
        };
        let Ok(bytes) = self.tree.read(path, source::LARGEST as u64) else { return Seen::default() };
        let text = String::from_utf8_lossy(&bytes);
        // A file that was chosen by its name alone is parsed only if it mentions something.
        let is_known = file.hits.is_some() && language.has_parser();
        if !is_known && mentions(&bytes, language).is_empty() {
            return Seen::default();
        }
        if !language.has_parser() {
            return plain::look(&text, language);
        }
        source::parse(path, &text, language)
            .map(|source| self.judge(path, language, source))
            .unwrap_or_default()
    }

    /// Which of its imports are libraries, and what it makes of them.
    fn judge(&self, path: &str, language: Language, source: Source) -> Seen {
        let mut seen = Seen { main: source.main_guard, ..Seen::default() };
        let Some(ecosystem) = ecosystem_of(language) else { return seen };
        for import in &source.imports {
            if let Some(rule) = self.library(path, ecosystem, import) {
                let what = format!("imports {}", import.module);
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
            self.survey.has(&join(folder, &format!("{top}.py")))
                || self.survey.has(&join(folder, &format!("{top}/__init__.py")))
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
