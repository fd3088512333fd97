//! Secrets stay here. Everything that is passed on freely goes through [`redact`] or [`redact_text`].

use serde_json::{Map, Value};

use super::secret_patterns::{REDACTED, redact_text};

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
        Value::Array(items) => redact_list(items),
        Value::Object(entries) => {
            let entry = |(key, value): (String, Value)| {
                let value = redact_entry(&key, value);
                // A key may be the secret itself, in a reversed mapping.
                (redact_text(&key).into_owned(), value)
            };
            Value::Object(entries.into_iter().map(entry).collect())
        }
        other => other,
    }
}

/// What may be shown of a value under this key.
fn redact_entry(key: &str, value: Value) -> Value {
    if is_secret_key(key) {
        return hide_value(value);
    }
    let is_private = PRIVATE_MAPPINGS.contains(&key.to_ascii_lowercase().as_str());
    match value {
        Value::Object(entries) if is_private => {
            let entry = |(name, value): (String, Value)| (redact_text(&name).into_owned(), hide_value(value));
            Value::Object(entries.into_iter().map(entry).collect())
        }
        Value::Array(items) if is_private => Value::Array(items.into_iter().map(hide_assignment).collect()),
        other => redact(other),
    }
}

/// Nothing is told of it but that it is there.
fn hide_value(value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value,
        Value::String(text) if text.is_empty() => Value::String(text),
        _ => Value::String(REDACTED.to_owned()),
    }
}

/// A list, which may be a command: what follows `--token` is a secret.
fn redact_list(items: Vec<Value>) -> Value {
    let mut is_after_flag = false;
    let item = |item: Value| {
        let was_after_flag = std::mem::replace(&mut is_after_flag, item.as_str().is_some_and(is_secret_flag));
        match &item {
            Value::String(_) | Value::Number(_) if was_after_flag && !is_after_flag && !is_flag(&item) => {
                hide_value(item)
            }
            _ => redact(item),
        }
    };
    Value::Array(items.into_iter().map(item).collect())
}

