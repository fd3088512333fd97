//! Tries recipes on packages: each attempt that is not refused is a feasible integration.

use codebase::{Agent, Ecosystem, Framework, MIN_CANDIDATE_CONFIDENCE, Profile, Route};
use tree::{Tree, WorkBudget};

use super::{AgentCandidate, FeasibleIntegration, UnresolvedField, route_label};
use crate::blocker::join_blockers;
use crate::candidate::rank_name;
use crate::integrate::{
    Integration, IntegrationOptions, IntegrationOutcome, UnknownPackage, Variant, integrate,
};
use crate::package::{self, is_python_file, owning_package};
use crate::recipe::{Recipe, find_recipe, plain_python};

/// Limits on the frameworks tried per package, and on the functions and routes tried per framework.
const MAX_FRAMEWORKS_PER_PACKAGE: usize = 4;
const MAX_AGENTS: usize = 10;

pub(super) struct IntegrationSearch<'a> {
    pub(super) tree: &'a Tree,
    pub(super) profile: &'a Profile,
    /// Only recipe to try; `None`: all that apply.
    pub(super) recipe: Option<&'static Recipe>,
    pub(super) options: &'a IntegrationOptions,
    pub(super) budget: &'a WorkBudget,
}

/// One attempt's choices. They apply where the caller's options leave the choice open.
#[derive(Clone, Copy, Default)]
struct IntegrationAttempt<'t> {
    variant: Option<Variant>,
    agent: Option<&'t str>,
    field: Option<&'t str>,
}

