//! The server's own secrets.

use crate::harness::Place;

on_both!(the_first_secret_stays, replicas_agree_on_a_secret);

async fn the_first_secret_stays(place: &Place) {
    let store = place.open().await;
    assert_eq!(store.secret("pepper", b"first").await.unwrap(), b"first");
    assert_eq!(store.secret("pepper", b"second").await.unwrap(), b"first");
    assert_eq!(store.secret("seal", b"second").await.unwrap(), b"second");
    let all_bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(store.secret("bytes", &all_bytes).await.unwrap(), all_bytes);
    assert_eq!(store.secret("empty", b"").await.unwrap(), b"");
    drop(store);
    let again = place.open().await;
    assert_eq!(again.secret("pepper", b"third").await.unwrap(), b"first");
    assert_eq!(again.secret("empty", b"third").await.unwrap(), b"");
}

async fn replicas_agree_on_a_secret(place: &Place) {
    let replicas = [place.open().await, place.open().await];
    let callers: Vec<_> = (0..16_u8)
        .map(|number| {
            let store = replicas[usize::from(number % 2)].clone();
            tokio::spawn(async move { store.secret("pepper", &[number; 32]).await.unwrap() })
        })
        .collect();
    let mut answers = Vec::new();
    for caller in callers {
        answers.push(caller.await.unwrap());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
}
