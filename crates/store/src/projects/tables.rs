//! What the use cases need of a database, row by row. Both databases have it, and nothing of it decides anything.
//!
//! Whoever implements these traits is inside of one transaction, which somebody else has begun and ends. Methods work on
//! sets of rows, so that a database far away is asked seldom; use cases ask at once for what does not depend on each other
//! (`try_join`), and a database may send that together.
//!
//! But for [`ProjectTables`], a method gets the id of a project that was found for its account in the same transaction, and
//! in one that writes holds its row. What reads may be asked together with the project itself: nothing of a project that is
//! somebody else's is there then, and finding that out costs what an absent one does.
//!
//! What comes in can be kept: texts without NUL, names of at most 1000 bytes, times of projects of whole microseconds; those of
//! assets and versions, which an import brings, are cut.

mod assets;
mod blocks;
mod projects;
mod versions;

use ::projects::{Cursor, Page, Refusal};
use jiff::Timestamp;

pub(crate) use assets::AssetTables;
pub(crate) use blocks::{BlockTables, Gap, Neighbours, Removed};
pub(crate) use projects::{Entry, ProjectTables};
pub(crate) use versions::VersionTables;

/// A database inside of a transaction.
pub(crate) trait Database {
    /// Why it could not do something.
    type Fault: Send;
}

/// All tables of projects.
pub(crate) trait Tables: ProjectTables + BlockTables + AssetTables + VersionTables {}

impl<T: ProjectTables + BlockTables + AssetTables + VersionTables> Tables for T {}

/// Why a use case stopped. Either way nothing of it is kept.
#[derive(Debug)]
pub(crate) enum Stop<F> {
    /// A rule says no.
    Refused(Refusal),
    /// The database could not.
    Failed(F),
}

impl<F> From<Refusal> for Stop<F> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What a use case or a database answers.
pub(crate) type Answer<D, T> = Result<T, Stop<<D as Database>::Fault>>;

/// A part of a list: what comes after an entry in its order, and how many of it.
#[derive(Clone, Debug)]
pub(crate) struct Window<K> {
    /// The key and the id of the last entry that was seen.
    pub(crate) after: Option<(K, String)>,
    /// How many rows at most: one more than are wanted, to know whether there are more.
    pub(crate) most: i64,
}

impl<K> Window<K> {
    /// Everything.
    pub(crate) const ALL: Self = Self { after: None, most: i64::MAX };

    fn of(page: &Page, key: impl Fn(&Cursor) -> Result<K, Refusal>) -> Result<Self, Refusal> {
        let after = page.after.as_ref().map(|after| Ok::<_, Refusal>((key(after)?, after.id.clone())));
        Ok(Self { after: after.transpose()?, most: rows(page) })
    }
}

impl Window<Timestamp> {
    /// A part of a list that is sorted by time.
    pub(crate) fn by_time(page: &Page) -> Result<Self, Refusal> {
        Self::of(page, Cursor::time)
    }
}

impl Window<String> {
    /// A part of a list that is sorted by texts.
    pub(crate) fn by_text(page: &Page) -> Result<Self, Refusal> {
        Self::of(page, |after| Ok(after.key.clone()))
    }
}

/// How many rows to read for a page.
pub(crate) fn rows(page: &Page) -> i64 {
    page.limit.map_or(i64::MAX, |limit| i64::from(limit.max(1)) + 1)
}
