//! Forms asked field by field, rejections, going back, skipping, arguments.

use flow::session::{Limits, RespondReply, SessionError, StartRequest, UserResponse};
use serde_json::{Value, json};

use crate::conversations::{EffectLog, Five, Many, Trip};
use crate::harness::{
    Replica, action_response, answer_history, error_code, expect_ready, object, reply_to_text,
    result_to_text, single_conversation, snapshot_to_text,
};

/// An action on a session, and the expected state after it.
enum ScriptAction {
    Say(Value),
    Back,
    Skip,
}
use ScriptAction::{Back, Say, Skip};

fn perform(replica: &Replica, id: &str, act: &ScriptAction) -> Result<RespondReply, SessionError> {
    let response = match act {
        Say(value) => UserResponse { value: value.clone(), ..UserResponse::default() },
        Back => action_response("back"),
        Skip => action_response("skip"),
    };
    expect_ready(replica.respond_with(id, response))
}

/// Starts a session, runs the script, and compares the history at the end.
#[track_caller]
fn run_script(
    replica: &Replica,
    arguments: Value,
    first: &str,
    script: &[(ScriptAction, &str)],
    told: Value,
) {
    let begun = expect_ready(replica.start(arguments)).unwrap();
    assert_eq!(snapshot_to_text(&begun), first);
    for (n, (todo, expected)) in script.iter().enumerate() {
        assert_eq!(reply_to_text(perform(replica, &begun.id, todo)), *expected, "step {n}");
    }
    let end = expect_ready(replica.status(&begun.id)).unwrap();
    assert_eq!(serde_json::to_value(answer_history(&end)).unwrap(), told);
}

fn trip_replica() -> (EffectLog, Replica) {
    let deeds = EffectLog::default();
    (deeds.clone(), Replica::with_own_store(single_conversation(Trip(deeds)), Limits::default()))
}

