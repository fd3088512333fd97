//! References followed: the value of every token, in one mode after the other.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;
use std::rc::Rc;

use super::budget::Budget;
use super::document::mode_value;
use super::finding::{Finding, Severity, way};
use super::flat::Token;
use super::json::Json;
use super::limits::{MAX_DEPTH, MAX_NODES, MAX_NODES_OF_MODES, MAX_VALUE_NODES};
use super::model::{Model, Source, Target, is_plain};
use super::reference::Reference;

/// The value of each token of a model in a mode.
pub(super) struct Values<'a> {
    each: Vec<Option<Held<'a>>>,
    /// Whether a token is another than without a mode: by itself, or by what it refers to.
    special: Vec<bool>,
    /// Whether what a token says was too large to be looked at.
    pub(super) too_large: Vec<bool>,
    /// How much each value counts.
    weights: Vec<usize>,
    needs: Vec<Needs>,
}

/// A final value: most are what is written, and need not be copied.
#[derive(Clone)]
enum Held<'a> {
    Written(&'a Json),
    Made(Rc<Json>),
}

impl Deref for Held<'_> {
    type Target = Json;

    fn deref(&self) -> &Json {
        match self {
            Self::Written(value) => value,
            Self::Made(value) => value,
        }
    }
}

impl Held<'_> {
    fn into_json(self) -> Json {
        match self {
            Self::Written(value) => value.clone(),
            Self::Made(value) => Rc::unwrap_or_clone(value),
        }
    }
}

/// What a token needs to have a value.
#[derive(Clone)]
struct Needs {
    /// The tokens that it uses; `None` stands for a reference that leads nowhere.
    tokens: Rc<[Option<usize>]>,
    way: Way,
}

/// How a token comes to its value.
#[derive(Clone, Copy)]
enum Way {
    /// It says it, without any reference. It counts so much.
    Plain(usize),
    /// It is an alias of this token.
    Alias(usize),
    /// References in it have to be replaced.
    Mixed,
}

/// The values of a model without a mode, and from there in every mode.
pub(super) struct Everywhere<'m, 'a> {
    model: &'m Model<'a>,
    pub(super) base: Values<'a>,
    total: Budget,
}

impl<'m, 'a> Everywhere<'m, 'a> {
    pub(super) fn of(model: &'m Model<'a>, tell: &mut dyn FnMut(Finding)) -> Self {
        let mut total = Budget::of(MAX_NODES_OF_MODES);
        let base = Builder::new(model, None, None, &mut total, tell).build();
        Self { model, base, total }
    }

    /// The values in a mode. Only what is different there is told and made anew.
    pub(super) fn mode(&mut self, mode: &str, tell: &mut dyn FnMut(Finding)) -> Values<'a> {
        Builder::new(self.model, Some(mode), Some(&self.base), &mut self.total, tell).build()
    }
}

impl<'a> Values<'a> {
    /// The values of a model in a mode or in none.
    pub(super) fn of(model: &Model<'a>, mode: Option<&str>, tell: &mut dyn FnMut(Finding)) -> Self {
        Builder::new(model, mode, None, &mut Budget::of(MAX_NODES), tell).build()
    }

    /// The final value of a token.
    pub(super) fn get(&self, token: usize) -> Option<&Json> {
        self.each[token].as_deref()
    }

    /// The final values of all tokens.
    pub(super) fn into_each(self) -> impl Iterator<Item = Option<Json>> {
        self.each.into_iter().map(|value| value.map(Held::into_json))
    }

    /// Whether a token may be another in this mode than without one.
    pub(super) fn is_special(&self, token: usize) -> bool {
        self.special[token]
    }

    /// The value of a token with its pointers followed, but the paths in braces left as they are.
    pub(super) fn inlined(
        &self,
        model: &Model<'a>,
        token: usize,
        mode: Option<&str>,
    ) -> Option<Cow<'a, Json>> {
        let follower = Follower { model, values: &self.each, token, mode, room: Budget::of(MAX_VALUE_NODES) };
        follower.inlined()
    }
}

