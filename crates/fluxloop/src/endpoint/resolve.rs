//! The request that a route expects and where its answer is, read from the code of its handler.

use codebase::{NameKind, NameRedactor, Route};

use super::fields::{MESSAGE_LIST_FIELDS, choose_field, field_variable, fill_extra_fields, find_reply_field};
use super::obstacles::{answers_with_page, find_obstacle, unexpected_message_member};
use super::path::{PathPart, path_parts, path_text_name};
use super::socket::SocketTalk;
use super::{
    AgentEndpoint, Encoding, FieldValue, RequestField, RouteChoice, WEBSOCKET, invented_id_warning,
    is_message_list, page,
};
use crate::blocker::Blocker;
use crate::integrate::display_route;
use crate::package::is_python_file;
use crate::target::is_id_name;

/// What is looked at, and what was found that the user has to know.
struct Resolver<'r> {
    route: &'r Route,
    /// The code of the handler.
    source: &'r str,
    choice: RouteChoice,
    redactor: &'r NameRedactor,
    /// The route, for messages.
    shown: String,
    warnings: Vec<String>,
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
        let mut resolver = Resolver { route, source, choice, redactor, shown, warnings: Vec::new() };
        let method = resolver.method()?;
        let socket = resolver.socket(method)?;
        if is_hook(&route.path) {
            resolver.object("is called by another service, not by a user")?;
        }
        let mut path = resolver.path()?;
        let page = resolver.page_variable();
        if let Some(what) = find_obstacle(route, source, page.is_some()) {
            resolver.object(what)?;
        }
        let field = resolver.text_field(field, socket.as_ref(), &mut path)?;
        let extra_fields = if socket.is_some() { Vec::new() } else { resolver.extra_fields(&field)? };
        let is_bare = route.is_bare_body || socket.as_ref().is_some_and(|talk| talk.field.is_none());
        let mut endpoint = Self {
            method,
            encoding: Encoding::of_field(route, method, field.name()),
            is_text_in_path: path.contains(&PathPart::Message),
            path,
            field,
            extra_fields,
            reply_field: find_reply_field(&route.response, &route.request),
            headers: Vec::new(),
            warnings: resolver.warnings,
            label: resolver.shown,
            is_bare,
            opening_page: None,
            opening: None,
            page_variable: page,
            live_state: None,
            socket,
        };
        endpoint.read_messages(source);
        endpoint.add_required_headers(source);
        Ok(endpoint)
    }
}

