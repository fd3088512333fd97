//! TLS to PostgreSQL: protected and checked, or refused.

use access::StoreError;
use store::{OpenError, StoreLocation, StoreOptions};

use crate::harness;

fn location_with_parameters(database: &harness::TestDatabase, parameters: &str) -> StoreLocation {
    format!("{}?{parameters}", database.url).parse().unwrap()
}

/// Whether all connections of the store are encrypted.
async fn is_encrypted(
    database: &harness::TestDatabase,
    location: &StoreLocation,
    options: &StoreOptions,
) -> bool {
    let store = store::open(location, options).await.unwrap();
    store.check_ready().await.unwrap();
    let sql = "SELECT bool_and(s.ssl) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
        WHERE a.application_name = 'fluxway' AND a.datname = current_database()";
    database.connect().await.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn connection_is_encrypted_as_sslmode_requires() {
    let Some(place) = harness::postgres().await else { return };
    let Some(ca) = harness::env_setting("TEST_POSTGRES_CA") else { return };
    let trusting = StoreOptions { ca_file: Some(ca.clone().into()), ..harness::patient_options() };
    for mode in ["require", "verify-full", "prefer"] {
        assert!(
            is_encrypted(&place, &location_with_parameters(&place, &format!("sslmode={mode}")), &trusting)
                .await,
            "{mode}"
        );
    }
    let named =
        location_with_parameters(&place, &format!("sslmode=require&sslrootcert={}", ca.replace('/', "%2F")));
    assert!(is_encrypted(&place, &named, &harness::patient_options()).await);
    assert!(!is_encrypted(&place, &location_with_parameters(&place, "sslmode=disable"), &trusting).await);
    assert!(!is_encrypted(&place, &place.location(), &trusting).await, "this machine");
}

#[tokio::test]
async fn untrusted_server_certificate_is_rejected() {
    let Some(place) = harness::postgres().await else { return };
    let Some(_) = harness::env_setting("TEST_POSTGRES_CA") else { return };
    for mode in ["require", "verify-full", "prefer"] {
        let location = location_with_parameters(&place, &format!("sslmode={mode}"));
        let error = store::open(&location, &harness::patient_options()).await.err().unwrap();
        let expected = matches!(
            error,
            OpenError::Failed { cause: StoreError::Broken(_), .. } | OpenError::Certificates(_)
        );
        assert!(expected, "{mode}: {error}");
    }
}

#[tokio::test]
async fn ca_file_without_certificates_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let missing = StoreOptions { ca_file: Some(folder.path().join("none.pem")), ..StoreOptions::default() };
    let location = "postgres://ann@localhost:1/flux?sslmode=require".parse().unwrap();
    let error = store::open(&location, &missing).await.err().unwrap();
    assert!(matches!(error, OpenError::Certificates(_)), "{error}");
}
