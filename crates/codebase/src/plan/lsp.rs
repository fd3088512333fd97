//! A plan for editors that apply it themselves: a `WorkspaceEdit` of the Language Server Protocol.

use std::fmt::Write;

use serde_json::{Value, json};

use super::document::EditPlan;

/// The `WorkspaceEdit`. `root` is the URI of the repository's folder, without a slash at its end.
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

/// A path in a URI.
pub fn uri_path(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if plain {
            uri.push(byte.into());
        } else {
            let _ = write!(uri, "%{byte:02X}"); // a string takes everything
        }
    }
    uri
}
