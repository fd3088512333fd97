//! What could be integrated, as far as later questions need it: small, since it travels with the conversation.

use codebase::{Ecosystem, NameKind, RepositoryTexts};
use flow::Halt;
use fluxloop::{Candidate, OpenField, Prospect, Prospects, Variant, Wanted, prospects, recipe};
use serde::{Deserialize, Serialize};
use tree::Budget;

use super::proposal::harmless;
use crate::error::Failure;
use crate::tools::analyze_repository::warnings;
use crate::tools::support::integration::Subject;

/// The most notes about the analysis that are kept.
const NOTES: usize = 5;

/// What was found.
#[derive(Serialize, Deserialize)]
pub(super) struct Survey {
    /// The ways in, the likeliest first.
    pub(super) fits: Vec<Fit>,
    /// How many packages were not looked at.
    pub(super) unseen: usize,
    /// Why there are no others.
    reasons: Vec<String>,
    /// What could not be read.
    notes: Vec<String>,
}

/// One way in.
#[derive(Serialize, Deserialize)]
pub(super) struct Fit {
    /// The folder of the package; `.` for the root.
    pub(super) package: String,
    /// The same in a question: a stand-in, if it has no plain name.
    pub(super) shown: String,
    pub(super) framework: String,
    /// What shows that the framework is used.
    pub(super) why: String,
    /// What would be run, in a question.
    pub(super) target: String,
    pub(super) variant: String,
    /// Why it is the variant by itself; nothing if the usual one cannot be had.
    pub(super) why_variant: Option<String>,
    pub(super) variants: Vec<String>,
    pub(super) agents: Vec<Agent>,
}

/// What could be run.
#[derive(Serialize, Deserialize)]
pub(super) struct Agent {
    pub(super) value: String,
    /// The same as an answer to choose: a stand-in, if it has no plain name. No two are alike.
    pub(super) shown: String,
    /// What it is called, where it stands, and why it is one.
    pub(super) label: String,
    pub(super) is_usual: bool,
    pub(super) field: Option<Field>,
}

/// A field of the request that only the user knows.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Field {
    pub(super) why: String,
    pub(super) known: Vec<String>,
}

impl Survey {
    pub(super) fn of(subject: &Subject, wanted: &Wanted, budget: &Budget) -> Result<Self, Failure> {
        let Prospects { found, reasons, unseen } = prospects(&subject.tree, &subject.profile, wanted, budget)
            .map_err(|error| Failure::argument("package", error))?;
        let mut notes = warnings(&subject.profile);
        notes.truncate(NOTES);
        let texts = &subject.profile.texts;
        let fits = found.into_iter().map(|prospect| Fit::of(prospect, texts)).collect();
        Ok(Self { fits, unseen, reasons, notes })
    }

    /// Why there is nothing to do; or why not, where there would be something.
    pub(super) fn nothing(&self) -> Result<Vec<String>, Halt> {
        if !self.reasons.is_empty() {
            return Err(Halt::refuse(format!(
                "FluxLoop cannot be integrated here, and nothing was written: {}",
                self.reasons.join("; ")
            )));
        }
        let why = "No framework was found that there is a recipe for, and no function that calls a language model. Name \
                   the function to run as `agent` (\"path/to/file.py:function\"), or another folder as `root`.";
        Ok(std::iter::once(why.to_owned()).chain(self.notes.iter().cloned()).collect())
    }
}

impl Fit {
    /// Whether a question about the agent makes sense: middleware is for a whole program.
    pub(super) fn runs_an_agent(&self, variant: &str) -> bool {
        self.is_python() || variant == Variant::Bridge.name()
    }

    pub(super) fn is_python(&self) -> bool {
        recipe(&self.framework).is_some_and(|recipe| recipe.ecosystem == Ecosystem::Python)
    }
}

impl Fit {
    fn of(prospect: Prospect, texts: &RepositoryTexts) -> Self {
        let title = prospect.recipe.title;
        let why = match &prospect.found {
            None => format!("{title}, whose functions call a language model"),
            Some((confidence, evidence)) => {
                let proof = evidence.as_ref();
                let proof =
                    proof.map(|proof| format!(": {} {}", texts.place(&proof.path, proof.line), proof.fact));
                format!("{title} ({:.0} % sure{})", confidence * 100.0, proof.unwrap_or_default())
            }
        };
        let mut agents: Vec<Agent> = Vec::new();
        for candidate in prospect.agents {
            let mut agent = Agent::of(candidate, texts);
            // Routes of one function stand in one line.
            if agents.iter().any(|known| known.shown == agent.shown) {
                agent.shown = format!("{} {}", agent.shown, agents.len() + 1);
            }
            agents.push(agent);
        }
        Self {
            shown: texts.folder(&prospect.package).into_owned(),
            package: if prospect.package.is_empty() { ".".to_owned() } else { prospect.package },
            framework: prospect.recipe.name.to_owned(),
            why: harmless(&why),
            target: prospect.target,
            variant: prospect.variant.name().to_owned(),
            why_variant: prospect.why_variant,
            variants: prospect.variants.iter().map(|variant| variant.name().to_owned()).collect(),
            agents,
        }
    }
}

impl Agent {
    fn of(candidate: Candidate, texts: &RepositoryTexts) -> Self {
        let Candidate { value, name, path, line, why, is_usual, field } = candidate;
        let field = field.map(|OpenField { why, mut known }| {
            // Whoever means another one writes it down.
            known.retain(|name| NameKind::Identifier.is_plain(name));
            Field { why: harmless(&why), known }
        });
        let is_route = value == name;
        let kind = if is_route { NameKind::Route } else { NameKind::Identifier };
        let name = texts.name(kind, &name, &path, line);
        let shown = if is_route { name.to_string() } else { format!("{}:{name}", texts.file(&path)) };
        let label = harmless(&format!("{name} at {} ({why})", texts.place(&path, line)));
        Self { value, shown, label, is_usual, field }
    }
}
