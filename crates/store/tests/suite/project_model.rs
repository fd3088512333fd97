//! Projects in PostgreSQL against those in SQLite: whatever is done, both say the same, word for word.

use jiff::Timestamp;
use projects::{
    Account, AllowedChildren, AssetId, AssetPatch, BlockId, BlockPosition, CustomBlockType, DesignEdit,
    IdGenerator, IdSeed, NewAsset, NewBlock, NewProject, NewProjectFields, Page, ProjectFieldsPatch,
    ProjectId, ProjectStore, ProjectWrite, TreeQuery,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};

use crate::harness;

/// What is done. Numbers stand for accounts, projects, blocks and so on.
#[derive(Clone, Debug)]
struct ProjectOp {
    kind: usize,
    account: usize,
    project: u8,
    /// The revision that it names: none, the right one, or the one before.
    revision: usize,
    dry_run: bool,
    block: usize,
    sibling: usize,
    position: usize,
    pick: usize,
}

/// How many kinds of deeds there are.
const OP_KINDS: usize = 21;
const ACCOUNTS: [&str; 2] = ["ann", "bob"];
const SLUGS: [&str; 4] = ["one", "two", "-bad", "three"];
const KINDS: [&str; 8] = ["section", "section", "text", "image", "page", "price", "column", "nope"];

fn arbitrary_ops() -> impl Strategy<Value = Vec<ProjectOp>> {
    // Blocks are what most is done to.
    let what = prop_oneof![3 => 0..OP_KINDS, 4 => 8..13_usize];
    let who = (prop_oneof![9 => Just(0), 1 => Just(1_usize)], prop_oneof![4 => Just(0), 1 => 1..3_u8]);
    let how = (prop_oneof![6 => Just(0), 3 => Just(1_usize), 1 => Just(2)], prop::bool::weighted(0.1));
    let deed = (what, who, how, 0..40_usize, 0..40_usize, 0..8_usize, 0..8_usize);
    let deed =
        deed.prop_map(|(what, (account, project), (revision, dry_run), block, beside, database, pick)| {
            ProjectOp {
                kind: what,
                account,
                project,
                revision,
                dry_run,
                block,
                sibling: beside,
                position: database,
                pick,
            }
        });
    prop::collection::vec(deed, 1..70)
}

fn project_id(number: u8) -> ProjectId {
    IdGenerator::from_seed(IdSeed([number; 16])).next_project_id()
}

fn asset_id(number: usize) -> AssetId {
    AssetId::parse(&format!("a{}", number % 3)).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// A deed with what it means to a project as it is.
struct ProjectOpInput<'a> {
    op: &'a ProjectOp,
    number: u8,
    /// Whose the project is, if it is there.
    owner: Option<Account>,
    blocks: Vec<BlockId>,
    revision: u64,
}

