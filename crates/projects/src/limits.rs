//! How much there may be. Whatever is written stays below these; what is refused names the one it broke.

/// Projects of one account.
pub const MAX_PROJECTS: u64 = 10_000;
/// Characters in the name of a project.
pub const MAX_NAME_CHARS: usize = 200;
/// Characters in a slug.
pub const MAX_SLUG_CHARS: usize = 63;
/// Characters in a description or in the note of a version.
pub const MAX_DESCRIPTION_CHARS: usize = 2_000;
/// Bytes of the metadata of a project, as JSON.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;
/// Versions that a project keeps.
pub const MAX_VERSIONS: u64 = 500;
/// Bytes of all versions of a project, as text.
pub const MAX_TOTAL_VERSION_BYTES: u64 = 1024 * 1024 * 1024;

/// Blocks of a project, pages included.
pub const MAX_BLOCKS: u64 = 20_000;
/// Blocks that one call may create.
pub const MAX_NEW_BLOCKS_PER_CALL: usize = 2_000;
/// How deep blocks may be inside one another. A page is at depth 1.
pub const MAX_BLOCK_DEPTH: usize = 32;
/// Bytes of the props of one block, as JSON.
pub const MAX_PROPS_BYTES: usize = 64 * 1024;
/// Values in the props of one block, or in metadata. What is small as text can be large in memory; so an object counts as
/// [`OBJECT_VALUE_WEIGHT`].
pub const MAX_JSON_VALUES: usize = 10_000;
/// How many other values take as much memory as an object.
pub const OBJECT_VALUE_WEIGHT: usize = 10;
/// Objects and lists inside one another in props and metadata.
pub const MAX_PROPS_DEPTH: usize = 16;
/// Bytes of all props of a project: a version is one value, and must fit where it is kept.
pub const MAX_TOTAL_PROPS_BYTES: u64 = 32 * 1024 * 1024;
/// Characters in the path of a page.
pub const MAX_PAGE_PATH_CHARS: usize = 200;

/// Block types of a project's own.
pub const MAX_CUSTOM_TYPES: u64 = 100;
/// Bytes of the schema of a block type, as JSON.
pub const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// Values in the schema of a block type: what judging a value of a block may cost.
pub const MAX_SCHEMA_VALUES: usize = 500;
/// Patterns in the schema of a block type. Each takes memory for as long as the schema is used.
pub const MAX_SCHEMA_PATTERNS: usize = 20;
/// Steps that one call may take to judge blocks by schemas of a project's own, which others may wait for: less than a second.
pub const MAX_VALIDATION_STEPS: u64 = 50_000_000;
/// Problems that are told at once.
pub const MAX_PROBLEMS: usize = 100;

/// Assets of a project.
pub const MAX_ASSETS: u64 = 1_000;
/// Bytes of one asset.
pub const MAX_ASSET_BYTES: u64 = 10 * 1024 * 1024;
/// Bytes of all that a project keeps of assets, for itself and for its versions.
pub const MAX_TOTAL_ASSET_BYTES: u64 = 1024 * 1024 * 1024;
/// How often blocks of a project name assets; a block counts once for each asset. All of it is written when a version is restored.
pub const MAX_ASSET_MENTIONS: u64 = 50_000;
/// Characters in the name of an asset.
pub const MAX_ASSET_NAME_CHARS: usize = 200;
/// Characters in the text that stands for an image.
pub const MAX_ALT_CHARS: usize = 1_000;

/// Bytes of HTML in one answer.
pub const MAX_HTML_BYTES: usize = 8 * 1024 * 1024;

/// Users that a refusal names.
pub const MAX_LISTED_USERS: usize = 100;
