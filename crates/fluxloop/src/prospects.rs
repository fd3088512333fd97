//! What could be integrated in a repository, for somebody who has to choose: every way in that leads to edits.
//!
//! Nothing here guesses. A way is offered because [`integrate`] was asked for it and did not refuse, so that whatever is
//! chosen can be done.

use codebase::{Agent, CANDIDATE, Ecosystem, Evidence, Framework, Profile, Route};
use tree::{Budget, Tree};

use crate::endpoint::rank;
use crate::integrate::{Ask, Integration, Variant, integrate};
use crate::line::Line;
use crate::package::{self, is_python, owner};
use crate::recipe::{Recipe, recipe};

/// The most packages, frameworks of a package and agents of a framework that are tried.
const PACKAGES: usize = 12;
const FRAMEWORKS: usize = 4;
const AGENTS: usize = 10;
const REASONS: usize = 4;

/// What is decided already. The rest is open.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The framework.
    pub recipe: Option<&'static Recipe>,
    /// The package: its folder or its name.
    pub package: Option<String>,
    /// The variant.
    pub variant: Option<Variant>,
    /// The line of the CLI.
    pub line: Option<Line>,
    /// The function or the route.
    pub agent: Option<String>,
    /// The field of the request.
    pub request_field: Option<String>,
}

/// One way in: a package and a framework, and what is open about them.
#[derive(Debug)]
pub struct Prospect {
    /// The folder of the package; empty for the root.
    pub package: String,
    /// The framework.
    pub recipe: &'static Recipe,
    /// How sure it is that the framework is used, and what shows it; nothing for plain Python.
    pub found: Option<(f64, Option<Evidence>)>,
    /// What would be run if nothing more was said.
    pub target: String,
    /// The variant that would be taken.
    pub variant: Variant,
    /// Why.
    pub why_variant: String,
    /// All variants that lead to edits.
    pub variants: Vec<Variant>,
    /// What could be run. The one that would be taken is [marked](Candidate::is_usual); if none is, it is something else.
    pub agents: Vec<Candidate>,
    integration: Integration,
}

/// A function or a route that FluxLoop could run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
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
    pub is_usual: bool,
    /// Only the user knows which field of the request carries the text.
    pub field: Option<OpenField>,
}

/// A field that has to be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenField {
    /// Why.
    pub why: String,
    /// The fields that the code shows.
    pub known: Vec<String>,
}

/// What could be integrated.
#[derive(Debug, Default)]
pub struct Prospects {
    /// The likeliest first.
    pub found: Vec<Prospect>,
    /// Why others were left out: everything that speaks against it, if there is nothing else.
    pub reasons: Vec<String>,
}

/// Finds every way in. That the package is not there is the only error.
pub fn prospects(
    tree: &Tree,
    profile: &Profile,
    wanted: &Wanted,
    budget: &Budget,
) -> Result<Prospects, String> {
    let search = Search { tree, profile, wanted };
    let mut all = Prospects::default();
    for folder in search.packages()? {
        let mut own: Vec<Prospect> = Vec::new();
        for (recipe, framework) in search.recipes(&folder) {
            if budget.is_over() || budget.is_stopped() {
                break;
            }
            match search.prospect(&folder, recipe, framework) {
                // Two frameworks of a package that come to the same edits are one choice.
                Ok(prospect) if own.iter().any(|known| known.is_same(&prospect)) => {}
                Ok(prospect) => own.push(prospect),
                Err(reason) if all.reasons.contains(&reason) => {}
                Err(reason) => all.reasons.push(reason),
            }
        }
        all.found.append(&mut own);
    }
    all.reasons.truncate(REASONS);
    let is_aside = |prospect: &Prospect| codebase::is_aside(&format!("{}/x", prospect.package));
    if wanted.package.is_none() && !all.found.iter().all(is_aside) {
        all.found.retain(|prospect| !is_aside(prospect));
    }
    all.found.sort_by(|one, other| {
        one.is_unclear()
            .cmp(&other.is_unclear())
            .then_with(|| other.confidence().total_cmp(&one.confidence()))
    });
    Ok(all)
}

