//! Import of projects from another store, with their history and not only their draft.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::asset::{Asset, AssetPatch, ContentType, Digest, NewAsset};
use crate::content::ProjectContent;
use crate::error::{ProjectRejection, ValidationProblem};
use crate::ids::ProjectId;
use crate::limits::MAX_DESCRIPTION_CHARS;
use crate::naming;
use crate::new_project::NewProject;
use crate::project::{NewProjectFields, Project, ProjectUsage, Publication};
use crate::version::Version;

/// The largest integer that every JSON reader represents exactly.
const MAX_REVISION: u64 = 1 << 53;

/// A project from another store. Data that may be too large to load at once comes from its [`ImportSource`].
#[derive(Clone)]
pub struct ProjectImport {
    /// The id it will have.
    pub id: ProjectId,
    /// The slug it will have. If `None`, a free one is derived from the name.
    pub slug: Option<String>,
    pub content: ProjectContent,
    pub history: ProjectHistory,
    pub source: Arc<dyn ImportSource>,
}

/// The history of a project: times, revisions and versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectHistory {
    pub created: Timestamp,
    /// Time of the last write to anything in it.
    pub updated: Timestamp,
    pub revision: u64,
    /// Number of the next version.
    pub next_version: u32,
    pub published: Option<Publication>,
    pub versions: BTreeSet<u32>,
}

/// Supplies large data on demand. A store that retries asks again.
pub trait ImportSource: Send + Sync {
    /// Loads a version.
    fn version(&self, number: u32) -> Result<ImportedVersion, ProjectRejection>;

    /// Loads the bytes for a digest of an asset in the draft or a version.
    fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, ProjectRejection>;
}

/// A version from another store.
#[derive(Clone, Debug)]
pub struct ImportedVersion {
    pub note: String,
    /// Time of publication.
    pub created: Timestamp,
    /// The revision created by publishing it.
    pub revision: u64,
    pub content: ProjectContent,
}

impl ProjectHistory {
    /// The history of a project with these versions.
    pub fn from_project(project: &Project, versions: BTreeSet<u32>) -> Self {
        let Project { created, updated, revision, next_version, published, .. } = *project;
        Self { created, updated, revision, next_version, published, versions }
    }

    /// Rejects histories that no project can have.
    fn problems(&self) -> Vec<ValidationProblem> {
        let published = self.published;
        let last = self.versions.last().copied().unwrap_or(0);
        let is_version = |published: &Publication| self.versions.contains(&published.version);
        let is_past = |published: &Publication| (1..=self.revision).contains(&published.revision);
        [
            (is_storable_time(self.created), "/created", "must not be before 1970"),
            (is_storable_time(self.updated), "/updated", "must not be before 1970"),
            ((1..=MAX_REVISION).contains(&self.revision), "/revision", "is out of range"),
            (!self.versions.contains(&0), "/versions", "must not contain version 0; versions start at 1"),
            (self.next_version > last, "/nextVersion", "must be greater than every version"),
            (published.as_ref().is_none_or(is_version), "/published/version", "is not one of the versions"),
            (
                published.as_ref().is_none_or(is_past),
                "/published/revision",
                "must be between 1 and the revision of the project",
            ),
        ]
        .into_iter()
        .filter(|(is_right, ..)| !is_right)
        .map(|(_, path, message)| ValidationProblem::new(path, message))
        .collect()
    }
}

/// A time that both databases can store.
fn is_storable_time(time: Timestamp) -> bool {
    time >= Timestamp::UNIX_EPOCH
}

/// Problems that prevent storing a content as a draft, now or later. Whether a version may be published was
/// checked when it was published, by the rules of that time.
fn content_problems(content: &ProjectContent) -> Vec<ValidationProblem> {
    let mut problems = content.structure_problems();
    for asset in &content.assets {
        let said = AssetPatch { name: Some(asset.name.clone()), alt: Some(asset.alt.clone()) };
        if let Err(ProjectRejection::Invalid(told)) = said.apply(asset) {
            problems.extend(told);
        }
        if !is_storable_time(asset.created) {
            problems.push(ValidationProblem::new(
                "/assets",
                format!("the time of `{}` must not be before 1970", asset.id),
            ));
        }
    }
    problems
}

impl ProjectImport {
    /// The draft as a new project, with its assets. Rejected if the history or the draft is invalid.
    pub fn to_new_project(&self) -> Result<(NewProject, &[Asset]), ProjectRejection> {
        let mut told = self.history.problems();
        told.extend(content_problems(&self.content));
        ProjectRejection::reject_if_any(told)?;
        let fields = NewProjectFields { slug: self.slug.clone(), ..NewProjectFields::default() };
        let new = NewProject::from_content(self.content.clone(), self.id.clone(), fields);
        Ok((new, &self.content.assets))
    }
}

/// An import in progress: what has been validated, and what is stored.
pub struct ProjectImporter<'a> {
    import: &'a ProjectImport,
    validated: HashSet<(Digest, ContentType)>,
    stored: BTreeMap<Digest, u64>,
    version_bytes: u64,
}

