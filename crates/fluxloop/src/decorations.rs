//! Adds FluxLoop decorators to the functions of a Python program, except where a decorator would break them.

use codebase::plan::{Edit, decorate_function};
use codebase::{Agent, AgentFunction, AgentFunctionRole, Route};
use serde_json::json;

use crate::integrate::{Contribution, RecipeInput};
use crate::python::EntryMethod;
use crate::target::is_text_type;

/// Limit on decorated functions besides the agent.
const MAX_DECORATED_PARTS: usize = 6;
const SDK_IMPORT: &str = "import fluxloop";

/// Whether the handler of a route is written inside a function: `def add_chat(router): @router.post("/chat") …`.
fn encloses_handler(input: &RecipeInput<'_>, agent: &Agent, route: &Route) -> bool {
    let end = input.file_summary(&agent.path).and_then(|seen| {
        let function = seen.functions.iter().find(|function| function.name == agent.name)?;
        Some(function.end_line)
    });
    agent.path == route.file && agent.line < route.line && end.is_some_and(|end| route.line <= end)
}

fn is_request_object(name: &str) -> bool {
    matches!(name, "request" | "req" | "args" | "kwargs" | "format")
}

fn decorate_parts(input: &RecipeInput<'_>, agent: &Agent, contribution: &mut Contribution) {
    for part in agent.functions.iter().take(MAX_DECORATED_PARTS) {
        decorate_part(input, part, contribution);
    }
}

/// Decorates the agent and the functions it uses. Returns whether the agent itself was decorated.
pub(crate) fn add_decorations(
    input: &RecipeInput<'_>,
    way: &EntryMethod,
    agent: Option<&Agent>,
    contribution: &mut Contribution,
) -> bool {
    let (path, name) = match (way, agent) {
        // Nothing of it takes the text as an argument.
        (EntryMethod::Crew(_), _) => return false,
        // It runs as long as the talk, and gives nothing back.
        (EntryMethod::Route { route, endpoint }, Some(agent))
            if endpoint.is_socket() && agent.name == route.handler =>
        {
            decorate_parts(input, agent, contribution);
            return false;
        }
        (EntryMethod::Function(entry), _) => (&entry.function.path, &entry.function.name),
        // What only adds the route to a router runs before any request.
        (EntryMethod::Route { route, .. }, Some(agent)) if encloses_handler(input, agent, route) => {
            return false;
        }
        // A handler that has its input from a request object: neither what it is given nor what it gives back is the text.
        (EntryMethod::Route { route, .. }, Some(agent))
            if agent.name.rsplit('.').next() == Some(route.handler.as_str())
                && agent.parameters.iter().all(|parameter| is_request_object(&parameter.name)) =>
        {
            decorate_parts(input, agent, contribution);
            return false;
        }
        // It takes no text: it gives back what is run, such as an agent that is made on first use.
        (EntryMethod::Route { .. }, Some(agent)) if agent.parameters.is_empty() => {
            decorate_parts(input, agent, contribution);
            return false;
        }
        (EntryMethod::Route { .. }, Some(agent)) => (&agent.path, &agent.name),
        (EntryMethod::Object { .. } | EntryMethod::Route { .. }, _) => {
            let beside =
                |agent: &&Agent| matches!(way, EntryMethod::Object { path, .. } if *path == agent.path);
            let agents = input.agents().filter(beside);
            for agent in agents.take(MAX_DECORATED_PARTS) {
                let part = AgentFunction {
                    path: agent.path.clone(),
                    line: agent.line,
                    name: agent.name.clone(),
                    role: AgentFunctionRole::ModelCaller,
                    is_generator: agent.is_generator,
                };
                // A function without parameters cannot take an input: it only starts the program.
                if !agent.parameters.is_empty() {
                    decorate_part(input, &part, contribution);
                }
                agent
                    .functions
                    .iter()
                    .filter(|part| part.role == AgentFunctionRole::Tool)
                    .for_each(|part| decorate_part(input, part, contribution));
            }
            return false;
        }
    };
    let is_generator = match way {
        EntryMethod::Function(entry) => entry.function.is_generator,
        _ => agent.is_some_and(|agent| agent.is_generator),
    };
    let decorated = match decoration_obstacle(input, path, name, is_generator) {
        Some(reason) => {
            contribution.warnings.push(format!(
                "{} in {} is not decorated: {reason}",
                input.display_name(name, path, 0),
                input.redactor().file(path)
            ));
            false
        }
        None => add_decorator(
            input,
            path,
            name,
            "agent",
            "This function is the agent: FluxLoop records its calls.",
            contribution,
        ),
    };
    if let Some(agent) = agent {
        decorate_parts(input, agent, contribution);
    }
    decorated
}

