//! Turns an analysed repository into the edits that make FluxLoop run its agent.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::patterns;
use codebase::package_manager::PackageManager;
use codebase::plan::{Edit, PlanDetails, judge_check};
use codebase::{
    Agent, Ecosystem, Evidence, FileSummary, Framework, NameKind, NameRedactor, Profile, Route,
    summarize_file,
};
use tree::Tree;

use crate::application::FoundApplication;
use crate::blocker::{Blocker, join_blockers};
use crate::candidate::Candidate;
use crate::check_commands::is_check_command;
use crate::config::{ProjectConfig, RunnerConfig};
use crate::layout::{FluxloopLayout, read_package_json};
use crate::python_module::{PythonModule, join};
use crate::recipe::{Recipe, SdkSupport};
use crate::release_line::ReleaseLine;
use crate::{dependency, install, node, package, python, sample_input};

/// How FluxLoop is integrated into a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The program uses the SDK.
    Sdk,
    /// The program is unchanged; FluxLoop calls it from outside.
    Bridge,
}

impl Variant {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sdk => "sdk",
            Self::Bridge => "bridge",
        }
    }
}

/// The caller's choices. The analysis decides whatever is `None`.
#[derive(Debug, Clone, Default)]
pub struct IntegrationOptions {
    /// Folder or name of the package, for a repository with several.
    pub package: Option<String>,
    pub variant: Option<Variant>,
    /// Release line of the FluxLoop CLI.
    pub release_line: Option<ReleaseLine>,
    /// The function to run, as `path/to/file.py:function`, or the route, as `POST /chat`.
    pub agent: Option<String>,
    /// The request field that carries the input.
    pub request_field: Option<String>,
}

#[derive(Debug)]
pub struct Integration {
    pub recipe: &'static Recipe,
    /// The folder of the package; empty for the root.
    pub package: String,
    pub variant: Variant,
    pub why_variant: String,
    pub release_line: ReleaseLine,
    pub why_release_line: String,
    /// Name of the FluxLoop project or scenario.
    pub name: String,
    pub manager: Option<PackageManager>,
    /// What FluxLoop runs, verbatim.
    pub target: String,
    /// `target` for messages: replaced by its location if it is not a safe name.
    pub target_label: String,
    /// The endpoint, redacted for messages, if the program is called over HTTP.
    pub url: Option<String>,
    /// The command that starts the program, if it has to be running.
    pub start_command: Option<String>,
    pub outcome: IntegrationOutcome,
    /// What could be run, the chosen one first. Empty if nothing could be chosen, or there is no agent to choose.
    pub candidates: Vec<Candidate>,
    pub facts: PlanDetails,
    /// Tail of the summary: the project and the runner.
    scope: String,
    /// Redacts names from the repository in messages.
    pub redactor: NameRedactor,
}

#[derive(Debug, PartialEq)]
pub enum IntegrationOutcome {
    Planned(Vec<Edit>),
    /// The recipe cannot integrate FluxLoop: this is missing.
    Refused(Vec<Blocker>),
}

/// What a plan comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryKind {
    Planned,
    /// Every edit is in place already.
    InPlace,
    Refused,
}

impl Integration {
    /// One-sentence summary of the plan.
    pub fn summary(&self, kind: SummaryKind) -> String {
        let begin = match kind {
            SummaryKind::Planned => "Add FluxLoop integration",
            SummaryKind::InPlace => "FluxLoop is already integrated",
            SummaryKind::Refused => "No FluxLoop integration",
        };
        format!("{begin} for {}.", self.scope)
    }

    /// The edits; none if the recipe refused.
    pub fn edits(&self) -> &[Edit] {
        match &self.outcome {
            IntegrationOutcome::Planned(edits) => edits,
            IntegrationOutcome::Refused(_) => &[],
        }
    }

    /// The reason for the refusal in one sentence, if the recipe refused.
    pub fn refusal(&self) -> Option<String> {
        match &self.outcome {
            IntegrationOutcome::Planned(_) => None,
            IntegrationOutcome::Refused(blockers) => Some(join_blockers(blockers)),
        }
    }

