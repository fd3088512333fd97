//! `get_design_system`: design tokens as written, resolved or exported; their problems and their contrast.

use design_tokens::export::ExportOptions;
use design_tokens::{
    ContrastLevel, ContrastPair, ResolvedToken, TextSize, TokenDocument, check_contrast, resolve,
    suggest_pairs, unmeasured_pairs_warning, validate,
};
use projects::{AtRevision, Cursor, EntityKind, ProjectId, ProjectRejection};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::support::projects::ListCursors;
use super::support::projects::argument_rules::{self, optional, required};
use super::support::projects::export::DesignExportFormat;
use super::support::projects::view::FindingView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::app::project_scope::ProjectScope;
use crate::error::RequestError;

/// Resolved tokens per reply without `limit`.
const DEFAULT_LIMIT: usize = 200;

/// Read the design tokens of a project: as written (DTCG), resolved in a mode, exported for a tool, their
/// problems, or the contrast (WCAG) of their colours.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// Default: `tokens`.
    #[serde(default)]
    view: DesignView,
    /// A published version instead of the draft.
    version: Option<u32>,
    /// With `tokens` and `resolved`: only this token or group.
    path: Option<String>,
    /// With `resolved`: such as `dark`.
    mode: Option<String>,
    /// With `export`.
    format: Option<DesignExportFormat>,
    /// With css and scss: prefix of names.
    #[schemars(length(max = 64))]
    prefix: Option<String>,
    /// With `contrast`: text on background, by path; default: as names suggest.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pairs: Vec<PairArg>,
    /// With `resolved`.
    #[schemars(range(min = 1, max = 5000))]
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum DesignView {
    #[default]
    Tokens,
    Resolved,
    Export,
    Problems,
    Contrast,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct PairArg {
    text: String,
    background: String,
}

/// JSON with its keys in the original order, which `Value` does not keep.
struct RawJson(Box<RawValue>);

impl RawJson {
    fn from_value(value: &impl Serialize) -> Result<Self, RequestError> {
        to_raw_value(value).map(Self).map_err(RequestError::internal)
    }
}

impl Serialize for RawJson {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl JsonSchema for RawJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

/// One view of a design system.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    revision: u64,
    /// Modes that tokens have values for; omitted with the full document, which lists them itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    modes: Option<Vec<String>>,
    /// The document, or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<RawJson>,
    /// Tokens with their final values.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<Vec<ResolvedView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The exported text.
    #[serde(skip_serializing_if = "Option::is_none")]
    export: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contrast: Option<Vec<ContrastView>>,
    /// Problems, and what could not be exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<FindingView>>,
}

/// A token with its final value.
#[derive(Serialize, JsonSchema)]
struct ResolvedView {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    value: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Why it should no longer be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<String>,
}

/// The contrast of a text on a background.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ContrastView {
    text: String,
    background: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Such as `4.5:1`.
    ratio: String,
    /// `AAA`, `AA` or `fail`, for normal text.
    normal: &'static str,
    /// The same for large text.
    large: &'static str,
}

pub(crate) struct GetDesignSystem;

impl Tool for GetDesignSystem {
    const SPEC: ToolSpec = ToolSpec {
        name: "get_design_system",
        title: "Read a design system",
        toolset: Toolset::Projects,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        check_arguments(&args)?;
        let project_scope = ProjectScope::for_call(&call).await?;
        let id = project_scope.resolve_project_id(&args.project_id)?;
        if (args.view, &args.path, args.version) == (DesignView::Tokens, &None, None) {
            // The most frequent request, and stored in this form.
            let AtRevision { revision, value } =
                project_scope.store().design_text(&project_scope.account, &id).await?;
            let tokens = RawValue::from_string(value).map(RawJson).map_err(RequestError::internal)?;
            return Ok(Reply { revision, tokens: Some(tokens), ..Reply::default() });
        }
        let AtRevision { revision, value: design } = load_document(&project_scope, &id, args.version).await?;
        let reply = Reply { revision, modes: Some(design.modes()), ..Reply::default() };
        if args.view == DesignView::Tokens {
            return Ok(Reply { tokens: Some(source_json(&design, args.path.as_deref())?), ..reply });
        }
        // All other views process every token in every mode.
        project_scope.run_blocking(move || render_view(reply, &design, args)).await
    }
}

fn render_view(reply: Reply, design: &TokenDocument, args: Args) -> Result<Reply, RequestError> {
    match args.view {
        DesignView::Tokens => Err(RequestError::internal("the view `tokens` is handled before this point")),
        DesignView::Resolved => add_resolved_tokens(reply, design, &args),
        DesignView::Export => add_export(reply, design, &args),
        DesignView::Problems => {
            let findings = Some(validate(design).iter().map(FindingView::from_finding).collect());
            Ok(Reply { findings, ..reply })
        }
        DesignView::Contrast => add_contrast(reply, design, args.pairs),
    }
}

/// Which arguments each view accepts and requires.
fn check_arguments(args: &Args) -> Result<(), RequestError> {
    use DesignView::{Contrast, Export, Resolved, Tokens};
    let table = [
        optional("path", args.path.is_some(), &[Tokens, Resolved]),
        optional("mode", args.mode.is_some(), &[Resolved]),
        required("format", args.format.is_some(), &[Export]),
        optional("prefix", args.prefix.is_some(), &[Export]),
        optional("pairs", !args.pairs.is_empty(), &[Contrast]),
        optional("limit", args.limit.is_some(), &[Resolved]),
        optional("cursor", args.cursor.is_some(), &[Resolved]),
    ];
    argument_rules::check_rules("", "view", &args.view, &table)
}

