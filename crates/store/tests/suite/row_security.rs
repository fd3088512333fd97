//! The second wall between tenants: PostgreSQL itself, for a role that may do everything but pass it.

use std::sync::Arc;

use access::KeyRecord;
use flow::session::SessionOwner;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::harness::{self, credential, key_record, now_micros};
use crate::sessions::{InsertUpTo as _, session_row};

async fn database_with_two_tenants() -> Option<(harness::TestDatabase, Client)> {
    let place = harness::postgres().await?;
    let store = place.open().await;
    for tenant in ["acme", "umbrella"] {
        let owned = KeyRecord { tenant: tenant.to_owned(), ..key_record(tenant) };
        store.add_key(owned, credential(&format!("p-{tenant}"))).await.unwrap();
    }
    let client = place.connect().await;
    Some((place, client))
}

/// The same for sessions.
async fn database_with_sessions_of_two_tenants() -> Option<(harness::TestDatabase, Client)> {
    let (place, client) = database_with_two_tenants().await?;
    let store = place.open().await;
    for tenant in ["acme", "umbrella"] {
        let owner = SessionOwner { tenant, subject: "ann" };
        assert!(store.insert_up_to(owner, tenant, session_row("body"), 9, now_micros()).await.unwrap());
    }
    Some((place, client))
}

