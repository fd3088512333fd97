//! Whether a line of code or configuration holds a secret.
//!
//! [`redact_text`](super::redact_text) hides whatever may be one, in texts that are told. Here a line is left out of a diff
//! that is reviewed, so that `api_key = os.environ["API_KEY"]` must stay: values are told from names, types and calls.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::secret_names::{SecretNameKind, classify_name};
use super::secret_patterns::TOKEN_PATTERNS;
use super::secret_values::{ValueSyntax, is_placeholder, is_random, is_secret_value};

fn compile_regex(expression: &str) -> Option<Regex> {
    Regex::new(expression).ok()
}

/// A name, and what gives it a value.
static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_regex(
        r#"(?P<open>\\*["'`]?)(?P<name>[A-Za-z_$][A-Za-z0-9_$.\-]*)(?P<close>\\*["'`]?\]?\)?[?!]?)(?:[ \t]+(?:string|String|str|char\*?))?(?P<before>[ \t]*)(?P<sign>=>|:=|\?\?=|\|\|=|===?|!==?|=|:|>)(?P<after>[ \t]*)"#,
    )
});
static TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_regex(&format!("(?:{})", TOKEN_PATTERNS.join("|"))));
static PRIVATE_KEY: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_regex(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(.*)$"));
/// Values that are known by what stands before them; the group is the value.
static PREFIXED_VALUES: LazyLock<Option<Vec<Regex>>> = LazyLock::new(|| {
    [
        // Addresses with a password.
        r#"[A-Za-z][A-Za-z0-9+.\-]*://[^\s/:@"'`<>]*:([^\s/"'`<>]+)@"#,
        r#"[A-Za-z][A-Za-z0-9+.\-]*://[^\s/:@"'`<>{}$]*:([^\s"'`<>]+)@[A-Za-z0-9\[]"#,
        // Commands.
        r#"(?:^|[\s"'`(\[,])-{1,2}(?i:[a-z0-9_-]*(?:token|secret|passw(?:or)?d|passphrase|api-?key)|[a-z0-9_-]*(?:access|private|secret|auth|account)[_-]key)(?:["']\s*,\s*["']|\s*=\s*["']?|\s+["']?)([^\s"'`]+)"#,
        r#"\b(?i:sshpass)\s+-p\s*["']?([^\s"']+)"#,
        r#"\b(?i:mysql|mysqldump|mariadb|mysqladmin)\b[^|;]*\s-p["']?([^\s"']{3,})"#,
        r#"\b(?i:docker|podman|helm|az|oc)\s+(?:registry\s+)?login\b[^|;]*\s-p[\s=]*["']?([^\s"']+)"#,
        r#"\b(?i:redis-cli)\b[^|;]*\s-a\s+["']?([^\s"']+)"#,
        r#"\bpass:([^\s"']{3,})"#,
        r"\blogin\s+\S+\s+password\s+(\S+)",
        r#"\b(?i:ENV|setx|heroku config:set)\s+[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)\s+["']?([^\s"'=]+)"#,
        // Webhooks: the address is all that is needed to write.
        r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{16,})",
        r"discord(?:app)?\.com/api/webhooks/([0-9]+/[A-Za-z0-9_-]{16,})",
    ]
    .into_iter()
    .map(compile_regex)
    .collect()
});
/// `Bearer …` wherever it stands.
static BEARER: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_regex(r"\b(?i:bearer|basic)\s+([A-Za-z0-9._~+/=\-]{6,})"));
/// `curl -u name:password`, in one word, in two, and in a list of words.
static USER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_regex(
        r#"(?:^|[\s"'`\[(,])(?:-[a-zA-Z]*u|--user|--proxy-user)(?:["']\s*,\s*["']|\s*=\s*["']?|\s*["']?)([^\s:"'/]*):((?:[^\s"'/]|/[^\s"'/])[^\s"']*)"#,
    )
});
/// `setenv("API_KEY", "…")`, `.header("Authorization", "…")`, `getenv("API_KEY", "…")`.
static PAIR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_regex(
        r#"(?i:set|get|env|header|headers|add|append|insert|put|setdefault|item|config|secret|cookie|default)\w*!?\(\s*["'`]([A-Za-z_][A-Za-z0-9_.\-]*)["'`]\s*,\s*(?:default\s*=\s*)?[bru]{0,2}["'`]([^"'`]+)["'`]"#,
    )
});
/// `set_password("…")`.
static SETTER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_regex(r#"\b(?:set|with|use|Set|With|Use)_?([A-Za-z_]+)\(\s*[bru]{0,2}["'`]([^"'`]+)["'`]\s*\)"#)
});
/// `{"name": "API_KEY", "value": "…"}`.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_regex(
        r#"\b(?i:name|key)["']?\s*[:=]\s*["']?([A-Za-z_][A-Za-z0-9_.\-]*)["']?\s*,?\s*["']?(?i:value)["']?\s*[:=]\s*["']?([^"',}]+)"#,
    )
});
/// What is taken if there is nothing else.
static FALLBACK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_regex(
        r#"(?:\|\||\?\?|\bor\b|\belse\b|unwrap_or\w*\(|\?:)\s*(?:\|\|\s*)?[bru]{0,2}["'`]([^"'`]+)["'`]"#,
    )
});
static SHELL_DEFAULT: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_regex(r"\$\{([A-Za-z_][A-Za-z0-9_]*):?[-=]([^}]+)\}"));
/// Calls that give back what they take.
static WRAPPER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_regex(
        r#"^(?:new\s+)?(?:[A-Za-z_][A-Za-z0-9_]*(?:\.|::))*(?i:secretstr|secretbytes|secret|secretstring|securestring|from|str|string|bytes|some|b64decode|atob|field|literal|quote|unquote|trim)\(\s*(?:default\s*=\s*)?[bru]{0,2}["'`]([^"'`]+)["'`]"#,
    )
});
/// `str = "…"`: a type, and then the value.
static TYPED: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_regex(r"^(?:[A-Za-z0-9_\[\]., |?&<>:]|'static)+?=\s*([^=>\s].*)$"));

