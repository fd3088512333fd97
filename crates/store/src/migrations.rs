//! The steps from an empty database to the one that this program knows. A step that was released is never changed.

/// The steps of SQLite. Step n leads to schema n.
pub(crate) const SQLITE_MIGRATIONS: &[&str] = &[
    include_str!("../migrations/sqlite/0001_access.sql"),
    include_str!("../migrations/sqlite/0002_sessions.sql"),
    include_str!("../migrations/sqlite/0003_projects.sql"),
    include_str!("../migrations/sqlite/0004_limits.sql"),
];

/// The steps of PostgreSQL.
pub(crate) const POSTGRES_MIGRATIONS: &[&str] = &[
    include_str!("../migrations/postgres/0001_access.sql"),
    include_str!("../migrations/postgres/0002_sessions.sql"),
    include_str!("../migrations/postgres/0003_projects.sql"),
    include_str!("../migrations/postgres/0004_limits.sql"),
];

/// The schema that all steps together lead to.
pub(crate) fn latest_version(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// The steps that a database of this schema lacks. `None`: it has more than are known here.
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
