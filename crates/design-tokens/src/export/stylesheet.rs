//! Values as CSS.

use super::escape::quote_font_family;
use crate::color::{Color, format_number};
use crate::document::TokenDocument;
use crate::evaluate::{ModeResolver, ModeValues};
use crate::finding::{FindingCollector, TokenFinding};
use crate::kind::TokenKind;
use crate::model::{ReferenceTarget, TokenModel};
use crate::parse::{ValueParser, parse_value};
use crate::value::{
    Dimension, Duration, GradientStop, LineHeight, Shadow, StrokeStyle, TokenValue, Typography, ValueOrRef,
};

/// The parts of a typography token with separate properties.
pub(super) const TYPOGRAPHY_PROPERTIES: [&str; 5] =
    ["font-family", "font-size", "font-weight", "letter-spacing", "line-height"];

const INVALID_TOKEN_MESSAGE: &str = "the token is not exported: its type or value is invalid";

/// The value of a token in a mode.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExportValue {
    /// A reference to another token.
    Alias(String),
    /// A value, which may contain references.
    Value(TokenValue),
}

/// A token that differs in a mode.
pub(super) struct ModeOverride {
    pub(super) at: usize,
    pub(super) value: ExportValue,
    pub(super) resolved: TokenValue,
    /// Whether the resolved value differs. If not, only the reference does.
    pub(super) is_changed: bool,
}

/// The exportable tokens of a document.
pub(super) struct ExportModel<'m, 'a> {
    pub(super) model: &'m TokenModel<'a>,
    pub(super) modes: Vec<String>,
    /// Indices and types of the tokens with a valid value.
    pub(super) usable: Vec<(usize, TokenKind)>,
    is_usable: Vec<bool>,
    resolver: ModeResolver<'m, 'a>,
    pub(super) findings: FindingCollector,
}

impl<'m, 'a> ExportModel<'m, 'a> {
    pub(super) fn new(document: &TokenDocument, model: &'m TokenModel<'a>) -> Self {
        let mut findings = FindingCollector::default();
        findings.extend(model.findings().iter().cloned());
        let resolver = ModeResolver::new(model, &mut |finding| findings.push(finding));
        let mut usable = Vec::new();
        let mut is_usable = vec![false; model.tokens().len()];
        for (at, token) in model.tokens().iter().enumerate() {
            let Some(value) = resolver.base.get(at) else { continue };
            if let Some(kind) = model.kinds[at].filter(|kind| parse_value(*kind, value).is_some()) {
                usable.push((at, kind));
                is_usable[at] = true;
            } else {
                findings.push(TokenFinding::error(&*token.path, INVALID_TOKEN_MESSAGE));
            }
        }
        Self { model, modes: document.modes(), usable, is_usable, resolver, findings }
    }

    /// The resolved base value of a token.
    pub(super) fn resolved_value(&self, at: usize) -> Option<TokenValue> {
        parse_value(self.model.kinds[at]?, self.resolver.base.get(at)?)
    }

    pub(super) fn value(&self, at: usize) -> Option<ExportValue> {
        self.value_in_mode(&self.resolver.base, at, None)
    }

    /// The tokens with another value or reference in a mode.
    pub(super) fn mode_overrides(&mut self, mode: &str) -> Vec<ModeOverride> {
        let findings = &mut self.findings;
        let values = self.resolver.resolve_mode(mode, &mut |finding| findings.push(finding.in_mode(mode)));
        let mut different = Vec::new();
        for &(at, kind) in self.usable.iter().filter(|(at, _)| values.differs_from_base(*at)) {
            let Some(value) = values.get(at) else { continue };
            let Some(literal) = parse_value(kind, value) else {
                let path = &self.model.tokens()[at].path;
                self.findings.push(TokenFinding::error(&**path, INVALID_TOKEN_MESSAGE).in_mode(mode));
                continue;
            };
            let is_other = self.resolver.base.get(at) != Some(value);
            let Some(said) = self.value_in_mode(&values, at, Some(mode)) else { continue };
            if is_other || self.value(at).as_ref() != Some(&said) {
                different.push(ModeOverride { at, value: said, resolved: literal, is_changed: is_other });
            }
        }
        different
    }

    fn value_in_mode(&self, values: &ModeValues, at: usize, mode: Option<&str>) -> Option<ExportValue> {
        let model = self.model;
        let kind = model.kinds[at]?;
        let literal = || parse_value(kind, values.get(at)?).map(ExportValue::Value);
        if let Some(Ok(reference)) = model.alias(at, mode)
            && let Ok(ReferenceTarget::Token(target)) = model.locate(&reference)
        {
            let can_be_named = model.kinds[target] == Some(kind) && self.is_usable[target];
            let path = model.tokens()[target].path.to_string();
            return if can_be_named { Some(ExportValue::Alias(path)) } else { literal() };
        }
        let Some(inlined) = values.inlined_value(model, at, mode) else { return literal() };
        let mut reader = ValueParser::default();
        let value = reader.parse(kind, &inlined);
        let is_there = |path: &str| model.index().get(path).is_some_and(|at| self.is_usable[*at]);
        match value {
            // CSS cannot nest gradients, so the stops are inlined.
            Some(TokenValue::Gradient(stops))
                if stops.iter().any(|stop| matches!(stop, ValueOrRef::Ref(_))) =>
            {
                literal()
            }
            // A token that is not exported cannot be referenced.
            _ if reader.uses.iter().any(|used| !is_there(&used.path)) => literal(),
            // Where CSS allows no reference, as in the alpha of a colour, the resolved value is used.
            other => other.map(ExportValue::Value).or_else(literal),
        }
    }
}

