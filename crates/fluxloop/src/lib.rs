//! What integrating FluxLoop into a program means.
//!
//! [`integrate`] turns an analysed repository into the edits that make FluxLoop run it: decorators on the agent's
//! functions, a file through which FluxLoop calls it, and the configuration of the FluxLoop line that is used here. Where
//! nothing right can be done it says why. [`steps`] tells the same as a list for people.
//!
//! [`project`] reads what is there already: settings, inputs, experiments and evaluations of FluxLoop projects.

mod checks;
mod config;
mod decorations;
mod dependency;
mod development;
mod endpoint;
mod graph;
mod install;
mod integrate;
mod layout;
mod line;
mod middleware;
mod node;
mod package;
mod pattern;
pub mod project;
mod prospects;
mod python;
mod recipe;
mod steps;
mod target;
mod wrapper;

pub use checks::is_check;
pub use integrate::{Ask, Integration, Variant, integrate};
pub use line::Line;
pub use package::likely;
pub use pattern::{Pattern, pattern};
pub use project::{holds_secret, secret_lines};
pub use prospects::{Candidate, OpenField, Prospect, Prospects, Wanted, prospects};
pub use recipe::{RECIPES, Recipe, recipe};
pub use steps::{Situation, Step, Steps, steps};

use codebase::plan::WrongImport;

/// Imports that people write and that do not work.
pub const WRONG_IMPORTS: &[WrongImport] = &[WrongImport {
    wrong: "from fluxloop import fluxloop",
    right: "import fluxloop",
    why: "the package `fluxloop` has no name `fluxloop` in it",
}];
