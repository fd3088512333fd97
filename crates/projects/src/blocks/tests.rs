mod property_tests;

use serde_json::json;

use super::*;
use crate::ProjectRejection;
use crate::ids::{IdGenerator, IdSeed};
use crate::limits::MAX_BLOCK_DEPTH;
use crate::types::{AllowedChildren, CustomBlockType};

fn parse_blocks(value: &Value) -> Vec<NewBlock> {
    NewBlock::parse(value).unwrap()
}

/// Applies to a tree what a store applies to its rows.
struct BlockTreeFixture {
    tree: BlockTree,
    ids: IdGenerator,
}

impl BlockTreeFixture {
    fn empty() -> Self {
        Self { tree: BlockTree::default(), ids: IdGenerator::from_seed(IdSeed([0; 16])) }
    }

    fn look_up(&self, needs: &BlockLookups) -> BlockLookupResults {
        let taken =
            self.tree.iter().filter_map(|block| block.path()).filter(|path| needs.paths.contains(*path));
        BlockLookupResults {
            types: BlockTypes::default(),
            missing_assets: needs.assets.clone(),
            taken_paths: taken.map(str::to_owned).collect(),
        }
    }

    fn insert(
        &mut self,
        position: &BlockPosition,
        new: &[NewBlock],
    ) -> Result<Vec<BlockId>, ProjectRejection> {
        let spot = self.tree.resolve_position(position, None)?;
        let around = self.look_up(&BlockLookups::for_insert(new, spot.parent_kind()));
        let keys = spot.order_keys(new.len()).unwrap();
        let rows = insert(&spot, keys, &around, new, &mut || self.ids.next_block_id())?;
        let ids = rows.iter().map(|block| block.id.clone()).collect();
        for block in rows {
            self.tree.insert(block);
        }
        Ok(ids)
    }

    fn relocate(&mut self, id: &BlockId, position: &BlockPosition) -> Result<(), ProjectRejection> {
        let spot = self.tree.resolve_position(position, Some(id))?;
        let key = spot.order_keys(1).unwrap().remove(0);
        let moved = relocate(self.tree.get(id)?, self.tree.height(id)?, &spot, key, &BlockTypes::default())?;
        self.tree.insert(moved);
        Ok(())
    }

    fn copy(&mut self, id: &BlockId, position: &BlockPosition) -> Result<Vec<BlockId>, ProjectRejection> {
        let spot = self.tree.resolve_position(position, None)?;
        let key = spot.order_keys(1).unwrap().remove(0);
        let subtree = self.tree.subtree(id)?;
        let rows =
            copy_subtree(&subtree, &spot, key, &BlockTypes::default(), &mut || self.ids.next_block_id())?;
        let ids = rows.iter().map(|block| block.id.clone()).collect();
        for block in rows {
            self.tree.insert(block);
        }
        Ok(ids)
    }

    fn page(&mut self, path: &str) -> BlockId {
        let page = parse_blocks(&json!({ "type": "page", "props": { "title": "T", "path": path } }));
        self.insert(&BlockPosition::last(None), &page).unwrap().remove(0)
    }

    /// Inserts sections with these titles into a block, and returns their ids.
    fn sections(&mut self, parent: &BlockId, titles: &[&str]) -> Vec<BlockId> {
        let blocks: Vec<Value> =
            titles.iter().map(|title| json!({ "type": "section", "props": { "title": title } })).collect();
        self.insert(&BlockPosition::last(Some(parent.clone())), &parse_blocks(&json!(blocks))).unwrap()
    }

    fn titles(&self, parent: &BlockId) -> String {
        let title = |block: &Block| block.props["title"].as_str().unwrap().to_owned();
        self.tree.children(Some(parent)).map(title).collect()
    }
}

/// The blocks of a call share a budget; the first one beyond it is reported.
#[test]
fn insert_within_validation_budget_succeeds() {
    let schema =
        json!({ "additionalProperties": { "items": { "allOf": vec![json!({ "multipleOf": 0.3 }); 10] } } });
    let own = CustomBlockType {
        name: "costly".to_owned(),
        description: String::new(),
        schema,
        children: AllowedChildren::None,
    };
    let around =
        BlockLookupResults { types: BlockTypes::with_custom(&[own]), ..BlockLookupResults::default() };
    let spot = BlockSlot {
        ancestors: vec![AncestorBlock { id: BlockId::parse("p").unwrap(), kind: PAGE.to_owned() }],
        left: None,
        right: None,
    };
    for (count, expected) in [(50, 0), (200, 1)] {
        let block = json!({ "type": "costly", "props": { "a": vec![3; 100] } });
        let blocks = parse_blocks(&json!(vec![block; count]));
        let mut ids = IdGenerator::from_seed(IdSeed([0; 16]));
        let made =
            insert(&spot, spot.order_keys(count).unwrap(), &around, &blocks, &mut || ids.next_block_id());
        let told = match made {
            Err(ProjectRejection::Invalid(told)) => told,
            other => other.map(|_| Vec::new()).unwrap(),
        };
        assert_eq!(told.len(), expected, "{count} {told:?}");
        let is_said = |told: &crate::error::ValidationProblem| {
            told.path.starts_with("/9") && told.message.contains("fewer blocks at once")
        };
        assert!(told.iter().all(is_said), "{told:?}");
    }
}