/// The reason not to decorate a function, if there is one.
fn decoration_obstacle(
    input: &RecipeInput<'_>,
    path: &str,
    name: &str,
    is_generator: bool,
) -> Option<String> {
    if is_generator {
        return Some(
            "it is a generator, and the SDK's wrapper would hide that from code that checks it".to_owned(),
        );
    }
    let is_handler = input.routes().any(|route| route.file == path && route.handler == name);
    let postponed = input.file_summary(path).is_some_and(|seen| {
        seen.imports
            .iter()
            .any(|(module, name)| module == "__future__" && name.as_deref() == Some("annotations"))
    });
    let fastapi = input.framework.as_ref().filter(|framework| framework.name == "fastapi");
    if is_handler
        && postponed
        && fastapi.is_some_and(|framework| !resolves_postponed_annotations(framework.version.as_deref()))
    {
        return Some(
            "it is a FastAPI route in a file with `from __future__ import annotations`, and FastAPI before 0.123.5 \
             could no longer resolve its parameter types"
                .to_owned(),
        );
    }
    None
}

fn resolves_postponed_annotations(version: Option<&str>) -> bool {
    // The lower bound of a range.
    let first = version.unwrap_or_default().split([',', ' ']).next().unwrap_or_default();
    let lowest = first.trim_start_matches(['=', '>', '~', '^']);
    let numbers: Vec<u32> = lowest.split('.').map_while(|part| part.parse().ok()).collect();
    numbers.as_slice() >= [0, 123, 5].as_slice()
}

fn decorate_part(input: &RecipeInput<'_>, part: &AgentFunction, contribution: &mut Contribution) {
    let (kind, why) = match part.role {
        AgentFunctionRole::ModelCaller => {
            ("prompt", "This function calls the model: FluxLoop records its calls.")
        }
        AgentFunctionRole::Tool => ("tool", "The model can call this function: FluxLoop records its calls."),
        AgentFunctionRole::Step => {
            ("trace", "This function sits between the agent and the model: FluxLoop records its calls.")
        }
    };
    if input.owns_file(&part.path)
        && !is_factory(&part.name)
        && decoration_obstacle(input, &part.path, &part.name, part.is_generator).is_none()
    {
        add_decorator(input, &part.path, &part.name, kind, why, contribution);
    }
}

/// Whether a function takes something that is not data: a database, a client, a request.
fn takes_objects(input: &RecipeInput<'_>, path: &str, name: &str) -> bool {
    #[rustfmt::skip] // a list, not a column
    const OBJECTS: &[&str] = &[
        "db", "database", "session", "conn", "connection", "client", "request", "req", "websocket", "response",
        "background_tasks", "engine", "store", "cache", "ctx", "context", "app", "service", "llm", "model", "graph", "agent", "deps",
    ];
    let seen = input.file_summary(path).unwrap_or_default();
    let function = seen.functions.iter().find(|function| function.name == name);
    let parameters = function.map(|function| function.parameters.as_slice()).unwrap_or_default();
    parameters.iter().any(|parameter| {
        let is_text = parameter.annotation.as_deref().is_some_and(is_text_type);
        parameter.injected || !is_text && OBJECTS.contains(&parameter.name.as_str())
    })
}

/// Whether a function only makes something that is run later: its calls say nothing about an answer.
fn is_factory(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name).trim_start_matches('_');
    [
        "create_",
        "make_",
        "build_",
        "init",
        "setup",
        "load_",
        "get_llm",
        "get_model",
        "get_graph",
        "get_executor",
        "get_pipeline",
        "get_engine",
        "get_client",
        "get_agent",
        "get_chain",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

fn add_decorator(
    input: &RecipeInput<'_>,
    path: &str,
    name: &str,
    kind: &str,
    why: &str,
    contribution: &mut Contribution,
) -> bool {
    let plain = name.rsplit('.').next().unwrap_or(name);
    let capture = match (takes_objects(input, path, name), kind) {
        (false, _) => "",
        // The SDK would turn a database or a request into JSON, and could fail.
        (true, "agent" | "trace") => ", capture_input=False",
        (true, _) => return false,
    };
    let decorator = format!("@fluxloop.{kind}(name={}{capture})", json!(plain));
    match decorate_function(input.tree, path, name, &decorator, SDK_IMPORT, why.to_owned()) {
        Ok(edit) => {
            let known = |known: &Edit| known.filepath == edit.filepath && known.anchors == edit.anchors;
            if !contribution.edits.iter().any(known) {
                contribution.files_to_compile.insert(path.to_owned());
                contribution.edits.push(edit);
            }
            true
        }
        Err(error) => {
            let (shown, file) = (input.display_name(name, path, 0), input.redactor().file(path));
            let reason = error.describe(&file, &shown);
            contribution.warnings.push(format!("{shown} is not decorated: {reason}"));
            false
        }
    }
}
