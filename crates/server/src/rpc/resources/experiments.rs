//! Experiments as resources: the folder of one gives an overview, and every file in it can be read, without secrets.
//!
//! A URI names the path from an allowed root, whatever folder a tool was asked about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fluxloop::project::Detail;
use serde_json::{Value, json};
use tree::{Budget, Roots};

use crate::blocking::blocking;
use crate::error::Failure;
use crate::rpc::client_roots;
use crate::rpc::context::Context;
use crate::rpc::resources::uri::{decoded, encoded};
use crate::tools::Located;

pub(crate) const PREFIX: &str = "fluxloop://experiments/";
pub(crate) const TEMPLATE: &str = "fluxloop://experiments/{+path}";

/// The tool whose experiments are resources: whoever may not ask it may not read them either.
pub(crate) const READER: &str = "fetch_experiment_context";

/// Where a file or folder at this path can be read.
pub(crate) fn uri(path: &str) -> String {
    format!("{PREFIX}{}", encoded(path))
}

fn path_in(uri: &str) -> Option<String> {
    decoded(uri.strip_prefix(PREFIX)?)
}

/// An experiment or one of its documents: what it is, and the text.
pub(crate) async fn read(
    ctx: &Context,
    roots: &Arc<[PathBuf]>,
    uri: &str,
) -> Result<Option<(&'static str, String)>, Failure> {
    let (true, Some(path)) = (is_served(ctx), path_in(uri)) else { return Ok(None) };
    let roots = Arc::clone(roots);
    blocking(&ctx.call, move |budget| Ok(find(&roots, &path, budget))).await
}

/// Whether there is such a thing, as far as its form tells: what is on the disk may come and go.
pub(crate) fn could_be(ctx: &Context, uri: &str) -> bool {
    is_served(ctx) && path_in(uri).is_some_and(|path| !path.is_empty())
}

/// The paths of all experiments, the newest of each root first.
pub(crate) async fn paths(ctx: &Context) -> Result<Vec<String>, Failure> {
    if !is_served(ctx) {
        return Ok(Vec::new());
    }
    let folders = client_roots::narrow_silently(ctx).await?;
    let of_root = |roots: &Roots, folder: &Path, budget: &Budget| {
        let located = Located::find(roots, folder.to_str()?).ok()?;
        let experiments = located.projects.experiments(&located.tree, Detail::NONE, budget);
        Some(experiments.list.into_iter().map(|one| located.path_from_root(&one.id)).collect::<Vec<_>>())
    };
    blocking(&ctx.call, move |budget| {
        let roots = Roots::new(folders.clone());
        Ok(folders.iter().filter_map(|folder| of_root(&roots, folder, budget)).flatten().collect())
    })
    .await
}

fn is_served(ctx: &Context) -> bool {
    ctx.app().catalog().find(READER).is_some()
}

fn find(folders: &Arc<[PathBuf]>, path: &str, budget: &Budget) -> Option<(&'static str, String)> {
    let roots = Roots::new(folders.clone());
    folders.iter().find_map(|root| {
        let located = |folder: &str| Located::find(&roots, root.join(folder).to_str()?).ok();
        // The folder itself, or that of a document in it or one below.
        let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        let overview = || overview(&located(path.trim_end_matches('/'))?, budget);
        let parts = || slashes.iter().rev().take(2).map(|at| (&path[..*at], &path[at + 1..]));
        let document = |(folder, name): (&str, &str)| document(&located(folder)?, name, budget);
        overview().or_else(|| parts().find_map(document))
    })
}

/// The experiment in the folder that was looked for, and the documents that it has.
fn overview(located: &Located, budget: &Budget) -> Option<(&'static str, String)> {
    let Located { tree, projects, inside, .. } = located;
    let found = projects.experiment(tree, inside, budget)?;
    let document = |document: fluxloop::project::Document| -> Value {
        let path = located.path_from_root(&format!("{inside}/{}", document.name));
        json!({ "name": document.name, "bytes": document.bytes, "uri": uri(&path) })
    };
    let documents: Vec<Value> = projects.documents(tree, inside).into_iter().map(document).collect();
    let text =
        json!({ "experiment": found.list.first()?, "documents": documents, "warnings": found.warnings });
    Some(("application/json", text.to_string()))
}

fn document(located: &Located, name: &str, budget: &Budget) -> Option<(&'static str, String)> {
    let Located { tree, projects, inside, .. } = located;
    let document = projects.document(tree, inside, name, budget).ok()?;
    if document.is_cut {
        // Half a document of JSON is none.
        return Some(("text/plain", document.text + "\n… it goes on: this is the first part only\n"));
    }
    Some((document.mime, document.text))
}
