//! CSS gradients.

use super::{PropertyReader, is_comma, parse_color};
use crate::color::round;
use crate::import::component::CssComponent;
use crate::value::{GradientStop, TokenValue, ValueOrRef};

impl PropertyReader<'_> {
    /// Reads a gradient. Its direction is lost, because the format has none.
    pub(super) fn gradient(&self, arguments: &[CssComponent]) -> Option<TokenValue> {
        let mut parts: Vec<_> = arguments.split(is_comma).collect();
        if parts.first().is_some_and(|part| is_direction(part)) {
            parts.remove(0);
        }
        let mut positions = Vec::new();
        let mut colors = Vec::new();
        for part in parts {
            let (tint, position) = match part {
                [tint] => (tint, None),
                [tint, CssComponent::Percent(percent)] => (tint, Some(percent / 100.0)),
                _ => return None,
            };
            positions.push(position);
            colors.push(self.read_part(tint, parse_color)?);
        }
        if colors.len() < 2 {
            return None;
        }
        let stops = colors.into_iter().zip(distribute_positions(&positions)).map(|(color, position)| {
            let position = ValueOrRef::Literal(round(position.clamp(0.0, 1.0), 4));
            ValueOrRef::Literal(GradientStop { color, position })
        });
        Some(TokenValue::Gradient(stops.collect()))
    }
}

/// Whether a part of a gradient is its direction.
pub(super) fn is_direction(part: &[CssComponent]) -> bool {
    match part {
        [CssComponent::Dimension(_, unit)] => ["deg", "turn", "rad", "grad"].contains(&unit.as_str()),
        [CssComponent::Word(to), ..] => to == "to",
        _ => false,
    }
}

/// Positions of gradient stops as in CSS: the first defaults to the start, the last to the end, none is
/// before its predecessor, and missing ones are spread evenly between their neighbours.
fn distribute_positions(positions: &[Option<f64>]) -> Vec<f64> {
    let last = positions.len().saturating_sub(1);
    let mut spread: Vec<f64> = Vec::with_capacity(positions.len());
    for (at, position) in positions.iter().enumerate() {
        let ends = if at == 0 { Some(0.0) } else { (at == last).then_some(1.0) };
        let Some(position) = position.or(ends) else { continue };
        let from = spread.last().copied().unwrap_or(position);
        let position = position.max(from);
        let missing = u32::try_from(at - spread.len()).unwrap_or(u32::MAX);
        let step = (position - from) / f64::from(missing + 1);
        spread.extend((1..=missing).map(|nth| from + step * f64::from(nth)));
        spread.push(position);
    }
    spread
}
