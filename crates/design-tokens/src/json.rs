//! JSON that preserves the order of names.
//!
//! `serde_json::Value` sorts them, and its `preserve_order` feature would affect the whole workspace. Parsing
//! rejects ambiguous or excessive input: duplicate names, and nesting beyond
//! [`MAX_DEPTH`](super::limits::MAX_DEPTH).

mod text;

use std::fmt;

use indexmap::IndexMap;
use serde_json::Number;

use super::budget::CostBudget;

/// A JSON value with ordered objects.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(JsonMap),
}

/// The members of an object, in order. Names are unique.
#[derive(Clone, Default)]
pub struct JsonMap(IndexMap<String, Json>);

/// This many bytes of text count as one more value.
const BYTES_PER_NODE: usize = 64;

impl JsonMap {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.0.get_mut(name)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets a member, in place if it exists, otherwise at the end.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.0.insert(name.into(), value.into());
    }

    pub fn remove(&mut self, name: &str) -> Option<Json> {
        self.0.shift_remove(name)
    }

    /// Renames a member without moving it. The new name must be free.
    pub(super) fn rename(&mut self, name: &str, to: &str) {
        if let Some(at) = self.0.get_index_of(name) {
            let renamed = self.0.replace_index(at, to.to_owned());
            debug_assert!(renamed.is_ok(), "the name {to} is taken");
        }
    }

    /// Removes and returns the matching members.
    pub(super) fn extract_if(&mut self, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, Json)> {
        self.0.extract_if(.., |name, _| is_wanted(name)).collect()
    }

    /// The object at a name, replaced by an empty one if it is missing or not an object.
    pub(super) fn object_entry(&mut self, name: &str) -> &mut JsonMap {
        let value = self.0.entry(name.to_owned()).or_insert(Json::Null);
        if !matches!(value, Json::Object(_)) {
            *value = Json::Object(Self::new());
        }
        match value {
            Json::Object(map) => map,
            _ => unreachable!("replaced by an object above"),
        }
    }

    /// Nesting depth, this object included.
    pub(super) fn depth(&self) -> usize {
        1 + self.0.values().map(Json::depth).max().unwrap_or(0)
    }

    /// Size as compact JSON.
    pub(super) fn encoded_len(&self) -> usize {
        text::encoded_len(self)
    }

    /// Members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Members in order, with mutable values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Json)> {
        self.0.iter_mut().map(|(name, value)| (name.as_str(), value))
    }
}

impl PartialEq for JsonMap {
    fn eq(&self, other: &Self) -> bool {
        // Unlike `IndexMap`, order matters.
        self.0.iter().eq(&other.0)
    }
}

impl fmt::Debug for JsonMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<N: Into<String>, V: Into<Json>> FromIterator<(N, V)> for JsonMap {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(members: I) -> Self {
        Self(members.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl Json {
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.as_f64() } else { None }
    }

    pub fn as_object(&self) -> Option<&JsonMap> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    pub fn as_object_mut(&mut self) -> Option<&mut JsonMap> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    pub fn as_array(&self) -> Option<&[Json]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The kind of value, for messages.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// A number, as an integer if it is one. Non-finite numbers become 0.
    pub fn number(value: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
        if value.fract() == 0.0 && value.abs() < 9e15 {
            return Self::Number(Number::from(value as i64));
        }
        Self::Number(Number::from_f64(value).unwrap_or_else(|| Number::from(0)))
    }

    /// Whether another value is equivalent, regardless of member order and number notation.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => one == two || one.as_f64() == two.as_f64(),
            (Self::Array(one), Self::Array(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.is_equivalent(two))
            }
            (Self::Object(one), Self::Object(two)) => {
                let has =
                    |(name, value): (&str, &Self)| two.get(name).is_some_and(|two| value.is_equivalent(two));
                one.len() == two.len() && one.iter().all(has)
            }
            _ => self == other,
        }
    }

    /// A canonical form, equal for all equivalent values: members sorted by name, numbers in one notation.
    pub(super) fn canonical(&self) -> Self {
        match self {
            Self::Number(number) => number.as_f64().map_or_else(|| self.clone(), Self::number),
            Self::Array(items) => Self::Array(items.iter().map(Self::canonical).collect()),
            Self::Object(map) => {
                let mut members: IndexMap<_, _> =
                    map.iter().map(|(name, value)| (name.to_owned(), value.canonical())).collect();
                members.sort_unstable_keys();
                Self::Object(JsonMap(members))
            }
            other => other.clone(),
        }
    }

    /// Nesting depth.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(map) => map.depth(),
            _ => 0,
        }
    }

    /// Charges the value to a budget: one for each nested value, and more for long strings and names.
    pub(super) fn charge(&self, budget: &mut CostBudget) -> Option<()> {
        match self {
            Self::String(text) => budget.spend(1 + text.len() / BYTES_PER_NODE),
            Self::Array(items) => {
                budget.spend(1)?;
                items.iter().try_for_each(|item| item.charge(budget))
            }
            Self::Object(map) => {
                budget.spend(1)?;
                map.iter().try_for_each(|(name, value)| {
                    budget.spend(name.len() / BYTES_PER_NODE)?;
                    value.charge(budget)
                })
            }
            _ => budget.spend(1),
        }
    }

    /// Resolves a segment of a JSON pointer: a member, or an item by index.
    pub(super) fn child(&self, segment: &str) -> Option<&Self> {
        match self {
            Self::Object(map) => map.get(segment),
            // Only the canonical notation is an index, not `+1` or `01`.
            Self::Array(items) => {
                let at: usize = segment.parse().ok()?;
                items.get(at).filter(|_| segment == at.to_string())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Json {
    /// On a single line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Self::number(value)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<JsonMap> for Json {
    fn from(map: JsonMap) -> Self {
        Self::Object(map)
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Self::Array(items)
    }
}
