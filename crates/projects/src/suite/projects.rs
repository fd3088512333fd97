//! Projects, their block types and design systems.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Replicas;
use super::tools::{Desk, Refused as _, ann, at, id, map};
use crate::blocks::Place;
use crate::cursor::{Cursor, Page};
use crate::design::DesignEdit;
use crate::error::Refusal;
use crate::new_project::NewProject;
use crate::project::{FieldsPatch, NewFields, Status, Write};
use crate::types::{Children, CustomType};
use design_tokens::{Document, Kind, NewToken, starter};

/// Everything of a new project is there, also for the other replica.
pub async fn a_project_comes_back_as_it_was_made([store, other]: Replicas) {
    let fields = NewFields {
        name: "Meine Website".to_owned(),
        slug: None,
        description: "two\nlines".to_owned(),
        metadata: map(json!({ "a": [1, 2.5, -0.5, null, true, "ü"], "b": { "c": {} }, "big": 1e300 })),
    };
    let new = NewProject::empty(id(1), fields.clone());
    let made = store.create_project(&ann(), new, false, at(0)).await.unwrap();
    assert_eq!((made.revision, made.created, made.updated), (1, at(0), at(0)));
    assert_eq!((made.status(), made.published, made.next_version), (Status::Draft, None, 1));
    assert_eq!((made.fields.slug.as_str(), &made.fields.metadata), ("meine-website", &fields.metadata));
    assert_eq!(other.project(&ann(), &id(1)).await.unwrap(), made);
    let design = other.design_system(&ann(), &id(1)).await.unwrap();
    assert_eq!((design.revision, design.value.to_string()), (1, starter().to_string()));
    let content = other.content(&ann(), &id(1)).await.unwrap().value;
    assert_eq!((content.blocks.len(), content.types.len(), content.assets.len()), (0, 0, 0));
    assert_eq!(content.fields, made.fields);
    let again = NewProject::empty(id(1), NewFields::named("x"));
    assert_eq!(store.create_project(&ann(), again, false, at(1)).await.word(), "taken");
    let bad = NewFields { slug: Some("A B".to_owned()), ..NewFields::named(" ") };
    let refused = store.create_project(&ann(), NewProject::empty(id(2), bad), false, at(1)).await.refusal();
    assert!(matches!(refused, Refusal::Invalid(problems) if problems.len() == 2));
}

/// A patch changes what it names, and nothing if it is wrong.
pub async fn fields_are_changed_and_judged(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let patch = FieldsPatch {
        name: Some("Two".to_owned()),
        metadata: Some(map(json!({ "a": 1 }))),
        ..FieldsPatch::default()
    };
    let changed = desk.store.update_project(desk.write(), patch).await.unwrap();
    assert_eq!((changed.revision, changed.updated, changed.created), (2, at(60), at(0)));
    assert_eq!((changed.fields.name.as_str(), changed.fields.slug.as_str()), ("Two", "one"));
    assert_eq!(desk.project().await, changed);
    let bad = FieldsPatch { name: Some("x\0".to_owned()), ..FieldsPatch::default() };
    assert_eq!(desk.store.update_project(desk.write(), bad).await.word(), "invalid");
    assert_eq!(desk.project().await, changed);
    // Time does not go back.
    let early = Write { now: at(-100), ..desk.write() };
    let later = desk.store.update_project(early, FieldsPatch::default()).await.unwrap();
    assert_eq!((later.revision, later.updated), (3, at(60)));
}

/// A slug is somebody's, in one account.
pub async fn slugs_are_unique_in_an_account(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let create = async |account: &crate::Account, number: u8, slug: Option<&str>| {
        let fields = NewFields { slug: slug.map(str::to_owned), ..NewFields::named("One") };
        desk.store.create_project(account, NewProject::empty(id(number), fields), false, at(1)).await
    };
    assert_eq!(create(&ann(), 2, Some("one")).await.word(), "taken");
    assert_ne!(create(&ann(), 3, None).await.unwrap().fields.slug, "one");
    assert_eq!(create(&super::tools::bob(), 4, Some("one")).await.unwrap().fields.slug, "one");
    assert_eq!(create(&ann(), 5, Some("five")).await.unwrap().fields.slug, "five");
    let rename = |slug: &str| FieldsPatch { slug: Some(slug.to_owned()), ..FieldsPatch::default() };
    assert_eq!(desk.store.update_project(desk.write(), rename("five")).await.word(), "taken");
    assert_eq!(desk.store.update_project(desk.write(), rename("one")).await.word(), "done");
    assert_eq!(desk.store.update_project(desk.write(), rename("six")).await.word(), "done");
    assert_eq!(create(&ann(), 6, Some("one")).await.word(), "done");
}

