//! HTTP routes that lead to an agent, and rendering of the bridge files that call them.

use codebase::{NameKind, NameRedactor, Route};
use regex::Regex;
use serde_json::{Value, json};

use crate::integrate::display_route;
use crate::target::{is_id_name, is_text_type};

/// A request with one input string, and where the reply is in its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentEndpoint {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) field: RequestField,
    /// The other fields with the values sent in them.
    extra_fields: Vec<(String, Value)>,
    /// Field of the response that contains the reply; `None`: the whole response.
    pub(crate) reply_field: Option<String>,
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

#[rustfmt::skip] // lists, not columns
const INPUT_FIELDS: &[&str] = &[
    "message", "input", "query", "question", "prompt", "text", "user_message", "userMessage", "user_input", "userInput",
    "input_text", "inputText", "user_query", "userQuery", "msg", "content", "chatInput", "utterance", "instruction", "topic", "q",
    "newMessage", "new_message",
];
const MESSAGE_LIST_FIELDS: &[&str] = &["messages", "history", "conversation", "chat_history"];
#[rustfmt::skip]
const REPLY_FIELDS: &[&str] = &[
    "answer", "reply", "response", "output", "message", "text", "content", "result", "completion", "final_output", "data",
];
/// Response fields that report status and never contain the reply.
const STATUS_FIELDS: &[&str] = &["success", "ok", "error", "errors", "detail", "status", "code", "id"];
/// Request fields assumed to be optional even if nothing declares them so.
#[rustfmt::skip]
const OPTIONAL_FIELDS: &[&str] = &[
    "model", "temperature", "stream", "max_tokens", "maxTokens", "top_p", "topP", "language", "lang", "locale", "options",
    "settings", "debug", "metadata", "verbose",
];
/// Words in the names of middleware and dependencies that require authentication.
const GUARD_WORDS: &[&str] = &[
    "auth",
    "jwt",
    "login",
    "guard",
    "protect",
    "verify",
    "token",
    "permission",
    "current_user",
    "session_required",
];

