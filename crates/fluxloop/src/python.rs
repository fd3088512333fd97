//! Integrating a Python program: which function is the agent, what is decorated, how FluxLoop calls it.

use std::collections::BTreeSet;

use codebase::{Agent, Glance, NameKind, Parameter, Route};
use regex::Regex;

use crate::config::{Runner, new_file};
use crate::decorations;
use crate::development::port;
use crate::endpoint::{Endpoint, rank};
use crate::graph::{self, GraphCall};
use crate::integrate::{Found, Scene};
use crate::recipe::{InProcess, recipe};
use crate::target::{Function, Module, Passing, is_text, module_of, passing};
use crate::wrapper::{Object, Wrapper};

const WRAPPED: &str = "FluxLoop calls this; it hands the input to the agent.";

/// How FluxLoop gets at the agent.
pub(crate) enum Way {
    /// It calls a function as it is, or through a file of ours.
    Function { function: Function, module: Module, passing: Passing, object: Option<String> },
    /// It runs an object of an agent framework.
    Object { path: String, name: String, module: Module, object: Object, call: GraphCall },
    /// It sends a request, in the same process or over HTTP.
    Route { route: Box<Route>, endpoint: Endpoint },
}

/// Finds the agent and makes the edits; says why not, if nothing can be done.
pub(crate) fn integrate(scene: &Scene<'_>) -> Result<Found, String> {
    if scene.uses_sdk() {
        shadowed(scene)?;
    }
    let (way, agent) = choose(scene)?;
    let mut found = Found::default();
    let mut traced = false;
    if scene.uses_sdk() {
        traced = decorations::decorations(scene, &way, agent.as_ref(), &mut found);
    }
    let folder = scene.line().folder(&scene.name);
    let django = django_settings(scene);
    finish(scene, way, traced, django.as_deref(), &folder, &mut found);
    if let Some(agent) = &agent {
        others(scene, agent, &mut found);
    }
    Ok(found)
}

/// The repository's own module of that name would be imported instead of the SDK.
fn shadowed(scene: &Scene<'_>) -> Result<(), String> {
    let names =
        ["fluxloop.py", "fluxloop/__init__.py", "src/fluxloop/__init__.py"].map(|name| scene.inside(name));
    match names.iter().find(|path| scene.tree.find(path).ok().flatten().is_some()) {
        Some(path) => Err(format!(
            "`{}` is a module of that name, and would be imported instead of the FluxLoop SDK",
            scene.texts().file(path)
        )),
        None => Ok(()),
    }
}

/// The way to the agent that is surest to work, and the agent.
fn choose(scene: &Scene<'_>) -> Result<(Way, Option<Agent>), String> {
    if let Some(wanted) = &scene.ask.agent {
        return named(scene, wanted);
    }
    // A graph that the project itself names is what it runs.
    if let Some(way) = by_graphs(scene) {
        return way.map(|way| (way, None));
    }
    let (beside, agents): (Vec<&Agent>, Vec<&Agent>) =
        scene.agents().partition(|agent| scene.is_aside(&agent.path));
    let mut reasons = Vec::new();
    for agent in agents {
        match by_function(scene, &function_of(scene, agent)) {
            Ok(way) => return Ok((way, Some(agent.clone()))),
            Err(reason) => reasons.push(format!(
                "{} in {}: {reason}",
                scene.name(&agent.name, &agent.path, agent.line),
                scene.texts().file(&agent.path)
            )),
        }
        match by_object(scene, &agent.path) {
            Some(Ok(way)) => return Ok((way, Some(agent.clone()))),
            Some(Err(reason)) => reasons.push(reason),
            None => {}
        }
        let mut routes: Vec<&Route> = scene.routes().filter(|route| route.agent == agent.name).collect();
        routes.sort_by_key(|route| rank(route));
        for route in routes {
            match endpoint_of(scene, route) {
                Ok(endpoint) => {
                    return Ok((
                        Way::Route { route: Box::new(route.clone()), endpoint },
                        Some(agent.clone()),
                    ));
                }
                Err(reason) => reasons.push(reason),
            }
        }
    }
    let anchors = scene.framework.iter().flat_map(|framework| &framework.anchors);
    let files: Vec<&String> =
        anchors.map(|anchor| &anchor.path).filter(|path| !scene.is_aside(path)).collect();
    for way in files.iter().filter_map(|path| by_object(scene, path)) {
        match way {
            Ok(way) => return Ok((way, None)),
            Err(reason) => reasons.push(reason),
        }
    }
    let mut seen = BTreeSet::new();
    reasons.retain(|reason| seen.insert(reason.clone()));
    reasons.truncate(4);
    let asides: Vec<String> = beside.iter().take(4).map(|agent| shown_agent(scene, agent)).collect();
    Err(if reasons.is_empty() && !asides.is_empty() {
        format!(
            "only examples, tests or tools call a language model ({}); name one as `agent` if it is meant",
            asides.join(", ")
        )
    } else if reasons.is_empty() {
        "no function was found that calls a language model or an agent framework; name the one to run as `agent` \
         (\"path/to/file.py:function\")"
            .to_owned()
    } else {
        format!(
            "no function was found that FluxLoop could call with one text ({}); name one as `agent` \
             (\"path/to/file.py:function\"), or write one that takes a text",
            reasons.join("; ")
        )
    })
}

