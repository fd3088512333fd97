//! What secrets look like in a text.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::redact::is_secret_key;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// One way in which a secret may stand in a text.
struct SecretPattern {
    /// What stands before one, and stays.
    before: &'static str,
    secret: &'static str,
    /// What stands after it, and stays.
    after: &'static str,
    /// Whether it is one, where the expression does not tell.
    is_secret: fn(&str) -> bool,
}

const ALWAYS_SECRET: fn(&str) -> bool = |_| true;
/// A quote, in JSON that stands in a text of JSON perhaps with a backslash.
const QUOTE: &str = r#"(?:\\*["'])?"#;
/// What names a secret.
const NAME: &str =
    r"(?i:(?:api|access|private)[_-]?key|secret|token|passw(?:or)?d|passphrase|authorization|[_-]key)";
const SCHEME: &str = r"(?:(?i:bearer|basic|token|apikey)\s+)?";
/// `--token x`, `--token=x`, and `'--token', 'x'` as Python shows a command.
const FLAG: &str = r#"(?:^|[\s"'`(\[,=])-{1,2}(?i:[a-z0-9_-]*(?:token|secret|passw(?:or)?d|passphrase|api-?key|credentials?)|[a-z0-9_-]+[_-]key)(?:\\*["']\s*,\s*|\s*=\s*|\s+)"#;

/// `-u name:…` and `--user name:…`, of which `curl` also takes the short one in one word with what follows.
const LOGIN: &str = r#"(?:(?:^|[\s"'`(\[,])(?:-u|--user|--proxy-user)(?:\\*["']\s*,\s*|\s*=\s*|\s+)|\bcurl(?:\s+-{1,2}[A-Za-z\-]+)*\s+-[A-Za-z]*u\s*)"#;
/// What stands there without quotes. A sign at its end belongs to what is around it, one inside does not end it.
const UNQUOTED: &str = r#"[^\s"'=](?:[^\s"']*[^\s"',;})\]])?"#;

/// Keys that are known by their form wherever they stand.
pub(super) const TOKEN_PATTERNS: [&str; 9] = [
    r"\bsk-[A-Za-z0-9_\-]{6,}",
    r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{6,}",
    r"\b(?:gh[opsur]_|github_pat_|glpat-|hf_|xox[abeprs]-|npm_|pypi-)[A-Za-z0-9_\-]{10,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_\-]{30,}",
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
    r"\b(?:SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}|[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}|key-[0-9a-f]{32}|dapi[0-9a-f]{32})",
    r"\b(?:xapp-|whsec_|gsk_|r8_|pplx-|xai-|tvly-|lsv2_[a-z]{2}_|dop_v1_|shp(?:at|ca|pa|ss)_|lin_api_|ntn_|hvs\.|dckr_pat_)[A-Za-z0-9_\-]{20,}",
    r"\b(?:figd_|glsa_|NRAK-|sbp_|pcsk_|PMAK-|ATATT3|gl(?:ptt|dt|rt|cbt|oas|ft|soat)-|GOCSPX-|ya29\.|AGE-SECRET-KEY-1)[A-Za-z0-9_\-.=]{20,}",
];

