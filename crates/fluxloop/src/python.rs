//! Integrating a Python program: which function is the agent, what is decorated, how FluxLoop calls it.

use std::collections::BTreeSet;

use codebase::{Agent, Evidence, FileSummary, FunctionParameter, FunctionSignature, NameKind, Route};
use regex::Regex;

use crate::application::{Application, find_application, usual_files};
use crate::blocker::Blocker;
use crate::candidate::{Candidate, CandidateKind, rank_name};
use crate::config::{RunnerConfig, create_file_edit};
use crate::decorations;
use crate::dev_server::find_port;
use crate::endpoint::{AgentEndpoint, OWN_CHECK, RouteChoice, find_guard, is_guard_name};
use crate::graph::{self, GraphCall};
use crate::integrate::{Contribution, RecipeInput};
use crate::package::is_python_file;
use crate::recipe::InProcessClient;
use crate::release_line::ReleaseLine;
use crate::target::{
    ClassFinder, NameFormatter, PythonModule, TargetFunction, TextCall, resolve_module, text_call,
};
use crate::unconnected::{UNCONNECTED_PENALTY, answering_routes};
use crate::wrapper::{AgentObject, PythonWrapper, Recording};

const WRAPPER_RATIONALE: &str = "FluxLoop calls this; it hands the input to the agent.";

/// Limits on the candidates of each kind.
/// Below this score a function or object is not run unasked.
const MIN_FUNCTION_SCORE: i32 = -25;
const MAX_FUNCTIONS: usize = 20;
/// What it is worth that the repository's own client calls a route.
pub(crate) const CLIENT_BONUS: i32 = 20;
const MAX_ROUTES: usize = 20;

/// How FluxLoop gets at the agent.
pub(crate) enum EntryMethod {
    /// It calls a function as it is, or through a file of ours.
    Function {
        function: TargetFunction,
        module: PythonModule,
        passing: TextCall,
        object: Option<String>,
        /// The Flask application that it needs around it.
        application: Option<Application>,
    },
    /// It runs an object of an agent framework.
    Object { path: String, name: String, module: PythonModule, object: AgentObject, call: GraphCall },
    /// It sends a request, in the same process or over HTTP.
    Route { route: Box<Route>, endpoint: AgentEndpoint },
}

/// A Django project: its settings module, and the folder of its `manage.py`.
struct DjangoProject {
    settings: String,
    folder: String,
}

/// A candidate and how to run it, or what keeps it from being run.
struct PythonCandidate {
    candidate: Candidate,
    entry: Result<EntryMethod, Vec<Blocker>>,
    agent: Option<Agent>,
}

/// Finds the agent and makes the edits; says what is missing if nothing can be done.
pub(crate) fn integrate(input: &RecipeInput<'_>) -> Result<Contribution, Vec<Blocker>> {
    if input.uses_sdk() {
        check_sdk_not_shadowed(input)?;
    }
    let django = django_settings(input);
    let application = find_application(input, django.is_some());
    let own_application = application.as_ref().and_then(|(_, application)| application.as_ref());
    let mut all = find_candidates(input, own_application)?;
    // What only helps to answer is not run unasked.
    for one in &mut all {
        let is_helper =
            one.candidate.kind != CandidateKind::Route && one.candidate.score < MIN_FUNCTION_SCORE;
        if is_helper && one.entry.is_ok() && input.options.agent.is_none() {
            let candidate = &one.candidate;
            let shown =
                input.redactor().name(NameKind::Target, &candidate.agent, &candidate.path, candidate.line);
            let what = format!("by its name, {shown} only helps to answer, and nothing better was found");
            one.entry = Err(vec![Blocker::new(what).lifted_by("agent")]);
        }
    }
    let chosen = all.iter().position(|one| one.entry.is_ok());
    let Some(chosen) = chosen else {
        let mut blockers: Vec<Blocker> =
            all.into_iter().filter_map(|one| one.entry.err()).flatten().collect();
        if blockers.is_empty() {
            blockers.push(nothing_found(input));
        }
        let mut seen = BTreeSet::new();
        blockers.retain(|blocker| seen.insert(blocker.to_string()));
        blockers.truncate(4);
        return Err(blockers);
    };
    let PythonCandidate { candidate, entry, agent } = all.remove(chosen);
    let Ok(way) = entry else { return Err(Vec::new()) };
    let others = all.into_iter().filter(|one| one.entry.is_ok()).map(|one| one.candidate);
    let mut found = Contribution {
        candidates: std::iter::once(candidate).chain(others).collect(),
        ..Contribution::default()
    };
    // A program that runs by itself is not traced by us: decorators in it would record nothing.
    let is_reached = !matches!(way, EntryMethod::Route { .. }) || application.is_some();
    let mut traced = false;
    found.needs_sdk = input.uses_sdk() && is_reached;
    if found.needs_sdk {
        traced = decorations::add_decorations(input, &way, agent.as_ref(), &mut found);
    }
    let folder = input.release_line().project_folder(&input.name);
    add_entry(input, way, traced, django.as_ref(), application, &folder, &mut found);
    if let Some(agent) = &agent {
        note_other_candidates(input, agent, &mut found);
    }
    Ok(found)
}

