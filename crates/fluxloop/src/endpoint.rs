//! HTTP routes that lead to an agent, and rendering of the files that call them.

mod fields;
mod obstacles;
mod page;
mod render;
mod socket;
#[cfg(test)]
mod tests;

use codebase::{NameKind, NameRedactor, Route};
use regex::Regex;
use serde_json::Value;

use crate::blocker::Blocker;
use crate::integrate::display_route;
use crate::package::is_python_file;
use crate::target::{is_id_name, is_invented_id, tells_text, variable_name};

use fields::{MESSAGE_LIST_FIELDS, choose_field, field_variable, fill_extra_fields};
pub(crate) use fields::{find_reply_field, find_text_field, tells_reply};
use obstacles::{
    answers_with_page, credential_header, find_obstacle, required_headers, unexpected_message_member,
};
pub(crate) use obstacles::{find_guard, is_guard_name};
pub(crate) use render::render_template;
use socket::SocketTalk;

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
    /// The headers whose values come from the environment: those of the caller, and others that the handler asks for.
    headers: Vec<EnvironmentHeader>,
    warnings: Vec<String>,
    /// Redacted display name for messages.
    label: String,
    /// The body is the text itself, and not an object with it.
    is_bare: bool,
    /// The page that a browser loads first, which fills the session.
    opening_page: Option<String>,
    opening: Option<Opening>,
    /// It answers with a page, whose template is given the answer under this name.
    page_variable: Option<String>,
    /// The text is a part of the path.
    is_text_in_path: bool,
    /// It answers from what only the running program has in memory.
    running: Option<RunningProgram>,
    /// It talks over a websocket, and its answer is one message.
    socket: Option<SocketTalk>,
}

/// Why a request goes to the program that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunningProgram {
    /// Another request has to put something into its memory first.
    HoldsUploads,
    /// This file makes what the handler uses only where it is started by itself.
    StartedAs(String),
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
    /// A single message of that kind.
    Part(String),
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
        let is_declared = route.declared.iter().any(|field| field.name == name);
        let in_query = route.query.iter().any(|known| known == name);
        // A class of FastAPI is the body, whatever the method.
        let is_body = is_declared && !in_query && is_python_file(&route.file) && !route.path.contains('<');
        if method == "GET" && !is_body || in_query {
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
    Id(String, IdForm),
    /// The text.
    Message,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FieldValue {
    Constant(Value),
    /// An environment variable that the user sets.
    Variable(String),
    /// An environment variable that the user sets, in JSON: a number, a list, an object.
    Parsed(String),
    /// An environment variable that the user may set: without it, the field is left out.
    Optional(String),
    /// An id: of the environment, else an invented one.
    Id(String, IdForm),
}

/// What an invented id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdForm {
    /// The same name each time: that of a person.
    Name,
    /// A new UUID on each call, so that each input is a conversation of its own.
    Uuid,
    /// That of a conversation which another route has begun.
    Opened,
}

/// The request that begins a conversation, and where its id is in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Opening {
    path: String,
    id_field: String,
    /// The environment variable that names a conversation to go on with.
    variable: String,
}

impl IdForm {
    fn of_name(name: &str) -> Self {
        const PEOPLE: &[&str] = &["user", "client", "customer", "sender", "visitor", "device"];
        let name = name.to_lowercase();
        if PEOPLE.iter().any(|word| name.contains(word)) { Self::Name } else { Self::Uuid }
    }
}

/// A header whose value comes from the environment: credentials never stand in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EnvironmentHeader {
    name: String,
    variable: String,
}

impl EnvironmentHeader {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), variable: format!("AGENT_{}", variable_name(name)) }
    }
}

