//! Changes to blocks: what comes in is what a store found, what goes out is the rows to write.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::given::too_many;
use super::{Around, Block, Needs, NewBlock, Spot, judge, refs};
use crate::error::{Problem, Refusal};
use crate::ids::BlockId;
use crate::limits::{MAX_DEPTH, MAX_NEW_BLOCKS, MAX_PROBLEMS};
use crate::order::{self, OrderKey};
use crate::patch;
use crate::types::{PAGE, Steps, Types, built_in};

/// The rows of new blocks at a place, parents before children. `keys` are those of [`Spot::keys`], one for each; `fresh`
/// gives ids. Problems are told with pointers into what was given, as if it were a list.
pub fn insert(
    spot: &Spot,
    keys: Vec<OrderKey>,
    around: &Around,
    new: &[NewBlock],
    fresh: &mut dyn FnMut() -> BlockId,
) -> Result<Vec<Block>, Refusal> {
    if new.iter().map(NewBlock::count).sum::<usize>() > MAX_NEW_BLOCKS {
        return Err(too_many());
    }
    let (left, paths) = (Steps::for_a_call(), BTreeSet::new());
    let mut made = Maker { around, fresh, left, paths, blocks: Vec::new(), problems: Vec::new() };
    for (at, (block, key)) in new.iter().zip(keys).enumerate() {
        if spot.above.len() + block.height() > MAX_DEPTH {
            let message = format!("would be deeper than {MAX_DEPTH} blocks; make the tree flatter");
            made.problems.push(Problem::new(format!("/{at}"), message));
            continue;
        }
        made.make(&format!("/{at}"), block, spot.parent(), spot.kind(), key);
    }
    Refusal::if_any(made.problems)?;
    Ok(made.blocks)
}

struct Maker<'a> {
    around: &'a Around,
    fresh: &'a mut dyn FnMut() -> BlockId,
    left: Steps,
    paths: BTreeSet<String>,
    blocks: Vec<Block>,
    problems: Vec<Problem>,
}

impl Maker<'_> {
    fn make(
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
        let Self { around, left, .. } = self;
        let mut told = judge::props(&new.kind, &new.props, &around.types, &around.is_gone(), left);
        if self.around.types.get(&new.kind).is_some() {
            let misplaced = self.around.types.misplaced(&new.kind, kind);
            told.extend(misplaced.map(|message| Problem::new("/type", message)));
        }
        let id = (self.fresh)();
        let block =
            Block { id, kind: new.kind.clone(), parent: parent.cloned(), order, props: new.props.clone() };
        if let Some(wanted) = block.path()
            && (self.around.taken.contains(wanted) || !self.paths.insert(wanted.to_owned()))
        {
            told.push(taken(wanted));
        }
        let here = |problem: Problem| Problem { path: format!("{path}{}", problem.path), ..problem };
        self.problems.extend(told.into_iter().map(here));
        let id = block.id.clone();
        self.blocks.push(block);
        for (at, (child, order)) in new.children.iter().zip(order::spread(new.children.len())).enumerate() {
            self.make(&format!("{path}/children/{at}"), child, Some(&id), Some(&new.kind), order);
        }
    }
}

fn taken(path: &str) -> Problem {
    let path: String = path.chars().take(80).collect();
    Problem::new("/props/path", format!("another page has the path `{path}`; choose another"))
}

/// What has to be looked up before a patch to a block can be judged: only what it names anew.
pub fn update_needs(block: &Block, change: &Map<String, Value>) -> Needs {
    let changed = patched(block, change);
    let mut needs = Needs::default();
    needs.want(Some(&block.kind));
    needs.assets = &refs::required(&changed.props) - &refs::required(&block.props);
    if block.kind == PAGE && changed.path() != block.path() {
        needs.paths.extend(changed.path().map(str::to_owned));
    }
    needs
}

/// A block after a JSON Merge Patch to its props.
///
/// An asset that the block named before may be missing: it was deleted by force, and other props can still be changed.
pub fn update(block: &Block, around: &Around, change: &Map<String, Value>) -> Result<Block, Refusal> {
    let changed = patched(block, change);
    let mut left = Steps::for_a_call();
    let mut told = judge::props(&block.kind, &changed.props, &around.types, &around.is_gone(), &mut left);
    told.extend(changed.path().filter(|path| around.taken.contains(*path)).map(taken));
    let told: Vec<Problem> = told.into_iter().map(|problem| problem.of_block(&block.id)).collect();
    Refusal::if_any(told)?;
    Ok(changed)
}

fn patched(block: &Block, change: &Map<String, Value>) -> Block {
    let mut changed = block.clone();
    patch::merge(&mut changed.props, change);
    changed
}

/// A block at another place: one row.
///
/// `height` is how many levels the block and what is inside have. A store need not count them if the spot is no deeper
/// than the block is now: then 1 is right enough.
pub fn relocate(
    block: &Block,
    height: usize,
    spot: &Spot,
    key: OrderKey,
    types: &Types,
) -> Result<Block, Refusal> {
    let refuse =
        |message: String| Err(Refusal::Invalid(vec![Problem::new("/parent", message).of_block(&block.id)]));
    if spot.above.iter().any(|above| above.id == block.id) {
        return refuse(
            "cannot be moved into itself or into something inside it; choose another place".to_owned(),
        );
    }
    if let Some(message) = types.misplaced(&block.kind, spot.kind()) {
        return refuse(message);
    }
    if spot.above.len() + height > MAX_DEPTH {
        return refuse(format!("would be deeper than {MAX_DEPTH} blocks; choose a place higher up"));
    }
    Ok(Block { parent: spot.parent().cloned(), order: key, ..block.clone() })
}

impl Needs {
    /// The types that a block needs at a spot, if they are not built in.
    pub fn of_place(block: &Block, spot: &Spot) -> BTreeSet<String> {
        let kinds = [Some(block.kind.as_str()), spot.kind()];
        kinds.into_iter().flatten().filter(|kind| built_in(kind).is_none()).map(str::to_owned).collect()
    }
}
