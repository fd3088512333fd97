//! Shared by the integration tools: arguments, and access to a repository.

use access::Scope;
use codebase::plan::{self, ApplyError, EditPlan, ValidationRules};
use codebase::{AnalysisRequest, Profile, ScanDepth, analyze};
use fluxloop::{
    Blocker, Integration, IntegrationOptions, RECIPES, Recipe, ReleaseLine, SummaryKind, Variant,
    find_recipe, integrate_or_fall_back,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};
use tree::{Roots, Tree, WorkBudget};

use crate::app::plans::{PlanAuthor, PlanStore};
use crate::error::{PlanRequestError, RequestError};
use crate::{CheckPolicy, ToolContext};

// The `variant` argument. Not a doc comment: that would become part of the published schemas.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::tools) enum VariantChoice {
    #[default]
    Auto,
    Sdk,
    Bridge,
}

impl VariantChoice {
    pub(in crate::tools) fn variant(self) -> Option<Variant> {
        match self {
            Self::Auto => None,
            Self::Sdk => Some(Variant::Sdk),
            Self::Bridge => Some(Variant::Bridge),
        }
    }
}

/// The frameworks with a recipe.
pub(in crate::tools) fn frameworks_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
    json_schema!({ "type": "string", "enum": names })
}

/// The release lines of the FluxLoop CLI.
pub(in crate::tools) fn release_lines_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<&str> = ReleaseLine::ALL.into_iter().map(ReleaseLine::name).collect();
    json_schema!({ "type": "string", "enum": names })
}

/// The release line that an argument names, validated by the schema.
pub(in crate::tools) fn release_line(cli: Option<&str>) -> Option<ReleaseLine> {
    cli.and_then(ReleaseLine::from_name)
}

/// The recipe of a framework, or an error that lists the frameworks with a recipe.
pub(in crate::tools) fn require_recipe(framework: &str) -> Result<&'static Recipe, RequestError> {
    find_recipe(framework).ok_or_else(|| {
        let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
        RequestError::invalid_argument(
            "framework",
            format!("no recipe for {framework}; expected one of {}", names.join(", ")),
        )
    })
}

/// The root of a profile, if it names one.
pub(in crate::tools) fn profile_root(profile: Option<&Map<String, Value>>) -> Option<String> {
    profile?.get("root").and_then(Value::as_str).map(str::to_owned)
}

/// The entry points that a profile lists, as hints.
pub(in crate::tools) fn profile_entry_points(profile: Option<&Map<String, Value>>) -> Vec<String> {
    let entries = profile.and_then(|profile| profile.get("entryPoints")).and_then(Value::as_array);
    entries.into_iter().flatten().filter_map(Value::as_str).take(200).map(str::to_owned).collect()
}

/// The folders that a caller may open.
pub(in crate::tools) struct RepositoryAccess {
    roots: Roots,
    /// The author of writes, if the caller may write.
    author: Option<PlanAuthor>,
}

impl RepositoryAccess {
    pub(in crate::tools) fn new(call: &ToolContext, plans: &PlanStore<'_>) -> Self {
        let author = call.principal.has_scope(Scope::Write).then(|| plans.author());
        Self { roots: Roots::new(call.roots.clone()), author }
    }

    /// Opens a folder. If the caller may write, first recovers a plan that a killed process left half
    /// applied: plans must not be built or validated against a tree that is neither old nor new.
    pub(in crate::tools) fn open(&self, root: &str) -> Result<Tree, RequestError> {
        let tree = self.roots.open(root)?;
        if let Some(author) = &self.author {
            match plan::recover(&tree, author) {
                // Another process is applying a plan right now; do not wait for it.
                Ok(_) | Err(ApplyError::Busy) => {}
                Err(error) => return Err(PlanRequestError::from(error).into()),
            }
        }
        Ok(tree)
    }
}

/// Whether the checks of a plan may be run with the user's consent; the error says why not.
pub(in crate::tools) fn ensure_checks_allowed(call: &ToolContext, is_kept: bool) -> Result<(), &'static str> {
    match call.app.checks {
        CheckPolicy::Never => {
            Err("checks are disabled on this server; its operator can enable them with --allow-checks")
        }
        _ if !call.principal.has_scope(Scope::Execute) => {
            Err("running checks requires a key with the scope `execute`")
        }
        CheckPolicy::ProposedPlans if !is_kept => Err(
            "this server runs only checks of stored plans it proposed; this plan is not stored or was changed",
        ),
        CheckPolicy::ProposedPlans | CheckPolicy::AnyPlan => Ok(()),
    }
}

