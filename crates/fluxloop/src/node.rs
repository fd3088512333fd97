//! Integration of JavaScript and TypeScript programs: over HTTP, or with the documented middleware.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::patterns;
use codebase::package_manager::PackageManager;
use codebase::{NameKind, Profile, Route};

use crate::blocker::Blocker;
use crate::candidate::{Candidate, CandidateKind, depth_penalty, rank_name};
use crate::config::{RunnerConfig, create_file_edit};
use crate::dev_server::{find_port, port_of_tool, start_command};
use crate::endpoint::{AgentEndpoint, OWN_CHECK, RouteChoice, find_guard};
use crate::install;
use crate::integrate::{Contribution, RecipeInput};
use crate::middleware;
use crate::package::is_python_file;
use crate::recipe::SdkSupport;
use crate::release_line::ReleaseLine;
use crate::route_choice::{
    CLIENT_BONUS, README_BONUS, add_endpoint_notes, is_named, is_page_of_other, is_route_label,
    likeliest_route, nearest_routes, other_routes_phrase, route_label, shown_guard, waits_for_upload,
};
use crate::unconnected::{UNCONNECTED_PENALTY, answering_routes, model_phrase};

pub(crate) fn integrate(input: &RecipeInput<'_>) -> Result<Contribution, Vec<Blocker>> {
    if input.uses_sdk() {
        return integrate_middleware(input).map_err(|what| vec![Blocker::new(what).lifted_by("variant")]);
    }
    let mut found = Contribution::default();
    if let Some(wanted) = &input.options.agent {
        let (route, endpoint) = named_route(input, wanted)?;
        found.target_location = (route.file.clone(), route.line);
        found.candidates = vec![candidate(input, &route, &endpoint)];
        add_bridge(input, &route, &endpoint, &mut found);
        return Ok(found);
    }
    let (mut usable, mut blockers) = (Vec::new(), Vec::new());
    let routes: Vec<&Route> = input
        .routes()
        .filter(|route| !is_python_file(&route.file) && !is_page_of_other(input, route))
        .take(MAX_ROUTES)
        .collect();
    for route in routes {
        match resolve_endpoint(input, route, RouteChoice::Found) {
            Ok(endpoint) => usable.push((candidate(input, route, &endpoint), route, endpoint)),
            Err(missing) => blockers.extend(missing),
        }
    }
    for (route, proof) in answering_routes(input).take(MAX_ROUTES) {
        match resolve_endpoint(input, route, RouteChoice::Found) {
            Ok(mut endpoint) => {
                endpoint.add_warning(proof);
                let mut candidate = candidate(input, route, &endpoint);
                "takes what a user says, by its names".clone_into(&mut candidate.why);
                candidate.score -= UNCONNECTED_PENALTY;
                usable.push((candidate, route, endpoint));
            }
            Err(missing) => blockers.extend(missing),
        }
    }
    usable.sort_by_key(|(candidate, ..)| -candidate.score);
    let Some((_, route, endpoint)) = usable.first() else {
        if blockers.is_empty() {
            blockers.push(nothing_found(input));
        }
        blockers.truncate(4);
        return Err(blockers);
    };
    found.target_location = (route.file.clone(), route.line);
    add_bridge(input, route, endpoint, &mut found);
    found.candidates = usable.iter().map(|(candidate, ..)| candidate.clone()).collect();
    if usable.len() > 1 {
        let others: Vec<String> =
            usable.iter().skip(1).take(4).map(|(_, other, _)| input.display_route(other)).collect();
        let more = usable.len() - 1 - others.len();
        found.notes.push(format!(
            "{} was chosen. Other candidates: {}{}.",
            input.display_route(route),
            others.join(", "),
            if more > 0 { format!(", and {more} more") } else { String::new() }
        ));
    }
    Ok(found)
}

const MAX_ROUTES: usize = 20;