/// Finds the values of a model in a mode.
struct Builder<'b, 'a> {
    model: &'b Model<'a>,
    mode: Option<&'b str>,
    /// The values without a mode: what no mode has touched is taken from there.
    base: Option<&'b Values<'a>>,
    values: Values<'a>,
    /// What most tokens use.
    nothing: Rc<[Option<usize>]>,
    /// For what is looked at as it is written.
    to_read: Budget,
    /// For what is made of it.
    to_make: Budget,
    total: &'b mut Budget,
    tell: &'b mut dyn FnMut(Finding),
}

impl<'b, 'a> Builder<'b, 'a> {
    fn new(
        model: &'b Model<'a>,
        mode: Option<&'b str>,
        base: Option<&'b Values<'a>>,
        total: &'b mut Budget,
        tell: &'b mut dyn FnMut(Finding),
    ) -> Self {
        let count = model.tokens().len();
        let has_mode = |token: &Token<'_>| mode.is_some_and(|mode| mode_value(token.map, mode).is_some());
        let values = Values {
            each: vec![None; count],
            special: model.tokens().iter().map(|token| base.is_none() || has_mode(token)).collect(),
            too_large: vec![false; count],
            weights: vec![0; count],
            needs: Vec::with_capacity(count),
        };
        let (to_read, to_make) = (Budget::of(MAX_NODES), Budget::of(MAX_NODES));
        Self { model, mode, base, values, nothing: Rc::new([]), to_read, to_make, total, tell }
    }

