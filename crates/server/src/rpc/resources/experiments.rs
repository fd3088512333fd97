//! Experiments as resources: the folder of one gives an overview, and every file in it can be read, without
//! secrets.
//!
//! A URI names the path from an allowed root, whatever folder a tool was asked about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fluxloop::project::DetailLimits;
use serde_json::{Value, json};
use tree::{Roots, WorkBudget};

use crate::blocking::run_blocking;
use crate::error::RequestError;
use crate::rpc::client_roots;
use crate::rpc::context::RequestContext;
use crate::rpc::resources::uri::{percent_decode, percent_encode_path};
use crate::tools::LocatedProjects;

pub(crate) const URI_PREFIX: &str = "fluxloop://experiments/";
pub(crate) const URI_TEMPLATE: &str = "fluxloop://experiments/{+path}";

/// The tool whose experiments are resources: a caller without access to it may not read them either.
pub(crate) const REQUIRED_TOOL: &str = "fetch_experiment_context";

/// Where a file or folder at this path can be read.
pub(crate) fn experiment_uri(path: &str) -> String {
    format!("{URI_PREFIX}{}", percent_encode_path(path))
}

fn path_from_uri(uri: &str) -> Option<String> {
    percent_decode(uri.strip_prefix(URI_PREFIX)?)
}

/// An experiment or one of its documents: what it is, and the text.
pub(crate) async fn read(
    ctx: &RequestContext,
    roots: &Arc<[PathBuf]>,
    uri: &str,
) -> Result<Option<(&'static str, String)>, RequestError> {
    let (true, Some(path)) = (is_served(ctx), path_from_uri(uri)) else { return Ok(None) };
    let roots = Arc::clone(roots);
    run_blocking(&ctx.call, move |budget| Ok(find_resource(&roots, &path, budget))).await
}

/// Whether there is such a thing, as far as its form tells: what is on the disk may come and go.
pub(crate) fn matches_uri(ctx: &RequestContext, uri: &str) -> bool {
    is_served(ctx) && path_from_uri(uri).is_some_and(|path| !path.is_empty())
}

/// The paths of all experiments, the newest of each root first.
pub(crate) async fn experiment_paths(ctx: &RequestContext) -> Result<Vec<String>, RequestError> {
    if !is_served(ctx) {
        return Ok(Vec::new());
    }
    let folders = client_roots::narrow_without_asking(ctx).await?;
    let of_root = |roots: &Roots, folder: &Path, budget: &WorkBudget| {
        let located = LocatedProjects::find(roots, folder.to_str()?).ok()?;
        let experiments = located.projects.experiments(&located.tree, DetailLimits::NONE, budget);
        Some(experiments.list.into_iter().map(|one| located.path_from_root(&one.id)).collect::<Vec<_>>())
    };
    run_blocking(&ctx.call, move |budget| {
        let roots = Roots::new(folders.clone());
        Ok(folders.iter().filter_map(|folder| of_root(&roots, folder, budget)).flatten().collect())
    })
    .await
}

fn is_served(ctx: &RequestContext) -> bool {
    ctx.app().catalog().find(REQUIRED_TOOL).is_some()
}

fn find_resource(
    folders: &Arc<[PathBuf]>,
    path: &str,
    budget: &WorkBudget,
) -> Option<(&'static str, String)> {
    let roots = Roots::new(folders.clone());
    folders.iter().find_map(|root| {
        let located = |folder: &str| LocatedProjects::find(&roots, root.join(folder).to_str()?).ok();
        // The folder itself, or that of a document in it or one below.
        let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        let overview = || render_overview(&located(path.trim_end_matches('/'))?, budget);
        let parts = || slashes.iter().rev().take(2).map(|at| (&path[..*at], &path[at + 1..]));
        let document = |(folder, name): (&str, &str)| read_document(&located(folder)?, name, budget);
        overview().or_else(|| parts().find_map(document))
    })
}

/// The experiment in the folder that was looked for, and the documents that it has.
fn render_overview(located: &LocatedProjects, budget: &WorkBudget) -> Option<(&'static str, String)> {
    let LocatedProjects { tree, projects, subfolder: inside, .. } = located;
    let found = projects.experiment(tree, inside, budget)?;
    let document = |document: fluxloop::project::ExperimentDocument| -> Value {
        let path = located.path_from_root(&format!("{inside}/{}", document.name));
        json!({ "name": document.name, "bytes": document.bytes, "uri": experiment_uri(&path) })
    };
    let documents: Vec<Value> = projects.documents(tree, inside).into_iter().map(document).collect();
    let text =
        json!({ "experiment": found.list.first()?, "documents": documents, "warnings": found.warnings });
    Some(("application/json", text.to_string()))
}

fn read_document(
    located: &LocatedProjects,
    name: &str,
    budget: &WorkBudget,
) -> Option<(&'static str, String)> {
    let LocatedProjects { tree, projects, subfolder: inside, .. } = located;
    let document = projects.document(tree, inside, name, budget).ok()?;
    if document.is_cut {
        // Half a document of JSON is none.
        return Some(("text/plain", document.text + "\n… it goes on: this is the first part only\n"));
    }
    Some((document.mime, document.text))
}
