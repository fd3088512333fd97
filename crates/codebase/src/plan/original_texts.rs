//! Reconstructs the texts before a plan, and verifies that its edits lead from them to its recorded results.

use std::collections::BTreeMap;

use tree::{Protection, Tree, WorkBudget};

use super::MAX_EDITED_FILE_BYTES;
use super::digest;
use super::document::{Edit, EditPlan, Strategy};
use super::finding::PlanFinding;
use super::manifest_keys;
use super::resolve::resolve_edits_with_overlay;
use super::text_file::revert_changes;
use crate::text_encoding::TextEncoding;

/// The texts before a plan, in the order of its files: `None` for a file that it created. Call it on a thread
/// with a large stack.
///
/// Undo must remove exactly what the payloads added. The original text is computed from the current one, and
/// resolving the edits against it must yield the same changes as recorded in the plan.
pub(crate) fn reconstruct_original_texts(
    tree: &Tree,
    plan: &EditPlan,
    consent: &[String],
) -> Result<Vec<Option<Vec<u8>>>, String> {
    if digest::plan_id(plan) != plan.id {
        return Err("its content does not match its `id`".to_owned());
    }
    let mut old = BTreeMap::new();
    for file in plan.files.iter().filter(|file| file.before.is_some()) {
        let unreadable = || format!("{} cannot be read", file.path);
        let bytes = tree.read_nofollow(&file.path, MAX_EDITED_FILE_BYTES).map_err(|_| unreadable())?;
        let is_done = digest::sha256_hex(&bytes) == file.sha256;
        let encoding = TextEncoding::detect(&bytes);
        let now = encoding.decode(bytes).ok_or_else(unreadable)?;
        let before =
            if is_done { revert_changes(&now, &plan.changes_in_file(&file.path)) } else { Some(now) };
        let before = before
            .ok_or_else(|| format!("{} does not contain the text that the plan inserted", file.path))?;
        old.insert(file.path.clone(), encoding.encode(&before));
    }
    let (made, edited): (Vec<Edit>, Vec<Edit>) =
        plan.edits.iter().cloned().partition(|edit| edit.strategy == Strategy::CreateFile);
    let over =
        old.iter().map(|(path, text): (&String, &Vec<u8>)| (path.clone(), (text.clone(), None))).collect();
    let resolution = resolve_edits_with_overlay(tree, edited, consent, &over, &WorkBudget::unlimited());
    if let Some(finding) = resolution.findings.iter().find(|finding| finding.is_blocking()) {
        return Err(finding.sentence());
    }
    let explained = |file: &super::FileChange| match &file.before {
        Some(_) => resolution.files.iter().any(|resolved| resolved.change == *file),
        None => made.iter().any(|edit| {
            let made = edit.payload.code.as_deref().unwrap_or_default();
            edit.filepath == file.path
                && super::path_check::find_path_problem(&file.path).is_none()
                && may_create_file(tree, &file.path, made, consent)
                && digest::sha256_hex(made.as_bytes()) == file.sha256
        }),
    };
    match plan.files.iter().find(|file| !explained(file)) {
        Some(file) => Err(format!("its edits do not produce the recorded content of {}", file.path)),
        None => Ok(plan.files.iter().map(|file| old.remove(&file.path)).collect()),
    }
}

/// Whether a plan may create this file, and so whether undo may delete it.
fn may_create_file(tree: &Tree, path: &str, text: &str, consent: &[String]) -> bool {
    let is_open = match tree.protection(path) {
        Ok(None) => true,
        Ok(Some(Protection::RequiresConsent(_))) => consent.iter().any(|allowed| allowed == path),
        Ok(Some(Protection::NeverWritable(_))) | Err(_) => false,
    };
    is_open
        && !manifest_keys::check_manifest_keys(path, None, text, consent).iter().any(PlanFinding::is_blocking)
}
