mod properties;

use serde_json::json;

use super::*;
use crate::Refusal;
use crate::ids::{Ids, Seed};
use crate::limits::MAX_DEPTH;
use crate::types::{Children, CustomType};

fn new(value: &Value) -> Vec<NewBlock> {
    NewBlock::parse(value).unwrap()
}

/// Does to a tree what a store does to its rows.
struct Model {
    tree: Tree,
    ids: Ids,
}

impl Model {
    fn empty() -> Self {
        Self { tree: Tree::default(), ids: Ids::of(Seed([0; 16])) }
    }

    fn around(&self, needs: &Needs) -> Around {
        let taken =
            self.tree.iter().filter_map(|block| block.path()).filter(|path| needs.paths.contains(*path));
        Around {
            types: Types::default(),
            missing: needs.assets.clone(),
            taken: taken.map(str::to_owned).collect(),
        }
    }

    fn insert(&mut self, place: &Place, new: &[NewBlock]) -> Result<Vec<BlockId>, Refusal> {
        let spot = self.tree.spot(place, None)?;
        let around = self.around(&Needs::of(new, spot.kind()));
        let keys = spot.keys(new.len()).unwrap();
        let rows = insert(&spot, keys, &around, new, &mut || self.ids.block())?;
        let ids = rows.iter().map(|block| block.id.clone()).collect();
        for block in rows {
            self.tree.put(block);
        }
        Ok(ids)
    }

    fn relocate(&mut self, id: &BlockId, place: &Place) -> Result<(), Refusal> {
        let spot = self.tree.spot(place, Some(id))?;
        let key = spot.keys(1).unwrap().remove(0);
        let moved = relocate(self.tree.get(id)?, self.tree.height(id)?, &spot, key, &Types::default())?;
        self.tree.put(moved);
        Ok(())
    }

    fn copy(&mut self, id: &BlockId, place: &Place) -> Result<Vec<BlockId>, Refusal> {
        let spot = self.tree.spot(place, None)?;
        let key = spot.keys(1).unwrap().remove(0);
        let subtree = self.tree.subtree(id)?;
        let rows = copy(&subtree, &spot, key, &Types::default(), &mut || self.ids.block())?;
        let ids = rows.iter().map(|block| block.id.clone()).collect();
        for block in rows {
            self.tree.put(block);
        }
        Ok(ids)
    }

    fn page(&mut self, path: &str) -> BlockId {
        let page = new(&json!({ "type": "page", "props": { "title": "T", "path": path } }));
        self.insert(&Place::last(None), &page).unwrap().remove(0)
    }

    /// Puts sections of these titles into a block, and gives their ids.
    fn sections(&mut self, parent: &BlockId, titles: &[&str]) -> Vec<BlockId> {
        let blocks: Vec<Value> =
            titles.iter().map(|title| json!({ "type": "section", "props": { "title": title } })).collect();
        self.insert(&Place::last(Some(parent.clone())), &new(&json!(blocks))).unwrap()
    }

    fn titles(&self, parent: &BlockId) -> String {
        let title = |block: &Block| block.props["title"].as_str().unwrap().to_owned();
        self.tree.children(Some(parent)).map(title).collect()
    }
}

/// Blocks of a call are judged together; the first that is too much is told.
#[test]
fn a_call_inserts_what_can_be_judged() {
    let schema =
        json!({ "additionalProperties": { "items": { "allOf": vec![json!({ "multipleOf": 0.3 }); 10] } } });
    let own = CustomType {
        name: "costly".to_owned(),
        description: String::new(),
        schema,
        children: Children::None,
    };
    let around = Around { types: Types::with(&[own]), ..Around::default() };
    let spot = Spot {
        above: vec![Above { id: BlockId::parse("p").unwrap(), kind: PAGE.to_owned() }],
        left: None,
        right: None,
    };
    for (count, expected) in [(50, 0), (200, 1)] {
        let block = json!({ "type": "costly", "props": { "a": vec![3; 100] } });
        let blocks = new(&json!(vec![block; count]));
        let mut ids = Ids::of(Seed([0; 16]));
        let made = insert(&spot, spot.keys(count).unwrap(), &around, &blocks, &mut || ids.block());
        let told = match made {
            Err(Refusal::Invalid(told)) => told,
            other => other.map(|_| Vec::new()).unwrap(),
        };
        assert_eq!(told.len(), expected, "{count} {told:?}");
        let is_said = |told: &crate::error::Problem| {
            told.path.starts_with("/9") && told.message.contains("fewer blocks at once")
        };
        assert!(told.iter().all(is_said), "{told:?}");
    }
}

