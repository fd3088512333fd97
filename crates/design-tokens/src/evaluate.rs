//! Resolves references: the value of every token in each mode.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;
use std::rc::Rc;

use super::budget::CostBudget;
use super::document::mode_value;
use super::finding::{TokenFinding, TokenSeverity, format_path_chain};
use super::flatten::Token;
use super::json::Json;
use super::limits::{MAX_DEPTH, MAX_RESOLVED_NODES, MAX_RESOLVED_NODES_ALL_MODES, MAX_VALUE_NODES};
use super::model::{ReferenceTarget, TokenModel, ValueSource, is_literal};
use super::reference::TokenReference;

/// The values of all tokens of a model in one mode.
pub(super) struct ModeValues<'a> {
    values: Vec<Option<ResolvedValue<'a>>>,
    /// Whether a token differs from its base value, directly or through its references.
    differs_from_base: Vec<bool>,
    /// Whether a token's value was too large to process.
    pub(super) too_large: Vec<bool>,
    /// The cost of each value.
    weights: Vec<usize>,
    dependencies: Vec<TokenDependencies>,
}

/// A resolved value. Most are literals and need not be copied.
#[derive(Clone)]
enum ResolvedValue<'a> {
    Written(&'a Json),
    Computed(Rc<Json>),
}

impl Deref for ResolvedValue<'_> {
    type Target = Json;

    fn deref(&self) -> &Json {
        match self {
            Self::Written(value) => value,
            Self::Computed(value) => value,
        }
    }
}

impl ResolvedValue<'_> {
    fn into_json(self) -> Json {
        match self {
            Self::Written(value) => value.clone(),
            Self::Computed(value) => Rc::unwrap_or_clone(value),
        }
    }
}

/// What a token's value depends on.
#[derive(Clone)]
struct TokenDependencies {
    /// The tokens it uses; `None` for a broken reference.
    tokens: Rc<[Option<usize>]>,
    derivation: Derivation,
}

/// How a token gets its value.
#[derive(Clone, Copy)]
enum Derivation {
    /// A literal of this cost, without references.
    Literal(usize),
    /// An alias of this token.
    Alias(usize),
    /// A value that contains references.
    Composite,
}

/// The base values of a model, and values in each mode derived from them.
pub(super) struct ModeResolver<'m, 'a> {
    model: &'m TokenModel<'a>,
    pub(super) base: ModeValues<'a>,
    budget: CostBudget,
}

impl<'m, 'a> ModeResolver<'m, 'a> {
    pub(super) fn new(model: &'m TokenModel<'a>, tell: &mut dyn FnMut(TokenFinding)) -> Self {
        let mut budget = CostBudget::new(MAX_RESOLVED_NODES_ALL_MODES);
        let base = ModeValuesBuilder::new(model, None, None, &mut budget, tell).build();
        Self { model, base, budget }
    }

    /// The values in a mode. Only tokens that differ there are computed and reported.
    pub(super) fn resolve_mode(&mut self, mode: &str, tell: &mut dyn FnMut(TokenFinding)) -> ModeValues<'a> {
        ModeValuesBuilder::new(self.model, Some(mode), Some(&self.base), &mut self.budget, tell).build()
    }
}

impl<'a> ModeValues<'a> {
    /// The values of a model in a mode, or the base values.
    pub(super) fn for_mode(
        model: &TokenModel<'a>,
        mode: Option<&str>,
        tell: &mut dyn FnMut(TokenFinding),
    ) -> Self {
        ModeValuesBuilder::new(model, mode, None, &mut CostBudget::new(MAX_RESOLVED_NODES), tell).build()
    }

    pub(super) fn get(&self, token: usize) -> Option<&Json> {
        self.values[token].as_deref()
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = Option<Json>> {
        self.values.into_iter().map(|value| value.map(ResolvedValue::into_json))
    }

    /// Whether a token may differ from its base value in this mode.
    pub(super) fn differs_from_base(&self, token: usize) -> bool {
        self.differs_from_base[token]
    }

    /// The value of a token with JSON pointers resolved, but references in braces kept.
    pub(super) fn inlined_value(
        &self,
        model: &TokenModel<'a>,
        token: usize,
        mode: Option<&str>,
    ) -> Option<Cow<'a, Json>> {
        let follower = ReferenceFollower {
            model,
            values: &self.values,
            token,
            mode,
            budget: CostBudget::new(MAX_VALUE_NODES),
        };
        follower.into_inlined()
    }
}