async fn visible_session_ids(client: &Client) -> Vec<String> {
    let rows = client.query("SELECT id FROM flow_sessions ORDER BY id", &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

async fn visible_key_ids(client: &Client) -> Vec<String> {
    let mut all = Vec::new();
    for sql in ["SELECT id FROM api_keys ORDER BY id", "SELECT key_id FROM api_key_secrets ORDER BY key_id"] {
        all.extend(client.query(sql, &[]).await.unwrap().iter().map(|row| row.get::<_, String>(0)));
    }
    all
}

async fn set_config(client: &Client, name: &str, value: &str) {
    client.execute("SELECT set_config($1, $2, false)", &[&name, &value]).await.unwrap();
}

#[tokio::test]
async fn connection_without_tenant_sees_nothing() {
    let Some((_place, client)) = database_with_two_tenants().await else { return };
    assert!(visible_key_ids(&client).await.is_empty(), "the owner of the tables");
    // After a transaction that had one, the setting is empty and not absent.
    client.batch_execute("BEGIN; SELECT set_config('fluxway.tenant', 'acme', true); COMMIT").await.unwrap();
    assert!(visible_key_ids(&client).await.is_empty());
    for (name, value) in
        [("tenant", ""), ("prefix", ""), ("operator", ""), ("operator", "off"), ("tenant", "%")]
    {
        set_config(&client, &format!("fluxway.{name}"), value).await;
        assert!(visible_key_ids(&client).await.is_empty(), "{name} {value}");
    }
    assert_eq!(client.execute("UPDATE api_keys SET label = 'mine'", &[]).await.unwrap(), 0);
    assert_eq!(client.execute("DELETE FROM api_key_secrets", &[]).await.unwrap(), 0);
}

#[tokio::test]
async fn tenant_sees_and_changes_only_its_own_rows() {
    let Some((_place, client)) = database_with_two_tenants().await else { return };
    set_config(&client, "fluxway.tenant", "acme").await;
    assert_eq!(visible_key_ids(&client).await, ["acme", "acme"]);
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
async fn prefix_scope_reads_one_key_and_changes_none() {
    let Some((_place, client)) = database_with_two_tenants().await else { return };
    set_config(&client, "fluxway.prefix", "p-umbrella").await;
    assert_eq!(visible_key_ids(&client).await, ["umbrella", "umbrella"]);
    assert_eq!(client.execute("UPDATE api_keys SET scope = 'admin'", &[]).await.unwrap(), 0);
    assert_eq!(client.execute("UPDATE api_key_secrets SET until = now()", &[]).await.unwrap(), 0);
    set_config(&client, "fluxway.prefix", "p-%").await;
    assert!(visible_key_ids(&client).await.is_empty());
}

#[tokio::test]
async fn operator_sees_all_rows() {
    let Some((_place, client)) = database_with_two_tenants().await else { return };
    set_config(&client, "fluxway.operator", "on").await;
    assert_eq!(visible_key_ids(&client).await, ["acme", "umbrella", "acme", "umbrella"]);
}

#[tokio::test]
async fn sessions_are_visible_to_their_tenant_and_the_operator() {
    let Some((_place, client)) = database_with_sessions_of_two_tenants().await else { return };
    assert!(visible_session_ids(&client).await.is_empty(), "the owner of the tables");
    let take = "UPDATE flow_sessions SET subject = 'me'";
    assert_eq!(client.execute(take, &[]).await.unwrap(), 0);
    set_config(&client, "fluxway.prefix", "p-acme").await;
    assert!(visible_session_ids(&client).await.is_empty(), "who has a key says which tenant they are");
    set_config(&client, "fluxway.tenant", "acme").await;
    assert_eq!(visible_session_ids(&client).await, ["acme"]);
    let sneaked = "SELECT FROM flow_sessions WHERE tenant = 'umbrella' OR true";
    assert_eq!(client.query(sneaked, &[]).await.unwrap().len(), 1);
    assert_eq!(client.execute(take, &[]).await.unwrap(), 1);
    assert_eq!(client.execute("DELETE FROM flow_sessions WHERE id = 'umbrella'", &[]).await.unwrap(), 0);
    for forbidden in [
        "UPDATE flow_sessions SET tenant = 'umbrella'",
        "INSERT INTO flow_sessions (id, tenant, subject, version, is_open, ends, forgotten)
            VALUES ('x', 'umbrella', 'me', 1, true, now(), now())",
    ] {
        let error = client.execute(forbidden, &[]).await.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{forbidden}");
    }
    set_config(&client, "fluxway.tenant", "").await;
    set_config(&client, "fluxway.operator", "on").await;
    assert_eq!(visible_session_ids(&client).await, ["acme", "umbrella"]);
}

#[tokio::test]
async fn session_functions_leave_no_setting_behind() {
    let Some((_place, client)) = database_with_sessions_of_two_tenants().await else { return };
    for call in [
        "SELECT flow_begin('acme', 'ann', 'new', true, now(), now(), NULL, '', now(), 9)",
        "SELECT FROM flow_load('acme', 'ann', 'acme')",
        "SELECT flow_save('acme', 'ann', 'acme', 1, true, now(), now(), NULL, '')",
        "SELECT flow_renew('acme', 'ann', 'acme', 2, now())",
    ] {
        assert_eq!(client.query(call, &[]).await.unwrap().len(), 1, "{call}");
        assert!(visible_session_ids(&client).await.is_empty(), "{call}");
    }
    set_config(&client, "fluxway.tenant", "acme").await;
    assert_eq!(visible_session_ids(&client).await, ["acme", "new"]);
}

#[tokio::test]
async fn use_case_leaves_no_setting_behind() {
    let Some(place) = harness::postgres().await else { return };
    let options = store::StoreOptions { max_connections: 1, ..harness::patient_options() };
    let store = store::open(&place.location(), &options).await.unwrap();
    store.add_key(key_record("one"), credential("p")).await.unwrap();
    store.list_keys(None).await.unwrap();
    // All of it went over one connection, so what the operator could see would be seen here.
    let other = store.list_keys(Some("umbrella")).await.unwrap();
    assert_eq!(other, []);
    let settings =
        "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user AND state LIKE '%transaction%'";
    let row = place.connect().await.query_one(settings, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0, "a transaction is open");
}

/// What is logged while a store is opened.
async fn logs_while_opening(url: &str) -> String {
    let log = tempfile::NamedTempFile::new().unwrap();
    let writer = Arc::new(log.reopen().unwrap());
    let logging = tracing_subscriber::fmt().with_ansi(false).with_writer(writer).finish();
    let logged = tracing::subscriber::set_default(logging);
    let store = store::open(&url.parse().unwrap(), &harness::patient_options()).await.unwrap();
    store.add_key(key_record("one"), credential("p")).await.unwrap();
    drop(logged);
    std::fs::read_to_string(log.path()).unwrap()
}

#[tokio::test]
async fn role_that_bypasses_row_security_is_warned_about() {
    let Some(place) = harness::postgres().await else { return };
    let superuser = harness::env_setting("TEST_POSTGRES").unwrap();
    let (server, _) = superuser.rsplit_once('/').unwrap();
    let other = harness::fresh_database(&superuser).await;
    let (_, database) = other.url.rsplit_once('/').unwrap();
    let log = logs_while_opening(&format!("{server}/{database}")).await;
    assert!(log.contains("WARN") && log.contains("BYPASSRLS"), "{log}");
    let (_, password) = server.rsplit_once('@').unwrap().0.rsplit_once(':').unwrap();
    assert!(!log.contains(password));
    assert_eq!(logs_while_opening(&place.url).await, "");
}