/// The agent that somebody named: `path/to/file.py:name`.
fn named(scene: &Scene<'_>, wanted: &str) -> Result<(Way, Option<Agent>), String> {
    if let Some(route) = scene.routes().find(|route| format!("{} {}", route.method, route.path) == wanted) {
        let endpoint = Endpoint::of(route, scene.ask.request_field.as_deref(), scene.texts())?;
        let agent = scene.agents().find(|agent| agent.name == route.agent).cloned();
        return Ok((Way::Route { route: Box::new(route.clone()), endpoint }, agent));
    }
    let (path, name) = wanted
        .split_once(':')
        .ok_or_else(|| {
            let wanted = scene.texts().name(NameKind::Target, wanted, "", 0);
            format!("`agent` is \"{wanted}\"; it should be \"path/to/file.py:function\", or a route that leads to a model, such as \"POST /chat\"")
        })?;
    let file = scene.texts().file(path);
    let seen =
        scene.glance(path).ok_or_else(|| format!("there is no Python file `{file}` that can be parsed"))?;
    let shown = scene.name(name, path, 0);
    let agent = scene.profile.agents.iter().find(|agent| agent.path == path && agent.name == name).cloned();
    if let Some(signature) = seen.functions.iter().find(|function| function.name == name) {
        let function = Function::of_signature(path, signature);
        let way = by_function(scene, &function)
            .map_err(|reason| format!("`{shown}` in {file} cannot be called: {reason}"))?;
        return Ok((way, agent));
    }
    let made = seen.made.iter().find(|(known, _)| known == name);
    let object = made.and_then(|(_, callee)| Object::made_by(callee, &seen.imports));
    let way = object.map(|object| object_way(scene, path, &seen, name, object)).transpose()?;
    let missing = || format!("there is no function and no known agent object `{shown}` in {file}");
    Ok((way.flatten().ok_or_else(missing)?, agent))
}

/// An agent with what its own file says about what it gives back.
fn function_of(scene: &Scene<'_>, agent: &Agent) -> Function {
    let seen = scene.glance(&agent.path).unwrap_or_default();
    let signature = seen.functions.iter().find(|function| function.name == agent.name);
    signature
        .map_or_else(|| Function::of_agent(agent), |signature| Function::of_signature(&agent.path, signature))
}

fn by_function(scene: &Scene<'_>, function: &Function) -> Result<Way, String> {
    let (path, line) = (function.path.as_str(), function.line);
    let passing = passing(&function.parameters, &|kind, name| scene.texts().name(kind, name, path, line))?;
    let seen = scene.glance(&function.path).unwrap_or_default();
    let page = |module: &str| matches!(module.split('.').next(), Some("streamlit" | "chainlit" | "gradio"));
    if let Some((module, _)) = seen.imports.iter().find(|(module, _)| page(module)) {
        let module = scene.texts().name(NameKind::Module, module, path, 0);
        return Err(format!("its file is a page of {module}, which runs when it is imported"));
    }
    let module = module_of(scene, &function.path).ok_or("its file has a name that cannot be imported")?;
    let mut object = None;
    if let Some(owner) = function.owner() {
        object = seen.made.iter().find(|(_, callee)| callee == owner).map(|(name, _)| name.clone());
        if object.is_none() && !function.makes_itself {
            return Err(format!("`{}` needs arguments to be made", scene.name(owner, path, line)));
        }
    }
    Ok(Way::Function { function: function.clone(), module, passing, object })
}

