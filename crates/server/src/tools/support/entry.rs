//! Type-erased tools, so that all of them fit in one table.

use std::pin::Pin;
use std::sync::OnceLock;

use flow::{Conversation, DynConversation};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use protocol::mcp::ToolDescriptor;
use schemars::JsonSchema;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::describe::{Description, describe};
use crate::error::{ArgumentError, MAX_RESPONSE_BYTES, RequestError};
use crate::tools::{Effect, GermanTexts, InteractiveTool, Tool, ToolSpec};
use crate::{Locale, ToolContext};

/// The validation error as text. A long value is masked, because it would hide the error.
fn validation_message(error: &ValidationError<'_>) -> String {
    const MAX_MESSAGE_CHARS: usize = 300;
    let whole = error.to_string();
    let is_short = whole.chars().count() <= MAX_MESSAGE_CHARS;
    if is_short { whole } else { error.masked().to_string().chars().take(MAX_MESSAGE_CHARS).collect() }
}

/// An argument that matches the schema but not the type, such as a number that is too large.
fn deserialization_failure(error: serde_path_to_error::Error<serde_json::Error>) -> RequestError {
    let path = error.path().to_string().replace('[', ".").replace(']', "");
    let name = if path == "." { "arguments" } else { &path };
    RequestError::invalid_argument(name, error.into_inner().to_string())
}

/// JSON Schema accepts `2.0` as an integer, serde does not. Numbers too large for an integer stay unchanged.
fn normalize_integer(value: &mut Value) {
    let Value::Number(number) = value else { return };
    let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.is_finite());
    let Some(text) = whole.filter(|_| number.is_f64()).map(|whole| format!("{whole:.0}")) else { return };
    match (text.parse::<u64>(), text.parse::<i64>()) {
        (Ok(whole), _) => *value = whole.into(),
        (Err(_), Ok(whole)) => *value = whole.into(),
        (Err(_), Err(_)) => {}
    }
}

/// The value of a list that a text means: `Next.js` for `nextjs`.
fn listed_value(list: &Value, given: &Value) -> Option<Value> {
    let given = given.as_str()?;
    let mut listed = list.as_array()?.iter();
    let is_meant = |listed: &&Value| listed.as_str().is_some_and(|listed| is_same_word(listed, given));
    listed.find(is_meant).cloned()
}

/// Whether two words differ only in case and punctuation.
pub fn is_same_word(one: &str, other: &str) -> bool {
    let letters = |word: &str| -> String {
        word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    one == other || letters(one) == letters(other) && !letters(one).is_empty()
}

/// A row of the tool table.
pub(crate) struct ToolEntry {
    pub(crate) spec: ToolSpec,
    describe: fn(Option<GermanTexts>) -> Description,
    german: Option<GermanTexts>,
    /// Built on first use: a process that serves a single call need not describe thirty tools.
    description: OnceLock<Description>,
    implementation: ToolImplementation,
}

pub(crate) enum ToolImplementation {
    Plain(Box<dyn DynTool>),
    Interactive(fn(&ToolContext) -> Box<dyn DynConversation>),
}

/// The result of a tool.
pub(crate) struct ToolReply {
    pub(crate) structured: Box<RawValue>,
    text: Option<String>,
}

impl ToolReply {
    pub(crate) fn from_structured(structured: Box<RawValue>) -> Self {
        Self { structured, text: None }
    }

    /// Whether the text differs from the structured content.
    pub(crate) fn has_custom_text(&self) -> bool {
        self.text.is_some()
    }

    /// The tool's own text, or the structured content as JSON.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(self.structured.get())
    }
}

pub(crate) trait DynTool: Send + Sync {
    fn call<'a>(
        &'a self,
        call: ToolContext,
        arguments: Map<String, Value>,
    ) -> Pin<Box<dyn Future<Output = Result<ToolReply, RequestError>> + Send + 'a>>;
}

impl<T: Tool> DynTool for T {
    fn call<'a>(
        &'a self,
        call: ToolContext,
        arguments: Map<String, Value>,
    ) -> Pin<Box<dyn Future<Output = Result<ToolReply, RequestError>> + Send + 'a>> {
        Box::pin(async move {
            let args = serde_path_to_error::deserialize(Value::Object(arguments))
                .map_err(deserialization_failure)?;
            let reply = Tool::call(self, call, args).await?;
            let structured = to_raw_value(&reply).map_err(RequestError::internal)?;
            // The result of a write is always reported, however long it is.
            if structured.get().len() > MAX_RESPONSE_BYTES && T::SPEC.effect == Effect::ReadOnly {
                return Err(RequestError::ResponseTooLarge);
            }
            Ok(ToolReply { structured, text: <T as Tool>::text(&reply) })
        })
    }
}

impl ToolEntry {
    pub(crate) fn plain<T: Tool>(tool: T) -> Self {
        Self::new::<T::Args, T::Reply>(T::SPEC, T::GERMAN, ToolImplementation::Plain(Box::new(tool)))
    }

