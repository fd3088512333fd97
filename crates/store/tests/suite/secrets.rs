//! The server's own secrets.

use crate::harness::TestDatabase;

test_on_both_databases!(first_secret_is_kept, replicas_agree_on_a_secret);

async fn first_secret_is_kept(database: &TestDatabase) {
    let store = database.open().await;
    assert_eq!(store.get_or_insert_secret("pepper", b"first").await.unwrap(), b"first");
    assert_eq!(store.get_or_insert_secret("pepper", b"second").await.unwrap(), b"first");
    assert_eq!(store.get_or_insert_secret("seal", b"second").await.unwrap(), b"second");
    let all_bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(store.get_or_insert_secret("bytes", &all_bytes).await.unwrap(), all_bytes);
    assert_eq!(store.get_or_insert_secret("empty", b"").await.unwrap(), b"");
    drop(store);
    let again = database.open().await;
    assert_eq!(again.get_or_insert_secret("pepper", b"third").await.unwrap(), b"first");
    assert_eq!(again.get_or_insert_secret("empty", b"third").await.unwrap(), b"");
}

async fn replicas_agree_on_a_secret(database: &TestDatabase) {
    let replicas = [database.open().await, database.open().await];
    let callers: Vec<_> = (0..16_u8)
        .map(|number| {
            let store = replicas[usize::from(number % 2)].clone();
            tokio::spawn(async move { store.get_or_insert_secret("pepper", &[number; 32]).await.unwrap() })
        })
        .collect();
    let mut answers = Vec::new();
    for caller in callers {
        answers.push(caller.await.unwrap());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
}