#[test]
fn conversation_runs_from_start_to_result() {
    let (deeds, replica) = trip_replica();
    run_script(
        &replica,
        json!({}),
        "ask city",
        &[
            (Say(json!("")), "refused, ask city !An answer is required"),
            (Say(json!("too long a name")), "refused, ask city !That is longer than 8 characters"),
            (Say(json!("Oslo")), "ask from"),
            (Say(json!("x")), "refused, ask from !That is not a number"),
            (Say(json!("5")), "ask to"),
            (Say(json!(3)), "refused, ask to !That is before the first day"),
            (Say(json!(7)), "ask class"),
            (Say(json!("c")), "refused, ask class !That is not one of the options"),
            (Skip, "ask sure"),
            (Skip, "refused, ask sure !An answer is required"),
            (Say(json!("yes")), "ask note"),
            (Skip, r#"done ["Oslo",5,7,"a",1,true,7,null]"#),
            (Say(json!("x")), "-32003"),
        ],
        json!([["city", "Oslo"], ["from", 5], ["to", 7], ["class", "a"], ["sure", true], ["note", null]]),
    );
    assert_eq!((deeds.reservations().len(), deeds.booking_count()), (1, 1));
}

#[test]
fn back_crosses_forms_and_steps_but_not_a_once_effect() {
    let (deeds, replica) = trip_replica();
    run_script(
        &replica,
        json!({}),
        "ask city",
        &[
            (Back, "refused, ask city !There is no question to go back to"),
            (Say(json!("Oslo")), "ask from"),
            (Back, "ask city"),
            (Say(json!("Rome")), "ask from"),
            (Say(json!(1)), "ask to"),
            (Back, "ask from"),
            (Say(json!(2)), "ask to"),
            (Say(json!(4)), "ask class"),
            (Back, "ask to"),
            (Say(json!(1)), "refused, ask to !That is before the first day"),
            (Back, "ask from"),
            (Back, "ask city"),
            (Say(json!("Bern")), "ask from"),
            (Say(json!(3)), "ask to"),
            (Skip, "ask class"),
            (Say(json!("b")), "ask sure"),
            (Back, "ask class"),
            (Say(json!("a")), "ask sure"),
            (Say(json!(true)), "ask note"),
            (Back, "refused, ask note !There is no question to go back to"),
            (Say(json!("hi")), r#"done ["Bern",3,null,"a",1,true,7,"hi"]"#),
        ],
        json!([["city", "Bern"], ["from", 3], ["to", null], ["class", "a"], ["sure", true], ["note", "hi"]]),
    );
    assert_eq!(deeds.booking_count(), 1);
    let loaded = deeds.reservations();
    assert_eq!(loaded.len(), 2, "the step ran once for each preceding answer");
    assert_ne!(loaded[0], loaded[1], "with different keys");
}

#[test]
fn context_is_visible_to_the_conversation() {
    crate::conversations::test_conversation!(Contextual, |_deeds, f| {
        let who = f.context().get("who").cloned().unwrap_or_default();
        let n = f.ask("n", flow::integer("n?")).await?;
        Ok(json!([who, f.context().get("who"), n]))
    });
    let replica = Replica::with_own_store(single_conversation(Contextual::default()), Limits::default());
    let context = object(json!({ "who": "me", "n": 1 }));
    let begun = expect_ready(
        replica.start_with(StartRequest { context: context.clone(), ..StartRequest::default() }),
    )
    .unwrap();
    assert_eq!(snapshot_to_text(&begun), "ask n", "context answers nothing");
    assert_eq!(begun.session.context(), &context);
    assert_eq!(reply_to_text(expect_ready(replica.respond(&begun.id, json!(1)))), r#"done ["me","me",1]"#);
}

#[test]
fn an_argument_answers_the_first_question_of_its_name() {
    let replica = Replica::with_own_store(single_conversation(Many::default()), Limits::default());
    let script = [(Say(json!(3)), "ask n"), (Say(json!(0)), "done 5")];
    run_script(&replica, json!({ "n": 2 }), "ask n", &script, json!([["n", 3], ["n", 0]]));
}

#[test]
fn field_and_form_rejections_both_count_as_attempts() {
    let limits = Limits { max_attempts: 3, ..Limits::default() };
    let replica = Replica::with_own_store(single_conversation(Five::default()), limits);
    let begun = expect_ready(replica.start(json!({ "a": 1, "b": 1, "c": 9, "d": 1, "e": 1 }))).unwrap();
    assert_eq!(snapshot_to_text(&begun), "ask c !Not the sum");
    for _ in 0..3 {
        assert_eq!(
            reply_to_text(expect_ready(replica.respond(&begun.id, json!(9)))),
            "refused, ask c !Not the sum"
        );
    }
    assert_eq!(reply_to_text(expect_ready(replica.respond(&begun.id, json!(2)))), "-32004");
    assert_eq!(result_to_text(expect_ready(replica.status(&begun.id))), "error too_many_attempts");
    assert_eq!(reply_to_text(expect_ready(replica.respond(&begun.id, json!(2)))), "-32003");

    // A form that is filled in repeatedly with answers that are invalid together.
    let begun = expect_ready(replica.start(json!({}))).unwrap();
    for value in [1, 1, 9, 1, 1] {
        expect_ready(replica.respond(&begun.id, json!(value))).unwrap();
    }
    for _ in 0..2 {
        expect_ready(replica.respond_with(&begun.id, action_response("back"))).unwrap();
        for value in [9, 1] {
            expect_ready(replica.respond(&begun.id, json!(value))).unwrap();
        }
    }
    assert_eq!(error_code(&expect_ready(replica.respond(&begun.id, json!(9))).unwrap_err()), -32004);
}

#[test]
fn only_invalid_fields_are_asked_again_and_history_keeps_form_order() {
    let replica = Replica::with_own_store(single_conversation(Five::default()), Limits::default());
    let script = |rest: Vec<(ScriptAction, &'static str)>| {
        let mut script = vec![
            (Say(json!(1)), "ask b"),
            (Say(json!(2)), "ask c"),
            (Say(json!(9)), "ask d"),
            (Say(json!(4)), "ask e"),
            (Say(json!(5)), "refused, ask c !Not the sum"),
        ];
        script.extend(rest);
        script
    };
    let all = json!([["a", 1], ["b", 2], ["c", 3], ["d", 4], ["e", 5]]);
    run_script(&replica, json!({}), "ask a", &script(vec![(Say(json!(3)), "ask more")]), all.clone());
    // Back to the last field and forward again.
    let forth = vec![(Say(json!(3)), "ask more"), (Back, "ask e"), (Say(json!(5)), "ask more")];
    run_script(&replica, json!({}), "ask a", &script(forth), all);
    // Within the form, after a rejection: the last answer is undone first.
    let within = vec![(Back, "ask c !Not the sum"), (Say(json!(3)), "ask e"), (Say(json!(6)), "ask more")];
    let told = json!([["a", 1], ["b", 2], ["c", 3], ["d", 4], ["e", 6]]);
    run_script(&replica, json!({}), "ask a", &script(within), told);
}

#[test]
fn invalid_argument_is_asked_again_with_its_error() {
    let (_, replica) = trip_replica();
    run_script(
        &replica,
        json!({ "city": 7, "to": 12, "class": "z" }),
        "ask city !That is not a string",
        &[
            (Say(json!("Oslo")), "ask from"),
            (Say(json!(1)), "ask to !That is out of range"),
            (Say(json!(2)), "ask class !That is not one of the options"),
            (Say(json!("b")), "ask sure"),
        ],
        json!([["city", "Oslo"], ["from", 1], ["to", 2], ["class", "b"]]),
    );
    // Each is valid, but not both together.
    run_script(
        &replica,
        json!({ "city": "Oslo", "from": 5, "to": 3 }),
        "ask to !That is before the first day",
        &[(Say(json!(6)), "ask class")],
        json!([["to", 6]]),
    );
    // Valid arguments are not asked for and not part of the history, but of the answers.
    let begun = expect_ready(replica.start(json!({ "city": "Oslo", "to": 3, "sure": true }))).unwrap();
    assert_eq!(snapshot_to_text(&begun), "ask from");
    assert_eq!(begun.session.answers(), object(json!({ "city": "Oslo", "to": 3, "sure": true })));
}
