//! A single walk over a tree: lists its files, counts their lines, and finds which of them mention a library.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;
use tree::{FileEntry, GlobFilter, LimitHit, Limits, SkippedPath, Tree, Visitor, WorkBudget};

use crate::language::{self, Language};
use crate::manifest::Ecosystem;
use crate::rules::{PROVIDER_HOSTS, RULES, RuleId, find_rule};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanDepth {
    /// Only names; the files needed are read later.
    Names,
    /// Every source file is read once.
    Contents,
}

#[derive(Debug)]
pub(crate) struct FileRecord {
    pub(crate) path: String,
    pub(crate) language: Option<Language>,
    /// The number of lines, if counted.
    pub(crate) lines: Option<u32>,
    /// The libraries it mentions; `None` if it was not read.
    pub(crate) hits: Option<MentionSet>,
}

/// The libraries that a text mentions: one bit per rule. A mention is a reason to parse the file, not
/// evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MentionSet(u128);

impl MentionSet {
    const ENTRY_POINT_BIT: u32 = 127;

    pub(crate) fn mentions(self, rule: RuleId) -> bool {
        self.0 & (1 << rule) != 0
    }

    pub(crate) fn may_contain_entry_point(self) -> bool {
        self.0 & (1 << Self::ENTRY_POINT_BIT) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

pub(crate) struct FileInventory {
    /// Sorted by path.
    pub(crate) files: Vec<FileRecord>,
    pub(crate) file_count: u64,
    pub(crate) directories: u64,
    pub(crate) limits_hit: BTreeSet<LimitHit>,
    pub(crate) skipped: Vec<SkippedPath>,
    pub(crate) skipped_total: u64,
}

impl FileInventory {
    pub(crate) fn scan(
        tree: &Tree,
        reading: ScanDepth,
        globs: &GlobFilter,
        limits: Limits,
        budget: &WorkBudget,
    ) -> Self {
        let walked = tree.walk(limits, budget, || InventoryVisitor {
            scan_depth: reading,
            globs,
            files: Vec::new(),
            bytes: Vec::new(),
        });
        let mut files: Vec<_> = walked.visitors.into_iter().flat_map(|visitor| visitor.files).collect();
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self {
            files,
            file_count: walked.files,
            directories: walked.directories,
            limits_hit: walked.limits_hit,
            skipped: walked.skipped,
            skipped_total: walked.skipped_total,
        }
    }

    pub(crate) fn find(&self, path: &str) -> Option<&FileRecord> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|at| &self.files[at])
    }

    pub(crate) fn contains(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// The files below a folder; all files for the root.
    pub(crate) fn files_beneath(&self, folder: &str) -> &[FileRecord] {
        &self.files[self.range_beneath(folder)]
    }

    fn range_beneath(&self, folder: &str) -> Range<usize> {
        if folder.is_empty() {
            return 0..self.files.len();
        }
        // `/` sorts right before `0`.
        let (first, last) = (format!("{folder}/"), format!("{folder}0"));
        let at = |bound: &str| self.files.partition_point(|file| file.path.as_str() < bound);
        at(&first)..at(&last)
    }
}

struct InventoryVisitor<'a> {
    scan_depth: ScanDepth,
    globs: &'a GlobFilter,
    files: Vec<FileRecord>,
    bytes: Vec<u8>,
}

impl Visitor for InventoryVisitor<'_> {
    fn visit(&mut self, file: &FileEntry<'_>) {
        let language = language::detect_language(file.path).filter(|_| self.globs.matches(file.path));
        let (mut lines, mut hits) = (None, None);
        if let (Some(language), ScanDepth::Contents) = (language, self.scan_depth)
            && !language::is_generated_name(file.path)
            && file.read(&mut self.bytes)
            && !language::is_binary(&self.bytes)
            && !language::is_generated_text(&self.bytes)
        {
            lines = Some(count_lines(&self.bytes));
            hits = Some(find_mentions(&self.bytes, language));
        }
        self.files.push(FileRecord { path: file.path.to_owned(), language, lines, hits });
    }
}

fn count_lines(bytes: &[u8]) -> u32 {
    let ends = memchr::memchr_iter(b'\n', bytes).count();
    let last = usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
    u32::try_from(ends + last).unwrap_or(u32::MAX)
}

/// Imports are at the beginning of a file.
const MAX_MENTION_SCAN_BYTES: usize = 32 * 1024;

pub(crate) fn find_mentions(text: &[u8], language: Language) -> MentionSet {
    let mut hits = 0u128;
    if let Some(needles) = MentionMatcher::for_language(language) {
        for found in needles.automaton.find_overlapping_iter(&text[..text.len().min(MAX_MENTION_SCAN_BYTES)])
        {
            hits |= 1 << needles.rules[found.pattern().as_usize()];
        }
    }
    let starts = match language {
        Language::Python => memmem::find(text, b"__main__").is_some(),
        Language::Go => memmem::find(text, b"func main()").is_some(),
        Language::Java => memmem::find(text, b"static void main(").is_some(),
        Language::Kotlin => memmem::find(text, b"fun main(").is_some(),
        Language::Rust => memmem::find(text, b"fn main()").is_some(),
        _ => false,
    };
    MentionSet(hits | u128::from(starts) << MentionSet::ENTRY_POINT_BIT)
}

