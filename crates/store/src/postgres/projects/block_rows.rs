//! Rows of blocks, and which assets they name.

use std::collections::BTreeSet;

use ::projects::blocks::Above;
use ::projects::{Block, BlockId, Found, OrderKey, ProjectId, Reach};
use futures_util::future::try_join;

use async_trait::async_trait;
use storage::StoreError;

use super::super::transaction::Transaction;
use super::read::{self, each, own};
use super::tree;
use crate::text;
use ::projects::store::tables::{BlockTables, Gap, Neighbours, Removed, Window};

const ONE: &str = concat!(
    "SELECT id, kind, parent, position, props FROM project_blocks WHERE project = $1 AND id = $2 AND",
    own!()
);

const ALL: &str =
    concat!("SELECT id, kind, parent, position, props FROM project_blocks WHERE project = $1 AND", own!());

const CHILDREN: &str = concat!(
    "SELECT b.id, b.kind, b.parent, b.position, b.props,
        (SELECT count(*) FROM project_blocks c WHERE c.project = $1 AND c.parent = b.id)
    FROM project_blocks b WHERE b.project = $1 AND b.parent = $2 AND (b.position, b.id) > ($3, $4) AND",
    own!(),
    " ORDER BY b.position, b.id LIMIT $5"
);

const PLACES: &str = "SELECT id, position FROM project_blocks WHERE project = $1 AND parent = $2
    ORDER BY position, id";

