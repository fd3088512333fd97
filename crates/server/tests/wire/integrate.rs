//! `integrate`, from the first question to the last byte: what is asked, what is written, what is taken back.

mod cases;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use server::{App, CheckPolicy, Scope};
use tempfile::TempDir;

use cases::{ExpectedFiles, IntegrateCase, cases, keep_changes, undo_changes};

use crate::harness::{TestClient, app, stateless_meta};
use crate::repositories::{SUPPORT_BOT, TWO_SERVICES, UNCLEAR_FIELD, WEB_CHAT, unpack};

type FileContents = BTreeMap<String, Vec<u8>>;

/// Every file beneath a folder, but what the journal of plans keeps.
fn read_files(root: &Path) -> FileContents {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found.retain(|name, _| !name.starts_with(".fluxway"));
    found
}

/// What the user does when something is asked.
#[derive(Clone)]
enum IntegrateUserAction {
    /// Fills in the form.
    FillIn(Value),
    /// Changes a file first, and then fills in the form.
    EditFileThenFillIn(&'static str, Value),
    /// Sends the form back without an answer: `decline` or `cancel`.
    Dismiss(&'static str),
    /// Wants to see the question before.
    GoBack,
}
use IntegrateUserAction::{Dismiss, EditFileThenFillIn, FillIn, GoBack};

impl IntegrateUserAction {
    /// The result of `elicitation/create`.
    fn into_elicit_result(self, root: &Path) -> Value {
        match self {
            FillIn(content) => json!({ "action": "accept", "content": content }),
            EditFileThenFillIn(file, content) => {
                let path = root.join(file);
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::write(path, format!("{text}\n# edited\n")).unwrap();
                json!({ "action": "accept", "content": content })
            }
            Dismiss(action) => json!({ "action": action }),
            GoBack => json!({ "action": "accept", "_meta": { "fluxway/action": "back" } }),
        }
    }
}

/// A conversation: what was asked, and the result.
struct IntegrateTranscript {
    asked: Vec<Value>,
    result: Value,
}

impl IntegrateTranscript {
    /// The names of the fields of each question.
    fn asked_fields(&self) -> Vec<String> {
        let names = |params: &Value| -> String {
            let fields = params["requestedSchema"]["properties"].as_object().unwrap();
            fields.keys().map(String::as_str).collect::<Vec<_>>().join("+")
        };
        self.asked.iter().map(names).collect()
    }

    fn reply(&self) -> &Value {
        &self.result["structuredContent"]
    }

    /// How it ended: the outcome, or the text of the failure.
    fn outcome(&self) -> &str {
        let text = || self.result["content"][0]["text"].as_str().unwrap();
        self.reply()["outcome"].as_str().unwrap_or_else(text)
    }
}

fn unpack_repository(text: &str) -> (TempDir, PathBuf, FileContents) {
    let (folder, root) = unpack(text);
    let before = read_files(&root);
    (folder, root, before)
}

async fn by_elicitation(
    root: &Path,
    arguments: Value,
    reactions: &[IntegrateUserAction],
) -> IntegrateTranscript {
    run_by_elicitation(&app().roots(vec![root.to_path_buf()]).build(), root, arguments, reactions).await
}

async fn run_by_elicitation(
    app: &Arc<App>,
    root: &Path,
    arguments: Value,
    reactions: &[IntegrateUserAction],
) -> IntegrateTranscript {
    let mut client = TestClient::initialized(app, "2025-11-25", json!({ "elicitation": {} })).await;
    let params = json!({ "name": "integrate", "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let mut messages = client.exchange(&call.to_string()).await;
    let (mut asked, mut reactions) = (Vec::new(), reactions.iter().cloned());
    loop {
        assert_eq!(messages.len(), 1, "{messages:?}");
        let mut message: Value = serde_json::from_str(&messages[0]).unwrap();
        if message["id"] == 7 {
            assert!(reactions.next().is_none(), "more was expected to be asked: {message}");
            return IntegrateTranscript { asked, result: message["result"].take() };
        }
        let reaction = reactions.next().unwrap_or_else(|| panic!("nobody expects {message}"));
        asked.push(message["params"].take());
        let answer =
            json!({ "jsonrpc": "2.0", "id": message["id"], "result": reaction.into_elicit_result(root) });
        messages = client.exchange(&answer.to_string()).await;
    }
}

/// Every turn comes over another connection, with nothing but the state.
async fn by_input_required(
    root: &Path,
    arguments: Value,
    reactions: &[IntegrateUserAction],
) -> IntegrateTranscript {
    let app = app().roots(vec![root.to_path_buf()]).build();
    let mut params = json!({ "name": "integrate", "arguments": arguments, "_meta": stateless_meta(json!({ "elicitation": {} })) });
    let (mut asked, mut reactions) = (Vec::new(), reactions.iter().cloned());
    loop {
        let mut client = TestClient::new(&app);
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        let mut answer = client.request(call).await;
        let mut result = answer["result"].take();
        if result["resultType"] != "input_required" {
            assert!(reactions.next().is_none(), "more was expected to be asked: {answer} {result}");
            return IntegrateTranscript { asked, result };
        }
        params["requestState"] = result["requestState"].take();
        asked.push(result["inputRequests"]["question"]["params"].take());
        let reaction = reactions.next().unwrap_or_else(|| panic!("nobody expects {:?}", asked.last()));
        params["inputResponses"] = json!({ "question": reaction.into_elicit_result(root) });
    }
}

async fn by_arguments(root: &Path, arguments: Value) -> IntegrateTranscript {
    let app = app().roots(vec![root.to_path_buf()]).build();
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    let mut answer = client.call("integrate", arguments).await;
    IntegrateTranscript { asked: Vec::new(), result: answer["result"].take() }
}

fn assert_case(case: &IntegrateCase, talk: &IntegrateTranscript, root: &Path, before: &FileContents) {
    let name = case.name;
    assert_eq!(talk.asked_fields(), case.asked, "{name}");
    assert!(talk.outcome().contains(case.outcome), "{name}: {}", talk.result);
    let after = read_files(root);
    let changed = after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes));
    let changed: Vec<&str> = changed.map(|(path, _)| path.as_str()).collect();
    match case.expected_files {
        ExpectedFiles::Unchanged => {
            assert_eq!(after, *before, "{name}");
            assert!(!root.join(".fluxway").exists(), "{name}");
        }
        ExpectedFiles::Changed(expected) => assert_eq!(changed, expected, "{name}"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_case_holds_by_elicitation() {
    for case in cases() {
        let (_folder, root, before) = unpack_repository(case.repository);
        let talk = by_elicitation(&root, case.arguments.clone(), &case.reactions).await;
        assert_case(&case, &talk, &root, &before);
    }
}

#[tokio::test(start_paused = true)]
async fn every_case_holds_by_input_required() {
    for case in cases() {
        let (_folder, root, before) = unpack_repository(case.repository);
        let talk = by_input_required(&root, case.arguments.clone(), &case.reactions).await;
        assert_case(&case, &talk, &root, &before);
    }
}

/// MCP Flow: the server keeps the session, or the client does in a token. Fields of a form come one after the
/// other, and the diff stands above the one that decides.
#[tokio::test(start_paused = true)]
async fn integrate_can_be_undone_by_interaction() {
    for stateless in [false, true] {
        let (_folder, root, before) = unpack_repository(TWO_SERVICES);
        let app = app().roots(vec![root.clone()]).build();
        let ask = async |method: &str, params: Value| {
            let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
            let messages = TestClient::new(&app).exchange(&request.to_string()).await;
            let mut answers = messages.iter().map(|message| serde_json::from_str::<Value>(message).unwrap());
            answers.find(|message| message["id"] == 7).unwrap()
        };
        let begin = json!({ "toolName": "integrate", "context": { "stateless": stateless } });
        let mut stands = ask("interaction.start", begin).await["result"].take();
        let mut prompt = stands["initialPrompt"].take();
        for (name, value) in [
            ("package", json!("services/digest")),
            ("variant", json!("sdk")),
            ("confirm", json!(true)),
            ("after", json!("undo")),
        ] {
            assert_eq!(prompt["name"], name, "{stands}");
            if name == "confirm" {
                assert!(prompt["heading"].as_str().unwrap().contains("\n+@fluxloop.agent("), "{prompt}");
                assert_eq!(read_files(&root), before);
            }
            let known = if stateless { "token" } else { "sessionId" };
            let answer = json!({ known: stands[known], "response": { "value": value } });
            stands = ask("interaction.respond", answer).await["result"].take();
            prompt = stands["nextPrompt"].take();
        }
        assert_eq!(stands["result"]["data"]["outcome"], "undone", "{stands}");
        assert_eq!(stands["summary"], "Changes undone: 4 files restored.");
        assert_eq!(read_files(&root), before);
    }
}

/// What somebody sees who decides: what each option means, and the diff with all that goes with it.
#[tokio::test(start_paused = true)]
async fn questions_show_options_and_diff() {
    let (_folder, root, _) = unpack_repository(TWO_SERVICES);
    let reactions = [
        FillIn(json!({})),
        FillIn(json!({})),
        FillIn(json!({})),
        FillIn(json!({ "confirm": true })),
        keep_changes(),
    ];
    let talk = by_elicitation(&root, json!({}), &reactions).await;
    let mut shown = String::new();
    for params in &talk.asked {
        shown.push_str(params["message"].as_str().unwrap());
        shown.push_str("\n\n");
        shown.push_str(&serde_json::to_string_pretty(&params["requestedSchema"]).unwrap());
        shown.push_str("\n\n");
    }
    shown.push_str(&serde_json::to_string_pretty(talk.reply()).unwrap());
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("integrate", shown);
    });
}

/// Checks run only if the user says so to the very commands. The first is `python -m py_compile`, the second
/// needs FluxLoop, which is not there.
#[tokio::test(start_paused = true)]
async fn failed_checks_are_shown_before_the_undo_question() {
    let (_folder, root, before) = unpack_repository(TWO_SERVICES);
    let arguments =
        json!({ "package": "services/digest", "variant": "sdk", "run_checks": true, "install": false });
    let app = app().roots(vec![root.clone()]).checks(CheckPolicy::ProposedPlans).build();
    let both = FillIn(json!({ "confirm": true, "run_commands": true }));
    let talk = run_by_elicitation(&app, &root, arguments, &[both, undo_changes()]).await;
    assert_eq!(talk.asked_fields(), ["confirm+run_commands", "after"]);
    let asked = talk.asked[0]["message"].as_str().unwrap();
    assert!(asked.contains("\n  python -m py_compile ") && asked.contains("sandbox"), "{asked}");
    let message = talk.asked[1]["message"].as_str().unwrap();
    assert!(message.contains("checks failed") && message.contains("\nFailed: "), "{message}");
    assert_eq!((talk.outcome(), talk.reply()["checks"].as_array().unwrap().len()), ("undone", 2));
    // `py_compile` leaves what it compiled.
    let mut after = read_files(&root);
    after.retain(|path, _| !path.contains("__pycache__"));
    assert_eq!(after, before);
}

#[tokio::test(start_paused = true)]
async fn second_integration_reports_already_applied() {
    let (_folder, root, before) = unpack_repository(SUPPORT_BOT);
    let first = by_arguments(&root, json!({ "confirm": true })).await;
    assert_eq!(first.outcome(), "applied", "{}", first.result);
    for (arguments, end) in [(json!({ "confirm": true }), "already_applied"), (json!({}), "already_applied")]
    {
        let talk = by_arguments(&root, arguments).await;
        assert_eq!(talk.outcome(), end, "{}", talk.result);
    }
    let reply = by_arguments(&root, json!({})).await.reply().clone();
    assert_eq!(
        (&reply["framework"], &reply["package"], &reply["variant"]),
        (&json!("fastapi"), &json!("."), &json!("sdk"))
    );
    let app = app().roots(vec![root.clone()]).build();
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    let undone = client.call("undo_edit_plan", json!({ "plan_id": first.reply()["plan_id"] })).await;
    assert!(undone["result"]["structuredContent"]["plan_id"].is_string(), "{undone}");
    assert_eq!(read_files(&root), before);
}

/// What is missing is named, with what has to be seen before one can agree; nothing is guessed where nothing
/// is written.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_without_confirmation() {
    for (repository_text, arguments, missing) in [
        (SUPPORT_BOT, json!({}), "`confirm` (Apply these changes?"),
        (SUPPORT_BOT, json!({ "run_checks": true, "after": "undo" }), "`confirm` (Apply these changes?"),
        (TWO_SERVICES, json!({}), "`confirm` (Apply these changes?"),
        (
            UNCLEAR_FIELD,
            json!({ "confirm": true }),
            "`request_field` (Which request field contains the input text? One of: opening, wish)",
        ),
    ] {
        let (_folder, root, before) = unpack_repository(repository_text);
        let talk = by_arguments(&root, arguments).await;
        assert_eq!(talk.result["isError"], true, "{}", talk.result);
        assert!(
            talk.outcome().starts_with(&format!("integrate needs more: {missing}")),
            "{}",
            talk.outcome()
        );
        if missing.starts_with("`confirm`") {
            assert!(
                talk.outcome().contains("\n+++ b/") && talk.outcome().contains("\nneeded: "),
                "{}",
                talk.outcome()
            );
        }
        assert_eq!(read_files(&root), before);
    }
}

#[tokio::test(start_paused = true)]
async fn read_only_caller_is_rejected() {
    let (_folder, root, before) = unpack_repository(SUPPORT_BOT);
    let app = app().roots(vec![root.clone()]).build();
    let mut client = TestClient::with_scope(&app, Scope::Read);
    let arguments = Map::from_iter([("confirm".to_owned(), json!(true))]);
    let params = json!({ "name": "integrate", "arguments": arguments, "_meta": stateless_meta(json!({})) });
    let answer =
        client.request(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(answer["result"]["isError"] == true && text.contains("write"), "{answer}");
    let envelope = json!({ "type": "request", "id": "1", "tool": "integrate", "params": arguments });
    let answer = client.request(envelope).await;
    assert_eq!(answer["error"]["details"]["kind"], "forbidden", "{answer}");
    assert_eq!(read_files(&root), before);
}

/// A state that something was done with is not gone on from a second time.
#[tokio::test(start_paused = true)]
async fn request_state_can_be_used_once() {
    let (_folder, root, _) = unpack_repository(WEB_CHAT);
    let app = app().roots(vec![root.clone()]).build();
    let mut client = TestClient::new(&app);
    let mut params = json!({ "name": "integrate", "arguments": {}, "_meta": stateless_meta(json!({ "elicitation": {} })) });
    let call =
        |params: &Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let asked = client.request(call(&params)).await;
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({ "question": { "action": "accept", "content": { "confirm": true } } });
    let first = client.request(call(&params)).await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let after = read_files(&root);
    let second = client.request(call(&params)).await;
    assert_eq!(second["error"]["data"]["kind"], "invalid_state", "{second}");
    assert_eq!(read_files(&root), after);
}

#[tokio::test(start_paused = true)]
async fn progress_reports_each_stage() {
    let (_folder, root, _) = unpack_repository(SUPPORT_BOT);
    let app = app().roots(vec![root]).build();
    let mut client = TestClient::initialized(&app, "2025-11-25", json!({})).await;
    let params =
        json!({ "name": "integrate", "arguments": { "confirm": true }, "_meta": { "progressToken": "p" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let messages = client.exchange(&call.to_string()).await;
    let told: Vec<Value> = messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect();
    let told: Vec<String> = told
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| {
            let params = &message["params"];
            format!("{}/{} {}", params["progress"], params["total"], params["message"].as_str().unwrap())
        })
        .collect();
    assert_eq!(told, ["1/4 Analysing the repository", "3/4 Building the plan", "4/4 Writing the files"]);
}
