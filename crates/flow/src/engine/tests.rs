mod nested;

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use futures_util::FutureExt;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Durability, Entropy, Env, confirm, date, integer, text};

fn object(value: Value) -> Answers {
    value.as_object().cloned().unwrap()
}

fn advance_turn(
    conversation: &dyn DynConversation,
    journal: &mut Journal,
    input: Option<Value>,
    context: &TurnContext<'_>,
) -> Turn {
    // Serialize and deserialize the journal on every turn, as between two processes.
    let stored = serde_json::to_string(journal).unwrap();
    *journal = serde_json::from_str(&stored).unwrap();
    conversation.advance(journal, input.map(object), context).now_or_never().expect("nothing here waits")
}

/// Describes a turn in one line.
fn turn_to_text(turn: &Turn) -> String {
    match turn {
        Turn::Ask(asked) => {
            let names: Vec<_> = asked.question.fields.iter().map(|field| field.name.as_str()).collect();
            let problems: Vec<_> =
                asked.problems.iter().map(|(name, invalid)| format!(" !{name}: {}", invalid.error)).collect();
            format!("ask {}{}", names.join("+"), problems.concat())
        }
        Turn::Done(done) => format!("done {}", done.reply),
        Turn::Halted(halt) => format!("halted {halt}"),
    }
}

struct Trip {
    price: AtomicU32,
    reserved: AtomicU32,
}

impl Trip {
    fn new() -> Self {
        Self { price: 100.into(), reserved: 0.into() }
    }
}

impl Conversation for Trip {
    type Args = Answers;
    type Reply = Value;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
        f.report_progress(1, 3, "where");
        let city = f.ask("city", text("Where to?")).await?;
        let (from, to) = f.form("When?", (("from", date("From")), ("to", date("To").optional()))).await?;
        let price = f.derive("price", async || Ok(self.price.load(Ordering::Relaxed))).await?;
        let seats = f.step("seats", async |_| Ok(self.reserved.fetch_add(1, Ordering::Relaxed))).await?;
        if !f.ask("ok", confirm(format!("{price} for {city}?"))).await? {
            return Err(Halt::refuse("not booked"));
        }
        let number = f.once("book", async || Ok(7)).await?;
        Ok(json!([city, from.to_string(), to.map(|to| to.to_string()), price, seats, number, f.random()?]))
    }
}

