//! How much is read at most. What is larger is named in a warning, and the rest is still told.

/// A file of settings.
pub(super) const YAML: u64 = 1 << 20;
/// A file of inputs, which a model may have written.
pub(super) const INPUTS: u64 = 4 << 20;
/// A summary, an evaluation, a list of errors.
pub(super) const JSON: u64 = 8 << 20;
/// A file of JSON Lines. It is never held as a whole.
pub(super) const LINES: u64 = 64 << 20;
/// One of its lines.
pub(super) const LINE: usize = 4 << 20;
/// How much of a document is shown.
pub(super) const DOCUMENT: u64 = 1 << 20;

/// How deep YAML may be nested.
pub(super) const YAML_DEPTH: usize = 64;
/// How many values of a YAML file may be copies, made for anchors and aliases.
pub(super) const YAML_COPIES: usize = 10_000;

/// How far below the root projects are sought.
pub(super) const SEARCH_DEPTH: usize = 4;
/// In how many folders.
pub(super) const SEARCH_FOLDERS: usize = 2_000;
/// How many names of one folder are looked at.
pub(super) const NAMES: usize = 20_000;

/// The longest text of an input or an error that is kept; what is longer ends in an ellipsis.
pub(super) const TEXT: usize = 2_000;
/// How many different inputs of one experiment are told apart.
pub(super) const DISTINCT_INPUTS: usize = 5_000;
/// How many failures of one experiment are listed.
pub(super) const FAILURES: usize = 200;
/// How many judged traces of one evaluation are listed.
pub(super) const JUDGED_TRACES: usize = 200;
/// How many warnings there are for one file.
pub(super) const WARNINGS_OF_A_FILE: usize = 20;
/// How many warnings there are in all.
pub(super) const WARNINGS: usize = 200;
