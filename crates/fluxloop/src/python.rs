//! Integrating a Python program: which function is the agent, what is decorated, how FluxLoop calls it.

mod candidates;
mod django;
mod entry;
mod guards;
mod request;

use std::collections::BTreeSet;

use codebase::{Agent, NameKind, ObjectMaker, Route};
use regex::Regex;

use crate::application::{Application, find_application, own_application, usual_files};
use crate::blocker::Blocker;
use crate::candidate::CandidateKind;
use crate::config::{RunnerConfig, create_file_edit};
use crate::crew::CrewCall;
use crate::decorations;
use crate::dev_server::find_port;
use crate::endpoint::{AgentEndpoint, RunningProgram};
use crate::graph::GraphCall;
use crate::integrate::{Contribution, RecipeInput};
use crate::package::is_python_file;
use crate::recipe::InProcessClient;
use crate::release_line::ReleaseLine;
use crate::route_choice::{add_endpoint_notes, likeliest_route, other_routes_phrase, variables_to_set};
use crate::target::{PythonModule, TargetFunction, TextCall, complete_roots, resolve_module};
use crate::unconnected::model_phrase;
use crate::wrapper::{AgentObject, PythonWrapper, Recording};
use candidates::{MIN_FUNCTION_SCORE, PythonCandidate, find_candidates};
use django::{DjangoProject, allowed_host, django_settings, settings_text};
use request::start_up;

const HTTPX: &str = "httpx is installed: the test client of Starlette needs it";
const WRAPPER_RATIONALE: &str = "FluxLoop calls this; it hands the input to the agent.";

