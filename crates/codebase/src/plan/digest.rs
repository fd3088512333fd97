//! Digests.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::document::EditPlan;

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a string takes everything
        text
    })
}

/// The id of a plan: the digest of all it says, but for the id itself and the advice that names it.
pub(crate) fn plan_id(plan: &EditPlan) -> String {
    let mut unnamed = plan.clone();
    unnamed.id.clear();
    unnamed.rollback.instruction.clear();
    // It always can be written: the keys of its maps are texts.
    let text = serde_json::to_vec(&unnamed).unwrap_or_default();
    sha256_hex(&text)[..32].to_owned()
}
