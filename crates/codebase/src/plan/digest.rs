//! SHA-256 digests of files and plans.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::document::EditPlan;

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a string cannot fail
        text
    })
}

/// The id of a plan: the digest of the plan without the id itself and the rollback instruction, which
/// contains it.
pub(crate) fn plan_id(plan: &EditPlan) -> String {
    let mut unnamed = plan.clone();
    unnamed.id.clear();
    unnamed.rollback.instruction.clear();
    // Serialization cannot fail: all map keys are strings.
    let text = serde_json::to_vec(&unnamed).unwrap_or_default();
    sha256_hex(&text)[..32].to_owned()
}
