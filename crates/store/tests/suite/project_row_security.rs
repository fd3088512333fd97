//! The second wall between accounts, for every table of projects: which ones there are, the database tells.

use projects::{Account, IdGenerator, IdSeed, ProjectId, ProjectWrite};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::harness::{self, connect_as_superuser};
use crate::project_fixture::{create_populated_project, write};

/// Tables in which nothing belongs to anybody.
const TABLES_WITHOUT_OWNER: [&str; 4] = ["rate_buckets", "server_secrets", "flow_spent", "fluxway_schema"];

/// Ann and Bob have a project each, and somebody else has a connection.
async fn database_with_two_accounts() -> Option<(harness::TestDatabase, Client, [ProjectId; 2])> {
    let database = harness::postgres().await?;
    let store = database.open_projects().await;
    let ids =
        [create_populated_project(&store, "ann", 1).await, create_populated_project(&store, "bob", 2).await];
    let client = database.connect().await;
    Some((database, client, ids))
}

/// The tables that belong to accounts, and their columns.
async fn account_tables(client: &Client) -> Vec<(String, Vec<String>)> {
    let sql = "SELECT table_name::text, array_agg(column_name::text ORDER BY ordinal_position)
        FROM information_schema.columns WHERE table_schema = 'public' GROUP BY 1
        HAVING bool_or(column_name = 'account') ORDER BY 1";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn query_number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn set_config(client: &Client, name: &str, value: &str) {
    client.execute("SELECT set_config($1, $2, false)", &[&name, &value]).await.unwrap();
}

/// Counts what can be seen of a table, and what can be changed in it.
async fn count_accessible_rows(client: &Client, table: &str) -> [i64; 3] {
    let seen = query_number(client, &format!("SELECT count(*) FROM {table}")).await;
    let mut reached = [seen, 0, 0];
    for (at, sql) in
        [(1, format!("UPDATE {table} SET account = account")), (2, format!("DELETE FROM {table}"))]
    {
        client.batch_execute("BEGIN").await.unwrap();
        reached[at] = i64::try_from(client.execute(&sql, &[]).await.unwrap()).unwrap();
        client.batch_execute("ROLLBACK").await.unwrap();
    }
    reached
}

/// A table that is added and forgotten here shows itself.
#[tokio::test]
async fn every_account_table_has_row_security() {
    let Some((_place, client, _)) = database_with_two_accounts().await else { return };
    let sql = "SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
        AND c.relkind IN ('r', 'p') AND NOT (c.relrowsecurity AND c.relforcerowsecurity
            AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)
            AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('account', 'tenant')))
        ORDER BY 1";
    let open: Vec<String> = client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    let mut expected = TABLES_WITHOUT_OWNER;
    expected.sort_unstable();
    assert_eq!(open, expected);
    assert_eq!(account_tables(&client).await.len(), 10);
}

#[tokio::test]
async fn connection_without_account_accesses_nothing() {
    let Some((_place, client, _)) = database_with_two_accounts().await else { return };
    for (name, value) in
        [("tenant", ""), ("tenant", "%"), ("tenant", "ANN"), ("prefix", "ann"), ("operator", "off")]
    {
        set_config(&client, &format!("fluxway.{name}"), value).await;
        for (table, _) in account_tables(&client).await {
            assert_eq!(count_accessible_rows(&client, &table).await, [0, 0, 0], "{table} {name} {value}");
        }
    }
}

#[tokio::test]
async fn account_accesses_only_its_own_rows() {
    let Some((database, client, _)) = database_with_two_accounts().await else { return };
    let all = connect_as_superuser(&database).await;
    for (table, _) in account_tables(&client).await {
        for account in ["ann", "bob"] {
            set_config(&client, "fluxway.tenant", account).await;
            let own =
                query_number(&all, &format!("SELECT count(*) FROM {table} WHERE account = '{account}'"))
                    .await;
            assert!(own > 0, "{table}");
            assert_eq!(count_accessible_rows(&client, &table).await, [own, own, own], "{table} {account}");
        }
    }
}

/// A statement that copies a row of a table, with other values in some columns.
fn copy_row_sql(table: &str, columns: &[String], others: &[(&str, &str)]) -> String {
    let value = |column: &String| {
        let other = others.iter().find(|(name, _)| name == column);
        other.map_or_else(|| column.clone(), |(_, value)| format!("'{value}'"))
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    format!("INSERT INTO {table} SELECT {} FROM {table} LIMIT 1", values.join(", "))
}

#[tokio::test]
async fn rows_cannot_be_inserted_for_another_account() {
    let Some((database, client, [anns, _])) = database_with_two_accounts().await else { return };
    let tables = account_tables(&client).await;
    // A project of Bob's with nothing in it that could be in the way.
    let (_, columns) = tables.iter().find(|(table, _)| table == "projects").unwrap();
    let bobs = [("id", "empty"), ("slug", "empty"), ("account", "bob")];
    connect_as_superuser(&database)
        .await
        .execute(&copy_row_sql("projects", columns, &bobs), &[])
        .await
        .unwrap();
    set_config(&client, "fluxway.tenant", "ann").await;
    for (table, columns) in &tables {
        let given_away = format!("UPDATE {table} SET account = 'bob'");
        let foisted = copy_row_sql(table, columns, &[("account", "bob")]);
        let slipped_in = copy_row_sql(table, columns, &[("project", "empty")]);
        let moved = format!("UPDATE {table} SET project = 'empty' WHERE project = '{anns}'");
        let has_project = columns.iter().any(|column| column == "project");
        for (sql, expected) in [
            (given_away, Some(SqlState::INSUFFICIENT_PRIVILEGE)),
            (foisted, Some(SqlState::INSUFFICIENT_PRIVILEGE)),
            (slipped_in, has_project.then_some(SqlState::FOREIGN_KEY_VIOLATION)),
            (moved, has_project.then_some(SqlState::FOREIGN_KEY_VIOLATION)),
        ] {
            let Some(expected) = expected else { continue };
            let error = client.execute(&sql, &[]).await.unwrap_err();
            assert_eq!(error.code(), Some(&expected), "{sql}");
        }
    }
}

/// Whoever runs the server may list accounts, and that is all.
#[tokio::test]
async fn operator_lists_accounts_but_changes_none() {
    let Some((_place, client, _)) = database_with_two_accounts().await else { return };
    set_config(&client, "fluxway.operator", "on").await;
    for (table, _) in account_tables(&client).await {
        let seen = if table == "project_accounts" { 2 } else { 0 };
        assert_eq!(count_accessible_rows(&client, &table).await, [seen, 0, 0], "{table}");
    }
}

#[tokio::test]
async fn project_use_cases_leave_no_setting_behind() {
    let Some(database) = harness::postgres().await else { return };
    let options = store::StoreOptions { max_connections: 1, ..harness::patient_options() };
    let store = database.open_projects_with(&options).await;
    let id = create_populated_project(&store, "ann", 1).await;
    assert_eq!(store.accounts().await.unwrap(), [Account::new("ann")]);
    let gone = write("ann", &IdGenerator::from_seed(IdSeed([9; 16])).next_project_id());
    store.delete_project(gone).await.unwrap_err();
    store.delete_project(ProjectWrite { dry_run: true, ..write("ann", &id) }).await.unwrap();
    // All of it went over one connection, so what Ann or the owner could see would be seen here.
    assert_eq!(store.list_projects(&Account::new("bob"), projects::Page::ALL).await.unwrap().items, []);
    assert_eq!(store.project(&Account::new("ann"), &id).await.unwrap().id, id);
}
