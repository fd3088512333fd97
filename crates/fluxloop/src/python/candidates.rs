//! What of a Python program FluxLoop could run, ranked.

use std::collections::BTreeSet;

use codebase::rules::LibraryRole;
use codebase::{Agent, FileSummary, NameKind, Route};

use super::EntryMethod;
use super::entry::{entry_by_function, entry_by_object, entry_for_object};
use super::request::resolve_endpoint;
use super::start_up::start_up;
use crate::application::{Application, is_unimportable_program, usual_files};
use crate::blocker::Blocker;
use crate::candidate::{Candidate, CandidateKind, depth_penalty, rank_name};
use crate::crew::CrewCall;
use crate::endpoint::RouteChoice;
use crate::integrate::RecipeInput;
use crate::package::is_python_file;
use crate::route_choice::{
    CLIENT_BONUS, README_BONUS, is_named, is_page_of_other, is_route_label, nearest_routes, route_label,
};
use crate::target::TargetFunction;
use crate::unconnected::{UNCONNECTED_PENALTY, answering_routes};
use crate::wrapper::AgentObject;

/// Below this score a function or object is not run unasked.
pub(super) const MIN_FUNCTION_SCORE: i32 = -25;

pub(super) const MAX_FUNCTIONS: usize = 20;

pub(super) const MAX_ROUTES: usize = 20;

/// A candidate and how to run it, or what keeps it from being run.
pub(super) struct PythonCandidate {
    pub(super) candidate: Candidate,
    pub(super) entry: Result<EntryMethod, Vec<Blocker>>,
    pub(super) agent: Option<Agent>,
}