fn nothing_found(input: &RecipeInput<'_>) -> Blocker {
    let asides: Vec<String> = input
        .agents()
        .filter(|agent| input.is_example_or_test(&agent.path))
        .take(4)
        .map(|agent| display_agent(input, agent))
        .collect();
    if !asides.is_empty() {
        let what = format!("only examples, tests or tools call a language model: {}", asides.join(", "));
        return Blocker::new(what).lifted_by("agent");
    }
    let place = input.location_phrase();
    let routes = other_routes_phrase(input);
    let what = format!("no call of a known language model or agent framework was found{place}{routes}");
    Blocker::new(what).lifted_by("agent")
}

/// The routes that nothing connects to a model, the most likely first.
pub(crate) fn other_routes_phrase(input: &RecipeInput<'_>) -> String {
    const MAX_SHOWN: usize = 4;
    let mut routes: Vec<&Route> = input.other_routes().collect();
    if routes.is_empty() {
        return String::new();
    }
    routes.sort_by_cached_key(|route| {
        -(rank_name(&route.path) + rank_name(&route.handler) / 2 + i32::from(route.method == "POST") * 5)
    });
    let shown: Vec<String> = routes.iter().take(MAX_SHOWN).map(|route| input.display_route(route)).collect();
    let rest = routes.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("; its routes are {}{more}", shown.join(", "))
}

/// The repository's own module of that name would be imported instead of the SDK.
fn check_sdk_not_shadowed(input: &RecipeInput<'_>) -> Result<(), Vec<Blocker>> {
    let names = ["fluxloop.py", "fluxloop/__init__.py", "src/fluxloop/__init__.py"]
        .map(|name| input.package_path(name));
    match names.iter().find(|path| input.file_exists(path)) {
        Some(path) => {
            let what = "a module named `fluxloop` would be imported instead of the FluxLoop SDK";
            Err(vec![Blocker::new(what).at(input.redactor().file(path), 0).lifted_by("variant")])
        }
        None => Ok(()),
    }
}

/// Everything that could be run, best first. Of equals, the first that analysis found.
fn find_candidates(
    input: &RecipeInput<'_>,
    application: Option<&Application>,
) -> Result<Vec<PythonCandidate>, Vec<Blocker>> {
    if let Some(wanted) = &input.options.agent {
        return Ok(vec![named_candidate(input, wanted, application)?]);
    }
    let mut all = Vec::new();
    all.extend(graph_candidates(input));
    let agents: Vec<&Agent> =
        input.agents().filter(|agent| !input.is_example_or_test(&agent.path)).take(MAX_FUNCTIONS).collect();
    for agent in &agents {
        all.push(function_candidate(input, agent, application));
        all.extend(object_candidate(input, &agent.path));
    }
    for route in input.routes().filter(|route| !is_page_of_other(input, route)).take(MAX_ROUTES) {
        all.push(route_candidate(input, route, RouteChoice::Found));
    }
    for (route, proof) in answering_routes(input).take(MAX_ROUTES) {
        all.push(unconnected_candidate(input, route, proof));
    }
    let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
    let files =
        anchors.map(|anchor| anchor.path.clone()).chain(input.entry_points()).chain(usual_files(input));
    for path in files.filter(|path| is_python_file(path) && !input.is_example_or_test(path)) {
        all.extend(object_candidate(input, &path));
    }
    let mut seen = BTreeSet::new();
    all.retain(|one| seen.insert(one.candidate.agent.clone()));
    // A function that runs an object does what the object alone does not: it sets the prompt, or picks the answer.
    let functions: Vec<(String, i32)> = all
        .iter()
        .filter(|one| one.candidate.kind == CandidateKind::Function && one.entry.is_ok())
        .map(|one| (one.candidate.path.clone(), one.candidate.score))
        .collect();
    for one in all.iter_mut().filter(|one| one.candidate.kind == CandidateKind::Object) {
        let beside =
            functions.iter().filter(|(path, _)| *path == one.candidate.path).map(|(_, score)| *score).max();
        if let Some(score) = beside.filter(|_| one.candidate.score < 90) {
            one.candidate.score = one.candidate.score.min(score - 1);
        }
    }
    all.sort_by_key(|one| -one.candidate.score);
    Ok(all)
}

