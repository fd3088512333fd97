//! What could be integrated in a repository, for somebody who has to choose: every way in that leads to edits.
//!
//! Nothing here guesses. A way is offered because [`integrate`](crate::integrate) was asked for it and did not refuse, so that whatever is
//! chosen can be done.

mod search;

use codebase::{Agent, Evidence, NameKind, Profile, Route};
use tree::{Tree, WorkBudget};

use crate::integrate::{Integration, IntegrationOptions, UnknownPackage, Variant, display_route};
use crate::recipe::Recipe;
use search::IntegrationSearch;

/// The most packages that are tried, and the most reasons that are given.
const MAX_PACKAGES: usize = 12;
const MAX_REASONS: usize = 4;

/// One way in: a package and a framework, and what is open about them.
#[derive(Debug)]
pub struct FeasibleIntegration {
    /// The folder of the package; empty for the root.
    pub package: String,
    /// The framework.
    pub recipe: &'static Recipe,
    /// How sure it is that the framework is used, and what shows it; nothing for plain Python.
    pub detection: Option<(f64, Option<Evidence>)>,
    /// What would be run if nothing more was said, in a sentence.
    pub target: String,
    /// The variant that would be taken.
    pub variant: Variant,
    /// Why it would be taken by itself; nothing if it has to be asked for, because the usual one cannot be had.
    pub why_variant: Option<String>,
    /// All variants that lead to edits.
    pub variants: Vec<Variant>,
    /// What could be run. The one that would be taken is [marked](AgentCandidate::is_default); if none is, it is something else.
    pub agents: Vec<AgentCandidate>,
    integration: Integration,
}

/// A function or a route that FluxLoop could run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCandidate {
    /// What names it: `path/to/file.py:function` or `POST /chat`.
    pub value: String,
    /// Its name: the function's, or that of the route.
    pub name: String,
    /// Where it stands.
    pub path: String,
    /// In which line.
    pub line: u32,
    /// Why it is one.
    pub why: String,
    /// It would be taken if nothing was said.
    pub is_default: bool,
    /// Only the user knows which field of the request carries the text.
    pub field: Option<UnresolvedField>,
}

/// A field that has to be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedField {
    /// Why.
    pub why: String,
    /// The fields that the code shows.
    pub known_fields: Vec<String>,
}

/// What could be integrated.
#[derive(Debug, Default)]
pub struct FeasibleIntegrations {
    /// The likeliest first.
    pub integrations: Vec<FeasibleIntegration>,
    /// Why others were left out: everything that speaks against it, if there is nothing else.
    pub reasons: Vec<String>,
    /// How many packages were not looked at, because there are so many.
    pub skipped_packages: usize,
}

/// Finds every way in: by this recipe, or by any.
pub fn find_feasible_integrations(
    tree: &Tree,
    profile: &Profile,
    recipe: Option<&'static Recipe>,
    options: &IntegrationOptions,
    budget: &WorkBudget,
) -> Result<FeasibleIntegrations, UnknownPackage> {
    let search = IntegrationSearch { tree, profile, recipe, options, budget };
    let mut folders = search.packages()?;
    let mut all = FeasibleIntegrations {
        skipped_packages: folders.len().saturating_sub(MAX_PACKAGES),
        ..FeasibleIntegrations::default()
    };
    folders.truncate(MAX_PACKAGES);
    for folder in folders {
        let mut own: Vec<FeasibleIntegration> = Vec::new();
        for (recipe, framework) in search.recipes(&folder) {
            if search.is_exhausted() {
                break;
            }
            match search.check_feasibility(&folder, recipe, framework) {
                // Two frameworks of a package that come to the same edits are one choice.
                Ok(candidate) if own.iter().any(|known| known.has_same_edits(&candidate)) => {}
                Ok(candidate) => own.push(candidate),
                Err(reason) if all.reasons.contains(&reason) => {}
                Err(reason) => all.reasons.push(reason),
            }
        }
        all.integrations.append(&mut own);
    }
    all.reasons.truncate(MAX_REASONS);
    let is_aside =
        |candidate: &FeasibleIntegration| codebase::is_example_or_test(&format!("{}/x", candidate.package));
    if options.package.is_none() && !all.integrations.iter().all(is_aside) {
        all.integrations.retain(|candidate| !is_aside(candidate));
    }
    all.integrations.sort_by(|one, other| {
        one.needs_field()
            .cmp(&other.needs_field())
            .then_with(|| other.confidence().total_cmp(&one.confidence()))
    });
    Ok(all)
}

impl FeasibleIntegration {
    fn has_same_edits(&self, other: &Self) -> bool {
        self.integration.outcome == other.integration.outcome
    }

    fn needs_field(&self) -> bool {
        !self.agents.is_empty() && self.agents.iter().all(|agent| agent.field.is_some())
    }

    fn confidence(&self) -> f64 {
        self.detection.as_ref().map_or(0.0, |(confidence, _)| *confidence)
    }
}

impl UnresolvedField {
    /// A field to try it with; which one it is does not decide whether it can be done.
    fn placeholder(&self) -> String {
        self.known_fields.first().cloned().unwrap_or_else(|| "message".to_owned())
    }
}

impl AgentCandidate {
    fn from_function(profile: &Profile, agent: &Agent) -> Self {
        let from = agent.reached_from.as_ref().map(|from| {
            let is_it = |route: &&Route| route_label(route) == *from;
            let from = match profile.routes.iter().find(is_it) {
                Some(route) => display_route(&profile.redactor, route),
                None => profile.redactor.file(from).into_owned(),
            };
            format!(", reached from {from}")
        });
        Self {
            value: format!("{}:{}", agent.path, agent.name),
            name: agent.name.clone(),
            path: agent.path.clone(),
            line: agent.line,
            why: format!("{}{}", agent.evidence.fact, from.unwrap_or_default()),
            is_default: false,
            field: None,
        }
    }

    fn from_route(profile: &Profile, route: &Route, field: Option<UnresolvedField>) -> Self {
        Self {
            value: route_label(route),
            name: route_label(route),
            path: route.file.clone(),
            line: route.line,
            why: route_reason(profile, route),
            is_default: false,
            field,
        }
    }
}

fn route_label(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn route_reason(profile: &Profile, route: &Route) -> String {
    match route.agent.as_str() {
        "" => "leads to a language model".to_owned(),
        agent if agent == route.handler => "calls a language model".to_owned(),
        agent => {
            let name = profile.redactor.name(NameKind::Identifier, agent, &route.file, route.line);
            format!("leads to {name}")
        }
    }
}
