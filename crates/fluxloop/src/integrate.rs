//! From an analysed repository to the edits that make FluxLoop run it.

use std::collections::BTreeSet;

use codebase::manager::Manager;
use codebase::plan::{Anchor, AnchorKind, Edit, Facts, Payload, Strategy};
use codebase::{Agent, Ecosystem, Framework, Profile, ProjectProfile, Route};
use tree::Tree;

use crate::config::{Runner, Setup, new_file};
use crate::endpoint::{Endpoint, port, start_command};
use crate::install;
use crate::layout::{Layout, package_json};
use crate::line::Line;
use crate::middleware;
use crate::python;
use crate::recipe::{Recipe, Sdk};

/// How FluxLoop comes into a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The SDK is used in the program.
    Sdk,
    /// The program is not touched; FluxLoop calls it from outside.
    Bridge,
}

impl Variant {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sdk => "sdk",
            Self::Bridge => "bridge",
        }
    }
}

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The framework.
    pub recipe: &'static Recipe,
    /// The package in a repository of several: its folder or its name.
    pub package: Option<String>,
    /// The variant, if it is not left open.
    pub variant: Option<Variant>,
    /// The line of the CLI, if it is not left open.
    pub line: Option<Line>,
    /// The function to run, as `path/to/file.py:function`, or the route, as `POST /chat`.
    pub agent: Option<String>,
    /// The field of a request that carries the text.
    pub request_field: Option<String>,
}

/// What integrating comes to.
#[derive(Debug)]
pub struct Integration {
    /// The framework.
    pub recipe: &'static Recipe,
    /// The variant, and why.
    pub variant: Variant,
    /// Why it is this variant.
    pub why_variant: String,
    /// The line of the CLI.
    pub line: Line,
    /// Why it is this line.
    pub why_line: String,
    /// The project or scenario of FluxLoop.
    pub name: String,
    /// The folder of the package; empty for the root.
    pub package: String,
    /// The package manager.
    pub manager: Option<Manager>,
    /// What FluxLoop runs in the end.
    pub target: String,
    /// Where the program listens, if it is called over HTTP.
    pub url: Option<String>,
    /// How the program is started, if it has to be.
    pub start: Option<String>,
    /// What it does, in a sentence.
    pub summary: String,
    /// The edits; none if nothing can be done.
    pub edits: Vec<Edit>,
    /// Checks, warnings, prerequisites.
    pub facts: Facts,
    /// Why there are no edits.
    pub refused: Option<String>,
}

/// Everything that is known while an integration is worked out.
pub(crate) struct Scene<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) profile: &'a Profile,
    pub(crate) ask: &'a Ask,
    pub(crate) package: String,
    pub(crate) framework: Option<Framework>,
    pub(crate) layout: Layout,
    pub(crate) variant: Variant,
    pub(crate) name: String,
}

/// What a way of integrating contributes.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) edits: Vec<Edit>,
    pub(crate) runner: Option<Runner>,
    pub(crate) target: String,
    pub(crate) url: Option<String>,
    pub(crate) start: Option<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) prerequisites: Vec<String>,
    /// Python files that must still compile.
    pub(crate) compiles: BTreeSet<String>,
}

impl Scene<'_> {
    pub(crate) fn recipe(&self) -> &'static Recipe {
        self.ask.recipe
    }

    pub(crate) fn line(&self) -> Line {
        self.layout.line
    }

    pub(crate) fn uses_sdk(&self) -> bool {
        self.variant == Variant::Sdk
    }

    /// Whether a file stands beside the product, seen from the package: an example, a test.
    pub(crate) fn is_aside(&self, path: &str) -> bool {
        codebase::is_aside(path.strip_prefix(&self.package).unwrap_or(path).trim_start_matches('/'))
    }

    /// Whether a file belongs to the package, and not to one inside it.
    pub(crate) fn owns(&self, path: &str) -> bool {
        owner(self.profile, path) == self.package
    }

    pub(crate) fn agents(&self) -> impl Iterator<Item = &Agent> {
        let wanted = move |path: &str| is_python(path) == (self.recipe().ecosystem == Ecosystem::Python);
        self.profile.agents.iter().filter(move |agent| self.owns(&agent.path) && wanted(&agent.path))
    }

    pub(crate) fn routes(&self) -> impl Iterator<Item = &Route> {
        self.profile.routes.iter().filter(|route| self.owns(&route.file))
    }

    pub(crate) fn entry_points(&self) -> Vec<String> {
        let project = self.profile.projects.iter().find(|project| project.folder == self.package);
        project.map(|project| project.entry_points.clone()).unwrap_or_default()
    }

    fn manager(&self) -> Option<Manager> {
        let project = self.profile.projects.iter().find(|project| project.folder == self.package)?;
        project.managers.iter().copied().find(|manager| manager.ecosystem() == self.recipe().ecosystem)
    }
}

