//! Which functions of a Python program are decorated, and which had better not be.

use codebase::plan::{Edit, decorate};
use codebase::{Agent, Does, Part};
use serde_json::json;

use crate::integrate::{Found, Scene};
use crate::line::Line;
use crate::python::Way;

/// The most functions besides the agent that are decorated.
const MOST_PARTS: usize = 6;
const IMPORT: &str = "import fluxloop";

/// Decorates the agent and the functions that it works with. Says whether the agent itself is among them.
pub(crate) fn decorations(scene: &Scene<'_>, way: &Way, agent: Option<&Agent>, found: &mut Found) -> bool {
    let (path, name) = match (way, agent) {
        (Way::Function { function, .. }, _) => (&function.path, &function.name),
        (Way::Route { .. }, Some(agent)) => (&agent.path, &agent.name),
        (Way::Object { .. } | Way::Route { .. }, _) => {
            let beside = |agent: &&Agent| matches!(way, Way::Object { path, .. } if *path == agent.path);
            let agents = scene.agents().filter(beside);
            for agent in agents.take(MOST_PARTS) {
                let part = Part {
                    path: agent.path.clone(),
                    line: agent.line,
                    name: agent.name.clone(),
                    does: Does::Prompt,
                    is_generator: agent.is_generator,
                };
                // What takes nothing only starts things.
                if !agent.parameters.is_empty() {
                    add_part(scene, &part, found);
                }
                agent
                    .parts
                    .iter()
                    .filter(|part| part.does == Does::Tool)
                    .for_each(|part| add_part(scene, part, found));
            }
            return false;
        }
    };
    let is_generator = match way {
        Way::Function { function, .. } => function.is_generator,
        _ => agent.is_some_and(|agent| agent.is_generator),
    };
    let decorated = match undecoratable(scene, path, name, is_generator) {
        Some(reason) => {
            found.warnings.push(format!(
                "{} in {} is not decorated: {reason}",
                scene.name(name, path, 0),
                scene.texts().file(path)
            ));
            false
        }
        None => add(scene, path, name, "agent", &recorded(scene, "This function is the agent"), found),
    };
    for part in agent.iter().flat_map(|agent| &agent.parts).take(MOST_PARTS) {
        add_part(scene, part, found);
    }
    decorated
}

/// Why a function had better not be decorated.
fn undecoratable(scene: &Scene<'_>, path: &str, name: &str, is_generator: bool) -> Option<String> {
    if is_generator {
        return Some(
            "it yields its answer in pieces, and the SDK would hide that from whoever looks".to_owned(),
        );
    }
    let is_handler = scene.routes().any(|route| route.file == path && route.handler == name);
    let postponed = scene.glance(path).is_some_and(|seen| {
        seen.imports
            .iter()
            .any(|(module, name)| module == "__future__" && name.as_deref() == Some("annotations"))
    });
    let fastapi = scene.framework.as_ref().filter(|framework| framework.name == "fastapi");
    if is_handler
        && postponed
        && fastapi.is_some_and(|framework| !is_new_enough(framework.version.as_deref()))
    {
        return Some(
            "it is a FastAPI route in a file with `from __future__ import annotations`, and FastAPI before 0.123.5 would \
             no longer find the types of its parameters"
                .to_owned(),
        );
    }
    None
}

fn is_new_enough(version: Option<&str>) -> bool {
    let numbers: Vec<u32> =
        version.unwrap_or_default().split('.').filter_map(|part| part.parse().ok()).collect();
    numbers.as_slice() >= [0, 123, 5].as_slice()
}

/// Why a function is decorated: 0.2 and 0.3 keep records of it, 0.4 runs it and keeps none.
fn recorded(scene: &Scene<'_>, what: &str) -> String {
    match scene.line() {
        Line::V02 | Line::V03 => format!("{what}: FluxLoop records its calls."),
        Line::V04 => format!("{what}: marked for FluxLoop, whose SDK records it in a context of its own."),
    }
}

fn add_part(scene: &Scene<'_>, part: &Part, found: &mut Found) {
    let (kind, why) = match part.does {
        Does::Prompt => ("prompt", "It calls the model"),
        Does::Tool => ("tool", "The model may call it"),
        Does::Step => ("trace", "It stands between the agent and the model"),
    };
    let why = recorded(scene, why);
    if scene.owns(&part.path) && undecoratable(scene, &part.path, &part.name, part.is_generator).is_none() {
        add(scene, &part.path, &part.name, kind, &why, found);
    }
}

fn add(scene: &Scene<'_>, path: &str, name: &str, kind: &str, why: &str, found: &mut Found) -> bool {
    let plain = name.rsplit('.').next().unwrap_or(name);
    let decorator = format!("@fluxloop.{kind}(name={})", json!(plain));
    match decorate(scene.tree, path, name, &decorator, IMPORT, why.to_owned()) {
        Ok(edit) => {
            let known = |known: &Edit| known.filepath == edit.filepath && known.anchors == edit.anchors;
            if !found.edits.iter().any(known) {
                found.compiles.insert(path.to_owned());
                found.edits.push(edit);
            }
            true
        }
        Err(reason) => {
            let (shown, file) = (scene.name(name, path, 0), scene.texts().file(path));
            let reason = reason.replace(path, &file).replace(name, &shown);
            found.warnings.push(format!("{shown} is not decorated: {reason}"));
            false
        }
    }
}
