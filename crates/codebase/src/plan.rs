//! Edit plans: proposed changes of a tree that can be read, checked, applied and taken back.
//!
//! An edit is written in the documented shape (a file, a strategy, anchors, a payload). [`resolve`] finds out what it
//! means in the tree as it is: exact ranges, the text before and after, the diff. Proposing and validating go the same
//! way, so that a plan of ours and one that a model wrote are judged alike. Nothing is written before [`apply`].

mod anchor;
mod apply;
mod check;
mod config;
mod diff;
mod digest;
mod document;
mod explain;
mod finding;
mod functions;
mod hidden;
mod hunks;
mod imports;
mod journal;
mod lsp;
mod manifest;
mod outline;
mod path;
mod read;
mod resolve;
mod result;
mod spot;
mod text;
mod validate;
mod view;

pub use apply::{
    Applied, ApplyError, Conflict, Outcome, Undoable, Undone, apply, can_undo, clean_up, has_leftovers,
    is_undone, recover, undo, undo_by_plan, undoable,
};
pub use check::{Checked, is_number, is_path, judge as judge_check, run as run_check};
pub use diff::unified;
pub use document::{
    Anchor, AnchorKind, Before, Change, Edit, FileChange, LOCATIONS, Location, Payload, Plan, Position,
    Range, Rollback, Setting, Strategy,
};
pub use finding::{Finding, Severity};
pub use functions::decorate;
pub use hunks::{FindSecrets, ShownDiff, show_diff};
pub use journal::{Actor, STATE, Signer, Unreadable};
pub use lsp::{uri_path, workspace_edit};
pub use resolve::{Resolution, Resolved, resolve};
pub use text::{Eol, Indent};
pub use validate::{CHECKS, Facts, Rules, Verdict, WrongImport, complete, validate};
pub use view::{Shown, is_view, show, show_workspace_edit};

#[cfg(test)]
mod tests;

/// The most edits in a plan.
pub const MOST_EDITS: usize = 200;
/// The largest payload of an edit, in bytes.
pub const LARGEST_PAYLOAD: usize = 256 * 1024;
/// The largest file that is edited, in bytes.
pub const LARGEST_FILE: u64 = 2 << 20;
