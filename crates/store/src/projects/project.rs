//! Projects as a whole.

use std::collections::{BTreeMap, BTreeSet};

use ::projects::limits::MAX_PROJECTS;
use ::projects::{
    Account, Asset, AtRevision, Content, Digest, FieldsPatch, Listed, NewFields, NewProject, Page, Project,
    ProjectId, Refusal, Write, slug_candidates,
};
use jiff::Timestamp;

use super::tables::{Answer, Tables, Window};
use super::{SLICE, apart, content, hold};
use crate::names::is_name;

/// Makes a project. Its account can be kept.
pub(crate) async fn create<T: Tables>(
    tables: &T,
    account: &Account,
    new: &NewProject,
    now: Timestamp,
) -> Answer<T, Project> {
    begin(tables, account, new, &[], now).await
}

/// A new project with these assets, whose bytes are still to come.
pub(super) async fn begin<T: Tables>(
    tables: &T,
    account: &Account,
    new: &NewProject,
    assets: &[Asset],
    now: Timestamp,
) -> Answer<T, Project> {
    let wanted = match &new.fields.slug {
        Some(slug) => vec![slug.clone()],
        None => slug_candidates(&new.fields.name, &new.id).to_vec(),
    };
    let slugs: Vec<String> = wanted.into_iter().filter(|slug| is_name(slug)).collect();
    let entry = tables.enter(account, &slugs).await?;
    if entry.projects >= MAX_PROJECTS {
        return Err(Refusal::TooLarge { what: "projects in an account", limit: MAX_PROJECTS }.into());
    }
    let project = apart(|| new.begin(account, now, assets, &mut |slug| entry.taken.contains_key(slug)))?;
    if !tables.add_project(&project).await? {
        return Err(Refusal::Taken { what: "id", value: project.id.to_string() }.into());
    }
    let draft = content::Draft { types: &new.types, blocks: &new.blocks, design: &new.design, assets };
    content::add(tables, &project.id, draft).await?;
    Ok(project)
}

/// A project.
pub(crate) async fn read<T: Tables>(tables: &T, account: &Account, id: &ProjectId) -> Answer<T, Project> {
    let found = if is_name(account.as_str()) { tables.project(account, id).await? } else { None };
    found.ok_or_else(|| id.missing().into())
}

/// The projects of an account.
pub(crate) async fn list<T: Tables>(
    tables: &T,
    account: &Account,
    page: &Page,
) -> Answer<T, Listed<Project>> {
    let window = Window::by_time(page)?;
    let found = if is_name(account.as_str()) { tables.projects(account, window).await? } else { Vec::new() };
    Ok(Listed::cut(found, page, Project::cursor))
}

/// The projects of an account whose ids begin like this. Ids are ordered as bytes, so they follow each other.
pub(crate) async fn beginning<T: Tables>(
    tables: &T,
    account: &Account,
    prefix: &str,
    most: u32,
) -> Answer<T, Vec<Project>> {
    if !is_name(account.as_str()) || !(prefix.is_empty() || is_name(prefix)) {
        return Ok(Vec::new());
    }
    let found = tables.projects_from(account, prefix, most).await?;
    Ok(found.into_iter().take_while(|project| project.id.as_str().starts_with(prefix)).collect())
}

/// Changes what a project says of itself.
pub(crate) async fn update<T: Tables>(tables: &T, write: &Write, patch: &FieldsPatch) -> Answer<T, Project> {
    let project = hold(tables, write).await?;
    let fields = patch.apply(&project.fields)?;
    if fields.slug != project.fields.slug {
        let entry = tables.enter(&write.account, std::slice::from_ref(&fields.slug)).await?;
        if entry.taken.contains_key(&fields.slug) {
            return Err(Refusal::Taken { what: "slug", value: fields.slug }.into());
        }
    }
    let mut written = project.written(write.now, project.usage)?;
    written.fields = fields;
    tables.put_project(&written).await?;
    Ok(written)
}

/// Makes a new project of the draft of another.
pub(crate) async fn duplicate<T: Tables>(
    tables: &T,
    write: &Write,
    id: &ProjectId,
    fields: &NewFields,
) -> Answer<T, Project> {
    let (from, content) = content::read(tables, hold(tables, write), &write.project).await?;
    let assets = content.assets.clone();
    let new = NewProject::copy_of(content, id.clone(), fields.clone());
    let made = begin(tables, &write.account, &new, &assets, write.now).await?;
    // All of it may be a gigabyte; nothing is found out by copying it only to take it back.
    let slices = if write.dry_run { Vec::new() } else { slices(&assets) };
    for slice in slices {
        tables.copy_bytes(&from.id, &made.id, &slice).await?;
    }
    Ok(made)
}

/// The contents of assets, each once, in slices that are copied in less time than a statement may take.
fn slices(assets: &[Asset]) -> Vec<BTreeSet<Digest>> {
    let contents: BTreeMap<Digest, u64> = assets.iter().map(|asset| (asset.digest, asset.bytes)).collect();
    let mut slices: Vec<BTreeSet<Digest>> = Vec::new();
    let mut room = 0;
    for (digest, bytes) in contents {
        if slices.is_empty() || bytes > room {
            slices.push(BTreeSet::new());
            room = SLICE;
        }
        room = room.saturating_sub(bytes);
        slices.last_mut().map(|slice| slice.insert(digest));
    }
    slices
}

/// Deletes a project.
pub(crate) async fn delete<T: Tables>(tables: &T, write: &Write) -> Answer<T, Project> {
    let project = hold(tables, write).await?;
    tables.delete_project(&project).await?;
    Ok(project)
}

/// Everything in the draft of a project.
pub(crate) async fn content<T: Tables>(
    tables: &T,
    account: &Account,
    id: &ProjectId,
) -> Answer<T, AtRevision<Content>> {
    let (project, content) = content::read(tables, read(tables, account, id), id).await?;
    Ok(AtRevision { revision: project.revision, value: content })
}

/// Every account that has a project.
pub(crate) async fn accounts<T: Tables>(tables: &T) -> Answer<T, Vec<Account>> {
    tables.accounts().await
}
