//! The schema migrations. A released migration is never changed.

/// The SQLite migrations. Migration n leads to schema n.
pub(crate) const SQLITE_MIGRATIONS: &[&str] = &[
    include_str!("../migrations/sqlite/0001_access.sql"),
    include_str!("../migrations/sqlite/0002_sessions.sql"),
    include_str!("../migrations/sqlite/0003_projects.sql"),
    include_str!("../migrations/sqlite/0004_limits.sql"),
];

/// The PostgreSQL migrations.
pub(crate) const POSTGRES_MIGRATIONS: &[&str] = &[
    include_str!("../migrations/postgres/0001_access.sql"),
    include_str!("../migrations/postgres/0002_sessions.sql"),
    include_str!("../migrations/postgres/0003_projects.sql"),
    include_str!("../migrations/postgres/0004_limits.sql"),
];

/// The schema version after all migrations.
pub(crate) fn latest_version(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// The migrations that a database with this schema lacks. `None` if the schema is newer than the last
/// migration.
pub(crate) fn pending_migrations<'s>(steps: &'s [&'s str], schema: i64) -> Option<&'s [&'s str]> {
    steps.get(usize::try_from(schema).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_databases_have_the_same_schema_version() {
        assert_eq!(latest_version(SQLITE_MIGRATIONS), latest_version(POSTGRES_MIGRATIONS));
    }

    #[test]
    fn pending_migrations_skip_applied_steps_and_reject_newer_schemas() {
        let steps = ["one", "two"];
        assert_eq!(pending_migrations(&steps, 0), Some(&steps[..]));
        assert_eq!(pending_migrations(&steps, 1), Some(&steps[1..]));
        assert_eq!(pending_migrations(&steps, 2), Some(&[][..]));
        assert_eq!(pending_migrations(&steps, 3), None);
        assert_eq!(pending_migrations(&steps, -1), None);
    }
}
