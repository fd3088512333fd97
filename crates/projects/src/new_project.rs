//! New projects: empty, copied, or imported.

use jiff::Timestamp;

use crate::asset::Asset;
use crate::blocks::{Block, validate_structure};
use crate::content::ProjectContent;
use crate::error::ProjectRejection;
use crate::ids::{Account, ProjectId};
use crate::project::{NewProjectFields, Project, ProjectUsage};
use crate::types::{CustomBlockType, ValidationBudget, collect_type_problems};
use design_tokens::{TokenDocument, starter_document};

/// A project to create, with its initial content.
#[derive(Clone, Debug, PartialEq)]
pub struct NewProject {
    pub id: ProjectId,
    pub fields: NewProjectFields,
    pub types: Vec<CustomBlockType>,
    /// Parents before children. They keep their ids.
    pub blocks: Vec<Block>,
    pub design: TokenDocument,
}

impl NewProject {
    /// An empty project with the starter design system.
    pub fn empty(id: ProjectId, fields: NewProjectFields) -> Self {
        Self { id, fields, types: Vec::new(), blocks: Vec::new(), design: starter_document() }
    }

    /// A project with the content of another. Empty `fields` keep the old values, except for the slug. The
    /// bytes of assets have to be stored once the project exists.
    pub fn from_content(content: ProjectContent, id: ProjectId, fields: NewProjectFields) -> Self {
        let ProjectContent { fields: old, types, blocks, design, assets: _ } = content;
        let fields = NewProjectFields {
            name: if fields.name.is_empty() { old.name } else { fields.name },
            slug: fields.slug,
            description: if fields.description.is_empty() { old.description } else { fields.description },
            metadata: if fields.metadata.is_empty() { old.metadata } else { fields.metadata },
        };
        Self { id, fields, types, blocks, design }
    }

    /// The project at revision 1. `is_taken` reports whether another project of the account has a slug.
    /// `assets` are those that come with the content.
    pub fn build(
        &self,
        account: &Account,
        now: Timestamp,
        assets: &[Asset],
        is_taken: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Project, ProjectRejection> {
        let mut problems = validate_structure(&self.blocks);
        let mut left = ValidationBudget::per_call();
        problems.extend(collect_type_problems(&self.types, |own| own.problems_within_budget(&mut left)));
        ProjectRejection::reject_if_any(problems)?;
        let fields = self.fields.clone().into_fields(&self.id, is_taken)?;
        let content = ProjectContent {
            fields: fields.clone(),
            types: self.types.clone(),
            blocks: self.blocks.clone(),
            design: TokenDocument::default(),
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
            usage: ProjectUsage::default(),
        };
        empty.after_write(now, content.usage())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::limits::MAX_SCHEMA_PATTERNS;
    use crate::types::AllowedChildren;

    /// Schemas are compiled while other calls wait.
    #[test]
    fn schema_compilation_of_new_projects_is_bounded() {
        let own = |number: usize| CustomBlockType {
            name: format!("t-{number}"),
            description: String::new(),
            schema: json!({ "anyOf": vec![json!({ "pattern": "a" }); MAX_SCHEMA_PATTERNS] }),
            children: AllowedChildren::Any,
        };
        for (count, expected) in [(33, 0), (35, 1)] {
            let fields = NewProjectFields::with_name("One");
            let new = NewProject {
                types: (0..count).map(own).collect(),
                ..NewProject::empty(ProjectId::parse("p").unwrap(), fields)
            };
            let told = match new.build(&Account::new("ann"), Timestamp::UNIX_EPOCH, &[], &mut |_| false) {
                Err(ProjectRejection::Invalid(told)) => told,
                other => other.map(|_| Vec::new()).unwrap(),
            };
            assert_eq!(told.len(), expected, "{count} {told:?}");
        }
    }
}
