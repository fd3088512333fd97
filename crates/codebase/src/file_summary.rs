//! Summary of a single source file, for callers that know which file they need.

use tree::Tree;

use crate::language;
use crate::profile::FunctionParameter;
use crate::source::{self, ParsedSource, run_with_parser_stack};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// Imported modules, with the imported name.
    pub imports: Vec<(String, Option<String>)>,
    /// Top-level names that are assigned the result of a call, with the callee.
    pub assigned_calls: Vec<(String, String)>,
    pub functions: Vec<FunctionSignature>,
    /// Classes: name, base classes and fields.
    pub classes: Vec<(String, Vec<String>, Vec<FunctionParameter>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSignature {
    /// `Class.method` for a method.
    pub name: String,
    pub line: u32,
    /// Without `self`.
    pub parameters: Vec<FunctionParameter>,
    pub is_async: bool,
    pub is_generator: bool,
    /// For a method: whether its class can be instantiated without arguments.
    pub is_default_constructible: bool,
    /// The return annotation.
    pub returns: Option<String>,
    /// Dotted names of the decorators.
    pub decorators: Vec<String>,
    /// The fields of the object it returns.
    pub response_fields: Vec<String>,
    /// The line of its end.
    pub end_line: u32,
}

/// Parses a file; `None` if it cannot be read or parsed.
pub fn summarize_file(tree: &Tree, path: &str) -> Option<FileSummary> {
    let language = language::detect_language(path)?;
    let bytes = tree.read(path, source::MAX_SOURCE_BYTES as u64).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let source = run_with_parser_stack(|| source::parse(path, &text, language)).ok()?.ok()?;
    let functions = source.functions.iter().filter(|f| f.outer.is_none() && !f.name.is_empty());
    Some(FileSummary {
        functions: functions.map(|function| function_signature(&source, function)).collect(),
        classes: source
            .classes
            .iter()
            .map(|class| {
                (
                    class.name.clone(),
                    class.bases.clone(),
                    class.fields.iter().map(function_parameter).collect(),
                )
            })
            .collect(),
        imports: source.imports.iter().map(|import| (import.module.clone(), import.name.clone())).collect(),
        assigned_calls: source
            .bindings
            .iter()
            .filter(|binding| binding.within.is_none() && !binding.is_absent_on_import)
            .map(|binding| (binding.name.clone(), binding.callee.clone()))
            .collect(),
    })
}

fn function_signature(source: &ParsedSource, function: &source::SourceFunction) -> FunctionSignature {
    let name = match &function.owner {
        Some(owner) => format!("{owner}.{}", function.name),
        None => function.name.clone(),
    };
    FunctionSignature {
        name,
        line: function.line,
        parameters: function.parameters.iter().map(function_parameter).collect(),
        is_async: function.is_async,
        is_generator: function.is_generator,
        is_default_constructible: function
            .owner
            .as_ref()
            .is_some_and(|owner| is_default_constructible(source, owner)),
        returns: function.returns.clone(),
        decorators: function.decorators.iter().map(|decorator| decorator.callee.clone()).collect(),
        response_fields: function.response_fields.clone(),
        end_line: function.end_line,
    }
}

pub(crate) fn function_parameter(given: &source::SourceParameter) -> FunctionParameter {
    FunctionParameter {
        name: given.name.clone(),
        annotation: given.annotation.clone(),
        optional: given.optional,
        kind: given.kind,
        injected: given.injected,
    }
}

/// Whether a class can be instantiated without arguments, as far as this file shows.
pub(crate) fn is_default_constructible(source: &ParsedSource, class: &str) -> bool {
    let own = |function: &&source::SourceFunction| function.owner.as_deref() == Some(class);
    match source.functions.iter().filter(own).find(|function| function.name == "__init__") {
        Some(init) => init.parameters.iter().all(|parameter| parameter.optional),
        None => source.classes.iter().any(|known| {
            known.name == class && known.bases.is_empty() && known.fields.iter().all(|field| field.optional)
        }),
    }
}

/// The version of a package in a lock file, whose format is chosen by file name.
pub fn locked_version(file: &str, text: &str, package: &str) -> Option<String> {
    crate::lock_files::find_locked_version(file, text, "", package).map(|(version, _)| version)
}