fn is_python(path: &str) -> bool {
    codebase::language::of(path) == Some(codebase::language::Language::Python)
}

/// The folder of the project that a file belongs to.
fn owner(profile: &Profile, path: &str) -> String {
    let holds = |project: &&ProjectProfile| {
        project.folder.is_empty()
            || path.strip_prefix(&project.folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let project = profile.projects.iter().filter(holds).max_by_key(|project| project.folder.len());
    project.map(|project| project.folder.clone()).unwrap_or_default()
}

/// Works out an integration. That the package is not there is the only error.
pub fn integrate(tree: &Tree, profile: &Profile, ask: &Ask) -> Result<Integration, String> {
    let recipe = ask.recipe;
    let (package, mut notes) = package(profile, ask)?;
    let framework = found_in(profile, recipe, &package);
    let layout = Layout::find(tree, &package, ask.line);
    let (variant, why_variant) = variant(tree, ask, &package);
    let name = scenario(profile, &layout, &package, &mut notes);
    let scene = Scene { tree, profile, ask, package, framework, layout, variant, name };
    let found = if scene.framework.is_none() && recipe.name != "python" {
        let place = if scene.package.is_empty() { String::new() } else { format!(" in {}", scene.package) };
        Err(format!("nothing shows that {} is used{place}", recipe.title))
    } else if recipe.ecosystem == Ecosystem::Python {
        python::integrate(&scene)
    } else {
        node(&scene)
    };
    let (mut found, refused) = match found {
        Ok(found) => (found, None),
        Err(reason) => (Found::default(), Some(reason)),
    };
    if let Some(runner) = &found.runner {
        let setup = Setup { line: scene.line(), name: &scene.name, runner, url: found.url.as_deref() };
        let edits = setup.edits(tree, &scene.layout);
        found.edits.extend(edits);
    }
    if refused.is_none() && scene.uses_sdk() && recipe.ecosystem == Ecosystem::Python {
        found.edits.extend(requirement(&scene));
    }
    Ok(conclude(&scene, found, refused, why_variant, notes))
}

/// The framework as it is in a package: with the places there alone.
fn found_in(profile: &Profile, recipe: &Recipe, package: &str) -> Option<Framework> {
    let is_it = |one: &&Framework| one.name == recipe.name && one.ecosystem == recipe.ecosystem;
    let mut framework = profile.frameworks.iter().find(is_it)?.clone();
    let mut projects = profile.projects.iter().filter(|project| project.folder == package);
    let is_used =
        framework.project == package || projects.any(|project| project.frameworks.contains(&recipe.name));
    framework.anchors.retain(|anchor| owner(profile, &anchor.path) == package);
    is_used.then_some(framework)
}

/// The package that is meant, and what is to be said about others.
fn package(profile: &Profile, ask: &Ask) -> Result<(String, Vec<String>), String> {
    if let Some(wanted) = &ask.package {
        let plain = wanted.trim_start_matches("./").trim_end_matches('/');
        let plain = if plain == "." { "" } else { plain };
        let is_it =
            |project: &&ProjectProfile| project.folder == plain || project.name.as_deref() == Some(plain);
        let known = || {
            profile
                .projects
                .iter()
                .take(20)
                .map(|project| if project.folder.is_empty() { "." } else { &project.folder })
        };
        let found = profile.projects.iter().find(is_it);
        let found = found.ok_or_else(|| {
            format!("there is no package `{plain}`; there are {}", known().collect::<Vec<_>>().join(", "))
        })?;
        return Ok((found.folder.clone(), Vec::new()));
    }
    if let Some((path, _)) = ask.agent.as_ref().and_then(|agent| agent.split_once(':')) {
        return Ok((owner(profile, path), Vec::new()));
    }
    let with_agents = |folder: &str| {
        let own = |path: &str| {
            owner(profile, path) == folder && is_python(path) == (ask.recipe.ecosystem == Ecosystem::Python)
        };
        profile.agents.iter().any(|agent| own(&agent.path))
    };
    let uses = |project: &&ProjectProfile| project.frameworks.contains(&ask.recipe.name);
    let mut fitting: Vec<&ProjectProfile> = profile.projects.iter().filter(uses).collect();
    if fitting.is_empty() {
        fitting = profile.projects.iter().filter(|project| with_agents(&project.folder)).collect();
    }
    fitting.sort_by_key(|project| (project.is_aside, !with_agents(&project.folder)));
    let Some((first, others)) = fitting.split_first() else { return Ok((String::new(), Vec::new())) };
    let others: Vec<&str> = others
        .iter()
        .filter(|project| !project.is_aside)
        .map(|project| project.folder.as_str())
        .take(8)
        .collect();
    let notes = if others.is_empty() {
        Vec::new()
    } else {
        let shown = |folder: &&str| if folder.is_empty() { ".".to_owned() } else { (*folder).to_owned() };
        vec![format!(
            "This plan is for `{}`. {} is also used in {}: give `package` for a plan of their own.",
            if first.folder.is_empty() { "." } else { &first.folder },
            ask.recipe.title,
            others.iter().map(shown).collect::<Vec<_>>().join(", ")
        )]
    };
    Ok((first.folder.clone(), notes))
}

fn variant(tree: &Tree, ask: &Ask, package: &str) -> (Variant, String) {
    let has_sdk = || {
        let manifest = package_json(tree, package).unwrap_or_default();
        ["dependencies", "devDependencies"].iter().any(|group| manifest[group].get("@fluxloop/sdk").is_some())
    };
    match (ask.variant, ask.recipe.sdk) {
        (Some(variant), _) => (variant, "it was asked for".to_owned()),
        (None, Sdk::Decorators) => (
            Variant::Sdk,
            "the Python SDK is public, and its decorators show what happens inside the agent".to_owned(),
        ),
        (None, _) if has_sdk() => (Variant::Sdk, "package.json depends on @fluxloop/sdk".to_owned()),
        (None, _) => (
            Variant::Bridge,
            "there is no public JavaScript SDK, and the project does not depend on @fluxloop/sdk".to_owned(),
        ),
    }
}

/// The name of the project or scenario: the one that is there, or one after the package.
fn scenario(profile: &Profile, layout: &Layout, package: &str, notes: &mut Vec<String>) -> String {
    let project = profile.projects.iter().find(|project| project.folder == package);
    let named = project.and_then(|project| project.name.clone());
    let last = package.rsplit('/').next().unwrap_or_default().to_owned();
    let slug = |text: &str| {
        let plain: String = text
            .rsplit('/')
            .next()
            .unwrap_or(text)
            .chars()
            .take(40)
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    };
    let wished = [named.unwrap_or_default(), last, "agent".to_owned()]
        .iter()
        .map(|text| slug(text))
        .find(|text| !text.is_empty());
    let wished = wished.unwrap_or_default();
    let known: Vec<&String> = layout.projects.iter().map(|(name, _)| name).collect();
    match known.as_slice() {
        [] => wished,
        known if known.contains(&&wished) => wished,
        [only] => (*only).clone(),
        [first, ..] => {
            let all: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
            notes.push(format!(
                "There are several FluxLoop projects ({}); {first} is changed.",
                all.join(", ")
            ));
            (*first).clone()
        }
    }
}

/// A program in JavaScript or TypeScript.
fn node(scene: &Scene<'_>) -> Result<Found, String> {
    let recipe = scene.recipe();
    if scene.uses_sdk() {
        return with_middleware(scene);
    }
    let wanted = scene.ask.agent.as_deref();
    let routes: Vec<&Route> = scene.routes().filter(|route| !is_python(&route.file)).collect();
    let is_wanted =
        |route: &&&Route| wanted.is_none_or(|wanted| format!("{} {}", route.method, route.path) == wanted);
    let mut reasons = Vec::new();
    let mut found = Found::default();
    for route in routes.iter().filter(is_wanted) {
        match Endpoint::of(route, scene.ask.request_field.as_deref()) {
            Ok(endpoint) => {
                bridge(scene, &endpoint, &mut found);
                let others: Vec<String> = routes
                    .iter()
                    .filter(|other| other.path != route.path)
                    .take(5)
                    .map(|other| format!("{} {}", other.method, other.path))
                    .collect();
                if wanted.is_none() && !others.is_empty() {
                    found.warnings.push(format!(
                        "{} {} was taken; other routes lead to a model as well ({}): name one as `agent`.",
                        route.method,
                        route.path,
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
            file: "as named".to_owned(),
            line: 1,
            handler: String::new(),
            agent: String::new(),
            request: Vec::new(),
            response: Vec::new(),
        };
        let endpoint = Endpoint::of(&route, scene.ask.request_field.as_deref())?;
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
    files.push(if scene.package.is_empty() {
        "package.json".to_owned()
    } else {
        format!("{}/package.json", scene.package)
    });
    let url = format!("http://127.0.0.1:{}{}", port(scene.tree, recipe, &files), endpoint.path);
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
    found.start = Some(start_command(scene.tree, recipe, &scene.package, manager));
    found.warnings.extend(endpoint.doubts());
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
    let mut found = Found { edits: vec![middleware::edit(scene.tree, framework)?], ..Found::default() };
    found.target = found.edits[0].filepath.clone();
    found.prerequisites.push(install::add(scene.manager().unwrap_or(Manager::Npm), "@fluxloop/sdk", false));
    found.warnings.push(
        "@fluxloop/sdk is not on the public npm registry: this works only where you can install it. The variant `bridge` \
         needs nothing of the kind."
            .to_owned(),
    );
    Ok(found)
}

/// `fluxloop` as a line of `requirements.txt`, where that is how packages are kept.
fn requirement(scene: &Scene<'_>) -> Option<Edit> {
    let path = if scene.package.is_empty() {
        "requirements.txt".to_owned()
    } else {
        format!("{}/requirements.txt", scene.package)
    };
    let text = String::from_utf8(scene.tree.read(&path, 1 << 20).ok()?).ok()?;
    let is_named = text.lines().any(|line| {
        line.trim()
            .strip_prefix("fluxloop")
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "-_.".contains(c)))
    });
    let by_pip = matches!(scene.manager(), Some(Manager::Pip) | None);
    // Hashes and compiled lists are not written by hand.
    if is_named || !by_pip || text.contains("--hash=") || text.contains("autogenerated") {
        return None;
    }
    Some(Edit {
        filepath: path,
        strategy: Strategy::ModifyConfig,
        anchors: vec![Anchor { kind: AnchorKind::AppendFile, pattern: String::new(), index: None }],
        payload: Payload { code: Some("fluxloop>=0.1.8".to_owned()), ..Payload::default() },
        rationale: "The program imports the SDK now.".to_owned(),
        changes: Vec::new(),
    })
}

fn conclude(
    scene: &Scene<'_>,
    found: Found,
    refused: Option<String>,
    why_variant: String,
    notes: Vec<String>,
) -> Integration {
    let (recipe, line) = (scene.recipe(), scene.line());
    let is_python = recipe.ecosystem == Ecosystem::Python;
    let manager = scene.manager();
    let mut facts = Facts { warnings: notes, prerequisites: found.prerequisites, ..Facts::default() };
    if let Some(reason) = &refused {
        facts.warnings.push(format!("There are no edits: {reason}."));
    }
    facts.warnings.extend(found.warnings);
    if refused.is_none() {
        let python_manager = manager.filter(|manager| manager.ecosystem() == Ecosystem::Python);
        let installs = python_manager.unwrap_or(Manager::Pip);
        facts.prerequisites.push("Python 3.11 or newer".to_owned());
        if is_python && scene.uses_sdk() {
            facts
                .prerequisites
                .push(format!("FluxLoop SDK installed: {}", install::add(installs, "fluxloop", false)));
        }
        if found.runner.is_some() {
            facts.prerequisites.push(format!(
                "FluxLoop CLI {} installed: {}",
                line.name(),
                install::add(installs, line.requirement(), true)
            ));
        }
        if matches!(found.runner, Some(Runner::Process { .. })) {
            facts.prerequisites.push("Node.js 18 or newer".to_owned());
        }
        if let (Some(start), Some(url)) = (&found.start, &found.url) {
            facts.prerequisites.push(format!("The program is running while FluxLoop runs: {start} ({url})"));
        }
        if found.runner.is_some() {
            facts.warnings.push(format!(
                "FluxLoop exits with 0 even if the agent fails: whether a run went well is in {}.",
                line.results(&scene.name)
            ));
        }
        if is_python && scene.uses_sdk() {
            facts.warnings.push(
                "FluxLoop keeps the arguments and results of decorated functions as text in its result files.".to_owned(),
            );
        }
        facts.post_checks = checks(scene, &found.compiles, found.runner.is_some(), manager);
    }
    let verb = if refused.is_some() { "No FluxLoop integration" } else { "Add FluxLoop integration" };
    let place = if scene.package.is_empty() { String::new() } else { format!(" in {}", scene.package) };
    let target = if found.target.is_empty() { String::new() } else { format!(", running {}", found.target) };
    Integration {
        recipe,
        variant: scene.variant,
        why_variant,
        line,
        why_line: scene.layout.why.clone(),
        name: scene.name.clone(),
        package: scene.package.clone(),
        manager,
        target: found.target,
        url: found.url,
        start: found.start,
        summary: format!(
            "{verb} for {} project{place} using {} runner{target}.",
            recipe.name,
            recipe.runner_pattern()
        ),
        edits: if refused.is_some() { Vec::new() } else { found.edits },
        facts,
        refused,
    }
}

fn checks(
    scene: &Scene<'_>,
    compiles: &BTreeSet<String>,
    runs: bool,
    manager: Option<Manager>,
) -> Vec<String> {
    let mut checks = Vec::new();
    if !compiles.is_empty() {
        let files: Vec<&str> =
            compiles.iter().map(String::as_str).filter(|path| !path.contains(' ')).collect();
        checks.push(format!("python -m py_compile {}", files.join(" ")));
    }
    if runs {
        // A tool that finds its environment by the folder it is in does not find that of a package further down.
        let manager = manager.filter(|_| scene.package.is_empty());
        checks.push(install::within(manager, &scene.line().run_once(&scene.name)));
    }
    checks
}