impl Resolver<'_> {
    fn blocked(&self, what: String) -> Vec<Blocker> {
        let file = self.redactor.file(&self.route.file).into_owned();
        vec![Blocker::new(what).at(file, self.route.line).lifted_by("agent")]
    }

    /// What speaks against the route: it keeps one from being used that was only found, and is said of one that was named.
    fn object(&mut self, what: &str) -> Result<(), Vec<Blocker>> {
        let what = format!("{} {what}", self.shown);
        match self.choice {
            RouteChoice::Named => self.warnings.push(what),
            RouteChoice::Found => return Err(self.blocked(what)),
        }
        Ok(())
    }

    fn name(&self, name: &str) -> String {
        self.redactor.name(NameKind::Identifier, name, &self.route.file, self.route.line).into_owned()
    }

    fn method(&self) -> Result<&'static str, Vec<Blocker>> {
        match (request_method(&self.route.method), self.route.method.as_str()) {
            (Some(method), _) => Ok(method),
            (None, WEBSOCKET) => Ok(WEBSOCKET),
            (None, other) => Err(self.blocked(format!("{} takes {} requests", self.shown, self.name(other)))),
        }
    }

    fn socket(&self, method: &str) -> Result<Option<SocketTalk>, Vec<Blocker>> {
        if method != WEBSOCKET {
            return Ok(None);
        }
        if !is_python_file(&self.route.file) {
            return Err(self.blocked(format!("{} talks over a websocket", self.shown)));
        }
        let talk = SocketTalk::from_source(self.source);
        talk.map(Some).map_err(|why| self.blocked(format!("{} {why}", self.shown)))
    }

    fn path(&mut self) -> Result<Vec<PathPart>, Vec<Blocker>> {
        let parts = path_parts(&self.route.path, &mut self.warnings);
        parts.map_err(|why| self.blocked(format!("{why} ({})", self.shown)))
    }

    /// The variable of the template that the answer is handed to, if the handler answers with a page.
    fn page_variable(&self) -> Option<String> {
        let is_page = is_python_file(&self.route.file) && answers_with_page(self.source);
        is_page.then(|| page::page_variable(self.source, &self.route.request)).flatten()
    }

    /// The field that carries the text. A parameter of the path may be it.
    fn text_field(
        &mut self,
        wanted: Option<&str>,
        socket: Option<&SocketTalk>,
        path: &mut [PathPart],
    ) -> Result<RequestField, Vec<Blocker>> {
        let route = self.route;
        let in_path = path.iter().find_map(|part| match part {
            PathPart::Variable(variable) => path_text_name(&route.path, variable),
            PathPart::Text(_) | PathPart::Id(..) | PathPart::Message => None,
        });
        let chosen = match (socket, wanted) {
            (Some(talk), _) => {
                Some(RequestField::Text(talk.field.clone().unwrap_or_else(|| "message".to_owned())))
            }
            (None, Some(name)) if MESSAGE_LIST_FIELDS.contains(&name) || is_message_list(route, name) => {
                Some(RequestField::Messages(name.to_owned()))
            }
            (None, Some(name)) => Some(RequestField::Text(name.to_owned())),
            // The path tells the protocol.
            (None, None) if self.speaks_completions() && route.request.is_empty() => {
                Some(RequestField::Messages("messages".to_owned()))
            }
            (None, None) => choose_field(route, self.source)
                .or_else(|| in_path.as_ref().map(|(name, _)| RequestField::Text(name.clone()))),
        };
        if let (Some((name, variable)), Some(chosen)) = (&in_path, &chosen)
            && chosen.name() == name
            && !route.request.contains(name)
        {
            let is_it = |part: &&mut PathPart| matches!(part, PathPart::Variable(known) if known == variable);
            path.iter_mut().filter(is_it).for_each(|part| *part = PathPart::Message);
        }
        let field = match chosen {
            Some(field) => field,
            None => self.guess_field()?,
        };
        if let RequestField::Messages(list) = &field
            && let Some(member) = unexpected_message_member(self.source, list)
        {
            let (member, list) = (self.name(&member), self.name(list));
            let what = format!("reads `{member}` from each entry of `{list}`");
            match self.choice {
                RouteChoice::Named => self.warnings.push(format!("{} {what}", self.shown)),
                RouteChoice::Found => self.object(&format!("{what}, which is not a usual message field"))?,
            }
        }
        Ok(field)
    }

    /// For a route that was named, the first field that may carry the text.
    fn guess_field(&mut self) -> Result<RequestField, Vec<Blocker>> {
        let request = &self.route.request;
        if self.choice == RouteChoice::Found {
            let names = request.iter().map(|name| self.name(name)).collect::<Vec<_>>().join(", ");
            let what = format!("{} {}", self.shown, unclear_fields(&names, request.len()));
            let file = self.redactor.file(&self.route.file).into_owned();
            return Err(vec![Blocker::new(what).at(file, self.route.line).lifted_by("request_field")]);
        }
        let guess = request.iter().find(|name| !is_id_name(name)).cloned();
        let guess = guess.unwrap_or_else(|| "message".to_owned());
        self.warnings.push(format!(
            "The code of {} does not show which request field carries the text; the request uses `{}`. To use another, pass \
             it as `request_field`",
            self.shown,
            self.name(&guess)
        ));
        Ok(RequestField::Text(guess))
    }

    /// Whether the path is that of a provider of models.
    fn speaks_completions(&self) -> bool {
        self.route.path.ends_with("/chat/completions")
    }

    /// The other fields with their values.
    fn extra_fields(&mut self, field: &RequestField) -> Result<Vec<(String, FieldValue)>, Vec<Blocker>> {
        let mut fields = fill_extra_fields(self.route, field.name(), self.source);
        if self.speaks_completions() && fields.iter().all(|(name, _)| name != "model") {
            fields.push(("model".to_owned(), FieldValue::Variable(field_variable("model"))));
        }
        for (name, value) in &fields {
            let (name, shown) = (self.name(name), &self.shown);
            let warning = match value {
                FieldValue::Id(variable, form) => invented_id_warning(&name, variable, *form),
                FieldValue::Optional(variable) => format!(
                    "{shown} reads `{name}`: before a run, set {variable} to a value that the program accepts"
                ),
                FieldValue::Parsed(variable) => {
                    format!("{shown} reads `{name}`, which is no text: write {variable} as JSON")
                }
                FieldValue::Constant(_) | FieldValue::Variable(_) => continue,
            };
            self.warnings.push(warning);
        }
        let is_remote =
            ["runs.stream(", "runs.create(", ".threads."].iter().any(|call| self.source.contains(call));
        let needs_thread = |(name, _): &(String, FieldValue)| name.to_lowercase().contains("thread");
        if is_remote && self.choice == RouteChoice::Found && fields.iter().any(needs_thread) {
            return Err(self.blocked(format!("{} needs an existing thread of another service", self.shown)));
        }
        Ok(fields)
    }
}

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