    pub(crate) fn interactive<T: InteractiveTool>() -> Self {
        Self::new::<<T::Conversation as Conversation>::Args, <T::Conversation as Conversation>::Reply>(
            T::SPEC,
            None,
            ToolImplementation::Interactive(|call| Box::new(T::conversation(call))),
        )
    }

    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self.implementation, ToolImplementation::Interactive(_))
    }

    pub(crate) fn has_side_effects(&self) -> bool {
        self.spec.effect != Effect::ReadOnly
    }

    /// The conversation, if the tool is interactive.
    pub(crate) fn conversation(&self, call: &ToolContext) -> Option<Box<dyn DynConversation>> {
        match &self.implementation {
            ToolImplementation::Plain(_) => None,
            ToolImplementation::Interactive(talk) => Some(talk(call)),
        }
    }

    fn new<Args: JsonSchema, Reply: JsonSchema>(
        spec: ToolSpec,
        texts: Option<GermanTexts>,
        implementation: ToolImplementation,
    ) -> Self {
        Self {
            spec,
            describe: describe::<Args, Reply>,
            german: texts,
            description: OnceLock::new(),
            implementation,
        }
    }

    pub(crate) fn implementation(&self) -> &ToolImplementation {
        &self.implementation
    }

    fn description(&self) -> &Description {
        self.description.get_or_init(|| (self.describe)(self.german))
    }

    /// The tool as a client sees it.
    pub(crate) fn descriptor(&self, locale: Locale) -> ToolDescriptor<'_> {
        let description = self.description();
        let (text, input) = match (locale, &description.german) {
            (Locale::German, Some((text, input))) => (*text, input),
            _ => (description.text.as_str(), &description.input),
        };
        ToolDescriptor {
            name: self.spec.name,
            title: Some(self.spec.title),
            description: text,
            input_schema: input,
            output_schema: Some(&description.output),
            annotations: Some(self.spec.annotations()),
        }
    }

    /// Validates arguments against the schema that the client was shown, and returns them.
    pub(crate) fn validate_arguments(
        &self,
        mut arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, RequestError> {
        let properties = &self.description().input["properties"];
        let is_integer = |name: &str| properties[name]["type"] == "integer";
        arguments
            .iter_mut()
            .filter(|(name, _)| is_integer(name))
            .for_each(|(_, value)| normalize_integer(value));
        for (name, value) in arguments.iter_mut().filter(|(_, value)| value.is_string()) {
            if let Some(listed) = listed_value(&properties[name]["enum"], value) {
                *value = listed;
            }
        }
        // The validator takes a `Value`; arguments may be megabytes, so they are wrapped rather than copied.
        let arguments = Value::Object(arguments);
        let verdict = self
            .description()
            .argument_validator
            .validate(&arguments)
            .map_err(|error| self.argument_failure(&error));
        match (verdict, arguments) {
            (Ok(()), Value::Object(arguments)) => Ok(arguments),
            (Ok(()), _) => Err(RequestError::internal("the arguments are not an object after validation")),
            (Err(failure), _) => Err(failure),
        }
    }

    fn argument_failure(&self, error: &ValidationError<'_>) -> RequestError {
        let path = error.instance_path().to_string().trim_start_matches('/').replace('/', ".");
        let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let text = || validation_message(error);
        RequestError::InvalidArguments(match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = inner(property.as_str().unwrap_or_default());
                ArgumentError::Missing { choices: self.allowed_values(&name), name }
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => ArgumentError::Unknown {
                name: inner(unexpected.first().map_or("", String::as_str)),
                known: self.property_names_at(&path),
            },
            ValidationErrorKind::Type { kind: TypeKind::Single(_) | TypeKind::Multiple(_) } => {
                ArgumentError::Type { name: path, error: text() }
            }
            // The library's own message omits most of the options.
            ValidationErrorKind::Enum { options } => ArgumentError::Value {
                error: format!("{} is not one of {options}", error.instance()),
                choices: self.allowed_values(&path),
                name: path,
            },
            _ => ArgumentError::Value { name: path, error: text(), choices: Vec::new() },
        })
    }

    /// The property names allowed inside an argument, or at the top level.
    fn property_names_at(&self, path: &str) -> Vec<String> {
        let parts = path.split('.').filter(|part| !part.is_empty());
        let schema = parts.fold(&self.description().input, |schema, part| match schema.get("items") {
            Some(items) => items,
            None => &schema["properties"][part],
        });
        schema["properties"].as_object().map(|names| names.keys().cloned().collect()).unwrap_or_default()
    }

    /// Rejects names that are not arguments of this tool.
    pub(crate) fn check_argument_name(&self, name: &str) -> Result<(), RequestError> {
        if self.description().input["properties"].get(name).is_some() {
            return Ok(());
        }
        Err(RequestError::invalid_params(
            "argument.name",
            format!("{} has no argument `{name}`", self.spec.name),
        ))
    }

    /// The values of an argument, if its schema lists them.
    pub(crate) fn allowed_values(&self, argument: &str) -> Vec<String> {
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

    /// The tool's reference page, with everything that `tools/list` has no room for.
    pub(crate) fn reference_page(&self) -> String {
        let description = self.description();
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
        let kind = match self.implementation {
            ToolImplementation::Plain(_) => "",
            ToolImplementation::Interactive(_) => {
                "\n\nInteractive: arguments answer its questions in advance; missing ones are asked for."
            }
        };
        format!(
            "# {} (`{}`)\n\n{}{kind}\n\nToolset: {}\n\n## Arguments\n\n```json\n{}\n```\n\n## Result\n\n```json\n{}\n```\n",
            self.spec.title,
            self.spec.name,
            description.text,
            self.spec.toolset.name(),
            pretty(&description.input),
            pretty(&description.full_output),
        )
    }
}
