//! Assets.

use ::projects::store::{Assets, Stored};
use ::projects::{
    Account, Asset, AssetId, AssetPatch, AtRevision, BlockId, Digest, Listed, NewAsset, Page, ProjectId,
    Write,
};

use super::super::{Sqlite, at_once};
use crate::projects::{admit, assets, whole};

impl Assets for Sqlite {
    fn put_asset(&self, write: Write, new: NewAsset) -> Stored<'_, AtRevision<Asset>> {
        Box::pin(async move {
            // Here, since everybody waits for the thread that writes.
            let asset = match new.check(whole(write.now)) {
                Ok(asset) => asset,
                Err(refusal) => {
                    // Whatever is wrong with the project is told first.
                    self.write(write, |rows, write| at_once(admit(rows, write))).await?;
                    return Err(refusal.into());
                }
            };
            self.write(write, move |rows, write| at_once(assets::put(rows, write, &asset, &new.content)))
                .await
        })
    }

    fn update_asset<'a>(
        &'a self,
        write: Write,
        id: &'a AssetId,
        patch: AssetPatch,
    ) -> Stored<'a, AtRevision<Asset>> {
        let id = id.clone();
        Box::pin(self.write(write, move |rows, write| at_once(assets::update(rows, write, &id, &patch))))
    }

    fn asset<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, Asset> {
        let (account, project, id) = (account.clone(), project.clone(), id.clone());
        Box::pin(self.look(move |rows| at_once(assets::read(rows, &account, &project, &id))))
    }

    fn asset_content<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, AtRevision<(Asset, Vec<u8>)>> {
        let (account, project, id) = (account.clone(), project.clone(), id.clone());
        Box::pin(self.look(move |rows| at_once(assets::content(rows, &account, &project, &id))))
    }

    fn asset_bytes<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        digest: &'a Digest,
    ) -> Stored<'a, Vec<u8>> {
        let (account, project, digest) = (account.clone(), project.clone(), *digest);
        Box::pin(self.look(move |rows| at_once(assets::bytes(rows, &account, &project, &digest))))
    }

    fn list_assets<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        page: Page,
    ) -> Stored<'a, AtRevision<Listed<Asset>>> {
        let (account, project) = (account.clone(), project.clone());
        Box::pin(self.look(move |rows| at_once(assets::list(rows, &account, &project, &page))))
    }

    fn asset_users<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, Vec<BlockId>> {
        let (account, project, id) = (account.clone(), project.clone(), id.clone());
        Box::pin(self.look(move |rows| at_once(assets::users(rows, &account, &project, &id))))
    }

    fn delete_asset<'a>(
        &'a self,
        write: Write,
        id: &'a AssetId,
        force: bool,
    ) -> Stored<'a, AtRevision<Asset>> {
        let id = id.clone();
        Box::pin(self.write(write, move |rows, write| at_once(assets::delete(rows, write, &id, force))))
    }
}
