//! Design systems in the W3C design-token format (DTCG 2025.10).
//!
//! A [`TokenDocument`] is a file as written. [`validate`] reports every problem, [`resolve`] resolves
//! references, [`set_token`], [`rename_path`], [`delete_path`] and [`delete_mode_value`] edit it,
//! [`diff_documents`] compares two, [`import`] and [`export`] convert from and to other formats,
//! [`check_contrast`] measures readability, and [`starter_document`] is a minimal design system. All input
//! and output is in memory; nothing here reads files.
//!
//! # Modes
//!
//! The format itself has no light and dark modes. Two conventions are common, and both are supported:
//!
//! - A token contains its other values: `"$extensions": { "mode": { "dark": … } }`. Terrazzo and many Figma
//!   exporters do this; some use `modes`, some nest it in a vendor's object (`"com.figma": { "modes": … }`).
//!   Documents store their modes this way, because it keeps everything in one file and every token in one
//!   place.
//! - A resolver file (the Resolver module of 2025.10) contains sets of tokens, and modifiers that select
//!   between them. [`import::json`] merges it into one document with a mode for every context. References to
//!   other files are not followed. The sets and themes of Tokens Studio are imported likewise.
//!
//! In a mode, a token without a value for it has its base value, and references use the values of the mode.
//!
//! # Where the format is ambiguous
//!
//! - An alias has the type of its target, even in a group of another type. `$type` on the token itself takes
//!   precedence.
//! - A group's own tokens precede inherited ones. A local `$type` applies to inherited tokens too.
//! - In lists (shadows, gradient stops, fonts) a reference to a list is replaced by its items. The format
//!   says that nothing is flattened, but then such a value would fit no type.
//! - A line height that is a length is a warning, not an error: too many files have one.
//! - Colours out of range are errors, but are still exported and measured, clipped to sRGB.
//!
//! # Limits
//!
//! No document can make anything here exceed the time and memory that [`limits`] allow: aliases, `$extends`
//! and modes can multiply the content, so results are counted while they are built.

#[cfg(test)]
mod adversarial_tests;
mod budget;
mod color;
mod contrast;
mod diff;
mod document;
mod edit;
mod evaluate;
pub mod export;
mod finding;
mod flatten;
pub mod import;
mod json;
mod kind;
pub mod limits;
mod model;
mod parse;
#[cfg(test)]
mod property_tests;
mod reference;
mod resolve;
mod resolver;
mod rewrite;
#[cfg(test)]
mod samples;
mod serialize;
mod starter;
#[cfg(test)]
mod tests;
mod validate;
mod value;

pub use self::color::{Color, ColorSpace};
pub use contrast::{
    ContrastCheck, ContrastLevel, ContrastPair, TextSize, check_contrast, contrast_level, contrast_ratio,
    suggest_pairs, unmeasured_pairs_warning,
};
pub use diff::{TokenChange, TokenDiff, TokenRename, TokenState, diff_documents};
pub use document::{ParseError, TokenDocument};
pub use edit::{
    EditError, EditOutcome, NewToken, delete_mode_value, delete_path, rename_path, set_token, set_tokens,
};
pub use finding::{TokenFinding, TokenSeverity};
pub use json::{Json, JsonMap};
pub use kind::{TokenKind, UnknownTokenKind};
pub use reference::{MalformedReference, TokenReference};
pub use resolve::{ResolvedToken, ResolvedTokens, resolve};
pub use resolver::ResolverError;
pub use starter::starter_document;
pub use validate::validate;
pub use value::{
    Border, Dimension, Duration, GradientStop, LengthUnit, LineHeight, Shadow, StrokeStyle, TimeUnit,
    TokenValue, Transition, Typography, ValueOrRef,
};
