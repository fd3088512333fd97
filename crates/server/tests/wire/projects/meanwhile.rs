//! What somebody else writes between two reads of one call, or between its read and its write: it is never lost, and
//! never half seen.

#![expect(clippy::elidable_lifetime_names, reason = "one macro writes all signatures")]

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use server::projects::blocks::{Found, Place, Reach};
use server::projects::memory::Memory;
use server::projects::store::{Assets, Blocks, DesignSystems, Projects, Versions};
use server::projects::tokens::Document;
use server::projects::{
    Account, Asset, AssetId, AssetPatch, AtRevision, Block, BlockId, Content, CustomType, DesignEdit,
    Designed, Digest, FieldsPatch, Import, Listed, NewAsset, NewBlock, NewFields, NewProject, Page, Project,
    ProjectId, ProjectStore, Seed, Stored, Version, Write,
};
use server::tools::Toolset;
use server::{App, Timestamp};

use super::{ADA, Site, base64, client, done, read, refused, text};
use crate::harness;

type Deed = Box<dyn for<'a> Fn(&'a Memory) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> + Send>;

/// A store in which somebody else writes right before a use case of this name begins; once.
#[derive(Default)]
struct Busy {
    kept: Memory,
    next: Mutex<Option<(&'static str, Deed)>>,
}

impl Busy {
    /// Somebody does this when that is asked for next.
    fn before(&self, name: &'static str, deed: Deed) {
        *self.next.lock().unwrap() = Some((name, deed));
    }

    async fn begin(&self, name: &str) {
        let deed = self.next.lock().unwrap().take_if(|(awaited, _)| *awaited == name);
        if let Some((_, deed)) = deed {
            deed(&self.kept).await;
        }
    }

    fn is_done(&self) -> bool {
        self.next.lock().unwrap().is_none()
    }
}

macro_rules! handed_on {
    ($($name:ident($($given:ident: $taken:ty),*) -> $gives:ty;)*) => {
        $(fn $name<'a>(&'a self, $($given: $taken),*) -> Stored<'a, $gives> {
            Box::pin(async move {
                self.begin(stringify!($name)).await;
                self.kept.$name($($given),*).await
            })
        })*
    };
}

