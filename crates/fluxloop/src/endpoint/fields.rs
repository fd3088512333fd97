//! Which field of a request carries the text, what the others are filled with, and which field of a response is the answer.

use crate::patterns;
use codebase::Route;
use serde_json::{Value, json};

use super::{FieldValue, IdForm, RequestField, is_message_list};
use crate::package::is_python_file;
use crate::target::{
    is_id_name, is_instruction_name, is_invented_id, is_text_type, names_no_text, tells_text, variable_name,
};

#[rustfmt::skip] // lists, not columns
pub(super) const INPUT_FIELDS: &[&str] = &[
    "message", "query", "question", "prompt", "user_message", "userMessage", "user_input", "userInput", "input_text",
    "inputText", "user_query", "userQuery", "user_prompt", "userPrompt", "user_question", "userQuestion", "chat_input",
    "chatInput", "inputMessage", "input_message", "messageText", "userText", "user_text", "question_text", "newMessage",
    "new_message", "input", "msg", "text", "utterance", "content", "instruction", "topic", "q", "description", "task", "goal",
    "request",
];
/// Names that stand for nothing but what a user says.
const TEXT_FIELDS: &[&str] = &["question", "query", "prompt", "user_message", "user_input", "user_query"];
pub(super) const MESSAGE_LIST_FIELDS: &[&str] = &["messages", "history", "conversation", "chat_history"];
#[rustfmt::skip]
pub(super) const REPLY_FIELDS: &[&str] = &[
    "answer", "reply", "response", "output", "text", "content", "result", "completion", "final_output", "data", "message",
    "bot_response", "botResponse", "ai_response", "aiResponse", "assistant", "generated_text", "response_text", "final_answer",
    "final_response", "msg", "explanation", "report", "executive_summary", "summary",
];
/// Response fields that report status and never contain the reply.
pub(super) const STATUS_FIELDS: &[&str] =
    &["success", "ok", "error", "errors", "detail", "status", "code", "id"];
/// Request fields assumed to be optional even if nothing declares them so.
#[rustfmt::skip]
pub(super) const OPTIONAL_FIELDS: &[&str] = &[
    "model", "temperature", "stream", "max_tokens", "maxTokens", "top_p", "topP", "language", "lang", "locale", "options",
    "settings", "debug", "metadata", "verbose",
];
/// Request fields that carry a file.
pub(super) const FILE_FIELDS: &[&str] =
    &["file", "files", "image", "images", "audio", "document", "pdf", "attachment", "photo", "video"];
/// The field for the input: by its declared type if there is one, else by its name.
pub(super) fn choose_field(route: &Route, source: &str) -> Option<RequestField> {
    let declared = |name: &str| {
        route.declared.iter().find(|field| field.name == name).and_then(|field| field.annotation.as_deref())
    };
    let has = |known: &&&str| route.request.iter().any(|field| field == **known);
    let is_string = |name: &str| {
        // A parameter may be called like its field: `message.message`.
        let is_declared_text =
            declared(name).is_some_and(|annotation| is_text_type(annotation) || annotation == "string");
        // `question: Question`, where that is a name for texts of a certain length.
        let is_alias = TEXT_FIELDS.contains(&name)
            && declared(name).is_some_and(|annotation| {
                !annotation.contains("Message")
                    && annotation.chars().all(char::is_alphanumeric)
                    && annotation.starts_with(char::is_uppercase)
            });
        if is_alias && !is_read_as_object(source, name) {
            return true;
        }
        (is_declared_text || !is_read_as_object(source, name))
            && declared(name).is_none_or(|annotation| {
                is_text_type(annotation) || annotation.trim().trim_end_matches(" | undefined") == "string"
            })
    };
    let known: Vec<&&str> = INPUT_FIELDS.iter().filter(has).filter(|name| is_string(name)).collect();
    // Of several, the one without which the handler refuses the request.
    let demanded = known.iter().find(|name| is_refused_without(source, name));
    if let Some(name) = demanded.filter(|_| known.len() > 1).or(known.first()) {
        return Some(RequestField::Text((**name).to_owned()));
    }
    let is_message = |annotation: &str| annotation == "object" || annotation.contains("Message");
    if has(&&"message") && declared("message").is_some_and(is_message) {
        return Some(RequestField::Part("message".to_owned()));
    }
    let is_texts = |name: &str| {
        let annotation = declared(name).unwrap_or_default().replace(' ', "").to_lowercase();
        matches!(annotation.as_str(), "list[str]" | "string[]" | "sequence[str]")
    };
    if let Some(name) = MESSAGE_LIST_FIELDS.iter().find(has).filter(|name| is_texts(name)) {
        return Some(RequestField::Texts((*name).to_owned()));
    }
    if let Some(name) = MESSAGE_LIST_FIELDS.iter().find(has) {
        let is_plain = declared(name).is_some_and(is_text_type);
        return Some(if is_plain {
            RequestField::Text((*name).to_owned())
        } else {
            RequestField::Messages((*name).to_owned())
        });
    }
    if let Some(list) = route.request.iter().find(|name| is_message_list(route, name)) {
        return Some(RequestField::Messages(list.clone()));
    }
    let is_known = |name: &str| {
        is_id_name(name)
            || OPTIONAL_FIELDS.contains(&name)
            || FILE_FIELDS.contains(&name)
            || names_no_text(name) && !tells_text(name)
    };
    let is_optional = |name: &&String| {
        let may_miss = route.optional.contains(*name)
            || route.declared.iter().any(|field| field.name == **name && field.optional);
        may_miss && !is_refused_without(source, name)
    };
    let open: Vec<&String> = route.request.iter().filter(|name| !is_known(name) && is_string(name)).collect();
    let only = |names: Vec<&String>| if let [only] = names.as_slice() { Some((*only).clone()) } else { None };
    let needed = || open.iter().copied().filter(|name| !is_optional(name)).collect();
    let telling = || open.iter().copied().filter(|name| tells_text(name)).collect();
    only(open.clone()).or_else(|| only(telling())).or_else(|| only(needed())).map(RequestField::Text)
}

