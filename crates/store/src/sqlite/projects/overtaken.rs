//! Changes of a design system that somebody else has written to in the meantime.

use ::projects::tokens::{Document, Kind, NewToken};
use ::projects::{Account, DesignEdit, NewFields, NewProject, ProjectId, Refusal, Write};
use jiff::Timestamp;
use rusqlite::Connection;

use super::tables::Rows;
use super::{Stop, at_once};
use crate::projects::design::{self, tests::made_from};
use crate::projects::project;
use crate::sqlite::schema;

const KEPT: &str = r#"{"a":{"$type":"number","$value":1}}"#;
const OLDER: &str = r#"{"b":{"$type":"number","$value":1}}"#;

fn set(path: &str) -> DesignEdit {
    DesignEdit::Set { path: path.to_owned(), token: NewToken::new(Kind::Number, 2.0) }
}

/// What is written if a change was made from a document and another one is there.
fn written(before: &str, edit: DesignEdit) -> Result<String, Refusal> {
    let mut connection = schema::prepare(Connection::open_in_memory().unwrap()).unwrap();
    schema::migrate("memory", &mut connection).unwrap();
    let (rows, account) = (Rows(&connection), Account::new("ann"));
    let id = ProjectId::parse("proj_1").unwrap();
    let fields = NewFields { name: "One".to_owned(), ..NewFields::default() };
    let new = NewProject { design: Document::parse(KEPT).unwrap(), ..NewProject::empty(id.clone(), fields) };
    at_once(project::create(&rows, &account, &new, Timestamp::UNIX_EPOCH)).unwrap();
    let write =
        Write { account, project: id.clone(), if_revision: None, dry_run: false, now: Timestamp::UNIX_EPOCH };
    match at_once(design::edit(&rows, &write, &made_from(before, edit))) {
        Ok(_) => Ok(at_once(design::text(&rows, &write.account, &id)).unwrap().value),
        Err(Stop::Refused(refusal)) => Err(refusal),
        Err(Stop::Failed(error)) => panic!("{error}"),
    }
}

#[test]
fn a_change_is_made_to_what_is_there() {
    let added = r#"{"a":{"$type":"number","$value":1},"n":{"$type":"number","$value":2}}"#;
    assert_eq!(written(KEPT, set("n")).unwrap(), added);
    assert_eq!(written(OLDER, set("n")).unwrap(), added, "and not to what was read");
    let exchanged = r#"{"a":{"$type":"number","$value":2}}"#;
    assert_eq!(written(KEPT, set("a")).unwrap(), exchanged);
    assert_eq!(written(OLDER, set("a")).unwrap(), exchanged);
}

#[test]
fn one_that_takes_long_is_not_made_while_others_wait() {
    let many = DesignEdit::All(vec![set("n"); 40_000]);
    assert!(written(KEPT, many.clone()).is_ok(), "it was made before");
    let refused = written(OLDER, many).unwrap_err();
    assert!(matches!(refused, Refusal::Conflict { expected: 0, found: 1 }), "{refused}");
}
