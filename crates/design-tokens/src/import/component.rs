//! The components of a CSS value.

use super::tokenizer::{CssToken, SpannedToken};

/// A part of a value between spaces and commas.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CssComponent {
    Word(String),
    Text(String),
    Number(f64),
    Percent(f64),
    /// A number with a unit.
    Dimension(f64, String),
    /// `var(--x)`: the name without its dashes, and the fallback.
    Var(String, Vec<CssComponent>),
    /// Another function: its name, arguments and source text.
    Function(String, Vec<CssComponent>, String),
    /// `#0af`, with the `#`.
    Hash(String),
    /// `,`
    Comma,
    /// `/` and anything else without a meaning here.
    Other,
}

/// Maximum nesting of functions; no sensible value has more.
const MAX_FUNCTION_NESTING: usize = 16;

pub(super) fn parse_components(tokens: &[SpannedToken], source: &str) -> Vec<CssComponent> {
    parse_nested(tokens, source, 0)
}

fn parse_nested(tokens: &[SpannedToken], source: &str, depth: usize) -> Vec<CssComponent> {
    let mut items = Vec::new();
    let mut at = 0;
    while let Some(SpannedToken { token, start, .. }) = tokens.get(at) {
        at += 1;
        items.push(match token {
            CssToken::Space => continue,
            CssToken::Ident(word) => CssComponent::Word(word.clone()),
            CssToken::Text(text) => CssComponent::Text(text.clone()),
            CssToken::Number(value) => CssComponent::Number(*value),
            CssToken::Percent(value) => CssComponent::Percent(*value),
            CssToken::Dimension(value, unit) => CssComponent::Dimension(*value, unit.clone()),
            CssToken::Hash(digits) => CssComponent::Hash(format!("#{digits}")),
            CssToken::Delim(',') => CssComponent::Comma,
            CssToken::Function(name) => {
                let end = find_closing(tokens, at);
                let inner = &tokens[at..end];
                let stop = tokens.get(end).map_or(source.len(), |close| close.end);
                at = end + 1;
                if depth > MAX_FUNCTION_NESTING {
                    items.push(CssComponent::Other);
                    continue;
                }
                let arguments = parse_nested(inner, source, depth + 1);
                parse_function(&name.to_lowercase(), arguments, &source[*start..stop])
            }
            _ => CssComponent::Other,
        });
    }
    items
}

fn parse_function(name: &str, arguments: Vec<CssComponent>, text: &str) -> CssComponent {
    match (name, arguments.as_slice()) {
        ("var", [CssComponent::Word(word)]) if word.starts_with("--") => {
            CssComponent::Var(word[2..].to_owned(), Vec::new())
        }
        ("var", [CssComponent::Word(word), CssComponent::Comma, fallback @ ..]) if word.starts_with("--") => {
            CssComponent::Var(word[2..].to_owned(), fallback.to_vec())
        }
        _ => CssComponent::Function(name.to_owned(), arguments, text.to_owned()),
    }
}

/// The index of the bracket that closes the one opened before `from`, or the end.
pub(super) fn find_closing(tokens: &[SpannedToken], from: usize) -> usize {
    let mut open = 1_usize;
    for (at, spanned) in tokens.iter().enumerate().skip(from) {
        match spanned.token {
            CssToken::Open(_) | CssToken::Function(_) => open += 1,
            CssToken::Close(_) => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    tokens.len()
}