fn function_candidate(
    input: &RecipeInput<'_>,
    agent: &Agent,
    application: Option<&Application>,
) -> PythonCandidate {
    let function = function_for_agent(input, agent);
    let routes: Vec<&Route> = input.routes().filter(|route| route.agent == agent.name).collect();
    // A route that hands its input on is the same thing under another name.
    let by_route = routes.iter().filter(|route| route.passes_input).map(|route| rank_name(&route.path)).max();
    let mut score =
        rank_name(&agent.name).max(by_route.unwrap_or(i32::MIN)) + rank_name(&file_stem(&agent.path)) / 3;
    score += match (&agent.reached_from, routes.iter().any(|route| route.passes_input)) {
        (_, true) => 45,
        // The handler does something of its own first: only the route does all of it.
        (_, false) if !routes.is_empty() => 10,
        (Some(_), _) => 30,
        (None, _) => 10,
    };
    score += routes.iter().map(|route| rank_name(&route.path) / 2).max().unwrap_or(0);
    if function.parameters.first().is_some_and(|first| first.name.contains("prompt")) {
        score -= 5;
    }
    let entry = entry_by_function(input, &function, agent.request_context.as_ref(), application);
    let name = input.display_name(&agent.name, &agent.path, agent.line);
    let entry = entry.map_err(|why| {
        let what = format!("`{name}` cannot be called with one text: {why}");
        vec![Blocker::new(what).at(input.redactor().file(&agent.path), agent.line).lifted_by("agent")]
    });
    let mut against = Vec::new();
    if agent.reached_from.is_none() {
        against.push("nothing was seen that calls it".to_owned());
    } else if !routes.is_empty() && routes.iter().all(|route| !route.passes_input) {
        against.push("the route that leads to it does more than hand it the input".to_owned());
    }
    if let Ok(EntryMethod::Function { passing, .. }) = &entry {
        score -= 6 * i32::try_from(passing.notes.len()).unwrap_or(0);
        score -= 15 * i32::try_from(passing.variables.len()).unwrap_or(0);
        against.extend(passing.notes.iter().cloned());
    }
    let candidate = Candidate {
        agent: format!("{}:{}", agent.path, agent.name),
        kind: CandidateKind::Function,
        path: agent.path.clone(),
        line: agent.line,
        why: agent.evidence.fact.clone(),
        leads_to: agent.name.clone(),
        against,
        score,
    };
    PythonCandidate { candidate, entry, agent: Some(agent.clone()) }
}

fn object_candidate(input: &RecipeInput<'_>, path: &str) -> Option<PythonCandidate> {
    let (name, line, object, entry) = entry_by_object(input, path)?;
    let entry =
        entry.map_err(|why| vec![Blocker::new(why).at(input.redactor().file(path), line).lifted_by("agent")]);
    let candidate = Candidate {
        agent: format!("{path}:{name}"),
        kind: CandidateKind::Object,
        path: path.to_owned(),
        line,
        why: format!("is {}", object.title()),
        leads_to: String::new(),
        against: Vec::new(),
        score: 12 + rank_name(&name) + rank_name(&file_stem(path)) / 3,
    };
    Some(PythonCandidate { candidate, entry, agent: None })
}

fn route_candidate(input: &RecipeInput<'_>, route: &Route, choice: RouteChoice) -> PythonCandidate {
    let entry = resolve_endpoint(input, route, choice);
    let agent = input.agents().find(|agent| agent.name == route.agent).cloned();
    let mut score = 30 + rank_name(&route.path) + rank_name(&route.handler) / 2 + rank_name(&route.agent) / 3;
    let mut against = Vec::new();
    if let Ok(endpoint) = &entry {
        score -= 15 * i32::from(endpoint.needs_credentials());
        score -= 12 * i32::try_from(endpoint.variables().len()).unwrap_or(0);
        against.extend(endpoint.warnings().iter().cloned());
    }
    // A page, not an answer.
    score -= 8 * i32::from(route.method == "GET");
    score += CLIENT_BONUS * i32::from(route.client.is_some());
    score -= 30 * i32::from(input.is_example_or_test(&route.file));
    let why = match route.agent.as_str() {
        "" if choice == RouteChoice::Named => "was named".to_owned(),
        name if name.is_empty() || name == route.handler => "calls a language model".to_owned(),
        name => format!("leads to {}", input.display_name(name, &route.file, route.line)),
    };
    let candidate = Candidate {
        agent: format!("{} {}", route.method, route.path),
        kind: CandidateKind::Route,
        path: route.file.clone(),
        line: route.line,
        why,
        leads_to: route.agent.clone(),
        against,
        score,
    };
    let entry = entry.map(|endpoint| EntryMethod::Route { route: Box::new(route.clone()), endpoint });
    PythonCandidate { candidate, entry, agent }
}

