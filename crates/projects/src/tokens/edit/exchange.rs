//! A value exchanged for another one in the text of a document.
//!
//! Most changes give a token that has a value another one of the same type. Nothing else can be wrong by that, as long as no
//! pointer leads into the value and it is not larger: whoever refers to the token asks for its type alone. So the document
//! need not be read as a whole, judged and printed again; the rest of its text stays as it is.

use std::borrow::Cow;
use std::fmt;

use memchr::memmem;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::set::{fill, renew_token};
use super::{NewToken, check_path};
use crate::tokens::document::mode_values;
use crate::tokens::follow::weight;
use crate::tokens::json::{Json, Map};
use crate::tokens::kind::Kind;
use crate::tokens::limits::MAX_BYTES;
use crate::tokens::model::is_plain;
use crate::tokens::read::Reader;
use crate::tokens::validate::shape;

/// What makes a document more than its text says at one place: a pointer, a group that extends another, or one without a name,
/// which paths at the root do not show. A text that is kept was printed here, and no `$` is ever escaped.
const TANGLED: [&str; 3] = [r#""$ref""#, r#""$extends""#, r#""":"#];

/// The text of a document, as it is kept, with another value for a token. `None` says nothing about the change: then
/// [`set`](super::set) makes or refuses it.
pub fn exchange(text: &str, path: &str, new: &NewToken) -> Option<String> {
    if !new.is_bare() || check_path(path).is_err() || is_tangled(text, path) {
        return None;
    }
    let place = place(text, path)?;
    let Json::Object(mut token) = Json::parse(place.token).ok()? else { return None };
    let kind = place.kind(&token)?;
    let before = token.get("$value").filter(|value| is_plain(value)).map(Size::of)?;
    if new.kind.is_some_and(|new| new != kind) {
        return None;
    }
    fill(&mut token, new);
    renew_token(&mut token, new, kind);
    if !is_sound(path, kind, &token) || !Size::of(token.get("$value")?).fits(&before) {
        return None;
    }
    let start = place.token.as_ptr().addr() - text.as_ptr().addr();
    let rest = &text[start + place.token.len()..];
    let changed = [&text[..start], &Json::Object(token).to_string(), rest].concat();
    (changed.len() <= MAX_BYTES).then_some(changed)
}

impl NewToken {
    /// Whether it has a value for all modes, and no reference in it.
    pub(crate) fn is_bare(&self) -> bool {
        self.mode.is_none() && is_plain(&self.value)
    }
}

/// Whether nothing is wrong with a token by itself, and nothing else makes it right: it refers to nothing in any mode.
fn is_sound(path: &str, kind: Kind, token: &Map) -> bool {
    let mut is_wrong = false;
    shape::group(token, path, &mut |finding| is_wrong |= finding.is_error());
    let is_good = |value: &Json| {
        let mut reader = Reader::default();
        is_plain(value) && reader.value(kind, value).is_some() && !reader.has_errors()
    };
    !is_wrong
        && token.get("$value").is_some_and(is_good)
        && mode_values(token).all(|(_, value)| is_good(value))
}

/// How large a value is.
struct Size {
    weight: Option<usize>,
    depth: usize,
}

impl Size {
    fn of(value: &Json) -> Self {
        Self { weight: weight(value), depth: value.depth() }
    }

    /// Whether all who refer to a value have room for this one in its stead.
    fn fits(&self, room: &Self) -> bool {
        self.weight <= room.weight && self.depth <= room.depth
    }
}

/// Where a token is.
struct Place<'t> {
    /// What is written there.
    token: &'t str,
    /// The `$type` of the nearest group that has one.
    group_type: Option<Cow<'t, str>>,
}

impl Place<'_> {
    /// The type of the token. Its value is no reference, so no other token has a say.
    fn kind(&self, token: &Map) -> Option<Kind> {
        match token.get("$type") {
            Some(own) => own.as_str()?.parse().ok(),
            None => self.group_type.as_ref()?.parse().ok(),
        }
    }
}

/// Whether more may hang together in a document than stands at one place of its text.
fn is_tangled(text: &str, path: &str) -> bool {
    // With a dot in a name another token may have the same path.
    let groups = path.rsplit_once('.').into_iter().flat_map(|(groups, _)| groups.split('.'));
    let mut dotted = groups.map(|name| {
        let quoted = Json::from(name).to_string();
        quoted[..quoted.len() - 1].to_owned() + "."
    });
    let occurs = |mark: &str| memmem::find(text.as_bytes(), mark.as_bytes()).is_some();
    TANGLED.into_iter().any(occurs) || dotted.any(|begun| occurs(&begun))
}

/// Finds what is written at a path, and reads no further than it must.
fn place<'t>(text: &'t str, path: &str) -> Option<Place<'t>> {
    let mut search = Search::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Group { rest: path, is_root: true, search: &mut search }.deserialize(&mut reader);
    search.place.filter(|_| search.is_done || read.is_ok())
}

#[derive(Default)]
struct Search<'t> {
    place: Option<Place<'t>>,
    /// Whether the rest of the text is of no interest. To stop there, reading it has to fail.
    is_done: bool,
}

/// Reads a group on the way to a token.
struct Group<'p, 't> {
    /// The path from here.
    rest: &'p str,
    is_root: bool,
    search: &'p mut Search<'t>,
}

