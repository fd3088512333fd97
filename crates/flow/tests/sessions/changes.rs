//! What changes under a live session: its code, its process, what it rests on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use flow::session::{Limits, Memory};
use flow::{Answers, Conversation, Converse, Flow, Halt, integer, text};
use serde_json::{Value, json};

use crate::desk::{Replica, Time, Tools, answer, everything, line, now, only, show};
use crate::talks::{Trip, talk};

talk!(Before, |_deeds, f| {
    let name = f.ask("name", text("Your name?")).await?;
    Ok(json!([name, f.ask("age", integer("Your age?")).await?]))
});
talk!(OtherWords, |_deeds, f| {
    let name = f.ask("name", text("What is your name, please?").length(1..=5)).await?;
    Ok(json!([name, f.ask("age", integer("And your age?")).await?]))
});
talk!(OtherName, |_deeds, f| {
    let name = f.ask("nickname", text("Your name?")).await?;
    Ok(json!([name, f.ask("age", integer("Your age?")).await?]))
});
talk!(OtherKind, |_deeds, f| {
    let name = f.ask("name", integer("Your number?")).await?;
    Ok(json!([name, f.ask("age", integer("Your age?")).await?]))
});
talk!(Shorter, |_deeds, _f| Ok(json!("nothing to ask")));
talk!(OtherNext, |_deeds, f| {
    let name = f.ask("name", text("Your name?")).await?;
    Ok(json!([name, f.ask("size", integer("Your size?")).await?]))
});

/// Makes a conversation.
type Make = Box<dyn Fn() -> Box<dyn Converse> + Send + Sync>;

#[test]
fn changed_code_under_a_live_session_is_named() {
    let cases: [(Make, &str); 5] = [
        (Box::new(|| Box::new(OtherWords::default())), r#"done ["a long name",7]"#),
        (Box::new(|| Box::new(OtherName::default())), "error conversation_changed"),
        (Box::new(|| Box::new(OtherKind::default())), "error conversation_changed"),
        (Box::new(|| Box::new(Shorter::default())), "error conversation_changed"),
        // The answer was to a question that is not asked any more; the one that is gets asked.
        (Box::new(|| Box::new(OtherNext::default())), "refused, ask size !An answer is required"),
    ];
    for (n, (code, expected)) in cases.into_iter().enumerate() {
        let (store, time) = (Arc::new(Memory::default()), Time::new());
        let before = Replica::new(store.clone(), &time, only(Before::default()), Limits::default());
        let id = now(before.start(json!({}))).unwrap().id;
        now(before.say(&id, json!("a long name"))).unwrap();
        let tools: Tools = Arc::new(move |_| Some(code()));
        let after = Replica::new(store, &time, tools, Limits::default());
        assert_eq!(line(now(after.look(&id))), "ask age", "looking runs no code");
        assert_eq!(answer(now(after.say(&id, json!(7)))), expected, "case {n}");
    }
}

#[test]
fn a_tool_that_is_gone_is_not_interactive() {
    let (store, time) = (Arc::new(Memory::default()), Time::new());
    let before = Replica::new(store.clone(), &time, only(Before::default()), Limits::default());
    let id = now(before.start(json!({}))).unwrap().id;
    let after = Replica::new(store, &time, Arc::new(|_| None), Limits::default());
    assert_eq!(line(now(after.start(json!({})))), "-32007");
    assert_eq!(answer(now(after.say(&id, json!("x")))), "-32007");
    assert_eq!(answer(now(before.say(&id, json!("x")))), "ask age", "and when it is back, it goes on");
}

#[test]
fn a_restart_changes_nothing() {
    let (store, time) = (Arc::new(Memory::default()), Time::new());
    let trip = Trip::default();
    let fresh = || Replica::new(store.clone(), &time, only(trip.clone()), Limits::default());
    let id = now(fresh().start(json!({ "note": "x" }))).unwrap().id;
    for value in [json!("Oslo"), json!("x"), json!(4), json!(2), json!(5), json!("b"), json!(true)] {
        let said = now(fresh().say(&id, value)).unwrap().standing;
        assert_eq!(everything(&now(fresh().look(&id)).unwrap()), everything(&said));
    }
    assert_eq!(line(now(fresh().look(&id))), r#"done ["Oslo",4,5,"b",1,true,7,"x"]"#);
}

/// Rests on a price.
#[derive(Clone, Default)]
struct Priced(Arc<AtomicU32>);

impl Conversation for Priced {
    type Args = Answers;
    type Reply = Value;
    async fn run(&self, f: &mut Flow<'_>, _: Answers) -> Result<Value, Halt> {
        let price = f.derive("price", async || Ok(self.0.load(Ordering::SeqCst))).await?;
        let n = f.ask("n", integer(format!("How many, for {price} each?"))).await?;
        let sum = f.ask("ok", integer(format!("{} in all?", u64::from(price) * n.unsigned_abs()))).await?;
        Ok(json!([price, n, sum]))
    }
}

#[test]
fn what_an_answer_rests_on_may_not_change() {
    let priced = Priced::default();
    let replica = Replica::alone(only(priced.clone()), Limits::default());
    let id = now(replica.start(json!({}))).unwrap().id;
    now(replica.say(&id, json!(1))).unwrap();
    priced.0.store(5, Ordering::SeqCst);
    assert_eq!(answer(now(replica.say(&id, json!(0)))), "error world_changed");
    let end = now(replica.look(&id)).unwrap();
    assert_eq!((show(&end).as_str(), end.session.history().len()), ("error world_changed", 2));
}

#[test]
fn a_conversation_that_refuses_says_so_in_its_own_words() {
    talk!(Refusing, |_deeds, f| {
        f.ask("n", integer("n?")).await?;
        Err(Halt::refuse("not on Sundays"))
    });
    let replica = Replica::alone(only(Refusing::default()), Limits::default());
    let id = now(replica.start(json!({}))).unwrap().id;
    assert_eq!(answer(now(replica.say(&id, json!(0)))), "error refused");
    let end = now(replica.look(&id)).unwrap();
    assert_eq!(end.session.failed().unwrap().message, "not on Sundays");
    assert_eq!(answer(now(replica.say(&id, json!(0)))), "-32003");
    assert_eq!(line(now(replica.cancel(&id))), "-32003");
}

#[test]
fn a_question_that_nobody_can_answer_is_not_asked() {
    talk!(Unusable, |_deeds, f| {
        f.ask("n", integer("n?")).await?;
        Ok(json!(f.ask("m", integer("m?").at_least(5).at_most(3)).await?))
    });
    let replica = Replica::alone(only(Unusable::default()), Limits::default());
    for arguments in [json!({}), json!({ "m": 4 })] {
        let id = now(replica.start(arguments)).unwrap().id;
        assert_eq!(answer(now(replica.say(&id, json!(0)))), "error prompt_unsupported");
        let end = now(replica.look(&id)).unwrap();
        let why = "the question `m` cannot be asked: it wants at least 5 and at most 3";
        assert_eq!(end.session.failed().unwrap().message, why);
    }
}
