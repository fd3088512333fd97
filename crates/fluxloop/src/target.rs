//! What FluxLoop can call in a Python program, and what stands in the way.

use std::borrow::Cow;

use crate::patterns;
use codebase::{Agent, FunctionParameter, FunctionSignature, NameKind, ObjectMaker, ParameterKind};

/// A function, as far as it matters who calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct TargetFunction {
    pub(crate) path: String,
    /// The line of its name.
    pub(crate) line: u32,
    /// `Class.method` for a method.
    pub(crate) name: String,
    pub(crate) parameters: Vec<FunctionParameter>,
    pub(crate) is_async: bool,
    pub(crate) is_generator: bool,
    pub(crate) is_default_constructible: bool,
    /// Its type says that it gives back a text.
    pub(crate) returns_text: bool,
    /// The line of its end; 0 if unknown.
    pub(crate) end_line: u32,
    /// A generator whose pieces are those of an event stream: `yield f"data: {…}"`.
    pub(crate) yields_frames: bool,
    /// An object of its class that the program makes in another file, or by a function.
    pub(crate) instance: Option<ObjectMaker>,
    /// How the program makes what its parameters are declared to be.
    pub(crate) makers: Vec<(String, ObjectMaker)>,
}

impl TargetFunction {
    pub(crate) fn from_agent(agent: &Agent) -> Self {
        Self {
            path: agent.path.clone(),
            line: agent.line,
            name: agent.name.clone(),
            parameters: agent.parameters.clone(),
            is_async: agent.is_async,
            is_generator: agent.is_generator,
            is_default_constructible: agent.is_default_constructible,
            returns_text: false,
            end_line: 0,
            yields_frames: false,
            instance: agent.instance.clone(),
            makers: agent.makers.clone(),
        }
    }

    pub(crate) fn from_signature(path: &str, signature: &FunctionSignature) -> Self {
        Self {
            path: path.to_owned(),
            line: signature.line,
            name: signature.name.clone(),
            parameters: signature.parameters.clone(),
            is_async: signature.is_async,
            is_generator: signature.is_generator,
            is_default_constructible: signature.is_default_constructible,
            returns_text: signature.returns.as_deref().is_some_and(|returns| returns.trim() == "str"),
            end_line: signature.end_line,
            yields_frames: false,
            instance: None,
            makers: Vec::new(),
        }
    }

    /// The class of a method.
    pub(crate) fn owner_class(&self) -> Option<&str> {
        self.name.rsplit_once('.').map(|(owner, _)| owner)
    }

    /// Every line of the CLI can call it as it is: 0.4 by place, 0.2 and 0.3 by the names that they look for.
    pub(crate) fn is_directly_callable(&self) -> bool {
        let first = self.parameters.first();
        self.owner_class().is_none()
            && !self.is_generator
            && self.returns_text
            && first.is_some_and(|first| first.kind == ParameterKind::PositionalOrKeyword)
            && text_call(&self.parameters, "", &|_| None, &|_, name| Cow::Borrowed(name), &[])
                .is_ok_and(|call| call.is_plain())
    }
}

/// How one text is handed to a function: its arguments as Python expressions over `message`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TextCall {
    /// The name of each argument, unless its place says which it is.
    pub(crate) arguments: Vec<(Option<String>, String)>,
    /// Classes that the expressions use, to be imported from the module of the function.
    pub(crate) classes: Vec<String>,
    /// What else has to be imported.
    pub(crate) import: Option<&'static str>,
    /// Constants that stand for something only the program knows.
    pub(crate) notes: Vec<String>,
    /// Environment variables that the user sets.
    pub(crate) variables: Vec<String>,
    /// Names that the expressions use, with their files.
    pub(crate) imports: Vec<(String, String)>,
    /// An argument awaits something.
    pub(crate) awaits: bool,
    /// Arguments for the class of a method.
    pub(crate) for_class: Vec<(String, String)>,
}