    fn build(mut self) -> Values<'a> {
        for token in 0..self.values.each.len() {
            let base = self.base.filter(|_| !self.values.special[token]);
            let needs = base.map_or_else(|| self.needs(token), |base| base.needs[token].clone());
            self.values.needs.push(needs);
        }
        for token in self.order() {
            self.values.each[token] = self.value(token);
        }
        self.values
    }

    /// The tokens that a token uses, each once.
    fn needs(&mut self, token: usize) -> Needs {
        let (Source::Value(value) | Source::Pointer(value)) = self.model.source(token, self.mode);
        let weight = if self.to_read.left() > 0 { weight(value) } else { None };
        let room = self.to_read.take(weight.unwrap_or(MAX_VALUE_NODES));
        let Some(weight) = weight.filter(|_| room.is_some()) else {
            self.values.too_large[token] = true;
            return Needs { tokens: Rc::clone(&self.nothing), way: Way::Mixed };
        };
        let references = self.model.references(token, self.mode);
        if references.is_empty() {
            return Needs { tokens: Rc::clone(&self.nothing), way: Way::Plain(weight) };
        }
        let mut needs = Vec::new();
        let mut way = Way::Mixed;
        for (part, reference) in references {
            let located = reference
                .map_err(|malformed| malformed.to_string())
                .and_then(|reference| self.model.locate(&reference));
            match located {
                Ok(Target::Part(used, part)) if used == token && self.own_part(token, &part).is_some() => {}
                Ok(Target::Token(used)) => {
                    needs.push(Some(used));
                    if part.is_empty() {
                        way = Way::Alias(used);
                    }
                }
                Ok(Target::Part(used, _)) => needs.push(Some(used)),
                Ok(Target::Raw(_)) => {}
                Err(message) => {
                    needs.push(None);
                    let path = self.model.tokens()[token].path.to_string();
                    (self.tell)(Finding::new(path, &part, Severity::Error, message));
                }
            }
        }
        if needs.len() > 1 {
            let mut seen = HashSet::new();
            needs.retain(|used| seen.insert(*used));
        }
        Needs { tokens: needs.into(), way }
    }

    fn own_part(&self, token: usize, way: &[String]) -> Option<&'a Json> {
        own_part(self.model, token, self.mode, way)
    }

    /// An order in which every token comes after those it uses. Tokens in circles come too, and find no value.
    fn order(&mut self) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            /// On the way, as the so manieth.
            Open(usize),
            Done,
        }
        let count = self.values.needs.len();
        let mut marks = vec![Mark::New; count];
        let mut order = Vec::with_capacity(count);
        let mut circles = HashSet::new();
        // Not recursive: a chain of aliases may be as long as the document.
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for start in 0..count {
            if marks[start] == Mark::New {
                marks[start] = Mark::Open(0);
                stack.push((start, 0));
            }
            while let Some((token, next)) = stack.last_mut() {
                let token = *token;
                let Some(used) = self.values.needs[token].tokens.get(*next).copied() else {
                    marks[token] = Mark::Done;
                    order.push(token);
                    stack.pop();
                    continue;
                };
                *next += 1;
                let Some(used) = used else { continue };
                match marks[used] {
                    Mark::New => {
                        marks[used] = Mark::Open(stack.len());
                        stack.push((used, 0));
                    }
                    Mark::Open(from) => {
                        // Whatever the mode, it has no value then.
                        self.values.special[token] = true;
                        if circles.insert(used) {
                            self.circle(&stack[from..]);
                        }
                    }
                    Mark::Done => {}
                }
            }
        }
        order
    }

    fn circle(&mut self, stack: &[(usize, usize)]) {
        let path = |(token, _): &(usize, usize)| &*self.model.tokens()[*token].path;
        let names: Vec<_> = stack.iter().chain(stack.first()).map(path).collect();
        let message = format!("the references go in a circle: {}", way(&names));
        (self.tell)(Finding::error(names.first().copied().unwrap_or_default(), message));
    }

    /// The value of a token, now that those it uses have theirs.
    fn value(&mut self, token: usize) -> Option<Held<'a>> {
        let needs = Rc::clone(&self.values.needs[token].tokens);
        let is_special = |used: &Option<usize>| used.is_some_and(|used| self.values.special[used]);
        self.values.special[token] |= needs.iter().any(is_special);
        if let Some(base) = self.base.filter(|_| !self.values.special[token]) {
            self.values.too_large[token] = base.too_large[token];
            self.values.weights[token] = base.weights[token];
            return base.each[token].clone();
        }
        // A broken token breaks those that use it; only the first one is told.
        let is_broken = |used: &Option<usize>| used.is_none_or(|used| self.values.each[used].is_none());
        if needs.iter().any(is_broken) {
            return None;
        }
        let message = match self.built(token) {
            Ok(value) => return Some(value),
            Err(Stop::Missing) => "a reference leads to a part that the value does not have",
            Err(Stop::TooLarge) => {
                self.values.too_large[token] = true;
                "with its references followed the value is too large; use fewer"
            }
        };
        (self.tell)(Finding::error(&*self.model.tokens()[token].path, message));
        None
    }

    fn built(&mut self, token: usize) -> Result<Held<'a>, Stop> {
        if self.values.too_large[token] {
            return Err(Stop::TooLarge);
        }
        let (value, weight) = match (self.values.needs[token].way, self.model.source(token, self.mode)) {
            (Way::Alias(used), _) => {
                (self.values.each[used].clone().ok_or(Stop::Missing)?, self.values.weights[used])
            }
            (Way::Plain(weight), Source::Value(value)) => (Held::Written(value), weight),
            (_, source) => {
                let value = self.made(token, source)?;
                let weight = weight(&value).ok_or(Stop::TooLarge)?;
                (Held::Made(Rc::new(value)), weight)
            }
        };
        if value.depth() > MAX_DEPTH {
            return Err(Stop::TooLarge);
        }
        self.to_make.take(weight).and_then(|()| self.total.take(weight)).ok_or(Stop::TooLarge)?;
        self.values.weights[token] = weight;
        Ok(value)
    }

    /// The value of a token that is more than an alias.
    fn made(&self, token: usize, source: Source<'a>) -> Result<Json, Stop> {
        let room = Budget::of(MAX_VALUE_NODES);
        let mut follower =
            Follower { model: self.model, values: &self.values.each, token, mode: self.mode, room };
        match source {
            Source::Value(value) => follower.follow(value),
            Source::Pointer(_) => match self.model.alias(token, self.mode) {
                Some(Ok(reference)) => follower.fetch(&reference),
                _ => Err(Stop::Missing),
            },
        }
    }
}