/// What checks the caller, if that is the handler itself.
pub(crate) const OWN_CHECK: &str = "its own check";

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
        let method = match (request_method(&route.method), route.method.as_str()) {
            (Some(method), _) => method,
            (None, WEBSOCKET) => WEBSOCKET,
            (None, other) => return Err(blocked(format!("{shown} takes {} requests", name_of(other)))),
        };
        let socket = if method == WEBSOCKET {
            if !is_python_file(&route.file) {
                return Err(blocked(format!("{shown} talks over a websocket")));
            }
            Some(SocketTalk::from_source(source).map_err(|why| blocked(format!("{shown} {why}")))?)
        } else {
            None
        };
        let mut warnings = Vec::new();
        if is_hook(&route.path) {
            let what = format!("{shown} is called by another service, not by a user");
            if !is_named {
                return Err(blocked(what));
            }
            warnings.push(what);
        }
        let path =
            path_parts(&route.path, &mut warnings).map_err(|why| blocked(format!("{why} ({shown})")))?;
        let page = if is_python_file(&route.file) && answers_with_page(source) {
            page::page_variable(source, &route.request)
        } else {
            None
        };
        if let Some(what) = find_obstacle(route, source, page.is_some()) {
            let what = format!("{shown} {what}");
            if !is_named {
                return Err(blocked(what));
            }
            warnings.push(what);
        }
        let is_remote =
            ["runs.stream(", "runs.create(", ".threads."].iter().any(|call| source.contains(call));
        let text_in_path = path.iter().find_map(|part| match part {
            PathPart::Variable(variable) => path_text_name(&route.path, variable),
            PathPart::Text(_) | PathPart::Id(..) | PathPart::Message => None,
        });
        let chosen = match field {
            _ if let Some(talk) = &socket => {
                Some(RequestField::Text(talk.field.clone().unwrap_or_else(|| "message".to_owned())))
            }
            Some(name) if MESSAGE_LIST_FIELDS.contains(&name) || is_message_list(route, name) => {
                Some(RequestField::Messages(name.to_owned()))
            }
            Some(name) => Some(RequestField::Text(name.to_owned())),
            // The path tells the protocol.
            None if route.path.ends_with("/chat/completions") && route.request.is_empty() => {
                Some(RequestField::Messages("messages".to_owned()))
            }
            None => choose_field(route, source)
                .or_else(|| text_in_path.as_ref().map(|(name, _)| RequestField::Text(name.clone()))),
        };
        let path: Vec<PathPart> = match &text_in_path {
            Some((name, variable))
                if chosen.as_ref().is_some_and(|chosen| chosen.name() == name)
                    && !route.request.contains(name) =>
            {
                let fill = |part| match part {
                    PathPart::Variable(known) if known == *variable => PathPart::Message,
                    part => part,
                };
                path.into_iter().map(fill).collect()
            }
            _ => path,
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
                let what = format!("{shown} {}", unclear_fields(&names(&route.request), route.request.len()));
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
        let mut extra_fields =
            if socket.is_some() { Vec::new() } else { fill_extra_fields(route, field.name(), source) };
        if route.path.ends_with("/chat/completions") && extra_fields.iter().all(|(name, _)| name != "model") {
            extra_fields.push(("model".to_owned(), FieldValue::Variable(field_variable("model"))));
        }
        warnings.extend(extra_fields.iter().filter_map(|(name, value)| {
            let name = name_of(name);
            match value {
                FieldValue::Id(variable, form) => Some(invented_id_warning(&name, variable, *form)),
                FieldValue::Optional(variable) => Some(format!(
                    "{shown} reads `{name}`: before a run, set {variable} to a value that the program accepts"
                )),
                FieldValue::Constant(_) | FieldValue::Variable(_) => None,
                FieldValue::Parsed(variable) => {
                    Some(format!("{shown} reads `{name}`, which is no text: write {variable} as JSON"))
                }
            }
        }));
        let needs_thread = |(name, _): &(String, FieldValue)| name.to_lowercase().contains("thread");
        if is_remote && !is_named && extra_fields.iter().any(needs_thread) {
            return Err(blocked(format!("{shown} needs an existing thread of another service")));
        }
        let encoding = Encoding::of_field(route, method, field.name());
        let is_text_in_path = path.contains(&PathPart::Message);
        let mut endpoint = Self {
            method,
            path,
            field,
            encoding,
            extra_fields,
            reply_field: find_reply_field(&route.response, &route.request),
            headers: Vec::new(),
            warnings,
            label: shown,
            is_bare: route.is_bare_body || socket.as_ref().is_some_and(|talk| talk.field.is_none()),
            opening_page: None,
            opening: None,
            page_variable: page,
            is_text_in_path,
            running: None,
            socket,
        };
        endpoint.read_messages(source);
        endpoint.add_required_headers(source);
        Ok(endpoint)
    }

    /// Sends the headers without which the handler refuses a request.
    fn add_required_headers(&mut self, source: &str) {
        for name in required_headers(source) {
            let header = EnvironmentHeader::new(&name);
            self.warnings.push(format!(
                "{} asks for the header `{name}`: before a run, set {} to its value",
                self.label, header.variable
            ));
            self.headers.push(header);
        }
    }

    /// Sends credentials from the environment, because something in front of the handler checks them.
    pub(crate) fn require_credentials(&mut self, guard: &str, source: &str) {
        let lower = guard.to_lowercase();
        let is_login = ["login_required", "loginrequired"].iter().any(|word| lower.contains(word));
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
            ["authorization\"", "authorization'", ".authorization", "bearer", "x-api-key", "httpbearer"]
                .iter()
                .any(|word| source.to_lowercase().contains(word));
        let is_cookie = is_login
            || !reads_header
                && (matches!(lower.trim_matches('`'), "auth")
                    || by_session.iter().any(|word| lower.contains(word)))
            || guard == OWN_CHECK
                && !reads_header
                && (source.contains("session") || source.contains("cookies"))
            || !reads_header
                && ["cookies.", "cookies[", "cookies?."]
                    .iter()
                    .any(|read| source.to_lowercase().contains(read));
        let name = if is_cookie { "Cookie".to_owned() } else { credential_header(source) };
        let header = EnvironmentHeader::new(&name);
        if self.headers.contains(&header) {
            return;
        }
        let lower_source = source.to_lowercase();
        let takes_bearer =
            ["bearer", "oauth2", "jwt", "split("].iter().any(|word| lower_source.contains(word));
        let form = match name.as_str() {
            "Authorization" if lower_source.contains("httpbasic") || lower_source.contains("basicauth") => {
                ", such as `Basic` and `user:password` in base64"
            }
            "Authorization" if source.contains("TokenAuthentication") => ", such as `Token TOKEN`",
            "Authorization" if takes_bearer || !lower_source.contains("authorization") => {
                ", such as `Bearer TOKEN`"
            }
            _ => "",
        };
        self.warnings.push(format!(
            "{} is protected by {guard}: before a run, set {} to the value of the header `{name}`{form}",
            self.label, header.variable
        ));
        self.headers.push(header);
    }

    /// The field that carries the text.
    pub(crate) fn text_field(&self) -> &str {
        self.field.name()
    }

    /// Has the request sent to the program that runs, and not to one of its own.
    pub(crate) fn send_to_running_program(&mut self, program: RunningProgram) {
        self.running = Some(program);
    }

    pub(crate) fn running_program(&self) -> Option<&RunningProgram> {
        self.running.as_ref()
    }

    /// The name under which the template of its page is given the answer.
    pub(crate) fn page_variable(&self) -> Option<&str> {
        self.page_variable.as_deref()
    }

    /// Whether it talks over a websocket.
    pub(crate) fn is_socket(&self) -> bool {
        self.socket.is_some()
    }

    pub(crate) fn needs_credentials(&self) -> bool {
        !self.headers.is_empty()
    }

    /// The environment variables that must be set before a run.
    pub(crate) fn variables(&self) -> Vec<String> {
        let path = self.path.iter().filter_map(|part| match part {
            PathPart::Variable(name) => Some(name.clone()),
            PathPart::Text(_) | PathPart::Id(..) | PathPart::Message => None,
        });
        let fields = self.extra_fields.iter().filter_map(|(_, value)| match value {
            FieldValue::Variable(name) | FieldValue::Parsed(name) | FieldValue::Optional(name) => {
                Some(name.clone())
            }
            FieldValue::Constant(_) | FieldValue::Id(..) => None,
        });
        path.chain(fields).collect()
    }

    /// The path for people, with the names of variables.
    pub(crate) fn display_path(&self) -> String {
        let part = |part: &PathPart| match part {
            PathPart::Text(text) => text.clone(),
            PathPart::Variable(name) | PathPart::Id(name, _) => format!("{{{name}}}"),
            PathPart::Message => "{message}".to_owned(),
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

    fn name(&self) -> &str {
        self.field.name()
    }

    /// Whether the file that is made invents UUIDs.
    pub(crate) fn makes_ids(&self) -> bool {
        matches!(self.field, RequestField::Parts(_) | RequestField::Part(_))
            || self.path.iter().any(|part| matches!(part, PathPart::Id(_, IdForm::Uuid)))
            || self.extra_fields.iter().any(|(_, value)| matches!(value, FieldValue::Id(_, IdForm::Uuid)))
    }

    /// Whether the file that is made reads the environment.
    pub(crate) fn reads_environment(&self) -> bool {
        let has_id = self.path.iter().any(|part| matches!(part, PathPart::Id(..)))
            || self.extra_fields.iter().any(|(_, value)| matches!(value, FieldValue::Id(..)));
        has_id || self.needs_credentials() || !self.variables().is_empty()
    }

    /// Demands the ids that the program looks up and does not answer without: an invented one would be refused.
    pub(crate) fn demand_existing_ids(&mut self, source: &str) {
        let mut demanded = Vec::new();
        for part in &mut self.path {
            if let PathPart::Id(variable, form) = part
                && *form != IdForm::Opened
                && must_exist(source, variable)
            {
                demanded.push(variable.clone());
                *part = PathPart::Variable(variable.clone());
            }
        }
        for (_, value) in &mut self.extra_fields {
            if let FieldValue::Id(variable, form) = value
                && *form != IdForm::Opened
                && must_exist(source, variable)
            {
                demanded.push(variable.clone());
                *value = FieldValue::Variable(variable.clone());
            }
        }
        for variable in demanded {
            self.warnings.retain(|warning| !warning.ends_with(&format!("set {variable}")));
            self.warnings.push(format!(
                "{} looks up what {variable} names, and refuses what it does not find: set it to one that exists",
                self.label
            ));
        }
    }

    /// Has the page fetched first that fills the session.
    pub(crate) fn open_with(&mut self, page: String) {
        self.opening_page = Some(page);
    }

    /// Has a conversation begun by another route for each input, in place of an invented id.
    pub(crate) fn begin_by(&mut self, route: &Route, id_field: &str, shown: &str) {
        let stem = conversation_stem(id_field);
        let is_it = |variable: &str| {
            let name = variable.trim_start_matches("AGENT_").to_lowercase();
            conversation_stem(&name).is_some() && (stem.is_none() || conversation_stem(&name) == stem)
        };
        let in_path = self.path.iter_mut().filter_map(|part| match part {
            PathPart::Id(variable, form) => Some((variable, form)),
            PathPart::Text(_) | PathPart::Variable(_) | PathPart::Message => None,
        });
        let in_body = self.extra_fields.iter_mut().filter_map(|(_, value)| match value {
            FieldValue::Id(variable, form) => Some((variable, form)),
            _ => None,
        });
        let Some((variable, form)) = in_path.chain(in_body).find(|(variable, _)| is_it(variable)) else {
            return;
        };
        *form = IdForm::Opened;
        let variable = variable.clone();
        self.warnings.retain(|warning| !warning.ends_with(&format!("set {variable}")));
        self.warnings.push(format!(
            "each input begins a conversation by {shown}, as its code asks for one that exists; to go on with one, set {variable}"
        ));
        self.opening = Some(Opening { path: route.path.clone(), id_field: id_field.to_owned(), variable });
    }

    /// The id of a conversation that the request names without having it from anywhere.
    pub(crate) fn invents_conversation(&self) -> bool {
        let in_path = self.path.iter().filter_map(|part| match part {
            PathPart::Id(variable, _) => Some(variable),
            PathPart::Text(_) | PathPart::Variable(_) | PathPart::Message => None,
        });
        let in_body = self.extra_fields.iter().filter_map(|(_, value)| match value {
            FieldValue::Id(variable, _) => Some(variable),
            _ => None,
        });
        in_path.chain(in_body).any(|variable| conversation_stem(&variable.to_lowercase()).is_some())
    }

    /// Sends a form instead of JSON: the program reads nothing else.
    pub(crate) fn use_form(&mut self) {
        if self.encoding == Encoding::Json {
            self.encoding = Encoding::Form;
        }
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
            Self::Text(name) | Self::Messages(name) | Self::Parts(name) | Self::Part(name) => name,
        }
    }
}