/// An object of an agent framework in a file, if it is clear which; why it cannot be run, if that is so.
fn by_object(scene: &Scene<'_>, path: &str) -> Option<Result<Way, String>> {
    let seen = scene.glance(path)?;
    let made: Vec<(&String, Object)> = seen
        .made
        .iter()
        .filter_map(|(name, callee)| Some((name, Object::made_by(callee, &seen.imports)?)))
        .collect();
    let usual = |name: &str| {
        matches!(
            name,
            "graph" | "agent" | "app" | "root_agent" | "main_agent" | "triage_agent" | "workflow" | "team"
        )
    };
    let (name, object) = made.iter().find(|(name, _)| made.len() == 1 || usual(name))?;
    object_way(scene, path, &seen, name, *object).transpose()
}

/// The way to an object, if its file can be imported.
fn object_way(
    scene: &Scene<'_>,
    path: &str,
    seen: &Glance,
    name: &str,
    object: Object,
) -> Result<Option<Way>, String> {
    let Some(module) = module_of(scene, path) else { return Ok(None) };
    let call = if object == Object::Graph {
        graph::call_of(scene.tree, path, seen, name, scene.texts())?
    } else {
        GraphCall::default()
    };
    Ok(Some(Way::Object { path: path.to_owned(), name: name.to_owned(), module, object, call }))
}

/// The first graph that the project names and that can be asked with one text.
fn by_graphs(scene: &Scene<'_>) -> Option<Result<Way, String>> {
    let graphs = graphs(scene);
    let mut reasons = Vec::new();
    for (path, name) in &graphs {
        let Some(seen) = scene.glance(path) else { continue };
        let made = seen.made.iter().find(|(known, _)| known == name);
        let object = made.and_then(|(_, callee)| Object::made_by(callee, &seen.imports));
        let is_factory = seen.functions.iter().any(|function| function.name == *name);
        match object.or_else(|| is_factory.then_some(Object::Graph)) {
            Some(object) => match object_way(scene, path, &seen, name, object) {
                Ok(Some(way)) => return Some(Ok(way)),
                Ok(None) => {}
                Err(reason) => reasons.push(reason),
            },
            None => reasons.push(format!(
                "`{}` in {} is not made when the file is loaded",
                scene.name(name, &scene.inside("langgraph.json"), 0),
                scene.texts().file(path)
            )),
        }
    }
    let why = if reasons.is_empty() { "its graphs were not found".to_owned() } else { reasons.join("; ") };
    (!graphs.is_empty()).then(|| {
        Err(format!(
            "langgraph.json says what runs here, but {why}; write a function that takes a text and runs the graph, and name it as `agent`"
        ))
    })
}

/// The graphs that `langgraph.json` names: file and name.
fn graphs(scene: &Scene<'_>) -> Vec<(String, String)> {
    let folder = if scene.package.is_empty() { String::new() } else { format!("{}/", scene.package) };
    let text = scene.tree.read(&format!("{folder}langgraph.json"), 1 << 20).unwrap_or_default();
    let config: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let graphs = config["graphs"].as_object().cloned().unwrap_or_default();
    let is_there = |path: &String| scene.tree.find(path).ok().flatten().is_some();
    let one = |value: &serde_json::Value| {
        let (file, name) = value.as_str()?.rsplit_once(':')?;
        let file = file.trim_start_matches("./");
        // A path, or a module.
        let module = file.replace('.', "/");
        let places =
            [format!("{folder}{file}"), format!("{folder}{module}.py"), format!("{folder}src/{module}.py")];
        Some((places.iter().find(|path| is_there(path)).unwrap_or(&places[0]).clone(), name.to_owned()))
    };
    graphs.values().filter_map(one).collect()
}

