//! Integrating a Python program: which function is the agent, what is decorated, how FluxLoop calls it.

use std::collections::BTreeSet;

use codebase::{Agent, FileSummary, FunctionParameter, NameKind, Route};
use regex::Regex;

use crate::config::{RunnerConfig, create_file_edit};
use crate::decorations;
use crate::dev_server::find_port;
use crate::endpoint::{AgentEndpoint, route_rank};
use crate::graph::{self, GraphCall};
use crate::integrate::{Contribution, RecipeInput};
use crate::recipe::{InProcessClient, find_recipe};
use crate::target::{
    PythonModule, TargetFunction, TextArgument, is_text_type, resolve_module, text_argument,
};
use crate::wrapper::{AgentObject, PythonWrapper};

const WRAPPER_RATIONALE: &str = "FluxLoop calls this; it hands the input to the agent.";

/// How FluxLoop gets at the agent.
pub(crate) enum EntryMethod {
    /// It calls a function as it is, or through a file of ours.
    Function { function: TargetFunction, module: PythonModule, passing: TextArgument, object: Option<String> },
    /// It runs an object of an agent framework.
    Object { path: String, name: String, module: PythonModule, object: AgentObject, call: GraphCall },
    /// It sends a request, in the same process or over HTTP.
    Route { route: Box<Route>, endpoint: AgentEndpoint },
}

/// Finds the agent and makes the edits; says why not, if nothing can be done.
pub(crate) fn integrate(input: &RecipeInput<'_>) -> Result<Contribution, String> {
    if input.uses_sdk() {
        check_sdk_not_shadowed(input)?;
    }
    let (way, agent) = choose_entry(input)?;
    let mut found = Contribution::default();
    let mut traced = false;
    if input.uses_sdk() {
        traced = decorations::add_decorations(input, &way, agent.as_ref(), &mut found);
    }
    let folder = input.release_line().project_folder(&input.name);
    let django = django_settings(input);
    add_entry(input, way, traced, django.as_deref(), &folder, &mut found);
    if let Some(agent) = &agent {
        warn_about_other_agents(input, agent, &mut found);
    }
    Ok(found)
}

/// The repository's own module of that name would be imported instead of the SDK.
fn check_sdk_not_shadowed(input: &RecipeInput<'_>) -> Result<(), String> {
    let names = ["fluxloop.py", "fluxloop/__init__.py", "src/fluxloop/__init__.py"]
        .map(|name| input.package_path(name));
    match names.iter().find(|path| input.tree.metadata(path).ok().flatten().is_some()) {
        Some(path) => Err(format!(
            "`{}` is a module of that name, and would be imported instead of the FluxLoop SDK",
            input.redactor().file(path)
        )),
        None => Ok(()),
    }
}

