//! What another caller writes between two reads of one call, or between its read and its write: it is never lost, and
//! never half seen.

use std::sync::{Arc, Mutex};

use projects::store::TxKind;
use projects::testing::Interposed;
use projects::{Account, AssetId, DesignEdit, NewAsset, ProjectId, ProjectStore, StoreError, Write};
use serde_json::json;
use server::tools::Toolset;
use server::{App, Timestamp};

use super::{ADA, Site, base64, client, done, read, refused, text};
use crate::harness;

type Done = futures_util::future::BoxFuture<'static, ()>;
type Deed = Box<dyn FnOnce(ProjectStore) -> Done + Send>;

/// Which transaction another caller comes before: so many of its kind are let through.
#[derive(Clone, Copy)]
enum Before {
    Write,
    Read(usize),
}

/// A store in which another caller writes right before a transaction begins; once.
#[derive(Clone, Default)]
struct Busy(Arc<Mutex<Option<(Before, Deed)>>>);

impl Busy {
    /// Another caller does this before that.
    fn before(&self, when: Before, deed: Deed) {
        *self.0.lock().unwrap() = Some((when, deed));
    }

    /// What is to be done now.
    fn take(&self, kind: TxKind<'_>) -> Option<Deed> {
        let mut next = self.0.lock().unwrap();
        let is_write = matches!(kind, TxKind::Write { .. });
        let is_due = match next.as_mut().map(|(when, _)| when) {
            Some(Before::Write) => is_write,
            Some(Before::Read(0)) => !is_write,
            Some(Before::Read(more)) => {
                *more -= usize::from(!is_write);
                false
            }
            None => false,
        };
        if is_due { next.take().map(|(_, deed)| deed) } else { None }
    }

    fn is_done(&self) -> bool {
        self.0.lock().unwrap().is_none()
    }
}

/// A server whose projects are in such a store.
async fn busy() -> (Arc<App>, Busy) {
    let busy = Busy::default();
    let database = harness::open_memory().await;
    let (kept, taken) = (database.projects(), busy.clone());
    let interposed = Interposed::new(database, move |kind| {
        let deed = taken.take(kind).map(|deed| deed(kept.clone()));
        Box::pin(async move {
            if let Some(deed) = deed {
                deed.await;
            }
            Ok::<_, StoreError>(())
        })
    });
    let store = ProjectStore::new(Arc::new(interposed));
    let open = move || {
        let store = store.clone();
        Box::pin(async move { Ok(store) }) as _
    };
    (harness::app().toolsets(&[Toolset::Projects]).projects(Box::new(open)).build(), busy)
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
    let (app, store) = busy().await;
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let project = &site.project;
    let put = json!({ "projectId": project, "action": "put", "name": "log.txt", "content": base64("one ") });
    let made = done(&mut ada, "edit_asset", put).await;
    let (asset, first) = (text(&made["asset"]["id"]), made["revision"].as_u64().unwrap());
    for (at, named) in [(first, None), (first + 1, Some(0)), (first + 2, Some(1))] {
        let id = AssetId::parse(&asset).unwrap();
        let others = write(project);
        let deed: Deed = Box::new(move |kept: ProjectStore| {
            let (id, others) = (id.clone(), others.clone());
            Box::pin(async move {
                let (before, mut content) =
                    kept.asset_content(&others.account, &others.project, &id).await.unwrap().value;
                content.extend(b"theirs ");
                let new = NewAsset { id, name: before.name, content_type: None, alt: before.alt, content };
                kept.put_asset(others, new).await.unwrap();
            })
        });
        store.before(Before::Write, deed);
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
    for reads in 1..3 {
        let (app, store) = busy().await;
        let mut ada = client(&app, ADA).await;
        let site = Site::build(&mut ada).await;
        let others = write(&site.project);
        let deed: Deed = Box::new(move |kept: ProjectStore| {
            let others = others.clone();
            Box::pin(async move {
                let tokens = DesignEdit::ImportCss(":root{--meanwhile:4px}".to_owned());
                kept.edit_design_system(others, tokens).await.unwrap();
            })
        });
        store.before(Before::Read(reads), deed);
        let page = json!({ "projectId": site.project, "format": "html" });
        let page = done(&mut ada, "get_blocks", page).await;
        assert_eq!(page["revision"], Site::REVISION + 1);
        assert!(text(&page["html"]).contains("--meanwhile: 4px"), "{reads}: {page}");
    }
}