/// The file that FluxLoop calls, if it cannot call the program as it is, and the runner.
fn finish(
    scene: &Scene<'_>,
    way: Way,
    is_traced: bool,
    django: Option<&str>,
    folder: &str,
    found: &mut Found,
) {
    found.target_place = match &way {
        Way::Function { function, .. } => (function.path.clone(), function.line),
        Way::Object { path, .. } => (path.clone(), 0),
        Way::Route { route, .. } => (route.file.clone(), route.line),
    };
    // FluxLoop reports what the outermost decorated function gives; that has to be the text, not what it is made from.
    let traced = Some(scene.name.as_str()).filter(|_| scene.uses_sdk());
    let wrapper = Wrapper { folder, root: "", django, traced };
    let content = match &way {
        Way::Function { function, module, .. }
            if function.is_direct() && django.is_none() && (is_traced || !scene.uses_sdk()) =>
        {
            found.runner = Some(Runner::Function {
                target: format!("{}:{}", module.name, function.name),
                folder: Some(module.root.clone()),
            });
            found.target = format!("{}:{}", module.name, function.name);
            return;
        }
        Way::Function { function, module, passing, object } => {
            found.target = format!("{}:{}", module.name, function.name);
            Wrapper { root: &module.root, ..wrapper }.around(module, function, passing, object.as_deref())
        }
        Way::Object { name, module, object, call, .. } => {
            found.target = format!("{}:{name}", module.name);
            Wrapper { root: &module.root, ..wrapper }.of_object(module, name, *object, call)
        }
        Way::Route { route, endpoint } => {
            found.target = format!("{} {}", endpoint.method, endpoint.path);
            found.warnings.extend(endpoint.doubts().iter().cloned());
            by_route(scene, route, endpoint, &wrapper, found)
        }
    };
    let path = wrapper.path();
    found.compiles.insert(path.clone());
    found.edits.push(new_file(path, content, WRAPPED));
    found.runner = Some(Runner::Function { target: Wrapper::target(), folder: None });
}

/// A handler that takes texts as parameters gets them from the URL.
fn with_query(scene: &Scene<'_>, route: &Route, parameters: &[Parameter]) -> Result<Route, String> {
    let simple =
        |parameter: &&Parameter| !parameter.injected && parameter.annotation.as_deref().is_some_and(is_text);
    let texts: Vec<Parameter> = parameters.iter().filter(simple).cloned().collect();
    if texts.is_empty() || !route.declared.is_empty() {
        return Ok(route.clone());
    }
    if route.method != "GET" {
        return Err(format!("{} takes its text as a part of the URL", scene.route(route)));
    }
    let request = texts.iter().map(|parameter| parameter.name.clone()).collect();
    Ok(Route { request, declared: texts, ..route.clone() })
}

/// The request for a route, if it can be sent from nowhere.
fn endpoint_of(scene: &Scene<'_>, route: &Route) -> Result<Endpoint, String> {
    let seen = scene.glance(&route.file).unwrap_or_default();
    let handler = seen.functions.iter().find(|function| function.name == route.handler);
    let parameters = handler.map(|handler| handler.parameters.as_slice()).unwrap_or_default();
    let route_with_query = with_query(scene, route, parameters)?;
    let endpoint = Endpoint::of(&route_with_query, scene.ask.request_field.as_deref(), scene.texts())?;
    let asks = |name: &str| {
        ["user", "token", "auth", "credential", "api_key", "principal"].iter().any(|word| name.contains(word))
    };
    let injected = parameters.iter().filter(|parameter| parameter.injected);
    match injected.into_iter().find(|parameter| asks(&parameter.name.to_lowercase())) {
        Some(parameter) if scene.ask.request_field.is_none() => Err(format!(
            "{} asks for `{}`, so that a request needs credentials",
            scene.route(route),
            scene.name(&parameter.name, &route.file, route.line)
        )),
        _ => {
            let text = scene.tree.read(&route.file, 256 * 1024).unwrap_or_default();
            endpoint.seen_in(&String::from_utf8_lossy(&text), scene.texts(), &route.file)
        }
    }
}

