//! HTTP routes that lead to an agent, and rendering of the files that call them.

use codebase::{NameKind, NameRedactor, Route};
use regex::Regex;
use serde_json::{Value, json};

use crate::blocker::Blocker;
use crate::integrate::display_route;
use crate::target::{is_id_name, is_invented_id, is_text_type};

/// A request with one input string, and where the reply is in its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentEndpoint {
    pub(crate) method: &'static str,
    /// The path, with constants for its parameters.
    path: Vec<PathPart>,
    pub(crate) field: RequestField,
    /// How the fields are sent.
    encoding: Encoding,
    /// The other fields with the values sent in them.
    extra_fields: Vec<(String, FieldValue)>,
    /// Field of the response that contains the reply; `None`: found in the response when it arrives.
    pub(crate) reply_field: Option<String>,
    /// The header that carries the caller's credentials.
    credentials: Option<CredentialHeader>,
    warnings: Vec<String>,
    /// Redacted display name for messages.
    label: String,
}

/// The request field that carries the input, by its form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestField {
    /// A string.
    Text(String),
    /// A list of messages with `role` and `content`.
    Messages(String),
    /// A list of messages with `parts`, as AI SDK clients send them.
    Parts(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Json,
    Form,
    Query,
}

impl Encoding {
    /// How a route expects the field that carries the text.
    fn of_field(route: &Route, method: &str, name: &str) -> Self {
        if method == "GET" || route.query.iter().any(|known| known == name) {
            Self::Query
        } else if route.form.iter().any(|known| known == name) {
            Self::Form
        } else {
            Self::Json
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathPart {
    Text(String),
    /// An environment variable that the user sets.
    Variable(String),
    /// An id: of the environment, else an invented one.
    Id(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FieldValue {
    Constant(Value),
    /// An environment variable that the user sets.
    Variable(String),
    /// An id: of the environment, else an invented one.
    Id(String),
}

/// A header whose value comes from the environment: credentials never stand in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CredentialHeader {
    name: String,
    variable: String,
}

/// The language that a bridge is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BridgeLanguage {
    Python,
    Script,
}

#[rustfmt::skip] // lists, not columns
const INPUT_FIELDS: &[&str] = &[
    "message", "input", "query", "question", "prompt", "text", "user_message", "userMessage", "user_input", "userInput",
    "input_text", "inputText", "user_query", "userQuery", "msg", "content", "chatInput", "utterance", "instruction", "topic", "q",
    "newMessage", "new_message", "user_prompt", "userPrompt", "user_question", "userQuestion", "chat_input", "inputMessage",
    "input_message", "messageText", "userText", "user_text", "question_text", "description", "task", "goal", "request",
];
const MESSAGE_LIST_FIELDS: &[&str] = &["messages", "history", "conversation", "chat_history"];
#[rustfmt::skip]
const REPLY_FIELDS: &[&str] = &[
    "answer", "reply", "response", "output", "text", "content", "result", "completion", "final_output", "data", "message",
    "bot_response", "botResponse", "ai_response", "aiResponse", "assistant", "generated_text", "response_text",
];
/// Response fields that report status and never contain the reply.
const STATUS_FIELDS: &[&str] = &["success", "ok", "error", "errors", "detail", "status", "code", "id"];
/// Request fields assumed to be optional even if nothing declares them so.
#[rustfmt::skip]
const OPTIONAL_FIELDS: &[&str] = &[
    "model", "temperature", "stream", "max_tokens", "maxTokens", "top_p", "topP", "language", "lang", "locale", "options",
    "settings", "debug", "metadata", "verbose",
];
/// Request fields that carry a file.
const FILE_FIELDS: &[&str] =
    &["file", "files", "image", "images", "audio", "document", "pdf", "attachment", "photo", "video"];
/// Words in the names of middleware and dependencies that require authentication.
#[rustfmt::skip]
const GUARD_WORDS: &[&str] = &[
    "auth", "jwt", "login", "guard", "protect", "verify", "token", "permission", "current_user", "currentuser",
    "session_required", "api_key", "apikey", "credential", "principal",
];

/// How a route was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteChoice {
    /// By analysis: what is unclear keeps it from being used.
    Found,
    /// By the user: what is unclear becomes a warning.
    Named,
}

impl AgentEndpoint {
    /// Infers the request and response of a route. `source`: the code of its handler.
    pub(crate) fn from_route(
        route: &Route,
        source: &str,
        field: Option<&str>,
        choice: RouteChoice,
        redactor: &NameRedactor,
    ) -> Result<Self, Vec<Blocker>> {
        let shown = display_route(redactor, route);
        let file = redactor.file(&route.file).into_owned();
        let blocked = |what: String| vec![Blocker::new(what).at(file.clone(), route.line).lifted_by("agent")];
        let name_of =
            |name: &str| redactor.name(NameKind::Identifier, name, &route.file, route.line).into_owned();
        let names = |all: &[String]| all.iter().map(|name| name_of(name)).collect::<Vec<_>>().join(", ");
        let is_named = choice == RouteChoice::Named;
        let method = match route.method.as_str() {
            "POST" | "ANY" => "POST",
            "GET" => "GET",
            "PUT" => "PUT",
            "PATCH" => "PATCH",
            "WEBSOCKET" => return Err(blocked(format!("{shown} talks over a websocket"))),
            other => return Err(blocked(format!("{shown} takes {} requests", name_of(other)))),
        };
        let mut warnings = Vec::new();
        let lower = route.path.to_lowercase();
        if ["webhook", "callback", "interactivity", "/hook", "/events"]
            .iter()
            .any(|word| lower.contains(word))
        {
            let what = format!("{shown} is called by another service, not by a user");
            if !is_named {
                return Err(blocked(what));
            }
            warnings.push(what);
        }
        let path =
            path_parts(&route.path, &mut warnings).map_err(|why| blocked(format!("{why} ({shown})")))?;
        if let Some(what) = find_obstacle(route, source).filter(|_| !is_named) {
            return Err(blocked(format!("{shown} {what}")));
        }
        let is_remote =
            ["runs.stream(", "runs.create(", ".threads."].iter().any(|call| source.contains(call));
        let chosen = match field {
            Some(name) if MESSAGE_LIST_FIELDS.contains(&name) => {
                Some(RequestField::Messages(name.to_owned()))
            }
            Some(name) => Some(RequestField::Text(name.to_owned())),
            None => choose_field(route),
        };
        let field = match chosen {
            Some(field) => field,
            None if is_named => {
                let guess = route.request.iter().find(|name| !is_id_name(name)).cloned();
                let guess = guess.unwrap_or_else(|| "message".to_owned());
                warnings.push(format!(
                    "The code of {shown} does not show which request field carries the text; the request uses `{}`. To \
                     use another, pass it as `request_field`",
                    name_of(&guess)
                ));
                RequestField::Text(guess)
            }
            None => {
                let seen = if route.request.is_empty() {
                    "is a route whose handler reads no request field that was found".to_owned()
                } else {
                    format!(
                        "reads {}, and it is not clear which of them carries the text",
                        names(&route.request)
                    )
                };
                let what = format!("{shown} {seen}");
                return Err(vec![Blocker::new(what).at(file, route.line).lifted_by("request_field")]);
            }
        };
        if let RequestField::Messages(list) = &field
            && let Some(member) = unexpected_message_member(source, list)
        {
            let what = format!("{shown} reads `{}` from each entry of `{}`", name_of(&member), name_of(list));
            if !is_named {
                return Err(blocked(format!("{what}, which is not a usual message field")));
            }
            warnings.push(what);
        }
        let extra_fields = fill_extra_fields(route, field.name(), source);
        for (name, value) in &extra_fields {
            if let FieldValue::Id(variable) = value {
                warnings.push(invented_id_warning(&name_of(name), variable));
            }
        }
        let needs_thread = |(name, _): &(String, FieldValue)| name.to_lowercase().contains("thread");
        if is_remote && !is_named && extra_fields.iter().any(needs_thread) {
            return Err(blocked(format!("{shown} needs an existing thread of another service")));
        }
        let encoding = Encoding::of_field(route, method, field.name());
        let mut endpoint = Self {
            method,
            path,
            field,
            encoding,
            extra_fields,
            reply_field: find_reply_field(&route.response),
            credentials: None,
            warnings,
            label: shown,
        };
        endpoint.read_messages(source);
        Ok(endpoint)
    }

    /// Sends credentials from the environment, because something in front of the handler checks them.
    pub(crate) fn require_credentials(&mut self, guard: &str, source: &str) {
        let lower = guard.to_lowercase();
        let by_session = [
            "login_required",
            "loginrequired",
            "session",
            "auth(",
            "getauth",
            "getuser",
            "currentuser",
            "clerk",
            "supabase",
        ];
        let reads_header =
            ["authorization", "bearer", "x-api-key"].iter().any(|word| source.to_lowercase().contains(word));
        let is_cookie =
            !reads_header && (lower == "auth" || by_session.iter().any(|word| lower.contains(word)));
        let name = if is_cookie { "Cookie".to_owned() } else { credential_header(source) };
        let variable = format!("AGENT_{}", variable_name(&name));
        self.warnings.push(format!(
            "{} is protected by `{guard}`: before a run, set {variable} to the value of the header `{name}`",
            self.label
        ));
        self.credentials = Some(CredentialHeader { name, variable });
    }

    /// The field that carries the text.
    pub(crate) fn text_field(&self) -> &str {
        self.field.name()
    }

    pub(crate) fn needs_credentials(&self) -> bool {
        self.credentials.is_some()
    }

    /// The environment variables that must be set before a run.
    pub(crate) fn variables(&self) -> Vec<String> {
        let path = self.path.iter().filter_map(|part| match part {
            PathPart::Variable(name) => Some(name.clone()),
            PathPart::Text(_) | PathPart::Id(_) => None,
        });
        let fields = self.extra_fields.iter().filter_map(|(_, value)| match value {
            FieldValue::Variable(name) => Some(name.clone()),
            FieldValue::Constant(_) | FieldValue::Id(_) => None,
        });
        path.chain(fields).collect()
    }

    /// The path for people, with the names of variables.
    pub(crate) fn display_path(&self) -> String {
        let part = |part: &PathPart| match part {
            PathPart::Text(text) => text.clone(),
            PathPart::Variable(name) | PathPart::Id(name) => format!("{{{name}}}"),
        };
        self.path.iter().map(part).collect()
    }

    /// What the handler's code shows about messages and streams.
    fn read_messages(&mut self, source: &str) {
        let by_parts =
            ["UIMessage", "convertToModelMessages", ".parts"].iter().any(|word| source.contains(word));
        if by_parts && let RequestField::Messages(name) = &self.field {
            self.field = RequestField::Parts(name.clone());
        }
    }

    /// The fields of the request, with `TEXT` as the placeholder for the input, and `VARIABLE:NAME` for a variable.
    fn request_fields(&self) -> Value {
        let text = match &self.field {
            RequestField::Text(_) => json!("TEXT"),
            RequestField::Messages(_) => json!([{ "role": "user", "content": "TEXT" }]),
            RequestField::Parts(_) => {
                json!([{ "id": "1", "role": "user", "parts": [{ "type": "text", "text": "TEXT" }] }])
            }
        };
        let more = self.extra_fields.iter().map(|(name, value)| match value {
            FieldValue::Constant(value) => (name.clone(), value.clone()),
            FieldValue::Variable(variable) => (name.clone(), json!(format!("VARIABLE:{variable}"))),
            FieldValue::Id(variable) => (name.clone(), json!(format!("ID:{variable}"))),
        });
        Value::Object(std::iter::once((self.name().to_owned(), text)).chain(more).collect())
    }

    /// The fields as an expression over the variable `message`.
    fn fields_expression(&self, language: BridgeLanguage) -> String {
        render_value(&self.request_fields(), language)
    }

    /// The path as an expression.
    fn path_expression(&self, language: BridgeLanguage) -> String {
        let part = |part: &PathPart| match part {
            PathPart::Text(text) => json!(text).to_string(),
            PathPart::Variable(name) => required_call(name, language),
            PathPart::Id(name) => id_expression(name, language),
        };
        self.path.iter().map(part).collect::<Vec<_>>().join(" + ")
    }

    fn name(&self) -> &str {
        self.field.name()
    }

    /// Python code that extracts the reply from the response text.
    fn python_reply_parser(&self) -> String {
        let pick = |name: &String| {
            format!("answer.get({}, answer) if isinstance(answer, dict) else answer", json!(name))
        };
        let pick = self.reply_field.as_ref().map_or_else(|| "answer".to_owned(), pick);
        let text = include_str!("templates/text.py").trim_end();
        render_template(include_str!("templates/answer.py"), &[("PICK", &pick), ("TEXT", text)])
            .trim_end()
            .to_owned()
    }

    /// JavaScript expression that picks the reply from the parsed response.
    fn node_reply_expression(&self) -> String {
        self.reply_field
            .as_ref()
            .map_or_else(|| "answer".to_owned(), |name| format!("answer?.[{}] ?? answer", json!(name)))
    }

    /// Python functions that read the environment, if the request needs them.
    fn python_helpers(&self) -> String {
        let mut helpers = String::new();
        if !self.variables().is_empty() {
            helpers.push_str(include_str!("templates/required.py"));
        }
        if let Some(CredentialHeader { name, variable }) = &self.credentials {
            let values = [("NAME", json!(name).to_string()), ("VARIABLE", json!(variable).to_string())];
            let values: Vec<(&str, &str)> =
                values.iter().map(|(key, value)| (*key, value.as_str())).collect();
            helpers.push_str(&render_template(include_str!("templates/credentials.py"), &values));
        }
        helpers
    }

    /// The Python file that calls the endpoint over HTTP. `base`: the address in front of the path.
    pub(crate) fn render_python_bridge(&self, base: &str) -> String {
        let fields = self.fields_expression(BridgeLanguage::Python);
        let path = self.url_suffix(BridgeLanguage::Python);
        let headers = if self.credentials.is_some() { ", **_credentials()" } else { "" };
        let request = match self.encoding {
            Encoding::Query => format!(
                "    query = urllib.parse.urlencode({fields})\n    return urllib.request.Request(URL{path} + \"?\" + query, \
                 headers={{\"Accept\": \"*/*\"{headers}}}, method=\"{}\")",
                self.method
            ),
            Encoding::Form => format!(
                "    body = urllib.parse.urlencode({fields}).encode()\n    headers = {{\"Content-Type\": \
                 \"application/x-www-form-urlencoded\"{headers}}}\n    return urllib.request.Request(URL{path}, body, headers, \
                 method=\"{}\")",
                self.method
            ),
            Encoding::Json => format!(
                "    body = {fields}\n    headers = {{\"Content-Type\": \"application/json\"{headers}}}\n    return \
                 urllib.request.Request(URL{path}, json.dumps(body).encode(), headers, method=\"{}\")",
                self.method
            ),
        };
        render_template(
            include_str!("templates/http_bridge.py"),
            &[
                ("URL", &json!(self.url(base)).to_string()),
                ("REQUEST", &request),
                ("HELPERS", &self.python_helpers()),
                ("ANSWER", &self.python_reply_parser()),
            ],
        )
    }

    /// The address that `AGENT_URL` replaces: the whole of it, or what is in front of the first variable.
    pub(crate) fn url(&self, base: &str) -> String {
        let first = self.path.iter().take_while(|part| matches!(part, PathPart::Text(_)));
        let path: String =
            first.map(|part| if let PathPart::Text(text) = part { text.as_str() } else { "" }).collect();
        format!("{base}{path}")
    }

    /// The rest of the path, from the first variable, as an expression to append to the address.
    fn url_suffix(&self, language: BridgeLanguage) -> String {
        let rest = self.path.iter().skip_while(|part| matches!(part, PathPart::Text(_)));
        let part = |part: &PathPart| match part {
            PathPart::Text(text) => format!(" + {}", json!(text)),
            PathPart::Variable(name) => format!(" + {}", required_call(name, language)),
            PathPart::Id(name) => format!(" + ({})", id_expression(name, language)),
        };
        rest.map(part).collect()
    }

    /// The Node file that calls the endpoint over HTTP.
    pub(crate) fn render_node_bridge(&self, base: &str) -> String {
        let fields = self.fields_expression(BridgeLanguage::Script);
        let suffix = self.url_suffix(BridgeLanguage::Script);
        let headers = if self.credentials.is_some() { ", ...credentials()" } else { "" };
        let timeout = "signal: AbortSignal.timeout(timeout)";
        let request = match self.encoding {
            Encoding::Query => format!(
                "  const query = new URLSearchParams({fields});\n  return fetch(`${{url{suffix}}}?${{query}}`, {{ method: \"{}\", \
                 headers: {{ accept: \"*/*\"{headers} }}, {timeout} }});",
                self.method
            ),
            Encoding::Form => format!(
                "  return fetch(url{suffix}, {{\n    method: \"{}\",\n    headers: {{ \"content-type\": \
                 \"application/x-www-form-urlencoded\"{headers} }},\n    body: new URLSearchParams({fields}),\n    {timeout},\n  }});",
                self.method
            ),
            Encoding::Json => format!(
                "  return fetch(url{suffix}, {{\n    method: \"{}\",\n    headers: {{ \"content-type\": \"application/json\"{headers} \
                 }},\n    body: JSON.stringify({fields}),\n    {timeout},\n  }});",
                self.method
            ),
        };
        let mut helpers = String::new();
        if !self.variables().is_empty() {
            helpers.push_str(include_str!("templates/required.mjs"));
        }
        if let Some(CredentialHeader { name, variable }) = &self.credentials {
            let values = [("NAME", json!(name).to_string()), ("VARIABLE", json!(variable).to_string())];
            let values: Vec<(&str, &str)> =
                values.iter().map(|(key, value)| (*key, value.as_str())).collect();
            helpers.push_str(&render_template(include_str!("templates/credentials.mjs"), &values));
        }
        render_template(
            include_str!("templates/bridge.mjs"),
            &[
                ("URL", &json!(self.url(base)).to_string()),
                ("REQUEST", &request),
                ("HELPERS", &helpers),
                ("PICK", &self.node_reply_expression()),
            ],
        )
    }

    /// The call on a Python test client that sends the request.
    pub(crate) fn test_client_call(&self, client: &str) -> String {
        let path = self.path_expression(BridgeLanguage::Python);
        let fields = self.fields_expression(BridgeLanguage::Python);
        let method = self.method.to_lowercase();
        let headers = match (&self.credentials, client) {
            (None, _) => "",
            (Some(_), "django") => {
                ", **{f\"HTTP_{name.upper().replace('-', '_')}\": value for name, value in _credentials().items()}"
            }
            (Some(_), _) => ", headers=_credentials()",
        };
        let body = match (self.encoding, client) {
            (Encoding::Query, "flask") => format!("query_string={fields}"),
            (Encoding::Query, "django") if method == "get" => fields,
            (Encoding::Query, "django") => {
                return format!("{method}({path} + \"?\" + urlencode({fields}){headers})");
            }
            (Encoding::Query, _) => format!("params={fields}"),
            (Encoding::Form, "django") if method == "post" => fields,
            (Encoding::Form, _) => format!("data={fields}"),
            (Encoding::Json, "django") => format!("json.dumps({fields}), content_type=\"application/json\""),
            (Encoding::Json, _) => format!("json={fields}"),
        };
        format!("{method}({path}, {body}{headers})")
    }

    /// The Python file that calls the endpoint in process, through the framework's test client.
    pub(crate) fn render_test_client(&self, values: &[(&str, &str)]) -> String {
        let route = format!("{} {}", self.method, self.display_path()).replace(['{', '}', '"', '\\'], "");
        let helpers = self.python_helpers();
        let own = [("ROUTE", route.as_str()), ("HELPERS", &helpers), ("ANSWER", &self.python_reply_parser())];
        render_template(include_str!("templates/client.py"), &[values, own.as_slice()].concat())
    }

    /// Whether the file that is made reads the environment.
    pub(crate) fn reads_environment(&self) -> bool {
        let has_id = self.path.iter().any(|part| matches!(part, PathPart::Id(_)))
            || self.extra_fields.iter().any(|(_, value)| matches!(value, FieldValue::Id(_)));
        has_id || self.credentials.is_some() || !self.variables().is_empty()
    }

    pub(crate) fn add_warning(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl RequestField {
    fn name(&self) -> &str {
        match self {
            Self::Text(name) | Self::Messages(name) | Self::Parts(name) => name,
        }
    }
}

/// Code that reads an environment variable and fails with its name if it is not set.
fn required_call(variable: &str, language: BridgeLanguage) -> String {
    match language {
        BridgeLanguage::Python => format!("_required({})", json!(variable)),
        BridgeLanguage::Script => format!("required({})", json!(variable)),
    }
}

/// Code that reads an id from the environment, or else uses one that means nothing.
fn id_expression(variable: &str, language: BridgeLanguage) -> String {
    match language {
        BridgeLanguage::Python => format!("os.environ.get({}, \"fluxloop\")", json!(variable)),
        BridgeLanguage::Script => format!("process.env.{variable} ?? \"fluxloop\""),
    }
}

/// A value as an expression: in Python and JavaScript they differ in three words.
fn render_value(value: &Value, language: BridgeLanguage) -> String {
    let each = |value: &Value| render_value(value, language);
    match (value, language) {
        (Value::String(text), _) if text == "TEXT" => "message".to_owned(),
        (Value::String(text), _) => match (text.strip_prefix("VARIABLE:"), text.strip_prefix("ID:")) {
            (Some(variable), _) => required_call(variable, language),
            (_, Some(variable)) => id_expression(variable, language),
            _ => value.to_string(),
        },
        (Value::Array(items), _) => format!("[{}]", items.iter().map(each).collect::<Vec<_>>().join(", ")),
        (Value::Object(fields), _) => {
            let pair = |(name, value): (&String, &Value)| format!("{}: {}", json!(name), each(value));
            format!("{{{}}}", fields.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        (Value::Bool(true), BridgeLanguage::Python) => "True".to_owned(),
        (Value::Bool(false), BridgeLanguage::Python) => "False".to_owned(),
        (Value::Null, BridgeLanguage::Python) => "None".to_owned(),
        _ => value.to_string(),
    }
}

/// `documentId` as part of the name of an environment variable: `DOCUMENT_ID`.
fn variable_name(name: &str) -> String {
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

/// The parts of a path. Its parameters become constants if they are ids, else environment variables.
fn path_parts(path: &str, warnings: &mut Vec<String>) -> Result<Vec<PathPart>, String> {
    let path = format!("/{}", path.trim_start_matches('/'));
    if path.contains("(computed)") {
        return Err("the path of the route is computed at run time".to_owned());
    }
    let parameter = Regex::new(r"\{(\w+)(?::(\w+))?\}|<(?:(\w+):)?(\w+)>|:(\w+)|\[(\w+)\]")
        .map_err(|error| error.to_string())?;
    let (mut parts, mut last) = (Vec::new(), 0);
    for found in parameter.captures_iter(&path) {
        let Some(all) = found.get(0) else { continue };
        let text = |group: usize| found.get(group).map(|found| found.as_str());
        let name = text(1).or_else(|| text(4)).or_else(|| text(5)).or_else(|| text(6)).unwrap_or_default();
        let kind = text(2).or_else(|| text(3)).unwrap_or_default();
        parts.push(PathPart::Text(path[last..all.start()].to_owned()));
        parts.push(if is_id_name(name) && is_invented_id(name) && kind != "int" {
            let variable = format!("AGENT_{}", variable_name(name));
            warnings.push(invented_id_warning(name, &variable));
            PathPart::Id(variable)
        } else {
            PathPart::Variable(format!("AGENT_{}", variable_name(name)))
        });
        last = all.end();
    }
    parts.push(PathPart::Text(path[last..].to_owned()));
    let rest = |part: &PathPart| matches!(part, PathPart::Text(text) if text.contains(['{', '<', '[', '*', '$', ':', '(', '^', '?']));
    if parts.iter().any(rest) {
        return Err("the path of the route is a pattern".to_owned());
    }
    let odd = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\".contains(c);
    if parts.iter().any(|part| matches!(part, PathPart::Text(text) if text.contains(odd))) {
        return Err("the path of the route contains characters not allowed in a URL".to_owned());
    }
    // Neighbouring texts are one.
    let mut joined: Vec<PathPart> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(PathPart::Text(before)), PathPart::Text(text)) => before.push_str(&text),
            (_, PathPart::Text(text)) if text.is_empty() => {}
            (_, part) => joined.push(part),
        }
    }
    Ok(joined)
}

fn invented_id_warning(name: &str, variable: &str) -> String {
    format!("`{name}` is sent as `fluxloop`; if it must exist, set {variable}")
}

/// Why one text cannot be sent to a route, or its answer not be had, if that is so.
fn find_obstacle(route: &Route, source: &str) -> Option<&'static str> {
    let streams =
        ["StreamingResponse", "EventSourceResponse", "text/event-stream", "yield ", "ReadableStream"]
            .iter()
            .any(|word| source.contains(word));
    let is_status = |name: &String| STATUS_FIELDS.contains(&name.as_str());
    if expects_file(route, source) {
        Some("expects a file")
    } else if answers_with_page(source) {
        Some("answers with a page, not with the text of an answer")
    } else if answers_later(source) {
        Some("starts the work in the background and answers before it is done")
    } else if !streams && !route.response.is_empty() && route.response.iter().all(is_status) {
        Some("returns only a status")
    } else {
        None
    }
}

/// Whether a handler reads a file from the request.
fn expects_file(route: &Route, source: &str) -> bool {
    let by_code =
        ["UploadFile", "request.files", "request.FILES", "req.file", "req.files", "FileInterceptor"];
    let by_guard = |guard: &String| guard.contains("upload") || guard.contains("multer");
    by_code.iter().any(|word| source.contains(word)) || route.guards.iter().any(by_guard)
}

/// Whether a handler only renders templates.
fn answers_with_page(source: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| source.contains(word));
    has(&["render_template(", "return render(", "TemplateResponse(", "res.render(", "render_to_string("])
        && !has(&[
            "jsonify(",
            "JsonResponse(",
            "JSONResponse(",
            "Response(",
            ".json(",
            "StreamingHttpResponse",
        ])
}

/// Whether a handler hands the work to a queue or a background task.
fn answers_later(source: &str) -> bool {
    [".add_task(", ".delay(", ".apply_async(", ".enqueue(", "queue.add(", "Queue.add("]
        .iter()
        .any(|word| source.contains(word))
}

/// The guard among the names in front of a handler, if one checks who calls.
pub(crate) fn find_guard(guards: &[String]) -> Option<&String> {
    guards.iter().find(|name| GUARD_WORDS.iter().any(|word| name.to_lowercase().contains(word)))
}

/// Whether the name of a parameter or dependency tells that it identifies the caller.
pub(crate) fn is_guard_name(name: &str) -> bool {
    let name = name.to_lowercase();
    name == "user" || name.ends_with("_user") || GUARD_WORDS.iter().any(|word| name.contains(word))
}

/// The header that code reads credentials from.
fn credential_header(source: &str) -> String {
    let read = Regex::new(r#"(?i)headers(?:\.get\(|\[|\.)\s*["']?([\w-]*(?:key|token|secret|auth)[\w-]*)"#);
    let found = read.ok().and_then(|read| Some(read.captures(source)?.get(1)?.as_str().to_owned()));
    let by_parameter = || {
        let parameter = Regex::new(r"(\w*(?:key|token|secret)\w*)\s*:\s*[^=,)]+=\s*Header\(").ok()?;
        Some(parameter.captures(source)?.get(1)?.as_str().replace('_', "-"))
    };
    found.or_else(by_parameter).unwrap_or_else(|| "Authorization".to_owned())
}

/// A member that the code reads from each message but that messages usually do not have.
fn unexpected_message_member(text: &str, list: &str) -> Option<String> {
    let each = Regex::new(&format!(
        r"{}\s*(?:\?\.|\.)\s*(?:map|forEach|filter|reduce)\(\s*(?:async\s*)?\(?\s*(\w+)",
        regex::escape(list)
    ))
    .ok()?;
    let name = each.captures(text)?.get(1)?.as_str();
    let members = Regex::new(&format!(r"\b{}\??\.(\w+)", regex::escape(name))).ok()?;
    let usual =
        ["role", "content", "parts", "id", "name", "type", "text", "toolInvocations", "metadata", "length"];
    let mut read = members.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str().to_owned()));
    read.find(|member| !usual.contains(&member.as_str()))
}

/// The field for the input: by its declared type if there is one, else by its name.
fn choose_field(route: &Route) -> Option<RequestField> {
    let declared = |name: &str| {
        route.declared.iter().find(|field| field.name == name).and_then(|field| field.annotation.as_deref())
    };
    let has = |known: &&&str| route.request.iter().any(|field| field == **known);
    let is_string = |name: &str| {
        declared(name).is_none_or(|annotation| {
            is_text_type(annotation) || annotation.trim().trim_end_matches(" | undefined") == "string"
        })
    };
    if let Some(name) = INPUT_FIELDS.iter().filter(has).find(|name| is_string(name)) {
        return Some(RequestField::Text((*name).to_owned()));
    }
    if let Some(name) = MESSAGE_LIST_FIELDS.iter().find(has) {
        let is_plain = declared(name).is_some_and(is_text_type);
        return Some(if is_plain {
            RequestField::Text((*name).to_owned())
        } else {
            RequestField::Messages((*name).to_owned())
        });
    }
    let is_known =
        |name: &str| is_id_name(name) || OPTIONAL_FIELDS.contains(&name) || FILE_FIELDS.contains(&name);
    let mut open = route.request.iter().filter(|name| !is_known(name) && is_string(name));
    match (open.next(), open.next()) {
        (Some(only), None) => Some(RequestField::Text(only.clone())),
        _ => None,
    }
}

/// Values for the other fields that a request needs.
fn fill_extra_fields(route: &Route, text: &str, source: &str) -> Vec<(String, FieldValue)> {
    let needed = route.request.iter().filter(|name| *name != text);
    needed.filter_map(|name| Some((name.clone(), value_for_field(route, name, source)?))).collect()
}

/// The value for a field; `None` if it may be left out.
fn value_for_field(route: &Route, name: &str, source: &str) -> Option<FieldValue> {
    let declared = route.declared.iter().find(|field| field.name == name);
    let annotation =
        declared.and_then(|field| field.annotation.as_deref()).unwrap_or_default().to_lowercase();
    let may_miss = declared.is_some_and(|field| field.optional)
        || annotation.contains("none")
        || annotation.contains("optional")
        || route.optional.iter().any(|known| known == name);
    if may_miss || declared.is_none() && OPTIONAL_FIELDS.contains(&name) {
        return None;
    }
    let is_list = annotation.starts_with("list")
        || annotation.ends_with("[]")
        || annotation.is_empty()
            && (MESSAGE_LIST_FIELDS.contains(&name) || name.to_lowercase().ends_with("history"));
    let is_string = annotation.is_empty() || is_text_type(&annotation) || annotation == "string";
    let constant = |value: Value| Some(FieldValue::Constant(value));
    if is_list {
        return constant(json!([]));
    }
    if is_id_name(name) && is_invented_id(name) {
        return if is_string {
            Some(FieldValue::Id(format!("AGENT_{}", variable_name(name))))
        } else {
            constant(json!(1))
        };
    }
    match (annotation.as_str(), name) {
        ("bool" | "boolean", _) => return constant(json!(false)),
        ("dict", _) => return constant(json!({})),
        (_, "role" | "sender") if is_string => return constant(json!("user")),
        (_, "language" | "lang" | "locale") if is_string => return constant(json!("en")),
        ("int" | "number", "top_k" | "topK" | "k" | "limit" | "n" | "num_results") => {
            return constant(json!(5));
        }
        ("int" | "number", "max_tokens" | "maxTokens") => return constant(json!(512)),
        ("float" | "number", _) if name.to_lowercase().contains("temperature") => {
            return constant(json!(0.7));
        }
        _ => {}
    }
    // Code that reads a field does not tell that it must be there, unless it refuses requests without it.
    let refuses = Regex::new(&format!(r"!\s*(?:\w+\.)?{0}\b|not\s+{0}\b", regex::escape(name)));
    let is_needed =
        declared.is_some() || is_id_name(name) || refuses.is_ok_and(|refuses| refuses.is_match(source));
    is_needed.then(|| FieldValue::Variable(format!("AGENT_{}", variable_name(name))))
}

fn find_reply_field(fields: &[String]) -> Option<String> {
    let told: Vec<&String> = fields.iter().filter(|field| !STATUS_FIELDS.contains(&field.as_str())).collect();
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

/// Replaces the `@NAME@` placeholders of a template.
pub(crate) fn render_template(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() + 512);
    let mut rest = template;
    // A single pass: inserted values may contain `@` and must not be expanded again.
    while let Some(at) = rest.find('@') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let name = rest.split('@').next().unwrap_or_default();
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            text.push_str(value);
            rest = &rest[name.len() + 1..];
        } else {
            text.push('@');
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &str, path: &str, request: &[&str], response: &[&str]) -> Route {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Route {
            method: method.to_owned(),
            path: path.to_owned(),
            file: "a.ts".to_owned(),
            line: 1,
            request: texts(request),
            response: texts(response),
            ..Route::default()
        }
    }

