//! Whether a value in code or configuration is a secret, or stands for one.

use std::sync::LazyLock;

use regex::Regex;

use super::secret_names::{SecretNameKind, is_secret_name};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueSyntax {
    /// As a text in quotes.
    Quoted,
    /// As it is, where there is nothing but values: `.env`, a query, a command.
    Plain,
    /// As it is, in what may be YAML, and may be code.
    Yaml,
    /// As it is, in what is code, or may be.
    Loose,
}

/// Whether a value under such a name is a secret.
pub(super) fn is_secret_value(kind: SecretNameKind, value: &str, written: ValueSyntax) -> bool {
    let value = strip_scheme(value.trim());
    if is_placeholder(value) || is_secret_name(value) {
        return false;
    }
    if kind == SecretNameKind::Weak {
        let is_quoted = matches!(written, ValueSyntax::Quoted | ValueSyntax::Plain);
        let is_value = is_quoted || has_digit(value) && !is_expression(value) && !value.starts_with("0x");
        return is_value && is_random(value) && !is_path(value);
    }
    if is_path(value) || is_setting_keyword(value) {
        return false;
    }
    match written {
        ValueSyntax::Quoted | ValueSyntax::Plain if value.contains(char::is_whitespace) => {
            !is_sentence(value)
        }
        ValueSyntax::Quoted => kind != SecretNameKind::Token || !is_word(value),
        ValueSyntax::Plain => !is_expression(value) || is_random(value),
        ValueSyntax::Yaml if kind == SecretNameKind::Password && value.contains(char::is_whitespace) => {
            !is_sentence(value) && value.split_whitespace().all(|word| is_word(word) || is_random(word))
        }
        ValueSyntax::Yaml if kind == SecretNameKind::Password && is_word(value) => !is_type_name(value),
        ValueSyntax::Yaml | ValueSyntax::Loose => is_unquoted_secret(kind, value),
    }
}

/// `Bearer abc` is `abc`.
fn strip_scheme(value: &str) -> &str {
    let Some((scheme, rest)) = value.split_once(' ') else {
        let is_scheme =
            ["bearer", "basic", "digest", "token"].iter().any(|known| value.eq_ignore_ascii_case(known));
        return if is_scheme { "" } else { value };
    };
    let known = ["bearer", "basic", "digest", "token", "apikey", "bot", "key", "hawk", "negotiate"];
    if known.iter().any(|known| scheme.eq_ignore_ascii_case(known)) { rest.trim_start() } else { value }
}

static INTERPOLATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\$\{\{?[^}]*\}\}?|\{\{[^}]*\}\}|<%[^>]*%>|\$\([^)]*\)|#\{[^}]*\}|\{[A-Za-z_][^{}]*\}|\{\}|%\([A-Za-z_]+\)s|%[sdvr]|%[A-Z_]+%|^\$[A-Za-z_][A-Za-z0-9_]*|\$[A-Z_][A-Z0-9_]+").ok()
});

/// Whether a text stands for a secret that is elsewhere, or is to be put in its place.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    if value.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
        return true;
    }
    let wraps = [('<', '>'), ('[', ']'), ('{', '}'), ('(', ')')];
    if wraps.iter().any(|(open, close)| value.starts_with(*open) && value.ends_with(*close)) {
        return true;
    }
    #[rustfmt::skip] // rows, not columns
    let elsewhere = [
        "!env", "!vault", "!ref", "!sub", "!secret", "!getatt", "!reference", "enc[", "op://", "arn:", "vault:", "file:", "env:", "secretref:",
        "ref+", "keyring:", "secret:", "ssm:", "projects/", "process.env", "os.environ", "env.", "secrets.", "var.", "local.", "import.meta",
        "@microsoft.keyvault", "data:", "config.", "settings.", "self.", "this.",
    ];
    let lower = value.to_lowercase();
    if elsewhere.iter().any(|start| lower.starts_with(start)) {
        return true;
    }
    if let Some(inserted) = INTERPOLATION.as_ref()
        && inserted.is_match(value)
    {
        // A password may have a dollar in it; what is left of it tells.
        let rest = inserted.replace_all(value, " ");
        let left = rest.chars().filter(|c| c.is_alphanumeric()).count();
        return value.starts_with(['$', '{', '%', '#', '<'])
            || left < 6
            || !rest.split_whitespace().any(has_digit);
    }
    is_filler(value) || is_placeholder_text(&lower)
}

