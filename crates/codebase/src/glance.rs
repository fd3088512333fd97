//! A look at one file, for those who know what they look for.

use tree::Tree;

use crate::language;
use crate::profile::Parameter;
use crate::source::{self, Source, with_stack};

/// What one source file says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glance {
    /// The modules it imports, and what from each.
    pub imports: Vec<(String, Option<String>)>,
    /// Names at its top level that are given the result of a call, and what is called.
    pub made: Vec<(String, String)>,
    /// Its functions and methods.
    pub functions: Vec<Signature>,
    /// Its classes: name, what they are made from, and their fields.
    pub classes: Vec<(String, Vec<String>, Vec<Parameter>)>,
}

/// A function as its callers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// `Class.method` for a method.
    pub name: String,
    /// The line of its name.
    pub line: u32,
    /// What it takes, without `self`.
    pub parameters: Vec<Parameter>,
    /// Whether it is asynchronous.
    pub is_async: bool,
    /// It yields.
    pub is_generator: bool,
    /// For a method: whether an object of its class can be made without arguments.
    pub makes_itself: bool,
    /// What it says to return.
    pub returns: Option<String>,
    /// What its decorators call.
    pub decorators: Vec<String>,
    /// The fields of an object that it returns.
    pub answers: Vec<String>,
}

/// Looks at a file; nothing if it cannot be read or parsed.
pub fn glance(tree: &Tree, path: &str) -> Option<Glance> {
    let language = language::of(path)?;
    let bytes = tree.read(path, source::LARGEST as u64).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let source = with_stack(|| source::parse(path, &text, language)).ok()?.ok()?;
    let functions = source.functions.iter().filter(|f| f.outer.is_none() && !f.name.is_empty());
    Some(Glance {
        functions: functions.map(|function| signature(&source, function)).collect(),
        classes: source
            .classes
            .iter()
            .map(|class| {
                (class.name.clone(), class.bases.clone(), class.fields.iter().map(parameter).collect())
            })
            .collect(),
        imports: source.imports.iter().map(|import| (import.module.clone(), import.name.clone())).collect(),
        made: source
            .bindings
            .iter()
            .filter(|binding| binding.within.is_none())
            .map(|binding| (binding.name.clone(), binding.callee.clone()))
            .collect(),
    })
}

fn signature(source: &Source, function: &source::Function) -> Signature {
    let name = match &function.owner {
        Some(owner) => format!("{owner}.{}", function.name),
        None => function.name.clone(),
    };
    Signature {
        name,
        line: function.line,
        parameters: function.parameters.iter().map(parameter).collect(),
        is_async: function.is_async,
        is_generator: function.is_generator,
        makes_itself: function.owner.as_ref().is_some_and(|owner| makes_itself(source, owner)),
        returns: function.returns.clone(),
        decorators: function.decorators.iter().map(|decorator| decorator.callee.clone()).collect(),
        answers: function.writes.clone(),
    }
}

pub(crate) fn parameter(given: &source::Parameter) -> Parameter {
    Parameter {
        name: given.name.clone(),
        annotation: given.annotation.clone(),
        optional: given.optional,
        given: given.given,
        injected: given.injected,
    }
}

/// Whether an object of a class can be made without arguments, as far as its own text tells.
pub(crate) fn makes_itself(source: &Source, class: &str) -> bool {
    let own = |function: &&source::Function| function.owner.as_deref() == Some(class);
    match source.functions.iter().filter(own).find(|function| function.name == "__init__") {
        Some(init) => init.parameters.iter().all(|parameter| parameter.optional),
        None => source.classes.iter().any(|known| {
            known.name == class && known.bases.is_empty() && known.fields.iter().all(|field| field.optional)
        }),
    }
}

/// The version of a package in a lock file, by the file's name.
pub fn locked_version(file: &str, text: &str, package: &str) -> Option<String> {
    crate::lock::version(file, text, "", package).map(|(version, _)| version)
}
