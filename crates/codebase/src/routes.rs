//! Finds HTTP routes and their handler functions.

mod fields;
mod files;
mod mounts;

use std::collections::BTreeSet;

use crate::path_role;
use crate::source::{CallArgument, CallSite, ParsedSource, SourceClass, SourceFunction};
use crate::symbols::{NodeId, SymbolIndex};

pub(crate) use fields::handler_fields;
use files::find_file_routes;

#[derive(Debug)]
pub(crate) struct DetectedRoute {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) line: u32,
    pub(crate) handler: NodeId,
    /// The router on which it is registered.
    router: Option<String>,
    /// Decorators and middleware that run before the handler.
    pub(crate) guards: Vec<String>,
    /// Those of them that are functions of the tree.
    pub(crate) checks: Vec<NodeId>,
    /// The zod schema that a middleware validates the body with.
    pub(crate) schema: Option<String>,
}

const ROUTE_METHODS: &[&str] =
    &["get", "post", "put", "patch", "delete", "websocket", "all", "options", "head"];

/// All routes of all files, including the prefixes of their mounted routers.
pub(crate) fn find_routes(symbols: &SymbolIndex<'_, '_>) -> Vec<DetectedRoute> {
    let mounts = mounts::find_mounts(symbols);
    let is_own = |file: &usize| !path_role::is_example_or_test(symbols.files[*file].path);
    let imported: BTreeSet<usize> =
        (0..symbols.files.len()).filter(is_own).flat_map(|file| symbols.imported_files(file)).collect();
    let mut routes = Vec::new();
    for (file, of) in symbols.files.iter().enumerate() {
        let mut own = find_decorated_routes(symbols, file);
        own.extend(find_registered_routes(symbols, file, &mounts));
        // A router that no file takes up answers nothing.
        own.retain(|route| {
            imported.contains(&file) || !is_router_to_mount(of.source, route.router.as_deref())
        });
        for route in &mut own {
            let origin = route.router.as_deref().and_then(|name| router_origin(symbols, route.handler, name));
            let (at, made_as) = match origin {
                Some((at, name)) => {
                    let prefix = router_prefix(symbols, at, &name);
                    if !prefix.is_empty() {
                        route.path = join_python_path(&prefix, &route.path);
                    }
                    (at, Some(name))
                }
                None => (file, route.router.clone()),
            };
            let (prefix, guards) = mounts::mount_prefix(symbols, &mounts, at, made_as.as_deref());
            let own = route.guards.iter().map(|guard| (guard.as_str(), file));
            let checks = own.chain(guards.iter().map(|(guard, at)| (guard.as_str(), *at)));
            route.checks =
                checks.filter_map(|(guard, at)| symbols.resolve_function(at, None, guard)).collect();
            route.guards.extend(guards.into_iter().map(|(guard, _)| guard));
            if !prefix.is_empty() && route.path != COMPUTED_PATH {
                let is_python = of.path.ends_with(".py");
                route.path = if is_python {
                    join_python_path(&prefix, &route.path)
                } else {
                    join_route_path(&prefix, &route.path)
                };
            }
            if route.path.contains(COMPUTED_PATH) {
                COMPUTED_PATH.clone_into(&mut route.path);
            }
            if route.path.is_empty() {
                "/".clone_into(&mut route.path);
            }
        }
        own.extend(find_file_routes(symbols, file));
        routes.append(&mut own);
    }
    routes
}