/// The parameter of a path that carries the text, by its name, and the variable that would stand for it: `/ask/:question`.
fn path_text_name(path: &str, variable: &str) -> Option<(String, String)> {
    let names = path.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut texts = names.filter(|name| !name.is_empty() && field_variable(name) == variable);
    let name = texts.find(|name| tells_text(name) || *name == "q")?;
    Some((name.to_owned(), variable.to_owned()))
}

/// The method of routes that talk over a websocket.
const WEBSOCKET: &str = "WEBSOCKET";

/// The method of a request that carries a text, for a route of this method.
fn request_method(method: &str) -> Option<&'static str> {
    match method {
        "POST" | "ANY" => Some("POST"),
        "GET" => Some("GET"),
        "PUT" => Some("PUT"),
        "PATCH" => Some("PATCH"),
        _ => None,
    }
}

/// Whether code looks up the id that a variable stands for, and answers with an error if it is not found.
fn must_exist(source: &str, variable: &str) -> bool {
    const NEAR: usize = 260;
    let plain = variable.trim_start_matches("AGENT_").to_lowercase().replace('_', "");
    let word = Regex::new(r"[A-Za-z_]\w*");
    let refused = Regex::new(
        r"\b40[34]\b|[Nn]ot[ _]?[Ff]ound|DoesNotExist|does not exist|[Ii]nvalid (?:session|conversation|chat|thread)",
    );
    let looks = Regex::new(
        r"(?i)(?:get|find|filter|query|fetch|load|select|lookup|where|exist)\w*\s*\(|\bnot in\b|\[",
    );
    let (Ok(word), Ok(refused), Ok(looks)) = (word, refused, looks) else { return false };
    let is_it = |found: &regex::Match<'_>| found.as_str().to_lowercase().replace('_', "") == plain;
    word.find_iter(source).filter(is_it).any(|found| {
        let line = source[..found.start()].rfind('\n').map_or(0, |at| at + 1);
        let before = &source[line..found.start()];
        let after: String = source[found.end()..].chars().take(NEAR).collect();
        looks.is_match(before) && refused.is_match(&after) || before.contains("get_object_or_404(")
    })
}