    /// What is missing, if the recipe refused.
    pub fn blockers(&self) -> &[Blocker] {
        match &self.outcome {
            IntegrationOutcome::Planned(_) => &[],
            IntegrationOutcome::Refused(blockers) => blockers,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no package `{package}`; {}", list_packages(known))]
pub struct UnknownPackage {
    /// The requested name, redacted.
    pub package: String,
    /// The first existing packages.
    pub known: Vec<String>,
}

fn list_packages(known: &[String]) -> String {
    match known {
        [] => "this repository has no packages".to_owned(),
        [only] => format!("the only package is `{only}`"),
        all => format!("the packages are {}", all.join(", ")),
    }
}

/// Everything a recipe can look at.
pub(crate) struct RecipeInput<'a> {
    pub(crate) recipe: &'static Recipe,
    pub(crate) tree: &'a Tree,
    pub(crate) profile: &'a Profile,
    pub(crate) options: &'a IntegrationOptions,
    pub(crate) package: String,
    pub(crate) framework: Option<Framework>,
    pub(crate) layout: FluxloopLayout,
    pub(crate) variant: Variant,
    pub(crate) name: String,
    /// Cache of parsed files: recipes ask for the same files repeatedly.
    summaries: RefCell<BTreeMap<String, Option<Rc<FileSummary>>>>,
    texts: RefCell<BTreeMap<String, Rc<str>>>,
    /// And for the module that a file is.
    pub(crate) modules: RefCell<BTreeMap<String, Option<PythonModule>>>,
    /// The application, for a Django project and for others.
    pub(crate) applications: RefCell<BTreeMap<bool, FoundApplication>>,
}

/// What a recipe adds to the plan.
#[derive(Default)]
pub(crate) struct Contribution {
    pub(crate) edits: Vec<Edit>,
    pub(crate) runner: Option<RunnerConfig>,
    pub(crate) target: String,
    /// File and line of the target.
    pub(crate) target_location: (String, u32),
    pub(crate) url: Option<String>,
    pub(crate) start_command: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) prerequisites: Vec<String>,
    /// What could be run, the chosen one first.
    pub(crate) candidates: Vec<Candidate>,
    /// The request field that carries the text.
    pub(crate) text_field: Option<String>,
    /// FluxLoop's SDK has to be installed: an edit imports it.
    pub(crate) needs_sdk: bool,
    /// Where the SDK keeps its records, if the wrapper opens the trace.
    pub(crate) records_folder: Option<String>,
    /// Python files that a check of the plan compiles.
    pub(crate) files_to_compile: BTreeSet<String>,
}

impl RecipeInput<'_> {
    pub(crate) fn recipe(&self) -> &'static Recipe {
        self.recipe
    }

    pub(crate) fn release_line(&self) -> ReleaseLine {
        self.layout.release_line
    }

    pub(crate) fn uses_sdk(&self) -> bool {
        self.variant == Variant::Sdk
    }

    pub(crate) fn redactor(&self) -> &NameRedactor {
        &self.profile.redactor
    }

    /// A function, class or field name, redacted for messages.
    pub(crate) fn display_name<'n>(&self, name: &'n str, path: &str, line: u32) -> Cow<'n, str> {
        self.redactor().name(NameKind::Identifier, name, path, line)
    }

    pub(crate) fn display_route(&self, route: &Route) -> String {
        display_route(self.redactor(), route)
    }

    pub(crate) fn file_summary(&self, path: &str) -> Option<Rc<FileSummary>> {
        let mut seen = self.summaries.borrow_mut();
        seen.entry(path.to_owned()).or_insert_with(|| summarize_file(self.tree, path).map(Rc::new)).clone()
    }

    /// Whether a file is an example or a test, judged by its path within the package.
    pub(crate) fn is_example_or_test(&self, path: &str) -> bool {
        codebase::is_example_or_test(path.strip_prefix(&self.package).unwrap_or(path).trim_start_matches('/'))
    }

    /// Whether a file belongs to this package and not to a nested one.
    pub(crate) fn owns_file(&self, path: &str) -> bool {
        package::owning_package(self.profile, path) == self.package
    }

    pub(crate) fn agents(&self) -> impl Iterator<Item = &Agent> {
        let wanted =
            move |path: &str| package::is_python_file(path) == (self.recipe().ecosystem == Ecosystem::Python);
        self.profile.agents.iter().filter(move |agent| self.owns_file(&agent.path) && wanted(&agent.path))
    }

    /// Routes that nothing connects to an agent.
    pub(crate) fn other_routes(&self) -> impl Iterator<Item = &Route> {
        self.own_routes(&self.profile.other_routes)
    }

    /// Those of the package, in the language of the recipe.
    fn own_routes<'r>(&'r self, routes: &'r [Route]) -> impl Iterator<Item = &'r Route> {
        let is_python = self.recipe().ecosystem == Ecosystem::Python;
        routes.iter().filter(move |route| {
            self.owns_file(&route.file) && package::is_python_file(&route.file) == is_python
        })
    }

    pub(crate) fn file_exists(&self, path: &str) -> bool {
        self.tree.metadata(path).ok().flatten().is_some()
    }

    pub(crate) fn file_text(&self, path: &str) -> Rc<str> {
        let mut texts = self.texts.borrow_mut();
        let read = || codebase::decode_text(&self.tree.read(path, MAX_FILE_BYTES).unwrap_or_default()).into();
        texts.entry(path.to_owned()).or_insert_with(read).clone()
    }

    /// The file of a Python module that a file imports: beside it, in its package, or from the root.
    pub(crate) fn module_file(&self, path: &str, module: &str) -> Option<String> {
        let dots = module.len() - module.trim_start_matches('.').len();
        let mut folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for _ in 1..dots {
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        let inside = module.trim_start_matches('.').replace('.', "/");
        let above = folder.match_indices('/').map(|(end, _)| &folder[..end]).rev();
        let bases =
            [folder].into_iter().chain(above.filter(|_| dots == 0)).chain([self.package.as_str(), ""]);
        let places = bases.flat_map(|base| {
            let place = format!("{base}/{inside}");
            [format!("{place}.py"), format!("{place}/__init__.py")]
        });
        places.map(|place| place.trim_start_matches('/').to_owned()).find(|place| self.file_exists(place))
    }

    /// The imports of libraries for agents and models in the files of the package, in the language of the recipe.
    pub(crate) fn model_imports(&self) -> impl Iterator<Item = &Evidence> {
        let is_python = self.recipe().ecosystem == Ecosystem::Python;
        let own = self.profile.model_imports.iter();
        own.filter(move |import| {
            package::is_python_file(&import.path) == is_python && self.owns_file(&import.path)
        })
    }

    /// Files that are called as Google's ADK and others expect those of agents to be: `agent.py` in a folder.
    pub(crate) fn agent_files(&self) -> Vec<String> {
        let evidence = self.framework.iter().flat_map(|framework| &framework.evidence);
        let folders: BTreeSet<String> = evidence
            .filter_map(|proof| proof.path.rsplit_once('/').map(|(folder, _)| folder.to_owned()))
            .filter(|folder| self.owns_file(&format!("{folder}/agent.py")))
            .collect();
        let files = folders.into_iter().map(|folder| format!("{folder}/agent.py"));
        files.chain([self.package_path("agent.py")]).filter(|path| self.file_exists(path)).collect()
    }

    /// Whether the README of the package or of the repository names the path of a route.
    pub(crate) fn is_in_readme(&self, route: &Route) -> bool {
        const MIN_PATH: usize = 3;
        let names = ["README.md", "readme.md", "README.rst", "CLAUDE.md", "AGENTS.md"];
        let files: BTreeSet<String> =
            names.iter().flat_map(|name| [self.package_path(name), (*name).to_owned()]).collect();
        // `/chat` is not named by `/chat/title`.
        let Ok(mention) = patterns::compile(&format!(
            r"{}/?(?:[^\w/-]|$)",
            regex::escape(route.path.trim_end_matches('/'))
        )) else {
            return false;
        };
        route.path.len() >= MIN_PATH && files.iter().any(|file| mention.is_match(&self.file_text(file)))
    }

    /// The lines of a function; empty if its end is unknown.
    pub(crate) fn source_lines(&self, path: &str, first: u32, last: u32) -> String {
        let (first, last) = (first.max(1) as usize, last as usize);
        let text = self.file_text(path);
        let lines = text.lines().skip(first - 1).take((last + 1).saturating_sub(first));
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn routes(&self) -> impl Iterator<Item = &Route> {
        self.own_routes(&self.profile.routes)
    }

    /// Path of a file of the package, relative to the repository root.
    pub(crate) fn package_path(&self, name: &str) -> String {
        join(&self.package, name)
    }

    /// ` in FOLDER` for messages; empty for the root.
    pub(crate) fn location_phrase(&self) -> String {
        if self.package.is_empty() {
            String::new()
        } else {
            format!(" in {}", self.redactor().folder(&self.package))
        }
    }

    pub(crate) fn entry_points(&self) -> Vec<String> {
        let project = self.profile.projects.iter().find(|project| project.folder == self.package);
        project.map(|project| project.entry_points.clone()).unwrap_or_default()
    }

    pub(crate) fn manager(&self) -> Option<PackageManager> {
        let project = self.profile.projects.iter().find(|project| project.folder == self.package)?;
        project.managers.iter().copied().find(|manager| manager.ecosystem() == self.recipe().ecosystem)
    }
}

/// Computes the integration for a recipe.
pub fn integrate(
    tree: &Tree,
    profile: &Profile,
    recipe: &'static Recipe,
    options: &IntegrationOptions,
) -> Result<Integration, UnknownPackage> {
    let (package, mut notes) = package::select_package(profile, recipe, options)?;
    notes.extend(package::other_packages_note(profile, options, &package));
    let framework = framework_in_package(profile, recipe, &package);
    notes.extend(other_language_note(profile, recipe, options, &package));
    let layout = FluxloopLayout::detect(tree, &package, options.release_line, &profile.redactor);
    let (variant, why_variant) = choose_variant(tree, recipe, options.variant, &package);
    let name = package::scenario_name(profile, &layout, &package, &mut notes);
    let input = RecipeInput {
        recipe,
        tree,
        profile,
        options,
        package,
        framework,
        layout,
        variant,
        name,
        summaries: RefCell::default(),
        texts: RefCell::default(),
        modules: RefCell::default(),
        applications: RefCell::default(),
    };
    let found = if input.framework.is_none() && !recipe.is_plain_python() {
        let place = input.location_phrase();
        let detected: Vec<&str> = profile.frameworks.iter().take(4).map(|one| one.name).collect();
        let what = if detected.is_empty() {
            format!("no use of {} was found{place}", recipe.title)
        } else {
            format!("no use of {} was found{place}; found: {}", recipe.title, detected.join(", "))
        };
        Err(vec![Blocker::new(what).lifted_by("framework")])
    } else if let Some(blocker) = choice_of_package(&input) {
        Err(vec![blocker])
    } else if recipe.ecosystem == Ecosystem::Python {
        python::integrate(&input)
    } else {
        node::integrate(&input)
    };
    let (mut found, refusal) = match found {
        Ok(found) => (found, None),
        Err(reason) => (Contribution::default(), Some(reason)),
    };
    if let Some(runner) = &found.runner {
        let setup = ProjectConfig {
            sample_input: sample_input::find_sample_input(&input, found.text_field.as_deref()),
            release_line: input.release_line(),
            name: &input.name,
            runner,
        };
        let edits = setup.edits(tree, &input.layout);
        found.edits.extend(edits);
    }
    if found.needs_sdk {
        found.edits.extend(dependency::requirement_edit(&input));
    }
    Ok(build_integration(&input, found, refusal, why_variant, notes))
}

/// A note about the program in the other language that lies in the same folder.
fn other_language_note(
    profile: &Profile,
    recipe: &Recipe,
    options: &IntegrationOptions,
    package: &str,
) -> Option<String> {
    let is_python = recipe.ecosystem == Ecosystem::Python;
    let other = profile.agents.iter().find(|agent| {
        package::is_python_file(&agent.path) != is_python
            && package::owning_package(profile, &agent.path) == package
            && !codebase::is_example_or_test(&agent.path)
    })?;
    let frameworks =
        profile.frameworks.iter().filter(|one| (one.ecosystem == Ecosystem::Python) != is_python);
    let names: Vec<&str> = frameworks.map(|one| one.name).take(3).collect();
    let place = profile.redactor.location(&other.path, other.line);
    (options.agent.is_none() && !names.is_empty()).then(|| {
        format!(
            "A model is also called in {} ({place}); pass `framework` ({}) to plan for that program.",
            if is_python { "JavaScript" } else { "Python" },
            names.join(", ")
        )
    })
}

/// A question for the package, where there are many programs and none is the main one: a collection of examples.
fn choice_of_package(input: &RecipeInput<'_>) -> Option<Blocker> {
    const MIN_PACKAGES: usize = 5;
    if input.options.package.is_some() || input.options.agent.is_some() {
        return None;
    }
    let agents = input.profile.agents.iter().filter(|agent| !codebase::is_example_or_test(&agent.path));
    let folders: BTreeSet<String> =
        agents.map(|agent| package::owning_package(input.profile, &agent.path)).collect();
    if folders.len() < MIN_PACKAGES || folders.contains("") {
        return None;
    }
    let shown: Vec<String> =
        folders.iter().take(8).map(|folder| input.redactor().folder(folder).into_owned()).collect();
    let more = if folders.len() > shown.len() { ", …" } else { "" };
    let what = format!(
        "{} packages call a language model, and none is in the root: {}{more}",
        folders.len(),
        shown.join(", ")
    );
    Some(Blocker::new(what).lifted_by("package").such_as(shown.into_iter().next()))
}

/// The framework as used by a package, with only that package's anchors.
fn framework_in_package(profile: &Profile, recipe: &Recipe, package: &str) -> Option<Framework> {
    let is_it = |one: &&Framework| one.name == recipe.name && one.ecosystem == recipe.ecosystem;
    let mut framework = profile.frameworks.iter().find(is_it)?.clone();
    let mut projects = profile.projects.iter().filter(|project| project.folder == package);
    let is_used =
        framework.project == package || projects.any(|project| project.frameworks.contains(&recipe.name));
    framework.anchors.retain(|anchor| package::owning_package(profile, &anchor.path) == package);
    is_used.then_some(framework)
}

const MAX_FILE_BYTES: u64 = 512 * 1024;

/// What `requirements.txt` pins to a version that the SDK cannot be installed with.
fn pinned_against_sdk(tree: &Tree, package: &str) -> Option<(&'static str, String)> {
    // What FluxLoop 0.1.8 asks for: major and minor version.
    const NEEDS: &[(&str, &str, (u32, u32))] = &[
        ("python-dotenv", r"(?mi)^python[-_]dotenv\s*(?:==|~=)\s*((\d+)\.(\d+)[\w.]*)", (1, 0)),
        ("pydantic", r"(?mi)^pydantic(?:\[[\w,]+\])?\s*(?:==|~=)\s*((\d+)\.(\d+)[\w.]*)", (2, 0)),
        ("httpx", r"(?mi)^httpx\s*(?:==|~=)\s*((\d+)\.(\d+)[\w.]*)", (0, 24)),
    ];
    let text = codebase::decode_text(&tree.read(&join(package, "requirements.txt"), MAX_FILE_BYTES).ok()?);
    NEEDS.iter().find_map(|(name, pattern, needed)| {
        let found = patterns::compile(pattern).ok()?.captures(&text)?;
        let version = (found[2].parse().ok()?, found[3].parse().ok()?);
        (version < *needed && NameKind::Version.is_safe_name(&found[1])).then(|| (*name, found[1].to_owned()))
    })
}

fn choose_variant(tree: &Tree, recipe: &Recipe, wanted: Option<Variant>, package: &str) -> (Variant, String) {
    let has_sdk = || {
        let manifest = read_package_json(tree, package).unwrap_or_default();
        ["dependencies", "devDependencies"].iter().any(|group| manifest[group].get("@fluxloop/sdk").is_some())
    };
    match (wanted, recipe.sdk) {
        (Some(variant), _) => (variant, "requested".to_owned()),
        (None, SdkSupport::Decorators) if old_image(tree, package).is_some() => (
            Variant::Bridge,
            format!(
                "the Dockerfile builds with Python 3.{}, and the SDK needs 3.{MIN_PYTHON_MINOR}",
                old_image(tree, package).unwrap_or_default()
            ),
        ),
        (None, SdkSupport::Decorators) if pinned_against_sdk(tree, package).is_some() => {
            let (name, version) = pinned_against_sdk(tree, package).unwrap_or_default();
            (
                Variant::Bridge,
                format!("requirements.txt pins {name} {version}, and the SDK needs a newer one"),
            )
        }
        (None, SdkSupport::Decorators) => (
            Variant::Sdk,
            "the Python SDK is public, and its decorators trace what happens inside the agent".to_owned(),
        ),
        (None, _) if has_sdk() => (Variant::Sdk, "package.json depends on @fluxloop/sdk".to_owned()),
        (None, _) => (
            Variant::Bridge,
            "there is no public JavaScript SDK, and the project does not depend on @fluxloop/sdk".to_owned(),
        ),
    }
}

fn build_integration(
    input: &RecipeInput<'_>,
    contribution: Contribution,
    refusal: Option<Vec<Blocker>>,
    why_variant: String,
    notes: Vec<String>,
) -> Integration {
    let (recipe, line) = (input.recipe(), input.release_line());
    let manager = input.manager();
    let mut facts =
        PlanDetails { prerequisites: contribution.prerequisites, notes, ..PlanDetails::default() };
    if refusal.is_none() {
        facts.notes.push(format!(
            "Variant `{}`: {why_variant}. FluxLoop CLI {}: {}.",
            input.variant.name(),
            line.name(),
            input.layout.why
        ));
    }
    if let Some(blockers) = &refusal {
        facts.warnings.push(format!("There are no edits: {}.", join_blockers(blockers)));
    }
    facts.notes.extend(contribution.notes);
    facts.warnings.extend(contribution.warnings);
    if refusal.is_none() {
        let python_manager = manager.filter(|manager| manager.ecosystem() == Ecosystem::Python);
        let installs = python_manager.unwrap_or(PackageManager::Pip);
        facts.prerequisites.push(format!("Python {} or newer", python_version(input)));
        if recipe.ecosystem == Ecosystem::Python {
            facts.prerequisites.extend(narrow_python(input, installs));
        }
        let mut install = |what: &str, packages: &str, for_development: bool| {
            let command = install::install_command(installs, packages, for_development);
            facts.prerequisites.push(format!("{what} installed: {command}"));
            // The other managers have to be run in the folder of the package.
            if input.package.is_empty() || installs == PackageManager::Pip {
                facts.install_commands.push(command);
            }
        };
        if contribution.needs_sdk {
            install("FluxLoop SDK", install::SDK_PACKAGE, false);
        }
        if contribution.runner.is_some() {
            install(&format!("FluxLoop CLI {}", line.name()), line.requirement(), true);
        }
        if matches!(contribution.runner, Some(RunnerConfig::Process { .. })) {
            facts.prerequisites.push("Node.js 18 or newer".to_owned());
        }
        if let (Some(start), Some(url)) = (&contribution.start_command, &contribution.url) {
            let url = display_url(input, &contribution.target_location, url);
            facts.prerequisites.push(format!("The program is running while FluxLoop runs: {start} ({url})"));
        }
        if contribution.runner.is_some() {
            facts.notes.push(format!(
                "FluxLoop exits with 0 even if the agent fails; check {} for the result of a run.",
                line.results_location(name_or_placeholder(&input.name))
            ));
            if name_or_placeholder(&input.name) != input.name {
                facts.warnings.push(format!(
                    "Replace NAME with the name of the FluxLoop project in {}. It is not a safe command argument, so \
                     no check runs the project.",
                    input.redactor().folder(&line.project_folder(&input.name))
                ));
            }
        }
        if contribution.needs_sdk {
            let place = match &contribution.records_folder {
                Some(folder) => format!("in {}", input.redactor().folder(folder)),
                None => "in its result files".to_owned(),
            };
            facts.notes.push(format!(
                "FluxLoop keeps the arguments and results of decorated functions as plain text {place}."
            ));
        }
        let runs = contribution.runner.is_some();
        facts.post_checks =
            post_checks(input, &contribution.files_to_compile, runs, manager, &mut facts.warnings);
    }
    let place = input.location_phrase();
    let shown_target = match contribution.target.as_str() {
        "" => String::new(),
        target => {
            let (path, line) = &contribution.target_location;
            input.redactor().name(NameKind::Target, target, path, *line).into_owned()
        }
    };
    let target = if shown_target.is_empty() { String::new() } else { format!(", running {shown_target}") };
    Integration {
        recipe,
        package: input.package.clone(),
        variant: input.variant,
        why_variant,
        release_line: line,
        why_release_line: input.layout.why.clone(),
        name: input.name.clone(),
        manager,
        url: contribution.url.as_deref().map(|url| display_url(input, &contribution.target_location, url)),
        target: contribution.target,
        target_label: shown_target,
        start_command: contribution.start_command,
        scope: format!("{} project{place} using {} runner{target}", recipe.name, recipe.runner_pattern()),
        outcome: refusal.map_or(IntegrationOutcome::Planned(contribution.edits), IntegrationOutcome::Refused),
        candidates: contribution.candidates,
        facts,
        redactor: input.redactor().clone(),
    }
}

/// A route for messages: `POST /chat`, redacted if it is not a safe name.
pub(crate) fn display_route(redactor: &NameRedactor, route: &Route) -> String {
    let shown = format!("{} {}", route.method, route.path);
    redactor.name(NameKind::Route, &shown, &route.file, route.line).into_owned()
}

fn display_url(input: &RecipeInput<'_>, (path, line): &(String, u32), url: &str) -> String {
    input.redactor().name(NameKind::Address, url, path, *line).into_owned()
}

/// The project name for suggested commands. A name that is not safe in a command becomes a placeholder.
pub(crate) fn name_or_placeholder(name: &str) -> &str {
    if NameKind::Setting.is_safe_name(name) { name } else { "NAME" }
}

/// The minimum Python version: FluxLoop's, or the program's if that is newer.
fn python_version(input: &RecipeInput<'_>) -> String {
    let text = input.tree.read(&input.package_path("pyproject.toml"), 1 << 20).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let wanted = patterns::compile(r#"requires-python\s*=\s*["'](?:>=|~=|\^|==)\s*3\.(\d+)"#).ok();
    let minor = wanted.and_then(|wanted| wanted.captures(&text)?.get(1)?.as_str().parse().ok());
    format!("3.{}", minor.unwrap_or(MIN_PYTHON_MINOR).max(MIN_PYTHON_MINOR))
}

/// FluxLoop runs with this version of Python 3 and newer ones.
const MIN_PYTHON_MINOR: u32 = 11;

/// What has to change in `pyproject.toml` before a package manager that resolves for all declared versions installs FluxLoop.
fn narrow_python(input: &RecipeInput<'_>, manager: PackageManager) -> Option<String> {
    if !matches!(manager, PackageManager::Uv | PackageManager::Poetry | PackageManager::Pdm) {
        return None;
    }
    let text = input.file_text(&input.package_path("pyproject.toml"));
    let declared = patterns::compile(
        r#"(?m)^(requires-python|python)\s*=\s*["']((?:>=|~=|\^|~|>)\s*3\.(\d+)[^"'\n]*)["']"#,
    )
    .ok()?;
    let found = declared.captures(&text)?;
    let minor: u32 = found[3].parse().ok()?;
    (minor < MIN_PYTHON_MINOR && NameKind::Version.is_safe_name(&found[2])).then(|| {
        format!(
            "`{}` in pyproject.toml begins at 3.{MIN_PYTHON_MINOR}, which FluxLoop needs; {} refuses to install it for `{}`",
            &found[1],
            manager.name(),
            &found[2]
        )
    })
}

/// The minor version of Python that the program's image is built with, if it is older than the SDK needs.
fn old_image(tree: &Tree, package: &str) -> Option<u32> {
    let from = patterns::compile(r"(?m)^FROM\s+(?:\S+/)?python:3\.(\d+)").ok()?;
    let text = codebase::decode_text(&tree.read(&join(package, "Dockerfile"), 256 * 1024).ok()?);
    let minor: u32 = from.captures(&text)?[1].parse().ok()?;
    (minor < MIN_PYTHON_MINOR).then_some(minor)
}

fn post_checks(
    input: &RecipeInput<'_>,
    compiles: &BTreeSet<String>,
    runs: bool,
    manager: Option<PackageManager>,
    warnings: &mut Vec<String>,
) -> Vec<String> {
    let mut checks = Vec::new();
    // Skip paths that the check allowlist would reject: one of them would make the whole plan invalid.
    let takes = |path: &&str| {
        NameKind::File.is_safe_name(path)
            && judge_check(&format!("python -m py_compile {path}"), is_check_command).is_ok()
    };
    let (files, others): (Vec<&str>, Vec<&str>) = compiles.iter().map(String::as_str).partition(takes);
    // Commands are shown to the user, so names that messages must not repeat stay out of them too.
    warnings.extend(others.iter().filter(|path| !NameKind::File.is_safe_name(path)).map(|path| {
        format!("No check compiles {}: its path is not a safe argument.", input.redactor().file(path))
    }));
    if !files.is_empty() {
        checks.push(format!("python -m py_compile {}", files.join(" ")));
    }
    if runs && name_or_placeholder(&input.name) == input.name {
        // The check runs in the root, where `uv run` and others would not find the environment of a nested
        // package.
        let manager = manager.filter(|_| input.package.is_empty());
        checks.push(install::run_command(manager, &input.release_line().run_command(&input.name)));
    }
    checks
}
