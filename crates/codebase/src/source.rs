//! Facts extracted from the syntax tree of a source file, in the same form for every language with a parser.

mod line_index;
mod python;
mod script;

pub(crate) use line_index::SourceLineIndex;
pub(crate) use python::dotted_name;
pub(crate) use script::source_type;

use crate::language::Language;
use crate::rules::PROVIDER_HOSTS;

#[derive(Debug, Default)]
pub(crate) struct ParsedSource {
    pub imports: Vec<SourceImport>,
    /// Functions and methods, including nested and anonymous ones.
    pub functions: Vec<SourceFunction>,
    /// Classes, interfaces and object types.
    pub classes: Vec<SourceClass>,
    /// All calls, in text order.
    pub calls: Vec<CallSite>,
    /// Names that are assigned the result of a call.
    pub bindings: Vec<CallBinding>,
    /// The line of `if __name__ == "__main__"`.
    pub main_guard: Option<u32>,
    /// The line of the first top-level statement that is only a call: `crew.kickoff()`.
    pub first_run_line: Option<u32>,
    /// The name in `export default`, if any.
    pub default_export: Option<String>,
    /// Top-level names that other files can import.
    pub exports: Vec<String>,
    /// Names that only exist while a request is handled: Flask's `request`, `session`, `g`, `current_app`.
    pub context_reads: Vec<ContextRead>,
    /// Lists of dependencies: `PROTECTED = [Depends(verify_key)]`.
    pub dependency_lists: Vec<(String, String)>,
    /// Types that stand for a dependency: `CurrentUser = Annotated[User, Depends(get_current_user)]`.
    pub dependency_types: Vec<(String, String)>,
    /// Functions that are named without being called: returned, or listed in a table of handlers.
    pub references: Vec<FunctionReference>,
    /// Top-level names of object literals, whose functions are recorded by name: `const service = { chat() {} }`.
    pub object_literals: Vec<String>,
    /// Top-level names and fields of classes that hold a text: `PREFIX = "/api"`, `Settings.PREFIX`.
    pub text_constants: Vec<(String, String)>,
    /// Addresses of model providers in strings: programs without an SDK call them over HTTP.
    pub provider_urls: Vec<ProviderUrl>,
}

impl ParsedSource {
    /// Records a request or response field that a function uses.
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

    /// Records a field that a function reads from a part of the request.
    fn add_request_field(&mut self, function: Option<usize>, part: RequestPart, field: &str) {
        self.add_field(function, field, |function| &mut function.request_fields);
        match part {
            RequestPart::Json | RequestPart::Body | RequestPart::Header => {}
            RequestPart::Form => self.add_field(function, field, |function| &mut function.form_fields),
            RequestPart::Query => self.add_field(function, field, |function| &mut function.query_fields),
        }
    }

    /// Records that an object's field is read, if the object is a parameter of one of these functions.
    fn add_parameter_field(&mut self, functions: &[usize], object: &str, field: &str) {
        const MAX_FIELDS: usize = 32;
        let has_it = |at: &&usize| {
            self.functions
                .get(**at)
                .is_some_and(|function| function.parameters.iter().any(|p| p.name == object))
        };
        let Some(function) = functions.iter().rev().find(has_it).copied() else { return };
        let Some(function) = self.functions.get_mut(function) else { return };
        let read = (object.to_owned(), field.to_owned());
        if function.parameter_fields.len() < MAX_FIELDS && !function.parameter_fields.contains(&read) {
            function.parameter_fields.push(read);
        }
    }

    /// Records a name that holds what the request carries.
    fn add_request_name(&mut self, function: Option<usize>, name: &str) {
        self.add_field(function, name, |function| &mut function.request_names);
    }

    /// Records that a function tolerates the absence of a request field: it gives a default.
    fn add_optional_field(&mut self, function: Option<usize>, field: &str) {
        self.add_field(function, field, |function| &mut function.optional_fields);
    }

    /// Records a name that holds a short text.
    fn add_text_constant(&mut self, class: Option<&str>, name: &str, text: &str) {
        const MAX_CONSTANTS: usize = 500;
        const MAX_BYTES: usize = 200;
        if self.text_constants.len() < MAX_CONSTANTS && text.len() <= MAX_BYTES {
            let name = class.map_or_else(|| name.to_owned(), |class| format!("{class}.{name}"));
            self.text_constants.push((name, text.to_owned()));
        }
    }

