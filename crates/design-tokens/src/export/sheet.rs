//! Values as CSS.

use super::escape::font;
use crate::color::{Color, number};
use crate::document::Document;
use crate::finding::{Finding, Findings};
use crate::follow::{Everywhere, Values};
use crate::kind::Kind;
use crate::model::{Model, Target};
use crate::read::{Reader, read};
use crate::value::{Dimension, Duration, LineHeight, Part, Shadow, Stop, StrokeStyle, Typography, Value};

/// The parts of a typography that get properties of their own.
pub(super) const TEXT_PARTS: [&str; 5] =
    ["font-family", "font-size", "font-weight", "letter-spacing", "line-height"];

const WRONG: &str = "the token is not exported: its type or value is wrong";

/// What a token says in a mode.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// The same as another token.
    Alias(String),
    /// A value, perhaps with references in it.
    Value(Value),
}

/// A token that is another in a mode.
pub(super) struct Different {
    pub(super) at: usize,
    pub(super) said: Said,
    /// Its final value.
    pub(super) literal: Value,
    /// Whether that is another value. If not, the same value comes from elsewhere.
    pub(super) is_other: bool,
}

/// The tokens of a document that can be exported, by their place in the model.
pub(super) struct Sheet<'m, 'a> {
    pub(super) model: &'m Model<'a>,
    pub(super) modes: Vec<String>,
    /// The tokens that have a right value, with their types.
    pub(super) usable: Vec<(usize, Kind)>,
    is_usable: Vec<bool>,
    everywhere: Everywhere<'m, 'a>,
    pub(super) findings: Findings,
}

impl<'m, 'a> Sheet<'m, 'a> {
    pub(super) fn of(document: &Document, model: &'m Model<'a>) -> Self {
        let mut findings = Findings::default();
        findings.extend(model.findings().iter().cloned());
        let everywhere = Everywhere::of(model, &mut |finding| findings.push(finding));
        let mut usable = Vec::new();
        let mut is_usable = vec![false; model.tokens().len()];
        for (at, token) in model.tokens().iter().enumerate() {
            let Some(value) = everywhere.base.get(at) else { continue };
            if let Some(kind) = model.kinds[at].filter(|kind| read(*kind, value).is_some()) {
                usable.push((at, kind));
                is_usable[at] = true;
            } else {
                findings.push(Finding::error(&*token.path, WRONG));
            }
        }
        Self { model, modes: document.modes(), usable, is_usable, everywhere, findings }
    }

    /// The final value of a token without a mode.
    pub(super) fn literal(&self, at: usize) -> Option<Value> {
        read(self.model.kinds[at]?, self.everywhere.base.get(at)?)
    }

    pub(super) fn said(&self, at: usize) -> Option<Said> {
        self.said_in(&self.everywhere.base, at, None)
    }

    /// The tokens that say something else in a mode, or come to something else.
    pub(super) fn different(&mut self, mode: &str) -> Vec<Different> {
        let findings = &mut self.findings;
        let values = self.everywhere.mode(mode, &mut |finding| findings.push(finding.in_mode(mode)));
        let mut different = Vec::new();
        for &(at, kind) in self.usable.iter().filter(|(at, _)| values.is_special(*at)) {
            let Some(value) = values.get(at) else { continue };
            let Some(literal) = read(kind, value) else {
                let path = &self.model.tokens()[at].path;
                self.findings.push(Finding::error(&**path, WRONG).in_mode(mode));
                continue;
            };
            let is_other = self.everywhere.base.get(at) != Some(value);
            let Some(said) = self.said_in(&values, at, Some(mode)) else { continue };
            if is_other || self.said(at).as_ref() != Some(&said) {
                different.push(Different { at, said, literal, is_other });
            }
        }
        different
    }

    fn said_in(&self, values: &Values, at: usize, mode: Option<&str>) -> Option<Said> {
        let model = self.model;
        let kind = model.kinds[at]?;
        let literal = || read(kind, values.get(at)?).map(Said::Value);
        if let Some(Ok(reference)) = model.alias(at, mode)
            && let Ok(Target::Token(target)) = model.locate(&reference)
        {
            let can_be_named = model.kinds[target] == Some(kind) && self.is_usable[target];
            let path = model.tokens()[target].path.to_string();
            return if can_be_named { Some(Said::Alias(path)) } else { literal() };
        }
        let Some(inlined) = values.inlined(model, at, mode) else { return literal() };
        let mut reader = Reader::default();
        let value = reader.value(kind, &inlined);
        let is_there = |path: &str| model.index().get(path).is_some_and(|at| self.is_usable[*at]);
        match value {
            // A gradient in a gradient has no form in CSS; its stops have.
            Some(Value::Gradient(stops)) if stops.iter().any(|stop| matches!(stop, Part::Of(_))) => literal(),
            // What is not exported cannot be named.
            _ if reader.uses.iter().any(|used| !is_there(&used.path)) => literal(),
            // Where a type has no place for a name, as in the alpha of a colour, only the final value can be said.
            other => other.map(Said::Value).or_else(literal),
        }
    }
}

