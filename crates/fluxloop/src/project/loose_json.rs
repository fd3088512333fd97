//! JSON values of any type, copied only as far as they are used.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// One value, as far as it can matter.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) enum LooseValue<'a> {
    /// Not there.
    #[default]
    Missing,
    Null,
    Flag(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List,
    Map,
}

impl LooseValue<'_> {
    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn flag(&self) -> Option<bool> {
        if let Self::Flag(flag) = self { Some(*flag) } else { None }
    }

    pub(super) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number).filter(|number| number.is_finite()) } else { None }
    }

    /// A whole number that is not negative. Python writes some of them as floats.
    pub(super) fn count(&self) -> Option<u64> {
        self.number().filter(|number| *number >= 0.0 && number.fract() == 0.0 && *number < 1e15).map(
            |number| {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "checked just before"
                )]
                let count = number as u64;
                count
            },
        )
    }

    pub(super) fn is_present(&self) -> bool {
        !matches!(self, Self::Missing | Self::Null)
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Null => "null",
            Self::Flag(_) => "true or false",
            Self::Number(number) if *number < 0.0 => "a negative number",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List => "a list",
            Self::Map => "a mapping",
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LooseValue<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseValueVisitor)
    }
}

struct LooseValueVisitor;

impl<'de> Visitor<'de> for LooseValueVisitor {
    type Value = LooseValue<'de>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(LooseValue::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(LooseValue::Flag(flag))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and durations are far below 2^53")]
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(LooseValue::Number(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and durations are far below 2^53")]
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(LooseValue::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(LooseValue::Number(number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(LooseValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(LooseValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LooseValue::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LooseValue::Map)
    }
}

/// The items of a list; none if it is something else.
pub(super) struct LooseList<T>(pub(super) Vec<T>);

/// A mapping of this shape; none if it is something else.
pub(super) struct LooseMapping<T>(pub(super) Option<T>);

impl<T> Default for LooseList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Default for LooseMapping<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LooseList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shape = deserializer.deserialize_any(ListOrMapVisitor::<Vec<T>, IgnoredAny>(PhantomData))?;
        Ok(Self(shape.0.unwrap_or_default()))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LooseMapping<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shape = deserializer.deserialize_any(ListOrMapVisitor::<IgnoredAny, T>(PhantomData))?;
        Ok(Self(shape.1))
    }
}

/// Takes lists for one type and mappings for another.
struct ListOrMapVisitor<L, M>(PhantomData<(L, M)>);

impl<'de, L: Deserialize<'de>, M: Deserialize<'de>> Visitor<'de> for ListOrMapVisitor<L, M> {
    type Value = (Option<L>, Option<M>);

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok((None, None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Ok((Some(L::deserialize(SeqAccessDeserializer::new(items))?), None))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
        Ok((None, Some(M::deserialize(MapAccessDeserializer::new(entries))?)))
    }
}

/// Something that is passed over, level by level, so that the parser's limit for nesting holds for it too.
#[derive(Default)]
pub(super) struct SkippedValue;

impl<'de> Deserialize<'de> for SkippedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for SkippedValue {
    type Value = Self;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(Self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<IgnoredAny, Self>()?.is_some() {}
        Ok(Self)
    }
}