/// Computes the values of a model in a mode.
struct ModeValuesBuilder<'b, 'a> {
    model: &'b TokenModel<'a>,
    mode: Option<&'b str>,
    /// The base values, which are reused for tokens that do not differ.
    base: Option<&'b ModeValues<'a>>,
    values: ModeValues<'a>,
    /// Shared by all tokens without dependencies, which are most of them.
    no_tokens: Rc<[Option<usize>]>,
    /// For reading written values.
    read_budget: CostBudget,
    /// For building resolved values.
    build_budget: CostBudget,
    total_budget: &'b mut CostBudget,
    report: &'b mut dyn FnMut(TokenFinding),
}

impl<'b, 'a> ModeValuesBuilder<'b, 'a> {
    fn new(
        model: &'b TokenModel<'a>,
        mode: Option<&'b str>,
        base: Option<&'b ModeValues<'a>>,
        total_budget: &'b mut CostBudget,
        report: &'b mut dyn FnMut(TokenFinding),
    ) -> Self {
        let count = model.tokens().len();
        let has_mode = |token: &Token<'_>| mode.is_some_and(|mode| mode_value(token.map, mode).is_some());
        let values = ModeValues {
            values: vec![None; count],
            differs_from_base: model.tokens().iter().map(|token| base.is_none() || has_mode(token)).collect(),
            too_large: vec![false; count],
            weights: vec![0; count],
            dependencies: Vec::with_capacity(count),
        };
        let (read_budget, build_budget) =
            (CostBudget::new(MAX_RESOLVED_NODES), CostBudget::new(MAX_RESOLVED_NODES));
        Self {
            model,
            mode,
            base,
            values,
            no_tokens: Rc::new([]),
            read_budget,
            build_budget,
            total_budget,
            report,
        }
    }