/// Whether a line of code or configuration holds a secret. For one that only its neighbours tell, see
/// [`find_secret_lines`](super::find_secret_lines).
pub fn contains_secret(line: &str) -> bool {
    contains_token(line)
        || contains_private_key(line)
        || contains_prefixed_value(line)
        || contains_named_pair(line)
        || contains_assigned_secret(line)
}

/// A whole key file in one line, or its first lines.
fn contains_private_key(line: &str) -> bool {
    captures(&PRIVATE_KEY, line).any(|found| has_base64_body(&found[1]))
}

/// Whether base64 stands in the rest of a line with a mark of PEM.
pub(super) fn has_base64_body(rest: &str) -> bool {
    rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '+' || c == '/')).any(|run| run.len() >= 16)
}

fn captures<'l>(
    expression: &'static LazyLock<Option<Regex>>,
    line: &'l str,
) -> impl Iterator<Item = Captures<'l>> {
    expression.as_ref().into_iter().flat_map(move |expression| expression.captures_iter(line))
}

/// Keys that are known by their form.
fn contains_token(line: &str) -> bool {
    captures(&TOKEN, line).any(|found| {
        let token = &found[0];
        let is_words = token.starts_with("sk-") && !super::secret_patterns::is_model_key(token);
        // The others begin like names that programs have, too.
        let is_sure = ["sk-", "eyJ", "AKIA", "ASIA"].iter().any(|start| token.starts_with(start));
        !is_words && !is_placeholder(token) && (is_sure || is_random(token))
    })
}

fn contains_prefixed_value(line: &str) -> bool {
    let is_told = |value: &str| {
        let value = value.trim_end_matches([',', ';', ')', ']', '}', '\\']);
        let is_metavariable = value.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        !is_metavariable
            && !value.starts_with('-')
            && is_secret_value(SecretNameKind::Password, value, ValueSyntax::Plain)
            && !is_prose(value)
    };
    let is_help = ["add_argument(", ".option(", "Option(", "addOption(", ".flag(", ".arg("]
        .iter()
        .any(|call| line.contains(call));
    let is_password = |value: &str| {
        !is_placeholder(value)
            || value.len() < 3 && !value.is_empty() && value.chars().all(char::is_alphanumeric)
    };
    PREFIXED_VALUES.iter().flatten().enumerate().any(|(at, expression)| {
        expression.captures_iter(line).any(|found| match at {
            0 => is_password(&found[1]),
            // A password with a slash in it, and not a port with a path behind it.
            1 => is_password(&found[1]) && !found[1].split('/').next().is_some_and(is_number),
            2 => !is_help && is_told(&found[1]),
            _ => is_told(&found[1]) || is_random(&found[1]),
        })
    }) || captures(&BEARER, line).any(|found| is_random(&found[1]) && !is_placeholder(&found[1]))
        || contains_user_password(line)
}

