//! The second wall between tenants: PostgreSQL itself, for a role that may do everything but pass it.

use std::sync::Arc;

use access::KeyRecord;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::harness::{self, credential, key};

async fn two_tenants() -> Option<(harness::Place, Client)> {
    let place = harness::postgres().await?;
    let store = place.open().await;
    for tenant in ["acme", "umbrella"] {
        let owned = KeyRecord { tenant: tenant.to_owned(), ..key(tenant) };
        store.add_key(owned, credential(&format!("p-{tenant}"))).await.unwrap();
    }
    let client = place.connect().await;
    Some((place, client))
}

async fn ids(client: &Client) -> Vec<String> {
    let mut all = Vec::new();
    for sql in ["SELECT id FROM api_keys ORDER BY id", "SELECT key_id FROM api_key_secrets ORDER BY key_id"] {
        all.extend(client.query(sql, &[]).await.unwrap().iter().map(|row| row.get::<_, String>(0)));
    }
    all
}

async fn set(client: &Client, name: &str, value: &str) {
    client.execute("SELECT set_config($1, $2, false)", &[&name, &value]).await.unwrap();
}

#[tokio::test]
async fn who_names_no_tenant_sees_nothing() {
    let Some((_place, client)) = two_tenants().await else { return };
    assert!(ids(&client).await.is_empty(), "the owner of the tables");
    // After a transaction that had one, the setting is empty and not absent.
    client.batch_execute("BEGIN; SELECT set_config('fluxway.tenant', 'acme', true); COMMIT").await.unwrap();
    assert!(ids(&client).await.is_empty());
    for (name, value) in
        [("tenant", ""), ("prefix", ""), ("operator", ""), ("operator", "off"), ("tenant", "%")]
    {
        set(&client, &format!("fluxway.{name}"), value).await;
        assert!(ids(&client).await.is_empty(), "{name} {value}");
    }
    assert_eq!(client.execute("UPDATE api_keys SET label = 'mine'", &[]).await.unwrap(), 0);
    assert_eq!(client.execute("DELETE FROM api_key_secrets", &[]).await.unwrap(), 0);
}

#[tokio::test]
async fn a_tenant_sees_and_changes_what_is_theirs() {
    let Some((_place, client)) = two_tenants().await else { return };
    set(&client, "fluxway.tenant", "acme").await;
    assert_eq!(ids(&client).await, ["acme", "acme"]);
    let sneaked = client.query("SELECT FROM api_keys WHERE tenant = 'umbrella' OR true", &[]).await.unwrap();
    assert_eq!(sneaked.len(), 1);
    assert_eq!(client.execute("UPDATE api_keys SET label = 'mine'", &[]).await.unwrap(), 1);
    for forbidden in [
        "INSERT INTO api_keys VALUES ('x', 'umbrella', '', 'live', 'admin', NULL, now(), NULL, NULL)",
        "INSERT INTO api_key_secrets VALUES ('x', 'umbrella', 'umbrella', decode(repeat('00', 32), 'hex'), NULL, 9)",
        "UPDATE api_keys SET tenant = 'umbrella'",
    ] {
        let error = client.execute(forbidden, &[]).await.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{forbidden}");
    }
    // Claiming another tenant's key for oneself fails as well: the two columns belong together.
    let claim = "INSERT INTO api_key_secrets VALUES ('x', 'umbrella', 'acme', decode(repeat('00', 32), 'hex'), NULL, 9)";
    let error = client.execute(claim, &[]).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::FOREIGN_KEY_VIOLATION));
}

#[tokio::test]
async fn a_prefix_shows_one_key_and_changes_none() {
    let Some((_place, client)) = two_tenants().await else { return };
    set(&client, "fluxway.prefix", "p-umbrella").await;
    assert_eq!(ids(&client).await, ["umbrella", "umbrella"]);
    assert_eq!(client.execute("UPDATE api_keys SET scope = 'admin'", &[]).await.unwrap(), 0);
    assert_eq!(client.execute("UPDATE api_key_secrets SET until = now()", &[]).await.unwrap(), 0);
    set(&client, "fluxway.prefix", "p-%").await;
    assert!(ids(&client).await.is_empty());
}

#[tokio::test]
async fn the_operator_sees_all() {
    let Some((_place, client)) = two_tenants().await else { return };
    set(&client, "fluxway.operator", "on").await;
    assert_eq!(ids(&client).await, ["acme", "umbrella", "acme", "umbrella"]);
}

#[tokio::test]
async fn a_use_case_leaves_no_setting_behind() {
    let Some(place) = harness::postgres().await else { return };
    let options = store::Options { connections: 1, ..store::Options::default() };
    let store = store::open(&place.location(), &options).await.unwrap();
    store.add_key(key("one"), credential("p")).await.unwrap();
    store.keys(None).await.unwrap();
    // All of it went over one connection, so what the operator could see would be seen here.
    let other = store.keys(Some("umbrella")).await.unwrap();
    assert_eq!(other, []);
    let settings =
        "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND state LIKE '%transaction%'";
    let row = place.connect().await.query_one(settings, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0, "a transaction is open");
}

/// What is logged while a store is opened.
async fn log_of_opening(url: &str) -> String {
    let log = tempfile::NamedTempFile::new().unwrap();
    let writer = Arc::new(log.reopen().unwrap());
    let logging = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
    let logged = tracing::subscriber::set_default(logging);
    let store = store::open(&url.parse().unwrap(), &store::Options::default()).await.unwrap();
    store.add_key(key("one"), credential("p")).await.unwrap();
    drop(logged);
    std::fs::read_to_string(log.path()).unwrap()
}

#[tokio::test]
async fn a_role_for_which_the_wall_does_not_stand_is_told() {
    let Some(place) = harness::postgres().await else { return };
    let superuser = harness::setting("TEST_POSTGRES").unwrap();
    let (server, _) = superuser.rsplit_once('/').unwrap();
    let other = harness::fresh_database(&superuser).await;
    let (_, database) = other.url.rsplit_once('/').unwrap();
    let log = log_of_opening(&format!("{server}/{database}")).await;
    assert!(log.contains("WARN") && log.contains("BYPASSRLS"), "{log}");
    let (_, password) = server.rsplit_once('@').unwrap().0.rsplit_once(':').unwrap();
    assert!(!log.contains(password));
    assert_eq!(log_of_opening(&place.url).await, "");
}
