//! What integrating FluxLoop into a program means.

mod pattern;

pub use pattern::{Pattern, pattern};
