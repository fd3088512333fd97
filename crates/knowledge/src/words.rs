//! From text to the terms that BM25 counts.
//!
//! [`for_each_token`] finds lower-cased tokens; [`token_term`] makes the term of one: words are stemmed, the commonest are dropped, and
//! names of things (`max_retries`, `--yes`, `docs/setup.md`) stay as they are. Each such name also gives its parts, so that
//! a search for only one of them finds it.

mod stop_words;

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// A longer token is a key, a hash or data, and never searched for.
const MAX_TOKEN_BYTES: usize = 64;

/// Finds the tokens of a text, lower-cased and without accents.
pub(crate) fn for_each_token(text: &str, mut found: impl FnMut(&str)) {
    let mut scratch = String::new();
    for run in text.split(|c: char| !is_token_char(c)) {
        let core = run.trim_matches(is_joiner);
        if core.is_empty() || core.len() > MAX_TOKEN_BYTES * 4 {
            continue;
        }
        if core.chars().any(is_ideographic) {
            for_each_script_run(core, &mut scratch, &mut found);
        } else if core.bytes().all(|byte| byte.is_ascii_lowercase()) && !run.starts_with('-') {
            // Most words of most texts.
            emit(core, &mut scratch, &mut found);
        } else {
            for_each_name_part(run, core, &mut scratch, &mut found);
        }
    }
}

/// The term of a token. `None` for words that say nothing about what is asked.
pub(crate) fn token_term(token: &str) -> Option<Cow<'_, str>> {
    if stop_words::is_stop_word(token) {
        return None;
    }
    // The stemmer is for English, and a name with digits or marks in it has no other forms.
    if !token.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Some(Cow::Borrowed(token));
    }
    Some(Stemmer::create(Algorithm::English).stem(token))
}

fn is_token_char(c: char) -> bool {
    c.is_alphanumeric() || is_joiner(c) || is_accent(c)
}

/// Joins the parts of a name.
fn is_joiner(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':' | '@')
}

/// A combining accent, as in texts that write é as two characters.
fn is_accent(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

/// Chinese, Japanese and Korean, which are not cut into words by spaces alone.
pub(crate) fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{30ff}' | '\u{3130}'..='\u{318f}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

/// A run with ideographs in it: pairs of neighbours for these, and what stands between them as usual.
fn for_each_script_run(run: &str, scratch: &mut String, found: &mut impl FnMut(&str)) {
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_ideographic(c) != is_ideographic(first)).unwrap_or(rest.len());
        let (same, after) = rest.split_at(end);
        if is_ideographic(first) {
            for_each_bigram(same, found);
        } else {
            let core = same.trim_matches(is_joiner);
            for_each_name_part(core, core, scratch, found);
        }
        rest = after;
    }
}

fn for_each_bigram(run: &str, found: &mut impl FnMut(&str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if starts.len() == 2 {
        found(run);
    }
    for pair in starts.windows(3) {
        found(&run[pair[0]..pair[2]]);
    }
}

/// A word with capitals, or a name of several parts: the whole, and the parts.
fn for_each_name_part(run: &str, core: &str, scratch: &mut String, found: &mut impl FnMut(&str)) {
    // `--yes` and `-v` are flags. `-5` is a number.
    if run.starts_with('-') && core.starts_with(|c: char| c.is_ascii_alphabetic()) {
        emit(run.trim_end_matches(is_joiner), scratch, found);
    }
    let is_joined = core.contains(is_joiner);
    // A hyphen alone joins words as often as names: the parts say as much, and are what others write.
    if !is_joined || core.contains(|c| is_joiner(c) && c != '-') {
        emit(core, scratch, found);
    }
    for part in core.split(is_joiner).filter(|part| !part.is_empty()) {
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        if is_joined && !is_number {
            emit(part, scratch, found);
        }
        for_each_camel_word(part, |hump| emit(hump, scratch, found));
    }
}

/// The words of `camelCase` and `HTTPServer`, if there are several. Single letters are not worth a term.
fn for_each_camel_word(name: &str, mut found: impl FnMut(&str)) {
    let mut start = 0;
    let chars: Vec<(usize, char)> = name.char_indices().collect();
    for window in 1..chars.len() {
        let (at, here) = chars[window];
        let before = chars[window - 1].1;
        let next_is_small = chars.get(window + 1).is_some_and(|(_, next)| next.is_lowercase());
        if here.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_small)) {
            if at - start > 1 {
                found(&name[start..at]);
            }
            start = at;
        }
    }
    if start > 0 && name.len() - start > 1 {
        found(&name[start..]);
    }
}

/// Passes a token on, lower-cased and without accents.
fn emit(token: &str, scratch: &mut String, found: &mut impl FnMut(&str)) {
    if token.len() > MAX_TOKEN_BYTES {
        return;
    }
    scratch.clear();
    if token.is_ascii() {
        scratch.push_str(token);
        scratch.make_ascii_lowercase();
    } else {
        scratch.extend(token.nfd().filter(|c| !is_accent(*c)).flat_map(char::to_lowercase));
    }
    // Nothing is left of an accent that stood alone.
    if !scratch.is_empty() {
        found(scratch);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        for_each_token(text, |token| tokens.push(token.to_owned()));
        tokens
    }

    #[test]
    fn names_yield_whole_and_parts() {
        let check = |text, expected: &str| assert_eq!(tokens(text).join(" "), expected, "{text}");
        check("Run it, twice.", "run it twice");
        check("max_retries", "max_retries max retries");
        check("use --yes or -v: both", "use --yes yes or -v v both");
        check("-5 degrees", "5 degrees");
        check("--dry-run, well-known", "--dry-run dry run well known");
        check("runner.target", "runner.target runner target");
        check("docs/foo.md", "docs/foo.md docs foo md");
        check("maxRetries", "maxretries max retries");
        check("HTTPServer", "httpserver http server");
        check("app.maxRetries", "app.maxretries app maxretries max retries");
        check("Deployment HTTP", "deployment http");
        check("version 1.24 of v1.24", "version 1.24 of v1.24 v1");
        check("don't", "don t");
        check("Café cafe\u{301}", "cafe cafe");
        check("-- … ---", "");
    }

    #[test]
    fn ideographs_are_tokenized_as_bigrams() {
        let check = |text, expected: &str| assert_eq!(tokens(text).join(" "), expected, "{text}");
        check("설치하기", "설치 치하 하기");
        check("FluxLoop를 설치", "fluxloop flux loop 를 설치");
        check("東京タワー", "東京 京タ タワ ワー");
    }

    #[test]
    fn words_are_stemmed_and_names_are_not() {
        let check =
            |token, expected: Option<&str>| assert_eq!(token_term(token).as_deref(), expected, "{token}");
        check("deployments", Some("deploy"));
        check("running", Some("run"));
        check("max_retries", Some("max_retries"));
        check("the", None);
        check("설치", Some("설치"));
    }

    proptest! {
        #[test]
        fn any_text_has_bounded_tokens(text in "\\PC{0,300}") {
            for_each_token(&text, |token| {
                assert!(!token.is_empty() && token.len() <= 4 * MAX_TOKEN_BYTES);
                assert!(token_term(token).is_none_or(|term| !term.is_empty()));
            });
        }
    }
}
