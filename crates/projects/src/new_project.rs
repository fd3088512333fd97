//! Projects that begin: from nothing, from a copy, from an export.

use jiff::Timestamp;

use crate::asset::Asset;
use crate::blocks::{Block, structure};
use crate::content::Content;
use crate::error::Refusal;
use crate::ids::{Account, ProjectId};
use crate::project::{NewFields, Project, Usage};
use crate::types::{CustomType, Steps, problems_of};
use design_tokens::{Document, starter};

/// A project to create, with what is in it from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct NewProject {
    /// Its id.
    pub id: ProjectId,
    /// What it says of itself.
    pub fields: NewFields,
    /// Its own block types.
    pub types: Vec<CustomType>,
    /// Its blocks, parents before children. They keep their ids.
    pub blocks: Vec<Block>,
    /// Its design system.
    pub design: Document,
}

impl NewProject {
    /// An empty project with the starter design system.
    pub fn empty(id: ProjectId, fields: NewFields) -> Self {
        Self { id, fields, types: Vec::new(), blocks: Vec::new(), design: starter() }
    }

    /// A project with the content of another. What is left empty in `fields` is as it was there, but for the slug. Assets
    /// that come from elsewhere have to be put once it is there.
    pub fn copy_of(content: Content, id: ProjectId, fields: NewFields) -> Self {
        let Content { fields: old, types, blocks, design, assets: _ } = content;
        let fields = NewFields {
            name: if fields.name.is_empty() { old.name } else { fields.name },
            slug: fields.slug,
            description: if fields.description.is_empty() { old.description } else { fields.description },
            metadata: if fields.metadata.is_empty() { old.metadata } else { fields.metadata },
        };
        Self { id, fields, types, blocks, design }
    }

    /// The project as it begins, at revision 1. `is_taken` tells whether a project of the account has a slug. `assets` are
    /// those that come with a copy; they are kept for nothing else yet.
    pub fn begin(
        &self,
        account: &Account,
        now: Timestamp,
        assets: &[Asset],
        is_taken: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Project, Refusal> {
        let mut problems = structure(&self.blocks);
        let mut left = Steps::for_a_call();
        problems.extend(problems_of(&self.types, |own| own.problems_within(&mut left)));
        Refusal::if_any(problems)?;
        let fields = self.fields.clone().settle(&self.id, is_taken)?;
        let content = Content {
            fields: fields.clone(),
            types: self.types.clone(),
            blocks: self.blocks.clone(),
            design: Document::default(),
            assets: assets.to_vec(),
        };
        let empty = Project {
            id: self.id.clone(),
            account: account.clone(),
            fields,
            created: now,
            updated: now,
            revision: 0,
            published: None,
            next_version: 1,
            usage: Usage::default(),
        };
        empty.written(now, content.usage())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::limits::MAX_PATTERNS;
    use crate::types::Children;

    /// Schemas are compiled while others wait.
    #[test]
    fn types_of_a_new_project_are_compiled_in_bounded_time() {
        let own = |number: usize| CustomType {
            name: format!("t-{number}"),
            description: String::new(),
            schema: json!({ "anyOf": vec![json!({ "pattern": "a" }); MAX_PATTERNS] }),
            children: Children::Any,
        };
        for (count, expected) in [(33, 0), (35, 1)] {
            let fields = NewFields::named("One");
            let new = NewProject {
                types: (0..count).map(own).collect(),
                ..NewProject::empty(ProjectId::parse("p").unwrap(), fields)
            };
            let told = match new.begin(&Account::new("ann"), Timestamp::UNIX_EPOCH, &[], &mut |_| false) {
                Err(Refusal::Invalid(told)) => told,
                other => other.map(|_| Vec::new()).unwrap(),
            };
            assert_eq!(told.len(), expected, "{count} {told:?}");
        }
    }
}
