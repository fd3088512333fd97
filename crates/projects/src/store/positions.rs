//! Resolves a position given by a caller to a slot with room.

use std::collections::BTreeSet;

use futures_util::future::{try_join, try_join3};

use super::tables::{SiblingGap, Tables};
use super::{query, types};
use crate::blocks::{AncestorBlock, BlockLookupResults, BlockLookups, BlockPosition, BlockSlot};
use crate::error::Error;
use crate::ids::{AssetId, BlockId, ProjectId};
use crate::order::{self, OrderKey};

/// Resolves a position, and allocates keys for `count` blocks there. `moved` is a block that is being moved
/// there.
pub(super) async fn allocate_keys(
    tables: &dyn Tables,
    project: &ProjectId,
    position: &BlockPosition,
    moved: Option<&BlockId>,
    count: usize,
) -> Result<(BlockSlot, Vec<OrderKey>), Error> {
    let spot = resolve_position(tables, project, position, moved).await?;
    if let Some(keys) = spot.order_keys(count) {
        return Ok((spot, keys));
    }
    respace_children(tables, project, spot.parent()).await?;
    let spot = resolve_position(tables, project, position, moved).await?;
    let keys = spot.order_keys(count).ok_or_else(BlockSlot::no_room)?;
    Ok((spot, keys))
}

async fn resolve_position(
    tables: &dyn Tables,
    project: &ProjectId,
    position: &BlockPosition,
    moved: Option<&BlockId>,
) -> Result<BlockSlot, Error> {
    let beside = match position {
        BlockPosition::In { .. } => None,
        BlockPosition::Before(id) | BlockPosition::After(id) => {
            let found = tables.block(project, id).await?;
            Some(found.ok_or_else(|| id.missing())?)
        }
    };
    if let Some(block) = beside.as_ref().filter(|block| moved == Some(&block.id)) {
        return Err(BlockPosition::self_sibling_rejection(&block.id).into());
    }
    let (parent, gap) = match (position, &beside) {
        (BlockPosition::In { parent, index }, _) => {
            (parent.as_ref(), index.map_or(SiblingGap::Last, SiblingGap::Index))
        }
        (BlockPosition::Before(_), Some(block)) => (block.parent.as_ref(), SiblingGap::Before(block)),
        (_, Some(block)) => (block.parent.as_ref(), SiblingGap::After(block)),
        (_, None) => (None, SiblingGap::Last),
    };
    let (above, sides) =
        try_join(ancestors(tables, project, parent), query(tables.neighbours(project, parent, gap, moved)))
            .await?;
    Ok(BlockSlot { ancestors: above, left: sides.left, right: sides.right })
}

async fn ancestors(
    tables: &dyn Tables,
    project: &ProjectId,
    parent: Option<&BlockId>,
) -> Result<Vec<AncestorBlock>, Error> {
    let Some(parent) = parent else { return Ok(Vec::new()) };
    let above = tables.ancestors(project, parent).await?;
    if above.is_empty() { Err(parent.missing().into()) } else { Ok(above) }
}

/// Assigns new keys to siblings in the same order. Rare, so it may write all of them.
async fn respace_children(
    tables: &dyn Tables,
    project: &ProjectId,
    parent: Option<&BlockId>,
) -> Result<(), Error> {
    let siblings = tables.child_keys(project, parent).await?;
    let keys = order::evenly_spaced_keys(siblings.len());
    let changed = siblings.into_iter().zip(keys).filter(|((_, old), key)| old != key);
    let places: Vec<_> = changed.map(|((id, _), key)| (id, key)).collect();
    Ok(tables.put_positions(project, parent, &places).await?)
}

/// Looks up what a rule needs to validate new props.
pub(super) async fn look_up(
    tables: &dyn Tables,
    project: &ProjectId,
    needs: BlockLookups,
) -> Result<BlockLookupResults, Error> {
    let (types, missing, taken) = try_join3(
        types::load_types(tables, project, &needs.kinds),
        missing_assets(tables, project, needs.assets.clone()),
        taken_paths(tables, project, &needs.paths),
    )
    .await?;
    Ok(BlockLookupResults { types, missing_assets: missing, taken_paths: taken })
}

async fn missing_assets(
    tables: &dyn Tables,
    project: &ProjectId,
    wanted: BTreeSet<AssetId>,
) -> Result<BTreeSet<AssetId>, Error> {
    if wanted.is_empty() {
        return Ok(wanted);
    }
    let present = tables.existing_assets(project, &wanted).await?;
    Ok(wanted.into_iter().filter(|asset| !present.contains(asset)).collect())
}

async fn taken_paths(
    tables: &dyn Tables,
    project: &ProjectId,
    paths: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Error> {
    if paths.is_empty() { Ok(BTreeSet::new()) } else { Ok(tables.taken_paths(project, paths).await?) }
}
