//! Everything that a project holds: what a version keeps, and what an export is.
//!
//! As text it is a JSON document of its own, with a number for its form: versions outlive the program that wrote them.

mod saved;

use std::collections::BTreeSet;

use crate::asset::Asset;
use crate::blocks::{Block, judge, structure};
use crate::error::Problem;
use crate::ids::AssetId;
use crate::project::{Fields, Usage};
use crate::types::{CustomType, Types, problems_of};
use design_tokens::Document;

pub use saved::Unreadable;

/// Everything that a project holds, but for the bytes of its assets.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// What it says of itself.
    pub fields: Fields,
    /// Its own block types, by name.
    pub types: Vec<CustomType>,
    /// Its blocks: parents before children, siblings in order.
    pub blocks: Vec<Block>,
    /// Its design system.
    pub design: Document,
    /// Its assets, by id. Their bytes are found by their digests.
    pub assets: Vec<Asset>,
}

impl Content {
    /// Everything that is wrong with it: what keeps it from being published, as far as it is told.
    ///
    /// The design system is not judged here: `tokens::validate` tells what is wrong with it, and a page shows without it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.fields.problems();
        // Whether schemas can be compiled is found out for those that blocks use.
        problems.extend(problems_of(&self.types, CustomType::form_problems));
        let assets: BTreeSet<AssetId> = self.assets.iter().map(|asset| asset.id.clone()).collect();
        problems.extend(judge(&self.blocks, &Types::with(&self.types), &assets));
        problems
    }

    /// What keeps it from being a draft at all. A draft may be wrong in other ways, which keep it from being published.
    pub(crate) fn structure(&self) -> Vec<Problem> {
        let mut problems = self.fields.problems();
        problems.extend(problems_of(&self.types, CustomType::form_problems));
        problems.extend(structure(&self.blocks));
        let mut seen = BTreeSet::new();
        for asset in self.assets.iter().filter(|asset| !seen.insert(&asset.id)) {
            problems.push(Problem::new("/assets", format!("`{}` occurs twice; take one out", asset.id)));
        }
        problems
    }

    /// How much it is. Bytes of assets are counted once for each digest.
    pub fn usage(&self) -> Usage {
        let mut seen = BTreeSet::new();
        let kept = self.assets.iter().filter(|asset| seen.insert(asset.digest));
        Usage {
            blocks: self.blocks.len() as u64,
            block_bytes: self.blocks.iter().map(Block::bytes).sum(),
            types: self.types.len() as u64,
            assets: self.assets.len() as u64,
            asset_bytes: kept.map(|asset| asset.bytes).sum(),
            versions: 0,
            version_bytes: 0,
            mentions: self.blocks.iter().map(Block::mentions).sum(),
        }
    }
}
