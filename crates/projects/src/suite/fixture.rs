//! Helpers shared by the cases.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::Replicas;
use crate::blocks::{BlockEntry, BlockPosition, NewBlock, TreeQuery};
use crate::error::{Error, ProjectRejection};
use crate::ids::{Account, AssetId, BlockId, IdGenerator, IdSeed, ProjectId};
use crate::new_project::NewProject;
use crate::project::{NewProjectFields, Project, ProjectWrite};
use crate::store::ProjectStore;
use crate::{AtRevision, NewAsset};

/// A time, in seconds after a fixed noon.
pub(super) fn timestamp(seconds: i64) -> Timestamp {
    let noon = Timestamp::from_second(1_772_452_800).unwrap();
    noon + SignedDuration::from_micros(seconds * 1_000_000 + 7)
}

pub(super) fn ann() -> Account {
    Account::new("ann")
}

pub(super) fn bob() -> Account {
    Account::new("bob")
}

pub(super) fn project_id(number: u8) -> ProjectId {
    IdGenerator::from_seed(IdSeed([number; 16])).next_project_id()
}

pub(super) fn block_id(text: &str) -> BlockId {
    BlockId::parse(text).unwrap()
}

pub(super) fn asset_id(text: &str) -> AssetId {
    AssetId::parse(text).unwrap()
}

/// A store with one project of the account `ann`, and helpers to write to it.
pub(super) struct SuiteFixture {
    pub(super) store: ProjectStore,
    pub(super) other: ProjectStore,
    pub(super) id: ProjectId,
    drawn: std::sync::atomic::AtomicU8,
}

impl SuiteFixture {
    pub(super) async fn new([store, other]: Replicas) -> Self {
        let new = NewProject::empty(project_id(1), NewProjectFields::with_name("One"));
        store.create_project(&ann(), new, false, timestamp(0)).await.unwrap();
        Self { store, other, id: project_id(1), drawn: std::sync::atomic::AtomicU8::new(100) }
    }

    pub(super) fn write(&self) -> ProjectWrite {
        ProjectWrite {
            account: ann(),
            project: self.id.clone(),
            if_revision: None,
            dry_run: false,
            now: timestamp(60),
        }
    }

    pub(super) fn write_at_revision(&self, revision: u64) -> ProjectWrite {
        ProjectWrite { if_revision: Some(revision), ..self.write() }
    }

    pub(super) fn dry_run(&self) -> ProjectWrite {
        ProjectWrite { dry_run: true, ..self.write() }
    }

    /// An unused seed.
    pub(super) fn next_seed(&self) -> IdSeed {
        IdSeed([self.drawn.fetch_add(1, std::sync::atomic::Ordering::Relaxed); 16])
    }

    pub(super) async fn project(&self) -> Project {
        self.other.project(&ann(), &self.id).await.unwrap()
    }

    /// Creates blocks and returns the ids of the rows.
    pub(super) async fn insert(&self, position: BlockPosition, blocks: Value) -> Vec<BlockId> {
        let new = NewBlock::parse(&blocks).unwrap();
        let made = self.store.insert_blocks(self.write(), position, new, self.next_seed()).await.unwrap();
        made.value.into_iter().map(|block| block.id).collect()
    }

    pub(super) async fn page(&self, path: &str) -> BlockId {
        let page = serde_json::json!({ "type": "page", "props": { "title": "T", "path": path } });
        self.insert(BlockPosition::last(None), page).await.remove(0)
    }

    /// Inserts sections with these titles into a block.
    pub(super) async fn sections(&self, parent: &BlockId, titles: &str) -> Vec<BlockId> {
        let section = |title: char| serde_json::json!({ "type": "section", "props": { "title": title } });
        let blocks: Vec<Value> = titles.chars().map(section).collect();
        self.insert(BlockPosition::last(Some(parent.clone())), Value::from(blocks)).await
    }

    pub(super) async fn read(&self, root: Option<&BlockId>, depth: u32) -> AtRevision<Vec<BlockEntry>> {
        let reach = TreeQuery { depth, max_blocks: u32::MAX };
        self.other.blocks(&ann(), &self.id, root, reach).await.unwrap()
    }

    /// The titles of all descendants of a block, in reading order.
    pub(super) async fn titles(&self, root: &BlockId) -> String {
        let found = self.read(Some(root), u32::MAX).await.value;
        let title = |found: &BlockEntry| {
            found.block.props.get("title").and_then(Value::as_str).unwrap_or("?").to_owned()
        };
        found.iter().skip(1).map(title).collect()
    }

    pub(super) async fn put_asset(&self, name: &str, content: &[u8]) -> AtRevision<crate::Asset> {
        self.store.put_asset(self.write(), new_asset(name, content)).await.unwrap()
    }
}

/// A text asset.
pub(super) fn new_asset(name: &str, content: &[u8]) -> NewAsset {
    NewAsset {
        id: asset_id(name),
        name: format!("{name}.txt"),
        content_type: None,
        alt: String::new(),
        content: content.to_vec(),
    }
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value} is not an object") };
    map
}

/// The rejection of a rule.
pub(super) trait ExpectRejection {
    fn expect_rejection(self) -> ProjectRejection;
    /// A short label.
    fn outcome_name(self) -> &'static str;
}

impl<T: std::fmt::Debug> ExpectRejection for Result<T, Error> {
    #[track_caller]
    fn expect_rejection(self) -> ProjectRejection {
        match self {
            Err(Error::Rejected(refusal)) => refusal,
            other => panic!("this should have been refused: {other:?}"),
        }
    }

    fn outcome_name(self) -> &'static str {
        match self {
            Ok(_) => "done",
            Err(Error::Store(_)) => "store",
            Err(Error::Rejected(refusal)) => match refusal {
                ProjectRejection::NotFound { .. } => "not found",
                ProjectRejection::Conflict { .. } => "conflict",
                ProjectRejection::Invalid(_) => "invalid",
                ProjectRejection::TooLarge { .. } | ProjectRejection::AnswerTooLarge { .. } => "too large",
                ProjectRejection::Taken { .. } => "taken",
                ProjectRejection::InUse { .. } => "in use",
                ProjectRejection::Published { .. } => "published",
                ProjectRejection::Design(_) => "design",
                ProjectRejection::Import(_) => "import",
            },
        }
    }
}