/// The form field for the user's consent to commands. No tool has an argument of this name, because an
/// argument is not consent.
pub(in crate::tools) const CONSENT_FIELD: &str = "run_commands";

/// The same for the commands that install what the plan needs.
pub(in crate::tools) const INSTALL_CONSENT_FIELD: &str = "run_install";

/// What the user must see before consenting to these.
pub(in crate::tools) fn install_consent_message(root: &str, commands: &[String]) -> String {
    let commands = commands.iter().fold(String::new(), |shown, command| shown + "  " + command + "\n");
    format!(
        "Commands that install what FluxLoop needs, in {root}:\n{commands}The package manager runs with all \
         permissions of this account, downloads from its registry, and may change manifests and lock files."
    )
}

/// What the user must see before consenting.
pub(in crate::tools) fn consent_message(root: &str, commands: &[String]) -> String {
    let commands = commands.iter().fold(String::new(), |shown, command| shown + "  " + command + "\n");
    format!(
        "Commands to run in {root}:\n{commands}{}",
        codebase::sandbox::detect_confinement().describe(crate::tools::apply_edit_plan::APPLY_TIMEOUT)
    )
}

pub(in crate::tools) struct AnalyzedRepository {
    pub(in crate::tools) tree: Tree,
    pub(in crate::tools) profile: Profile,
}

impl AnalyzedRepository {
    pub(in crate::tools) fn open(
        reach: &RepositoryAccess,
        root: &str,
        hints: Vec<String>,
        budget: &WorkBudget,
    ) -> Result<Self, RequestError> {
        let tree = reach.open(root)?;
        let request =
            AnalysisRequest { extra_paths: hints, ..AnalysisRequest::new(&tree, ScanDepth::Contents) };
        let profile = analyze(&request, budget).map_err(RequestError::thread_spawn_failed)?;
        Ok(Self { tree, profile })
    }

    pub(in crate::tools) fn integrate(
        &self,
        recipe: &'static Recipe,
        options: &IntegrationOptions,
        budget: &WorkBudget,
    ) -> Result<Integration, RequestError> {
        Ok(integrate_or_fall_back(&self.tree, &self.profile, recipe, options, budget)?)
    }
}

/// The rules for validating plans.
pub(in crate::tools) fn validation_rules<'a>(
    consent: &'a [String],
    budget: &'a WorkBudget,
) -> ValidationRules<'a> {
    ValidationRules {
        consent,
        wrong_imports: fluxloop::WRONG_IMPORTS,
        is_extra_command: fluxloop::is_check_command,
        budget,
    }
}

/// The plan of an integration, resolved in the tree, and what keeps it from having edits.
///
/// A plan without edits and without blockers is one for a repository where everything is in place.
pub(in crate::tools) fn build_plan(
    tree: &Tree,
    integration: &Integration,
    budget: &WorkBudget,
) -> Result<(EditPlan, Vec<Blocker>), RequestError> {
    let edits = integration.edits().to_vec();
    let mut resolution =
        plan::resolve_edits(tree, edits, &[], budget).map_err(RequestError::thread_spawn_failed)?;
    let mut facts = integration.facts.clone();
    let blocking = resolution.findings.iter().filter(|finding| finding.is_blocking());
    let reasons: Vec<String> = blocking.map(plan::PlanFinding::sentence_with_fix).collect();
    if reasons.is_empty() {
        let noted = resolution.findings.iter().filter(|finding| !finding.is_already_present());
        facts.warnings.extend(noted.map(plan::PlanFinding::sentence));
        if !resolution.edits.is_empty() && resolution.files.is_empty() {
            facts.notes.insert(0, "FluxLoop is already integrated: every edit is in place.".to_owned());
            resolution.edits.clear();
        }
        let kind = match integration.refusal() {
            Some(_) => SummaryKind::Refused,
            None if resolution.edits.is_empty() => SummaryKind::InPlace,
            None => SummaryKind::Planned,
        };
        let summary = integration.summary(kind);
        let plan = plan::build_plan(summary, &resolution, facts, fluxloop::is_check_command);
        return Ok((plan, integration.blockers().to_vec()));
    }
    facts.warnings.insert(0, format!("There are no edits: {}.", reasons.join("; ")));
    facts.post_checks.clear();
    let nothing = plan::Resolution::default();
    let plan = plan::build_plan(
        integration.summary(SummaryKind::Refused),
        &nothing,
        facts,
        fluxloop::is_check_command,
    );
    Ok((plan, reasons.into_iter().map(Blocker::new).collect()))
}
