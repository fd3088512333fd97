//! Rows of versions.

use std::collections::BTreeSet;

use ::projects::{Asset, Content, Digest, ProjectId, Version};

use super::{Answer, Database};

/// Versions, and the digests that they name.
pub(crate) trait VersionTables: Database {
    /// The first so many versions whose numbers are less than `before`, the newest first. Without their content.
    fn versions(
        &self,
        project: &ProjectId,
        before: i64,
        most: i64,
    ) -> impl Future<Output = Answer<Self, Vec<Version>>> + Send;

    /// The content of a version.
    fn version_content(
        &self,
        project: &ProjectId,
        number: u32,
    ) -> impl Future<Output = Answer<Self, Option<Content>>> + Send;

    /// Adds a version with its content as text, and the digests of the assets in it.
    fn add_version(
        &self,
        project: &ProjectId,
        version: &Version,
        text: &str,
        assets: &[Asset],
    ) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// Deletes a version. Gives the digests that it named.
    fn delete_version(
        &self,
        project: &ProjectId,
        number: u32,
    ) -> impl Future<Output = Answer<Self, BTreeSet<Digest>>> + Send;

    /// Deletes the types, blocks and assets of the draft, and which assets blocks name. Bytes, the design system and
    /// versions stay.
    fn clear_draft(&self, project: &ProjectId) -> impl Future<Output = Answer<Self, ()>> + Send;
}