/// The order counts: of two that begin at the same place the first is taken. `NAME` and so on stand for the above.
const SECRET_PATTERNS: [SecretPattern; 27] = [
    SecretPattern { secret: TOKEN_PATTERNS[0], is_secret: is_model_key, ..SecretPattern::BASE },
    SecretPattern { secret: TOKEN_PATTERNS[1], ..SecretPattern::BASE },
    SecretPattern { secret: TOKEN_PATTERNS[2], ..SecretPattern::BASE },
    SecretPattern { secret: TOKEN_PATTERNS[3], ..SecretPattern::BASE },
    SecretPattern { secret: TOKEN_PATTERNS[4], ..SecretPattern::BASE },
    SecretPattern { secret: TOKEN_PATTERNS[5], ..SecretPattern::BASE },
    SecretPattern { secret: TOKEN_PATTERNS[6], ..SecretPattern::BASE },
    SecretPattern { secret: TOKEN_PATTERNS[7], is_secret: has_random_run, ..SecretPattern::BASE },
    SecretPattern { secret: TOKEN_PATTERNS[8], is_secret: has_random_run, ..SecretPattern::BASE },
    SecretPattern {
        secret: r"(?s:-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z))",
        ..SecretPattern::BASE
    },
    SecretPattern {
        before: r#"\b[A-Za-z][A-Za-z0-9+.\-]*://[^\s/:@"'<>]*:"#,
        secret: r#"[^\s/"'<>]+"#,
        after: "@",
        is_secret: ALWAYS_SECRET,
    },
    SecretPattern {
        before: r"\b(?i:https?)://",
        secret: r#"[^\s/:@"'<>]+"#,
        after: "@",
        is_secret: looks_random,
    },
    // These go on in several words.
    SecretPattern {
        before: r"(?i:authorization)QUOTE\s*[:=]\s*QUOTE(?i:digest|hawk|oauth|negotiate|ntlm|aws4-hmac-sha256)\s+",
        secret: r"[^\r\n]+",
        ..SecretPattern::BASE
    },
    SecretPattern {
        before: r"\b(?i:set-cookie|cookie)QUOTE\s*:\s*QUOTE",
        secret: r#"[^\s=;"':]+=[^\r\n]+"#,
        ..SecretPattern::BASE
    },
    SecretPattern {
        before: r#"NAMEQUOTE\s*[:=]\s*SCHEME\\*"SCHEME"#,
        secret: r#"[^"\r\n]+"#,
        is_secret: is_not_scheme,
        ..SecretPattern::BASE
    },
    SecretPattern {
        before: r"NAMEQUOTE\s*[:=]\s*SCHEME\\*'SCHEME",
        secret: r"[^'\r\n]+",
        is_secret: is_not_scheme,
        ..SecretPattern::BASE
    },
    SecretPattern {
        before: r"(?i:authorization)QUOTE\s*[:=]\s*(?i:bearer|basic|token|apikey)\s+",
        secret: UNQUOTED,
        ..SecretPattern::BASE
    },
    SecretPattern {
        before: r"NAME=SCHEME",
        secret: UNQUOTED,
        is_secret: is_not_scheme,
        ..SecretPattern::BASE
    },
    SecretPattern {
        before: r"NAMEQUOTE\s*[:=]\s*SCHEME",
        secret: r#"[^\s"'=][^\s"']{4,}[^\s"',;})\]]"#,
        is_secret: is_not_scheme,
        ..SecretPattern::BASE
    },
    SecretPattern { before: r#"FLAG\\*""#, secret: r#"[^"\r\n]+"#, ..SecretPattern::BASE },
    SecretPattern { before: r"FLAG\\*'", secret: r"[^'\r\n]+", ..SecretPattern::BASE },
    SecretPattern {
        before: "FLAG",
        secret: r#"[^\s"'\-=\\][^\s"']*"#,
        is_secret: is_not_plain_word,
        ..SecretPattern::BASE
    },
    SecretPattern { before: r#"LOGIN\\*"[^\s:"'/]*:"#, secret: r#"[^"\r\n]+"#, ..SecretPattern::BASE },
    SecretPattern { before: r#"LOGIN\\*'[^\s:"'/]*:"#, secret: r"[^'\r\n]+", ..SecretPattern::BASE },
    SecretPattern {
        before: r#"LOGIN(?:[^\s:"'/0-9+\-][^\s:"'/]*)?:"#,
        secret: r#"(?:[^\s"'/]|/[^\s"'/])[^\s"']*"#,
        ..SecretPattern::BASE
    },
    // Two numbers are who runs a container.
    SecretPattern {
        before: r#"LOGIN[0-9][^\s:"'/]*:"#,
        secret: r#"(?:[^\s"'/]|/[^\s"'/])[^\s"']*"#,
        is_secret: |text| !text.chars().all(|decoded| decoded.is_ascii_digit()),
        ..SecretPattern::BASE
    },
    SecretPattern {
        before: r"\b(?i:bearer|basic)\s+",
        secret: r"[A-Za-z0-9._~+/=\-]{6,}",
        is_secret: looks_random,
        ..SecretPattern::BASE
    },
];

impl SecretPattern {
    const BASE: Self = Self { before: "", secret: "", after: "", is_secret: ALWAYS_SECRET };

    /// With one group: the secret.
    fn to_regex(&self) -> String {
        let before = self.before.replace("FLAG", FLAG).replace("LOGIN", LOGIN).replace("NAME", NAME);
        let before = before.replace("QUOTE", QUOTE).replace("SCHEME", SCHEME);
        format!("{before}({}){}", self.secret, self.after)
    }
}

/// A digit, capitals inside, or a length that no word has.
fn looks_random(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next();
    text.contains(|decoded: char| decoded.is_ascii_digit())
        || text.contains(|decoded: char| decoded.is_ascii_lowercase())
            && letters.any(|decoded| decoded.is_ascii_uppercase())
        || text.len() >= 20
}

/// A part of it is no word.
fn has_random_run(text: &str) -> bool {
    text.split(['-', '_', '.']).any(|run| run.len() >= 10 && looks_random(run))
}

/// `sk-learn-contrib` is a package, `sk-proj-…` and `sk-1aB…` are keys.
pub(super) fn is_model_key(text: &str) -> bool {
    let tail = &text[3..];
    let mut runs = tail.split(['-', '_']);
    let is_known = matches!(
        runs.next(),
        Some("test" | "live" | "proj" | "ant" | "or" | "svcacct" | "admin" | "service" | "None" | "lf")
    );
    let is_random = tail.split(['-', '_']).any(|run| run.len() >= 16 || run.len() >= 6 && looks_random(run));
    is_known
        || is_random
        || tail.len() >= 20 && looks_random(tail) && tail.contains(|c: char| c.is_ascii_digit())
}

/// `Bearer` itself is no secret, nor is `Authorization:`: what they announce stands behind. Only names that the shapes know:
/// others announce nothing here, and may be the secret.
fn is_not_scheme(text: &str) -> bool {
    static SECRET_NAME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!("^[A-Za-z_-]*(?:{NAME}|(?i:cookie))$")).ok());
    let schemes = ["bearer", "basic", "digest", "token", "apikey"];
    let text = text.trim();
    let is_name = text.strip_suffix([':', '=']).is_some_and(|name| {
        SECRET_NAME.as_ref().is_some_and(|names| names.is_match(name)) && is_secret_key(name)
    });
    !is_name && !schemes.iter().any(|scheme| text.eq_ignore_ascii_case(scheme))
}

/// "Set --api-key or …" is a sentence and no command.
pub(super) fn is_not_plain_word(text: &str) -> bool {
    const PLAIN_WORDS: [&str; 44] = [
        "a",
        "after",
        "also",
        "an",
        "and",
        "are",
        "argument",
        "as",
        "at",
        "be",
        "because",
        "before",
        "but",
        "by",
        "can",
        "cannot",
        "flag",
        "for",
        "from",
        "has",
        "if",
        "in",
        "instead",
        "is",
        "it",
        "may",
        "missing",
        "must",
        "needs",
        "not",
        "of",
        "on",
        "option",
        "or",
        "parameter",
        "should",
        "the",
        "to",
        "unless",
        "was",
        "when",
        "which",
        "with",
        "without",
    ];
    let word = text.trim_end_matches(|decoded: char| !decoded.is_alphanumeric()).to_ascii_lowercase();
    is_not_scheme(text) && !PLAIN_WORDS.contains(&word.as_str())
}

static SECRET_REGEX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let shapes: Vec<_> = SECRET_PATTERNS.iter().map(SecretPattern::to_regex).collect();
    Regex::new(&shapes.join("|")).ok()
});

