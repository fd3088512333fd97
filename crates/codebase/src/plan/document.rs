//! The plan as a document: what stands in its JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text_file::{Eol, Indent};

/// Proposed edits, and all that is needed to judge, apply and reverse them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditPlan {
    /// The version of this format.
    pub schema: u32,
    /// The digest of everything else.
    pub id: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// The edits, in the documented shape, with what each comes to.
    pub edits: Vec<Edit>,
    /// The files that it touches, each as it must be before, and as it will be after.
    pub files: Vec<FileChange>,
    /// Commands that show whether it worked.
    pub post_checks: Vec<String>,
    /// The same, split into words.
    pub post_check_commands: Vec<Vec<String>>,
    /// How it is taken back.
    pub rollback: Rollback,
    /// What to look at before it is applied.
    pub warnings: Vec<String>,
    /// What has to be there before it is applied.
    pub prerequisites: Vec<String>,
}

impl EditPlan {
    /// All changes of a file, in the order of the text.
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
    /// The file, from the root.
    pub filepath: String,
    /// What kind of edit it is.
    pub strategy: Strategy,
    /// Where.
    #[serde(default)]
    pub anchors: Vec<Anchor>,
    /// What.
    pub payload: Payload,
    /// Why.
    #[serde(default)]
    pub rationale: String,
    /// What it comes to in the file as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<TextChange>,
}

/// The kinds of edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Decorate a function.
    AddDecorator,
    /// Insert code into a web framework's set-up.
    InsertMiddleware,
    /// Import something.
    AddImport,
    /// Change a configuration file.
    ModifyConfig,
    /// Make a file that is not there.
    CreateFile,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::AddDecorator, Self::InsertMiddleware, Self::AddImport, Self::ModifyConfig, Self::CreateFile];

    /// Its name in a plan.
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
    /// What it means.
    #[serde(rename = "type")]
    pub kind: AnchorKind,
    /// A text that occurs in the file, or a regular expression that matches there.
    #[serde(default)]
    pub pattern: String,
    /// Which of several matches is meant, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

/// What an anchor means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnchorKind {
    /// After the statement that holds the match.
    AfterMatch,
    /// Before it.
    BeforeMatch,
    /// In place of the match.
    ReplaceMatch,
    /// At the end of the file.
    AppendFile,
}

impl AnchorKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::AfterMatch, Self::BeforeMatch, Self::ReplaceMatch, Self::AppendFile];

    /// Its name in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Self::AfterMatch => "after_match",
            Self::BeforeMatch => "before_match",
            Self::ReplaceMatch => "replace_match",
            Self::AppendFile => "append_file",
        }
    }
}

/// What an edit brings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// An import, put where the language wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// Code, put at the anchors; the content of a new file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Where the code goes, if the anchor alone does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<InsertLocation>,
    /// Values to set in a YAML, TOML or JSON file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Setting>,
}

/// A value in a configuration file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The way of keys to it.
    pub key: Vec<String>,
    /// What it becomes. For a list, what is added to it if it is not there.
    pub value: Value,
    /// Add to a list instead of setting a value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
}

/// Where code goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertLocation {
    /// Above the function that the anchor is in, or the next one; below its other decorators.
    AboveFunction,
    /// After the anchor's statement.
    AfterAnchor,
    /// Before the anchor's statement.
    BeforeAnchor,
    /// After shebang, docstring and directives.
    TopOfFile,
    /// After the imports.
    AfterImports,
    /// At the end.
    EndOfFile,
}

/// The names of the locations.
pub const LOCATION_NAMES: [&str; 6] =
    ["above_function", "after_anchor", "before_anchor", "top_of_file", "after_imports", "end_of_file"];

impl InsertLocation {
    /// All of them, in the order of [`LOCATION_NAMES`].
    pub(crate) const ALL: [Self; 6] = [
        Self::AboveFunction,
        Self::AfterAnchor,
        Self::BeforeAnchor,
        Self::TopOfFile,
        Self::AfterImports,
        Self::EndOfFile,
    ];
}

/// An exact change: this range becomes that text.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextChange {
    /// In bytes.
    pub start: usize,
    /// In bytes; the first that is not replaced.
    pub end: usize,
    /// As editors count.
    pub range: LspRange,
    /// What stands there.
    pub old_text: String,
    /// What will.
    pub new_text: String,
}

/// A range as the Language Server Protocol counts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LspRange {
    /// Where it begins.
    pub start: LspPosition,
    /// Where it ends.
    pub end: LspPosition,
}

/// A line, and the UTF-16 units before a place in it; both from 0.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LspPosition {
    /// The line.
    pub line: u32,
    /// The place in it.
    pub character: u32,
}

/// A file before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// The file, from the root.
    pub path: String,
    /// How it must be before; nothing: it must not be there.
    pub before: Option<OriginalFile>,
    /// The digest of what it will be.
    pub sha256: String,
    /// The size that it will have.
    pub size: usize,
    /// The difference, for people.
    pub diff: String,
}

/// What a file is before it is edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginalFile {
    /// Its digest.
    pub sha256: String,
    /// Its size in bytes.
    pub size: usize,
    /// How its lines end.
    pub eol: Eol,
    /// Whether it begins with a byte order mark.
    pub bom: bool,
    /// How it is indented.
    pub indent: Indent,
}

/// How a plan is taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// What to do.
    pub instruction: String,
    /// What that does.
    pub description: String,
    /// The files that it concerns.
    #[serde(default)]
    pub files: Vec<String>,
    /// The difference backwards, for those whose editor applied the plan.
    #[serde(default)]
    pub reverse_diff: String,
}
