//! Pages and blocks.

use std::collections::HashMap;

use futures_util::future::try_join;
use serde_json::{Map, Value};

use super::content::in_reading_order;
use super::room::{look_around, make_room};
use super::tables::{Tables, Window};
use super::types::wanted;
use super::{ProjectStore, both, compute, hold, look, note, project_and, row};
use crate::blocks::{self, Block, Found, Needs, NewBlock, Place, Reach, Spot};
use crate::cursor::{Listed, Page};
use crate::error::Error;
use crate::ids::{Account, BlockId, Ids, ProjectId, Seed};
use crate::limits::MAX_NEW_BLOCKS;
use crate::project::{AtRevision, Project, Usage, Write};

impl ProjectStore {
    /// A block, or all pages, with what is inside: parents before children, siblings in order. `AnswerTooLarge` if that is
    /// more than `reach.most`; nothing past it is read.
    pub async fn blocks(
        &self,
        account: &Account,
        project: &ProjectId,
        root: Option<&BlockId>,
        reach: Reach,
    ) -> Result<AtRevision<Vec<Found>>, Error> {
        let arguments = (project.clone(), root.cloned(), reach);
        self.read(account, arguments, |tables, (account, (project, root, reach))| {
            Box::pin(async move {
                let inside = row(tables.inside(project, root.as_ref(), *reach));
                let (revision, mut found) = project_and(look(tables, account, project), inside).await?;
                if let (Some(root), true) = (root, found.is_empty()) {
                    return Err(root.missing().into());
                }
                if found.len() > reach.most as usize {
                    return Err(reach.exceeded().into());
                }
                count_children(&mut found);
                let value = in_reading_order(found, root.as_ref(), |found| &found.block);
                Ok(AtRevision { revision, value })
            })
        })
        .await
    }

    /// What is directly inside of a block, or the pages, by order key and then by id; cursors are [`Block::cursor`].
    pub async fn children(
        &self,
        account: &Account,
        project: &ProjectId,
        parent: Option<&BlockId>,
        page: Page,
    ) -> Result<AtRevision<Listed<Found>>, Error> {
        let arguments = (project.clone(), parent.cloned(), page);
        self.read(account, arguments, |tables, (account, (project, parent, page))| {
            Box::pin(async move {
                let parent = parent.as_ref();
                let found = async {
                    let found = row(tables.children(project, parent, Window::by_text(page)?));
                    try_join(check_parent(tables, project, parent), found).await
                };
                let (revision, ((), found)) = project_and(look(tables, account, project), found).await?;
                Ok(AtRevision { revision, value: Listed::cut(found, page, |found| found.block.cursor()) })
            })
        })
        .await
    }

    /// The blocks that contain a text ([`Block::contains_text`]), in reading order.
    pub async fn find_blocks(
        &self,
        account: &Account,
        project: &ProjectId,
        text: &str,
    ) -> Result<AtRevision<Vec<Block>>, Error> {
        self.read(account, (project.clone(), text.to_owned()), |tables, (account, (project, text))| {
            Box::pin(async move {
                let all = row(tables.all_blocks(project));
                let (revision, all) = project_and(look(tables, account, project), all).await?;
                let value = compute(tables, || {
                    let ordered = in_reading_order(all, None, |block| block);
                    ordered.into_iter().filter(|block| block.contains_text(text)).collect()
                })?;
                Ok(AtRevision { revision, value })
            })
        })
        .await
    }

    /// Creates blocks with all that is inside, by [`insert`](blocks::insert). Gives the rows, parents before children.
    /// `NotFound` for a parent or sibling that is not there. Ids come from the seed, in the order of the rows.
    pub async fn insert_blocks(
        &self,
        write: Write,
        place: Place,
        new: Vec<NewBlock>,
        seed: Seed,
    ) -> Result<AtRevision<Vec<Block>>, Error> {
        self.write(write, (place, new, seed), |tables, (write, (place, new, seed))| {
            Box::pin(async move {
                let id = &write.project;
                let early = Needs::of(new, None);
                let kinds = early.kinds.clone();
                let looked =
                    both(make_room(tables, id, place, None, new.len()), look_around(tables, id, early));
                let (project, ((spot, keys), mut around)) = project_and(hold(tables, write), looked).await?;
                let needs = Needs::of(new, spot.kind());
                if needs.kinds != kinds {
                    around.types = wanted(tables, id, &needs.kinds).await?;
                }
                let mut ids = Ids::of(*seed);
                let insert = || blocks::insert(&spot, keys, &around, new, &mut || ids.block());
                let rows = compute(tables, insert)??;
                add(tables, write, &project, rows).await
            })
        })
        .await
    }

    /// Changes the props of one block by a JSON Merge Patch, by [`update`](blocks::update). Reads and writes that row.
    pub async fn update_block(
        &self,
        write: Write,
        id: &BlockId,
        change: Map<String, Value>,
    ) -> Result<AtRevision<Block>, Error> {
        self.write(write, (id.clone(), change), |tables, (write, (id, change))| {
            Box::pin(async move {
                let before = block(tables, &write.project, id);
                let (project, before) = project_and(hold(tables, write), before).await?;
                let needs = blocks::update_needs(&before, change);
                let around = look_around(tables, &project.id, needs).await?;
                let after = compute(tables, || blocks::update(&before, &around, change))??;
                let usage = project.usage.with_change(&before, &after);
                let put = row(tables.put_props(&project.id, &after));
                let ((), revision) = try_join(put, note(tables, write, &project, usage)).await?;
                Ok(AtRevision { revision, value: after })
            })
        })
        .await
    }