/// Whether a handler answers GET with a page, since it takes its input by POST.
pub(crate) fn is_page_of_other(input: &RecipeInput<'_>, route: &Route) -> bool {
    let is_twin =
        |other: &Route| other.method == "POST" && (&other.file, other.line) == (&route.file, route.line);
    route.method == "GET" && input.routes().any(is_twin)
}

/// A route that no call of a model was followed from: it comes after those where one was.
fn unconnected_candidate(input: &RecipeInput<'_>, route: &Route, proof: String) -> PythonCandidate {
    let mut one = route_candidate(input, route, RouteChoice::Found);
    "takes what a user says, by its names".clone_into(&mut one.candidate.why);
    one.candidate.score -= UNCONNECTED_PENALTY;
    if let Ok(EntryMethod::Route { endpoint, .. }) = &mut one.entry {
        endpoint.add_warning(proof.clone());
    }
    one.candidate.against.insert(0, proof);
    one
}

fn file_stem(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default().to_owned()
}

/// The agent that the caller named: `path/to/file.py:name`, or a route.
fn named_candidate(
    input: &RecipeInput<'_>,
    wanted: &str,
    application: Option<&Application>,
) -> Result<PythonCandidate, Vec<Blocker>> {
    let label = |route: &Route| format!("{} {}", route.method, route.path);
    let routes = || input.routes().chain(input.other_routes());
    if let Some(route) = routes().find(|route| label(route) == wanted) {
        return Ok(route_candidate(input, route, RouteChoice::Named));
    }
    let shown = input.redactor().name(NameKind::Target, wanted, "", 0).into_owned();
    if wanted.contains(' ') {
        let known: Vec<String> =
            nearest_routes(wanted, routes()).map(|route| input.display_route(route)).collect();
        let what = if known.is_empty() {
            format!("no route `{shown}` was found, nor any other{}", input.location_phrase())
        } else {
            format!("no route `{shown}` was found; there are {}", known.join(", "))
        };
        return Err(vec![Blocker::new(what).lifted_by("agent")]);
    }
    let Some((path, name)) = wanted.split_once(':') else {
        let what = format!("`{shown}` names neither a function nor a route");
        return Err(vec![Blocker::new(what).lifted_by("agent")]);
    };
    let file = input.redactor().file(path).into_owned();
    let blocked = |what: String| vec![Blocker::new(what).at(file.clone(), 0).lifted_by("agent")];
    let seen = input
        .file_summary(path)
        .ok_or_else(|| blocked("there is no Python file of this name that can be parsed".to_owned()))?;
    let shown = input.display_name(name, path, 0);
    let agent = input.profile.agents.iter().find(|agent| agent.path == path && agent.name == name).cloned();
    let candidate = Candidate {
        agent: wanted.to_owned(),
        kind: CandidateKind::Function,
        path: path.to_owned(),
        line: agent.as_ref().map_or(0, |agent| agent.line),
        why: "was named".to_owned(),
        leads_to: String::new(),
        against: Vec::new(),
        score: 0,
    };
    if let Some(signature) = seen.functions.iter().find(|function| function.name == name) {
        let function = TargetFunction::from_signature(path, signature);
        let context = agent.as_ref().and_then(|agent| agent.request_context.as_ref());
        let entry = entry_by_function(input, &function, context, application)
            .map_err(|why| blocked(format!("`{shown}` cannot be called with one text: {why}")));
        let mut against = Vec::new();
        if agent.is_none() {
            against.push(format!("no call of a language model was found in `{shown}` or in what it calls"));
        }
        return Ok(PythonCandidate { candidate: Candidate { against, ..candidate }, entry, agent });
    }
    let made = seen.assigned_calls.iter().find(|(known, _)| known == name);
    let object = made.and_then(|(_, callee)| AgentObject::from_constructor(callee, &seen.imports));
    let way = object.map(|object| entry_for_object(input, path, &seen, name, object)).transpose();
    let functions: Vec<&str> = seen.functions.iter().map(|function| function.name.as_str()).take(6).collect();
    let missing = || {
        let known =
            if functions.is_empty() { String::new() } else { format!("; it has {}", functions.join(", ")) };
        blocked(format!("the file has no function and no known agent object `{shown}`{known}"))
    };
    let entry = way.map_err(blocked).and_then(|way| way.flatten().ok_or_else(missing));
    let candidate = Candidate { kind: CandidateKind::Object, ..candidate };
    Ok(PythonCandidate { candidate, entry, agent })
}

