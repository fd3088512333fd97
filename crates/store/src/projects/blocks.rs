//! Blocks, read.

use std::collections::HashMap;

use ::projects::{Account, AtRevision, BlockId, Found, Listed, Page, ProjectId, Reach};
use futures_util::future::try_join;

use super::content::in_reading_order;
use super::tables::{Answer, Tables, Window};
use super::{look, with};

/// A block, or all pages, with what is inside.
pub(crate) async fn read<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    root: Option<&BlockId>,
    reach: Reach,
) -> Answer<T, AtRevision<Vec<Found>>> {
    let inside = async { tables.inside(project, root, reach).await };
    let (revision, mut found) = with(look(tables, account, project), inside).await?;
    if let (Some(root), true) = (root, found.is_empty()) {
        return Err(root.missing().into());
    }
    if found.len() > reach.most as usize {
        return Err(reach.exceeded().into());
    }
    count_children(&mut found);
    Ok(AtRevision { revision, value: in_reading_order(found, root, |found| &found.block) })
}

/// Who has children here has all of them here. Those of the last level were counted by the database.
fn count_children(found: &mut [Found]) {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for parent in found.iter().filter_map(|found| found.block.parent.as_ref()) {
        *counts.entry(parent.as_str()).or_default() += 1;
    }
    let counted = |found: &Found| counts.get(found.block.id.as_str()).copied();
    let counted: Vec<Option<u64>> = found.iter().map(counted).collect();
    for (found, counted) in found.iter_mut().zip(counted) {
        found.children = counted.unwrap_or(found.children);
    }
}

/// What is directly inside of a block, or the pages.
pub(crate) async fn children<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    parent: Option<&BlockId>,
    page: &Page,
) -> Answer<T, AtRevision<Listed<Found>>> {
    let found = async {
        let found = tables.children(project, parent, Window::by_text(page)?);
        try_join(known(tables, project, parent), found).await
    };
    let (revision, ((), found)) = with(look(tables, account, project), found).await?;
    Ok(AtRevision { revision, value: Listed::cut(found, page, |found| found.block.cursor()) })
}

/// Refuses a block that is not there. The place of the pages always is.
async fn known<T: Tables>(tables: &T, project: &ProjectId, id: Option<&BlockId>) -> Answer<T, ()> {
    match id {
        Some(id) if tables.block(project, id).await?.is_none() => Err(id.missing().into()),
        _ => Ok(()),
    }
}
