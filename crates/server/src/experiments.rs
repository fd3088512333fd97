//! Experiments as resources: the folder of one gives an overview, and every file in it can be read, without secrets.

use std::fmt::Write;

use tree::{Budget, Roots};

use crate::context::Context;
use crate::tools::Located;

pub(crate) const PREFIX: &str = "fluxloop://experiments/";
pub(crate) const TEMPLATE: &str = "fluxloop://experiments/{+path}";

/// The tool whose experiments are resources: whoever may not ask it may not read them either.
pub(crate) const READER: &str = "fetch_experiment_context";

/// Where an experiment, or a document of it, can be read.
pub(crate) fn experiment_uri(id: &str, document: &str) -> String {
    let mut uri = PREFIX.to_owned();
    let path = if document.is_empty() { id.to_owned() } else { format!("{id}/{document}") };
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// The path in a URI. `None` for escapes that are none.
fn decoded(escaped: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// An experiment or one of its documents: what it is, and the text.
pub(crate) fn find(ctx: &Context, uri: &str) -> Option<(&'static str, String)> {
    let path = decoded(uri.strip_prefix(PREFIX)?)?;
    ctx.app().catalog().find(READER)?;
    located(ctx)
        .into_iter()
        .find_map(|located| overview(&located, &path).or_else(|| document(&located, &path)))
}

/// The paths of all experiments, the newest of each root first.
pub(crate) fn paths(ctx: &Context) -> Vec<String> {
    if ctx.app().catalog().find(READER).is_none() {
        return Vec::new();
    }
    let of_root = |located: Located| {
        let detail = fluxloop::project::Detail::NONE;
        let experiments = located.projects.experiments(&located.tree, detail, &Budget::unlimited());
        experiments.list.into_iter().map(|experiment| experiment.id).collect::<Vec<_>>()
    };
    located(ctx).into_iter().flat_map(of_root).collect()
}

fn located(ctx: &Context) -> Vec<Located> {
    let roots = Roots::new(ctx.call.roots.clone());
    let folders = ctx.call.roots.iter().filter_map(|root| root.to_str());
    folders.filter_map(|folder| Located::find(&roots, folder).ok()).collect()
}

/// The experiment, and the documents that it has.
fn overview(located: &Located, path: &str) -> Option<(&'static str, String)> {
    let id = path.trim_end_matches('/');
    let Located { tree, projects } = located;
    let found = projects.experiment(tree, id, &Budget::unlimited())?;
    let documents: Vec<_> = projects
        .documents(tree, id)
        .into_iter()
        .map(|document| {
            serde_json::json!({ "name": document.name, "bytes": document.bytes, "uri": experiment_uri(id, &document.name) })
        })
        .collect();
    let warnings = &found.warnings;
    let text = serde_json::json!({ "experiment": found.list.first()?, "documents": documents, "warnings": warnings });
    Some(("application/json", text.to_string()))
}

/// A document lies in the folder of its experiment, or one below.
fn document(located: &Located, path: &str) -> Option<(&'static str, String)> {
    let Located { tree, projects } = located;
    let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    slashes.iter().rev().take(2).find_map(|at| {
        let (experiment, name) = (&path[..*at], &path[at + 1..]);
        let document = projects.document(tree, experiment, name, &Budget::unlimited()).ok()?;
        Some((document.mime, document.text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_through_a_uri() {
        for path in ["fluxloop/desk/experiments/a_1", "a b/100%/ü/x#1?", ""] {
            let uri = experiment_uri(path, "");
            assert!(uri.is_ascii(), "{uri}");
            assert_eq!(decoded(uri.strip_prefix(PREFIX).unwrap()).as_deref(), Some(path));
        }
        assert_eq!(decoded("a%4"), None);
        assert_eq!(decoded("%zz"), None);
        assert_eq!(decoded("%ff"), None);
    }
}
