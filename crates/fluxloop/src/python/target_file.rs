//! The file that FluxLoop calls in a Python program, and the runner for it.

use std::collections::BTreeSet;

use codebase::{NameKind, Route};

use super::django::{DjangoProject, allowed_host, settings_text};
use super::start_up::{loads_env_file, start_up, started_files, variables_of_program};
use super::{EntryMethod, FunctionEntry, ObjectSource};
use crate::application::{Application, own_application};
use crate::config::{RunnerConfig, create_file_edit};
use crate::dev_server::find_port;
use crate::endpoint::{AgentEndpoint, LiveState};
use crate::integrate::{Contribution, RecipeInput};
use crate::python_module::{PythonModule, complete_roots, resolve_module};
use crate::recipe::InProcessClient;
use crate::release_line::ReleaseLine;
use crate::route_choice::{add_endpoint_notes, variables_to_set};
use crate::wrapper::{FunctionCall, PythonWrapper, Recording};

/// What the test client of Starlette needs.
fn httpx_needed(input: &RecipeInput<'_>) -> String {
    // It hands httpx an argument that 0.28 no longer takes.
    const NEW_ENOUGH: u32 = 112;
    let version =
        input.framework.as_ref().filter(|one| one.name == "fastapi").and_then(|one| one.version.as_deref());
    let pinned = version.map(|version| version.trim_start_matches("=="));
    let minor = pinned.and_then(|version| version.strip_prefix("0.")?.split('.').next()?.parse::<u32>().ok());
    match minor {
        Some(minor) if minor < NEW_ENOUGH => {
            "httpx older than 0.28 is installed: the test client of this Starlette needs it".to_owned()
        }
        _ => "httpx is installed: the test client of Starlette needs it".to_owned(),
    }
}

const WRAPPER_RATIONALE: &str = "FluxLoop calls this; it hands the input to the agent.";

/// What surrounds the entry of a program.
pub(super) struct Surroundings<'s> {
    pub(super) django: Option<&'s DjangoProject>,
    pub(super) application: Option<(InProcessClient, Option<Application>)>,
    /// The folder of the FluxLoop project.
    pub(super) folder: &'s str,
    /// The agent itself is decorated.
    pub(super) is_traced: bool,
}

/// The file that FluxLoop calls, if it cannot call the program as it is, and the runner.
pub(super) fn add_entry(
    input: &RecipeInput<'_>,
    mut way: EntryMethod,
    mut around: Surroundings<'_>,
    contribution: &mut Contribution,
) {
    let imported = follow_imports(input, &mut way, around.django, contribution);
    if let Some((_, Some(application))) = &mut around.application {
        application.complete_roots(input);
    }
    contribution.target_location = location_of(&way);
    let recording = recording_of(input, around.is_traced);
    let opens_trace = matches!(recording, Recording::OwnTrace { .. });
    contribution.prerequisites.extend(variables_of_program(
        input,
        &contribution.target_location.0,
        around.application.as_ref().and_then(|(_, app)| app.as_ref()),
    ));
    // FluxLoop 0.4 runs each input in a process of its own; the older lines write their results from where they stand.
    let start_folder = Some(input.package.as_str())
        .filter(|package| !package.is_empty() && input.release_line() == ReleaseLine::V04);
    let wrapper = PythonWrapper {
        folder: around.folder,
        root: "",
        more_roots: &[],
        start_folder,
        loads_env_file: !matches!(way, EntryMethod::Route { .. }) && loads_env_file(input),
        django: around.django.map(|django| django.settings.as_str()),
        host: "localhost",
        recording,
    };
    let content = match &way {
        EntryMethod::Function(entry) => {
            contribution.target = format!("{}:{}", entry.module.name, entry.function.name);
            let is_callable = entry.application.is_none() && entry.function.is_directly_callable();
            let is_free = around.django.is_none() && !opens_trace && start_up(input).is_none();
            if is_callable && is_free && (around.is_traced || !input.uses_sdk()) {
                contribution.runner = Some(RunnerConfig::Function {
                    target: contribution.target.clone(),
                    folder: Some(entry.module.root.clone()),
                });
                return;
            }
            render_function_wrapper(input, entry, &wrapper, &around, &imported, contribution)
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
            let root = around.django.map_or("", |django| &django.folder);
            let application = match own_application(input, route) {
                Some(own) => around.application.take().map(|(client, _)| (client, Some(own))),
                None => around.application.take(),
            };
            let host = around.django.and_then(|django| allowed_host(&settings_text(input, django)?));
            let host = host.as_deref().unwrap_or("localhost");
            let wrapper = PythonWrapper { root, host, ..wrapper };
            render_route_wrapper(input, route, endpoint, &wrapper, application, contribution)
        }
    };
    if opens_trace {
        contribution.records_folder = Some(format!("{}/records", around.folder));
    }
    let path = wrapper.path();
    contribution.files_to_compile.insert(path.clone());
    contribution.edits.push(create_file_edit(path, content, WRAPPER_RATIONALE));
    contribution.runner = Some(RunnerConfig::Function { target: PythonWrapper::target(), folder: None });
}