/// `xxx`, `sk-xxxxxxxx`, `****`, `abc...`: at least half of it is the same letter, again and again.
fn is_filler(value: &str) -> bool {
    let (mut longest, mut run, mut last) = (0, 0, None);
    for decoded in value.chars() {
        let decoded = decoded.to_ascii_lowercase();
        run = if last == Some(decoded) { run + 1 } else { 1 };
        last = Some(decoded);
        if matches!(decoded, 'x' | '*' | '.' | '0' | '_' | '?' | '#' | '•' | '-') {
            longest = longest.max(run);
        }
    }
    let letters = value.chars().count();
    longest >= 3 && (longest * 2 >= letters.saturating_sub(3) || value.ends_with("..."))
        || value.ends_with('…')
}

/// `your-key-here`, `changeme`, `dummy`.
fn is_placeholder_text(lower: &str) -> bool {
    #[rustfmt::skip] // rows, not columns
    const WORDS: &[&str] = &[
        "your", "yours", "yourkey", "yourtoken", "yourpassword", "example", "placeholder", "changeme", "changeit", "replaceme", "replace", "insert",
        "dummy", "fake", "sample", "todo", "tbd", "redacted", "fixme", "notset", "unset", "undefined", "masked", "hidden", "removed",
    ];
    const TEST: [&str; 6] = ["test", "tests", "testing", "mock", "foo", "bar"];
    let mut words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| is_random(word)) {
        return false;
    }
    words.iter().any(|word| WORDS.contains(word))
        || words
            .windows(2)
            .any(|pair| matches!(pair, ["change" | "fill", "me" | "this" | "in"] | ["goes", "here"]))
        || {
            let all = words.len();
            words.retain(|word| !TEST.contains(word));
            words.len() < all && (words.is_empty() || words.iter().all(|word| is_secret_name(word)))
        }
}

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

/// A run of letters and digits that no word is.
pub(super) fn is_random(value: &str) -> bool {
    let is_run = |run: &str| {
        let letters = run.contains(|c: char| c.is_ascii_alphabetic());
        let mixed =
            run.contains(|c: char| c.is_ascii_lowercase()) && run.contains(|c: char| c.is_ascii_uppercase());
        run.len() >= 10 && has_digit(run) && letters || run.len() >= 20 && mixed
    };
    value.split(|c: char| !c.is_ascii_alphanumeric()).any(is_run)
}

/// A word of letters alone, perhaps of several parts: `end_of_line`.
fn is_word(value: &str) -> bool {
    value.len() < 20 && value.chars().all(|c| c.is_alphabetic() || matches!(c, '_' | '-'))
}

/// Whether a text of several words is told to people.
fn is_sentence(value: &str) -> bool {
    #[rustfmt::skip] // rows, not columns
    const WORDS: &[&str] = &[
        "a", "an", "and", "are", "be", "by", "can", "cannot", "do", "enter", "for", "from", "if", "in", "invalid", "is", "it", "its", "missing",
        "must", "no", "not", "of", "on", "optional", "or", "please", "required", "should", "the", "this", "to", "used", "was", "when", "with",
        "wrong", "your",
    ];
    let words: Vec<String> = value.split_whitespace().map(str::to_lowercase).collect();
    let plain = |word: &String| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        WORDS.contains(&word) || is_secret_name(word)
    };
    !words.iter().any(|word| is_random(word)) && (words.iter().any(plain) || words.len() > 6)
        || value.ends_with(['.', '?', '!', ':', '…']) && !has_digit(value)
}

