//! Writes to projects that are cut off, given up, or in the way of each other.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use projects::{
    Account, AssetId, BlockPosition, Error, IdGenerator, IdSeed, NewAsset, NewProject, NewProjectFields,
    Page, ProjectFieldsPatch, ProjectId, ProjectRejection, ProjectStore, ProjectWrite, StoreError,
};
use serde_json::json;
use store::StoreOptions;
use tokio_postgres::Client;

use crate::harness::{self, connect_as_superuser, now_micros, wait_for_lock_waiters, wait_until_count};
use crate::lossy_proxy::{LossyProxy, ProxyDirection};
use crate::project_fixture::{ann, create_populated_project, parse_blocks, read_consistent_project, write};

/// Writes that touch many tables, each of which can be done again and again.
const WRITE_KINDS: usize = 5;

async fn run_write(store: &ProjectStore, which: usize, id: &ProjectId, round: u32) -> Result<(), Error> {
    let write = write("ann", id);
    let mut seed = [7; 16];
    seed[..4].copy_from_slice(&round.to_le_bytes());
    let path = format!("/{which}-{round}");
    let page = json!({ "type": "page", "props": { "title": "T", "path": path }, "children": [
        { "type": "image", "props": { "src": "asset:a" } }, { "type": "divider" },
    ] });
    let asset = NewAsset {
        id: AssetId::parse("b").unwrap(),
        name: "b.txt".to_owned(),
        content_type: None,
        alt: String::new(),
        content: path.into_bytes(),
    };
    match which {
        0 => store
            .insert_blocks(write, BlockPosition::last(None), parse_blocks(&page), IdSeed(seed))
            .await
            .map(drop),
        1 => store.put_asset(write, asset).await.map(drop),
        2 => store.publish(write, "").await.map(drop),
        3 => store.restore_version(write, 1).await.map(drop),
        _ => {
            let slug = Some(format!("slug-{round}"));
            store
                .update_project(write, ProjectFieldsPatch { slug, ..ProjectFieldsPatch::default() })
                .await
                .map(drop)
        }
    }
}

/// At every piece of what is said, in both directions: a write is done once, or nobody knows and it is whole or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_is_atomic_wherever_the_connection_breaks() {
    let Some(place) = harness::postgres().await else { return };
    let (way, direct) = (LossyProxy::start(&place).await, place.open_projects().await);
    let id = create_populated_project(&direct, "ann", 1).await;
    let options = StoreOptions { max_connections: 1, ..harness::patient_options() };
    let store = store::open(&way.url.parse().unwrap(), &options).await.unwrap().projects();
    let mut round = 0;
    for which in 0..WRITE_KINDS {
        for direction in [ProxyDirection::ToServer, ProxyDirection::FromServer] {
            let mut uncertain = 0;
            for piece in 1.. {
                round += 2;
                // Once in peace, so that its statements are known on the connection.
                run_write(&store, which, &id, round).await.unwrap();
                let (before, old) = read_consistent_project(&direct, &id).await;
                way.drop_message(direction, piece);
                let done = run_write(&store, which, &id, round + 1).await;
                let was_cut = way.has_dropped(direction);
                let (after, new) = read_consistent_project(&direct, &id).await;
                let place = format!("{which} {direction:?} {piece}");
                match done {
                    Ok(()) => assert_eq!(after.revision, before.revision + 1, "{place}"),
                    Err(error) => {
                        uncertain += 1;
                        assert!(matches!(error, Error::Store(StoreError::Unreachable(_))), "{place} {error}");
                        assert!(error.to_string().ends_with("the outcome is unknown"), "{place} {error}");
                        // Only what was said by the server can have been lost after it was done.
                        let is_done = direction == ProxyDirection::FromServer;
                        assert_eq!(after.revision, before.revision + u64::from(is_done), "{place}");
                        assert!(is_done || (new == old && after == before), "{place}");
                    }
                }
                if !was_cut {
                    break;
                }
                assert!(piece < 60, "{place}: no end");
            }
            assert_eq!(uncertain, 1, "{which} {direction:?}: the commit, and nothing else");
        }
    }
}