    /// Records a name that may be that of a function which is called elsewhere.
    fn add_reference(&mut self, holder: Option<&str>, name: String, within: Option<usize>) {
        const MAX_REFERENCES: usize = 1000;
        if self.references.len() < MAX_REFERENCES {
            self.references.push(FunctionReference { holder: holder.map(str::to_owned), name, within });
        }
    }

    /// Records what is sent to a model under an address that the code does not show: `{"model": …, "messages": …}`.
    fn record_model_request(&mut self, keys: &[&str], line: u32, within: Option<usize>) {
        let has = |name: &str| keys.contains(&name);
        if has("model") && (has("messages") || has("prompt") || has("contents")) {
            self.provider_urls.push(ProviderUrl { library: "openai-compatible", line, within });
        }
    }

    pub(crate) fn fact_count(&self) -> usize {
        self.calls.len()
            + self.functions.len()
            + self.bindings.len()
            + self.imports.len()
            + self.classes.len()
    }
}

/// A name that needs the context of a request or of an application.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContextRead {
    pub name: String,
    pub line: u32,
    /// Index of the function that contains it.
    pub within: Option<usize>,
}

/// A dotted name that is not called where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FunctionReference {
    /// The table that it is in: `HANDLERS = {"chat": answer}`.
    pub holder: Option<String>,
    pub name: String,
    /// Index of the function that contains it.
    pub within: Option<usize>,
}

/// A string with the address of a model provider.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProviderUrl {
    /// The library that speaks to this provider.
    pub library: &'static str,
    pub line: u32,
    /// Index of the function that contains it.
    pub within: Option<usize>,
}

/// The library of a model provider whose address a string contains.
fn provider_library(text: &str) -> Option<&'static str> {
    // Vectors, pictures and sounds are no answers.
    if ["/embeddings", "/images/", "/audio/", "/moderations", ":embedContent"]
        .iter()
        .any(|end| text.contains(end))
    {
        return None;
    }
    let found = PROVIDER_HOSTS.iter().find(|(host, _)| text.contains(host)).map(|(_, library)| *library);
    // `f"{self.ollama_url}/api/chat"`
    let is_ollama = || {
        ["/api/chat", "/api/generate"].iter().any(|end| text.contains(end))
            && text.to_ascii_lowercase().contains("ollama")
    };
    found.or_else(|| is_ollama().then_some("ollama"))
}

/// The part of a request that a field is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestPart {
    Json,
    /// `= Body()`: all of the body, if it is the only one.
    Body,
    Form,
    Query,
    /// `= Header(alias="X-Api-Key")`: no field, but sent with the request.
    Header,
}

/// The name of an import that stands for all names of a module.
pub(crate) const ALL_NAMES: &str = "*";

/// `from module import name as local`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SourceImport {
    /// The module, verbatim; a Python relative import keeps its dots.
    pub module: String,
    /// The imported name; `None` for the module itself, `default` for a default export.
    pub name: Option<String>,
    pub local: String,
    pub line: u32,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceFunction {
    /// Empty for an anonymous function.
    pub name: String,
    /// The class of a method.
    pub owner: Option<String>,
    /// Index of the enclosing function.
    pub outer: Option<usize>,
    /// The line of its name.
    pub line: u32,
    /// The line of its end.
    pub end_line: u32,
    pub is_async: bool,
    pub is_generator: bool,
    /// Without `self`.
    pub parameters: Vec<SourceParameter>,
    /// The return annotation.
    pub returns: Option<String>,
    pub decorators: Vec<CallSite>,
    /// Request fields that it reads.
    pub request_fields: Vec<String>,
    /// Those that it reads from a form.
    pub form_fields: Vec<String>,
    /// Those that it reads from the query.
    pub query_fields: Vec<String>,
    /// Those whose absence it tolerates.
    pub optional_fields: Vec<String>,
    /// Response fields that it writes.
    pub response_fields: Vec<String>,
    /// Names that hold what the request carries: `body = await request.json()`.
    pub request_names: Vec<String>,
    /// The type that the body of its request is given.
    pub body_type: Option<String>,
    /// What it reads of its parameters: the parameter and the field.
    pub parameter_fields: Vec<(String, String)>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct SourceParameter {
    /// The name; a destructuring pattern is kept as text.
    pub name: String,
    /// The type, verbatim.
    pub annotation: Option<String>,
    /// It has a default.
    pub optional: bool,
    pub kind: ParameterKind,
    /// It is supplied by a framework: `= Depends(get_user)`.
    pub injected: bool,
    /// What supplies it: `get_user`.
    pub dependency: Option<String>,
    /// The part of the request that it is filled from: `= Form(...)`.
    pub part: Option<RequestPart>,
}

/// How an argument can be passed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// By position or by name.
    #[default]
    PositionalOrKeyword,
    /// Only by position: before `/`.
    PositionalOnly,
    /// Only by name: after `*`.
    KeywordOnly,
}

