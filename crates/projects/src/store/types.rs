//! Custom block types of a project.

use std::collections::BTreeSet;

use futures_util::future::try_join;
use store_api::{StoreError, is_valid_name};

use super::tables::Tables;
use super::{ProjectStore, compute, join_project_first, lock_project, query, read_revision, record_write};
use crate::error::{EntityKind, Error, ProjectRejection};
use crate::ids::{Account, BlockId, ProjectId};
use crate::limits::MAX_LISTED_USERS;
use crate::project::{AtRevision, ProjectUsage, ProjectWrite};
use crate::types::{BlockTypes, CustomBlockType};

impl ProjectStore {
    /// The custom block types of a project, by name.
    pub async fn block_types(
        &self,
        account: &Account,
        id: &ProjectId,
    ) -> Result<AtRevision<Vec<CustomBlockType>>, Error> {
        self.read(account, id.clone(), |tables, (account, id)| {
            Box::pin(async move {
                let types = query(tables.types(id, None));
                let (revision, value) = join_project_first(read_revision(tables, account, id), types).await?;
                Ok(AtRevision { revision, value })
            })
        })
        .await
    }

    /// Creates or replaces a block type. Existing blocks are not validated again until the project is
    /// published.
    pub async fn put_block_type(
        &self,
        write: ProjectWrite,
        own: CustomBlockType,
    ) -> Result<AtRevision<CustomBlockType>, Error> {
        self.write(write, own, |tables, (write, own)| {
            Box::pin(async move {
                let problems = compute(tables, || own.problems())?;
                let is_sound = problems.is_empty();
                let old = async {
                    if is_sound { Ok(find_type(tables, &write.project, &own.name).await?) } else { Ok(None) }
                };
                let (project, old) = join_project_first(lock_project(tables, write), old).await?;
                ProjectRejection::reject_if_any(problems)?;
                let types = project.usage.types + u64::from(old.is_none());
                let put = query(tables.put_types(&project.id, std::slice::from_ref(own)));
                let usage = ProjectUsage { types, ..project.usage };
                let ((), revision) = try_join(put, record_write(tables, write, &project, usage)).await?;
                Ok(AtRevision { revision, value: own.clone() })
            })
        })
        .await
    }

    /// Deletes a block type. `InUse` lists the first [`MAX_LISTED_USERS`] blocks of the type, by id.
    pub async fn delete_block_type(
        &self,
        write: ProjectWrite,
        name: &str,
    ) -> Result<AtRevision<CustomBlockType>, Error> {
        self.write(write, name.to_owned(), |tables, (write, name)| {
            Box::pin(async move {
                let (project, (gone, users)) = join_project_first(
                    lock_project(tables, write),
                    type_with_users(tables, &write.project, name),
                )
                .await?;
                if !users.is_empty() {
                    let by = users.iter().map(ToString::to_string).collect();
                    return Err(ProjectRejection::InUse {
                        what: EntityKind::BlockType,
                        id: name.clone(),
                        by,
                    }
                    .into());
                }
                let usage = ProjectUsage { types: project.usage.types.saturating_sub(1), ..project.usage };
                let delete = query(tables.delete_type(&project.id, name));
                let ((), revision) = try_join(delete, record_write(tables, write, &project, usage)).await?;
                Ok(AtRevision { revision, value: gone })
            })
        })
        .await
    }
}

/// A type and the first blocks of it.
async fn type_with_users(
    tables: &dyn Tables,
    project: &ProjectId,
    name: &str,
) -> Result<(CustomBlockType, Vec<BlockId>), Error> {
    let missing = || ProjectRejection::not_found(EntityKind::BlockType, name);
    if !is_valid_name(name) {
        return Err(missing().into());
    }
    let users = tables.blocks_of_type(project, name, MAX_LISTED_USERS);
    let (found, users) = try_join(find_type(tables, project, name), users).await?;
    Ok((found.ok_or_else(missing)?, users))
}

async fn find_type(
    tables: &dyn Tables,
    project: &ProjectId,
    name: &str,
) -> Result<Option<CustomBlockType>, StoreError> {
    let only = BTreeSet::from([name.to_owned()]);
    Ok(tables.types(project, Some(&only)).await?.pop())
}

/// Loads the custom types of these names. If one is missing, loads all, so that the rule can list the
/// available ones.
pub(super) async fn load_types(
    tables: &dyn Tables,
    project: &ProjectId,
    names: &BTreeSet<String>,
) -> Result<BlockTypes, Error> {
    if names.is_empty() {
        return Ok(BlockTypes::default());
    }
    let only: BTreeSet<String> = names.iter().filter(|name| is_valid_name(name)).cloned().collect();
    let mut own = if only.is_empty() { Vec::new() } else { tables.types(project, Some(&only)).await? };
    if own.len() < names.len() {
        own = tables.types(project, None).await?;
    }
    Ok(BlockTypes::with_custom(&own))
}
