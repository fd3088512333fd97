//! How large a design system may be. Whatever is read or made stays below these.

/// Bytes of one document without spaces, which is how it is kept, and of one stylesheet to import.
pub const MAX_DOCUMENT_BYTES: usize = 1_048_576;
/// Bytes of one document as text, spaces and all: whatever is exported can come in again.
pub const MAX_TEXT_BYTES: usize = 4 * MAX_DOCUMENT_BYTES;
/// Tokens of one document, after `$extends` has copied what it inherits.
pub const MAX_TOKENS: usize = 10_000;
/// Objects and arrays inside one another, groups and values together.
pub const MAX_DEPTH: usize = 32;
/// Bytes of one name of a token or group.
pub const MAX_NAME_BYTES: usize = 128;
/// Bytes of one path: all names on the way, with the dots between them.
pub const MAX_PATH_BYTES: usize = 512;
/// Modes of one document (light, dark, …).
pub const MAX_MODES: usize = 32;
/// JSON values in one resolved value; 64 bytes of text count as one more. Aliases in lists can double a value with every
/// step; this stops it.
pub const MAX_VALUE_NODES: usize = 4_096;
/// JSON values in everything resolved in one mode.
pub const MAX_RESOLVED_NODES: usize = 500_000;
/// JSON values in everything resolved in all modes, where a mode counts what is different in it.
pub const MAX_RESOLVED_NODES_ALL_MODES: usize = 4_000_000;
/// Bytes of a `$description` or `$deprecated` that are told of each token that inherits it. What stands in the token itself
/// is told in full.
pub const MAX_INHERITED_TEXT_BYTES: usize = 2_000;
/// Groups that extend one another in a row.
pub const MAX_EXTENDS_CHAIN: usize = 64;
/// Findings that are told at once.
pub const MAX_FINDINGS: usize = 1_000;
/// Pairs of colours that are measured at once.
pub const MAX_CONTRAST_PAIRS: usize = 500;
/// Bytes of one export.
pub const MAX_EXPORT_BYTES: usize = 8 * MAX_DOCUMENT_BYTES;
/// Tokens and groups, counted in every mode, and pieces of 64 bytes, that all changes of one call may look at together.
pub const MAX_EDIT_COST: usize = 2_000_000;