impl ProjectOpInput<'_> {
    fn account(&self) -> Account {
        Account::new(ACCOUNTS[self.op.account])
    }

    fn write(&self) -> ProjectWrite {
        ProjectWrite {
            account: self.account(),
            project: project_id(self.op.project),
            if_revision: [None, Some(self.revision), Some(self.revision.wrapping_sub(1))][self.op.revision],
            dry_run: self.op.dry_run,
            now: self.now(),
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(1_900_000_000_000_000 + i64::from(self.number / 3)).unwrap()
    }

    fn seed(&self) -> IdSeed {
        IdSeed([self.number; 16])
    }

    /// One of the blocks that are there, or one that is not.
    fn block(&self, number: usize) -> BlockId {
        let gone = || BlockId::parse("gone").unwrap();
        self.blocks.get(number % (self.blocks.len() + 1)).cloned().unwrap_or_else(gone)
    }

    fn position(&self) -> BlockPosition {
        let beside = self.block(self.op.sibling);
        match self.op.position {
            0 => BlockPosition::Before(beside),
            1 => BlockPosition::After(beside),
            2 => BlockPosition::last(None),
            3 | 4 => BlockPosition::In { parent: None, index: Some(u32::try_from(self.op.pick).unwrap()) },
            5 => BlockPosition::last(Some(beside)),
            _ => {
                BlockPosition::In { parent: Some(beside), index: Some(u32::try_from(self.op.pick).unwrap()) }
            }
        }
    }

    fn props(&self, kind: &str) -> Map<String, Value> {
        let pick = self.op.pick;
        object(match kind {
            "page" => json!({ "title": "T", "path": format!("/{}", pick % 4) }),
            "text" => json!({ "text": format!("see asset:a{pick}"), "format": "markdown" }),
            "image" => json!({ "src": format!("asset:a{}", pick % 3) }),
            "price" => json!({ "amount": if pick == 0 { json!("x") } else { json!(pick) } }),
            _ => json!({}),
        })
    }

    fn new_blocks(&self) -> Vec<NewBlock> {
        let kind = if self.op.position == 2 || self.blocks.is_empty() { "page" } else { KINDS[self.op.pick] };
        let child = NewBlock::new("section", object(json!({ "title": "c" })));
        let children = if self.op.pick.is_multiple_of(2) { vec![child] } else { Vec::new() };
        let first = NewBlock { children, ..NewBlock::new(kind, self.props(kind)) };
        let second = NewBlock::new("section", Map::new());
        if kind == "page" || self.op.block > 10 { vec![first] } else { vec![first, second] }
    }

    fn custom_type(&self) -> CustomBlockType {
        CustomBlockType {
            name: "price".to_owned(),
            description: String::new(),
            schema: json!({ "properties": { "amount": { "type": "number" } } }),
            children: if self.op.pick < 4 {
                AllowedChildren::Any
            } else {
                AllowedChildren::Only(vec!["text".to_owned()])
            },
        }
    }

    fn new_asset(&self) -> NewAsset {
        NewAsset {
            id: asset_id(self.op.pick),
            name: "n.txt".to_owned(),
            content_type: None,
            alt: String::new(),
            content: vec![b'x'; self.op.block % 4],
        }
    }
}

/// What a store says to it.
async fn apply_op(store: &ProjectStore, scene: &ProjectOpInput<'_>) -> String {
    let ProjectOp { kind: what, block, pick, .. } = *scene.op;
    let (write, database) = (scene.write(), scene.position());
    let slug = SLUGS[pick % SLUGS.len()].to_owned();
    let version = u32::try_from(pick).unwrap();
    let block = scene.block(block);
    match what {
        // Which of several things that are taken is told first is left open.
        0 | 1 if scene.owner.is_none() => {
            let fields =
                NewProjectFields { slug: (what == 1).then_some(slug), ..NewProjectFields::with_name("One") };
            let new = NewProject::empty(write.project, fields);
            format!("{:?}", store.create_project(&scene.account(), new, write.dry_run, scene.now()).await)
        }
        2 => {
            let patch = ProjectFieldsPatch { slug: Some(slug), ..ProjectFieldsPatch::default() };
            format!("{:?}", store.update_project(write, patch).await)
        }
        3 => {
            let copy = store.duplicate_project(
                write,
                project_id(u8::try_from(scene.op.position % 3).unwrap()),
                NewProjectFields::default(),
            );
            format!("{:?}", copy.await)
        }
        4 if pick < 2 => format!("{:?}", store.delete_project(write).await),
        5 => format!("{:?}", store.put_block_type(write, scene.custom_type()).await),
        6 => format!("{:?}", store.delete_block_type(write, "price").await),
        7 => {
            let css = DesignEdit::ImportCss(format!(":root {{ --gap: {pick}px }}"));
            format!("{:?}", store.edit_design_system(write, css).await)
        }
        8 | 9 => {
            format!("{:?}", store.insert_blocks(write, database, scene.new_blocks(), scene.seed()).await)
        }
        10 => {
            let change = if pick < 4 {
                scene.props("page")
            } else {
                object(json!({ "title": "longer", "src": "asset:a1" }))
            };
            format!("{:?}", store.update_block(write, &block, change).await)
        }
        11 => format!("{:?}", store.move_block(write, &block, database).await),
        12 => format!("{:?}", store.copy_block(write, &block, database, scene.seed()).await),
        13 if pick < 3 => format!("{:?}", store.delete_block(write, &block).await),
        14 | 15 => format!("{:?}", store.put_asset(write, scene.new_asset()).await),
        16 => {
            let patch = AssetPatch { alt: Some("alt".to_owned()), name: None };
            format!("{:?}", store.update_asset(write, &asset_id(pick), patch).await)
        }
        17 => format!("{:?}", store.delete_asset(write, &asset_id(pick), pick > 5).await),
        18 => format!("{:?}", store.publish(write, "note").await),
        19 if pick < 3 => format!("{:?}", store.unpublish(write).await),
        19 => format!("{:?}", store.restore_version(write, version - 2).await),
        20 => format!("{:?}", store.delete_version(write, version).await),
        _ => String::new(),
    }
}

