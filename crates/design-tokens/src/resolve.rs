//! Values with every reference followed.

use std::collections::HashMap;

use super::document::Document;
use super::finding::{Finding, Findings, shown};
use super::flat::Token;
use super::follow::Values;
use super::json::Json;
use super::kind::Kind;
use super::limits::MAX_REMARK;
use super::model::Model;
use super::read::read;
use super::value::Value;

/// Every token of a document that has a value, in one mode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    tokens: Vec<ResolvedToken>,
    index: HashMap<String, usize>,
    /// Why the tokens that are missing here have no value.
    pub findings: Vec<Finding>,
}

/// A token with its final value.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedToken {
    /// Its path.
    pub path: String,
    /// Its type, if it can be known.
    pub kind: Option<Kind>,
    /// Its value, without references.
    pub value: Json,
    /// What it is for.
    pub description: Option<String>,
    /// Set if it should not be used any more: why, or an empty text.
    pub deprecated: Option<String>,
}

impl ResolvedToken {
    /// Its value with a type, if it is a right one.
    pub fn typed(&self) -> Option<Value> {
        read(self.kind?, &self.value)
    }
}

impl Resolved {
    /// The tokens, in the order of the document.
    pub fn tokens(&self) -> &[ResolvedToken] {
        &self.tokens
    }

    /// The token of a path.
    pub fn get(&self, path: &str) -> Option<&ResolvedToken> {
        self.index.get(path).map(|&at| &self.tokens[at])
    }
}

/// Follows every reference of a document, in a mode or in none.
///
/// A token without a value for the mode keeps its own value; references in it lead to values of the mode. A token whose
/// references lead nowhere or in a circle is left out, and a finding says why. Time is linear in the size of the document
/// and of what comes out, and that is bounded.
pub fn resolve(document: &Document, mode: Option<&str>) -> Resolved {
    let model = Model::of(document);
    let mut findings = Findings::default();
    findings.extend(model.findings().iter().cloned());
    if let Some(mode) = mode {
        let all = document.modes();
        if !all.iter().any(|known| known == mode) {
            let known = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            let message = format!("no token has a value for mode `{}`; there are: {known}", shown(mode));
            findings.push(Finding::warning("", message));
        }
    }
    let values = Values::of(&model, mode, &mut |finding| findings.push(finding));
    let mut tokens = Vec::with_capacity(model.tokens().len());
    for ((token, kind), value) in model.tokens().iter().zip(&model.kinds).zip(values.into_each()) {
        let Some(value) = value else { continue };
        tokens.push(ResolvedToken {
            path: token.path.to_string(),
            kind: *kind,
            value,
            description: description(token).map(str::to_owned),
            deprecated: deprecated(token).map(str::to_owned),
        });
    }
    let index = tokens.iter().enumerate().map(|(at, token)| (token.path.clone(), at)).collect();
    Resolved { tokens, index, findings: findings.into_vec() }
}

/// What a token is for.
pub(super) fn description<'a>(token: &Token<'a>) -> Option<&'a str> {
    let text = token.map.get("$description")?.as_str()?;
    Some(if token.path == token.origin { text } else { brief(text) })
}

/// Why a token should not be used any more, as it is told: an empty text if nobody says.
pub(super) fn deprecated<'a>(token: &Token<'a>) -> Option<&'a str> {
    let is_own = token.path == token.origin && token.map.contains("$deprecated");
    reason(token).map(|why| if is_own { why } else { brief(why) })
}

/// Why a token should not be used any more, all of it.
pub(super) fn reason<'a>(token: &Token<'a>) -> Option<&'a str> {
    match token.deprecated {
        Some(Json::Bool(true)) => Some(""),
        Some(Json::String(why)) => Some(why),
        _ => None,
    }
}

/// What is told of a text that thousands may inherit.
pub(super) fn brief(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_REMARK)]
}
