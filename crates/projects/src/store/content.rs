//! Reading and writing whole drafts.

use std::collections::BTreeMap;

use futures_util::future::{try_join, try_join4};

use super::design::parse_design;
use super::tables::{RowWindow, Tables};
use super::{join_project_first, query};
use crate::asset::Asset;
use crate::blocks::Block;
use crate::content::ProjectContent;
use crate::error::Error;
use crate::ids::{BlockId, ProjectId};
use crate::project::Project;
use crate::types::CustomBlockType;
use design_tokens::TokenDocument;

/// A project with the content of its draft.
pub(super) async fn read_draft(
    tables: &dyn Tables,
    project: impl Future<Output = Result<Project, Error>>,
    id: &ProjectId,
) -> Result<(Project, ProjectContent), Error> {
    let rows = query(try_join4(
        tables.types(id, None),
        tables.all_blocks(id),
        tables.design(id),
        tables.assets(id, RowWindow::ALL),
    ));
    let (project, (types, blocks, design, mut assets)) = join_project_first(project, rows).await?;
    assets.sort_by(|one, other| one.id.cmp(&other.id));
    let blocks = in_reading_order(blocks, None, |block| block);
    let fields = project.fields.clone();
    Ok((project, ProjectContent { fields, types, blocks, design: parse_design(&design)?, assets }))
}

/// The content of a draft without its fields.
pub(super) struct DraftRows<'a> {
    pub(super) types: &'a [CustomBlockType],
    pub(super) blocks: &'a [Block],
    pub(super) design: &'a TokenDocument,
    pub(super) assets: &'a [Asset],
}

/// Writes a draft to a project that has none yet.
pub(super) async fn write_draft(
    tables: &dyn Tables,
    project: &ProjectId,
    draft: DraftRows<'_>,
) -> Result<(), Error> {
    let DraftRows { types, blocks, design, assets } = draft;
    let design = design.to_string();
    let small = try_join(tables.put_types(project, types), tables.put_design(project, &design));
    let large = try_join(tables.add_blocks(project, blocks), tables.put_assets(project, assets));
    try_join(small, large).await?;
    Ok(())
}

/// Sorts rows in reading order: parents before children, siblings in order, starting with the root or the
/// pages. Unreachable rows come last, so that nothing is lost silently.
pub(super) fn in_reading_order<R>(
    rows: Vec<R>,
    root: Option<&BlockId>,
    block: impl Fn(&R) -> &Block,
) -> Vec<R> {
    let mut ordered = Vec::with_capacity(rows.len());
    let mut inside: BTreeMap<Option<BlockId>, Vec<R>> = BTreeMap::new();
    let mut open: Vec<R> = Vec::new();
    for row in rows {
        if root == Some(&block(&row).id) {
            open.push(row);
        } else {
            inside.entry(block(&row).parent.clone()).or_default().push(row);
        }
    }
    for siblings in inside.values_mut() {
        // In reverse, because rows are popped from the end.
        siblings.sort_by(|one, other| sibling_key(block(other)).cmp(&sibling_key(block(one))));
    }
    if root.is_none() {
        open = inside.remove(&None).unwrap_or_default();
    }
    while let Some(row) = open.pop() {
        let id = Some(block(&row).id.clone());
        open.extend(inside.remove(&id).into_iter().flatten());
        ordered.push(row);
    }
    ordered.extend(inside.into_values().flatten());
    ordered
}

fn sibling_key(block: &Block) -> (&str, &BlockId) {
    (block.order.as_str(), &block.id)
}