/// The route that the user named. It needs no connection to a model, but it must exist.
fn named_route(input: &RecipeInput<'_>, wanted: &str) -> Result<(Route, AgentEndpoint), Vec<Blocker>> {
    let own = |route: &&Route| !is_python_file(&route.file);
    let routes = || input.routes().filter(own).chain(input.other_routes());
    let exact = routes().find(|route| route_label(route) == wanted);
    let Some(route) = exact.or_else(|| routes().find(|route| is_named(route, wanted))) else {
        let shown = input.redactor().name(NameKind::Target, wanted, "", 0).into_owned();
        let known: Vec<String> =
            nearest_routes(wanted, routes()).map(|route| input.display_route(route)).collect();
        let example = nearest_routes(wanted, routes()).next().map(|route| input.display_route(route));
        let what = match (wanted.contains(':') && !is_route_label(wanted), known.is_empty()) {
            (true, _) => format!("`{shown}` is a function; FluxLoop reaches a JavaScript program by a route"),
            (false, true) => {
                format!("no route `{shown}` was found, nor any other{}", input.location_phrase())
            }
            (false, false) => format!("no route `{shown}` was found; found were {}", known.join(", ")),
        };
        let blocker = Blocker::new(what);
        return Err(vec![match example {
            Some(example) => blocker.lifted_by("agent").such_as(Some(example)),
            None => blocker,
        }]);
    };
    let mut endpoint = resolve_endpoint(input, route, RouteChoice::Named)?;
    if route.agent.is_empty() {
        endpoint.add_warning("no call of a language model was found behind this route".to_owned());
    }
    Ok((route.clone(), endpoint))
}

fn nothing_found(input: &RecipeInput<'_>) -> Blocker {
    let (title, routes) = (input.recipe().title, other_routes_phrase(input));
    if routes.is_empty() {
        // Nothing that could be named: FluxLoop reaches a JavaScript program by a route.
        let found = unreached_agent(input.profile).map_or_else(String::new, |found| format!(": {found}"));
        return Blocker::new(format!(
            "no route of this {title} program was found{}{found}",
            input.location_phrase()
        ));
    }
    let what = format!(
        "no call of a known language model was followed from the routes of this {title} program{}{routes}",
        model_phrase(input)
    );
    let example = likeliest_route(input);
    let blocker = Blocker::new(format!("{what}{}", socket_phrase(input)));
    match example {
        Some(_) => blocker.lifted_by("agent").such_as(example),
        None => blocker,
    }
}

/// Where a program takes messages over a socket, for a sentence that says that no route of it fits.
fn socket_phrase(input: &RecipeInput<'_>) -> String {
    let Ok(listens) = patterns::compile(r"\b(?:socket|client|io|ws)\.on\(\s*[\x22'`](\w+)[\x22'`]") else {
        return String::new();
    };
    let agents = input.agents().map(|agent| agent.path.clone());
    let entries = input.entry_points();
    let names = ["socket", "sockets/index", "websocket", "server", "index", "app"];
    let usual = names
        .iter()
        .flat_map(|name| ["", "src/"].map(|folder| input.package_path(&format!("{folder}{name}.js"))));
    let found = agents.chain(entries).chain(usual).find_map(|file| {
        let text = input.file_text(&file);
        let mut events = listens.captures_iter(&text);
        let event = events.find(|event| {
            !matches!(&event[1], "connection" | "disconnect" | "error" | "connect" | "close" | "open")
        })?;
        let line = text[..event.get(0)?.start()].matches('\n').count() + 1;
        Some(input.redactor().location(&file, u32::try_from(line).unwrap_or(0)))
    });
    found.map_or_else(String::new, |place| format!("; it takes messages over a socket ({place})"))
}

/// A function of a JavaScript program that calls a model, for a sentence that says that no route leads to it.
fn unreached_agent(profile: &Profile) -> Option<String> {
    let agent = profile.agents.iter().find(|agent| !is_python_file(&agent.path))?;
    let place = profile.redactor.location(&agent.path, agent.line);
    let name = match agent.name.as_str() {
        "" => place,
        name => {
            let name = profile.redactor.name(NameKind::Identifier, name, &agent.path, agent.line);
            format!("`{name}` ({place})")
        }
    };
    Some(format!("{name} calls a language model, but FluxLoop reaches a JavaScript program only by a route"))
}

