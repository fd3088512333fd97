//! `edit_design_system`: design tokens are set, renamed, deleted and imported.

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

/// Change the design tokens of a project (W3C format, DTCG 2025.10): all changes, or none. Renaming rewrites aliases; importing replaces
/// everything.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// In order.
    #[schemars(length(min = 1, max = 1000))]
    changes: Vec<DesignChange>,
    /// Refuse if the project is at another revision.
    if_revision: Option<u64>,
    /// Only tell what would happen.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct DesignChange {
    op: DesignOp,
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
enum DesignOp {
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

/// All changes as one. Everything that a rule refuses is told at once.
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

    /// What each change takes, and what it cannot do without.
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