/// `/run/secrets/token`, `certs/server.key`.
fn is_path(value: &str) -> bool {
    let starts = ["/", "./", "../", "~/", "C:\\"].iter().any(|start| value.starts_with(start));
    let extension = value.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_file = matches!(
        extension,
        "pem"
            | "key"
            | "crt"
            | "cer"
            | "p12"
            | "pfx"
            | "json"
            | "yaml"
            | "yml"
            | "toml"
            | "txt"
            | "env"
            | "file"
            | "pub"
            | "py"
            | "js"
            | "ts"
    );
    let is_plain = value.chars().all(|c| c.is_alphanumeric() || "/._-~\\: ".contains(c));
    is_plain
        && (starts && value.len() > 1 || is_file)
        && !value.split(['/', '\\']).any(|part| part.len() >= 16 && is_random(part))
        || is_url(value)
}

/// An address without a secret in it; those with one are known by their own form.
fn is_url(value: &str) -> bool {
    value
        .split_once("://")
        .is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c)))
}

/// Words that settings have where others have secrets.
fn is_setting_keyword(value: &str) -> bool {
    #[rustfmt::skip] // rows, not columns
    const WORDS: &[&str] = &[
        "true", "false", "none", "null", "nil", "undefined", "yes", "no", "on", "off", "include", "same-origin", "omit", "inherit", "required",
        "optional", "auto", "default", "disabled", "enabled", "oauth", "oauth2", "jwt", "header", "query", "environment", "prompt", "ask",
        "interactive", "generate", "random", "read", "write", "hash", "hashed", "plain", "plaintext", "input", "external", "missing", "invalid",
        "sha1", "sha256", "sha512", "md5", "utf8", "utf-8", "base64", "hs256", "rs256", "es256", "argon2", "argon2id", "pbkdf2", "scrypt", "bcrypt",
    ];
    WORDS.contains(&value.to_lowercase().as_str())
}

fn is_type_name(value: &str) -> bool {
    #[rustfmt::skip] // rows, not columns
    const TYPES: &[&str] = &[
        "str", "string", "bytes", "int", "integer", "float", "bool", "boolean", "any", "object", "dict", "list", "number", "unknown", "never", "void",
        "text", "varchar", "binary", "byte", "char", "symbol", "bigint", "uuid", "array", "map",
    ];
    TYPES.contains(&value) || value.starts_with(|c: char| c.is_ascii_uppercase())
}

static EXPRESSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^[&*!@(]*[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|->|\?\.|!\.)[A-Za-z_$][A-Za-z0-9_$]*)+[!?]?$|^[&*!@]*[A-Za-z_$][A-Za-z0-9_$.:]*[(\[<].*$").ok()
});

/// `settings.token`, `get_token()`, `tokens[0]`.
fn is_expression(value: &str) -> bool {
    EXPRESSION.as_ref().is_some_and(|expression| expression.is_match(value))
}

/// Whether a value without quotes is one, where it may be the name of a variable as well.
fn is_unquoted_secret(kind: SecretNameKind, value: &str) -> bool {
    let value = value.trim_end_matches([',', ';', ')', '}']);
    let special = value.contains(|c: char| "!@#%^~+=/-".contains(c));
    if value.contains(char::is_whitespace)
        || value.starts_with(['(', '[', '{', '*', '&', '|', '>', '\\', '-', '=', '!'])
    {
        return false;
    }
    if is_expression(value) {
        return is_random(value) && value.contains(['+', '/', '=', '!', '#', '%', '^', '~']);
    }
    if value.chars().all(|c| c.is_ascii_digit()) {
        return value.len() >= 4 && kind == SecretNameKind::Password;
    }
    let of_name = || {
        let parts: Vec<&str> = value.split('_').collect();
        parts.len() > 1 && parts.iter().any(|part| is_secret_name(part))
    };
    let mixed =
        value.contains(|c: char| c.is_ascii_lowercase()) && value.contains(|c: char| c.is_ascii_uppercase());
    value.len() >= 6
        && (has_digit(value) && !of_name()
            || special && (mixed || value.len() >= 16)
            || is_random(value) && has_digit(value))
}