    fn endpoint(
        route: &Route,
        field: Option<&str>,
        choice: RouteChoice,
    ) -> Result<AgentEndpoint, Vec<Blocker>> {
        AgentEndpoint::from_route(route, "", field, choice, &NameRedactor::default())
    }

    #[test]
    fn text_field_is_detected_or_requested() {
        let field = |request: &[&str]| {
            endpoint(&route("POST", "/x", request, &[]), None, RouteChoice::Found)
                .map(|e| e.name().to_owned())
        };
        assert_eq!(field(&["session", "message"]).as_deref(), Ok("message"));
        assert_eq!(field(&["messages", "model"]).as_deref(), Ok("messages"));
        assert_eq!(field(&["topicName"]).as_deref(), Ok("topicName"));
        assert_eq!(field(&["topicName", "userId", "model"]).as_deref(), Ok("topicName"));
        assert!(field(&[]).is_err() && field(&["a", "b"]).is_err() && field(&["userId"]).is_err());
        let named = endpoint(&route("POST", "/x", &[], &[]), Some("ask"), RouteChoice::Found).unwrap();
        assert_eq!(named.fields_expression(BridgeLanguage::Python), "{\"ask\": message}");
        let guessed = endpoint(&route("POST", "/x", &[], &[]), None, RouteChoice::Named).unwrap();
        assert_eq!(guessed.name(), "message");
        assert!(guessed.warnings()[0].contains("`request_field`"), "{:?}", guessed.warnings());
    }

