//! JSON that keeps the order of its names, as people wrote them.
//!
//! `serde_json::Value` sorts them, and its feature to keep the order would change what a value is for the whole
//! workspace. Reading refuses what would be ambiguous or too deep: a name that occurs twice, nesting past
//! [`MAX_DEPTH`](super::limits::MAX_DEPTH).

mod text;

use std::fmt;

use indexmap::IndexMap;
use serde_json::Number;

use super::budget::CostBudget;

/// A JSON value with the names of its objects in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// Names and values.
    Object(JsonMap),
}

/// The members of an object, in order. Names are unique.
#[derive(Clone, Default)]
pub struct JsonMap(IndexMap<String, Json>);

/// So many bytes of a text count as one value more.
const BYTES_PER_NODE: usize = 64;

impl JsonMap {
    /// No members.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// The value of a name, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        self.0.get_mut(name)
    }

    /// Whether a name occurs.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets a name, in its place if it is there, else at the end.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.0.insert(name.into(), value.into());
    }

    /// Takes a name out.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        self.0.shift_remove(name)
    }

    /// Gives a member another name and leaves it where it is. The new name must be free.
    pub(super) fn rename(&mut self, name: &str, to: &str) {
        if let Some(at) = self.0.get_index_of(name) {
            let renamed = self.0.replace_index(at, to.to_owned());
            debug_assert!(renamed.is_ok(), "the name {to} is taken");
        }
    }

    /// Takes the members out whose names are wanted.
    pub(super) fn extract_if(&mut self, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, Json)> {
        self.0.extract_if(.., |name, _| is_wanted(name)).collect()
    }

    /// The member of this name, made an empty object if it is missing or anything else.
    pub(super) fn object_entry(&mut self, name: &str) -> &mut JsonMap {
        let value = self.0.entry(name.to_owned()).or_insert(Json::Null);
        if !matches!(value, Json::Object(_)) {
            *value = Json::Object(Self::new());
        }
        match value {
            Json::Object(map) => map,
            _ => unreachable!("it was made an object above"),
        }
    }

    /// How many objects and arrays are inside one another, this one included.
    pub(super) fn depth(&self) -> usize {
        1 + self.0.values().map(Json::depth).max().unwrap_or(0)
    }

    /// How many bytes it has as text, without spaces.
    pub(super) fn encoded_len(&self) -> usize {
        text::encoded_len(self)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Names and values, to change the values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Json)> {
        self.0.iter_mut().map(|(name, value)| (name.as_str(), value))
    }
}

impl PartialEq for JsonMap {
    fn eq(&self, other: &Self) -> bool {
        // Unlike `IndexMap`, by their order too.
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
    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.as_f64() } else { None }
    }

    /// The members, if it is an object.
    pub fn as_object(&self) -> Option<&JsonMap> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    /// The members, if it is an object, to change.
    pub fn as_object_mut(&mut self) -> Option<&mut JsonMap> {
        if let Self::Object(map) = self { Some(map) } else { None }
    }

    /// The items, if it is a list.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// What kind of value it is, for messages.
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

    /// A number, whole where it is whole. What is not finite becomes 0.
    pub fn number(value: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
        if value.fract() == 0.0 && value.abs() < 9e15 {
            return Self::Number(Number::from(value as i64));
        }
        Self::Number(Number::from_f64(value).unwrap_or_else(|| Number::from(0)))
    }

    /// Whether another value means the same: the order of members does not count, nor how a number is written.
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

    /// The value as all have it that mean the same: with its members in the order of their names, and numbers in one form.
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

    /// How many objects and arrays are inside one another.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(map) => map.depth(),
            _ => 0,
        }
    }

    /// Takes what it consists of from a budget: every value in it, and more for long texts and names.
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

    /// What a segment of a JSON pointer leads to: a member, or an item by its number.
    pub(super) fn child(&self, segment: &str) -> Option<&Self> {
        match self {
            Self::Object(map) => map.get(segment),
            // A number is written in one way: `+1` and `01` are none.
            Self::Array(items) => {
                let at: usize = segment.parse().ok()?;
                items.get(at).filter(|_| segment == at.to_string())
            }
            _ => None,
        }
    }
}

impl fmt::Display for Json {
    /// The text on one line.
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
