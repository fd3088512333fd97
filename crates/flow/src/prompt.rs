//! Questions, and what counts as an answer to each.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use jiff::civil;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question as data: what every front needs to show it and what [`check`](crate::check) needs to judge it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// What to say.
    pub message: String,
    /// What to show in an empty field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// What an empty answer means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether an empty answer without a default is refused.
    pub required: bool,
    /// What kind of answer is wanted.
    pub shape: Shape,
}

/// The seven kinds of answers and their bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Shape {
    /// Text; lengths in characters.
    Text { min: usize, max: usize, pattern: Option<String> },
    /// One of the options, or several: (value, label).
    Choice { options: Vec<(String, String)>, several: bool },
    /// Yes or no.
    Confirm,
    /// A number, whole or not.
    Number { min: Option<f64>, max: Option<f64>, whole: bool },
    /// A day of the calendar.
    Date { min: Option<civil::Date>, max: Option<civil::Date> },
    /// A file: a path beneath the root, or its content.
    File { max_bytes: usize },
    /// Anything that fits a JSON schema.
    Custom { schema: Value },
}

impl Shape {
    /// A name for this kind, which the journal keeps: the identity of a question, unlike its wording.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Choice { several: false, .. } => "choice",
            Self::Choice { several: true, .. } => "choices",
            Self::Confirm => "confirm",
            Self::Number { whole: false, .. } => "number",
            Self::Number { whole: true, .. } => "integer",
            Self::Date { .. } => "date",
            Self::File { .. } => "file",
            Self::Custom { .. } => "custom",
        }
    }
}

/// A question whose answer has a Rust type.
#[derive(Clone, Debug)]
pub struct Ask<K> {
    pub(crate) prompt: Prompt,
    kind: PhantomData<fn() -> K>,
}

/// A kind of question: what a checked answer becomes.
pub trait Kind {
    /// The Rust type of an answer.
    type Answer;
    /// Reads an answer that [`check`](crate::check) has accepted.
    fn read(value: &Value) -> Option<Self::Answer>;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident -> $answer:ty, $read:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $kind {}
        impl Kind for $kind {
            type Answer = $answer;
            fn read(value: &Value) -> Option<$answer> { ($read)(value) }
        }
    )+};
}

kinds! {
    /// Text.
    Text -> String, |v: &Value| v.as_str().map(str::to_owned);
    /// One of several.
    Choice -> String, |v: &Value| v.as_str().map(str::to_owned);
    /// Any of several.
    Choices -> Vec<String>, |v: &Value| v.as_array()?.iter().map(|v| Some(v.as_str()?.to_owned())).collect();
    /// Yes or no.
    Confirm -> bool, Value::as_bool;
    /// A number.
    Number -> f64, Value::as_f64;
    /// A whole number.
    Integer -> i64, Value::as_i64;
    /// A day.
    Date -> civil::Date, |v: &Value| v.as_str()?.parse().ok();
    /// A file.
    File -> FileAnswer, FileAnswer::read;
    /// Anything that fits the schema.
    Custom -> Value, |v: &Value| Some(v.clone());
}

/// A question that may be left open.
#[derive(Clone, Copy, Debug)]
pub struct Opt<K>(PhantomData<fn() -> K>);

impl<K: Kind> Kind for Opt<K> {
    type Answer = Option<K::Answer>;
    fn read(value: &Value) -> Option<Self::Answer> {
        if value.is_null() { Some(None) } else { K::read(value).map(Some) }
    }
}

/// The answer to a question for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAnswer {
    /// A path beneath the root. That it really is there is for whoever opens it to see.
    Path(String),
    /// The content itself.
    Content {
        /// What the file is called.
        name: String,
        /// What is in it.
        text: String,
    },
}

impl FileAnswer {
    fn read(value: &Value) -> Option<Self> {
        if let Some(path) = value.as_str() {
            return Some(Self::Path(path.to_owned()));
        }
        let text = |key| value.get(key)?.as_str().map(str::to_owned);
        Some(Self::Content { name: text("name")?, text: text("content")? })
    }
}

impl<K> From<Ask<K>> for Prompt {
    fn from(ask: Ask<K>) -> Self {
        ask.prompt
    }
}

fn ask<K>(message: impl Into<String>, shape: Shape) -> Ask<K> {
    let prompt = Prompt { message: message.into(), placeholder: None, default: None, required: true, shape };
    Ask { prompt, kind: PhantomData }
}

