//! What every store does, written once: each case is a use case or a promise of [`store`](crate::store), and stops with a
//! panic where a store does something else.
//!
//! It is a feature of this crate (`suite`), so that nothing of it is in the product: whoever implements the traits takes
//! it as a dependency of their tests, and cargo unites no features of those with a build. A case gets two replicas of one
//! empty store. [`for_each_case`](crate::for_each_case) names all cases, so that no list of them can forget one.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a case that fails should stop"
)]

mod assets;
mod blocks;
mod imports;
mod projects;
mod races;
mod tenancy;
mod tools;
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
            a_project_comes_back_as_it_was_made,
            fields_are_changed_and_judged,
            slugs_are_unique_in_an_account,
            lists_are_in_order_and_in_pages,
            forged_cursors_are_refused,
            ids_are_completed,
            a_deleted_project_is_gone,
            a_copy_is_whole_and_apart,
            a_dry_run_changes_nothing,
            every_write_adds_one_to_the_revision,
            an_old_revision_refuses_every_write,
            block_types_are_kept_and_judged,
            design_systems_are_changed,
            an_export_becomes_a_project,
            a_project_comes_with_its_past,
            half_a_project_is_none,
            odd_texts_come_back_as_they_were,
            blocks_are_created_and_read,
            blocks_are_found_by_their_text,
            blocks_are_listed_in_pages,
            props_are_patched_and_judged,
            blocks_are_moved,
            many_at_one_spot_stay_in_order,
            blocks_are_copied,
            blocks_are_deleted_with_their_inside,
            pages_have_paths_of_their_own,
            limits_on_blocks_hold,
            usage_is_kept,
            assets_are_put_and_read,
            assets_are_listed_in_pages,
            assets_in_use_stay,
            bytes_live_as_long_as_something_names_them,
            versions_are_kept,
            a_draft_with_mistakes_is_not_published,
            versions_are_listed_newest_first,
            a_version_becomes_the_draft_again,
            a_draft_is_what_is_published_again,
            versions_are_deleted,
            strangers_find_nothing,
            what_is_not_there_is_not_found,
            accounts_are_told_to_the_owner,
            of_writers_with_one_revision_one_wins,
            writers_without_a_revision_all_win,
            of_equal_slugs_and_paths_one_is_kept,
        );
    };
}
