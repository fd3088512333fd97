//! Block types of a project's own.

use std::collections::BTreeSet;

use futures_util::future::try_join;
use storage::{StoreError, is_name};

use super::tables::Tables;
use super::{ProjectStore, compute, hold, look, note, project_and, row};
use crate::error::{Error, Noun, Refusal};
use crate::ids::{Account, BlockId, ProjectId};
use crate::limits::MAX_USERS;
use crate::project::{AtRevision, Usage, Write};
use crate::types::{CustomType, Types};

impl ProjectStore {
    /// The block types of a project's own, by name.
    pub async fn block_types(
        &self,
        account: &Account,
        id: &ProjectId,
    ) -> Result<AtRevision<Vec<CustomType>>, Error> {
        self.read(account, id.clone(), |tables, (account, id)| {
            Box::pin(async move {
                let types = row(tables.types(id, None));
                let (revision, value) = project_and(look(tables, account, id), types).await?;
                Ok(AtRevision { revision, value })
            })
        })
        .await
    }

    /// Makes a block type, or replaces the one of its name. Blocks that are there are not judged again: publishing does.
    pub async fn put_block_type(
        &self,
        write: Write,
        own: CustomType,
    ) -> Result<AtRevision<CustomType>, Error> {
        self.write(write, own, |tables, (write, own)| {
            Box::pin(async move {
                let problems = compute(tables, || own.problems())?;
                let is_sound = problems.is_empty();
                let old = async {
                    if is_sound { Ok(named(tables, &write.project, &own.name).await?) } else { Ok(None) }
                };
                let (project, old) = project_and(hold(tables, write), old).await?;
                Refusal::if_any(problems)?;
                let types = project.usage.types + u64::from(old.is_none());
                let put = row(tables.put_types(&project.id, std::slice::from_ref(own)));
                let usage = Usage { types, ..project.usage };
                let ((), revision) = try_join(put, note(tables, write, &project, usage)).await?;
                Ok(AtRevision { revision, value: own.clone() })
            })
        })
        .await
    }

    /// Deletes a block type. `InUse` names the first [`MAX_USERS`] blocks that are of it, by id.
    pub async fn delete_block_type(&self, write: Write, name: &str) -> Result<AtRevision<CustomType>, Error> {
        self.write(write, name.to_owned(), |tables, (write, name)| {
            Box::pin(async move {
                let (project, (gone, users)) =
                    project_and(hold(tables, write), used(tables, &write.project, name)).await?;
                if !users.is_empty() {
                    let by = users.iter().map(ToString::to_string).collect();
                    return Err(Refusal::InUse { what: Noun::BlockType, id: name.clone(), by }.into());
                }
                let usage = Usage { types: project.usage.types.saturating_sub(1), ..project.usage };
                let delete = row(tables.delete_type(&project.id, name));
                let ((), revision) = try_join(delete, note(tables, write, &project, usage)).await?;
                Ok(AtRevision { revision, value: gone })
            })
        })
        .await
    }
}

/// A type of this name, and the first blocks of it.
async fn used(
    tables: &dyn Tables,
    project: &ProjectId,
    name: &str,
) -> Result<(CustomType, Vec<BlockId>), Error> {
    let missing = || Refusal::not_found(Noun::BlockType, name);
    if !is_name(name) {
        return Err(missing().into());
    }
    let users = tables.blocks_of_type(project, name, MAX_USERS);
    let (found, users) = try_join(named(tables, project, name), users).await?;
    Ok((found.ok_or_else(missing)?, users))
}

async fn named(
    tables: &dyn Tables,
    project: &ProjectId,
    name: &str,
) -> Result<Option<CustomType>, StoreError> {
    let only = BTreeSet::from([name.to_owned()]);
    Ok(tables.types(project, Some(&only)).await?.pop())
}

/// The types of these names that are not built in, for a rule. If one of them is not there, all are: the rule then says
/// which there are.
pub(super) async fn wanted(
    tables: &dyn Tables,
    project: &ProjectId,
    names: &BTreeSet<String>,
) -> Result<Types, Error> {
    if names.is_empty() {
        return Ok(Types::default());
    }
    let only: BTreeSet<String> = names.iter().filter(|name| is_name(name)).cloned().collect();
    let mut own = if only.is_empty() { Vec::new() } else { tables.types(project, Some(&only)).await? };
    if own.len() < names.len() {
        own = tables.types(project, None).await?;
    }
    Ok(Types::with(&own))
}