/// Everything that could be run, best first. Of equals, the first that analysis found.
pub(super) fn find_candidates(
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
    let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
    let files =
        anchors.map(|anchor| anchor.path.clone()).chain(input.entry_points()).chain(usual_files(input));
    let others = input.profile.frameworks.iter().filter(|one| one.role == LibraryRole::Agent);
    let others = others.flat_map(|one| one.anchors.iter().map(|anchor| anchor.path.clone()));
    let imports = input.model_imports().map(|import| import.path.clone()).take(MAX_FUNCTIONS);
    let files =
        files.chain(input.agent_files()).chain(others.filter(|path| input.owns_file(path))).chain(imports);
    for path in files.filter(|path| is_python_file(path) && !input.is_example_or_test(path)) {
        all.extend(object_candidate(input, &path));
    }
    // What is known to call a model comes before what only sounds like it.
    let calls_model = |one: &&PythonCandidate| {
        one.candidate.kind == CandidateKind::Function
            && one.entry.is_ok()
            && one.candidate.score > MIN_FUNCTION_SCORE
    };
    let known = all.iter().filter(calls_model).map(|one| one.candidate.score).max();
    for (route, proof) in answering_routes(input).take(MAX_ROUTES) {
        let mut one = unconnected_candidate(input, route, proof);
        if let Some(known) = known.filter(|_| route.model_nearby.is_none()) {
            one.candidate.score = one.candidate.score.min(known - 1);
        }
        all.push(one);
    }
    // What makes an agent is a function that cannot be called with a text, and an object.
    let works: BTreeSet<String> =
        all.iter().filter(|one| one.entry.is_ok()).map(|one| one.candidate.agent.clone()).collect();
    let mut seen = BTreeSet::new();
    all.retain(|one| {
        (one.entry.is_ok() || !works.contains(&one.candidate.agent))
            && seen.insert(one.candidate.agent.clone())
    });
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

pub(super) fn function_candidate(
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
    let entry = entry.or_else(|why| CrewCall::from_agent(input, agent).map(EntryMethod::Crew).ok_or(why));
    let name = input.display_name(&agent.name, &agent.path, agent.line);
    // In a program. A library has its classes made by others.
    let is_program = input.routes().next().is_some() || input.other_routes().next().is_some();
    let entry = match agent.name.split_once('.') {
        Some((class, _)) if agent.is_unused && is_program && input.options.agent.is_none() => {
            let class = input.display_name(class, &agent.path, agent.line);
            Err(format!("no file of the program was found that makes a `{class}`"))
        }
        _ => entry,
    };
    let entry = entry.map_err(|why| {
        let what = format!("`{name}` cannot be called with one text: {why}");
        vec![Blocker::new(what).at(input.redactor().file(&agent.path), agent.line).lifted_by("agent")]
    });
    let mut against = Vec::new();
    // What starts with the application, such as a connection, is there for its routes.
    if let Some(place) = application.filter(|_| !routes.is_empty()).and_then(|_| start_up(input)) {
        score -= 40;
        against.push(format!("the application starts first what it may need ({place})"));
    }
    if agent.reached_from.is_none() {
        against.push("no route or entry point was found that leads to it".to_owned());
    } else if !routes.is_empty() && routes.iter().all(|route| !route.passes_input) {
        against.push("the route that leads to it does more than hand it the input".to_owned());
    }
    let is_private = agent.name.rsplit('.').next().is_some_and(|name| name.starts_with('_'));
    if is_private {
        score -= 40;
        against.push("its name says that only its own class or module calls it".to_owned());
    }
    if let Ok(EntryMethod::Function(entry)) = &entry {
        let passing = &entry.passing;
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

pub(super) fn object_candidate(input: &RecipeInput<'_>, path: &str) -> Option<PythonCandidate> {
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

pub(super) fn route_candidate(
    input: &RecipeInput<'_>,
    route: &Route,
    choice: RouteChoice,
) -> PythonCandidate {
    let mut entry = resolve_endpoint(input, route, choice);
    if is_unimportable_program(input, route) {
        let what = format!("the file of {} has a name that cannot be imported", input.display_route(route));
        let file = input.redactor().file(&route.file).into_owned();
        entry = Err(vec![Blocker::new(what).at(file, route.line).lifted_by("agent")]);
    }
    let agent = input.agents().find(|agent| agent.name == route.agent).cloned();
    let mut score = 30 + rank_name(&route.path) + rank_name(&route.handler) / 2 + rank_name(&route.agent) / 3;
    let mut against = Vec::new();
    if let Ok(endpoint) = &entry {
        score -= 15 * i32::from(endpoint.needs_credentials());
        // A request is simpler than a talk.
        score -= 15 * i32::from(endpoint.is_socket());
        score -= 12 * i32::try_from(endpoint.variables().len()).unwrap_or(0);
        against.extend(endpoint.warnings().iter().cloned());
    }
    // Without the id in its path, it sends the caller to a page that has one.
    let source = || input.source_lines(&route.file, route.line, route.end_line);
    let is_twin = |other: &Route| {
        (&other.file, other.line) == (&route.file, route.line) && other.path.len() > route.path.len()
    };
    let has_longer = input.routes().any(|other| is_twin(other) && other.path.contains(['<', '{']));
    score -= 40 * i32::from(has_longer && !route.path.contains(['<', '{']) && source().contains("redirect("));
    // Of two that answer alike, the one that does it at once.
    let streams = ["StreamingResponse", "EventSourceResponse", "text/event-stream", "StreamingHttpResponse"];
    score -= 8 * i32::from(streams.iter().any(|word| source().contains(word)));
    // A page, not an answer.
    score -= 8 * i32::from(route.method == "GET");
    score -= depth_penalty(&route.path);
    score += CLIENT_BONUS * i32::from(route.client.is_some());
    score += README_BONUS * i32::from(input.is_in_readme(route));
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

/// A route that no call of a model was followed from: it comes after those where one was.
pub(super) fn unconnected_candidate(
    input: &RecipeInput<'_>,
    route: &Route,
    proof: String,
) -> PythonCandidate {
    let mut one = route_candidate(input, route, RouteChoice::Found);
    "takes what a user says, by its names".clone_into(&mut one.candidate.why);
    one.candidate.score -= UNCONNECTED_PENALTY;
    if let Ok(EntryMethod::Route { endpoint, .. }) = &mut one.entry {
        endpoint.add_warning(proof.clone());
    }
    one.candidate.against.insert(0, proof);
    one
}

pub(super) fn file_stem(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default().to_owned()
}

/// The agent that the caller named: `path/to/file.py:name`, or a route.
pub(super) fn named_candidate(
    input: &RecipeInput<'_>,
    wanted: &str,
    application: Option<&Application>,
) -> Result<PythonCandidate, Vec<Blocker>> {
    let routes = || input.routes().chain(input.other_routes());
    if let Some(route) = routes()
        .find(|route| route_label(route) == wanted)
        .or_else(|| routes().find(|route| is_named(route, wanted)))
    {
        return Ok(route_candidate(input, route, RouteChoice::Named));
    }
    let shown = input.redactor().name(NameKind::Target, wanted, "", 0).into_owned();
    if is_route_label(wanted) {
        let known: Vec<String> =
            nearest_routes(wanted, routes()).map(|route| input.display_route(route)).collect();
        let what = if known.is_empty() {
            format!("no route `{shown}` was found, nor any other{}", input.location_phrase())
        } else {
            format!("no route `{shown}` was found; found were {}", known.join(", "))
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
        let function = match &agent {
            Some(agent) => function_for_agent(input, agent),
            None => TargetFunction::from_signature(path, signature),
        };
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
    let functions: Vec<String> = seen
        .functions
        .iter()
        .map(|function| input.display_name(&function.name, path, function.line).into_owned())
        .take(6)
        .collect();
    let missing = || {
        let known =
            if functions.is_empty() { String::new() } else { format!("; it has {}", functions.join(", ")) };
        blocked(format!("the file has no function and no known agent object `{shown}`{known}"))
    };
    let entry = way.map_err(blocked).and_then(|way| way.flatten().ok_or_else(missing));
    let candidate = Candidate { kind: CandidateKind::Object, ..candidate };
    Ok(PythonCandidate { candidate, entry, agent })
}

/// An agent with what its own file says about what it gives back.
pub(super) fn function_for_agent(input: &RecipeInput<'_>, agent: &Agent) -> TargetFunction {
    let seen = input.file_summary(&agent.path).unwrap_or_default();
    let signature = seen.functions.iter().find(|function| function.name == agent.name);
    let mut function = signature.map_or_else(
        || TargetFunction::from_agent(agent),
        |signature| TargetFunction::from_signature(&agent.path, signature),
    );
    // Analysis sees the classes that it extends.
    function.is_default_constructible |= agent.is_default_constructible;
    function.instance.clone_from(&agent.instance);
    function.makers.clone_from(&agent.makers);
    function
}

/// The graphs that the project itself names: they are what it runs.
pub(super) fn graph_candidates(input: &RecipeInput<'_>) -> Vec<PythonCandidate> {
    let one = |(path, name): (String, String)| {
        let seen = input.file_summary(&path).unwrap_or_default();
        let name = compiled_sibling(&seen, &name).unwrap_or(name);
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
pub(super) fn declared_graphs(input: &RecipeInput<'_>) -> Vec<(String, String)> {
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

/// The compiled graph for one that is only built: the server of `LangGraph` compiles it, a call does not.
pub(super) fn compiled_sibling(seen: &FileSummary, name: &str) -> Option<String> {
    let is_built =
        seen.assigned_calls.iter().any(|(known, callee)| known == name && callee.ends_with("StateGraph"));
    let compiled = seen.assigned_calls.iter().find(|(_, callee)| *callee == format!("{name}.compile"));
    compiled.filter(|_| is_built).map(|(known, _)| known.clone())
}