/// The way to the agent that is surest to work, and the agent.
fn choose_entry(input: &RecipeInput<'_>) -> Result<(EntryMethod, Option<Agent>), String> {
    if let Some(wanted) = &input.options.agent {
        return entry_by_name(input, wanted);
    }
    // A graph that the project itself names is what it runs.
    if let Some(way) = entry_by_graph(input) {
        return way.map(|way| (way, None));
    }
    let (beside, agents): (Vec<&Agent>, Vec<&Agent>) =
        input.agents().partition(|agent| input.is_example_or_test(&agent.path));
    let mut reasons = Vec::new();
    for agent in agents {
        match entry_by_function(input, &function_for_agent(input, agent)) {
            Ok(way) => return Ok((way, Some(agent.clone()))),
            Err(reason) => reasons.push(format!(
                "{} in {}: {reason}",
                input.display_name(&agent.name, &agent.path, agent.line),
                input.redactor().file(&agent.path)
            )),
        }
        match entry_by_object(input, &agent.path) {
            Some(Ok(way)) => return Ok((way, Some(agent.clone()))),
            Some(Err(reason)) => reasons.push(reason),
            None => {}
        }
        let mut routes: Vec<&Route> = input.routes().filter(|route| route.agent == agent.name).collect();
        routes.sort_by_key(|route| route_rank(route));
        for route in routes {
            match resolve_endpoint(input, route) {
                Ok(endpoint) => {
                    return Ok((
                        EntryMethod::Route { route: Box::new(route.clone()), endpoint },
                        Some(agent.clone()),
                    ));
                }
                Err(reason) => reasons.push(reason),
            }
        }
    }
    let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
    let files: Vec<&String> =
        anchors.map(|anchor| &anchor.path).filter(|path| !input.is_example_or_test(path)).collect();
    for way in files.iter().filter_map(|path| entry_by_object(input, path)) {
        match way {
            Ok(way) => return Ok((way, None)),
            Err(reason) => reasons.push(reason),
        }
    }
    let mut seen = BTreeSet::new();
    reasons.retain(|reason| seen.insert(reason.clone()));
    reasons.truncate(4);
    let asides: Vec<String> = beside.iter().take(4).map(|agent| display_agent(input, agent)).collect();
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

/// The agent that the caller named: `path/to/file.py:name`.
fn entry_by_name(input: &RecipeInput<'_>, wanted: &str) -> Result<(EntryMethod, Option<Agent>), String> {
    if let Some(route) = input.routes().find(|route| format!("{} {}", route.method, route.path) == wanted) {
        let endpoint =
            AgentEndpoint::from_route(route, input.options.request_field.as_deref(), input.redactor())?;
        let agent = input.agents().find(|agent| agent.name == route.agent).cloned();
        return Ok((EntryMethod::Route { route: Box::new(route.clone()), endpoint }, agent));
    }
    let (path, name) = wanted
        .split_once(':')
        .ok_or_else(|| {
            let wanted = input.redactor().name(NameKind::Target, wanted, "", 0);
            format!("`agent` is \"{wanted}\"; it should be \"path/to/file.py:function\", or a route that leads to a model, such as \"POST /chat\"")
        })?;
    let file = input.redactor().file(path);
    let seen = input
        .file_summary(path)
        .ok_or_else(|| format!("there is no Python file `{file}` that can be parsed"))?;
    let shown = input.display_name(name, path, 0);
    let agent = input.profile.agents.iter().find(|agent| agent.path == path && agent.name == name).cloned();
    if let Some(signature) = seen.functions.iter().find(|function| function.name == name) {
        let function = TargetFunction::from_signature(path, signature);
        let way = entry_by_function(input, &function)
            .map_err(|reason| format!("`{shown}` in {file} cannot be called: {reason}"))?;
        return Ok((way, agent));
    }
    let made = seen.assigned_calls.iter().find(|(known, _)| known == name);
    let object = made.and_then(|(_, callee)| AgentObject::from_constructor(callee, &seen.imports));
    let way = object.map(|object| entry_for_object(input, path, &seen, name, object)).transpose()?;
    let missing = || format!("there is no function and no known agent object `{shown}` in {file}");
    Ok((way.flatten().ok_or_else(missing)?, agent))
}

/// An agent with what its own file says about what it gives back.
fn function_for_agent(input: &RecipeInput<'_>, agent: &Agent) -> TargetFunction {
    let seen = input.file_summary(&agent.path).unwrap_or_default();
    let signature = seen.functions.iter().find(|function| function.name == agent.name);
    signature.map_or_else(
        || TargetFunction::from_agent(agent),
        |signature| TargetFunction::from_signature(&agent.path, signature),
    )
}

fn entry_by_function(input: &RecipeInput<'_>, function: &TargetFunction) -> Result<EntryMethod, String> {
    let (path, line) = (function.path.as_str(), function.line);
    let passing =
        text_argument(&function.parameters, &|kind, name| input.redactor().name(kind, name, path, line))?;
    let seen = input.file_summary(&function.path).unwrap_or_default();
    let page = |module: &str| matches!(module.split('.').next(), Some("streamlit" | "chainlit" | "gradio"));
    if let Some((module, _)) = seen.imports.iter().find(|(module, _)| page(module)) {
        let module = input.redactor().name(NameKind::Module, module, path, 0);
        return Err(format!("its file is a page of {module}, which runs when it is imported"));
    }
    let module =
        resolve_module(input, &function.path).ok_or("its file has a name that cannot be imported")?;
    let mut object = None;
    if let Some(owner) = function.owner_class() {
        object = seen.assigned_calls.iter().find(|(_, callee)| callee == owner).map(|(name, _)| name.clone());
        if object.is_none() && !function.is_default_constructible {
            return Err(format!("`{}` needs arguments to be made", input.display_name(owner, path, line)));
        }
    }
    Ok(EntryMethod::Function { function: function.clone(), module, passing, object })
}

/// An object of an agent framework in a file, if it is clear which; why it cannot be run, if that is so.
fn entry_by_object(input: &RecipeInput<'_>, path: &str) -> Option<Result<EntryMethod, String>> {
    let seen = input.file_summary(path)?;
    let made: Vec<(&String, AgentObject)> = seen
        .assigned_calls
        .iter()
        .filter_map(|(name, callee)| Some((name, AgentObject::from_constructor(callee, &seen.imports)?)))
        .collect();
    let usual = |name: &str| {
        matches!(
            name,
            "graph" | "agent" | "app" | "root_agent" | "main_agent" | "triage_agent" | "workflow" | "team"
        )
    };
    let (name, object) = made.iter().find(|(name, _)| made.len() == 1 || usual(name))?;
    entry_for_object(input, path, &seen, name, *object).transpose()
}

/// The way to an object, if its file can be imported.
fn entry_for_object(
    input: &RecipeInput<'_>,
    path: &str,
    seen: &FileSummary,
    name: &str,
    object: AgentObject,
) -> Result<Option<EntryMethod>, String> {
    let Some(module) = resolve_module(input, path) else { return Ok(None) };
    let call = if object == AgentObject::Graph {
        graph::resolve_graph_call(input.tree, path, seen, name, input.redactor())?
    } else {
        GraphCall::default()
    };
    Ok(Some(EntryMethod::Object { path: path.to_owned(), name: name.to_owned(), module, object, call }))
}

/// The first graph that the project names and that can be asked with one text.
fn entry_by_graph(input: &RecipeInput<'_>) -> Option<Result<EntryMethod, String>> {
    let graphs = declared_graphs(input);
    let mut reasons = Vec::new();
    for (path, name) in &graphs {
        let Some(seen) = input.file_summary(path) else { continue };
        let made = seen.assigned_calls.iter().find(|(known, _)| known == name);
        let object = made.and_then(|(_, callee)| AgentObject::from_constructor(callee, &seen.imports));
        let is_factory = seen.functions.iter().any(|function| function.name == *name);
        match object.or_else(|| is_factory.then_some(AgentObject::Graph)) {
            Some(object) => match entry_for_object(input, path, &seen, name, object) {
                Ok(Some(way)) => return Some(Ok(way)),
                Ok(None) => {}
                Err(reason) => reasons.push(reason),
            },
            None => reasons.push(format!(
                "`{}` in {} is not made when the file is loaded",
                input.display_name(name, &input.package_path("langgraph.json"), 0),
                input.redactor().file(path)
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
fn declared_graphs(input: &RecipeInput<'_>) -> Vec<(String, String)> {
    let folder = if input.package.is_empty() { String::new() } else { format!("{}/", input.package) };
    let text = input.tree.read(&format!("{folder}langgraph.json"), 1 << 20).unwrap_or_default();
    let config: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    let graphs = config["graphs"].as_object().cloned().unwrap_or_default();
    let is_there = |path: &String| input.tree.metadata(path).ok().flatten().is_some();
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
fn add_entry(
    input: &RecipeInput<'_>,
    way: EntryMethod,
    is_traced: bool,
    django: Option<&str>,
    folder: &str,
    contribution: &mut Contribution,
) {
    contribution.target_location = match &way {
        EntryMethod::Function { function, .. } => (function.path.clone(), function.line),
        EntryMethod::Object { path, .. } => (path.clone(), 0),
        EntryMethod::Route { route, .. } => (route.file.clone(), route.line),
    };
    // FluxLoop reports what the outermost decorated function gives; that has to be the text, not what it is made from.
    let traced = Some(input.name.as_str()).filter(|_| input.uses_sdk());
    let wrapper = PythonWrapper { folder, root: "", django, trace_name: traced };
    let content = match &way {
        EntryMethod::Function { function, module, .. }
            if function.is_directly_callable() && django.is_none() && (is_traced || !input.uses_sdk()) =>
        {
            contribution.runner = Some(RunnerConfig::Function {
                target: format!("{}:{}", module.name, function.name),
                folder: Some(module.root.clone()),
            });
            contribution.target = format!("{}:{}", module.name, function.name);
            return;
        }
        EntryMethod::Function { function, module, passing, object } => {
            contribution.target = format!("{}:{}", module.name, function.name);
            PythonWrapper { root: &module.root, ..wrapper }.wrap_function(
                module,
                function,
                passing,
                object.as_deref(),
            )
        }
        EntryMethod::Object { name, module, object, call, .. } => {
            contribution.target = format!("{}:{name}", module.name);
            PythonWrapper { root: &module.root, ..wrapper }.wrap_object(module, name, *object, call)
        }
        EntryMethod::Route { route, endpoint } => {
            contribution.target = format!("{} {}", endpoint.method, endpoint.path);
            contribution.warnings.extend(endpoint.warnings().iter().cloned());
            render_route_wrapper(input, route, endpoint, &wrapper, contribution)
        }
    };
    let path = wrapper.path();
    contribution.files_to_compile.insert(path.clone());
    contribution.edits.push(create_file_edit(path, content, WRAPPER_RATIONALE));
    contribution.runner = Some(RunnerConfig::Function { target: PythonWrapper::target(), folder: None });
}

/// A handler that takes texts as parameters gets them from the URL.
fn with_query_parameters(
    input: &RecipeInput<'_>,
    route: &Route,
    parameters: &[FunctionParameter],
) -> Result<Route, String> {
    let simple = |parameter: &&FunctionParameter| {
        !parameter.injected && parameter.annotation.as_deref().is_some_and(is_text_type)
    };
    let texts: Vec<FunctionParameter> = parameters.iter().filter(simple).cloned().collect();
    if texts.is_empty() || !route.declared.is_empty() {
        return Ok(route.clone());
    }
    if route.method != "GET" {
        return Err(format!("{} takes its text as a part of the URL", input.display_route(route)));
    }
    let request = texts.iter().map(|parameter| parameter.name.clone()).collect();
    Ok(Route { request, declared: texts, ..route.clone() })
}

/// The request for a route, if it can be sent from nowhere.
fn resolve_endpoint(input: &RecipeInput<'_>, route: &Route) -> Result<AgentEndpoint, String> {
    let seen = input.file_summary(&route.file).unwrap_or_default();
    let handler = seen.functions.iter().find(|function| function.name == route.handler);
    let parameters = handler.map(|handler| handler.parameters.as_slice()).unwrap_or_default();
    let route_with_query = with_query_parameters(input, route, parameters)?;
    let endpoint = AgentEndpoint::from_route(
        &route_with_query,
        input.options.request_field.as_deref(),
        input.redactor(),
    )?;
    let asks = |name: &str| {
        ["user", "token", "auth", "credential", "api_key", "principal"].iter().any(|word| name.contains(word))
    };
    let injected = parameters.iter().filter(|parameter| parameter.injected);
    match injected.into_iter().find(|parameter| asks(&parameter.name.to_lowercase())) {
        Some(parameter) if input.options.request_field.is_none() => Err(format!(
            "{} asks for `{}`, so that a request needs credentials",
            input.display_route(route),
            input.display_name(&parameter.name, &route.file, route.line)
        )),
        _ => {
            let text = input.tree.read(&route.file, 256 * 1024).unwrap_or_default();
            endpoint.refine_from_source(&String::from_utf8_lossy(&text), input.redactor(), &route.file)
        }
    }
}

/// A file that sends a request through the program's own application object, or over HTTP if there is no getting at it.
fn render_route_wrapper(
    input: &RecipeInput<'_>,
    route: &Route,
    endpoint: &AgentEndpoint,
    wrapper: &PythonWrapper<'_>,
    contribution: &mut Contribution,
) -> String {
    if let Some((by, app)) = in_process_app(input, wrapper.django) {
        if by == InProcessClient::Starlette {
            contribution
                .prerequisites
                .push("httpx is installed: the test client of Starlette needs it".to_owned());
        }
        let root = app.as_ref().map_or_else(|| input.package.clone(), |(module, _)| module.root.clone());
        let app = app.as_ref().map(|(module, name)| (module, name.as_str()));
        return PythonWrapper { root: &root, ..*wrapper }.wrap_route(by, app, endpoint);
    }
    let port = find_port(input.tree, &input.entry_points()).unwrap_or(input.recipe().port);
    let url = format!("http://{}:{port}{}", input.recipe().host, endpoint.path);
    contribution.warnings.push(format!(
        "The program must be running while FluxLoop runs: {} is not made in a place where it could be imported from ({}).",
        input.recipe().title,
        input.redactor().file(&route.file)
    ));
    let text = endpoint.render_python_bridge(&url);
    contribution.url = Some(url);
    text
}

/// The application object of a web framework, and how a request gets into it.
fn in_process_app(
    input: &RecipeInput<'_>,
    django: Option<&str>,
) -> Option<(InProcessClient, Option<(PythonModule, String)>)> {
    // The framework of the routes may be another than the one that was asked for.
    let web =
        input.profile.frameworks.iter().filter_map(|one| Some((one, find_recipe(one.name)?.in_process?)));
    let own = input.recipe().in_process;
    let (framework, by) = web.into_iter().find(|(one, by)| {
        own.is_none_or(|own| own == *by) && one.anchors.iter().any(|anchor| input.owns_file(&anchor.path))
            || own == Some(InProcessClient::Django) && *by == InProcessClient::Django
    })?;
    if by == InProcessClient::Django {
        return django.map(|_| (by, None));
    }
    for anchor in framework.anchors.iter().filter(|anchor| input.owns_file(&anchor.path)) {
        let seen = input.file_summary(&anchor.path).unwrap_or_default();
        let makes =
            |callee: &String| matches!(callee.rsplit('.').next(), Some("FastAPI" | "Starlette" | "Flask"));
        // An application that a function makes is mostly made at the top level by calling it.
        let made = seen.assigned_calls.iter().find(|(_, callee)| makes(callee));
        let made = made.or_else(|| {
            seen.assigned_calls
                .iter()
                .find(|(_, callee)| matches!(callee.as_str(), "create_app" | "make_app" | "get_app"))
        });
        if let (Some((name, _)), Some(module)) = (made, resolve_module(input, &anchor.path)) {
            return Some((by, Some((module, name.clone()))));
        }
    }
    None
}

/// The settings module that `manage.py` names.
fn django_settings(input: &RecipeInput<'_>) -> Option<String> {
    if input.recipe().in_process != Some(InProcessClient::Django) {
        return None;
    }
    let text = String::from_utf8(input.tree.read(&input.package_path("manage.py"), 1 << 16).ok()?).ok()?;
    let pattern = Regex::new(r#"DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']"#).ok()?;
    Some(pattern.captures(&text)?.get(1)?.as_str().to_owned())
}

/// An agent in a sentence: `path/to/file.py:function`.
fn display_agent(input: &RecipeInput<'_>, agent: &Agent) -> String {
    let name = input.display_name(&agent.name, &agent.path, agent.line);
    format!("{}:{name}", input.redactor().file(&agent.path))
}

fn warn_about_other_agents(input: &RecipeInput<'_>, chosen: &Agent, contribution: &mut Contribution) {
    if input.options.agent.is_none() && chosen.reached_from.is_none() {
        contribution.warnings.push(format!(
            "Nothing was seen that calls {} in {}: look whether it is still in use.",
            input.display_name(&chosen.name, &chosen.path, chosen.line),
            input.redactor().file(&chosen.path)
        ));
    }
    let others: Vec<String> = input
        .agents()
        .filter(|agent| (&agent.path, &agent.name) != (&chosen.path, &chosen.name))
        .filter(|agent| {
            !chosen.functions.iter().any(|part| part.path == agent.path && part.name == agent.name)
        })
        .map(|agent| display_agent(input, agent))
        .collect();
    if input.options.agent.is_none() && !others.is_empty() {
        let shown: Vec<&str> = others.iter().take(5).map(String::as_str).collect();
        contribution.warnings.push(format!(
            "{} was taken for the agent; {} other functions call a model as well ({}). Name another one as `agent` if \
             that is the one to test.",
            display_agent(input, chosen),
            others.len(),
            shown.join(", ")
        ));
    }
}
