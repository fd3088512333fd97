//! A CSS tokenizer after CSS Syntax Level 3.
//!
//! Custom and small, because the usual crate has a licence that `deny.toml` does not allow. It covers
//! everything that a custom property can contain, but not unicode ranges and the like.

/// A CSS token. Comments are dropped.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CssToken {
    Ident(String),
    /// A name and its `(`.
    Function(String),
    At(String),
    Hash(String),
    Text(String),
    /// A malformed string or URL, or a number that is too large.
    Invalid,
    Url,
    Number(f64),
    Percent(f64),
    Dimension(f64, String),
    Space,
    Delim(char),
    /// `(`, `[` or `{`
    Open(char),
    /// `)`, `]` or `}`
    Close(char),
}

/// A token with its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpannedToken {
    pub(super) token: CssToken,
    pub(super) start: usize,
    pub(super) end: usize,
}

pub(super) fn tokenize(text: &str) -> Vec<SpannedToken> {
    let mut reader = CssTokenizer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let start = reader.at;
        if reader.skip_comment() {
            continue;
        }
        let Some(token) = reader.next_token() else { return tokens };
        tokens.push(SpannedToken { token, start, end: reader.at });
    }
}

struct CssTokenizer<'a> {
    text: &'a str,
    at: usize,
}

fn is_name_start(decoded: char) -> bool {
    decoded.is_ascii_alphabetic() || decoded == '_' || !decoded.is_ascii()
}

fn is_whitespace(decoded: char) -> bool {
    matches!(decoded, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

impl CssTokenizer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self, nth: usize) -> Option<char> {
        self.rest().chars().nth(nth)
    }

    fn bump(&mut self) -> Option<char> {
        let decoded = self.peek(0)?;
        self.at += decoded.len_utf8();
        Some(decoded)
    }

    fn skip_comment(&mut self) -> bool {
        if !self.rest().starts_with("/*") {
            return false;
        }
        self.at += self.rest()[2..].find("*/").map_or(self.rest().len(), |end| end + 4);
        true
    }

    fn next_token(&mut self) -> Option<CssToken> {
        let decoded = self.peek(0)?;
        Some(match decoded {
            _ if is_whitespace(decoded) => {
                while self.peek(0).is_some_and(is_whitespace) {
                    self.bump();
                }
                CssToken::Space
            }
            '"' | '\'' => self.read_string(),
            '(' | '[' | '{' => self.single(CssToken::Open(decoded)),
            ')' | ']' | '}' => self.single(CssToken::Close(decoded)),
            _ if self.is_at_number() => self.read_number(),
            _ if self.is_at_name() => self.read_ident_like(),
            '#' | '@' => {
                self.bump();
                let dashes = self.is_at_name() || self.peek(0).is_some_and(|next| next.is_ascii_digit());
                match (decoded, dashes) {
                    ('#', true) => CssToken::Hash(self.read_name()),
                    ('@', true) => CssToken::At(self.read_name()),
                    _ => CssToken::Delim(decoded),
                }
            }
            other => self.single(CssToken::Delim(other)),
        })
    }

    fn single(&mut self, token: CssToken) -> CssToken {
        self.bump();
        token
    }

    fn is_escape_at(&self, nth: usize) -> bool {
        self.peek(nth) == Some('\\') && self.peek(nth + 1).is_some_and(|next| next != '\n')
    }

    fn is_at_name(&self) -> bool {
        match self.peek(0) {
            Some('-') => {
                self.peek(1).is_some_and(|next| next == '-' || is_name_start(next)) || self.is_escape_at(1)
            }
            Some(decoded) => is_name_start(decoded) || self.is_escape_at(0),
            None => false,
        }
    }

    fn is_at_number(&self) -> bool {
        let digit = |nth| self.peek(nth).is_some_and(|decoded| decoded.is_ascii_digit());
        match self.peek(0) {
            Some('+' | '-') => digit(1) || (self.peek(1) == Some('.') && digit(2)),
            Some('.') => digit(1),
            _ => digit(0),
        }
    }

    fn read_name(&mut self) -> String {
        let mut name = String::new();
        while let Some(decoded) = self.peek(0) {
            if is_name_start(decoded) || decoded.is_ascii_digit() || decoded == '-' {
                name.push(decoded);
                self.bump();
            } else if self.is_escape_at(0) {
                self.bump();
                name.push(self.read_escape());
            } else {
                break;
            }
        }
        name
    }

    /// The character after a backslash: literal or by code point.
    fn read_escape(&mut self) -> char {
        let digits: String = self.rest().chars().take(6).take_while(char::is_ascii_hexdigit).collect();
        if digits.is_empty() {
            return self.bump().unwrap_or('\u{fffd}');
        }
        self.at += digits.len();
        if self.peek(0).is_some_and(is_whitespace) {
            self.bump();
        }
        let number = u32::from_str_radix(&digits, 16).unwrap_or(0);
        char::from_u32(number).filter(|decoded| *decoded != '\0').unwrap_or('\u{fffd}')
    }

    fn read_string(&mut self) -> CssToken {
        let quote = self.bump();
        let mut text = String::new();
        loop {
            match self.peek(0) {
                None => return CssToken::Text(text),
                Some('\n') => return CssToken::Invalid,
                decoded if decoded == quote => {
                    self.bump();
                    return CssToken::Text(text);
                }
                Some('\\') => {
                    self.bump();
                    match self.peek(0) {
                        None => {}
                        Some('\n') => drop(self.bump()),
                        Some(_) => text.push(self.read_escape()),
                    }
                }
                Some(decoded) => {
                    text.push(decoded);
                    self.bump();
                }
            }
        }
    }

    fn read_ident_like(&mut self) -> CssToken {
        let name = self.read_name();
        if self.peek(0) != Some('(') {
            return CssToken::Ident(name);
        }
        self.bump();
        let inner = self.rest().trim_start();
        if !name.eq_ignore_ascii_case("url") || inner.starts_with(['"', '\'']) {
            return CssToken::Function(name);
        }
        self.at += self.rest().find(')').map_or(self.rest().len(), |end| end + 1);
        CssToken::Url
    }

    fn read_number(&mut self) -> CssToken {
        let rest = self.rest().as_bytes();
        let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = usize::from(matches!(rest[0], b'+' | b'-'));
        end += digits(end);
        if rest.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if matches!(rest.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            if end + 1 + sign <= rest.len() && digits(end + 1 + sign) > 0 {
                end += 1 + sign + digits(end + 1 + sign);
            }
        }
        let value = self.rest()[..end].parse().ok().filter(|value: &f64| value.is_finite());
        self.at += end;
        let token = if self.peek(0) == Some('%') {
            self.bump();
            CssToken::Percent(value.unwrap_or_default())
        } else if self.is_at_name() {
            CssToken::Dimension(value.unwrap_or_default(), self.read_name().to_lowercase())
        } else {
            CssToken::Number(value.unwrap_or_default())
        };
        if value.is_some() { token } else { CssToken::Invalid }
    }
}