/// Asks for text of 1 to 4,096 characters.
///
/// ```
/// # use flow::{Prompt, check, text};
/// # use serde_json::json;
/// let ask: Prompt = text("Your name?").length(1..=40).pattern("[A-Z].*").placeholder("Ada").into();
/// assert_eq!(check(&ask, &json!("Ada")), Ok(json!("Ada")));
/// assert_eq!(check(&ask, &json!("ada")).unwrap_err().error, "That does not have the right format");
/// ```
pub fn text(message: impl Into<String>) -> Ask<Text> {
    ask(message, Shape::Text { min: 1, max: 4096, pattern: None })
}

/// Asks for one of the options, given as (value, label).
///
/// ```
/// # use flow::{Prompt, check, choice};
/// # use serde_json::json;
/// let ask: Prompt = choice("Which size?", [("s", "Small"), ("l", "Large")]).default("s").into();
/// assert_eq!(check(&ask, &json!("l")), Ok(json!("l")));
/// assert_eq!(check(&ask, &json!("")), Ok(json!("s")));
/// assert!(check(&ask, &json!("xl")).is_err());
/// ```
pub fn choice<V: Into<String>, L: Into<String>>(
    message: impl Into<String>,
    options: impl IntoIterator<Item = (V, L)>,
) -> Ask<Choice> {
    ask(message, Shape::Choice { options: pairs(options), several: false })
}

/// Asks for any of the options, given as (value, label).
///
/// ```
/// # use flow::{Prompt, check, choices};
/// # use serde_json::json;
/// let ask: Prompt = choices("What on it?", [("ham", "Ham"), ("egg", "Egg")]).into();
/// assert_eq!(check(&ask, &json!(["egg", "ham"])), Ok(json!(["egg", "ham"])));
/// assert_eq!(check(&ask, &json!("ham, egg")), Ok(json!(["ham", "egg"])));
/// ```
pub fn choices<V: Into<String>, L: Into<String>>(
    message: impl Into<String>,
    options: impl IntoIterator<Item = (V, L)>,
) -> Ask<Choices> {
    ask(message, Shape::Choice { options: pairs(options), several: true })
}

/// Asks yes or no.
///
/// ```
/// # use flow::{Prompt, check, confirm};
/// # use serde_json::json;
/// let ask: Prompt = confirm("Are you sure?").default(false).into();
/// assert_eq!(check(&ask, &json!("yes")), Ok(json!(true)));
/// assert_eq!(check(&ask, &json!(null)), Ok(json!(false)));
/// ```
pub fn confirm(message: impl Into<String>) -> Ask<Confirm> {
    ask(message, Shape::Confirm)
}

/// Asks for a number.
///
/// ```
/// # use flow::{Prompt, check, number};
/// # use serde_json::json;
/// let ask: Prompt = number("How much?").within(0.0..=1000.0).into();
/// assert_eq!(check(&ask, &json!("12.5")), Ok(json!(12.5)));
/// assert_eq!(check(&ask, &json!(-1)).unwrap_err().to_string(), "That is out of range. Give a number from 0 to 1000");
/// ```
pub fn number(message: impl Into<String>) -> Ask<Number> {
    ask(message, Shape::Number { min: None, max: None, whole: false })
}

/// Asks for a whole number.
///
/// ```
/// # use flow::{Prompt, check, integer};
/// # use serde_json::json;
/// let ask: Prompt = integer("How many?").at_least(1).into();
/// assert_eq!(check(&ask, &json!(3)), Ok(json!(3)));
/// assert!(check(&ask, &json!(2.5)).is_err());
/// ```
pub fn integer(message: impl Into<String>) -> Ask<Integer> {
    ask(message, Shape::Number { min: None, max: None, whole: true })
}

/// Asks for a day of the calendar.
///
/// ```
/// # use flow::{Prompt, check, date};
/// # use serde_json::json;
/// let first = jiff::civil::date(2026, 1, 1);
/// let ask: Prompt = date("When?").not_before(first).not_after(jiff::civil::date(2026, 12, 31)).into();
/// assert_eq!(check(&ask, &json!("2026-02-28")), Ok(json!("2026-02-28")));
/// assert!(check(&ask, &json!("2026-02-30")).is_err());
/// ```
pub fn date(message: impl Into<String>) -> Ask<Date> {
    ask(message, Shape::Date { min: None, max: None })
}

/// Asks for a file of at most 256 KiB.
///
/// ```
/// # use flow::{Prompt, check, file};
/// # use serde_json::json;
/// let ask: Prompt = file("Which file?").at_most(1024).into();
/// assert!(check(&ask, &json!("docs/notes.txt")).is_ok());
/// assert!(check(&ask, &json!({ "name": "notes.txt", "content": "Buy milk" })).is_ok());
/// assert!(check(&ask, &json!("../secrets")).is_err());
/// ```
pub fn file(message: impl Into<String>) -> Ask<File> {
    ask(message, Shape::File { max_bytes: 256 * 1024 })
}

