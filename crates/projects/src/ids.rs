//! Ids, and how new ones are generated.
//!
//! Nothing here is random: a caller draws an [`IdSeed`], and every id that a use case needs is derived from
//! it. So a store may run on another thread or retry, and the ids stay the same.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::error::{EntityKind, ProjectRejection};

/// The owner of projects; corresponds to a tenant in `access`. Other accounts cannot tell whether its
/// projects exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account(String);

impl Account {
    /// A store finds nothing for a name that it cannot store.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Maximum length of an id. Three of them must fit into an index.
const MAX_ID_BYTES: usize = 64;

fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.len() <= MAX_ID_BYTES && text.bytes().all(allowed)
}

macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident, $noun:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Accepts letters, digits, `_` and `-`. Any other id cannot exist, so it is reported as not
            /// found.
            pub fn parse(text: &str) -> Result<Self, ProjectRejection> {
                if is_id(text) { Ok(Self(text.to_owned())) } else { Err(ProjectRejection::not_found($noun, text)) }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub fn missing(&self) -> ProjectRejection {
                ProjectRejection::not_found($noun, self.0.clone())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

define_id!(
    /// Unique in the whole store.
    ProjectId,
    EntityKind::Project
);
define_id!(
    /// Unique in its project. A copy of a project has the same block ids.
    BlockId,
    EntityKind::Block
);
define_id!(
    /// Unique in its project. A copy of a project has the same asset ids.
    AssetId,
    EntityKind::Asset
);

/// Sixteen random bytes, drawn by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdSeed(pub [u8; 16]);

/// Derives ids from a seed.
#[derive(Clone, Debug)]
pub struct IdGenerator {
    seed: IdSeed,
    count: u64,
}

impl IdGenerator {
    pub const fn from_seed(seed: IdSeed) -> Self {
        Self { seed, count: 0 }
    }

    pub fn next_project_id(&mut self) -> ProjectId {
        ProjectId(self.next_id("proj"))
    }

    pub fn next_block_id(&mut self) -> BlockId {
        BlockId(self.next_id("blk"))
    }

    pub fn next_asset_id(&mut self) -> AssetId {
        AssetId(self.next_id("asset"))
    }

    /// Encodes 80 bits of the digest of seed and counter, five bits per character.
    fn next_id(&mut self, kind: &str) -> String {
        const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let mut digest = Sha256::new();
        digest.update(self.seed.0);
        digest.update(self.count.to_be_bytes());
        self.count += 1;
        let bytes = digest.finalize();
        let bits = bytes.iter().take(10).fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        let decoded = |at: u32| char::from(ALPHABET[usize::try_from(bits >> (5 * at) & 31).unwrap_or(0)]);
        format!("{kind}_{}", (0..16).map(decoded).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn valid_ids_parse_and_invalid_ids_are_not_found() {
        for good in ["proj_abc123", "a", "A-_9", &"x".repeat(64)] {
            assert_eq!(ProjectId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a/b", "a\0", "ä", "..", "a'--", "\u{202e}x", &"x".repeat(65)] {
            let refused = ProjectId::parse(bad).unwrap_err();
            let absent = ProjectRejection::not_found(EntityKind::Project, bad);
            assert_eq!(refused.to_string(), absent.to_string());
        }
    }

    #[test]
    fn generated_ids_are_unique_and_deterministic() {
        let mut ids = IdGenerator::from_seed(IdSeed([7; 16]));
        let drawn: HashSet<_> = (0..10_000).map(|_| ids.next_block_id()).collect();
        assert_eq!(drawn.len(), 10_000);
        let mut again = IdGenerator::from_seed(IdSeed([7; 16]));
        assert!((0..10_000).all(|_| drawn.contains(&again.next_block_id())));
        assert!(!drawn.contains(&IdGenerator::from_seed(IdSeed([8; 16])).next_block_id()));
        let id = IdGenerator::from_seed(IdSeed([1; 16])).next_project_id();
        assert!(ProjectId::parse(id.as_str()).is_ok() && id.as_str().starts_with("proj_"));
    }
}
