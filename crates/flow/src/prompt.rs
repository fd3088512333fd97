//! Questions, and which answers each of them accepts.

use std::marker::PhantomData;
use std::ops::RangeInclusive;

use jiff::civil;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A question as data: everything a front end needs to show it and
/// [`validate_answer`](crate::validate_answer) needs to validate the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// The text of the question.
    pub message: String,
    /// Placeholder for an empty field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// The value of an empty answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether an empty answer is rejected if there is no default.
    pub required: bool,
    /// The kind of answer that is expected.
    pub shape: AnswerShape,
}

/// The seven kinds of answers and their limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the field names are self-explanatory")]
pub enum AnswerShape {
    /// A string; lengths are in characters.
    Text { min: usize, max: usize, pattern: Option<String> },
    /// One of the options, or several: (value, label).
    Choice { options: Vec<(String, String)>, several: bool },
    /// Yes or no.
    Confirm,
    /// A number, or only an integer if `whole` is set.
    Number { min: Option<f64>, max: Option<f64>, whole: bool },
    /// A calendar date.
    Date { min: Option<civil::Date>, max: Option<civil::Date> },
    /// A file: a path inside the root, or its content.
    File { max_bytes: usize },
    /// Any value that matches a JSON schema.
    Custom { schema: Value },
}