async fn load_document(
    scope: &ProjectScope,
    id: &ProjectId,
    version: Option<u32>,
) -> Result<AtRevision<TokenDocument>, RequestError> {
    let Some(version) = version else {
        return Ok(scope.store().design_system(&scope.account, id).await?);
    };
    let (version, content) = scope.store().version(&scope.account, id, version).await?;
    Ok(AtRevision { revision: version.revision, value: content.design })
}

fn source_json(design: &TokenDocument, path: Option<&str>) -> Result<RawJson, RequestError> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return RawValue::from_string(design.to_string()).map(RawJson).map_err(RequestError::internal);
    };
    match design.get(path) {
        Some(part) => RawJson::from_value(part),
        None => Err(token_not_found(path)),
    }
}

fn token_not_found(path: &str) -> RequestError {
    ProjectRejection::not_found(EntityKind::Token, path).into()
}

fn add_resolved_tokens(reply: Reply, design: &TokenDocument, args: &Args) -> Result<Reply, RequestError> {
    let mode = args.mode.as_deref();
    let modes = reply.modes.as_deref().unwrap_or_default();
    if let Some(mode) = mode.filter(|mode| !modes.iter().any(|known| known == mode)) {
        let why = format!("no token has a value for {mode:?}; available modes: {modes:?}");
        return Err(RequestError::rule_violation("/mode", why));
    }
    let all = resolve(design, mode);
    let is_inside = |token: &&ResolvedToken| {
        let Some(path) = args.path.as_deref().filter(|path| !path.is_empty()) else { return true };
        token.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut tokens: Vec<&ResolvedToken> = all.tokens().iter().filter(is_inside).collect();
    if tokens.is_empty() && args.path.is_some() {
        return Err(token_not_found(args.path.as_deref().unwrap_or_default()));
    }
    // A cursor is a position in the document, and another revision may have other tokens there.
    let list =
        ListCursors::new(("resolved", &args.project_id, reply.revision, args.version, mode, &args.path));
    let seen = args.cursor.as_deref().map(|cursor| list.decode(cursor)?.number().map_err(RequestError::from));
    let seen = seen.transpose()?.and_then(|seen| usize::try_from(seen).ok()).unwrap_or(0).min(tokens.len());
    tokens.drain(..seen);
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT);
    let next = (tokens.len() > limit).then(|| list.encode(&Cursor::from_number((seen + limit) as u64, "")));
    tokens.truncate(limit);
    let shown = tokens.into_iter().map(ResolvedView::from_token).collect::<Result<_, _>>()?;
    let findings = Some(all.findings.iter().map(FindingView::from_finding).collect());
    Ok(Reply { resolved: Some(shown), next_cursor: next, findings, ..reply })
}

impl ResolvedView {
    fn from_token(token: &ResolvedToken) -> Result<Self, RequestError> {
        Ok(Self {
            path: token.path.clone(),
            r#type: token.kind.map(design_tokens::TokenKind::as_str),
            value: RawJson::from_value(&token.value)?,
            description: token.description.clone(),
            deprecated: token.deprecated.clone(),
        })
    }
}

fn add_export(reply: Reply, design: &TokenDocument, args: &Args) -> Result<Reply, RequestError> {
    let format =
        args.format.ok_or_else(|| RequestError::internal("an export passed validation without a format"))?;
    let options =
        ExportOptions { prefix: args.prefix.clone().unwrap_or_default(), ..ExportOptions::default() };
    let exported = format.export(design, &options);
    let findings = Some(exported.findings.iter().map(FindingView::from_finding).collect());
    Ok(Reply { export: Some(exported.text), findings, ..reply })
}

/// The pairs that the caller names, if all their tokens exist.
fn parse_pairs(design: &TokenDocument, pairs: Vec<PairArg>) -> Result<Vec<ContrastPair>, RequestError> {
    let resolved = resolve(design, None);
    let known =
        |path: String| if resolved.get(&path).is_some() { Ok(path) } else { Err(token_not_found(&path)) };
    let pair = |PairArg { text, background }| {
        Ok(ContrastPair { text: known(text)?, background: known(background)? })
    };
    pairs.into_iter().map(pair).collect()
}

fn add_contrast(reply: Reply, design: &TokenDocument, pairs: Vec<PairArg>) -> Result<Reply, RequestError> {
    let pairs = if pairs.is_empty() { suggest_pairs(design) } else { parse_pairs(design, pairs)? };
    let level = |level| match level {
        ContrastLevel::Aaa => "AAA",
        ContrastLevel::Aa => "AA",
        ContrastLevel::Fail => "fail",
    };
    let shown = check_contrast(design, &pairs).into_iter().map(|checked| ContrastView {
        ratio: checked.ratio_text(),
        normal: level(checked.level(TextSize::Normal)),
        large: level(checked.level(TextSize::Large)),
        text: checked.pair.text,
        background: checked.pair.background,
        mode: checked.mode,
    });
    let findings = unmeasured_pairs_warning(&pairs).map(|finding| vec![FindingView::from_finding(&finding)]);
    Ok(Reply { contrast: Some(shown.collect()), findings, ..reply })
}
