//! CSS as tokens, after CSS Syntax Level 3.
//!
//! Our own, and small: the crate that everybody uses for this is under a licence that `deny.toml` does not admit. What a
//! custom property can hold is all here; unicode ranges and the like are not.

/// A token of CSS. Comments are gone.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Ident(String),
    /// A name and its `(`.
    Function(String),
    At(String),
    Hash(String),
    Text(String),
    /// A string or address that is broken, a number that is too large.
    Bad,
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

/// A token and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) start: usize,
    pub(super) end: usize,
}

pub(super) fn tokenize(text: &str) -> Vec<Spanned> {
    let mut reader = Reader { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let start = reader.at;
        if reader.skip_comment() {
            continue;
        }
        let Some(token) = reader.token() else { return tokens };
        tokens.push(Spanned { token, start, end: reader.at });
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

fn starts_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_' || !letter.is_ascii()
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self, nth: usize) -> Option<char> {
        self.rest().chars().nth(nth)
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek(0)?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn skip_comment(&mut self) -> bool {
        if !self.rest().starts_with("/*") {
            return false;
        }
        self.at += self.rest()[2..].find("*/").map_or(self.rest().len(), |end| end + 4);
        true
    }

    fn token(&mut self) -> Option<Token> {
        let letter = self.peek(0)?;
        Some(match letter {
            _ if is_space(letter) => {
                while self.peek(0).is_some_and(is_space) {
                    self.next();
                }
                Token::Space
            }
            '"' | '\'' => self.string(),
            '(' | '[' | '{' => self.single(Token::Open(letter)),
            ')' | ']' | '}' => self.single(Token::Close(letter)),
            _ if self.number_here() => self.number(),
            _ if self.name_here() => self.word(),
            '#' | '@' => {
                self.next();
                let dashes = self.name_here() || self.peek(0).is_some_and(|next| next.is_ascii_digit());
                match (letter, dashes) {
                    ('#', true) => Token::Hash(self.name()),
                    ('@', true) => Token::At(self.name()),
                    _ => Token::Delim(letter),
                }
            }
            other => self.single(Token::Delim(other)),
        })
    }

    fn single(&mut self, token: Token) -> Token {
        self.next();
        token
    }

    fn escape_at(&self, nth: usize) -> bool {
        self.peek(nth) == Some('\\') && self.peek(nth + 1).is_some_and(|next| next != '\n')
    }

    fn name_here(&self) -> bool {
        match self.peek(0) {
            Some('-') => {
                self.peek(1).is_some_and(|next| next == '-' || starts_name(next)) || self.escape_at(1)
            }
            Some(letter) => starts_name(letter) || self.escape_at(0),
            None => false,
        }
    }

    fn number_here(&self) -> bool {
        let digit = |nth| self.peek(nth).is_some_and(|letter| letter.is_ascii_digit());
        match self.peek(0) {
            Some('+' | '-') => digit(1) || (self.peek(1) == Some('.') && digit(2)),
            Some('.') => digit(1),
            _ => digit(0),
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(letter) = self.peek(0) {
            if starts_name(letter) || letter.is_ascii_digit() || letter == '-' {
                name.push(letter);
                self.next();
            } else if self.escape_at(0) {
                self.next();
                name.push(self.escaped());
            } else {
                break;
            }
        }
        name
    }

    /// The character after a backslash: itself, or by its number.
    fn escaped(&mut self) -> char {
        let digits: String = self.rest().chars().take(6).take_while(char::is_ascii_hexdigit).collect();
        if digits.is_empty() {
            return self.next().unwrap_or('\u{fffd}');
        }
        self.at += digits.len();
        if self.peek(0).is_some_and(is_space) {
            self.next();
        }
        let number = u32::from_str_radix(&digits, 16).unwrap_or(0);
        char::from_u32(number).filter(|letter| *letter != '\0').unwrap_or('\u{fffd}')
    }

    fn string(&mut self) -> Token {
        let quote = self.next();
        let mut text = String::new();
        loop {
            match self.peek(0) {
                None => return Token::Text(text),
                Some('\n') => return Token::Bad,
                letter if letter == quote => {
                    self.next();
                    return Token::Text(text);
                }
                Some('\\') => {
                    self.next();
                    match self.peek(0) {
                        None => {}
                        Some('\n') => drop(self.next()),
                        Some(_) => text.push(self.escaped()),
                    }
                }
                Some(letter) => {
                    text.push(letter);
                    self.next();
                }
            }
        }
    }

    fn word(&mut self) -> Token {
        let name = self.name();
        if self.peek(0) != Some('(') {
            return Token::Ident(name);
        }
        self.next();
        let inner = self.rest().trim_start();
        if !name.eq_ignore_ascii_case("url") || inner.starts_with(['"', '\'']) {
            return Token::Function(name);
        }
        self.at += self.rest().find(')').map_or(self.rest().len(), |end| end + 1);
        Token::Url
    }

    fn number(&mut self) -> Token {
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
            self.next();
            Token::Percent(value.unwrap_or_default())
        } else if self.name_here() {
            Token::Dimension(value.unwrap_or_default(), self.name().to_lowercase())
        } else {
            Token::Number(value.unwrap_or_default())
        };
        if value.is_some() { token } else { Token::Bad }
    }
}
