//! Rows of projects, of their block types and design systems.

use std::collections::{BTreeMap, BTreeSet};

use ::projects::tokens::Document;
use ::projects::{Account, BlockId, CustomType, Project, ProjectId};
use jiff::Timestamp;

use super::{Answer, Database, Window};

/// What is known of an account before a project of it is made or gets another slug.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// How many projects it has.
    pub(crate) projects: u64,
    /// Which of the slugs are taken, and by which project.
    pub(crate) taken: BTreeMap<String, ProjectId>,
}

/// Projects, their own block types and design systems.
pub(crate) trait ProjectTables: Database {
    /// The project of this id, if it belongs to the account.
    fn project(
        &self,
        account: &Account,
        id: &ProjectId,
    ) -> impl Future<Output = Answer<Self, Option<Project>>> + Send;

    /// The same to write to it: its row is held until the transaction ends, and writers come one after the other.
    fn hold(
        &self,
        account: &Account,
        id: &ProjectId,
    ) -> impl Future<Output = Answer<Self, Option<Project>>> + Send;

    /// The revision of the project of this id, if it belongs to the account.
    fn revision(
        &self,
        account: &Account,
        id: &ProjectId,
    ) -> impl Future<Output = Answer<Self, Option<u64>>> + Send;

    /// The projects of an account by the time they were made and then by id.
    fn projects(
        &self,
        account: &Account,
        window: Window<Timestamp>,
    ) -> impl Future<Output = Answer<Self, Vec<Project>>> + Send;

    /// The first so many projects of an account whose ids are not before `first`, by id.
    fn projects_from(
        &self,
        account: &Account,
        first: &str,
        most: u32,
    ) -> impl Future<Output = Answer<Self, Vec<Project>>> + Send;

    /// Every account that has a project, in order. For the owner of the store.
    fn accounts(&self) -> impl Future<Output = Answer<Self, Vec<Account>>> + Send;

    /// Holds an account until the transaction ends: nobody else makes a project in it or changes a slug. Whoever holds a
    /// project as well has held that one first.
    fn enter(&self, account: &Account, slugs: &[String]) -> impl Future<Output = Answer<Self, Entry>> + Send;

    /// Adds the row of a project, and counts it in its account, which is held. `false`: some project has its id, be it
    /// another account's, and nothing was added.
    fn add_project(&self, project: &Project) -> impl Future<Output = Answer<Self, bool>> + Send;

    /// Writes the row of a project, which is held: everything but id, account and the time it was made.
    fn put_project(&self, project: &Project) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// The same without name, slug, description and metadata.
    fn put_counts(&self, project: &Project) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// Deletes a project with all rows of it in all tables, and counts it out of its account.
    fn delete_project(&self, project: &Project) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// The block types of a project's own, by name: all, or those of these names that there are.
    fn types(
        &self,
        project: &ProjectId,
        only: Option<&BTreeSet<String>>,
    ) -> impl Future<Output = Answer<Self, Vec<CustomType>>> + Send;

    /// Adds block types, or replaces those of their names.
    fn put_types(
        &self,
        project: &ProjectId,
        types: &[CustomType],
    ) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// Deletes a block type.
    fn delete_type(&self, project: &ProjectId, name: &str) -> impl Future<Output = Answer<Self, ()>> + Send;

    /// The first so many blocks of a type, by id.
    fn blocks_of_type(
        &self,
        project: &ProjectId,
        name: &str,
        most: usize,
    ) -> impl Future<Output = Answer<Self, Vec<BlockId>>> + Send;

    /// The design system of a project. Without a row it is empty.
    fn design(&self, project: &ProjectId) -> impl Future<Output = Answer<Self, Document>> + Send;

    /// The same as it is kept: JSON.
    fn design_text(&self, project: &ProjectId) -> impl Future<Output = Answer<Self, String>> + Send;

    /// Adds or replaces the design system of a project, as it is kept.
    fn put_design(&self, project: &ProjectId, text: &str) -> impl Future<Output = Answer<Self, ()>> + Send;
}
