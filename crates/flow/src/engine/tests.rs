mod sub;

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use futures_util::FutureExt;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Entropy, Env, Ledger, confirm, date, integer, text};

fn object(value: Value) -> Answers {
    value.as_object().cloned().unwrap()
}

fn turn(
    conversation: &dyn Converse,
    journal: &mut Journal,
    input: Option<Value>,
    context: &TurnContext<'_>,
) -> Turn {
    // The journal goes through its stored form on every turn, as it would between two processes.
    let stored = serde_json::to_string(journal).unwrap();
    *journal = serde_json::from_str(&stored).unwrap();
    conversation.advance(journal, input.map(object), context).now_or_never().expect("nothing here waits")
}

/// What a turn came to, in one line.
fn show(turn: &Turn) -> String {
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
        f.progress(1, 3, "where");
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
fn a_conversation_goes_on_where_it_stopped() {
    let (trip, arguments, mut journal) = (Trip::new(), Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    let mut next = |input| show(&turn(&trip, &mut journal, input, &context));

    assert_eq!(next(None), "ask city");
    assert_eq!(next(None), "ask city");
    assert_eq!(next(Some(json!({ "city": "" }))), "ask city !city: An answer is required");
    assert_eq!(next(Some(json!({ "city": "Oslo", "extra": 1 }))), "ask from+to");
    assert_eq!(
        next(Some(json!({ "from": "2026-02-30", "to": "x" }))),
        "ask from+to !from: That is not a day of the calendar !to: That is not a day of the calendar"
    );
    assert_eq!(next(Some(json!({ "from": "2026-03-01" }))), "ask ok");
    assert_eq!(next(None), "ask ok");
    assert_eq!(next(Some(json!({ "ok": true }))), r#"done ["Oslo","2026-03-01",null,100,0,7,0]"#);
    assert_eq!(next(None), r#"done ["Oslo","2026-03-01",null,100,0,7,0]"#);
    assert_eq!(trip.reserved.load(Ordering::Relaxed), 1, "the step was taken once");
}

#[test]
fn arguments_answer_their_questions() {
    let check = |arguments: Value, expected: &str| {
        let arguments = object(arguments);
        let found = turn(&Trip::new(), &mut Journal::default(), None, &TurnContext::for_tests(&arguments));
        assert_eq!(show(&found), expected);
    };
    check(json!({ "city": "Oslo" }), "ask from+to");
    check(json!({ "city": "Oslo", "to": "2026-03-02" }), "ask from");
    check(
        json!({ "city": "Oslo", "from": "2026-03-01", "to": "2026-03-02", "ok": true }),
        r#"done ["Oslo","2026-03-01","2026-03-02",100,0,7,0]"#,
    );
    check(json!({ "city": "Oslo", "from": "2026-03-01", "to": null, "ok": false }), "halted not booked");
    check(json!({ "city": 7 }), "halted `city`: That is not a text. Give a text of 1 to 4096 characters");
}

#[test]
fn where_nobody_can_be_asked_what_may_stay_open_does() {
    let arguments = object(json!({ "city": "Oslo", "from": "2026-03-01" }));
    let context = TurnContext { can_ask: false, ..TurnContext::for_tests(&arguments) };
    assert_eq!(show(&turn(&Trip::new(), &mut Journal::default(), None, &context)), "ask ok");
    let arguments = object(json!({ "city": "Oslo" }));
    let context = TurnContext { can_ask: false, ..TurnContext::for_tests(&arguments) };
    assert_eq!(show(&turn(&Trip::new(), &mut Journal::default(), None, &context)), "ask from");
}

#[test]
fn where_nobody_can_be_asked_a_loop_ends() {
    struct Again;
    impl Conversation for Again {
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
        assert_eq!(show(&turn(&Again, &mut Journal::default(), None, &context)), "ask again");
    }
}

#[test]
fn a_world_that_changed_stops_it() {
    let (trip, arguments, mut journal) = (Trip::new(), Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    turn(&trip, &mut journal, Some(json!({ "city": "Oslo" })), &context);
    turn(&trip, &mut journal, Some(json!({ "from": "2026-03-01" })), &context);
    trip.price.store(120, Ordering::Relaxed);
    let after = turn(&trip, &mut journal, Some(json!({ "ok": true })), &context);
    assert_eq!(
        show(&after),
        "halted `price` is no longer what it was when the question was asked; start again"
    );
}

/// Lets nobody do anything.
struct Refusing(Halt);
impl crate::Keeper for Refusing {
    fn claim<'a>(&'a self, _: &'a Journal) -> crate::Keeping<'a> {
        Box::pin(async { Err(self.0.clone()) })
    }
    fn save<'a>(&'a self, _: &'a Journal) -> crate::Keeping<'a> {
        Box::pin(async { Err(self.0.clone()) })
    }
}

#[test]
fn what_must_happen_once_needs_somebody_who_keeps_the_journal() {
    let arguments = object(json!({ "city": "Oslo", "from": "2026-03-01", "to": null, "ok": true }));
    for refusal in [Halt::Overtaken, Halt::not_kept(std::fmt::Error)] {
        let keeper = Refusing(refusal.clone());
        let context = TurnContext { ledger: Ledger::Kept(&keeper), ..TurnContext::for_tests(&arguments) };
        let refused = turn(&Trip::new(), &mut Journal::default(), None, &context);
        assert!(matches!(&refused, Turn::Halted(halt) if *halt == refusal), "{refused:?}");
    }

    // Begun, and then the process died.
    let mut journal = Journal::default();
    let context = TurnContext::for_tests(&arguments);
    turn(&Trip::new(), &mut journal, None, &context);
    journal.entries.truncate(journal.entries.len() - 2);
    let unknown = turn(&Trip::new(), &mut journal, None, &context);
    assert!(matches!(unknown, Turn::Halted(Halt::OutcomeUnknown { .. })), "{unknown:?}");
}

#[test]
fn changed_code_under_a_live_conversation_is_named() {
    struct Other;
    impl Conversation for Other {
        type Args = Answers;
        type Reply = ();
        async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<(), Halt> {
            f.ask("town", text("Where to?")).await?;
            Ok(())
        }
    }
    struct Shorter;
    impl Conversation for Shorter {
        type Args = Answers;
        type Reply = ();
        async fn run(&self, _: &mut Flow<'_>, _: Answers) -> Result<(), Halt> {
            Ok(())
        }
    }
    let (arguments, mut journal) = (Answers::new(), Journal::default());
    let context = TurnContext::for_tests(&arguments);
    turn(&Trip::new(), &mut journal, Some(json!({ "city": "Oslo" })), &context);
    for (code, key) in [(&Other as &dyn Converse, "town"), (&Shorter, "city")] {
        let halted = turn(code, &mut journal.clone(), None, &context);
        assert!(matches!(&halted, Turn::Halted(Halt::CodeChanged { key: k }) if k == key), "{halted:?}");
    }
}

#[test]
fn a_swallowed_question_stays_open() {
    struct Careless;
    impl Conversation for Careless {
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
    assert_eq!(show(&turn(&Careless, &mut journal, None, &context)), "ask n");
    assert_eq!(show(&turn(&Careless, &mut journal, Some(json!({ "n": 1 })), &context)), "ask m");
    assert_eq!(show(&turn(&Careless, &mut journal, Some(json!({ "m": 2 })), &context)), "done 3");
}

/// One thing that a random conversation does.
#[derive(Clone, Debug)]
enum Op {
    Ask(u8),
    Derive(u8),
    Step(u8),
    Once(u8),
    Now,
    Random,
    /// Goes back three operations as long as the last answer was even: questions in loops.
    Loop,
}

struct Program(Vec<Op>);

impl Conversation for Program {
    type Args = Answers;
    type Reply = Vec<u64>;

    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Vec<u64>, Halt> {
        let (mut trace, mut at, mut last, mut turns) = (Vec::new(), 0, 1, 0);
        while let Some(op) = self.0.get(at) {
            at += 1;
            let sum: u64 = trace.iter().sum();
            match op {
                Op::Ask(key) => {
                    last = f.ask(&format!("k{key}"), integer("n?").within(0..=9)).await?.unsigned_abs();
                    trace.push(last);
                }
                Op::Derive(key) => trace.push(f.derive(&format!("k{key}"), async || Ok(sum + 1)).await?),
                Op::Step(key) => trace.push(f.step(&format!("k{key}"), async |_| Ok(sum + 2)).await?),
                Op::Once(key) => trace.push(f.once(&format!("k{key}"), async || Ok(sum + 3)).await?),
                Op::Now => trace.push(f.now()?.as_second().unsigned_abs()),
                Op::Random => trace.push(f.random()? >> 32),
                Op::Loop if last % 2 == 0 && turns < 3 => {
                    (at, turns, last) = (at.saturating_sub(4), turns + 1, last + 1);
                }
                Op::Loop => {}
            }
            for n in &mut trace {
                *n %= 1 << 40;
            }
        }
        Ok(trace)
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..3u8).prop_map(Op::Ask),
        1 => (0..3u8).prop_map(Op::Derive),
        1 => (0..3u8).prop_map(Op::Step),
        1 => (0..3u8).prop_map(Op::Once),
        1 => Just(Op::Now),
        1 => Just(Op::Random),
        1 => Just(Op::Loop),
    ]
}

/// Never the same twice, so that a value which is not journalled shows.
#[derive(Default)]
struct Dice {
    seconds: AtomicI64,
    counter: AtomicU64,
}

impl Env for Dice {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.seconds.fetch_add(1, Ordering::Relaxed)).unwrap()
    }

    fn entropy(&self) -> &dyn Entropy {
        self
    }
}

impl Entropy for Dice {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.counter.fetch_add(0x9E37_79B9, Ordering::Relaxed).to_le_bytes()[1];
        }
    }
}

proptest! {
    /// Whatever was answered, well or badly: replaying gives the same question again, and going on from any
    /// stored copy gives the same end.
    #[test]
    fn random_walks_replay_to_the_same_state(ops in prop::collection::vec(op(), 0..14), answers in prop::collection::vec(-2i64..12, 60)) {
        let (program, arguments, mut journal) = (Program(ops), Answers::new(), Journal::default());
        let dice = Dice::default();
        let go = |journal: &mut Journal, input: Option<Value>| {
            let context = TurnContext { env: &dice, ..TurnContext::for_tests(&arguments) };
            turn(&program, journal, input, &context)
        };
        let mut input = None;
        for answer in answers {
            let found = show(&go(&mut journal, input.take()));
            let plain = found.split(" !").next().unwrap().to_owned();
            let again = show(&go(&mut journal.clone(), None));
            prop_assert_eq!(&plain, &again);
            let Some(key) = plain.strip_prefix("ask ") else {
                prop_assert!(plain.starts_with("done "), "{plain}");
                break;
            };
            input = Some(json!({ key: answer }));
        }
    }
}
