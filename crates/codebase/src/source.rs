//! What a source file says, read through its syntax tree: the same facts for every language that has a parser here.

mod line_index;
mod python;
mod script;

pub(crate) use line_index::SourceLineIndex;
pub(crate) use python::dotted_name;
pub(crate) use script::source_type;

use crate::language::Language;

/// The facts of one file.
#[derive(Debug, Default)]
pub(crate) struct ParsedSource {
    /// What it imports.
    pub imports: Vec<SourceImport>,
    /// Its functions and methods, nested and nameless ones too.
    pub functions: Vec<SourceFunction>,
    /// Its classes, interfaces and object types.
    pub classes: Vec<SourceClass>,
    /// Every call, in the order of the text.
    pub calls: Vec<CallSite>,
    /// Names that are given the result of a call.
    pub bindings: Vec<CallBinding>,
    /// The line of `if __name__ == "__main__"`.
    pub main_guard: Option<u32>,
    /// The line of the first top-level statement that does nothing but run something: `crew.kickoff()`.
    pub first_run_line: Option<u32>,
    /// What stands behind `export default`, if it has a name.
    pub default_export: Option<String>,
    /// Top-level names that other files can import.
    pub exports: Vec<String>,
}

impl ParsedSource {
    /// A function reads or writes this field of a request or an answer.
    fn add_field(
        &mut self,
        function: Option<usize>,
        field: &str,
        choose: fn(&mut SourceFunction) -> &mut Vec<String>,
    ) {
        let Some(function) = function.and_then(|at| self.functions.get_mut(at)) else { return };
        let fields = choose(function);
        if !fields.iter().any(|known| known == field) {
            fields.push(field.to_owned());
        }
    }

    /// How much there is in it.
    pub(crate) fn fact_count(&self) -> usize {
        self.calls.len()
            + self.functions.len()
            + self.bindings.len()
            + self.imports.len()
            + self.classes.len()
    }
}

/// `from module import name as local`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceImport {
    /// The module, as written; a Python relative import keeps its dots.
    pub module: String,
    /// What is taken from it; `None` for the module itself, `default` for a default export.
    pub name: Option<String>,
    /// What it is called here.
    pub local: String,
    /// Where.
    pub line: u32,
}

/// A function or method.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceFunction {
    /// Its name; empty for one that is written where it is used.
    pub name: String,
    /// The class it belongs to.
    pub owner: Option<String>,
    /// The function around it.
    pub outer: Option<usize>,
    /// The line of its name.
    pub line: u32,
    /// `async`.
    pub is_async: bool,
    /// It yields.
    pub is_generator: bool,
    /// What it takes, without `self`.
    pub parameters: Vec<SourceParameter>,
    /// The type it says to return.
    pub returns: Option<String>,
    /// Its decorators.
    pub decorators: Vec<CallSite>,
    /// Fields of a request that it reads.
    pub request_fields: Vec<String>,
    /// Fields of the answers that it writes.
    pub response_fields: Vec<String>,
}

/// One parameter.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct SourceParameter {
    /// Its name; a pattern is written out.
    pub name: String,
    /// Its type, as written.
    pub annotation: Option<String>,
    /// It may be left out.
    pub optional: bool,
    /// How it can be given.
    pub kind: ParameterKind,
    /// A framework fills it in: `= Depends(get_user)`.
    pub injected: bool,
}

/// How an argument can be given.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// By place and by name.
    #[default]
    PositionalOrKeyword,
    /// By its place alone: before `/`.
    PositionalOnly,
    /// By its name alone: after `*`.
    KeywordOnly,
}

/// `a.b.c(…)`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CallSite {
    /// `a.b.c`; a call within is written `a().b`.
    pub callee: String,
    /// Where.
    pub line: u32,
    /// Its arguments.
    pub arguments: Vec<CallArgument>,
    /// Its named arguments.
    pub keyword_arguments: Vec<(String, CallArgument)>,
    /// The function it stands in.
    pub within: Option<usize>,
}