/// Asks for anything that fits a JSON schema.
///
/// ```
/// # use flow::{Prompt, check, custom};
/// # use serde_json::json;
/// let point = json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 });
/// let ask: Prompt = custom("Where on the map?", point).into();
/// assert!(check(&ask, &json!([59.9, 10.7])).is_ok());
/// assert!(check(&ask, &json!([59.9])).is_err());
/// ```
pub fn custom(message: impl Into<String>, schema: Value) -> Ask<Custom> {
    ask(message, Shape::Custom { schema })
}

fn pairs<V: Into<String>, L: Into<String>>(
    options: impl IntoIterator<Item = (V, L)>,
) -> Vec<(String, String)> {
    options.into_iter().map(|(value, label)| (value.into(), label.into())).collect()
}

impl<K> Ask<K> {
    /// What an empty answer means. It is checked like any other answer.
    ///
    /// ```
    /// # use flow::{Prompt, check, integer};
    /// # use serde_json::json;
    /// let ask: Prompt = integer("How many?").default(1).into();
    /// assert_eq!(check(&ask, &json!(null)), Ok(json!(1)));
    /// ```
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.prompt.default = Some(value.into());
        self
    }

    /// What to show in an empty field.
    #[must_use]
    pub fn placeholder(mut self, text: impl Into<String>) -> Self {
        self.prompt.placeholder = Some(text.into());
        self
    }

    /// Lets the question be left open.
    ///
    /// ```
    /// # use flow::{Prompt, check, text};
    /// # use serde_json::json;
    /// let ask: Prompt = text("Anything else?").length(1..=200).optional().into(); // bounds first
    /// assert_eq!(check(&ask, &json!("")), Ok(json!(null)));
    /// ```
    #[must_use]
    pub fn optional(mut self) -> Ask<Opt<K>> {
        self.prompt.required = false;
        Ask { prompt: self.prompt, kind: PhantomData }
    }
}

impl Ask<Text> {
    /// Bounds the length, in characters.
    #[must_use]
    pub fn length(mut self, range: RangeInclusive<usize>) -> Self {
        if let Shape::Text { min, max, .. } = &mut self.prompt.shape {
            (*min, *max) = range.into_inner();
        }
        self
    }

    /// Wants the whole text to match. Linear in time whatever the pattern.
    #[must_use]
    pub fn pattern(mut self, regex: impl Into<String>) -> Self {
        if let Shape::Text { pattern, .. } = &mut self.prompt.shape {
            *pattern = Some(regex.into());
        }
        self
    }
}

impl Ask<Number> {
    /// Bounds the number.
    #[must_use]
    pub fn within(self, range: RangeInclusive<f64>) -> Self {
        self.at_least(*range.start()).at_most(*range.end())
    }

    /// Wants this number or a larger one.
    #[must_use]
    pub fn at_least(self, low: f64) -> Self {
        self.bounds(Some(low), None)
    }

    /// Wants this number or a smaller one.
    #[must_use]
    pub fn at_most(self, high: f64) -> Self {
        self.bounds(None, Some(high))
    }
}

impl Ask<Integer> {
    /// Bounds the number.
    #[must_use]
    pub fn within(self, range: RangeInclusive<i32>) -> Self {
        self.at_least(*range.start()).at_most(*range.end())
    }

    /// Wants this number or a larger one.
    #[must_use]
    pub fn at_least(self, low: i32) -> Self {
        self.bounds(Some(low.into()), None)
    }

    /// Wants this number or a smaller one.
    #[must_use]
    pub fn at_most(self, high: i32) -> Self {
        self.bounds(None, Some(high.into()))
    }
}

impl<K> Ask<K> {
    fn bounds(mut self, low: Option<f64>, high: Option<f64>) -> Self {
        if let Shape::Number { min, max, .. } = &mut self.prompt.shape {
            (*min, *max) = (low.or(*min), high.or(*max));
        }
        self
    }
}

impl Ask<Date> {
    /// Wants this day or a later one.
    #[must_use]
    pub fn not_before(mut self, day: civil::Date) -> Self {
        if let Shape::Date { min, .. } = &mut self.prompt.shape {
            *min = Some(day);
        }
        self
    }

    /// Wants this day or an earlier one.
    #[must_use]
    pub fn not_after(mut self, day: civil::Date) -> Self {
        if let Shape::Date { max, .. } = &mut self.prompt.shape {
            *max = Some(day);
        }
        self
    }
}

impl Ask<File> {
    /// Bounds the content.
    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Self {
        if let Shape::File { max_bytes } = &mut self.prompt.shape {
            *max_bytes = bytes;
        }
        self
    }
}
