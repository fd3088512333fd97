//! What could be integrated in a repository, for somebody who has to choose: every way in that leads to edits.
//!
//! Nothing here guesses. A way is offered because [`integrate`](crate::integrate) was asked for it and did not refuse, so that whatever is
//! chosen can be done.

mod search;

use codebase::{Agent, Evidence, NameKind, Profile, Route};
use tree::{Budget, Tree};

use crate::integrate::{Integration, Variant, shown_route};
use crate::line::Line;
use crate::recipe::Recipe;
use search::Search;

/// The most packages that are tried, and the most reasons that are given.
const PACKAGES: usize = 12;
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
    /// What would be run if nothing more was said, in a sentence.
    pub target: String,
    /// The variant that would be taken.
    pub variant: Variant,
    /// Why it would be taken by itself; nothing if it has to be asked for, because the usual one cannot be had.
    pub why_variant: Option<String>,
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
    /// How many packages were not looked at, because there are so many.
    pub unseen: usize,
}

/// Finds every way in. That the package is not there is the only error.
pub fn prospects(
    tree: &Tree,
    profile: &Profile,
    wanted: &Wanted,
    budget: &Budget,
) -> Result<Prospects, String> {
    let search = Search { tree, profile, wanted, budget };
    let mut folders = search.packages()?;
    let mut all = Prospects { unseen: folders.len().saturating_sub(PACKAGES), ..Prospects::default() };
    folders.truncate(PACKAGES);
    for folder in folders {
        let mut own: Vec<Prospect> = Vec::new();
        for (recipe, framework) in search.recipes(&folder) {
            if search.is_over() {
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

impl OpenField {
    /// A field to try it with; which one it is does not decide whether it can be done.
    fn guess(&self) -> String {
        self.known.first().cloned().unwrap_or_else(|| "message".to_owned())
    }
}

impl Candidate {
    fn function(profile: &Profile, agent: &Agent) -> Self {
        let from = agent.reached_from.as_ref().map(|from| {
            let is_it = |route: &&Route| name_of(route) == *from;
            let from = match profile.routes.iter().find(is_it) {
                Some(route) => shown_route(&profile.texts, route),
                None => profile.texts.file(from).into_owned(),
            };
            format!(", reached from {from}")
        });
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

    fn route(profile: &Profile, route: &Route, field: Option<OpenField>) -> Self {
        Self {
            value: name_of(route),
            name: name_of(route),
            path: route.file.clone(),
            line: route.line,
            why: why_of(profile, route),
            is_usual: false,
            field,
        }
    }
}

fn name_of(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

fn why_of(profile: &Profile, route: &Route) -> String {
    match route.agent.as_str() {
        "" => "leads to a language model".to_owned(),
        agent if agent == route.handler => "calls a language model".to_owned(),
        agent => {
            let name = profile.texts.name(NameKind::Identifier, agent, &route.file, route.line);
            format!("leads to {name}")
        }
    }
}
