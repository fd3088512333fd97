//! The whole content of a project: what a version stores and an export contains.
//!
//! It is serialized as a JSON document with a format version, because stored versions outlive the program
//! that wrote them.

mod encoding;

use std::collections::BTreeSet;

use crate::asset::Asset;
use crate::blocks::{Block, validate_blocks, validate_structure};
use crate::error::ValidationProblem;
use crate::ids::AssetId;
use crate::project::{ProjectFields, ProjectUsage};
use crate::types::{BlockTypes, CustomBlockType, collect_type_problems};
use design_tokens::TokenDocument;

pub use encoding::ContentDecodeError;

/// Everything in a project except the bytes of its assets.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectContent {
    pub fields: ProjectFields,
    /// Custom block types, by name.
    pub types: Vec<CustomBlockType>,
    /// Parents before children, siblings in order.
    pub blocks: Vec<Block>,
    pub design: TokenDocument,
    /// By id. Their bytes are found by digest.
    pub assets: Vec<Asset>,
}

impl ProjectContent {
    /// Every problem that prevents publishing, up to the reporting limit.
    ///
    /// The design system is not checked here: `design_tokens::validate` reports its problems, and pages
    /// render without it.
    pub fn problems(&self) -> Vec<ValidationProblem> {
        let mut problems = self.fields.problems();
        // Schemas are compiled only for types that blocks use.
        problems.extend(collect_type_problems(&self.types, CustomBlockType::definition_problems));
        let assets: BTreeSet<AssetId> = self.assets.iter().map(|asset| asset.id.clone()).collect();
        problems.extend(validate_blocks(&self.blocks, &BlockTypes::with_custom(&self.types), &assets));
        problems
    }

    /// Problems that prevent storing it even as a draft. A draft may have other problems, which prevent
    /// publishing.
    pub(crate) fn structure_problems(&self) -> Vec<ValidationProblem> {
        let mut problems = self.fields.problems();
        problems.extend(collect_type_problems(&self.types, CustomBlockType::definition_problems));
        problems.extend(validate_structure(&self.blocks));
        let mut seen = BTreeSet::new();
        for asset in self.assets.iter().filter(|asset| !seen.insert(&asset.id)) {
            problems
                .push(ValidationProblem::new("/assets", format!("`{}` is not unique; remove one", asset.id)));
        }
        problems
    }

    /// Totals. Asset bytes count once per digest.
    pub fn usage(&self) -> ProjectUsage {
        let mut seen = BTreeSet::new();
        let kept = self.assets.iter().filter(|asset| seen.insert(asset.digest));
        ProjectUsage {
            blocks: self.blocks.len() as u64,
            block_bytes: self.blocks.iter().map(Block::props_len).sum(),
            types: self.types.len() as u64,
            assets: self.assets.len() as u64,
            asset_bytes: kept.map(|asset| asset.bytes).sum(),
            versions: 0,
            version_bytes: 0,
            asset_mentions: self.blocks.iter().map(Block::mention_count).sum(),
        }
    }
}
