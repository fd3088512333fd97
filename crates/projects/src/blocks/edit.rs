//! Changes to blocks: from what a store has looked up to the rows to write.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::new_block::too_many_blocks;
use super::{Block, BlockLookupResults, BlockLookups, BlockSlot, NewBlock, asset_refs, validate};
use crate::error::{ProjectRejection, ValidationProblem};
use crate::ids::BlockId;
use crate::limits::{MAX_BLOCK_DEPTH, MAX_NEW_BLOCKS_PER_CALL, MAX_PROBLEMS};
use crate::order::{self, OrderKey};
use crate::patch;
use crate::types::{BlockTypes, PAGE, ValidationBudget, find_built_in};

/// Rows for new blocks at a position, parents before children. `keys` are from [`BlockSlot::order_keys`], one
/// for each block; `fresh` returns new ids. Problems carry pointers into `new`, as if it were a JSON array.
pub fn insert(
    slot: &BlockSlot,
    keys: Vec<OrderKey>,
    lookups: &BlockLookupResults,
    new: &[NewBlock],
    fresh: &mut dyn FnMut() -> BlockId,
) -> Result<Vec<Block>, ProjectRejection> {
    if new.iter().map(NewBlock::count).sum::<usize>() > MAX_NEW_BLOCKS_PER_CALL {
        return Err(too_many_blocks());
    }
    let (left, paths) = (ValidationBudget::per_call(), BTreeSet::new());
    let mut made = BlockInserter {
        around: lookups,
        fresh,
        budget: left,
        paths,
        blocks: Vec::new(),
        problems: Vec::new(),
    };
    for (at, (block, key)) in new.iter().zip(keys).enumerate() {
        if slot.ancestors.len() + block.height() > MAX_BLOCK_DEPTH {
            let message =
                format!("would be nested more than {MAX_BLOCK_DEPTH} blocks deep; flatten the tree");
            made.problems.push(ValidationProblem::new(format!("/{at}"), message));
            continue;
        }
        made.insert_block(&format!("/{at}"), block, slot.parent(), slot.parent_kind(), key);
    }
    ProjectRejection::reject_if_any(made.problems)?;
    Ok(made.blocks)
}

struct BlockInserter<'a> {
    around: &'a BlockLookupResults,
    fresh: &'a mut dyn FnMut() -> BlockId,
    budget: ValidationBudget,
    paths: BTreeSet<String>,
    blocks: Vec<Block>,
    problems: Vec<ValidationProblem>,
}

impl BlockInserter<'_> {
    fn insert_block(
        &mut self,
        path: &str,
        new: &NewBlock,
        parent: Option<&BlockId>,
        kind: Option<&str>,
        order: OrderKey,
    ) {
        if self.problems.len() > MAX_PROBLEMS {
            return;
        }
        let Self { around, budget: left, .. } = self;
        let mut told =
            validate::validate_props(&new.kind, &new.props, &around.types, &around.is_missing(), left);
        if self.around.types.get(&new.kind).is_some() {
            let misplaced = self.around.types.placement_error(&new.kind, kind);
            told.extend(misplaced.map(|message| ValidationProblem::new("/type", message)));
        }
        let id = (self.fresh)();
        let block =
            Block { id, kind: new.kind.clone(), parent: parent.cloned(), order, props: new.props.clone() };
        if let Some(wanted) = block.path()
            && (self.around.taken_paths.contains(wanted) || !self.paths.insert(wanted.to_owned()))
        {
            told.push(path_taken_problem(wanted));
        }
        let here = |problem: ValidationProblem| ValidationProblem {
            path: format!("{path}{}", problem.path),
            ..problem
        };
        self.problems.extend(told.into_iter().map(here));
        let id = block.id.clone();
        self.blocks.push(block);
        for (at, (child, order)) in
            new.children.iter().zip(order::evenly_spaced_keys(new.children.len())).enumerate()
        {
            self.insert_block(&format!("{path}/children/{at}"), child, Some(&id), Some(&new.kind), order);
        }
    }
}

fn path_taken_problem(path: &str) -> ValidationProblem {
    let path: String = path.chars().take(80).collect();
    ValidationProblem::new("/props/path", format!("another page has the path `{path}`; choose another"))
}

/// Lookups needed to validate a patch to a block: only what the patch newly references.
pub fn lookups_for_update(block: &Block, change: &Map<String, Value>) -> BlockLookups {
    let changed = apply_patch(block, change);
    let mut needs = BlockLookups::default();
    needs.require_type(Some(&block.kind));
    needs.assets = &asset_refs::required_assets(&changed.props) - &asset_refs::required_assets(&block.props);
    if block.kind == PAGE && changed.path() != block.path() {
        needs.paths.extend(changed.path().map(str::to_owned));
    }
    needs
}

/// Applies a JSON Merge Patch to the props of a block.
///
/// An asset that the block already referenced may be missing because it was force-deleted; other props can
/// still be changed.
pub fn update(
    block: &Block,
    lookups: &BlockLookupResults,
    change: &Map<String, Value>,
) -> Result<Block, ProjectRejection> {
    let changed = apply_patch(block, change);
    let mut left = ValidationBudget::per_call();
    let mut told = validate::validate_props(
        &block.kind,
        &changed.props,
        &lookups.types,
        &lookups.is_missing(),
        &mut left,
    );
    told.extend(changed.path().filter(|path| lookups.taken_paths.contains(*path)).map(path_taken_problem));
    let told: Vec<ValidationProblem> = told.into_iter().map(|problem| problem.for_block(&block.id)).collect();
    ProjectRejection::reject_if_any(told)?;
    Ok(changed)
}

fn apply_patch(block: &Block, change: &Map<String, Value>) -> Block {
    let mut changed = block.clone();
    patch::merge_patch(&mut changed.props, change);
    changed
}

/// Moves a block to another position, which changes one row.
///
/// `height` is the number of levels of the block's subtree. A store may pass 1 without counting if the new
/// position is no deeper than the current one.
pub fn relocate(
    block: &Block,
    height: usize,
    slot: &BlockSlot,
    key: OrderKey,
    types: &BlockTypes,
) -> Result<Block, ProjectRejection> {
    let refuse = |message: String| {
        Err(ProjectRejection::Invalid(vec![ValidationProblem::new("/parent", message).for_block(&block.id)]))
    };
    if slot.ancestors.iter().any(|above| above.id == block.id) {
        return refuse(
            "cannot be moved into itself or one of its descendants; choose another place".to_owned(),
        );
    }
    if let Some(message) = types.placement_error(&block.kind, slot.parent_kind()) {
        return refuse(message);
    }
    if slot.ancestors.len() + height > MAX_BLOCK_DEPTH {
        return refuse(format!(
            "would be nested more than {MAX_BLOCK_DEPTH} blocks deep; choose a place higher up"
        ));
    }
    Ok(Block { parent: slot.parent().cloned(), order: key, ..block.clone() })
}

impl BlockLookups {
    /// The custom types needed to validate a block at a position.
    pub fn custom_types_at(block: &Block, slot: &BlockSlot) -> BTreeSet<String> {
        let kinds = [Some(block.kind.as_str()), slot.parent_kind()];
        kinds.into_iter().flatten().filter(|kind| find_built_in(kind).is_none()).map(str::to_owned).collect()
    }
}
