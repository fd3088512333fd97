//! Runs a conversation without a server, for tests.

use serde_json::Value;

use crate::{Answers, DynConversation, Halt, Journal, Turn, TurnContext};

/// Runs a conversation with these answers, one after the other, and returns its state after the last one. For
/// tests: the clock stands still and nothing is random.
///
/// Each answer is an object with one member per field of the open question. A rejected answer leaves the
/// question open for the next one; answers left over when the conversation ends are ignored. The journal is
/// serialized and deserialized between two answers, as it would be between two processes, so code that does
/// not replay fails here.
///
/// ```
/// use flow::{Answers, Conversation, Flow, Halt, Turn, integer, simulate, text};
/// use serde_json::json;
///
/// struct Order;
///
/// impl Conversation for Order {
///     type Args = Answers;
///     type Reply = String;
///
///     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<String, Halt> {
///         let what = f.ask("what", text("What would you like?")).await?;
///         let many = f.ask("many", integer("How many?").within(1..=9)).await?;
///         Ok(format!("{many} x {what}"))
///     }
/// }
///
/// # futures_util::FutureExt::now_or_never(async {
/// // No answers yet.
/// let Turn::Ask(asked) = simulate(&Order, json!({}), []).await else { panic!() };
/// assert_eq!(asked.question.fields[0].name, "what");
///
/// // The first answer is invalid and reports why.
/// let Turn::Ask(asked) = simulate(&Order, json!({ "what": "tea" }), [json!({ "many": 12 })]).await else { panic!() };
/// assert_eq!(asked.problems[0].1.to_string(), "That is out of range. Enter a whole number from 1 to 9");
///
/// let answers = [json!({ "what": "tea" }), json!({ "many": 12 }), json!({ "many": 2 })];
/// let Turn::Done(done) = simulate(&Order, json!({}), answers).await else { panic!() };
/// assert_eq!(done.reply.get(), r#""2 x tea""#);
/// # }).unwrap();
/// ```
pub async fn simulate(
    conversation: &dyn DynConversation,
    arguments: Value,
    answers: impl IntoIterator<Item = Value>,
) -> Turn {
    let Value::Object(arguments) = arguments else {
        return Turn::Halted(Halt::refuse("the arguments must be a JSON object"));
    };
    let (context, mut journal) = (TurnContext::for_tests(&arguments), Journal::default());
    let mut turn = conversation.advance(&mut journal, None, &context).await;
    for answer in answers {
        let (Turn::Ask(_), Value::Object(answer)) = (&turn, answer) else { break };
        turn = advance_with_answer(conversation, &mut journal, answer, &context).await;
    }
    turn
}

async fn advance_with_answer(
    conversation: &dyn DynConversation,
    journal: &mut Journal,
    answer: Answers,
    context: &TurnContext<'_>,
) -> Turn {
    let stored = serde_json::to_value(&*journal).and_then(serde_json::from_value);
    match stored {
        Ok(stored) => *journal = stored,
        Err(error) => return Turn::Halted(Halt::refuse(error.to_string())),
    }
    conversation.advance(journal, Some(answer), context).await
}
