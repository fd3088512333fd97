//! Imports the custom properties of a stylesheet as tokens.

mod scope;

use std::collections::{HashMap, HashSet};

use self::scope::{CssMode, CssScope, split_at_commas, trim_whitespace};
use super::ImportedDocument;
use super::component::{find_closing, parse_components};
use super::css_values::{PropertyReader, PropertyValue, parse_line_style};
use super::token_path::token_paths;
use super::tokenizer::{CssToken, SpannedToken, tokenize};
use crate::document::{ParseError, TokenDocument, ensure_group};
use crate::finding::{FindingCollector, TokenFinding, excerpt};
use crate::json::JsonMap;
use crate::limits::{MAX_DOCUMENT_BYTES, MAX_MODES, MAX_TOKENS};

/// Imports the custom properties of a stylesheet.
///
/// Properties in `:root`, `html`, `:host` or `@theme` are base values. `[data-theme="dark"]`, `.dark`,
/// `.theme-dark` and `@media (prefers-color-scheme: dark)` set the mode `dark`, even if nested in `:root` as
/// `&.dark`, and so does the second argument of `light-dark()`; the same applies to other names. Other
/// classes and attributes are modes for properties with a base value, or for all properties if none has one.
/// `var(--x)` is an alias. Everything else, and every value that fits no type, is omitted and reported.
///
/// The result may contain no tokens, which [`stylesheet`](super::stylesheet) rejects.
pub fn css_allow_empty(text: &str) -> Result<ImportedDocument, ParseError> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return Err(ParseError::TooLarge { bytes: text.len() });
    }
    let tokens = tokenize(text);
    let mut sheet = StylesheetImporter { text, ..StylesheetImporter::default() };
    sheet.parse_rules(&tokens, &CssScope::base(), 0);
    if sheet.properties.len() > MAX_TOKENS { Err(ParseError::TooManyTokens) } else { sheet.into_document() }
}

/// A property with its values. Modes are indices here.
struct CustomProperty<'a> {
    name: &'a str,
    values: Vec<(Option<usize>, &'a [SpannedToken])>,
}

impl<'a> CustomProperty<'a> {
    fn base_value(&self) -> Option<&'a [SpannedToken]> {
        self.base_index().map(|at| self.values[at].1)
    }

    /// The index of the base value.
    fn base_index(&self) -> Option<usize> {
        self.values.iter().position(|(mode, _)| mode.is_none())
    }

    /// Whether it can be a token, given the values that could be read. The base value is required; a value
    /// for a mode replaces it only if none was declared.
    fn has_value(&self, read: &[Option<PropertyValue>]) -> bool {
        match self.base_index() {
            Some(base) => read[base].is_some(),
            None => read.iter().any(Option::is_some),
        }
    }
}

#[derive(Default)]
struct StylesheetImporter<'a> {
    text: &'a str,
    properties: Vec<CustomProperty<'a>>,
    index: HashMap<&'a str, usize>,
    /// Index of the value of a property in a mode.
    value_index: HashMap<(usize, Option<usize>), usize>,
    modes: Vec<CssMode>,
    modes_index: HashMap<String, usize>,
    findings: FindingCollector,
}

/// Maximum nesting of rules.
const MAX_RULE_NESTING: usize = 32;
/// Reported if only the base value of a property is unusable.
const NO_BASE_MESSAGE: &str = "its values for modes are omitted too, because a token needs a base value";
/// Reported for properties in a scope that tokens cannot represent.
const SCOPED_PROPERTY_MESSAGE: &str =
    "omitted: it is only set for some elements, which tokens cannot represent";