/// `@app.post("/chat")`, `@app.route("/chat", methods=["POST"])`, `@Post("chat")` in a `@Controller("api")`.
fn find_decorated_routes(symbols: &SymbolIndex<'_, '_>, file: usize) -> Vec<DetectedRoute> {
    let source = symbols.files[file].source;
    let mut found = Vec::new();
    for (at, function) in source.functions.iter().enumerate() {
        let owner = function.owner.as_ref();
        let class = owner.and_then(|owner| source.classes.iter().find(|class| class.name == *owner));
        let controller = class.and_then(|class| class.decorators.iter().find(|d| d.callee == "Controller"));
        for decorator in &function.decorators {
            let Some((verbs, path)) = parse_route_decorator(symbols, file, decorator, controller) else {
                continue;
            };
            let router = decorator.callee.rsplit_once('.').map(|(router, _)| router.to_owned());
            let handler = NodeId { file, function: Some(at) };
            found.extend(verbs.into_iter().map(|method| {
                DetectedRoute {
                    method,
                    path: path.clone(),
                    line: decorator.line,
                    handler,
                    router: router.clone(),
                    guards: class_guards(class)
                        .into_iter()
                        .chain(listed_dependencies(symbols, file, decorator))
                        .collect(),
                    schema: None,
                    checks: Vec::new(),
                }
            }));
        }
    }
    // A class of methods: `@blueprint.route("/chat")` above `class Chat(MethodView)`.
    for class in &source.classes {
        let paths = class.decorators.iter().filter(|decorator| decorator.callee.ends_with(".route"));
        for (decorator, path) in paths.filter_map(|decorator| Some((decorator, decorator.first_string()?))) {
            let router = decorator.callee.rsplit_once('.').map_or("", |(router, _)| router);
            let path = join_python_path(&router_prefix(symbols, file, router), path);
            let own = class_routes(symbols, file, &class.name, &path, decorator.line);
            found.extend(own.map(|route| DetectedRoute { router: Some(router.to_owned()), ..route }));
        }
    }
    found
}

/// `dependencies=[Depends(verify_key)]`.
pub(super) fn listed_dependencies(
    symbols: &SymbolIndex<'_, '_>,
    file: usize,
    call: &CallSite,
) -> Vec<String> {
    let items = match call.keyword_argument("dependencies") {
        Some(CallArgument::List(items)) => items,
        // `PROTECTED = [Depends(verify_key)]`
        Some(CallArgument::Name(list)) => {
            let source = symbols.files[file].source;
            let held = source.references.iter().filter(|reference| reference.holder.as_deref() == Some(list));
            let mut names: Vec<String> = held.map(|reference| reference.name.clone()).collect();
            names.extend(
                source
                    .dependency_lists
                    .iter()
                    .filter(|(known, _)| known == list)
                    .map(|(_, name)| name.clone()),
            );
            return names;
        }
        _ => return Vec::new(),
    };
    let name = |item: &CallArgument| match item {
        CallArgument::Name(name) => Some(name.clone()),
        _ => None,
    };
    items.iter().filter_map(name).collect()
}

/// What supplies the parameters of a handler, and what supplies that: `get_current_user`, `oauth2_scheme`, and the class of
/// an object such as `OAuth2PasswordBearer`. With the functions among them.
pub(crate) fn handler_dependencies(
    symbols: &SymbolIndex<'_, '_>,
    handler: NodeId,
) -> (Vec<String>, Vec<NodeId>) {
    let (mut names, mut nodes) = (Vec::new(), Vec::new());
    let mut open = vec![(handler, 0)];
    while let Some((node, depth)) = open.pop() {
        let Some(function) = symbols.function(node).filter(|_| depth < 4) else { continue };
        for parameter in &function.parameters {
            let by_type = || symbols.dependency_of_type(node.file, parameter.annotation.as_deref()?);
            let own = parameter.dependency.clone().map(|name| (node.file, name));
            let Some((file, name)) = own.or_else(by_type) else { continue };
            if names.contains(&name) {
                continue;
            }
            let made = symbols.find_binding(file, None, &name).map(str::to_owned).or_else(|| {
                let (other, there) = symbols.imported_from(file, &name)?;
                symbols.find_binding(other, None, there).map(str::to_owned)
            });
            if let Some(next) = symbols.resolve_function(file, None, &name) {
                nodes.push(next);
                open.push((next, depth + 1));
            }
            names.push(name);
            names.extend(made);
        }
    }
    (names, nodes)
}