/// Writes values. References are written by the given function.
pub(super) struct CssValueWriter<'a>(pub(super) &'a dyn Fn(&str) -> String);

impl CssValueWriter<'_> {
    fn part<T>(&self, part: &ValueOrRef<T>, write: impl Fn(&T) -> String) -> String {
        match part {
            ValueOrRef::Literal(value) => write(value),
            ValueOrRef::Ref(path) => (self.0)(path),
        }
    }

    pub(super) fn value(&self, value: &TokenValue) -> String {
        match value {
            TokenValue::Color(color) => color.to_css(),
            TokenValue::Dimension(length) => dimension(length),
            TokenValue::FontFamily(names) => self.family(names),
            TokenValue::FontWeight(value) | TokenValue::Number(value) => format_number(*value),
            TokenValue::Duration(time) => duration(time),
            TokenValue::CubicBezier(curve) => bezier(curve),
            TokenValue::StrokeStyle(style) => stroke(style),
            TokenValue::Border(border) => format!(
                "{} {} {}",
                self.part(&border.width, dimension),
                self.part(&border.style, stroke),
                self.part(&border.color, Color::to_css)
            ),
            TokenValue::Transition(transition) => format!(
                "{} {} {}",
                self.part(&transition.duration, duration),
                self.part(&transition.timing, bezier),
                self.part(&transition.delay, duration)
            ),
            TokenValue::Shadow(shadows) => self.list(shadows, |shadow| self.shadow(shadow)),
            TokenValue::Gradient(stops) => {
                format!("linear-gradient({})", self.list(stops, |stop| self.stop(stop)))
            }
            TokenValue::Typography(text) => {
                let [family, size, weight, _, height] = self.typography_parts(text);
                format!("{weight} {size}/{height} {family}")
            }
        }
    }

    fn list<T>(&self, items: &[ValueOrRef<T>], write: impl Fn(&T) -> String) -> String {
        items.iter().map(|item| self.part(item, &write)).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn family(&self, names: &[ValueOrRef<String>]) -> String {
        self.list(names, |name| quote_font_family(name))
    }

    fn shadow(&self, shadow: &Shadow) -> String {
        let spread = self.part(&shadow.spread, dimension);
        let inset = if shadow.inset { "inset " } else { "" };
        let color = self.part(&shadow.color, Color::to_css);
        format!("{inset}{} {spread} {color}", self.offsets(shadow))
    }

    fn offsets(&self, Shadow { offset_x, offset_y, blur, .. }: &Shadow) -> String {
        [offset_x, offset_y, blur].map(|length| self.part(length, dimension)).join(" ")
    }

    /// Shadows without spread and inset, which text and filter shadows do not support.
    pub(super) fn spreadless_shadows(&self, shadows: &[ValueOrRef<Shadow>]) -> Vec<String> {
        let flat =
            |shadow: &Shadow| format!("{} {}", self.offsets(shadow), self.part(&shadow.color, Color::to_css));
        shadows.iter().map(|shadow| self.part(shadow, flat)).collect()
    }

    fn stop(&self, stop: &GradientStop) -> String {
        let color = self.part(&stop.color, Color::to_css);
        let position = match &stop.position {
            ValueOrRef::Literal(position) => format!("{}%", format_number(position * 100.0)),
            ValueOrRef::Ref(path) => format!("clamp(0%, {} * 100%, 100%)", (self.0)(path)),
        };
        format!("{color} {position}")
    }

    /// The parts of a typography token, in the order of [`TYPOGRAPHY_PROPERTIES`].
    pub(super) fn typography_parts(&self, text: &Typography) -> [String; 5] {
        [
            self.part(&text.font_family, |names| self.family(names)),
            self.part(&text.font_size, dimension),
            self.part(&text.font_weight, |weight| format_number(*weight)),
            self.part(&text.letter_spacing, dimension),
            self.part(&text.line_height, |height| match height {
                LineHeight::Multiple(times) => format_number(*times),
                LineHeight::Length(length) => dimension(length),
            }),
        ]
    }
}

fn dimension(length: &Dimension) -> String {
    format!("{}{}", format_number(length.value), length.unit.as_str())
}

fn duration(time: &Duration) -> String {
    format!("{}{}", format_number(time.value), time.unit.as_str())
}

fn bezier(curve: &[f64; 4]) -> String {
    format!("cubic-bezier({})", curve.map(format_number).join(", "))
}

fn stroke(style: &StrokeStyle) -> String {
    match style {
        StrokeStyle::Named(name) => (*name).to_owned(),
        StrokeStyle::Dashed { .. } => "dashed".to_owned(), // The closest style in CSS.
    }
}
