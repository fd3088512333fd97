//! Plans as models see them: without lines that contain secrets. Users of the command line see everything.

use codebase::plan::{self, EditPlan, RedactedPlan, redact_diff, redact_plan, redacted_workspace_edit};
use serde_json::Value;

use crate::ToolContext;

/// Finds nothing, for readers that may see secrets.
fn no_secrets(_: &[&str]) -> Vec<usize> {
    Vec::new()
}

/// Finds the lines that this call's reply must not show.
fn secret_finder(call: &ToolContext) -> plan::SecretFinder {
    if call.app.shows_secrets { no_secrets } else { fluxloop::find_secret_lines }
}

/// The part of a plan that this call's reply may show.
pub(crate) fn visible_plan(call: &ToolContext, plan: &EditPlan) -> RedactedPlan {
    redact_plan(plan, secret_finder(call))
}

/// The part of a diff that this call's reply may show.
pub(in crate::tools) fn visible_diff(call: &ToolContext, diff: &str) -> String {
    redact_diff(diff, secret_finder(call)).text
}

/// The plan for editors that apply it themselves, without files that are only partly visible.
pub(in crate::tools) fn visible_workspace_edit(call: &ToolContext, plan: &EditPlan, root: &str) -> Value {
    redacted_workspace_edit(plan, &visible_plan(call, plan), root)
}

/// Whether a client sent our plan, exactly or as it was shown.
pub(in crate::tools) fn is_own_plan(exact: &EditPlan, sent: &Value) -> bool {
    plan::is_plan_or_redaction(exact, sent, fluxloop::find_secret_lines)
}
