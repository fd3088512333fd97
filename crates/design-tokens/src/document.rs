//! A design-token file as it was written.

use std::fmt;

use super::flatten::FlatTokens;
use super::json::{Json, JsonMap};
use super::limits::{
    MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_MODES, MAX_NAME_BYTES, MAX_PATH_BYTES, MAX_TEXT_BYTES, MAX_TOKENS,
};

/// A design-token file: groups and tokens in their order, with every member they have.
///
/// It is the JSON itself. What tokens there are, of what type and value, are questions that other functions answer;
/// so a file with mistakes can be held, judged and mended, and a file printed again says what it said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenDocument {
    root: JsonMap,
}

/// Why a text is no document.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Too many bytes.
    #[error("the document has {bytes} bytes and may have {MAX_DOCUMENT_BYTES}; split it")]
    TooLarge {
        /// How many there are.
        bytes: usize,
    },
    /// Too long a text, spaces and all.
    #[error(
        "the text has {bytes} bytes and may have {MAX_TEXT_BYTES}; leave out spaces, or split the document"
    )]
    TextTooLong {
        /// How many there are.
        bytes: usize,
    },
    /// No JSON, or JSON that is too deep or names a thing twice.
    #[error("the document is not usable JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but no object.
    #[error("a design-token document is a JSON object, and this is {found}")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// Too many tokens.
    #[error("the document has more than {MAX_TOKENS} tokens; split it")]
    TooManyTokens,
    /// A name that is too long.
    #[error("a name in `{path}` has {bytes} bytes and may have {MAX_NAME_BYTES}; shorten it")]
    NameTooLong {
        /// The group that it is in.
        path: String,
        /// How long it is.
        bytes: usize,
    },
    /// A path that is too long.
    #[error("the path `{path}` has {} bytes and may have {MAX_PATH_BYTES}; shorten its names", path.len())]
    PathTooLong {
        /// The path.
        path: String,
    },
    /// Values made in code that are nested too deep.
    #[error("the document is nested more than {MAX_DEPTH} levels deep; flatten it")]
    TooDeep,
    /// Too many modes.
    #[error("the document has more than {MAX_MODES} modes; split it")]
    TooManyModes,
}

impl TokenDocument {
    /// Reads a file. Only what no function could work with is refused; `validate` judges the rest.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(ParseError::TextTooLong { bytes: text.len() });
        }
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = match Json::parse(bare)? {
            Json::Object(root) => Self { root }.check_structure()?,
            other => return Err(ParseError::NotAnObject { found: other.type_name() }),
        };
        // Without its spaces a text is not longer, and to count what is kept would cost every reader.
        if text.len() > MAX_DOCUMENT_BYTES { document.within_limits() } else { Ok(document) }
    }

    /// Reads a document that was kept. No limit is asked again: one that is lower today must not lock anybody out.
    pub fn parse_stored(text: &str) -> Result<Self, ParseError> {
        /// As deep as `serde_json` goes.
        const MAX_STORED_DEPTH: usize = 120;
        match Json::parse_to_depth(text, MAX_STORED_DEPTH)? {
            Json::Object(root) => Ok(Self { root }),
            other => Err(ParseError::NotAnObject { found: other.type_name() }),
        }
    }

    /// Takes members as a document, under the same limits as a text.
    pub fn from_map(root: JsonMap) -> Result<Self, ParseError> {
        Self { root }.within_limits()?.check_structure()
    }

    /// The document, if it is not too large to be kept. New forms are larger than old ones, so this is asked again wherever
    /// values were renewed.
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

    /// What stands at a path, token or group, as it was written. Nothing is inherited.
    pub fn get(&self, path: &str) -> Option<&JsonMap> {
        find_written(&self.root, path)
    }

    /// The modes that tokens have values for, in the order they occur.
    pub fn modes(&self) -> Vec<String> {
        let mut modes = Vec::new();
        collect_modes(&self.root, &mut modes);
        modes
    }

    /// How many tokens and groups there are, inherited ones too, counted without a mode and in every mode; and what is
    /// written, where 64 bytes count as one more. Whoever looks at all of them, or makes the document anew, takes time in
    /// proportion to it.
    pub fn processing_cost(&self) -> usize {
        const BYTES_PER_UNIT: usize = 64;
        let flat = FlatTokens::from_document(self);
        (flat.tokens.len() + flat.groups.len()) * (1 + self.modes().len())
            + self.root.encoded_len() / BYTES_PER_UNIT
    }

    /// The file as text: two spaces an indent.
    pub fn to_pretty_string(&self) -> String {
        Json::Object(self.root.clone()).to_pretty_string()
    }
}

impl fmt::Display for TokenDocument {
    /// The file as text, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.root).map_err(|_| fmt::Error)?)
    }
}

/// Whether an object is a token. One with `$ref` alone may be a token or a group: its target decides.
pub(super) fn is_token(map: &JsonMap) -> bool {
    map.contains("$value")
}

/// The members of a group that are tokens or groups.
pub(super) fn children(map: &JsonMap) -> impl Iterator<Item = (&str, &JsonMap)> {
    map.iter().filter_map(|(name, value)| match value {
        Json::Object(child) if name == "$root" || !name.starts_with('$') => Some((name, child)),
        _ => None,
    })
}

/// Where values for modes stand.
const MODE_MEMBERS: [&str; 2] = ["mode", "modes"];

/// The values that a token has for modes.
///
/// Exporters write them into `$extensions`: under `mode` or `modes`, or under one of these in the object of a vendor.
/// Each is the bare value, or an object with `$value`.
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

/// The value that a token has for a mode.
pub(super) fn mode_value<'a>(token: &'a JsonMap, mode: &str) -> Option<&'a Json> {
    mode_values(token).find(|(known, _)| *known == mode).map(|(_, value)| value)
}

/// What stands at a path.
pub(super) fn find_written<'a>(root: &'a JsonMap, path: &str) -> Option<&'a JsonMap> {
    path.split('.').try_fold(root, |map, name| map.get(name)?.as_object())
}

/// What stands at a path, to change.
pub(super) fn find_mut<'a>(root: &'a mut JsonMap, path: &str) -> Option<&'a mut JsonMap> {
    path.split('.').try_fold(root, |map, name| map.get_mut(name)?.as_object_mut())
}

/// Changes the values that a token has for modes; the same that [`mode_values`] lists.
pub(super) fn for_each_mode_value(token: &mut JsonMap, change: &mut impl FnMut(&mut Json)) {
    let Some(extensions) = token.get_mut("$extensions").and_then(Json::as_object_mut) else { return };
    update_modes(extensions, change);
    for (_, vendor) in extensions.iter_mut().filter(|(name, _)| !MODE_MEMBERS.contains(name)) {
        vendor.as_object_mut().into_iter().for_each(|vendor| update_modes(vendor, change));
    }
}

/// Takes the value out that a token has for a mode, wherever it stands. Says whether it had one.
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

/// Takes what stands at a path out.
pub(super) fn remove_path(root: &mut JsonMap, path: &str) -> Option<Json> {
    match path.rsplit_once('.') {
        Some((group, name)) => find_mut(root, group)?.remove(name),
        None => root.remove(path),
    }
}

/// The group at a path, made with all groups on the way if it is missing.
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

/// The path of a name in a group.
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
