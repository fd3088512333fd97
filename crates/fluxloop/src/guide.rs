//! The way to an integration, as a list for people.

use codebase::package_manager::PackageManager;
use codebase::{Ecosystem, NameRedactor};

use crate::install;
use crate::integrate::{Integration, Variant, name_or_placeholder};
use crate::recipe::{Recipe, SdkSupport};
use crate::release_line::ReleaseLine;

const SIMULATION_PAGE: &str = "packages/website/docs-cli/configuration/simulation-config.md";
const RUN_PAGE: &str = "packages/website/docs-cli/commands/run.md";

/// What the steps depend on.
pub struct GuideInput {
    /// The framework.
    pub recipe: &'static Recipe,
    /// The variant.
    pub variant: Variant,
    /// The package manager.
    pub manager: PackageManager,
    /// The line of the CLI.
    pub release_line: ReleaseLine,
    /// The project or scenario.
    pub name: String,
    /// What FluxLoop runs, in a sentence; empty if that is not known.
    pub target: String,
    /// The function that it runs, if it has a plain name.
    pub function: Option<String>,
    /// Where the program listens.
    pub url: Option<String>,
    /// How it is started.
    pub start_command: Option<String>,
    /// What is to be minded.
    pub warnings: Vec<String>,
    /// What of the repository the sentences here do not repeat.
    pub redactor: NameRedactor,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuideStep {
    /// Its name for programs, the same in both variants.
    pub id: &'static str,
    /// Its name for people.
    pub title: String,
    /// What to do.
    pub details: String,
    /// The page about it.
    pub doc_ref: String,
    /// Code that belongs to it.
    pub code_snippet: Option<String>,
}

/// The steps and what belongs to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrationGuide {
    /// The steps.
    pub steps: Vec<GuideStep>,
    /// How long it takes.
    pub estimated_time: &'static str,
    /// What has to be there.
    pub prerequisites: Vec<String>,
    /// What is to be minded.
    pub warnings: Vec<String>,
}

impl GuideInput {
    /// What an integration found.
    pub fn from_integration(integration: &Integration) -> Self {
        let usual = default_manager(integration.recipe);
        let is_shown = integration.target_label == integration.target;
        let function = integration.target.rsplit([':', '.']).next().filter(|_| is_shown);
        let function = function.filter(|name| !name.is_empty() && !name.contains([' ', '/']));
        Self {
            recipe: integration.recipe,
            variant: integration.variant,
            manager: integration.manager.unwrap_or(usual),
            release_line: integration.release_line,
            name: name_or_placeholder(&integration.name).to_owned(),
            target: integration.target_label.clone(),
            function: function.map(str::to_owned),
            url: integration.url.clone(),
            start_command: integration.start_command.clone(),
            warnings: integration.facts.warnings.clone(),
            redactor: integration.redactor.clone(),
        }
    }

    /// What is known without a repository.
    pub fn with_defaults(
        recipe: &'static Recipe,
        variant: Option<Variant>,
        manager: Option<PackageManager>,
        line: Option<ReleaseLine>,
    ) -> Self {
        let usual = if recipe.sdk == SdkSupport::Decorators { Variant::Sdk } else { Variant::Bridge };
        Self {
            recipe,
            variant: variant.unwrap_or(usual),
            manager: manager.unwrap_or_else(|| default_manager(recipe)),
            release_line: line.unwrap_or(ReleaseLine::NEWEST),
            name: "agent".to_owned(),
            target: String::new(),
            function: None,
            url: None,
            start_command: None,
            warnings: Vec::new(),
            redactor: NameRedactor::default(),
        }
    }

    fn project_folder(&self) -> String {
        self.release_line.project_folder(&self.name)
    }

    fn is_python(&self) -> bool {
        self.recipe.ecosystem == Ecosystem::Python
    }
}

fn default_manager(recipe: &Recipe) -> PackageManager {
    if recipe.ecosystem == Ecosystem::Python { PackageManager::Pip } else { PackageManager::Npm }
}

/// The steps for a situation.
pub fn build_guide(input: &GuideInput) -> IntegrationGuide {
    let mut warnings = input.warnings.clone();
    if !input.is_python() {
        warnings.push(match input.variant {
            Variant::Sdk => "@fluxloop/sdk is not on the public npm registry; this variant works only where you can install it.".to_owned(),
            Variant::Bridge => "There is no public JavaScript SDK for FluxLoop: the program is called over HTTP and stays as it is.".to_owned(),
        });
    }
    let steps = vec![install_step(input), code_step(input), config_step(input), test_step(input)];
    let prerequisites = prerequisites(input);
    let estimated_time = match (input.is_python(), input.target.is_empty()) {
        (true, false) => "5-10 minutes",
        (false, false) => "10-15 minutes",
        (_, true) => "15-30 minutes",
    };
    IntegrationGuide { steps, estimated_time, prerequisites, warnings }
}

