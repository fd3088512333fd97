//! `edit_design_system`: design tokens are set, renamed, deleted and imported.

use std::fmt::Display;
use std::str::FromStr;

use design_tokens::{Json, Kind, NewToken, starter};
use projects::{DesignEdit, Problem, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::support::projects::first;
use super::support::projects::takes::{self, needs, takes};
use super::support::projects::view::FindingView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::{Changed, Desk, Guard};
use crate::error::Failure;

/// Change the design tokens of a project (W3C format, DTCG 2025.10): all changes, or none. Renaming rewrites aliases; importing replaces
/// everything.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// In order.
    #[schemars(length(min = 1, max = 1000))]
    changes: Vec<Change>,
    /// Refuse if the project is at another revision.
    if_revision: Option<u64>,
    /// Only tell what would happen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Change {
    op: Op,
    /// Of a token or group, such as `color.brand.500`.
    path: Option<String>,
    /// To rename: the new path.
    to: Option<String>,
    /// To set: a value such as `"#0a7"` or `{"value": 4, "unit": "px"}`, or an alias `"{color.brand.500}"`.
    value: Option<Value>,
    /// To set: color, dimension, fontFamily …; without it as before, or as the group says.
    r#type: Option<String>,
    /// To set: the mode that the value is for, such as `dark`. To delete: only what the token has for it.
    mode: Option<String>,
    description: Option<String>,
    /// To delete: also what aliases name.
    #[serde(default)]
    force: bool,
    /// To import: the text of a file.
    source: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Op {
    Set,
    Rename,
    Delete,
    ImportDtcg,
    ImportCss,
    Starter,
}

/// What became of it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    revision: u64,
    /// The paths that are not what they were, of many the first.
    touched: Vec<String>,
    /// How many more there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_touched: Option<usize>,
    /// What is to be said about what came in.
    findings: Vec<FindingView>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// The tool.
pub(crate) struct EditDesignSystem;

impl Tool for EditDesignSystem {
    const SPEC: ToolSpec = ToolSpec {
        name: "edit_design_system",
        title: "Edit a design system",
        toolset: Toolset::Projects,
        effect: Effect::Edits,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        let edit = all(args.changes)?;
        let desk = Desk::of(&call).await?;
        let (id, guard) =
            (desk.project(&args.project_id)?, Guard { if_revision: args.if_revision, dry_run: args.dry_run });
        let made = desk.store().edit_design_system(desk.write(&id, guard), edit).await?;
        desk.tell(&id, Changed::Design, guard);
        let (touched, more_touched) = first(&made.value.touched, Clone::clone);
        Ok(Reply {
            revision: made.revision,
            touched,
            more_touched,
            findings: made.value.findings.iter().map(FindingView::of).collect(),
            dry_run: args.dry_run,
        })
    }
}

/// All changes as one. Everything that a rule refuses is told at once.
fn all(changes: Vec<Change>) -> Result<DesignEdit, Failure> {
    changes.iter().enumerate().try_for_each(|(at, change)| change.check(at))?;
    let (mut edits, mut problems) = (Vec::new(), Vec::new());
    for (at, change) in changes.into_iter().enumerate() {
        match change.edit(at) {
            Ok(edit) => edits.push(edit),
            Err(wrong) => problems.extend(wrong),
        }
    }
    Refusal::if_any(problems)?;
    Ok(DesignEdit::All(edits))
}

impl Change {
    fn edit(self, at: usize) -> Result<DesignEdit, Vec<Problem>> {
        let Self { op, path, to, value, r#type, mode, description, force, source } = self;
        let path = path.unwrap_or_default();
        let source = source.unwrap_or_default();
        Ok(match op {
            Op::Set => {
                let wrong = |what: &str, why: &dyn Display| {
                    Problem::new(format!("/changes/{at}/{what}"), why.to_string())
                };
                let kind = r#type.as_deref().map(Kind::from_str).transpose();
                let kind = kind.map_err(|error| wrong("type", &error));
                let value = Json::parse(&value.unwrap_or_default().to_string());
                match (kind, value.map_err(|error| wrong("value", &error))) {
                    (Ok(kind), Ok(value)) => {
                        DesignEdit::Set { path, token: NewToken { kind, value, mode, description } }
                    }
                    (kind, value) => return Err(kind.err().into_iter().chain(value.err()).collect()),
                }
            }
            Op::Rename => DesignEdit::Rename { from: path, to: to.unwrap_or_default() },
            Op::Delete => DesignEdit::Delete { path, mode, force },
            Op::ImportDtcg => DesignEdit::ImportJson(source),
            Op::ImportCss => DesignEdit::ImportCss(source),
            Op::Starter => DesignEdit::Replace(starter()),
        })
    }

    /// What each change takes, and what it cannot do without.
    fn check(&self, at: usize) -> Result<(), Failure> {
        use Op::{Delete, ImportCss, ImportDtcg, Rename, Set};
        takes::check(
            &format!("changes.{at}."),
            "change",
            &self.op,
            &[
                needs("path", self.path.is_some(), &[Set, Rename, Delete]),
                needs("to", self.to.is_some(), &[Rename]),
                needs("value", self.value.is_some(), &[Set]),
                takes("type", self.r#type.is_some(), &[Set]),
                takes("mode", self.mode.is_some(), &[Set, Delete]),
                takes("description", self.description.is_some(), &[Set]),
                takes("force", self.force, &[Delete]),
                needs("source", self.source.is_some(), &[ImportDtcg, ImportCss]),
            ],
        )
    }
}
