//! Blocks and their asset references.

use std::collections::BTreeSet;

use ::projects::blocks::AncestorBlock;
use ::projects::{Block, BlockEntry, BlockId, OrderKey, ProjectId, TreeQuery};
use futures_util::future::try_join;

use async_trait::async_trait;
use store_api::StoreError;

use super::super::transaction::PgTransaction;
use super::read::{self, project_is_owned, read_rows};
use super::tree;
use crate::text_encoding;
use ::projects::store::tables::{BlockTables, NeighbourKeys, RemovedBlocks, RowWindow, SiblingGap};

const BY_ID: &str = concat!(
    "SELECT id, kind, parent, position, props FROM project_blocks WHERE project = $1 AND id = $2 AND",
    project_is_owned!()
);

const ALL: &str = concat!(
    "SELECT id, kind, parent, position, props FROM project_blocks WHERE project = $1 AND",
    project_is_owned!()
);

const CHILDREN: &str = concat!(
    "SELECT b.id, b.kind, b.parent, b.position, b.props,
        (SELECT count(*) FROM project_blocks c WHERE c.project = $1 AND c.parent = b.id)
    FROM project_blocks b WHERE b.project = $1 AND b.parent = $2 AND (b.position, b.id) > ($3, $4) AND",
    project_is_owned!(),
    " ORDER BY b.position, b.id LIMIT $5"
);

const CHILD_KEYS: &str = "SELECT id, position FROM project_blocks WHERE project = $1 AND parent = $2
    ORDER BY position, id";

/// Looks up each path by index, regardless of the number of pages.
const TAKEN_PATHS: &str = concat!(
    "SELECT sought FROM unnest($2::bytea[]) AS sought
    WHERE EXISTS (SELECT FROM project_blocks WHERE project = $1 AND path = sought OFFSET 0) AND",
    project_is_owned!()
);

const ADD: &str = "INSERT INTO project_blocks (project, account, id, kind, parent, position, props, path)
    SELECT $1, $2, new.* FROM unnest(
        $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[]) AS new";

const ADD_ASSETS: &str = "INSERT INTO project_block_assets (project, account, block, asset)
    SELECT $1, $2, named.* FROM unnest($3::text[], $4::text[]) AS named";

const PUT_PROPS: &str = "WITH
    put AS (UPDATE project_blocks SET props = $4, path = $5 WHERE project = $1 AND id = $3),
    unnamed AS (DELETE FROM project_block_assets WHERE project = $1 AND block = $3 AND asset <> ALL ($6::text[]))
    INSERT INTO project_block_assets (project, account, block, asset)
        SELECT $1, $2, $3, named FROM unnest($6) AS named ON CONFLICT DO NOTHING";

const PUT_POSITION: &str =
    "UPDATE project_blocks SET parent = $3, position = $4 WHERE project = $1 AND id = $2";

const PUT_POSITIONS: &str = "UPDATE project_blocks b SET parent = $2, position = new.position
    FROM unnest($3::text[], $4::text[]) AS new (id, position) WHERE b.project = $1 AND b.id = new.id";

