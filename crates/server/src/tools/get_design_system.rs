//! `get_design_system`: design tokens as they are written, resolved, exported, judged, measured.

use design_tokens::export::Options;
use design_tokens::{
    Document, Level, Pair, ResolvedToken, TextSize, check_contrast, resolve, suggest_pairs, unmeasured,
    validate,
};
use projects::{AtRevision, Cursor, Noun, ProjectId, Refusal};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::support::projects::List;
use super::support::projects::export::Format;
use super::support::projects::takes::{self, needs, takes};
use super::support::projects::view::FindingView;
use super::{Effect, Tool, ToolSpec, Toolset};
use crate::Call;
use crate::app::project_scope::Desk;
use crate::error::Failure;

/// How many tokens are resolved in one answer when nobody says.
const USUAL: usize = 200;

/// Read the design tokens of a project: as written (DTCG), resolved in a mode, exported for a tool, with what is wrong
/// with them, or the contrast (WCAG) of their colours.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    project_id: String,
    /// `tokens` without it.
    #[serde(default)]
    view: View,
    /// A published version instead of the draft.
    version: Option<u32>,
    /// Only this token or group: with `tokens` and `resolved`.
    path: Option<String>,
    /// With `resolved`: such as `dark`.
    mode: Option<String>,
    /// With `export`.
    format: Option<Format>,
    /// With css and scss: what names begin with.
    #[schemars(length(max = 64))]
    prefix: Option<String>,
    /// With `contrast`: text on background, by path; those that names suggest without it.
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
enum View {
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

/// JSON in its own order, which a `Value` does not keep.
struct Raw(Box<RawValue>);

impl Raw {
    fn of(value: &impl Serialize) -> Result<Self, Failure> {
        to_raw_value(value).map(Self).map_err(Failure::internal)
    }
}

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl JsonSchema for Raw {
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

/// A design system, seen in one way.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    revision: u64,
    /// The modes that tokens have values for; the whole of the tokens tells them itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    modes: Option<Vec<String>>,
    /// The file, or a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<Raw>,
    /// Tokens with their final values.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<Vec<ResolvedView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The text for the other tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    export: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contrast: Option<Vec<ContrastView>>,
    /// What is wrong, or could not be exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<Vec<FindingView>>,
}

/// A token with its final value.
#[derive(Serialize, JsonSchema)]
struct ResolvedView {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    value: Raw,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Why it should not be used any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecated: Option<String>,
}

/// A text on a background.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ContrastView {
    text: String,
    background: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Such as `4.5:1`.
    ratio: String,
    /// `AAA`, `AA` or `fail`, for text of usual size.
    normal: &'static str,
    /// The same for large text.
    large: &'static str,
}

/// The tool.
pub(crate) struct GetDesignSystem;

impl Tool for GetDesignSystem {
    const SPEC: ToolSpec = ToolSpec {
        name: "get_design_system",
        title: "Read a design system",
        toolset: Toolset::Projects,
        effect: Effect::Reads,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: Call, args: Args) -> Result<Reply, Failure> {
        check(&args)?;
        let desk = Desk::of(&call).await?;
        let id = desk.project(&args.project_id)?;
        if (args.view, &args.path, args.version) == (View::Tokens, &None, None) {
            // Most often asked for, and kept as it is.
            let AtRevision { revision, value } = desk.store().design_text(&desk.account, &id).await?;
            let tokens = RawValue::from_string(value).map(Raw).map_err(Failure::internal)?;
            return Ok(Reply { revision, tokens: Some(tokens), ..Reply::default() });
        }
        let AtRevision { revision, value: design } = document(&desk, &id, args.version).await?;
        let reply = Reply { revision, modes: Some(design.modes()), ..Reply::default() };
        if args.view == View::Tokens {
            return Ok(Reply { tokens: Some(written(&design, args.path.as_deref())?), ..reply });
        }
        // All others work on every token, in every mode.
        desk.aside(move || seen(reply, &design, args)).await
    }
}

fn seen(reply: Reply, design: &Document, args: Args) -> Result<Reply, Failure> {
    match args.view {
        View::Tokens => Err(Failure::internal("the view `tokens` is answered before this point")),
        View::Resolved => resolved(reply, design, &args),
        View::Export => exported(reply, design, &args),
        View::Problems => {
            let findings = Some(validate(design).iter().map(FindingView::of).collect());
            Ok(Reply { findings, ..reply })
        }
        View::Contrast => contrast(reply, design, args.pairs),
    }
}

/// What each view takes, and what it cannot do without.
fn check(args: &Args) -> Result<(), Failure> {
    use View::{Contrast, Export, Resolved, Tokens};
    let table = [
        takes("path", args.path.is_some(), &[Tokens, Resolved]),
        takes("mode", args.mode.is_some(), &[Resolved]),
        needs("format", args.format.is_some(), &[Export]),
        takes("prefix", args.prefix.is_some(), &[Export]),
        takes("pairs", !args.pairs.is_empty(), &[Contrast]),
        takes("limit", args.limit.is_some(), &[Resolved]),
        takes("cursor", args.cursor.is_some(), &[Resolved]),
    ];
    takes::check("", "view", &args.view, &table)
}