/// A caller who goes away leaves nothing half done, and no transaction to the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_writes_leave_no_transaction_open() {
    let Some(place) = harness::postgres().await else { return };
    let store =
        place.open_projects_with(&StoreOptions { max_connections: 2, ..harness::patient_options() }).await;
    let id = create_populated_project(&store, "ann", 1).await;
    for round in 0..150_u32 {
        let patience = Duration::from_micros(u64::from(round) * 60);
        let which = round as usize % WRITE_KINDS;
        let _ = tokio::time::timeout(patience, run_write(&store, which, &id, round)).await;
        let _ = tokio::time::timeout(patience, store.content(&ann(), &id)).await;
        read_consistent_project(&store, &id).await;
    }
    let open =
        "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND state LIKE '%transaction%'";
    wait_until_count(&place.connect().await, open, |count| count == 0).await;
}

/// Waits until somebody waits for a lock.
async fn wait_until_a_lock_is_contended(client: &Client) {
    wait_for_lock_waiters(client, |count| count > 0).await;
}

/// Waits until nobody waits for a lock.
async fn wait_until_no_lock_is_contended(client: &Client) {
    wait_for_lock_waiters(client, |count| count == 0).await;
}

/// Somebody else takes a name between the look and the write: the use case is done again, and sees it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrently_taken_slug_is_reported() {
    let Some(place) = harness::postgres().await else { return };
    let store = place.open_projects().await;
    let id = create_populated_project(&store, "ann", 1).await;
    let (other, onlooker) = (connect_as_superuser(&place).await, connect_as_superuser(&place).await);
    other.batch_execute("BEGIN; UPDATE projects SET slug = 'mine', updated = updated").await.unwrap();
    let fields = NewProjectFields { slug: Some("mine".to_owned()), ..NewProjectFields::with_name("Two") };
    let new = NewProject::empty(IdGenerator::from_seed(IdSeed([2; 16])).next_project_id(), fields);
    let creating = tokio::spawn({
        let store = store.clone();
        async move { store.create_project(&ann(), new, false, now_micros()).await }
    });
    wait_until_a_lock_is_contended(&onlooker).await;
    other.batch_execute("COMMIT").await.unwrap();
    let error = creating.await.unwrap().unwrap_err();
    assert!(matches!(&error, Error::Rejected(ProjectRejection::Taken { what: "slug", .. })), "{error}");
    assert_eq!(store.project(&ann(), &id).await.unwrap().fields.slug, "mine");
    assert_eq!(store.list_projects(&ann(), Page::ALL).await.unwrap().items.len(), 1);
}

/// Of two who wait for each other the database stops one; that one tries again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadlock_is_retried() {
    let Some(place) = harness::postgres().await else { return };
    let (other, onlooker) = (connect_as_superuser(&place).await, connect_as_superuser(&place).await);
    // Whoever waits looks for a deadlock once. The store does so when the other waits too, and long before the other.
    let (_, database) = place.url.rsplit_once('/').unwrap();
    other.batch_execute(&format!("ALTER DATABASE {database} SET deadlock_timeout = '5s'")).await.unwrap();
    let store = place.open_projects().await;
    let id = create_populated_project(&store, "ann", 1).await;
    other
        .batch_execute("SET deadlock_timeout = '1h'; BEGIN; SELECT FROM project_accounts FOR UPDATE")
        .await
        .unwrap();
    let renaming = tokio::spawn({
        let (store, id) = (store.clone(), id.clone());
        async move {
            let patch =
                ProjectFieldsPatch { slug: Some("other".to_owned()), ..ProjectFieldsPatch::default() };
            store.update_project(write("ann", &id), patch).await
        }
    });
    wait_until_a_lock_is_contended(&onlooker).await;
    other.batch_execute("SELECT FROM projects FOR UPDATE; COMMIT").await.unwrap();
    let renamed = renaming.await.unwrap().unwrap();
    assert_eq!(renamed.fields.slug, "other");
    assert_eq!(store.project(&ann(), &id).await.unwrap(), renamed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn project_locked_for_too_long_is_unreachable() {
    let Some(place) = harness::postgres().await else { return };
    let patient = place.open_projects().await;
    let id = create_populated_project(&patient, "ann", 1).await;
    let before = read_consistent_project(&patient, &id).await;
    let options = StoreOptions {
        statement_timeout: Duration::from_secs(3),
        max_connections: 1,
        ..harness::patient_options()
    };
    let store = place.open_projects_with(&options).await;
    let other = connect_as_superuser(&place).await;
    other.batch_execute("BEGIN; SELECT FROM projects FOR UPDATE").await.unwrap();
    let start = Instant::now();
    let error = store.publish(write("ann", &id), "").await.unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::Unreachable(_))), "{error}");
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    assert_eq!(read_consistent_project(&store, &id).await, before, "reading goes on");
    other.batch_execute("ROLLBACK").await.unwrap();
    patient.publish(write("ann", &id), "").await.unwrap();
}

