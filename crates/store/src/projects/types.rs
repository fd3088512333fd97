//! Block types of a project's own.

use std::collections::BTreeSet;

use ::projects::limits::MAX_USERS;
use ::projects::{Account, AtRevision, BlockId, CustomType, Noun, ProjectId, Refusal, Types, Usage, Write};
use futures_util::future::try_join;

use super::tables::{Answer, Tables};
use super::{apart, hold, look, note, with};
use crate::names::is_name;

/// The types of a project's own.
pub(crate) async fn list<T: Tables>(
    tables: &T,
    account: &Account,
    id: &ProjectId,
) -> Answer<T, AtRevision<Vec<CustomType>>> {
    let types = async { tables.types(id, None).await };
    let (revision, value) = with(look(tables, account, id), types).await?;
    Ok(AtRevision { revision, value })
}

/// Makes a type, or replaces the one of its name.
pub(crate) async fn put<T: Tables>(
    tables: &T,
    write: &Write,
    own: &CustomType,
) -> Answer<T, AtRevision<CustomType>> {
    let problems = apart(|| own.problems());
    let is_sound = problems.is_empty();
    let old = async { if is_sound { named(tables, &write.project, &own.name).await } else { Ok(None) } };
    let (project, old) = with(hold(tables, write), old).await?;
    Refusal::if_any(problems)?;
    let types = project.usage.types + u64::from(old.is_none());
    let put = tables.put_types(&project.id, std::slice::from_ref(own));
    let usage = Usage { types, ..project.usage };
    let ((), revision) = try_join(put, note(tables, write, &project, usage)).await?;
    Ok(AtRevision { revision, value: own.clone() })
}

/// Deletes a type that no block is of.
pub(crate) async fn delete<T: Tables>(
    tables: &T,
    write: &Write,
    name: &str,
) -> Answer<T, AtRevision<CustomType>> {
    let (project, (gone, users)) = with(hold(tables, write), used(tables, &write.project, name)).await?;
    if !users.is_empty() {
        let by = users.iter().map(ToString::to_string).collect();
        return Err(Refusal::InUse { what: Noun::BlockType, id: name.to_owned(), by }.into());
    }
    let types = project.usage.types.saturating_sub(1);
    let usage = Usage { types, ..project.usage };
    let delete = tables.delete_type(&project.id, name);
    let ((), revision) = try_join(delete, note(tables, write, &project, usage)).await?;
    Ok(AtRevision { revision, value: gone })
}

/// A type of this name, and the first blocks of it.
async fn used<T: Tables>(
    tables: &T,
    project: &ProjectId,
    name: &str,
) -> Answer<T, (CustomType, Vec<BlockId>)> {
    let missing = || Refusal::not_found(Noun::BlockType, name);
    if !is_name(name) {
        return Err(missing().into());
    }
    let users = tables.blocks_of_type(project, name, MAX_USERS);
    let (found, users) = try_join(named(tables, project, name), users).await?;
    Ok((found.ok_or_else(missing)?, users))
}

async fn named<T: Tables>(tables: &T, project: &ProjectId, name: &str) -> Answer<T, Option<CustomType>> {
    let only = BTreeSet::from([name.to_owned()]);
    Ok(tables.types(project, Some(&only)).await?.pop())
}

/// The types of these names that are not built in, for a rule. If one of them is not there, all are: the rule then tells
/// which there are.
pub(super) async fn wanted<T: Tables>(
    tables: &T,
    project: &ProjectId,
    names: &BTreeSet<String>,
) -> Answer<T, Types> {
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
