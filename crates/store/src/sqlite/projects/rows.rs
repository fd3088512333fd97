//! Converts rows to values. Anything that this program never wrote is an error.

use ::projects::{
    Account, Asset, AssetId, Block, BlockEntry, BlockId, ContentType, CustomBlockType, Digest, OrderKey,
    Project, ProjectFields, ProjectId, ProjectRejection, ProjectUsage, Publication, Version,
};
use jiff::Timestamp;
use rusqlite::{Result, Row};

use crate::sqlite::column::{optional_timestamp, unreadable};
use crate::text_encoding;

pub(super) fn to_sql_integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn count(row: &Row<'_>, column: usize) -> Result<u64> {
    u64::try_from(row.get::<_, i64>(column)?).map_err(|_| unreadable(row, column))
}

fn timestamp(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    optional_timestamp(row, column)?.ok_or_else(|| unreadable(row, column))
}

fn parse_text<T>(row: &Row<'_>, column: usize, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    let text = row.get_ref(column)?.as_str().ok().and_then(read);
    text.ok_or_else(|| unreadable(row, column))
}

fn parse_id<T>(
    row: &Row<'_>,
    column: usize,
    parse: impl Fn(&str) -> Result<T, ProjectRejection>,
) -> Result<T> {
    parse_text(row, column, |text| parse(text).ok())
}

pub(super) fn project_id(row: &Row<'_>, column: usize) -> Result<ProjectId> {
    parse_id(row, column, ProjectId::parse)
}

pub(super) fn block_id(row: &Row<'_>) -> Result<BlockId> {
    parse_id(row, 0, BlockId::parse)
}

pub(super) fn order_key(row: &Row<'_>, column: usize) -> Result<OrderKey> {
    parse_text(row, column, |text| OrderKey::parse(text).ok())
}

/// The columns of a project, in the order that [`project`] expects.
macro_rules! project_columns {
    () => {
        "id, account, slug, name, created, updated, revision, published_version, published_revision, next_version,
        blocks, block_bytes, types, assets, asset_bytes, versions, version_bytes, mentions, description, metadata"
    };
}
pub(super) use project_columns;

pub(super) fn project(row: &Row<'_>) -> Result<Project> {
    let published = match row.get(7)? {
        Some(version) => Some(Publication { version, revision: count(row, 8)? }),
        None => None,
    };
    Ok(Project {
        id: project_id(row, 0)?,
        account: Account::new(row.get::<_, String>(1)?),
        fields: ProjectFields {
            slug: row.get(2)?,
            name: row.get(3)?,
            description: row.get(18)?,
            metadata: parse_text(row, 19, text_encoding::decode_map)?,
        },
        created: timestamp(row, 4)?,
        updated: timestamp(row, 5)?,
        revision: count(row, 6)?,
        published,
        next_version: row.get(9)?,
        usage: ProjectUsage {
            blocks: count(row, 10)?,
            block_bytes: count(row, 11)?,
            types: count(row, 12)?,
            assets: count(row, 13)?,
            asset_bytes: count(row, 14)?,
            versions: count(row, 15)?,
            version_bytes: count(row, 16)?,
            asset_mentions: count(row, 17)?,
        },
    })
}

/// The columns of a block type, in the order that [`block_type`] expects.
macro_rules! type_columns {
    () => {
        "name, description, schema, children"
    };
}
pub(super) use type_columns;

pub(super) fn block_type(row: &Row<'_>) -> Result<CustomBlockType> {
    let children: Option<String> = row.get(3)?;
    Ok(CustomBlockType {
        name: row.get(0)?,
        description: row.get(1)?,
        schema: parse_text(row, 2, text_encoding::decode_json)?,
        children: text_encoding::decode_children(children.as_deref()).ok_or_else(|| unreadable(row, 3))?,
    })
}

/// The columns of a block, in the order that [`block`] expects.
macro_rules! block_columns {
    () => {
        "b.id, b.parent, b.position, b.kind, b.props"
    };
}
pub(super) use block_columns;

pub(super) fn block(row: &Row<'_>) -> Result<Block> {
    let parent = parse_text(row, 1, |text| match text {
        "" => Some(None),
        parent => BlockId::parse(parent).ok().map(Some),
    });
    Ok(Block {
        id: block_id(row)?,
        parent: parent?,
        order: order_key(row, 2)?,
        kind: row.get(3)?,
        props: parse_text(row, 4, text_encoding::decode_map)?,
    })
}

/// A block, followed by the number of its children.
pub(super) fn block_entry(row: &Row<'_>) -> Result<BlockEntry> {
    Ok(BlockEntry { block: block(row)?, children: count(row, 5)? })
}

/// The columns of an asset, in the order that [`asset`] expects.
macro_rules! asset_columns {
    () => {
        "id, name, content_type, bytes, digest, created, alt"
    };
}
pub(super) use asset_columns;

pub(super) fn asset(row: &Row<'_>) -> Result<Asset> {
    Ok(Asset {
        id: parse_id(row, 0, AssetId::parse)?,
        name: row.get(1)?,
        content_type: parse_text(row, 2, ContentType::parse)?,
        bytes: count(row, 3)?,
        digest: Digest(row.get(4)?),
        created: timestamp(row, 5)?,
        alt: row.get(6)?,
    })
}

/// The columns of a version, in the order that [`version`] expects.
macro_rules! version_columns {
    () => {
        "number, note, created, revision, blocks, bytes"
    };
}
pub(super) use version_columns;

pub(super) fn version(row: &Row<'_>) -> Result<Version> {
    Ok(Version {
        number: row.get(0)?,
        note: row.get(1)?,
        created: timestamp(row, 2)?,
        revision: count(row, 3)?,
        blocks: count(row, 4)?,
        bytes: count(row, 5)?,
    })
}

/// Parses the string in the first column.
pub(super) fn parse_first_column<T>(row: &Row<'_>, read: impl Fn(&str) -> Option<T>) -> Result<T> {
    parse_text(row, 0, read)
}
