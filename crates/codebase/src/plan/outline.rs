//! Positions of statements, functions and imports in a source file, for every language with a parser.

mod python;
mod script;

pub(super) use python::{parse_decorators_only, parse_imports_only, starts_with_definition};

use std::collections::BTreeSet;
use std::ops::Range;

use crate::language::{self, Language};
use crate::manifest::document;
use crate::source::{self, SourceParseError};

#[derive(Debug, Default, Clone)]
pub(crate) struct CodeOutline {
    /// All statements, including nested ones.
    pub(crate) statements: Vec<Range<usize>>,
    /// The functions that can be decorated.
    pub(crate) functions: Vec<OutlineFunction>,
    /// The imports at the top level.
    pub(crate) imports: Vec<OutlineImport>,
    /// Where code may begin: after the shebang, docstring and directives.
    pub(crate) body_start: usize,
    /// Names that the file defines at its top level, without imports.
    pub(crate) top_level_names: BTreeSet<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct OutlineFunction {
    /// `Class.method` for a method.
    pub(crate) name: String,
    /// Including the decorators.
    pub(crate) span: Range<usize>,
    /// Where `def` or `async def` begins.
    pub(crate) def_start: usize,
    /// Dotted names of the decorators.
    pub(crate) decorators: Vec<String>,
}

/// An import statement.
#[derive(Debug, Clone)]
pub(crate) struct OutlineImport {
    pub(crate) span: Range<usize>,
    pub(crate) module: String,
    /// Imported name (`None` for the module itself) and local name.
    pub(crate) names: Vec<(Option<String>, String)>,
    /// Imports with the same number have no other statement between them.
    pub(crate) import_block: usize,
}

impl CodeOutline {
    /// The innermost statement that contains a range.
    pub(crate) fn enclosing_statement(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let holds = |s: &&Range<usize>| s.start <= range.start && range.end <= s.end;
        self.statements.iter().filter(holds).min_by_key(|s| s.end - s.start).cloned()
    }

    /// The innermost function that contains a range, or the first one after it.
    pub(crate) fn enclosing_or_next_function(&self, range: &Range<usize>) -> Option<&OutlineFunction> {
        let holds = |f: &&OutlineFunction| f.span.start <= range.start && range.end <= f.span.end;
        let inner = self.functions.iter().filter(holds).min_by_key(|f| f.span.end - f.span.start);
        let next =
            || self.functions.iter().filter(|f| f.span.start >= range.end).min_by_key(|f| f.span.start);
        inner.or_else(next)
    }

    /// The fully qualified name of a decorator: `fl.agent` is `fluxloop.agent` after `import fluxloop as fl`.
    pub(crate) fn qualified_name(&self, callee: &str) -> String {
        let (first, rest) = callee.split_once('.').map_or((callee, ""), |(first, rest)| (first, rest));
        for import in &self.imports {
            if let Some((name, _)) = import.names.iter().find(|(_, local)| local == first) {
                let parts = [import.module.as_str(), name.as_deref().unwrap_or(""), rest];
                let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                return parts.join(".");
            }
        }
        callee.to_owned()
    }
}

/// Why a file has no outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutlineError {
    pub(crate) line: u32,
    pub(crate) reason: String,
}

/// Parses a file; `None` for languages without a parser. Call it on a thread with a large stack.
pub(crate) fn parse_outline(path: &str, content: &str) -> Result<Option<CodeOutline>, OutlineError> {
    let broken = |reason: &str| Err(OutlineError { line: 1, reason: reason.to_owned() });
    let language = language::detect_language(path);
    if !matches!(language, Some(Language::Python | Language::JavaScript | Language::TypeScript)) {
        return Ok(None);
    }
    match source::check_parse_limits(content) {
        Err(SourceParseError::TooLarge) => return broken("it is too large to parse"),
        Err(_) => return broken("it is nested too deeply to parse"),
        Ok(()) => {}
    }
    let skipped = if content.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let text = &content[skipped..];
    let found = if language == Some(Language::Python) {
        python::parse_outline(text)
    } else {
        script::parse_outline(path, text)
    };
    found.map(|outline| Some(outline.shift_by(skipped)))
}

/// Whether a JSON, TOML or YAML document is well-formed; `None` for other file types.
pub(crate) fn check_well_formed(path: &str, content: &str) -> Option<Result<(), OutlineError>> {
    let text = content.strip_prefix('\u{feff}').unwrap_or(content);
    let parsed = match path.rsplit('.').next().unwrap_or_default() {
        "json" | "jsonc" => document::parse_json(text),
        "toml" => document::parse_toml(text),
        "yaml" | "yml" => document::parse_yaml(text),
        _ => return None,
    };
    Some(parsed.map(drop).map_err(|broken| OutlineError { line: broken.line, reason: broken.reason }))
}

impl CodeOutline {
    fn shift_by(mut self, by: usize) -> Self {
        let shift = |range: &mut Range<usize>| *range = range.start + by..range.end + by;
        self.statements.iter_mut().for_each(shift);
        self.imports.iter_mut().for_each(|import| shift(&mut import.span));
        for function in &mut self.functions {
            shift(&mut function.span);
            function.def_start += by;
        }
        self.body_start += by;
        self
    }
}

fn next_line_start(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}
