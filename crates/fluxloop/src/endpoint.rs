//! HTTP routes that lead to an agent, and rendering of the files that call them.

mod credentials;
mod fields;
mod obstacles;
mod page;
mod path;
mod render;
mod resolve;
mod socket;
#[cfg(test)]
mod tests;

use crate::patterns;
use codebase::Route;
use serde_json::Value;

use crate::package::is_python_file;
use crate::target::variable_name;

pub(crate) use fields::{find_reply_field, find_text_field, tells_reply};
pub(crate) use obstacles::{find_guard, is_guard_name};
use path::PathPart;
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
    live_state: Option<LiveState>,
    /// It talks over a websocket, and its answer is one message.
    socket: Option<SocketTalk>,
}

/// Why a request goes to the program that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LiveState {
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
    /// A list of strings, of which the last is what a user says.
    Texts(String),
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
    /// `get` or `post`.
    verb: &'static str,
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
    /// The field that carries the text.
    pub(crate) fn text_field(&self) -> &str {
        self.field.name()
    }

    /// Has the request sent to the program that runs, and not to one of its own.
    pub(crate) fn send_to_running_program(&mut self, state: LiveState) {
        self.live_state = Some(state);
    }

    pub(crate) fn live_state(&self) -> Option<&LiveState> {
        self.live_state.as_ref()
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
        let verb = if route.method == "GET" { "get" } else { "post" };
        let (path, id_field) = (route.path.clone(), id_field.to_owned());
        self.opening = Some(Opening { verb, path, id_field, variable });
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
            Self::Text(name)
            | Self::Texts(name)
            | Self::Messages(name)
            | Self::Parts(name)
            | Self::Part(name) => name,
        }
    }
}

/// The method of routes that talk over a websocket.
const WEBSOCKET: &str = "WEBSOCKET";

/// Whether code looks up the id that a variable stands for, and answers with an error if it is not found.
fn must_exist(source: &str, variable: &str) -> bool {
    const NEAR: usize = 260;
    let plain = variable.trim_start_matches("AGENT_").to_lowercase().replace('_', "");
    let word = patterns::compile(r"[A-Za-z_]\w*");
    let refused = patterns::compile(
        r"\b40[34]\b|[Nn]ot[ _]?[Ff]ound|DoesNotExist|does not exist|[Ii]nvalid (?:session|conversation|chat|thread)",
    );
    let looks = patterns::compile(
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

fn invented_id_warning(name: &str, variable: &str, form: IdForm) -> String {
    match form {
        IdForm::Name => format!("`{name}` is sent as `fluxloop`; if it must exist, set {variable}"),
        IdForm::Uuid | IdForm::Opened => {
            format!("`{name}` is a new UUID on each call; if it must exist, set {variable}")
        }
    }
}