impl IntegrationSearch<'_> {
    pub(super) fn is_exhausted(&self) -> bool {
        self.budget.is_expired() || self.budget.is_cancelled()
    }

    /// The candidate packages; those that call a model come first.
    pub(super) fn packages(&self) -> Result<Vec<String>, UnknownPackage> {
        if let Some(wanted) = &self.options.package {
            return Ok(vec![package::resolve_package_folder(self.profile, wanted)?]);
        }
        if let Some((path, _)) = self.options.agent.as_ref().and_then(|agent| agent.split_once(':')) {
            return Ok(vec![owning_package(self.profile, path)]);
        }
        let mut folders: Vec<String> = Vec::new();
        let agents = self.profile.agents.iter().map(|agent| owning_package(self.profile, &agent.path));
        let routes = self.profile.routes.iter().map(|route| owning_package(self.profile, &route.file));
        let projects = self.profile.projects.iter().map(|project| project.folder.clone());
        let by_frameworks = self.profile.frameworks.iter().map(|framework| framework.project.clone());
        for folder in agents.chain(routes).chain(by_frameworks).chain(projects) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    /// A package's frameworks that have a recipe, highest confidence first.
    pub(super) fn recipes(&self, folder: &str) -> Vec<(&'static Recipe, Option<&Framework>)> {
        let project = self.profile.projects.iter().find(|project| project.folder == folder);
        let is_used = |one: &&Framework| {
            one.project == folder || project.is_some_and(|project| project.frameworks.contains(&one.name))
        };
        let sure = self.profile.frameworks.iter().filter(|one| one.confidence >= MIN_CANDIDATE_CONFIDENCE);
        let known = sure.filter(is_used).filter_map(|one| {
            let recipe = find_recipe(one.name).filter(|recipe| recipe.ecosystem == one.ecosystem)?;
            Some((recipe, Some(one)))
        });
        let mut known: Vec<_> = known.take(MAX_FRAMEWORKS_PER_PACKAGE).collect();
        if let Some(wanted) = self.recipe {
            known.retain(|(recipe, _)| recipe.name == wanted.name);
            return if known.is_empty() { vec![(wanted, None)] } else { known };
        }
        let path =
            self.options.agent.as_deref().and_then(|agent| agent.split_once(':')).map(|(path, _)| path);
        if path.is_some_and(is_python_file) {
            known.retain(|(recipe, _)| recipe.ecosystem == Ecosystem::Python);
        }
        let has_python = known.iter().any(|(recipe, _)| recipe.ecosystem == Ecosystem::Python);
        let calls_model = || self.agents(folder).next().is_some();
        if !has_python && (path.is_some_and(is_python_file) || calls_model()) {
            known.extend(plain_python().map(|recipe| (recipe, None)));
        }
        known
    }

    /// The agent functions of a package, in Python only.
    fn agents<'s>(&'s self, folder: &'s str) -> impl Iterator<Item = &'s Agent> {
        let own = move |agent: &&Agent| {
            is_python_file(&agent.path) && owning_package(self.profile, &agent.path) == folder
        };
        self.profile.agents.iter().filter(own)
    }

    /// The routes of a package in the recipe's language, most likely first.
    fn routes(&self, folder: &str, recipe: &Recipe) -> Vec<&Route> {
        let speaks = |route: &&Route| is_python_file(&route.file) == (recipe.ecosystem == Ecosystem::Python);
        let own = |route: &&Route| owning_package(self.profile, &route.file) == folder;
        let mut routes: Vec<&Route> = self.profile.routes.iter().filter(speaks).filter(own).collect();
        routes.sort_by_key(|route| -rank_name(&route.path));
        routes
    }

    /// Returns the integration, or the reason for the refusal.
    fn try_integrate(
        &self,
        folder: &str,
        recipe: &'static Recipe,
        what: IntegrationAttempt<'_>,
    ) -> Result<Integration, String> {
        let options = IntegrationOptions {
            package: Some(package_argument(folder).to_owned()),
            variant: self.options.variant.or(what.variant),
            release_line: self.options.release_line,
            agent: what.agent.map(str::to_owned).or_else(|| self.options.agent.clone()),
            request_field: what.field.map(str::to_owned).or_else(|| self.options.request_field.clone()),
        };
        let integration =
            integrate(self.tree, self.profile, recipe, &options).map_err(|unknown| unknown.to_string())?;
        match integration.outcome {
            IntegrationOutcome::Refused(blockers) => Err(join_blockers(&blockers)),
            IntegrationOutcome::Planned(_) => Ok(integration),
        }
    }

    pub(super) fn check_feasibility(
        &self,
        folder: &str,
        recipe: &'static Recipe,
        framework: Option<&Framework>,
    ) -> Result<FeasibleIntegration, String> {
        let is_python = recipe.ecosystem == Ecosystem::Python;
        let bridged = IntegrationAttempt { variant: Some(Variant::Bridge), ..IntegrationAttempt::default() };
        let mut is_asked_for = false;
        let attempt = self.try_integrate(folder, recipe, IntegrationAttempt::default()).or_else(|reason| {
            // What rules out the SDK may not rule out a bridge. The reverse is not tried: middleware fits any
            // program, so its success would not show that there is an agent.
            is_asked_for = true;
            let bridge = self.try_integrate(folder, recipe, bridged).ok();
            bridge.filter(|bridge| is_python && bridge.variant == Variant::Bridge).ok_or(reason)
        });
        let (integration, agents) = match attempt {
            Ok(integration) => {
                let agents = self.agent_candidates(&integration);
                (integration, agents)
            }
            Err(reason) => {
                is_asked_for = false;
                self.candidates_needing_field(folder, recipe, &reason).ok_or(reason)?
            }
        };
        let agent = agents.first().filter(|agent| agent.field.is_some());
        let field = agent.and_then(|agent| agent.field.as_ref()).map(UnresolvedField::placeholder);
        let other = match integration.variant {
            Variant::Sdk => Variant::Bridge,
            Variant::Bridge => Variant::Sdk,
        };
        let what = IntegrationAttempt {
            variant: Some(other),
            agent: agent.map(|agent| agent.value.as_str()),
            field: field.as_deref(),
        };
        let is_open = self.options.variant.is_none() && self.try_integrate(folder, recipe, what).is_ok();
        let mut variants = vec![integration.variant];
        variants.extend(is_open.then_some(other));
        let found = framework.map(|framework| {
            let own =
                framework.evidence.iter().find(|proof| owning_package(self.profile, &proof.path) == folder);
            (framework.confidence, own.cloned())
        });
        Ok(FeasibleIntegration {
            package: folder.to_owned(),
            recipe,
            detection: found,
            target: integration.target_label.clone(),
            variant: integration.variant,
            why_variant: (!is_asked_for).then(|| integration.why_variant.clone()),
            variants,
            agents,
            integration,
        })
    }

    /// What could be run, each agent once.
    fn agent_candidates(&self, usual: &Integration) -> Vec<AgentCandidate> {
        if self.options.agent.is_some() {
            return Vec::new();
        }
        let mut named: Vec<(&str, AgentCandidate)> = Vec::new();
        for candidate in &usual.candidates {
            let is_known = !candidate.leads_to.is_empty()
                && named.iter().any(|(leads_to, _)| *leads_to == candidate.leads_to);
            if !is_known && named.len() < MAX_AGENTS {
                let one = AgentCandidate::from_candidate(self.profile, candidate, named.is_empty());
                named.push((&candidate.leads_to, one));
            }
        }
        named.into_iter().map(|(_, candidate)| candidate).collect()
    }

    /// The routes that become callable once the user names the request field for the input.
    fn candidates_needing_field(
        &self,
        folder: &str,
        recipe: &'static Recipe,
        why: &str,
    ) -> Option<(Integration, Vec<AgentCandidate>)> {
        if self.options.request_field.is_some() {
            return None;
        }
        let mut first = None;
        let mut named = Vec::new();
        for route in self.routes(folder, recipe).into_iter().take(MAX_AGENTS) {
            let without =
                IntegrationAttempt { agent: Some(&route_label(route)), ..IntegrationAttempt::default() };
            let why = self.try_integrate(folder, recipe, without).err().unwrap_or_else(|| why.to_owned());
            let field = UnresolvedField { why, known_fields: route.request.clone() };
            let candidate = AgentCandidate::from_route(self.profile, route, Some(field));
            let is_wanted = self.options.agent.as_ref().is_none_or(|wanted| *wanted == candidate.value);
            let field = candidate.field.as_ref().map(UnresolvedField::placeholder);
            // Is it the field alone that is missing? What else speaks against a route is a warning where it is named.
            let by_field = IntegrationAttempt { field: field.as_deref(), ..IntegrationAttempt::default() };
            let is_that_all = self.options.agent.is_some()
                || self
                    .try_integrate(folder, recipe, by_field)
                    .is_ok_and(|found| found.candidates.iter().any(|one| one.agent == candidate.value));
            if !is_that_all {
                continue;
            }
            let what = IntegrationAttempt {
                agent: Some(&candidate.value),
                field: field.as_deref(),
                ..IntegrationAttempt::default()
            };
            if let Some(found) = self.try_integrate(folder, recipe, what).ok().filter(|_| is_wanted) {
                named.push(AgentCandidate { is_default: first.is_none(), ..candidate });
                first.get_or_insert(found);
            }
        }
        first.map(|first| (first, named))
    }
}

pub(super) fn package_argument(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}
