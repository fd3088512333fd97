//! The official Rust client as a row of the client matrix (`tests/clients`): ERA LOG SERVER [ARGUMENT]…
//!
//! Prints a line of JSON for each check, as every script of the matrix does.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a script of the client matrix")]

mod traveller;

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{CallToolRequest, CallToolResult, GetPromptRequestParams, ReadResourceRequestParams};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Map, Value, json};

use traveller::{RmcpClient, Traveller, booking_arguments, call_params, connect, lifecycles};

type CheckOutcome = Result<String, String>;

// In one thread, where notices are taken in the order in which they came.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = std::env::args().skip(1);
    let (era, _log) = (args.next().unwrap(), args.next().unwrap());
    let (_, version, lifecycle) = lifecycles().into_iter().find(|(name, ..)| *name == era).unwrap();
    let mut command = tokio::process::Command::new(args.next().unwrap());
    command.args(args);
    let (client, user) = connect(command, lifecycle).await;
    let report = |check: &str, outcome: CheckOutcome| {
        let (status, note) = outcome.map_or_else(|why| ("FAIL", why), |note| ("ok", note));
        println!(
            "{}",
            json!({ "client": "rmcp", "era": era, "check": check, "status": status, "note": note })
        );
    };
    report("connect", check_connected(&client, version));
    report("list", list(&client).await);
    report("call", fortune(&client).await);
    report("bad-call", bad_call(&client).await);
    report("completion", completion(&client).await);
    report("resources", resources(&client).await);
    report("prompts", prompts(&client).await);
    report("progress", progress(&client, &user).await);
    report("cancel", cancel(&client).await);
    report("book-asked", book_asked(&client, &user).await);
    report("book-declined", book_declined(&client, &user).await);
    report("book-args", book_arguments(&client, &user).await);
    client.cancel().await.unwrap();
}

fn expect(holds: bool, what: impl std::fmt::Debug) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{what:?}")) }
}

fn error_text(error: ServiceError) -> String {
    error.to_string()
}

fn structured_content(result: CallToolResult) -> Result<Value, String> {
    result.structured_content.ok_or_else(|| "no structured content".to_owned())
}

fn check_connected(client: &RmcpClient, version: &str) -> CheckOutcome {
    let found = client.peer_info().ok_or("no answer")?.protocol_version.as_str().to_owned();
    expect(found == version, &found).map(|()| found)
}

async fn list(client: &RmcpClient) -> CheckOutcome {
    let names: Vec<_> =
        client.list_all_tools().await.map_err(error_text)?.into_iter().map(|tool| tool.name).collect();
    expect(names.starts_with(&["tell_fortune".into(), "booking".into()]), names).map(|()| String::new())
}

async fn fortune(client: &RmcpClient) -> CheckOutcome {
    let told = client
        .call_tool(call_params("tell_fortune", json!({ "category": "career" })))
        .await
        .map_err(error_text)?;
    let told = structured_content(told)?;
    expect(told["category"] == "career" && told["fortune"].is_string(), told).map(|()| String::new())
}

async fn bad_call(client: &RmcpClient) -> CheckOutcome {
    let refused = client
        .call_tool(call_params("tell_fortune", json!({ "category": "weather" })))
        .await
        .map_err(error_text)?;
    expect(refused.is_error == Some(true), &refused)?;
    let unknown = client.call_tool(call_params("no_such_tool", json!({}))).await;
    expect(unknown.as_ref().is_err_and(|error| error.to_string().contains("no_such_tool")), unknown)
        .map(|()| String::new())
}

async fn completion(client: &RmcpClient) -> CheckOutcome {
    let values = client.complete_prompt_simple("fortune", "category", "c").await.map_err(error_text)?;
    expect(values == ["career"], values).map(|()| String::new())
}

async fn resources(client: &RmcpClient) -> CheckOutcome {
    let uri = "fluxway://tools/tell_fortune";
    let all = client.list_all_resources().await.map_err(error_text)?;
    expect(all.iter().any(|resource| resource.uri == uri), &all)?;
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.map_err(error_text)?;
    expect(json!(read.contents).to_string().contains("tell_fortune"), read).map(|()| String::new())
}

async fn prompts(client: &RmcpClient) -> CheckOutcome {
    let all = client.list_all_prompts().await.map_err(error_text)?;
    expect(all.iter().any(|prompt| prompt.name == "fortune"), &all)?;
    let arguments: Map<String, Value> = [("category".to_owned(), json!("career"))].into_iter().collect();
    let prompt = client.get_prompt(GetPromptRequestParams::new("fortune").with_arguments(arguments)).await;
    let prompt = prompt.map_err(error_text)?;
    expect(json!(prompt.messages).to_string().contains("career"), prompt).map(|()| String::new())
}

async fn progress(client: &RmcpClient, user: &Traveller) -> CheckOutcome {
    user.progress.lock().unwrap().clear();
    client.call_tool(call_params("wait", json!({ "steps": 3, "step_ms": 20 }))).await.map_err(error_text)?;
    let values = user.wait_for_progress(2).await;
    expect(values == [1.0, 2.0], values).map(|()| String::new())
}

async fn cancel(client: &RmcpClient) -> CheckOutcome {
    let request = CallToolRequest::new(call_params("wait", json!({ "steps": 1000, "step_ms": 100 })));
    let handle = client.send_cancellable_request(request.into(), PeerRequestOptions::no_options()).await;
    handle.map_err(error_text)?.cancel(Some("no longer needed".to_owned())).await.map_err(error_text)?;
    let next = client.call_tool(call_params("echo", json!({ "text": "still there" })));
    let answered = tokio::time::timeout(Duration::from_mins(1), next).await;
    expect(answered.as_ref().is_ok_and(Result::is_ok), answered).map(|()| String::new())
}

async fn book_asked(client: &RmcpClient, user: &Traveller) -> CheckOutcome {
    user.question_count.store(0, Ordering::Relaxed);
    let booked =
        structured_content(client.call_tool(call_params("booking", json!({}))).await.map_err(error_text)?)?;
    expect(booked["destination"] == "Lisbon" && booked["reference"].is_string(), &booked)?;
    let asked = user.question_count.load(Ordering::Relaxed);
    expect(asked == 5, format!("asked {asked} times")).map(|()| String::new())
}

async fn book_declined(client: &RmcpClient, user: &Traveller) -> CheckOutcome {
    user.declines.store(true, Ordering::Relaxed);
    let refused = client.call_tool(call_params("booking", json!({}))).await;
    user.declines.store(false, Ordering::Relaxed);
    let refused = refused.map_err(error_text)?;
    expect(refused.is_error == Some(true), refused).map(|()| String::new())
}

async fn book_arguments(client: &RmcpClient, user: &Traveller) -> CheckOutcome {
    user.question_count.store(0, Ordering::Relaxed);
    let booked = structured_content(
        client.call_tool(call_params("booking", booking_arguments())).await.map_err(error_text)?,
    )?;
    expect(booked["class"] == "business" && user.question_count.load(Ordering::Relaxed) == 0, booked)
        .map(|()| String::new())
}