/// Writes values. References are written by the function that it holds.
pub(super) struct Writer<'a>(pub(super) &'a dyn Fn(&str) -> String);

impl Writer<'_> {
    fn part<T>(&self, part: &Part<T>, write: impl Fn(&T) -> String) -> String {
        match part {
            Part::Is(value) => write(value),
            Part::Of(path) => (self.0)(path),
        }
    }

    pub(super) fn value(&self, value: &Value) -> String {
        match value {
            Value::Color(color) => color.to_css(),
            Value::Dimension(length) => dimension(length),
            Value::FontFamily(names) => self.family(names),
            Value::FontWeight(value) | Value::Number(value) => number(*value),
            Value::Duration(time) => duration(time),
            Value::CubicBezier(curve) => bezier(curve),
            Value::StrokeStyle(style) => stroke(style),
            Value::Border(border) => format!(
                "{} {} {}",
                self.part(&border.width, dimension),
                self.part(&border.style, stroke),
                self.part(&border.color, Color::to_css)
            ),
            Value::Transition(transition) => format!(
                "{} {} {}",
                self.part(&transition.duration, duration),
                self.part(&transition.timing, bezier),
                self.part(&transition.delay, duration)
            ),
            Value::Shadow(shadows) => self.list(shadows, |shadow| self.shadow(shadow)),
            Value::Gradient(stops) => {
                format!("linear-gradient({})", self.list(stops, |stop| self.stop(stop)))
            }
            Value::Typography(text) => {
                let [family, size, weight, _, height] = self.text_parts(text);
                format!("{weight} {size}/{height} {family}")
            }
        }
    }

    fn list<T>(&self, items: &[Part<T>], write: impl Fn(&T) -> String) -> String {
        items.iter().map(|item| self.part(item, &write)).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn family(&self, names: &[Part<String>]) -> String {
        self.list(names, |name| font(name))
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

    /// Each of some shadows without its spread and side, for letters and outlines cannot have them.
    pub(super) fn flat_shadows(&self, shadows: &[Part<Shadow>]) -> Vec<String> {
        let flat =
            |shadow: &Shadow| format!("{} {}", self.offsets(shadow), self.part(&shadow.color, Color::to_css));
        shadows.iter().map(|shadow| self.part(shadow, flat)).collect()
    }

    fn stop(&self, stop: &Stop) -> String {
        let color = self.part(&stop.color, Color::to_css);
        let position = match &stop.position {
            Part::Is(position) => format!("{}%", number(position * 100.0)),
            Part::Of(path) => format!("clamp(0%, {} * 100%, 100%)", (self.0)(path)),
        };
        format!("{color} {position}")
    }

    /// The parts of a typography, as [`TEXT_PARTS`] lists them.
    pub(super) fn text_parts(&self, text: &Typography) -> [String; 5] {
        [
            self.part(&text.font_family, |names| self.family(names)),
            self.part(&text.font_size, dimension),
            self.part(&text.font_weight, |weight| number(*weight)),
            self.part(&text.letter_spacing, dimension),
            self.part(&text.line_height, |height| match height {
                LineHeight::Times(times) => number(*times),
                LineHeight::Length(length) => dimension(length),
            }),
        ]
    }
}

fn dimension(length: &Dimension) -> String {
    format!("{}{}", number(length.value), length.unit.as_str())
}

fn duration(time: &Duration) -> String {
    format!("{}{}", number(time.value), time.unit.as_str())
}

fn bezier(curve: &[f64; 4]) -> String {
    format!("cubic-bezier({})", curve.map(number).join(", "))
}

fn stroke(style: &StrokeStyle) -> String {
    match style {
        StrokeStyle::Named(name) => (*name).to_owned(),
        StrokeStyle::Dashed { .. } => "dashed".to_owned(), // The nearest that CSS has.
    }
}
