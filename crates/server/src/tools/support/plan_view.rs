//! Plans as models see them: without lines that hold secrets. A user at the command line sees all of it.

use codebase::plan::{self, Plan, Shown, show, show_diff, show_workspace_edit};
use serde_json::Value;

use crate::Call;

/// Finds nothing, for those who may see everything.
fn no_secrets(_: &[&str]) -> Vec<usize> {
    Vec::new()
}

/// What is kept from the reader of this call's answer.
fn secrets(call: &Call) -> plan::FindSecrets {
    if call.app.shows_secrets { no_secrets } else { fluxloop::secret_lines }
}

/// What the reader of this call's answer may see of a plan.
pub(crate) fn view(call: &Call, plan: &Plan) -> Shown {
    show(plan, secrets(call))
}

/// The same of a diff.
pub(in crate::tools) fn shown_diff(call: &Call, diff: &str) -> String {
    show_diff(diff, secrets(call)).text
}

/// The same for editors that apply a plan themselves: without the files of which not everything is shown.
pub(in crate::tools) fn editor_view(call: &Call, plan: &Plan, root: &str) -> Value {
    show_workspace_edit(plan, &view(call, plan), root)
}

/// Whether what a client sent is a plan of ours, exactly or as it was shown.
pub(in crate::tools) fn is_view(exact: &Plan, sent: &Value) -> bool {
    plan::is_view(exact, sent, fluxloop::secret_lines)
}
