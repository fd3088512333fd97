//! The way to an integration, as a list for people.

use codebase::manager::Manager;
use codebase::{Ecosystem, RepositoryTexts};

use crate::install;
use crate::integrate::{Integration, Variant, spoken};
use crate::line::Line;
use crate::recipe::{Recipe, Sdk};

const SIMULATION_PAGE: &str = "packages/website/docs-cli/configuration/simulation-config.md";
const RUN_PAGE: &str = "packages/website/docs-cli/commands/run.md";

/// What the steps depend on.
pub struct Situation {
    /// The framework.
    pub recipe: &'static Recipe,
    /// The variant.
    pub variant: Variant,
    /// The package manager.
    pub manager: Manager,
    /// The line of the CLI.
    pub line: Line,
    /// The project or scenario.
    pub name: String,
    /// What FluxLoop runs, in a sentence; empty if that is not known.
    pub target: String,
    /// The function that it runs, if it has a plain name.
    pub function: Option<String>,
    /// Where the program listens.
    pub url: Option<String>,
    /// How it is started.
    pub start: Option<String>,
    /// What is to be minded.
    pub warnings: Vec<String>,
    /// What of the repository the sentences here do not repeat.
    pub texts: RepositoryTexts,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
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
pub struct Steps {
    /// The steps.
    pub steps: Vec<Step>,
    /// How long it takes.
    pub estimated_time: &'static str,
    /// What has to be there.
    pub prerequisites: Vec<String>,
    /// What is to be minded.
    pub warnings: Vec<String>,
}

impl Situation {
    /// What an integration found.
    pub fn of(integration: &Integration) -> Self {
        let usual = usual_manager(integration.recipe);
        let is_shown = integration.shown_target == integration.target;
        let function = integration.target.rsplit([':', '.']).next().filter(|_| is_shown);
        let function = function.filter(|name| !name.is_empty() && !name.contains([' ', '/']));
        Self {
            recipe: integration.recipe,
            variant: integration.variant,
            manager: integration.manager.unwrap_or(usual),
            line: integration.line,
            name: spoken(&integration.name).to_owned(),
            target: integration.shown_target.clone(),
            function: function.map(str::to_owned),
            url: integration.url.clone(),
            start: integration.start.clone(),
            warnings: integration.facts.warnings.clone(),
            texts: integration.texts.clone(),
        }
    }

    /// What is known without a repository.
    pub fn usual(
        recipe: &'static Recipe,
        variant: Option<Variant>,
        manager: Option<Manager>,
        line: Option<Line>,
    ) -> Self {
        let usual = if recipe.sdk == Sdk::Decorators { Variant::Sdk } else { Variant::Bridge };
        Self {
            recipe,
            variant: variant.unwrap_or(usual),
            manager: manager.unwrap_or_else(|| usual_manager(recipe)),
            line: line.unwrap_or(Line::NEWEST),
            name: "agent".to_owned(),
            target: String::new(),
            function: None,
            url: None,
            start: None,
            warnings: Vec::new(),
            texts: RepositoryTexts::default(),
        }
    }

    fn folder(&self) -> String {
        self.line.folder(&self.name)
    }

