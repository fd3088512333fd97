//! Size limits of design systems. Everything that is read or created stays within them.

/// Size of a document as compact JSON, which is how it is stored, and of an imported stylesheet.
pub const MAX_DOCUMENT_BYTES: usize = 1_048_576;
/// Size of a document as text, whitespace included. Large enough to import any export.
pub const MAX_TEXT_BYTES: usize = 4 * MAX_DOCUMENT_BYTES;
/// Tokens per document, inherited ones included.
pub const MAX_TOKENS: usize = 10_000;
/// Nesting depth of objects and arrays, groups and values combined.
pub const MAX_DEPTH: usize = 32;
/// Size of the name of a token or group.
pub const MAX_NAME_BYTES: usize = 128;
/// Size of a path: all names with the dots between them.
pub const MAX_PATH_BYTES: usize = 512;
/// Modes per document (light, dark, …).
pub const MAX_MODES: usize = 32;
/// JSON values in a resolved value; 64 bytes of text count as one more. Without it, aliases in lists could
/// double a value with every step.
pub const MAX_VALUE_NODES: usize = 4_096;
/// JSON values in everything resolved in one mode.
pub const MAX_RESOLVED_NODES: usize = 500_000;
/// JSON values in everything resolved in all modes, where a mode only counts values that differ.
pub const MAX_RESOLVED_NODES_ALL_MODES: usize = 4_000_000;
/// Size of a `$description` or `$deprecated` reported for each token that inherits it. A token's own text is
/// reported in full.
pub const MAX_INHERITED_TEXT_BYTES: usize = 2_000;
/// Length of a chain of groups that extend each other.
pub const MAX_EXTENDS_CHAIN: usize = 64;
/// Findings reported at once.
pub const MAX_FINDINGS: usize = 1_000;
/// Colour pairs measured at once.
pub const MAX_CONTRAST_PAIRS: usize = 500;
/// Size of an export.
pub const MAX_EXPORT_BYTES: usize = 8 * MAX_DOCUMENT_BYTES;
/// Cost of all edits in one call: tokens and groups, counted in every mode, plus one for every 64 bytes.
pub const MAX_EDIT_COST: usize = 2_000_000;