/// Each by the index, however many pages there are.
const TAKEN_PATHS: &str = concat!(
    "SELECT sought FROM unnest($2::bytea[]) AS sought
    WHERE EXISTS (SELECT FROM project_blocks WHERE project = $1 AND path = sought OFFSET 0) AND",
    own!()
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

const PUT_PLACE: &str = "UPDATE project_blocks SET parent = $3, position = $4 WHERE project = $1 AND id = $2";

const PUT_PLACES: &str = "UPDATE project_blocks b SET parent = $2, position = new.position
    FROM unnest($3::text[], $4::text[]) AS new (id, position) WHERE b.project = $1 AND b.id = new.id";

#[async_trait]
impl BlockTables for Transaction<'_> {
    async fn block(&self, project: &ProjectId, id: &BlockId) -> Result<Option<Block>, StoreError> {
        let rows = self.rows(ONE, &[&project.as_str(), &id.as_str()]).await?;
        rows.first().map(read::block).transpose()
    }

    async fn all_blocks(&self, project: &ProjectId) -> Result<Vec<Block>, StoreError> {
        let rows = self.rows(ALL, &[&project.as_str()]).await?;
        each(&rows, read::block)
    }

    async fn inside(
        &self,
        project: &ProjectId,
        root: Option<&BlockId>,
        reach: Reach,
    ) -> Result<Vec<Found>, StoreError> {
        tree::inside(self, project, root, reach).await
    }

    async fn children(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        window: Window<String>,
    ) -> Result<Vec<Found>, StoreError> {
        let (key, id) = window.after.unwrap_or_default();
        let rows =
            self.rows(CHILDREN, &[&project.as_str(), &inside_of(parent), &key, &id, &window.limit]).await?;
        each(&rows, read::found)
    }

    async fn places(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
    ) -> Result<Vec<(BlockId, OrderKey)>, StoreError> {
        let rows = self.rows(PLACES, &[&project.as_str(), &inside_of(parent)]).await?;
        Ok(each(&rows, |row| Ok((read::block_id(row, 0)?, read::order_key(row, 1)?)))?)
    }

    async fn above(&self, project: &ProjectId, id: &BlockId) -> Result<Vec<Above>, StoreError> {
        tree::above(self, project, id).await
    }

    async fn height(&self, project: &ProjectId, id: &BlockId) -> Result<usize, StoreError> {
        tree::height(self, project, id).await
    }

    async fn neighbours(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        gap: Gap<'_>,
        moved: Option<&BlockId>,
    ) -> Result<Neighbours, StoreError> {
        let moved = moved.map_or("", BlockId::as_str);
        tree::neighbours(self, project, inside_of(parent), gap, moved).await
    }

    async fn taken_paths(
        &self,
        project: &ProjectId,
        paths: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, StoreError> {
        let digests: Vec<[u8; 32]> = paths.iter().map(|path| text::path_digest(path)).collect();
        let sought: Vec<&[u8]> = digests.iter().map(<[u8; 32]>::as_slice).collect();
        let taken = read::digests(&self.rows(TAKEN_PATHS, &[&project.as_str(), &sought]).await?)?;
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
        try_join(add(self, project, blocks), add_assets(self, project, blocks)).await?;
        Ok(())
    }

    async fn put_props(&self, project: &ProjectId, block: &Block) -> Result<(), StoreError> {
        let path = text::page_path(block);
        let assets = block.assets();
        let assets: Vec<&str> = assets.iter().map(::projects::AssetId::as_str).collect();
        self.rows(
            PUT_PROPS,
            &[
                &project.as_str(),
                &self.tenant(),
                &block.id.as_str(),
                &text::of_map(&block.props),
                &path.as_ref().map(<[u8; 32]>::as_slice),
                &assets,
            ],
        )
        .await?;
        Ok(())
    }

    async fn put_places(
        &self,
        project: &ProjectId,
        parent: Option<&BlockId>,
        places: &[(BlockId, OrderKey)],
    ) -> Result<(), StoreError> {
        let (project, parent) = (project.as_str(), inside_of(parent));
        match places {
            [] => {}
            [(id, key)] => {
                self.rows(PUT_PLACE, &[&project, &id.as_str(), &parent, &key.as_str()]).await?;
            }
            _ => {
                let ids: Vec<&str> = places.iter().map(|(id, _)| id.as_str()).collect();
                let keys: Vec<&str> = places.iter().map(|(_, key)| key.as_str()).collect();
                self.rows(PUT_PLACES, &[&project, &parent, &ids, &keys]).await?;
            }
        }
        Ok(())
    }

    async fn delete_inside(&self, project: &ProjectId, root: &BlockId) -> Result<Removed, StoreError> {
        tree::delete(self, project, root).await
    }
}

/// What a block is inside of, as it is kept.
fn inside_of(parent: Option<&BlockId>) -> &str {
    parent.map_or("", BlockId::as_str)
}

async fn add(tables: &Transaction<'_>, project: &ProjectId, blocks: &[Block]) -> Result<(), StoreError> {
    let ids: Vec<&str> = blocks.iter().map(|block| block.id.as_str()).collect();
    let kinds: Vec<&str> = blocks.iter().map(|block| block.kind.as_str()).collect();
    let parents: Vec<&str> = blocks.iter().map(|block| inside_of(block.parent.as_ref())).collect();
    let positions: Vec<&str> = blocks.iter().map(|block| block.order.as_str()).collect();
    let props: Vec<String> = blocks.iter().map(|block| text::of_map(&block.props)).collect();
    let paths: Vec<Option<[u8; 32]>> = blocks.iter().map(text::page_path).collect();
    let paths: Vec<Option<&[u8]>> =
        paths.iter().map(|path| path.as_ref().map(<[u8; 32]>::as_slice)).collect();
    let (project, account) = (project.as_str(), tables.tenant());
    tables.rows(ADD, &[&project, &account, &ids, &kinds, &parents, &positions, &props, &paths]).await?;
    Ok(())
}

async fn add_assets(
    tables: &Transaction<'_>,
    project: &ProjectId,
    blocks: &[Block],
) -> Result<(), StoreError> {
    let named: Vec<_> =
        blocks.iter().flat_map(|block| block.assets().into_iter().map(|asset| (&block.id, asset))).collect();
    if named.is_empty() {
        return Ok(());
    }
    let blocks: Vec<&str> = named.iter().map(|(block, _)| block.as_str()).collect();
    let assets: Vec<&str> = named.iter().map(|(_, asset)| asset.as_str()).collect();
    tables.rows(ADD_ASSETS, &[&project.as_str(), &tables.tenant(), &blocks, &assets]).await?;
    Ok(())
}
