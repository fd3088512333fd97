//! One conversation, every way of asking, one end.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::harness::{TestClient, app, stateless_meta};

/// What the user has in mind.
#[derive(Clone, Debug)]
struct UserAnswers(Map<String, Value>);

fn booking_answers() -> impl Strategy<Value = UserAnswers> {
    let class = prop_oneof![Just("economy"), Just("business"), Just("first"), Just("cheap")];
    let day = "20(27|28)-0[1-9]-(1[0-9]|30|31)";
    ("[A-Za-z]{1,12}", day, prop::option::of(day), -1i64..11, class, any::<bool>()).prop_map(
        |(destination, departure, back, travellers, class, confirm)| {
            let mut wishes = json!({
                "destination": destination, "departure": departure,
                "travellers": travellers, "class": class, "confirm": confirm,
            });
            if let Some(back) = back {
                wishes["return"] = json!(back);
            }
            UserAnswers(wishes.as_object().cloned().unwrap())
        },
    )
}

/// What the user of `interview` has in mind, some of it not allowed.
fn interview_answers() -> impl Strategy<Value = UserAnswers> {
    let colour = prop_oneof![Just("red"), Just("blue"), Just("mauve")];
    let toppings = prop_oneof![
        Just(json!(["olives", "basil"])),
        Just(json!([])),
        Just(json!("cheese, basil")),
        Just(json!(["cheese", "cheese"])),
    ];
    let document =
        prop_oneof![Just(json!("notes/today.txt")), Just(json!("../secrets")), Just(json!("/etc/passwd")),];
    let size =
        prop_oneof![Just(json!("{\"width\": 3}")), Just(json!("{\"width\": \"wide\"}")), Just(json!("huge"))];
    let day = "2027-0[1-9]-(1[0-9]|30|31)";
    let parts = ("[A-Za-z1]{1,5}", colour, toppings, -100i32..80, day, document, size, any::<bool>());
    parts.prop_map(|(name, colour, toppings, temperature, day, document, size, agree)| {
        let wishes = json!({
            "name": name, "colour": colour, "toppings": toppings, "temperature": temperature, "day": day,
            "document": document, "size": size, "agree": agree,
        });
        UserAnswers(wishes.as_object().cloned().unwrap())
    })
}

/// Answers the fields of a form.
fn fill_form(answers: &UserAnswers, params: &Value) -> Value {
    let fields = params["requestedSchema"]["properties"].as_object().unwrap();
    let content: Map<String, Value> =
        fields.keys().filter_map(|name| Some((name.clone(), answers.0.get(name)?.clone()))).collect();
    json!({ "action": "accept", "content": content })
}

/// What came of it: the booking without its random reference, or a no.
fn final_result(result: &Value) -> Option<Value> {
    if result["isError"] == true || result.get("structuredContent").is_none() {
        return None;
    }
    let mut booked = result["structuredContent"].clone();
    booked.as_object_mut().unwrap().remove("reference");
    Some(booked)
}

async fn by_arguments(tool: &str, answers: &UserAnswers) -> Option<Value> {
    let mut client = TestClient::initialized(&app().build(), "2025-11-25", json!({})).await;
    let answer = client.call(tool, Value::Object(answers.0.clone())).await;
    final_result(&answer["result"])
}

async fn by_elicitation(tool: &str, answers: &UserAnswers, revision: &str) -> Option<Value> {
    let mut client = TestClient::initialized(&app().build(), revision, json!({ "elicitation": {} })).await;
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": tool } });
    let mut messages = client.exchange(&call.to_string()).await;
    loop {
        assert_eq!(messages.len(), 1, "{messages:?}");
        let message: Value = serde_json::from_str(&messages[0]).unwrap();
        if message["id"] == 7 {
            return final_result(&message["result"]);
        }
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": fill_form(answers, &message["params"]) });
        messages = client.exchange(&answer.to_string()).await;
    }
}

