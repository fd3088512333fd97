//! Projects from another store, as an export has them: with their past, and not only their draft.

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

/// The greatest revision that every reader of JSON takes for what it is.
const MAX_REVISION: u64 = 1 << 53;

/// A project from another store. What may be too large to be held at once is with its [`ImportSource`].
#[derive(Clone)]
pub struct ProjectImport {
    /// The id that it will have.
    pub id: ProjectId,
    /// The slug that it will have. Without one it is made from the name, and is free for sure.
    pub slug: Option<String>,
    /// Its draft.
    pub content: ProjectContent,
    /// What it has behind it.
    pub history: ProjectHistory,
    /// The rest of it.
    pub source: Arc<dyn ImportSource>,
}

/// What a project has behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectHistory {
    /// When it was made.
    pub created: Timestamp,
    /// When something of it was last written.
    pub updated: Timestamp,
    /// Its revision.
    pub revision: u64,
    /// The number that its next version gets.
    pub next_version: u32,
    /// The version that is published.
    pub published: Option<Publication>,
    /// The numbers of its versions.
    pub versions: BTreeSet<u32>,
}

/// What comes when it is asked for. A store that begins again asks again.
pub trait ImportSource: Send + Sync {
    /// The version of a number.
    fn version(&self, number: u32) -> Result<ImportedVersion, ProjectRejection>;

    /// The bytes of a digest that an asset of the draft or of a version has.
    fn bytes(&self, digest: &Digest) -> Result<Vec<u8>, ProjectRejection>;
}

/// A version from another store.
#[derive(Clone, Debug)]
pub struct ImportedVersion {
    /// What its author noted.
    pub note: String,
    /// When it was published.
    pub created: Timestamp,
    /// The revision that publishing made.
    pub revision: u64,
    /// What is in it.
    pub content: ProjectContent,
}

impl ProjectHistory {
    /// The past of a project with these versions.
    pub fn from_project(project: &Project, versions: BTreeSet<u32>) -> Self {
        let Project { created, updated, revision, next_version, published, .. } = *project;
        Self { created, updated, revision, next_version, published, versions }
    }

    /// What no project can have behind it.
    fn problems(&self) -> Vec<ValidationProblem> {
        let published = self.published;
        let last = self.versions.last().copied().unwrap_or(0);
        let is_version = |published: &Publication| self.versions.contains(&published.version);
        let is_past = |published: &Publication| (1..=self.revision).contains(&published.revision);
        [
            (is_storable_time(self.created), "/created", "must be a time after 1970"),
            (is_storable_time(self.updated), "/updated", "must be a time after 1970"),
            ((1..=MAX_REVISION).contains(&self.revision), "/revision", "is none that a project can be at"),
            (!self.versions.contains(&0), "/versions", "the first version is 1"),
            (self.next_version > last, "/nextVersion", "comes after all versions"),
            (published.as_ref().is_none_or(is_version), "/published/version", "is none of the versions"),
            (published.as_ref().is_none_or(is_past), "/published/revision", "is not in the past"),
        ]
        .into_iter()
        .filter(|(is_right, ..)| !is_right)
        .map(|(_, path, message)| ValidationProblem::new(path, message))
        .collect()
    }
}

/// A time that both databases keep.
fn is_storable_time(time: Timestamp) -> bool {
    time >= Timestamp::UNIX_EPOCH
}

/// What keeps a content from being kept as a draft, now or later. Whether a version could be published was judged when it
/// was, by the rules of that time.
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
                format!("`{}` must have a time after 1970", asset.id),
            ));
        }
    }
    problems
}

impl ProjectImport {
    /// The draft as a project that begins, with the assets that are in it. Refused if its past cannot be, or the draft.
    pub fn to_new_project(&self) -> Result<(NewProject, &[Asset]), ProjectRejection> {
        let mut told = self.history.problems();
        told.extend(content_problems(&self.content));
        ProjectRejection::reject_if_any(told)?;
        let fields = NewProjectFields { slug: self.slug.clone(), ..NewProjectFields::default() };
        let new = NewProject::from_content(self.content.clone(), self.id.clone(), fields);
        Ok((new, &self.content.assets))
    }
}

/// An import under way: what of it was judged, and what is kept.
pub struct ProjectImporter<'a> {
    import: &'a ProjectImport,
    validated: HashSet<(Digest, ContentType)>,
    stored: BTreeMap<Digest, u64>,
    version_bytes: u64,
}

impl<'a> ProjectImporter<'a> {
    /// Nothing is kept yet.
    pub fn new(import: &'a ProjectImport) -> Self {
        Self { import, validated: HashSet::new(), stored: BTreeMap::new(), version_bytes: 0 }
    }

    /// The bytes of an asset, if they are not kept yet. They are what the asset says of them, by the rules for new assets.
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
                format!("`{}` is not what its bytes are", asset.id),
            ));
        }
        let is_new = self.stored.insert(asset.digest, asset.bytes).is_none();
        Ok(is_new.then_some(new.content))
    }

    /// A version, what is in it, and the same as text. The bytes of its assets are for [`ProjectImporter::new_asset_bytes`].
    pub fn load_version(
        &mut self,
        number: u32,
    ) -> Result<(Version, ProjectContent, String), ProjectRejection> {
        let ImportedVersion { note, created, revision, content } = self.import.source.version(number)?;
        let mut told: Vec<ValidationProblem> =
            naming::check_text("/note", &note, MAX_DESCRIPTION_CHARS).into_iter().collect();
        if !is_storable_time(created) {
            told.push(ValidationProblem::new("/created", "must be a time after 1970"));
        }
        if !(1..=self.import.history.revision).contains(&revision) {
            told.push(ValidationProblem::new("/revision", "is not in the past of the project"));
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

    /// The project when all of it is kept. `begun` is what [`NewProject::build`] gave.
    pub fn finish(self, begun: &Project) -> Result<Project, ProjectRejection> {
        let ProjectHistory { updated, revision, next_version, published, ref versions, .. } =
            self.import.history;
        let (asset_bytes, versions) = (self.stored.values().sum(), versions.len() as u64);
        let usage = ProjectUsage { asset_bytes, versions, version_bytes: self.version_bytes, ..begun.usage };
        let whole = begun.after_write(updated, usage)?;
        Ok(Project { updated, revision, published, next_version, ..whole })
    }
}

/// What is wrong, told with the asset that it is about: what was taken once may be refused today.
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
