//! What another caller writes between two reads of one call, or between its read and its write: it is never
//! lost, and never half seen.

use std::sync::{Arc, Mutex};

use projects::store::TxKind;
use projects::testing::InterceptedBackend;
use projects::{Account, AssetId, DesignEdit, NewAsset, ProjectId, ProjectStore, ProjectWrite, StoreError};
use serde_json::json;
use server::tools::Toolset;
use server::{App, Timestamp};

use super::{ADA, SampleProject, base64, call_ok, call_refused, client, read_resource, string_value};
use crate::harness;

type InterposedFuture = futures_util::future::BoxFuture<'static, ()>;
type InterposedWrite = Box<dyn FnOnce(ProjectStore) -> InterposedFuture + Send>;

/// Which transaction another caller comes before: so many of its kind are let through.
#[derive(Clone, Copy)]
enum InterposePoint {
    BeforeWrite,
    BeforeRead(usize),
}

/// A store in which another caller writes right before a transaction begins; once.
#[derive(Clone, Default)]
struct WriteInterposer(Arc<Mutex<Option<(InterposePoint, InterposedWrite)>>>);

impl WriteInterposer {
    /// Another caller does this before that.
    fn schedule(&self, when: InterposePoint, deed: InterposedWrite) {
        *self.0.lock().unwrap() = Some((when, deed));
    }

    /// What is to be done now.
    fn take_due(&self, kind: TxKind<'_>) -> Option<InterposedWrite> {
        let mut next = self.0.lock().unwrap();
        let is_write = matches!(kind, TxKind::Write { .. });
        let is_due = match next.as_mut().map(|(when, _)| when) {
            Some(InterposePoint::BeforeWrite) => is_write,
            Some(InterposePoint::BeforeRead(0)) => !is_write,
            Some(InterposePoint::BeforeRead(more)) => {
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
async fn app_with_interposer() -> (Arc<App>, WriteInterposer) {
    let busy = WriteInterposer::default();
    let database = harness::open_memory().await;
    let (kept, taken) = (database.projects(), busy.clone());
    let interposed = InterceptedBackend::new(database, move |kind| {
        let deed = taken.take_due(kind).map(|deed| deed(kept.clone()));
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
fn unconditional_write(project: &str) -> ProjectWrite {
    ProjectWrite {
        account: Account::new(ADA),
        project: ProjectId::parse(project).unwrap(),
        if_revision: None,
        dry_run: false,
        now: Timestamp::UNIX_EPOCH,
    }
}

/// Whatever revision the caller names: what is added is added to what was read, or not at all.
#[tokio::test(start_paused = true)]
async fn concurrent_append_never_overwrites_other_appends() {
    let (app, store) = app_with_interposer().await;
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let project = &site.project;
    let put = json!({ "projectId": project, "action": "put", "name": "log.txt", "content": base64("one ") });
    let made = call_ok(&mut ada, "edit_asset", put).await;
    let (asset, first) = (string_value(&made["asset"]["id"]), made["revision"].as_u64().unwrap());
    for (at, named) in [(first, None), (first + 1, Some(0)), (first + 2, Some(1))] {
        let id = AssetId::parse(&asset).unwrap();
        let others = unconditional_write(project);
        let deed: InterposedWrite = Box::new(move |kept: ProjectStore| {
            let (id, others) = (id.clone(), others.clone());
            Box::pin(async move {
                let (before, mut content) =
                    kept.asset_content(&others.account, &others.project, &id).await.unwrap().value;
                content.extend(b"theirs ");
                let new = NewAsset { id, name: before.name, content_type: None, alt: before.alt, content };
                kept.put_asset(others, new).await.unwrap();
            })
        });
        store.schedule(InterposePoint::BeforeWrite, deed);
        let named = named.map(|after: u64| at + after);
        let add = json!({ "projectId": project, "action": "put", "assetId": asset, "append": true, "content": base64("ours "), "ifRevision": named });
        let answer =
            super::send_request(&mut ada, "tools/call", json!({ "name": "edit_asset", "arguments": add }))
                .await;
        assert_eq!(answer["result"]["isError"], true, "{named:?}: {answer}");
        assert!(
            string_value(&answer["result"]["content"][0]["text"]).contains("the project is at revision"),
            "{answer}"
        );
        if !store.is_done() {
            // It was refused before anybody else came; they come all the same.
            call_refused(
                &mut ada,
                "edit_asset",
                json!({ "projectId": project, "action": "put", "name": "/", "content": "eA==" }),
            )
            .await;
        }
    }
    let held = read_resource(&mut ada, &format!("codefluss://assets/{project}/{asset}")).await;
    assert_eq!(held["blob"], base64("one theirs theirs theirs "));
}

/// A page is made of blocks, assets and design tokens, which are read one after the other.
#[tokio::test(start_paused = true)]
async fn html_is_rendered_from_one_revision() {
    for reads in 1..3 {
        let (app, store) = app_with_interposer().await;
        let mut ada = client(&app, ADA).await;
        let site = SampleProject::build(&mut ada).await;
        let others = unconditional_write(&site.project);
        let deed: InterposedWrite = Box::new(move |kept: ProjectStore| {
            let others = others.clone();
            Box::pin(async move {
                let tokens = DesignEdit::ImportCss(":root{--meanwhile:4px}".to_owned());
                kept.edit_design_system(others, tokens).await.unwrap();
            })
        });
        store.schedule(InterposePoint::BeforeRead(reads), deed);
        let page = json!({ "projectId": site.project, "format": "html" });
        let page = call_ok(&mut ada, "get_blocks", page).await;
        assert_eq!(page["revision"], SampleProject::REVISION + 1);
        assert!(string_value(&page["html"]).contains("--meanwhile: 4px"), "{reads}: {page}");
    }
}
