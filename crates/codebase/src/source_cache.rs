//! Parses selected files on several threads and finds which libraries they actually import and use.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tree::{ReadError, SkipReason, SkippedPath, Tree, WorkBudget};

use crate::inventory::{FileInventory, find_mentions};
use crate::language::Language;
use crate::line_scan;
use crate::lock_files;
use crate::manifest::{Ecosystem, file_name, join_path, parent_folder};
use crate::name_redaction::{NameKind, NameRedactor};
use crate::project::ProjectSet;
use crate::rules::{self, RULES, RuleId};
use crate::source::{self, ParsedSource, SourceImport};

/// The analysis of one file.
#[derive(Debug, Default)]
pub(crate) struct AnalyzedFile {
    /// Imported libraries.
    pub(crate) imports: Vec<LibraryUse>,
    /// Calls that create a library's central object.
    pub(crate) constructions: Vec<LibraryUse>,
    /// The line of its `main`.
    pub(crate) main_line: Option<u32>,
    /// The source facts, if it was parsed.
    pub(crate) source: Option<ParsedSource>,
}

#[derive(Debug)]
pub(crate) struct LibraryUse {
    pub(crate) rule: RuleId,
    pub(crate) line: u32,
    pub(crate) text: String,
    /// Runs when the file is loaded, not when a function is called.
    pub(crate) at_top_level: bool,
    /// Runs in a method, which is typical for a library and not for a program.
    pub(crate) in_method: bool,
}

pub(crate) struct SourceCache<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) inventory: &'a FileInventory,
    pub(crate) projects: &'a ProjectSet,
    budget: &'a WorkBudget,
    files: BTreeMap<String, AnalyzedFile>,
    /// The total number of facts kept.
    fact_count: usize,
    /// What was omitted because of limits, as sentences.
    pub(crate) omissions: BTreeSet<String>,
    /// Cached lock file lookups. A workspace of 500 packages shares one lock file.
    lock_files: Mutex<LockFileCache>,
    /// Files that the walk listed but that can no longer be read.
    unreadable: Mutex<BTreeSet<String>>,
    pub(crate) redactor: NameRedactor,
}

/// A version and its line; `None` if the package is not locked.
type LockedVersion = Option<(String, u32)>;

/// The text of the last lock file, and all lookup results.
#[derive(Default)]
struct LockFileCache {
    path: String,
    text: String,
    versions: BTreeMap<(String, String, String), LockedVersion>,
}

const MAX_ANALYZED_FILES: usize = 4000;
/// Limit on functions and calls kept, across all files.
const MAX_FACTS: usize = 400_000;
const MAX_LOCK_FILE_BYTES: u64 = 16 << 20;