/// What is small as text can be large in memory. What may be kept at all is judged by the same rule.
#[test]
fn props_have_so_many_values() {
    let cells = |rows: usize| json!({ "rows": vec![vec!["a"; 9]; rows] });
    for (kind, props, expected) in [
        ("table", cells(900), 0),
        ("table", cells(1_000), 1),
        ("links", json!({ "links": vec![json!({ "label": "a", "href": "/" }); 200] }), 0),
        ("list", json!({ "items": vec!["a"; 500] }), 0),
    ] {
        let mut model = Model::empty();
        let page = model.page("/");
        let block = new(&json!({ "type": kind, "props": props }));
        let told = match model.insert(&Place::last(Some(page)), &block) {
            Err(Refusal::Invalid(told)) => told,
            other => other.map(|_| Vec::new()).unwrap(),
        };
        assert_eq!(told.len(), expected, "{kind} {told:?}");
        assert!(told.iter().all(|told| told.path == "/0/props" && told.message.contains("may have 10000")));
        let mut kept: Vec<Block> = model.tree.iter().filter(|block| block.kind == PAGE).cloned().collect();
        kept[0].props = props.as_object().unwrap().clone();
        assert_eq!(structure(&kept).len(), expected, "{kind}");
    }
}

type Ask = Box<dyn Fn(&BlockId, &[BlockId]) -> Place>;

#[test]
fn the_order_is_what_was_asked_for() {
    let within = |index: u32| {
        move |page: &BlockId, _: &[BlockId]| Place::In { parent: Some(page.clone()), index: Some(index) }
    };
    let cases: Vec<(usize, Ask, &str)> = vec![
        (0, Box::new(within(0)), "abcd"),
        (0, Box::new(within(1)), "bacd"),
        (0, Box::new(within(3)), "bcda"),
        (0, Box::new(within(99)), "bcda"),
        (3, Box::new(within(0)), "dabc"),
        (0, Box::new(|_, ids| Place::After(ids[1].clone())), "bacd"),
        (0, Box::new(|_, ids| Place::Before(ids[1].clone())), "abcd"),
        (2, Box::new(|_, ids| Place::Before(ids[0].clone())), "cabd"),
        (1, Box::new(|page, _| Place::last(Some(page.clone()))), "acdb"),
    ];
    for (which, place, expected) in cases {
        let mut model = Model::empty();
        let page = model.page("/");
        let ids = model.sections(&page, &["a", "b", "c", "d"]);
        model.relocate(&ids[which], &place(&page, &ids)).unwrap();
        assert_eq!(model.titles(&page), expected, "{which}");
    }
}

#[test]
fn what_cannot_be_moved_stays() {
    let mut model = Model::empty();
    let (page, other) = (model.page("/"), model.page("/other"));
    let a = model.sections(&page, &["a"]).remove(0);
    let b = model.sections(&a, &["b"]).remove(0);
    let text = model
        .insert(&Place::last(Some(page.clone())), &new(&json!({ "type": "text", "props": { "text": "x" } })));
    let text = text.unwrap().remove(0);
    let before = model.tree.clone();
    for (id, place, expected) in [
        (&a, Place::last(Some(a.clone())), "into itself"),
        (&a, Place::last(Some(b.clone())), "into itself"),
        (&a, Place::Before(b.clone()), "into itself"),
        (&a, Place::Before(a.clone()), "beside itself"),
        (&a, Place::last(Some(text.clone())), "nothing can be in a `text`"),
        (&a, Place::last(None), "only a `page` can"),
        (&a, Place::Before(other.clone()), "only a `page` can"),
        (&other, Place::last(Some(page.clone())), "belongs at the top"),
        (&a, Place::last(Some(BlockId::parse("gone").unwrap())), "there is no block `gone`"),
        (&BlockId::parse("gone").unwrap(), Place::last(Some(page.clone())), "there is no block `gone`"),
    ] {
        let refused = model.relocate(id, &place).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(model.tree, before);
    }
}

