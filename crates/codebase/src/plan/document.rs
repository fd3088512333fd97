//! The JSON document of a plan.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text_file::{Eol, Indent};

/// Proposed edits, with everything needed to validate, apply and undo them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditPlan {
    /// Version of the plan format.
    pub schema: u32,
    /// Digest of the rest of the plan.
    pub id: String,
    pub summary: String,
    /// The edits in the documented shape, each with its resolved changes.
    pub edits: Vec<Edit>,
    /// The affected files, each with its required state before and its state after.
    pub files: Vec<FileChange>,
    /// Commands that verify the result.
    pub post_checks: Vec<String>,
    /// `post_checks`, split into words.
    pub post_check_commands: Vec<Vec<String>>,
    pub rollback: Rollback,
    /// Why the plan looks like this, and how to read its results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Points to review before applying.
    pub warnings: Vec<String>,
    /// Requirements that must be met before applying.
    pub prerequisites: Vec<String>,
    /// Commands of the package manager that install what is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub install_commands: Vec<String>,
}

impl EditPlan {
    /// All changes to a file, in text order.
    pub(crate) fn changes_in_file(&self, path: &str) -> Vec<TextChange> {
        let own = self.edits.iter().filter(|edit| edit.filepath == path);
        let mut changes: Vec<TextChange> = own.flat_map(|edit| edit.changes.clone()).collect();
        changes.sort_by_key(|change| (change.start, change.end));
        changes
    }
}

/// One edit of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    /// Path relative to the root.
    pub filepath: String,
    pub strategy: Strategy,
    #[serde(default)]
    pub anchors: Vec<Anchor>,
    pub payload: Payload,
    #[serde(default)]
    pub rationale: String,
    /// The exact changes that the edit resolves to in the current file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<TextChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    AddDecorator,
    /// Insert code into the setup of a web framework.
    InsertMiddleware,
    AddImport,
    ModifyConfig,
    /// Create a file that must not exist yet.
    CreateFile,
}

impl Strategy {
    pub const ALL: [Self; 5] =
        [Self::AddDecorator, Self::InsertMiddleware, Self::AddImport, Self::ModifyConfig, Self::CreateFile];

    pub fn name(self) -> &'static str {
        match self {
            Self::AddDecorator => "add_decorator",
            Self::InsertMiddleware => "insert_middleware",
            Self::AddImport => "add_import",
            Self::ModifyConfig => "modify_config",
            Self::CreateFile => "create_file",
        }
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    #[serde(rename = "type")]
    pub kind: AnchorKind,
    /// A literal string that occurs in the file, or a regular expression.
    #[serde(default)]
    pub pattern: String,
    /// Selects one of several matches, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnchorKind {
    /// After the statement that contains the match.
    AfterMatch,
    /// Before the statement that contains the match.
    BeforeMatch,
    /// In place of the match.
    ReplaceMatch,
    /// At the end of the file.
    AppendFile,
}

impl AnchorKind {
    pub const ALL: [Self; 4] = [Self::AfterMatch, Self::BeforeMatch, Self::ReplaceMatch, Self::AppendFile];

    pub fn name(self) -> &'static str {
        match self {
            Self::AfterMatch => "after_match",
            Self::BeforeMatch => "before_match",
            Self::ReplaceMatch => "replace_match",
            Self::AppendFile => "append_file",
        }
    }
}

/// The content that an edit adds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// An import statement, placed by the conventions of the language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// Code to insert at the anchors, or the content of a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Where to insert the code, if the anchor type alone does not determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<InsertLocation>,
    /// Values to set in a YAML, TOML or JSON file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Setting>,
}

/// A value in a configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The path of keys to the value.
    pub key: Vec<String>,
    /// The new value. With `append`, the item to add to the list if it is missing.
    pub value: Value,
    /// Append to a list instead of setting a value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertLocation {
    /// Above the function that contains the anchor, or the next one, and below its other decorators.
    AboveFunction,
    /// After the anchor's statement.
    AfterAnchor,
    /// Before the anchor's statement.
    BeforeAnchor,
    /// After the shebang, docstring and directives.
    TopOfFile,
    AfterImports,
    EndOfFile,
}

pub const LOCATION_NAMES: [&str; 6] =
    ["above_function", "after_anchor", "before_anchor", "top_of_file", "after_imports", "end_of_file"];

impl InsertLocation {
    /// In the order of [`LOCATION_NAMES`].
    pub(crate) const ALL: [Self; 6] = [
        Self::AboveFunction,
        Self::AfterAnchor,
        Self::BeforeAnchor,
        Self::TopOfFile,
        Self::AfterImports,
        Self::EndOfFile,
    ];
}

/// An exact change: the range is replaced by `new_text`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextChange {
    /// Byte offset.
    pub start: usize,
    /// Byte offset, exclusive.
    pub end: usize,
    /// The same range in LSP coordinates.
    pub range: LspRange,
    pub old_text: String,
    pub new_text: String,
}

/// A range in the coordinates of the Language Server Protocol.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LspRange {
    pub start: LspPosition,
    pub end: LspPosition,
}

/// A line, and the UTF-16 code units before the position in that line, both counted from 0.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LspPosition {
    pub line: u32,
    pub character: u32,
}

/// The state of a file before and after the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Path relative to the root.
    pub path: String,
    /// The required state before; `None` if the file must not exist.
    pub before: Option<OriginalFile>,
    /// Digest of the new content.
    pub sha256: String,
    /// Size of the new content in bytes.
    pub size: usize,
    pub diff: String,
}

/// A file before it is edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginalFile {
    pub sha256: String,
    pub size: usize,
    pub eol: Eol,
    /// Whether it begins with a byte order mark.
    pub bom: bool,
    pub indent: Indent,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    pub instruction: String,
    pub description: String,
    #[serde(default)]
    pub files: Vec<String>,
    /// The reverse diff, for plans that were applied by an editor.
    #[serde(default)]
    pub reverse_diff: String,
}