impl Prospect {
    fn is_same(&self, other: &Self) -> bool {
        self.integration.edits == other.integration.edits
    }

    fn is_unclear(&self) -> bool {
        !self.agents.is_empty() && self.agents.iter().all(|agent| agent.field.is_some())
    }

    fn confidence(&self) -> f64 {
        self.found.as_ref().map_or(0.0, |(confidence, _)| *confidence)
    }
}

struct Search<'a> {
    tree: &'a Tree,
    profile: &'a Profile,
    wanted: &'a Wanted,
}

/// What is tried at a time, besides what is wanted anyway.
#[derive(Clone, Copy, Default)]
struct Try<'t> {
    variant: Option<Variant>,
    agent: Option<&'t str>,
    field: Option<&'t str>,
}

impl Search<'_> {
    /// The packages that may be meant: those in which a model is called, or all if there are none.
    fn packages(&self) -> Result<Vec<String>, String> {
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
        folders.truncate(PACKAGES);
        Ok(folders)
    }

    /// The frameworks of a package that there are recipes for, the surest first.
    fn recipes(&self, folder: &str) -> Vec<(&'static Recipe, Option<&Framework>)> {
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

    fn prospect(
        &self,
        folder: &str,
        recipe: &'static Recipe,
        framework: Option<&Framework>,
    ) -> Result<Prospect, String> {
        let is_python = recipe.ecosystem == Ecosystem::Python;
        let bridged = Try { variant: Some(Variant::Bridge), ..Try::default() };
        let (integration, agents) = match self.attempt(folder, recipe, Try::default()) {
            Ok(integration) => {
                let agents = self.candidates(folder, recipe, &integration);
                (integration, agents)
            }
            // What stands in the way of the SDK may not stand in the way of a bridge. The other way round there is no
            // telling: middleware can be put into any program, whether it has an agent or not.
            Err(reason) => match self.attempt(folder, recipe, bridged).ok().filter(|_| is_python) {
                Some(integration) => {
                    let agents = self.candidates(folder, recipe, &integration);
                    (integration, agents)
                }
                None => self.with_field(folder, recipe, &reason).ok_or(reason)?,
            },
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
            target: integration.target.clone(),
            variant: integration.variant,
            why_variant: integration.why_variant.clone(),
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
        let agents: Vec<&Agent> =
            self.agents(folder).filter(|agent| is_python && !codebase::is_aside(&agent.path)).collect();
        let mut keep = |candidate: Candidate| {
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
        for agent in agents.iter().take(AGENTS) {
            if keep(Candidate::function(agent)) {
                reached.push(&agent.name);
            }
        }
        for route in self.routes(folder, recipe).into_iter().take(AGENTS) {
            if !reached.contains(&route.agent.as_str()) {
                keep(Candidate::route(route, None));
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
            let candidate = Candidate::route(route, Some(OpenField { why, known: route.request.clone() }));
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

impl OpenField {
    /// A field to try it with; which one it is does not decide whether it can be done.
    fn guess(&self) -> String {
        self.known.first().cloned().unwrap_or_else(|| "message".to_owned())
    }
}

impl Candidate {
    fn function(agent: &Agent) -> Self {
        let from = agent.reached_from.as_ref().map(|from| format!(", reached from {from}"));
        Self {
            value: format!("{}:{}", agent.path, agent.name),
            name: agent.name.clone(),
            path: agent.path.clone(),
            line: agent.line,
            why: format!("{}{}", agent.why.fact, from.unwrap_or_default()),
            is_usual: false,
            field: None,
        }
    }

    fn route(route: &Route, field: Option<OpenField>) -> Self {
        Self {
            value: name_of(route),
            name: name_of(route),
            path: route.file.clone(),
            line: route.line,
            why: why_of(route),
            is_usual: false,
            field,
        }
    }
}

fn name_of(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn why_of(route: &Route) -> String {
    match route.agent.as_str() {
        "" => "leads to a language model".to_owned(),
        agent if agent == route.handler => "calls a language model".to_owned(),
        agent => format!("leads to {agent}"),
    }
}

fn shown(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}
