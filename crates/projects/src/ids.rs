//! Names of things, and where new ones come from.
//!
//! Nothing here is random: a caller draws a [`Seed`], and everything that one use case has to name comes from it. So a
//! store may run on another thread, and may do its work again, and the names are the same.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::error::{Noun, Refusal};

/// Whose things they are, as `access` names a tenant. Nobody else can tell whether they exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account(String);

impl Account {
    /// The account of this name. A store finds nothing for a name that it cannot keep.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The longest id. It leaves room for three of them in an index.
const LONGEST: usize = 64;

fn is_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(allowed)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $noun:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Takes an id of letters, digits, `_` and `-`. Nothing can be called by another text, so it is not found.
            pub fn parse(text: &str) -> Result<Self, Refusal> {
                if is_id(text) { Ok(Self(text.to_owned())) } else { Err(Refusal::not_found($noun, text)) }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Says that there is none of this id.
            pub fn missing(&self) -> Refusal {
                Refusal::not_found($noun, self.0.clone())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// The id of a project: unique in the whole store.
    ProjectId,
    Noun::Project
);
id!(
    /// The id of a block: unique in its project. A copy of a project has the same ids in it.
    BlockId,
    Noun::Block
);
id!(
    /// The id of an asset: unique in its project. A copy of a project has the same ids in it.
    AssetId,
    Noun::Asset
);

/// Sixteen random bytes that a caller has drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub [u8; 16]);

/// The ids that come from a seed, one after the other.
#[derive(Clone, Debug)]
pub struct Ids {
    seed: Seed,
    drawn: u64,
}

impl Ids {
    /// The ids of this seed, from the first.
    pub const fn of(seed: Seed) -> Self {
        Self { seed, drawn: 0 }
    }

    /// An id for a project.
    pub fn project(&mut self) -> ProjectId {
        ProjectId(self.draw("proj"))
    }

    /// An id for a block.
    pub fn block(&mut self) -> BlockId {
        BlockId(self.draw("blk"))
    }

    /// An id for an asset.
    pub fn asset(&mut self) -> AssetId {
        AssetId(self.draw("asset"))
    }

    /// Eighty bits of the digest of seed and number, five to a character.
    fn draw(&mut self, kind: &str) -> String {
        const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let mut digest = Sha256::new();
        digest.update(self.seed.0);
        digest.update(self.drawn.to_be_bytes());
        self.drawn += 1;
        let bytes = digest.finalize();
        let bits = bytes.iter().take(10).fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        let letter = |at: u32| char::from(ALPHABET[usize::try_from(bits >> (5 * at) & 31).unwrap_or(0)]);
        format!("{kind}_{}", (0..16).map(letter).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn what_can_be_an_id() {
        for good in ["proj_abc123", "a", "A-_9", &"x".repeat(64)] {
            assert_eq!(ProjectId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a/b", "a\0", "ä", "..", "a'--", "\u{202e}x", &"x".repeat(65)] {
            let refused = ProjectId::parse(bad).unwrap_err();
            let absent = Refusal::not_found(Noun::Project, bad);
            assert_eq!(refused.to_string(), absent.to_string());
        }
    }

    #[test]
    fn a_seed_names_many_things_and_always_the_same() {
        let mut ids = Ids::of(Seed([7; 16]));
        let drawn: HashSet<_> = (0..10_000).map(|_| ids.block()).collect();
        assert_eq!(drawn.len(), 10_000);
        let mut again = Ids::of(Seed([7; 16]));
        assert!((0..10_000).all(|_| drawn.contains(&again.block())));
        assert!(!drawn.contains(&Ids::of(Seed([8; 16])).block()));
        let id = Ids::of(Seed([1; 16])).project();
        assert!(ProjectId::parse(id.as_str()).is_ok() && id.as_str().starts_with("proj_"));
    }
}
