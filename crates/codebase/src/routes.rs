//! Finds HTTP routes and their handler functions.

mod mounts;

use std::collections::BTreeSet;

use crate::file_summary::function_parameter;
use crate::path_role;
use crate::profile::FunctionParameter;
use crate::source::{CallArgument, CallSite, ParsedSource, RequestPart, SourceClass, SourceFunction};
use crate::symbols::{NodeId, SymbolIndex, type_names};

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

/// File-based routes of Next.js, `SvelteKit` and Remix.
fn find_file_routes(symbols: &SymbolIndex<'_, '_>, file: usize) -> Vec<DetectedRoute> {
    let (path, source) = (symbols.files[file].path, symbols.files[file].source);
    let projects = symbols.sources.projects;
    let folder = projects.innermost_project(path).map_or("", |at| projects.all[at].folder.as_str());
    let inside = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
    let inside = inside.strip_prefix("src/").unwrap_or(inside);
    let (place, name) = inside.rsplit_once('/').unwrap_or(("", inside));
    let stem = name.split('.').next().unwrap_or(name);
    // Groups such as `(chat)` are not part of the path.
    let route = |folders: &str| {
        let parts = folders.split('/').filter(|part| !part.starts_with('(') && !part.is_empty());
        format!("/{}", parts.collect::<Vec<_>>().join("/"))
    };
    let within =
        |root: &str| place.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let verbs = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    match stem {
        "route" if within("app").is_some() => {
            exported_routes(source, file, &route(within("app").unwrap_or_default()), &verbs)
        }
        "+server" if within("routes").is_some() => {
            exported_routes(source, file, &route(within("routes").unwrap_or_default()), &verbs)
        }
        _ if inside.starts_with("app/routes/") => find_remix_routes(source, file, inside),
        _ if within("pages/api").is_some() => {
            let last = if stem == "index" { "" } else { stem };
            exported_routes(
                source,
                file,
                &route(&format!("api{}/{last}", within("pages/api").unwrap_or_default())),
                &["default"],
            )
        }
        _ => Vec::new(),
    }
}

/// Remix's `app/routes/api.chat.ts`: dots become slashes, an `action` handles POST, a `loader` handles GET.
fn find_remix_routes(source: &ParsedSource, file: usize, path: &str) -> Vec<DetectedRoute> {
    let name = path.trim_start_matches("app/routes/");
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    let name = name.strip_suffix("/route").unwrap_or(name);
    // `_layout.chat` and `chat_` both map to `/chat`.
    let parts =
        name.split(['.', '/']).filter(|part| !part.starts_with('_')).map(|part| part.trim_end_matches('_'));
    let place = format!("/{}", parts.collect::<Vec<_>>().join("/"));
    let method = |name: &str| match name {
        "action" => Some("POST"),
        "loader" => Some("GET"),
        _ => None,
    };
    let fact = |(at, function): (usize, &SourceFunction)| {
        let method =
            method(&function.name).filter(|_| function.outer.is_none() && function.owner.is_none())?;
        let handler = NodeId { file, function: Some(at) };
        Some(DetectedRoute {
            method: method.to_owned(),
            path: place.clone(),
            line: function.line,
            handler,
            router: None,
            guards: Vec::new(),
            schema: None,
            checks: Vec::new(),
        })
    };
    source.functions.iter().enumerate().filter_map(fact).collect()
}

fn exported_routes(source: &ParsedSource, file: usize, path: &str, names: &[&str]) -> Vec<DetectedRoute> {
    let is_default = names == ["default"];
    let wanted = |function: &SourceFunction| {
        let stands_for_it = source.default_export.as_ref().filter(|_| is_default) == Some(&function.name);
        function.outer.is_none()
            && function.owner.is_none()
            && (stands_for_it || names.contains(&function.name.as_str()))
    };
    let fact = |method: &str, at: usize| DetectedRoute {
        method: method.to_owned(),
        path: path.to_owned(),
        line: source.functions[at].line,
        handler: NodeId { file, function: Some(at) },
        router: None,
        guards: Vec::new(),
        schema: None,
        checks: Vec::new(),
    };
    let own = (0..source.functions.len()).filter(|at| wanted(&source.functions[*at]));
    let own = own.map(|at| fact(if is_default { ANY_METHOD } else { &source.functions[at].name }, at));
    // `export const POST = handler`.
    let renamed = source.references.iter().filter_map(|reference| {
        let method = names.iter().find(|name| reference.holder.as_deref() == Some(**name))?;
        let at = source.functions.iter().position(|function| {
            function.outer.is_none() && function.owner.is_none() && function.name == reference.name
        })?;
        Some(fact(method, at))
    });
    own.chain(renamed).collect()
}

