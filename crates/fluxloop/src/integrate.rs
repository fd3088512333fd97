//! From an analysed repository to the edits that make FluxLoop run it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use codebase::manager::Manager;
use codebase::plan::{Edit, Facts, judge_check};
use codebase::{Agent, Ecosystem, Framework, Glance, NameKind, Profile, RepositoryTexts, Route, glance};
use regex::Regex;
use tree::Tree;

use crate::checks::is_check;
use crate::config::{Runner, Setup};
use crate::layout::{Layout, package_json};
use crate::line::Line;
use crate::recipe::{Recipe, Sdk};
use crate::{dependency, install, node, package, python};

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
    /// The package manager.
    pub manager: Option<Manager>,
    /// What FluxLoop runs in the end.
    pub target: String,
    /// The same in a sentence: named by its place if it is no plain name.
    pub shown_target: String,
    /// Where the program listens, if it is called over HTTP; in a sentence.
    pub url: Option<String>,
    /// How the program is started, if it has to be; in a sentence.
    pub start: Option<String>,
    /// What it does, in a sentence.
    pub summary: String,
    /// The edits; none if nothing can be done.
    pub edits: Vec<Edit>,
    /// Checks, warnings, prerequisites.
    pub facts: Facts,
    /// Why there are no edits.
    pub refused: Option<String>,
    /// What of the repository the sentences here do not repeat.
    pub texts: RepositoryTexts,
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
    /// Files that were looked at: parsing one again says nothing new.
    seen: RefCell<BTreeMap<String, Option<Rc<Glance>>>>,
}

/// What a way of integrating contributes.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) edits: Vec<Edit>,
    pub(crate) runner: Option<Runner>,
    pub(crate) target: String,
    /// Where that stands: file and line.
    pub(crate) target_place: (String, u32),
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

    /// Puts names of the repository into sentences.
    pub(crate) fn texts(&self) -> &RepositoryTexts {
        &self.profile.texts
    }

    /// A function, class or field of the repository in a sentence.
    pub(crate) fn name<'n>(&self, name: &'n str, path: &str, line: u32) -> Cow<'n, str> {
        self.texts().name(NameKind::Identifier, name, path, line)
    }

    /// A route in a sentence.
    pub(crate) fn route(&self, route: &Route) -> String {
        shown_route(self.texts(), route)
    }

    /// What a file says about itself.
    pub(crate) fn glance(&self, path: &str) -> Option<Rc<Glance>> {
        let mut seen = self.seen.borrow_mut();
        seen.entry(path.to_owned()).or_insert_with(|| glance(self.tree, path).map(Rc::new)).clone()
    }

    /// Whether a file stands beside the product, seen from the package: an example, a test.
    pub(crate) fn is_aside(&self, path: &str) -> bool {
        codebase::is_aside(path.strip_prefix(&self.package).unwrap_or(path).trim_start_matches('/'))
    }

    /// Whether a file belongs to the package, and not to one inside it.
    pub(crate) fn owns(&self, path: &str) -> bool {
        package::owner(self.profile, path) == self.package
    }

    pub(crate) fn agents(&self) -> impl Iterator<Item = &Agent> {
        let wanted =
            move |path: &str| package::is_python(path) == (self.recipe().ecosystem == Ecosystem::Python);
        self.profile.agents.iter().filter(move |agent| self.owns(&agent.path) && wanted(&agent.path))
    }

    pub(crate) fn routes(&self) -> impl Iterator<Item = &Route> {
        self.profile.routes.iter().filter(|route| self.owns(&route.file))
    }

    /// A file of the package, from the root.
    pub(crate) fn inside(&self, name: &str) -> String {
        if self.package.is_empty() { name.to_owned() } else { format!("{}/{name}", self.package) }
    }

    /// Where it is, in a sentence: nothing for the root.
    pub(crate) fn place(&self) -> String {
        if self.package.is_empty() {
            String::new()
        } else {
            format!(" in {}", self.texts().folder(&self.package))
        }
    }

    pub(crate) fn entry_points(&self) -> Vec<String> {
        let project = self.profile.projects.iter().find(|project| project.folder == self.package);
        project.map(|project| project.entry_points.clone()).unwrap_or_default()
    }

    pub(crate) fn manager(&self) -> Option<Manager> {
        let project = self.profile.projects.iter().find(|project| project.folder == self.package)?;
        project.managers.iter().copied().find(|manager| manager.ecosystem() == self.recipe().ecosystem)
    }
}