#[test]
fn conversation_continues_where_it_stopped() {
    let (trip, arguments, mut journal) = (Trip::new(), Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    let mut next = |input| turn_to_text(&advance_turn(&trip, &mut journal, input, &context));

    assert_eq!(next(None), "ask city");
    assert_eq!(next(None), "ask city");
    assert_eq!(next(Some(json!({ "city": "" }))), "ask city !city: An answer is required");
    assert_eq!(next(Some(json!({ "city": "Oslo", "extra": 1 }))), "ask from+to");
    assert_eq!(
        next(Some(json!({ "from": "2026-02-30", "to": "x" }))),
        "ask from+to !from: That is not a valid date !to: That is not a valid date"
    );
    assert_eq!(next(Some(json!({ "from": "2026-03-01" }))), "ask ok");
    assert_eq!(next(None), "ask ok");
    assert_eq!(next(Some(json!({ "ok": true }))), r#"done ["Oslo","2026-03-01",null,100,0,7,0]"#);
    assert_eq!(next(None), r#"done ["Oslo","2026-03-01",null,100,0,7,0]"#);
    assert_eq!(trip.reserved.load(Ordering::Relaxed), 1, "the step ran once");
}

#[test]
fn arguments_answer_their_questions() {
    let check = |arguments: Value, expected: &str| {
        let arguments = object(arguments);
        let found =
            advance_turn(&Trip::new(), &mut Journal::default(), None, &TurnContext::for_tests(&arguments));
        assert_eq!(turn_to_text(&found), expected);
    };
    check(json!({ "city": "Oslo" }), "ask from+to");
    check(json!({ "city": "Oslo", "to": "2026-03-02" }), "ask from");
    check(
        json!({ "city": "Oslo", "from": "2026-03-01", "to": "2026-03-02", "ok": true }),
        r#"done ["Oslo","2026-03-01","2026-03-02",100,0,7,0]"#,
    );
    check(json!({ "city": "Oslo", "from": "2026-03-01", "to": null, "ok": false }), "halted not booked");
    check(json!({ "city": 7 }), "halted `city`: That is not a string. Enter text of 1 to 4096 characters");
}

#[test]
fn without_elicitation_optional_questions_are_skipped() {
    let arguments = object(json!({ "city": "Oslo", "from": "2026-03-01" }));
    let context = TurnContext { can_ask: false, ..TurnContext::for_tests(&arguments) };
    assert_eq!(turn_to_text(&advance_turn(&Trip::new(), &mut Journal::default(), None, &context)), "ask ok");
    let arguments = object(json!({ "city": "Oslo" }));
    let context = TurnContext { can_ask: false, ..TurnContext::for_tests(&arguments) };
    assert_eq!(
        turn_to_text(&advance_turn(&Trip::new(), &mut Journal::default(), None, &context)),
        "ask from"
    );
}

#[test]
fn without_elicitation_a_question_loop_ends() {
    struct RepeatUntilDeclined;
    impl Conversation for RepeatUntilDeclined {
        type Args = Answers;
        type Reply = u32;
        async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<u32, Halt> {
            let mut rounds = 1;
            while f.ask("again", confirm("Another?").default(true)).await? {
                rounds += 1;
            }
            Ok(rounds)
        }
    }
    for arguments in [json!({}), json!({ "again": true })] {
        let arguments = object(arguments);
        let context = TurnContext { can_ask: false, ..TurnContext::for_tests(&arguments) };
        assert_eq!(
            turn_to_text(&advance_turn(&RepeatUntilDeclined, &mut Journal::default(), None, &context)),
            "ask again"
        );
    }
}

#[test]
fn changed_derived_value_halts_the_conversation() {
    let (trip, arguments, mut journal) = (Trip::new(), Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    advance_turn(&trip, &mut journal, Some(json!({ "city": "Oslo" })), &context);
    advance_turn(&trip, &mut journal, Some(json!({ "from": "2026-03-01" })), &context);
    trip.price.store(120, Ordering::Relaxed);
    let after = advance_turn(&trip, &mut journal, Some(json!({ "ok": true })), &context);
    assert_eq!(turn_to_text(&after), "halted `price` has changed since the question was asked; start again");
}

/// A store that rejects everything.
struct RejectingJournalStore(Halt);
impl crate::JournalStore for RejectingJournalStore {
    fn claim<'a>(&'a self, _: &'a Journal) -> crate::JournalFuture<'a> {
        Box::pin(async { Err(self.0.clone()) })
    }
    fn save<'a>(&'a self, _: &'a Journal) -> crate::JournalFuture<'a> {
        Box::pin(async { Err(self.0.clone()) })
    }
}

#[test]
fn once_requires_a_journal_store() {
    let arguments = object(json!({ "city": "Oslo", "from": "2026-03-01", "to": null, "ok": true }));
    for refusal in [Halt::Superseded, Halt::store_unavailable(std::fmt::Error)] {
        let keeper = RejectingJournalStore(refusal.clone());
        let context =
            TurnContext { durability: Durability::Stored(&keeper), ..TurnContext::for_tests(&arguments) };
        let refused = advance_turn(&Trip::new(), &mut Journal::default(), None, &context);
        assert!(matches!(&refused, Turn::Halted(halt) if *halt == refusal), "{refused:?}");
    }

    // Started, and then the process died.
    let mut journal = Journal::default();
    let context = TurnContext::for_tests(&arguments);
    advance_turn(&Trip::new(), &mut journal, None, &context);
    journal.entries.truncate(journal.entries.len() - 2);
    let unknown = advance_turn(&Trip::new(), &mut journal, None, &context);
    assert!(matches!(unknown, Turn::Halted(Halt::OutcomeUnknown { .. })), "{unknown:?}");
}

#[test]
fn changed_code_halts_with_the_differing_key() {
    struct RenamedQuestion;
    impl Conversation for RenamedQuestion {
        type Args = Answers;
        type Reply = ();
        async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<(), Halt> {
            f.ask("town", text("Where to?")).await?;
            Ok(())
        }
    }
    struct WithoutQuestions;
    impl Conversation for WithoutQuestions {
        type Args = Answers;
        type Reply = ();
        async fn run(&self, _: &mut Flow<'_>, _: Answers) -> Result<(), Halt> {
            Ok(())
        }
    }
    let (arguments, mut journal) = (Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    advance_turn(&Trip::new(), &mut journal, Some(json!({ "city": "Oslo" })), &context);
    for (code, key) in [(&RenamedQuestion as &dyn DynConversation, "town"), (&WithoutQuestions, "city")] {
        let halted = advance_turn(code, &mut journal.clone(), None, &context);
        assert!(matches!(&halted, Turn::Halted(Halt::CodeChanged { key: k }) if k == key), "{halted:?}");
    }
}

#[test]
fn question_stays_open_if_its_halt_is_ignored() {
    struct IgnoresHalt;
    impl Conversation for IgnoresHalt {
        type Args = Answers;
        type Reply = i64;
        async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<i64, Halt> {
            let n = f.ask("n", integer("n?")).await.unwrap_or(0);
            let m = f.ask("m", integer("m?")).await.unwrap_or(0);
            Ok(n + m)
        }
    }
    let (arguments, mut journal) = (Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    assert_eq!(turn_to_text(&advance_turn(&IgnoresHalt, &mut journal, None, &context)), "ask n");
    assert_eq!(
        turn_to_text(&advance_turn(&IgnoresHalt, &mut journal, Some(json!({ "n": 1 })), &context)),
        "ask m"
    );
    assert_eq!(
        turn_to_text(&advance_turn(&IgnoresHalt, &mut journal, Some(json!({ "m": 2 })), &context)),
        "done 3"
    );
}

/// One operation of a random conversation.
#[derive(Clone, Debug)]
enum ProgramOp {
    Ask(u8),
    Derive(u8),
    Step(u8),
    Once(u8),
    Now,
    Random,
    /// Jumps back three operations while the last answer is even, to get questions in loops.
    Loop,
}

struct RandomProgram(Vec<ProgramOp>);

impl Conversation for RandomProgram {
    type Args = Answers;
    type Reply = Vec<u64>;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Vec<u64>, Halt> {
        let (mut trace, mut at, mut last, mut turns) = (Vec::new(), 0, 1, 0);
        while let Some(op) = self.0.get(at) {
            at += 1;
            let sum: u64 = trace.iter().sum();
            match op {
                ProgramOp::Ask(key) => {
                    last = f.ask(&format!("k{key}"), integer("n?").within(0..=9)).await?.unsigned_abs();
                    trace.push(last);
                }
                ProgramOp::Derive(key) => {
                    trace.push(f.derive(&format!("k{key}"), async || Ok(sum + 1)).await?);
                }
                ProgramOp::Step(key) => trace.push(f.step(&format!("k{key}"), async |_| Ok(sum + 2)).await?),
                ProgramOp::Once(key) => trace.push(f.once(&format!("k{key}"), async || Ok(sum + 3)).await?),
                ProgramOp::Now => trace.push(f.now()?.as_second().unsigned_abs()),
                ProgramOp::Random => trace.push(f.random()? >> 32),
                ProgramOp::Loop if last % 2 == 0 && turns < 3 => {
                    (at, turns, last) = (at.saturating_sub(4), turns + 1, last + 1);
                }
                ProgramOp::Loop => {}
            }
            for n in &mut trace {
                *n %= 1 << 40;
            }
        }
        Ok(trace)
    }
}

fn arbitrary_program_op() -> impl Strategy<Value = ProgramOp> {
    prop_oneof![
        4 => (0..3u8).prop_map(ProgramOp::Ask),
        1 => (0..3u8).prop_map(ProgramOp::Derive),
        1 => (0..3u8).prop_map(ProgramOp::Step),
        1 => (0..3u8).prop_map(ProgramOp::Once),
        1 => Just(ProgramOp::Now),
        1 => Just(ProgramOp::Random),
        1 => Just(ProgramOp::Loop),
    ]
}

/// Never returns the same value twice, so that a value missing from the journal is noticed.
#[derive(Default)]
struct VaryingEntropy {
    seconds: AtomicI64,
    counter: AtomicU64,
}

impl Env for VaryingEntropy {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.seconds.fetch_add(1, Ordering::Relaxed)).unwrap()
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }
}

impl Entropy for VaryingEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.counter.fetch_add(0x9E37_79B9, Ordering::Relaxed).to_le_bytes()[1];
        }
    }
}

proptest! {
    /// Regardless of the answers, replaying yields the same question, and continuing from any stored copy
    /// yields the same result.
    #[test]
    fn random_programs_replay_to_the_same_state(ops in prop::collection::vec(arbitrary_program_op(), 0..14), answers in prop::collection::vec(-2i64..12, 60)) {
        let (program, arguments, mut journal) = (RandomProgram(ops), Answers::new(), Journal::default());
        let dice = VaryingEntropy::default();
        let go = |journal: &mut Journal, input: Option<Value>| {
            let context = TurnContext { env: &dice, ..TurnContext::for_tests(&arguments) };
            advance_turn(&program, journal, input, &context)
        };
        let mut input = None;
        for answer in answers {
            let found = turn_to_text(&go(&mut journal, input.take()));
            let plain = found.split(" !").next().unwrap().to_owned();
            let again = turn_to_text(&go(&mut journal.clone(), None));
            prop_assert_eq!(&plain, &again);
            let Some(key) = plain.strip_prefix("ask ") else {
                prop_assert!(plain.starts_with("done "), "{plain}");
                break;
            };
            input = Some(json!({ key: answer }));
        }
    }
}
