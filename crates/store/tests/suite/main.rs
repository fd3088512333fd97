//! The contract of every store, written once and run against SQLite and PostgreSQL.
//!
//! PostgreSQL is run when `TEST_POSTGRES` has the URL of a superuser: `tests/database/run` provides one. Every case gets
//! a database and an ordinary role of its own.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that fails should stop")]
#![expect(clippy::disallowed_methods, reason = "tests prepare files, and kill what they started")]
#![expect(clippy::print_stdout, reason = "there is no protocol here")]

/// Makes a test of each case for each database.
macro_rules! on_both {
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
                if let Some(place) = crate::harness::postgres().await {
                    super::$case(&place).await;
                }
            })+
        }
    };
}

mod durability;
mod harness;
mod keys;
mod leases;
mod locations;
mod model;
mod odd;
mod outages;
mod project_damage;
mod project_desk;
mod project_imports;
mod project_limits;
mod project_model;
mod project_odd;
mod project_outages;
mod project_places;
mod project_races;
mod project_turns;
mod project_walls;
mod projects;
mod schema;
mod secrets;
mod session_model;
mod session_places;
mod sessions;
mod shares;
mod tls;
mod walls;
mod way;