/// Searches for the strings that mention libraries of an ecosystem.
struct MentionMatcher {
    automaton: AhoCorasick,
    rules: Vec<RuleId>,
}

/// Built when the first file of an ecosystem is scanned.
static MENTION_MATCHERS: [OnceLock<Option<MentionMatcher>>; Ecosystem::COUNT] =
    [const { OnceLock::new() }; Ecosystem::COUNT];

impl MentionMatcher {
    fn for_language(language: Language) -> Option<&'static Self> {
        let ecosystem = language.ecosystem()?;
        MENTION_MATCHERS.get(ecosystem as usize)?.get_or_init(|| Self::new(ecosystem)).as_ref()
    }

    fn new(ecosystem: Ecosystem) -> Option<Self> {
        let (mut texts, mut rules) = (Vec::new(), Vec::new());
        for (id, rule) in RULES.iter().enumerate().filter(|(_, rule)| rule.ecosystem == ecosystem) {
            let makers = rule
                .constructors
                .iter()
                .filter(|_| searches_constructor_calls(ecosystem))
                .map(ToString::to_string);
            for text in
                rule.modules.iter().flat_map(|module| import_patterns(ecosystem, module)).chain(makers)
            {
                texts.push(text);
                rules.push(id);
            }
        }
        for (host, library) in PROVIDER_HOSTS {
            if let Some(id) = find_rule(ecosystem, library) {
                texts.push((*host).to_owned());
                rules.push(id);
            }
        }
        // Cannot fail for about a hundred short strings; if it did, detection would rely on manifests only.
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(texts).ok()?;
        Some(Self { automaton, rules })
    }
}

/// In ecosystems with implicit imports, search for constructor calls instead.
fn searches_constructor_calls(ecosystem: Ecosystem) -> bool {
    matches!(ecosystem, Ecosystem::Dotnet | Ecosystem::Ruby | Ecosystem::Rust | Ecosystem::Elixir)
}

/// The forms in which a module appears in import statements.
fn import_patterns(ecosystem: Ecosystem, module: &str) -> Vec<String> {
    let module = module.trim_end_matches('*');
    match ecosystem {
        Ecosystem::Python => {
            let mut needles = vec![format!("import {module}"), format!("from {module}")];
            // `from google import adk`
            needles
                .extend(module.rsplit_once('.').map(|(outer, inner)| format!("from {outer} import {inner}")));
            needles
        }
        Ecosystem::Node => ["'", "\""]
            .iter()
            .flat_map(|quote| [format!("{quote}{module}{quote}"), format!("{quote}{module}/")])
            .chain([format!("npm:{module}@"), format!("jsr:{module}@")])
            .collect(),
        Ecosystem::Rust => vec![format!("use {module}"), format!("{module}::")],
        Ecosystem::Ruby => vec![format!("require '{module}"), format!("require \"{module}")],
        Ecosystem::Php => vec![format!("use {module}\\")],
        Ecosystem::Dotnet => vec![format!("using {module}")],
        Ecosystem::Elixir => vec![format!("use {module}.")],
        Ecosystem::Go | Ecosystem::Jvm => vec![module.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(language: Language, text: &str, expected: &[&str]) {
        let hits = find_mentions(text.as_bytes(), language);
        let mut names: Vec<_> = RULES
            .iter()
            .enumerate()
            .filter(|(id, _)| hits.mentions(*id))
            .map(|(_, rule)| rule.name)
            .collect();
        names.extend(hits.may_contain_entry_point().then_some("starts"));
        assert_eq!(names, expected, "{text}");
    }

    #[test]
    fn mentions_are_found_in_every_language() {
        check(Language::Python, "from fastapi import X\nimport openai", &["fastapi", "openai"]);
        check(Language::Python, "# fastapi\nif __name__ == '__main__':", &["starts"]);
        check(Language::TypeScript, "import x from 'next/server'", &["nextjs"]);
        check(Language::JavaScript, "require(\"koa\"); 'koala'", &["koa"]);
        check(Language::Go, "\"github.com/gin-gonic/gin\"\nfunc main() {", &["gin", "starts"]);
        check(Language::CSharp, "var b = WebApplication.CreateBuilder(args);", &["aspnetcore"]);
        check(Language::C, "#include <express>", &[]);
    }

    #[test]
    fn last_line_without_newline_is_counted() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(count_lines(text.as_bytes()), lines, "{text:?}");
        }
    }
}