impl CallSite {
    /// The first argument, if it is a string.
    pub(crate) fn first_string(&self) -> Option<&str> {
        match self.arguments.first() {
            Some(CallArgument::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A named argument.
    pub(crate) fn keyword_argument(&self, name: &str) -> Option<&CallArgument> {
        self.keyword_arguments.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }
}

/// What stands as an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallArgument {
    /// A string.
    Text(String),
    /// A name, dotted.
    Name(String),
    /// A function written on the spot.
    Function(usize),
    /// A call, by its callee.
    Call(String),
    /// A list.
    List(Vec<CallArgument>),
    /// A dictionary or an object, as far as its keys are plain.
    Map(Vec<(String, CallArgument)>),
    /// Anything else.
    Other,
}

/// A class, an interface, an object type.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceClass {
    /// Its name.
    pub name: String,
    /// What it is made from.
    pub bases: Vec<String>,
    /// Its fields and their types.
    pub fields: Vec<SourceParameter>,
    /// Its decorators.
    pub decorators: Vec<CallSite>,
    /// Where.
    pub line: u32,
}

/// `name = callee(…)`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallBinding {
    /// The name, dotted (`self.client`).
    pub name: String,
    /// What was called.
    pub callee: String,
    /// Where.
    pub line: u32,
    /// The function it stands in.
    pub within: Option<usize>,
}

/// Why a file has no facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceParseError {
    /// There is no parser for its language.
    UnsupportedLanguage,
    /// Larger than [`MAX_SOURCE_BYTES`].
    TooLarge,
    /// Nested deeper than any person writes.
    TooDeep,
    /// Its syntax is broken.
    Syntax,
}

/// The largest file that is parsed.
pub(crate) const MAX_SOURCE_BYTES: usize = 256 * 1024;
/// The stack that a thread needs to parse the worst file that [`parse`] accepts.
pub(crate) const PARSER_STACK_BYTES: usize = 512 << 20;
const MAX_NESTING: usize = 200;
/// The most calls, bindings and imports in one file, and the most functions.
const MAX_FACTS_PER_FILE: usize = 10_000;
const MAX_FUNCTIONS_PER_FILE: usize = 2_000;

/// Whether a parser can be trusted with a text.
pub(crate) fn check_parse_limits(text: &str) -> Result<(), SourceParseError> {
    if text.len() > MAX_SOURCE_BYTES {
        return Err(SourceParseError::TooLarge);
    }
    if max_nesting(text.as_bytes()) > MAX_NESTING {
        return Err(SourceParseError::TooDeep);
    }
    Ok(())
}

/// Does work that parses, on a thread with a stack that parsers need.
pub(crate) fn run_with_parser_stack<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES).spawn_scoped(scope, work)?;
        Ok(work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Reads a file. Call it on a thread with a stack of [`PARSER_STACK_BYTES`] bytes: parsers recurse.
pub(crate) fn parse(path: &str, text: &str, language: Language) -> Result<ParsedSource, SourceParseError> {
    check_parse_limits(text)?;
    let source = match language {
        Language::Python => python::parse(text),
        Language::JavaScript | Language::TypeScript => script::parse(path, text),
        Language::Svelte | Language::Vue | Language::Astro => script::parse_embedded(path, text),
        _ => Err(SourceParseError::UnsupportedLanguage),
    }?;
    // No person wrote that.
    if source.fact_count() > MAX_FACTS_PER_FILE || source.functions.len() > MAX_FUNCTIONS_PER_FILE {
        return Err(SourceParseError::TooLarge);
    }
    Ok(source)
}

/// A type as it is written, in one short line. What stands in quotes is left out: it may be a default, and secret.
fn normalize_type(written: &str) -> String {
    let mut kept = String::new();
    let mut quote = None;
    for c in written.chars().take(2 * MAX_TYPE_CHARS) {
        match quote {
            None if matches!(c, '"' | '\'' | '`') => {
                quote = Some(c);
                kept.push('…');
            }
            None if c.is_whitespace() && kept.ends_with(' ') => {}
            None => kept.push(if c.is_whitespace() { ' ' } else { c }),
            Some(open) if open == c => quote = None,
            Some(_) => {}
        }
    }
    kept.chars().take(MAX_TYPE_CHARS).collect()
}

const MAX_TYPE_CHARS: usize = 120;

/// How deep brackets nest, how many prefix operators follow each other, or how many `<` are open at a time (each makes
/// the parser of TypeScript try all the rest as types), whichever is most. Those in strings count as well: what matters
/// is that nothing deep gets past.
fn max_nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut run, mut angles) = (0usize, 0, 0usize, 0usize);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match byte {
            b'-' | b'+' | b'~' | b'!' => run += 1,
            b' ' | b'\t' => {}
            _ => run = 0,
        }
        match byte {
            b'<' => angles += 1,
            b'>' | b';' | b'{' | b'}' | b')' | b']' => angles = 0,
            _ => {}
        }
        deepest = deepest.max(depth).max(run).max(angles);
    }
    deepest
}

#[cfg(test)]
mod tests;
