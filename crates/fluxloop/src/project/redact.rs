//! Secrets stay here. Everything that is passed on freely goes through [`redact`] or [`redact_text`].

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Mappings of which every value is private, whatever its key.
const PRIVATE_MAPPINGS: [&str; 8] = [
    "environment_vars",
    "environment_variables",
    "env_vars",
    "env",
    "environ",
    "environment",
    "headers",
    "cookies",
];
/// A key with one of these words names a secret.
const SECRET_WORDS: [&str; 12] = [
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "authorization",
    "credential",
    "credentials",
    "apikey",
    "bearer",
    "cookie",
];
/// A key whose last word is one of these names a secret. `max_tokens` is a number, `token` is not.
const SECRET_ENDINGS: [&str; 3] = ["key", "token", "auth"];

/// The same value, without what is secret in it: values of keys that name secrets, all values of environment variables
/// and headers, and whatever looks like a key inside of texts.
#[must_use]
pub fn redact(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact_text(&text).into_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(redact).collect()),
        Value::Object(entries) => {
            let entry = |(key, value): (String, Value)| {
                let value = redact_under(&key, value);
                // A key may be the secret itself, where somebody turned a mapping around.
                (redact_text(&key).into_owned(), value)
            };
            Value::Object(entries.into_iter().map(entry).collect())
        }
        other => other,
    }
}

/// What may be shown of a value under this key.
fn redact_under(key: &str, value: Value) -> Value {
    if is_secret_key(key) {
        return hidden(value);
    }
    let is_private = PRIVATE_MAPPINGS.contains(&key.to_ascii_lowercase().as_str());
    match value {
        Value::Object(entries) if is_private => {
            Value::Object(entries.into_iter().map(|(name, value)| (name, hidden(value))).collect())
        }
        Value::Array(items) if is_private => Value::Array(items.into_iter().map(hidden_assignment).collect()),
        other => redact(other),
    }
}

/// Nothing is told of it but that it is there.
fn hidden(value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value,
        Value::String(text) if text.is_empty() => Value::String(text),
        _ => Value::String(REDACTED.to_owned()),
    }
}

/// `NAME=value`, or a mapping with a name.
fn hidden_assignment(item: Value) -> Value {
    match item {
        Value::String(text) => match text.split_once('=') {
            Some((name, _)) => Value::String(format!("{name}={REDACTED}")),
            None => Value::String(redact_text(&text).into_owned()),
        },
        Value::Object(entries) => {
            let entry = |(key, value): (String, Value)| {
                let value = if key == "name" { redact(value) } else { hidden(value) };
                (key, value)
            };
            Value::Object(entries.into_iter().map(entry).collect::<Map<_, _>>())
        }
        other => hidden(other),
    }
}

/// Whether what stands under this key is a secret.
pub(super) fn is_secret_key(key: &str) -> bool {
    let words = words(key);
    let last = words.last().map(String::as_str).unwrap_or_default();
    let joined = words.concat();
    SECRET_ENDINGS.contains(&last)
        || words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
        || ["apikey", "apikeys", "accesskey", "privatekey", "authtoken", "accesstoken"]
            .iter()
            .any(|end| joined.ends_with(end))
}

/// `apiKey`, `API_KEY` and `api-key` are the same two words.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in key.chars() {
        let starts_word = letter.is_uppercase() && was_lower;
        if (starts_word || !letter.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Shapes of keys, each in words that stand before it (`keep`), the secret, and nothing else.
static SECRETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let shapes = [
        r"\bsk-[A-Za-z0-9_\-]{6,}",
        r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{6,}",
        r"\b(?:gh[opsur]_|github_pat_|glpat-|hf_|xox[abeprs]-|npm_|pypi-)[A-Za-z0-9_\-]{10,}",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"\bAIza[0-9A-Za-z_\-]{30,}",
        r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
        r"(?P<scheme>\b(?i:bearer|basic)\s+)[A-Za-z0-9._~+/=\-]{6,}",
        r"(?P<user>[a-z][a-z0-9+.\-]*://[^\s/:@]*:)[^\s/@]+@",
        r#"(?P<name>(?i:api[_-]?key|secret|token|passw(?:or)?d|passphrase|authorization|_key)["']?\s*[:=]\s*["']?)[^\s"',;}\[]{6,}"#,
    ];
    Regex::new(&shapes.join("|")).ok()
});

