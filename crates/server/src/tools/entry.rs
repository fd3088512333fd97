//! A tool whose types have been forgotten, so that all of them fit one table.

use std::pin::Pin;
use std::sync::OnceLock;

use flow::{Conversation, Converse};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use protocol::mcp::Tool as Listing;
use schemars::JsonSchema;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::describe::{Description, describe};
use super::{Effect, InteractiveTool, Tool, ToolSpec};
use crate::Call;
use crate::error::{ArgumentProblem, Failure};

/// A line of the table.
pub(crate) struct ToolEntry {
    pub(crate) spec: ToolSpec,
    describe: fn() -> Description,
    /// Made when it is first needed: a server that starts to answer one call need not describe thirty tools.
    description: OnceLock<Description>,
    work: Work,
}

/// The two kinds of tools.
pub(crate) enum Work {
    Plain(Box<dyn Callable>),
    Interactive(fn(&Call) -> Box<dyn Converse>),
}

/// What a tool gives.
pub(crate) struct Reply {
    pub(crate) structured: Box<RawValue>,
}

impl Reply {
    pub(crate) fn of(structured: Box<RawValue>) -> Self {
        Self { structured }
    }

    /// The same as text.
    pub(crate) fn text(&self) -> &str {
        self.structured.get()
    }
}

pub(crate) trait Callable: Send + Sync {
    fn call<'a>(
        &'a self,
        call: Call,
        arguments: Map<String, Value>,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>>;
}

impl<T: Tool> Callable for T {
    fn call<'a>(
        &'a self,
        call: Call,
        arguments: Map<String, Value>,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send + 'a>> {
        Box::pin(async move {
            let args = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
                let problem = ArgumentProblem::Value {
                    name: "arguments".to_owned(),
                    error: error.to_string(),
                    choices: Vec::new(),
                };
                Failure::BadArguments(problem)
            })?;
            let reply = Tool::call(self, call, args).await?;
            to_raw_value(&reply).map(Reply::of).map_err(|_| Failure::Internal)
        })
    }
}

impl ToolEntry {
    pub(crate) fn plain<T: Tool>(tool: T) -> Self {
        Self::new::<T::Args, T::Reply>(T::SPEC, Work::Plain(Box::new(tool)))
    }

    pub(crate) fn interactive<T: InteractiveTool>() -> Self {
        Self::new::<<T::Talk as Conversation>::Args, <T::Talk as Conversation>::Reply>(
            T::SPEC,
            Work::Interactive(|call| Box::new(T::talk(call))),
        )
    }

    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self.work, Work::Interactive(_))
    }

    /// Whether it changes things.
    pub(crate) fn changes(&self) -> bool {
        self.spec.effect == Effect::Writes
    }

    /// The conversation of an interactive tool.
    pub(crate) fn talk(&self, call: &Call) -> Option<Box<dyn Converse>> {
        match &self.work {
            Work::Plain(_) => None,
            Work::Interactive(talk) => Some(talk(call)),
        }
    }

    fn new<Args: JsonSchema, Reply: JsonSchema>(spec: ToolSpec, work: Work) -> Self {
        Self { spec, describe: describe::<Args, Reply>, description: OnceLock::new(), work }
    }

    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    fn description(&self) -> &Description {
        self.description.get_or_init(self.describe)
    }

    /// The tool as a client sees it.
    pub(crate) fn listing(&self) -> Listing<'_> {
        let description = self.description();
        Listing {
            name: self.spec.name,
            title: Some(self.spec.title),
            description: &description.text,
            input_schema: &description.input,
            output_schema: Some(&description.output),
            annotations: Some(self.spec.annotations()),
        }
    }

    /// Judges arguments by the schema that the client was shown, and gives them back.
    pub(crate) fn checked(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        // The validator reads a value; arguments may be megabytes, so they are wrapped rather than copied.
        let arguments = Value::Object(arguments);
        let verdict = self.description().arguments.validate(&arguments).map_err(|error| self.refusal(&error));
        match (verdict, arguments) {
            (Ok(()), Value::Object(arguments)) => Ok(arguments),
            (Ok(()), _) => Err(Failure::Internal), // it was an object a moment ago
            (Err(failure), _) => Err(failure),
        }
    }

    fn refusal(&self, error: &ValidationError<'_>) -> Failure {
        let path = error.instance_path().to_string().trim_start_matches('/').replace('/', ".");
        let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let text = || error.to_string().chars().take(300).collect();
        Failure::BadArguments(match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = inner(property.as_str().unwrap_or_default());
                ArgumentProblem::Missing { choices: self.candidates(&name), name }
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => ArgumentProblem::Unknown {
                name: inner(unexpected.first().map_or("", String::as_str)),
                known: if path.is_empty() { self.argument_names() } else { Vec::new() },
            },
            ValidationErrorKind::Type { kind: TypeKind::Single(_) | TypeKind::Multiple(_) } => {
                ArgumentProblem::Type { name: path, error: text() }
            }
            // The library's own text leaves most of them out.
            ValidationErrorKind::Enum { options } => ArgumentProblem::Value {
                error: format!("{} is not one of {options}", error.instance()),
                choices: self.candidates(&path),
                name: path,
            },
            _ => ArgumentProblem::Value { name: path, error: text(), choices: Vec::new() },
        })
    }

    fn argument_names(&self) -> Vec<String> {
        self.description().input["properties"]
            .as_object()
            .map(|p| p.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// Refuses names that are no argument of this tool.
    pub(crate) fn known_argument(&self, name: &str) -> Result<(), Failure> {
        if self.description().input["properties"].get(name).is_some() {
            return Ok(());
        }
        Err(Failure::params("argument.name", format!("{} has no argument `{name}`", self.spec.name)))
    }

    /// What could stand in an argument, as far as its schema lists it.
    pub(crate) fn candidates(&self, argument: &str) -> Vec<String> {
        let property = &self.description().input["properties"][argument];
        let values = property["enum"].as_array().into_iter().flatten();
        let constants =
            property["oneOf"].as_array().into_iter().flatten().filter_map(|option| option.get("const"));
        let words: Vec<String> =
            values.chain(constants).filter_map(Value::as_str).map(str::to_owned).collect();
        match property["type"].as_str() {
            Some("boolean") => vec!["true".to_owned(), "false".to_owned()],
            _ => words,
        }
    }

    /// The tool's page: everything that `tools/list` has no room for.
    pub(crate) fn reference(&self) -> String {
        let description = self.description();
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
        let kind = match self.work {
            Work::Plain(_) => "",
            Work::Interactive(_) => {
                "\n\nInteractive: arguments answer its questions in advance, what is missing is asked."
            }
        };
        format!(
            "# {} (`{}`)\n\n{}{kind}\n\nToolset: {}\n\n## Takes\n\n```json\n{}\n```\n\n## Gives\n\n```json\n{}\n```\n",
            self.spec.title,
            self.spec.name,
            description.text,
            self.spec.toolset.name(),
            pretty(&description.input),
            pretty(&description.whole_output),
        )
    }
}
