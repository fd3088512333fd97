//! From a place, as a caller names it, to a spot with room.

use std::collections::BTreeSet;

use futures_util::future::{try_join, try_join3};

use super::tables::{Gap, Tables};
use super::{row, types};
use crate::blocks::{Above, Around, Needs, Place, Spot};
use crate::error::Error;
use crate::ids::{AssetId, BlockId, ProjectId};
use crate::order::{self, OrderKey};

/// A spot with room, and keys for so many blocks there. `moved` is a block that is to go there.
pub(super) async fn make_room(
    tables: &dyn Tables,
    project: &ProjectId,
    place: &Place,
    moved: Option<&BlockId>,
    count: usize,
) -> Result<(Spot, Vec<OrderKey>), Error> {
    let spot = find(tables, project, place, moved).await?;
    if let Some(keys) = spot.keys(count) {
        return Ok((spot, keys));
    }
    spread(tables, project, spot.parent()).await?;
    let spot = find(tables, project, place, moved).await?;
    let keys = spot.keys(count).ok_or_else(Spot::no_room)?;
    Ok((spot, keys))
}

async fn find(
    tables: &dyn Tables,
    project: &ProjectId,
    place: &Place,
    moved: Option<&BlockId>,
) -> Result<Spot, Error> {
    let beside = match place {
        Place::In { .. } => None,
        Place::Before(id) | Place::After(id) => {
            let found = tables.block(project, id).await?;
            Some(found.ok_or_else(|| id.missing())?)
        }
    };
    if let Some(block) = beside.as_ref().filter(|block| moved == Some(&block.id)) {
        return Err(Place::beside_itself(&block.id).into());
    }
    let (parent, gap) = match (place, &beside) {
        (Place::In { parent, index }, _) => (parent.as_ref(), index.map_or(Gap::Last, Gap::Index)),
        (Place::Before(_), Some(block)) => (block.parent.as_ref(), Gap::Before(block)),
        (_, Some(block)) => (block.parent.as_ref(), Gap::After(block)),
        (_, None) => (None, Gap::Last),
    };
    let (above, sides) =
        try_join(above(tables, project, parent), row(tables.neighbours(project, parent, gap, moved))).await?;
    Ok(Spot { above, left: sides.left, right: sides.right })
}

async fn above(
    tables: &dyn Tables,
    project: &ProjectId,
    parent: Option<&BlockId>,
) -> Result<Vec<Above>, Error> {
    let Some(parent) = parent else { return Ok(Vec::new()) };
    let above = tables.above(project, parent).await?;
    if above.is_empty() { Err(parent.missing().into()) } else { Ok(above) }
}

/// Gives siblings new keys in the same order: rare, and so it may be about all of them.
async fn spread(tables: &dyn Tables, project: &ProjectId, parent: Option<&BlockId>) -> Result<(), Error> {
    let siblings = tables.places(project, parent).await?;
    let keys = order::spread(siblings.len());
    let changed = siblings.into_iter().zip(keys).filter(|((_, old), key)| old != key);
    let places: Vec<_> = changed.map(|((id, _), key)| (id, key)).collect();
    Ok(tables.put_places(project, parent, &places).await?)
}

/// Looks up what a rule needs to judge new props.
pub(super) async fn look_around(
    tables: &dyn Tables,
    project: &ProjectId,
    needs: Needs,
) -> Result<Around, Error> {
    let (types, missing, taken) = try_join3(
        types::wanted(tables, project, &needs.kinds),
        missing(tables, project, needs.assets.clone()),
        taken(tables, project, &needs.paths),
    )
    .await?;
    Ok(Around { types, missing, taken })
}

async fn missing(
    tables: &dyn Tables,
    project: &ProjectId,
    wanted: BTreeSet<AssetId>,
) -> Result<BTreeSet<AssetId>, Error> {
    if wanted.is_empty() {
        return Ok(wanted);
    }
    let present = tables.present_assets(project, &wanted).await?;
    Ok(wanted.into_iter().filter(|asset| !present.contains(asset)).collect())
}

async fn taken(
    tables: &dyn Tables,
    project: &ProjectId,
    paths: &BTreeSet<String>,
) -> Result<BTreeSet<String>, Error> {
    if paths.is_empty() { Ok(BTreeSet::new()) } else { Ok(tables.taken_paths(project, paths).await?) }
}
