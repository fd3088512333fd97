//! Assets.

use std::sync::Arc;

use ::projects::store::Assets;
use ::projects::{
    Account, Asset, AssetId, AssetPatch, AtRevision, BlockId, Digest, Listed, NewAsset, Page, ProjectId,
    Stored, Write,
};

use super::super::Postgres;
use super::timed;
use crate::projects::{admit, assets};

impl Assets for Postgres {
    fn put_asset(&self, write: Write, new: NewAsset) -> Stored<'_, AtRevision<Asset>> {
        Box::pin(async move {
            let write = &timed(write);
            let asset = &match new.check(write.now) {
                Ok(asset) => asset,
                Err(refusal) => {
                    // Whatever is wrong with the project is told first.
                    self.writing(write, |tables| async move { admit(&*tables, write).await }).await?;
                    return Err(refusal.into());
                }
            };
            let content = &new.content;
            let case = |tables: Arc<_>| async move { assets::put(&*tables, write, asset, content).await };
            self.writing(write, case).await
        })
    }

    fn update_asset<'a>(
        &'a self,
        write: Write,
        id: &'a AssetId,
        patch: AssetPatch,
    ) -> Stored<'a, AtRevision<Asset>> {
        Box::pin(async move {
            let (write, patch) = (&timed(write), &patch);
            self.writing(write, |tables| async move { assets::update(&*tables, write, id, patch).await })
                .await
        })
    }

    fn asset<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, Asset> {
        let case = move |tables: Arc<_>| async move { assets::read(&*tables, account, project, id).await };
        Box::pin(self.reading(account, case))
    }

    fn asset_content<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, AtRevision<(Asset, Vec<u8>)>> {
        let case = move |tables: Arc<_>| async move { assets::content(&*tables, account, project, id).await };
        Box::pin(self.reading(account, case))
    }

    fn asset_bytes<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        digest: &'a Digest,
    ) -> Stored<'a, Vec<u8>> {
        let case =
            move |tables: Arc<_>| async move { assets::bytes(&*tables, account, project, digest).await };
        Box::pin(self.reading(account, case))
    }

    fn list_assets<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        page: Page,
    ) -> Stored<'a, AtRevision<Listed<Asset>>> {
        Box::pin(async move {
            let page = &page;
            let case = |tables: Arc<_>| async move { assets::list(&*tables, account, project, page).await };
            self.reading(account, case).await
        })
    }

    fn asset_users<'a>(
        &'a self,
        account: &'a Account,
        project: &'a ProjectId,
        id: &'a AssetId,
    ) -> Stored<'a, Vec<BlockId>> {
        let case = move |tables: Arc<_>| async move { assets::users(&*tables, account, project, id).await };
        Box::pin(self.reading(account, case))
    }

    fn delete_asset<'a>(
        &'a self,
        write: Write,
        id: &'a AssetId,
        force: bool,
    ) -> Stored<'a, AtRevision<Asset>> {
        Box::pin(async move {
            let write = &timed(write);
            self.writing(write, |tables| async move { assets::delete(&*tables, write, id, force).await })
                .await
        })
    }
}
