//! What names in code and configuration say about the values under them.

use super::redact::split_words;

/// How much a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretNameKind {
    /// Whatever stands there is a secret.
    Password,
    /// A key or a token that opens something.
    Key,
    /// `token` alone may be that of a lexer, too: a plain word is none.
    Token,
    /// Keys of all kinds: only what looks random is a secret.
    Weak,
}

/// A name that ends so tells something about a secret and holds none.
#[rustfmt::skip] // rows, not columns
const METADATA_SUFFIXES: &[&str] = &[
    "age", "algorithm", "algo", "alias", "arn", "at", "attribute", "bytes", "cache", "callback", "check", "class", "client", "column",
    "count", "counter", "date", "dir", "directory", "enabled", "encoding", "endpoint", "env", "error", "errors", "exp", "expiration", "expires",
    "expiry", "factory", "field", "fields", "file", "filename", "folder", "form", "format", "func", "function", "getter", "handler", "header",
    "help", "hint", "id", "ids", "index", "input", "kind", "label", "len", "length", "lifetime", "limit", "list", "loader", "location", "manager",
    "max", "message", "method", "min", "mode", "model", "name", "names", "param", "parameter", "parser", "path", "pattern", "placeholder", "policy",
    "position", "prefix", "prompt", "provider", "ref", "regex", "regexp", "required", "reset", "resource", "rotation", "rule", "rules", "schema",
    "scope", "scopes", "service", "size", "source", "status", "store", "strategy", "strength", "suffix", "text", "timeout", "title", "ttl", "type",
    "types", "uri", "url", "usage", "validator", "var", "variable", "version", "visible",
];

/// Keys with these words before `key` open something.
#[rustfmt::skip] // rows, not columns
const ACCESS_KEY_PREFIXES: &[&str] = &[
    "access", "account", "admin", "anthropic", "api", "app", "auth", "aws", "azure", "client", "crypto", "encryption", "hmac", "jwt", "master",
    "openai", "priv", "private", "secret", "service", "session", "shared", "signing", "ssh", "storage", "stripe", "subscription", "webhook",
];

/// Tokens with these words before `token` are pieces of text, or places in a list.
#[rustfmt::skip] // rows, not columns
const HARMLESS_TOKEN_PREFIXES: &[&str] = &[
    "audio", "begin", "bos", "cancel", "cancellation", "class", "cls", "continuation", "current", "each", "end", "eos", "eot", "first", "image",
    "last", "mask", "max", "new", "next", "of", "one", "pad", "page", "per", "prev", "previous", "sep", "special", "start", "stop", "sync", "text",
    "think", "tool", "unk", "video",
];

const PASSWORD_WORDS: [&str; 7] = ["password", "passwd", "passphrase", "passcode", "pwd", "pass", "pw"];

/// What a name says; nothing for one that names no secret.
pub(super) fn classify_name(name: &str) -> Option<SecretNameKind> {
    let words: Vec<String> = split_words(name)
        .iter()
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned())
        .filter(|word| !word.is_empty())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (last, before) = words.split_last()?;
    if METADATA_SUFFIXES.contains(last) {
        return None;
    }
    let previous = before.last().copied().unwrap_or_default();
    let ends = |endings: &[&str]| endings.iter().any(|ending| last.ends_with(ending));
    let is_password = PASSWORD_WORDS[..5].iter().any(|word| words.contains(word))
        || PASSWORD_WORDS[5..].contains(last)
        || ends(&["password", "passwd", "passphrase"]);
    if *last == "hash" || *last == "hashed" {
        return words.len().gt(&1).then_some(SecretNameKind::Weak);
    }
    if is_password {
        return Some(SecretNameKind::Password);
    }
    match *last {
        "token" if words.len() == 1 => Some(SecretNameKind::Token),
        "token" | "tok" if HARMLESS_TOKEN_PREFIXES.contains(&previous) => Some(SecretNameKind::Weak),
        "token" | "authorization" | "bearer" => Some(SecretNameKind::Key),
        "key" if ACCESS_KEY_PREFIXES.contains(&previous) || words.contains(&"secret") => {
            Some(SecretNameKind::Key)
        }
        "key" | "auth" | "secrets" | "credential" | "credentials" | "cookie" | "sig" | "signature" => {
            Some(SecretNameKind::Weak)
        }
        _ if words.contains(&"secret") => Some(SecretNameKind::Key),
        _ if ends(&[
            "apikey",
            "accesskey",
            "privatekey",
            "secretkey",
            "authtoken",
            "accesstoken",
            "secret",
        ]) =>
        {
            Some(SecretNameKind::Key)
        }
        _ if ends(&["token"]) && last.len() > 5 => Some(SecretNameKind::Weak),
        _ => None,
    }
}

/// Whether a text is made of nothing but words that name secrets: it is the name of one, and not its value.
pub(super) fn is_secret_name(text: &str) -> bool {
    #[rustfmt::skip] // rows, not columns
    const WORDS: &[&str] = &[
        "access", "api", "apikey", "auth", "authorization", "basic", "bearer", "client", "credential", "credentials", "current", "db", "env", "id",
        "key", "keys", "name", "new", "old", "pass", "passphrase", "passwd", "password", "passwords", "private", "pw", "pwd", "refresh", "secret",
        "secrets", "session", "token", "tokens", "user", "username", "value",
    ];
    let words = split_words(text);
    !words.is_empty()
        && words.iter().all(|word| {
            let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
            word.is_empty() || WORDS.contains(&word)
        })
        && words.iter().any(|word| word.contains(|c: char| c.is_ascii_alphabetic()))
}