    fn build(mut self) -> ModeValues<'a> {
        for token in 0..self.values.values.len() {
            let base = self.base.filter(|_| !self.values.differs_from_base[token]);
            let needs =
                base.map_or_else(|| self.dependencies(token), |base| base.dependencies[token].clone());
            self.values.dependencies.push(needs);
        }
        for token in self.topological_order() {
            self.values.values[token] = self.resolve_value(token);
        }
        self.values
    }

    /// The tokens that a token uses, without duplicates.
    fn dependencies(&mut self, token: usize) -> TokenDependencies {
        let (ValueSource::Value(value) | ValueSource::Pointer(value)) = self.model.source(token, self.mode);
        let weight = if self.read_budget.remaining() > 0 { node_weight(value) } else { None };
        let room = self.read_budget.spend(weight.unwrap_or(MAX_VALUE_NODES));
        let Some(weight) = weight.filter(|_| room.is_some()) else {
            self.values.too_large[token] = true;
            return TokenDependencies {
                tokens: Rc::clone(&self.no_tokens),
                derivation: Derivation::Composite,
            };
        };
        let references = self.model.references(token, self.mode);
        if references.is_empty() {
            return TokenDependencies {
                tokens: Rc::clone(&self.no_tokens),
                derivation: Derivation::Literal(weight),
            };
        }
        let mut needs = Vec::new();
        let mut way = Derivation::Composite;
        for (part, reference) in references {
            let located = reference
                .map_err(|malformed| malformed.to_string())
                .and_then(|reference| self.model.locate(&reference));
            match located {
                Ok(ReferenceTarget::Part(used, part))
                    if used == token && self.literal_part(token, &part).is_some() => {}
                Ok(ReferenceTarget::Token(used)) => {
                    needs.push(Some(used));
                    if part.is_empty() {
                        way = Derivation::Alias(used);
                    }
                }
                Ok(ReferenceTarget::Part(used, _)) => needs.push(Some(used)),
                Ok(ReferenceTarget::Raw(_)) => {}
                Err(message) => {
                    needs.push(None);
                    let path = self.model.tokens()[token].path.to_string();
                    (self.report)(TokenFinding::new(path, &part, TokenSeverity::Error, message));
                }
            }
        }
        if needs.len() > 1 {
            let mut seen = HashSet::new();
            needs.retain(|used| seen.insert(*used));
        }
        TokenDependencies { tokens: needs.into(), derivation: way }
    }

    fn literal_part(&self, token: usize, way: &[String]) -> Option<&'a Json> {
        literal_part(self.model, token, self.mode, way)
    }

    /// Tokens in dependency order. Tokens in cycles are included and get no value.
    fn topological_order(&mut self) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum VisitState {
            New,
            /// Being visited, at this position on the stack.
            Open(usize),
            Done,
        }
        let count = self.values.dependencies.len();
        let mut marks = vec![VisitState::New; count];
        let mut order = Vec::with_capacity(count);
        let mut circles = HashSet::new();
        // Not recursive: a chain of aliases may be as long as the document.
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for start in 0..count {
            if marks[start] == VisitState::New {
                marks[start] = VisitState::Open(0);
                stack.push((start, 0));
            }
            while let Some((token, next)) = stack.last_mut() {
                let token = *token;
                let Some(used) = self.values.dependencies[token].tokens.get(*next).copied() else {
                    marks[token] = VisitState::Done;
                    order.push(token);
                    stack.pop();
                    continue;
                };
                *next += 1;
                let Some(used) = used else { continue };
                match marks[used] {
                    VisitState::New => {
                        marks[used] = VisitState::Open(stack.len());
                        stack.push((used, 0));
                    }
                    VisitState::Open(from) => {
                        // Tokens in a cycle have no value in any mode.
                        self.values.differs_from_base[token] = true;
                        if circles.insert(used) {
                            self.report_cycle(&stack[from..]);
                        }
                    }
                    VisitState::Done => {}
                }
            }
        }
        order
    }

    fn report_cycle(&mut self, stack: &[(usize, usize)]) {
        let path = |(token, _): &(usize, usize)| &*self.model.tokens()[*token].path;
        let names: Vec<_> = stack.iter().chain(stack.first()).map(path).collect();
        let message = format!("the references form a cycle: {}", format_path_chain(&names));
        (self.report)(TokenFinding::error(names.first().copied().unwrap_or_default(), message));
    }

    /// The value of a token. The tokens it uses are already resolved.
    fn resolve_value(&mut self, token: usize) -> Option<ResolvedValue<'a>> {
        let needs = Rc::clone(&self.values.dependencies[token].tokens);
        let is_special = |used: &Option<usize>| used.is_some_and(|used| self.values.differs_from_base[used]);
        self.values.differs_from_base[token] |= needs.iter().any(is_special);
        if let Some(base) = self.base.filter(|_| !self.values.differs_from_base[token]) {
            self.values.too_large[token] = base.too_large[token];
            self.values.weights[token] = base.weights[token];
            return base.values[token].clone();
        }
        // A broken token breaks its users; only the first one is reported.
        let is_broken = |used: &Option<usize>| used.is_none_or(|used| self.values.values[used].is_none());
        if needs.iter().any(is_broken) {
            return None;
        }
        let message = match self.build_value(token) {
            Ok(value) => return Some(value),
            Err(ResolveFailure::Missing) => "a reference points to a part that the value does not have",
            Err(ResolveFailure::TooLarge) => {
                self.values.too_large[token] = true;
                "the value is too large once its references are resolved; use fewer"
            }
        };
        (self.report)(TokenFinding::error(&*self.model.tokens()[token].path, message));
        None
    }

    fn build_value(&mut self, token: usize) -> Result<ResolvedValue<'a>, ResolveFailure> {
        if self.values.too_large[token] {
            return Err(ResolveFailure::TooLarge);
        }
        let (value, weight) =
            match (self.values.dependencies[token].derivation, self.model.source(token, self.mode)) {
                (Derivation::Alias(used), _) => (
                    self.values.values[used].clone().ok_or(ResolveFailure::Missing)?,
                    self.values.weights[used],
                ),
                (Derivation::Literal(weight), ValueSource::Value(value)) => {
                    (ResolvedValue::Written(value), weight)
                }
                (_, source) => {
                    let value = self.compute_value(token, source)?;
                    let weight = node_weight(&value).ok_or(ResolveFailure::TooLarge)?;
                    (ResolvedValue::Computed(Rc::new(value)), weight)
                }
            };
        if value.depth() > MAX_DEPTH {
            return Err(ResolveFailure::TooLarge);
        }
        self.build_budget
            .spend(weight)
            .and_then(|()| self.total_budget.spend(weight))
            .ok_or(ResolveFailure::TooLarge)?;
        self.values.weights[token] = weight;
        Ok(value)
    }

    /// Computes a value that is not a plain alias.
    fn compute_value(&self, token: usize, source: ValueSource<'a>) -> Result<Json, ResolveFailure> {
        let room = CostBudget::new(MAX_VALUE_NODES);
        let mut follower = ReferenceFollower {
            model: self.model,
            values: &self.values.values,
            token,
            mode: self.mode,
            budget: room,
        };
        match source {
            ValueSource::Value(value) => follower.resolve_references(value),
            ValueSource::Pointer(_) => match self.model.alias(token, self.mode) {
                Some(Ok(reference)) => follower.resolve_reference(&reference),
                _ => Err(ResolveFailure::Missing),
            },
        }
    }
}

