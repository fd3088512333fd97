//! A store of projects that cannot be reached, while keys are still known.

#![expect(clippy::elidable_lifetime_names, reason = "one macro writes all signatures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use server::projects::blocks::{Found, Place, Reach};
use server::projects::memory::Memory;
use server::projects::store::{Assets, Blocks, DesignSystems, Projects, Versions};
use server::projects::tokens::Document;
use server::projects::{
    Account, Asset, AssetId, AssetPatch, AtRevision, Block, BlockId, Content, CustomType, DesignEdit,
    Designed, Digest, FieldsPatch, Import, Listed, NewAsset, NewBlock, NewFields, NewProject, Page, Project,
    ProjectId, ProjectStore, Seed, StoreError, Stored, Version, Write,
};
use server::tools::Toolset;
use server::{OpenProjects, Scope, Timestamp};

use super::{Caller, ID, addresses, calls, request};
use crate::harness::{Answer, Endpoint, Setup};
use crate::mcp_session::Client;

/// A store that was opened, and cannot be reached any more.
struct Away;

fn away<'a, T>() -> Stored<'a, T> {
    Box::pin(async { Err(StoreError::Unreachable("made up".to_owned()).into()) })
}

/// Methods that all end like that.
macro_rules! all_away {
    ($($name:ident($($taken:ty),*) -> $given:ty;)*) => {
        $(fn $name<'a>(&'a self, $(_: $taken),*) -> Stored<'a, $given> { away() })*
    };
}

