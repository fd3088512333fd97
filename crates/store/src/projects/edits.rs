//! Changes to blocks.

use ::projects::blocks::{self, Needs, NewBlock, Place, Spot};
use ::projects::limits::MAX_NEW_BLOCKS;
use ::projects::{AtRevision, Block, BlockId, Ids, Project, ProjectId, Reach, Seed, Usage, Write};
use futures_util::future::try_join;
use serde_json::{Map, Value};

use super::content::in_reading_order;
use super::spots::{around, room};
use super::tables::{Answer, Tables};
use super::types::wanted;
use super::{apart, both, hold, note, with};

/// Creates blocks with all that is inside.
pub(crate) async fn insert<T: Tables>(
    tables: &T,
    write: &Write,
    place: &Place,
    new: &[NewBlock],
    seed: Seed,
) -> Answer<T, AtRevision<Vec<Block>>> {
    let id = &write.project;
    let early = Needs::of(new, None);
    let kinds = early.kinds.clone();
    let looked = both(room(tables, id, place, None, new.len()), around(tables, id, early));
    let (project, ((spot, keys), mut around)) = with(hold(tables, write), looked).await?;
    let needs = Needs::of(new, spot.kind());
    if needs.kinds != kinds {
        around.types = wanted(tables, id, &needs.kinds).await?;
    }
    let mut ids = Ids::of(seed);
    let rows = apart(|| blocks::insert(&spot, keys, &around, new, &mut || ids.block()))?;
    add(tables, write, &project, rows).await
}

/// Changes the props of a block.
pub(crate) async fn update<T: Tables>(
    tables: &T,
    write: &Write,
    id: &BlockId,
    change: &Map<String, Value>,
) -> Answer<T, AtRevision<Block>> {
    let (project, before) = with(hold(tables, write), block(tables, &write.project, id)).await?;
    let around = around(tables, &project.id, blocks::update_needs(&before, change)).await?;
    let after = apart(|| blocks::update(&before, &around, change))?;
    let usage = project.usage.with_change(&before, &after);
    let put = tables.put_props(&project.id, &after);
    let ((), revision) = try_join(put, note(tables, write, &project, usage)).await?;
    Ok(AtRevision { revision, value: after })
}

/// Puts a block somewhere else.
pub(crate) async fn relocate<T: Tables>(
    tables: &T,
    write: &Write,
    id: &BlockId,
    place: &Place,
) -> Answer<T, AtRevision<Block>> {
    let looked = async {
        let known = try_join(block(tables, &write.project, id), tables.above(&write.project, id));
        both(known, room(tables, &write.project, place, Some(id), 1)).await
    };
    let (project, ((found, above), (spot, mut keys))) = with(hold(tables, write), looked).await?;
    let key = keys.pop().ok_or_else(Spot::no_room)?;
    let kinds = Needs::of_place(&found, &spot);
    let types = wanted(tables, &project.id, &kinds);
    let (types, height) = try_join(types, height(tables, &project.id, id, above.len(), &spot)).await?;
    let moved = blocks::relocate(&found, height, &spot, key, &types)?;
    let places = [(moved.id.clone(), moved.order.clone())];
    let put = tables.put_places(&project.id, moved.parent.as_ref(), &places);
    let ((), revision) = try_join(put, note(tables, write, &project, project.usage)).await?;
    Ok(AtRevision { revision, value: moved })
}

/// How many levels a block has. Where it goes no deeper than it is, nobody has to count.
async fn height<T: Tables>(
    tables: &T,
    project: &ProjectId,
    id: &BlockId,
    depth: usize,
    spot: &Spot,
) -> Answer<T, usize> {
    if spot.above.len() < depth { Ok(1) } else { tables.height(project, id).await }
}

/// Copies a block with all that is inside.
pub(crate) async fn copy<T: Tables>(
    tables: &T,
    write: &Write,
    id: &BlockId,
    place: &Place,
    seed: Seed,
) -> Answer<T, AtRevision<Vec<Block>>> {
    let looked = both(subtree(tables, &write.project, id), room(tables, &write.project, place, None, 1));
    let (project, (subtree, (spot, mut keys))) = with(hold(tables, write), looked).await?;
    let key = keys.pop().ok_or_else(Spot::no_room)?;
    let kinds = subtree.first().map(|root| Needs::of_place(root, &spot)).unwrap_or_default();
    let types = wanted(tables, &project.id, &kinds).await?;
    let mut ids = Ids::of(seed);
    let rows = blocks::copy(&subtree, &spot, key, &types, &mut || ids.block())?;
    add(tables, write, &project, rows).await
}

/// Deletes a block with all that is inside.
pub(crate) async fn delete<T: Tables>(tables: &T, write: &Write, id: &BlockId) -> Answer<T, AtRevision<u64>> {
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
}

async fn block<T: Tables>(tables: &T, project: &ProjectId, id: &BlockId) -> Answer<T, Block> {
    tables.block(project, id).await?.ok_or_else(|| id.missing().into())
}

/// A block with all that is inside, if one call may create as much.
async fn subtree<T: Tables>(tables: &T, project: &ProjectId, id: &BlockId) -> Answer<T, Vec<Block>> {
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
async fn add<T: Tables>(
    tables: &T,
    write: &Write,
    project: &Project,
    rows: Vec<Block>,
) -> Answer<T, AtRevision<Vec<Block>>> {
    // What is too much is refused before it is written.
    let written = project.written(write.now, project.usage.with_blocks(&rows))?;
    try_join(tables.add_blocks(&project.id, &rows), tables.put_counts(&written)).await?;
    Ok(AtRevision { revision: written.revision, value: rows })
}
