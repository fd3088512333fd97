//! What a value of CSS consists of.

use super::tokenizer::{Spanned, Token};

/// A part of a value between spaces and commas.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// A word.
    Word(String),
    /// A string.
    Text(String),
    /// A plain number.
    Number(f64),
    /// A percentage.
    Percent(f64),
    /// A number with a unit.
    Dimension(f64, String),
    /// `var(--x)`: the name without its dashes, and what counts if there is no such property.
    Var(String, Vec<Item>),
    /// Another function: its name, its arguments, its text.
    Function(String, Vec<Item>, String),
    /// `#0af`, with the `#`.
    Hash(String),
    /// `,`
    Comma,
    /// `/` and whatever else has no meaning here.
    Other,
}

/// Functions in functions that are followed; more is no value that anybody wrote.
const MAX_NESTING: usize = 16;

/// The parts of a value.
pub(super) fn items(tokens: &[Spanned], source: &str) -> Vec<Item> {
    read(tokens, source, 0)
}

fn read(tokens: &[Spanned], source: &str, depth: usize) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = 0;
    while let Some(Spanned { token, start, .. }) = tokens.get(at) {
        at += 1;
        items.push(match token {
            Token::Space => continue,
            Token::Ident(word) => Item::Word(word.clone()),
            Token::Text(text) => Item::Text(text.clone()),
            Token::Number(value) => Item::Number(*value),
            Token::Percent(value) => Item::Percent(*value),
            Token::Dimension(value, unit) => Item::Dimension(*value, unit.clone()),
            Token::Hash(digits) => Item::Hash(format!("#{digits}")),
            Token::Delim(',') => Item::Comma,
            Token::Function(name) => {
                let end = closing(tokens, at);
                let inner = &tokens[at..end];
                let stop = tokens.get(end).map_or(source.len(), |close| close.end);
                at = end + 1;
                if depth > MAX_NESTING {
                    items.push(Item::Other);
                    continue;
                }
                let arguments = read(inner, source, depth + 1);
                function(&name.to_lowercase(), arguments, &source[*start..stop])
            }
            _ => Item::Other,
        });
    }
    items
}

fn function(name: &str, arguments: Vec<Item>, text: &str) -> Item {
    match (name, arguments.as_slice()) {
        ("var", [Item::Word(word)]) if word.starts_with("--") => Item::Var(word[2..].to_owned(), Vec::new()),
        ("var", [Item::Word(word), Item::Comma, fallback @ ..]) if word.starts_with("--") => {
            Item::Var(word[2..].to_owned(), fallback.to_vec())
        }
        _ => Item::Function(name.to_owned(), arguments, text.to_owned()),
    }
}

/// The place of the bracket that closes what was opened before `from`, or the end.
pub(super) fn closing(tokens: &[Spanned], from: usize) -> usize {
    let mut open = 1_usize;
    for (at, spanned) in tokens.iter().enumerate().skip(from) {
        match spanned.token {
            Token::Open(_) | Token::Function(_) => open += 1,
            Token::Close(_) => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    tokens.len()
}