    #[test]
    fn paths_get_values_for_their_parameters() {
        let check = |path: &str, expected: Option<&str>| {
            let found = endpoint(&route("POST", path, &["message"], &[]), None, RouteChoice::Found);
            assert_eq!(
                found.ok().map(|e| e.path_expression(BridgeLanguage::Python)).as_deref(),
                expected,
                "{path}"
            );
        };
        check("/chat/", Some("\"/chat/\""));
        let id = "os.environ.get(\"AGENT_SESSION_ID\", \"fluxloop\")";
        check("/chat/{session_id}", Some(&format!("\"/chat/\" + {id}")));
        check("/chat/<string:session_id>/send", Some(&format!("\"/chat/\" + {id} + \"/send\"")));
        check("/bots/{botId}", Some("\"/bots/\" + _required(\"AGENT_BOT_ID\")"));
        check("/bots/<int:id>/x", Some("\"/bots/\" + _required(\"AGENT_ID\") + \"/x\""));
        check("/bots/{name}", Some("\"/bots/\" + _required(\"AGENT_NAME\")"));
        for path in ["/x/*", "/x y", "/x\"y", "/x/[...slug]", "^x$", "(computed)"] {
            check(path, None);
        }
        let delete = endpoint(&route("DELETE", "/x", &["message"], &[]), None, RouteChoice::Named);
        assert!(delete.is_err());
    }

