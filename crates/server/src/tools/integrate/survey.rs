//! The feasible integrations, as far as later questions need them. Small, because conversations store it.

use codebase::{Ecosystem, NameKind, NameRedactor};
use flow::Halt;
use fluxloop::{
    AgentCandidate, FeasibleIntegration, FeasibleIntegrations, IntegrationOptions, Recipe, UnresolvedField,
    Variant, find_feasible_integrations, find_recipe,
};
use serde::{Deserialize, Serialize};
use tree::WorkBudget;

use super::proposal::sanitize_for_terminal;
use crate::error::RequestError;
use crate::tools::analyze_repository::profile_warnings;
use crate::tools::support::integration::AnalyzedRepository;

const MAX_NOTES: usize = 5;

#[derive(Serialize, Deserialize)]
pub(super) struct IntegrationSurvey {
    /// Feasible integrations, most likely first.
    pub(super) fits: Vec<IntegrationCandidate>,
    /// Number of packages that were not analysed.
    pub(super) unseen: usize,
    /// Why other integrations are not feasible.
    reasons: Vec<String>,
    /// Warnings of the analysis, such as unreadable files.
    notes: Vec<String>,
}

/// A feasible integration.
#[derive(Serialize, Deserialize)]
pub(super) struct IntegrationCandidate {
    /// The folder of the package; `.` for the root.
    pub(super) package: String,
    /// The folder as questions show it: a placeholder if it is not a plain name.
    pub(super) shown: String,
    pub(super) framework: String,
    /// Evidence that the framework is used.
    pub(super) why: String,
    /// What would be run, as questions show it.
    pub(super) target: String,
    pub(super) variant: String,
    /// Why `variant` is the default; `None` if the usual default is not feasible.
    pub(super) why_variant: Option<String>,
    pub(super) variants: Vec<String>,
    pub(super) agents: Vec<AgentOption>,
}

/// A function or route that FluxLoop could run.
#[derive(Serialize, Deserialize)]
pub(super) struct AgentOption {
    pub(super) value: String,
    /// The unique option for `value`: a placeholder if it is not a plain name.
    pub(super) shown: String,
    /// Name, location, and why it is an agent.
    pub(super) label: String,
    pub(super) is_usual: bool,
    pub(super) field: Option<UnknownRequestField>,
}

/// A request field that only the user knows.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct UnknownRequestField {
    pub(super) why: String,
    pub(super) known: Vec<String>,
}

impl IntegrationSurvey {
    pub(super) fn from_analysis(
        repository: &AnalyzedRepository,
        recipe: Option<&'static Recipe>,
        options: &IntegrationOptions,
        budget: &WorkBudget,
    ) -> Result<Self, RequestError> {
        let FeasibleIntegrations { integrations: found, reasons, skipped_packages: unseen } =
            find_feasible_integrations(&repository.tree, &repository.profile, recipe, options, budget)?;
        let mut notes = profile_warnings(&repository.profile);
        notes.truncate(MAX_NOTES);
        let texts = &repository.profile.redactor;
        let fits =
            found.into_iter().map(|prospect| IntegrationCandidate::from_prospect(prospect, texts)).collect();
        Ok(Self { fits, unseen, reasons, notes })
    }

    /// Why there is nothing to integrate. An error if there is something, but none of it is feasible.
    pub(super) fn no_candidate_reasons(&self) -> Result<Vec<String>, Halt> {
        if !self.reasons.is_empty() {
            return Err(Halt::refuse(format!(
                "FluxLoop cannot be integrated here; nothing was written: {}",
                self.reasons.join("; ")
            )));
        }
        let why = "Found no framework with a recipe and no function that calls a language model. Pass the function to \
                   run as `agent` (\"path/to/file.py:function\"), or another folder as `root`.";
        Ok(std::iter::once(why.to_owned()).chain(self.notes.iter().cloned()).collect())
    }
}

impl IntegrationCandidate {
    /// Whether to ask for the agent. Middleware covers the whole program, so it needs none.
    pub(super) fn runs_an_agent(&self, variant: &str) -> bool {
        self.is_python() || variant == Variant::Bridge.name()
    }

    pub(super) fn is_python(&self) -> bool {
        find_recipe(&self.framework).is_some_and(|recipe| recipe.ecosystem == Ecosystem::Python)
    }
}

impl IntegrationCandidate {
    fn from_prospect(prospect: FeasibleIntegration, redactor: &NameRedactor) -> Self {
        let title = prospect.recipe.title;
        let why = match &prospect.detection {
            None => format!("{title}, with functions that call a language model"),
            Some((confidence, evidence)) => {
                let proof = evidence.as_ref();
                let proof = proof
                    .map(|proof| format!(": {} {}", redactor.location(&proof.path, proof.line), proof.fact));
                format!("{title} ({:.0}% confidence{})", confidence * 100.0, proof.unwrap_or_default())
            }
        };
        let mut agents: Vec<AgentOption> = Vec::new();
        for candidate in prospect.agents {
            let mut agent = AgentOption::from_candidate(candidate, redactor);
            // Routes of one function share a line, so their placeholders can be equal.
            if agents.iter().any(|known| known.shown == agent.shown) {
                agent.shown = format!("{} {}", agent.shown, agents.len() + 1);
            }
            agents.push(agent);
        }
        Self {
            shown: redactor.folder(&prospect.package).into_owned(),
            package: if prospect.package.is_empty() { ".".to_owned() } else { prospect.package },
            framework: prospect.recipe.name.to_owned(),
            why: sanitize_for_terminal(&why),
            target: prospect.target,
            variant: prospect.variant.name().to_owned(),
            why_variant: prospect.why_variant,
            variants: prospect.variants.iter().map(|variant| variant.name().to_owned()).collect(),
            agents,
        }
    }
}

impl AgentOption {
    fn from_candidate(candidate: AgentCandidate, redactor: &NameRedactor) -> Self {
        let AgentCandidate { value, name, path, line, why, is_default: is_usual, field } = candidate;
        let field = field.map(|UnresolvedField { why, known_fields: mut known }| {
            // Only plain names are offered; the caller can pass any other as `request_field`.
            known.retain(|name| NameKind::Identifier.is_safe_name(name));
            UnknownRequestField { why: sanitize_for_terminal(&why), known }
        });
        let is_route = value == name;
        let kind = if is_route { NameKind::Route } else { NameKind::Identifier };
        let name = redactor.name(kind, &name, &path, line);
        let shown = if is_route { name.to_string() } else { format!("{}:{name}", redactor.file(&path)) };
        let label = sanitize_for_terminal(&format!("{name} at {} ({why})", redactor.location(&path, line)));
        Self { value, shown, label, is_usual, field }
    }
}