/// Every turn goes to another server, as it might behind a load balancer: only the key is shared.
async fn by_input_required(tool: &str, answers: &UserAnswers) -> Option<Value> {
    let mut params =
        json!({ "name": tool, "arguments": {}, "_meta": stateless_meta(json!({ "elicitation": {} })) });
    for _ in 0..12 {
        let mut client = TestClient::new(&app().build());
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let answer = client.request(call).await;
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            return final_result(result);
        }
        params["requestState"] = result["requestState"].clone();
        let question = &result["inputRequests"]["question"]["params"];
        params["inputResponses"] = json!({ "question": fill_form(answers, question) });
    }
    None // the same answer will never be accepted, and clients give up after some rounds
}

/// `interaction.*`: the server keeps the session, or every turn goes to another server with a token.
async fn by_interaction(tool: &str, answers: &UserAnswers, stateless: bool) -> Option<Value> {
    let stored = app().build();
    let ask = async |method: &str, mut params: Value, known: &Value| {
        params[if stateless { "token" } else { "sessionId" }] = known.clone();
        let mut client = TestClient::new(&if stateless { app().build() } else { Arc::clone(&stored) });
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let messages = client.exchange(&request.to_string()).await;
        serde_json::from_str::<Value>(&messages[0]).unwrap()
    };
    let begin = json!({ "toolName": tool, "context": { "stateless": stateless } });
    let started = ask("interaction.start", begin, &Value::Null).await["result"].clone();
    let (mut known, mut prompt) = (started.clone(), started["initialPrompt"].clone());
    for _ in 0..20 {
        let value = answers.0.get(prompt["name"].as_str()?).unwrap_or(&Value::Null);
        let reference = if stateless { &known["token"] } else { &known["sessionId"] };
        let answer = ask("interaction.respond", json!({ "response": { "value": value } }), reference).await;
        let result = answer.get("result")?.clone();
        if result["result"].is_object() {
            let mut data = result["result"].get("data")?.clone();
            data.as_object_mut().unwrap().remove("reference");
            return Some(data);
        }
        (prompt, known) = (result["nextPrompt"].clone(), result);
    }
    None
}

async fn assert_modes_agree(tool: &str, answers: &UserAnswers) -> Result<(), TestCaseError> {
    let expected = by_arguments(tool, answers).await;
    prop_assert_eq!(&by_elicitation(tool, answers, "2025-06-18").await, &expected);
    prop_assert_eq!(&by_elicitation(tool, answers, "2025-11-25").await, &expected);
    prop_assert_eq!(&by_input_required(tool, answers).await, &expected);
    prop_assert_eq!(&by_interaction(tool, answers, false).await, &expected);
    prop_assert_eq!(&by_interaction(tool, answers, true).await, &expected);
    Ok(())
}

fn run_with_paused_time(test: impl Future<Output = Result<(), TestCaseError>>) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_interaction_mode_books_the_same_trip(wishes in booking_answers()) {
        run_with_paused_time(assert_modes_agree("booking", &wishes))?;
    }

    #[test]
    fn every_interaction_mode_returns_the_same_interview(wishes in interview_answers()) {
        run_with_paused_time(assert_modes_agree("interview", &wishes))?;
    }
}

#[tokio::test(start_paused = true)]
async fn valid_booking_succeeds() {
    let wishes = json!({ "destination": "Lisbon", "departure": "2027-05-01", "travellers": 2, "class": "first", "confirm": true });
    let booked =
        by_arguments("booking", &UserAnswers(wishes.as_object().cloned().unwrap())).await.expect("a booking");
    assert_eq!(booked["destination"], "Lisbon");
}

#[tokio::test(start_paused = true)]
async fn valid_interview_completes() {
    let wishes = json!({
        "name": "Ada", "colour": "red", "toppings": "cheese, basil", "temperature": 20, "day": "2027-05-01",
        "document": "notes/today.txt", "size": "{\"width\": 3}", "agree": true,
    });
    let wishes = UserAnswers(wishes.as_object().cloned().unwrap());
    let told = by_interaction("interview", &wishes, false).await.expect("an end");
    assert_eq!(told["toppings"], json!(["cheese", "basil"]));
    assert_eq!(told["size"], json!({ "width": 3 }));
}