/// Small JSON can be large in memory. The same rule applies to everything that is stored.
#[test]
fn props_value_limit_is_enforced() {
    let cells = |rows: usize| json!({ "rows": vec![vec!["a"; 9]; rows] });
    for (kind, props, expected) in [
        ("table", cells(900), 0),
        ("table", cells(1_000), 1),
        ("links", json!({ "links": vec![json!({ "label": "a", "href": "/" }); 200] }), 0),
        ("list", json!({ "items": vec!["a"; 500] }), 0),
    ] {
        let mut model = BlockTreeFixture::empty();
        let page = model.page("/");
        let block = parse_blocks(&json!({ "type": kind, "props": props }));
        let told = match model.insert(&BlockPosition::last(Some(page)), &block) {
            Err(ProjectRejection::Invalid(told)) => told,
            other => other.map(|_| Vec::new()).unwrap(),
        };
        assert_eq!(told.len(), expected, "{kind} {told:?}");
        assert!(told.iter().all(|told| told.path == "/0/props" && told.message.contains("10000")));
        let mut kept: Vec<Block> = model.tree.iter().filter(|block| block.kind == PAGE).cloned().collect();
        kept[0].props = props.as_object().unwrap().clone();
        assert_eq!(validate_structure(&kept).len(), expected, "{kind}");
    }
}

type PositionFn = Box<dyn Fn(&BlockId, &[BlockId]) -> BlockPosition>;

#[test]
fn blocks_are_inserted_at_the_requested_position() {
    let within = |index: u32| {
        move |page: &BlockId, _: &[BlockId]| BlockPosition::In {
            parent: Some(page.clone()),
            index: Some(index),
        }
    };
    let cases: Vec<(usize, PositionFn, &str)> = vec![
        (0, Box::new(within(0)), "abcd"),
        (0, Box::new(within(1)), "bacd"),
        (0, Box::new(within(3)), "bcda"),
        (0, Box::new(within(99)), "bcda"),
        (3, Box::new(within(0)), "dabc"),
        (0, Box::new(|_, ids| BlockPosition::After(ids[1].clone())), "bacd"),
        (0, Box::new(|_, ids| BlockPosition::Before(ids[1].clone())), "abcd"),
        (2, Box::new(|_, ids| BlockPosition::Before(ids[0].clone())), "cabd"),
        (1, Box::new(|page, _| BlockPosition::last(Some(page.clone()))), "acdb"),
    ];
    for (which, place, expected) in cases {
        let mut model = BlockTreeFixture::empty();
        let page = model.page("/");
        let ids = model.sections(&page, &["a", "b", "c", "d"]);
        model.relocate(&ids[which], &place(&page, &ids)).unwrap();
        assert_eq!(model.titles(&page), expected, "{which}");
    }
}

#[test]
fn rejected_move_changes_nothing() {
    let mut model = BlockTreeFixture::empty();
    let (page, other) = (model.page("/"), model.page("/other"));
    let a = model.sections(&page, &["a"]).remove(0);
    let b = model.sections(&a, &["b"]).remove(0);
    let text = model.insert(
        &BlockPosition::last(Some(page.clone())),
        &parse_blocks(&json!({ "type": "text", "props": { "text": "x" } })),
    );
    let text = text.unwrap().remove(0);
    let before = model.tree.clone();
    for (id, place, expected) in [
        (&a, BlockPosition::last(Some(a.clone())), "into itself"),
        (&a, BlockPosition::last(Some(b.clone())), "into itself"),
        (&a, BlockPosition::Before(b.clone()), "into itself"),
        (&a, BlockPosition::Before(a.clone()), "next to itself"),
        (&a, BlockPosition::last(Some(text.clone())), "a `text` cannot contain blocks"),
        (&a, BlockPosition::last(None), "only a `page` can"),
        (&a, BlockPosition::Before(other.clone()), "only a `page` can"),
        (&other, BlockPosition::last(Some(page.clone())), "belongs at the top"),
        (&a, BlockPosition::last(Some(BlockId::parse("gone").unwrap())), "block `gone` not found"),
        (&BlockId::parse("gone").unwrap(), BlockPosition::last(Some(page.clone())), "block `gone` not found"),
    ] {
        let refused = model.relocate(id, &place).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(model.tree, before);
    }
}

