//! Renders a plan as an LSP `WorkspaceEdit`, for editors that apply it themselves.

use std::fmt::Write;

use serde_json::{Value, json};

use super::document::EditPlan;

/// `root` is the URI of the repository folder, without a trailing slash.
pub fn workspace_edit(plan: &EditPlan, root: &str) -> Value {
    let mut documents = Vec::new();
    for file in &plan.files {
        let uri = format!("{root}/{}", uri_path(&file.path));
        if file.before.is_none() {
            let options = json!({ "overwrite": false, "ignoreIfExists": false });
            documents.push(json!({ "kind": "create", "uri": uri, "options": options }));
        }
        let mut edits = Vec::new();
        for (at, edit) in plan.edits.iter().enumerate().filter(|(_, edit)| edit.filepath == file.path) {
            for change in &edit.changes {
                let text = json!({ "range": change.range, "newText": change.new_text, "annotationId": at.to_string() });
                edits.push(text);
            }
        }
        documents.push(json!({ "textDocument": { "uri": uri, "version": null }, "edits": edits }));
    }
    let annotation = |edit: &super::Edit| json!({ "label": edit.strategy.name(), "description": edit.rationale, "needsConfirmation": true });
    let annotations: serde_json::Map<String, Value> =
        plan.edits.iter().enumerate().map(|(at, edit)| (at.to_string(), annotation(edit))).collect();
    json!({ "documentChanges": documents, "changeAnnotations": annotations })
}

/// Percent-encodes a path for a URI.
pub fn uri_path(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if plain {
            uri.push(byte.into());
        } else {
            let _ = write!(uri, "%{byte:02X}"); // writing to a string cannot fail
        }
    }
    uri
}
