//! Conversations for the tests.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use flow::{InvalidAnswer, choice, confirm, integer, text};
use serde_json::json;

/// Defines a conversation from an async block; conversations cannot be closures.
macro_rules! test_conversation {
    ($(#[$doc:meta])* $name:ident, |$this:ident, $flow:ident| $body:expr) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub(crate) struct $name(pub(crate) $crate::conversations::EffectLog);
        impl flow::Conversation for $name {
            type Args = flow::Answers;
            type Reply = serde_json::Value;
            async fn run(
                &self,
                $flow: &mut flow::Flow<'_>,
                _: flow::Answers,
            ) -> Result<serde_json::Value, flow::Halt> {
                let $this = &self.0;
                $body
            }
        }
    };
}
pub(crate) use test_conversation;

/// Records the effects of conversations, and holds the gate that they wait for.
#[derive(Clone, Default)]
pub(crate) struct EffectLog(Arc<EffectLogInner>);

#[derive(Default)]
struct EffectLogInner {
    questions: AtomicUsize,
    reservations: Mutex<Vec<String>>,
    booked: AtomicUsize,
    gate: AtomicBool,
    working: AtomicUsize,
    stopped: AtomicUsize,
}

/// Counts work that was stopped before it finished.
struct AbortCounter<'a>(Option<&'a EffectLogInner>);

impl Drop for AbortCounter<'_> {
    fn drop(&mut self) {
        if let Some(inner) = self.0 {
            inner.stopped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl EffectLog {
    pub(crate) fn count_question(&self) {
        self.0.questions.fetch_add(1, Ordering::SeqCst);
    }
    /// The number of questions that the code has passed since the last call.
    pub(crate) fn take_question_count(&self) -> usize {
        self.0.questions.swap(0, Ordering::SeqCst)
    }
    pub(crate) fn reserve(&self, key: String) -> usize {
        let mut loaded = self.0.reservations.lock().unwrap();
        loaded.push(key);
        loaded.len()
    }
    /// The idempotency keys of all reservations.
    pub(crate) fn reservations(&self) -> Vec<String> {
        self.0.reservations.lock().unwrap().clone()
    }
    pub(crate) fn book(&self) -> usize {
        self.0.booked.fetch_add(1, Ordering::SeqCst) + 1
    }
    pub(crate) fn booking_count(&self) -> usize {
        self.0.booked.load(Ordering::SeqCst)
    }
    pub(crate) fn open_gate(&self) {
        self.0.gate.store(true, Ordering::SeqCst);
    }
    pub(crate) fn close_gate(&self) {
        self.0.gate.store(false, Ordering::SeqCst);
    }
    /// Runs until the gate is open.
    pub(crate) async fn work_until_gate_opens(&self) {
        self.0.working.fetch_add(1, Ordering::SeqCst);
        let mut stopped = AbortCounter(Some(&self.0));
        let gate = |_: &mut std::task::Context<'_>| {
            if self.0.gate.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
        };
        std::future::poll_fn(gate).await;
        stopped.0 = None;
    }
    /// How often work was started, and how often it was stopped before it finished.
    pub(crate) fn work_counts(&self) -> (usize, usize) {
        (self.0.working.load(Ordering::SeqCst), self.0.stopped.load(Ordering::SeqCst))
    }
}

test_conversation! {
    /// A bit of everything: a string, a form with a rule, a default, a step, an effect that must not be
    /// repeated, and an optional question.
    Trip, |deeds, f| {
        f.report_progress(1, 4, "where");
        let city = f.ask("city", text("Where to?").length(1..=8)).await?;
        let days = (("from", integer("First day").within(0..=9)), ("to", integer("Last day").within(0..=9).optional()));
        let (from, to) = f.form_until("When?", days, |(from, to)| match to {
            Some(to) if to < from => Err(("to".to_owned(), InvalidAnswer::new("That is before the first day", "Later"))),
            _ => Ok(()),
        }).await?;
        let class = f.ask("class", choice("Where to sit?", [("a", "A"), ("b", "B")]).default("a")).await?;
        let loaded = f.step("hold", async |key| { deeds.reserve(key); Ok(1) }).await?;
        let sure = f.ask("sure", confirm("Sure?")).await?;
        let number = f.once("book", async || { deeds.book(); Ok(7) }).await?;
        let note = f.ask("note", text("Anything else?").length(1..=8).optional()).await?;
        f.set_summary("booked");
        Ok(json!([city, from, to, class, loaded, sure, number, note]))
    }
}

test_conversation! {
    /// Takes long to process an answer.
    Slow, |deeds, f| {
        let n = f.ask("n", integer("How much?")).await?;
        deeds.work_until_gate_opens().await;
        let sure = f.ask("sure", confirm("Sure?")).await?;
        Ok(json!([n, sure]))
    }
}

test_conversation! {
    /// Runs long before its first question.
    SlowStart, |deeds, f| {
        deeds.work_until_gate_opens().await;
        Ok(json!(f.ask("n", integer("How much?")).await?))
    }
}

test_conversation! {
    /// Runs long inside a step.
    SlowStep, |deeds, f| {
        let n = f.ask("n", integer("How much?")).await?;
        let step = f.step("hold", async |key| { deeds.reserve(key); deeds.work_until_gate_opens().await; Ok(2) }).await?;
        Ok(json!([n, step, f.ask("sure", confirm("Sure?")).await?]))
    }
}

test_conversation! {
    /// Runs long inside an effect that must not be repeated.
    SlowOnce, |deeds, f| {
        let n = f.ask("n", integer("How much?")).await?;
        let once = f.once("book", async || { deeds.book(); deeds.work_until_gate_opens().await; Ok(2) }).await?;
        Ok(json!([n, once]))
    }
}

test_conversation! {
    /// Five questions on one form; the third must be the sum of the first two.
    Five, |_deeds, f| {
        let n = |text: &str| integer(text).within(0..=9);
        let form = (("a", n("a")), ("b", n("b")), ("c", n("c")), ("d", n("d")), ("e", n("e").optional()));
        let answers = f.form_until("Five numbers", form, |(a, b, c, _, _)| {
            if a + b == *c { Ok(()) } else { Err(("c".to_owned(), InvalidAnswer::new("Not the sum", "Add"))) }
        }).await?;
        let more = f.ask("more", text("More?").optional()).await?;
        Ok(json!([answers.0, answers.1, answers.2, answers.3, answers.4, more]))
    }
}

test_conversation! {
    /// Any number of questions with the same name.
    Many, |deeds, f| {
        let mut sum = 0;
        loop {
            deeds.count_question();
            match f.ask("n", integer("How much? 0 ends it")).await? {
                0 => return Ok(json!(sum)),
                n => sum += n,
            }
        }
    }
}
