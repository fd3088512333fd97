//! Routes: which function answers which request.

use crate::calls::{Graph, NodeId, words};
use crate::manifest::name_of;
use crate::source::{Argument, CallSite, Class, Function, Source};

/// A route and the function behind it.
#[derive(Debug)]
pub(crate) struct RouteFact {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) line: u32,
    pub(crate) handler: NodeId,
}

const VERBS: &[&str] = &["get", "post", "put", "patch", "delete", "websocket", "all", "options", "head"];

/// All routes of a file.
pub(crate) fn of_file(graph: &Graph<'_, '_>, file: usize) -> Vec<RouteFact> {
    let (path, source) = (graph.files[file].path, graph.files[file].source);
    let mut routes = decorated(source, file);
    routes.extend(registered(graph, file));
    routes.extend(by_place(path, source, file));
    routes
}

/// `@app.post("/chat")`, `@app.route("/chat", methods=["POST"])`, `@Post("chat")` in a `@Controller("api")`.
fn decorated(source: &Source, file: usize) -> Vec<RouteFact> {
    let mut routes = Vec::new();
    for (at, function) in source.functions.iter().enumerate() {
        let class = function
            .owner
            .as_ref()
            .and_then(|owner| source.classes.iter().find(|class| class.name == *owner));
        let controller = class.and_then(|class| class.decorators.iter().find(|d| d.callee == "Controller"));
        for decorator in &function.decorators {
            let (object, verb) = decorator.callee.rsplit_once('.').unwrap_or(("", &decorator.callee));
            let lower = verb.to_ascii_lowercase();
            let path = decorator.first_text().unwrap_or_default();
            let prefix = match controller {
                Some(controller) => controller.first_text().unwrap_or_default().to_owned(),
                None => prefix_of(source, object),
            };
            let is_computed = decorator.first_text().is_none() && is_router(source, object);
            let path = if is_computed { COMPUTED } else { path };
            let is_path = is_computed
                || path.starts_with('/')
                || controller.is_some()
                || path.is_empty() && !prefix.is_empty();
            if VERBS.contains(&lower.as_str()) && is_path {
                let method = if lower == "all" { "ANY".to_owned() } else { lower.to_ascii_uppercase() };
                let handler = NodeId { file, function: Some(at) };
                routes.push(RouteFact { method, path: glue(&prefix, path), line: decorator.line, handler });
            } else if matches!(verb, "route" | "api_route") && path.starts_with('/') {
                for method in methods(decorator) {
                    let handler = NodeId { file, function: Some(at) };
                    routes.push(RouteFact {
                        method,
                        path: glue(&prefix, path),
                        line: decorator.line,
                        handler,
                    });
                }
            }
        }
    }
    routes
}

/// Stands for a path that is put together while the program runs.
const COMPUTED: &str = "(computed)";

/// Whether a name was made as an application or a router.
fn is_router(source: &Source, name: &str) -> bool {
    let makers = ["FastAPI", "APIRouter", "Flask", "Blueprint", "Starlette", "Router"];
    source
        .bindings
        .iter()
        .any(|b| b.name == name && makers.contains(&b.callee.rsplit('.').next().unwrap_or_default()))
}

/// `methods=["POST"]`; GET if nothing is said.
fn methods(decorator: &CallSite) -> Vec<String> {
    let texts = |items: &[Argument]| {
        let text = |item: &Argument| match item {
            Argument::Text(text) => Some(text.to_ascii_uppercase()),
            _ => None,
        };
        items.iter().filter_map(text).collect::<Vec<_>>()
    };
    match decorator.named("methods") {
        Some(Argument::List(items)) if !items.is_empty() => texts(items),
        _ => vec!["GET".to_owned()],
    }
}