/// Guards of all handlers of a class: `@UseGuards(…)`.
fn class_guards(class: Option<&SourceClass>) -> Vec<String> {
    class
        .into_iter()
        .flat_map(|class| class.decorators.iter().map(|decorator| decorator.callee.clone()))
        .collect()
}

/// The methods and the path that a decorator declares.
fn parse_route_decorator(
    symbols: &SymbolIndex<'_, '_>,
    file: usize,
    decorator: &CallSite,
    controller: Option<&CallSite>,
) -> Option<(Vec<String>, String)> {
    let source = symbols.files[file].source;
    let (router, verb) = decorator.callee.rsplit_once('.').unwrap_or(("", &decorator.callee));
    let prefix = match controller {
        Some(controller) => controller.first_string().unwrap_or_default().to_owned(),
        None => router_prefix(symbols, file, router),
    };
    let path = decorator.first_string().unwrap_or_default();
    let verb = verb.to_ascii_lowercase();
    let methods = match verb.as_str() {
        "all" => vec![ANY_METHOD.to_owned()],
        "route" | "api_route" => declared_methods(decorator),
        _ if ROUTE_METHODS.contains(&verb.as_str()) => vec![verb.to_ascii_uppercase()],
        _ => return None,
    };
    if decorator.first_string().is_none() && is_router(source, router) {
        return Some((methods, COMPUTED_PATH.to_owned()));
    }
    let may_be_empty = || !prefix.is_empty() || is_router(source, router);
    let is_path = path.starts_with('/') || controller.is_some() || path.is_empty() && may_be_empty();
    let joined = match controller {
        Some(_) => join_route_path(&prefix, path),
        // What it is mounted under may be all of it.
        None if prefix.is_empty() && path.is_empty() => String::new(),
        None => join_python_path(&prefix, path),
    };
    is_path.then_some((methods, joined))
}

const ANY_METHOD: &str = "ANY";
/// Placeholder for a path that is computed at run time.
const COMPUTED_PATH: &str = "(computed)";

/// Whether a name is bound to an application or a router.
fn is_router(source: &ParsedSource, name: &str) -> bool {
    let makers = ["FastAPI", "APIRouter", "Flask", "Blueprint", "Starlette", "Router"];
    source
        .bindings
        .iter()
        .any(|b| b.name == name && makers.contains(&b.callee.rsplit('.').next().unwrap_or_default()))
}

/// `methods=["POST"]`; `GET` by default.
fn declared_methods(decorator: &CallSite) -> Vec<String> {
    let texts = |items: &[CallArgument]| {
        let text = |item: &CallArgument| match item {
            CallArgument::Text(text) => Some(text.to_ascii_uppercase()),
            _ => None,
        };
        items.iter().filter_map(text).collect::<Vec<_>>()
    };
    match decorator.keyword_argument("methods") {
        Some(CallArgument::List(items)) if !items.is_empty() => texts(items),
        _ => vec!["GET".to_owned()],
    }
}

/// `router = APIRouter(prefix="/api")`.
fn router_prefix(symbols: &SymbolIndex<'_, '_>, file: usize, object: &str) -> String {
    let source = symbols.files[file].source;
    let Some(binding) = source.bindings.iter().find(|binding| binding.name == object) else {
        return String::new();
    };
    let call = source.calls.iter().find(|call| call.callee == binding.callee && call.line >= binding.line);
    let prefix =
        call.and_then(|call| call.keyword_argument("prefix").or_else(|| call.keyword_argument("url_prefix")));
    match prefix {
        Some(CallArgument::Text(text)) => text.clone(),
        None => String::new(),
        Some(CallArgument::Name(name)) => {
            symbols.text_constant(file, name).unwrap_or(COMPUTED_PATH).to_owned()
        }
        // Computed at run time.
        Some(_) => COMPUTED_PATH.to_owned(),
    }
}

