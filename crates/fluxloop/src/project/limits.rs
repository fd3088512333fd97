//! How much is read at most. What is larger is named in a warning, and the rest is still told.

/// A file of settings.
pub(super) const MAX_YAML_BYTES: u64 = 1 << 20;
/// A file of inputs, which a model may have written.
pub(super) const MAX_INPUTS_BYTES: u64 = 4 << 20;
/// A summary, an evaluation, a list of errors.
pub(super) const MAX_JSON_BYTES: u64 = 8 << 20;
/// A file of JSON Lines. It is never held as a whole.
pub(super) const MAX_JSONL_BYTES: u64 = 64 << 20;
/// One of its lines.
pub(super) const MAX_LINE_BYTES: usize = 4 << 20;
/// How much of a document is shown.
pub(super) const MAX_DOCUMENT_BYTES: u64 = 1 << 20;

/// How deep YAML may be nested.
pub(super) const MAX_YAML_DEPTH: usize = 64;
/// How many values of a YAML file may be copies, made for anchors and aliases.
pub(super) const MAX_YAML_COPIES: usize = 10_000;

/// How far below the root projects are sought.
pub(super) const MAX_SEARCH_DEPTH: usize = 4;
/// In how many folders.
pub(super) const MAX_SEARCH_FOLDERS: usize = 2_000;
/// How many names of one folder are looked at.
pub(super) const MAX_FOLDER_ENTRIES: usize = 20_000;

/// The longest text of an input or an error that is kept; what is longer ends in an ellipsis.
pub(super) const MAX_TEXT_CHARS: usize = 2_000;
/// How many different inputs of one experiment are told apart.
pub(super) const MAX_DISTINCT_INPUTS: usize = 5_000;
/// How many failures of one experiment are listed.
pub(super) const MAX_FAILURES: usize = 200;
/// How many judged traces of one evaluation are listed.
pub(super) const MAX_EVALUATED_TRACES: usize = 200;
/// How many warnings there are for one file.
pub(super) const MAX_WARNINGS_PER_FILE: usize = 20;
/// How many warnings there are in all.
pub(super) const MAX_WARNINGS: usize = 200;
