//! Size limits. Every write stays within them; a rejection names the limit it exceeded.

/// Projects per account.
pub const MAX_PROJECTS: u64 = 10_000;
/// Characters in a project name.
pub const MAX_NAME_CHARS: usize = 200;
/// Characters in a slug.
pub const MAX_SLUG_CHARS: usize = 63;
/// Characters in a description or a version note.
pub const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Size of a project's metadata as JSON.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Versions per project.
pub const MAX_VERSIONS: u64 = 500;
/// Size of all versions of a project, as text.
pub const MAX_TOTAL_VERSION_BYTES: u64 = 1024 * 1024 * 1024;

/// Blocks per project, pages included.
pub const MAX_BLOCKS: u64 = 20_000;
/// Blocks that one call may create.
pub const MAX_NEW_BLOCKS_PER_CALL: usize = 2_000;
/// Nesting depth of blocks. A page is at depth 1.
pub const MAX_BLOCK_DEPTH: usize = 32;
/// Size of a block's props as JSON.
pub const MAX_PROPS_BYTES: usize = 64 * 1024;
/// Values in the props of a block or in metadata. Small JSON can be large in memory, so an object counts as
/// [`OBJECT_VALUE_WEIGHT`].
pub const MAX_JSON_VALUES: usize = 10_000;
/// Memory of an object, measured in other values.
pub const OBJECT_VALUE_WEIGHT: usize = 10;
/// Nesting depth of objects and arrays in props and metadata.
pub const MAX_PROPS_DEPTH: usize = 16;
/// Size of all props of a project. A version is stored as a single value and must fit into it.
pub const MAX_TOTAL_PROPS_BYTES: u64 = 32 * 1024 * 1024;
/// Characters in a page path.
pub const MAX_PAGE_PATH_CHARS: usize = 200;

/// Custom block types per project.
pub const MAX_CUSTOM_TYPES: u64 = 100;
/// Size of a block type's schema as JSON.
pub const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// Values in a block type's schema, which bounds the cost of validating a value.
pub const MAX_SCHEMA_VALUES: usize = 500;
/// Patterns in a block type's schema. Each uses memory for as long as the schema is in use.
pub const MAX_SCHEMA_PATTERNS: usize = 20;
/// Steps per call for validating blocks against custom schemas. Less than a second, since other calls may be
/// waiting.
pub const MAX_VALIDATION_STEPS: u64 = 50_000_000;
/// Problems reported at once.
pub const MAX_PROBLEMS: usize = 100;

/// Assets per project.
pub const MAX_ASSETS: u64 = 1_000;
/// Size of an asset.
pub const MAX_ASSET_BYTES: u64 = 10 * 1024 * 1024;
/// Size of all asset content stored for a project and its versions.
pub const MAX_TOTAL_ASSET_BYTES: u64 = 1024 * 1024 * 1024;
/// Asset references in the blocks of a project, counted once per block and asset. All of them are rewritten
/// when a version is restored.
pub const MAX_ASSET_MENTIONS: u64 = 50_000;
/// Characters in an asset name.
pub const MAX_ASSET_NAME_CHARS: usize = 200;
/// Characters in an alternative text.
pub const MAX_ALT_CHARS: usize = 1_000;

/// Size of the HTML in one result.
pub const MAX_HTML_BYTES: usize = 8 * 1024 * 1024;

/// Users listed in an `InUse` rejection.
pub const MAX_LISTED_USERS: usize = 100;
