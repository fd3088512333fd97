//! Integrating a Python program: which function is the agent, what is decorated, how FluxLoop calls it.

mod candidates;
mod django;
mod entry;
mod guards;
mod request;
mod start_up;
mod target_file;

use std::collections::BTreeSet;

use codebase::{Agent, NameKind, ObjectMaker, Route};

use crate::application::{Application, find_application};
use crate::blocker::Blocker;
use crate::candidate::CandidateKind;
use crate::crew::CrewCall;
use crate::decorations;
use crate::endpoint::AgentEndpoint;
use crate::graph::GraphCall;
use crate::integrate::{Contribution, RecipeInput};
use crate::python_module::PythonModule;
use crate::route_choice::{likeliest_route, other_routes_phrase};
use crate::target::{TargetFunction, TextCall};
use crate::unconnected::model_phrase;
use crate::wrapper::AgentObject;
use candidates::{MIN_FUNCTION_SCORE, PythonCandidate, find_candidates};
use django::django_settings;
use target_file::{Surroundings, add_entry};

/// How FluxLoop gets at the agent.
pub(crate) enum EntryMethod {
    /// It calls a function as it is, or through a file of ours.
    Function(Box<FunctionEntry>),
    /// It runs an object of an agent framework.
    Object { path: String, name: String, module: PythonModule, object: AgentObject, call: GraphCall },
    /// It starts a crew with a text in place of the program's own input.
    Crew(CrewCall),
    /// It sends a request, in the same process or over HTTP.
    Route { route: Box<Route>, endpoint: AgentEndpoint },
}

/// A function, and how it is called with one text.
pub(crate) struct FunctionEntry {
    pub(crate) function: TargetFunction,
    pub(crate) module: PythonModule,
    pub(crate) passing: TextCall,
    pub(crate) object: Option<ObjectSource>,
    /// The Flask application that it needs around it.
    pub(crate) application: Option<Application>,
}

/// What a method is called on.
#[derive(Debug, Clone)]
pub(crate) enum ObjectSource {
    /// An object of the same file.
    Beside(String),
    /// One that the program makes elsewhere.
    Made(ObjectMaker),
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
    let mut found = Contribution::default();
    if input.options.agent.is_some() && candidate.kind == CandidateKind::Function {
        found.warnings.extend(candidate.against.iter().map(|against| format!("{against}.")));
    }
    found.candidates = std::iter::once(candidate).chain(others).collect();
    // A program that runs by itself is not traced by us: decorators in it would record nothing.
    let is_reached = match &way {
        EntryMethod::Route { endpoint, .. } => application.is_some() && endpoint.live_state().is_none(),
        _ => true,
    };
    let mut traced = false;
    found.needs_sdk = input.uses_sdk() && is_reached;
    if found.needs_sdk {
        traced = decorations::add_decorations(input, &way, agent.as_ref(), &mut found);
    }
    let folder = input.release_line().project_folder(&input.name);
    let around = Surroundings { django: django.as_ref(), application, folder: &folder, is_traced: traced };
    add_entry(input, way, around, &mut found);
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
        let what = format!(
            "all functions that were found to call a language model are examples, tests or tools: {}",
            asides.join(", ")
        );
        return Blocker::new(what).lifted_by("agent");
    }
    let place = input.location_phrase();
    let routes = other_routes_phrase(input);
    let what = match &input.framework {
        Some(framework) if input.recipe().in_process.is_none() => format!(
            "no function, object or route that runs an agent of {} with one text was found{place}{routes}",
            framework.title
        ),
        _ => {
            let used = model_phrase(input);
            format!(
                "no call of a known language model or agent framework was followed from a function or route{place}{used}{routes}"
            )
        }
    };
    Blocker::new(what).lifted_by("agent").such_as(likeliest_route(input))
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
