//! The effects of a conversation. All of them are recorded in the journal, so that replaying yields the same
//! values.

use std::future::Future;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Flow;
use crate::journal::JournalEvent;
use crate::{Durability, Halt, Progress, seal};

impl Flow<'_> {
    /// Computes a value that later questions rely on. It is computed again on every turn; if the result
    /// differs, the conversation stops, because earlier answers were given for another value.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, confirm};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// # async fn look_up() -> u32 { 12 }
    /// let price = f.derive("price", async || Ok(look_up().await)).await?;
    /// // The user agrees to the price shown here: if it changes, the conversation stops.
    /// let agreed = f.ask("agreed", confirm(format!("It costs {price}. All right?"))).await?;
    /// # Ok(json!([price, agreed]))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({}), [json!({"agreed": true})]).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#"[12,true]"#);
    /// # }).unwrap();
    /// ```
    pub async fn derive<T, Fut>(&mut self, key: &str, compute: impl FnOnce() -> Fut) -> Result<T, Halt>
    where
        T: Serialize,
        Fut: Future<Output = Result<T, Halt>>,
    {
        self.ensure_not_suspended()?;
        let key = &self.qualified_key(key);
        let value = compute().await?;
        let digest =
            json!(seal::digest(&serde_json::to_vec(&value).map_err(|e| Halt::refuse(e.to_string()))?));
        match self.replay_entry(&JournalEvent::Derived, key)? {
            Some(before) if before == digest => Ok(value),
            Some(_) => Err(Halt::DerivedValueChanged { key: key.to_owned() }),
            None => self.append(JournalEvent::Derived, key, Some(digest)).map(|()| value),
        }
    }

    /// Performs an effect and records its result. After a crash it may run again: pass on the idempotency
    /// key.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, confirm};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// # async fn reserve(_idempotency_key: String) -> Result<u32, Halt> { Ok(17) }
    /// let seat = f.step("seat", async |key| reserve(key).await).await?;
    /// let keep = f.ask("keep", confirm(format!("Seat {seat}?"))).await?;
    /// # Ok(json!([seat, keep]))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({}), [json!({"keep": true})]).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#"[17,true]"#);
    /// # }).unwrap();
    /// ```
    pub async fn step<T, Fut>(&mut self, key: &str, act: impl FnOnce(String) -> Fut) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
        Fut: Future<Output = Result<T, Halt>>,
    {
        self.ensure_not_suspended()?;
        let key = &self.qualified_key(key);
        if let Some(value) = self.replay_entry(&JournalEvent::Step, key)? {
            return from_journal_value(key, value);
        }
        if let Durability::Stored(keeper) = self.turn.durability {
            keeper.claim(self.journal).await?;
        }
        let value = act(self.idempotency_key(key)).await?;
        self.append(JournalEvent::Step, key, Some(to_journal_value(&value)?))?;
        Ok(value)
    }

    /// Performs an effect that must not be repeated. If its outcome is unknown, the conversation stops.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, confirm};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// # async fn charge() -> Result<String, String> { Err("the card was refused".to_owned()) }
    /// // A failure that the conversation should handle is an ordinary result.
    /// let charged: Result<String, String> = f.once("charge", async || Ok(charge().await)).await?;
    /// let again = match &charged {
    ///     Ok(_) => false,
    ///     Err(why) => f.ask("again", confirm(format!("{why}; another card?"))).await?,
    /// };
    /// # Ok(json!(again))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({}), [json!({"again": true})]).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#"true"#);
    /// # }).unwrap();
    /// ```
    pub async fn once<T, Fut>(&mut self, key: &str, act: impl FnOnce() -> Fut) -> Result<T, Halt>
    where
        T: Serialize + DeserializeOwned,
        Fut: Future<Output = Result<T, Halt>>,
    {
        self.ensure_not_suspended()?;
        let key = &self.qualified_key(key);
        if self.replay_entry(&JournalEvent::Started, key)?.is_some() {
            let finished = self.replay_entry(&JournalEvent::Finished, key)?;
            return finished.map_or(Err(Halt::OutcomeUnknown { key: key.to_owned() }), |value| {
                from_journal_value(key, value)
            });
        }
        self.append(JournalEvent::Started, key, None)?;
        self.save().await?;
        let value = act().await?;
        self.append(JournalEvent::Finished, key, Some(to_journal_value(&value)?))?;
        self.save().await?;
        Ok(value)
    }

    async fn save(&self) -> Result<(), Halt> {
        match self.turn.durability {
            Durability::InProcess => Ok(()),
            Durability::Stored(keeper) => keeper.save(self.journal).await,
        }
    }

    /// The time at which the conversation first reached this point.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, date};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// let today = f.now()?.to_zoned(jiff::tz::TimeZone::UTC).date();
    /// let day = f.ask("day", date("When?").not_before(today)).await?;
    /// # Ok(json!(day.to_string()))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({}), [json!({"day": "2026-03-01"})]).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#""2026-03-01""#);
    /// # }).unwrap();
    /// ```
    pub fn now(&mut self) -> Result<Timestamp, Halt> {
        let now = self.turn.env.now().as_millisecond();
        let value = self.replay_or_record(JournalEvent::Now, "now", || json!(now))?;
        let millis = value.as_i64().ok_or(Halt::CodeChanged { key: "now".to_owned() })?;
        Timestamp::from_millisecond(millis).map_err(|_| Halt::CodeChanged { key: "now".to_owned() })
    }

    /// A random number that is the same on every turn.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// let reference = format!("{:08X}", f.random()?);
    /// # Ok(json!(reference))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({}), []).await else { panic!() };
    /// # assert_eq!(done.reply.get(), r#""00000000""#);
    /// # }).unwrap();
    /// ```
    pub fn random(&mut self) -> Result<u64, Halt> {
        let entropy = self.turn.env.entropy();
        let draw = || {
            let mut bytes = [0; 8];
            entropy.fill(&mut bytes);
            json!(u64::from_le_bytes(bytes))
        };
        let value = self.replay_or_record(JournalEvent::Random, "random", draw)?;
        value.as_u64().ok_or(Halt::CodeChanged { key: "random".to_owned() })
    }

    /// Reports the progress of the conversation.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate, text};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// f.report_progress(1, 2, "Who you are");
    /// let name = f.ask("name", text("Your name?")).await?;
    /// f.report_progress(2, 2, "What you want");
    /// let wish = f.ask("wish", text("Your wish?")).await?;
    /// # Ok(json!([name, wish]))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Ask(asked) = simulate(&Tool, json!({}), [json!({ "name": "Ada" })]).await else { panic!() };
    /// assert_eq!(asked.progress.unwrap().message, "What you want");
    /// # }).unwrap();
    /// ```
    pub fn report_progress(&mut self, current: u32, total: u32, message: impl Into<String>) {
        let progress = Progress { current, total, message: message.into() };
        if self.pending.is_none() && self.cursor == self.journal.entries.len() {
            self.turn.env.progress(&progress);
        }
        self.progress = Some(progress);
    }

    /// Sets a one-sentence summary of the result for people; the reply is for programs.
    ///
    /// ```
    /// # use flow::{Answers, Conversation, Flow, Halt, Turn, simulate};
    /// # use serde_json::{Value, json};
    /// # struct Tool;
    /// # impl Conversation for Tool {
    /// #     type Args = Answers;
    /// #     type Reply = Value;
    /// #     async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
    /// f.set_summary("Two seats were booked.");
    /// Ok(json!({ "seats": [11, 12] }))
    /// #     }
    /// # }
    /// # futures_util::FutureExt::now_or_never(async {
    /// # let Turn::Done(done) = simulate(&Tool, json!({}), []).await else { panic!() };
    /// assert_eq!(done.summary.as_deref(), Some("Two seats were booked."));
    /// # }).unwrap();
    /// ```
    pub fn set_summary(&mut self, text: impl Into<String>) {
        self.summary = Some(text.into());
    }

    fn replay_or_record(
        &mut self,
        event: JournalEvent,
        key: &str,
        make: impl FnOnce() -> Value,
    ) -> Result<Value, Halt> {
        self.ensure_not_suspended()?;
        if let Some(before) = self.replay_entry(&event, key)? {
            return Ok(before);
        }
        let value = make();
        self.append(event, key, Some(value.clone()))?;
        Ok(value)
    }

    /// Equal for the same step of the same conversation after the same answers, in any process. Going back
    /// and answering differently yields another key.
    fn idempotency_key(&self, key: &str) -> String {
        let occurrence = self.occurrences.get(&(JournalEvent::Step, key.to_owned())).copied().unwrap_or(0);
        let answers: Vec<_> = self.journal.entries.iter().filter(|entry| entry.is_answer()).collect();
        let step = (self.turn.id, self.turn.arguments, answers, key, occurrence);
        seal::digest(&serde_json::to_vec(&step).unwrap_or_default())
    }
}

fn to_journal_value(value: &impl Serialize) -> Result<Value, Halt> {
    serde_json::to_value(value).map_err(|error| Halt::refuse(error.to_string()))
}

fn from_journal_value<T: DeserializeOwned>(key: &str, value: Value) -> Result<T, Halt> {
    serde_json::from_value(value).map_err(|_| Halt::CodeChanged { key: key.to_owned() })
}
