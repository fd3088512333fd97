//! Versions: what was published.

use ::projects::{
    Account, AtRevision, Content, Cursor, Listed, Page, Project, ProjectId, Version, Write, forget, publish,
    restore, unpublish,
};
use futures_util::future::{try_join, try_join3};

use super::assets::release;
use super::content::{self, Draft};
use super::tables::{Answer, Tables, Window, rows};
use super::text::digests;
use super::{apart, hold, look, with};

/// Makes a version of the draft.
pub(crate) async fn make<T: Tables>(tables: &T, write: &Write, note: &str) -> Answer<T, AtRevision<Version>> {
    let (project, content) = content::read(tables, hold(tables, write), &write.project).await?;
    let (written, version, text) = apart(|| publish(&project, &content, write, note))?;
    let add = tables.add_version(&project.id, &version, &text, &content.assets);
    try_join(add, tables.put_counts(&written)).await?;
    Ok(AtRevision { revision: written.revision, value: version })
}

/// Takes back what is published.
pub(crate) async fn take_back<T: Tables>(tables: &T, write: &Write) -> Answer<T, Project> {
    let project = hold(tables, write).await?;
    let written = unpublish(&project, write)?;
    tables.put_counts(&written).await?;
    Ok(written)
}

/// The versions of a project.
pub(crate) async fn list<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    page: &Page,
) -> Answer<T, Listed<Version>> {
    let found = async {
        let before = page.after.as_ref().map(Cursor::number).transpose()?;
        let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
        tables.versions(project, before, rows(page)).await
    };
    let (_, found) = with(look(tables, account, project), found).await?;
    Ok(Listed::cut(found, page, Version::cursor))
}

/// A version and all that is in it.
pub(crate) async fn read<T: Tables>(
    tables: &T,
    account: &Account,
    project: &ProjectId,
    number: u32,
) -> Answer<T, (Version, Content)> {
    let both = try_join(find(tables, project, number), content_of(tables, project, number));
    Ok(with(look(tables, account, project), both).await?.1)
}

/// Makes a version the draft again.
pub(crate) async fn make_draft<T: Tables>(tables: &T, write: &Write, number: u32) -> Answer<T, Project> {
    let id = &write.project;
    let both = async { try_join(content_of(tables, id, number), tables.assets(id, Window::ALL)).await };
    let (project, (content, old)) = with(hold(tables, write), both).await?;
    let mut written = apart(|| restore(&project, number, &content, write, project.usage.asset_bytes))?;
    let Content { types, blocks, design, assets, .. } = &content;
    // One after the other, and sent together. What the version names is there: it names it itself.
    let ((), (), freed) = try_join3(
        tables.clear_draft(id),
        content::add(tables, id, Draft { types, blocks, design, assets }),
        release(tables, id, digests(&old)),
    )
    .await?;
    written.usage.asset_bytes = project.usage.asset_bytes.saturating_sub(freed);
    tables.put_project(&written).await?;
    Ok(written)
}

/// Deletes a version that is not the one that is published.
pub(crate) async fn delete<T: Tables>(
    tables: &T,
    write: &Write,
    number: u32,
) -> Answer<T, AtRevision<Version>> {
    let (project, gone) = with(hold(tables, write), find(tables, &write.project, number)).await?;
    let mut written = forget(&project, &gone, write)?;
    let named = tables.delete_version(&project.id, number).await?;
    let freed = release(tables, &project.id, named).await?;
    written.usage.asset_bytes = project.usage.asset_bytes.saturating_sub(freed);
    tables.put_counts(&written).await?;
    Ok(AtRevision { revision: written.revision, value: gone })
}

async fn find<T: Tables>(tables: &T, project: &ProjectId, number: u32) -> Answer<T, Version> {
    let newest = tables.versions(project, i64::from(number) + 1, 1).await?.pop();
    newest.filter(|version| version.number == number).ok_or_else(|| Version::missing(number).into())
}

async fn content_of<T: Tables>(tables: &T, project: &ProjectId, number: u32) -> Answer<T, Content> {
    let found = tables.version_content(project, number).await?;
    found.ok_or_else(|| Version::missing(number).into())
}