impl<'a> ProjectImporter<'a> {
    pub fn new(import: &'a ProjectImport) -> Self {
        Self { import, validated: HashSet::new(), stored: BTreeMap::new(), version_bytes: 0 }
    }

    /// The bytes of an asset, unless they are already stored. Checks them against the asset by the rules for
    /// new assets.
    pub fn new_asset_bytes(&mut self, asset: &Asset) -> Result<Option<Vec<u8>>, ProjectRejection> {
        let is_judged = !self.validated.insert((asset.digest, asset.content_type));
        if is_judged && self.stored.get(&asset.digest) == Some(&asset.bytes) {
            return Ok(None);
        }
        let new = NewAsset {
            id: asset.id.clone(),
            name: asset.name.clone(),
            content_type: Some(asset.content_type),
            alt: asset.alt.clone(),
            content: self.import.source.bytes(&asset.digest)?,
        };
        if new.check(asset.created).map_err(|refusal| with_asset_path(asset, refusal))? != *asset {
            return Err(ProjectRejection::invalid(
                "/assets",
                format!("`{}` does not match its bytes", asset.id),
            ));
        }
        let is_new = self.stored.insert(asset.digest, asset.bytes).is_none();
        Ok(is_new.then_some(new.content))
    }

    /// A version with its content, and the content as text. The bytes of its assets have to be loaded with
    /// [`ProjectImporter::new_asset_bytes`].
    pub fn load_version(
        &mut self,
        number: u32,
    ) -> Result<(Version, ProjectContent, String), ProjectRejection> {
        let ImportedVersion { note, created, revision, content } = self.import.source.version(number)?;
        let mut told: Vec<ValidationProblem> =
            naming::check_text("/note", &note, MAX_DESCRIPTION_CHARS).into_iter().collect();
        if !is_storable_time(created) {
            told.push(ValidationProblem::new("/created", "must not be before 1970"));
        }
        if !(1..=self.import.history.revision).contains(&revision) {
            told.push(ValidationProblem::new(
                "/revision",
                "must be between 1 and the revision of the project",
            ));
        }
        told.extend(content_problems(&content));
        let of_version = |told: ValidationProblem| ValidationProblem {
            path: format!("/versions/{number}{}", told.path),
            ..told
        };
        ProjectRejection::reject_if_any(told.into_iter().map(of_version).collect())?;
        let text = content.encode();
        let (blocks, bytes) = (content.blocks.len() as u64, text.len() as u64);
        self.version_bytes += bytes;
        Ok((Version { number, note, created, revision, blocks, bytes }, content, text))
    }

    /// The project once all of it is stored. `begun` is the result of [`NewProject::build`].
    pub fn finish(self, begun: &Project) -> Result<Project, ProjectRejection> {
        let ProjectHistory { updated, revision, next_version, published, ref versions, .. } =
            self.import.history;
        let (asset_bytes, versions) = (self.stored.values().sum(), versions.len() as u64);
        let usage = ProjectUsage { asset_bytes, versions, version_bytes: self.version_bytes, ..begun.usage };
        let whole = begun.after_write(updated, usage)?;
        Ok(Project { updated, revision, published, next_version, ..whole })
    }
}

/// Prefixes problems with the asset: an asset that was accepted once may be rejected by today's rules.
fn with_asset_path(asset: &Asset, refusal: ProjectRejection) -> ProjectRejection {
    match refusal {
        ProjectRejection::Invalid(told) => {
            let of_asset = |told: ValidationProblem| ValidationProblem {
                path: format!("/assets/{}{}", asset.id, told.path),
                ..told
            };
            ProjectRejection::Invalid(told.into_iter().map(of_asset).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_history_is_reported() {
        let noon = Timestamp::from_second(1_772_452_800).unwrap();
        let good = ProjectHistory {
            created: noon,
            updated: noon,
            revision: 7,
            next_version: 4,
            published: Some(Publication { version: 2, revision: 5 }),
            versions: BTreeSet::from([2, 3]),
        };
        let change = |change: fn(&mut ProjectHistory)| {
            let mut past = good.clone();
            change(&mut past);
            past
        };
        for (past, expected) in [
            (good.clone(), ""),
            (change(|past| past.published = None), ""),
            (change(|past| past.next_version = 9), ""),
            (change(|past| past.created = Timestamp::MIN), "/created"),
            (change(|past| past.updated = Timestamp::MIN), "/updated"),
            (change(|past| past.revision = 0), "/revision /published/revision"),
            (change(|past| past.revision = u64::MAX), "/revision"),
            (change(|past| past.revision = 4), "/published/revision"),
            (change(|past| past.next_version = 3), "/nextVersion"),
            (change(|past| past.versions = BTreeSet::from([0, 2])), "/versions"),
            (change(|past| past.versions = BTreeSet::from([3])), "/published/version"),
        ] {
            let told: Vec<String> = past.problems().into_iter().map(|problem| problem.path).collect();
            assert_eq!(told.join(" "), expected, "{past:?}");
        }
    }
}