/// Values for the other fields that a request needs.
pub(super) fn fill_extra_fields(route: &Route, text: &str, source: &str) -> Vec<(String, FieldValue)> {
    let needed = route.request.iter().filter(|name| *name != text);
    needed.filter_map(|name| Some((name.clone(), value_for_field(route, name, source)?))).collect()
}

/// The value for a field; `None` if it may be left out.
pub(super) fn value_for_field(route: &Route, name: &str, source: &str) -> Option<FieldValue> {
    let declared = route.declared.iter().find(|field| field.name == name);
    let annotation =
        declared.and_then(|field| field.annotation.as_deref()).unwrap_or_default().to_lowercase();
    let is_refused = is_refused_without(source, name);
    let may_miss = declared.is_some_and(|field| field.optional)
        || annotation.contains("none")
        || annotation.contains("optional")
        || annotation.contains("undefined")
        || route.optional.iter().any(|known| known == name);
    // In Python, `data["name"]` fails if it is not there, where `data.get("name")` does not.
    let is_read_in_any_case = is_python_file(&route.file) && declared.is_none();
    if may_miss && !is_refused
        || declared.is_none() && !is_read_in_any_case && OPTIONAL_FIELDS.contains(&name)
    {
        return None;
    }
    // In JavaScript, a missing field matters only where code reads members of it, or lets it name the model.
    let plain = regex::escape(name);
    // A key of what is looked up, stored or called with it has to be there, too.
    let is_key = name.to_lowercase().contains("model") || is_id_name(name);
    let given = if is_key { r"|\(\s*NAME\s*[,)]|[({,]\s*NAME\s*[,}]|\w\s*:\s*NAME\s*[,}\n]" } else { "" };
    let used = format!(r"\bNAME\.\w{given}").replace("NAME", &plain);
    // Where the field is taken out of the body is no use of it.
    let taken = patterns::compile(r"(?s)(?:const|let|var)\s*\{[^}]*\}\s*(?::\s*[^=]+)?=");
    let rest = taken.map_or_else(|_| source.to_owned(), |taken| taken.replace_all(source, "").into_owned());
    let source_without_body = rest.as_str();
    let is_used = patterns::compile(&used).is_ok_and(|used| used.is_match(source_without_body));
    let is_checked = declared.is_some() && route.is_validated;
    let is_left_out = !(is_python_file(&route.file) || is_checked || is_refused || is_used);
    let is_declared_text =
        declared.is_some() && (annotation == "string" || annotation.starts_with(['"', '\'']));
    if is_left_out {
        match annotation.split(['"', '\'']).nth(1) {
            _ if declared.is_none() && is_id_name(name) => return None,
            // `visibility: "private" | "public"`.
            Some(first) if is_declared_text => return Some(FieldValue::Constant(json!(first))),
            _ if is_declared_text && !is_id_name(name) => {
                return Some(FieldValue::Optional(field_variable(name)));
            }
            _ if declared.is_some() && !annotation.ends_with("[]") && !is_declared_text => return None,
            _ => {}
        }
    }
    let is_conversation = MESSAGE_LIST_FIELDS.contains(&name) || name.to_lowercase().ends_with("history");
    let is_list = annotation.starts_with("list")
        || annotation.ends_with("[]")
        || annotation.is_empty() && is_conversation;
    // What an empty list would leave out, only the user knows: `model_ids: list[UUID]`.
    let holds_values = ["list[uuid", "list[str", "list[int", "string[]", "number[]"];
    let is_extra = ["context", "tags", "attachments", "files", "images", "tools"]
        .iter()
        .any(|word| name.to_lowercase().contains(word));
    let is_chosen_list = is_list
        && !is_conversation
        && !is_extra
        && !may_miss
        && holds_values.iter().any(|kind| annotation.starts_with(kind))
        && (is_checked || is_refused);
    let is_string = annotation.is_empty() || is_text_type(&annotation) || annotation == "string";
    let is_uuid = annotation.contains("uuid") && !is_list;
    let constant = |value: Value| Some(FieldValue::Constant(value));
    if is_list && !is_chosen_list {
        return constant(json!([]));
    }
    // An id of MongoDB has a form of its own.
    let is_object_id = patterns::compile(&format!(r"(?:findById\w*|ObjectId|findOne\w*ById)\(\s*{plain}\b"))
        .is_ok_and(|found| found.is_match(source));
    if is_id_name(name) && is_invented_id(name) && (is_string || is_uuid) && !is_object_id {
        let form = if is_uuid { IdForm::Uuid } else { IdForm::of_name(name) };
        return Some(FieldValue::Id(format!("AGENT_{}", variable_name(name)), form));
    }
    match (annotation.as_str(), name) {
        ("bool" | "boolean", _) => return constant(json!(false)),
        ("dict", _) => return constant(json!({})),
        (_, "role" | "sender") if is_string => return constant(json!("user")),
        (_, "language" | "lang" | "locale") if is_string => return constant(json!("en")),
        ("int" | "number", "top_k" | "topK" | "k" | "limit" | "n" | "num_results") => {
            return constant(json!(5));
        }
        ("int" | "number", "page" | "pageNumber" | "page_number") => return constant(json!(1)),
        ("int" | "number", "pageSize" | "page_size" | "per_page" | "size") => return constant(json!(10)),
        ("int" | "number", "max_tokens" | "maxTokens") => return constant(json!(512)),
        ("float" | "number", _) if name.to_lowercase().contains("temperature") => {
            return constant(json!(0.7));
        }
        _ => {}
    }
    // Code that reads a field does not tell that it must be there, unless it refuses requests without it.
    let is_needed = declared.is_some() || is_read_in_any_case || is_id_name(name) || is_refused || is_used;
    let variable = field_variable(name);
    let is_text = is_string && !is_list
        || is_uuid
        || annotation.starts_with(['"', '\''])
        || annotation.starts_with("literal");
    is_needed.then_some(if is_text { FieldValue::Variable(variable) } else { FieldValue::Parsed(variable) })
}