/// The file and the name under which a router was made, if that is not the file of the handler: it is imported, or handed to
/// the function that adds routes to it.
fn router_origin(symbols: &SymbolIndex<'_, '_>, handler: NodeId, router: &str) -> Option<(usize, String)> {
    let source = symbols.files[handler.file].source;
    let mut outer = symbols.function(handler).and_then(|function| function.outer);
    while let Some(at) = outer {
        let function = &source.functions[at];
        if let Some(place) = function.parameters.iter().position(|parameter| parameter.name == router) {
            return symbols.files.iter().enumerate().find_map(|(file, of)| {
                let calls = of.source.calls.iter();
                let mut named =
                    calls.filter(|call| call.callee.rsplit('.').next() == Some(function.name.as_str()));
                named.find_map(|call| {
                    match call.arguments.get(place).or_else(|| call.keyword_argument(router))? {
                        CallArgument::Name(given) => {
                            let called = symbols.resolve_function(file, call.within, &call.callee)?;
                            let is_it = called == NodeId { file: handler.file, function: Some(at) };
                            is_it.then(|| (file, given.clone()))
                        }
                        _ => None,
                    }
                })
            });
        }
        outer = function.outer;
    }
    if source.bindings.iter().any(|binding| binding.name == router) {
        return None;
    }
    let (other, there) = symbols.defining_file(handler.file, router);
    (other != handler.file).then(|| (other, there.to_owned()))
}

/// Joins a prefix and a path. A trailing slash of the path is significant; in Python also that of the path `/`.
pub(crate) fn join_route_path(prefix: &str, path: &str) -> String {
    let (prefix, path) = (prefix.trim_matches('/'), path.trim_start_matches('/'));
    match (prefix.is_empty(), path.is_empty()) {
        (true, _) => format!("/{path}"),
        (false, true) => format!("/{prefix}"),
        (false, false) => format!("/{prefix}/{path}"),
    }
}

/// Joins a prefix and a path as Python frameworks do: `/chat` and `/` are `/chat/`, an empty path is the prefix.
fn join_python_path(prefix: &str, path: &str) -> String {
    let prefix = format!("/{}", prefix.trim_start_matches('/'));
    match path.trim_start_matches('/') {
        "" if path.is_empty() => prefix,
        rest => format!("{}/{rest}", prefix.trim_end_matches('/')),
    }
}