impl<'a> SourceCache<'a> {
    pub(crate) fn new(
        tree: &'a Tree,
        inventory: &'a FileInventory,
        projects: &'a ProjectSet,
        budget: &'a WorkBudget,
    ) -> Self {
        Self {
            tree,
            inventory,
            projects,
            budget,
            files: BTreeMap::new(),
            lock_files: Mutex::default(),
            fact_count: 0,
            omissions: BTreeSet::new(),
            unreadable: Mutex::default(),
            redactor: NameRedactor::default(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&AnalyzedFile> {
        self.files.get(path)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &AnalyzedFile)> {
        self.files.iter().map(|(path, seen)| (path.as_str(), seen))
    }

    /// Reads a file. A failure is recorded, so that an incomplete analysis is reported as such.
    pub(crate) fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
        let read = self.tree.read(path, limit);
        if let Err(ReadError::Io(_)) = &read {
            self.unreadable.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        }
        read.ok()
    }

    /// Everything that was skipped, by the walk or later.
    pub(crate) fn skipped(&self) -> Vec<SkippedPath> {
        let unread = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        let since =
            unread.iter().map(|path| SkippedPath { path: path.clone(), reason: SkipReason::Unreadable });
        let all: BTreeSet<SkippedPath> = self.inventory.skipped.iter().cloned().chain(since).collect();
        all.into_iter().collect()
    }

    /// The version of a package for the project in `folder` according to the lock file at `path`, and its
    /// line.
    pub(crate) fn locked_version(&self, path: &str, folder: &str, package: &str) -> LockedVersion {
        let member = folder.strip_prefix(parent_folder(path)).unwrap_or(folder).trim_matches('/');
        let member = if lock_files::has_member_versions(file_name(path)) { member } else { "" };
        let key = (path.to_owned(), member.to_owned(), package.to_owned());
        let mut locks = self.lock_files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locks.versions.get(&key) {
            return known.clone();
        }
        if locks.path != path {
            let text = self.read(path, MAX_LOCK_FILE_BYTES).unwrap_or_default();
            (locks.path, locks.text) = (path.to_owned(), String::from_utf8_lossy(&text).into_owned());
        }
        let version = lock_files::find_locked_version(file_name(path), &locks.text, member, package);
        locks.versions.insert(key, version.clone());
        version
    }

    /// Parses these files, except those already loaded.
    pub(crate) fn load_files(&mut self, mut paths: Vec<&str>) {
        paths.sort_unstable();
        paths.dedup();
        paths.retain(|path| !self.files.contains_key(*path));
        let room = MAX_ANALYZED_FILES.saturating_sub(self.files.len());
        if paths.len() > room || self.fact_count > MAX_FACTS {
            self.omissions.insert(format!("only {} files were analysed in detail", self.files.len() + room));
            paths.truncate(if self.fact_count > MAX_FACTS { 0 } else { room });
        }
        let found: Mutex<Vec<(String, AnalyzedFile)>> = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let work = || {
            let mut own = Vec::new();
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.is_out_of_budget() {
                    break;
                }
                own.push(((*path).to_owned(), self.analyze_file(path)));
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(8).min(paths.len() / 8);
        thread::scope(|scope| {
            for _ in 0..threads.saturating_sub(1) {
                // Parsers need a large stack. If no such thread can be started, this thread does all the
                // work.
                let _ =
                    thread::Builder::new().stack_size(source::PARSER_STACK_BYTES).spawn_scoped(scope, work);
            }
            work();
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.fact_count += found
            .iter()
            .map(|(_, seen)| seen.source.as_ref().map_or(0, ParsedSource::fact_count))
            .sum::<usize>();
        self.files.extend(found);
    }

    /// Whether the deadline has passed or the work was cancelled.
    pub(crate) fn is_out_of_budget(&self) -> bool {
        self.budget.is_expired() || self.budget.is_cancelled()
    }

    pub(crate) fn budget(&self) -> &'a WorkBudget {
        self.budget
    }

    fn analyze_file(&self, path: &str) -> AnalyzedFile {
        let Some((file, language)) = self.inventory.find(path).and_then(|file| Some((file, file.language?)))
        else {
            return AnalyzedFile::default();
        };
        let Some(bytes) = self.read(path, source::MAX_SOURCE_BYTES as u64) else {
            return AnalyzedFile::default();
        };
        let text = String::from_utf8_lossy(&bytes);
        // A file selected only by its name is parsed only if it mentions a library.
        let is_known = file.hits.is_some() && language.has_parser();
        if !is_known && find_mentions(&bytes, language).is_empty() {
            return AnalyzedFile::default();
        }
        if !language.has_parser() {
            return line_scan::scan_lines(&text, language);
        }
        // A panic in a parser skips one file instead of aborting the analysis.
        match catch_unwind(AssertUnwindSafe(|| source::parse(path, &text, language))) {
            Ok(Ok(source)) => self.find_library_uses(path, language, source),
            Ok(Err(_)) | Err(_) => AnalyzedFile::default(),
        }
    }

    /// Finds the library imports and the library objects that a file creates.
    fn find_library_uses(&self, path: &str, language: Language, source: ParsedSource) -> AnalyzedFile {
        let mut seen = AnalyzedFile { main_line: source.main_guard, ..AnalyzedFile::default() };
        let Some(ecosystem) = language.ecosystem() else { return seen };
        for import in &source.imports {
            if let Some(rule) = self.library_of_import(path, ecosystem, import) {
                let module = self.redactor.name(NameKind::Module, &import.module, path, import.line);
                let what = format!("imports {module}");
                seen.imports.push(LibraryUse {
                    rule,
                    line: import.line,
                    text: what,
                    at_top_level: true,
                    in_method: false,
                });
            }
        }
        for call in &source.calls {
            let Some((rule, name)) = self.resolve_library_name(path, ecosystem, &source, &call.callee) else {
                continue;
            };
            let makers = RULES[rule].constructors;
            let made = if name.is_empty() || name == "default" {
                // `import express from "express"; express()`
                makers.first().copied()
            } else {
                makers.iter().find(|maker| **maker == name).copied()
            };
            if made.is_some() {
                let at_top = call.within.is_none();
                let in_method = call.within.is_some_and(|at| source.functions[at].owner.is_some());
                seen.constructions.push(LibraryUse {
                    rule,
                    line: call.line,
                    text: call.callee.clone(),
                    at_top_level: at_top,
                    in_method,
                });
            }
        }
        seen.source = Some(source);
        seen
    }

    /// The library that an import refers to.
    pub(crate) fn library_of_import(
        &self,
        path: &str,
        ecosystem: Ecosystem,
        import: &SourceImport,
    ) -> Option<RuleId> {
        if ecosystem == Ecosystem::Python
            && (import.module.starts_with('.') || self.is_local(path, &import.module))
        {
            return None;
        }
        let longer = import.name.as_ref().map(|name| format!("{}.{name}", import.module));
        let longer = longer.filter(|_| ecosystem == Ecosystem::Python);
        longer
            .and_then(|module| rules::find_rule_for_module(ecosystem, &module))
            .or_else(|| rules::find_rule_for_module(ecosystem, &import.module))
    }

    /// Whether a Python module of this name is part of the tree: `agents` may be a local folder.
    fn is_local(&self, path: &str, module: &str) -> bool {
        let top = module.split('.').next().unwrap_or(module);
        let project =
            self.projects.innermost_project(path).map_or("", |at| self.projects.all[at].folder.as_str());
        let src = join_path(project, "src");
        let folders = [parent_folder(path), project, src.as_str(), ""];
        folders.iter().any(|folder| {
            // `groq.py` that imports `groq` means the library: a file does not import itself.
            if join_path(folder, &format!("{top}.py")) == path {
                return false;
            }
            let beneath = self.inventory.files_beneath(&join_path(folder, top));
            self.inventory.contains(&join_path(folder, &format!("{top}.py")))
                || beneath.iter().take(100).any(|file| file.language == Some(Language::Python))
        })
    }

    /// Resolves a dotted name to a library and the name in it.
    pub(crate) fn resolve_library_name<'s>(
        &self,
        path: &str,
        ecosystem: Ecosystem,
        source: &'s ParsedSource,
        callee: &'s str,
    ) -> Option<(RuleId, String)> {
        // The longest matching import: `import a.b` matches all of `a.b`.
        let fits = |import: &&SourceImport| {
            !import.local.is_empty()
                && callee
                    .strip_prefix(import.local.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '(']))
        };
        let named = source.imports.iter().filter(fits).max_by_key(|import| import.local.len());
        // `from flask import *`
        let Some(import) = named else {
            let mut whole = source.imports.iter().filter(|import| import.local == "*");
            let name = callee.split(['.', '(']).next().unwrap_or(callee);
            return whole.find_map(|import| {
                let rule = self.library_of_import(path, ecosystem, import)?;
                RULES[rule].constructors.contains(&name).then(|| (rule, callee.to_owned()))
            });
        };
        let rule = self.library_of_import(path, ecosystem, import)?;
        let rest = callee[import.local.len()..].trim_start_matches("()").trim_start_matches('.');
        let name = match (&import.name, rest.is_empty()) {
            (Some(name), true) => name.clone(),
            (Some(name), false) if name != "default" => format!("{name}.{rest}"),
            _ => rest.to_owned(),
        };
        Some((rule, name))
    }
}
