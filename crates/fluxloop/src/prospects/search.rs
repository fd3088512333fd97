//! Trying what may be meant: whatever the recipes do not refuse is a way in.

use codebase::{Agent, CANDIDATE, Ecosystem, Framework, Profile, Route};
use tree::{Budget, Tree};

use super::{Candidate, OpenField, Prospect, Wanted, name_of};
use crate::endpoint::rank;
use crate::integrate::{Ask, Integration, Variant, integrate};
use crate::package::{self, is_python, owner};
use crate::recipe::{Recipe, recipe};

/// The most frameworks of a package that are tried, and the most functions and routes of a framework.
const FRAMEWORKS: usize = 4;
const AGENTS: usize = 10;

/// A search for ways in.
pub(super) struct Search<'a> {
    pub(super) tree: &'a Tree,
    pub(super) profile: &'a Profile,
    pub(super) wanted: &'a Wanted,
    pub(super) budget: &'a Budget,
}

/// What is tried at a time, besides what is wanted anyway.
#[derive(Clone, Copy, Default)]
struct Try<'t> {
    variant: Option<Variant>,
    agent: Option<&'t str>,
    field: Option<&'t str>,
}

impl Search<'_> {
    pub(super) fn is_over(&self) -> bool {
        self.budget.is_over() || self.budget.is_stopped()
    }

    /// The packages that may be meant; those in which a model is called come first.
    pub(super) fn packages(&self) -> Result<Vec<String>, String> {
        if let Some(wanted) = &self.wanted.package {
            return Ok(vec![package::folder_of(self.profile, wanted)?]);
        }
        if let Some((path, _)) = self.wanted.agent.as_ref().and_then(|agent| agent.split_once(':')) {
            return Ok(vec![owner(self.profile, path)]);
        }
        let mut folders: Vec<String> = Vec::new();
        let agents = self.profile.agents.iter().map(|agent| owner(self.profile, &agent.path));
        let routes = self.profile.routes.iter().map(|route| owner(self.profile, &route.file));
        let projects = self.profile.projects.iter().map(|project| project.folder.clone());
        let by_frameworks = self.profile.frameworks.iter().map(|framework| framework.project.clone());
        for folder in agents.chain(routes).chain(by_frameworks).chain(projects) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    /// The frameworks of a package that there are recipes for, the surest first.
    pub(super) fn recipes(&self, folder: &str) -> Vec<(&'static Recipe, Option<&Framework>)> {
        let project = self.profile.projects.iter().find(|project| project.folder == folder);
        let is_used = |one: &&Framework| {
            one.project == folder || project.is_some_and(|project| project.frameworks.contains(&one.name))
        };
        let sure = self.profile.frameworks.iter().filter(|one| one.confidence >= CANDIDATE);
        let known = sure.filter(is_used).filter_map(|one| {
            let recipe = recipe(one.name).filter(|recipe| recipe.ecosystem == one.ecosystem)?;
            Some((recipe, Some(one)))
        });
        let mut known: Vec<_> = known.take(FRAMEWORKS).collect();
        if let Some(wanted) = self.wanted.recipe {
            known.retain(|(recipe, _)| recipe.name == wanted.name);
            return if known.is_empty() { vec![(wanted, None)] } else { known };
        }
        let path = self.wanted.agent.as_deref().and_then(|agent| agent.split_once(':')).map(|(path, _)| path);
        if path.is_some_and(is_python) {
            known.retain(|(recipe, _)| recipe.ecosystem == Ecosystem::Python);
        }
        let has_python = known.iter().any(|(recipe, _)| recipe.ecosystem == Ecosystem::Python);
        let calls_model = || self.agents(folder).next().is_some();
        if !has_python && (path.is_some_and(is_python) || calls_model()) {
            known.extend(recipe("python").map(|recipe| (recipe, None)));
        }
        known
    }

    /// The Python functions of a package that act as an agent.
    fn agents<'s>(&'s self, folder: &'s str) -> impl Iterator<Item = &'s Agent> {
        let own = move |agent: &&Agent| is_python(&agent.path) && owner(self.profile, &agent.path) == folder;
        self.profile.agents.iter().filter(own)
    }

    /// The routes of a package in the language of a recipe, the likeliest first.
    fn routes(&self, folder: &str, recipe: &Recipe) -> Vec<&Route> {
        let speaks = |route: &&Route| is_python(&route.file) == (recipe.ecosystem == Ecosystem::Python);
        let own = |route: &&Route| owner(self.profile, &route.file) == folder;
        let mut routes: Vec<&Route> = self.profile.routes.iter().filter(speaks).filter(own).collect();
        routes.sort_by_key(|route| rank(route));
        routes
    }

    /// What it comes to; why not, if it is refused.
    fn attempt(&self, folder: &str, recipe: &'static Recipe, what: Try<'_>) -> Result<Integration, String> {
        let ask = Ask {
            recipe,
            package: Some(shown(folder).to_owned()),
            variant: self.wanted.variant.or(what.variant),
            line: self.wanted.line,
            agent: what.agent.map(str::to_owned).or_else(|| self.wanted.agent.clone()),
            request_field: what.field.map(str::to_owned).or_else(|| self.wanted.request_field.clone()),
        };
        let integration = integrate(self.tree, self.profile, &ask)?;
        match &integration.refused {
            Some(reason) => Err(reason.clone()),
            None => Ok(integration),
        }
    }

    pub(super) fn prospect(
        &self,
        folder: &str,
        recipe: &'static Recipe,
        framework: Option<&Framework>,
    ) -> Result<Prospect, String> {
        let is_python = recipe.ecosystem == Ecosystem::Python;
        let bridged = Try { variant: Some(Variant::Bridge), ..Try::default() };
        let mut is_asked_for = false;
        let attempt = self.attempt(folder, recipe, Try::default()).or_else(|reason| {
            // What stands in the way of the SDK may not stand in the way of a bridge. The other way round there is no
            // telling: middleware can be put into any program, whether it has an agent or not.
            is_asked_for = true;
            let bridge = self.attempt(folder, recipe, bridged).ok();
            bridge.filter(|bridge| is_python && bridge.variant == Variant::Bridge).ok_or(reason)
        });
        let (integration, agents) = match attempt {
            Ok(integration) => {
                let agents = self.candidates(folder, recipe, &integration);
                (integration, agents)
            }
            Err(reason) => {
                is_asked_for = false;
                self.with_field(folder, recipe, &reason).ok_or(reason)?
            }
        };
        let agent = agents.first().filter(|agent| agent.field.is_some());
        let field = agent.and_then(|agent| agent.field.as_ref()).map(OpenField::guess);
        let other = match integration.variant {
            Variant::Sdk => Variant::Bridge,
            Variant::Bridge => Variant::Sdk,
        };
        let what = Try {
            variant: Some(other),
            agent: agent.map(|agent| agent.value.as_str()),
            field: field.as_deref(),
        };
        let is_open = self.wanted.variant.is_none() && self.attempt(folder, recipe, what).is_ok();
        let mut variants = vec![integration.variant];
        variants.extend(is_open.then_some(other));
        let found = framework.map(|framework| {
            let own = framework.evidence.iter().find(|proof| owner(self.profile, &proof.path) == folder);
            (framework.confidence, own.cloned())
        });
        Ok(Prospect {
            package: folder.to_owned(),
            recipe,
            found,
            target: integration.shown_target.clone(),
            variant: integration.variant,
            why_variant: (!is_asked_for).then(|| integration.why_variant.clone()),
            variants,
            agents,
            integration,
        })
    }

    /// The functions, and the routes to those that cannot be called themselves.
    fn candidates(&self, folder: &str, recipe: &'static Recipe, usual: &Integration) -> Vec<Candidate> {
        // Middleware is for the whole program.
        let is_python = recipe.ecosystem == Ecosystem::Python;
        if self.wanted.agent.is_some() || (!is_python && usual.variant == Variant::Sdk) {
            return Vec::new();
        }
        let mut named: Vec<Candidate> = Vec::new();
        // Seen from its own package: everything in `examples/shop` is the shop's product.
        let is_aside = |path: &str| {
            codebase::is_aside(path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/'))
        };
        let agents = self.agents(folder).filter(|agent| is_python && !is_aside(&agent.path));
        let mut keep = |candidate: Candidate| {
            if self.is_over() {
                return false;
            }
            let variant = Some(usual.variant);
            let what = Try { variant, agent: Some(&candidate.value), field: None };
            let found = self.attempt(folder, recipe, what);
            let is_usual = found.as_ref().is_ok_and(|found| found.target == usual.target);
            let can_be = found.is_ok();
            if can_be && named.iter().all(|known| known.value != candidate.value) {
                named.push(Candidate { is_usual, ..candidate });
            }
            can_be
        };
        let mut reached: Vec<&str> = Vec::new();
        for agent in agents.take(AGENTS) {
            if keep(Candidate::function(self.profile, agent)) {
                reached.push(&agent.name);
            }
        }
        for route in self.routes(folder, recipe).into_iter().take(AGENTS) {
            if !reached.contains(&route.agent.as_str()) {
                keep(Candidate::route(self.profile, route, None));
            }
        }
        named
    }

    /// The routes that can be called as soon as somebody says which field carries the text.
    fn with_field(
        &self,
        folder: &str,
        recipe: &'static Recipe,
        why: &str,
    ) -> Option<(Integration, Vec<Candidate>)> {
        if self.wanted.request_field.is_some() {
            return None;
        }
        let mut first = None;
        let mut named = Vec::new();
        for route in self.routes(folder, recipe).into_iter().take(AGENTS) {
            let without = Try { agent: Some(&name_of(route)), ..Try::default() };
            let why = self.attempt(folder, recipe, without).err().unwrap_or_else(|| why.to_owned());
            let field = OpenField { why, known: route.request.clone() };
            let candidate = Candidate::route(self.profile, route, Some(field));
            let is_wanted = self.wanted.agent.as_ref().is_none_or(|wanted| *wanted == candidate.value);
            let field = candidate.field.as_ref().map(OpenField::guess);
            let what = Try { agent: Some(&candidate.value), field: field.as_deref(), ..Try::default() };
            if let Some(found) = self.attempt(folder, recipe, what).ok().filter(|_| is_wanted) {
                named.push(Candidate { is_usual: first.is_none(), ..candidate });
                first.get_or_insert(found);
            }
        }
        first.map(|first| (first, named))
    }
}

fn shown(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}