impl<'a> StylesheetImporter<'a> {
    /// Parses rules, and declarations between them.
    fn parse_rules(&mut self, tokens: &'a [SpannedToken], place: &CssScope, depth: usize) {
        let mut at = 0;
        // A block may have many declarations; its modes are looked up only once.
        let mut modes: Option<Vec<usize>> = None;
        while at < tokens.len() {
            let start = at;
            let declares = parse_declaration_name(&tokens[start..]);
            // A rule ends with its block, a declaration with `;`. The value of a property may contain a
            // block.
            while let Some(token) = tokens.get(at).map(|token| &token.token) {
                at = match token {
                    CssToken::Delim(';') => break,
                    CssToken::Open('{') if declares.is_none() => break,
                    CssToken::Open(_) | CssToken::Function(_) => find_closing(tokens, at + 1) + 1,
                    _ => at + 1,
                };
            }
            at = at.min(tokens.len());
            let head = &tokens[start..at];
            if let Some((name, from)) = declares {
                let modes = modes
                    .get_or_insert_with(|| place.modes.iter().map(|mode| self.mode_index(mode)).collect());
                self.add_declaration(name, strip_important(&head[from..]), place.base, modes);
            } else if tokens.get(at).is_some_and(|token| token.token == CssToken::Open('{')) {
                let end = find_closing(tokens, at + 1);
                if depth < MAX_RULE_NESTING {
                    let inside = CssScope::from_prelude(trim_whitespace(head), self.text).nested_in(place);
                    self.parse_rules(&tokens[at + 1..end], &inside, depth + 1);
                }
                at = end;
            }
            at += 1;
        }
    }

    fn add_declaration(&mut self, name: &'a str, value: &'a [SpannedToken], is_base: bool, modes: &[usize]) {
        if !is_base && modes.is_empty() {
            return self
                .findings
                .push(TokenFinding::warning(format!("--{}", excerpt(name)), SCOPED_PROPERTY_MESSAGE));
        }
        let property = *self.index.entry(name).or_insert_with(|| {
            self.properties.push(CustomProperty { name, values: Vec::new() });
            self.properties.len() - 1
        });
        if is_base {
            self.set_value(property, None, value);
        }
        for mode in modes {
            self.set_value(property, Some(*mode), value);
        }
    }

    fn mode_index(&mut self, mode: &CssMode) -> usize {
        let at = *self.modes_index.entry(mode.name.clone()).or_insert_with(|| {
            self.modes.push(mode.clone());
            self.modes.len() - 1
        });
        self.modes[at].is_certain |= mode.is_certain;
        at
    }

    fn set_value(&mut self, property: usize, mode: Option<usize>, value: &'a [SpannedToken]) {
        let values = &mut self.properties[property].values;
        let place = *self.value_index.entry((property, mode)).or_insert_with(|| {
            values.push((mode, value));
            values.len() - 1
        });
        values[place].1 = value; // The last one wins, as in CSS.
    }

    /// Splits `light-dark()` into two values. A rule for a mode takes precedence over the second argument.
    fn split_light_dark(&mut self) {
        for at in 0..self.properties.len() {
            let Some((light, dark)) = self.properties[at].base_value().and_then(light_dark_arguments) else {
                continue;
            };
            self.set_value(at, None, light);
            let mode = self.mode_index(&CssMode { name: "dark".to_owned(), is_certain: true });
            if !self.value_index.contains_key(&(at, Some(mode))) {
                self.set_value(at, Some(mode), dark);
            }
        }
    }