#[test]
fn depth_is_limited_however_it_comes_about() {
    let mut model = Model::empty();
    let page = model.page("/");
    let mut deepest = page.clone();
    for _ in 1..MAX_DEPTH {
        deepest = model.sections(&deepest, &["x"]).remove(0);
    }
    let too_deep = model.insert(&Place::last(Some(deepest.clone())), &new(&json!({ "type": "divider" })));
    assert!(matches!(too_deep, Err(Refusal::Invalid(_))));
    let pair = model.sections(&page, &["y"]).remove(0);
    model.sections(&pair, &["z"]);
    let parent = model.tree.get(&deepest).unwrap().parent.clone();
    assert!(matches!(model.relocate(&pair, &Place::last(parent.clone())), Err(Refusal::Invalid(_))));
    assert!(matches!(model.copy(&pair, &Place::last(parent)), Err(Refusal::Invalid(_))));
}

#[test]
fn all_problems_of_a_subtree_are_told() {
    let mut model = Model::empty();
    let page = model.page("/");
    let given = new(&json!([
        { "type": "section", "children": [{ "type": "nope" }, { "type": "heading", "props": { "level": 0 } }] },
        { "type": "column" },
        { "type": "image", "props": { "src": "asset:gone" } },
        { "type": "text", "props": { "text": "\0" } },
    ]));
    let Err(Refusal::Invalid(problems)) = model.insert(&Place::last(Some(page.clone())), &given) else {
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
    let Err(Refusal::Invalid(problems)) = model.insert(&Place::last(None), &new(&twice)) else { panic!() };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["/1/props/path", "/2/props/path"]);
    assert_eq!(model.tree.len(), 1);
}

#[test]
fn a_patch_is_judged_by_what_it_changes() {
    let mut model = Model::empty();
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
    assert_eq!(update_needs(&block, &alt), Needs::default());
    let changed = update(&block, &Around::default(), &alt).unwrap();
    assert_eq!(Value::Object(changed.props), json!({ "src": "asset:gone", "alt": "y", "caption": "z" }));
    let other = change(json!({ "src": "asset:other", "width": 0 }));
    let needs = update_needs(&block, &other);
    assert_eq!(needs.assets.len(), 1);
    let around = Around { missing: needs.assets, ..Around::default() };
    let Err(Refusal::Invalid(problems)) = update(&block, &around, &other) else { panic!() };
    let told: Vec<_> =
        problems.iter().map(|problem| (problem.block.as_deref(), problem.path.as_str())).collect();
    assert_eq!(told, [(Some("i"), "/props/width"), (Some("i"), "/props/src")]);
    assert!(update(&block, &Around::default(), &change(json!({ "src": null }))).is_err());
}

#[test]
fn a_copy_has_ids_and_paths_of_its_own() {
    let mut model = Model::empty();
    let page = model.page("/");
    let ids = model.sections(&page, &["a", "b"]);
    model.sections(&ids[0], &["c"]);
    let copied = model.copy(&page, &Place::After(page.clone())).unwrap();
    assert_eq!((copied.len(), model.tree.len()), (4, 8));
    assert_eq!(model.titles(&copied[0]), "ab");
    let path = model.tree.get(&copied[0]).unwrap().path().unwrap().to_owned();
    assert!(crate::links::is_page_path(&path) && path != "/", "{path}");
    // Into itself as well: what is copied is what was there.
    let inside = model.copy(&ids[0], &Place::last(Some(ids[0].clone()))).unwrap();
    assert_eq!((inside.len(), model.titles(&ids[0]).as_str()), (2, "ca"));
}
