//! Running a conversation for one turn.

use std::future::Future;
use std::pin::Pin;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::{Flow, Halt, InvalidAnswer, Journal, Progress, Question, TurnContext};

/// Answers by the names of their questions.
pub type Answers = Map<String, Value>;

/// A tool that may ask while it works, written as one straight function.
///
/// The function runs from the top on every turn, so between its questions it must come to the same decisions
/// again: what it reads from outside goes through [`Flow::derive`] or [`Flow::step`], the clock and dice through
/// [`Flow::now`] and [`Flow::random`].
pub trait Conversation: Send + Sync + 'static {
    /// What the call brings along.
    type Args: DeserializeOwned + Send;
    /// What comes out in the end.
    type Reply: Serialize;

    /// The conversation.
    fn run(
        &self,
        f: &mut Flow<'_>,
        args: Self::Args,
    ) -> impl Future<Output = Result<Self::Reply, Halt>> + Send;
}

/// Where a conversation stands after a turn.
#[derive(Debug)]
pub enum Turn {
    /// It waits for an answer.
    Ask(Box<PendingQuestion>),
    /// It is done.
    Done(FinalReply),
    /// It came to an end before that.
    Halted(Halt),
}

/// What came out in the end.
#[derive(Clone, Debug)]
pub struct FinalReply {
    /// The reply as JSON.
    pub reply: Box<RawValue>,
    /// What came of it in a sentence, if the conversation says so.
    pub summary: Option<String>,
}

/// A question, and how it came to be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// The question.
    pub question: Question,
    /// What was wrong with the answers that came in, by field. Empty when it is asked for the first time.
    pub problems: Vec<(String, InvalidAnswer)>,
    /// How far the conversation is, if it says so.
    pub progress: Option<Progress>,
}

/// A conversation whose types have been forgotten, so that many can stand in one table.
pub trait DynConversation: Send + Sync {
    /// Runs the conversation until it asks or ends. `input` answers the question that the journal ends at.
    fn advance<'a>(
        &'a self,
        journal: &'a mut Journal,
        input: Option<Answers>,
        context: &'a TurnContext<'a>,
    ) -> Pin<Box<dyn Future<Output = Turn> + Send + 'a>>;
}

impl<C: Conversation> DynConversation for C {
    fn advance<'a>(
        &'a self,
        journal: &'a mut Journal,
        input: Option<Answers>,
        context: &'a TurnContext<'a>,
    ) -> Pin<Box<dyn Future<Output = Turn> + Send + 'a>> {
        Box::pin(async move {
            let args = match serde_json::from_value::<C::Args>(Value::Object(context.arguments.clone())) {
                Ok(args) => args,
                Err(error) => return Turn::Halted(Halt::refuse(error.to_string())),
            };
            let mut flow = Flow::new(journal, input, context);
            let reply = self.run(&mut flow, args).await;
            // A question that is open stays open, even if the author's code swallowed the halt.
            let (asked, end) = flow.finish();
            if let Some(asked) = asked {
                return Turn::Ask(Box::new(asked));
            }
            match reply.and_then(|reply| Ok((reply, end?))) {
                Ok((reply, summary)) => to_raw_value(&reply).map_or_else(
                    |error| Turn::Halted(Halt::refuse(error.to_string())),
                    |reply| Turn::Done(FinalReply { reply, summary }),
                ),
                Err(halt) => Turn::Halted(halt),
            }
        })
    }
}

#[cfg(test)]
mod tests;