impl Projects for Away {
    all_away! {
        create_project(&'a Account, NewProject, bool, Timestamp) -> Project;
        project(&'a Account, &'a ProjectId) -> Project;
        list_projects(&'a Account, Page) -> Listed<Project>;
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

impl Blocks for Away {
    all_away! {
        blocks(&'a Account, &'a ProjectId, Option<&'a BlockId>, Reach) -> AtRevision<Vec<Found>>;
        children(&'a Account, &'a ProjectId, Option<&'a BlockId>, Page) -> AtRevision<Listed<Found>>;
        insert_blocks(Write, Place, Vec<NewBlock>, Seed) -> AtRevision<Vec<Block>>;
        update_block(Write, &'a BlockId, Map<String, Value>) -> AtRevision<Block>;
        move_block(Write, &'a BlockId, Place) -> AtRevision<Block>;
        copy_block(Write, &'a BlockId, Place, Seed) -> AtRevision<Vec<Block>>;
        delete_block(Write, &'a BlockId) -> AtRevision<u64>;
    }
}

impl DesignSystems for Away {
    all_away! {
        design_system(&'a Account, &'a ProjectId) -> AtRevision<Document>;
        edit_design_system(Write, DesignEdit) -> AtRevision<Designed>;
    }
}

impl Assets for Away {
    all_away! {
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

impl Versions for Away {
    all_away! {
        publish(Write, &'a str) -> AtRevision<Version>;
        unpublish(Write) -> Project;
        list_versions(&'a Account, &'a ProjectId, Page) -> Listed<Version>;
        version(&'a Account, &'a ProjectId, u32) -> (Version, Content);
        restore_version(Write, u32) -> Project;
        delete_version(Write, u32) -> AtRevision<Version>;
    }
}

/// A server whose projects come from there, and not many other things, so that the first page of a list has projects.
fn site(projects: OpenProjects) -> Endpoint {
    let endpoint = Setup { keyed: true, projects: Some(projects), ..Setup::default() }.start();
    endpoint.app.serve_toolsets(&[Toolset::Projects, Toolset::Diagnostics]);
    endpoint
}

fn opened_and_gone() -> OpenProjects {
    Box::new(|| Box::pin(async { Ok(Arc::new(Away) as Arc<dyn ProjectStore>) }))
}

fn never_opened() -> OpenProjects {
    Box::new(|| Box::pin(async { Err(StoreError::Unreachable("made up".to_owned())) }))
}

/// Everything that needs the store.
fn requests() -> Vec<(&'static str, Value)> {
    let call = |tool: &str, arguments: Value| ("tools/call", json!({ "name": tool, "arguments": arguments }));
    let completion = json!({
        "ref": { "type": "ref/resource", "uri": "codefluss://design-system/{projectId}" },
        "argument": { "name": "projectId", "value": "p" },
    });
    let mut all: Vec<_> = calls(ID).into_iter().map(|(tool, arguments)| call(tool, arguments)).collect();
    all.extend([
        call("list_projects", json!({})),
        call("create_project", json!({ "name": "x", "description": "", "template": "empty" })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "codefluss://projects" })),
        ("completion/complete", completion),
    ]);
    all.extend(addresses(ID).into_iter().map(|uri| ("resources/read", json!({ "uri": uri }))));
    all
}

fn judge(answer: &Answer, status: u16, what: &str) {
    assert_eq!((answer.status, answer.header("retry-after")), (status, Some("2")), "{what}: {answer:?}");
    assert_eq!(answer.json()["error"]["code"], -32603, "{what}");
    assert_eq!(answer.kind(), "store_unavailable", "{what}");
    assert!(!answer.body.contains("made up"), "what is wrong with the store is for its owner: {what}");
}

/// Contract row 12a: 500 and when to try again on `/api/mcp`, never 503; 503 on `/mcp`. Never a "not found", which
/// somebody might believe.
#[test]
fn whoever_needs_the_store_is_told_to_come_back() {
    for projects in [opened_and_gone(), never_opened()] {
        let endpoint = site(projects);
        let key = endpoint.key(Scope::Write);
        let caller = Caller::new(&endpoint, &key);
        let session = Client::with_key(&endpoint, "2025-11-25", Some(&key));
        for (method, params) in requests() {
            let what = format!("{method} {params}");
            let message = request(1, method, &params).to_string();
            judge(&caller.post(&[], &message), 500, &what);
            judge(&session.post(&message), 503, &what);
            judge(&caller.modern(method, params), 503, &what);
        }
        let german =
            caller.post(&[("Accept-Language", "de")], &request(1, "resources/list", &json!({})).to_string());
        assert_eq!(
            german.json()["error"]["data"]["detail"],
            "Der Server erreicht seinen Speicher nicht; in ein paar Sekunden erneut versuchen"
        );
        let listed = caller.ask("tools/list", &json!({}));
        assert!(listed["result"]["tools"].is_array(), "what needs no store goes on");
    }
}

/// In a batch the entries that need no store are answered.
#[test]
fn a_batch_is_answered_as_far_as_possible() {
    let endpoint = site(opened_and_gone());
    let batch = json!([
        request(1, "ping", &json!({})),
        request(2, "tools/call", &json!({ "name": "list_projects", "arguments": {} })),
        request(3, "tools/call", &json!({ "name": "echo", "arguments": { "text": "x" } })),
    ]);
    let answer = Caller::writer(&endpoint).post(&[], &batch.to_string());
    let answers = answer.json();
    assert_eq!(answer.status, 200);
    assert_eq!((&answers[0]["result"], &answers[2]["result"]["isError"]), (&json!({}), &json!(false)));
    assert_eq!(answers[1]["error"]["code"], -32603);
    assert_eq!(answers[1]["error"]["data"]["kind"], "store_unavailable");
}

/// A store that comes back is used again, without a restart.
#[test]
fn it_goes_on_when_the_store_is_back() {
    let is_back = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_back);
    let endpoint = site(Box::new(move || {
        let opened = if seen.load(Ordering::SeqCst) {
            Ok(Arc::new(Memory::default()) as Arc<dyn ProjectStore>)
        } else {
            Err(StoreError::Unreachable("made up".to_owned()))
        };
        Box::pin(async { opened })
    }));
    let caller = Caller::writer(&endpoint);
    let list = request(1, "tools/call", &json!({ "name": "list_projects" })).to_string();
    assert_eq!(caller.post(&[], &list).status, 500);
    is_back.store(true, Ordering::SeqCst);
    assert_eq!(caller.done("list_projects", json!({})), json!([]));
}
