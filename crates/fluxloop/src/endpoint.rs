//! A route that leads to an agent, and the files that call it.

use codebase::{NameKind, NameRedactor, Route};
use regex::Regex;
use serde_json::{Value, json};

use crate::integrate::display_route;
use crate::target::{is_id_name, is_text_type};

/// A request that carries one text, and where its answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentEndpoint {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) field: RequestField,
    /// Other fields, with what is sent in them.
    extra_fields: Vec<(String, Value)>,
    /// The field of the answer; nothing: all of it.
    pub(crate) reply_field: Option<String>,
    /// What to look at.
    warnings: Vec<String>,
    /// It, in a sentence.
    label: String,
}

/// Where the text goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestField {
    /// Into a field of this name.
    Text(String),
    /// Into a list of messages.
    Messages(String),
    /// The same, in the form that clients of the AI SDK send.
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
/// Fields that tell how it went, not what was said.
const STATUS_FIELDS: &[&str] = &["success", "ok", "error", "errors", "detail", "status", "code", "id"];
/// Fields that a program can do without, or it would be a strange one.
#[rustfmt::skip]
const OPTIONAL_FIELDS: &[&str] = &[
    "model", "temperature", "stream", "max_tokens", "maxTokens", "top_p", "topP", "language", "lang", "locale", "options",
    "settings", "debug", "metadata", "verbose",
];
/// Words in the name of what lets only some through.
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
    /// What a route takes and gives. `field` names the field of the request, if somebody knows it: then what is unsure is a
    /// doubt, and otherwise a reason not to.
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
            other => return Err(format!("the route {shown} takes {} requests", name_of(other))),
        };
        let path = format!("/{}", route.path.trim_start_matches('/'));
        if ["webhook", "callback", "interactivity", "/hook", "/events"].iter().any(|word| path.contains(word))
        {
            return Err(format!("the route {shown} is called by another service, not by a user"));
        }
        if path.contains("(computed)") {
            return Err(format!(
                "the path of the route in {} is put together while the program runs",
                redactor.file(&route.file)
            ));
        }
        if path.contains(['{', '<', '[', '*', '$', ':', '(', '^']) {
            return Err(format!("the path of the route {shown} has parameters that only you can fill in"));
        }
        if path.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'`\\".contains(c)) {
            return Err(format!(
                "the path of the route {shown} cannot be part of an address as it is written"
            ));
        }
        let is_guard = |name: &&String| GUARD_WORDS.iter().any(|word| name.to_lowercase().contains(word));
        let guard = route
            .guards
            .iter()
            .find(is_guard)
            .map(|guard| format!("{shown} is behind `{}`, and needs credentials", name_of(guard)));
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
            .then(|| format!("{shown} also reads {}, and only you know what to send", names(&open)));
        let mut doubts: Vec<String> = guard.into_iter().chain(missing).collect();
        if let (false, Some(doubt)) = (field_given, doubts.first()) {
            return Err(format!(
                "{doubt}; name the field for the text as `request_field` to have the request written all the same"
            ));
        }
        if !route.response.is_empty()
            && route.response.iter().all(|field| STATUS_FIELDS.contains(&field.as_str()))
        {
            return Err(format!(
                "{shown} says how it went ({}), and not what was answered",
                names(&route.response)
            ));
        }
        let reply = find_reply_field(&route.response);
        if reply.is_none() {
            doubts.push(
                "Which field of the answer is the reply could not be seen; the whole answer is used."
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

    /// What the file of a route shows about what it wants.
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
                "{shown} reads `{}` of each of its {}, which is not how messages usually look",
                name_of(&member),
                name_of(name)
            ));
        }
        let is_remote = ["runs.stream(", "runs.create(", ".threads."].iter().any(|call| text.contains(call));
        if is_remote && self.extra_fields.iter().any(|(name, _)| name.to_lowercase().contains("thread")) {
            return Err(format!("{shown} needs a thread that exists at another service"));
        }
        let by_parts =
            ["UIMessage", "convertToModelMessages", ".parts"].iter().any(|word| text.contains(word));
        let streams = ["StreamResponse", "StreamingResponse", "text/event-stream", "pipeDataStream"]
            .iter()
            .any(|word| text.contains(word));
        let mut seen = if by_parts { self.with_parts() } else { self };
        if streams {
            // The pieces are joined, and that is the answer.
            seen.warnings.retain(|doubt| !doubt.contains("whole answer"));
        }
        Ok(seen)
    }

    /// Messages in the form that clients of the AI SDK send.
    fn with_parts(mut self) -> Self {
        if let RequestField::Messages(name) = self.field {
            self.field = RequestField::Parts(name);
        }
        self
    }

    /// The body of a request, with `TEXT` where the text goes.
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

    /// The body as an expression in which `message` is the text; the same in Python and JavaScript.
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

    /// From the text of an answer to the text of the reply, in Python.
    fn python_reply_parser(&self) -> String {
        let pick = |name: &String| {
            format!("answer.get({}, answer) if isinstance(answer, dict) else answer", json!(name))
        };
        let pick = self.reply_field.as_ref().map_or_else(|| "answer".to_owned(), pick);
        render_template(include_str!("templates/answer.py"), &[("PICK", &pick)]).trim_end().to_owned()
    }

    /// The same in JavaScript.
    fn node_reply_expression(&self) -> String {
        self.reply_field
            .as_ref()
            .map_or_else(|| "answer".to_owned(), |name| format!("answer?.[{}] ?? answer", json!(name)))
    }

    /// The file by which Python reaches it over HTTP.
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

    /// The file by which Node reaches it over HTTP.
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

    /// The call of a test client of Python that sends it.
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

    /// The file for a test client, from its template.
    pub(crate) fn render_test_client(&self, values: &[(&str, &str)]) -> String {
        let route = format!("{} {}", self.method, self.path).replace(['{', '}', '"', '\\'], "");
        let own = [("ROUTE", route.as_str()), ("ANSWER", &self.python_reply_parser())];
        render_template(include_str!("templates/client.py"), &[values, own.as_slice()].concat())
    }

    /// What has to be looked at before this is believed.
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

/// How likely a route is the one that a user talks to; smaller is likelier.
pub(crate) fn route_rank(route: &Route) -> usize {
    let path = route.path.to_lowercase();
    let words =
        ["chat", "message", "ask", "agent", "assistant", "query", "question", "completion", "generate"];
    let place = words.iter().position(|word| path.contains(word)).unwrap_or(words.len());
    // One that answers at once before one that streams.
    2 * place + usize::from(path.contains("stream"))
}

/// A member that is read of each message, and that usual messages do not have.
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
        None => "the code does not show which field of the request carries the text".to_owned(),
        Some(fields) => format!("which of its fields ({fields}) carries the text is not clear"),
    };
    format!("{shown} ({file}) leads to an agent, but {seen}: name it as `request_field`")
}

/// The field for the text: by its type where one is declared, else by its name.
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

/// What is sent in the other fields, and those for which nobody knows.
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

/// A template with its `@NAME@`s filled in.
pub(crate) fn render_template(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() + 512);
    let mut rest = template;
    // What is filled in is not looked at again: it may have an `@` in it.
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
