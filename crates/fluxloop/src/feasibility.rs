//! Lists every integration that is possible in a repository, so that the user can choose one.
//!
//! Nothing here guesses: each candidate was tried with [`integrate`](crate::integrate) and not refused, so
//! any choice leads to edits.

mod search;

use codebase::{Evidence, NameKind, Profile, Route};
use tree::{Tree, WorkBudget};

use crate::blocker::Blocker;
use crate::candidate::{Candidate, CandidateKind};
use crate::integrate::{Integration, IntegrationOptions, UnknownPackage, Variant, display_route, integrate};
use crate::recipe::Recipe;
use crate::route_choice::route_label;
use search::IntegrationSearch;

/// Limits on the packages tried and on the reasons returned.
const MAX_PACKAGES: usize = 12;
const MAX_REASONS: usize = 4;

/// A package and framework that can be integrated, with the choices that are still open.
#[derive(Debug)]
pub struct FeasibleIntegration {
    /// Folder of the package; empty for the root.
    pub package: String,
    pub recipe: &'static Recipe,
    /// Confidence that the framework is used, with the evidence; `None` for plain Python.
    pub detection: Option<(f64, Option<Evidence>)>,
    /// Display name of what would run by default.
    pub target: String,
    /// The default variant.
    pub variant: Variant,
    /// Why it is the default; `None` if the usual variant is impossible and this one must be requested
    /// explicitly.
    pub why_variant: Option<String>,
    /// All variants that are possible.
    pub variants: Vec<Variant>,
    /// What FluxLoop could run. If no candidate is [the default](AgentCandidate::is_default), the default
    /// target is not in this list.
    pub agents: Vec<AgentCandidate>,
    integration: Integration,
}

/// A function or a route that FluxLoop could run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCandidate {
    /// Value for the `agent` option: `path/to/file.py:function` or `POST /chat`.
    pub value: String,
    pub name: String,
    pub path: String,
    pub line: u32,
    pub why: String,
    pub is_default: bool,
    /// Set if the code does not show which request field carries the input: the user has to name it.
    pub field: Option<UnresolvedField>,
}

/// A request field that the user has to name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedField {
    pub why: String,
    /// The fields found in the code.
    pub known_fields: Vec<String>,
}

#[derive(Debug, Default)]
pub struct FeasibleIntegrations {
    /// Most likely first.
    pub integrations: Vec<FeasibleIntegration>,
    /// Why other combinations were refused; if `integrations` is empty, these explain why.
    pub reasons: Vec<String>,
    /// Number of packages beyond the limit, which were not tried.
    pub skipped_packages: usize,
}

/// Finds every possible integration, with `recipe` only or with any recipe.
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
                // Two frameworks of a package that result in the same edits are one choice.
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

/// The integration by a recipe; if it cannot be done that way, by the next framework of the same package that can.
pub fn integrate_or_fall_back(
    tree: &Tree,
    profile: &Profile,
    recipe: &'static Recipe,
    options: &IntegrationOptions,
    budget: &WorkBudget,
) -> Result<Integration, UnknownPackage> {
    let first = integrate(tree, profile, recipe, options)?;
    let is_choice = |blocker: &Blocker| matches!(blocker.argument, Some("framework" | "package"));
    if first.blockers().is_empty() || first.blockers().iter().any(is_choice) {
        return Ok(first);
    }
    let search = IntegrationSearch { tree, profile, recipe: None, options, budget };
    let folders = search.packages()?.into_iter().take(MAX_PACKAGES);
    let mut others: Vec<(String, &'static Recipe)> = folders
        .flat_map(|folder| search.recipes(&folder).into_iter().map(move |(other, _)| (folder.clone(), other)))
        .collect();
    // A program in the same language first.
    others.sort_by_key(|(_, other)| other.ecosystem != recipe.ecosystem);
    for (folder, other) in others {
        if search.is_exhausted() {
            return Ok(first);
        }
        if other.name == recipe.name && (options.package.is_some() || folder == first.package) {
            continue;
        }
        let package = Some(search::package_argument(&folder).to_owned());
        let options = IntegrationOptions { package, ..options.clone() };
        let mut next = integrate(tree, profile, other, &options)?;
        if next.blockers().is_empty() {
            let why = first.refusal().unwrap_or_default();
            let shown = |of: &Integration| match of.package.as_str() {
                "" => of.recipe.title.to_owned(),
                folder => format!("{} in {}", of.recipe.title, profile.redactor.folder(folder)),
            };
            let note = format!("Planned for {}, since not for {}: {why}.", shown(&next), shown(&first));
            next.facts.notes.insert(0, note);
            return Ok(next);
        }
    }
    Ok(first)
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
    /// Any field name to try the integration with: feasibility does not depend on which one it is.
    fn placeholder(&self) -> String {
        self.known_fields.first().cloned().unwrap_or_else(|| "message".to_owned())
    }
}

impl AgentCandidate {
    fn from_candidate(profile: &Profile, candidate: &Candidate, is_default: bool) -> Self {
        let agent = profile.agents.iter().find(|agent| {
            agent.path == candidate.path
                && candidate.kind == CandidateKind::Function
                && agent.name == candidate.leads_to
        });
        let from = agent.and_then(|agent| agent.reached_from.as_ref()).map(|from| {
            let is_it = |route: &&Route| route_label(route) == *from;
            let from = match profile.routes.iter().find(is_it) {
                Some(route) => display_route(&profile.redactor, route),
                None => profile.redactor.file(from).into_owned(),
            };
            format!(", reached from {from}")
        });
        Self {
            value: candidate.agent.clone(),
            name: if candidate.leads_to.is_empty() || candidate.kind == CandidateKind::Route {
                candidate.agent.clone()
            } else {
                candidate.leads_to.clone()
            },
            path: candidate.path.clone(),
            line: candidate.line,
            why: format!("{}{}", candidate.why, from.unwrap_or_default()),
            is_default,
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