/// The cost of a value, unless it is too large.
pub(super) fn node_weight(value: &Json) -> Option<usize> {
    let mut room = CostBudget::new(MAX_VALUE_NODES);
    value.charge(&mut room).map(|()| MAX_VALUE_NODES - room.remaining())
}

/// Why a value could not be computed.
enum ResolveFailure {
    Missing,
    TooLarge,
}

/// Computes the value of one token from the values of others.
struct ReferenceFollower<'f, 'a> {
    model: &'f TokenModel<'a>,
    values: &'f [Option<ResolvedValue<'a>>],
    token: usize,
    mode: Option<&'f str>,
    budget: CostBudget,
}

impl<'a> ReferenceFollower<'_, 'a> {
    /// The value with every reference resolved.
    fn resolve_references(&mut self, value: &Json) -> Result<Json, ResolveFailure> {
        match TokenReference::from_value(value) {
            Some(Ok(reference)) => self.resolve_reference(&reference),
            Some(Err(_)) => Err(ResolveFailure::Missing),
            None => self.map_children(value, Self::resolve_references),
        }
    }

    /// The value with every JSON pointer resolved, or replaced by a reference in braces if it points to a
    /// token.
    fn inline_pointers(&mut self, value: &Json) -> Result<Json, ResolveFailure> {
        match TokenReference::from_value(value) {
            Some(Ok(reference @ TokenReference::Pointer(_))) => match self.model.locate(&reference) {
                Ok(ReferenceTarget::Token(used)) => {
                    Ok(Json::String(format!("{{{}}}", self.model.tokens()[used].path)))
                }
                _ => self.resolve_reference(&reference),
            },
            _ => self.map_children(value, Self::inline_pointers),
        }
    }

    fn into_inlined(mut self) -> Option<Cow<'a, Json>> {
        match self.model.source(self.token, self.mode) {
            ValueSource::Value(value) if !contains_pointer(value) => Some(Cow::Borrowed(value)),
            ValueSource::Value(value) => self.inline_pointers(value).ok().map(Cow::Owned),
            ValueSource::Pointer(_) => {
                let reference = self.model.alias(self.token, self.mode)?.ok()?;
                self.resolve_reference(&reference).ok().map(Cow::Owned)
            }
        }
    }

    /// A value with mapped items and members.
    fn map_children(
        &mut self,
        value: &Json,
        mut anew: impl FnMut(&mut Self, &Json) -> Result<Json, ResolveFailure>,
    ) -> Result<Json, ResolveFailure> {
        if matches!(value, Json::Array(_) | Json::Object(_)) {
            self.budget.spend(1).ok_or(ResolveFailure::TooLarge)?;
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
                plain.charge(&mut self.budget).ok_or(ResolveFailure::TooLarge)?;
                plain.clone()
            }
        })
    }

    fn resolve_reference(&mut self, reference: &TokenReference) -> Result<Json, ResolveFailure> {
        let located = self.model.locate(reference).ok();
        let value = located.and_then(|target| match target {
            ReferenceTarget::Token(used) => self.values[used].as_deref(),
            ReferenceTarget::Part(used, way) if used == self.token => {
                literal_part(self.model, used, self.mode, &way)
            }
            ReferenceTarget::Part(used, way) => {
                way.iter().try_fold(self.values[used].as_deref()?, |value, name| value.child(name))
            }
            ReferenceTarget::Raw(value) => Some(value),
        });
        let value = value.ok_or(ResolveFailure::Missing)?;
        value.charge(&mut self.budget).ok_or(ResolveFailure::TooLarge)?;
        Ok(value.clone())
    }
}

/// A part of a token's own value, if it contains no references.
fn literal_part<'a>(
    model: &TokenModel<'a>,
    token: usize,
    mode: Option<&str>,
    way: &[String],
) -> Option<&'a Json> {
    let ValueSource::Value(whole) = model.source(token, mode) else { return None };
    way.iter().try_fold(whole, |value, name| value.child(name)).filter(|part| is_literal(part))
}

fn contains_pointer(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.iter().any(contains_pointer),
        Json::Object(map) => map.contains("$ref") || map.iter().any(|(_, value)| contains_pointer(value)),
        _ => false,
    }
}
