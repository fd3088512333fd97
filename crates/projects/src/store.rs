//! What projects need of a store. A method is a whole use case: it happens or it does not.
//!
//! # What every method promises
//!
//! - **Tenancy.** Nothing of another account is seen or changed. A project that is not there and one that is somebody
//!   else's are the same `NotFound`, in the same words and after the same work.
//! - **Atomicity.** A write happens in one transaction, or not at all. What a rule refuses has changed nothing.
//! - **Revisions.** A write to a project adds one to its revision, whatever it touches, and only then answers. `if_revision`
//!   is compared in the transaction that writes ([`Project::admit`](crate::Project::admit)); of any number of writers that
//!   name the same one, one succeeds and the others get `Conflict`. Missing projects are told before conflicts, and
//!   conflicts before everything else. So writes to one project happen one after the other: lock its row first.
//! - **Dry runs.** With `dry_run` everything is read, judged and answered as in earnest, and rolled back.
//! - **Rules.** They are the pure functions of this crate. A store reads the rows that a rule wants, calls it, and writes
//!   the rows that it gives; it decides nothing itself. Usage is kept in the row of the project, and never counted anew.
//! - **Order.** Lists have one order, which no write to an entry changes, and texts are compared as bytes. A cursor is a
//!   place in that order: what stands after it is found by an index, and a page costs as much at the end as at the start.
//! - **Cost.** A write touches the row of the project and those that it is about. Nothing but `publish`, `content`,
//!   `version`, `restore_version` and `duplicate_project` reads all blocks of a project, and nothing reads all projects.
//! - **Values.** Times are kept to the microsecond, JSON and design systems as text, so that they come back equal.

mod areas;

use std::pin::Pin;

use crate::error::Error;

pub use areas::{Assets, Blocks, DesignSystems, Projects, Versions};

/// What a store gives, sooner or later.
pub type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Everything that projects need of a store.
pub trait ProjectStore: Projects + Blocks + DesignSystems + Assets + Versions {}

impl<T: Projects + Blocks + DesignSystems + Assets + Versions + ?Sized> ProjectStore for T {}
