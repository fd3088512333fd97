//! One conversation, every way of asking, one end.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::harness::{TestClient, app, stateless};

/// What the user has in mind.
#[derive(Clone, Debug)]
struct Wishes(Map<String, Value>);

fn wishes() -> impl Strategy<Value = Wishes> {
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
            Wishes(wishes.as_object().cloned().unwrap())
        },
    )
}

/// Answers the fields of a form.
fn fill_in(wishes: &Wishes, params: &Value) -> Value {
    let fields = params["requestedSchema"]["properties"].as_object().unwrap();
    let content: Map<String, Value> =
        fields.keys().filter_map(|name| Some((name.clone(), wishes.0.get(name)?.clone()))).collect();
    json!({ "action": "accept", "content": content })
}

/// What came of it: the booking without its random reference, or a no.
fn end(result: &Value) -> Option<Value> {
    if result["isError"] == true || result.get("structuredContent").is_none() {
        return None;
    }
    let mut booked = result["structuredContent"].clone();
    booked.as_object_mut().unwrap().remove("reference");
    Some(booked)
}

async fn by_arguments(wishes: &Wishes) -> Option<Value> {
    let mut client = TestClient::greeted(&app().build(), "2025-11-25", json!({})).await;
    let answer = client.call("booking", Value::Object(wishes.0.clone())).await;
    end(&answer["result"])
}

async fn by_elicitation(wishes: &Wishes, revision: &str) -> Option<Value> {
    let mut client = TestClient::greeted(&app().build(), revision, json!({ "elicitation": {} })).await;
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "booking" } });
    let mut messages = client.exchange(&call.to_string()).await;
    loop {
        assert_eq!(messages.len(), 1, "{messages:?}");
        let message: Value = serde_json::from_str(&messages[0]).unwrap();
        if message["id"] == 7 {
            return end(&message["result"]);
        }
        let answer =
            json!({ "jsonrpc": "2.0", "id": message["id"], "result": fill_in(wishes, &message["params"]) });
        messages = client.exchange(&answer.to_string()).await;
    }
}

/// Every turn goes to another server, as it might behind a load balancer: only the key is shared.
async fn by_input_required(wishes: &Wishes) -> Option<Value> {
    let mut params =
        json!({ "name": "booking", "arguments": {}, "_meta": stateless(json!({ "elicitation": {} })) });
    for _ in 0..10 {
        let mut client = TestClient::new(&app().build());
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let answer = client.request(call).await;
        let result = &answer["result"];
        if result["resultType"] != "input_required" {
            return end(result);
        }
        params["requestState"] = result["requestState"].clone();
        let question = &result["inputRequests"]["question"]["params"];
        params["inputResponses"] = json!({ "question": fill_in(wishes, question) });
    }
    None // the same answer will never be accepted, and clients give up after ten rounds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_front_comes_to_the_same_end(wishes in wishes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let expected = by_arguments(&wishes).await;
            prop_assert_eq!(&by_elicitation(&wishes, "2025-06-18").await, &expected);
            prop_assert_eq!(&by_elicitation(&wishes, "2025-11-25").await, &expected);
            prop_assert_eq!(&by_input_required(&wishes).await, &expected);
            Ok(())
        })?;
    }
}

#[tokio::test(start_paused = true)]
async fn a_good_trip_is_booked() {
    let wishes = json!({ "destination": "Lisbon", "departure": "2027-05-01", "travellers": 2, "class": "first", "confirm": true });
    let booked = by_arguments(&Wishes(wishes.as_object().cloned().unwrap())).await.expect("a booking");
    assert_eq!(booked["destination"], "Lisbon");
}
