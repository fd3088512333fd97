//! Pages and blocks.

use std::collections::HashMap;

use futures_util::future::try_join;
use serde_json::{Map, Value};

use super::content::in_reading_order;
use super::positions::{allocate_keys, look_up};
use super::tables::{RowWindow, Tables};
use super::types::load_types;
use super::{
    ProjectStore, compute, join_project_first, lock_project, query, read_revision, record_write,
    try_join_ordered,
};
use crate::blocks::{self, Block, BlockEntry, BlockLookups, BlockPosition, BlockSlot, NewBlock, TreeQuery};
use crate::cursor::{ListPage, Page};
use crate::error::Error;
use crate::ids::{Account, BlockId, IdGenerator, IdSeed, ProjectId};
use crate::limits::MAX_NEW_BLOCKS_PER_CALL;
use crate::project::{AtRevision, Project, ProjectUsage, ProjectWrite};

impl ProjectStore {
    /// A block, or all pages, with descendants: parents before children, siblings in order. `AnswerTooLarge`
    /// if there are more than `tree_query.max_blocks`; nothing beyond that is read.
    pub async fn blocks(
        &self,
        account: &Account,
        project: &ProjectId,
        root: Option<&BlockId>,
        tree_query: TreeQuery,
    ) -> Result<AtRevision<Vec<BlockEntry>>, Error> {
        let arguments = (project.clone(), root.cloned(), tree_query);
        self.read(account, arguments, |tables, (account, (project, root, tree_query))| {
            Box::pin(async move {
                let inside = query(tables.subtree(project, root.as_ref(), *tree_query));
                let (revision, mut found) =
                    join_project_first(read_revision(tables, account, project), inside).await?;
                if let (Some(root), true) = (root, found.is_empty()) {
                    return Err(root.missing().into());
                }
                if found.len() > tree_query.max_blocks as usize {
                    return Err(tree_query.exceeded().into());
                }
                count_children(&mut found);
                let value = in_reading_order(found, root.as_ref(), |found| &found.block);
                Ok(AtRevision { revision, value })
            })
        })
        .await
    }

    /// Direct children of a block, or the pages, by order key and then id; cursors are [`Block::cursor`].
    pub async fn children(
        &self,
        account: &Account,
        project: &ProjectId,
        parent: Option<&BlockId>,
        page: Page,
    ) -> Result<AtRevision<ListPage<BlockEntry>>, Error> {
        let arguments = (project.clone(), parent.cloned(), page);
        self.read(account, arguments, |tables, (account, (project, parent, page))| {
            Box::pin(async move {
                let parent = parent.as_ref();
                let found = async {
                    let found = query(tables.children(project, parent, RowWindow::by_text(page)?));
                    try_join(check_parent(tables, project, parent), found).await
                };
                let (revision, ((), found)) =
                    join_project_first(read_revision(tables, account, project), found).await?;
                Ok(AtRevision {
                    revision,
                    value: ListPage::from_rows(found, page, |found| found.block.cursor()),
                })
            })
        })
        .await
    }

    /// The blocks that contain a string ([`Block::contains_text`]), in reading order.
    pub async fn find_blocks(
        &self,
        account: &Account,
        project: &ProjectId,
        text: &str,
    ) -> Result<AtRevision<Vec<Block>>, Error> {
        self.read(account, (project.clone(), text.to_owned()), |tables, (account, (project, text))| {
            Box::pin(async move {
                let all = query(tables.all_blocks(project));
                let (revision, all) =
                    join_project_first(read_revision(tables, account, project), all).await?;
                let value = compute(tables, || {
                    let ordered = in_reading_order(all, None, |block| block);
                    ordered.into_iter().filter(|block| block.contains_text(text)).collect()
                })?;
                Ok(AtRevision { revision, value })
            })
        })
        .await
    }