#[derive(Deserialize)]
struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'t> DeserializeSeed<'t> for Group<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'t> Visitor<'t> for Group<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a group")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { rest, is_root, search } = self;
        let (next, rest) = rest.split_once('.').map_or((rest, None), |(next, rest)| (next, Some(rest)));
        let mut group_type = None;
        while let Some(Name(name)) = members.next_key()? {
            match (&*name, rest) {
                (name, Some(rest)) if name == next => {
                    members.next_value_seed(Group { rest, is_root: false, search })?;
                    let has_type = search.place.as_ref().is_some_and(|place| place.group_type.is_some());
                    search.is_done = is_root && has_type;
                    if search.is_done {
                        return Err(A::Error::custom("it is found"));
                    }
                }
                (name, None) if name == next => {
                    let token = members.next_value::<&RawValue>()?.get();
                    search.place = Some(Place { token, group_type: None });
                }
                ("$type", _) => group_type = Some(members.next_value::<Name<'t>>()?.0),
                ("$value", _) if !is_root => return Err(A::Error::custom("the path leads through a token")),
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        if let Some(place) = &mut search.place {
            place.group_type = place.group_type.take().or(group_type);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::{Document, set};

    /// A document as it is kept.
    const KEPT: &str = r#"{"n":{"a":{"$value":1},"m":{"$value":2,"$extensions":{"mode":{"big":9}}},"$type":"number"},"w":{"$type":"number","b":{"$value":"bold","$type":"fontWeight"},"l":{"$value":"{n.a}"}}}"#;

    fn check(text: &str, path: &str, new: &NewToken, expected: Option<&str>) {
        let exchanged = exchange(text, path, new);
        assert_eq!(exchanged.as_deref(), expected, "{path} in {text}");
        if let Some(exchanged) = exchanged {
            let document = set(&Document::stored(text).unwrap(), path, new).unwrap().document;
            assert_eq!(exchanged, document.to_string(), "{path}");
        }
    }

    fn bare(value: impl Into<Json>) -> NewToken {
        NewToken { kind: None, value: value.into(), mode: None, description: None }
    }

    #[test]
    fn a_value_is_exchanged_and_the_rest_stays() {
        let is = |path, new: NewToken, from: &str, to: &str| {
            check(KEPT, path, &new, Some(&KEPT.replacen(from, to, 1)));
        };
        is("n.a", bare(7.5), r#"{"$value":1}"#, r#"{"$value":7.5}"#);
        is("n.m", bare(0.0), r#""$value":2"#, r#""$value":0"#);
        // An old form is brought up to date.
        is("n.a", bare("12"), r#"{"$value":1}"#, r#"{"$value":12}"#);
        is("w.b", bare(300.0), r#""bold""#, "300");
        is("w.b", NewToken::new(Kind::FontWeight, "thin"), r#""bold""#, r#""thin""#);
        let told = NewToken { description: Some("seven".to_owned()), ..NewToken::new(Kind::Number, 7.0) };
        is("n.a", told, r#"{"$value":1}"#, r#"{"$value":7,"$type":"number","$description":"seven"}"#);
    }

    #[test]
    fn what_more_may_depend_on_is_left_to_set() {
        for (path, new) in [
            ("n.a", bare("soon")),
            ("n.a", bare("{n.m}")),
            ("n.a", NewToken { mode: Some("big".to_owned()), ..bare(2.0) }),
            ("w.b", NewToken::new(Kind::Number, 300.0)),
            ("w.l", bare(2.0)),
            ("n.x", bare(2.0)),
            ("n", bare(2.0)),
            ("n.a.x", bare(2.0)),
            ("n..a", bare(2.0)),
            ("n.$type", bare(2.0)),
        ] {
            check(KEPT, path, &new, None);
        }
        for text in [
            r##"{"a":{"$type":"number","$value":1},"b":{"$type":"number","$value":{"$ref":"#/a/$value"}}}"##,
            r#"{"a":{"$type":"number","$value":1},"g":{"$extends":"{h}"},"h":{}}"#,
            r#"{"a":{"$type":"colour","$value":1},"$type":"number"}"#,
            r#"{"a":{"$type":"number","$value":1,"$extensions":{"mode":{"m":"{b}"}}}}"#,
            r#"{"a":{"$type":"number","$value":1,"$extensions":{"mode":{"m":"soon"}}}}"#,
            r#"{"a":{"$type":"number","$value":1,"$deprecated":1}}"#,
            r#"{"a":{"$type":"number","$value":"{soon"}}"#,
            r#"{"a":{"$type":"fontFamily","$value":"One"}}"#,
            r#"{"a":{"$value":1}}"#,
            r#"{"a":1}"#,
            r#"{"a":{"$type":"number","$value":1}"#,
            "[]",
            "",
        ] {
            check(text, "a", &bare(2.0), None);
        }
        let larger = Json::Array(vec!["One".into(), "Two".into()]);
        check(r#"{"a":{"$type":"fontFamily","$value":"One"}}"#, "a", &bare(larger), None);
        let through = r#"{"a":{"b":{"$value":1},"$value":2},"$type":"number"}"#;
        check(through, "a.b", &bare(3.0), None);
        for (twice, path) in [
            (r#"{"$type":"number","a":{"b":{"$value":1}},"a.b":{"$value":2}}"#, "a.b"),
            (r#"{"$type":"number","x":{"$type":"number","a":{"b":{"$value":1}},"a.b":5}}"#, "x.a.b"),
            (r#"{"a\"x":{"$type":"number","b":{"$value":1}},"a\"x.b":5}"#, r#"a"x.b"#),
            (r#"{"a\"":{"$type":"number","b":{"$value":1}},"a\".b":5}"#, r#"a".b"#),
            (r#"{"$type":"number","a":{"$value":1},"":{"a":{"$value":2}}}"#, "a"),
        ] {
            check(twice, path, &bare(3.0), None);
            set(&Document::stored(twice).unwrap(), path, &bare(3.0)).unwrap_err();
        }
    }
}
