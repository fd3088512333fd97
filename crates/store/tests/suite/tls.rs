//! TLS to PostgreSQL: protected and checked, or refused.

use access::StoreError;
use store::{Location, OpenError, Options};

use crate::harness;

fn location(place: &harness::Place, parameters: &str) -> Location {
    format!("{}?{parameters}", place.url).parse().unwrap()
}

/// Whether all connections of the store are encrypted.
async fn is_encrypted(place: &harness::Place, location: &Location, options: &Options) -> bool {
    let store = store::open(location, options).await.unwrap();
    store.ready().await.unwrap();
    let sql = "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
        WHERE a.application_name = 'fluxway' AND a.datname = current_database()";
    place.connect().await.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn the_way_is_protected_as_the_url_says() {
    let Some(place) = harness::postgres().await else { return };
    let Some(ca) = harness::setting("TEST_POSTGRES_CA") else { return };
    let trusting = Options { ca_file: Some(ca.clone().into()), ..harness::patient() };
    for mode in ["require", "verify-full", "prefer"] {
        assert!(
            is_encrypted(&place, &location(&place, &format!("sslmode={mode}")), &trusting).await,
            "{mode}"
        );
    }
    let named = location(&place, &format!("sslmode=require&sslrootcert={}", ca.replace('/', "%2F")));
    assert!(is_encrypted(&place, &named, &harness::patient()).await);
    assert!(!is_encrypted(&place, &location(&place, "sslmode=disable"), &trusting).await);
    assert!(!is_encrypted(&place, &place.location(), &trusting).await, "this machine");
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_refused() {
    let Some(place) = harness::postgres().await else { return };
    let Some(_) = harness::setting("TEST_POSTGRES_CA") else { return };
    for mode in ["require", "verify-full", "prefer"] {
        let location = location(&place, &format!("sslmode={mode}"));
        let error = store::open(&location, &harness::patient()).await.err().unwrap();
        let expected = matches!(
            error,
            OpenError::Failed { cause: StoreError::Broken(_), .. } | OpenError::Certificates(_)
        );
        assert!(expected, "{mode}: {error}");
    }
}

#[tokio::test]
async fn a_file_without_certificates_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Options { ca_file: Some(folder.path().join("none.pem")), ..Options::default() };
    let location = "postgres://ann@localhost:1/flux?sslmode=require".parse().unwrap();
    let error = store::open(&location, &missing).await.err().unwrap();
    assert!(matches!(error, OpenError::Certificates(_)), "{error}");
}