    #[test]
    fn other_fields_are_filled_omitted_or_asked_for() {
        let check = |source: &str, request: &[&str], optional: &[&str], expected: &str| {
            let optional = optional.iter().map(|name| (*name).to_owned()).collect();
            let route = Route { optional, ..route("POST", "/x", request, &[]) };
            let found =
                AgentEndpoint::from_route(&route, source, None, RouteChoice::Found, &NameRedactor::default());
            assert_eq!(found.unwrap().fields_expression(BridgeLanguage::Python), expected, "{request:?}");
        };
        check(
            "",
            &["message", "session_id"],
            &[],
            "{\"message\": message, \"session_id\": os.environ.get(\"AGENT_SESSION_ID\", \"fluxloop\")}",
        );
        check("", &["message", "session_id"], &["session_id"], "{\"message\": message}");
        check("", &["message", "chatHistory", "tone"], &[], "{\"chatHistory\": [], \"message\": message}");
        check(
            "if (!tone) return res.status(400)",
            &["message", "tone"],
            &[],
            "{\"message\": message, \"tone\": _required(\"AGENT_TONE\")}",
        );
    }

    #[test]
    fn templates_have_no_unfilled_placeholders() {
        let mut one =
            endpoint(&route("POST", "/@x@/{kind}", &["messages"], &["reply"]), None, RouteChoice::Found)
                .unwrap();
        one.require_credentials("require_token", "request.headers.get('X-API-Key')");
        let get = endpoint(&route("GET", "/x", &["q"], &[]), None, RouteChoice::Found).unwrap();
        for text in [
            one.render_python_bridge("http://u"),
            one.render_node_bridge("http://u"),
            get.render_python_bridge("u"),
            get.render_node_bridge("u"),
        ] {
            let marks = ["@URL@", "@REQUEST@", "@PICK@", "@ANSWER@", "@HELPERS@", "@NAME@", "@VARIABLE@"];
            assert!(!marks.iter().any(|mark| text.contains(mark)), "{text}");
        }
        assert!(one.render_node_bridge("http://u").contains(r#""role": "user""#));
        assert!(one.render_node_bridge("http://u").contains("AGENT_X_API_KEY"));
    }
}