/// `a.b.c(…)`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct CallSite {
    /// `a.b.c`; a nested call is written `a().b`.
    pub callee: String,
    pub line: u32,
    pub arguments: Vec<CallArgument>,
    pub keyword_arguments: Vec<(String, CallArgument)>,
    /// Index of the function that contains the call.
    pub within: Option<usize>,
}

impl CallSite {
    pub(crate) fn first_string(&self) -> Option<&str> {
        match self.arguments.first() {
            Some(CallArgument::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn keyword_argument(&self, name: &str) -> Option<&CallArgument> {
        self.keyword_arguments.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallArgument {
    Text(String),
    /// A dotted name.
    Name(String),
    /// Index of an inline function.
    Function(usize),
    /// The callee of a call.
    Call(String),
    List(Vec<CallArgument>),
    /// A dictionary or object, limited to entries with plain keys.
    Map(Vec<(String, CallArgument)>),
    Other,
}

/// A class, interface or object type.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceClass {
    pub name: String,
    pub bases: Vec<String>,
    pub fields: Vec<SourceParameter>,
    pub decorators: Vec<CallSite>,
    pub line: u32,
}

/// `name = callee(…)`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CallBinding {
    /// The dotted name (`self.client`).
    pub name: String,
    pub callee: String,
    pub line: u32,
    /// Index of the function that contains the assignment.
    pub within: Option<usize>,
    /// The value is not there when another file imports the name: only a type is declared, or the assignment stands
    /// under `if __name__ == "__main__"`.
    pub is_absent_on_import: bool,
}

/// Why a file could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceParseError {
    UnsupportedLanguage,
    /// Larger than [`MAX_SOURCE_BYTES`].
    TooLarge,
    /// Nested too deeply for the parser stack.
    TooDeep,
    Syntax,
}

pub(crate) const MAX_SOURCE_BYTES: usize = 512 * 1024;
/// The stack that a thread needs to parse the most deeply nested file that [`parse`] accepts.
pub(crate) const PARSER_STACK_BYTES: usize = 512 << 20;
const MAX_NESTING: usize = 200;
/// Limits per file: calls, bindings and imports together, and functions.
const MAX_FACTS_PER_FILE: usize = 10_000;
const MAX_FUNCTIONS_PER_FILE: usize = 2_000;

/// Checks the size and nesting limits that keep parsers from exhausting the stack.
pub(crate) fn check_parse_limits(text: &str) -> Result<(), SourceParseError> {
    if text.len() > MAX_SOURCE_BYTES {
        return Err(SourceParseError::TooLarge);
    }
    if max_nesting(text.as_bytes()) > MAX_NESTING {
        return Err(SourceParseError::TooDeep);
    }
    Ok(())
}

/// Runs `work` on a thread with a stack of [`PARSER_STACK_BYTES`].
pub(crate) fn run_with_parser_stack<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let work = std::thread::Builder::new().stack_size(PARSER_STACK_BYTES).spawn_scoped(scope, work)?;
        Ok(work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Parses a file. Parsers recurse: call it on a thread with a stack of [`PARSER_STACK_BYTES`].
pub(crate) fn parse(path: &str, text: &str, language: Language) -> Result<ParsedSource, SourceParseError> {
    check_parse_limits(text)?;
    let source = match language {
        Language::Python => python::parse(text),
        Language::JavaScript | Language::TypeScript => script::parse(path, text),
        Language::Svelte | Language::Vue | Language::Astro => script::parse_embedded(path, text),
        _ => Err(SourceParseError::UnsupportedLanguage),
    }?;
    // Certainly machine-generated.
    if source.fact_count() > MAX_FACTS_PER_FILE || source.functions.len() > MAX_FUNCTIONS_PER_FILE {
        return Err(SourceParseError::TooLarge);
    }
    Ok(source)
}

/// A type annotation on one short line. Quoted strings are removed: they may be defaults with secrets.
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

/// The maximum of bracket nesting, consecutive prefix operators, and open `<` (each makes the TypeScript
/// parser try the rest as types). Occurrences in strings count, too: overestimating is safe, missing deep
/// nesting is not.
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
