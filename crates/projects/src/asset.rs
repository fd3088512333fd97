//! Assets: files that blocks name as `asset:<id>`.
//!
//! The content decides what an asset is: the first bytes of images, videos, fonts and documents, the whole of a text. A
//! claim that is not true is refused. Whoever serves an asset must still say `nosniff`, and serve SVG and text apart from
//! pages that hold secrets.

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

/// The SHA-256 of a content: the same content, the same digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of a content.
    pub fn from_content(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// Takes back what [`fmt::Display`] gave.
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
    /// In lower-case hexadecimal digits.
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
    /// Its id, unique in the project.
    pub id: AssetId,
    /// The name of the file. Two assets may have the same.
    pub name: String,
    /// What the content is.
    pub content_type: ContentType,
    /// How many bytes the content has.
    pub bytes: u64,
    /// The digest of the content.
    pub digest: Digest,
    /// When it was put there.
    pub created: Timestamp,
    /// The text that stands for it.
    pub alt: String,
}

impl Asset {
    /// Its place in the list of assets.
    pub fn cursor(&self) -> Cursor {
        Cursor::from_time(self.created, self.id.as_str())
    }
}

/// An asset to put, with its content. One with the same id is replaced.
#[derive(Clone, Debug)]
pub struct NewAsset {
    /// Its id.
    pub id: AssetId,
    /// The name of the file.
    pub name: String,
    /// What the caller says it is. Without, the content alone decides, and a text is plain.
    pub content_type: Option<ContentType>,
    /// The text that stands for it.
    pub alt: String,
    /// The content.
    pub content: Vec<u8>,
}

impl NewAsset {
    /// Judges name, size and content. Gives the asset as it is kept.
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

/// A name of a file that leads into no folder. Whoever saves it has the rules of their own system to look to.
fn name_problems(path: &str, name: &str) -> Vec<ValidationProblem> {
    let mut problems: Vec<ValidationProblem> =
        naming::check_line(path, name, MAX_ASSET_NAME_CHARS).into_iter().collect();
    if problems.is_empty()
        && (name.contains(['/', '\\']) || name.starts_with('.') || name.ends_with([' ', '.']))
    {
        let message = "must be the name of a file: no / or \\, no dot in front, no dot or space at the end";
        problems.push(ValidationProblem::new(path, message));
    }
    problems
}

/// A change to what is said of an asset. Another content is another asset, or the same id put again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetPatch {
    /// Another name.
    pub name: Option<String>,
    /// Another text that stands for it.
    pub alt: Option<String>,
}

impl AssetPatch {
    /// The asset after the change.
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
