//! Forms: several questions asked at once.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AnswerKind, Prompt, TypedPrompt};

/// What a conversation is waiting for: one question, or several on one form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The text above the fields.
    pub message: String,
    /// The unanswered fields. Never empty.
    pub fields: Vec<Field>,
}

/// One question of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// The name of the answer, and of the argument that answers the question in advance.
    pub name: String,
    /// The question.
    pub prompt: Prompt,
}

/// One or several questions with typed answers: `("name", text("…"))`, or a tuple of up to five such pairs.
pub trait Form {
    /// The type of the answers.
    type Answers;
    /// The questions, in the order in which they are asked.
    fn fields(self) -> Vec<Field>;
    /// Converts validated answers, in the order of the questions.
    fn read(values: &[Value]) -> Option<Self::Answers>;
}

impl<K: AnswerKind> Form for (&str, TypedPrompt<K>) {
    type Answers = K::Answer;
    fn fields(self) -> Vec<Field> {
        vec![Field { name: self.0.to_owned(), prompt: self.1.prompt }]
    }
    fn read(values: &[Value]) -> Option<K::Answer> {
        K::read(values.first()?)
    }
}

macro_rules! impl_form_for_tuples {
    ($(($($kind:ident $n:tt),+);)+) => {$(
        impl<$($kind: AnswerKind),+> Form for ($((&str, TypedPrompt<$kind>),)+) {
            type Answers = ($($kind::Answer,)+);
            fn fields(self) -> Vec<Field> {
                vec![$(Field { name: self.$n.0.to_owned(), prompt: self.$n.1.prompt }),+]
            }
            fn read(values: &[Value]) -> Option<Self::Answers> {
                Some(($($kind::read(values.get($n)?)?,)+))
            }
        }
    )+};
}

impl_form_for_tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
}