#[test]
fn depth_limit_holds_for_insert_move_and_copy() {
    let mut model = BlockTreeFixture::empty();
    let page = model.page("/");
    let mut deepest = page.clone();
    for _ in 1..MAX_BLOCK_DEPTH {
        deepest = model.sections(&deepest, &["x"]).remove(0);
    }
    let too_deep = model
        .insert(&BlockPosition::last(Some(deepest.clone())), &parse_blocks(&json!({ "type": "divider" })));
    assert!(matches!(too_deep, Err(ProjectRejection::Invalid(_))));
    let pair = model.sections(&page, &["y"]).remove(0);
    model.sections(&pair, &["z"]);
    let parent = model.tree.get(&deepest).unwrap().parent.clone();
    assert!(matches!(
        model.relocate(&pair, &BlockPosition::last(parent.clone())),
        Err(ProjectRejection::Invalid(_))
    ));
    assert!(matches!(model.copy(&pair, &BlockPosition::last(parent)), Err(ProjectRejection::Invalid(_))));
}

#[test]
fn all_problems_of_a_subtree_are_reported() {
    let mut model = BlockTreeFixture::empty();
    let page = model.page("/");
    let given = parse_blocks(&json!([
        { "type": "section", "children": [{ "type": "nope" }, { "type": "heading", "props": { "level": 0 } }] },
        { "type": "column" },
        { "type": "image", "props": { "src": "asset:gone" } },
        { "type": "text", "props": { "text": "\0" } },
    ]));
    let Err(ProjectRejection::Invalid(problems)) =
        model.insert(&BlockPosition::last(Some(page.clone())), &given)
    else {
        panic!()
    };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    let expected = [
        "/0/children/0/type",
        "/0/children/1/props",
        "/0/children/1/props/level",
        "/1/type",
        "/2/props/src",
        "/3/props/text",
    ];
    assert_eq!(paths, expected);
    let twice = json!([
        { "type": "page", "props": { "title": "A", "path": "/a" } },
        { "type": "page", "props": { "title": "B", "path": "/a" } },
        { "type": "page", "props": { "title": "C", "path": "/" } },
    ]);
    let Err(ProjectRejection::Invalid(problems)) =
        model.insert(&BlockPosition::last(None), &parse_blocks(&twice))
    else {
        panic!()
    };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["/1/props/path", "/2/props/path"]);
    assert_eq!(model.tree.len(), 1);
}

#[test]
fn patch_validates_only_what_it_changes() {
    let mut model = BlockTreeFixture::empty();
    let page = model.page("/");
    let block = Block {
        id: BlockId::parse("i").unwrap(),
        kind: "image".to_owned(),
        parent: Some(page),
        order: OrderKey::first(),
        props: json!({ "src": "asset:gone", "alt": "x" }).as_object().unwrap().clone(),
    };
    let change = |value: Value| value.as_object().unwrap().clone();
    let alt = change(json!({ "alt": "y", "caption": "z" }));
    assert_eq!(lookups_for_update(&block, &alt), BlockLookups::default());
    let changed = update(&block, &BlockLookupResults::default(), &alt).unwrap();
    assert_eq!(Value::Object(changed.props), json!({ "src": "asset:gone", "alt": "y", "caption": "z" }));
    let other = change(json!({ "src": "asset:other", "width": 0 }));
    let needs = lookups_for_update(&block, &other);
    assert_eq!(needs.assets.len(), 1);
    let around = BlockLookupResults { missing_assets: needs.assets, ..BlockLookupResults::default() };
    let Err(ProjectRejection::Invalid(problems)) = update(&block, &around, &other) else { panic!() };
    let told: Vec<_> =
        problems.iter().map(|problem| (problem.block.as_deref(), problem.path.as_str())).collect();
    assert_eq!(told, [(Some("i"), "/props/width"), (Some("i"), "/props/src")]);
    assert!(update(&block, &BlockLookupResults::default(), &change(json!({ "src": null }))).is_err());
}

#[test]
fn copy_gets_new_ids_and_paths() {
    let mut model = BlockTreeFixture::empty();
    let page = model.page("/");
    let ids = model.sections(&page, &["a", "b"]);
    model.sections(&ids[0], &["c"]);
    let copied = model.copy(&page, &BlockPosition::After(page.clone())).unwrap();
    assert_eq!((copied.len(), model.tree.len()), (4, 8));
    assert_eq!(model.titles(&copied[0]), "ab");
    let path = model.tree.get(&copied[0]).unwrap().path().unwrap().to_owned();
    assert!(crate::links::is_page_path(&path) && path != "/", "{path}");
    // Even into itself: the copy contains what was there before.
    let inside = model.copy(&ids[0], &BlockPosition::last(Some(ids[0].clone()))).unwrap();
    assert_eq!((inside.len(), model.titles(&ids[0]).as_str()), (2, "ca"));
}
