//! A design-token file as written.

use std::fmt;

use super::flatten::FlatTokens;
use super::json::{Json, JsonMap};
use super::limits::{
    MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_MODES, MAX_NAME_BYTES, MAX_PATH_BYTES, MAX_TEXT_BYTES, MAX_TOKENS,
};

/// A design-token file: groups and tokens in order, with all their members.
///
/// This is the JSON itself; other functions derive the tokens with their types and values. So a file with
/// mistakes can be stored, validated and fixed, and printing a file does not change its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenDocument {
    root: JsonMap,
}

/// Why a text cannot be parsed as a document.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    #[error("the document has {bytes} bytes, but the limit is {MAX_DOCUMENT_BYTES}; split it")]
    TooLarge { bytes: usize },
    /// The text is too long, whitespace included.
    #[error(
        "the text has {bytes} bytes, but the limit is {MAX_TEXT_BYTES}; remove whitespace or split the document"
    )]
    TextTooLong { bytes: usize },
    /// Not JSON, nested too deep, or with duplicate names.
    #[error("the document is not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but not an object.
    #[error("a design-token document must be a JSON object, not {found}")]
    NotAnObject { found: &'static str },
    #[error("the document has more than {MAX_TOKENS} tokens; split it")]
    TooManyTokens,
    #[error("a name in `{path}` has {bytes} bytes, but the limit is {MAX_NAME_BYTES}; shorten it")]
    NameTooLong {
        /// The group that contains it.
        path: String,
        bytes: usize,
    },
    #[error("the path `{path}` has {} bytes, but the limit is {MAX_PATH_BYTES}; shorten its names", path.len())]
    PathTooLong { path: String },
    /// Values created in code that are nested too deep.
    #[error("the document is nested more than {MAX_DEPTH} levels deep; flatten it")]
    TooDeep,
    #[error("the document has more than {MAX_MODES} modes; split it")]
    TooManyModes,
}

impl TokenDocument {
    /// Parses a file. Only rejects what no function could handle; `validate` reports the rest.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(ParseError::TextTooLong { bytes: text.len() });
        }
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = match Json::parse(bare)? {
            Json::Object(root) => Self { root }.check_structure()?,
            other => return Err(ParseError::NotAnObject { found: other.type_name() }),
        };
        // A shorter text cannot exceed the limit, and measuring the document would cost every caller.
        if text.len() > MAX_DOCUMENT_BYTES { document.within_limits() } else { Ok(document) }
    }

    /// Parses a stored document. Limits are not checked again: a limit that was lowered since must not make
    /// stored data unreadable.
    pub fn parse_stored(text: &str) -> Result<Self, ParseError> {
        /// The maximum that `serde_json` supports.
        const MAX_STORED_DEPTH: usize = 120;
        match Json::parse_to_depth(text, MAX_STORED_DEPTH)? {
            Json::Object(root) => Ok(Self { root }),
            other => Err(ParseError::NotAnObject { found: other.type_name() }),
        }
    }

    /// Creates a document from members, under the same limits as a text.
    pub fn from_map(root: JsonMap) -> Result<Self, ParseError> {
        Self { root }.within_limits()?.check_structure()
    }

    /// Checks that the document is not too large to store. Normalised values may be larger than legacy ones,
    /// so this is checked again after normalising.
    pub(super) fn within_limits(self) -> Result<Self, ParseError> {
        if self.root.depth() > MAX_DEPTH {
            return Err(ParseError::TooDeep);
        }
        let bytes = self.root.encoded_len();
        if bytes > MAX_DOCUMENT_BYTES { Err(ParseError::TooLarge { bytes }) } else { Ok(self) }
    }

    fn check_structure(self) -> Result<Self, ParseError> {
        check_limits(&self.root, &mut String::new(), &mut 0)?;
        if self.modes().len() > MAX_MODES { Err(ParseError::TooManyModes) } else { Ok(self) }
    }

    /// The members of the file.
    pub const fn root(&self) -> &JsonMap {
        &self.root
    }

    pub(super) const fn root_mut(&mut self) -> &mut JsonMap {
        &mut self.root
    }

    pub(super) fn into_root(self) -> JsonMap {
        self.root
    }

    /// The token or group at a path, as written and without inherited members.
    pub fn get(&self, path: &str) -> Option<&JsonMap> {
        find_written(&self.root, path)
    }

    /// The modes that tokens have values for, in order of occurrence.
    pub fn modes(&self) -> Vec<String> {
        let mut modes = Vec::new();
        collect_modes(&self.root, &mut modes);
        modes
    }

    /// Estimated cost of processing the whole document: the number of tokens and groups, inherited ones
    /// included, times the number of modes plus one, and one unit per 64 bytes of text.
    pub fn processing_cost(&self) -> usize {
        const BYTES_PER_UNIT: usize = 64;
        let flat = FlatTokens::from_document(self);
        (flat.tokens.len() + flat.groups.len()) * (1 + self.modes().len())
            + self.root.encoded_len() / BYTES_PER_UNIT
    }

    /// The file as text, indented by two spaces.
    pub fn to_pretty_string(&self) -> String {
        Json::Object(self.root.clone()).to_pretty_string()
    }
}

