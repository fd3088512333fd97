//! Conformance tests for stores. Each case covers a use case or a guarantee of [`store`](crate::store), and
//! panics if a store deviates.
//!
//! It is a feature of this crate (`suite`), so that nothing of it is in the product: stores depend on it in
//! their `dev-dependencies`, whose features cargo does not unify with a normal build. A case gets two
//! replicas of one empty store. [`for_each_case`](crate::for_each_case) lists all cases, so that no store can
//! omit one.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a case that fails should stop"
)]

mod assets;
mod blocks;
mod fixture;
mod imports;
mod projects;
mod races;
mod tenancy;
mod versions;

use crate::store::ProjectStore;

pub use assets::*;
pub use blocks::*;
pub use imports::*;
pub use projects::*;
pub use races::*;
pub use tenancy::*;
pub use versions::*;

/// Two replicas of one store.
pub type Replicas = [ProjectStore; 2];

/// Calls a macro with the names of all cases: `fn(Replicas) -> impl Future<Output = ()> + Send`.
///
/// ```ignore
/// macro_rules! on_sqlite {
///     ($($case:ident),+ $(,)?) => {
///         $(#[tokio::test] async fn $case() { projects::suite::$case(open().await).await })+
///     };
/// }
/// projects::for_each_case!(on_sqlite);
/// ```
#[macro_export]
macro_rules! for_each_case {
    ($take:ident) => {
        $take!(
            created_project_is_read_back_unchanged,
            fields_are_updated_and_validated,
            slugs_are_unique_in_an_account,
            projects_are_listed_in_order_and_in_pages,
            forged_cursors_are_rejected,
            projects_are_found_by_id_prefix,
            a_deleted_project_is_gone,
            duplicate_is_complete_and_independent,
            a_dry_run_changes_nothing,
            every_write_adds_one_to_the_revision,
            stale_revision_rejects_every_write,
            block_types_are_stored_and_validated,
            design_systems_are_edited,
            exported_content_creates_a_project,
            import_keeps_history,
            corrupt_import_leaves_nothing,
            unusual_texts_round_trip,
            blocks_are_created_and_read,
            blocks_are_found_by_their_text,
            blocks_are_listed_in_pages,
            props_are_patched_and_validated,
            blocks_are_moved,
            many_inserts_at_one_position_stay_in_order,
            blocks_are_copied,
            blocks_are_deleted_with_their_descendants,
            page_paths_are_unique,
            block_limits_are_enforced,
            usage_is_tracked,
            assets_are_put_and_read,
            assets_are_listed_in_pages,
            assets_in_use_are_not_deleted,
            bytes_are_kept_while_referenced,
            versions_are_stored,
            invalid_draft_is_not_published,
            versions_are_listed_newest_first,
            version_is_restored_as_draft,
            restored_published_version_has_no_unpublished_changes,
            versions_are_deleted,
            other_accounts_find_nothing,
            missing_entities_are_not_found,
            accounts_are_listed_for_the_store_owner,
            one_of_concurrent_writers_at_a_revision_wins,
            all_concurrent_writers_without_a_revision_succeed,
            concurrent_duplicate_slugs_and_paths_are_rejected,
        );
    };
}
