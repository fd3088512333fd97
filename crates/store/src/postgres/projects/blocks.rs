//! Pages and blocks.

use std::sync::Arc;

use ::projects::store::Blocks;
use ::projects::{
    Account, AtRevision, Block, BlockId, Found, Listed, NewBlock, Page, Place, ProjectId, Reach, Seed,
    Stored, Write,
};
use serde_json::{Map, Value};

use super::super::Postgres;
use super::timed;
use crate::projects::{blocks, edits};

impl Blocks for Postgres {
    fn blocks<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        root: Option<&'a BlockId>,
        reach: Reach,
    ) -> Stored<'a, AtRevision<Vec<Found>>> {
        let case =
            move |tables: Arc<_>| async move { blocks::read(&*tables, account, project, root, reach).await };
        Box::pin(self.reading(account, case))
    }

    fn children<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        parent: Option<&'a BlockId>,
        page: Page,
    ) -> Stored<'a, AtRevision<Listed<Found>>> {
        Box::pin(async move {
            let page = &page;
            let case = |tables: Arc<_>| async move {
                blocks::children(&*tables, account, project, parent, page).await
            };
            self.reading(account, case).await
        })
    }

    fn insert_blocks(
        &self,
        write: Write,
        place: Place,
        new: Vec<NewBlock>,
        seed: Seed,
    ) -> Stored<'_, AtRevision<Vec<Block>>> {
        Box::pin(async move {
            let (write, place, new) = (&timed(write), &place, &new);
            let case = |tables: Arc<_>| async move { edits::insert(&*tables, write, place, new, seed).await };
            self.writing(write, case).await
        })
    }

    fn update_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        change: Map<String, Value>,
    ) -> Stored<'a, AtRevision<Block>> {
        Box::pin(async move {
            let (write, change) = (&timed(write), &change);
            self.writing(write, |tables| async move { edits::update(&*tables, write, id, change).await })
                .await
        })
    }

    fn move_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        place: Place,
    ) -> Stored<'a, AtRevision<Block>> {
        Box::pin(async move {
            let (write, place) = (&timed(write), &place);
            self.writing(write, |tables| async move { edits::relocate(&*tables, write, id, place).await })
                .await
        })
    }

    fn copy_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        place: Place,
        seed: Seed,
    ) -> Stored<'a, AtRevision<Vec<Block>>> {
        Box::pin(async move {
            let (write, place) = (&timed(write), &place);
            let case = |tables: Arc<_>| async move { edits::copy(&*tables, write, id, place, seed).await };
            self.writing(write, case).await
        })
    }

    fn delete_block<'a>(&'a self, write: Write, id: &'a BlockId) -> Stored<'a, AtRevision<u64>> {
        Box::pin(async move {
            let write = &timed(write);
            self.writing(write, |tables| async move { edits::delete(&*tables, write, id).await }).await
        })
    }
}