    /// Creates blocks with descendants by [`insert`](blocks::insert), and returns the rows, parents before
    /// children. `NotFound` for a parent or sibling that does not exist. Ids come from the seed, in the order
    /// of the rows.
    pub async fn insert_blocks(
        &self,
        write: ProjectWrite,
        position: BlockPosition,
        new: Vec<NewBlock>,
        seed: IdSeed,
    ) -> Result<AtRevision<Vec<Block>>, Error> {
        self.write(write, (position, new, seed), |tables, (write, (place, new, seed))| {
            Box::pin(async move {
                let id = &write.project;
                let early = BlockLookups::for_insert(new, None);
                let kinds = early.kinds.clone();
                let looked = try_join_ordered(
                    allocate_keys(tables, id, place, None, new.len()),
                    look_up(tables, id, early),
                );
                let (project, ((spot, keys), mut around)) =
                    join_project_first(lock_project(tables, write), looked).await?;
                let needs = BlockLookups::for_insert(new, spot.parent_kind());
                if needs.kinds != kinds {
                    around.types = load_types(tables, id, &needs.kinds).await?;
                }
                let mut ids = IdGenerator::from_seed(*seed);
                let insert = || blocks::insert(&spot, keys, &around, new, &mut || ids.next_block_id());
                let rows = compute(tables, insert)??;
                insert_rows(tables, write, &project, rows).await
            })
        })
        .await
    }

    /// Applies a JSON Merge Patch to the props of a block by [`update`](blocks::update). Reads and writes
    /// only that row.
    pub async fn update_block(
        &self,
        write: ProjectWrite,
        id: &BlockId,
        change: Map<String, Value>,
    ) -> Result<AtRevision<Block>, Error> {
        self.write(write, (id.clone(), change), |tables, (write, (id, change))| {
            Box::pin(async move {
                let before = find_block(tables, &write.project, id);
                let (project, before) = join_project_first(lock_project(tables, write), before).await?;
                let needs = blocks::lookups_for_update(&before, change);
                let around = look_up(tables, &project.id, needs).await?;
                let after = compute(tables, || blocks::update(&before, &around, change))??;
                let usage = project.usage.with_changed_block(&before, &after);
                let put = query(tables.put_props(&project.id, &after));
                let ((), revision) = try_join(put, record_write(tables, write, &project, usage)).await?;
                Ok(AtRevision { revision, value: after })
            })
        })
        .await
    }

    /// Moves a block with its descendants by [`relocate`](blocks::relocate). Writes one row, or all siblings
    /// at the target if there is no room between two of them ([`BlockSlot::order_keys`]).
    pub async fn move_block(
        &self,
        write: ProjectWrite,
        id: &BlockId,
        position: BlockPosition,
    ) -> Result<AtRevision<Block>, Error> {
        self.write(write, (id.clone(), position), |tables, (write, (id, place))| {
            Box::pin(async move {
                let known = try_join(
                    find_block(tables, &write.project, id),
                    query(tables.ancestors(&write.project, id)),
                );
                let looked =
                    try_join_ordered(known, allocate_keys(tables, &write.project, place, Some(id), 1));
                let (project, ((found, above), (spot, mut keys))) =
                    join_project_first(lock_project(tables, write), looked).await?;
                let key = keys.pop().ok_or_else(BlockSlot::no_room)?;
                let kinds = BlockLookups::custom_types_at(&found, &spot);
                let types = load_types(tables, &project.id, &kinds);
                // If it moves no deeper than it is, its levels need not be counted.
                let is_deeper = spot.ancestors.len() >= above.len();
                let height = async { if is_deeper { tables.height(&project.id, id).await } else { Ok(1) } };
                let (types, height) = try_join(types, query(height)).await?;
                let moved = blocks::relocate(&found, height, &spot, key, &types)?;
                let places = [(moved.id.clone(), moved.order.clone())];
                let put = query(tables.put_positions(&project.id, moved.parent.as_ref(), &places));
                let ((), revision) =
                    try_join(put, record_write(tables, write, &project, project.usage)).await?;
                Ok(AtRevision { revision, value: moved })
            })
        })
        .await
    }