/// Why there is nothing to integrate FluxLoop into, for a program without a framework that is known.
pub fn nothing_to_integrate(profile: &Profile) -> String {
    match unreached_agent(profile) {
        Some(found) => format!("no route was found: {found}"),
        None => "no supported framework and no function that calls a language model was found".to_owned(),
    }
}

fn candidate(input: &RecipeInput<'_>, route: &Route, endpoint: &AgentEndpoint) -> Candidate {
    let mut score = rank_name(&route.path) + rank_name(&route.handler) / 2 + rank_name(&route.agent) / 3;
    score -= 15 * i32::from(endpoint.needs_credentials());
    score -= 12 * i32::try_from(endpoint.variables().len()).unwrap_or(0);
    score -= depth_penalty(&route.path);
    score -= 8 * i32::from(route.method == "GET");
    score -= 30 * i32::from(input.is_example_or_test(&route.file));
    score += CLIENT_BONUS * i32::from(route.client.is_some());
    score += README_BONUS * i32::from(input.is_in_readme(route));
    let is_named = input.options.agent.is_some();
    let why = if is_named { "was named" } else { "leads to a language model" };
    Candidate {
        agent: format!("{} {}", route.method, route.path),
        kind: CandidateKind::Route,
        path: route.file.clone(),
        line: route.line,
        why: why.to_owned(),
        leads_to: String::new(),
        against: endpoint.warnings().to_vec(),
        score,
    }
}