impl AgentEndpoint {
    /// Infers the request and response of a route. If the caller names the request field, open questions
    /// become warnings; otherwise they are errors.
    pub(crate) fn from_route(
        route: &Route,
        field: Option<&str>,
        redactor: &NameRedactor,
    ) -> Result<Self, String> {
        let shown = display_route(redactor, route);
        let name_of =
            |name: &str| redactor.name(NameKind::Identifier, name, &route.file, route.line).into_owned();
        let names = |all: &[String]| all.iter().map(|name| name_of(name)).collect::<Vec<_>>().join(", ");
        let method = match route.method.as_str() {
            "POST" | "ANY" => "POST",
            "GET" => "GET",
            "PUT" => "PUT",
            other => return Err(format!("the route {shown} takes unsupported {} requests", name_of(other))),
        };
        let path = format!("/{}", route.path.trim_start_matches('/'));
        if ["webhook", "callback", "interactivity", "/hook", "/events"].iter().any(|word| path.contains(word))
        {
            return Err(format!("the route {shown} is called by another service, not by a user"));
        }
        if path.contains("(computed)") {
            return Err(format!(
                "the path of the route in {} is computed at run time",
                redactor.file(&route.file)
            ));
        }
        if path.contains(['{', '<', '[', '*', '$', ':', '(', '^']) {
            return Err(format!("the path of the route {shown} has parameters whose values only you know"));
        }
        if path.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'`\\".contains(c)) {
            return Err(format!("the path of the route {shown} contains characters not allowed in a URL"));
        }
        let is_guard = |name: &&String| GUARD_WORDS.iter().any(|word| name.to_lowercase().contains(word));
        let guard = route
            .guards
            .iter()
            .find(is_guard)
            .map(|guard| format!("{shown} is protected by `{}` and needs credentials", name_of(guard)));
        let chosen = match field {
            Some(name) if MESSAGE_LIST_FIELDS.contains(&name) => {
                Some(RequestField::Messages(name.to_owned()))
            }
            Some(name) => Some(RequestField::Text(name.to_owned())),
            None => choose_field(route),
        };
        let field_given = field.is_some();
        let field = chosen.ok_or_else(|| {
            let seen = (!route.request.is_empty()).then(|| names(&route.request));
            unclear_field_message(seen.as_deref(), &shown, &redactor.file(&route.file))
        })?;
        let name = field.name().to_owned();
        let (others, open) = fill_extra_fields(route, &name);
        let missing = (!open.is_empty())
            .then(|| format!("{shown} also reads {}, whose values only you know", names(&open)));
        let mut doubts: Vec<String> = guard.into_iter().chain(missing).collect();
        if let (false, Some(doubt)) = (field_given, doubts.first()) {
            return Err(format!(
                "{doubt}; pass the field for the input text as `request_field` to generate the request anyway"
            ));
        }
        if !route.response.is_empty()
            && route.response.iter().all(|field| STATUS_FIELDS.contains(&field.as_str()))
        {
            return Err(format!("{shown} returns only a status ({}), not a reply", names(&route.response)));
        }
        let reply = find_reply_field(&route.response);
        if reply.is_none() {
            doubts.push(
                "The code does not show which response field contains the reply; the whole response is used."
                    .to_owned(),
            );
        }
        Ok(Self {
            method,
            path,
            field,
            extra_fields: others,
            reply_field: reply,
            warnings: doubts,
            label: shown,
        })
    }

    /// Refines the endpoint with what the route's source file shows about the messages it reads.
    pub(crate) fn refine_from_source(
        self,
        text: &str,
        redactor: &NameRedactor,
        file: &str,
    ) -> Result<Self, String> {
        let shown = &self.label;
        let name_of = |name: &str| redactor.name(NameKind::Identifier, name, file, 0).into_owned();
        if let RequestField::Messages(name) = &self.field
            && let Some(member) = unexpected_message_member(text, name)
        {
            return Err(format!(
                "{shown} reads `{}` from each entry of `{}`, which is not a usual message field",
                name_of(&member),
                name_of(name)
            ));
        }
        let is_remote = ["runs.stream(", "runs.create(", ".threads."].iter().any(|call| text.contains(call));
        if is_remote && self.extra_fields.iter().any(|(name, _)| name.to_lowercase().contains("thread")) {
            return Err(format!("{shown} needs an existing thread of another service"));
        }
        let by_parts =
            ["UIMessage", "convertToModelMessages", ".parts"].iter().any(|word| text.contains(word));
        let streams = ["StreamResponse", "StreamingResponse", "text/event-stream", "pipeDataStream"]
            .iter()
            .any(|word| text.contains(word));
        let mut seen = if by_parts { self.with_parts() } else { self };
        if streams {
            // The reply is the joined chunks of the stream: using the whole response is right.
            seen.warnings.retain(|doubt| !doubt.contains("whole response"));
        }
        Ok(seen)
    }

    fn with_parts(mut self) -> Self {
        if let RequestField::Messages(name) = self.field {
            self.field = RequestField::Parts(name);
        }
        self
    }

    /// The request body, with `TEXT` as the placeholder for the input.
    fn request_body(&self) -> Value {
        let text = match &self.field {
            RequestField::Text(_) => json!("TEXT"),
            RequestField::Messages(_) => json!([{ "role": "user", "content": "TEXT" }]),
            RequestField::Parts(_) => {
                json!([{ "id": "1", "role": "user", "parts": [{ "type": "text", "text": "TEXT" }] }])
            }
        };
        let all = std::iter::once((self.name().to_owned(), text)).chain(self.extra_fields.iter().cloned());
        Value::Object(all.collect())
    }

    /// The body as an expression over the variable `message`, valid in both Python and JavaScript.
    fn body_expression(&self) -> String {
        self.request_body()
            .to_string()
            .replace("\"TEXT\"", "message")
            .replace("\":", "\": ")
            .replace(",\"", ", \"")
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
        render_template(include_str!("templates/answer.py"), &[("PICK", &pick)]).trim_end().to_owned()
    }

    /// JavaScript expression that picks the reply from the parsed response.
    fn node_reply_expression(&self) -> String {
        self.reply_field
            .as_ref()
            .map_or_else(|| "answer".to_owned(), |name| format!("answer?.[{}] ?? answer", json!(name)))
    }

    /// The Python file that calls the endpoint over HTTP.
    pub(crate) fn render_python_bridge(&self, url: &str) -> String {
        let request = if self.method == "GET" {
            format!(
                "    query = urllib.parse.urlencode({{{}: message}})\n    return urllib.request.Request(f\"{{URL}}?{{query}}\")",
                json!(self.name())
            )
        } else {
            format!(
                "    body = {}\n    headers = {{\"Content-Type\": \"application/json\"}}\n    return \
                 urllib.request.Request(URL, json.dumps(body).encode(), headers, method=\"{}\")",
                self.body_expression(),
                self.method
            )
        };
        render_template(
            include_str!("templates/http_bridge.py"),
            &[
                ("URL", &json!(url).to_string()),
                ("REQUEST", &request),
                ("ANSWER", &self.python_reply_parser()),
            ],
        )
    }

    /// The Node file that calls the endpoint over HTTP.
    pub(crate) fn render_node_bridge(&self, url: &str) -> String {
        let request = if self.method == "GET" {
            format!(
                "  const query = new URLSearchParams({{ [{}]: message }});\n  return fetch(`${{url}}?${{query}}`, {{ signal: \
                 AbortSignal.timeout(timeout) }});",
                json!(self.name())
            )
        } else {
            format!(
                "  return fetch(url, {{\n    method: \"{}\",\n    headers: {{ \"content-type\": \"application/json\" }},\n    \
                 body: JSON.stringify({}),\n    signal: AbortSignal.timeout(timeout),\n  }});",
                self.method,
                self.body_expression()
            )
        };
        render_template(
            include_str!("templates/bridge.mjs"),
            &[
                ("URL", &json!(url).to_string()),
                ("REQUEST", &request),
                ("PICK", &self.node_reply_expression()),
            ],
        )
    }

    /// The call on a Python test client that sends the request.
    pub(crate) fn test_client_call(&self, client: &str) -> String {
        let path = json!(self.path);
        match (self.method, client) {
            ("GET", "flask") => format!("get({path}, query_string={{{}: message}})", json!(self.name())),
            ("GET", "django") => format!("get({path}, {{{}: message}})", json!(self.name())),
            ("GET", _) => format!("get({path}, params={{{}: message}})", json!(self.name())),
            (method, "django") => {
                let method = method.to_lowercase();
                format!(
                    "{method}({path}, json.dumps({}), content_type=\"application/json\")",
                    self.body_expression()
                )
            }
            (method, _) => format!("{}({path}, json={})", method.to_lowercase(), self.body_expression()),
        }
    }

    /// The Python file that calls the endpoint in process, through the framework's test client.
    pub(crate) fn render_test_client(&self, values: &[(&str, &str)]) -> String {
        let route = format!("{} {}", self.method, self.path).replace(['{', '}', '"', '\\'], "");
        let own = [("ROUTE", route.as_str()), ("ANSWER", &self.python_reply_parser())];
        render_template(include_str!("templates/client.py"), &[values, own.as_slice()].concat())
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

/// How likely it is that users talk to the agent through this route; lower is more likely.
pub(crate) fn route_rank(route: &Route) -> usize {
    let path = route.path.to_lowercase();
    let words =
        ["chat", "message", "ask", "agent", "assistant", "query", "question", "completion", "generate"];
    let place = words.iter().position(|word| path.contains(word)).unwrap_or(words.len());
    // Prefer the non-streaming route: its reply needs no reassembly.
    2 * place + usize::from(path.contains("stream"))
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

fn unclear_field_message(fields: Option<&str>, shown: &str, file: &str) -> String {
    let seen = match fields {
        None => "the code does not show which request field carries the input text".to_owned(),
        Some(fields) => format!("it is unclear which of its fields ({fields}) carries the input text"),
    };
    format!("{shown} ({file}) leads to an agent, but {seen}; pass it as `request_field`")
}

/// The field for the input: by its declared type if there is one, else by its name.
fn choose_field(route: &Route) -> Option<RequestField> {
    let declared = |name: &str| {
        route.declared.iter().find(|field| field.name == name).and_then(|field| field.annotation.as_deref())
    };
    let has = |known: &&&str| route.request.iter().any(|field| field == **known);
    let is_string = |name: &str| {
        declared(name).is_none_or(|annotation| is_text_type(annotation) || annotation.trim() == "string")
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
    match route.request.as_slice() {
        [only] if !is_id_name(only) && is_string(only) => Some(RequestField::Text(only.clone())),
        _ => None,
    }
}

/// Values for the other fields, and the fields for which no value can be inferred.
fn fill_extra_fields(route: &Route, text: &str) -> (Vec<(String, Value)>, Vec<String>) {
    let (mut sent, mut open) = (Vec::new(), Vec::new());
    for name in route.request.iter().filter(|name| *name != text) {
        let declared = route.declared.iter().find(|field| field.name == *name);
        let annotation =
            declared.and_then(|field| field.annotation.as_deref()).unwrap_or_default().to_lowercase();
        let may_miss = declared.is_some_and(|field| field.optional)
            || annotation.contains("none")
            || annotation.contains("optional");
        let is_list = annotation.starts_with("list")
            || annotation.ends_with("[]")
            || annotation.is_empty() && MESSAGE_LIST_FIELDS.contains(&name.as_str());
        if may_miss || declared.is_none() && OPTIONAL_FIELDS.contains(&name.as_str()) {
            continue;
        }
        let is_string = annotation.is_empty() || is_text_type(&annotation) || annotation == "string";
        match (is_list, is_id_name(name) && is_string) {
            (true, _) => sent.push((name.clone(), json!([]))),
            (false, true) => sent.push((name.clone(), json!("fluxloop"))),
            (false, false) => open.push(name.clone()),
        }
    }
    (sent, open)
}

fn find_reply_field(fields: &[String]) -> Option<String> {
    let told: Vec<&String> = fields.iter().filter(|field| !STATUS_FIELDS.contains(&field.as_str())).collect();
    let known = REPLY_FIELDS
        .iter()
        .find(|known| told.iter().any(|field| field == *known))
        .map(|known| (*known).to_owned());
    known.or_else(|| if let [only] = told.as_slice() { Some((*only).clone()) } else { None })
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

    fn texts() -> NameRedactor {
        NameRedactor::default()
    }

    fn route(method: &str, path: &str, request: &[&str], response: &[&str]) -> Route {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (method, path) = (method.to_owned(), path.to_owned());
        let (file, handler, agent) = ("a.ts".to_owned(), String::new(), String::new());
        Route {
            method,
            path,
            file,
            line: 1,
            handler,
            agent,
            request: texts(request),
            response: texts(response),
            declared: Vec::new(),
            guards: Vec::new(),
        }
    }

    #[test]
    fn text_field_is_detected_or_requested() {
        let field = |request: &[&str]| {
            AgentEndpoint::from_route(&route("POST", "/x", request, &[]), None, &texts())
                .map(|e| e.name().to_owned())
        };
        assert_eq!(field(&["session", "message"]).as_deref(), Ok("message"));
        assert_eq!(field(&["messages", "model"]).as_deref(), Ok("messages"));
        assert!(field(&["message", "toolsState"]).is_err());
        assert_eq!(field(&["topicName"]).as_deref(), Ok("topicName"));
        assert!(field(&[]).is_err() && field(&["a", "b"]).is_err() && field(&["userId"]).is_err());
        let named = AgentEndpoint::from_route(&route("POST", "/x", &[], &[]), Some("ask"), &texts()).unwrap();
        assert_eq!(named.body_expression(), "{\"ask\": message}");
        for path in ["/x/{id}", "/x/:id", "/x/[id]", "/x/<int:id>", "/x y", "/x\"y"] {
            assert!(
                AgentEndpoint::from_route(&route("POST", path, &["message"], &[]), None, &texts()).is_err()
            );
        }
        assert!(
            AgentEndpoint::from_route(&route("DELETE", "/x", &["message"], &[]), None, &texts()).is_err()
        );
    }

    #[test]
    fn templates_have_no_unfilled_placeholders() {
        let one =
            AgentEndpoint::from_route(&route("POST", "/@x@", &["messages"], &["reply"]), None, &texts())
                .unwrap();
        let get = AgentEndpoint::from_route(&route("GET", "/x", &["q"], &[]), None, &texts()).unwrap();
        for text in [
            one.render_python_bridge("http://u"),
            one.render_node_bridge("http://u"),
            get.render_python_bridge("u"),
            get.render_node_bridge("u"),
        ] {
            assert!(
                !["@URL@", "@REQUEST@", "@PICK@", "@ANSWER@"].iter().any(|mark| text.contains(mark)),
                "{text}"
            );
        }
        assert!(one.render_node_bridge("http://u").contains(r#""role": "user""#));
    }
}