/// The environment variable for a field. The bridges read two themselves.
pub(super) fn field_variable(name: &str) -> String {
    match variable_name(name).as_str() {
        own @ ("URL" | "TIMEOUT") => format!("AGENT_INPUT_{own}"),
        other => format!("AGENT_{other}"),
    }
}

/// Whether code reads members of a field that a text does not have: `content.html`, `content?.html`.
fn is_read_as_object(source: &str, name: &str) -> bool {
    #[rustfmt::skip] // a list, not a column
    const OF_TEXTS: &[&str] = &[
        "trim", "strip", "length", "toLowerCase", "lower", "toString", "split", "replace", "replaceAll", "slice", "substring",
        "includes", "startswith", "startsWith", "endsWith", "endswith", "match", "encode", "format", "upper", "toUpperCase",
        "text", "content", "trimEnd", "trimStart", "rstrip", "lstrip", "count", "find", "indexOf", "title", "charAt", "at",
        "substr", "normalize", "concat", "join", "isspace", "model_dump", "dict", "get",
    ];
    let plain = regex::escape(name);
    // Its text is that of an object: `json.loads(data)`.
    let parsed = patterns::compile(&format!(r"(?:json\.loads|JSON\.parse)\(\s*(?:\w+\.)*{plain}\s*[,)]"));
    if parsed.is_ok_and(|parsed| parsed.is_match(source)) {
        return true;
    }
    let Ok(read) = patterns::compile(&format!(r"(?:^|[^.\w]){plain}\??\.(\w+)")) else {
        return false;
    };
    read.captures_iter(source).any(|found| !OF_TEXTS.contains(&&found[1]))
}