/// Cursors that no list gave are refused, whatever a store makes of them.
pub async fn forged_cursors_are_refused(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let time = |time: Timestamp| Cursor::of_time(time, "x");
    for (cursor, expected) in [
        (Cursor::new("x", "x"), "invalid"),
        (Cursor::of_number(0, "x"), "invalid"),
        (Cursor::of_number(u64::MAX, "x"), "invalid"),
        (time(Timestamp::MIN), "invalid"),
        (time(Cursor::EARLIEST), "done"),
        (time(Timestamp::constant(200_000_000_000, 0)), "done"),
    ] {
        let page = Page { after: Some(cursor.clone()), limit: Some(3) };
        assert_eq!(desk.store.list_projects(&ann(), page.clone()).await.word(), expected, "{cursor:?}");
        assert_eq!(desk.store.list_assets(&ann(), &desk.id, page).await.word(), expected, "{cursor:?}");
    }
}

/// By time and id, whatever is written in between; pages fit together.
pub async fn lists_are_in_order_and_in_pages([store, other]: Replicas) {
    for number in 1..=7 {
        let new = NewProject::empty(id(number), NewFields::named(format!("P{number}")));
        store.create_project(&ann(), new, false, at(i64::from(number / 3))).await.unwrap();
    }
    let all = other.list_projects(&ann(), Page::ALL).await.unwrap();
    assert_eq!((all.items.len(), &all.next), (7, &None));
    assert!(all.items.is_sorted_by_key(|project| (project.created, project.id.as_str().to_owned())));
    let write = Write {
        account: ann(),
        project: all.items[0].id.clone(),
        if_revision: None,
        dry_run: false,
        now: at(99),
    };
    store.update_project(write, FieldsPatch::default()).await.unwrap();
    for limit in 1..=8 {
        let mut page = Page::first(limit);
        let mut found = Vec::new();
        loop {
            let listed = other.list_projects(&ann(), page).await.unwrap();
            assert!(listed.items.len() <= limit as usize);
            found.extend(listed.items.into_iter().map(|project| project.id));
            let Some(next) = listed.next else { break };
            let after = Some(Cursor::decode(&next.encode()).unwrap());
            page = Page { after, limit: Some(limit) };
        }
        assert!(found.iter().eq(all.items.iter().map(|project| &project.id)), "{limit}");
    }
    let beyond = Page { after: Some(all.items[6].cursor()), limit: None };
    assert_eq!(other.list_projects(&ann(), beyond).await.unwrap().items, []);
}

/// What somebody begins to type.
pub async fn ids_are_completed([store, other]: Replicas) {
    for number in 1..=5 {
        let new = NewProject::empty(id(number), NewFields::named("P"));
        store.create_project(&ann(), new, false, at(0)).await.unwrap();
    }
    let count =
        async |prefix: &str, most| other.projects_beginning(&ann(), prefix, most).await.unwrap().len();
    assert_eq!(count("", 100).await, 5);
    assert_eq!(count("proj_", 3).await, 3);
    assert_eq!(count(id(3).as_str(), 9).await, 1);
    for odd in ["%", "proj%", "PROJ_", "proj_\0", "'", "_", &"x".repeat(5000)] {
        assert_eq!(count(odd, 9).await, 0, "{odd:.20}");
    }
}

/// A project goes with everything of it.
pub async fn a_deleted_project_is_gone(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    desk.page("/").await;
    desk.put("a", b"x").await;
    desk.store.publish(desk.write(), "").await.unwrap();
    assert_eq!(desk.store.delete_project(desk.at_revision(1)).await.word(), "conflict");
    assert_eq!(desk.store.delete_project(desk.dry()).await.word(), "done");
    let before = desk.project().await;
    assert_eq!(desk.store.delete_project(desk.write()).await.unwrap(), before);
    assert_eq!(desk.other.project(&ann(), &desk.id).await.word(), "not found");
    assert_eq!(desk.store.delete_project(desk.write()).await.word(), "not found");
    // Its id and slug are free again, and nothing of it comes back.
    let new = NewProject::empty(desk.id.clone(), NewFields::named("One"));
    let again = desk.store.create_project(&ann(), new, false, at(1)).await.unwrap();
    assert_eq!((again.revision, again.next_version, again.fields.slug.as_str()), (1, 1, "one"));
    let content = desk.store.content(&ann(), &desk.id).await.unwrap().value;
    assert_eq!((content.blocks.len(), content.assets.len()), (0, 0));
    assert_eq!(desk.store.list_versions(&ann(), &desk.id, Page::ALL).await.unwrap().items, []);
}

