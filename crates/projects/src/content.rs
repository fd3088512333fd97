//! Everything that a project holds: what a version keeps, and what an export is.
//!
//! As text it is a JSON document of its own, with a number for its form: versions outlive the program that wrote them.

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

/// Everything that a project holds, but for the bytes of its assets.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectContent {
    /// What it says of itself.
    pub fields: ProjectFields,
    /// Its own block types, by name.
    pub types: Vec<CustomBlockType>,
    /// Its blocks: parents before children, siblings in order.
    pub blocks: Vec<Block>,
    /// Its design system.
    pub design: TokenDocument,
    /// Its assets, by id. Their bytes are found by their digests.
    pub assets: Vec<Asset>,
}

impl ProjectContent {
    /// Everything that is wrong with it: what keeps it from being published, as far as it is told.
    ///
    /// The design system is not judged here: `tokens::validate` tells what is wrong with it, and a page shows without it.
    pub fn problems(&self) -> Vec<ValidationProblem> {
        let mut problems = self.fields.problems();
        // Whether schemas can be compiled is found out for those that blocks use.
        problems.extend(collect_type_problems(&self.types, CustomBlockType::definition_problems));
        let assets: BTreeSet<AssetId> = self.assets.iter().map(|asset| asset.id.clone()).collect();
        problems.extend(validate_blocks(&self.blocks, &BlockTypes::with_custom(&self.types), &assets));
        problems
    }

    /// What keeps it from being a draft at all. A draft may be wrong in other ways, which keep it from being published.
    pub(crate) fn structure_problems(&self) -> Vec<ValidationProblem> {
        let mut problems = self.fields.problems();
        problems.extend(collect_type_problems(&self.types, CustomBlockType::definition_problems));
        problems.extend(validate_structure(&self.blocks));
        let mut seen = BTreeSet::new();
        for asset in self.assets.iter().filter(|asset| !seen.insert(&asset.id)) {
            problems.push(ValidationProblem::new(
                "/assets",
                format!("`{}` occurs twice; take one out", asset.id),
            ));
        }
        problems
    }

    /// How much it is. Bytes of assets are counted once for each digest.
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
