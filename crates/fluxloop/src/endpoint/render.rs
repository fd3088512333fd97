//! The files and expressions that send a request.

use serde_json::{Value, json};

use super::{AgentEndpoint, Encoding, FieldValue, IdForm, PathPart, RequestField};

/// The language that a bridge is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BridgeLanguage {
    Python,
    Script,
}

/// A message as AI SDK clients send it: older programs read `content`, newer ones `parts`.
pub(super) fn message_of_parts() -> Value {
    json!({ "id": "NEW_UUID", "role": "user", "content": "TEXT", "parts": [{ "type": "text", "text": "TEXT" }] })
}

/// Code that reads an environment variable and fails with its name if it is not set.
pub(super) fn required_call(variable: &str, language: BridgeLanguage) -> String {
    match language {
        BridgeLanguage::Python => format!("_required({})", json!(variable)),
        BridgeLanguage::Script => format!("required({})", json!(variable)),
    }
}

/// Code that reads an id from the environment, or else uses one that means nothing.
pub(super) fn id_expression(variable: &str, form: IdForm, language: BridgeLanguage) -> String {
    match (language, form) {
        (BridgeLanguage::Python, IdForm::Name) => {
            format!("os.environ.get({}, \"fluxloop\")", json!(variable))
        }
        (BridgeLanguage::Python, IdForm::Uuid) => {
            format!("os.environ.get({}, str(uuid.uuid4()))", json!(variable))
        }
        (_, IdForm::Opened) => "opened_id".to_owned(),
        (BridgeLanguage::Script, IdForm::Name) => format!("process.env.{variable} ?? \"fluxloop\""),
        (BridgeLanguage::Script, IdForm::Uuid) => format!("process.env.{variable} ?? randomUUID()"),
    }
}

