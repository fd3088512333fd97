//! Validation of documents, and normalisation of legacy forms.

pub(super) mod structure;

use std::borrow::Cow;

use super::document::{TokenDocument, for_each_mode_value, join_path, mode_value};
use super::evaluate::{ModeResolver, ModeValues};
use super::finding::{FindingCollector, SeenFindings, TokenFinding, TokenSeverity, excerpt};
use super::json::{Json, JsonMap};
use super::kind::TokenKind;
use super::model::{ReferenceTarget, TokenModel};
use super::parse::{ReferenceUse, ValueParser, ValueProblem};
use super::reference::TokenReference;

/// Every problem of a document, in document order.
pub fn validate(document: &TokenDocument) -> Vec<TokenFinding> {
    let model = TokenModel::new(document);
    let mut findings = FindingCollector::default();
    validate_with(document, &model, &mut |finding| findings.push(finding), &mut |_, _| {});
    let mut findings = findings.into_vec();
    // Stable, so that findings about the same token keep their order.
    findings.sort_by_cached_key(|finding| model.index().get(finding.token_path()).map_or(0, |at| at + 1));
    findings
}

/// Reports every problem of a document, and passes on the base values and the values of each mode.
pub(super) fn validate_with(
    document: &TokenDocument,
    model: &TokenModel<'_>,
    tell: &mut dyn FnMut(TokenFinding),
    show: &mut dyn FnMut(Option<&str>, &ModeValues),
) {
    structure::check_structure(document, tell);
    model.findings().iter().cloned().for_each(&mut *tell);
    // Problems of base values apply to all modes, and are reported once.
    let mut told = SeenFindings::default();
    let mut tell_base = |finding: TokenFinding| {
        if told.insert(&finding) {
            tell(finding);
        }
    };
    let mut everywhere = ModeResolver::new(model, &mut tell_base);
    for at in 0..model.tokens().len() {
        validate_token(model, &everywhere.base, at, None).into_iter().for_each(&mut tell_base);
    }
    show(None, &everywhere.base);
    for mode in document.modes() {
        let mut tell_mode = |finding: TokenFinding| {
            if told.insert(&finding) {
                tell(finding.in_mode(&mode));
            }
        };
        let values = everywhere.resolve_mode(&mode, &mut tell_mode);
        for (at, token) in model.tokens().iter().enumerate() {
            if has_mode(token.map, &mode) {
                validate_token(model, &values, at, Some(&mode)).into_iter().for_each(&mut tell_mode);
            }
        }
        show(Some(&mode), &values);
    }
}

/// Whether a token has its own value for a mode.
fn has_mode(token: &JsonMap, mode: &str) -> bool {
    mode_value(token, mode).is_some()
}

/// Problems with the value of a token.
fn validate_token(
    model: &TokenModel<'_>,
    values: &ModeValues,
    at: usize,
    mode: Option<&str>,
) -> Vec<TokenFinding> {
    let token = &model.tokens()[at];
    let mut findings = Vec::new();
    if values.too_large[at] {
        return findings;
    }
    let Some(kind) = model.kinds[at] else {
        let known = token.map.get("$type").and_then(Json::as_str).or(token.group_type);
        // Unknown types and broken aliases are reported elsewhere.
        if known.is_none() && model.alias(at, None).is_none() && mode.is_none() {
            let message = "the token has no type; add `$type` to it or to one of its groups";
            findings.push(TokenFinding::error(&*token.path, message));
        }
        return findings;
    };
    if let Some(alias) = model.alias(at, mode) {
        let Ok(reference) = alias else { return findings };
        match model.locate(&reference) {
            Ok(ReferenceTarget::Token(_)) => {
                let message = kind_mismatch(model, &reference, &[kind]);
                findings.extend(message.map(|message| TokenFinding::error(&*token.path, message)));
                return findings;
            }
            Ok(_) => {}
            Err(_) => return findings,
        }
    }
    let mut reader = ValueParser::default();
    if let Some(value) = values.inlined_value(model, at, mode) {
        reader.parse(kind, &value);
        // A pointer may appear where a reference in braces cannot, such as `alpha`. Then its resolved value
        // is checked.
        if let (Cow::Owned(_), true, Some(followed)) = (value, reader.has_errors(), values.get(at)) {
            let mut literal = ValueParser::default();
            literal.parse(kind, followed);
            reader.problems = literal.problems;
        }
    }
    for problem in reader.problems {
        let ValueProblem { part, severity, message } = problem;
        findings.push(TokenFinding::new(token.path.to_string(), &part, severity, message));
    }
    for ReferenceUse { part, path, kinds } in reader.uses {
        if let Some(message) = kind_mismatch(model, &TokenReference::Path(path), kinds) {
            findings.push(TokenFinding::new(token.path.to_string(), &part, TokenSeverity::Error, message));
        }
    }
    findings
}

/// Error if a reference refers to a token of another type.
fn kind_mismatch(model: &TokenModel<'_>, reference: &TokenReference, wanted: &[TokenKind]) -> Option<String> {
    let Ok(ReferenceTarget::Token(target)) = model.locate(reference) else { return None };
    let found = model.kinds[target]?;
    if wanted.contains(&found) {
        return None;
    }
    let wanted = wanted.first()?;
    let reference = reference.to_text();
    let reference = excerpt(&reference);
    Some(format!("{reference} is a {found}, but a {wanted} is required"))
}

/// The document with legacy forms converted to 2025.10. Invalid values are kept.
pub(super) fn normalise(document: &TokenDocument) -> TokenDocument {
    normalise_counting(document).0
}

/// Like [`normalise`], and returns the number of converted tokens.
pub(super) fn normalise_counting(document: &TokenDocument) -> (TokenDocument, usize) {
    let model = TokenModel::new(document);
    let mut renewed = document.clone();
    let count = normalise_group(&model, renewed.root_mut(), "");
    (renewed, count)
}

fn normalise_group(model: &TokenModel<'_>, group: &mut JsonMap, path: &str) -> usize {
    let mut count = 0;
    for (name, value) in group.iter_mut() {
        let Some(map) = value.as_object_mut().filter(|_| name == "$root" || !name.starts_with('$')) else {
            continue;
        };
        let path = join_path(path, name);
        let Some(&at) = model.index().get(path.as_str()) else {
            count += normalise_group(model, map, &path);
            continue;
        };
        let Some(kind) = model.kinds[at] else { continue };
        let mut is_old = map.get_mut("$value").is_some_and(|value| normalise_value(kind, value));
        for_each_mode_value(map, &mut |value| is_old |= normalise_value(kind, value));
        count += usize::from(is_old);
    }
    count
}

/// Converts a value in a legacy form. Returns whether it was converted.
pub(super) fn normalise_value(kind: TokenKind, json: &mut Json) -> bool {
    if TokenReference::from_value(json).is_some() {
        return false;
    }
    let mut reader = ValueParser::default();
    let value = reader.parse(kind, json);
    let Some(value) = value.filter(|_| reader.has_legacy_form && !reader.has_errors()) else { return false };
    *json = value.to_json();
    true
}
