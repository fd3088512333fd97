//! Plans as models see them: without lines that hold secrets. A user at the command line sees all of it.

use codebase::plan::{self, EditPlan, RedactedPlan, redact_diff, redact_plan, redacted_workspace_edit};
use serde_json::Value;

use crate::ToolContext;

/// Finds nothing, for those who may see everything.
fn no_secrets(_: &[&str]) -> Vec<usize> {
    Vec::new()
}

/// What is kept from the reader of this call's answer.
fn secret_finder(call: &ToolContext) -> plan::SecretFinder {
    if call.app.shows_secrets { no_secrets } else { fluxloop::find_secret_lines }
}

/// What the reader of this call's answer may see of a plan.
pub(crate) fn visible_plan(call: &ToolContext, plan: &EditPlan) -> RedactedPlan {
    redact_plan(plan, secret_finder(call))
}

/// The same of a diff.
pub(in crate::tools) fn visible_diff(call: &ToolContext, diff: &str) -> String {
    redact_diff(diff, secret_finder(call)).text
}

/// The same for editors that apply a plan themselves: without the files of which not everything is shown.
pub(in crate::tools) fn visible_workspace_edit(call: &ToolContext, plan: &EditPlan, root: &str) -> Value {
    redacted_workspace_edit(plan, &visible_plan(call, plan), root)
}

/// Whether what a client sent is a plan of ours, exactly or as it was shown.
pub(in crate::tools) fn is_own_plan(exact: &EditPlan, sent: &Value) -> bool {
    plan::is_plan_or_redaction(exact, sent, fluxloop::find_secret_lines)
}