/// Completes the folders that the program's modules are found in, and warns of imports that cannot work. Returns the files
/// that the entry imports.
fn follow_imports(
    input: &RecipeInput<'_>,
    way: &mut EntryMethod,
    django: Option<&DjangoProject>,
    contribution: &mut Contribution,
) -> BTreeSet<String> {
    let (missing, imported) = match way {
        EntryMethod::Function(entry) => {
            complete_roots(input, std::slice::from_ref(&entry.function.path), &mut entry.module)
        }
        EntryMethod::Object { path, module, .. } => complete_roots(input, std::slice::from_ref(path), module),
        EntryMethod::Crew(crew) => complete_roots(input, std::slice::from_ref(&crew.path), &mut crew.module),
        EntryMethod::Route { route, .. } => {
            let urls = django.map(DjangoProject::urls_file);
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
    imported
}

fn location_of(way: &EntryMethod) -> (String, u32) {
    match way {
        EntryMethod::Function(entry) => (entry.function.path.clone(), entry.function.line),
        EntryMethod::Object { path, .. } => (path.clone(), 0),
        EntryMethod::Crew(crew) => (crew.path.clone(), 0),
        EntryMethod::Route { route, .. } => (route.file.clone(), route.line),
    }
}

fn recording_of<'i>(input: &'i RecipeInput<'_>, is_traced: bool) -> Recording<'i> {
    let name = input.name.as_str();
    match (input.uses_sdk(), input.release_line()) {
        (false, _) => Recording::None,
        // FluxLoop reports what the outermost decorated function gives: it has to be the text, not what that is made from.
        (true, ReleaseLine::V02 | ReleaseLine::V03) => Recording::Decorated { name },
        (true, ReleaseLine::V04) => Recording::OwnTrace { name, records_agent: !is_traced },
    }
}

/// A file that calls a function with what it needs around it.
fn render_function_wrapper(
    input: &RecipeInput<'_>,
    entry: &FunctionEntry,
    wrapper: &PythonWrapper<'_>,
    around: &Surroundings<'_>,
    imported: &BTreeSet<String>,
    contribution: &mut Contribution,
) -> String {
    let FunctionEntry { function, module, passing, object, application } = entry;
    let shown = input.display_name(&function.name, &function.path, function.line);
    let made = match object {
        Some(ObjectSource::Made(made)) => made.imports.as_slice(),
        _ => &[],
    };
    let files = made.iter().chain(&passing.imports).map(|(path, _)| path);
    let modules: Vec<(String, PythonModule)> =
        files.filter_map(|path| Some((path.clone(), resolve_module(input, path)?))).collect();
    let mut more_roots = module.more_roots.clone();
    for (_, other) in modules.iter().filter(|(_, other)| other.root != module.root) {
        if !more_roots.contains(&other.root) {
            more_roots.push(other.root.clone());
        }
    }
    // What starts with the application is there for the function, too.
    let web = around.application.as_ref().filter(|(client, _)| *client == InProcessClient::Starlette);
    let is_needed = || !imported.is_disjoint(&started_files(input));
    let lifespan = web.and_then(|(_, app)| app.as_ref()).filter(|_| application.is_none());
    let started = start_up(input).filter(|_| lifespan.is_some() && is_needed());
    if let Some(place) = &started {
        contribution.notes.push(format!(
            "{shown} is called while the application runs, which starts what it may need ({place})."
        ));
        contribution.prerequisites.push(httpx_needed(input));
    }
    let route = input.routes().find(|route| route.agent == function.name && route.passes_input);
    contribution.text_field = route.and_then(|route| route.request.first()).cloned();
    contribution.notes.extend(passing.notes.iter().map(|note| format!("{note} of {shown}.")));
    contribution.prerequisites.extend(variables_to_set(&passing.variables));
    let call = FunctionCall {
        module,
        function,
        passing,
        object: object.as_ref(),
        context: application.as_ref(),
        lifespan: lifespan.filter(|_| started.is_some()),
        modules: &modules,
    };
    PythonWrapper { root: &module.root, more_roots: &more_roots, ..*wrapper }.wrap_function(&call)
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
    contribution.start_command = match endpoint.live_state() {
        Some(LiveState::StartedAs(file)) if NameKind::File.is_safe_name(file) => {
            Some(format!("python {file}"))
        }
        Some(_) => application.as_ref().and_then(|(by, app)| by.start_command(app.as_ref())),
        None => None,
    };
    if let Some((by, app)) = application.filter(|_| endpoint.live_state().is_none()) {
        if by == InProcessClient::Starlette {
            contribution.prerequisites.push(httpx_needed(input));
        }
        let root = app.as_ref().map_or_else(|| wrapper.root.to_owned(), |app| app.module.root.clone());
        let more_roots = app.as_ref().map_or(&[][..], |app| app.module.more_roots.as_slice());
        return PythonWrapper { root: &root, more_roots, ..*wrapper }.wrap_route(by, app.as_ref(), endpoint);
    }
    let port = find_port(input.tree, &input.entry_points()).unwrap_or(input.recipe().port);
    let base = format!("http://{}:{port}", input.recipe().host);
    let why = match endpoint.live_state() {
        Some(LiveState::HoldsUploads) => "its answers depend on what it holds in memory".to_owned(),
        Some(LiveState::StartedAs(file)) => format!(
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