/// How FluxLoop gets at the agent.
pub(crate) enum EntryMethod {
    /// It calls a function as it is, or through a file of ours.
    Function {
        function: TargetFunction,
        module: PythonModule,
        passing: TextCall,
        object: Option<ObjectSource>,
        /// The Flask application that it needs around it.
        application: Option<Application>,
    },
    /// It runs an object of an agent framework.
    Object { path: String, name: String, module: PythonModule, object: AgentObject, call: GraphCall },
    /// It starts a crew with a text in place of the program's own input.
    Crew(CrewCall),
    /// It sends a request, in the same process or over HTTP.
    Route { route: Box<Route>, endpoint: AgentEndpoint },
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
        EntryMethod::Route { endpoint, .. } => application.is_some() && endpoint.running_program().is_none(),
        _ => true,
    };
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
            let followed = if used.is_empty() { "found" } else { "followed from a function or route" };
            format!(
                "no call of a known language model or agent framework was {followed}{place}{used}{routes}"
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

/// The file that FluxLoop calls, if it cannot call the program as it is, and the runner.
fn add_entry(
    input: &RecipeInput<'_>,
    mut way: EntryMethod,
    is_traced: bool,
    django: Option<&DjangoProject>,
    mut application: Option<(InProcessClient, Option<Application>)>,
    folder: &str,
    contribution: &mut Contribution,
) {
    let (missing, imported) = match &mut way {
        EntryMethod::Function { function, module, .. } => {
            complete_roots(input, &[function.path.clone()], module)
        }
        EntryMethod::Object { path, module, .. } => complete_roots(input, &[path.clone()], module),
        EntryMethod::Crew(crew) => complete_roots(input, &[crew.path.clone()], &mut crew.module),
        EntryMethod::Route { route, .. } => {
            let urls = django.map(|django| django.urls_file());
            let start: Vec<String> = std::iter::once(route.file.clone()).chain(urls).collect();
            let root = django.map_or_else(
                || resolve_module(input, &route.file).map(|module| module.root).unwrap_or_default(),
                |django| django.folder.clone(),
            );
            let mut module = PythonModule { root, more_roots: Vec::new(), name: String::new() };
            complete_roots(input, &start, &mut module)
        }
    };
    let missing: BTreeSet<String> = missing.into_iter().collect();
    contribution.warnings.extend(missing.into_iter().take(3).map(|what| format!("{what}.")));
    if let Some((_, Some(application))) = &mut application {
        application.complete_roots(input);
    }
    contribution.target_location = match &way {
        EntryMethod::Function { function, .. } => (function.path.clone(), function.line),
        EntryMethod::Object { path, .. } => (path.clone(), 0),
        EntryMethod::Crew(crew) => (crew.path.clone(), 0),
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
    contribution.prerequisites.extend(variables_of_program(
        input,
        &contribution.target_location.0,
        application.as_ref().and_then(|(_, app)| app.as_ref()),
    ));
    let settings = django.map(|django| django.settings.as_str());
    // FluxLoop 0.4 runs each input in a process of its own; the older lines write their results from where they stand.
    let start_folder = Some(input.package.as_str())
        .filter(|package| !package.is_empty() && input.release_line() == ReleaseLine::V04);
    let wrapper = PythonWrapper {
        folder,
        root: "",
        more_roots: &[],
        start_folder,
        loads_env_file: !matches!(way, EntryMethod::Route { .. }) && loads_env_file(input),
        django: settings,
        host: "localhost",
        recording,
    };
    let own_web = application.clone();
    let content = match &way {
        EntryMethod::Function { function, module, application: None, .. }
            if function.is_directly_callable()
                && django.is_none()
                && !opens_trace
                && start_up(input).is_none()
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
            let made = match object {
                Some(ObjectSource::Made(made)) => made.imports.as_slice(),
                _ => &[],
            };
            let files = made.iter().chain(&passing.imports).map(|(path, _)| path);
            let modules: Vec<(String, PythonModule)> =
                files.filter_map(|path| Some((path.clone(), resolve_module(input, path)?))).collect();
            let mut module = module.clone();
            for (_, other) in modules.iter().filter(|(_, other)| other.root != module.root) {
                if !module.more_roots.contains(&other.root) {
                    module.more_roots.push(other.root.clone());
                }
            }
            let module = &module;
            // What starts with the application is there for the function, too.
            let started = start_up(input);
            let is_needed = imported.iter().any(|file| started_files(input).contains(file));
            let web = own_web.as_ref().filter(|(client, _)| *client == InProcessClient::Starlette);
            let lifespan = web
                .and_then(|(_, app)| app.clone())
                .filter(|_| started.is_some() && is_needed && application.is_none());
            if let (Some(place), Some(_)) = (&started, &lifespan) {
                contribution.notes.push(format!(
                    "{} is called while the application runs, which starts what it may need ({place}).",
                    input.display_name(&function.name, &function.path, function.line)
                ));
                contribution.prerequisites.push(HTTPX.to_owned());
            }
            let route = input.routes().find(|route| route.agent == function.name && route.passes_input);
            let field = route.and_then(|route| route.request.first());
            contribution.text_field = field.cloned();
            let shown = input.display_name(&function.name, &function.path, function.line);
            contribution.notes.extend(passing.notes.iter().map(|note| format!("{note} of {shown}.")));
            contribution.prerequisites.extend(variables_to_set(&passing.variables));
            PythonWrapper { root: &module.root, more_roots: &module.more_roots, ..wrapper }.wrap_function(
                module,
                function,
                passing,
                object.as_ref(),
                application.as_ref(),
                lifespan.as_ref(),
                &modules,
            )
        }
        EntryMethod::Object { name, module, object, call, .. } => {
            contribution.target = format!("{}:{name}", module.name);
            PythonWrapper { root: &module.root, more_roots: &module.more_roots, ..wrapper }
                .wrap_object(module, name, *object, call)
        }
        EntryMethod::Crew(crew) => {
            contribution.target = format!("{}:{}", crew.module.name, crew.name);
            PythonWrapper { root: &crew.module.root, more_roots: &crew.module.more_roots, ..wrapper }
                .wrap_crew(crew)
        }
        EntryMethod::Route { route, endpoint } => {
            contribution.target = format!("{} {}", endpoint.method, route.path);
            contribution.text_field = Some(endpoint.text_field().to_owned());
            add_endpoint_notes(endpoint, contribution);
            let wrapper = PythonWrapper { root: django.map_or("", |django| &django.folder), ..wrapper };
            let application = match own_application(input, route) {
                Some(own) => application.map(|(client, _)| (client, Some(own))),
                None => application,
            };
            let host = django.and_then(|django| allowed_host(&settings_text(input, django)?));
            let wrapper = PythonWrapper { host: host.as_deref().unwrap_or("localhost"), ..wrapper };
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

/// The files of what the application calls when it starts, and its own if it keeps something of that.
fn started_files(input: &RecipeInput<'_>) -> BTreeSet<String> {
    let anchors = input.profile.frameworks.iter().flat_map(|framework| &framework.anchors);
    let files: BTreeSet<&str> =
        anchors.map(|anchor| anchor.path.as_str()).filter(|path| is_python_file(path)).collect();
    let begins = Regex::new(r"(?m)^(?:async )?def (?:\w*lifespan\w*|\w*start\w*)\(|^@\w+\.on_event\(");
    let called = Regex::new(r"(?:^|[^.\w])(\w+)(?:\.\w+)*\(");
    let (Ok(begins), Ok(called)) = (begins, called) else { return BTreeSet::new() };
    let mut started = BTreeSet::new();
    for path in files {
        let text = input.file_text(path);
        let Some(summary) = input.file_summary(path) else { continue };
        for found in begins.find_iter(&text) {
            let is_inner = |line: &&str| {
                line.is_empty() || line.starts_with([' ', '\t', '#', ')']) || line.contains("def ")
            };
            let lines = text[found.start()..].lines().skip(1).take_while(is_inner);
            let body = lines.collect::<Vec<_>>().join("\n");
            if body.contains("global ") || body.contains("app.state") {
                started.insert(path.to_owned());
            }
            for name in called.captures_iter(&body) {
                let name = &name[1];
                let is_it = |(module, known): &&(String, Option<String>)| match known {
                    Some(known) => known == name,
                    None => module.rsplit('.').next() == Some(name),
                };
                let Some((module, _)) = summary.imports.iter().find(is_it) else { continue };
                let inner = input.module_file(path, &format!("{module}.{name}"));
                started.extend(inner.or_else(|| input.module_file(path, module)));
            }
        }
    }
    started
}

/// The environment variables without which the files of the target fail when they are imported.
fn variables_of_program(
    input: &RecipeInput<'_>,
    target: &str,
    application: Option<&Application>,
) -> Option<String> {
    let read = Regex::new(r#"(?m)^[^\s#][^\n]*\bos\.environ\[\s*["']([A-Z][A-Z0-9_]*)["']\s*\]"#).ok()?;
    let app = application.map(|app| {
        let inside = app.module.name.replace('.', "/");
        if app.module.root.is_empty() {
            format!("{inside}.py")
        } else {
            format!("{}/{inside}.py", app.module.root)
        }
    });
    let files = [Some(target.to_owned()), app].into_iter().flatten();
    let names: BTreeSet<String> = files
        .flat_map(|file| {
            let text = input.file_text(&file);
            read.captures_iter(&text).map(|found| found[1].to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let list: Vec<String> = names.into_iter().take(12).collect();
    (!list.is_empty())
        .then(|| format!("Environment variables that the program reads when it starts: {}", list.join(", ")))
}

/// Whether the program reads an `.env` file where it starts, which a call of one of its functions may not come by.
fn loads_env_file(input: &RecipeInput<'_>) -> bool {
    let more = ["config.py", "settings.py", "app/config.py", "src/config.py", "app/settings.py"];
    let files = usual_files(input).into_iter().chain(input.entry_points());
    let files: BTreeSet<String> = files.chain(more.map(|file| input.package_path(file))).collect();
    files.iter().any(|file| input.file_text(file).contains("load_dotenv("))
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
    contribution.start_command = match endpoint.running_program() {
        Some(RunningProgram::StartedAs(file)) if NameKind::File.is_safe_name(file) => {
            Some(format!("python {file}"))
        }
        Some(_) => application.as_ref().and_then(|(by, app)| by.start_command(app.as_ref())),
        None => None,
    };
    if let Some((by, app)) = application.filter(|_| endpoint.running_program().is_none()) {
        if by == InProcessClient::Starlette {
            contribution.prerequisites.push(HTTPX.to_owned());
        }
        let root = app.as_ref().map_or_else(|| wrapper.root.to_owned(), |app| app.module.root.clone());
        let more_roots = app.as_ref().map_or(&[][..], |app| app.module.more_roots.as_slice());
        return PythonWrapper { root: &root, more_roots, ..*wrapper }.wrap_route(by, app.as_ref(), endpoint);
    }
    let port = find_port(input.tree, &input.entry_points()).unwrap_or(input.recipe().port);
    let base = format!("http://{}:{port}", input.recipe().host);
    let why = match endpoint.running_program() {
        Some(RunningProgram::HoldsUploads) => "its answers depend on what it holds in memory".to_owned(),
        Some(RunningProgram::StartedAs(file)) => format!(
            "it makes what {} needs only where {} is started by itself",
            input.display_route(route),
            input.redactor().file(file)
        ),
        None => format!(
            "no way to import its {} application was found ({})",
            input.recipe().title,
            input.redactor().file(&route.file)
        ),
    };
    contribution.warnings.push(format!("The program must be running while FluxLoop runs: {why}."));
    let text = endpoint.render_python_bridge(&base);
    contribution.url = Some(endpoint.url(&base));
    text
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
