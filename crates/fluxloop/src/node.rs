//! Integration of JavaScript and TypeScript programs: over HTTP, or with the documented middleware.

use codebase::Route;
use codebase::package_manager::PackageManager;
use regex::Regex;

use crate::config::{RunnerConfig, create_file_edit};
use crate::dev_server::{find_port, start_command};
use crate::endpoint::{AgentEndpoint, route_rank};
use crate::install;
use crate::integrate::{Contribution, RecipeInput};
use crate::middleware;
use crate::package::is_python_file;
use crate::recipe::SdkSupport;
use crate::release_line::ReleaseLine;

pub(crate) fn integrate(input: &RecipeInput<'_>) -> Result<Contribution, String> {
    let recipe = input.recipe();
    if input.uses_sdk() {
        return integrate_middleware(input);
    }
    let wanted = input.options.agent.as_deref();
    let mut routes: Vec<&Route> = input.routes().filter(|route| !is_python_file(&route.file)).collect();
    routes.sort_by_key(|route| route_rank(route));
    let is_wanted =
        |route: &&&Route| wanted.is_none_or(|wanted| format!("{} {}", route.method, route.path) == wanted);
    let mut reasons = Vec::new();
    let mut found = Contribution::default();
    for route in routes.iter().filter(is_wanted) {
        match resolve_endpoint(input, route) {
            Ok(endpoint) => {
                found.target_location = (route.file.clone(), route.line);
                add_bridge(input, &endpoint, &mut found);
                let others: Vec<String> = routes
                    .iter()
                    .filter(|other| other.path != route.path)
                    .take(5)
                    .map(|other| input.display_route(other))
                    .collect();
                if wanted.is_none() && !others.is_empty() {
                    found.warnings.push(format!(
                        "{} was chosen; other routes also lead to a model ({}). To use one of them, pass it as `agent`.",
                        input.display_route(route),
                        others.join(", ")
                    ));
                }
                return Ok(found);
            }
            Err(reason) => reasons.push(reason),
        }
    }
    // The caller may name a route that the analysis did not connect to a model.
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
        let endpoint =
            AgentEndpoint::from_route(&route, input.options.request_field.as_deref(), input.redactor())?;
        add_bridge(input, &endpoint, &mut found);
        return Ok(found);
    }
    reasons.truncate(3);
    Err(if reasons.is_empty() {
        format!(
            "found no route of this {} program that leads to a language model; pass the one to call as `agent` \
             (\"POST /chat\") with `request_field`",
            recipe.title
        )
    } else {
        reasons.join("; ")
    })
}

fn add_bridge(input: &RecipeInput<'_>, endpoint: &AgentEndpoint, contribution: &mut Contribution) {
    let recipe = input.recipe();
    let mut files = input.entry_points();
    files.extend(
        input
            .framework
            .iter()
            .flat_map(|framework| framework.anchors.iter().map(|anchor| anchor.path.clone())),
    );
    files.extend(["package.json", "vite.config.ts", "vite.config.js"].map(|file| input.package_path(file)));
    let seen = find_port(input.tree, &files);
    let port = seen.unwrap_or(recipe.port);
    if seen.is_none() {
        contribution.warnings.push(format!(
            "The code does not show the port; {port} is the default. Set AGENT_URL to the actual address."
        ));
    }
    let url = format!("http://{}:{port}{}{}", recipe.host, global_prefix(input, &files), endpoint.path);
    let folder = input.release_line().project_folder(&input.name);
    let why = "FluxLoop calls the program through this file; the program itself is unchanged.";
    if input.release_line() == ReleaseLine::V04 {
        let path = format!("{folder}/bridge.mjs");
        contribution.edits.push(create_file_edit(path.clone(), endpoint.render_node_bridge(&url), why));
        contribution.runner = Some(RunnerConfig::Process { command: vec!["node".to_owned(), path] });
    } else {
        let path = format!("{folder}/http_bridge.py");
        contribution.files_to_compile.insert(path.clone());
        contribution.edits.push(create_file_edit(path, endpoint.render_python_bridge(&url), why));
        contribution.runner =
            Some(RunnerConfig::Function { target: "http_bridge:run".to_owned(), folder: None });
    }
    let manager = input.manager().map_or("npm", PackageManager::name);
    let start = start_command(input.tree, recipe, &input.package, manager);
    let place = input.location_phrase();
    contribution.start_command = Some(format!("{start}{place}"));
    contribution.warnings.extend(endpoint.warnings().iter().cloned());
    contribution.target = format!("{} {}", endpoint.method, endpoint.path);
    contribution.url = Some(url);
}

fn integrate_middleware(input: &RecipeInput<'_>) -> Result<Contribution, String> {
    let recipe = input.recipe();
    if recipe.sdk == SdkSupport::Undocumented {
        return Err(format!(
            "using @fluxloop/sdk with {} is not documented; the variant `bridge` works without it",
            recipe.title
        ));
    }
    let framework = input.framework.as_ref().ok_or("the framework was not found")?;
    let mut found = Contribution {
        edits: vec![middleware::middleware_edit(input.tree, framework, input.redactor())?],
        ..Contribution::default()
    };
    found.target = found.edits[0].filepath.clone();
    found.target_location = (found.target.clone(), 0);
    found.prerequisites.push(install::install_command(
        input.manager().unwrap_or(PackageManager::Npm),
        "@fluxloop/sdk",
        false,
    ));
    found.warnings.push(
        "@fluxloop/sdk is not on the public npm registry: this works only if you have access to it. The variant `bridge` \
         does not need it."
            .to_owned(),
    );
    Ok(found)
}

/// The request that the route expects. Routes that require authentication are refused.
fn resolve_endpoint(input: &RecipeInput<'_>, route: &Route) -> Result<AgentEndpoint, String> {
    let endpoint =
        AgentEndpoint::from_route(route, input.options.request_field.as_deref(), input.redactor())?;
    let read = |path: &str| {
        String::from_utf8_lossy(&input.tree.read(path, 256 * 1024).unwrap_or_default()).into_owned()
    };
    let text = read(&route.file);
    if input.options.request_field.is_some() {
        return Ok(endpoint);
    }
    let asks = Regex::new(r"\b(?:getAuth|getServerSession|requireAuth\w*|requireUser\w*|ensure\w*(?:Session|Auth|User)\w*|require\w*Session|authenticate\w*|currentUser|verifyToken|auth)\(").ok();
    let everywhere = Regex::new(r"APP_GUARD|useGlobalGuards|apply\(\s*\w*Auth\w*").ok();
    let before_all =
        ["src/app.module.ts", "src/main.ts"].map(|file| read(&input.package_path(file))).concat();
    let is_guarded = asks.is_some_and(|asks| asks.is_match(&text))
        || everywhere.is_some_and(|all| all.is_match(&before_all));
    if is_guarded {
        return Err(format!("{} requires authentication", input.display_route(route)));
    }
    endpoint.refine_from_source(&text, input.redactor(), &route.file)
}

/// The path prefix set with `app.setGlobalPrefix("api")` in `NestJS`.
fn global_prefix(input: &RecipeInput<'_>, files: &[String]) -> String {
    let Ok(pattern) = Regex::new(r#"setGlobalPrefix\(\s*["'`]/?([\w/-]+)["'`]"#) else {
        return String::new();
    };
    let text = |path: &String| String::from_utf8(input.tree.read(path, 256 * 1024).ok()?).ok();
    let found =
        files.iter().take(20).filter_map(text).find_map(|text| Some(pattern.captures(&text)?[1].to_owned()));
    found.map(|prefix| format!("/{}", prefix.trim_matches('/'))).unwrap_or_default()
}
