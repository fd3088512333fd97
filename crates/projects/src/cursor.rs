//! Pagination.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;

use crate::error::ProjectRejection;

/// Which part of a list to return.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Position to continue from; `None` starts at the beginning.
    pub after: Option<Cursor>,
    /// Maximum number of entries; `None` for all.
    pub limit: Option<u32>,
}

impl Page {
    /// The whole list.
    pub const ALL: Self = Self { after: None, limit: None };

    /// The first `limit` entries.
    pub const fn first(limit: u32) -> Self {
        Self { after: None, limit: Some(limit) }
    }
}

/// The last entry that was seen: its sort key and its id. A list that changes in the meantime continues after
/// this position, even if the entry is gone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The sort key, as a string that sorts the same way.
    pub key: String,
    /// Tie-breaker between entries with the same key.
    pub id: String,
}

/// Flipping this bit makes unsigned order match signed order.
const SIGN_BIT: u64 = 1 << 63;

impl Cursor {
    /// Earlier than every entry, but still a time that every database can represent: some have no dates far
    /// BC.
    pub const EARLIEST: Timestamp = Timestamp::constant(-99_999_999_999, 0);

    /// A cursor after an entry.
    pub fn new(key: impl Into<String>, id: impl Into<String>) -> Self {
        Self { key: key.into(), id: id.into() }
    }

    /// A cursor after an entry of a list sorted by number.
    pub fn from_number(number: u64, id: impl Into<String>) -> Self {
        Self::new(format!("{number:020}"), id)
    }

    /// A cursor after an entry of a list sorted by time, in microseconds. Times before 1970 sort first.
    pub fn from_time(time: Timestamp, id: impl Into<String>) -> Self {
        Self::from_number(time.as_microsecond().cast_unsigned() ^ SIGN_BIT, id)
    }

    /// The sort key as a time.
    pub fn time(&self) -> Result<Timestamp, ProjectRejection> {
        let time = Timestamp::from_microsecond((self.number()? ^ SIGN_BIT).cast_signed())
            .map_err(|_| invalid_cursor())?;
        if time < Self::EARLIEST { Err(invalid_cursor()) } else { Ok(time) }
    }

    /// The sort key as a number.
    pub fn number(&self) -> Result<u64, ProjectRejection> {
        self.key.parse().map_err(|_| invalid_cursor())
    }

    /// The cursor as an opaque string.
    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}\n{}", self.key, self.id))
    }

    /// Parses the output of [`Cursor::encode`].
    pub fn decode(text: &str) -> Result<Self, ProjectRejection> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid_cursor())?;
        let text = String::from_utf8(bytes).map_err(|_| invalid_cursor())?;
        let (key, id) = text
            .split_once('\n')
            .filter(|_| text.len() <= 256 && !text.contains('\0'))
            .ok_or_else(invalid_cursor)?;
        Ok(Self::new(key, id))
    }
}

fn invalid_cursor() -> ProjectRejection {
    ProjectRejection::invalid("/cursor", "is not a cursor of this list; omit it to start over")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    /// Cursor for the next page, if there is one.
    pub next: Option<Cursor>,
}

impl<T> ListPage<T> {
    /// Truncates rows to the page. A store reads one extra row, to know whether there are more.
    pub fn from_rows(mut items: Vec<T>, page: &Page, cursor: impl Fn(&T) -> Cursor) -> Self {
        let limit = page.limit.map_or(usize::MAX, |limit| limit.max(1) as usize);
        let more = items.len() > limit;
        items.truncate(limit);
        let next = if more { items.last().map(cursor) } else { None };
        Self { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_round_trip_and_keep_order() {
        for cursor in [Cursor::new("", ""), Cursor::new("a0V", "blk_1"), Cursor::from_number(u64::MAX, "p")] {
            assert_eq!(Cursor::decode(&cursor.encode()).unwrap(), cursor);
        }
        assert_eq!(Cursor::from_number(7, "x").number().unwrap(), 7);
        assert!(Cursor::from_number(9, "x") < Cursor::from_number(10, "x"));
        let times = [-99_999_999_999_000_000, -1, 0, 1, 1_772_452_800_000_007];
        let times = times.map(|time| Timestamp::from_microsecond(time).unwrap());
        let cursors = times.map(|time| Cursor::from_time(time, "x"));
        assert!(cursors.is_sorted());
        assert_eq!(cursors.map(|cursor| cursor.time().unwrap()), times);
    }

    #[test]
    fn forged_cursors_are_rejected() {
        let long = URL_SAFE_NO_PAD.encode("x\n".repeat(200));
        let nul = URL_SAFE_NO_PAD.encode("\0\nx");
        for text in ["", "?", "abc", "ä", "YQ", &long, &nul] {
            assert!(matches!(Cursor::decode(text), Err(ProjectRejection::Invalid(_))), "{text}");
        }
        assert!(Cursor::new("x", "").number().is_err());
        let microsecond = std::time::Duration::from_micros(1);
        for time in [Timestamp::MIN, Cursor::EARLIEST - microsecond] {
            assert!(
                matches!(Cursor::from_time(time, "").time(), Err(ProjectRejection::Invalid(_))),
                "{time}"
            );
        }
    }

    #[test]
    fn page_has_next_cursor_only_if_there_is_more() {
        let cursor = |item: &u32| Cursor::from_number(u64::from(*item), "");
        let cut = |items: Vec<u32>, limit| ListPage::from_rows(items, &Page { after: None, limit }, cursor);
        assert_eq!(cut(vec![1, 2, 3], Some(2)), ListPage { items: vec![1, 2], next: Some(cursor(&2)) });
        assert_eq!(cut(vec![1, 2], Some(2)), ListPage { items: vec![1, 2], next: None });
        assert_eq!(cut(vec![1, 2], None), ListPage { items: vec![1, 2], next: None });
        assert_eq!(cut(vec![], Some(0)), ListPage { items: vec![], next: None });
    }
}
