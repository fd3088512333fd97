use serde_json::json;

use super::*;

fn id() -> ProjectId {
    ProjectId::parse("proj_ABC123").unwrap()
}

#[test]
fn a_slug_is_found() {
    let settle = |fields: NewFields, taken: &[&str]| {
        fields.settle(&id(), &mut |slug| taken.contains(&slug)).map(|fields| fields.slug)
    };
    let named = NewFields::named("Meine Website");
    assert_eq!(settle(named.clone(), &[]).unwrap(), "meine-website");
    assert_eq!(settle(named.clone(), &["meine-website"]).unwrap(), "meine-website-321cbajorp");
    // However long a name may be, and also when it comes again.
    for name in ["a".repeat(MAX_NAME), "a".repeat(60), "ß".repeat(MAX_NAME), format!("{} b", "a".repeat(76))]
    {
        let plain = settle(NewFields::named(&name), &[]).unwrap();
        let unique = settle(NewFields::named(&name), &[&plain]).unwrap();
        assert_eq!(unique, format!("{plain}-321cbajorp"));
    }
    let exact = NewFields { slug: Some("own".to_owned()), ..named };
    assert_eq!(settle(exact.clone(), &[]).unwrap(), "own");
    let taken = settle(exact, &["own"]).unwrap_err();
    assert_eq!(taken.to_string(), "the slug `own` is taken; choose another");
}

#[test]
fn everything_that_is_wrong_is_told() {
    let fields = NewFields {
        name: " ".to_owned(),
        slug: Some("A b".to_owned()),
        description: "x\0".to_owned(),
        metadata: json!({ "a": "\0" }).as_object().unwrap().clone(),
    };
    let Refusal::Invalid(problems) = fields.settle(&id(), &mut |_| false).unwrap_err() else { panic!() };
    let paths: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["/name", "/slug", "/description", "/metadata/a"]);
}

#[test]
fn a_patch_changes_what_it_names() {
    let fields = NewFields {
        metadata: json!({ "a": 1, "b": { "c": 2 } }).as_object().unwrap().clone(),
        ..NewFields::named("One")
    };
    let fields = fields.settle(&id(), &mut |_| false).unwrap();
    let patch = FieldsPatch {
        name: Some("Two".to_owned()),
        metadata: json!({ "a": null, "b": { "d": 3 } }).as_object().cloned(),
        ..FieldsPatch::default()
    };
    let changed = patch.apply(&fields).unwrap();
    assert_eq!((changed.name.as_str(), changed.slug.as_str()), ("Two", "one"));
    assert_eq!(Value::Object(changed.metadata), json!({ "b": { "c": 2, "d": 3 } }));
}

#[test]
fn limits_stop_growth_and_nothing_else() {
    let full = Usage { blocks: MAX_BLOCKS + 5, ..Usage::default() };
    assert!(Usage { blocks: MAX_BLOCKS, ..full }.check(&Usage::default()).is_ok());
    assert!(full.check(&Usage::default()).is_err());
    assert!(Usage { blocks: MAX_BLOCKS + 4, assets: 1, ..full }.check(&full).is_ok());
    let refused = Usage { versions: MAX_VERSIONS + 1, ..full }.check(&full).unwrap_err();
    let expected = "the limit is 500 versions of a project; make it smaller or remove something first";
    assert_eq!(refused.to_string(), expected);
}
