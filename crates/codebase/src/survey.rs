//! One walk over a tree: which files there are, how long they are, and which of them mention a library.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem;
use tree::{Budget, Cut, FileEntry, Globs, Limits, Skipped, Tree, Visitor};

use crate::language::{self, Language};
use crate::manifest::Ecosystem;
use crate::rules::{RULES, RuleId};

/// How much of a tree is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Names alone; what is needed is read afterwards.
    Names,
    /// Every source file, once.
    Contents,
}

/// A file.
#[derive(Debug)]
pub(crate) struct FileFact {
    pub(crate) path: String,
    pub(crate) language: Option<Language>,
    /// Its lines, if they are counted.
    pub(crate) lines: Option<u32>,
    /// What it mentions; nothing is known if it was not read.
    pub(crate) hits: Option<Hits>,
}

/// Which libraries a text mentions: a bit for each rule. A mention is a reason to look closer, not yet evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hits(u128);

impl Hits {
    const STARTS: u32 = 127;

    pub(crate) fn mentions(self, rule: RuleId) -> bool {
        self.0 & (1 << rule) != 0
    }

    /// Whether the text may hold the place where a program starts.
    pub(crate) fn starts(self) -> bool {
        self.0 & (1 << Self::STARTS) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What a walk found.
pub(crate) struct Survey {
    /// Sorted by path.
    pub(crate) files: Vec<FileFact>,
    pub(crate) seen: u64,
    pub(crate) directories: u64,
    pub(crate) cuts: BTreeSet<Cut>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) skipped_in_all: u64,
}

impl Survey {
    pub(crate) fn of(tree: &Tree, reading: Reading, globs: &Globs, limits: Limits, budget: &Budget) -> Self {
        let walked =
            tree.walk(limits, budget, || Surveyor { reading, globs, files: Vec::new(), bytes: Vec::new() });
        let mut files: Vec<_> = walked.visitors.into_iter().flat_map(|visitor| visitor.files).collect();
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self {
            files,
            seen: walked.files,
            directories: walked.directories,
            cuts: walked.cuts,
            skipped: walked.skipped,
            skipped_in_all: walked.skipped_in_all,
        }
    }

    pub(crate) fn find(&self, path: &str) -> Option<&FileFact> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|at| &self.files[at])
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    /// The files beneath a folder; all of them for the root.
    pub(crate) fn beneath(&self, folder: &str) -> &[FileFact] {
        &self.files[self.range(folder)]
    }

    fn range(&self, folder: &str) -> Range<usize> {
        if folder.is_empty() {
            return 0..self.files.len();
        }
        // `/` sorts right before `0`.
        let (first, last) = (format!("{folder}/"), format!("{folder}0"));
        let at = |bound: &str| self.files.partition_point(|file| file.path.as_str() < bound);
        at(&first)..at(&last)
    }
}

struct Surveyor<'a> {
    reading: Reading,
    globs: &'a Globs,
    files: Vec<FileFact>,
    bytes: Vec<u8>,
}

impl Visitor for Surveyor<'_> {
    fn visit(&mut self, file: &FileEntry<'_>) {
        let language = language::of(file.path).filter(|_| self.globs.matches(file.path));
        let (mut lines, mut hits) = (None, None);
        if let (Some(language), Reading::Contents) = (language, self.reading)
            && !language::is_generated_name(file.path)
            && file.read(&mut self.bytes)
            && !language::is_binary(&self.bytes)
            && !language::is_generated_text(&self.bytes)
        {
            lines = Some(count_lines(&self.bytes));
            hits = Some(mentions(&self.bytes, language));
        }
        self.files.push(FileFact { path: file.path.to_owned(), language, lines, hits });
    }
}

fn count_lines(bytes: &[u8]) -> u32 {
    let ends = memchr::memchr_iter(b'\n', bytes).count();
    let last = usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
    u32::try_from(ends + last).unwrap_or(u32::MAX)
}

/// Imports stand at the beginning of a file.
const HEAD: usize = 32 * 1024;

/// What a text mentions.
pub(crate) fn mentions(text: &[u8], language: Language) -> Hits {
    let mut hits = 0u128;
    if let Some(needles) = Needles::of(language) {
        for found in needles.automaton.find_overlapping_iter(&text[..text.len().min(HEAD)]) {
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
    Hits(hits | u128::from(starts) << Hits::STARTS)
}

/// The texts by which the libraries of an ecosystem are mentioned.
struct Needles {
    automaton: AhoCorasick,
    rules: Vec<RuleId>,
}

/// Made when the first file of an ecosystem is seen.
static NEEDLES: [OnceLock<Option<Needles>>; Ecosystem::COUNT] = [const { OnceLock::new() }; Ecosystem::COUNT];

impl Needles {
    fn of(language: Language) -> Option<&'static Self> {
        let ecosystem = language.ecosystem()?;
        NEEDLES.get(ecosystem as usize)?.get_or_init(|| Self::new(ecosystem)).as_ref()
    }

    fn new(ecosystem: Ecosystem) -> Option<Self> {
        let (mut texts, mut rules) = (Vec::new(), Vec::new());
        for (id, rule) in RULES.iter().enumerate().filter(|(_, rule)| rule.ecosystem == ecosystem) {
            let makers = rule.makers.iter().filter(|_| needs_maker(ecosystem)).map(ToString::to_string);
            for text in rule.modules.iter().flat_map(|module| needles(ecosystem, module)).chain(makers) {
                texts.push(text);
                rules.push(id);
            }
        }
        // It cannot fail for a hundred short texts; if it did, nothing would be mentioned and manifests would speak alone.
        let automaton = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(texts).ok()?;
        Some(Self { automaton, rules })
    }
}

/// Where imports are often implied, the calls have to do.
fn needs_maker(ecosystem: Ecosystem) -> bool {
    matches!(ecosystem, Ecosystem::Dotnet | Ecosystem::Ruby | Ecosystem::Rust | Ecosystem::Elixir)
}

/// How a module is written where it is imported.
fn needles(ecosystem: Ecosystem, module: &str) -> Vec<String> {
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
        let hits = mentions(text.as_bytes(), language);
        let mut names: Vec<_> = RULES
            .iter()
            .enumerate()
            .filter(|(id, _)| hits.mentions(*id))
            .map(|(_, rule)| rule.name)
            .collect();
        names.extend(hits.starts().then_some("starts"));
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
    fn lines_are_counted_as_people_do() {
        for (text, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(count_lines(text.as_bytes()), lines, "{text:?}");
        }
    }
}