    /// Drops values for selectors that are not modes, and for modes beyond the limit.
    fn prune_modes(&mut self) {
        let mut used = HashSet::new();
        let mut too_many = HashSet::new();
        let has_base = self.properties.iter().any(|property| property.base_value().is_some());
        for property in &mut self.properties {
            let base = property.base_value();
            let before = property.values.len();
            property.values.retain(|(mode, value)| {
                let Some(mode) = *mode else { return true };
                // A value equal to the base value is redundant.
                (self.modes[mode].is_certain || base.is_some() || !has_base)
                    && base.is_none_or(|base| !has_same_tokens(base, value))
            });
            if property.values.is_empty() && before > 0 {
                self.findings.push(TokenFinding::warning(
                    format!("--{}", excerpt(property.name)),
                    SCOPED_PROPERTY_MESSAGE,
                ));
            }
            property.values.retain(|(mode, _)| {
                let Some(mode) = *mode else { return true };
                let has_room = used.contains(&mode) || used.len() < MAX_MODES;
                if has_room {
                    used.insert(mode)
                } else {
                    too_many.insert(mode)
                };
                has_room
            });
        }
        if !too_many.is_empty() {
            let message =
                format!("the limit is {MAX_MODES} modes; values for {} more are omitted", too_many.len());
            self.findings.push(TokenFinding::warning("", message));
        }
        self.properties.retain(|property| !property.values.is_empty());
    }

    fn into_document(mut self) -> Result<ImportedDocument, ParseError> {
        self.split_light_dark();
        self.prune_modes();
        let known = token_paths(self.properties.iter().map(|property| property.name));
        let declared = self.properties.iter().map(|property| property.name).collect();
        let has_path = |property: &CustomProperty<'_>| known.contains_key(property.name);
        for property in self.properties.iter().filter(|property| !has_path(property)) {
            let message = "omitted: its name is too long for a token";
            self.findings.push(TokenFinding::warning(format!("--{}", excerpt(property.name)), message));
        }
        self.properties.retain(has_path);
        let read = self.read_values(known.clone(), &declared);
        let mut root = JsonMap::new();
        for (property, values) in self.properties.iter().zip(&read) {
            if let Some(token) = self.build_token(property, values) {
                let path = &known[property.name];
                let (group, name) = path.rsplit_once('.').unwrap_or(("", path));
                ensure_group(&mut root, group).set(name, token);
            }
        }
        let document = TokenDocument::from_map(root)?;
        let mut findings = self.findings;
        findings.extend(crate::validate::validate(&document));
        Ok(ImportedDocument { document, findings: findings.into_vec() })
    }

    /// Reads the value of every property. A property that refers to an omitted one is omitted as well.
    fn read_values(
        &mut self,
        mut known: HashMap<&'a str, String>,
        declared: &HashSet<&'a str>,
    ) -> Vec<Vec<Option<PropertyValue>>> {
        let lines: HashSet<&str> = self
            .properties
            .iter()
            .filter(|one| is_line_style(one.base_value()))
            .map(|one| one.name)
            .collect();
        let mut users: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        let mut read: Vec<Vec<_>> =
            self.properties.iter().map(|property| vec![None; property.values.len()]).collect();
        let mut todo: Vec<(usize, usize)> = Vec::new();
        for (at, property) in self.properties.iter().enumerate() {
            for (nth, (_, value)) in property.values.iter().enumerate() {
                todo.push((at, nth));
                let names = value.iter().filter_map(|token| match &token.token {
                    CssToken::Ident(name) => name.strip_prefix("--"),
                    _ => None,
                });
                names.for_each(|name| users.entry(name).or_default().push((at, nth)));
            }
        }
        let mut gone = Vec::new();
        while !todo.is_empty() {
            for (at, nth) in todo.drain(..) {
                let property = &self.properties[at];
                if !known.contains_key(property.name) {
                    continue; // Omitted in the meantime.
                }
                let value = property.values[nth].1;
                let shapes = PropertyReader {
                    paths: &known,
                    declared,
                    name: property.name,
                    line_style_properties: &lines,
                };
                let name = format!("--{}", excerpt(property.name));
                match shapes.read(&parse_components(value, self.text)) {
                    Ok((held, note)) => {
                        read[at][nth] = Some(held);
                        self.findings.extend(note.map(|note| TokenFinding::warning(name, note)));
                    }
                    Err(why) => {
                        read[at][nth] = None;
                        let shown = excerpt(source_text(value, self.text));
                        self.findings
                            .push(TokenFinding::warning(name, format!("`{shown}` is omitted: {why}")));
                        gone.push(at);
                    }
                }
            }
            for at in gone.drain(..) {
                let name = self.properties[at].name;
                if !self.properties[at].has_value(&read[at]) && known.remove(name).is_some() {
                    if read[at].iter().any(Option::is_some) {
                        self.findings
                            .push(TokenFinding::warning(format!("--{}", excerpt(name)), NO_BASE_MESSAGE));
                        read[at].fill(None);
                    }
                    let users = users.get(name).into_iter().flatten().copied();
                    todo.extend(users.filter(|(user, nth)| read[*user][*nth].is_some()));
                }
            }
        }
        read
    }