/// Whether it went already, but for signs around it.
fn is_redacted(secret: &str) -> bool {
    let rest = secret.strip_prefix(&REDACTED[..REDACTED.len() - 1]);
    rest.is_some_and(|rest| !rest.contains(char::is_alphanumeric))
}

/// What is longer is no word and no announcement, and not looked into for another secret: the time stays in proportion.
const MAX_INSPECTED_BYTES: usize = 256;

/// The same text, without what looks like a key, a token or a password in it.
#[must_use]
pub fn redact_text(text: &str) -> Cow<'_, str> {
    let mut shown = redact_once(text);
    // What is left can look like a secret only now, beside what went.
    for _ in 0..MAX_EXTRA_PASSES {
        let Cow::Owned(before) = &shown else { break };
        let next = match redact_once(before) {
            Cow::Owned(next) if next != *before => next,
            _ => break,
        };
        shown = Cow::Owned(next);
    }
    shown
}

/// More than one is needed for nothing but texts that were made up.
const MAX_EXTRA_PASSES: usize = 3;

fn redact_once(text: &str) -> Cow<'_, str> {
    let Some(secrets) = SECRET_REGEX.as_ref() else { return Cow::Borrowed(REDACTED) };
    let (mut shown, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(found) = secrets.captures_at(text, at) {
        // The groups are the secrets of the shapes, behind one that is all of it.
        let mut secrets = SECRET_PATTERNS.iter().zip(found.iter().skip(1));
        let Some((shape, secret)) = secrets.find_map(|(shape, group)| Some((shape, group?))) else { break };
        if is_redacted(secret.as_str()) {
            at = secret.end();
        } else if secret.len() > MAX_INSPECTED_BYTES || (shape.is_secret)(secret.as_str()) {
            if secret.start() >= copied {
                shown.push_str(&text[copied..secret.start()]);
                shown.push_str(REDACTED);
            }
            copied = copied.max(secret.end());
            // What was taken for one may announce another that stands behind it.
            at = if secret.len() <= MAX_INSPECTED_BYTES { secret.start().max(at + 1) } else { secret.end() };
        } else {
            // Inside of what was none there may be one.
            at = found.get(0).map_or(at, |found| found.start()) + 1;
        }
        at = text.ceil_char_boundary(at);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_redacted() {
        let check = |text: &str, expected: &str| assert_eq!(redact_text(text), expected);
        check("key sk-test-not-a-key, said the log", "key [redacted], said the log");
        check("sk-abc123def", "[redacted]");
        check("token=c2VjcmV0Cg== password='a:'", "token=[redacted] password='[redacted]'");
        check("SHOP_TOKEN=abcdef1 run", "SHOP_TOKEN=[redacted] run");
        check(r#"{"api_key": "something"}"#, r#"{"api_key": "[redacted]"}"#);
        check(
            r#"{"apiKey": "pwdAaaA:"} SHOP_TOKEN=pwdAaaA:"#,
            r#"{"apiKey": "[redacted]"} SHOP_TOKEN=[redacted]"#,
        );
        check("token: Cookie: session=abc", "token: Cookie: [redacted]");
        check(r#"{\"api_key\": \"two words\"}"#, r#"{\"api_key\": \"[redacted]"}"#);
        check("{'passphrase': 'two words'}", "{'passphrase': '[redacted]'}");

        check("Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted]");
        check("Authorization: Bearer abc", "Authorization: Bearer [redacted]");
        check("authorization=Basic dXNlcjpwYXNz", "authorization=Basic [redacted]");
        check(r#"-H "Authorization: token abcdef" x"#, r#"-H "Authorization: token [redacted]" x"#);
        check(r#""Authorization": "Bearer abc def", 1"#, r#""Authorization": "Bearer [redacted]", 1"#);
        check(
            "Authorization: Digest username=\"u\", response=\"x\"\nnext",
            "Authorization: Digest [redacted]\nnext",
        );
        check("token: Bearer abcdef", "token: Bearer [redacted]");
        check("token: token: abcdef1", "token: token: [redacted]");
        check("Cookie: session=abc; theme=dark\nnext", "Cookie: [redacted]\nnext");
        check(
            "with Bearer abcdef123456 and Basic dXNlcjpwYXNz",
            "with Bearer [redacted] and Basic [redacted]",
        );

        check("run --token hunter2hunter2 --verbose", "run --token [redacted] --verbose");
        check("run --api-key X", "run --api-key [redacted]");
        check("--db-password 'two words' x", "--db-password '[redacted]' x");
        check("--password=x", "--password=[redacted]");
        check(
            "Command '['run', '--token', 'hunter2']' failed",
            "Command '['run', '--token', '[redacted]']' failed",
        );

        check("password=ab,cd;ef}gh[ij]kl, next", "password=[redacted], next");
        check("token: [abc}def;ghi) next", "token: [redacted]) next");
        check("password=[x", "password=[redacted]");
        check("Authorization: Bearer ab,cd;ef[0]x", "Authorization: Bearer [redacted]");
        check("run --token [ab,cd", "run --token [redacted]");
        check("{token:abcdef1,\"user\":\"x\"}", "{token:[redacted],\"user\":\"x\"}");
        check("password=[redacted], token: [redacted]}", "password=[redacted], token: [redacted]}");

        check("curl -u me:hunter2 https://host", "curl -u me:[redacted] https://host");
        check("curl -sSu me:hunter2 https://host", "curl -sSu me:[redacted] https://host");
        check("curl -ume:hunter2 x", "curl -ume:[redacted] x");
        check("curl --user \"me:two words\" x", "curl --user \"me:[redacted]\" x");
        check("curl --proxy-user=me:1234 x", "curl --proxy-user=me:[redacted] x");
        check("curl -u 12345:abc x", "curl -u 12345:[redacted] x");
        check("['curl', '-u', ':hunter2']", "['curl', '-u', ':[redacted]']");
        check(
            "curl -H 'Authorization: Bearer abc' -u a:b",
            "curl -H 'Authorization: Bearer [redacted]' -u a:[redacted]",
        );
        check("with gsk_0123456789abcdefghijABCDEFGHIJ", "with [redacted]");

        check("postgres://me:hunter2@host/db", "postgres://me:[redacted]@host/db");
        check("https://user:p@ss@host/a@b", "https://user:[redacted]@host/a@b");
        check("redis://:x@host", "redis://:[redacted]@host");
        check("https://0123abc@host/", "https://[redacted]@host/");
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in [
            "the token usage was 5; keyboard, monkey: business",
            "pip install sk-learn-contrib sk-learn-contributors",
            "a task-management tool at risk-free prices",
            "https://host:8080/path and https://me@host/ and git@host:x/y.git",
            "LLM API key not provided. Set --llm-api-key or FLUXLOOP_LLM_API_KEY.",
            "--token is missing; give --password.",
            "--max-tokens 500 --keyboard qwertz --tokenizer gpt2",
            "basic information for the bearer of the ticket, basic understanding",
            "if token==None: raise",
            "max_tokens=500, total_tokens: 123456",
            "Cookie: a small cake",
            "docker run -u 1000:1000 image; date -u +%H:%M; git push -u origin a:b; sonar -u https://host",
            "an xai-explainability-toolkit-for-everyone",
        ] {
            assert_eq!(redact_text(text), text);
        }
    }

    /// This would take minutes if every name were looked at up to the end of the text.
    #[test]
    fn redaction_time_is_linear() {
        assert_eq!(redact_text(&"token=".repeat(100_000)), "token=[redacted]");
        assert!(!redact_text(&"token:\"x".repeat(20_000)).contains("\"x"));
    }

    /// Where a secret may stand: `{}`.
    const SECRET_TEMPLATES: [&str; 18] = [
        "Authorization: Bearer {}",
        "authorization=Basic {}",
        "Proxy-Authorization: Digest username=\"u\", response=\"{}\"",
        "Cookie: session={}; theme=dark",
        "run --token {} --verbose",
        "run --api-key={}",
        "run --client-secret \"{}\"",
        "['run', '--token', '{}']",
        "[\"run\", \"--password\", \"{}\"]",
        "https://user:{}@host/path",
        "postgres://:{}@host",
        "{\"apiKey\": \"{}\"}",
        "{\\\"password\\\": \\\"{}\\\"}",
        "SHOP_TOKEN={}",
        "private-key: {}",
        "token: Bearer {}",
        "curl -u me:{}",
        "PASSWORD=a,b;c}d[{}",
    ];

    proptest! {
        #[test]
        fn secret_is_redacted_in_every_template(
            before in "([ a-z\"'=:{}\\[\\],.\n-]|--token |Bearer |token: |\\[redacted\\]){0,12}",
            place in prop::sample::select(&SECRET_TEMPLATES[..]),
            secret in "[a-z]{3,12}[A-Z0-9][a-zA-Z0-9]{3,12}",
            padding in "={0,2}|:",
            after in "[ \n].{0,10}",
        ) {
            let text = format!("{before} {}{after}", place.replacen("{}", &format!("{secret}{padding}"), 1));
            let shown = redact_text(&text);
            prop_assert!(!shown.contains(&secret), "{text:?}: {shown:?}");
        }

        #[test]
        fn redaction_is_idempotent(text in
            "(.|Authorization|[Tt]oken|password|Cookie|Bearer |Basic |Digest |--token|--api-key|https://|sk-|\\[redacted\\]|[ :=@/\"',;\\\\\n-]|[a-zA-Z0-9]{1,12}){0,20}"
        ) {
            let once = redact_text(&text).into_owned();
            prop_assert_eq!(redact_text(&once), once.as_str(), "{:?}", text);
        }

        #[test]
        fn plain_words_are_unchanged(text in "([a-z]{1,10}[ ,.]{1,2}){0,12}") {
            prop_assert_eq!(redact_text(&text), text.as_str());
        }
    }
}