/// `app.post("/chat", handler)`, Django's `path("chat/", views.chat)`, Starlette's `Route("/chat", chat)`.
fn find_registered_routes(
    symbols: &SymbolIndex<'_, '_>,
    file: usize,
    mounts: &[mounts::Mount],
) -> Vec<DetectedRoute> {
    let source = symbols.files[file].source;
    let mut found = Vec::new();
    let is_orphan = mounts::is_orphan_urlconf(symbols, mounts, file);
    for (at, call) in source.calls.iter().enumerate() {
        let (object, verb) = call.callee.rsplit_once('.').unwrap_or(("", &call.callee));
        let lower = verb.to_ascii_lowercase();
        let is_method = ROUTE_METHODS.contains(&lower.as_str()) && !object.is_empty();
        // `router.route("/chat").post(chat)` has its path in an earlier call of the chain.
        let chained = object.split_once(".route()").filter(|_| is_method).map(|(router, _)| router);
        let path = match chained {
            Some(router) => path_of_chain(source, at, router),
            None => call.first_string(),
        };
        if verb == "add_resource" {
            found.extend(find_resource_routes(symbols, file, call));
            continue;
        }
        if lower == "route" && path.is_none() {
            found.extend(route_of_options(symbols, file, call));
        }
        let Some(path) = path else { continue };
        let is_django = matches!(call.callee.as_str(), "path" | "re_path" | "url");
        if is_django && is_orphan {
            continue;
        }
        let is_listed = path.starts_with('/')
            && (verb == "Route"
                || matches!(verb, "add_route" | "add_api_route" | "add_url_rule") && !object.is_empty());
        // Hono and others add a missing slash. Without one, only an object that is known to be a router has routes.
        let is_verb = is_method && (path.starts_with('/') || is_script_router(source, object));
        if !is_django && !is_verb && !is_listed {
            continue;
        }
        let by_name = || call.keyword_argument("endpoint").or_else(|| call.keyword_argument("view_func"));
        let given = if is_listed {
            by_name().or_else(|| call.arguments.get(1))
        } else if chained.is_some() {
            call.arguments.last()
        } else {
            call.arguments.get(1..).and_then(<[_]>::last)
        };
        // A class of methods: `ChatView.as_view()`.
        if let Some(CallArgument::Call(view)) = given
            && let Some(class) = view.strip_suffix(".as_view")
        {
            let router = is_listed.then(|| object.to_owned());
            found.extend(
                class_routes(symbols, file, class, path, call.line)
                    .map(|route| DetectedRoute { router: router.clone(), ..route }),
            );
            continue;
        }
        let handler = match given {
            Some(CallArgument::Function(function)) => Some(NodeId { file, function: Some(*function) }),
            Some(CallArgument::Name(name)) => symbols.resolve_function(file, call.within, name),
            _ => None,
        };
        let Some(handler) = handler else { continue };
        let verbs = match lower.as_str() {
            _ if is_listed => declared_methods(call),
            _ if is_django => vec![symbols.function(handler).map_or(ANY_METHOD.to_owned(), accepted_method)],
            "all" => vec![ANY_METHOD.to_owned()],
            _ if is_websocket(call) => vec!["WEBSOCKET".to_owned()],
            verb => vec![verb.to_ascii_uppercase()],
        };
        let router = match chained {
            Some(router) => Some(router.to_owned()),
            None => (is_verb || is_listed && !object.is_empty()).then(|| object.to_owned()),
        };
        found.extend(verbs.into_iter().map(|method| {
            DetectedRoute {
                method,
                path: join_route_path("", path),
                line: call.line,
                handler,
                router: router.clone(),
                guards: middleware_of_router(source, router.as_deref(), call.line)
                    .chain(middleware_names(call, chained.is_some()))
                    .collect(),
                schema: schema_of_middleware(source, at, call),
                checks: Vec::new(),
            }
        }));
    }
    found
}

/// Fastify's `app.route({ method: "POST", url: "/chat", handler })`.
fn route_of_options(symbols: &SymbolIndex<'_, '_>, file: usize, call: &CallSite) -> Vec<DetectedRoute> {
    let text = |name: &str| match call.keyword_argument(name) {
        Some(CallArgument::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let handler = match call.keyword_argument("handler") {
        Some(CallArgument::Function(function)) => Some(NodeId { file, function: Some(*function) }),
        Some(CallArgument::Name(name)) => symbols.resolve_function(file, call.within, name),
        _ => None,
    };
    let (Some(path), Some(handler)) = (text("url").or_else(|| text("path")), handler) else {
        return Vec::new();
    };
    let methods = match call.keyword_argument("method") {
        Some(CallArgument::List(items)) => items
            .iter()
            .filter_map(|item| match item {
                CallArgument::Text(method) => Some(method.to_ascii_uppercase()),
                _ => None,
            })
            .collect(),
        _ => vec![text("method").unwrap_or_else(|| "GET".to_owned()).to_ascii_uppercase()],
    };
    let router = call.callee.rsplit_once('.').map(|(router, _)| router.to_owned());
    let guards = ["preHandler", "onRequest", "preValidation"].iter().filter_map(|hook| {
        match call.keyword_argument(hook)? {
            CallArgument::Name(name) | CallArgument::Call(name) => Some(name.clone()),
            _ => None,
        }
    });
    let guards: Vec<String> = guards.collect();
    let one = |method| DetectedRoute {
        method,
        path: path.clone(),
        line: call.line,
        handler,
        router: router.clone(),
        guards: guards.clone(),
        schema: None,
        checks: Vec::new(),
    };
    methods.into_iter().map(one).collect()
}

/// Fastify's `app.get("/chat", { websocket: true }, handler)`.
fn is_websocket(call: &CallSite) -> bool {
    let tells = |argument: &CallArgument| match argument {
        CallArgument::Map(options) => options.iter().any(|(name, _)| name == "websocket"),
        _ => false,
    };
    call.arguments.iter().any(tells)
}

/// The path of `router.route("/chat")`, the call before this one in its chain.
fn path_of_chain<'s>(source: &'s ParsedSource, at: usize, router: &str) -> Option<&'s str> {
    let wanted = format!("{router}.route");
    source.calls[..at].iter().rev().find(|call| call.callee == wanted)?.first_string()
}