    /// Builds a token from a property. If it only has values for modes, the first one is also its base value.
    fn build_token(
        &self,
        property: &CustomProperty<'_>,
        values: &[Option<PropertyValue>],
    ) -> Option<JsonMap> {
        let read =
            property.values.iter().zip(values).filter_map(|((mode, _), held)| Some((*mode, held.as_ref()?)));
        let (_, base) = read.clone().find(|(mode, _)| mode.is_none()).or_else(|| read.clone().next())?;
        let mut token = JsonMap::new();
        if let Some(kind) = base.kind() {
            token.set("$type", kind.as_str());
        }
        token.set("$value", base.to_json());
        for (mode, held) in read {
            if let Some(mode) = mode {
                let name = self.modes[mode].name.as_str();
                token.object_entry("$extensions").object_entry("mode").set(name, held.to_json());
            }
        }
        Some(token)
    }
}

/// The name of a declared custom property without its dashes, and the index of its value.
fn parse_declaration_name(tokens: &[SpannedToken]) -> Option<(&str, usize)> {
    let mut solid = tokens.iter().enumerate().filter(|(_, token)| token.token != CssToken::Space);
    let CssToken::Ident(name) = &solid.next()?.1.token else { return None };
    let name = name.strip_prefix("--").filter(|name| !name.is_empty())?;
    let (colon, token) = solid.next()?;
    (token.token == CssToken::Delim(':')).then_some((name, colon + 1))
}

/// A value without `!important`, which is not part of it.
fn strip_important(value: &[SpannedToken]) -> &[SpannedToken] {
    let value = trim_whitespace(value);
    let is_important =
        |word: &CssToken| matches!(word, CssToken::Ident(word) if word.eq_ignore_ascii_case("important"));
    match value.split_last() {
        Some((last, rest)) if is_important(&last.token) => match trim_whitespace(rest).split_last() {
            Some((mark, rest)) if mark.token == CssToken::Delim('!') => trim_whitespace(rest),
            _ => value,
        },
        _ => value,
    }
}

/// The two arguments of `light-dark()`.
fn light_dark_arguments(value: &[SpannedToken]) -> Option<(&[SpannedToken], &[SpannedToken])> {
    let (first, rest) = value.split_first()?;
    let CssToken::Function(name) = &first.token else { return None };
    let end = find_closing(rest, 0);
    let commas = split_at_commas(&rest[..end]);
    match commas.as_slice() {
        [light, dark] if name.eq_ignore_ascii_case("light-dark") && end + 1 == rest.len() => {
            Some((trim_whitespace(light), trim_whitespace(dark)))
        }
        _ => None,
    }
}

fn has_same_tokens(one: &[SpannedToken], other: &[SpannedToken]) -> bool {
    one.iter().map(|token| &token.token).eq(other.iter().map(|token| &token.token))
}

fn is_line_style(value: Option<&[SpannedToken]>) -> bool {
    matches!(value, Some([SpannedToken { token: CssToken::Ident(word), .. }]) if parse_line_style(word).is_some())
}

/// The source text of a value.
fn source_text<'a>(value: &[SpannedToken], text: &'a str) -> &'a str {
    match (value.first(), value.last()) {
        (Some(first), Some(last)) => &text[first.start..last.end],
        _ => "",
    }
}