/// The word for a conversation in the name of an id or in a path: `chat_session_id`, `/conversations`.
pub(crate) fn conversation_stem(name: &str) -> Option<&'static str> {
    const STEMS: &[&str] = &["conversation", "session", "thread", "chat"];
    let name = name.to_lowercase();
    STEMS.iter().find(|stem| name.contains(**stem)).copied()
}

/// Whether a field is declared as a list of messages: `query: list[Message]`.
fn is_message_list(route: &Route, name: &str) -> bool {
    let declared = route.declared.iter().find(|field| field.name == name);
    declared.and_then(|field| field.annotation.as_deref()).is_some_and(|annotation| {
        annotation.contains("Message") && (annotation.contains("ist[") || annotation.ends_with("[]"))
    })
}

/// What is known of the fields of a request if it is not clear which of them is the text. `fields`: their names.
fn unclear_fields(fields: &str, count: usize) -> String {
    if fields.is_empty() {
        "is a route for which no request field was found in its handler".to_owned()
    } else if count == 1 {
        format!("reads {fields}, which is not shown to be what a user says")
    } else {
        format!("reads {fields}, and it is not clear which of them carries the text")
    }
}

/// Whether a path is one that other services call.
fn is_hook(path: &str) -> bool {
    let path = path.to_lowercase();
    ["webhook", "callback", "interactivity", "/hook", "/events"].iter().any(|word| path.contains(word))
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
            let form = if kind == "uuid" { IdForm::Uuid } else { IdForm::of_name(name) };
            warnings.push(invented_id_warning(name, &variable, form));
            PathPart::Id(variable, form)
        } else {
            PathPart::Variable(field_variable(name))
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

fn invented_id_warning(name: &str, variable: &str, form: IdForm) -> String {
    match form {
        IdForm::Name => format!("`{name}` is sent as `fluxloop`; if it must exist, set {variable}"),
        IdForm::Uuid | IdForm::Opened => {
            format!("`{name}` is a new UUID on each call; if it must exist, set {variable}")
        }
    }
}