/// The routes that resemble a name, the most similar first.
pub(crate) fn nearest_routes<'r>(
    wanted: &str,
    routes: impl Iterator<Item = &'r Route>,
) -> impl Iterator<Item = &'r Route> {
    let words = |text: &str| {
        let text = text.to_lowercase();
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let wanted = words(wanted);
    let mut all: Vec<&Route> = routes.collect();
    all.sort_by_cached_key(|route| {
        let own = words(&format!("{} {}", route.method, route.path));
        std::cmp::Reverse(wanted.iter().filter(|word| own.contains(word)).count())
    });
    all.into_iter().take(5)
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

fn entry_by_function(
    input: &RecipeInput<'_>,
    function: &TargetFunction,
    context: Option<&Evidence>,
    application: Option<&Application>,
) -> Result<EntryMethod, String> {
    let (path, line) = (function.path.as_str(), function.line);
    let seen = input.file_summary(&function.path).unwrap_or_default();
    let body = input.source_lines(path, line, function.end_line);
    let fields_of: &ClassFinder<'_> = &|name| {
        // What its constructor takes, if that is written out.
        let init = format!("{name}.__init__");
        let init = seen.functions.iter().find(|function| function.name == init);
        let fields = || graph::all_fields_of(input.tree, path, &seen, name);
        init.map(|init| init.parameters.clone()).or_else(fields)
    };
    let shown_as: &NameFormatter<'_> = &|kind, name| input.redactor().name(kind, name, path, line);
    let mut passing = text_call(&function.parameters, &body, fields_of, shown_as)?;
    let mut around = None;
    if let Some(context) = context {
        let place = input.redactor().location(&context.path, context.line);
        around = application.filter(|_| !context.fact.contains("`request`")).cloned();
        if around.is_none() {
            return Err(format!("{place} {}, which exists only while a request is handled", context.fact));
        }
    }
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
        let shown = input.display_name(owner, path, line);
        if object.is_none() && is_abstract(&seen, owner) {
            return Err(format!("`{shown}` is abstract"));
        }
        if object.is_none() && !function.is_default_constructible {
            let init = format!("{owner}.__init__");
            let init = seen.functions.iter().find(|known| known.name == init);
            let filled = init.is_some_and(|init| passing.fill_constructor(&init.parameters, shown_as));
            if !filled {
                return Err(format!("`{shown}` needs arguments to be made"));
            }
        }
    }
    Ok(EntryMethod::Function { function: function.clone(), module, passing, object, application: around })
}

/// Whether a class cannot be instantiated: it is an interface, or one of its methods is abstract.
fn is_abstract(seen: &FileSummary, class: &str) -> bool {
    let bases = seen.classes.iter().filter(|(name, ..)| name == class).flat_map(|(_, bases, _)| bases);
    let mut last = bases.filter_map(|base| base.rsplit('.').next());
    let prefix = format!("{class}.");
    last.any(|base| matches!(base, "ABC" | "Protocol"))
        || seen.functions.iter().any(|function| {
            function.name.starts_with(&prefix)
                && function.decorators.iter().any(|decorator| decorator.ends_with("abstractmethod"))
        })
}

/// An object of an agent framework in a file, if it is clear which: its name and line; why it cannot be run, if that is so.
fn entry_by_object(
    input: &RecipeInput<'_>,
    path: &str,
) -> Option<(String, u32, AgentObject, Result<EntryMethod, String>)> {
    let seen = input.file_summary(path)?;
    let source_of = |function: &FunctionSignature| input.source_lines(path, function.line, function.end_line);
    let factory = graph::find_graph_factory(&seen, &source_of);
    let by_factory = |callee: &str| {
        let own = factory.filter(|factory| factory.name == callee).map(|_| AgentObject::Graph);
        own.or_else(|| object_of_factory(input, path, &seen, callee))
    };
    let mut made: Vec<(&String, AgentObject)> = Vec::new();
    for (name, callee) in &seen.assigned_calls {
        let object = AgentObject::from_constructor(callee, &seen.imports).or_else(|| by_factory(callee));
        // One of several branches makes it.
        if let Some(object) = object.filter(|_| made.iter().all(|(known, _)| *known != name)) {
            made.push((name, object));
        }
    }
    let usual = |name: &str| {
        matches!(
            name,
            "graph" | "agent" | "app" | "root_agent" | "main_agent" | "triage_agent" | "workflow" | "team"
        )
    };
    let chosen = made.iter().find(|(name, _)| made.len() == 1 || usual(name));
    let (name, line, object) = match (chosen, factory) {
        (Some((name, object)), _) => ((*name).clone(), 0, *object),
        (None, Some(factory)) if made.is_empty() => (factory.name.clone(), factory.line, AgentObject::Graph),
        _ => return None,
    };
    let entry = entry_for_object(input, path, &seen, &name, object).transpose()?;
    Some((name, line, object, entry))
}

