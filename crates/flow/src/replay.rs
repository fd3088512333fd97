//! The API of a running conversation: questions, effects and the clock.

mod effects;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::form_check::find_form_defect;
use crate::journal::{JournalEntry, JournalEvent, JournalKey};
use crate::{
    AnswerKind, Answers, Conversation, Field, Form, Halt, InvalidAnswer, Journal, PendingQuestion, Progress,
    Question, TurnContext, TypedPrompt, validate_answer,
};

/// A running conversation: asks questions, performs effects, and replays both from the journal.
pub struct Flow<'a> {
    journal: &'a mut Journal,
    cursor: usize,
    occurrences: HashMap<(JournalEvent, String), u32>,
    /// The names of the questions that the code has reached.
    visited_questions: HashSet<String>,
    input: Option<Answers>,
    pending: Option<PendingQuestion>,
    progress: Option<Progress>,
    summary: Option<String>,
    /// Prepended to every key while a nested conversation runs.
    prefix: String,
    turn: &'a TurnContext<'a>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(journal: &'a mut Journal, input: Option<Answers>, turn: &'a TurnContext<'a>) -> Self {
        Flow {
            journal,
            cursor: 0,
            occurrences: HashMap::new(),
            visited_questions: HashSet::new(),
            input,
            pending: None,
            progress: None,
            summary: None,
            prefix: String::new(),
            turn,
        }
    }

    /// Returns the open question, if any, and the summary if the code consumed the whole journal.
    pub(crate) fn finish(self) -> (Option<PendingQuestion>, Result<Option<String>, Halt>) {
        let end = match self.journal.entries.get(self.cursor) {
            None => Ok(self.summary),
            Some(unread) => Err(Halt::CodeChanged { key: unread.mark.key.clone() }),
        };
        (self.pending, end)
    }

    /// Additional data that the client passed when it started the conversation. It is untrusted: validate it.
    pub fn context(&self) -> &'a Map<String, Value> {
        self.turn.context
    }

    /// Whether the user can be asked. If not, the conversation only has its arguments; check this before
    /// decisions that only a person should make.
    pub fn can_ask(&self) -> bool {
        self.turn.can_ask
    }

    /// Asks one question and waits for the answer, for days if necessary.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, integer, text};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// let name = f.ask("name", text("What is your name?").length(1..=40)).await?;
    /// let age = f.ask("age", integer("How old are you?").within(0..=150).optional()).await?;
    /// # Ok(json!([name, age]))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({"name": "Ada"}), [json!({"age": 36})]).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#"["Ada",36]"#);
    /// # }).unwrap();
    /// ```
    pub async fn ask<K: AnswerKind>(&mut self, key: &str, prompt: TypedPrompt<K>) -> Result<K::Answer, Halt> {
        self.ask_until(key, prompt, |_| Ok(())).await
    }

    /// Asks one question until `accept` accepts the answer. `accept` must be deterministic: the same answer
    /// always gets the same verdict.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, InvalidAnswer, integer};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// let even = |n: &i64| if n % 2 == 0 { Ok(()) } else { Err(InvalidAnswer::new("That is odd", "Try the next one")) };
    /// let seats = f.ask_until("seats", integer("How many seats?").within(2..=8), even).await?;
    /// # Ok(json!(seats))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Ask(asked) = simulate(&Tool, json!({}), [json!({ "seats": 3 })]).await else { panic!() };
    /// assert_eq!(asked.problems[0].1.to_string(), "That is odd. Try the next one");
    /// # let Turn::Done(done) = simulate(&Tool, json!({}), [json!({"seats": 3}), json!({"seats": 4})]).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#"4"#);
    /// # }).unwrap();
    /// ```
    pub async fn ask_until<K: AnswerKind>(
        &mut self,
        key: &str,
        prompt: TypedPrompt<K>,
        accept: impl Fn(&K::Answer) -> Result<(), InvalidAnswer>,
    ) -> Result<K::Answer, Halt> {
        let message = prompt.prompt.message.clone();
        let accept = |answer: &K::Answer| accept(answer).map_err(|invalid| (key.to_owned(), invalid));
        self.form_until(&message, (key, prompt), accept).await
    }

    /// Asks several questions at once. Front ends that cannot show a form ask them one after the other.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, confirm, text};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// let form = (("name", text("Name")), ("email", text("Email").pattern(".+@.+")), ("news", confirm("Newsletter?").default(false)));
    /// let (name, email, news) = f.form("Who are you?", form).await?;
    /// # Ok(json!([name, email, news]))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({}), [json!({"name": "Ada", "email": "a@b"})]).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#"["Ada","a@b",false]"#);
    /// # }).unwrap();
    /// ```
    pub async fn form<F: Form>(&mut self, message: &str, form: F) -> Result<F::Answers, Halt> {
        self.form_until(message, form, |_| Ok(())).await
    }

    /// Asks several questions until `accept` accepts the answers. On rejection, `accept` names the field that
    /// is wrong.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, InvalidAnswer, date};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// let stay = (("first", date("First day")), ("last", date("Last day")));
    /// let (first, last) = f
    ///     .form_until("When?", stay, |(first, last)| {
    ///         let wrong = || InvalidAnswer::new("The last day is before the first", format!("Use {first} or later"));
    ///         if last < first { Err(("last".to_owned(), wrong())) } else { Ok(()) }
    ///     })
    ///     .await?;
    /// # Ok(json!([first.to_string(), last.to_string()]))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Ask(asked) = simulate(&Tool, json!({}), [json!({ "first": "2026-03-02", "last": "2026-03-01" })]).await else { panic!() };
    /// assert_eq!(asked.problems[0].0, "last");
    /// # }).unwrap();
    /// ```
    #[expect(clippy::unused_async, reason = "authors expect asking to be a suspension point")]
    pub async fn form_until<F: Form>(
        &mut self,
        message: &str,
        form: F,
        accept: impl Fn(&F::Answers) -> Result<(), (String, InvalidAnswer)>,
    ) -> Result<F::Answers, Halt> {
        self.ensure_not_suspended()?;
        let mut fields = form.fields();
        for field in &mut fields {
            field.name.insert_str(0, &self.prefix);
        }
        let key = fields.first().map(|field| field.name.clone()).unwrap_or_default();
        let mut values = vec![Value::Null; fields.len()];
        let mut open = Vec::new();
        for (n, field) in fields.into_iter().enumerate() {
            match self.lookup_answer(&field)? {
                Some(value) => values[n] = value,
                None => open.push((n, field)),
            }
        }
        let read = |values: &[Value]| F::read(values).ok_or_else(|| Halt::CodeChanged { key: key.clone() });
        let judge = |values: &[Value]| {
            let verdict = accept(&read(values)?);
            Ok(verdict.map_err(|(field, invalid)| (format!("{}{field}", self.prefix), invalid)).err())
        };
        if open.is_empty() {
            let problem = judge(&values)?;
            return problem.map_or_else(
                || read(&values),
                |(name, invalid)| Err(Halt::InvalidArgument { name, invalid }),
            );
        }
        if let Some(why) = find_form_defect(&open.iter().map(|(_, field)| field).collect::<Vec<_>>()) {
            return Err(Halt::InvalidPrompt(why));
        }
        let input = self.input.take();
        let (accepted, mut problems) = validate_fields(&open, input.as_ref());
        if accepted.len() == open.len() {
            for ((n, _), value) in open.iter().zip(&accepted) {
                values[*n] = value.clone();
            }
            problems.extend(judge(&values)?);
        }
        if accepted.len() < open.len() || !problems.is_empty() {
            let fields = open.into_iter().map(|(_, field)| field).collect();
            let question = Question { message: message.to_owned(), fields };
            self.pending = Some(PendingQuestion { question, problems, progress: self.progress.clone() });
            return Err(Halt::Suspended);
        }
        for ((_, field), value) in open.into_iter().zip(accepted) {
            let act = JournalEvent::Answer(field.prompt.shape.name().to_owned());
            self.append(act, &field.name, Some(value))?;
        }
        read(&values)
    }

    /// Returns the answer to a question from the arguments or the journal.
    fn lookup_answer(&mut self, field: &Field) -> Result<Option<Value>, Halt> {
        let may_stay_open = !self.turn.can_ask && (!field.prompt.required || field.prompt.default.is_some());
        let nothing = may_stay_open.then_some(&Value::Null);
        let given = self.turn.arguments.get(&field.name).or(nothing);
        // Only the first time: code that repeats a question until it gets a suitable answer would loop
        // forever otherwise.
        if let Some(argument) = given.filter(|_| self.visited_questions.insert(field.name.clone())) {
            let refused = |invalid| Halt::InvalidArgument { name: field.name.clone(), invalid };
            return validate_answer(&field.prompt, argument).map(Some).map_err(refused);
        }
        let act = JournalEvent::Answer(field.prompt.shape.name().to_owned());
        self.replay_entry(&act, &field.name)
    }

    /// Runs another conversation inside this one. Its questions, and the arguments that answer them, are
    /// named `name.question`.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, text};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// struct Address;
    /// impl Conversation for Address {
    ///     type Args = ();
    ///     type Reply = String;
    ///     async fn run(&self, f: &mut Flow<'_>, (): ()) -> Result<String, Halt> {
    ///         let (street, city) = f.form("Where?", (("street", text("Street")), ("city", text("City")))).await?;
    ///         Ok(format!("{street}, {city}"))
    ///     }
    /// }
    ///
    /// let from = f.run_nested("from", &Address, ()).await?; // asks for `from.street` and `from.city`
    /// let to = f.run_nested("to", &Address, ()).await?;
    /// # Ok(json!([from, to]))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({"to.city": "Rome"}), [json!({"from.street": "A 1", "from.city": "Oslo"}), json!({"to.street": "B 2"})]).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#"["A 1, Oslo","B 2, Rome"]"#);
    /// # }).unwrap();
    /// ```
    pub async fn run_nested<C: Conversation>(
        &mut self,
        name: &str,
        conversation: &C,
        args: C::Args,
    ) -> Result<C::Reply, Halt> {
        let outer = self.prefix.len();
        self.prefix.push_str(name);
        self.prefix.push('.');
        let reply = conversation.run(self, args).await;
        self.prefix.truncate(outer);
        reply
    }

    /// Whether an argument answers the next question with this name.
    pub(crate) fn has_argument(&self, key: &str) -> bool {
        let key = self.qualified_key(key);
        self.turn.arguments.contains_key(&key) && !self.visited_questions.contains(&key)
    }

    fn qualified_key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    fn ensure_not_suspended(&self) -> Result<(), Halt> {
        if self.pending.is_some() { Err(Halt::Suspended) } else { Ok(()) }
    }

    /// Replays the next journal entry, which must match what the code does at this point.
    fn replay_entry(&mut self, event: &JournalEvent, key: &str) -> Result<Option<Value>, Halt> {
        let Some(entry) = self.journal.entries.get(self.cursor) else { return Ok(None) };
        let occurrence = self.occurrences.get(&(event.clone(), key.to_owned())).copied().unwrap_or(0);
        if entry.mark.act != *event || entry.mark.key != key || entry.mark.occurrence != occurrence {
            return Err(Halt::CodeChanged { key: key.to_owned() });
        }
        let value = entry.value.clone().unwrap_or_default();
        self.advance_cursor(event.clone(), key);
        Ok(Some(value))
    }

    fn append(&mut self, event: JournalEvent, key: &str, value: Option<Value>) -> Result<(), Halt> {
        if !self.journal.has_room() {
            return Err(Halt::TooLong);
        }
        let occurrence = self.occurrences.get(&(event.clone(), key.to_owned())).copied().unwrap_or(0);
        let mark = JournalKey { act: event.clone(), key: key.to_owned(), occurrence };
        self.journal.entries.push(JournalEntry { mark, value });
        self.advance_cursor(event, key);
        Ok(())
    }

    fn advance_cursor(&mut self, event: JournalEvent, key: &str) {
        self.cursor += 1;
        *self.occurrences.entry((event, key.to_owned())).or_default() += 1;
    }
}

/// Returns the valid answers in the order of their questions, and the problems of the others.
fn validate_fields(
    open: &[(usize, Field)],
    input: Option<&Answers>,
) -> (Vec<Value>, Vec<(String, InvalidAnswer)>) {
    let (mut accepted, mut problems) = (Vec::new(), Vec::new());
    for (_, field) in input.is_some().then_some(open).into_iter().flatten() {
        let answer = input.and_then(|input| input.get(&field.name)).unwrap_or(&Value::Null);
        match validate_answer(&field.prompt, answer) {
            Ok(value) => accepted.push(value),
            Err(invalid) => problems.push((field.name.clone(), invalid)),
        }
    }
    (accepted, problems)
}