/// Whether code answers with an error if a field is not there: `if not name: return …, 400`.
pub(super) fn is_refused_without(source: &str, name: &str) -> bool {
    const NEAR: usize = 600;
    // Also under the name of the variable that it is put into: `unique_id = request.args.get("uniqueId")`.
    let put_into =
        format!(r"\b(\w+)\s*(?::\s*[\w\[\] |]+)?=\s*[^=\n;]*[\x22'.]{}\b[\x22')\];,\s]", regex::escape(name));
    // `const { conversation_id: conversationId } = req.body`
    let renamed = format!(r"[{{,]\s*{}\s*:\s*(\w+)\s*(?:[,}}=])", regex::escape(name));
    let variables =
        [put_into, renamed].into_iter().filter_map(|pattern| patterns::compile(&pattern).ok()).flat_map(
            |put_into| put_into.captures_iter(source).map(|found| found[1].to_owned()).collect::<Vec<_>>(),
        );
    let names: Vec<String> =
        std::iter::once(name.to_owned()).chain(variables).map(|name| regex::escape(&name)).collect();
    let name = format!("(?:{})", names.join("|"));
    let checks = format!(
        r"!\s*(?:\w+\.)?{name}\b|\bnot\s+(?:\w+\.)?{name}\b|\b{name}\s*(?:is None|===?\s*(?:undefined|null))|{name}[\x22']\s+not\s+in\b"
    );
    let refusal =
        patterns::compile(r"\b4\d\d\b|\braise\b|\bthrow\b|abort\(|BadRequest|[\x22']?error[\x22']?\s*:");
    let (Ok(checks), Ok(refusal)) = (patterns::compile(&checks), refusal) else { return false };
    checks.find_iter(source).any(|found| {
        let after: String = source[found.end()..].chars().take(NEAR).collect();
        // Up to what the check guards, not what comes after it.
        let guarded = after.split("\n\n").next().unwrap_or_default();
        refusal.is_match(guarded)
    })
}

/// The field among these that takes what a user says, by its name.
pub(crate) fn find_text_field(names: &[String]) -> Option<String> {
    let known = INPUT_FIELDS.iter().find(|known| names.iter().any(|name| name == *known));
    let told = || {
        let is_told = |name: &&String| tells_text(name) && !tells_reply(name) && !is_instruction_name(name);
        names.iter().find(is_told).cloned()
    };
    known.map(|known| (*known).to_owned()).or_else(told)
}

/// Whether a name has a word for an answer.
pub(crate) fn tells_reply(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "answer",
        "reply",
        "response",
        "assistant",
        "bot",
        "output",
        "generated",
        "generation",
        "report",
        "result",
        "final",
    ];
    WORDS.iter().any(|word| name.to_lowercase().contains(word))
}

/// The field of a response that holds the answer. `request`: what was sent, which some programs send back.
pub(crate) fn find_reply_field(fields: &[String], request: &[String]) -> Option<String> {
    let is_other = |field: &String| {
        let lower = field.to_lowercase();
        STATUS_FIELDS.contains(&field.as_str())
            || is_id_name(field)
            || ["_to", "_at", "_type", "_time", "_count", "_url", "timestamp"]
                .iter()
                .any(|end| lower.ends_with(end))
            || request.contains(field) && !REPLY_FIELDS.contains(&field.as_str())
    };
    let told: Vec<&String> = fields.iter().filter(|field| !is_other(field)).collect();
    // An explanation explains another field.
    let told: Vec<&String> = match told.as_slice() {
        [_] => told,
        _ => told.into_iter().filter(|field| *field != "explanation").collect(),
    };
    let known = REPLY_FIELDS
        .iter()
        .find(|known| told.iter().any(|field| field == *known))
        .map(|known| (*known).to_owned());
    let by_word = || {
        const WORDS: &[&str] = &["answer", "reply", "response", "assistant", "bot", "output", "generated"];
        let speaks = |field: &&&String| WORDS.iter().any(|word| field.to_lowercase().contains(word));
        told.iter().find(speaks).map(|field| (*field).clone())
    };
    known.or_else(by_word).or_else(|| if let [only] = told.as_slice() { Some((*only).clone()) } else { None })
}
