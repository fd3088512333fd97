//! Pages and blocks.

use serde_json::{Map, Value};

use super::projects::at;
use super::{Held, Memory, soon};
use crate::blocks::{
    Around, Block, Found, Needs, NewBlock, Place, Reach, Spot, copy, insert, relocate, too_many, update,
    update_needs,
};
use crate::cursor::{Listed, Page};
use crate::error::{Error, Refusal};
use crate::ids::{Account, BlockId, Ids, ProjectId, Seed};
use crate::limits::MAX_NEW_BLOCKS;
use crate::order::OrderKey;
use crate::project::{AtRevision, Usage, Write};
use crate::store::{Blocks, Stored};
use crate::types::Types;

impl Held {
    fn types(&self) -> Types {
        Types::with(&self.types.values().cloned().collect::<Vec<_>>())
    }

    fn around(&self, needs: Needs) -> Around {
        let is_gone = |asset: &crate::AssetId| !self.assets.contains_key(asset);
        let is_taken = |path: &String| self.tree.iter().any(|block| block.path() == Some(path.as_str()));
        Around {
            types: self.types(),
            missing: needs.assets.into_iter().filter(is_gone).collect(),
            taken: needs.paths.into_iter().filter(is_taken).collect(),
        }
    }

    /// A spot with room, and keys for so many blocks there.
    fn room(
        &mut self,
        place: &Place,
        moved: Option<&BlockId>,
        count: usize,
    ) -> Result<(Spot, Vec<OrderKey>), Refusal> {
        let spot = self.tree.spot(place, moved)?;
        if let Some(keys) = spot.keys(count) {
            return Ok((spot, keys));
        }
        self.tree.spread(spot.parent());
        let spot = self.tree.spot(place, moved)?;
        let keys = spot.keys(count).ok_or_else(Spot::no_room)?;
        Ok((spot, keys))
    }

    fn put(&mut self, write: &Write, rows: Vec<Block>) -> Result<Vec<Block>, Refusal> {
        let before = self.project.usage;
        for block in &rows {
            self.tree.put(block.clone());
        }
        self.note(write, before.with_blocks(&rows))?;
        Ok(rows)
    }
}

impl Blocks for Memory {
    fn blocks<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        root: Option<&'a BlockId>,
        reach: Reach,
    ) -> Stored<'a, AtRevision<Vec<Found>>> {
        soon(move || self.read(account, project, |held| Ok(at(held, held.tree.read(root, reach)?))))
    }

    fn children<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        parent: Option<&'a BlockId>,
        page: Page,
    ) -> Stored<'a, AtRevision<Listed<Found>>> {
        soon(move || self.read(account, project, |held| Ok(at(held, held.tree.list(parent, &page)?))))
    }

    fn insert_blocks(
        &self,
        write: Write,
        place: Place,
        new: Vec<NewBlock>,
        seed: Seed,
    ) -> Stored<'_, AtRevision<Vec<Block>>> {
        soon(move || {
            self.write(&write, |held| {
                let (spot, keys) = held.room(&place, None, new.len())?;
                let around = held.around(Needs::of(&new, spot.kind()));
                let mut ids = Ids::of(seed);
                let rows = insert(&spot, keys, &around, &new, &mut || ids.block())?;
                held.put(&write, rows)
            })
        })
    }

    fn update_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        change: Map<String, Value>,
    ) -> Stored<'a, AtRevision<Block>> {
        soon(move || {
            self.write(&write, |held| {
                let before = held.tree.get(id)?.clone();
                let around = held.around(update_needs(&before, &change));
                let after = update(&before, &around, &change)?;
                let usage = held.project.usage;
                held.tree.put(after.clone());
                held.note(&write, usage.with_change(&before, &after))?;
                Ok(after)
            })
        })
    }

    fn move_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        place: Place,
    ) -> Stored<'a, AtRevision<Block>> {
        soon(move || {
            self.write(&write, |held| {
                let height = held.tree.height(id)?;
                let (spot, mut keys) = held.room(&place, Some(id), 1)?;
                let key = keys.pop().ok_or_else(Spot::no_room)?;
                let moved = relocate(held.tree.get(id)?, height, &spot, key, &held.types())?;
                held.tree.put(moved.clone());
                held.note(&write, held.project.usage)?;
                Ok(moved)
            })
        })
    }

    fn copy_block<'a>(
        &'a self,
        write: Write,
        id: &'a BlockId,
        place: Place,
        seed: Seed,
    ) -> Stored<'a, AtRevision<Vec<Block>>> {
        soon(move || {
            self.write(&write, |held| {
                let subtree = held.tree.subtree(id)?;
                if subtree.len() > MAX_NEW_BLOCKS {
                    return Err(too_many());
                }
                let (spot, mut keys) = held.room(&place, None, 1)?;
                let key = keys.pop().ok_or_else(Spot::no_room)?;
                let mut ids = Ids::of(seed);
                let rows = copy(&subtree, &spot, key, &held.types(), &mut || ids.block())?;
                held.put(&write, rows)
            })
        })
    }

    fn delete_block<'a>(&'a self, write: Write, id: &'a BlockId) -> Stored<'a, AtRevision<u64>> {
        soon(move || -> Result<_, Error> {
            self.write(&write, |held| {
                let gone = held.tree.remove(id)?;
                let bytes: u64 = gone.iter().map(Block::bytes).sum();
                let mentions: u64 = gone.iter().map(Block::mentions).sum();
                let usage = held.project.usage;
                let left = Usage {
                    blocks: usage.blocks.saturating_sub(gone.len() as u64),
                    block_bytes: usage.block_bytes.saturating_sub(bytes),
                    mentions: usage.mentions.saturating_sub(mentions),
                    ..usage
                };
                held.note(&write, left)?;
                Ok(gone.len() as u64)
            })
        })
    }
}
