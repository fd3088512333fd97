//! Forms asked singly, refusals, going back, skipping, arguments.

use flow::session::{Begin, Limits, Problem, Responded, Response};
use serde_json::{Value, json};

use crate::desk::{Replica, action, answer, code, history, line, now, object, only, show};
use crate::talks::{Deeds, Five, Many, Trip};

/// What is done to a session, and where it stands then.
enum Do {
    Say(Value),
    Back,
    Skip,
}
use Do::{Back, Say, Skip};

fn act(replica: &Replica, id: &str, act: &Do) -> Result<Responded, Problem> {
    let response = match act {
        Say(value) => Response { value: value.clone(), ..Response::default() },
        Back => action("back"),
        Skip => action("skip"),
    };
    now(replica.send(id, response))
}

/// Begins a session and does all of that to it; at the end the history is what it must be.
#[track_caller]
fn walk(replica: &Replica, arguments: Value, first: &str, script: &[(Do, &str)], told: Value) {
    let begun = now(replica.start(arguments)).unwrap();
    assert_eq!(show(&begun), first);
    for (n, (todo, expected)) in script.iter().enumerate() {
        assert_eq!(answer(act(replica, &begun.id, todo)), *expected, "step {n}");
    }
    let end = now(replica.look(&begun.id)).unwrap();
    assert_eq!(serde_json::to_value(history(&end)).unwrap(), told);
}

fn trip() -> (Deeds, Replica) {
    let deeds = Deeds::default();
    (deeds.clone(), Replica::alone(only(Trip(deeds)), Limits::default()))
}

#[test]
fn a_whole_conversation() {
    let (deeds, replica) = trip();
    walk(
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
    assert_eq!((deeds.held().len(), deeds.booked()), (1, 1));
}

#[test]
fn back_goes_through_forms_and_steps_but_not_past_what_must_not_happen_twice() {
    let (deeds, replica) = trip();
    walk(
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
    assert_eq!(deeds.booked(), 1);
    let held = deeds.held();
    assert_eq!(held.len(), 2, "the step was taken for each answer before it");
    assert_ne!(held[0], held[1], "and these were different steps");
}

#[test]
fn context_reaches_the_conversation() {
    crate::talks::talk!(Contextual, |_deeds, f| {
        let who = f.context().get("who").cloned().unwrap_or_default();
        let n = f.ask("n", flow::integer("n?")).await?;
        Ok(json!([who, f.context().get("who"), n]))
    });
    let replica = Replica::alone(only(Contextual::default()), Limits::default());
    let context = object(json!({ "who": "me", "n": 1 }));
    let begun = now(replica.begin(Begin { context: context.clone(), ..Begin::default() })).unwrap();
    assert_eq!(show(&begun), "ask n", "context answers nothing");
    assert_eq!(begun.session.context(), &context);
    assert_eq!(answer(now(replica.say(&begun.id, json!(1)))), r#"done ["me","me",1]"#);
}

#[test]
fn an_argument_answers_the_first_question_of_its_name() {
    let replica = Replica::alone(only(Many::default()), Limits::default());
    let script = [(Say(json!(3)), "ask n"), (Say(json!(0)), "done 5")];
    walk(&replica, json!({ "n": 2 }), "ask n", &script, json!([["n", 3], ["n", 0]]));
}

#[test]
fn attempts_count_whoever_refuses() {
    let limits = Limits { attempts: 3, ..Limits::default() };
    let replica = Replica::alone(only(Five::default()), limits);
    let begun = now(replica.start(json!({ "a": 1, "b": 1, "c": 9, "d": 1, "e": 1 }))).unwrap();
    assert_eq!(show(&begun), "ask c !Not the sum");
    for _ in 0..3 {
        assert_eq!(answer(now(replica.say(&begun.id, json!(9)))), "refused, ask c !Not the sum");
    }
    assert_eq!(answer(now(replica.say(&begun.id, json!(2)))), "-32004");
    assert_eq!(line(now(replica.look(&begun.id))), "error too_many_attempts");
    assert_eq!(answer(now(replica.say(&begun.id, json!(2)))), "-32003");

    // A form that is filled in again and again with something that does not fit together.
    let begun = now(replica.start(json!({}))).unwrap();
    for value in [1, 1, 9, 1, 1] {
        now(replica.say(&begun.id, json!(value))).unwrap();
    }
    for _ in 0..2 {
        now(replica.send(&begun.id, action("back"))).unwrap();
        for value in [9, 1] {
            now(replica.say(&begun.id, json!(value))).unwrap();
        }
    }
    assert_eq!(code(&now(replica.say(&begun.id, json!(9))).unwrap_err()), -32004);
}

#[test]
fn only_the_field_that_is_wrong_is_asked_again_and_the_history_keeps_the_order_of_the_form() {
    let replica = Replica::alone(only(Five::default()), Limits::default());
    let script = |rest: Vec<(Do, &'static str)>| {
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
    walk(&replica, json!({}), "ask a", &script(vec![(Say(json!(3)), "ask more")]), all.clone());
    // Back to the last field, and forth again.
    let forth = vec![(Say(json!(3)), "ask more"), (Back, "ask e"), (Say(json!(5)), "ask more")];
    walk(&replica, json!({}), "ask a", &script(forth), all);
    // Within the form, after a refusal: what was answered last comes first.
    let within = vec![(Back, "ask c !Not the sum"), (Say(json!(3)), "ask e"), (Say(json!(6)), "ask more")];
    let told = json!([["a", 1], ["b", 2], ["c", 3], ["d", 4], ["e", 6]]);
    walk(&replica, json!({}), "ask a", &script(within), told);
}

#[test]
fn an_argument_that_is_wrong_is_asked_for_with_what_was_wrong() {
    let (_, replica) = trip();
    walk(
        &replica,
        json!({ "city": 7, "to": 12, "class": "z" }),
        "ask city !That is not a text",
        &[
            (Say(json!("Oslo")), "ask from"),
            (Say(json!(1)), "ask to !That is out of range"),
            (Say(json!(2)), "ask class !That is not one of the options"),
            (Say(json!("b")), "ask sure"),
        ],
        json!([["city", "Oslo"], ["from", 1], ["to", 2], ["class", "b"]]),
    );
    // Both fit, but not together.
    walk(
        &replica,
        json!({ "city": "Oslo", "from": 5, "to": 3 }),
        "ask to !That is before the first day",
        &[(Say(json!(6)), "ask class")],
        json!([["to", 6]]),
    );
    // What is right is not asked for, and not part of the history; the answers have it.
    let begun = now(replica.start(json!({ "city": "Oslo", "to": 3, "sure": true }))).unwrap();
    assert_eq!(show(&begun), "ask from");
    assert_eq!(begun.session.answers(), object(json!({ "city": "Oslo", "to": 3, "sure": true })));
}