/// What a function of this file, or of one that it imports from, makes and returns.
fn object_of_factory(
    input: &RecipeInput<'_>,
    path: &str,
    seen: &FileSummary,
    callee: &str,
) -> Option<AgentObject> {
    let made_in = |path: &str, summary: &FileSummary| {
        let function = summary.functions.iter().find(|function| function.name == callee)?;
        let body = input.source_lines(path, function.line, function.end_line);
        let returned = Regex::new(r"return\s+([\w.]+)(\()?").ok()?;
        returned.captures_iter(&body).find_map(|found| {
            let value = found.get(1)?.as_str();
            if found.get(2).is_some() {
                return AgentObject::from_constructor(value, &summary.imports);
            }
            let assigned = Regex::new(&format!(r"\b{}\s*=\s*([\w.]+)\(", regex::escape(value))).ok()?;
            let maker = assigned.captures(&body)?.get(1)?.as_str().to_owned();
            AgentObject::from_constructor(&maker, &summary.imports)
        })
    };
    if let Some(object) = made_in(path, seen) {
        return Some(object);
    }
    let (module, _) = seen.imports.iter().find(|(_, name)| name.as_deref() == Some(callee))?;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let inside = module.trim_start_matches('.').replace('.', "/");
    let places = [
        format!("{folder}/{inside}.py"),
        input.package_path(&format!("{inside}.py")),
        format!("{inside}.py"),
    ];
    places
        .iter()
        .map(|place| place.trim_start_matches('/'))
        .find_map(|place| made_in(place, &*input.file_summary(place)?))
        // The state of a graph is declared where it is built: that file has a candidate of its own.
        .filter(|object| *object != AgentObject::Graph)
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

/// The graphs that the project itself names: they are what it runs.
fn graph_candidates(input: &RecipeInput<'_>) -> Vec<PythonCandidate> {
    let one = |(path, name): (String, String)| {
        let seen = input.file_summary(&path).unwrap_or_default();
        let made = seen.assigned_calls.iter().find(|(known, _)| *known == name);
        let object = made.and_then(|(_, callee)| AgentObject::from_constructor(callee, &seen.imports));
        let is_factory = seen.functions.iter().any(|function| function.name == name);
        let shown = input.display_name(&name, &input.package_path("langgraph.json"), 0).into_owned();
        // What langgraph.json names is a graph, however it is made.
        let is_graph = is_factory || made.is_some();
        let entry = match object.or_else(|| is_graph.then_some(AgentObject::Graph)) {
            Some(object) => entry_for_object(input, &path, &seen, &name, object).and_then(|entry| {
                entry.ok_or_else(|| "its file has a name that cannot be imported".to_owned())
            }),
            None => Err(format!(
                "no line at the top level was found that makes `{shown}`, which langgraph.json names"
            )),
        };
        let entry = entry
            .map_err(|why| vec![Blocker::new(why).at(input.redactor().file(&path), 0).lifted_by("agent")]);
        let candidate = Candidate {
            agent: format!("{path}:{name}"),
            kind: CandidateKind::Object,
            path: path.clone(),
            line: 0,
            why: "langgraph.json names it".to_owned(),
            leads_to: String::new(),
            against: Vec::new(),
            score: 90 + rank_name(&name),
        };
        PythonCandidate { candidate, entry, agent: None }
    };
    declared_graphs(input).into_iter().map(one).collect()
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
    django: Option<&DjangoProject>,
    application: Option<(InProcessClient, Option<Application>)>,
    folder: &str,
    contribution: &mut Contribution,
) {
    contribution.target_location = match &way {
        EntryMethod::Function { function, .. } => (function.path.clone(), function.line),
        EntryMethod::Object { path, .. } => (path.clone(), 0),
        EntryMethod::Route { route, .. } => (route.file.clone(), route.line),
    };
    let name = input.name.as_str();
    let recording = match (input.uses_sdk(), input.release_line()) {
        (false, _) => Recording::None,
        // FluxLoop reports what the outermost decorated function gives: it has to be the text, not what that is made from.
        (true, ReleaseLine::V02 | ReleaseLine::V03) => Recording::Decorated { name },
        (true, ReleaseLine::V04) => Recording::OwnTrace { name, records_agent: !is_traced },
    };
    let opens_trace = matches!(recording, Recording::OwnTrace { .. });
    let settings = django.map(|django| django.settings.as_str());
    let wrapper = PythonWrapper { folder, root: "", django: settings, recording };
    let content = match &way {
        EntryMethod::Function { function, module, application: None, .. }
            if function.is_directly_callable()
                && django.is_none()
                && !opens_trace
                && (is_traced || !input.uses_sdk()) =>
        {
            contribution.runner = Some(RunnerConfig::Function {
                target: format!("{}:{}", module.name, function.name),
                folder: Some(module.root.clone()),
            });
            contribution.target = format!("{}:{}", module.name, function.name);
            return;
        }
        EntryMethod::Function { function, module, passing, object, application } => {
            contribution.target = format!("{}:{}", module.name, function.name);
            let route = input.routes().find(|route| route.agent == function.name && route.passes_input);
            let field = route.and_then(|route| route.request.first());
            contribution.text_field = field.cloned();
            let shown = input.display_name(&function.name, &function.path, function.line);
            contribution.notes.extend(passing.notes.iter().map(|note| format!("{note} of {shown}.")));
            contribution.prerequisites.extend(variables_to_set(&passing.variables));
            PythonWrapper { root: &module.root, ..wrapper }.wrap_function(
                module,
                function,
                passing,
                object.as_deref(),
                application.as_ref(),
            )
        }
        EntryMethod::Object { name, module, object, call, .. } => {
            contribution.target = format!("{}:{name}", module.name);
            PythonWrapper { root: &module.root, ..wrapper }.wrap_object(module, name, *object, call)
        }
        EntryMethod::Route { route, endpoint } => {
            contribution.target = format!("{} {}", endpoint.method, route.path);
            contribution.text_field = Some(endpoint.text_field().to_owned());
            add_endpoint_notes(endpoint, contribution);
            let wrapper = PythonWrapper { root: django.map_or("", |django| &django.folder), ..wrapper };
            render_route_wrapper(input, route, endpoint, &wrapper, application, contribution)
        }
    };
    if opens_trace {
        contribution.records_folder = Some(format!("{folder}/records"));
    }
    let path = wrapper.path();
    contribution.files_to_compile.insert(path.clone());
    contribution.edits.push(create_file_edit(path, content, WRAPPER_RATIONALE));
    contribution.runner = Some(RunnerConfig::Function { target: PythonWrapper::target(), folder: None });
}

/// What the user has to know or to set for a request.
pub(crate) fn add_endpoint_notes(endpoint: &AgentEndpoint, contribution: &mut Contribution) {
    contribution.warnings.extend(endpoint.warnings().iter().map(|warning| format!("{warning}.")));
    contribution.prerequisites.extend(variables_to_set(&endpoint.variables()));
}

fn variables_to_set(variables: &[String]) -> Option<String> {
    let list = variables.join(", ");
    (!variables.is_empty())
        .then(|| format!("Environment variables that only you know, set before a run: {list}"))
}

/// The request for a route, if it can be sent from nowhere.
fn resolve_endpoint(
    input: &RecipeInput<'_>,
    route: &Route,
    choice: RouteChoice,
) -> Result<AgentEndpoint, Vec<Blocker>> {
    let seen = input.file_summary(&route.file).unwrap_or_default();
    let handler = seen.functions.iter().find(|function| {
        function.line == route.line && function.name.rsplit('.').next() == Some(route.handler.as_str())
    });
    let parameters = handler.map(|handler| handler.parameters.as_slice()).unwrap_or_default();
    let source = input.source_lines(&route.file, route.line, route.end_line);
    let mut endpoint = AgentEndpoint::from_route(
        route,
        &source,
        input.options.request_field.as_deref(),
        choice,
        input.redactor(),
    )?;
    if let Some(guard) = guard_of_route(input, route, parameters, &source) {
        let shown = shown_guard(input, &guard, route);
        // The header is read where the caller is checked.
        let checks = route.guard_files.iter().map(|file| input.file_text(file));
        let texts: Vec<String> = [source, input.file_text(&route.file)].into_iter().chain(checks).collect();
        endpoint.require_credentials(&shown, &texts.join("\n"));
    }
    Ok(endpoint)
}

/// What checks the caller of a route: a decorator, a dependency, a base class, or the handler itself.
fn guard_of_route(
    input: &RecipeInput<'_>,
    route: &Route,
    parameters: &[FunctionParameter],
    source: &str,
) -> Option<String> {
    if let Some(guard) = find_guard(&route.guards) {
        return Some(guard.clone());
    }
    let injected = parameters.iter().filter(|parameter| parameter.injected);
    if let Some(parameter) = injected.into_iter().find(|parameter| is_guard_name(&parameter.name)) {
        return Some(parameter.name.clone());
    }
    let text = input.file_text(&route.file);
    let everywhere = Regex::new(
        r"(?:APIRouter|FastAPI|include_router)\([^)]*dependencies\s*=\s*\[\s*(?:Depends|Security)\(\s*(\w+)",
    )
    .ok()?;
    if let Some(found) = everywhere.captures(&text).and_then(|found| found.get(1)) {
        return Some(found.as_str().to_owned()).filter(|name| is_guard_name(name));
    }
    let by_class = Regex::new(r"permission_classes\s*=\s*[\[(]\s*([\w.]*IsAuth\w*)").ok()?;
    if let Some(found) = by_class.captures(&text).and_then(|found| found.get(1)) {
        return Some(found.as_str().to_owned());
    }
    let inside = Regex::new(r"\b401\b|HTTP_401|[Uu]nauthori[sz]ed").ok()?;
    let checks = inside.is_match(source)
        && ["headers", "session", "token", "auth"].iter().any(|word| source.contains(word));
    checks.then(|| OWN_CHECK.to_owned())
}

/// What checks the caller, for people.
pub(crate) fn shown_guard(input: &RecipeInput<'_>, guard: &str, route: &Route) -> String {
    if guard == OWN_CHECK {
        return OWN_CHECK.to_owned();
    }
    format!("`{}`", input.display_name(guard, &route.file, route.line))
}

/// A file that sends a request through the program's own application object, or over HTTP if there is no getting at it.
fn render_route_wrapper(
    input: &RecipeInput<'_>,
    route: &Route,
    endpoint: &AgentEndpoint,
    wrapper: &PythonWrapper<'_>,
    application: Option<(InProcessClient, Option<Application>)>,
    contribution: &mut Contribution,
) -> String {
    if let Some((by, app)) = application {
        if by == InProcessClient::Starlette {
            contribution
                .prerequisites
                .push("httpx is installed: the test client of Starlette needs it".to_owned());
        }
        let root = app.as_ref().map_or_else(|| wrapper.root.to_owned(), |app| app.module.root.clone());
        return PythonWrapper { root: &root, ..*wrapper }.wrap_route(by, app.as_ref(), endpoint);
    }
    let port = find_port(input.tree, &input.entry_points()).unwrap_or(input.recipe().port);
    let base = format!("http://{}:{port}", input.recipe().host);
    contribution.warnings.push(format!(
        "The program must be running while FluxLoop runs: no {} application that could be imported was found ({}).",
        input.recipe().title,
        input.redactor().file(&route.file)
    ));
    let text = endpoint.render_python_bridge(&base);
    contribution.url = Some(endpoint.url(&base));
    text
}

/// The settings module that `manage.py` names.
fn django_settings(input: &RecipeInput<'_>) -> Option<DjangoProject> {
    let pattern = Regex::new(r#"DJANGO_SETTINGS_MODULE["']\s*,\s*["']([\w.]+)["']"#).ok()?;
    // The folder of the package, else one that a file of the program is in.
    let files = input.agents().map(|agent| &agent.path).chain(input.routes().map(|route| &route.file));
    let above = files.flat_map(|path| path.match_indices('/').map(|(end, _)| path[..end].to_owned()));
    let folders: BTreeSet<String> = above.chain([input.package.clone()]).take(200).collect();
    folders.into_iter().find_map(|folder| {
        let path = if folder.is_empty() { "manage.py".to_owned() } else { format!("{folder}/manage.py") };
        let settings = pattern.captures(&input.file_text(&path))?.get(1)?.as_str().to_owned();
        Some(DjangoProject { settings, folder })
    })
}

/// An agent in a sentence: `path/to/file.py:function`.
fn display_agent(input: &RecipeInput<'_>, agent: &Agent) -> String {
    let name = input.display_name(&agent.name, &agent.path, agent.line);
    format!("{}:{name}", input.redactor().file(&agent.path))
}

/// What else could have been meant: a note, since the choice can be changed.
fn note_other_candidates(input: &RecipeInput<'_>, chosen: &Agent, contribution: &mut Contribution) {
    if input.options.agent.is_some() {
        return;
    }
    let name = display_agent(input, chosen);
    if chosen.reached_from.is_none() {
        contribution.notes.push(format!(
            "No route or entry point that leads to {name} was found; check whether it is what users talk to."
        ));
    }
    let others = contribution.candidates.len().saturating_sub(1);
    if others > 0 {
        let shown: Vec<String> = contribution
            .candidates
            .iter()
            .skip(1)
            .take(3)
            .map(|other| {
                input.redactor().name(NameKind::Target, &other.agent, &other.path, other.line).into_owned()
            })
            .collect();
        let what = contribution.candidates.first().map_or_else(String::new, |chosen| chosen.agent.clone());
        let what = input.redactor().name(NameKind::Target, &what, &chosen.path, chosen.line).into_owned();
        contribution.notes.push(format!(
            "{what} was chosen. Other candidates: {}{}.",
            shown.join(", "),
            if others > shown.len() { format!(", and {} more", others - shown.len()) } else { String::new() }
        ));
    }
}
