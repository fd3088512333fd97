//! Assets.

use super::projects::at;
use super::{Held, Memory, soon};
use crate::asset::{Asset, AssetPatch, Digest, NewAsset};
use crate::cursor::{Cursor, Listed, Page};
use crate::error::{Error, Noun, Refusal};
use crate::ids::{Account, AssetId, BlockId, ProjectId};
use crate::limits::MAX_USERS;
use crate::project::{AtRevision, Usage, Write};
use crate::store::{Assets, Stored};

impl Held {
    fn users(&self, id: &AssetId) -> Vec<BlockId> {
        let users = self.tree.iter().filter(|block| block.assets().contains(id));
        users.take(MAX_USERS).map(|block| block.id.clone()).collect()
    }

    fn bytes_of(&self, digest: &Digest) -> Result<Vec<u8>, Refusal> {
        let missing = || Refusal::not_found(Noun::Asset, digest.to_string());
        self.bytes.get(digest).map(|bytes| bytes.to_vec()).ok_or_else(missing)
    }

    fn note_assets(&mut self, write: &Write) -> Result<(), Refusal> {
        let asset_bytes = self.sweep();
        self.note(write, Usage { assets: self.assets.len() as u64, asset_bytes, ..self.project.usage })
    }
}

impl Assets for Memory {
    fn put_asset(&self, write: Write, new: NewAsset) -> Stored<'_, AtRevision<Asset>> {
        soon(move || {
            self.write(&write, |held| {
                let mut asset = new.check(write.now)?;
                if let Some(old) = held.assets.get(&asset.id) {
                    asset.created = old.created;
                }
                held.bytes.insert(asset.digest, new.content.into());
                held.assets.insert(asset.id.clone(), asset.clone());
                held.note_assets(&write)?;
                Ok(asset)
            })
        })
    }

    fn update_asset<'a>(
        &'a self,
        write: Write,
        id: &'a AssetId,
        patch: AssetPatch,
    ) -> Stored<'a, AtRevision<Asset>> {
        soon(move || {
            self.write(&write, |held| {
                let asset = patch.apply(held.assets.get(id).ok_or_else(|| id.missing())?)?;
                held.assets.insert(id.clone(), asset.clone());
                held.note_assets(&write)?;
                Ok(asset)
            })
        })
    }

    fn asset<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, Asset> {
        soon(move || {
            self.read(account, project, |held| held.assets.get(id).cloned().ok_or_else(|| id.missing()))
        })
    }

    fn asset_content<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, AtRevision<(Asset, Vec<u8>)>> {
        soon(move || {
            self.read(account, project, |held| {
                let asset = held.assets.get(id).cloned().ok_or_else(|| id.missing())?;
                let bytes = held.bytes_of(&asset.digest)?;
                Ok(at(held, (asset, bytes)))
            })
        })
    }

    fn asset_bytes<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        digest: &'a Digest,
    ) -> Stored<'a, Vec<u8>> {
        soon(move || self.read(account, project, |held| held.bytes_of(digest)))
    }

    fn list_assets<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        page: Page,
    ) -> Stored<'a, AtRevision<Listed<Asset>>> {
        soon(move || {
            self.read(account, project, |held| {
                page.after.as_ref().map(Cursor::time).transpose()?;
                let mut found: Vec<Asset> = held.assets.values().cloned().collect();
                found.sort_by_key(Asset::cursor);
                found.retain(|asset| page.after.as_ref().is_none_or(|after| asset.cursor() > *after));
                Ok(at(held, Listed::cut(found, &page, Asset::cursor)))
            })
        })
    }

    fn asset_users<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, Vec<BlockId>> {
        soon(move || {
            self.read(account, project, |held| {
                if held.assets.contains_key(id) { Ok(held.users(id)) } else { Err(id.missing()) }
            })
        })
    }

    fn delete_asset<'a>(
        &'a self,
        write: Write,
        id: &'a AssetId,
        force: bool,
    ) -> Stored<'a, AtRevision<Asset>> {
        soon(move || -> Result<_, Error> {
            self.write(&write, |held| {
                let gone = held.assets.remove(id).ok_or_else(|| id.missing())?;
                let by: Vec<String> = held.users(id).iter().map(ToString::to_string).collect();
                if !by.is_empty() && !force {
                    return Err(Refusal::InUse { what: Noun::Asset, id: id.to_string(), by });
                }
                held.note_assets(&write)?;
                Ok(gone)
            })
        })
    }
}
