//! What is wrong with a document, all of it at once; and old forms brought up to date.

pub(super) mod shape;

use std::borrow::Cow;

use super::document::{Document, each_mode_value, join, mode_value};
use super::finding::{Finding, Findings, Severity, Told, shown};
use super::follow::{Everywhere, Values};
use super::json::{Json, Map};
use super::kind::Kind;
use super::model::{Model, Target};
use super::read::{Problem, Reader, Use};
use super::reference::Reference;

/// Everything that is wrong with a document, in the order of the document.
pub fn validate(document: &Document) -> Vec<Finding> {
    let model = Model::of(document);
    let mut findings = Findings::default();
    judge_all(document, &model, &mut |finding| findings.push(finding), &mut |_, _| {});
    let mut findings = findings.into_vec();
    // Stable, so that what is told of one token keeps its order.
    findings.sort_by_cached_key(|finding| model.index().get(finding.token()).map_or(0, |at| at + 1));
    findings
}

/// Tells everything that is wrong with a document, and shows the values without a mode and in each one.
pub(super) fn judge_all(
    document: &Document,
    model: &Model<'_>,
    tell: &mut dyn FnMut(Finding),
    show: &mut dyn FnMut(Option<&str>, &Values),
) {
    shape::findings(document, tell);
    model.findings().iter().cloned().for_each(&mut *tell);
    // What is wrong without a mode is wrong in all of them, and told once.
    let mut told = Told::default();
    let mut tell_base = |finding: Finding| {
        if told.is_new(&finding) {
            tell(finding);
        }
    };
    let mut everywhere = Everywhere::of(model, &mut tell_base);
    for at in 0..model.tokens().len() {
        judge(model, &everywhere.base, at, None).into_iter().for_each(&mut tell_base);
    }
    show(None, &everywhere.base);
    for mode in document.modes() {
        let mut tell_mode = |finding: Finding| {
            if told.is_new(&finding) {
                tell(finding.in_mode(&mode));
            }
        };
        let values = everywhere.mode(&mode, &mut tell_mode);
        for (at, token) in model.tokens().iter().enumerate() {
            if has_mode(token.map, &mode) {
                judge(model, &values, at, Some(&mode)).into_iter().for_each(&mut tell_mode);
            }
        }
        show(Some(&mode), &values);
    }
}

/// Whether a token has a value of its own for a mode.
fn has_mode(token: &Map, mode: &str) -> bool {
    mode_value(token, mode).is_some()
}

/// What is wrong with the value of one token.
fn judge(model: &Model<'_>, values: &Values, at: usize, mode: Option<&str>) -> Vec<Finding> {
    let token = &model.tokens()[at];
    let mut findings = Vec::new();
    if values.too_large[at] {
        return findings;
    }
    let Some(kind) = model.kinds[at] else {
        let known = token.map.get("$type").and_then(Json::as_str).or(token.group_type);
        // An unknown type is told where it is written, a broken alias where it points nowhere.
        if known.is_none() && model.alias(at, None).is_none() && mode.is_none() {
            let message = "the token has no type: give it or one of its groups a `$type`";
            findings.push(Finding::error(&*token.path, message));
        }
        return findings;
    };
    if let Some(alias) = model.alias(at, mode) {
        let Ok(reference) = alias else { return findings };
        match model.locate(&reference) {
            Ok(Target::Token(_)) => {
                let message = mismatch(model, &reference, &[kind]);
                findings.extend(message.map(|message| Finding::error(&*token.path, message)));
                return findings;
            }
            Ok(_) => {}
            Err(_) => return findings,
        }
    }
    let mut reader = Reader::default();
    if let Some(value) = values.inlined(model, at, mode) {
        reader.value(kind, &value);
        // A pointer may stand where no path in braces can, such as `alpha`. There it means what it leads to.
        if let (Cow::Owned(_), true, Some(followed)) = (value, reader.has_errors(), values.get(at)) {
            let mut literal = Reader::default();
            literal.value(kind, followed);
            reader.problems = literal.problems;
        }
    }
    for problem in reader.problems {
        let Problem { part, severity, message } = problem;
        findings.push(Finding::new(token.path.to_string(), &part, severity, message));
    }
    for Use { part, path, kinds } in reader.uses {
        if let Some(message) = mismatch(model, &Reference::Path(path), kinds) {
            findings.push(Finding::new(token.path.to_string(), &part, Severity::Error, message));
        }
    }
    findings
}

/// Says so if a reference leads to a token of another type than is wanted.
fn mismatch(model: &Model<'_>, reference: &Reference, wanted: &[Kind]) -> Option<String> {
    let Ok(Target::Token(target)) = model.locate(reference) else { return None };
    let found = model.kinds[target]?;
    if wanted.contains(&found) {
        return None;
    }
    let wanted = wanted.first()?;
    let reference = reference.text();
    let reference = shown(&reference);
    Some(format!("{reference} is a {found}, and here a {wanted} is needed"))
}

/// The document with every old form written as 2025.10 has it. What cannot be read stays as it is.
pub(super) fn normalise(document: &Document) -> Document {
    renewed(document).0
}

/// The same, and how many tokens had an old form.
pub(super) fn renewed(document: &Document) -> (Document, usize) {
    let model = Model::of(document);
    let mut renewed = document.clone();
    let count = renew_group(&model, renewed.root_mut(), "");
    (renewed, count)
}

fn renew_group(model: &Model<'_>, group: &mut Map, path: &str) -> usize {
    let mut count = 0;
    for (name, value) in group.iter_mut() {
        let Some(map) = value.as_object_mut().filter(|_| name == "$root" || !name.starts_with('$')) else {
            continue;
        };
        let path = join(path, name);
        let Some(&at) = model.index().get(path.as_str()) else {
            count += renew_group(model, map, &path);
            continue;
        };
        let Some(kind) = model.kinds[at] else { continue };
        let mut is_old = map.get_mut("$value").is_some_and(|value| renew(kind, value));
        each_mode_value(map, &mut |value| is_old |= renew(kind, value));
        count += usize::from(is_old);
    }
    count
}

/// Writes a value anew if it has an old form. Says whether it had.
pub(super) fn renew(kind: Kind, json: &mut Json) -> bool {
    if Reference::of(json).is_some() {
        return false;
    }
    let mut reader = Reader::default();
    let value = reader.value(kind, json);
    let Some(value) = value.filter(|_| reader.old && !reader.has_errors()) else { return false };
    *json = value.to_json();
    true
}
