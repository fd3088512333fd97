//! Changes during a live session: its code, its process, and the values it relies on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use flow::session::{Limits, MemorySessionStore};
use flow::{Answers, Conversation, DynConversation, Flow, Halt, integer, text};
use serde_json::{Value, json};

use crate::conversations::{Trip, test_conversation};
use crate::harness::{
    ConversationLookup, ManualClock, Replica, expect_ready, reply_to_text, result_to_text,
    single_conversation, snapshot_json, snapshot_to_text,
};

test_conversation!(Before, |_deeds, f| {
    let name = f.ask("name", text("Your name?")).await?;
    Ok(json!([name, f.ask("age", integer("Your age?")).await?]))
});
test_conversation!(OtherWords, |_deeds, f| {
    let name = f.ask("name", text("What is your name, please?").length(1..=5)).await?;
    Ok(json!([name, f.ask("age", integer("And your age?")).await?]))
});
test_conversation!(OtherName, |_deeds, f| {
    let name = f.ask("nickname", text("Your name?")).await?;
    Ok(json!([name, f.ask("age", integer("Your age?")).await?]))
});
test_conversation!(OtherKind, |_deeds, f| {
    let name = f.ask("name", integer("Your number?")).await?;
    Ok(json!([name, f.ask("age", integer("Your age?")).await?]))
});
test_conversation!(Shorter, |_deeds, _f| Ok(json!("nothing to ask")));
test_conversation!(OtherNext, |_deeds, f| {
    let name = f.ask("name", text("Your name?")).await?;
    Ok(json!([name, f.ask("size", integer("Your size?")).await?]))
});

type ConversationFactory = Box<dyn Fn() -> Box<dyn DynConversation> + Send + Sync>;

#[test]
fn changed_code_under_a_live_session_is_reported() {
    let cases: [(ConversationFactory, &str); 5] = [
        (Box::new(|| Box::new(OtherWords::default())), r#"done ["a long name",7]"#),
        (Box::new(|| Box::new(OtherName::default())), "error conversation_changed"),
        (Box::new(|| Box::new(OtherKind::default())), "error conversation_changed"),
        (Box::new(|| Box::new(Shorter::default())), "error conversation_changed"),
        // The answered question no longer exists, so the new one is asked.
        (Box::new(|| Box::new(OtherNext::default())), "refused, ask size !An answer is required"),
    ];
    for (n, (code, expected)) in cases.into_iter().enumerate() {
        let (store, time) = (Arc::new(MemorySessionStore::default()), ManualClock::new());
        let before =
            Replica::new(store.clone(), &time, single_conversation(Before::default()), Limits::default());
        let id = expect_ready(before.start(json!({}))).unwrap().id;
        expect_ready(before.respond(&id, json!("a long name"))).unwrap();
        let tools: ConversationLookup = Arc::new(move |_| Some(code()));
        let after = Replica::new(store, &time, tools, Limits::default());
        assert_eq!(result_to_text(expect_ready(after.status(&id))), "ask age", "looking runs no code");
        assert_eq!(reply_to_text(expect_ready(after.respond(&id, json!(7)))), expected, "case {n}");
    }
}

#[test]
fn session_of_a_removed_tool_reports_not_interactive() {
    let (store, time) = (Arc::new(MemorySessionStore::default()), ManualClock::new());
    let before =
        Replica::new(store.clone(), &time, single_conversation(Before::default()), Limits::default());
    let id = expect_ready(before.start(json!({}))).unwrap().id;
    let after = Replica::new(store, &time, Arc::new(|_| None), Limits::default());
    assert_eq!(result_to_text(expect_ready(after.start(json!({})))), "-32007");
    assert_eq!(reply_to_text(expect_ready(after.respond(&id, json!("x")))), "-32007");
    assert_eq!(
        reply_to_text(expect_ready(before.respond(&id, json!("x")))),
        "ask age",
        "it continues once the tool is back"
    );
}

#[test]
fn restart_preserves_the_session() {
    let (store, time) = (Arc::new(MemorySessionStore::default()), ManualClock::new());
    let trip = Trip::default();
    let fresh = || Replica::new(store.clone(), &time, single_conversation(trip.clone()), Limits::default());
    let id = expect_ready(fresh().start(json!({ "note": "x" }))).unwrap().id;
    for value in [json!("Oslo"), json!("x"), json!(4), json!(2), json!(5), json!("b"), json!(true)] {
        let said = expect_ready(fresh().respond(&id, value)).unwrap().snapshot;
        assert_eq!(snapshot_json(&expect_ready(fresh().status(&id)).unwrap()), snapshot_json(&said));
    }
    assert_eq!(result_to_text(expect_ready(fresh().status(&id))), r#"done ["Oslo",4,5,"b",1,true,7,"x"]"#);
}

/// Relies on a derived price.
#[derive(Clone, Default)]
struct PricedConversation(Arc<AtomicU32>);

impl Conversation for PricedConversation {
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
fn changed_derived_value_ends_the_session() {
    let priced = PricedConversation::default();
    let replica = Replica::with_own_store(single_conversation(priced.clone()), Limits::default());
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    expect_ready(replica.respond(&id, json!(1))).unwrap();
    priced.0.store(5, Ordering::SeqCst);
    assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(0)))), "error world_changed");
    let end = expect_ready(replica.status(&id)).unwrap();
    assert_eq!((snapshot_to_text(&end).as_str(), end.session.history().len()), ("error world_changed", 2));
}

#[test]
fn refusal_message_of_the_conversation_is_reported() {
    test_conversation!(Refusing, |_deeds, f| {
        f.ask("n", integer("n?")).await?;
        Err(Halt::refuse("not on Sundays"))
    });
    let replica = Replica::with_own_store(single_conversation(Refusing::default()), Limits::default());
    let id = expect_ready(replica.start(json!({}))).unwrap().id;
    assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(0)))), "error refused");
    let end = expect_ready(replica.status(&id)).unwrap();
    assert_eq!(end.session.failure().unwrap().message, "not on Sundays");
    assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(0)))), "-32003");
    assert_eq!(result_to_text(expect_ready(replica.cancel(&id))), "-32003");
}

#[test]
fn unanswerable_question_ends_the_session() {
    test_conversation!(Unusable, |_deeds, f| {
        f.ask("n", integer("n?")).await?;
        Ok(json!(f.ask("m", integer("m?").at_least(5).at_most(3)).await?))
    });
    let replica = Replica::with_own_store(single_conversation(Unusable::default()), Limits::default());
    for arguments in [json!({}), json!({ "m": 4 })] {
        let id = expect_ready(replica.start(arguments)).unwrap().id;
        assert_eq!(reply_to_text(expect_ready(replica.respond(&id, json!(0)))), "error prompt_unsupported");
        let end = expect_ready(replica.status(&id)).unwrap();
        let why = "the question `m` cannot be asked: it has a minimum of 5 and a maximum of 3";
        assert_eq!(end.session.failure().unwrap().message, why);
    }
}
