//! Integrating a program in JavaScript or TypeScript: over HTTP, or by the documented middleware.

use codebase::Route;
use codebase::manager::Manager;
use regex::Regex;

use crate::config::{Runner, new_file};
use crate::development::{port, start_command};
use crate::endpoint::{Endpoint, rank};
use crate::install;
use crate::integrate::{Found, Scene};
use crate::line::Line;
use crate::middleware;
use crate::package::is_python;
use crate::recipe::Sdk;

/// A program in JavaScript or TypeScript.
pub(crate) fn integrate(scene: &Scene<'_>) -> Result<Found, String> {
    let recipe = scene.recipe();
    if scene.uses_sdk() {
        return with_middleware(scene);
    }
    let wanted = scene.ask.agent.as_deref();
    let mut routes: Vec<&Route> = scene.routes().filter(|route| !is_python(&route.file)).collect();
    routes.sort_by_key(|route| rank(route));
    let is_wanted =
        |route: &&&Route| wanted.is_none_or(|wanted| format!("{} {}", route.method, route.path) == wanted);
    let mut reasons = Vec::new();
    let mut found = Found::default();
    for route in routes.iter().filter(is_wanted) {
        match endpoint_of(scene, route) {
            Ok(endpoint) => {
                found.target_place = (route.file.clone(), route.line);
                bridge(scene, &endpoint, &mut found);
                let others: Vec<String> = routes
                    .iter()
                    .filter(|other| other.path != route.path)
                    .take(5)
                    .map(|other| scene.route(other))
                    .collect();
                if wanted.is_none() && !others.is_empty() {
                    found.warnings.push(format!(
                        "{} was taken; other routes lead to a model as well ({}): name one as `agent`.",
                        scene.route(route),
                        others.join(", ")
                    ));
                }
                return Ok(found);
            }
            Err(reason) => reasons.push(reason),
        }
    }
    // A route that the analysis did not connect with a model, but that somebody names.
    if let Some((method, path)) =
        wanted.and_then(|wanted| wanted.split_once(' ')).filter(|_| reasons.is_empty())
    {
        let route = Route {
            method: method.to_uppercase(),
            path: path.to_owned(),
            file: "as-named".to_owned(),
            line: 1,
            handler: String::new(),
            agent: String::new(),
            request: Vec::new(),
            response: Vec::new(),
            declared: Vec::new(),
            guards: Vec::new(),
        };
        let endpoint = Endpoint::of(&route, scene.ask.request_field.as_deref(), scene.texts())?;
        bridge(scene, &endpoint, &mut found);
        return Ok(found);
    }
    reasons.truncate(3);
    Err(if reasons.is_empty() {
        format!(
            "no route of this {} program was found that leads to a language model; name the one to call as `agent` \
             (\"POST /chat\") with `request_field`",
            recipe.title
        )
    } else {
        reasons.join("; ")
    })
}

fn bridge(scene: &Scene<'_>, endpoint: &Endpoint, found: &mut Found) {
    let recipe = scene.recipe();
    let mut files = scene.entry_points();
    files.extend(
        scene
            .framework
            .iter()
            .flat_map(|framework| framework.anchors.iter().map(|anchor| anchor.path.clone())),
    );
    files.extend(["package.json", "vite.config.ts", "vite.config.js"].map(|file| scene.inside(file)));
    let seen = port(scene.tree, &files);
    let port = seen.unwrap_or(recipe.port);
    if seen.is_none() {
        found.warnings.push(format!(
            "No port was seen in the code; {port} is the usual one. AGENT_URL says where to ask."
        ));
    }
    let url = format!("http://{}:{port}{}{}", recipe.host, global_prefix(scene, &files), endpoint.path);
    let folder = scene.line().folder(&scene.name);
    let why = "FluxLoop calls the program through this file; the program itself stays as it is.";
    if scene.line() == Line::V04 {
        let path = format!("{folder}/bridge.mjs");
        found.edits.push(new_file(path.clone(), endpoint.node_bridge(&url), why));
        found.runner = Some(Runner::Process { command: vec!["node".to_owned(), path] });
    } else {
        let path = format!("{folder}/http_bridge.py");
        found.compiles.insert(path.clone());
        found.edits.push(new_file(path, endpoint.python_bridge(&url), why));
        found.runner = Some(Runner::Function { target: "http_bridge:run".to_owned(), folder: None });
    }
    let manager = scene.manager().map_or("npm", Manager::name);
    let start = start_command(scene.tree, recipe, &scene.package, manager);
    let place = scene.place();
    found.start = Some(format!("{start}{place}"));
    found.warnings.extend(endpoint.doubts().iter().cloned());
    found.target = format!("{} {}", endpoint.method, endpoint.path);
    found.url = Some(url);
}