/// The words of a command, without what is secret in them.
pub(super) fn redact_command(words: Vec<String>) -> Vec<String> {
    let Value::Array(words) = redact_list(words.into_iter().map(Value::String).collect()) else {
        return Vec::new();
    };
    words.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// `--token`, `-api-key`, and not `--token=x` or `--max-tokens`.
fn is_secret_flag(word: &str) -> bool {
    word.starts_with('-') && !word.contains(['=', ' ']) && is_secret_key(word)
}

fn is_flag(item: &Value) -> bool {
    item.as_str().is_some_and(|word| word.starts_with('-'))
}

/// `NAME=value`, or a mapping with a name.
fn hide_assignment(item: Value) -> Value {
    match item {
        Value::String(text) => Value::String(match (variable_name(&text), text.contains('=')) {
            (Some(name), true) => format!("{name}={REDACTED}"),
            (Some(name), false) => name.to_owned(),
            (None, _) => REDACTED.to_owned(),
        }),
        Value::Object(entries) => {
            let entry = |(key, value): (String, Value)| {
                let value = if key == "name" { redact(value) } else { hide_value(value) };
                (key, value)
            };
            Value::Object(entries.into_iter().map(entry).collect::<Map<_, _>>())
        }
        other => hide_value(other),
    }
}

/// The name in `NAME=value` or `NAME`, if it can be one. A secret that stands there alone is none.
pub(super) fn variable_name(assignment: &str) -> Option<&str> {
    let name = assignment.split('=').next().unwrap_or_default().trim();
    let is_name = !name.starts_with(|decoded: char| decoded.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|decoded| decoded.is_ascii_alphanumeric() || decoded == '_');
    (is_name && redact_text(name) == name).then_some(name)
}

/// Whether what stands under this key is a secret.
pub(super) fn is_secret_key(key: &str) -> bool {
    let words = split_words(key);
    let last = words.last().map(String::as_str).unwrap_or_default();
    let joined = words.concat();
    SECRET_ENDINGS.contains(&last)
        || words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
        || ["apikey", "apikeys", "accesskey", "privatekey", "authtoken", "accesstoken"]
            .iter()
            .any(|end| joined.ends_with(end))
}

/// `apiKey`, `API_KEY` and `api-key` are the same two words.
pub(super) fn split_words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for decoded in key.chars() {
        let starts_word = decoded.is_uppercase() && was_lower;
        if (starts_word || !decoded.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| decoded.is_alphanumeric()) {
            word.extend(decoded.to_lowercase());
        }
        was_lower = decoded.is_lowercase() || decoded.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A text as it is told: without secrets, and not endless.
pub(super) fn redact_and_truncate(text: &str, longest: usize) -> String {
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
    fn secret_keys_are_recognized() {
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
    fn secret_values_are_redacted_and_names_kept() {
        let value = json!({
            "llm": {"model": "m", "api_key": "plain words", "max_tokens": 5, "key": null},
            "runner": {"environment_vars": {"SHOP_NAME": "not even this", "EMPTY": ""}, "env": ["A=b", "C", "sk-test-not-a-key"]},
            "metadata": {"environment": "local", "note": "call with Bearer abcdef123456"},
            "list": [{"password": {"nested": 1}}],
        });
        assert_eq!(
            redact(value),
            json!({
                "llm": {"model": "m", "api_key": REDACTED, "max_tokens": 5, "key": null},
                "runner": {"environment_vars": {"SHOP_NAME": REDACTED, "EMPTY": ""}, "env": ["A=[redacted]", "C", REDACTED]},
                "metadata": {"environment": "local", "note": "call with Bearer [redacted]"},
                "list": [{"password": REDACTED}],
            })
        );
    }

    #[test]
    fn secrets_in_commands_are_redacted() {
        let check = |words: Value, expected: Value| assert_eq!(redact(words), expected);
        check(json!(["run", "--token", "hunter2"]), json!(["run", "--token", REDACTED]));
        check(json!(["--api-key", 12345, "-v"]), json!(["--api-key", REDACTED, "-v"]));
        check(json!(["--token", "--verbose", "x"]), json!(["--token", "--verbose", "x"]));
        check(json!(["--token", "--password", "x"]), json!(["--token", "--password", REDACTED]));
        check(json!(["--password=x", "serve"]), json!(["--password=[redacted]", "serve"]));
        check(json!(["--max-tokens", "5", "token", "x"]), json!(["--max-tokens", "5", "token", "x"]));
        check(json!(["sh", "-c", "run --token hunter2"]), json!(["sh", "-c", "run --token [redacted]"]));
        let words = ["serve", "--client-secret", "x y"].map(str::to_owned).to_vec();
        assert_eq!(redact_command(words), ["serve", "--client-secret", REDACTED]);
    }

    #[test]
    fn variable_names_are_parsed() {
        for (assignment, name) in [
            ("SHOP_TOKEN=x", Some("SHOP_TOKEN")),
            ("_a1", Some("_a1")),
            ("EMPTY=", Some("EMPTY")),
            ("sk-test-not-a-key", None),
            ("ghp_0123456789abcdef", None),
            ("1A=x", None),
            ("=x", None),
            ("", None),
            ("two words", None),
        ] {
            assert_eq!(variable_name(assignment), name, "{assignment}");
        }
    }

    #[test]
    fn long_texts_are_truncated() {
        assert_eq!(redact_and_truncate("äöü", 2), "äö…");
        assert_eq!(redact_and_truncate("äö", 2), "äö");
    }

    proptest! {
        #[test]
        fn secret_never_survives_redaction(
            before in "[ a-z\"'=:{}\\[\\],.\n-]{0,20}",
            secret in "[A-Za-z0-9]{12,30}[0-9][A-Za-z0-9]{0,4}",
            after in "[ \"',}\n].{0,10}",
            key in "(api_key|SHOP_TOKEN|db-password|clientSecret|authorization)",
        ) {
            let marked = format!("sk-{secret}");
            let text = format!("{before} {marked}{after}");
            prop_assert!(!redact_text(&text).contains(&secret));
            let command = ["run", "--access-token", secret.as_str()];
            let values = json!({
                key: secret, "deep": [{"env": {"X": secret}}, {"note": text}, command], "env": [format!("X={secret}")],
            });
            prop_assert!(!redact(values).to_string().contains(&secret));
        }
    }
}