impl Projects for Busy {
    handed_on! {
        create_project(account: &'a Account, new: NewProject, dry_run: bool, now: Timestamp) -> Project;
        project(account: &'a Account, id: &'a ProjectId) -> Project;
        list_projects(account: &'a Account, page: Page) -> Listed<Project>;
        projects_beginning(account: &'a Account, prefix: &'a str, most: u32) -> Vec<Project>;
        update_project(write: Write, patch: FieldsPatch) -> Project;
        duplicate_project(write: Write, id: ProjectId, fields: NewFields) -> Project;
        import_project(account: &'a Account, import: Import) -> Project;
        delete_project(write: Write) -> Project;
        content(account: &'a Account, id: &'a ProjectId) -> AtRevision<Content>;
        block_types(account: &'a Account, id: &'a ProjectId) -> AtRevision<Vec<CustomType>>;
        put_block_type(write: Write, own: CustomType) -> AtRevision<CustomType>;
        delete_block_type(write: Write, name: &'a str) -> AtRevision<CustomType>;
        accounts() -> Vec<Account>;
    }
}

impl Blocks for Busy {
    handed_on! {
        blocks(account: &'a Account, id: &'a ProjectId, block: Option<&'a BlockId>, reach: Reach) -> AtRevision<Vec<Found>>;
        children(account: &'a Account, id: &'a ProjectId, block: Option<&'a BlockId>, page: Page) -> AtRevision<Listed<Found>>;
        insert_blocks(write: Write, place: Place, new: Vec<NewBlock>, seed: Seed) -> AtRevision<Vec<Block>>;
        update_block(write: Write, id: &'a BlockId, patch: Map<String, Value>) -> AtRevision<Block>;
        move_block(write: Write, id: &'a BlockId, place: Place) -> AtRevision<Block>;
        copy_block(write: Write, id: &'a BlockId, place: Place, seed: Seed) -> AtRevision<Vec<Block>>;
        delete_block(write: Write, id: &'a BlockId) -> AtRevision<u64>;
    }
}

impl DesignSystems for Busy {
    handed_on! {
        design_system(account: &'a Account, id: &'a ProjectId) -> AtRevision<Document>;
        edit_design_system(write: Write, edit: DesignEdit) -> AtRevision<Designed>;
    }
}

impl Assets for Busy {
    handed_on! {
        put_asset(write: Write, new: NewAsset) -> AtRevision<Asset>;
        update_asset(write: Write, id: &'a AssetId, patch: AssetPatch) -> AtRevision<Asset>;
        asset(account: &'a Account, project: &'a ProjectId, id: &'a AssetId) -> Asset;
        asset_content(account: &'a Account, project: &'a ProjectId, id: &'a AssetId) -> AtRevision<(Asset, Vec<u8>)>;
        asset_bytes(account: &'a Account, project: &'a ProjectId, digest: &'a Digest) -> Vec<u8>;
        list_assets(account: &'a Account, project: &'a ProjectId, page: Page) -> AtRevision<Listed<Asset>>;
        asset_users(account: &'a Account, project: &'a ProjectId, id: &'a AssetId) -> Vec<BlockId>;
        delete_asset(write: Write, id: &'a AssetId, force: bool) -> AtRevision<Asset>;
    }
}

impl Versions for Busy {
    handed_on! {
        publish(write: Write, note: &'a str) -> AtRevision<Version>;
        unpublish(write: Write) -> Project;
        list_versions(account: &'a Account, id: &'a ProjectId, page: Page) -> Listed<Version>;
        version(account: &'a Account, id: &'a ProjectId, number: u32) -> (Version, Content);
        restore_version(write: Write, number: u32) -> Project;
        delete_version(write: Write, number: u32) -> AtRevision<Version>;
    }
}

/// A server whose projects are in such a store.
fn busy() -> (Arc<App>, Arc<Busy>) {
    let store = Arc::new(Busy::default());
    let shared = Arc::clone(&store);
    let open = move || {
        let store = Arc::clone(&shared) as Arc<dyn ProjectStore>;
        Box::pin(async move { Ok(store) }) as Pin<Box<dyn Future<Output = _> + Send>>
    };
    (harness::app().toolsets(&[Toolset::Projects]).projects(Box::new(open)).build(), store)
}

/// A write of somebody else of the same account, whatever the revision.
fn write(project: &str) -> Write {
    Write {
        account: Account::new(ADA),
        project: ProjectId::parse(project).unwrap(),
        if_revision: None,
        dry_run: false,
        now: Timestamp::UNIX_EPOCH,
    }
}

/// Whatever revision the caller names: what is added is added to what was read, or not at all.
#[tokio::test(start_paused = true)]
async fn what_is_added_to_an_asset_never_replaces_what_others_added() {
    let (app, store) = busy();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let project = &site.project;
    let put = json!({ "projectId": project, "action": "put", "name": "log.txt", "content": base64("one ") });
    let made = done(&mut ada, "edit_asset", put).await;
    let (asset, first) = (text(&made["asset"]["id"]), made["revision"].as_u64().unwrap());
    for (at, named) in [(first, None), (first + 1, Some(0)), (first + 2, Some(1))] {
        let id = AssetId::parse(&asset).unwrap();
        let others = write(project);
        let deed: Deed = Box::new(move |kept| {
            let (id, others) = (id.clone(), others.clone());
            Box::pin(async move {
                let (before, mut content) =
                    kept.asset_content(&others.account, &others.project, &id).await.unwrap().value;
                content.extend(b"theirs ");
                let new = NewAsset { id, name: before.name, content_type: None, alt: before.alt, content };
                kept.put_asset(others, new).await.unwrap();
            })
        });
        store.before("put_asset", deed);
        let named = named.map(|after: u64| at + after);
        let add = json!({ "projectId": project, "action": "put", "assetId": asset, "append": true, "content": base64("ours "), "ifRevision": named });
        let answer =
            super::ask(&mut ada, "tools/call", json!({ "name": "edit_asset", "arguments": add })).await;
        assert_eq!(answer["result"]["isError"], true, "{named:?}: {answer}");
        assert!(
            text(&answer["result"]["content"][0]["text"]).contains("the project is at revision"),
            "{answer}"
        );
        if !store.is_done() {
            // It was refused before anybody else came; they come all the same.
            refused(
                &mut ada,
                "edit_asset",
                json!({ "projectId": project, "action": "put", "name": "/", "content": "eA==" }),
            )
            .await;
        }
    }
    let held = read(&mut ada, &format!("codefluss://assets/{project}/{asset}")).await;
    assert_eq!(held["blob"], base64("one theirs theirs theirs "));
}

/// A page is made of blocks, assets and design tokens, which are read one after the other.
#[tokio::test(start_paused = true)]
async fn html_is_of_one_moment() {
    for moment in ["list_assets", "blocks"] {
        let (app, store) = busy();
        let mut ada = client(&app, ADA).await;
        let site = Site::build(&mut ada).await;
        let others = write(&site.project);
        let deed: Deed = Box::new(move |kept| {
            let others = others.clone();
            Box::pin(async move {
                let tokens = DesignEdit::ImportCss(":root{--meanwhile:4px}".to_owned());
                kept.edit_design_system(others, tokens).await.unwrap();
            })
        });
        store.before(moment, deed);
        let page = json!({ "projectId": site.project, "format": "html" });
        let page = done(&mut ada, "get_blocks", page).await;
        assert_eq!(page["revision"], Site::REVISION + 1);
        assert!(text(&page["html"]).contains("--meanwhile: 4px"), "{moment}: {page}");
    }
}
