//! Resolution of references.

use std::collections::HashMap;

use super::document::TokenDocument;
use super::evaluate::ModeValues;
use super::finding::{FindingCollector, TokenFinding, excerpt};
use super::flatten::Token;
use super::json::Json;
use super::kind::TokenKind;
use super::limits::MAX_INHERITED_TEXT_BYTES;
use super::model::TokenModel;
use super::parse::parse_value;
use super::value::TokenValue;

/// The tokens of a document with a value in one mode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResolvedTokens {
    tokens: Vec<ResolvedToken>,
    index: HashMap<String, usize>,
    /// Why the missing tokens have no value.
    pub findings: Vec<TokenFinding>,
}

/// A token with its resolved value.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedToken {
    pub path: String,
    /// The type, if known.
    pub kind: Option<TokenKind>,
    /// The value, without references.
    pub value: Json,
    /// What it is for.
    pub description: Option<String>,
    /// `Some` if deprecated: the reason, or an empty string.
    pub deprecated: Option<String>,
}

impl ResolvedToken {
    /// The typed value, if it is valid.
    pub fn typed_value(&self) -> Option<TokenValue> {
        parse_value(self.kind?, &self.value)
    }
}

impl ResolvedTokens {
    /// The tokens, in document order.
    pub fn tokens(&self) -> &[ResolvedToken] {
        &self.tokens
    }

    pub fn get(&self, path: &str) -> Option<&ResolvedToken> {
        self.index.get(path).map(|&at| &self.tokens[at])
    }
}

/// Resolves every reference of a document, in a mode or without one.
///
/// A token without a value for the mode has its base value; references in it use the values of the mode. A
/// token with a broken reference or in a cycle is omitted, with a finding. Time is linear in the size of the
/// document and of the result, which is bounded.
pub fn resolve(document: &TokenDocument, mode: Option<&str>) -> ResolvedTokens {
    let model = TokenModel::new(document);
    let mut findings = FindingCollector::default();
    findings.extend(model.findings().iter().cloned());
    if let Some(mode) = mode {
        let all = document.modes();
        if !all.iter().any(|known| known == mode) {
            let known = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            let message =
                format!("no token has a value for mode `{}`; existing modes: {known}", excerpt(mode));
            findings.push(TokenFinding::warning("", message));
        }
    }
    let values = ModeValues::for_mode(&model, mode, &mut |finding| findings.push(finding));
    let mut tokens = Vec::with_capacity(model.tokens().len());
    for ((token, kind), value) in model.tokens().iter().zip(&model.kinds).zip(values.into_values()) {
        let Some(value) = value else { continue };
        tokens.push(ResolvedToken {
            path: token.path.to_string(),
            kind: *kind,
            value,
            description: token_description(token).map(str::to_owned),
            deprecated: token_deprecation(token).map(str::to_owned),
        });
    }
    let index = tokens.iter().enumerate().map(|(at, token)| (token.path.clone(), at)).collect();
    ResolvedTokens { tokens, index, findings: findings.into_vec() }
}

/// What a token is for.
pub(super) fn token_description<'a>(token: &Token<'a>) -> Option<&'a str> {
    let text = token.map.get("$description")?.as_str()?;
    Some(if token.path == token.origin { text } else { truncate_inherited(text) })
}

/// The deprecation reason as reported, empty if none is given. Truncated if inherited.
pub(super) fn token_deprecation<'a>(token: &Token<'a>) -> Option<&'a str> {
    let is_own = token.path == token.origin && token.map.contains("$deprecated");
    deprecation_reason(token).map(|why| if is_own { why } else { truncate_inherited(why) })
}

/// The full deprecation reason.
pub(super) fn deprecation_reason<'a>(token: &Token<'a>) -> Option<&'a str> {
    match token.deprecated {
        Some(Json::Bool(true)) => Some(""),
        Some(Json::String(why)) => Some(why),
        _ => None,
    }
}

/// Truncates a text that thousands of tokens may inherit.
pub(super) fn truncate_inherited(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_INHERITED_TEXT_BYTES)]
}
