//! Websites into tables, fast: by plain SQL, without any rule, and before anybody uses the database.

use std::path::Path;

use rusqlite::{Connection, params};
use server::Timestamp;
use tokio_postgres::Client;

use super::made::{ACCOUNT, Block, DESIGN, Site, kept};
use crate::Outcome;

/// Websites that go into a database together.
const TOGETHER: usize = 50;

/// Puts all of these into a file whose tables are there.
pub(super) fn sqlite(path: &Path, sites: impl ExactSizeIterator<Item = Site>) -> Outcome<()> {
    let mut connection = Connection::open(path)?;
    // If the machine stops now, the bench begins again.
    connection.pragma_update(None, "synchronous", "OFF")?;
    let count = kept(sites.len());
    let transaction = connection.transaction()?;
    transaction
        .execute("INSERT INTO project_accounts (account, projects) VALUES (?1, ?2)", (ACCOUNT, count))?;
    for site in sites {
        add(&transaction, &site)?;
    }
    transaction.commit()?;
    connection.pragma_update(None, "wal_checkpoint", "TRUNCATE")?;
    Ok(())
}

fn add(connection: &Connection, site: &Site) -> Outcome<()> {
    let created = site.created().as_microsecond();
    let (blocks, bytes) = site.usage();
    connection
        .prepare_cached(
            "INSERT INTO projects (id, account, slug, name, created, updated, revision, next_version, blocks, block_bytes,
                types, assets, asset_bytes, versions, description, metadata)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1, 1, ?6, ?7, 0, 0, 0, 0, 'One of many.', '{}')",
        )?
        .execute(params![site.id, ACCOUNT, site.slug(), site.name(), created, blocks, bytes])?;
    connection
        .prepare_cached("INSERT INTO project_designs (project, document) VALUES (?1, ?2)")?
        .execute((&site.id, DESIGN.as_str()))?;
    let mut block = connection.prepare_cached(
        "INSERT INTO project_blocks (project, id, parent, position, kind, path, props)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for Block { id, parent, position, kind, path, props } in &site.blocks {
        block.execute(params![site.id, id, parent, position.as_str(), kind, path, props])?;
    }
    Ok(())
}

/// Puts all of these into a database whose tables are there. Whoever does it passes through all walls.
pub(super) async fn postgres(client: &Client, sites: impl ExactSizeIterator<Item = Site>) -> Outcome<()> {
    let count = kept(sites.len());
    let account = "INSERT INTO project_accounts (account, projects) VALUES ($1, $2)";
    client.execute(account, &[&ACCOUNT, &count]).await?;
    let mut waiting = Vec::with_capacity(TOGETHER);
    for site in sites {
        waiting.push(site);
        if waiting.len() == TOGETHER {
            add_together(client, &waiting).await?;
            waiting.clear();
        }
    }
    add_together(client, &waiting).await?;
    // What the database would come to by itself after a while.
    client.batch_execute("VACUUM ANALYZE").await?;
    Ok(client.batch_execute("CHECKPOINT").await?)
}

async fn add_together(client: &Client, sites: &[Site]) -> Outcome<()> {
    let ids: Vec<&str> = sites.iter().map(|site| site.id.as_str()).collect();
    let names: Vec<String> = sites.iter().map(Site::name).collect();
    let slugs: Vec<String> = sites.iter().map(Site::slug).collect();
    let created: Vec<Timestamp> = sites.iter().map(Site::created).collect();
    let (counts, bytes): (Vec<i64>, Vec<i64>) = sites.iter().map(Site::usage).unzip();
    client
        .execute(
            "INSERT INTO projects (id, account, name, slug, description, metadata, created, updated, revision, next_version,
                blocks, block_bytes, types, assets, asset_bytes, versions)
             SELECT id, $1, name, slug, 'One of many.', '{}', made, made, 1, 1, blocks, bytes, 0, 0, 0, 0
             FROM unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::bigint[], $7::bigint[])
                AS new (id, name, slug, made, blocks, bytes)",
            &[&ACCOUNT, &ids, &names, &slugs, &created, &counts, &bytes],
        )
        .await?;
    client
        .execute(
            "INSERT INTO project_designs (project, account, document) SELECT id, $1, $2 FROM unnest($3::text[]) AS id",
            &[&ACCOUNT, &DESIGN.as_str(), &ids],
        )
        .await?;
    add_blocks(client, sites).await
}

async fn add_blocks(client: &Client, sites: &[Site]) -> Outcome<()> {
    let all: Vec<(&str, &Block)> =
        sites.iter().flat_map(|site| site.blocks.iter().map(|block| (site.id.as_str(), block))).collect();
    let column = |of: fn(&Block) -> &str| all.iter().map(|(_, block)| of(block)).collect::<Vec<&str>>();
    let projects: Vec<&str> = all.iter().map(|(project, _)| *project).collect();
    let paths: Vec<Option<&[u8]>> =
        all.iter().map(|(_, block)| block.path.as_ref().map(<[u8; 32]>::as_slice)).collect();
    client
        .execute(
            "INSERT INTO project_blocks (account, project, id, kind, parent, position, props, path)
             SELECT $1, new.* FROM unnest(
                $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[]) AS new",
            &[
                &ACCOUNT,
                &projects,
                &column(|block| &block.id),
                &column(|block| block.kind),
                &column(|block| &block.parent),
                &column(|block| block.position.as_str()),
                &column(|block| &block.props),
                &paths,
            ],
        )
        .await?;
    Ok(())
}
