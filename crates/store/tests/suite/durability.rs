//! What was acknowledged is there, whoever is killed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use store::Store;
use tokio::sync::watch;

use crate::harness::{self, TestDatabase, credential, key_record};

test_on_both_databases!(killed_writer_loses_no_acknowledged_write);

/// Where the writer writes. Only [`writer`] in a process of its own has it.
const WRITER_STORE: &str = "WRITER_STORE";
const ACKNOWLEDGED: &str = "acknowledged ";

/// Not a test: what the tests start as another process.
#[tokio::test]
async fn writer() {
    let Ok(url) = std::env::var(WRITER_STORE) else { return };
    let store = store::open(&url.parse().unwrap(), &harness::patient_options()).await.unwrap();
    // Several at once: what waits together is kept together.
    let writers = (0..4).map(async |writer| {
        for number in 0.. {
            let id = format!("{}-{writer}-{number}", std::process::id());
            store.add_key(key_record(&id), credential(&id)).await.unwrap();
            println!("{ACKNOWLEDGED}{id}");
        }
    });
    join_all(writers).await;
}

/// Lets a writer run until it has written this much and some more, and kills it. Gives what it was told is kept.
fn write_and_kill(database: &TestDatabase, enough: usize, moment: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "durability::writer", "--nocapture"])
        .env(WRITER_STORE, &database.url)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The harness of the tests may write before it on the same line.
    let mut next = || Some(lines.next()?.unwrap().split_once(ACKNOWLEDGED).map(|(_, id)| id.to_owned()));
    let mut acknowledged = Vec::new();
    while acknowledged.len() < enough {
        acknowledged.extend(next().expect("the writer ended by itself"));
    }
    std::thread::sleep(moment);
    child.kill().unwrap();
    while let Some(id) = next() {
        acknowledged.extend(id);
    }
    child.wait().unwrap();
    acknowledged
}

async fn killed_writer_loses_no_acknowledged_write(database: &TestDatabase) {
    let mut acknowledged = Vec::new();
    for round in 0..6_usize {
        let moment = Duration::from_micros(731 * round as u64);
        acknowledged.extend(tokio::task::block_in_place(|| write_and_kill(database, 1 + round * 17, moment)));
        let store = database.open().await;
        let listings = store.list_keys(None).await.unwrap();
        let kept: BTreeSet<&str> = listings.iter().map(|listing| listing.key.id.as_str()).collect();
        for id in &acknowledged {
            assert!(kept.contains(id.as_str()), "{id} is lost");
        }
        assert!(listings.iter().all(|listing| listing.prefixes.len() == 1), "half of a key was kept");
        store.check_ready().await.unwrap();
    }
    println!("{} acknowledged, none lost", acknowledged.len());
}

/// Writes until it is told to stop, and counts what it was told is kept. Gives the names of that.
async fn write_until_stopped(store: Arc<dyn Store>, name: usize, kept: watch::Sender<usize>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if kept.is_closed() {
            break;
        }
        let id = format!("{name}-{number}");
        match store.add_key(key_record(&id), credential(&id)).await {
            Ok(()) => {
                kept.send_modify(|kept| *kept += 1);
                acknowledged.push(id);
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    acknowledged
}

/// Waits until so many more were told that theirs is kept, for as long as a busy disk may need.
async fn wait_for_acknowledged(kept: &mut watch::Receiver<usize>, count: usize) {
    let enough = *kept.borrow() + count;
    let waited = tokio::time::timeout(Duration::from_mins(2), kept.wait_for(|kept| *kept >= enough)).await;
    waited.expect("nothing is written").unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_server_loses_no_acknowledged_write_and_is_reconnected() {
    let Some(superuser) = harness::env_setting("TEST_POSTGRES") else { return };
    let Some(restart) = harness::env_setting("TEST_POSTGRES_RESTART") else { return };
    let _alone = harness::SERVER_LOCK.write().await;
    let place = harness::fresh_database(&superuser).await;
    let store = place.open().await;
    let (kept, mut seen) = watch::channel(0);
    let writers: Vec<_> =
        (0..4).map(|name| tokio::spawn(write_until_stopped(store.clone(), name, kept.clone()))).collect();
    for _ in 0..3 {
        wait_for_acknowledged(&mut seen, 100).await;
        let restart = restart.clone();
        let status =
            tokio::task::spawn_blocking(move || Command::new(restart).status()).await.unwrap().unwrap();
        assert!(status.success());
        // Whoever comes now finds connections in the pool that are dead, and must not notice.
        store.list_keys(Some("nobody")).await.unwrap();
        wait_for_acknowledged(&mut seen, 1).await;
    }
    drop(seen);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    let listings = store.list_keys(None).await.unwrap();
    let kept: BTreeSet<&str> = listings.iter().map(|listing| listing.key.id.as_str()).collect();
    for id in &acknowledged {
        assert!(kept.contains(id.as_str()), "{id} is lost");
    }
    println!("{} acknowledged, none lost", acknowledged.len());
}