/// However many wait for a project, or for several, whoever only looks finds a connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_writers_do_not_block_readers() {
    let Some(place) = harness::postgres().await else { return };
    let store =
        place.open_projects_with(&StoreOptions { max_connections: 3, ..harness::patient_options() }).await;
    let bob = create_populated_project(&store, "bob", 9).await;
    let mut anns = Vec::new();
    for number in 1..6 {
        anns.push(create_populated_project(&store, "ann", number).await);
    }
    let (other, onlooker) = (connect_as_superuser(&place).await, connect_as_superuser(&place).await);
    let looked_at = anns[4].clone();
    for projects in [vec![anns[0].clone(); 5], anns] {
        other.batch_execute("BEGIN; SELECT FROM projects FOR UPDATE").await.unwrap();
        let writing = join_all(projects.into_iter().map(|id| {
            let store = store.clone();
            tokio::spawn(async move { store.publish(write("ann", &id), "").await })
        }));
        wait_until_a_lock_is_contended(&onlooker).await;
        for _ in 0..50 {
            store.project(&Account::new("bob"), &bob).await.unwrap();
            store.project(&ann(), &looked_at).await.unwrap();
        }
        other.batch_execute("COMMIT").await.unwrap();
        for done in writing.await {
            done.unwrap().unwrap();
        }
    }
}

/// Whoever goes away while they wait for a lock leaves no connection behind that waits on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_writers_leave_no_lock_waiters() {
    let Some(place) = harness::postgres().await else { return };
    let store =
        place.open_projects_with(&StoreOptions { max_connections: 3, ..harness::patient_options() }).await;
    let id = create_populated_project(&store, "ann", 1).await;
    let (other, onlooker) = (connect_as_superuser(&place).await, connect_as_superuser(&place).await);
    other.batch_execute("BEGIN; SELECT FROM projects FOR UPDATE").await.unwrap();
    // Those who are left behind would wait for longer than this test does.
    for _ in 0..10 {
        let writing = tokio::spawn({
            let (store, id) = (store.clone(), id.clone());
            async move { store.publish(write("ann", &id), "").await }
        });
        wait_until_a_lock_is_contended(&onlooker).await;
        writing.abort();
        wait_until_no_lock_is_contended(&onlooker).await;
    }
    other.batch_execute("ROLLBACK").await.unwrap();
    store.publish(write("ann", &id), "").await.unwrap();
}

/// What is refused or a dry run ends its transaction without being waited for; whoever comes next is not in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolled_back_transaction_does_not_leak_into_the_next() {
    let Some(place) = harness::postgres().await else { return };
    let store =
        place.open_projects_with(&StoreOptions { max_connections: 1, ..harness::patient_options() }).await;
    let id = create_populated_project(&store, "ann", 1).await;
    let before = read_consistent_project(&store, &id).await;
    for round in 0..20 {
        let dry = ProjectWrite { dry_run: true, ..write("ann", &id) };
        store.delete_project(dry).await.unwrap();
        let stale = ProjectWrite { if_revision: Some(0), ..write("ann", &id) };
        store.delete_project(stale).await.unwrap_err();
        assert_eq!(read_consistent_project(&store, &id).await, before, "{round}");
    }
    store.publish(write("ann", &id), "").await.unwrap();
    assert_eq!(read_consistent_project(&store, &id).await.0.revision, before.0.revision + 1);
}