impl AnswerShape {
    /// The name of this kind. The journal records it, because the kind identifies a question and its wording
    /// does not.
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
pub struct TypedPrompt<K> {
    pub(crate) prompt: Prompt,
    kind: PhantomData<fn() -> K>,
}

/// A kind of question, which determines the Rust type of its answer.
pub trait AnswerKind {
    /// The Rust type of an answer.
    type Answer;
    /// Converts an answer that [`validate_answer`](crate::validate_answer) has accepted.
    fn read(value: &Value) -> Option<Self::Answer>;
}

macro_rules! answer_kinds {
    ($($(#[$doc:meta])* $kind:ident -> $answer:ty, $read:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $kind {}
        impl AnswerKind for $kind {
            type Answer = $answer;
            fn read(value: &Value) -> Option<$answer> { ($read)(value) }
        }
    )+};
}

answer_kinds! {
    /// A string.
    Text -> String, |v: &Value| v.as_str().map(str::to_owned);
    /// One of several options.
    Choice -> String, |v: &Value| v.as_str().map(str::to_owned);
    /// Any number of options.
    Choices -> Vec<String>, |v: &Value| v.as_array()?.iter().map(|v| Some(v.as_str()?.to_owned())).collect();
    /// Yes or no.
    Confirm -> bool, Value::as_bool;
    /// A number.
    Number -> f64, Value::as_f64;
    /// A whole number.
    Integer -> i64, Value::as_i64;
    /// A calendar date.
    Date -> civil::Date, |v: &Value| v.as_str()?.parse().ok();
    /// A file.
    File -> FileAnswer, FileAnswer::read;
    /// Any value that matches the schema.
    Custom -> Value, |v: &Value| Some(v.clone());
}

/// The kind of a question that may stay unanswered.
#[derive(Clone, Copy, Debug)]
pub struct OptionalAnswer<K>(PhantomData<fn() -> K>);

impl<K: AnswerKind> AnswerKind for OptionalAnswer<K> {
    type Answer = Option<K::Answer>;
    fn read(value: &Value) -> Option<Self::Answer> {
        if value.is_null() { Some(None) } else { K::read(value).map(Some) }
    }
}

/// The answer to a question that asks for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAnswer {
    /// A path inside the root. Code that opens the file must check that it exists and follows no link out of
    /// the root.
    Path(String),
    /// The content itself.
    Content {
        /// The name of the file.
        name: String,
        /// The content of the file.
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

impl<K> From<TypedPrompt<K>> for Prompt {
    fn from(prompt: TypedPrompt<K>) -> Self {
        prompt.prompt
    }
}

fn typed_prompt<K>(message: impl Into<String>, shape: AnswerShape) -> TypedPrompt<K> {
    let prompt = Prompt { message: message.into(), placeholder: None, default: None, required: true, shape };
    TypedPrompt { prompt, kind: PhantomData }
}

/// Asks for a string of 1 to 4,096 characters.
///
/// ```
/// # use flow::{Prompt, validate_answer, text};
/// # use serde_json::json;
/// let ask: Prompt = text("Your name?").length(1..=40).pattern("[A-Z].*").placeholder("Ada").into();
/// assert_eq!(validate_answer(&ask, &json!("Ada")), Ok(json!("Ada")));
/// assert_eq!(validate_answer(&ask, &json!("ada")).unwrap_err().error, "That does not match the required format");
/// ```
pub fn text(message: impl Into<String>) -> TypedPrompt<Text> {
    typed_prompt(message, AnswerShape::Text { min: 1, max: 4096, pattern: None })
}

/// Asks for one of the options, as (value, label).
///
/// ```
/// # use flow::{Prompt, validate_answer, choice};
/// # use serde_json::json;
/// let ask: Prompt = choice("Which size?", [("s", "Small"), ("l", "Large")]).default("s").into();
/// assert_eq!(validate_answer(&ask, &json!("l")), Ok(json!("l")));
/// assert_eq!(validate_answer(&ask, &json!("")), Ok(json!("s")));
/// assert!(validate_answer(&ask, &json!("xl")).is_err());
/// ```
pub fn choice<V: Into<String>, L: Into<String>>(
    message: impl Into<String>,
    options: impl IntoIterator<Item = (V, L)>,
) -> TypedPrompt<Choice> {
    typed_prompt(message, AnswerShape::Choice { options: collect_options(options), several: false })
}

/// Asks for any number of the options, as (value, label).
///
/// ```
/// # use flow::{Prompt, validate_answer, choices};
/// # use serde_json::json;
/// let ask: Prompt = choices("Which toppings?", [("ham", "Ham"), ("egg", "Egg")]).into();
/// assert_eq!(validate_answer(&ask, &json!(["egg", "ham"])), Ok(json!(["egg", "ham"])));
/// assert_eq!(validate_answer(&ask, &json!("ham, egg")), Ok(json!(["ham", "egg"])));
/// ```
pub fn choices<V: Into<String>, L: Into<String>>(
    message: impl Into<String>,
    options: impl IntoIterator<Item = (V, L)>,
) -> TypedPrompt<Choices> {
    typed_prompt(message, AnswerShape::Choice { options: collect_options(options), several: true })
}

/// Asks for yes or no.
///
/// ```
/// # use flow::{Prompt, validate_answer, confirm};
/// # use serde_json::json;
/// let ask: Prompt = confirm("Are you sure?").default(false).into();
/// assert_eq!(validate_answer(&ask, &json!("yes")), Ok(json!(true)));
/// assert_eq!(validate_answer(&ask, &json!(null)), Ok(json!(false)));
/// ```
pub fn confirm(message: impl Into<String>) -> TypedPrompt<Confirm> {
    typed_prompt(message, AnswerShape::Confirm)
}

/// Asks for a number.
///
/// ```
/// # use flow::{Prompt, validate_answer, number};
/// # use serde_json::json;
/// let ask: Prompt = number("How much?").within(0.0..=1000.0).into();
/// assert_eq!(validate_answer(&ask, &json!("12.5")), Ok(json!(12.5)));
/// assert_eq!(validate_answer(&ask, &json!(-1)).unwrap_err().to_string(), "That is out of range. Enter a number from 0 to 1000");
/// ```
pub fn number(message: impl Into<String>) -> TypedPrompt<Number> {
    typed_prompt(message, AnswerShape::Number { min: None, max: None, whole: false })
}

/// Asks for a whole number.
///
/// ```
/// # use flow::{Prompt, validate_answer, integer};
/// # use serde_json::json;
/// let ask: Prompt = integer("How many?").at_least(1).into();
/// assert_eq!(validate_answer(&ask, &json!(3)), Ok(json!(3)));
/// assert!(validate_answer(&ask, &json!(2.5)).is_err());
/// ```
pub fn integer(message: impl Into<String>) -> TypedPrompt<Integer> {
    typed_prompt(message, AnswerShape::Number { min: None, max: None, whole: true })
}

/// Asks for a calendar date.
///
/// ```
/// # use flow::{Prompt, validate_answer, date};
/// # use serde_json::json;
/// let first = jiff::civil::date(2026, 1, 1);
/// let ask: Prompt = date("When?").not_before(first).not_after(jiff::civil::date(2026, 12, 31)).into();
/// assert_eq!(validate_answer(&ask, &json!("2026-02-28")), Ok(json!("2026-02-28")));
/// assert!(validate_answer(&ask, &json!("2026-02-30")).is_err());
/// ```
pub fn date(message: impl Into<String>) -> TypedPrompt<Date> {
    typed_prompt(message, AnswerShape::Date { min: None, max: None })
}

/// Asks for a file of at most 256 KiB.
///
/// ```
/// # use flow::{Prompt, validate_answer, file};
/// # use serde_json::json;
/// let ask: Prompt = file("Which file?").at_most(1024).into();
/// assert!(validate_answer(&ask, &json!("docs/notes.txt")).is_ok());
/// assert!(validate_answer(&ask, &json!({ "name": "notes.txt", "content": "Buy milk" })).is_ok());
/// assert!(validate_answer(&ask, &json!("../secrets")).is_err());
/// ```
pub fn file(message: impl Into<String>) -> TypedPrompt<File> {
    typed_prompt(message, AnswerShape::File { max_bytes: 256 * 1024 })
}

/// Asks for any value that matches a JSON schema.
///
/// ```
/// # use flow::{Prompt, validate_answer, custom};
/// # use serde_json::json;
/// let point = json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 });
/// let ask: Prompt = custom("Where on the map?", point).into();
/// assert!(validate_answer(&ask, &json!([59.9, 10.7])).is_ok());
/// assert!(validate_answer(&ask, &json!([59.9])).is_err());
/// ```
pub fn custom(message: impl Into<String>, schema: Value) -> TypedPrompt<Custom> {
    typed_prompt(message, AnswerShape::Custom { schema })
}

fn collect_options<V: Into<String>, L: Into<String>>(
    options: impl IntoIterator<Item = (V, L)>,
) -> Vec<(String, String)> {
    options.into_iter().map(|(value, label)| (value.into(), label.into())).collect()
}

impl<K> TypedPrompt<K> {
    /// Sets the value of an empty answer. It is validated like any other answer.
    ///
    /// ```
    /// # use flow::{Prompt, validate_answer, integer};
    /// # use serde_json::json;
    /// let ask: Prompt = integer("How many?").default(1).into();
    /// assert_eq!(validate_answer(&ask, &json!(null)), Ok(json!(1)));
    /// ```
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.prompt.default = Some(value.into());
        self
    }

    /// Sets the placeholder for an empty field.
    #[must_use]
    pub fn placeholder(mut self, text: impl Into<String>) -> Self {
        self.prompt.placeholder = Some(text.into());
        self
    }

    /// Allows the question to stay unanswered.
    ///
    /// ```
    /// # use flow::{Prompt, validate_answer, text};
    /// # use serde_json::json;
    /// let ask: Prompt = text("Anything else?").length(1..=200).optional().into(); // set the limits first
    /// assert_eq!(validate_answer(&ask, &json!("")), Ok(json!(null)));
    /// ```
    #[must_use]
    pub fn optional(mut self) -> TypedPrompt<OptionalAnswer<K>> {
        self.prompt.required = false;
        TypedPrompt { prompt: self.prompt, kind: PhantomData }
    }
}

impl TypedPrompt<Text> {
    /// Limits the length, in characters.
    #[must_use]
    pub fn length(mut self, range: RangeInclusive<usize>) -> Self {
        if let AnswerShape::Text { min, max, .. } = &mut self.prompt.shape {
            (*min, *max) = range.into_inner();
        }
        self
    }

    /// Requires the whole string to match. Matching takes linear time for any pattern.
    #[must_use]
    pub fn pattern(mut self, regex: impl Into<String>) -> Self {
        if let AnswerShape::Text { pattern, .. } = &mut self.prompt.shape {
            *pattern = Some(regex.into());
        }
        self
    }
}

impl TypedPrompt<Number> {
    /// Limits the number to a range.
    #[must_use]
    pub fn within(self, range: RangeInclusive<f64>) -> Self {
        self.at_least(*range.start()).at_most(*range.end())
    }

    /// Sets the minimum.
    #[must_use]
    pub fn at_least(self, low: f64) -> Self {
        self.with_bounds(Some(low), None)
    }

    /// Sets the maximum.
    #[must_use]
    pub fn at_most(self, high: f64) -> Self {
        self.with_bounds(None, Some(high))
    }
}

impl TypedPrompt<Integer> {
    /// Limits the number to a range.
    #[must_use]
    pub fn within(self, range: RangeInclusive<i32>) -> Self {
        self.at_least(*range.start()).at_most(*range.end())
    }

    /// Sets the minimum.
    #[must_use]
    pub fn at_least(self, low: i32) -> Self {
        self.with_bounds(Some(low.into()), None)
    }

    /// Sets the maximum.
    #[must_use]
    pub fn at_most(self, high: i32) -> Self {
        self.with_bounds(None, Some(high.into()))
    }
}

impl<K> TypedPrompt<K> {
    fn with_bounds(mut self, low: Option<f64>, high: Option<f64>) -> Self {
        if let AnswerShape::Number { min, max, .. } = &mut self.prompt.shape {
            (*min, *max) = (low.or(*min), high.or(*max));
        }
        self
    }
}

impl TypedPrompt<Date> {
    /// Sets the earliest date.
    #[must_use]
    pub fn not_before(mut self, day: civil::Date) -> Self {
        if let AnswerShape::Date { min, .. } = &mut self.prompt.shape {
            *min = Some(day);
        }
        self
    }

    /// Sets the latest date.
    #[must_use]
    pub fn not_after(mut self, day: civil::Date) -> Self {
        if let AnswerShape::Date { max, .. } = &mut self.prompt.shape {
            *max = Some(day);
        }
        self
    }
}

impl TypedPrompt<File> {
    /// Limits the size of the content, in bytes.
    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Self {
        if let AnswerShape::File { max_bytes } = &mut self.prompt.shape {
            *max_bytes = bytes;
        }
        self
    }
}