/// What a handler reads from the request and answers with, as far as types or code show it.
#[derive(Default)]
pub(crate) struct HandlerFields {
    pub(crate) request: Vec<String>,
    pub(crate) response: Vec<String>,
    /// The request fields that a class or a parameter declares.
    pub(crate) declared: Vec<FunctionParameter>,
    pub(crate) is_validated: bool,
    pub(crate) is_bare_body: bool,
    pub(crate) form: Vec<String>,
    pub(crate) query: Vec<String>,
    pub(crate) optional: Vec<String>,
}

pub(crate) fn handler_fields(
    symbols: &SymbolIndex<'_, '_>,
    handler: NodeId,
    path: &str,
    schema: Option<&str>,
) -> HandlerFields {
    let Some(function) = symbols.function(handler) else { return HandlerFields::default() };
    let of_type = |annotation: &str| {
        // `@Body() body: { question: string; topK?: number }`
        if annotation.starts_with('{') {
            return Some(fields_of_literal(annotation)).filter(|fields| !fields.is_empty());
        }
        let class = type_names(annotation).find_map(|word| symbols.find_class(handler.file, word));
        class.map(|(file, class)| class_fields(symbols, file, class, 3)).filter(|fields| !fields.is_empty())
    };
    // Injected parameters and response types are not part of the request.
    let is_sent = |annotation: &&str| !annotation.contains("Response");
    let is_python = symbols.files[handler.file].path.ends_with(".py");
    let own = || function.parameters.iter().filter(|parameter| !parameter.injected);
    let mut helper = handed_on_fields(symbols, handler, function);
    let mut annotations = own().filter_map(|parameter| parameter.annotation.as_deref()).filter(is_sent);
    let mut fields = HandlerFields {
        declared: annotations
            .find_map(of_type)
            .or_else(|| function.body_type.as_deref().and_then(of_type))
            .unwrap_or_default(),
        form: [&function.form_fields[..], &helper.form].concat(),
        query: [&function.query_fields[..], &helper.query].concat(),
        optional: [&function.optional_fields[..], &helper.optional].concat(),
        // A controller of NestJS has decorators, and its classes are checked.
        is_validated: is_python || !function.decorators.is_empty(),
        ..HandlerFields::default()
    };
    // FastAPI fills plain parameters from the query, and others from the part that their default names.
    let in_path = |name: &str| path.contains(&format!("{{{name}}}")) || path.contains(&format!("{{{name}:"));
    let is_field = |parameter: &&crate::source::SourceParameter| {
        is_python && !in_path(&parameter.name) && parameter.part != Some(RequestPart::Header)
    };
    for parameter in own().filter(is_field) {
        let is_plain = parameter.annotation.as_deref().is_some_and(is_scalar_type);
        let names = match parameter.part {
            Some(RequestPart::Form) => &mut fields.form,
            Some(RequestPart::Query) => &mut fields.query,
            None if is_plain && !path.contains('<') => &mut fields.query,
            Some(RequestPart::Json | RequestPart::Body) if is_plain => {
                fields.declared.push(function_parameter(parameter));
                continue;
            }
            _ => continue,
        };
        names.push(parameter.name.clone());
        fields.declared.push(function_parameter(parameter));
    }
    // One alone is the body itself; several are its fields.
    let of_body = |parameter: &&crate::source::SourceParameter| {
        let is_class = || parameter.annotation.as_deref().is_some_and(|given| of_type(given).is_some());
        matches!(parameter.part, Some(RequestPart::Body | RequestPart::Json)) || is_class()
    };
    let mut bodies = own().filter(of_body);
    fields.is_bare_body = is_python
        && bodies.next().is_some_and(|first| {
            first.part == Some(RequestPart::Body) && first.annotation.as_deref().is_some_and(is_scalar_type)
        })
        && bodies.next().is_none();
    let model = function.decorators.iter().find_map(|decorator| decorator.keyword_argument("response_model"));
    let answered = match model {
        Some(CallArgument::Name(name)) => of_type(name),
        _ => None,
    };
    let answered = answered.or_else(|| function.returns.as_deref().and_then(of_type));
    let names_of =
        |fields: &[FunctionParameter]| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    if fields.declared.is_empty()
        && let Some(schema) = validated_schema(symbols, handler, schema)
    {
        fields.declared = schema.keyword_arguments.iter().map(schema_field).collect();
        fields.request = names_of(&fields.declared);
        fields.is_validated = true;
        fields.response.clone_from(&function.response_fields);
        return fields;
    }
    fields.request = match (fields.declared.is_empty(), function.request_fields.is_empty()) {
        (false, _) => names_of(&fields.declared),
        (true, false) => function.request_fields.clone(),
        (true, true) => std::mem::take(&mut helper.request),
    };
    fields.response = match answered {
        Some(answered) => names_of(&answered),
        None if function.response_fields.is_empty() => helper.response,
        None => function.response_fields.clone(),
    };
    fields
}

