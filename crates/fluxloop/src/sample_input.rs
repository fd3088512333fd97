//! The first input of a new FluxLoop project: one that the repository itself gives as an example, if there is one.

use crate::patterns;

use crate::integrate::RecipeInput;
use crate::project::contains_secret;

/// An input that every agent can answer.
const GENERAL_INPUT: &str = "Hello, what can you do for me?";

/// Files with example requests.
const FILES: &[&str] = &[
    "README.md",
    "readme.md",
    "README.rst",
    "docs/README.md",
    "docs/api.md",
    "API.md",
    "api.http",
    "requests.http",
    "test.http",
    "examples/request.json",
];

const MAX_INPUT_CHARS: usize = 200;

/// The example value of a request field in the documentation: `curl -d '{"message": "Where is my order?"}'`.
pub(crate) fn find_sample_input(input: &RecipeInput<'_>, field: Option<&str>) -> String {
    let found = field.and_then(|field| {
        let example =
            patterns::compile(&format!(r#"["']?{}["']?\s*:\s*"([^"\\\n]{{5,}})""#, regex::escape(field)))
                .ok()?;
        let query = patterns::compile(&format!(r"[?&]{}=([\w%+.,!'-]{{5,}})", regex::escape(field))).ok()?;
        FILES.iter().find_map(|file| {
            let text = input.file_text(&input.package_path(file));
            let written = example
                .captures_iter(&text)
                .filter_map(|found| found.get(1))
                .filter(|found| !is_response(&text[..found.start()]))
                .map(|found| found.as_str().trim().to_owned());
            let in_query = query.captures_iter(&text).map(|found| decode_query(&found[1]));
            written.chain(in_query).find(|value| is_usable(value))
        })
    });
    found.unwrap_or_else(|| GENERAL_INPUT.to_owned())
}

/// Whether an example is of what a program answers, by what stands before it.
fn is_response(before: &str) -> bool {
    const NEAR: usize = 400;
    let start = before.char_indices().rev().nth(NEAR).map_or(0, |(at, _)| at);
    let near = before[start..].to_lowercase();
    let last = |words: &[&str]| words.iter().filter_map(|word| near.rfind(word)).max();
    let answers = last(&["respon", "returns", "output", "响应", "返回", "antwort"]);
    let asks = last(&["request", "curl", "-d ", "body", "payload", "post ", "请求", "anfrage"]);
    answers.is_some() && answers > asks
}

/// A value as it was before it was put into an address.
fn decode_query(value: &str) -> String {
    let bytes = value.as_bytes();
    let (mut plain, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let hex = value.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        plain.push(decoded.unwrap_or(if *byte == b'+' { b' ' } else { *byte }));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Whether a value is what a user might write, and not a placeholder or a secret.
fn is_usable(value: &str) -> bool {
    let is_placeholder =
        ["...", "…", "<", "{", "your ", "string"].iter().any(|mark| value.to_lowercase().contains(mark));
    value.chars().count() <= MAX_INPUT_CHARS
        && value.contains(' ')
        && !is_placeholder
        && !codebase::find_invisible_chars(value).any(|_| true)
        && !contains_secret(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_answers_are_no_inputs() {
        assert!(is_response("curl -X DELETE /agents/1\n\nResponse:\n{\"message\": \""));
        assert!(!is_response("Response: 200\n\ncurl -d '{\"message\": \""));
        assert!(!is_response("{\"message\": \""));
    }

    #[test]
    fn values_of_a_query_are_decoded() {
        assert_eq!(decode_query("What+is%20it%3F"), "What is it?");
        assert_eq!(decode_query("100%"), "100%");
    }

    #[test]
    fn placeholders_and_secrets_are_no_inputs() {
        for (value, expected) in [
            ("Where is my order?", true),
            ("What does clause 4 mean", true),
            ("string", false),
            ("Your question here", false),
            ("<the question>", false),
            ("Ask …", false),
            ("hello", false),
        ] {
            assert_eq!(is_usable(value), expected, "{value}");
        }
    }
}
