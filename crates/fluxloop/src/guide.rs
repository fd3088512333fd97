//! Builds the manual integration guide: the same work as a plan, as steps to follow by hand.

use codebase::package_manager::PackageManager;
use codebase::{Ecosystem, NameRedactor};

use crate::install;
use crate::integrate::{Integration, Variant, name_or_placeholder};
use crate::recipe::{Recipe, SdkSupport};
use crate::release_line::ReleaseLine;

const SIMULATION_PAGE: &str = "packages/website/docs-cli/configuration/simulation-config.md";
const RUN_PAGE: &str = "packages/website/docs-cli/commands/run.md";

pub struct GuideInput {
    pub recipe: &'static Recipe,
    pub variant: Variant,
    pub manager: PackageManager,
    pub release_line: ReleaseLine,
    /// Name of the FluxLoop project or scenario.
    pub name: String,
    /// Display name of what FluxLoop runs; empty if unknown.
    pub target: String,
    /// Name of the function it runs, if it is a plain identifier.
    pub function: Option<String>,
    pub url: Option<String>,
    pub start_command: Option<String>,
    pub warnings: Vec<String>,
    /// Redacts names from the repository in messages.
    pub redactor: NameRedactor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuideStep {
    /// Stable identifier, the same in both variants.
    pub id: &'static str,
    pub title: String,
    pub details: String,
    /// Path of the documentation page about this step.
    pub doc_ref: String,
    pub code_snippet: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrationGuide {
    pub steps: Vec<GuideStep>,
    pub estimated_time: &'static str,
    pub prerequisites: Vec<String>,
    pub warnings: Vec<String>,
}

impl GuideInput {
    /// Takes the inputs from a computed integration.
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
            warnings: [&integration.facts.notes[..], &integration.facts.warnings].concat(),
            redactor: integration.redactor.clone(),
        }
    }

    /// Inputs for a guide without a repository.
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

pub fn build_guide(input: &GuideInput) -> IntegrationGuide {
    let mut warnings = input.warnings.clone();
    if !input.is_python() {
        warnings.push(match input.variant {
            Variant::Sdk => "@fluxloop/sdk is not on the public npm registry; this variant works only if you have access to it.".to_owned(),
            Variant::Bridge => "FluxLoop has no public JavaScript SDK: it calls the program over HTTP, and the program is unchanged.".to_owned(),
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
        "Node.js installed, in the version the program needs"
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
                "Put `@fluxloop.agent(...)` directly above the function that answers the user, below its other decorators, and \
                 `@fluxloop.tool()`, `.prompt()` and `.trace()` on the functions it calls."
                    .to_owned(),
                Some(format!("import fluxloop\n\n@fluxloop.agent(name=\"{function}\")\ndef {function}(...):\n    ...")),
            )
        }
        (true, Variant::Bridge) => (
            "Leave the program unchanged".to_owned(),
            "FluxLoop calls a function of the program, directly or through a small wrapper file; nothing is decorated.".to_owned(),
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
                    "Create {}/{file}: it sends one input to {} and returns the reply. No middleware, no change to the {} code.",
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
            format!("Set runner.target in {file} to `module:function`, a function that takes one string.")
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
        details: format!("{start}: {run}. Then check {}.", input.release_line.results_location(&input.name)),
        doc_ref: RUN_PAGE.to_owned(),
        code_snippet: None,
    }
}
