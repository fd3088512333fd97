//! `faq`: answers from documents, with citations.

use knowledge::{Answer, Citation, Query};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Effect, Tool, ToolSpec, Toolset};
use crate::app::documents::DocumentIndexes;
use crate::error::RequestError;
use crate::rpc::resources::document_uri;
use crate::{CitationFormat, ToolContext};

/// Answer a question from the documentation of FluxLoop and this server, and from indexed documents, with
/// citations. Quotes the sources; says so when nothing matches.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Question in plain language.
    #[schemars(length(min = 1))]
    query: String,
    /// Pages to consider.
    #[serde(default = "default_top_k")]
    #[schemars(range(min = 1, max = 20))]
    top_k: usize,
    /// Hints such as `{"detected_framework": "fastapi"}`: pages about them rank higher.
    #[serde(default)]
    context: Map<String, Value>,
    /// Form of `citations`: paths, or objects with path and section.
    #[serde(default)]
    citation_format: Option<CitationFormatArg>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CitationFormatArg {
    Strings,
    Objects,
}

impl From<CitationFormatArg> for CitationFormat {
    fn from(format: CitationFormatArg) -> Self {
        match format {
            CitationFormatArg::Strings => Self::Strings,
            CitationFormatArg::Objects => Self::Objects,
        }
    }
}

fn default_top_k() -> usize {
    5
}

/// An answer and its sources.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    /// Markdown. `[1]` refers to the first citation.
    answer: String,
    /// Quoted documents, best match first; empty if nothing matches.
    citations: Vec<Value>,
    /// The citations with section, lines, score and resource.
    citation_details: Vec<CitationDetail>,
    /// Confidence that the answer is about the question, from 0 to 1.
    score: f64,
    /// Number of passages that the answer quotes.
    chunks_used: usize,
    /// How the passages were found.
    retrieval: Retrieval,
    /// Closest headings, if nothing matches well.
    weak_matches: Vec<String>,
    /// Indexes that could not be searched.
    warnings: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct CitationDetail {
    path: String,
    section: String,
    /// First and last line.
    lines: [usize; 2],
    score: f64,
    /// Versions that it applies to, if not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<String>,
    /// For `resources/read`.
    uri: String,
}

#[derive(Serialize, JsonSchema)]
struct Retrieval {
    /// `bm25`, `static-embedding`.
    modes: Vec<&'static str>,
}

pub(crate) struct Faq;

impl Tool for Faq {
    const SPEC: ToolSpec = ToolSpec {
        name: "faq",
        title: "Ask the documentation",
        toolset: Toolset::Docs,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, args: Args) -> Result<Reply, RequestError> {
        if args.query.trim().is_empty() {
            return Err(RequestError::invalid_argument(
                "query",
                "is empty; ask a question in plain language",
            ));
        }
        let hints = collect_hints(&args.context);
        let query = Query { text: &args.query, hints: &hints, top: args.top_k };
        let answer = call.documents.answer(&query)?;
        let format = args.citation_format.map_or(call.citations, CitationFormat::from);
        Ok(Reply::from_answer(answer, format, &call.documents))
    }
}

/// Every string in the context, at any depth: clients name their hints as they like.
fn collect_hints(context: &Map<String, Value>) -> Vec<&str> {
    fn collect<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::String(text) if found.len() < 16 => found.push(text),
            Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
            Value::Object(map) => map.values().for_each(|value| collect(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    context.values().for_each(|value| collect(value, &mut found));
    found
}

impl Reply {
    fn from_answer(answer: Answer, format: CitationFormat, documents: &DocumentIndexes) -> Self {
        let citation = |citation: &Citation| match format {
            CitationFormat::Strings => json!(citation.path),
            CitationFormat::Objects => json!({ "path": citation.path, "section": citation.section }),
        };
        Self {
            citations: answer.citations.iter().map(citation).collect(),
            citation_details: answer
                .citations
                .iter()
                .map(|citation| CitationDetail::from_citation(citation, documents))
                .collect(),
            score: round_score(answer.score),
            chunks_used: answer.chunks_used,
            retrieval: Retrieval { modes: answer.modes.iter().map(|mode| mode.name()).collect() },
            weak_matches: answer.weak,
            warnings: documents.problems().to_vec(),
            answer: answer.text,
        }
    }
}

impl CitationDetail {
    fn from_citation(citation: &Citation, documents: &DocumentIndexes) -> Self {
        let page = documents.page(&citation.path);
        Self {
            path: citation.path.clone(),
            section: citation.section.clone(),
            lines: [citation.lines.0, citation.lines.1],
            score: round_score(citation.score),
            versions: page.and_then(|page| page.version).map(str::to_owned),
            uri: document_uri(&citation.path),
        }
    }
}

/// More digits would suggest a precision that the score does not have.
fn round_score(score: f32) -> f64 {
    (f64::from(score) * 1000.0).round() / 1000.0
}
