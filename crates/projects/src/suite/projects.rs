//! Projects, their block types and design systems.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Replicas;
use super::fixture::{ExpectRejection as _, SuiteFixture, ann, object, project_id, timestamp};
use crate::blocks::BlockPosition;
use crate::cursor::{Cursor, Page};
use crate::design::DesignEdit;
use crate::error::ProjectRejection;
use crate::new_project::NewProject;
use crate::project::{NewProjectFields, ProjectFieldsPatch, ProjectStatus, ProjectWrite};
use crate::types::{AllowedChildren, CustomBlockType};
use design_tokens::{NewToken, TokenDocument, TokenKind, starter_document};

/// A new project is complete, also for the other replica.
pub async fn created_project_is_read_back_unchanged([store, other]: Replicas) {
    let fields = NewProjectFields {
        name: "Meine Website".to_owned(),
        slug: None,
        description: "two\nlines".to_owned(),
        metadata: object(json!({ "a": [1, 2.5, -0.5, null, true, "ü"], "b": { "c": {} }, "big": 1e300 })),
    };
    let new = NewProject::empty(project_id(1), fields.clone());
    let made = store.create_project(&ann(), new, false, timestamp(0)).await.unwrap();
    assert_eq!((made.revision, made.created, made.updated), (1, timestamp(0), timestamp(0)));
    assert_eq!((made.status(), made.published, made.next_version), (ProjectStatus::Draft, None, 1));
    assert_eq!((made.fields.slug.as_str(), &made.fields.metadata), ("meine-website", &fields.metadata));
    assert_eq!(other.project(&ann(), &project_id(1)).await.unwrap(), made);
    let design = other.design_system(&ann(), &project_id(1)).await.unwrap();
    assert_eq!((design.revision, design.value.to_string()), (1, starter_document().to_string()));
    let content = other.content(&ann(), &project_id(1)).await.unwrap().value;
    assert_eq!((content.blocks.len(), content.types.len(), content.assets.len()), (0, 0, 0));
    assert_eq!(content.fields, made.fields);
    let again = NewProject::empty(project_id(1), NewProjectFields::with_name("x"));
    assert_eq!(store.create_project(&ann(), again, false, timestamp(1)).await.outcome_name(), "taken");
    let bad = NewProjectFields { slug: Some("A B".to_owned()), ..NewProjectFields::with_name(" ") };
    let refused = store
        .create_project(&ann(), NewProject::empty(project_id(2), bad), false, timestamp(1))
        .await
        .expect_rejection();
    assert!(matches!(refused, ProjectRejection::Invalid(problems) if problems.len() == 2));
}

/// A patch only changes the fields it contains, and nothing if it is invalid.
pub async fn fields_are_updated_and_validated(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let patch = ProjectFieldsPatch {
        name: Some("Two".to_owned()),
        metadata: Some(object(json!({ "a": 1 }))),
        ..ProjectFieldsPatch::default()
    };
    let changed = suite.store.update_project(suite.write(), patch).await.unwrap();
    assert_eq!((changed.revision, changed.updated, changed.created), (2, timestamp(60), timestamp(0)));
    assert_eq!((changed.fields.name.as_str(), changed.fields.slug.as_str()), ("Two", "one"));
    assert_eq!(suite.project().await, changed);
    let bad = ProjectFieldsPatch { name: Some("x\0".to_owned()), ..ProjectFieldsPatch::default() };
    assert_eq!(suite.store.update_project(suite.write(), bad).await.outcome_name(), "invalid");
    assert_eq!(suite.project().await, changed);
    // `updated` does not decrease.
    let early = ProjectWrite { now: timestamp(-100), ..suite.write() };
    let later = suite.store.update_project(early, ProjectFieldsPatch::default()).await.unwrap();
    assert_eq!((later.revision, later.updated), (3, timestamp(60)));
}

/// Slugs are unique per account.
pub async fn slugs_are_unique_in_an_account(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let create = async |account: &crate::Account, number: u8, slug: Option<&str>| {
        let fields = NewProjectFields { slug: slug.map(str::to_owned), ..NewProjectFields::with_name("One") };
        suite
            .store
            .create_project(account, NewProject::empty(project_id(number), fields), false, timestamp(1))
            .await
    };
    assert_eq!(create(&ann(), 2, Some("one")).await.outcome_name(), "taken");
    assert_ne!(create(&ann(), 3, None).await.unwrap().fields.slug, "one");
    assert_eq!(create(&super::fixture::bob(), 4, Some("one")).await.unwrap().fields.slug, "one");
    assert_eq!(create(&ann(), 5, Some("five")).await.unwrap().fields.slug, "five");
    let rename =
        |slug: &str| ProjectFieldsPatch { slug: Some(slug.to_owned()), ..ProjectFieldsPatch::default() };
    assert_eq!(suite.store.update_project(suite.write(), rename("five")).await.outcome_name(), "taken");
    assert_eq!(suite.store.update_project(suite.write(), rename("one")).await.outcome_name(), "done");
    assert_eq!(suite.store.update_project(suite.write(), rename("six")).await.outcome_name(), "done");
    assert_eq!(create(&ann(), 6, Some("one")).await.outcome_name(), "done");
}