/// The same text, without what looks like a key, a token or a password in it.
#[must_use]
pub fn redact_text(text: &str) -> Cow<'_, str> {
    let Some(secrets) = SECRETS.as_ref() else { return Cow::Borrowed(REDACTED) };
    secrets.replace_all(text, |found: &Captures<'_>| {
        let before = ["scheme", "user", "name"].iter().find_map(|name| found.name(name));
        let after = if found.name("user").is_some() { "@" } else { "" };
        format!("{}{REDACTED}{after}", before.map_or("", |before| before.as_str()))
    })
}

/// A text as it is told: without secrets, and not endless.
pub(super) fn told(text: &str, longest: usize) -> String {
    let text = redact_text(text);
    match text.char_indices().nth(longest) {
        None => text.into_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_that_name_secrets() {
        for key in [
            "api_key",
            "apiKey",
            "OPENAI_API_KEY",
            "collector-api-key",
            "token",
            "SHOP_TOKEN",
            "accessToken",
            "password",
            "Authorization",
            "client_secret",
            "aws_secret_access_key",
            "x-apikey",
            "proxyAuth",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
        for key in [
            "max_tokens",
            "total_tokens",
            "token_usage",
            "prompt_tokens",
            "keyboard",
            "author",
            "monkey",
            "environment",
            "name",
            "tokenizer",
            "keys",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }

    #[test]
    fn values_go_and_names_stay() {
        let value = json!({
            "llm": {"model": "m", "api_key": "plain words", "max_tokens": 5, "key": null},
            "runner": {"environment_vars": {"SHOP_NAME": "not even this", "EMPTY": ""}, "env": ["A=b", "C"]},
            "metadata": {"environment": "local", "note": "call with Bearer abcdef123456"},
            "list": [{"password": {"nested": 1}}],
        });
        assert_eq!(
            redact(value),
            json!({
                "llm": {"model": "m", "api_key": REDACTED, "max_tokens": 5, "key": null},
                "runner": {"environment_vars": {"SHOP_NAME": REDACTED, "EMPTY": ""}, "env": ["A=[redacted]", "C"]},
                "metadata": {"environment": "local", "note": "call with Bearer [redacted]"},
                "list": [{"password": REDACTED}],
            })
        );
    }

    #[test]
    fn texts_keep_what_is_no_secret() {
        let check = |text: &str, expected: &str| assert_eq!(redact_text(text), expected);
        check("key sk-test-not-a-key, said the log", "key [redacted], said the log");
        check("a task-management tool at risk-free prices", "a task-management tool at risk-free prices");
        check("SHOP_TOKEN=abcdef1 run", "SHOP_TOKEN=[redacted] run");
        check(r#"{"api_key": "something"}"#, r#"{"api_key": "[redacted]"}"#);
        check("postgres://me:hunter2@host/db", "postgres://me:[redacted]@host/db");
        check("https://host:8080/path", "https://host:8080/path");
        check(
            "LLM API key not provided. Set --llm-api-key or FLUXLOOP_LLM_API_KEY.",
            "LLM API key not provided. Set --llm-api-key or FLUXLOOP_LLM_API_KEY.",
        );
    }

    #[test]
    fn long_texts_end() {
        assert_eq!(told("äöü", 2), "äö…");
        assert_eq!(told("äö", 2), "äö");
    }

    proptest! {
        #[test]
        fn a_secret_leaves_by_no_way(
            before in "[ a-z\"'=:{}\\[\\],.\n-]{0,20}",
            secret in "[A-Za-z0-9]{12,30}",
            after in "[ \"',}\n].{0,10}",
            key in "(api_key|SHOP_TOKEN|db-password|clientSecret|authorization)",
        ) {
            let marked = format!("sk-{secret}");
            let text = format!("{before} {marked}{after}");
            prop_assert!(!redact_text(&text).contains(&secret));
            let values = json!({ key: secret, "deep": [{"env": {"X": secret}}, {"note": text}] });
            prop_assert!(!redact(values).to_string().contains(&secret));
        }

        #[test]
        fn redacting_twice_changes_nothing(text in ".{0,80}") {
            let once = redact_text(&text).into_owned();
            prop_assert_eq!(redact_text(&once).into_owned(), once.clone());
        }
    }
}