/// A copy has all that the draft has; afterwards each goes its own way.
pub async fn a_copy_is_whole_and_apart(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    desk.sections(&page, "ab").await;
    let asset = desk.put("a", b"content").await.value;
    desk.store.put_block_type(desk.write(), own("price")).await.unwrap();
    desk.store.publish(desk.write(), "").await.unwrap();
    let revision = desk.project().await.revision;
    let copy = |write| desk.store.duplicate_project(write, id(2), NewFields::named("Copy"));
    assert_eq!(copy(desk.at_revision(1)).await.word(), "conflict");
    assert_eq!(copy(desk.dry()).await.word(), "done");
    assert_eq!(desk.other.project(&ann(), &id(2)).await.word(), "not found");
    let made = copy(desk.write()).await.unwrap();
    assert_eq!((made.revision, made.published, made.usage.versions), (1, None, 0));
    assert_eq!((made.fields.name.as_str(), made.fields.slug.as_str()), ("Copy", "copy"));
    assert_eq!(desk.project().await.revision, revision);
    let mut one = desk.other.content(&ann(), &desk.id).await.unwrap().value;
    let two = desk.other.content(&ann(), &id(2)).await.unwrap().value;
    one.fields = two.fields.clone();
    assert_eq!(one, two);
    assert_eq!(copy(desk.write()).await.word(), "taken");
    desk.store.delete_project(desk.write()).await.unwrap();
    assert_eq!(desk.other.asset_bytes(&ann(), &id(2), &asset.digest).await.unwrap(), b"content");
    assert_eq!(desk.other.content(&ann(), &id(2)).await.unwrap().value, two);
}

pub(super) fn own(name: &str) -> CustomType {
    CustomType {
        name: name.to_owned(),
        description: "d".to_owned(),
        schema: json!({ "type": "object", "properties": { "amount": { "type": "number" } } }),
        children: Children::None,
    }
}

/// Types of a project's own are kept, replaced, used and, when unused, deleted.
pub async fn block_types_are_kept_and_judged(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    for children in [Children::Any, Children::None, Children::Only(vec!["text".to_owned(), "b".to_owned()])] {
        let own = CustomType { children, ..own("price") };
        assert_eq!(desk.store.put_block_type(desk.write(), own.clone()).await.unwrap().value, own);
        assert_eq!(desk.other.block_types(&ann(), &desk.id).await.unwrap().value, [own]);
    }
    desk.store.put_block_type(desk.write(), own("a")).await.unwrap();
    assert_eq!(desk.project().await.usage.types, 2);
    assert_eq!(desk.store.put_block_type(desk.write(), own("text")).await.word(), "invalid");
    let price = json!({ "type": "price", "props": { "amount": 3 }, "children": [{ "type": "text", "props": { "text": "x" } }] });
    let ids = desk.insert(Place::last(Some(page)), price).await;
    let change = async |value: Value| desk.store.update_block(desk.write(), &ids[0], map(value)).await;
    assert_eq!(change(json!({ "amount": "three" })).await.word(), "invalid");
    assert_eq!(change(json!({ "amount": 4 })).await.word(), "done");
    let refused = desk.store.delete_block_type(desk.write(), "price").await.refusal();
    assert!(matches!(refused, Refusal::InUse { by, .. } if by == [ids[0].to_string()]));
    desk.store.delete_block(desk.write(), &ids[0]).await.unwrap();
    assert_eq!(desk.store.delete_block_type(desk.write(), "price").await.word(), "done");
    assert_eq!(desk.store.delete_block_type(desk.write(), "price").await.word(), "not found");
    assert_eq!(desk.project().await.usage.types, 1);
}