/// Forged cursors are rejected by every store.
pub async fn forged_cursors_are_rejected(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let time = |time: Timestamp| Cursor::from_time(time, "x");
    for (cursor, expected) in [
        (Cursor::new("x", "x"), "invalid"),
        (Cursor::from_number(0, "x"), "invalid"),
        (Cursor::from_number(u64::MAX, "x"), "invalid"),
        (time(Timestamp::MIN), "invalid"),
        (time(Cursor::EARLIEST), "done"),
        (time(Timestamp::constant(200_000_000_000, 0)), "done"),
    ] {
        let page = Page { after: Some(cursor.clone()), limit: Some(3) };
        assert_eq!(
            suite.store.list_projects(&ann(), page.clone()).await.outcome_name(),
            expected,
            "{cursor:?}"
        );
        assert_eq!(
            suite.store.list_assets(&ann(), &suite.id, page).await.outcome_name(),
            expected,
            "{cursor:?}"
        );
    }
}

/// Projects are listed by time and id, regardless of concurrent writes; pages are contiguous.
pub async fn projects_are_listed_in_order_and_in_pages([store, other]: Replicas) {
    for number in 1..=7 {
        let new = NewProject::empty(project_id(number), NewProjectFields::with_name(format!("P{number}")));
        store.create_project(&ann(), new, false, timestamp(i64::from(number / 3))).await.unwrap();
    }
    let all = other.list_projects(&ann(), Page::ALL).await.unwrap();
    assert_eq!((all.items.len(), &all.next), (7, &None));
    assert!(all.items.is_sorted_by_key(|project| (project.created, project.id.as_str().to_owned())));
    let write = ProjectWrite {
        account: ann(),
        project: all.items[0].id.clone(),
        if_revision: None,
        dry_run: false,
        now: timestamp(99),
    };
    store.update_project(write, ProjectFieldsPatch::default()).await.unwrap();
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

/// Lookup by the prefix of an id.
pub async fn projects_are_found_by_id_prefix([store, other]: Replicas) {
    for number in 1..=5 {
        let new = NewProject::empty(project_id(number), NewProjectFields::with_name("P"));
        store.create_project(&ann(), new, false, timestamp(0)).await.unwrap();
    }
    let count =
        async |prefix: &str, most| other.projects_with_id_prefix(&ann(), prefix, most).await.unwrap().len();
    assert_eq!(count("", 100).await, 5);
    assert_eq!(count("proj_", 3).await, 3);
    assert_eq!(count(project_id(3).as_str(), 9).await, 1);
    for odd in ["%", "proj%", "PROJ_", "proj_\0", "'", "_", &"x".repeat(5000)] {
        assert_eq!(count(odd, 9).await, 0, "{odd:.20}");
    }
}

/// A project is deleted with everything in it.
pub async fn a_deleted_project_is_gone(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    suite.page("/").await;
    suite.put_asset("a", b"x").await;
    suite.store.publish(suite.write(), "").await.unwrap();
    assert_eq!(suite.store.delete_project(suite.write_at_revision(1)).await.outcome_name(), "conflict");
    assert_eq!(suite.store.delete_project(suite.dry_run()).await.outcome_name(), "done");
    let before = suite.project().await;
    assert_eq!(suite.store.delete_project(suite.write()).await.unwrap(), before);
    assert_eq!(suite.other.project(&ann(), &suite.id).await.outcome_name(), "not found");
    assert_eq!(suite.store.delete_project(suite.write()).await.outcome_name(), "not found");
    // Its id and slug are free again, and none of its data reappears.
    let new = NewProject::empty(suite.id.clone(), NewProjectFields::with_name("One"));
    let again = suite.store.create_project(&ann(), new, false, timestamp(1)).await.unwrap();
    assert_eq!((again.revision, again.next_version, again.fields.slug.as_str()), (1, 1, "one"));
    let content = suite.store.content(&ann(), &suite.id).await.unwrap().value;
    assert_eq!((content.blocks.len(), content.assets.len()), (0, 0));
    assert_eq!(suite.store.list_versions(&ann(), &suite.id, Page::ALL).await.unwrap().items, []);
}

/// A copy has the whole draft; afterwards the two are independent.
pub async fn duplicate_is_complete_and_independent(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    suite.sections(&page, "ab").await;
    let asset = suite.put_asset("a", b"content").await.value;
    suite.store.put_block_type(suite.write(), custom_type("price")).await.unwrap();
    suite.store.publish(suite.write(), "").await.unwrap();
    let revision = suite.project().await.revision;
    let copy =
        |write| suite.store.duplicate_project(write, project_id(2), NewProjectFields::with_name("Copy"));
    assert_eq!(copy(suite.write_at_revision(1)).await.outcome_name(), "conflict");
    assert_eq!(copy(suite.dry_run()).await.outcome_name(), "done");
    assert_eq!(suite.other.project(&ann(), &project_id(2)).await.outcome_name(), "not found");
    let made = copy(suite.write()).await.unwrap();
    assert_eq!((made.revision, made.published, made.usage.versions), (1, None, 0));
    assert_eq!((made.fields.name.as_str(), made.fields.slug.as_str()), ("Copy", "copy"));
    assert_eq!(suite.project().await.revision, revision);
    let mut one = suite.other.content(&ann(), &suite.id).await.unwrap().value;
    let two = suite.other.content(&ann(), &project_id(2)).await.unwrap().value;
    one.fields = two.fields.clone();
    assert_eq!(one, two);
    assert_eq!(copy(suite.write()).await.outcome_name(), "taken");
    suite.store.delete_project(suite.write()).await.unwrap();
    assert_eq!(suite.other.asset_bytes(&ann(), &project_id(2), &asset.digest).await.unwrap(), b"content");
    assert_eq!(suite.other.content(&ann(), &project_id(2)).await.unwrap().value, two);
}

pub(super) fn custom_type(name: &str) -> CustomBlockType {
    CustomBlockType {
        name: name.to_owned(),
        description: "d".to_owned(),
        schema: json!({ "type": "object", "properties": { "amount": { "type": "number" } } }),
        children: AllowedChildren::None,
    }
}

/// Custom types are stored, replaced, used, and deleted if unused.
pub async fn block_types_are_stored_and_validated(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    for children in [
        AllowedChildren::Any,
        AllowedChildren::None,
        AllowedChildren::Only(vec!["text".to_owned(), "b".to_owned()]),
    ] {
        let own = CustomBlockType { children, ..custom_type("price") };
        assert_eq!(suite.store.put_block_type(suite.write(), own.clone()).await.unwrap().value, own);
        assert_eq!(suite.other.block_types(&ann(), &suite.id).await.unwrap().value, [own]);
    }
    suite.store.put_block_type(suite.write(), custom_type("a")).await.unwrap();
    assert_eq!(suite.project().await.usage.types, 2);
    assert_eq!(
        suite.store.put_block_type(suite.write(), custom_type("text")).await.outcome_name(),
        "invalid"
    );
    let price = json!({ "type": "price", "props": { "amount": 3 }, "children": [{ "type": "text", "props": { "text": "x" } }] });
    let ids = suite.insert(BlockPosition::last(Some(page)), price).await;
    let change = async |value: Value| suite.store.update_block(suite.write(), &ids[0], object(value)).await;
    assert_eq!(change(json!({ "amount": "three" })).await.outcome_name(), "invalid");
    assert_eq!(change(json!({ "amount": 4 })).await.outcome_name(), "done");
    let refused = suite.store.delete_block_type(suite.write(), "price").await.expect_rejection();
    assert!(matches!(refused, ProjectRejection::InUse { by, .. } if by == [ids[0].to_string()]));
    suite.store.delete_block(suite.write(), &ids[0]).await.unwrap();
    assert_eq!(suite.store.delete_block_type(suite.write(), "price").await.outcome_name(), "done");
    assert_eq!(suite.store.delete_block_type(suite.write(), "price").await.outcome_name(), "not found");
    assert_eq!(suite.project().await.usage.types, 1);
}

/// A design system is edited by the rules of design tokens, and keeps the order of its names.
pub async fn design_systems_are_edited(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let text = r##"{"z":{"$type":"number","$value":1},"a":{"$type":"color","$value":"#ff0000"},"b":{"$type":"color","$value":"{a}"}}"##;
    let document = TokenDocument::parse(text).unwrap();
    let edit = async |write, edit| suite.store.edit_design_system(write, edit).await;
    assert_eq!(edit(suite.write(), DesignEdit::Replace(document)).await.unwrap().revision, 2);
    let read = async || suite.other.design_system(&ann(), &suite.id).await.unwrap();
    assert_eq!(read().await.value.to_string(), text);
    let delete = |force| DesignEdit::Delete { path: "a".to_owned(), mode: None, force };
    assert_eq!(edit(suite.write(), delete(false)).await.outcome_name(), "design");
    assert_eq!(edit(suite.write(), DesignEdit::ImportJson("[".to_owned())).await.outcome_name(), "import");
    assert_eq!(edit(suite.write_at_revision(1), delete(true)).await.outcome_name(), "conflict");
    assert_eq!(edit(suite.dry_run(), delete(true)).await.unwrap().revision, 3);
    assert_eq!((read().await.revision, read().await.value.to_string()), (2, text.to_owned()));
    let set = DesignEdit::Set { path: "n".to_owned(), token: NewToken::new(TokenKind::Number, 2.0) };
    let set = edit(suite.write_at_revision(2), set).await.unwrap();
    assert_eq!((set.revision, set.value.touched), (3, vec!["n".to_owned()]));
    let exchanged = |number: f64| DesignEdit::Set {
        path: "n".to_owned(),
        token: NewToken::new(TokenKind::Number, number),
    };
    assert_eq!(edit(suite.write_at_revision(2), exchanged(4.0)).await.outcome_name(), "conflict");
    assert_eq!(edit(suite.dry_run(), exchanged(4.0)).await.unwrap().revision, 4);
    let added =
        |number: u8| format!(r#"{},"n":{{"$type":"number","$value":{number}}}}}"#, &text[..text.len() - 1]);
    assert_eq!((read().await.revision, read().await.value.to_string()), (3, added(2)));
    let set = edit(suite.write_at_revision(3), exchanged(4.0)).await.unwrap();
    assert_eq!((set.revision, set.value.touched), (4, vec!["n".to_owned()]));
    assert_eq!((read().await.revision, read().await.value.to_string()), (4, added(4)));
    let wrong = DesignEdit::Set { path: "n".to_owned(), token: NewToken::new(TokenKind::Number, "soon") };
    assert_eq!(edit(suite.write(), wrong).await.outcome_name(), "design");
    assert_eq!(read().await.revision, 4);
    // Documents stored before a limit was lowered can still be read.
    let text = format!(r#"{{"{}":{{"$type":"number","$value":1}}}}"#, "n".repeat(300));
    assert!(TokenDocument::parse(&text).is_err());
    edit(suite.write(), DesignEdit::Replace(TokenDocument::parse_stored(&text).unwrap())).await.unwrap();
    assert_eq!(read().await.value.to_string(), text);
    let content = suite.other.content(&ann(), &suite.id).await.unwrap().value.encode();
    assert_eq!(crate::ProjectContent::decode(&content).unwrap().design.to_string(), text);
}

/// The encoded content of a project can be decoded into another project.
pub async fn exported_content_creates_a_project(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    suite.sections(&page, "ab").await;
    suite.store.put_block_type(suite.write(), custom_type("price")).await.unwrap();
    let text = suite.other.content(&ann(), &suite.id).await.unwrap().value.encode();
    let content = crate::ProjectContent::decode(&text).unwrap();
    let new = NewProject::from_content(content.clone(), project_id(2), NewProjectFields::default());
    let made = suite.store.create_project(&ann(), new.clone(), false, timestamp(1)).await.unwrap();
    assert_eq!((made.usage.blocks, made.usage.types, made.fields.name.as_str()), (3, 1, "One"));
    let read = suite.other.content(&ann(), &project_id(2)).await.unwrap().value;
    assert_eq!((read.blocks, read.types), (content.blocks, content.types));
    let mut lost = NewProject { id: project_id(3), ..new };
    lost.blocks.remove(0);
    assert_eq!(suite.store.create_project(&ann(), lost, false, timestamp(1)).await.outcome_name(), "invalid");
    assert_eq!(suite.store.project(&ann(), &project_id(3)).await.outcome_name(), "not found");
}

/// Names and strings are data, whatever they contain.
pub async fn unusual_texts_round_trip(replicas: Replicas) {
    let suite = SuiteFixture::new(replicas).await;
    let page = suite.page("/").await;
    let ids = suite.sections(&page, "a").await;
    for odd in
        ["'; DROP TABLE projects; --", "%_\\", "🎉 \u{202e}rtl", "<script>", "\u{feff}x\u{fffd}", "{\"a\":1}"]
    {
        let patch = ProjectFieldsPatch { name: Some(odd.to_owned()), ..ProjectFieldsPatch::default() };
        suite.store.update_project(suite.write(), patch).await.unwrap();
        assert_eq!(suite.project().await.fields.name, odd);
        suite.store.update_block(suite.write(), &ids[0], object(json!({ "title": odd }))).await.unwrap();
        assert_eq!(suite.titles(&page).await, odd);
    }
    let nul = suite.store.update_block(suite.write(), &ids[0], object(json!({ "title": "a\0b" }))).await;
    assert_eq!(nul.outcome_name(), "invalid");
}
