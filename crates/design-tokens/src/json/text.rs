//! Parsing with limits, and serialization.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Number;

use super::{Json, JsonMap};
use crate::finding::excerpt;
use crate::limits::MAX_DEPTH;

impl Json {
    /// Parses a text. Only the depth is limited.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        Self::parse_to_depth(text, MAX_DEPTH)
    }

    pub(crate) fn parse_to_depth(text: &str, room: usize) -> Result<Self, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = JsonSeed { levels_left: room, max_levels: room }.deserialize(&mut reader)?;
        reader.end()?;
        Ok(value)
    }

    /// Indented by two spaces, with a trailing newline.
    pub fn to_pretty_string(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// Size as compact JSON.
pub(super) fn encoded_len(value: &impl Serialize) -> usize {
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = ByteCounter(0);
    // Values that cannot be serialized count as too large.
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX, |()| counter.0)
}

impl Serialize for JsonMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self.iter() {
            members.serialize_entry(name, value)?;
        }
        members.end()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Object(map) => map.serialize(serializer),
        }
    }
}

/// Deserializes a value with `levels_left` of `max_levels` remaining below it.
#[derive(Clone, Copy)]
struct JsonSeed {
    levels_left: usize,
    max_levels: usize,
}

impl JsonSeed {
    fn descend<E: de::Error>(self) -> Result<Self, E> {
        let Self { levels_left: room, max_levels: most } = self;
        room.checked_sub(1)
            .map(|room| Self { levels_left: room, max_levels: most })
            .ok_or_else(|| E::custom(format_args!("it is nested more than {most} levels deep")))
    }
}

impl<'de> DeserializeSeed<'de> for JsonSeed {
    type Value = Json;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonSeed {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let inside = self.descend()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let inside = self.descend()?;
        let mut map = JsonMap::new();
        while let Some(name) = object.next_key::<String>()? {
            if map.contains(&name) {
                let name = excerpt(&name);
                return Err(de::Error::custom(format_args!("duplicate name {name:?} in an object")));
            }
            map.set(name, object.next_value_seed(inside)?);
        }
        Ok(Json::Object(map))
    }
}
