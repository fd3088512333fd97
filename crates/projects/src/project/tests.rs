use serde_json::json;

use super::*;

fn id() -> ProjectId {
    ProjectId::parse("proj_ABC123").unwrap()
}

#[test]
fn free_slug_is_chosen() {
    let settle = |fields: NewProjectFields, taken: &[&str]| {
        fields.into_fields(&id(), &mut |slug| taken.contains(&slug)).map(|fields| fields.slug)
    };
    let named = NewProjectFields::with_name("Meine Website");
    assert_eq!(settle(named.clone(), &[]).unwrap(), "meine-website");
    assert_eq!(settle(named.clone(), &["meine-website"]).unwrap(), "meine-website-321cbajorp");
    // For names of any length, even if they are repeated.
    for name in [
        "a".repeat(MAX_NAME_CHARS),
        "a".repeat(60),
        "ß".repeat(MAX_NAME_CHARS),
        format!("{} b", "a".repeat(76)),
    ] {
        let plain = settle(NewProjectFields::with_name(&name), &[]).unwrap();
        let unique = settle(NewProjectFields::with_name(&name), &[&plain]).unwrap();
        assert_eq!(unique, format!("{plain}-321cbajorp"));
    }
    let exact = NewProjectFields { slug: Some("own".to_owned()), ..named };
    assert_eq!(settle(exact.clone(), &[]).unwrap(), "own");
    let taken = settle(exact, &["own"]).unwrap_err();
    assert_eq!(taken.to_string(), "the slug `own` is taken; choose another");
}

#[test]
fn all_field_problems_are_reported() {
    let fields = NewProjectFields {
        name: " ".to_owned(),
        slug: Some("A b".to_owned()),
        description: "x\0".to_owned(),
        metadata: json!({ "a": "\0" }).as_object().unwrap().clone(),
    };
    let ProjectRejection::Invalid(problems) = fields.into_fields(&id(), &mut |_| false).unwrap_err() else {
        panic!()
    };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["/name", "/slug", "/description", "/metadata/a"]);
}

#[test]
fn patch_changes_only_given_fields() {
    let fields = NewProjectFields {
        metadata: json!({ "a": 1, "b": { "c": 2 } }).as_object().unwrap().clone(),
        ..NewProjectFields::with_name("One")
    };
    let fields = fields.into_fields(&id(), &mut |_| false).unwrap();
    let patch = ProjectFieldsPatch {
        name: Some("Two".to_owned()),
        metadata: json!({ "a": null, "b": { "d": 3 } }).as_object().cloned(),
        ..ProjectFieldsPatch::default()
    };
    let changed = patch.apply(&fields).unwrap();
    assert_eq!((changed.name.as_str(), changed.slug.as_str()), ("Two", "one"));
    assert_eq!(Value::Object(changed.metadata), json!({ "b": { "c": 2, "d": 3 } }));
}

#[test]
fn limits_reject_growth_but_allow_shrinking() {
    let full = ProjectUsage { blocks: MAX_BLOCKS + 5, ..ProjectUsage::default() };
    assert!(ProjectUsage { blocks: MAX_BLOCKS, ..full }.check_growth(&ProjectUsage::default()).is_ok());
    assert!(full.check_growth(&ProjectUsage::default()).is_err());
    assert!(ProjectUsage { blocks: MAX_BLOCKS + 4, assets: 1, ..full }.check_growth(&full).is_ok());
    let refused = ProjectUsage { versions: MAX_VERSIONS + 1, ..full }.check_growth(&full).unwrap_err();
    let expected = "this would exceed the limit of 500 versions of a project; reduce the change or remove something first";
    assert_eq!(refused.to_string(), expected);
}