/// Whether a name is bound to a part of an Express program, which another file has to mount.
fn is_router_to_mount(source: &ParsedSource, router: Option<&str>) -> bool {
    let is_router = |callee: &str| matches!(callee, "Router" | "express.Router");
    let is_mounted_here = |router: &str| {
        let given = |argument: &CallArgument| matches!(argument, CallArgument::Name(name) if name == router);
        source.calls.iter().any(|call| call.callee.ends_with(".use") && call.arguments.iter().any(given))
    };
    router.is_some_and(|router| {
        source.bindings.iter().any(|binding| binding.name == router && is_router(&binding.callee))
            && !is_mounted_here(router)
            // `module.exports = (app) => { … app.use(router) }`, a page of a serverless host.
            && (!source.exports.is_empty() || source.default_export.is_some())
    })
}

/// Whether a name is bound to a router of a JavaScript framework, or makes one.
fn is_script_router(source: &ParsedSource, object: &str) -> bool {
    const CONSTRUCTORS: &[&str] =
        &["Hono", "OpenAPIHono", "Router", "express", "fastify", "Fastify", "Elysia"];
    let makes = |callee: &str| CONSTRUCTORS.contains(&callee.rsplit('.').next().unwrap_or_default());
    let chained = object.split("()").next().unwrap_or_default();
    object.contains("()") && makes(chained)
        || source.bindings.iter().any(|binding| binding.name == chained && makes(&binding.callee))
}

/// The methods of a class that handle requests: `post`, `get`.
fn class_routes<'s>(
    symbols: &'s SymbolIndex<'_, '_>,
    file: usize,
    class: &str,
    path: &'s str,
    line: u32,
) -> impl Iterator<Item = DetectedRoute> + 's {
    let found = symbols.find_class(file, class);
    let functions = found.map(|(file, class)| (file, class, &symbols.files[file].source));
    functions.into_iter().flat_map(move |(file, class, source)| {
        let guards: Vec<String> = source
            .classes
            .iter()
            .filter(|known| known.name == class)
            .flat_map(|known| known.bases.iter().cloned().chain(class_guards(Some(known))))
            .collect();
        // What makes something in the generic views of Django REST framework.
        let is_generic = guards.iter().any(|base| {
            ["CreateAPIView", "ViewSet", "CreateModelMixin"].iter().any(|end| base.ends_with(end))
        });
        let own = source.functions.iter().enumerate().filter(move |(_, function)| {
            let is_verb = matches!(function.name.as_str(), "get" | "post" | "put" | "patch" | "delete");
            function.owner.as_deref() == Some(class) && (is_verb || is_generic && function.name == "create")
        });
        own.map(move |(at, function)| DetectedRoute {
            method: match function.name.as_str() {
                "create" => "POST".to_owned(),
                verb => verb.to_ascii_uppercase(),
            },
            path: join_route_path("", path),
            line,
            handler: NodeId { file, function: Some(at) },
            router: None,
            guards: guards.clone(),
            schema: None,
            checks: Vec::new(),
        })
    })
}