fn prerequisites(input: &GuideInput) -> Vec<String> {
    let node = if input.release_line == ReleaseLine::V04 {
        "Node.js 18+ installed"
    } else {
        "Node.js installed, in the version that the program needs"
    };
    let mut all = vec!["Python 3.11+ installed".to_owned()];
    if !input.is_python() {
        all.insert(0, node.to_owned());
    }
    let pip = if input.is_python() { input.manager } else { PackageManager::Pip };
    all.push(format!(
        "FluxLoop CLI installed: {}",
        install::install_command(pip, input.release_line.requirement(), true)
    ));
    all
}

fn install_step(input: &GuideInput) -> GuideStep {
    let (title, details) = match (input.is_python(), input.variant) {
        (true, Variant::Sdk) => {
            ("Install Fluxloop SDK", install::install_command(input.manager, "fluxloop", false))
        }
        (false, Variant::Sdk) => {
            ("Install Fluxloop SDK", install::install_command(input.manager, "@fluxloop/sdk", false))
        }
        (true, Variant::Bridge) => (
            "Install FluxLoop",
            install::install_command(input.manager, input.release_line.requirement(), true),
        ),
        (false, Variant::Bridge) => (
            "Install FluxLoop",
            install::install_command(PackageManager::Pip, input.release_line.requirement(), true),
        ),
    };
    GuideStep {
        id: "install_sdk",
        title: title.to_owned(),
        details,
        doc_ref: input.recipe.runner_doc_page().to_owned(),
        code_snippet: None,
    }
}

fn code_step(input: &GuideInput) -> GuideStep {
    let recipe = input.recipe;
    let doc_ref = if input.is_python() { recipe.doc_page() } else { recipe.runner_doc_page().to_owned() };
    let id = if input.is_python() { "add_decorator" } else { "add_middleware" };
    let (title, details, snippet) = match (input.is_python(), input.variant) {
        (true, Variant::Sdk) => {
            let function = input.function.as_deref().unwrap_or("your_agent");
            (
                "Decorate the agent".to_owned(),
                "Put `@fluxloop.agent(...)` right above the function that answers the user, below its other decorators; \
                 `@fluxloop.tool()`, `.prompt()` and `.trace()` on the functions that it works with."
                    .to_owned(),
                Some(format!("import fluxloop\n\n@fluxloop.agent(name=\"{function}\")\ndef {function}(...):\n    ...")),
            )
        }
        (true, Variant::Bridge) => (
            "Leave the program as it is".to_owned(),
            "FluxLoop calls a function of the program, or a small file of its own that calls it; nothing is decorated.".to_owned(),
            None,
        ),
        (false, Variant::Sdk) => (
            "Register middleware".to_owned(),
            format!("Add `app.use(fluxloop())` after {} app initialization.", recipe.title),
            Some(
                "import { fluxloop } from '@fluxloop/sdk';\napp.use(fluxloop({ projectKey: '<PROJECT_KEY>' }));".to_owned(),
            ),
        ),
        (false, Variant::Bridge) => {
            let file = if input.release_line == ReleaseLine::V04 { "bridge.mjs" } else { "http_bridge.py" };
            (
                "Add the bridge".to_owned(),
                format!(
                    "Create {}/{file}: it hands one input to {} and gives back the answer. No middleware, no change in the {} code.",
                    input.project_folder(),
                    input.url.as_deref().unwrap_or("the program's endpoint"),
                    recipe.title
                ),
                None,
            )
        }
    };
    GuideStep { id, title, details, doc_ref, code_snippet: snippet }
}

fn config_step(input: &GuideInput) -> GuideStep {
    let file = format!("{}/configs/simulation.yaml", input.project_folder());
    let what = match (input.is_python(), input.release_line, input.target.is_empty()) {
        (false, ..) if input.variant == Variant::Sdk => {
            format!("Set runner.target in {file} to point to your {} entry point.", input.recipe.title)
        }
        (true, _, false) => {
            format!("Set runner.target in {file} so that FluxLoop runs {}.", input.target)
        }
        (true, _, true) => {
            format!("Set runner.target in {file} to `module:function`: a function that takes one text.")
        }
        (false, ReleaseLine::V04, _) => format!(
            "In {file}, set runner.type to process and runner.command to [\"node\", \"{}/bridge.mjs\"].",
            input.project_folder()
        ),
        (false, ..) => format!("Set runner.target in {file} to `http_bridge:run`."),
    };
    GuideStep {
        id: "configure_project",
        title: "Update FluxLoop config".to_owned(),
        details: what,
        doc_ref: SIMULATION_PAGE.to_owned(),
        code_snippet: None,
    }
}

fn test_step(input: &GuideInput) -> GuideStep {
    let run = install::run_command(Some(input.manager), &input.release_line.run_command(&input.name));
    let start = match &input.start_command {
        Some(start) => format!("Start the program ({start}), then run"),
        None => "Run".to_owned(),
    };
    GuideStep {
        id: "test_integration",
        title: "Test integration".to_owned(),
        details: format!(
            "{start}: {run}. Then look into {}.",
            input.release_line.results_location(&input.name)
        ),
        doc_ref: RUN_PAGE.to_owned(),
        code_snippet: None,
    }
}