/// A file that sends a request through the program's own application object, or over HTTP if there is no getting at it.
fn by_route(
    scene: &Scene<'_>,
    route: &Route,
    endpoint: &Endpoint,
    wrapper: &Wrapper<'_>,
    found: &mut Found,
) -> String {
    if let Some((by, app)) = in_process(scene, wrapper.django) {
        if by == InProcess::Starlette {
            found.prerequisites.push("httpx is installed: the test client of Starlette needs it".to_owned());
        }
        let root = app.as_ref().map_or_else(|| scene.package.clone(), |(module, _)| module.root.clone());
        let app = app.as_ref().map(|(module, name)| (module, name.as_str()));
        return Wrapper { root: &root, ..*wrapper }.of_route(by, app, endpoint);
    }
    let port = port(scene.tree, &scene.entry_points()).unwrap_or(scene.recipe().port);
    let url = format!("http://{}:{port}{}", scene.recipe().host, endpoint.path);
    found.warnings.push(format!(
        "The program must be running while FluxLoop runs: {} is not made in a place where it could be imported from ({}).",
        scene.recipe().title,
        scene.texts().file(&route.file)
    ));
    let text = endpoint.python_bridge(&url);
    found.url = Some(url);
    text
}

/// The application object of a web framework, and how a request gets into it.
fn in_process(scene: &Scene<'_>, django: Option<&str>) -> Option<(InProcess, Option<(Module, String)>)> {
    // The framework of the routes may be another than the one that was asked for.
    let web = scene.profile.frameworks.iter().filter_map(|one| Some((one, recipe(one.name)?.in_process?)));
    let own = scene.recipe().in_process;
    let (framework, by) = web.into_iter().find(|(one, by)| {
        own.is_none_or(|own| own == *by) && one.anchors.iter().any(|anchor| scene.owns(&anchor.path))
            || own == Some(InProcess::Django) && *by == InProcess::Django
    })?;
    if by == InProcess::Django {
        return django.map(|_| (by, None));
    }
    for anchor in framework.anchors.iter().filter(|anchor| scene.owns(&anchor.path)) {
        let seen = scene.glance(&anchor.path).unwrap_or_default();
        let makes =
            |callee: &String| matches!(callee.rsplit('.').next(), Some("FastAPI" | "Starlette" | "Flask"));
        // An application that a function makes is mostly made at the top level by calling it.
        let made = seen.made.iter().find(|(_, callee)| makes(callee));
        let made = made.or_else(|| {
            seen.made
                .iter()
                .find(|(_, callee)| matches!(callee.as_str(), "create_app" | "make_app" | "get_app"))
        });
        if let (Some((name, _)), Some(module)) = (made, module_of(scene, &anchor.path)) {
            return Some((by, Some((module, name.clone()))));
        }
    }
    None
}

/// The settings module that `manage.py` names.
fn django_settings(scene: &Scene<'_>) -> Option<String> {
    if scene.recipe().in_process != Some(InProcess::Django) {
        return None;
    }
    let text = String::from_utf8(scene.tree.read(&scene.inside("manage.py"), 1 << 16).ok()?).ok()?;
    let pattern = Regex::new(r#"DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']"#).ok()?;
    Some(pattern.captures(&text)?.get(1)?.as_str().to_owned())
}

/// An agent in a sentence: `path/to/file.py:function`.
fn shown_agent(scene: &Scene<'_>, agent: &Agent) -> String {
    let name = scene.name(&agent.name, &agent.path, agent.line);
    format!("{}:{name}", scene.texts().file(&agent.path))
}

fn others(scene: &Scene<'_>, chosen: &Agent, found: &mut Found) {
    if scene.ask.agent.is_none() && chosen.reached_from.is_none() {
        found.warnings.push(format!(
            "Nothing was seen that calls {} in {}: look whether it is still in use.",
            scene.name(&chosen.name, &chosen.path, chosen.line),
            scene.texts().file(&chosen.path)
        ));
    }
    let others: Vec<String> = scene
        .agents()
        .filter(|agent| (&agent.path, &agent.name) != (&chosen.path, &chosen.name))
        .filter(|agent| !chosen.parts.iter().any(|part| part.path == agent.path && part.name == agent.name))
        .map(|agent| shown_agent(scene, agent))
        .collect();
    if scene.ask.agent.is_none() && !others.is_empty() {
        let shown: Vec<&str> = others.iter().take(5).map(String::as_str).collect();
        found.warnings.push(format!(
            "{} was taken for the agent; {} other functions call a model as well ({}). Name another one as `agent` if \
             that is the one to test.",
            shown_agent(scene, chosen),
            others.len(),
            shown.join(", ")
        ));
    }
}