#[async_trait]
impl BlockTables for PgTransaction<'_> {
    async fn block(&self, project: &ProjectId, id: &BlockId) -> Result<Option<Block>, StoreError> {
        let rows = self.fetch_rows(BY_ID, &[&project.as_str(), &id.as_str()]).await?;
        rows.first().map(read::block).transpose()
    }

    async fn all_blocks(&self, project: &ProjectId) -> Result<Vec<Block>, StoreError> {
        let rows = self.fetch_rows(ALL, &[&project.as_str()]).await?;
        read_rows(&rows, read::block)
    }

    async fn subtree(
        &self,
        project: &ProjectId,
        root: Option<&BlockId>,
        query: TreeQuery,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        tree::subtree(self, project, root, query).await
    }

    async fn children(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        window: RowWindow<String>,
    ) -> Result<Vec<BlockEntry>, StoreError> {
        let (key, id) = window.after.unwrap_or_default();
        let rows = self
            .fetch_rows(CHILDREN, &[&project.as_str(), &parent_key(parent), &key, &id, &window.limit])
            .await?;
        read_rows(&rows, read::block_entry)
    }

    async fn child_keys(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
    ) -> Result<Vec<(BlockId, OrderKey)>, StoreError> {
        let rows = self.fetch_rows(CHILD_KEYS, &[&project.as_str(), &parent_key(parent)]).await?;
        Ok(read_rows(&rows, |row| Ok((read::block_id(row, 0)?, read::order_key(row, 1)?)))?)
    }

    async fn ancestors(&self, project: &ProjectId, id: &BlockId) -> Result<Vec<AncestorBlock>, StoreError> {
        tree::ancestors(self, project, id).await
    }

    async fn height(&self, project: &ProjectId, id: &BlockId) -> Result<usize, StoreError> {
        tree::height(self, project, id).await
    }

    async fn neighbours(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: SiblingGap<'_>,
        moved: Option<&BlockId>,
    ) -> Result<NeighbourKeys, StoreError> {
        let moved = moved.map_or("", BlockId::as_str);
        tree::neighbours(self, project, parent_key(parent), gap, moved).await
    }

    async fn taken_paths(
        &self,
        project: &ProjectId,
        paths: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, StoreError> {
        let digests: Vec<[u8; 32]> = paths.iter().map(|path| text_encoding::path_digest(path)).collect();
        let sought: Vec<&[u8]> = digests.iter().map(<[u8; 32]>::as_slice).collect();
        let taken = read::digests(&self.fetch_rows(TAKEN_PATHS, &[&project.as_str(), &sought]).await?)?;
        let both = paths.iter().zip(digests);
        Ok(both
            .filter(|(_, digest)| taken.contains(&::projects::Digest(*digest)))
            .map(|(path, _)| path.clone())
            .collect())
    }

    async fn add_blocks(&self, project: &ProjectId, blocks: &[Block]) -> Result<(), StoreError> {
        if blocks.is_empty() {
            return Ok(());
        }
        try_join(insert_blocks(self, project, blocks), insert_asset_mentions(self, project, blocks)).await?;
        Ok(())
    }

    async fn put_props(&self, project: &ProjectId, block: &Block) -> Result<(), StoreError> {
        let path = text_encoding::page_path_digest(block);
        let assets = block.mentioned_assets();
        let assets: Vec<&str> = assets.iter().map(::projects::AssetId::as_str).collect();
        self.fetch_rows(
            PUT_PROPS,
            &[
                &project.as_str(),
                &self.tenant(),
                &block.id.as_str(),
                &text_encoding::encode_map(&block.props),
                &path.as_ref().map(<[u8; 32]>::as_slice),
                &assets,
            ],
        )
        .await?;
        Ok(())
    }

    async fn put_positions(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        places: &[(BlockId, OrderKey)],
    ) -> Result<(), StoreError> {
        let (project, parent) = (project.as_str(), parent_key(parent));
        match places {
            [] => {}
            [(id, key)] => {
                self.fetch_rows(PUT_POSITION, &[&project, &id.as_str(), &parent, &key.as_str()]).await?;
            }
            _ => {
                let ids: Vec<&str> = places.iter().map(|(id, _)| id.as_str()).collect();
                let keys: Vec<&str> = places.iter().map(|(_, key)| key.as_str()).collect();
                self.fetch_rows(PUT_POSITIONS, &[&project, &parent, &ids, &keys]).await?;
            }
        }
        Ok(())
    }

    async fn delete_subtree(&self, project: &ProjectId, root: &BlockId) -> Result<RemovedBlocks, StoreError> {
        tree::delete_subtree(self, project, root).await
    }
}

/// The stored parent; empty for pages.
fn parent_key(parent: Option<&BlockId>) -> &str {
    parent.map_or("", BlockId::as_str)
}

async fn insert_blocks(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    blocks: &[Block],
) -> Result<(), StoreError> {
    let ids: Vec<&str> = blocks.iter().map(|block| block.id.as_str()).collect();
    let kinds: Vec<&str> = blocks.iter().map(|block| block.kind.as_str()).collect();
    let parents: Vec<&str> = blocks.iter().map(|block| parent_key(block.parent.as_ref())).collect();
    let positions: Vec<&str> = blocks.iter().map(|block| block.order.as_str()).collect();
    let props: Vec<String> = blocks.iter().map(|block| text_encoding::encode_map(&block.props)).collect();
    let paths: Vec<Option<[u8; 32]>> = blocks.iter().map(text_encoding::page_path_digest).collect();
    let paths: Vec<Option<&[u8]>> =
        paths.iter().map(|path| path.as_ref().map(<[u8; 32]>::as_slice)).collect();
    let (project, account) = (project.as_str(), tables.tenant());
    tables.fetch_rows(ADD, &[&project, &account, &ids, &kinds, &parents, &positions, &props, &paths]).await?;
    Ok(())
}

async fn insert_asset_mentions(
    tables: &PgTransaction<'_>,
    project: &ProjectId,
    blocks: &[Block],
) -> Result<(), StoreError> {
    let named: Vec<_> = blocks
        .iter()
        .flat_map(|block| block.mentioned_assets().into_iter().map(|asset| (&block.id, asset)))
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    let blocks: Vec<&str> = named.iter().map(|(block, _)| block.as_str()).collect();
    let assets: Vec<&str> = named.iter().map(|(_, asset)| asset.as_str()).collect();
    tables.fetch_rows(ADD_ASSETS, &[&project.as_str(), &tables.tenant(), &blocks, &assets]).await?;
    Ok(())
}