    fn is_python(&self) -> bool {
        self.recipe.ecosystem == Ecosystem::Python
    }
}

fn usual_manager(recipe: &Recipe) -> Manager {
    if recipe.ecosystem == Ecosystem::Python { Manager::Pip } else { Manager::Npm }
}

/// The steps for a situation.
pub fn steps(situation: &Situation) -> Steps {
    let mut warnings = situation.warnings.clone();
    if !situation.is_python() {
        warnings.push(match situation.variant {
            Variant::Sdk => "@fluxloop/sdk is not on the public npm registry; this variant works only where you can install it.".to_owned(),
            Variant::Bridge => "There is no public JavaScript SDK for FluxLoop: the program is called over HTTP and stays as it is.".to_owned(),
        });
    }
    let steps =
        vec![install_step(situation), code_step(situation), config_step(situation), test_step(situation)];
    let prerequisites = prerequisites(situation);
    let estimated_time = match (situation.is_python(), situation.target.is_empty()) {
        (true, false) => "5-10 minutes",
        (false, false) => "10-15 minutes",
        (_, true) => "15-30 minutes",
    };
    Steps { steps, estimated_time, prerequisites, warnings }
}

fn prerequisites(situation: &Situation) -> Vec<String> {
    let node = if situation.line == Line::V04 {
        "Node.js 18+ installed"
    } else {
        "Node.js installed, in the version that the program needs"
    };
    let mut all = vec!["Python 3.11+ installed".to_owned()];
    if !situation.is_python() {
        all.insert(0, node.to_owned());
    }
    let pip = if situation.is_python() { situation.manager } else { Manager::Pip };
    all.push(format!("FluxLoop CLI installed: {}", install::add(pip, situation.line.requirement(), true)));
    all
}

fn install_step(situation: &Situation) -> Step {
    let (title, details) = match (situation.is_python(), situation.variant) {
        (true, Variant::Sdk) => ("Install Fluxloop SDK", install::add(situation.manager, "fluxloop", false)),
        (false, Variant::Sdk) => {
            ("Install Fluxloop SDK", install::add(situation.manager, "@fluxloop/sdk", false))
        }
        (true, Variant::Bridge) => {
            ("Install FluxLoop", install::add(situation.manager, situation.line.requirement(), true))
        }
        (false, Variant::Bridge) => {
            ("Install FluxLoop", install::add(Manager::Pip, situation.line.requirement(), true))
        }
    };
    Step {
        id: "install_sdk",
        title: title.to_owned(),
        details,
        doc_ref: situation.recipe.runner_page().to_owned(),
        code_snippet: None,
    }
}

fn code_step(situation: &Situation) -> Step {
    let recipe = situation.recipe;
    let doc_ref = if situation.is_python() { recipe.page() } else { recipe.runner_page().to_owned() };
    let id = if situation.is_python() { "add_decorator" } else { "add_middleware" };
    let (title, details, snippet) = match (situation.is_python(), situation.variant) {
        (true, Variant::Sdk) => {
            let function = situation.function.as_deref().unwrap_or("your_agent");
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
            let file = if situation.line == Line::V04 { "bridge.mjs" } else { "http_bridge.py" };
            (
                "Add the bridge".to_owned(),
                format!(
                    "Create {}/{file}: it hands one input to {} and gives back the answer. No middleware, no change in the {} code.",
                    situation.folder(),
                    situation.url.as_deref().unwrap_or("the program's endpoint"),
                    recipe.title
                ),
                None,
            )
        }
    };
    Step { id, title, details, doc_ref, code_snippet: snippet }
}

fn config_step(situation: &Situation) -> Step {
    let file = format!("{}/configs/simulation.yaml", situation.folder());
    let what = match (situation.is_python(), situation.line, situation.target.is_empty()) {
        (false, ..) if situation.variant == Variant::Sdk => {
            format!("Set runner.target in {file} to point to your {} entry point.", situation.recipe.title)
        }
        (true, _, false) => {
            format!("Set runner.target in {file} so that FluxLoop runs {}.", situation.target)
        }
        (true, _, true) => {
            format!("Set runner.target in {file} to `module:function`: a function that takes one text.")
        }
        (false, Line::V04, _) => format!(
            "In {file}, set runner.type to process and runner.command to [\"node\", \"{}/bridge.mjs\"].",
            situation.folder()
        ),
        (false, ..) => format!("Set runner.target in {file} to `http_bridge:run`."),
    };
    Step {
        id: "configure_project",
        title: "Update FluxLoop config".to_owned(),
        details: what,
        doc_ref: SIMULATION_PAGE.to_owned(),
        code_snippet: None,
    }
}

fn test_step(situation: &Situation) -> Step {
    let run = install::within(Some(situation.manager), &situation.line.run_once(&situation.name));
    let start = match &situation.start {
        Some(start) => format!("Start the program ({start}), then run"),
        None => "Run".to_owned(),
    };
    Step {
        id: "test_integration",
        title: "Test integration".to_owned(),
        details: format!("{start}: {run}. Then look into {}.", situation.line.results(&situation.name)),
        doc_ref: RUN_PAGE.to_owned(),
        code_snippet: None,
    }
}