fn add_bridge(
    input: &RecipeInput<'_>,
    route: &Route,
    endpoint: &AgentEndpoint,
    contribution: &mut Contribution,
) {
    let recipe = input.recipe();
    let mut files = input.entry_points();
    files.extend(
        input
            .framework
            .iter()
            .flat_map(|framework| framework.anchors.iter().map(|anchor| anchor.path.clone())),
    );
    files.extend(
        [
            "package.json",
            "vite.config.ts",
            "vite.config.js",
            ".env.example",
            "src/config.ts",
            "src/config/configuration.ts",
            "src/config/index.ts",
            "src/configuration.ts",
            "src/config/index.js",
            "src/config/config.js",
            "config/index.js",
            "config/config.js",
            "config.js",
            "config.ts",
            "src/config.js",
        ]
        .map(|file| input.package_path(file)),
    );
    // The port of a tool is in its own configuration; others in the same folder are for other programs.
    if port_of_tool(input.tree, &input.package).is_some() {
        files.retain(|file| !file.ends_with(".env.example"));
    }
    let seen = find_port(input.tree, &files).or_else(|| port_of_tool(input.tree, &input.package));
    let port = seen.unwrap_or(recipe.port);
    if seen.is_none() {
        contribution.warnings.push(format!(
            "The port was not found in the code; {port} is the usual one of {}. Set AGENT_URL to the actual address, or PORT \
             where the program reads it.",
            recipe.title
        ));
    }
    contribution.warnings.extend(missing_imports(input, &route.file));
    let prefix = global_prefix(input, &files).unwrap_or_else(|place| {
        contribution.warnings.push(format!(
            "All routes have a prefix that is computed at run time ({place}): set AGENT_URL to the whole address."
        ));
        String::new()
    });
    let base = format!("http://{}:{port}{prefix}", recipe.host);
    let folder = input.release_line().project_folder(&input.name);
    let why = "FluxLoop calls the program through this file; the program itself is unchanged.";
    if input.release_line() == ReleaseLine::V04 {
        let path = format!("{folder}/bridge.mjs");
        contribution.edits.push(create_file_edit(path.clone(), endpoint.render_node_bridge(&base), why));
        contribution.runner = Some(RunnerConfig::Process { command: vec!["node".to_owned(), path] });
    } else {
        let path = format!("{folder}/http_bridge.py");
        contribution.files_to_compile.insert(path.clone());
        contribution.edits.push(create_file_edit(path, endpoint.render_python_bridge(&base), why));
        contribution.runner =
            Some(RunnerConfig::Function { target: "http_bridge:run".to_owned(), folder: None });
    }
    let manager = input.manager().map_or("npm", PackageManager::name);
    let inside = |path: &String| path.strip_prefix(&format!("{}/", input.package)).unwrap_or(path).to_owned();
    let entry_points: Vec<String> = input.entry_points().iter().map(inside).collect();
    let start = start_command(input.tree, recipe, &input.package, manager, &entry_points);
    let place = input.location_phrase();
    contribution.start_command = Some(format!("{start}{place}"));
    add_endpoint_notes(endpoint, contribution);
    contribution.target = format!("{} {}", endpoint.method, route.path);
    contribution.text_field = Some(endpoint.text_field().to_owned());
    contribution.url = Some(endpoint.url(&base));
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

/// The request that the route expects.
fn resolve_endpoint(
    input: &RecipeInput<'_>,
    route: &Route,
    choice: RouteChoice,
) -> Result<AgentEndpoint, Vec<Blocker>> {
    let source = input.source_lines(&route.file, route.line, route.end_line);
    let field = input.options.request_field.as_deref();
    let mut endpoint = AgentEndpoint::from_route(route, &source, field, choice, input.redactor())?;
    if reads_only_forms(input) {
        endpoint.use_form();
    }
    if let Some(guard) = guard_of_route(input, route, &source) {
        let shown = shown_guard(input, &guard, route);
        // The header is read where the caller is checked.
        let checks = route.guard_files.iter().map(|file| input.file_text(file));
        let own = guard_class_text(input, &guard).or_else(|| imported_text(input, &route.file, &guard));
        let texts: Vec<Rc<str>> =
            [source.into(), input.file_text(&route.file)].into_iter().chain(checks).chain(own).collect();
        endpoint.require_credentials(&shown, &texts.join("\n"));
    }
    if let Some(what) = waits_for_upload(input, route) {
        endpoint.add_warning(what);
    }
    Ok(endpoint)
}

/// The text of the file that a route's file, or one that makes the application, imports a name from.
fn imported_text(input: &RecipeInput<'_>, route: &str, name: &str) -> Option<Rc<str>> {
    let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
    let files: BTreeSet<&str> = anchors.map(|anchor| anchor.path.as_str()).chain([route]).collect();
    files.into_iter().find_map(|file| text_imported_by(input, file, name))
}

/// The text of the file that another imports a name from, beside it or in another folder.
fn text_imported_by(input: &RecipeInput<'_>, file: &str, name: &str) -> Option<Rc<str>> {
    let import = patterns::compile(&format!(
        r#"\b{}\b[^;\n]*?(?:from\s+|require\(\s*)["'](\.{{1,2}}/[^"']+)["']"#,
        regex::escape(name)
    ))
    .ok()?;
    let path = join_path(file, &import.captures(&input.file_text(file))?[1]);
    let stem = path.strip_suffix(".js").unwrap_or(&path);
    let places = [".ts", ".js", "/index.ts", "/index.js", ".mjs"];
    places.iter().map(|end| input.file_text(&format!("{stem}{end}"))).find(|text| !text.is_empty())
}

/// The text of the file of a guard that `NestJS` runs before all routes: `{ provide: APP_GUARD, useClass: AuthGuard }`.
fn guard_class_text(input: &RecipeInput<'_>, guard: &str) -> Option<Rc<str>> {
    const PLACES: &[&str] = &["src/app.module.ts", "src/main.ts"];
    let listed =
        patterns::compile(r"(?:APP_GUARD[^}]*useClass\s*:\s*|useGlobalGuards\(\s*new\s+)(\w+)").ok()?;
    let (file, text) = PLACES
        .iter()
        .map(|file| (*file, input.file_text(&input.package_path(file))))
        .find(|(_, text)| listed.is_match(text))?;
    let class = if matches!(guard, "APP_GUARD" | "useGlobalGuards") {
        listed.captures(&text)?[1].to_owned()
    } else {
        guard.to_owned()
    };
    let import =
        patterns::compile(&format!(r#"\b{}\b[^;]*?from\s+["'`]([^"'`]+)["'`]"#, regex::escape(&class)))
            .ok()?;
    let module = import.captures(&text)?[1].to_owned();
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = match module.strip_prefix("./") {
        Some(inside) => format!("{folder}/{inside}.ts"),
        None => format!("{}.ts", module.trim_start_matches("@/")),
    };
    Some(input.file_text(&input.package_path(&path))).filter(|text| !text.is_empty())
}

/// Whether an Express program reads the bodies of forms and no JSON.
fn reads_only_forms(input: &RecipeInput<'_>) -> bool {
    let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
    let files: BTreeSet<&str> = anchors.map(|anchor| anchor.path.as_str()).collect();
    let text: String = files.into_iter().map(|file| input.file_text(file).to_string()).collect();
    let reads_json =
        patterns::compile(r"\.use\(\s*(?:express|bodyParser)?\.?json\(|bodyParser\(\)|bodyParser\.json\(")
            .is_ok_and(|json| json.is_match(&text));
    input.recipe().name == "express" && text.contains("urlencoded(") && !reads_json
}

/// What checks the caller of a route: a guard in front of it, the handler itself, or something in front of all routes.
fn guard_of_route(input: &RecipeInput<'_>, route: &Route, source: &str) -> Option<String> {
    // What only documents, or does not look at the request, refuses no caller.
    let documents = |guard: &&String| {
        let last = guard.rsplit('.').next().unwrap_or(guard);
        last.starts_with("Api") && !last.ends_with("Guard")
    };
    let guards: Vec<String> = route.guards.iter().filter(|guard| !documents(guard)).cloned().collect();
    let checks: Vec<Rc<str>> = route.guard_files.iter().map(|file| input.file_text(file)).collect();
    let reads = [
        "header",
        "cookie",
        "session",
        "authorization",
        "req.user",
        "request.user",
        "token",
        "query",
        "passport",
    ];
    let looks = checks.is_empty()
        || checks.iter().any(|text| {
            let text = text.to_lowercase();
            reads.iter().any(|word| text.contains(word))
        });
    if let Some(guard) = find_guard(&guards).filter(|_| looks) {
        return Some(guard.clone());
    }
    let asks = patterns::compile(r"\b(getAuth|getServerSession|getSession|getServerAuthSession|validateSession|validateRequest|requireAuth\w*|requireUser\w*|ensure\w*(?:Session|Auth|User)\w*|require\w*Session|authenticate\w*|currentUser|verifyToken|auth|getUser)\(").ok()?;
    if let Some(found) = asks.captures(source).and_then(|found| found.get(1)) {
        // To look who calls is no guard: a guard turns others away.
        let name = found.as_str().to_lowercase();
        let turns_away =
            patterns::compile(r"\b40[13]\b|[Uu]nauthori[sz]ed|\bthrow\b|redirect\(|error\(").ok()?;
        let is_guard = ["require", "ensure", "validate", "authenticate", "verify"]
            .iter()
            .any(|word| name.starts_with(word));
        if is_guard || turns_away.is_match(source) {
            return Some(found.as_str().to_owned());
        }
    }
    let router = input.file_text(&route.file);
    let wrapped =
        patterns::compile(r"export\s+default\s+(\w*(?:[Aa]uth|[Ss]ession|[Ll]ogin|[Pp]rotect)\w*)\(").ok()?;
    if let Some(found) = wrapped.captures(&router).and_then(|found| found.get(1)) {
        return Some(found.as_str().to_owned());
    }
    let before = patterns::compile(r"\.use\(\s*(?:[\x22'`][^\x22'`]*[\x22'`]\s*,\s*)?(\w*(?:[Aa]uth|[Jj]wt|[Pp]rotect|[Vv]erifyToken)\w*)").ok()?;
    if let Some(found) = before.captures(&router).and_then(|found| found.get(1)) {
        return Some(found.as_str().to_owned());
    }
    if let Some(guard) = refusing_middleware(&router, &route.path).or_else(|| {
        let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
        let files: BTreeSet<&str> =
            anchors.map(|anchor| anchor.path.as_str()).filter(|path| *path != route.file).collect();
        files.into_iter().find_map(|file| refusing_middleware(&input.file_text(file), &route.path))
    }) {
        return Some(guard);
    }
    if let Some(name) = imported_guard(input, route) {
        return Some(name);
    }
    if let Some(file) = refusing_hook(input, route) {
        return Some(file.to_owned());
    }
    let everywhere = patterns::compile(r"(APP_GUARD|useGlobalGuards|apply\(\s*\w*Auth\w*)").ok()?;
    let before_all =
        ["src/app.module.ts", "src/main.ts"].map(|file| input.file_text(&input.package_path(file))).concat();
    let all = everywhere
        .captures(&before_all)
        .and_then(|found| found.get(1))
        .map(|found| found.as_str().to_owned());
    let is_refused = patterns::compile(r"\b401\b|[Uu]nauthorized").ok()?.is_match(source);
    all.or_else(|| is_refused.then(|| OWN_CHECK.to_owned()))
}

/// A middleware from a file of its own that runs before all routes and refuses callers: `app.use(requireKey(config))`.
fn imported_guard(input: &RecipeInput<'_>, route: &Route) -> Option<String> {
    let used =
        patterns::compile(r"\b(?:app|server|router|fastify)\.(?:use|register)\(\s*(\w+)\s*[(),]").ok()?;
    let refuses = patterns::compile(r"\b401\b|\b403\b|[Uu]nauthori[sz]ed").ok()?;
    let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
    let files: BTreeSet<&str> =
        anchors.map(|anchor| anchor.path.as_str()).chain([route.file.as_str()]).collect();
    files.into_iter().find_map(|file| {
        let text = input.file_text(file);
        used.captures_iter(&text).find_map(|found| {
            let name = &found[1];
            let guard = text_imported_by(input, file, name)?;
            let reads =
                ["header", "cookie", "authorization"].iter().any(|word| guard.to_lowercase().contains(word));
            let is_router = guard.contains("Router(") || guard.contains(".post(");
            (refuses.is_match(&guard) && reads && !is_router).then(|| name.to_owned())
        })
    })
}

/// A middleware written in place that refuses callers: `app.use("/api/*", async (c, next) => { … 401 … })`.
fn refusing_middleware(text: &str, path: &str) -> Option<String> {
    let begins = patterns::compile(
        r"\.use\(\s*(?:[\x22'`]([^\x22'`]*)[\x22'`]\s*,\s*)?(?:async\s*)?(?:function\s*\w*\s*)?\(\s*\w+",
    )
    .ok()?;
    let ends = patterns::compile(
        r"\n\s*\.?\w*\.?(?:use|get|post|put|delete|route|listen|on|all)\(|\n(?:app|server|export|const)\b",
    )
    .ok()?;
    let refuses = patterns::compile(r"\b401\b|[Uu]nauthori[sz]ed|UNAUTHORIZED").ok()?;
    begins.captures_iter(text).find_map(|found| {
        let under = found.get(1).map_or("", |prefix| prefix.as_str()).trim_end_matches(['*', '/']);
        let start = found.get(0)?.end();
        let end = ends.find_at(text, start).map_or(text.len(), |end| end.start());
        let applies = path.starts_with(under) && refuses.is_match(text.get(start..end)?);
        applies.then(|| OWN_CHECK.to_owned())
    })
}

/// The file with what runs before all pages and routes, if it turns away callers who are not logged in.
fn refusing_hook(input: &RecipeInput<'_>, route: &Route) -> Option<&'static str> {
    const FILES: &[&str] = &[
        "src/hooks.server.ts",
        "src/hooks.server.js",
        "middleware.ts",
        "middleware.js",
        "src/middleware.ts",
        "src/middleware.js",
    ];
    FILES.iter().copied().find(|file| {
        let text = input.file_text(&input.package_path(file));
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let turns_away = has(&["401"]) || has(&["redirect("]) && has(&["session", "user", "token", "auth"]);
        // A matcher that leaves out the API, or names other paths.
        let is_limited = has(&["(?!"]) && has(&["api"]) || has(&["matcher"]) && !has(&["/api", "(?!"]);
        let is_free = has(&[&format!("\"{}\"", route.path), &format!("'{}'", route.path)]);
        turns_away && !is_limited && !is_free
    })
}

/// What the files that start the program, or the file of a route, import and the repository does not have.
fn missing_imports(input: &RecipeInput<'_>, route: &str) -> Vec<String> {
    #[rustfmt::skip] // lists, not columns
    const ENDINGS: &[&str] = &[
        "", ".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".json", ".node", ".svelte", ".vue", ".d.ts", "/index.js", "/index.ts",
        "/index.mjs", "/index.tsx", "/package.json",
    ];
    // Written by a build, or by the framework.
    const MADE: &[&str] =
        &["generated", "dist/", "build/", ".prisma", "./$types", "+types", ".astro", "?", ".css", ".scss"];
    let import = patterns::compile(
        r"(?m)^[^/\n*]*(?:\bfrom\s+|\brequire\(\s*|^import\s+)[\x22'](\.{1,2}/[^\x22'\n]+)[\x22']",
    );
    let Ok(import) = import else { return Vec::new() };
    let files: BTreeSet<String> = input.entry_points().into_iter().chain([route.to_owned()]).collect();
    let is_there = |path: &str| ENDINGS.iter().any(|end| input.file_exists(&format!("{path}{end}")));
    let mut missing = Vec::new();
    for file in files.iter().filter(|file| !is_python_file(file)) {
        for found in import.captures_iter(&input.file_text(file)) {
            let written = &found[1];
            let path = join_path(file, written);
            // TypeScript imports `./a.js` for `a.ts`.
            let stem = [".js", ".mjs", ".jsx"].iter().find_map(|end| path.strip_suffix(end));
            let is_made = MADE.iter().any(|word| written.contains(word));
            if !is_made && !is_there(&path) && !stem.is_some_and(is_there) {
                let (file, other) = (input.redactor().file(file), input.redactor().file(&path));
                missing.push(format!(
                    "{file} imports {other}, which is not in the repository: the program needs it to start."
                ));
            }
        }
    }
    missing.truncate(2);
    missing
}

/// A relative path from the folder of a file.
fn join_path(file: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop(),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// The path prefix set with `app.setGlobalPrefix("api")` in `NestJS`; an error if it is set to what the code does not show.
fn global_prefix(input: &RecipeInput<'_>, files: &[String]) -> Result<String, String> {
    let literal = patterns::compile(r#"setGlobalPrefix\(\s*["'`]/?([\w/-]+)["'`]"#);
    let named = patterns::compile(r"setGlobalPrefix\(\s*([^)\n]*?)\s*(?:,|\)|\n)");
    let (Ok(literal), Ok(named)) = (literal, named) else { return Ok(String::new()) };
    let shown = |prefix: &str| format!("/{}", prefix.trim_matches('/'));
    for file in files.iter().take(20) {
        let text = input.file_text(file);
        if let Some(found) = literal.captures(&text) {
            return Ok(shown(&found[1]));
        }
        let Some(found) = named.captures(&text) else { continue };
        // `const prefix = config.get("API_PREFIX", "api/v1")`, `process.env.PREFIX ?? "api"`: what it is if nothing is set.
        let name = regex::escape(&found[1]);
        let value = format!(r#"\b{name}\s*(?::[^=\n]+)?=\s*[^;\n]*?["'`]/?([a-z][\w/-]*)["'`]\s*[;)\n]"#);
        let default = format!(r#"{name}[^;\n]*(?:\|\||\?\?)\s*["'`]/?([a-z][\w/-]*)["'`]"#);
        let known = [value, default].iter().find_map(|pattern| {
            let pattern = patterns::compile(pattern).ok()?;
            Some(pattern.captures(&text)?[1].to_owned())
        });
        let line = text[..found.get(0).map_or(0, |found| found.start())].matches('\n').count() + 1;
        return match known {
            Some(prefix) => Ok(shown(&prefix)),
            None => Err(input.redactor().location(file, u32::try_from(line).unwrap_or(0))),
        };
    }
    Ok(String::new())
}
