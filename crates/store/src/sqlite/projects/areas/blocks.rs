//! Pages and blocks.

use ::projects::store::{Blocks, Stored};
use ::projects::{
    Account, AtRevision, Block, BlockId, Found, Listed, NewBlock, Page, Place, ProjectId, Reach, Seed, Write,
};
use serde_json::{Map, Value};

use super::super::{Sqlite, at_once};
use crate::projects::{blocks, edits};

impl Blocks for Sqlite {
    fn blocks<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        root: Option<&'a BlockId>,
        reach: Reach,
    ) -> Stored<'a, AtRevision<Vec<Found>>> {
        let (account, project, root) = (account.clone(), project.clone(), root.cloned());
        Box::pin(self.look(move |rows| at_once(blocks::read(rows, &account, &project, root.as_ref(), reach))))
    }

    fn children<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        parent: Option<&'a BlockId>,
        page: Page,
    ) -> Stored<'a, AtRevision<Listed<Found>>> {
        let (account, project, parent) = (account.clone(), project.clone(), parent.cloned());
        Box::pin(
            self.look(move |rows| {
                at_once(blocks::children(rows, &account, &project, parent.as_ref(), &page))
            }),
        )
    }

    fn insert_blocks(
        &self,
        write: Write,
        place: Place,
        new: Vec<NewBlock>,
        seed: Seed,
    ) -> Stored<'_, AtRevision<Vec<Block>>> {
        Box::pin(
            self.write(write, move |rows, write| at_once(edits::insert(rows, write, &place, &new, seed))),
        )
    }

    fn update_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        change: Map<String, Value>,
    ) -> Stored<'a, AtRevision<Block>> {
        let id = id.clone();
        Box::pin(self.write(write, move |rows, write| at_once(edits::update(rows, write, &id, &change))))
    }

    fn move_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        place: Place,
    ) -> Stored<'a, AtRevision<Block>> {
        let id = id.clone();
        Box::pin(self.write(write, move |rows, write| at_once(edits::relocate(rows, write, &id, &place))))
    }

    fn copy_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        place: Place,
        seed: Seed,
    ) -> Stored<'a, AtRevision<Vec<Block>>> {
        let id = id.clone();
        Box::pin(self.write(write, move |rows, write| at_once(edits::copy(rows, write, &id, &place, seed))))
    }

    fn delete_block<'a>(&'a self, write: Write, id: &'a BlockId) -> Stored<'a, AtRevision<u64>> {
        let id = id.clone();
        Box::pin(self.write(write, move |rows, write| at_once(edits::delete(rows, write, &id))))
    }
}