impl TextCall {
    /// The text is the first argument, and there is no other.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.arguments.as_slice(), [(None, value)] if value == "message")
    }

    /// Fills in what the class of a method requires; false if something cannot be filled in.
    pub(crate) fn fill_constructor(
        &mut self,
        parameters: &[FunctionParameter],
        shown: &NameFormatter<'_>,
    ) -> bool {
        for parameter in parameters.iter().filter(|parameter| !parameter.optional) {
            // Without a type it may be an object: `Desk(maker)`.
            if parameter.annotation.is_none()
                && !is_id_name(&parameter.name)
                && !names_no_text(&parameter.name)
            {
                return false;
            }
            let value = match (constant_for(parameter), environment_value(parameter)) {
                (Some(constant), _) => {
                    let name = shown(NameKind::Identifier, &parameter.name);
                    self.notes.push(format!("{constant} stands for `{name}`"));
                    constant
                }
                (None, Some((variable, value))) => {
                    self.variables.push(variable);
                    value
                }
                (None, None) => return false,
            };
            self.for_class.push((parameter.name.clone(), value));
        }
        true
    }

    pub(crate) fn render(&self) -> String {
        let one = |(name, value): &(Option<String>, String)| match name {
            Some(name) => format!("{name}={value}"),
            None => value.clone(),
        };
        self.arguments.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Names that 0.2 and 0.3 look for, in this order.
const RECOGNIZED_PARAMETERS: [&str; 7] =
    ["input", "input_text", "message", "query", "text", "content", "user_message"];

/// Names that stand for something else than what a user says.
#[rustfmt::skip] // a list, not a column
const NON_TEXT_PARAMETERS: &[&str] = &[
    "state", "request", "req", "ctx", "context", "config", "event", "body", "data", "payload", "session", "db", "settings",
    "client", "args", "argv", "options", "user", "user_id", "session_id", "file", "path", "model", "agent", "graph", "inputs",
];

/// Puts a name or a type into a sentence.
pub(crate) type NameFormatter<'s> = dyn for<'n> Fn(NameKind, &'n str) -> Cow<'n, str> + 's;

/// Finds the fields of a class by its name.
pub(crate) type ClassFinder<'s> = dyn Fn(&str) -> Option<Vec<FunctionParameter>> + 's;

/// How one text can be handed over; why not, if it cannot. `body`: the source of the function.
pub(crate) fn text_call(
    parameters: &[FunctionParameter],
    body: &str,
    fields_of: &ClassFinder<'_>,
    shown: &NameFormatter<'_>,
    makers: &[(String, ObjectMaker)],
) -> Result<TextCall, String> {
    let named = |parameter: &FunctionParameter| shown(NameKind::Identifier, &parameter.name).into_owned();
    if let Some(injected) = parameters.iter().find(|parameter| parameter.injected) {
        return Err(format!("the framework fills in its `{}`", named(injected)));
    }
    let is_text =
        |parameter: &FunctionParameter| could_be_text(parameter) && !is_used_as_object(body, &parameter.name);
    let known = RECOGNIZED_PARAMETERS
        .iter()
        .find_map(|name| parameters.iter().position(|parameter| parameter.name == *name));
    // `complete(system, user)`: the one is for the program, the other for what a user says.
    let user_text = || {
        let has_system = parameters.iter().any(|parameter| is_instruction_name(&parameter.name));
        let is_user = |parameter: &FunctionParameter| {
            matches!(parameter.name.as_str(), "user" | "user_prompt" | "prompt" | "human")
        };
        parameters.iter().position(is_user).filter(|_| has_system)
    };
    let at = known
        .or_else(user_text)
        .or_else(|| parameters.iter().position(|parameter| is_text(parameter) && tells_text(&parameter.name)))
        .or_else(|| parameters.iter().position(is_text))
        .unwrap_or(0);
    let taker = parameters.get(at).ok_or("it takes no argument")?;
    if let Some(method) = object_method(body, &taker.name).filter(|_| taker.annotation.is_none()) {
        let (taker, method) = (named(taker), shown(NameKind::Identifier, &method).into_owned());
        return Err(format!("it uses `{method}` of `{taker}`, which is not a text"));
    }
    let is_clear = known.is_some() || tells_text(&taker.name);
    let mut call = TextCall::default();
    let value = text_value(taker, body, fields_of, shown, &mut call)?;
    for (n, parameter) in parameters.iter().enumerate() {
        let value = match n == at {
            true => value.clone(),
            false if parameter.optional => continue,
            false => match (constant_for(parameter), environment_value(parameter)) {
                (Some(constant), _) if !is_used_as_object(body, &parameter.name) => {
                    call.notes.push(format!("{constant} stands for `{}`", named(parameter)));
                    constant
                }
                _ if parameter
                    .annotation
                    .as_deref()
                    .and_then(fields_of)
                    .is_some_and(|fields| fields.iter().all(|field| field.optional))
                    && is_plain_record(parameter.annotation.as_deref().unwrap_or_default()) =>
                {
                    let class = parameter.annotation.clone().unwrap_or_default();
                    call.notes.push(format!(
                        "an empty `{}` stands for `{}`",
                        shown(NameKind::Type, &class),
                        named(parameter)
                    ));
                    call.classes.push(class.clone());
                    format!("{class}()")
                }
                (None, Some((variable, value))) if is_clear && !is_used_as_object(body, &parameter.name) => {
                    call.variables.push(variable);
                    value
                }
                _ if let Some((_, made)) = makers.iter().find(|(name, _)| *name == parameter.name) => {
                    call.imports.extend(made.imports.iter().cloned());
                    call.awaits |= made.is_async;
                    made.expression.clone()
                }
                _ => return Err(format!("it needs `{}` and `{}`", named(taker), named(parameter))),
            },
        };
        // By its name where its place does not say it.
        let by_place = call.arguments.len() == n && call.arguments.iter().all(|(name, _)| name.is_none());
        let name = match parameter.kind {
            ParameterKind::PositionalOnly if by_place => None,
            ParameterKind::PositionalOnly => {
                return Err(format!("`{}` can only be given after others", named(parameter)));
            }
            ParameterKind::PositionalOrKeyword if by_place && n == at && n == 0 => None,
            _ => Some(parameter.name.clone()),
        };
        call.arguments.push((name, value));
    }
    Ok(call)
}

/// Whether a name is that of what a program tells its model.
pub(crate) fn is_instruction_name(name: &str) -> bool {
    name.starts_with("system") || matches!(name, "instructions" | "instruction" | "persona" | "template")
}

/// Whether a class holds what a conversation needs and nothing else, by its name.
fn is_plain_record(class: &str) -> bool {
    ["State", "Memory", "Context", "History", "Session", "Options", "Params", "Config"]
        .iter()
        .any(|word| class.ends_with(word))
}

/// What code uses of a parameter, if texts have no such thing: `gen_model.generate_content(…)`, `bot.name`.
fn object_method(body: &str, parameter: &str) -> Option<String> {
    #[rustfmt::skip] // a list, not a column
    const OF_TEXTS: &[&str] = &[
        "strip", "lower", "upper", "split", "replace", "format", "startswith", "endswith", "join", "encode", "find",
        "count", "title", "capitalize", "rstrip", "lstrip", "splitlines", "isdigit", "casefold", "index", "isspace",
        "partition", "rpartition", "translate", "zfill", "append", "extend", "copy", "items", "get",
    ];
    let read = patterns::compile(&format!(r"(?:^|[^.\w]){}\.(\w+)(\()?", regex::escape(parameter))).ok()?;
    // A text has methods and no fields.
    let mut members = read.captures_iter(body);
    let found = members.find(|found| found.get(2).is_none() || !OF_TEXTS.contains(&&found[1]))?;
    Some(found[1].to_owned())
}

fn is_used_as_object(body: &str, parameter: &str) -> bool {
    object_method(body, parameter).is_some()
}

/// Whether a name is that of something a user does not say: an address, a file, a setting.
pub(crate) fn names_no_text(name: &str) -> bool {
    let name = variable_name(name).to_lowercase();
    [
        "url",
        "path",
        "file",
        "image",
        "img",
        "audio",
        "video",
        "email",
        "phone",
        "model",
        "mode",
        "api_key",
        "apikey",
        "date",
        "folder",
        "directory",
        "token",
        "html",
        "schema",
        "ticker",
        "symbol",
        "type",
        "mime",
        "key",
        "format",
        "status",
        "version",
        "provider",
        "locale",
        "timezone",
    ]
    .iter()
    .any(|part| name == *part || name.ends_with(&format!("_{part}")) || name.starts_with(&format!("{part}_")))
}

/// Whether a parameter can carry the text, by its name and type.
fn could_be_text(parameter: &FunctionParameter) -> bool {
    let name = parameter.name.as_str();
    let is_text = parameter.annotation.as_deref().is_none_or(is_text_type);
    let is_list = matches!(name, "messages" | "history" | "conversation" | "chat_history");
    !parameter.optional
        && !is_instruction_name(name)
        && (is_list
            || is_text && !NON_TEXT_PARAMETERS.contains(&name) && !is_id_name(name) && !names_no_text(name))
}

/// A value for a parameter that is not the text: an id, an empty history, a switch that is off.
fn constant_for(parameter: &FunctionParameter) -> Option<String> {
    let annotation = parameter.annotation.as_deref().unwrap_or_default().replace(' ', "");
    let is = |names: &[&str]| names.iter().any(|name| annotation.eq_ignore_ascii_case(name));
    let is_list =
        annotation.to_lowercase().starts_with("list") || annotation.to_lowercase().starts_with("sequence");
    let is_history = [
        "history",
        "messages",
        "chat_history",
        "conversation_history",
        "previous_messages",
        "context_messages",
    ]
    .contains(&parameter.name.as_str());
    if is_history && (is_list || annotation.is_empty()) {
        return Some("[]".to_owned());
    }
    if is(&["bool"]) {
        return Some("False".to_owned());
    }
    if is_id_name(&parameter.name) && is_invented_id(&parameter.name) {
        return if is(&["int"]) {
            Some("1".to_owned())
        } else if annotation.is_empty() || is_text_type(&annotation) {
            Some("\"fluxloop\"".to_owned())
        } else {
            None
        };
    }
    let is_text = annotation.is_empty() || is_text_type(&annotation);
    match parameter.name.as_str() {
        "language" | "lang" | "locale" if is_text => Some("\"en\"".to_owned()),
        "role" if is_text => Some("\"user\"".to_owned()),
        _ => None,
    }
}

/// A value that only the user knows: the environment variable, and the expression that reads it.
pub(crate) fn environment_value(parameter: &FunctionParameter) -> Option<(String, String)> {
    let annotation = parameter.annotation.as_deref().unwrap_or_default();
    let variable = format!("AGENT_{}", variable_name(&parameter.name));
    let read = format!("_required({})", serde_json::json!(variable));
    // What a helper works on is made by the program, not known to a user.
    let is_made = NON_TEXT_PARAMETERS.contains(&parameter.name.as_str()) && parameter.name != "model"
        || ["context", "docs", "documents", "chunks", "retrieved", "template", "system_prompt"]
            .iter()
            .any(|word| parameter.name.contains(word))
        || parameter.annotation.is_none() && names_object(&parameter.name);
    match annotation.trim() {
        _ if is_made => None,
        "int" | "float" => Some((variable, format!("{}({read})", annotation.trim()))),
        text if is_text_type(text) => Some((variable, read)),
        _ => None,
    }
}

/// Whether a name without a type is that of something that a program makes.
fn names_object(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_model = name.ends_with("model") && name != "model";
    is_model
        || [
            "schema",
            "class",
            "callback",
            "func",
            "handler",
            "tool",
            "client",
            "service",
            "manager",
            "chain",
            "llm",
            "retriever",
            "store",
            "embed",
            "logger",
            "engine",
            "memory",
            "cls",
        ]
        .iter()
        .any(|word| name.contains(word))
}

/// The expression that a parameter gets: the text, or a conversation of one message.
fn text_value(
    taker: &FunctionParameter,
    body: &str,
    fields_of: &ClassFinder<'_>,
    shown: &NameFormatter<'_>,
    call: &mut TextCall,
) -> Result<String, String> {
    const DICTIONARY: &str = "[{\"role\": \"user\", \"content\": message}]";
    let of_messages = matches!(taker.name.as_str(), "messages" | "history" | "conversation" | "chat_history");
    let element = taker.annotation.as_deref().and_then(list_element);
    match (taker.annotation.as_deref().map(str::trim), element) {
        (_, Some(element)) if of_messages => {
            let last = element.rsplit('.').next().unwrap_or_default();
            let plain =
                ["", "dict", "Dict", "Any", "object", "Mapping", "Message", "ChatCompletionMessageParam"];
            if matches!(last, "BaseMessage" | "AnyMessage" | "HumanMessage") {
                call.import = Some("from langchain_core.messages import HumanMessage  # noqa: E402\n");
                return Ok("[HumanMessage(content=message)]".to_owned());
            }
            if let Some(fields) = fields_of(last) {
                return message_object(last, &fields, call)
                    .ok_or_else(|| format!("its messages are `{}` objects", shown(NameKind::Type, last)));
            }
            if plain.contains(&last.split('[').next().unwrap_or_default()) || last.ends_with("Param") {
                return Ok(DICTIONARY.to_owned());
            }
            Err(format!("its messages are `{}` objects", shown(NameKind::Type, last)))
        }
        (Some(text), _) if is_text_type(text) && !is_id_name(&taker.name) && !names_no_text(&taker.name) => {
            Ok("message".to_owned())
        }
        (Some(text), _) if is_text_type(text) => Err(format!(
            "it takes `{}`, which is not what a user says",
            shown(NameKind::Identifier, &taker.name)
        )),
        (Some(text), _) => Err(format!("it takes a `{}`, not a text", shown(NameKind::Type, text))),
        (None, _) if of_messages => {
            if reads_attributes_of_messages(body, &taker.name) {
                return Err("its messages are objects, and their class is not shown".to_owned());
            }
            Ok(DICTIONARY.to_owned())
        }
        (None, _)
            if NON_TEXT_PARAMETERS.contains(&taker.name.as_str())
                || is_id_name(&taker.name)
                || names_no_text(&taker.name) =>
        {
            Err(format!("it takes `{}`, which is not a text", shown(NameKind::Identifier, &taker.name)))
        }
        (None, _) => Ok("message".to_owned()),
    }
}

/// `[ChatMessage(role="user", content=message)]`, if the class has these fields and needs no others.
fn message_object(class: &str, fields: &[FunctionParameter], call: &mut TextCall) -> Option<String> {
    let has = |name: &str| fields.iter().any(|field| field.name == name);
    let content = ["content", "text", "message"].into_iter().find(|name| has(name))?;
    let role = ["role", "sender"].into_iter().find(|name| has(name));
    let is_given = |field: &&FunctionParameter| field.name == content || Some(field.name.as_str()) == role;
    if fields.iter().any(|field| !field.optional && !is_given(&field)) {
        return None;
    }
    call.classes.push(class.to_owned());
    let role = role.map(|role| format!("{role}=\"user\", ")).unwrap_or_default();
    Some(format!("[{class}({role}{content}=message)]"))
}

/// The type of the elements of a list: `list[ChatMessage]`.
fn list_element(annotation: &str) -> Option<&str> {
    let annotation = annotation.trim();
    let inner = annotation
        .strip_prefix("Optional[")
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or_else(|| annotation.trim_end_matches("| None").trim());
    let lower = inner.to_lowercase();
    let is_list = ["list", "sequence", "iterable"].iter().any(|kind| lower.starts_with(kind));
    is_list.then(|| inner.split_once('[').map_or("", |(_, rest)| rest.trim_end_matches(']').trim()))
}

/// Whether code reads `message.role` of the elements of a list, which a dictionary does not have.
fn reads_attributes_of_messages(body: &str, list: &str) -> bool {
    let each = patterns::compile(&format!(r"for\s+(\w+)\s+in\s+{}\b", regex::escape(list)));
    let Some(name) = each.ok().and_then(|each| Some(each.captures(body)?.get(1)?.as_str().to_owned())) else {
        return false;
    };
    patterns::compile(&format!(r"\b{}\.(?:role|content)\b", regex::escape(&name)))
        .is_ok_and(|read| read.is_match(body))
}

/// Whether a name is that of an identifier.
pub(crate) fn is_id_name(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with("id") || ["session", "thread", "conversation", "user", "username"].contains(&name.as_str())
}

/// Whether a name has a word for what a user says: `need_description`, `customerQuestion`.
pub(crate) fn tells_text(name: &str) -> bool {
    const WORDS: &[&str] =
        &["message", "question", "query", "prompt", "text", "input", "description", "request", "problem"];
    let words = variable_name(name).to_lowercase();
    words.split('_').any(|word| WORDS.contains(&word.trim_end_matches('s')))
}

/// `documentId` as part of the name of an environment variable: `DOCUMENT_ID`.
pub(crate) fn variable_name(name: &str) -> String {
    let mut text = String::new();
    let mut after_lowercase = false;
    for c in name.chars() {
        if c.is_uppercase() && after_lowercase {
            text.push('_');
        }
        after_lowercase = c.is_lowercase();
        text.push(if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    }
    text
}

/// Whether an id can be invented: that of a conversation or a caller. Others name something that must exist.
pub(crate) fn is_invented_id(name: &str) -> bool {
    let name = name.to_lowercase().replace('_', "");
    let stem = name.strip_suffix("id").unwrap_or(&name);
    [
        "session",
        "thread",
        "conversation",
        "conv",
        "chat",
        "user",
        "username",
        "client",
        "request",
        "trace",
        "message",
        "run",
        "correlation",
        "visitor",
        "device",
        "unique",
        "uuid",
        "guid",
        "guest",
        "customer",
        "chatsession",
        "sender",
        "",
    ]
    .iter()
    .any(|known| stem == *known || !known.is_empty() && stem.ends_with(known))
}

/// Whether a type is that of a text, or may be.
pub(crate) fn is_text_type(annotation: &str) -> bool {
    let plain = annotation.replace([' ', '"', '\''], "");
    let parts = ["", "str", "None", "Optional", "Union", "…", "Any", "object", "Annotated"];
    let either = ["dict", "Dict", "list", "List", "int", "float", "bytes", "Sequence"];
    let words = || plain.split(['|', '[', ']', ',']);
    // `str | dict`: a text will do.
    let takes_either = (plain.contains('|') || plain.starts_with("Union["))
        && words().any(|word| word == "str")
        && words().all(|word| parts.contains(&word) || either.contains(&word));
    takes_either
        || plain.starts_with("Annotated[str")
        || plain.starts_with("constr(")
        || plain == "StrictStr"
        || plain.split(['|', '[', ']', ',']).all(|part| parts.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(texts: &[&str]) -> Vec<FunctionParameter> {
        let one = |text: &&str| {
            let (text, optional) = text.strip_suffix('?').map_or((*text, false), |text| (text, true));
            let (name, annotation) =
                text.split_once(": ").map_or((text, None), |(name, of)| (name, Some(of.to_owned())));
            let (name, given) = match name.split_at(1) {
                ("/", name) => (name, ParameterKind::PositionalOnly),
                ("*", name) => (name, ParameterKind::KeywordOnly),
                _ => (name, ParameterKind::PositionalOrKeyword),
            };
            FunctionParameter { name: name.to_owned(), annotation, optional, kind: given, injected: false }
        };
        texts.iter().map(one).collect()
    }

    #[test]
    fn one_text_becomes_the_arguments_of_a_function() {
        let classes: &ClassFinder<'_> = &|name| match name {
            "Turn" => Some(parameters(&["role: str", "content: str", "name: str?"])),
            "Row" => Some(parameters(&["id: int", "content: str"])),
            _ => None,
        };
        let check = |texts: &[&str], expected: Option<&str>| {
            let shown: &NameFormatter<'_> = &|_, name| Cow::Borrowed(name);
            let call = text_call(&parameters(texts), "for turn in messages: turn.role", classes, shown, &[]);
            assert_eq!(call.ok().map(|call| call.render()).as_deref(), expected, "{texts:?}");
        };
        let dictionary = "[{\"role\": \"user\", \"content\": message}]";
        check(&["question: str"], Some("message"));
        check(&["question"], Some("message"));
        check(&["q: str | None", "k: int?"], Some("message"));
        check(&["q: Optional[str]"], Some("message"));
        check(&["session: str?", "message: str?"], Some("message=message"));
        check(&["*message: str"], Some("message=message"));
        check(&["/message: str"], Some("message"));
        check(&["messages: list[dict]"], Some(dictionary));
        check(&["messages: List[Dict[str, str]]"], Some(dictionary));
        check(&["messages: list[Turn]"], Some("[Turn(role=\"user\", content=message)]"));
        check(&["messages: list[BaseMessage]"], Some("[HumanMessage(content=message)]"));
        check(&["history: list"], Some(dictionary));
        // Two more that are filled with what means nothing.
        check(&["user_id: int", "question: str"], Some("user_id=1, question=message"));
        check(
            &["question: str", "session_id: str", "history: list"],
            Some("message, session_id=\"fluxloop\", history=[]"),
        );
        check(&["question: str", "stream: bool"], Some("message, stream=False"));
        check(&["messages: list[Row]"], None);
        check(&["messages: list[Unknown]"], None);
        check(&["messages"], None); // The body reads attributes of its elements.
        check(&[], None);
        check(&["question: str", "documents: list[str]"], None);
        check(&["/session: str?", "/message: str?"], None);
        check(&["body: ChatRequest"], None);
        check(&["state"], None);
        check(&["numbers: list[int]"], None);
    }

    #[test]
    fn direct_target_works_with_every_release_line() {
        let direct = |name: &str, texts: &[&str], gives_text: bool| {
            let (path, name, parameters) = (String::new(), name.to_owned(), parameters(texts));
            let (is_async, is_generator, makes_itself) = (false, false, true);
            TargetFunction {
                path,
                line: 1,
                name,
                parameters,
                is_async,
                is_generator,
                is_default_constructible: makes_itself,
                returns_text: gives_text,
                end_line: 1,
                yields_frames: false,
                instance: None,
                makers: Vec::new(),
            }
            .is_directly_callable()
        };
        assert!(direct("f", &["q: str"], true));
        assert!(!direct("f", &["q: str"], false));
        assert!(!direct("A.f", &["q: str"], true));
        // 0.4 would hand the text to `session`, 0.2 to `message`.
        assert!(!direct("f", &["session: str?", "message: str?"], true));
        assert!(!direct("f", &["*message: str"], true));
        assert!(!direct("f", &["/message: str"], true));
    }
}