fn is_number(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

/// The word after a flag in a sentence about it.
fn is_prose(value: &str) -> bool {
    !super::secret_patterns::is_not_plain_word(value)
}

fn contains_user_password(line: &str) -> bool {
    // There `-u` names who runs it.
    let is_other = ["docker", "podman", "kubectl", "chown", "sudo", "git ", "date", "useradd"]
        .iter()
        .any(|name| line.contains(name));
    let is_curl = line.contains("curl") || line.contains("wget") || line.contains("http");
    captures(&USER, line).any(|found| {
        let (user, password) = (&found[1], &found[2]);
        let is_numbers = user.chars().chain(password.chars()).all(|c| c.is_ascii_digit());
        (is_curl || !is_other && !is_numbers)
            && !is_placeholder(password)
            && !password.starts_with(['$', '%', '\\'])
    })
}

fn contains_named_pair(line: &str) -> bool {
    let holds = |found: Captures<'_>| {
        classify_name(&found[1]).is_some_and(|kind| is_secret_value(kind, &found[2], ValueSyntax::Quoted))
    };
    [&PAIR, &SETTER, &NAMED, &SHELL_DEFAULT]
        .into_iter()
        .any(|expression| captures(expression, line).any(holds))
}

/// A value is no longer, or it is told by its beginning: the time stays in proportion.
const MAX_INSPECTED_BYTES: usize = 1024;

fn contains_assigned_secret(line: &str) -> bool {
    let mut quotes = QuoteTracker::default();
    let mut at = 0;
    captures(&ASSIGNMENT, line).any(|found| {
        let Some(whole) = found.get(0) else { return false };
        quotes.advance(&line[at..whole.start()], line[whole.start()..].chars().next());
        at = whole.start();
        let Some(kind) = classify_name(&found["name"]) else { return false };
        let end = line.floor_char_boundary(whole.end() + MAX_INSPECTED_BYTES);
        // A quote that begins before the name and does not end behind it holds more than the name.
        let own = found["open"].chars().last().filter(|quote| !found["close"].contains(*quote));
        let assignment = SecretAssignment {
            kind,
            found: &found,
            before: &line[..whole.start()],
            value: &line[whole.end()..end],
            enclosing_quote: quotes.open.or(own),
        };
        assignment.has_secret_value()
    })
}

/// A name that says that its value is a secret.
struct SecretAssignment<'l> {
    kind: SecretNameKind,
    found: &'l Captures<'l>,
    before: &'l str,
    value: &'l str,
    /// The quote that it stands in.
    enclosing_quote: Option<char>,
}

impl SecretAssignment<'_> {
    fn has_secret_value(&self) -> bool {
        let value = self.value;
        match &self.found["sign"] {
            ":" if value.starts_with([':', '/']) && self.found["after"].is_empty() => return false,
            ":" if value.starts_with('=') => return false,
            ">" => return self.has_secret_element(),
            "==" | "===" | "!=" | "!==" => {
                let is_told =
                    self.kind == SecretNameKind::Password && !self.found["name"].starts_with("type");
                return string_literal(value).is_some_and(|text| {
                    is_secret_value(self.kind, text, ValueSyntax::Quoted) && (is_told || is_random(text))
                });
            }
            _ => {}
        }
        // The quote that the name stands in ends here.
        if self.enclosing_quote.is_some_and(|quote| value.starts_with(quote)) {
            return false;
        }
        let quoted = |text: &str| is_secret_value(self.kind, text, ValueSyntax::Quoted);
        if let Some(text) = string_literal(value) {
            return quoted(text);
        }
        // A fallback of an argument is not that of the value.
        let is_outside = |before: &str| before.matches('(').count() <= before.matches(')').count();
        let inside = |value: &str| {
            let expressions = [(&SHELL_DEFAULT, 2), (&WRAPPER, 1)];
            expressions
                .into_iter()
                .any(|(expression, group)| captures(expression, value).any(|found| quoted(&found[group])))
                || captures(&FALLBACK, value).any(|found| {
                    let start = found.get(0).map_or(0, |found| found.start());
                    quoted(&found[1]) && is_outside(&value[..start])
                })
        };
        if inside(value) {
            return true;
        }
        if &self.found["sign"] == ":"
            && let Some(typed) = captures(&TYPED, value).next()
        {
            let value = typed.get(1).map_or("", |value| value.as_str());
            return string_literal(value).is_some_and(quoted) || inside(value);
        }
        self.has_unquoted_secret(self.enclosing_quote.is_some())
    }

    /// `<password>…</password>`
    fn has_secret_element(&self) -> bool {
        let text = self.value.split("</").next().unwrap_or_default();
        self.before.ends_with('<')
            && self.value.contains("</")
            && is_secret_value(self.kind, text, ValueSyntax::Plain)
    }

    /// A value without quotes.
    fn has_unquoted_secret(&self, is_in_text: bool) -> bool {
        let name = &self.found["name"];
        let is_close = self.found["before"].is_empty() && self.found["after"].is_empty();
        let is_equals = &self.found["sign"] == "=";
        let word = self.value.split(char::is_whitespace).next().unwrap_or_default();
        if is_in_text {
            // Addresses, connection strings, commands: `host=x password=y`, `A=x;B=y`.
            let word = word.split(['"', '\'', '`', '&', ';']).next().unwrap_or_default();
            let is_header =
                name.eq_ignore_ascii_case("authorization") || name.to_ascii_lowercase().contains("api-key");
            let value =
                if is_header { self.value.split(['"', '\'', '`']).next().unwrap_or_default() } else { word };
            return if is_equals && is_close || is_header {
                is_secret_value(self.kind, value, ValueSyntax::Plain)
            } else {
                is_random(word) && is_secret_value(self.kind, word, ValueSyntax::Loose)
            };
        }
        let is_upper = !name.contains(|c: char| c.is_ascii_lowercase());
        let is_query = self.before.ends_with(['?', '&', ';']);
        if is_equals && is_close {
            let start = self.before.trim_start();
            let is_first = start.len() == self.before.len()
                && ["", "export ", "set ", "ENV ", "ARG ", "env ", "# "].contains(&start);
            let word =
                if is_query { word.split(['&', ';', '"', '\'']).next().unwrap_or_default() } else { word };
            let is_argument = !is_upper && word.ends_with([',', ')']);
            return if is_upper || is_query || is_first && !is_argument {
                is_secret_value(self.kind, word.trim_end_matches(['"', '\'', '`']), ValueSyntax::Plain)
            } else {
                is_secret_value(self.kind, word, ValueSyntax::Loose)
            };
        }
        let value = strip_comment(self.value);
        let is_whole = !value.ends_with([',', ';', '{', '(', ')', '}', '|']);
        match &self.found["sign"] {
            ":" if is_whole && is_upper && !value.contains(char::is_whitespace) => {
                is_secret_value(self.kind, value, ValueSyntax::Yaml)
                    || self.found["name"].contains('_')
                        && is_secret_value(SecretNameKind::Password, value, ValueSyntax::Yaml)
                        && self.kind != SecretNameKind::Weak
            }
            ":" if is_whole => is_secret_value(self.kind, value, ValueSyntax::Yaml),
            sign => {
                let is_several = value.contains(char::is_whitespace);
                // `{password: x, user: y}`
                let is_entry = sign == ":" && word.ends_with([',', '}']);
                let own = if is_several { word } else { value };
                is_secret_value(self.kind, own, ValueSyntax::Loose)
                    && (!is_several || is_entry || is_random(word))
            }
        }
    }
}

