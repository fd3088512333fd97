//! Runs a conversation for one turn.

use std::future::Future;
use std::pin::Pin;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::{Flow, Halt, InvalidAnswer, Journal, Progress, Question, TurnContext};

/// Answers, keyed by the name of their question.
pub type Answers = Map<String, Value>;

/// A tool that can ask questions while it runs, written as one straight-line function.
///
/// The function runs from the top on every turn, so it must be deterministic between its questions: read
/// external state through [`Flow::derive`] or [`Flow::step`], the clock through [`Flow::now`], and random
/// numbers through [`Flow::random`].
pub trait Conversation: Send + Sync + 'static {
    /// The arguments of the call.
    type Args: DeserializeOwned + Send;
    /// The result of the conversation.
    type Reply: Serialize;

    /// Runs the conversation. Propagate every [`Halt`] with `?`.
    fn run(
        &self,
        f: &mut Flow<'_>,
        args: Self::Args,
    ) -> impl Future<Output = Result<Self::Reply, Halt>> + Send;
}

/// The state of a conversation after a turn.
#[derive(Debug)]
pub enum Turn {
    /// It is waiting for an answer.
    Ask(Box<PendingQuestion>),
    /// It completed.
    Done(FinalReply),
    /// It stopped without completing.
    Halted(Halt),
}

/// The result of a completed conversation.
#[derive(Clone, Debug)]
pub struct FinalReply {
    /// The reply as JSON.
    pub reply: Box<RawValue>,
    /// A one-sentence summary of the result, if the conversation set one.
    pub summary: Option<String>,
}

/// An open question, with the problems of rejected answers and the progress so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// The question.
    pub question: Question,
    /// Why the submitted answers were rejected, by field. Empty when the question is asked for the first
    /// time.
    pub problems: Vec<(String, InvalidAnswer)>,
    /// The progress of the conversation, if it reports any.
    pub progress: Option<Progress>,
}

/// A type-erased [`Conversation`], so that different conversations can be kept in one table.
pub trait DynConversation: Send + Sync {
    /// Runs the conversation until it asks or ends. `input` answers the question at which the journal ends.
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
            // An open question stays open, even if the author's code discarded the halt.
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