/// The fields of a type that is written in place.
fn fields_of_literal(written: &str) -> Vec<FunctionParameter> {
    let inner = written.trim_start_matches('{').split('}').next().unwrap_or_default();
    let members = inner.split([';', ',']).filter_map(|member| member.split_once(':'));
    let field = |(name, kind): (&str, &str)| FunctionParameter {
        name: name.trim().trim_end_matches('?').to_owned(),
        annotation: Some(kind.trim().to_owned()),
        optional: name.trim().ends_with('?'),
        ..FunctionParameter::default()
    };
    members.map(field).filter(|field| field.name.chars().all(|c| c.is_alphanumeric() || c == '_')).collect()
}

/// A field of a zod schema: `sessionId: z.string().uuid().optional()`.
fn schema_field((name, value): &(String, CallArgument)) -> FunctionParameter {
    let CallArgument::Call(written) = value else {
        return FunctionParameter { name: name.clone(), ..FunctionParameter::default() };
    };
    let has = |words: &[&str]| words.iter().any(|word| written.contains(word));
    let kinds = [
        ("array", "unknown[]"),
        ("object", "object"),
        ("uuid", "uuid"),
        ("boolean", "boolean"),
        ("number", "number"),
        ("string", "string"),
    ];
    let kind = kinds.iter().find(|(word, _)| written.contains(word));
    FunctionParameter {
        name: name.clone(),
        annotation: kind.map(|(_, kind)| (*kind).to_owned()),
        optional: has(&["optional", "default", "nullish"]),
        ..FunctionParameter::default()
    }
}

/// The zod schema that a handler validates its request with: `chatSchema.safeParse(body)`.
fn validated_schema<'l>(
    symbols: &SymbolIndex<'l, '_>,
    handler: NodeId,
    by_middleware: Option<&str>,
) -> Option<&'l CallSite> {
    let own = symbols.files[handler.file].source.calls.iter().filter(|call| call.within == handler.function);
    let function = symbols.function(handler);
    // What a model answers is checked in the same way.
    let is_request = |argument: &CallArgument| match argument {
        CallArgument::Name(name) => {
            name.rsplit('.').next() == Some("body")
                || function.is_some_and(|function| function.request_names.contains(name))
        }
        CallArgument::Call(callee) => callee.ends_with(".json"),
        _ => false,
    };
    let reads_nothing_else = function.is_none_or(|function| function.request_fields.is_empty());
    let own = own.filter_map(|call| {
        let (schema, verb) = call.callee.rsplit_once('.')?;
        let is_check = matches!(verb, "parse" | "safeParse" | "parseAsync" | "safeParseAsync");
        (is_check && (reads_nothing_else || call.arguments.iter().any(is_request))).then_some(schema)
    });
    by_middleware.into_iter().chain(own).find_map(|schema| {
        let (file, name) = symbols.imported_from(handler.file, schema).unwrap_or((handler.file, schema));
        let source = symbols.files[file].source;
        let made =
            source.bindings.iter().find(|binding| binding.name == name && binding.callee == "z.object")?;
        source.calls.iter().find(|call| call.callee == "z.object" && call.line >= made.line)
    })
}