impl fmt::Display for TokenDocument {
    /// The file as text on a single line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.root).map_err(|_| fmt::Error)?)
    }
}

/// Whether an object is a token. For an object with only `$ref` the target decides.
pub(super) fn is_token(map: &JsonMap) -> bool {
    map.contains("$value")
}

/// The tokens and groups inside a group.
pub(super) fn children(map: &JsonMap) -> impl Iterator<Item = (&str, &JsonMap)> {
    map.iter().filter_map(|(name, value)| match value {
        Json::Object(child) if name == "$root" || !name.starts_with('$') => Some((name, child)),
        _ => None,
    })
}

/// Members of `$extensions` that contain values for modes.
const MODE_MEMBERS: [&str; 2] = ["mode", "modes"];

/// A token's values for modes.
///
/// Exporters write them into `$extensions`, under `mode` or `modes`, either directly or inside a vendor's
/// object. Each is the bare value or an object with `$value`.
pub(super) fn mode_values(token: &JsonMap) -> impl Iterator<Item = (&str, &Json)> {
    let extensions = token.get("$extensions").and_then(Json::as_object);
    let vendors =
        extensions.into_iter().flat_map(JsonMap::iter).filter(|(name, _)| !MODE_MEMBERS.contains(name));
    let vendors = vendors.filter_map(|(_, value)| value.as_object());
    extensions
        .into_iter()
        .chain(vendors)
        .flat_map(|holder| MODE_MEMBERS.into_iter().filter_map(|name| holder.get(name)?.as_object()))
        .flat_map(JsonMap::iter)
        .filter(|(mode, _)| !mode.is_empty())
        .map(|(mode, value)| {
            let wrapped = value.as_object().and_then(|map| map.get("$value"));
            (mode, wrapped.unwrap_or(value))
        })
}

/// A token's value for one mode.
pub(super) fn mode_value<'a>(token: &'a JsonMap, mode: &str) -> Option<&'a Json> {
    mode_values(token).find(|(known, _)| *known == mode).map(|(_, value)| value)
}

/// The object at a path.
pub(super) fn find_written<'a>(root: &'a JsonMap, path: &str) -> Option<&'a JsonMap> {
    path.split('.').try_fold(root, |map, name| map.get(name)?.as_object())
}

/// The object at a path, for modification.
pub(super) fn find_mut<'a>(root: &'a mut JsonMap, path: &str) -> Option<&'a mut JsonMap> {
    path.split('.').try_fold(root, |map, name| map.get_mut(name)?.as_object_mut())
}

