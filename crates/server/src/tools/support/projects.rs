//! Shared by the project tools: views, pagination, and rules on which arguments go together.

pub(crate) mod argument_rules;
pub(crate) mod export;
pub(crate) mod view;

use projects::{Cursor, Digest, FieldSelection, ListPage, Page, ProjectRejection, ValidationProblem};
use serde::Serialize;

use crate::error::RequestError;

/// A field with nested fields: these, or any names if `None`.
pub(crate) type NestedFields<'a> = (&'a str, Option<&'a [&'a str]>);

/// Parses the requested fields of a reply. An unknown name is an error, even after a dot.
pub(crate) fn parse_selection(
    names: &[String],
    known: &[&str],
    holding: &[NestedFields<'_>],
) -> Result<FieldSelection, RequestError> {
    let selection = FieldSelection::parse(names, known)?;
    let wrong = |(at, name): (usize, &String)| {
        let (outer, inner) = name.split_once('.')?;
        let message = match holding.iter().find(|(holds, _)| *holds == outer) {
            None => format!("is not a field: `{outer}` has no nested fields; remove the rest"),
            Some((_, Some(known))) if !known.contains(&inner) => {
                format!("is not a field; `{outer}` has {}", known.join(", "))
            }
            Some((_, None)) if inner.split('.').any(str::is_empty) => {
                "is not a field: a name is missing next to a dot".to_owned()
            }
            Some(_) => return None,
        };
        Some(ValidationProblem::new(format!("/fields/{at}"), message))
    };
    ProjectRejection::reject_if_any(names.iter().enumerate().filter_map(wrong).collect())?;
    Ok(selection)
}

/// Limit for lists without pagination.
const MAX_LISTED: usize = 200;

/// The first entries, and how many more there are.
pub(in crate::tools) fn take_first<T, S>(all: &[T], show: impl FnMut(&T) -> S) -> (Vec<S>, Option<usize>) {
    let more = all.len().saturating_sub(MAX_LISTED);
    (all.iter().take(MAX_LISTED).map(show).collect(), Some(more).filter(|more| *more > 0))
}

/// The cursors of one list. A cursor is valid only for the list that issued it.
pub(in crate::tools) struct ListCursors(u16);

impl ListCursors {
    /// Identifies the list by its name, its owner and its parameters.
    pub(in crate::tools) fn new(what: impl Serialize) -> Self {
        // Stable across releases and replicas: a cursor may outlive the process that issued it. Serializing
        // names and numbers cannot fail.
        let what = serde_json::to_vec(&what).unwrap_or_default();
        // Protects against mistakes, not attacks: a cursor says where to continue, never what may be seen.
        let Digest([a, b, ..]) = Digest::from_content(&what);
        Self(u16::from_le_bytes([a, b]))
    }

    /// The requested page; the whole list without a limit.
    pub(in crate::tools) fn page(
        &self,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Page, RequestError> {
        Ok(Page { after: cursor.map(|cursor| self.decode(cursor)).transpose()?, limit })
    }

    /// The requested page, with a default limit.
    pub(in crate::tools) fn default_page(
        &self,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Page, RequestError> {
        const DEFAULT_PAGE_SIZE: u32 = 100;
        self.page(cursor, limit.or(Some(DEFAULT_PAGE_SIZE)))
    }

    /// The `cursor` for the next page.
    pub(in crate::tools) fn next_cursor<T>(&self, listed: &ListPage<T>) -> Option<String> {
        listed.next.as_ref().map(|next| self.encode(next))
    }

    pub(in crate::tools) fn encode(&self, cursor: &Cursor) -> String {
        format!("{:04x}.{}", self.0, cursor.encode())
    }

    pub(in crate::tools) fn decode(&self, text: &str) -> Result<Cursor, RequestError> {
        let of_this =
            |(list, _): &(&str, &str)| u16::from_str_radix(list, 16).is_ok_and(|list| list == self.0);
        let Some((_, cursor)) = text.split_once('.').filter(of_this) else {
            let why = "is not a cursor of this list; omit it to start over";
            return Err(ProjectRejection::invalid("/cursor", why).into());
        };
        Ok(Cursor::decode(cursor)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cursors outlive releases, so these numbers must never change.
    #[test]
    fn cursor_prefix_of_a_list_is_stable() {
        let cursor = Cursor::new("a", "b");
        for (list, expected) in [
            (ListCursors::new("projects"), "b4bb"),
            (ListCursors::new(("versions", "proj_1")), "31cf"),
            (ListCursors::new(("blocks", "proj_1", None::<&str>, Some(3))), "a680"),
        ] {
            assert_eq!(list.encode(&cursor).split_once('.').unwrap().0, expected);
        }
    }

    #[test]
    fn long_lists_are_truncated_with_a_count() {
        for (all, told, more) in [(0, 0, None), (200, 200, None), (201, 200, Some(1)), (999, 200, Some(799))]
        {
            let (first, rest) = take_first(&vec![(); all], |()| ());
            assert_eq!((first.len(), rest), (told, more));
        }
    }
}