/// Works out an integration. That the package is not there is the only error.
pub fn integrate(tree: &Tree, profile: &Profile, ask: &Ask) -> Result<Integration, String> {
    let recipe = ask.recipe;
    let (package, mut notes) = package::package(profile, ask)?;
    notes.extend(package::elsewhere(profile, ask, &package));
    let framework = found_in(profile, recipe, &package);
    let layout = Layout::find(tree, &package, ask.line, &profile.texts);
    let (variant, why_variant) = variant(tree, ask, &package);
    let name = package::scenario(profile, &layout, &package, &mut notes);
    let scene =
        Scene { tree, profile, ask, package, framework, layout, variant, name, seen: RefCell::default() };
    let found = if scene.framework.is_none() && recipe.name != "python" {
        let place = scene.place();
        Err(format!("nothing shows that {} is used{place}", recipe.title))
    } else if recipe.ecosystem == Ecosystem::Python {
        python::integrate(&scene)
    } else {
        node::integrate(&scene)
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
        found.edits.extend(dependency::requirement(&scene));
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
    framework.anchors.retain(|anchor| package::owner(profile, &anchor.path) == package);
    is_used.then_some(framework)
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
    if refused.is_none() {
        facts.warnings.push(format!(
            "Variant `{}`: {why_variant}. FluxLoop CLI {}: {}.",
            scene.variant.name(),
            line.name(),
            scene.layout.why
        ));
    }
    if let Some(reason) = &refused {
        facts.warnings.push(format!("There are no edits: {reason}."));
    }
    facts.warnings.extend(found.warnings);
    if refused.is_none() {
        let python_manager = manager.filter(|manager| manager.ecosystem() == Ecosystem::Python);
        let installs = python_manager.unwrap_or(Manager::Pip);
        facts.prerequisites.push(format!("Python {} or newer", python_version(scene)));
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
            let url = shown_url(scene, &found.target_place, url);
            facts.prerequisites.push(format!("The program is running while FluxLoop runs: {start} ({url})"));
        }
        if found.runner.is_some() {
            facts.warnings.push(format!(
                "FluxLoop exits with 0 even if the agent fails: whether a run went well is in {}.",
                line.results(spoken(&scene.name))
            ));
            if spoken(&scene.name) != scene.name {
                facts.warnings.push(format!(
                    "NAME stands for the name of the FluxLoop project in {}, which is not repeated in commands: there is no \
                     check that runs it.",
                    scene.texts().folder(&line.folder(&scene.name))
                ));
            }
        }
        if is_python && scene.uses_sdk() {
            facts.warnings.push(match line {
                Line::V02 | Line::V03 => {
                    "FluxLoop keeps the arguments and results of decorated functions as text in its result files.".to_owned()
                }
                Line::V04 => "FluxLoop 0.4 runs decorated functions, but keeps no records of what happens inside them; 0.2 and \
                              0.3 do. The variant `bridge` runs the agent without touching its code."
                    .to_owned(),
            });
        }
        let runs = found.runner.is_some();
        facts.post_checks = checks(scene, &found.compiles, runs, manager, &mut facts.warnings);
    }
    let verb = if refused.is_some() { "No FluxLoop integration" } else { "Add FluxLoop integration" };
    let place = scene.place();
    let shown_target = match found.target.as_str() {
        "" => String::new(),
        target => {
            let (path, line) = &found.target_place;
            scene.texts().name(NameKind::Target, target, path, *line).into_owned()
        }
    };
    let target = if shown_target.is_empty() { String::new() } else { format!(", running {shown_target}") };
    Integration {
        recipe,
        variant: scene.variant,
        why_variant,
        line,
        why_line: scene.layout.why.clone(),
        name: scene.name.clone(),
        manager,
        url: found.url.as_deref().map(|url| shown_url(scene, &found.target_place, url)),
        target: found.target,
        shown_target,
        start: found.start,
        summary: format!(
            "{verb} for {} project{place} using {} runner{target}.",
            recipe.name,
            recipe.runner_pattern()
        ),
        edits: if refused.is_some() { Vec::new() } else { found.edits },
        facts,
        refused,
        texts: scene.texts().clone(),
    }
}

/// A route in a sentence: `POST /chat`.
pub(crate) fn shown_route(texts: &RepositoryTexts, route: &Route) -> String {
    let shown = format!("{} {}", route.method, route.path);
    texts.name(NameKind::Route, &shown, &route.file, route.line).into_owned()
}

/// Where the program listens, in a sentence.
fn shown_url(scene: &Scene<'_>, (path, line): &(String, u32), url: &str) -> String {
    scene.texts().name(NameKind::Address, url, path, *line).into_owned()
}

/// A project or scenario in a command that is proposed: one that is no plain name is left to be filled in.
pub(crate) fn spoken(name: &str) -> &str {
    if NameKind::Setting.is_plain(name) { name } else { "NAME" }
}

/// The Python that FluxLoop needs, or the newer one that the program needs.
fn python_version(scene: &Scene<'_>) -> String {
    const OWN: u32 = 11;
    let text = scene.tree.read(&scene.inside("pyproject.toml"), 1 << 20).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let wanted = Regex::new(r#"requires-python\s*=\s*["'](?:>=|~=|\^|==)\s*3\.(\d+)"#).ok();
    let minor = wanted.and_then(|wanted| wanted.captures(&text)?.get(1)?.as_str().parse().ok());
    format!("3.{}", minor.unwrap_or(OWN).max(OWN))
}

fn checks(
    scene: &Scene<'_>,
    compiles: &BTreeSet<String>,
    runs: bool,
    manager: Option<Manager>,
    warnings: &mut Vec<String>,
) -> Vec<String> {
    let mut checks = Vec::new();
    // A path that no command would take is compiled by nobody.
    let takes = |path: &&str| {
        NameKind::File.is_plain(path)
            && judge_check(&format!("python -m py_compile {path}"), is_check).is_ok()
    };
    let (files, others): (Vec<&str>, Vec<&str>) = compiles.iter().map(String::as_str).partition(takes);
    // What no sentence repeats is not part of a command either.
    warnings.extend(others.iter().filter(|path| !NameKind::File.is_plain(path)).map(|path| {
        format!("There is no check that compiles {}: its name is no plain path.", scene.texts().file(path))
    }));
    if !files.is_empty() {
        checks.push(format!("python -m py_compile {}", files.join(" ")));
    }
    if runs && spoken(&scene.name) == scene.name {
        // A tool that finds its environment by the folder it is in does not find that of a package further down.
        let manager = manager.filter(|_| scene.package.is_empty());
        checks.push(install::within(manager, &scene.line().run_once(&scene.name)));
    }
    checks
}