/// A design system is changed by the rules of design tokens, and comes back with its names in their order.
pub async fn design_systems_are_changed(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let text = r##"{"z":{"$type":"number","$value":1},"a":{"$type":"color","$value":"#ff0000"},"b":{"$type":"color","$value":"{a}"}}"##;
    let document = Document::parse(text).unwrap();
    let edit = async |write, edit| desk.store.edit_design_system(write, edit).await;
    assert_eq!(edit(desk.write(), DesignEdit::Replace(document)).await.unwrap().revision, 2);
    let read = async || desk.other.design_system(&ann(), &desk.id).await.unwrap();
    assert_eq!(read().await.value.to_string(), text);
    let delete = |force| DesignEdit::Delete { path: "a".to_owned(), mode: None, force };
    assert_eq!(edit(desk.write(), delete(false)).await.word(), "design");
    assert_eq!(edit(desk.write(), DesignEdit::ImportJson("[".to_owned())).await.word(), "import");
    assert_eq!(edit(desk.at_revision(1), delete(true)).await.word(), "conflict");
    assert_eq!(edit(desk.dry(), delete(true)).await.unwrap().revision, 3);
    assert_eq!((read().await.revision, read().await.value.to_string()), (2, text.to_owned()));
    let set = DesignEdit::Set { path: "n".to_owned(), token: NewToken::new(Kind::Number, 2.0) };
    let set = edit(desk.at_revision(2), set).await.unwrap();
    assert_eq!((set.revision, set.value.touched), (3, vec!["n".to_owned()]));
    let exchanged =
        |number: f64| DesignEdit::Set { path: "n".to_owned(), token: NewToken::new(Kind::Number, number) };
    assert_eq!(edit(desk.at_revision(2), exchanged(4.0)).await.word(), "conflict");
    assert_eq!(edit(desk.dry(), exchanged(4.0)).await.unwrap().revision, 4);
    let added =
        |number: u8| format!(r#"{},"n":{{"$type":"number","$value":{number}}}}}"#, &text[..text.len() - 1]);
    assert_eq!((read().await.revision, read().await.value.to_string()), (3, added(2)));
    let set = edit(desk.at_revision(3), exchanged(4.0)).await.unwrap();
    assert_eq!((set.revision, set.value.touched), (4, vec!["n".to_owned()]));
    assert_eq!((read().await.revision, read().await.value.to_string()), (4, added(4)));
    let wrong = DesignEdit::Set { path: "n".to_owned(), token: NewToken::new(Kind::Number, "soon") };
    assert_eq!(edit(desk.write(), wrong).await.word(), "design");
    assert_eq!(read().await.revision, 4);
    // What was kept before a limit became lower is read all the same.
    let text = format!(r#"{{"{}":{{"$type":"number","$value":1}}}}"#, "n".repeat(300));
    assert!(Document::parse(&text).is_err());
    edit(desk.write(), DesignEdit::Replace(Document::stored(&text).unwrap())).await.unwrap();
    assert_eq!(read().await.value.to_string(), text);
    let content = desk.other.content(&ann(), &desk.id).await.unwrap().value.encode();
    assert_eq!(crate::Content::decode(&content).unwrap().design.to_string(), text);
}

/// Everything of one project, read as text, is another project.
pub async fn an_export_becomes_a_project(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    desk.sections(&page, "ab").await;
    desk.store.put_block_type(desk.write(), own("price")).await.unwrap();
    let text = desk.other.content(&ann(), &desk.id).await.unwrap().value.encode();
    let content = crate::Content::decode(&text).unwrap();
    let new = NewProject::copy_of(content.clone(), id(2), NewFields::default());
    let made = desk.store.create_project(&ann(), new.clone(), false, at(1)).await.unwrap();
    assert_eq!((made.usage.blocks, made.usage.types, made.fields.name.as_str()), (3, 1, "One"));
    let read = desk.other.content(&ann(), &id(2)).await.unwrap().value;
    assert_eq!((read.blocks, read.types), (content.blocks, content.types));
    let mut lost = NewProject { id: id(3), ..new };
    lost.blocks.remove(0);
    assert_eq!(desk.store.create_project(&ann(), lost, false, at(1)).await.word(), "invalid");
    assert_eq!(desk.store.project(&ann(), &id(3)).await.word(), "not found");
}

/// Names and texts are data, whatever they hold.
pub async fn odd_texts_come_back_as_they_were(replicas: Replicas) {
    let desk = Desk::new(replicas).await;
    let page = desk.page("/").await;
    let ids = desk.sections(&page, "a").await;
    for odd in
        ["'; DROP TABLE projects; --", "%_\\", "🎉 \u{202e}rtl", "<script>", "\u{feff}x\u{fffd}", "{\"a\":1}"]
    {
        let patch = FieldsPatch { name: Some(odd.to_owned()), ..FieldsPatch::default() };
        desk.store.update_project(desk.write(), patch).await.unwrap();
        assert_eq!(desk.project().await.fields.name, odd);
        desk.store.update_block(desk.write(), &ids[0], map(json!({ "title": odd }))).await.unwrap();
        assert_eq!(desk.titles(&page).await, odd);
    }
    let nul = desk.store.update_block(desk.write(), &ids[0], map(json!({ "title": "a\0b" }))).await;
    assert_eq!(nul.word(), "invalid");
}