/// A value as an expression: in Python and JavaScript they differ in three words.
pub(super) fn render_value(value: &Value, language: BridgeLanguage) -> String {
    let each = |value: &Value| render_value(value, language);
    match (value, language) {
        (Value::String(text), _) if text == "TEXT" => "message".to_owned(),
        (Value::String(text), BridgeLanguage::Python) if text == "NEW_UUID" => "str(uuid.uuid4())".to_owned(),
        (Value::String(text), BridgeLanguage::Script) if text == "NEW_UUID" => "randomUUID()".to_owned(),
        (Value::String(text), _) => match text.split_once(':') {
            Some(("VARIABLE", variable)) => required_call(variable, language),
            Some(("PARSED", variable)) => match language {
                BridgeLanguage::Python => format!("json.loads({})", required_call(variable, language)),
                BridgeLanguage::Script => format!("JSON.parse({})", required_call(variable, language)),
            },
            Some(("OPTIONAL", variable)) => match language {
                BridgeLanguage::Python => format!("os.environ.get({})", json!(variable)),
                BridgeLanguage::Script => format!("process.env.{variable}"),
            },
            Some(("ID", variable)) => id_expression(variable, IdForm::Name, language),
            Some(("UUID", variable)) => id_expression(variable, IdForm::Uuid, language),
            Some(("OPENED", variable)) => id_expression(variable, IdForm::Opened, language),
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

/// The text as a part of an address.
fn message_in_path(language: BridgeLanguage) -> String {
    match language {
        BridgeLanguage::Python => "urllib.parse.quote(message, safe=\"\")",
        BridgeLanguage::Script => "encodeURIComponent(message)",
    }
    .to_owned()
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

impl AgentEndpoint {
    /// The fields of the request, with `TEXT` as the placeholder for the input, and `VARIABLE:NAME` for a variable.
    pub(super) fn request_fields(&self) -> Value {
        let text = match &self.field {
            RequestField::Text(_) => json!("TEXT"),
            RequestField::Texts(_) => json!(["TEXT"]),
            RequestField::Messages(_) => json!([{ "role": "user", "content": "TEXT" }]),
            RequestField::Parts(_) => json!([message_of_parts()]),
            RequestField::Part(_) => message_of_parts(),
        };
        let more = self.extra_fields.iter().map(|(name, value)| match value {
            FieldValue::Constant(value) => (name.clone(), value.clone()),
            FieldValue::Variable(variable) => (name.clone(), json!(format!("VARIABLE:{variable}"))),
            FieldValue::Parsed(variable) => (name.clone(), json!(format!("PARSED:{variable}"))),
            FieldValue::Optional(variable) => (name.clone(), json!(format!("OPTIONAL:{variable}"))),
            FieldValue::Id(variable, IdForm::Name) => (name.clone(), json!(format!("ID:{variable}"))),
            FieldValue::Id(variable, IdForm::Uuid) => (name.clone(), json!(format!("UUID:{variable}"))),
            FieldValue::Id(variable, IdForm::Opened) => (name.clone(), json!(format!("OPENED:{variable}"))),
        });
        let own = Some((self.name().to_owned(), text)).filter(|_| !self.is_text_in_path);
        Value::Object(own.into_iter().chain(more).collect())
    }

    /// The fields as an expression over the variable `message`.
    pub(super) fn fields_expression(&self, language: BridgeLanguage) -> String {
        if self.is_bare && self.encoding == Encoding::Json {
            return "message".to_owned();
        }
        render_value(&self.request_fields(), language)
    }

    /// The path as an expression.
    pub(super) fn path_expression(&self, language: BridgeLanguage) -> String {
        let part = |part: &PathPart| match part {
            PathPart::Text(text) => json!(text).to_string(),
            PathPart::Variable(name) => required_call(name, language),
            PathPart::Id(name, form) => id_expression(name, *form, language),
            PathPart::Message => message_in_path(language),
        };
        self.path.iter().map(part).collect::<Vec<_>>().join(" + ")
    }

    /// Python code that extracts the reply from the response text.
    pub(super) fn python_reply_parser(&self) -> String {
        let pick = |name: &String| {
            format!("answer.get({}, answer) if isinstance(answer, dict) else answer", json!(name))
        };
        let pick = self.reply_field.as_ref().map_or_else(|| "answer".to_owned(), pick);
        let text = include_str!("../templates/text.py").trim_end();
        render_template(include_str!("../templates/answer.py"), &[("PICK", &pick), ("TEXT", text)])
            .trim_end()
            .to_owned()
    }

    /// JavaScript expression that picks the reply from the parsed response.
    pub(super) fn node_reply_expression(&self) -> String {
        self.reply_field
            .as_ref()
            .map_or_else(|| "answer".to_owned(), |name| format!("answer?.[{}] ?? answer", json!(name)))
    }

    /// What a test client does before the request.
    pub(crate) fn lines_before(&self, indent: &str) -> String {
        let page = self.opening_page.as_ref().map(|page| {
            format!("{indent}client.get({})  # It fills the session, as in a browser.\n", json!(page))
        });
        let opened = self.opening.as_ref().map(|opening| {
            format!("{indent}opened_id = os.environ.get({}) or _opened(client)\n", json!(opening.variable))
        });
        page.into_iter().chain(opened).collect()
    }

    /// Python functions that read the environment, if the request needs them.
    pub(super) fn python_helpers(&self) -> String {
        let mut helpers = String::new();
        if let Some(opening) = &self.opening {
            let headers = if self.needs_credentials() { ", headers=_headers()" } else { "" };
            helpers.push_str(&render_template(
                include_str!("../templates/opening.py"),
                &[
                    ("VERB", opening.verb),
                    ("METHOD", &opening.verb.to_uppercase()),
                    ("BODY", if opening.verb == "post" { ", json={}" } else { "" }),
                    ("PATH", &json!(opening.path).to_string()),
                    ("HEADERS", headers),
                    ("NAME", &opening.path.replace(['"', '\\', '{', '}'], "")),
                    ("ID", &json!(opening.id_field).to_string()),
                ],
            ));
        }
        if !self.variables().is_empty() {
            helpers.push_str(include_str!("../templates/required.py"));
        }
        if self.needs_credentials() {
            let headers = self.header_variables(BridgeLanguage::Python);
            helpers.push_str(&render_template(
                include_str!("../templates/headers.py"),
                &[("HEADERS", &headers)],
            ));
        }
        helpers
    }

    /// The headers and their variables, as an object.
    pub(super) fn header_variables(&self, language: BridgeLanguage) -> String {
        let all = self.headers.iter().map(|header| (header.name.clone(), json!(header.variable)));
        render_value(&Value::Object(all.collect()), language)
    }

    /// The Python file that calls the endpoint over HTTP. `base`: the address in front of the path.
    pub(crate) fn render_python_bridge(&self, base: &str) -> String {
        let fields = self.fields_expression(BridgeLanguage::Python);
        let path = self.url_suffix(BridgeLanguage::Python);
        let headers = if self.needs_credentials() { ", **_headers()" } else { "" };
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
        let imports = if self.makes_ids() { "import uuid\n" } else { "" };
        render_template(
            include_str!("../templates/http_bridge.py"),
            &[
                ("IMPORTS", imports),
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
    pub(super) fn url_suffix(&self, language: BridgeLanguage) -> String {
        let rest = self.path.iter().skip_while(|part| matches!(part, PathPart::Text(_)));
        let part = |part: &PathPart| match part {
            PathPart::Text(text) => format!(" + {}", json!(text)),
            PathPart::Variable(name) => format!(" + {}", required_call(name, language)),
            PathPart::Id(name, form) => format!(" + ({})", id_expression(name, *form, language)),
            PathPart::Message => format!(" + {}", message_in_path(language)),
        };
        rest.map(part).collect()
    }

    /// The Node file that calls the endpoint over HTTP.
    pub(crate) fn render_node_bridge(&self, base: &str) -> String {
        let fields = self.fields_expression(BridgeLanguage::Script);
        let suffix = self.url_suffix(BridgeLanguage::Script);
        let headers = if self.needs_credentials() { ", ...headers()" } else { "" };
        let timeout = "redirect: \"manual\", signal: AbortSignal.timeout(timeout)";
        let split_timeout = timeout.replace(", ", ",\n    ");
        let request = match self.encoding {
            Encoding::Query => format!(
                "  const query = new URLSearchParams({fields});\n  return fetch(`${{url{suffix}}}?${{query}}`, {{ method: \"{}\", \
                 headers: {{ accept: \"*/*\"{headers} }}, {timeout} }});",
                self.method
            ),
            Encoding::Form => format!(
                "  return fetch(url{suffix}, {{\n    method: \"{}\",\n    headers: {{ \"content-type\": \
                 \"application/x-www-form-urlencoded\"{headers} }},\n    body: new URLSearchParams({fields}),\n    {split_timeout},\n  }});",
                self.method
            ),
            Encoding::Json => format!(
                "  return fetch(url{suffix}, {{\n    method: \"{}\",\n    headers: {{ \"content-type\": \"application/json\"{headers} \
                 }},\n    body: JSON.stringify({fields}),\n    {split_timeout},\n  }});",
                self.method
            ),
        };
        let mut helpers = String::new();
        if !self.variables().is_empty() {
            helpers.push_str(include_str!("../templates/required.mjs"));
        }
        if self.needs_credentials() {
            let headers = self.header_variables(BridgeLanguage::Script);
            helpers.push_str(&render_template(
                include_str!("../templates/headers.mjs"),
                &[("HEADERS", &headers)],
            ));
        }
        render_template(
            include_str!("../templates/bridge.mjs"),
            &[
                (
                    "IMPORTS",
                    if self.makes_ids() { "import { randomUUID } from \"node:crypto\";\n" } else { "" },
                ),
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
        let headers = match (self.needs_credentials(), client) {
            (false, _) => "",
            (true, "django") => {
                ", **{f\"HTTP_{name.upper().replace('-', '_')}\": value for name, value in _headers().items()}"
            }
            (true, _) => ", headers=_headers()",
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
        // Their `get` takes no body.
        if method == "get" && self.encoding != Encoding::Query && client != "django" {
            return match client {
                "flask" => format!("open({path}, method=\"GET\", {body}{headers})"),
                _ => format!("request(\"GET\", {path}, {body}{headers})"),
            };
        }
        format!("{method}({path}, {body}{headers})")
    }

    /// The lines in which a Starlette test client talks over a websocket, and gives back what it is told.
    pub(crate) fn socket_lines(&self, app: &str) -> Option<String> {
        let talk = self.socket.as_ref()?;
        let path = self.path_expression(BridgeLanguage::Python);
        let headers = if self.needs_credentials() { ", headers=_headers()" } else { "" };
        let path = if path.contains(" + ") {
            format!("\n        {path}{headers}\n    ")
        } else {
            format!("{path}{headers}")
        };
        let greetings = "        socket.receive_text()  # A greeting.\n".repeat(talk.greetings);
        let send = if self.is_bare { "text" } else { "json" };
        let fields = self.fields_expression(BridgeLanguage::Python);
        Some(format!(
            "    with TestClient({app}) as client, client.websocket_connect({path}) as socket:\n{greetings}        \
             socket.send_{send}({fields})\n        return _reply(200, socket.receive_text())"
        ))
    }

    /// What is read as the answer: what its template is given, or the text of the response.
    pub(crate) fn read_page(&self, context: &str, text: &str) -> String {
        match &self.page_variable {
            Some(name) => format!("json.dumps(({context}).get({}), default=str)", json!(name)),
            None => text.to_owned(),
        }
    }

    /// The Python file that calls the endpoint in process, through the framework's test client.
    pub(crate) fn render_test_client(&self, values: &[(&str, &str)]) -> String {
        let route = format!("{} {}", self.method, self.display_path()).replace(['{', '}', '"', '\\'], "");
        let helpers = self.python_helpers();
        let imports = values.iter().find(|(name, _)| *name == "IMPORTS").map_or("", |(_, imports)| imports);
        let quoting = if self.is_text_in_path { "import urllib.parse\n" } else { "" };
        let own = [
            ("IMPORTS", &*format!("{imports}{quoting}")),
            ("ROUTE", route.as_str()),
            ("HELPERS", &helpers),
            ("ANSWER", &self.python_reply_parser()),
        ];
        render_template(include_str!("../templates/client.py"), &[own.as_slice(), values].concat())
    }
}
