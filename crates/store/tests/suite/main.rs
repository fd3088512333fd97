//! The contract of every store, written once and run against SQLite and PostgreSQL.
//!
//! PostgreSQL is run when `TEST_POSTGRES` has the URL of a superuser: `tests/database/run` provides one. Every case gets
//! a database and an ordinary role of its own.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should stop")]
#![expect(clippy::disallowed_methods, reason = "tests prepare files, and kill what they started")]
#![expect(clippy::print_stdout, reason = "there is no protocol here")]

/// Makes a test of each case for each database.
macro_rules! test_on_both_databases {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(&crate::harness::sqlite()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                if let Some(database) = crate::harness::postgres().await {
                    super::$case(&database).await;
                }
            })+
        }
    };
}

mod durability;
mod harness;
mod keys;
mod lease_model;
mod leases;
mod locations;
mod lossy_proxy;
mod outages;
mod project_damage;
mod project_fixture;
mod project_imports;
mod project_limits;
mod project_model;
mod project_outages;
mod project_persistence;
mod project_races;
mod project_round_trips;
mod project_row_security;
mod project_unusual_values;
mod projects;
mod row_security;
mod schema;
mod secrets;
mod session_model;
mod session_persistence;
mod sessions;
mod tenant_connection_shares;
mod tls;
mod unusual_strings;
