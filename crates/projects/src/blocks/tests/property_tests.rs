//! Invariants that hold after any sequence of operations.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use super::{BlockTreeFixture, parse_blocks};
use crate::blocks::{BlockNode, BlockPosition, BlockTree, TreeQuery, build_nodes};
use crate::ids::BlockId;
use crate::limits::MAX_BLOCK_DEPTH;

#[derive(Clone, Debug)]
enum TreeOperation {
    Insert(Index, Option<u32>),
    Move(Index, Index, Option<u32>),
    Beside(Index, Index, bool),
    Copy(Index, Index),
    Delete(Index),
}

fn tree_operation() -> impl Strategy<Value = TreeOperation> {
    let index = any::<Index>;
    let at = || prop::option::of(0_u32..6);
    prop_oneof![
        4 => (index(), at()).prop_map(|(parent, at)| TreeOperation::Insert(parent, at)),
        4 => (index(), index(), at()).prop_map(|(block, parent, at)| TreeOperation::Move(block, parent, at)),
        2 => (index(), index(), any::<bool>()).prop_map(|(block, other, after)| TreeOperation::Beside(block, other, after)),
        1 => (index(), index()).prop_map(|(block, parent)| TreeOperation::Copy(block, parent)),
        1 => index().prop_map(TreeOperation::Delete),
    ]
}

fn check_tree(tree: &BlockTree) {
    assert_eq!(tree.walk().count(), tree.len(), "every block hangs on a page, once");
    for (block, depth, parent) in tree.walk() {
        assert!(depth <= MAX_BLOCK_DEPTH && block.parent.as_ref() == parent.map(|parent| &parent.id));
        let keys: Vec<_> = tree.children(Some(&block.id)).map(|child| &child.order).collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

fn count_nodes(nodes: &[BlockNode]) -> usize {
    assert!(nodes.iter().all(|node| node.hidden == 0));
    nodes.iter().map(|node| 1 + count_nodes(&node.children)).sum()
}

proptest! {
    #[test]
    fn any_operation_sequence_keeps_a_valid_tree(steps in prop::collection::vec(tree_operation(), 1..60)) {
        let mut model = BlockTreeFixture::empty();
        let pages = [model.page("/"), model.page("/b")];
        for step in steps {
            let ids: Vec<BlockId> = model.tree.iter().map(|block| block.id.clone()).collect();
            let pick = |index: Index| ids[index.index(ids.len())].clone();
            let before = model.tree.clone();
            let within = |parent: Index, index: Option<u32>| BlockPosition::In { parent: Some(pick(parent)), index };
            let section = parse_blocks(&json!({ "type": "section", "children": [{ "type": "divider" }] }));
            let (done, grown) = match step {
                TreeOperation::Insert(parent, at) => (model.insert(&within(parent, at), &section).map(|_| ()), Some(2)),
                TreeOperation::Move(block, parent, at) => (model.relocate(&pick(block), &within(parent, at)), Some(0)),
                TreeOperation::Beside(block, other, after) => {
                    let other = pick(other);
                    let place = if after { BlockPosition::After(other) } else { BlockPosition::Before(other) };
                    (model.relocate(&pick(block), &place), Some(0))
                }
                TreeOperation::Copy(..) if before.len() > 400 => (Ok(()), Some(0)),
                TreeOperation::Copy(block, parent) => {
                    let count = model.tree.subtree(&pick(block)).unwrap().len();
                    (model.copy(&pick(block), &within(parent, None)).map(|_| ()), Some(count))
                }
                TreeOperation::Delete(block) if pages.contains(&pick(block)) => (Ok(()), Some(0)),
                TreeOperation::Delete(block) => (model.tree.remove_subtree(&pick(block)).map(|_| ()), None),
            };
            check_tree(&model.tree);
            match (done, grown) {
                (Err(_), _) => prop_assert_eq!(&model.tree, &before),
                (Ok(()), Some(grown)) => prop_assert_eq!(model.tree.len(), before.len() + grown),
                (Ok(()), None) => prop_assert!(model.tree.len() < before.len()),
            }
        }
        let all = model.tree.query(None, TreeQuery::ALL).unwrap();
        let nested = build_nodes(all);
        prop_assert_eq!(count_nodes(&nested), model.tree.len());
    }
}