/// `router = APIRouter(prefix="/api")`.
fn prefix_of(source: &Source, object: &str) -> String {
    let Some(binding) = source.bindings.iter().find(|binding| binding.name == object) else {
        return String::new();
    };
    let call = source.calls.iter().find(|call| call.callee == binding.callee && call.line >= binding.line);
    let prefix = call.and_then(|call| call.named("prefix").or_else(|| call.named("url_prefix")));
    match prefix {
        Some(Argument::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

fn glue(prefix: &str, path: &str) -> String {
    let (prefix, path) = (prefix.trim_matches('/'), path.trim_start_matches('/'));
    match (prefix.is_empty(), path.is_empty()) {
        (true, _) => format!("/{path}"),
        (false, true) => format!("/{prefix}"),
        (false, false) => format!("/{prefix}/{path}"),
    }
}

/// `app.post("/chat", handler)`, and `path("chat/", views.chat)` of Django.
fn registered(graph: &Graph<'_, '_>, file: usize) -> Vec<RouteFact> {
    let source = graph.files[file].source;
    let mut routes = Vec::new();
    for call in &source.calls {
        let (object, verb) = call.callee.rsplit_once('.').unwrap_or(("", &call.callee));
        let Some(path) = call.first_text() else { continue };
        let lower = verb.to_ascii_lowercase();
        let method = if matches!(call.callee.as_str(), "path" | "re_path" | "url") {
            "ANY".to_owned()
        } else if VERBS.contains(&lower.as_str()) && !object.is_empty() && path.starts_with('/') {
            if lower == "all" { "ANY".to_owned() } else { lower.to_ascii_uppercase() }
        } else {
            continue;
        };
        let handler = match call.arguments.get(1..).and_then(<[_]>::last) {
            Some(Argument::Function(function)) => Some(NodeId { file, function: Some(*function) }),
            Some(Argument::Name(name)) => graph.targets(file, call.within, name).into_iter().next(),
            _ => None,
        };
        if let Some(handler) = handler {
            routes.push(RouteFact { method, path: glue("", path), line: call.line, handler });
        }
    }
    routes
}

/// Files whose place is their route: Next.js, SvelteKit, Nuxt.
fn by_place(path: &str, source: &Source, file: usize) -> Vec<RouteFact> {
    let name = name_of(path);
    let stem = name.split('.').next().unwrap_or(name);
    let route = |after: &str, last: bool| {
        let (_, inside) = path.split_once(after)?;
        let inside = if last { inside.rsplit_once('.').map_or(inside, |(inside, _)| inside) } else { inside };
        let folder = if last { inside } else { inside.rsplit_once('/').map_or("", |(folder, _)| folder) };
        // Groups such as `(chat)` are not part of the path.
        let parts = folder.split('/').filter(|part| !part.starts_with('(') && !part.is_empty());
        Some(format!("/{}", parts.collect::<Vec<_>>().join("/")))
    };
    let verbs = |at: &str| exported(source, file, at, &["GET", "POST", "PUT", "PATCH", "DELETE"]);
    if stem == "route" && path.contains("app/") {
        return route("app/", false).map(|at| verbs(&at)).unwrap_or_default();
    }
    if stem == "+server" {
        return route("routes/", false).map(|at| verbs(&at)).unwrap_or_default();
    }
    if path.contains("pages/api/") {
        let at = route("pages/", true).unwrap_or_default();
        return exported(source, file, &at, &["default"]);
    }
    Vec::new()
}

fn exported(source: &Source, file: usize, path: &str, names: &[&str]) -> Vec<RouteFact> {
    let wanted = |function: &Function| {
        function.outer.is_none() && function.owner.is_none() && names.contains(&function.name.as_str())
    };
    let is_default = names == ["default"];
    let mut found: Vec<usize> =
        (0..source.functions.len()).filter(|at| wanted(&source.functions[*at])).collect();
    if is_default && found.is_empty() && source.exports.iter().any(|name| name == "default") {
        // `export default async function handler`: named, and the only one that is exported so.
        found.extend((0..source.functions.len()).rev().find(|at| source.functions[*at].outer.is_none()));
    }
    let fact = |at: usize| RouteFact {
        method: if is_default { "ANY".to_owned() } else { source.functions[at].name.clone() },
        path: path.to_owned(),
        line: source.functions[at].line,
        handler: NodeId { file, function: Some(at) },
    };
    found.into_iter().map(fact).collect()
}

/// The fields that a handler reads and answers with, as far as types or code show them.
pub(crate) fn fields(graph: &Graph<'_, '_>, handler: NodeId) -> (Vec<String>, Vec<String>) {
    let Some(function) = graph.function(handler) else { return Default::default() };
    let of_type = |annotation: &str| {
        let class = words(annotation).find_map(|word| graph.class_definition(handler.file, word));
        let fields = class
            .map(|class: &Class| class.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>());
        fields.filter(|fields| !fields.is_empty())
    };
    let request = function.parameters.iter().find_map(|parameter| of_type(parameter.annotation.as_deref()?));
    let model = function.decorators.iter().find_map(|decorator| decorator.named("response_model"));
    let declared = match model {
        Some(Argument::Name(name)) => of_type(name),
        _ => None,
    };
    let response = declared.or_else(|| function.returns.as_deref().and_then(of_type));
    (request.unwrap_or_else(|| function.reads.clone()), response.unwrap_or_else(|| function.writes.clone()))
}
