//! Design systems in the W3C design-token format (DTCG 2025.10).
//!
//! A [`TokenDocument`] is a file as it was written. [`validate`] tells everything that is wrong with it, [`resolve`] follows
//! its references, [`set_token`], [`rename_path`], [`delete_path`] and [`delete_mode_value`] change it, [`diff_documents`] compares two, [`import`] and
//! [`export`] deal with what others write and read, [`check_contrast`] measures whether text can be read, and [`starter_document`]
//! is a design system to begin with. Texts and numbers come in and go out; nothing here reads a file.
//!
//! # Modes
//!
//! The format itself has no light and dark. Two ways to have them are common, and both are taken:
//!
//! - A token carries its other values: `"$extensions": { "mode": { "dark": … } }`. Terrazzo and many exporters from Figma
//!   write it so; some say `modes`, some put it into the object of a vendor (`"com.figma": { "modes": … }`). This is how a
//!   document keeps its modes here, for then it is one file, and an edit to a token has one place.
//! - A resolver file (the Resolver module of 2025.10) names sets of tokens, and modifiers that choose between them.
//!   [`import::json`] makes one document of it, with a mode for every context. References to other files are not followed.
//!   The sets and themes of Tokens Studio are taken likewise.
//!
//! In a mode a token without a value for it has the value it always has, and a reference leads to the value of the mode.
//!
//! # What the format leaves open
//!
//! - An alias has the type of the token it names, even in a group of another type. `$type` on the token itself wins.
//! - A group's own tokens come before those it inherits. A local `$type` counts for the inherited ones too.
//! - In lists (shadows, stops of gradients, fonts) a reference to a list stands for its items. The format says that
//!   nothing is flattened, but then such a value would be of no type.
//! - A line height that is a length gets a warning, not an error: too many files have one.
//! - Colours out of their range are errors, but are still shown and measured; sRGB cuts them off.
//!
//! # Bounds
//!
//! Whatever a document says, nothing here takes more time or memory than [`limits`] allow: aliases, `$extends` and modes can
//! multiply what is written, so what is made of a document is counted while it is made.

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