async fn document(
    desk: &Desk,
    id: &ProjectId,
    version: Option<u32>,
) -> Result<AtRevision<Document>, Failure> {
    let Some(version) = version else {
        return Ok(desk.store().design_system(&desk.account, id).await?);
    };
    let (version, content) = desk.store().version(&desk.account, id, version).await?;
    Ok(AtRevision { revision: version.revision, value: content.design })
}

fn written(design: &Document, path: Option<&str>) -> Result<Raw, Failure> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return RawValue::from_string(design.to_string()).map(Raw).map_err(Failure::internal);
    };
    match design.get(path) {
        Some(part) => Raw::of(part),
        None => Err(missing(path)),
    }
}

fn missing(path: &str) -> Failure {
    Refusal::not_found(Noun::Token, path).into()
}

fn resolved(reply: Reply, design: &Document, args: &Args) -> Result<Reply, Failure> {
    let mode = args.mode.as_deref();
    let modes = reply.modes.as_deref().unwrap_or_default();
    if let Some(mode) = mode.filter(|mode| !modes.iter().any(|known| known == mode)) {
        let why = format!("no token has a value for {mode:?}; there are {modes:?}");
        return Err(Failure::against_rule("/mode", why));
    }
    let all = resolve(design, mode);
    let is_inside = |token: &&ResolvedToken| {
        let Some(path) = args.path.as_deref().filter(|path| !path.is_empty()) else { return true };
        token.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut tokens: Vec<&ResolvedToken> = all.tokens().iter().filter(is_inside).collect();
    if tokens.is_empty() && args.path.is_some() {
        return Err(missing(args.path.as_deref().unwrap_or_default()));
    }
    // Tokens have their places in a document; another revision may have others there.
    let list = List::of(("resolved", &args.project_id, reply.revision, args.version, mode, &args.path));
    let seen = args.cursor.as_deref().map(|cursor| list.decode(cursor)?.number().map_err(Failure::from));
    let seen = seen.transpose()?.and_then(|seen| usize::try_from(seen).ok()).unwrap_or(0).min(tokens.len());
    tokens.drain(..seen);
    let limit = args.limit.unwrap_or(USUAL);
    let next = (tokens.len() > limit).then(|| list.encode(&Cursor::of_number((seen + limit) as u64, "")));
    tokens.truncate(limit);
    let shown = tokens.into_iter().map(ResolvedView::of).collect::<Result<_, _>>()?;
    let findings = Some(all.findings.iter().map(FindingView::of).collect());
    Ok(Reply { resolved: Some(shown), next_cursor: next, findings, ..reply })
}

impl ResolvedView {
    fn of(token: &ResolvedToken) -> Result<Self, Failure> {
        Ok(Self {
            path: token.path.clone(),
            r#type: token.kind.map(design_tokens::Kind::as_str),
            value: Raw::of(&token.value)?,
            description: token.description.clone(),
            deprecated: token.deprecated.clone(),
        })
    }
}

fn exported(reply: Reply, design: &Document, args: &Args) -> Result<Reply, Failure> {
    let format =
        args.format.ok_or_else(|| Failure::internal("an export passed its check without a format"))?;
    let options = Options { prefix: args.prefix.clone().unwrap_or_default(), ..Options::default() };
    let exported = format.export(design, &options);
    let findings = Some(exported.findings.iter().map(FindingView::of).collect());
    Ok(Reply { export: Some(exported.text), findings, ..reply })
}

/// The pairs that somebody names, if all of them are there.
fn named(design: &Document, pairs: Vec<PairArg>) -> Result<Vec<Pair>, Failure> {
    let resolved = resolve(design, None);
    let known = |path: String| if resolved.get(&path).is_some() { Ok(path) } else { Err(missing(&path)) };
    let pair = |PairArg { text, background }| Ok(Pair { text: known(text)?, background: known(background)? });
    pairs.into_iter().map(pair).collect()
}

fn contrast(reply: Reply, design: &Document, pairs: Vec<PairArg>) -> Result<Reply, Failure> {
    let pairs = if pairs.is_empty() { suggest_pairs(design) } else { named(design, pairs)? };
    let level = |level| match level {
        Level::Aaa => "AAA",
        Level::Aa => "AA",
        Level::Fail => "fail",
    };
    let shown = check_contrast(design, &pairs).into_iter().map(|checked| ContrastView {
        ratio: checked.ratio_text(),
        normal: level(checked.level(TextSize::Normal)),
        large: level(checked.level(TextSize::Large)),
        text: checked.pair.text,
        background: checked.pair.background,
        mode: checked.mode,
    });
    let findings = unmeasured(&pairs).map(|finding| vec![FindingView::of(&finding)]);
    Ok(Reply { contrast: Some(shown.collect()), findings, ..reply })
}
