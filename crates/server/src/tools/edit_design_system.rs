//! `edit_design_system`: sets, renames, deletes and imports design tokens.

use std::fmt::Display;
use std::str::FromStr;

use design_tokens::{Json, NewToken, TokenKind, starter_document};
use projects::{DesignEdit, ProjectRejection, ValidationProblem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::support::projects::argument_rules::{self, optional, required};
use super::support::projects::take_first;
use super::support::projects::view::FindingView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::{ProjectChange, ProjectScope, WriteOptions};
use crate::error::RequestError;

/// Change the design tokens of a project (W3C format, DTCG 2025.10): all changes or none. Renaming updates
/// aliases; importing replaces everything.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// In order.
    #[schemars(length(min = 1, max = 1000))]
    changes: Vec<DesignChange>,
    /// Fail if the project is at another revision.
    if_revision: Option<u64>,
    /// Validate without writing.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct DesignChange {
    op: DesignOp,
    /// Token or group, such as `color.brand.500`.
    path: Option<String>,
    /// To rename: the new path.
    to: Option<String>,
    /// To set: a value such as `"#0a7"` or `{"value": 4, "unit": "px"}`, or an alias `"{color.brand.500}"`.
    value: Option<Value>,
    /// To set: color, dimension, fontFamily …; default: unchanged, or the group's.
    r#type: Option<String>,
    /// To set: the mode of the value, such as `dark`. To delete: only the value in this mode.
    mode: Option<String>,
    description: Option<String>,
    /// To delete: even if aliases use it.
    #[serde(default)]
    force: bool,
    /// To import: the file's content.
    source: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum DesignOp {
    Set,
    Rename,
    Delete,
    ImportDtcg,
    ImportCss,
    Starter,
}

/// The result of the changes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    revision: u64,
    /// Changed paths; only the first if there are many.
    touched: Vec<String>,
    /// Number of changed paths not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_touched: Option<usize>,
    /// Problems found in the new tokens.
    findings: Vec<FindingView>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

pub(crate) struct EditDesignSystem;

impl Tool for EditDesignSystem {
    const SPEC: ToolSpec = ToolSpec {
        name: "edit_design_system",
        title: "Edit a design system",
        toolset: Toolset::Projects,
        effect: Effect::Write,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        let edit = parse_changes(args.changes)?;
        let scope = ProjectScope::for_call(&call).await?;
        let (id, guard) = (
            scope.resolve_project_id(&args.project_id)?,
            WriteOptions { if_revision: args.if_revision, dry_run: args.dry_run },
        );
        let made = scope.store().edit_design_system(scope.write(&id, guard), edit).await?;
        scope.notify(&id, ProjectChange::Design, guard);
        let (touched, more_touched) = take_first(&made.value.touched, Clone::clone);
        Ok(Reply {
            revision: made.revision,
            touched,
            more_touched,
            findings: made.value.findings.iter().map(FindingView::from_finding).collect(),
            dry_run: args.dry_run,
        })
    }
}

/// All changes as one edit. All rule violations are reported together.
fn parse_changes(changes: Vec<DesignChange>) -> Result<DesignEdit, RequestError> {
    changes.iter().enumerate().try_for_each(|(at, change)| change.check_arguments(at))?;
    let (mut edits, mut problems) = (Vec::new(), Vec::new());
    for (at, change) in changes.into_iter().enumerate() {
        match change.into_edit(at) {
            Ok(edit) => edits.push(edit),
            Err(wrong) => problems.extend(wrong),
        }
    }
    ProjectRejection::reject_if_any(problems)?;
    Ok(DesignEdit::All(edits))
}

impl DesignChange {
    fn into_edit(self, at: usize) -> Result<DesignEdit, Vec<ValidationProblem>> {
        let Self { op, path, to, value, r#type, mode, description, force, source } = self;
        let path = path.unwrap_or_default();
        let source = source.unwrap_or_default();
        Ok(match op {
            DesignOp::Set => {
                let wrong = |what: &str, why: &dyn Display| {
                    ValidationProblem::new(format!("/changes/{at}/{what}"), why.to_string())
                };
                let kind = r#type.as_deref().map(TokenKind::from_str).transpose();
                let kind = kind.map_err(|error| wrong("type", &error));
                let value = Json::parse(&value.unwrap_or_default().to_string());
                match (kind, value.map_err(|error| wrong("value", &error))) {
                    (Ok(kind), Ok(value)) => {
                        DesignEdit::Set { path, token: NewToken { kind, value, mode, description } }
                    }
                    (kind, value) => return Err(kind.err().into_iter().chain(value.err()).collect()),
                }
            }
            DesignOp::Rename => DesignEdit::Rename { from: path, to: to.unwrap_or_default() },
            DesignOp::Delete => DesignEdit::Delete { path, mode, force },
            DesignOp::ImportDtcg => DesignEdit::ImportJson(source),
            DesignOp::ImportCss => DesignEdit::ImportCss(source),
            DesignOp::Starter => DesignEdit::Replace(starter_document()),
        })
    }

    /// Which arguments each change accepts and requires.
    fn check_arguments(&self, at: usize) -> Result<(), RequestError> {
        use DesignOp::{Delete, ImportCss, ImportDtcg, Rename, Set};
        argument_rules::check_rules(
            &format!("changes.{at}."),
            "change",
            &self.op,
            &[
                required("path", self.path.is_some(), &[Set, Rename, Delete]),
                required("to", self.to.is_some(), &[Rename]),
                required("value", self.value.is_some(), &[Set]),
                optional("type", self.r#type.is_some(), &[Set]),
                optional("mode", self.mode.is_some(), &[Set, Delete]),
                optional("description", self.description.is_some(), &[Set]),
                optional("force", self.force, &[Delete]),
                required("source", self.source.is_some(), &[ImportDtcg, ImportCss]),
            ],
        )
    }
}