fn with_middleware(scene: &Scene<'_>) -> Result<Found, String> {
    let recipe = scene.recipe();
    if recipe.sdk == Sdk::Undocumented {
        return Err(format!(
            "no document says how @fluxloop/sdk is used with {}; the variant `bridge` works without it",
            recipe.title
        ));
    }
    let framework = scene.framework.as_ref().ok_or("the framework was not found")?;
    let mut found =
        Found { edits: vec![middleware::edit(scene.tree, framework, scene.texts())?], ..Found::default() };
    found.target = found.edits[0].filepath.clone();
    found.target_place = (found.target.clone(), 0);
    found.prerequisites.push(install::add(scene.manager().unwrap_or(Manager::Npm), "@fluxloop/sdk", false));
    found.warnings.push(
        "@fluxloop/sdk is not on the public npm registry: this works only where you can install it. The variant `bridge` \
         needs nothing of the kind."
            .to_owned(),
    );
    Ok(found)
}

/// The request in the form that the route reads, if it lets anybody in.
fn endpoint_of(scene: &Scene<'_>, route: &Route) -> Result<Endpoint, String> {
    let endpoint = Endpoint::of(route, scene.ask.request_field.as_deref(), scene.texts())?;
    let read = |path: &str| {
        String::from_utf8_lossy(&scene.tree.read(path, 256 * 1024).unwrap_or_default()).into_owned()
    };
    let text = read(&route.file);
    if scene.ask.request_field.is_some() {
        return Ok(endpoint);
    }
    let asks = Regex::new(r"\b(?:getAuth|getServerSession|requireAuth\w*|requireUser\w*|ensure\w*(?:Session|Auth|User)\w*|require\w*Session|authenticate\w*|currentUser|verifyToken|auth)\(").ok();
    let everywhere = Regex::new(r"APP_GUARD|useGlobalGuards|apply\(\s*\w*Auth\w*").ok();
    let before_all = ["src/app.module.ts", "src/main.ts"].map(|file| read(&scene.inside(file))).concat();
    let is_guarded = asks.is_some_and(|asks| asks.is_match(&text))
        || everywhere.is_some_and(|all| all.is_match(&before_all));
    if is_guarded {
        return Err(format!("{} asks who calls, so that a request needs credentials", scene.route(route)));
    }
    endpoint.seen_in(&text, scene.texts(), &route.file)
}

/// `app.setGlobalPrefix("api")` of `NestJS`.
fn global_prefix(scene: &Scene<'_>, files: &[String]) -> String {
    let Ok(pattern) = Regex::new(r#"setGlobalPrefix\(\s*["'`]/?([\w/-]+)["'`]"#) else {
        return String::new();
    };
    let text = |path: &String| String::from_utf8(scene.tree.read(path, 256 * 1024).ok()?).ok();
    let found =
        files.iter().take(20).filter_map(text).find_map(|text| Some(pattern.captures(&text)?[1].to_owned()));
    found.map(|prefix| format!("/{}", prefix.trim_matches('/'))).unwrap_or_default()
}
