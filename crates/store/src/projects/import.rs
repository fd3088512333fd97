//! Projects from another store.

use ::projects::{Account, Asset, Import, Intake, Project, ProjectId};

use super::tables::{Answer, Tables};
use super::{project, whole};

/// Brings in a project with its past. Its account can be kept.
pub(crate) async fn import<T: Tables>(tables: &T, account: &Account, import: &Import) -> Answer<T, Project> {
    let (new, assets) = import.draft()?;
    let begun = project::begin(tables, account, &new, assets, whole(import.past.created)).await?;
    let mut intake = Intake::of(import);
    keep_bytes(tables, &begun.id, &mut intake, assets).await?;
    // One after the other: together they may be more than fits into memory.
    for number in &import.past.versions {
        let (version, content, text) = intake.version(*number)?;
        keep_bytes(tables, &begun.id, &mut intake, &content.assets).await?;
        tables.add_version(&begun.id, &version, &text, &content.assets).await?;
    }
    let ended = intake.end(&begun)?;
    let ended = Project { updated: whole(ended.updated), ..ended };
    tables.put_project(&ended).await?;
    Ok(ended)
}

async fn keep_bytes<T: Tables>(
    tables: &T,
    project: &ProjectId,
    intake: &mut Intake<'_>,
    assets: &[Asset],
) -> Answer<T, ()> {
    for asset in assets {
        if let Some(bytes) = intake.bytes(asset)? {
            tables.add_bytes(project, &asset.digest, &bytes).await?;
        }
    }
    Ok(())
}