/// Everything that can be read of one project.
async fn read_all(store: &ProjectStore, account: &Account, id: &ProjectId) -> Vec<String> {
    let mut told = vec![
        format!("{:?}", store.project(account, id).await),
        format!("{:?}", store.content(account, id).await),
        format!("{:?}", store.block_types(account, id).await),
        format!("{:?}", store.design_system(account, id).await),
        format!("{:?}", store.blocks(account, id, None, TreeQuery { depth: 2, max_blocks: 9 }).await),
        format!("{:?}", store.blocks(account, id, None, TreeQuery::ALL).await),
        format!("{:?}", store.children(account, id, None, Page::first(2)).await),
        format!("{:?}", store.list_assets(account, id, Page::first(2)).await),
        format!("{:?}", store.list_versions(account, id, Page::first(2)).await),
    ];
    for number in 0..4 {
        told.push(format!("{:?}", store.version(account, id, number).await));
        told.push(format!("{:?}", store.asset_users(account, id, &asset_id(number as usize)).await));
        let digest = projects::Digest::from_content(&vec![b'x'; number as usize]);
        told.push(format!("{:?}", store.asset_bytes(account, id, &digest).await));
    }
    told
}

/// Has both do it. Looks at everything then, or only at what they say to it.
async fn apply_and_compare(
    one: &ProjectStore,
    other: &ProjectStore,
    number: usize,
    deed: &ProjectOp,
    everywhere: bool,
) {
    let (account, id) = (Account::new("ann"), project_id(deed.project));
    let mut owner = None;
    for name in ACCOUNTS.map(Account::new) {
        owner = if other.project(&name, &id).await.is_ok() { Some(name) } else { owner };
    }
    let known = other.content(&account, &id).await.ok();
    let blocks = known.iter().flat_map(|known| &known.value.blocks).map(|block| block.id.clone()).collect();
    let revision = known.map_or(0, |known| known.revision);
    let scene = ProjectOpInput { op: deed, number: u8::try_from(number).unwrap(), owner, blocks, revision };
    assert_eq!(apply_op(one, &scene).await, apply_op(other, &scene).await, "{number}: {deed:?}");
    if !everywhere {
        return;
    }
    for id in (0..3).map(project_id) {
        assert_eq!(
            read_all(one, &account, &id).await,
            read_all(other, &account, &id).await,
            "after {number}: {deed:?}"
        );
    }
    for name in ACCOUNTS {
        let listed = async |store: &ProjectStore| store.list_projects(&Account::new(name), Page::ALL).await;
        assert_eq!(format!("{:?}", listed(one).await), format!("{:?}", listed(other).await), "{deed:?}");
    }
    assert_eq!(one.accounts().await.unwrap(), other.accounts().await.unwrap(), "{deed:?}");
}

/// Does all of it to a store that is empty, and looks at everything after so many deeds each.
async fn run_ops(store: &ProjectStore, deeds: &[ProjectOp], each: usize) {
    let memory =
        store::open(&store::StoreLocation::Memory, &store::StoreOptions::default()).await.unwrap().projects();
    // Something to begin with.
    let first = ProjectOp {
        kind: 0,
        account: 0,
        project: 0,
        revision: 0,
        dry_run: false,
        block: 0,
        sibling: 0,
        position: 0,
        pick: 0,
    };
    for (number, deed) in [first].iter().chain(deeds).enumerate() {
        let everywhere = number % each == 0 || number == deeds.len();
        apply_and_compare(store, &memory, number, deed, everywhere).await;
    }
}

fn check_property(cases: u32, perform: impl Fn(&[ProjectOp])) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let perform = |deeds: Vec<ProjectOp>| {
        perform(&deeds);
        Ok(())
    };
    TestRunner::new(config).run(&arbitrary_ops(), perform).unwrap();
}

#[test]
fn postgres_projects_match_sqlite() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let Some(database) = runtime.block_on(harness::postgres()) else { return };
    let store = runtime.block_on(database.open_projects());
    check_property(12, |deeds| {
        runtime.block_on(async {
            harness::execute(&database, "TRUNCATE projects, project_accounts CASCADE").await;
            run_ops(&store, deeds, 10).await;
        });
    });
}
