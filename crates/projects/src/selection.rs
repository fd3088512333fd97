//! Selection of the fields in a result.

use serde_json::{Map, Value};

use crate::error::{ProjectRejection, ValidationProblem};

/// Selected fields, such as `name` or `props.title`. `id` is always included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelection {
    /// `None` selects everything.
    paths: Option<Vec<Vec<String>>>,
}

/// Maximum number of fields, and maximum length of each.
const MAX_FIELDS: usize = 50;
const MAX_FIELD_PATH_BYTES: usize = 200;

impl FieldSelection {
    pub const ALL: Self = Self { paths: None };

    /// Parses field paths, whose first segments must be in `known`. An empty list selects everything.
    pub fn parse<S: AsRef<str>>(names: &[S], known: &[&str]) -> Result<Self, ProjectRejection> {
        if names.is_empty() {
            return Ok(Self::ALL);
        }
        if names.len() > MAX_FIELDS {
            return Err(ProjectRejection::TooLarge { what: "fields in one call", limit: MAX_FIELDS as u64 });
        }
        let mut problems = Vec::new();
        let mut paths = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let path: Vec<String> = name.as_ref().split('.').map(str::to_owned).collect();
            let is_known = path.first().is_some_and(|first| known.contains(&first.as_str()));
            if !is_known || name.as_ref().len() > MAX_FIELD_PATH_BYTES {
                let message = format!("is not a field; available fields are {}", known.join(", "));
                problems.push(ValidationProblem::new(format!("/fields/{at}"), message));
            }
            paths.push(path);
        }
        ProjectRejection::reject_if_any(problems)?;
        Ok(Self { paths: Some(paths) })
    }

    /// Whether a field, or a part of it, is selected. Other fields need not be read.
    pub fn includes(&self, member: &str) -> bool {
        let Some(paths) = &self.paths else { return true };
        member == "id" || paths.iter().any(|path| path.first().is_some_and(|first| first == member))
    }

    /// The selected fields of an object. Missing ones are omitted.
    pub fn apply(&self, object: Map<String, Value>) -> Map<String, Value> {
        let Some(paths) = &self.paths else { return object };
        let mut kept = Map::new();
        if let Some(id) = object.get("id") {
            kept.insert("id".to_owned(), id.clone());
        }
        for path in paths {
            copy_path(&object, path, &mut kept);
        }
        kept
    }
}

fn copy_path(from: &Map<String, Value>, path: &[String], into: &mut Map<String, Value>) {
    let Some((name, rest)) = path.split_first() else { return };
    let Some(value) = from.get(name) else { return };
    match value {
        Value::Object(inner) if !rest.is_empty() => {
            let mut kept = match into.remove(name) {
                Some(Value::Object(kept)) => kept,
                _ => Map::new(),
            };
            copy_path(inner, rest, &mut kept);
            if !kept.is_empty() {
                into.insert(name.clone(), Value::Object(kept));
            }
        }
        value if rest.is_empty() => {
            into.insert(name.clone(), value.clone());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_selected_fields_are_kept() {
        let object = json!({ "id": "b", "name": "n", "props": { "a": { "b": 1, "c": 2 }, "d": 3 } });
        for (names, expected) in [
            (&[][..], object.clone()),
            (&["name"], json!({ "id": "b", "name": "n" })),
            (&["id"], json!({ "id": "b" })),
            (&["props"], json!({ "id": "b", "props": object["props"] })),
            (&["props.d", "props.a.b"], json!({ "id": "b", "props": { "a": { "b": 1 }, "d": 3 } })),
            (&["props.x", "name.y"], json!({ "id": "b" })),
            (&["props", "props.d"], json!({ "id": "b", "props": object["props"] })),
        ] {
            let selection = FieldSelection::parse(names, &["id", "name", "props"]).unwrap();
            let found = selection.apply(object.as_object().unwrap().clone());
            assert_eq!(Value::Object(found), expected, "{names:?}");
        }
    }

    #[test]
    fn unknown_fields_are_rejected() {
        let refused =
            FieldSelection::parse(&["name", "nome", "x.y"], &["id", "name"]).unwrap_err().to_string();
        assert_eq!(
            refused,
            "/fields/1: is not a field; available fields are id, name; \
             /fields/2: is not a field; available fields are id, name"
        );
        assert!(matches!(
            FieldSelection::parse(&["id"; 51], &["id"]),
            Err(ProjectRejection::TooLarge { .. })
        ));
        let some = FieldSelection::parse(&["props.a"], &["props"]).unwrap();
        assert!(
            some.includes("id")
                && some.includes("props")
                && !some.includes("name")
                && FieldSelection::ALL.includes("name")
        );
    }
}
