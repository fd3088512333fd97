//! Assets: files that blocks reference as `asset:<id>`.
//!
//! The content decides the type of an asset: the first bytes for images, videos, fonts and documents, the
//! whole content for text. A declared type that does not match is rejected. Code that serves assets must
//! still send `nosniff`, and must serve SVG and text from an origin without secrets.

mod content_type;
mod svg;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::cursor::Cursor;
use crate::error::{ProjectRejection, ValidationProblem};
use crate::ids::AssetId;
use crate::limits::{MAX_ALT_CHARS, MAX_ASSET_BYTES, MAX_ASSET_NAME_CHARS};
use crate::naming;

pub use content_type::ContentType;

/// The SHA-256 of an asset's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    pub fn from_content(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Parses the output of [`fmt::Display`].
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    /// Lower-case hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An asset without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// Unique in the project.
    pub id: AssetId,
    /// The file name. Not unique.
    pub name: String,
    pub content_type: ContentType,
    pub bytes: u64,
    pub digest: Digest,
    pub created: Timestamp,
    /// Alternative text.
    pub alt: String,
}

impl Asset {
    /// Position in the list of assets.
    pub fn cursor(&self) -> Cursor {
        Cursor::from_time(self.created, self.id.as_str())
    }
}

/// An asset to store, with its content. Replaces an asset with the same id.
#[derive(Clone, Debug)]
pub struct NewAsset {
    pub id: AssetId,
    pub name: String,
    /// The type declared by the caller. If `None`, the content decides, and any text counts as plain text.
    pub content_type: Option<ContentType>,
    pub alt: String,
    pub content: Vec<u8>,
}

impl NewAsset {
    /// Validates name, size and content, and returns the asset as it will be stored.
    pub fn check(&self, now: Timestamp) -> Result<Asset, ProjectRejection> {
        let bytes = self.content.len() as u64;
        if bytes > MAX_ASSET_BYTES {
            return Err(ProjectRejection::TooLarge { what: "bytes in an asset", limit: MAX_ASSET_BYTES });
        }
        let mut problems = name_problems("/name", &self.name);
        problems.extend(naming::check_text("/alt", &self.alt, MAX_ALT_CHARS));
        let judged = content_type::detect_content_type(self.content_type, &self.content);
        if let Err(message) = &judged {
            problems.push(ValidationProblem::new("/content", message.clone()));
        }
        ProjectRejection::reject_if_any(problems)?;
        Ok(Asset {
            id: self.id.clone(),
            name: self.name.clone(),
            content_type: judged.unwrap_or(ContentType::Text),
            bytes,
            digest: Digest::from_content(&self.content),
            created: now,
            alt: self.alt.clone(),
        })
    }
}

/// Checks that a file name contains no path. Whether the name is valid on a given operating system is up to
/// the code that saves the file.
fn name_problems(path: &str, name: &str) -> Vec<ValidationProblem> {
    let mut problems: Vec<ValidationProblem> =
        naming::check_line(path, name, MAX_ASSET_NAME_CHARS).into_iter().collect();
    if problems.is_empty()
        && (name.contains(['/', '\\']) || name.starts_with('.') || name.ends_with([' ', '.']))
    {
        let message = "must be a plain file name: no / or \\, no leading dot, no trailing dot or space";
        problems.push(ValidationProblem::new(path, message));
    }
    problems
}

/// A change to an asset's metadata. To change the content, store the asset again under the same id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetPatch {
    pub name: Option<String>,
    pub alt: Option<String>,
}

impl AssetPatch {
    pub fn apply(&self, asset: &Asset) -> Result<Asset, ProjectRejection> {
        let mut changed = asset.clone();
        changed.name = self.name.clone().unwrap_or(changed.name);
        changed.alt = self.alt.clone().unwrap_or(changed.alt);
        let mut problems = name_problems("/name", &changed.name);
        problems.extend(naming::check_text("/alt", &changed.alt, MAX_ALT_CHARS));
        ProjectRejection::reject_if_any(problems)?;
        Ok(changed)
    }
}
