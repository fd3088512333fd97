//! A store that has ready what is read from it, and nothing else: a call to it costs what the call costs in itself, with an answer
//! of the same size.

use std::future::ready;
use std::sync::Arc;

use serde_json::{Map, Value};
use server::Timestamp;
use server::projects::store::{Assets, Blocks, DesignSystems, Projects, Versions};
use server::projects::tokens::Document;
use server::projects::{
    Account, Asset, AssetId, AssetPatch, AtRevision, Block, BlockId, Content, CustomType, DesignEdit,
    Designed, Digest, Error, FieldsPatch, Found, Import, Listed, NewAsset, NewBlock, NewFields, NewProject,
    Page, Place, Project, ProjectId, Reach, Seed, StoreError, Stored, Version, Write,
};

use super::case::PAGE;
use super::made::{ACCOUNT, Site};
use crate::Outcome;

/// What a page of blocks is read with, unless somebody says otherwise.
const USUAL: Reach = Reach { depth: 3, most: 500 };

/// The answers to everybody, about one website.
pub(super) struct Ready {
    project: Project,
    projects: Listed<Project>,
    blocks: AtRevision<Vec<Found>>,
    design: AtRevision<String>,
}

impl Ready {
    /// What a store says about this website.
    pub(super) async fn of(store: &Arc<dyn store::Store>, site: &Site) -> Outcome<Self> {
        let (account, id) = (Account::new(ACCOUNT), ProjectId::parse(&site.id)?);
        let page = BlockId::parse(&site.page)?;
        Ok(Self {
            project: store.project(&account, &id).await?,
            projects: store.list_projects(&account, Page::first(PAGE)).await?,
            blocks: store.blocks(&account, &id, Some(&page), USUAL).await?,
            design: store.design_text(&account, &id).await?,
        })
    }
}

/// Says what there is.
fn told<'a, T: Clone + Send + 'a>(answer: &T) -> Stored<'a, T> {
    Box::pin(ready(Ok(answer.clone())))
}

/// Methods that no measured read calls.
macro_rules! nothing {
    ($life:lifetime: $($name:ident($($argument:ty),*) -> $given:ty;)+) => {
        $(fn $name<$life>(&$life self, $(_: $argument),*) -> Stored<$life, $given> {
            Box::pin(ready(Err(Error::Store(StoreError::Broken("nothing is ready".to_owned())))))
        })+
    };
}

impl Projects for Ready {
    fn project<'a>(&'a self, _: &'a Account, _: &'a ProjectId) -> Stored<'a, Project> {
        told(&self.project)
    }

    fn list_projects<'a>(&'a self, _: &'a Account, _: Page) -> Stored<'a, Listed<Project>> {
        told(&self.projects)
    }

    nothing! { 'a:
        create_project(&'a Account, NewProject, bool, Timestamp) -> Project;
        projects_beginning(&'a Account, &'a str, u32) -> Vec<Project>;
        update_project(Write, FieldsPatch) -> Project;
        duplicate_project(Write, ProjectId, NewFields) -> Project;
        import_project(&'a Account, Import) -> Project;
        delete_project(Write) -> Project;
        content(&'a Account, &'a ProjectId) -> AtRevision<Content>;
        block_types(&'a Account, &'a ProjectId) -> AtRevision<Vec<CustomType>>;
        put_block_type(Write, CustomType) -> AtRevision<CustomType>;
        delete_block_type(Write, &'a str) -> AtRevision<CustomType>;
        accounts() -> Vec<Account>;
    }
}

impl Blocks for Ready {
    fn blocks<'a>(
        &'a self,
        _: &'a Account,
        _: &'a ProjectId,
        _: Option<&'a BlockId>,
        _: Reach,
    ) -> Stored<'a, AtRevision<Vec<Found>>> {
        told(&self.blocks)
    }

    nothing! { 'a:
        children(&'a Account, &'a ProjectId, Option<&'a BlockId>, Page) -> AtRevision<Listed<Found>>;
        insert_blocks(Write, Place, Vec<NewBlock>, Seed) -> AtRevision<Vec<Block>>;
        update_block(Write, &'a BlockId, Map<String, Value>) -> AtRevision<Block>;
        move_block(Write, &'a BlockId, Place) -> AtRevision<Block>;
        copy_block(Write, &'a BlockId, Place, Seed) -> AtRevision<Vec<Block>>;
        delete_block(Write, &'a BlockId) -> AtRevision<u64>;
    }
}

impl DesignSystems for Ready {
    fn design_text<'a>(&'a self, _: &'a Account, _: &'a ProjectId) -> Stored<'a, AtRevision<String>> {
        told(&self.design)
    }

    nothing! { 'a:
        design_system(&'a Account, &'a ProjectId) -> AtRevision<Document>;
        edit_design_system(Write, DesignEdit) -> AtRevision<Designed>;
    }
}

impl Assets for Ready {
    nothing! { 'a:
        put_asset(Write, NewAsset) -> AtRevision<Asset>;
        update_asset(Write, &'a AssetId, AssetPatch) -> AtRevision<Asset>;
        asset(&'a Account, &'a ProjectId, &'a AssetId) -> Asset;
        asset_content(&'a Account, &'a ProjectId, &'a AssetId) -> AtRevision<(Asset, Vec<u8>)>;
        asset_bytes(&'a Account, &'a ProjectId, &'a Digest) -> Vec<u8>;
        list_assets(&'a Account, &'a ProjectId, Page) -> AtRevision<Listed<Asset>>;
        asset_users(&'a Account, &'a ProjectId, &'a AssetId) -> Vec<BlockId>;
        delete_asset(Write, &'a AssetId, bool) -> AtRevision<Asset>;
    }
}

impl Versions for Ready {
    nothing! { 'a:
        publish(Write, &'a str) -> AtRevision<Version>;
        unpublish(Write) -> Project;
        list_versions(&'a Account, &'a ProjectId, Page) -> Listed<Version>;
        version(&'a Account, &'a ProjectId, u32) -> (Version, Content);
        restore_version(Write, u32) -> Project;
        delete_version(Write, u32) -> AtRevision<Version>;
    }
}
