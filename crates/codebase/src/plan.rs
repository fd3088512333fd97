//! Edit plans: proposed changes of a tree that can be read, checked, applied and taken back.
//!
//! An edit is written in the documented shape (a file, a strategy, anchors, a payload). [`resolve`] finds out what it
//! means in the tree as it is: exact ranges, the text before and after, the diff. Proposing and validating go the same
//! way, so that a plan of ours and one that a model wrote are judged alike. Nothing is written before [`apply`].

mod anchor;
mod apply;
mod config;
mod decorate;
mod diff;
mod diff_redaction;
mod digest;
mod document;
mod finding;
mod hidden_chars;
mod imports;
mod insertion_point;
mod journal;
mod lsp;
mod manifest_keys;
mod original_texts;
mod outline;
mod parse;
mod path_check;
mod post_check;
mod redaction;
mod resolve;
mod result_check;
mod text_file;
mod validate;

pub use apply::{
    ApplyError, ApplyOutcome, ApplyResult, Conflict, UndoResult, UndoablePlan, apply, can_undo,
    has_interrupted_plan, is_undone, list_undoable_plans, recover, recover_and_clean_up, undo, undo_by_plan,
};
pub use decorate::{DecorateError, decorate_function};
pub use diff::unified_diff;
pub use diff_redaction::{RedactedDiff, SecretFinder, redact_diff};
pub use document::{
    Anchor, AnchorKind, Edit, EditPlan, FileChange, InsertLocation, LOCATION_NAMES, LspPosition, LspRange,
    OriginalFile, Payload, Rollback, Setting, Strategy, TextChange,
};
pub use finding::{PlanFinding, PlanSeverity};
pub use journal::{Actor, STATE_FOLDER, Signer, UntrustedJournal};
pub use lsp::{uri_path, workspace_edit};
pub use post_check::{
    CheckResult, is_path_argument, is_small_number, parse_check_command as judge_check, run_check,
};
pub use redaction::{RedactedPlan, is_plan_or_redaction, redact_plan, redacted_workspace_edit};
pub use resolve::{Resolution, ResolvedFile, resolve_edits};
pub use text_file::{Eol, Indent};
pub use validate::{
    CHECK_NAMES, PlanDetails, PlanValidation, ValidationRules, WrongImport, build_plan, validate_plan,
};

#[cfg(test)]
mod tests;

/// The most edits in a plan.
pub const MAX_EDITS: usize = 200;
/// The largest payload of an edit, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 256 * 1024;
/// The largest file that is edited, in bytes.
pub const MAX_EDITED_FILE_BYTES: u64 = 2 << 20;