    /// Copies a block with its descendants by [`copy_subtree`](blocks::copy_subtree); `TooLarge` for more
    /// than [`MAX_NEW_BLOCKS_PER_CALL`] blocks. Ids come from the seed, in the order of the rows.
    pub async fn copy_block(
        &self,
        write: ProjectWrite,
        id: &BlockId,
        position: BlockPosition,
        seed: IdSeed,
    ) -> Result<AtRevision<Vec<Block>>, Error> {
        self.write(write, (id.clone(), position, seed), |tables, (write, (id, place, seed))| {
            Box::pin(async move {
                let looked = try_join_ordered(
                    read_subtree(tables, &write.project, id),
                    allocate_keys(tables, &write.project, place, None, 1),
                );
                let (project, (subtree, (spot, mut keys))) =
                    join_project_first(lock_project(tables, write), looked).await?;
                let key = keys.pop().ok_or_else(BlockSlot::no_room)?;
                let kinds = subtree
                    .first()
                    .map(|root| BlockLookups::custom_types_at(root, &spot))
                    .unwrap_or_default();
                let types = load_types(tables, &project.id, &kinds).await?;
                let mut ids = IdGenerator::from_seed(*seed);
                let rows = blocks::copy_subtree(&subtree, &spot, key, &types, &mut || ids.next_block_id())?;
                insert_rows(tables, write, &project, rows).await
            })
        })
        .await
    }

    /// Deletes a block with its descendants, and returns the number of deleted blocks.
    pub async fn delete_block(&self, write: ProjectWrite, id: &BlockId) -> Result<AtRevision<u64>, Error> {
        self.write(write, id.clone(), |tables, (write, id)| {
            Box::pin(async move {
                let project = lock_project(tables, write).await?;
                let gone = tables.delete_subtree(&project.id, id).await?;
                if gone.blocks == 0 {
                    return Err(id.missing().into());
                }
                let usage = ProjectUsage {
                    blocks: project.usage.blocks.saturating_sub(gone.blocks),
                    block_bytes: project.usage.block_bytes.saturating_sub(gone.bytes),
                    asset_mentions: project.usage.asset_mentions.saturating_sub(gone.mentions),
                    ..project.usage
                };
                let revision = record_write(tables, write, &project, usage).await?;
                Ok(AtRevision { revision, value: gone.blocks })
            })
        })
        .await
    }
}

/// A block with any children in the result has all of them there. Those on the last level were counted by the
/// database.
fn count_children(entry: &mut [BlockEntry]) {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for parent in entry.iter().filter_map(|found| found.block.parent.as_ref()) {
        *counts.entry(parent.as_str()).or_default() += 1;
    }
    let counted: Vec<Option<u64>> =
        entry.iter().map(|found| counts.get(found.block.id.as_str()).copied()).collect();
    for (found, counted) in entry.iter_mut().zip(counted) {
        found.children = counted.unwrap_or(found.children);
    }
}

/// Rejects a block that does not exist. The top level always exists.
async fn check_parent(tables: &dyn Tables, project: &ProjectId, id: Option<&BlockId>) -> Result<(), Error> {
    match id {
        Some(id) => find_block(tables, project, id).await.map(drop),
        None => Ok(()),
    }
}

async fn find_block(tables: &dyn Tables, project: &ProjectId, id: &BlockId) -> Result<Block, Error> {
    Ok(tables.block(project, id).await?.ok_or_else(|| id.missing())?)
}

/// A block with its descendants, if a single call may create as many.
async fn read_subtree(tables: &dyn Tables, project: &ProjectId, id: &BlockId) -> Result<Vec<Block>, Error> {
    let most = u32::try_from(MAX_NEW_BLOCKS_PER_CALL).unwrap_or(u32::MAX);
    let found = tables.subtree(project, Some(id), TreeQuery { max_blocks: most, ..TreeQuery::ALL }).await?;
    if found.is_empty() {
        return Err(id.missing().into());
    }
    if found.len() > MAX_NEW_BLOCKS_PER_CALL {
        return Err(blocks::too_many_blocks().into());
    }
    let rows = found.into_iter().map(|found| found.block).collect();
    Ok(in_reading_order(rows, Some(id), |block| block))
}

/// Inserts the rows returned by a rule.
async fn insert_rows(
    tables: &dyn Tables,
    write: &ProjectWrite,
    project: &Project,
    rows: Vec<Block>,
) -> Result<AtRevision<Vec<Block>>, Error> {
    // Limits are checked before anything is written.
    let written = project.after_write(write.now, project.usage.with_blocks(&rows))?;
    try_join(tables.add_blocks(&project.id, &rows), tables.put_counters(&written)).await?;
    Ok(AtRevision { revision: written.revision, value: rows })
}
