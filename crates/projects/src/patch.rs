//! JSON Merge Patch (RFC 7396).

use serde_json::{Map, Value};

/// Applies a patch: `null` removes a member, objects are merged, anything else replaces.
pub fn merge_patch(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, change) in patch {
        match change {
            Value::Null => {
                target.remove(name);
            }
            Value::Object(change) => {
                let member = target.entry(name.clone()).or_insert(Value::Null);
                if !member.is_object() {
                    *member = Value::Object(Map::new());
                }
                if let Value::Object(member) = member {
                    merge_patch(member, change);
                }
            }
            other => {
                target.insert(name.clone(), other.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Applies a patch to any value. A patch that is not an object replaces it.
    fn merge_value(target: &mut Value, patch: &Value) {
        let Value::Object(patch) = patch else {
            *target = patch.clone();
            return;
        };
        if !target.is_object() {
            *target = Value::Object(Map::new());
        }
        if let Value::Object(target) = target {
            merge_patch(target, patch);
        }
    }

    /// The test cases from the appendix of the RFC, and a few more.
    #[test]
    fn rfc_7396_test_cases_pass() {
        for (mut target, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!({"a": "foo"}), json!("bar"), json!("bar")),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
            (json!({"a": 1}), json!({"a": {"b": null}}), json!({"a": {}})),
            (json!({"a": 1}), json!({}), json!({"a": 1})),
        ] {
            let before = target.clone();
            merge_value(&mut target, &patch);
            assert_eq!(target, expected, "{before} with {patch}");
        }
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-c]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn merge_is_idempotent(mut target in json_value(), patch in json_value()) {
            merge_value(&mut target, &patch);
            let once = target.clone();
            merge_value(&mut target, &patch);
            prop_assert_eq!(target, once);
        }

        #[test]
        fn unpatched_members_are_unchanged(mut target in json_value(), patch in json_value()) {
            let before = target.clone();
            merge_value(&mut target, &patch);
            let (Value::Object(before), Value::Object(after), Value::Object(patch)) = (before, target, patch) else {
                return Ok(());
            };
            for (name, value) in before {
                prop_assert!(patch.contains_key(&name) || after.get(&name) == Some(&value));
            }
            for (name, change) in patch {
                prop_assert_eq!(change.is_null(), !after.contains_key(&name));
            }
        }
    }
}