/// Flask-RESTful's `api.add_resource(Chat, "/chat")`.
fn find_resource_routes(symbols: &SymbolIndex<'_, '_>, file: usize, call: &CallSite) -> Vec<DetectedRoute> {
    match call.arguments.as_slice() {
        [CallArgument::Name(class), CallArgument::Text(path), ..] => {
            class_routes(symbols, file, class, path, call.line).collect()
        }
        _ => Vec::new(),
    }
}

/// The schema in `app.post("/chat", zValidator("json", chatSchema), chat)`.
fn schema_of_middleware(source: &ParsedSource, at: usize, route: &CallSite) -> Option<String> {
    const MAX_CALLS: usize = 12;
    let names = middleware_names(route, false);
    let validates = |name: &str| name.to_ascii_lowercase().contains("valid");
    if !names.iter().any(|name| validates(name)) {
        return None;
    }
    // The nested calls are among the next in the list.
    let nested = source.calls.get(at + 1..)?.iter().take(MAX_CALLS);
    let mut validators = nested.filter(|call| call.within == route.within && validates(&call.callee));
    validators.find_map(|call| match call.arguments.last()? {
        CallArgument::Name(schema) => Some(schema.clone()),
        _ => None,
    })
}

/// What a router runs before the routes that follow: `router.use(requireUser)`.
fn middleware_of_router<'s>(
    source: &'s ParsedSource,
    router: Option<&str>,
    before: u32,
) -> impl Iterator<Item = String> + 's {
    let wanted = router.map(|router| format!("{router}.use"));
    let own =
        source.calls.iter().filter(move |call| Some(&call.callee) == wanted.as_ref() && call.line < before);
    own.filter(|call| call.first_string().is_none_or(|path| path.trim_matches(['/', '*']).is_empty()))
        .flat_map(|call| &call.arguments)
        .filter_map(|argument| match argument {
            CallArgument::Name(name) | CallArgument::Call(name) => Some(name),
            _ => None,
        })
        .filter(|name| !name.to_lowercase().ends_with("router") && !name.to_lowercase().ends_with("routes"))
        .cloned()
}

/// The arguments between the path and the handler: `app.post("/chat", auth, chat)`.
fn middleware_names(call: &CallSite, has_no_path: bool) -> Vec<String> {
    let first = usize::from(!has_no_path);
    let inner = call.arguments.get(first..call.arguments.len().saturating_sub(1)).unwrap_or_default();
    let name = |argument: &CallArgument| match argument {
        CallArgument::Name(name) | CallArgument::Call(name) => Some(name.clone()),
        _ => None,
    };
    inner.iter().filter_map(name).collect()
}

/// The method that a Django view accepts: `@require_POST`, `@api_view(["POST"])`.
fn accepted_method(view: &SourceFunction) -> String {
    let listed = view.decorators.iter().find(|decorator| {
        matches!(decorator.callee.rsplit('.').next(), Some("api_view" | "require_http_methods"))
    });
    if let Some(CallArgument::List(methods)) = listed.and_then(|decorator| decorator.arguments.first()) {
        let texts: Vec<&str> = methods
            .iter()
            .filter_map(|method| match method {
                CallArgument::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let chosen = if texts.contains(&"POST") { Some(&"POST") } else { texts.first() };
        if let Some(method) = chosen {
            return (*method).to_owned();
        }
    }
    let required = view
        .decorators
        .iter()
        .find_map(|decorator| decorator.callee.rsplit('.').next()?.strip_prefix("require_"));
    match required {
        Some("POST") => "POST".to_owned(),
        Some("GET" | "safe") => "GET".to_owned(),
        _ => ANY_METHOD.to_owned(),
    }
}