/// The text of a string literal that a value begins with, up to its end or that of the line.
pub(super) fn string_literal(value: &str) -> Option<&str> {
    let bare = value.trim_start_matches(['(', '[']).trim_start();
    let prefixed = bare.trim_start_matches(['b', 'B', 'r', 'R', 'u', 'U', 'f', 'F', '@', '$', '&']);
    let escaped = prefixed.trim_start_matches('\\');
    let is_escaped = escaped.len() < prefixed.len();
    if bare.len() - prefixed.len() > 2 {
        return None;
    }
    let quote = escaped.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let text = escaped.trim_start_matches(quote);
    if escaped.len() - text.len() == 2 && !text.is_empty() {
        return Some("");
    }
    let mut is_after_backslash = false;
    for (at, decoded) in text.char_indices() {
        if decoded == quote && (!is_after_backslash || is_escaped) {
            return Some(text[..at].trim_end_matches('\\'));
        }
        is_after_backslash = decoded == '\\' && !is_after_backslash;
    }
    Some(text)
}

/// Which quote is open, after all that was read.
#[derive(Default)]
struct QuoteTracker {
    open: Option<char>,
    previous: Option<char>,
}

impl QuoteTracker {
    /// Reads on. `next` is what follows.
    fn advance(&mut self, text: &str, next: Option<char>) {
        let mut letters = text.chars().chain(next).peekable();
        for _ in 0..text.chars().count() {
            let Some(decoded) = letters.next() else { return };
            let is_apostrophe = decoded == '\''
                && self.open != Some('\'')
                && self.previous.is_some_and(char::is_alphabetic)
                && letters.peek().is_some_and(|next| next.is_alphabetic());
            if matches!(decoded, '"' | '\'' | '`') && self.previous != Some('\\') && !is_apostrophe {
                self.open = match self.open {
                    None => Some(decoded),
                    Some(quote) if quote == decoded => None,
                    other => other,
                };
            }
            self.previous = Some(decoded);
        }
    }
}

fn strip_comment(value: &str) -> &str {
    let end = [" #", " //", "\t#"].iter().filter_map(|mark| value.find(mark)).min().unwrap_or(value.len());
    value[..end].trim()
}