/// How much a value counts, unless it is too large.
pub(super) fn weight(value: &Json) -> Option<usize> {
    let mut room = Budget::of(MAX_VALUE_NODES);
    value.weigh(&mut room).map(|()| MAX_VALUE_NODES - room.left())
}

/// Why a value could not be made.
enum Stop {
    Missing,
    TooLarge,
}

/// Makes the value of one token out of those of others.
struct Follower<'f, 'a> {
    model: &'f Model<'a>,
    values: &'f [Option<Held<'a>>],
    token: usize,
    mode: Option<&'f str>,
    room: Budget,
}

impl<'a> Follower<'_, 'a> {
    /// The value with every reference replaced by what it leads to.
    fn follow(&mut self, value: &Json) -> Result<Json, Stop> {
        match Reference::of(value) {
            Some(Ok(reference)) => self.fetch(&reference),
            Some(Err(_)) => Err(Stop::Missing),
            None => self.inside(value, Self::follow),
        }
    }

    /// The value with every pointer replaced: by a path in braces if it leads to a token.
    fn inline(&mut self, value: &Json) -> Result<Json, Stop> {
        match Reference::of(value) {
            Some(Ok(reference @ Reference::Pointer(_))) => match self.model.locate(&reference) {
                Ok(Target::Token(used)) => {
                    Ok(Json::String(format!("{{{}}}", self.model.tokens()[used].path)))
                }
                _ => self.fetch(&reference),
            },
            _ => self.inside(value, Self::inline),
        }
    }

    fn inlined(mut self) -> Option<Cow<'a, Json>> {
        match self.model.source(self.token, self.mode) {
            Source::Value(value) if !has_pointer(value) => Some(Cow::Borrowed(value)),
            Source::Value(value) => self.inline(value).ok().map(Cow::Owned),
            Source::Pointer(_) => {
                let reference = self.model.alias(self.token, self.mode)?.ok()?;
                self.fetch(&reference).ok().map(Cow::Owned)
            }
        }
    }

    /// A value whose items and members are made anew.
    fn inside(
        &mut self,
        value: &Json,
        mut anew: impl FnMut(&mut Self, &Json) -> Result<Json, Stop>,
    ) -> Result<Json, Stop> {
        if matches!(value, Json::Array(_) | Json::Object(_)) {
            self.room.take(1).ok_or(Stop::TooLarge)?;
        }
        Ok(match value {
            Json::Array(items) => {
                Json::Array(items.iter().map(|item| anew(self, item)).collect::<Result<_, _>>()?)
            }
            Json::Object(map) => {
                let members = map.iter().map(|(name, value)| Ok((name.to_owned(), anew(self, value)?)));
                Json::Object(members.collect::<Result<_, _>>()?)
            }
            plain => {
                plain.weigh(&mut self.room).ok_or(Stop::TooLarge)?;
                plain.clone()
            }
        })
    }

    fn fetch(&mut self, reference: &Reference) -> Result<Json, Stop> {
        let located = self.model.locate(reference).ok();
        let value = located.and_then(|target| match target {
            Target::Token(used) => self.values[used].as_deref(),
            Target::Part(used, way) if used == self.token => own_part(self.model, used, self.mode, &way),
            Target::Part(used, way) => {
                way.iter().try_fold(self.values[used].as_deref()?, |value, name| value.step(name))
            }
            Target::Raw(value) => Some(value),
        });
        let value = value.ok_or(Stop::Missing)?;
        value.weigh(&mut self.room).ok_or(Stop::TooLarge)?;
        Ok(value.clone())
    }
}

/// A part of what a token itself says, if there are no references in it.
fn own_part<'a>(model: &Model<'a>, token: usize, mode: Option<&str>, way: &[String]) -> Option<&'a Json> {
    let Source::Value(whole) = model.source(token, mode) else { return None };
    way.iter().try_fold(whole, |value, name| value.step(name)).filter(|part| is_plain(part))
}

fn has_pointer(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(has_pointer),
        Json::Object(map) => map.contains("$ref") || map.iter().any(|(_, value)| has_pointer(value)),
        _ => false,
    }
}
