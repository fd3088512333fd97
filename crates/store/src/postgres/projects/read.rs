//! Converts columns to values.

use std::collections::BTreeSet;

use ::projects::blocks::AncestorBlock;
use ::projects::{
    Account, Asset, AssetId, Block, BlockEntry, BlockId, ContentType, CustomBlockType, Digest, OrderKey,
    Project, ProjectFields, ProjectId, ProjectUsage, Publication, Version,
};
use store_api::StoreError;
use tokio_postgres::Row;

pub(super) use super::super::column::get;
pub(super) use super::super::column::unreadable;
use crate::text_encoding;

/// A non-negative number.
pub(super) fn count(row: &Row, column: usize) -> Result<u64, StoreError> {
    u64::try_from(get::<i64>(row, column)?).map_err(|_| unreadable("a number"))
}

/// A stored number. Larger values are never written.
pub(super) fn to_sql_integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn version_number(row: &Row, column: usize) -> Result<u32, StoreError> {
    u32::try_from(get::<i64>(row, column)?).map_err(|_| unreadable("the number of a version"))
}

pub(super) fn digest(row: &Row, column: usize) -> Result<Digest, StoreError> {
    let bytes: Vec<u8> = get(row, column)?;
    Ok(Digest(bytes.try_into().map_err(|_| unreadable("a digest"))?))
}

/// The columns of a project, in the order that [`project`] expects.
macro_rules! project_columns {
    () => {
        "id, account, name, slug, description, metadata, created, updated, revision, published_version, \
         published_revision, next_version, blocks, block_bytes, types, assets, asset_bytes, versions, \
         version_bytes, mentions"
    };
}
pub(super) use project_columns;

/// Restricts a query to projects of this account: for any other project it returns nothing, without a search.
macro_rules! project_is_owned {
    () => {
        " EXISTS (SELECT FROM projects WHERE id = $1 AND account = current_setting('fluxway.tenant', true))"
    };
}
pub(super) use project_is_owned;

pub(super) fn project_id(row: &Row, column: usize) -> Result<ProjectId, StoreError> {
    ProjectId::parse(&get::<String>(row, column)?).map_err(|_| unreadable("the id of a project"))
}

pub(super) fn project(row: &Row) -> Result<Project, StoreError> {
    let metadata = text_encoding::decode_map(&get::<String>(row, 5)?)
        .ok_or_else(|| unreadable("the metadata of a project"))?;
    let published = match (get::<Option<i64>>(row, 9)?, get::<Option<i64>>(row, 10)?) {
        (Some(_), Some(_)) => {
            Some(Publication { version: version_number(row, 9)?, revision: count(row, 10)? })
        }
        _ => None,
    };
    Ok(Project {
        id: project_id(row, 0)?,
        account: Account::new(get::<String>(row, 1)?),
        fields: ProjectFields { name: get(row, 2)?, slug: get(row, 3)?, description: get(row, 4)?, metadata },
        created: get(row, 6)?,
        updated: get(row, 7)?,
        revision: count(row, 8)?,
        published,
        next_version: version_number(row, 11)?,
        usage: ProjectUsage {
            blocks: count(row, 12)?,
            block_bytes: count(row, 13)?,
            types: count(row, 14)?,
            assets: count(row, 15)?,
            asset_bytes: count(row, 16)?,
            versions: count(row, 17)?,
            version_bytes: count(row, 18)?,
            asset_mentions: count(row, 19)?,
        },
    })
}

/// `name, description, schema, children`.
pub(super) fn custom_type(row: &Row) -> Result<CustomBlockType, StoreError> {
    let children: Option<String> = get(row, 3)?;
    Ok(CustomBlockType {
        name: get(row, 0)?,
        description: get(row, 1)?,
        schema: text_encoding::decode_json(&get::<String>(row, 2)?).ok_or_else(|| unreadable("a schema"))?,
        children: text_encoding::decode_children(children.as_deref())
            .ok_or_else(|| unreadable("the children of a type"))?,
    })
}

pub(super) fn block_id(row: &Row, column: usize) -> Result<BlockId, StoreError> {
    BlockId::parse(&get::<String>(row, column)?).map_err(|_| unreadable("the id of a block"))
}

pub(super) fn order_key(row: &Row, column: usize) -> Result<OrderKey, StoreError> {
    OrderKey::parse(&get::<String>(row, column)?).map_err(|_| unreadable("the place of a block"))
}

/// `id, kind, parent, position, props`.
pub(super) fn block(row: &Row) -> Result<Block, StoreError> {
    let has_parent = !get::<String>(row, 2)?.is_empty();
    Ok(Block {
        id: block_id(row, 0)?,
        kind: get(row, 1)?,
        parent: if has_parent { Some(block_id(row, 2)?) } else { None },
        order: order_key(row, 3)?,
        props: text_encoding::decode_map(&get::<String>(row, 4)?)
            .ok_or_else(|| unreadable("the props of a block"))?,
    })
}

/// A block and the number of its direct children.
pub(super) fn block_entry(row: &Row) -> Result<BlockEntry, StoreError> {
    Ok(BlockEntry { block: block(row)?, children: count(row, 5)? })
}

/// `id, kind`.
pub(super) fn ancestor(row: &Row) -> Result<AncestorBlock, StoreError> {
    Ok(AncestorBlock { id: block_id(row, 0)?, kind: get(row, 1)? })
}

pub(super) fn asset_id(row: &Row, column: usize) -> Result<AssetId, StoreError> {
    AssetId::parse(&get::<String>(row, column)?).map_err(|_| unreadable("the id of an asset"))
}

/// `id, name, content_type, bytes, digest, created, alt`.
pub(super) fn asset(row: &Row) -> Result<Asset, StoreError> {
    let content_type = ContentType::parse(&get::<String>(row, 2)?);
    Ok(Asset {
        id: asset_id(row, 0)?,
        name: get(row, 1)?,
        content_type: content_type.ok_or_else(|| unreadable("the type of an asset"))?,
        bytes: count(row, 3)?,
        digest: digest(row, 4)?,
        created: get(row, 5)?,
        alt: get(row, 6)?,
    })
}

/// `number, note, created, revision, blocks, bytes`.
pub(super) fn version(row: &Row) -> Result<Version, StoreError> {
    Ok(Version {
        number: version_number(row, 0)?,
        note: get(row, 1)?,
        created: get(row, 2)?,
        revision: count(row, 3)?,
        blocks: count(row, 4)?,
        bytes: count(row, 5)?,
    })
}

pub(super) fn read_rows<T, C: FromIterator<T>>(
    rows: &[Row],
    read: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<C, StoreError> {
    rows.iter().map(read).collect()
}

pub(super) fn digests(rows: &[Row]) -> Result<BTreeSet<Digest>, StoreError> {
    read_rows(rows, |row| digest(row, 0))
}