/// Modifies a token's values for modes, those that [`mode_values`] lists.
pub(super) fn for_each_mode_value(token: &mut JsonMap, change: &mut impl FnMut(&mut Json)) {
    let Some(extensions) = token.get_mut("$extensions").and_then(Json::as_object_mut) else { return };
    update_modes(extensions, change);
    for (_, vendor) in extensions.iter_mut().filter(|(name, _)| !MODE_MEMBERS.contains(name)) {
        vendor.as_object_mut().into_iter().for_each(|vendor| update_modes(vendor, change));
    }
}

/// Removes a token's value for a mode, wherever it is. Returns whether there was one.
pub(super) fn remove_mode(token: &mut JsonMap, mode: &str) -> bool {
    let Some(extensions) = token.get_mut("$extensions").and_then(Json::as_object_mut) else { return false };
    let mut is_taken = remove_mode_from(extensions, mode);
    for (_, vendor) in extensions.iter_mut().filter(|(name, _)| !MODE_MEMBERS.contains(name)) {
        is_taken |= vendor.as_object_mut().is_some_and(|vendor| remove_mode_from(vendor, mode));
    }
    if is_taken && extensions.is_empty() {
        token.remove("$extensions");
    }
    is_taken
}

fn remove_mode_from(holder: &mut JsonMap, mode: &str) -> bool {
    let mut is_taken = false;
    for name in MODE_MEMBERS {
        let Some(modes) = holder.get_mut(name).and_then(Json::as_object_mut) else { continue };
        if modes.remove(mode).is_some() {
            is_taken = true;
            if modes.is_empty() {
                holder.remove(name);
            }
        }
    }
    is_taken
}

/// Removes the value at a path.
pub(super) fn remove_path(root: &mut JsonMap, path: &str) -> Option<Json> {
    match path.rsplit_once('.') {
        Some((group, name)) => find_mut(root, group)?.remove(name),
        None => root.remove(path),
    }
}

/// The group at a path, created with all its parents if missing.
pub(super) fn ensure_group<'a>(root: &'a mut JsonMap, path: &str) -> &'a mut JsonMap {
    path.split('.').filter(|name| !name.is_empty()).fold(root, JsonMap::object_entry)
}

fn update_modes(holder: &mut JsonMap, change: &mut impl FnMut(&mut Json)) {
    for name in MODE_MEMBERS {
        let Some(modes) = holder.get_mut(name).and_then(Json::as_object_mut) else { continue };
        for (_, value) in modes.iter_mut() {
            if let Some(wrapped) = value.as_object_mut().and_then(|map| map.get_mut("$value")) {
                change(wrapped);
                continue;
            }
            change(value);
        }
    }
}

/// Appends a name to the path of a group.
pub(super) fn join_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { [path, ".", name].concat() }
}

fn collect_modes(map: &JsonMap, modes: &mut Vec<String>) {
    for (_, child) in children(map) {
        if is_token(child) || child.contains("$ref") {
            for (mode, _) in mode_values(child) {
                if modes.len() <= MAX_MODES && !modes.iter().any(|known| known == mode) {
                    modes.push(mode.to_owned());
                }
            }
        }
        if !is_token(child) {
            collect_modes(child, modes);
        }
    }
}

fn check_limits(map: &JsonMap, path: &mut String, tokens: &mut usize) -> Result<(), ParseError> {
    for (name, child) in children(map) {
        if name.len() > MAX_NAME_BYTES {
            return Err(ParseError::NameTooLong { path: path.clone(), bytes: name.len() });
        }
        if is_token(child) || child.contains("$ref") {
            *tokens += 1;
            if *tokens > MAX_TOKENS {
                return Err(ParseError::TooManyTokens);
            }
        }
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        if path.len() > MAX_PATH_BYTES {
            return Err(ParseError::PathTooLong { path: path.clone() });
        }
        if !is_token(child) {
            check_limits(child, path, tokens)?;
        }
        path.truncate(length);
    }
    Ok(())
}