    /// Puts a block with all that is inside somewhere else, by [`relocate`](blocks::relocate). Writes one row; all siblings
    /// there only if there is no room between two ([`Spot::keys`]).
    pub async fn move_block(
        &self,
        write: Write,
        id: &BlockId,
        place: Place,
    ) -> Result<AtRevision<Block>, Error> {
        self.write(write, (id.clone(), place), |tables, (write, (id, place))| {
            Box::pin(async move {
                let known =
                    try_join(block(tables, &write.project, id), row(tables.above(&write.project, id)));
                let looked = both(known, make_room(tables, &write.project, place, Some(id), 1));
                let (project, ((found, above), (spot, mut keys))) =
                    project_and(hold(tables, write), looked).await?;
                let key = keys.pop().ok_or_else(Spot::no_room)?;
                let kinds = Needs::of_place(&found, &spot);
                let types = wanted(tables, &project.id, &kinds);
                // Where it goes no deeper than it is, its levels need not be counted.
                let is_deeper = spot.above.len() >= above.len();
                let height = async { if is_deeper { tables.height(&project.id, id).await } else { Ok(1) } };
                let (types, height) = try_join(types, row(height)).await?;
                let moved = blocks::relocate(&found, height, &spot, key, &types)?;
                let places = [(moved.id.clone(), moved.order.clone())];
                let put = row(tables.put_places(&project.id, moved.parent.as_ref(), &places));
                let ((), revision) = try_join(put, note(tables, write, &project, project.usage)).await?;
                Ok(AtRevision { revision, value: moved })
            })
        })
        .await
    }

    /// Copies a block with all that is inside, by [`copy`](blocks::copy); `TooLarge` if that is more than
    /// [`MAX_NEW_BLOCKS`]. Ids come from the seed, in the order of the rows.
    pub async fn copy_block(
        &self,
        write: Write,
        id: &BlockId,
        place: Place,
        seed: Seed,
    ) -> Result<AtRevision<Vec<Block>>, Error> {
        self.write(write, (id.clone(), place, seed), |tables, (write, (id, place, seed))| {
            Box::pin(async move {
                let looked = both(
                    subtree(tables, &write.project, id),
                    make_room(tables, &write.project, place, None, 1),
                );
                let (project, (subtree, (spot, mut keys))) = project_and(hold(tables, write), looked).await?;
                let key = keys.pop().ok_or_else(Spot::no_room)?;
                let kinds = subtree.first().map(|root| Needs::of_place(root, &spot)).unwrap_or_default();
                let types = wanted(tables, &project.id, &kinds).await?;
                let mut ids = Ids::of(*seed);
                let rows = blocks::copy(&subtree, &spot, key, &types, &mut || ids.block())?;
                add(tables, write, &project, rows).await
            })
        })
        .await
    }

    /// Deletes a block with all that is inside. Gives how many blocks are gone.
    pub async fn delete_block(&self, write: Write, id: &BlockId) -> Result<AtRevision<u64>, Error> {
        self.write(write, id.clone(), |tables, (write, id)| {
            Box::pin(async move {
                let project = hold(tables, write).await?;
                let gone = tables.delete_inside(&project.id, id).await?;
                if gone.blocks == 0 {
                    return Err(id.missing().into());
                }
                let usage = Usage {
                    blocks: project.usage.blocks.saturating_sub(gone.blocks),
                    block_bytes: project.usage.block_bytes.saturating_sub(gone.bytes),
                    mentions: project.usage.mentions.saturating_sub(gone.mentions),
                    ..project.usage
                };
                let revision = note(tables, write, &project, usage).await?;
                Ok(AtRevision { revision, value: gone.blocks })
            })
        })
        .await
    }
}

/// A block that has children here has all of them here. Those of the last level were counted by the database.
fn count_children(found: &mut [Found]) {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for parent in found.iter().filter_map(|found| found.block.parent.as_ref()) {
        *counts.entry(parent.as_str()).or_default() += 1;
    }
    let counted: Vec<Option<u64>> =
        found.iter().map(|found| counts.get(found.block.id.as_str()).copied()).collect();
    for (found, counted) in found.iter_mut().zip(counted) {
        found.children = counted.unwrap_or(found.children);
    }
}

/// Refuses a block that is not there. The place of the pages always is.
async fn check_parent(tables: &dyn Tables, project: &ProjectId, id: Option<&BlockId>) -> Result<(), Error> {
    match id {
        Some(id) => block(tables, project, id).await.map(drop),
        None => Ok(()),
    }
}

async fn block(tables: &dyn Tables, project: &ProjectId, id: &BlockId) -> Result<Block, Error> {
    Ok(tables.block(project, id).await?.ok_or_else(|| id.missing())?)
}

/// A block with all that is inside, if one call may create as much.
async fn subtree(tables: &dyn Tables, project: &ProjectId, id: &BlockId) -> Result<Vec<Block>, Error> {
    let most = u32::try_from(MAX_NEW_BLOCKS).unwrap_or(u32::MAX);
    let found = tables.inside(project, Some(id), Reach { most, ..Reach::ALL }).await?;
    if found.is_empty() {
        return Err(id.missing().into());
    }
    if found.len() > MAX_NEW_BLOCKS {
        return Err(blocks::too_many().into());
    }
    let rows = found.into_iter().map(|found| found.block).collect();
    Ok(in_reading_order(rows, Some(id), |block| block))
}

/// Adds the rows that a rule gave.
async fn add(
    tables: &dyn Tables,
    write: &Write,
    project: &Project,
    rows: Vec<Block>,
) -> Result<AtRevision<Vec<Block>>, Error> {
    // What is too much is refused before it is written.
    let written = project.written(write.now, project.usage.with_blocks(&rows))?;
    try_join(tables.add_blocks(&project.id, &rows), tables.put_counts(&written)).await?;
    Ok(AtRevision { revision: written.revision, value: rows })
}
