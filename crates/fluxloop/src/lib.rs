//! FluxLoop integration recipes, and a reader for FluxLoop projects.
//!
//! [`integrate`] turns an analysed repository into the edits that make FluxLoop run it: decorators on the
//! agent's functions, a file through which FluxLoop calls the agent, and configuration for the FluxLoop
//! release line in use. If no edit is certain to be right, it refuses with a reason. [`build_guide`] lists
//! the same steps for people.
//!
//! [`project`] reads existing FluxLoop projects: settings, inputs, experiments and evaluations.

mod application;
mod blocker;
mod candidate;
mod chain;
mod check_commands;
mod config;
mod crew;
mod decorations;
mod dependency;
mod dev_server;
mod endpoint;
mod feasibility;
mod graph;
mod guide;
mod install;
mod integrate;
mod layout;
mod middleware;
mod node;
mod package;
mod patterns;
pub mod project;
mod python;
mod python_module;
mod recipe;
mod release_line;
mod route_choice;
mod runner_pattern;
mod sample_input;
mod target;
mod unconnected;
mod wrapper;

pub use blocker::Blocker;
pub use candidate::{Candidate, CandidateKind};
pub use check_commands::is_check_command;
pub use feasibility::{
    AgentCandidate, FeasibleIntegration, FeasibleIntegrations, UnresolvedField, find_feasible_integrations,
    integrate_or_fall_back,
};
pub use guide::{GuideInput, GuideStep, IntegrationGuide, build_guide};
pub use install::install_command_words;
pub use integrate::{
    Integration, IntegrationOptions, IntegrationOutcome, SummaryKind, UnknownPackage, Variant, integrate,
};
pub use node::nothing_to_integrate;
pub use package::likely_recipe;
pub use project::{contains_secret, find_secret_lines};
pub use recipe::{RECIPES, Recipe, find_recipe};
pub use release_line::ReleaseLine;
pub use runner_pattern::{RunnerPattern, runner_pattern};

use codebase::plan::WrongImport;

/// Common but wrong imports of the SDK.
pub const WRONG_IMPORTS: &[WrongImport] = &[WrongImport {
    wrong: "from fluxloop import fluxloop",
    right: "import fluxloop",
    why: "the package `fluxloop` exports no name `fluxloop`",
}];