/// The request fields that a handler leaves to the functions it hands its request to, if it reads none itself.
fn handed_on_fields(
    symbols: &SymbolIndex<'_, '_>,
    handler: NodeId,
    function: &SourceFunction,
) -> HandlerFields {
    let is_whole = |name: &str| matches!(name, "request" | "req" | "self.request" | "c" | "ctx");
    let is_body = |name: &str| {
        function.request_names.iter().any(|known| known == name)
            || matches!(name, "req.body" | "request.body" | "request.json" | "request.data" | "request.form")
    };
    let own = symbols.files[handler.file].source.calls.iter().filter(|call| call.within == handler.function);
    for call in own.clone().filter(|_| function.request_fields.is_empty()) {
        let Some(called) = symbols.resolve_function(handler.file, call.within, &call.callee) else {
            continue;
        };
        let Some(helper) = symbols.function(called) else { continue };
        for (at, argument) in call.arguments.iter().enumerate() {
            let CallArgument::Name(name) = argument else { continue };
            if is_whole(name) && !helper.request_fields.is_empty() {
                return HandlerFields {
                    request: helper.request_fields.clone(),
                    form: helper.form_fields.clone(),
                    query: helper.query_fields.clone(),
                    optional: helper.optional_fields.clone(),
                    response: helper.response_fields.clone(),
                    ..HandlerFields::default()
                };
            }
            if is_body(name) {
                let request = fields_of_parameter(symbols, called, at, 2);
                if !request.is_empty() {
                    let form = if name == "request.form" { request.clone() } else { Vec::new() };
                    return HandlerFields { request, form, ..HandlerFields::default() };
                }
            }
        }
    }
    HandlerFields::default()
}

/// The fields that a function, or what it hands a parameter on to, reads of that parameter.
fn fields_of_parameter(symbols: &SymbolIndex<'_, '_>, node: NodeId, at: usize, hops: usize) -> Vec<String> {
    let Some(function) = symbols.function(node) else { return Vec::new() };
    let Some(parameter) = function.parameters.get(at) else { return Vec::new() };
    let own = function.parameter_fields.iter().filter(|(name, _)| *name == parameter.name);
    let own: Vec<String> = own.map(|(_, field)| field.clone()).collect();
    if !own.is_empty() || hops == 0 {
        return own;
    }
    let calls = symbols.files[node.file].source.calls.iter().filter(|call| call.within == node.function);
    calls
        .filter_map(|call| {
            let is_it = |argument: &CallArgument| matches!(argument, CallArgument::Name(name) if *name == parameter.name);
            let place = call.arguments.iter().position(is_it)?;
            let called = symbols.resolve_function(node.file, call.within, &call.callee)?;
            Some(fields_of_parameter(symbols, called, place, hops - 1))
        })
        .find(|fields| !fields.is_empty())
        .unwrap_or_default()
}

/// Types that a query or a form field can have.
fn is_scalar_type(annotation: &str) -> bool {
    let plain = annotation.replace([' ', '"', '\''], "");
    let parts = ["", "str", "int", "float", "bool", "None", "Optional", "Union"];
    let first = plain.strip_prefix("Annotated[").and_then(|rest| rest.split(',').next()).unwrap_or(&plain);
    !first.is_empty() && first.split(['|', '[', ']', ',']).all(|part| parts.contains(&part))
}

/// The fields of a class and of the classes that it extends.
fn class_fields(
    symbols: &SymbolIndex<'_, '_>,
    file: usize,
    class: &str,
    levels: usize,
) -> Vec<FunctionParameter> {
    let Some(found) = symbols.resolve_class(file, class) else { return Vec::new() };
    let mut fields: Vec<FunctionParameter> = Vec::new();
    for base in found.bases.iter().filter(|base| levels > 0 && *base != class) {
        if let Some((file, base)) = symbols.find_class(file, base) {
            fields.extend(class_fields(symbols, file, base, levels - 1));
        }
    }
    for field in found.fields.iter().map(function_parameter) {
        fields.retain(|known| known.name != field.name);
        fields.push(field);
    }
    fields
}
