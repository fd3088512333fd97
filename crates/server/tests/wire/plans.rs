//! Plans that are kept, who may use them, and what it takes for a command to run.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use server::{App, CheckPolicy, Scope};
use tempfile::TempDir;

use crate::harness::{TestClient, app, key_principal, stateless_meta};
use crate::repositories::{SUPPORT_BOT, unpack};

const ELICITATION_METHOD: &str = "elicitation/create";

fn app_with_repository(checks: CheckPolicy) -> (TempDir, PathBuf, Arc<App>) {
    let (folder, root) = unpack(SUPPORT_BOT);
    let app = app().roots(vec![root.clone()]).checks(checks).build();
    (folder, root, app)
}

async fn initialized_client(app: &Arc<App>, scope: Scope, capabilities: Value) -> TestClient {
    TestClient::for_principal(app, key_principal("acme", scope, None))
        .initialize("2025-11-25", capabilities)
        .await
}

/// What a tool answers, or the text that it fails with.
fn tool_reply(mut answer: Value) -> Value {
    if answer["result"]["isError"] == true {
        return answer["result"]["content"][0]["text"].take();
    }
    answer["result"]["structuredContent"].take()
}

async fn propose(client: &mut TestClient) -> Value {
    let found = tool_reply(client.call("run_integration_workflow", json!({})).await);
    let plan = found["edit_plan"].clone();
    assert!(plan["keptUntil"].is_string() && !plan["edits"].as_array().unwrap().is_empty(), "{found}");
    plan
}

/// Calls a tool whose questions are answered by `answers`; gives what was asked, and the answer.
async fn call_with_answers(
    client: &mut TestClient,
    tool: &str,
    arguments: Value,
    answers: &[Value],
) -> (Vec<Value>, Value) {
    let params = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params });
    let mut messages = client.exchange(&call.to_string()).await;
    let (mut asked, mut answers) = (Vec::new(), answers.iter());
    loop {
        assert_eq!(messages.len(), 1, "{messages:?}");
        let mut message: Value = serde_json::from_str(&messages[0]).unwrap();
        if message["id"] == 9 {
            assert_eq!(answers.next(), None, "more was expected to be asked: {message}");
            return (asked, tool_reply(message));
        }
        assert_eq!(message["method"], ELICITATION_METHOD);
        asked.push(message["params"].take());
        let answer = answers.next().unwrap_or_else(|| panic!("nobody expects {asked:?}"));
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": answer });
        messages = client.exchange(&answer.to_string()).await;
    }
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

#[tokio::test(start_paused = true)]
async fn stored_plan_is_visible_only_to_its_owner() {
    let (_folder, root, app) = app_with_repository(CheckPolicy::Never);
    let mut client = initialized_client(&app, Scope::Write, json!({})).await;
    let plan = propose(&mut client).await;
    let id = plan["id"].as_str().unwrap();
    for arguments in
        [json!({ "plan_id": id }), json!({ "plan": plan }), json!({ "plan": plan, "root": root })]
    {
        let verdict = tool_reply(client.call("validate_edit_plan", arguments.clone()).await);
        assert_eq!(verdict["valid"], true, "{arguments}: {verdict}");
    }
    for (arguments, problem) in [
        (json!({}), "pass `plan_id` or `plan`"),
        (json!({ "plan_id": id, "plan": plan }), "not both"),
        (json!({ "plan_id": "0".repeat(32) }), "is stored for you"),
    ] {
        let refused = tool_reply(client.call("validate_edit_plan", arguments).await);
        assert!(refused.as_str().unwrap().contains(problem), "{refused}");
    }
    // As a resource, and in completions.
    let uri = format!("fluxway://plans/{id}");
    let read = |uri: &str| json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": { "uri": uri } });
    let found = client.request(read(&uri)).await;
    let text: Value = serde_json::from_str(found["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&text["plan"]["id"], &text["root"]), (&plan["id"], &json!(root)));
    let complete = json!({ "ref": { "type": "ref/resource", "uri": "fluxway://plans/{id}" },
        "argument": { "name": "id", "value": "" } });
    let complete = json!({ "jsonrpc": "2.0", "id": 3, "method": "completion/complete", "params": complete });
    assert_eq!(client.request(complete.clone()).await["result"]["completion"]["values"], json!([id]));
    // Another caller, of the same tenant or another: as if it were not there.
    for other in [key_principal("acme", Scope::Admin, None), key_principal("eve", Scope::Write, None)] {
        let mut other = TestClient::for_principal(&app, other).initialize("2025-11-25", json!({})).await;
        let refused = tool_reply(other.call("apply_edit_plan", json!({ "plan_id": id })).await);
        assert!(refused.as_str().unwrap().contains("is stored for you"), "{refused}");
        assert_eq!(other.request(read(&uri)).await["error"]["code"], -32002);
        assert_eq!(other.request(complete.clone()).await["result"]["completion"]["values"], json!([]));
    }
    let applied = tool_reply(client.call("apply_edit_plan", json!({ "plan_id": id })).await);
    assert_eq!(applied["outcome"], "applied", "{applied}");
}

/// A plan that brings the program it names as a check, as the review found it, and its cousins.
fn foreign_plans() -> Vec<(&'static str, Value)> {
    let create = |path: &str| {
        json!({ "filepath": path, "strategy": "create_file",
        "payload": { "code": "open('pwned', 'w').write('x')\n" } })
    };
    let plan = |edits: Value, check: &str| json!({ "summary": "s", "edits": edits, "postChecks": [check] });
    vec![
        ("a script", plan(json!([create("pwn.py")]), "python3 pwn.py")),
        ("a module", plan(json!([create("pwn.py")]), "python3 -m pwn")),
        ("a test", plan(json!([create("test_pwn.py")]), "python3 -m unittest")),
        ("a test by pytest", plan(json!([create("test_pwn.py")]), "pytest -q")),
        (
            "a module that our own command imports",
            plan(json!([create("fluxloop.py")]), "fluxloop run --scenario a"),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn checks_of_foreign_plans_never_run() {
    for (name, plan) in foreign_plans() {
        let (_folder, root, app) = app_with_repository(CheckPolicy::ProposedPlans);
        let mut client = initialized_client(&app, Scope::Execute, json!({ "elicitation": {} })).await;
        let arguments = json!({ "plan": plan, "run_checks": true });
        let (questions, applied) = call_with_answers(&mut client, "apply_edit_plan", arguments, &[]).await;
        assert_eq!((questions.len(), &applied["outcome"]), (0, &json!("applied")), "{name}: {applied}");
        assert_eq!(applied["checks"], json!([]), "{name}");
        assert!(
            applied["checks_not_run"].as_str().unwrap().contains("checks of stored plans it proposed"),
            "{applied}"
        );
        assert!(!root.join("pwned").exists(), "{name}");
    }
    // One of ours that was changed is a stranger's.
    let (_folder, root, app) = app_with_repository(CheckPolicy::ProposedPlans);
    let mut client = initialized_client(&app, Scope::Execute, json!({ "elicitation": {} })).await;
    let mut plan = propose(&mut client).await;
    plan["postChecks"] = json!(["python3 pwn.py"]);
    plan["postCheckCommands"] = json!([["python3", "pwn.py"]]);
    let arguments = json!({ "plan": plan, "run_checks": true });
    let (_, refused) = call_with_answers(&mut client, "apply_edit_plan", arguments, &[]).await;
    assert!(refused.as_str().unwrap().contains("it has been modified"), "{refused}");
    assert!(!root.join(".fluxway").exists());
}

#[tokio::test(start_paused = true)]
async fn commands_run_only_after_user_consent() {
    let asks = json!({ "elicitation": {} });
    for (policy, scope, capabilities, answer, runs, why) in [
        (
            CheckPolicy::ProposedPlans,
            Scope::Execute,
            &asks,
            Some(accept(json!({ "run_commands": true }))),
            true,
            "",
        ),
        (
            CheckPolicy::ProposedPlans,
            Scope::Execute,
            &asks,
            Some(accept(json!({ "run_commands": false }))),
            false,
            "the user declined",
        ),
        (
            CheckPolicy::ProposedPlans,
            Scope::Execute,
            &asks,
            Some(accept(json!({}))),
            false,
            "the user declined",
        ),
        (
            CheckPolicy::ProposedPlans,
            Scope::Execute,
            &asks,
            Some(json!({ "action": "decline" })),
            false,
            "the user declined",
        ),
        (CheckPolicy::ProposedPlans, Scope::Execute, &json!({}), None, false, "cannot ask"),
        (CheckPolicy::ProposedPlans, Scope::Admin, &asks, None, false, "scope `execute`"),
        (CheckPolicy::Never, Scope::Execute, &asks, None, false, "--allow-checks"),
    ] {
        let (_folder, root, app) = app_with_repository(policy);
        let mut client = initialized_client(&app, scope, capabilities.clone()).await;
        let plan = propose(&mut client).await;
        let commands = plan["postChecks"].as_array().unwrap();
        assert!(!commands.is_empty(), "{plan}");
        let arguments = json!({ "plan_id": plan["id"], "run_checks": true });
        let answers: Vec<Value> = answer.into_iter().collect();
        let (questions, applied) =
            call_with_answers(&mut client, "apply_edit_plan", arguments, &answers).await;
        assert_eq!(questions.len(), answers.len(), "{why}");
        for question in &questions {
            // The user sees where, what exactly, and how it is confined.
            let message = question["message"].as_str().unwrap();
            assert!(message.contains(root.to_str().unwrap()) && message.contains("sandbox"), "{message}");
            assert!(commands.iter().all(|command| message.contains(command.as_str().unwrap())), "{message}");
        }
        let ran = applied["checks"].as_array().unwrap().len();
        assert_eq!(
            (&applied["outcome"], ran),
            (&json!("applied"), if runs { commands.len() } else { 0 }),
            "{applied}"
        );
        let not_run = applied["checks_not_run"].as_str().unwrap_or_default();
        assert!(not_run.contains(why) && not_run.is_empty() == runs, "{not_run}");
    }
}

/// The same by 2026-07-28, where the answer asks: a forged answer without our state is none.
#[tokio::test(start_paused = true)]
async fn forged_consent_is_not_accepted() {
    let (_folder, root, app) = app_with_repository(CheckPolicy::ProposedPlans);
    let meta = stateless_meta(json!({ "elicitation": {} }));
    let mut client = TestClient::new(&app);
    let call = |name: &str, arguments: Value, more: Value| {
        let mut params = json!({ "name": name, "arguments": arguments, "_meta": meta });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    };
    let proposed = client.request(call("run_integration_workflow", json!({}), json!({}))).await;
    let id = proposed["result"]["structuredContent"]["edit_plan"]["id"].clone();
    let arguments = json!({ "plan_id": id, "run_checks": true });
    let yes = json!({ "question": accept(json!({ "run_commands": true })) });
    // Without a state the question is asked again; with one of their own it is refused.
    for (forged, asks, refused) in [
        (json!({ "inputResponses": yes }), json!("input_required"), Value::Null),
        (json!({ "inputResponses": yes, "requestState": "x" }), Value::Null, json!("invalid_state")),
    ] {
        let answer = client.request(call("apply_edit_plan", arguments.clone(), forged)).await;
        let found = (&answer["result"]["resultType"], &answer["error"]["data"]["kind"]);
        assert_eq!(found, (&asks, &refused), "{answer}");
    }
    assert!(!root.join(".fluxway").exists());
    let asked = client.request(call("apply_edit_plan", arguments.clone(), json!({}))).await;
    let answered = json!({ "inputResponses": yes, "requestState": asked["result"]["requestState"] });
    let done = client.request(call("apply_edit_plan", arguments, answered)).await;
    let done = &done["result"]["structuredContent"];
    assert!(done["outcome"] == "applied" && !done["checks"].as_array().unwrap().is_empty(), "{done}");
}

#[tokio::test(start_paused = true)]
async fn undo_asks_for_the_plan_to_undo() {
    let (_folder, root, app) = app_with_repository(CheckPolicy::Never);
    let mut client = initialized_client(&app, Scope::Write, json!({ "elicitation": {} })).await;
    let nothing = tool_reply(client.call("undo_edit_plan", json!({})).await);
    assert_eq!(nothing, "no plan is applied here; there is nothing to undo");
    let plan = propose(&mut client).await;
    let id = plan["id"].clone();
    let is_applied = || root.join(".fluxway").exists();
    client.call("apply_edit_plan", json!({ "plan_id": id })).await;
    // A client that cannot ask has to name it, and learns what it would be.
    let mut silent = initialized_client(&app, Scope::Write, json!({})).await;
    let refused = tool_reply(silent.call("undo_edit_plan", json!({})).await);
    let refused = refused.as_str().unwrap();
    assert!(refused.contains("`plan_id`") && refused.contains(id.as_str().unwrap()), "{refused}");
    // Another tenant can neither see nor undo it.
    let mut eve = TestClient::for_principal(&app, key_principal("eve", Scope::Write, None))
        .initialize("2025-11-25", json!({}))
        .await;
    for arguments in [json!({}), json!({ "plan_id": id }), json!({ "plan": plan })] {
        let refused = tool_reply(eve.call("undo_edit_plan", arguments.clone()).await);
        assert!(refused.as_str().unwrap().contains("no plan is"), "{arguments}: {refused}");
    }
    // Declined: nothing happens.
    let (questions, _) =
        call_with_answers(&mut client, "undo_edit_plan", json!({}), &[json!({ "action": "decline" })]).await;
    assert!(questions[0]["message"].as_str().unwrap().contains(id.as_str().unwrap()), "{questions:?}");
    // So it does if the answer is no. There is no default.
    let no = accept(json!({ "plan_id": false }));
    let (questions, kept) = call_with_answers(&mut client, "undo_edit_plan", json!({}), &[no]).await;
    let field = &questions[0]["requestedSchema"]["properties"]["plan_id"];
    assert_eq!(*field, json!({ "type": "boolean", "title": "Undo this plan?" }));
    assert_eq!(kept, json!({ "outcome": "declined", "plan_id": id, "files": [] }));
    assert!(is_applied());
    let yes = accept(json!({ "plan_id": true }));
    let (_, undone) = call_with_answers(&mut client, "undo_edit_plan", json!({}), &[yes]).await;
    assert_eq!(undone["outcome"], "undone", "{undone}");
    assert!(!is_applied());
    // Twice is once: the hint says so.
    for arguments in [json!({ "plan_id": id }), json!({ "plan": plan })] {
        let again = tool_reply(client.call("undo_edit_plan", arguments.clone()).await);
        assert_eq!(
            (&again["outcome"], &again["files"]),
            (&json!("already_undone"), &undone["files"]),
            "{arguments}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_several_plans_is_undone_or_none() {
    let (_folder, root, app) = app_with_repository(CheckPolicy::Never);
    let mut client = initialized_client(&app, Scope::Write, json!({ "elicitation": {} })).await;
    let mut ids = Vec::new();
    for name in ["a.txt", "b.txt"] {
        let edit = json!({ "filepath": name, "strategy": "create_file", "payload": { "code": "x\n" } });
        let plan = json!({ "plan": { "summary": name, "edits": [edit] } });
        let applied = tool_reply(client.call("apply_edit_plan", plan).await);
        ids.push(applied["plan_id"].as_str().unwrap().to_owned());
    }
    let files = || ["a.txt", "b.txt"].map(|name| root.join(name).exists());
    for (answer, outcome, expected) in
        [("none", "declined", [true, true]), (ids[0].as_str(), "undone", [false, true])]
    {
        let answers = [accept(json!({ "plan_id": answer }))];
        let (questions, reply) = call_with_answers(&mut client, "undo_edit_plan", json!({}), &answers).await;
        let options = questions[0]["requestedSchema"]["properties"]["plan_id"]["oneOf"].as_array().unwrap();
        let values: Vec<&str> = options.iter().map(|option| option["const"].as_str().unwrap()).collect();
        assert_eq!(values, [ids[1].as_str(), ids[0].as_str(), "none"], "last applied first");
        assert_eq!((&reply["outcome"], files()), (&json!(outcome), expected), "{reply}");
    }
}

/// What explains the other findings is said first: the plan is for another folder, or it is applied and was
/// edited since.
#[tokio::test(start_paused = true)]
async fn refused_plan_names_its_cause_first() {
    let (_folder, root, app) = app_with_repository(CheckPolicy::Never);
    let mut client = initialized_client(&app, Scope::Write, json!({})).await;
    let plan = propose(&mut client).await;
    let refusal = async |client: &mut TestClient, arguments: Value| {
        let refused = tool_reply(client.call("apply_edit_plan", arguments).await);
        let text = refused.as_str().unwrap_or_else(|| panic!("{refused}")).to_owned();
        text.strip_prefix("the plan cannot be applied, and nothing was changed:\n- ").unwrap().to_owned()
    };
    std::fs::create_dir(root.join("empty")).unwrap();
    let text = refusal(&mut client, json!({ "plan": plan, "root": "empty" })).await;
    assert!(text.starts_with("support/agent.py is not in this folder"), "{text}");
    assert!(text.ends_with("pass --root DIR (the argument `root`)") && !text.contains('\n'), "{text}");

    client.call("apply_edit_plan", json!({ "plan": plan })).await;
    let agent = root.join("support/agent.py");
    let applied = std::fs::read_to_string(&agent).unwrap();
    std::fs::write(&agent, format!("{applied}\n# edited\n")).unwrap();
    let expected =
        "this plan is already applied, and support/agent.py has been edited since; undo it first: ";
    for arguments in [json!({ "plan": plan }), json!({ "plan_id": plan["id"] })] {
        let text = refusal(&mut client, arguments).await;
        assert!(text.starts_with(expected), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn empty_plan_is_rejected() {
    let (_folder, root, app) = app_with_repository(CheckPolicy::Never);
    let mut client = initialized_client(&app, Scope::Write, json!({})).await;
    let empty = json!({ "plan": { "summary": "s", "edits": [] } });
    let verdict = tool_reply(client.call("validate_edit_plan", empty.clone()).await);
    assert_eq!(
        (&verdict["valid"], &verdict["issue_details"][0]["code"]),
        (&json!(false), &json!("no_edits"))
    );
    let refused = tool_reply(client.call("apply_edit_plan", empty).await);
    assert!(refused.as_str().unwrap().contains("has no edits"), "{refused}");
    assert!(!root.join(".fluxway").exists());
    // What is done already has nothing to undo, unless this server did it.
    let edit = json!({ "filepath": "a.txt", "strategy": "create_file", "payload": { "code": "x\n" } });
    std::fs::write(root.join("a.txt"), "x\n").unwrap();
    let done = tool_reply(
        client.call("apply_edit_plan", json!({ "plan": { "summary": "s", "edits": [edit] } })).await,
    );
    assert_eq!((&done["outcome"], &done["undo"]), (&json!("already_applied"), &Value::Null), "{done}");
}

#[tokio::test(start_paused = true)]
async fn foreign_journals_are_reported() {
    let (_folder, root, app) = app_with_repository(CheckPolicy::Never);
    let mut client = initialized_client(&app, Scope::Write, json!({})).await;
    let forged = root.join(".fluxway/plans/abc");
    std::fs::create_dir_all(&forged).unwrap();
    std::fs::write(forged.join("journal.json"), r#"{"version":2,"journal":"{}","signature":"x"}"#).unwrap();
    let refused = tool_reply(client.call("undo_edit_plan", json!({})).await);
    assert!(refused.as_str().unwrap().contains(".fluxway/plans/abc"), "{refused}");
    let plan = propose(&mut client).await;
    let applied = tool_reply(client.call("apply_edit_plan", json!({ "plan_id": plan["id"] })).await);
    let warned = applied["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|warning| warning.as_str().unwrap().contains("not signed with your key"));
    assert!(warned, "{applied}");
}

/// The same repository, with a key in the file that the plan changes: beside the change, or in the changed
/// line.
#[tokio::test(start_paused = true)]
async fn secrets_in_changed_files_are_hidden_from_the_model() {
    const SECRET: &str = "sk-proj-4f9d8a7b6c5e4f3a2b1c0d9e8f7a6b5c";
    let (_folder, root, app) = app_with_repository(CheckPolicy::Never);
    let agent = root.join("support/agent.py");
    let text = std::fs::read_to_string(&agent).unwrap();
    std::fs::write(&agent, text.replace("OpenAI()", &format!("OpenAI(api_key=\"{SECRET}\")"))).unwrap();
    let mut client = initialized_client(&app, Scope::Write, json!({})).await;
    let mut said = String::new();
    for (tool, arguments) in [
        ("run_integration_workflow", json!({})),
        ("fetch_integration_context", json!({})),
        ("propose_edit_plan", json!({ "framework": "fastapi", "workspace_edit": true })),
        ("integrate", json!({})),
    ] {
        let answer = client.call(tool, arguments).await.to_string();
        assert!(!answer.contains(SECRET), "{tool}: {answer}");
        said.push_str(&answer);
    }
    assert!(
        said.contains("fluxloop.agent") || said.contains("import fluxloop"),
        "the file is changed by the plan"
    );
    // What was shown goes back verbatim, and the plan that is kept is exact.
    let plan = propose(&mut client).await;
    for arguments in [json!({ "plan": plan }), json!({ "plan_id": plan["id"] })] {
        let verdict = tool_reply(client.call("validate_edit_plan", arguments).await);
        assert_eq!(verdict["valid"], true, "{verdict}");
        assert!(!verdict.to_string().contains(SECRET), "{verdict}");
    }
    let applied = client.call("apply_edit_plan", json!({ "plan": plan })).await;
    assert!(!applied.to_string().contains(SECRET), "{applied}");
    assert!(std::fs::read_to_string(&agent).unwrap().contains(SECRET));
    // An editor's rollback: by the plan as it was shown.
    let undone = tool_reply(client.call("undo_edit_plan", json!({ "plan": plan })).await);
    assert_eq!(undone["outcome"], "undone", "{undone}");
    // A changed line: its diff is withheld from the answer.
    let edit = json!({ "filepath": "support/agent.py", "strategy": "insert_middleware",
        "anchors": [{ "type": "replace_match", "pattern": "OpenAI(api_key" }], "payload": { "code": "OpenAI(max_retries=1, api_key" } });
    let theirs = json!({ "plan": { "summary": "s", "edits": [edit] } });
    let verdict = tool_reply(client.call("validate_edit_plan", theirs).await);
    assert_eq!(verdict["valid"], true, "{verdict}");
    assert!(
        !verdict.to_string().contains(SECRET) && verdict["diff"].as_str().unwrap().contains("withheld"),
        "{verdict}"
    );
}

/// `.git` and its cousins are not reached by naming them as the root.
#[tokio::test(start_paused = true)]
async fn protected_folder_is_rejected_as_root() {
    let (_folder, root, app) = app_with_repository(CheckPolicy::Never);
    let mut client = initialized_client(&app, Scope::Write, json!({})).await;
    let edit =
        json!({ "filepath": "hooks/pre-commit", "strategy": "create_file", "payload": { "code": "x\n" } });
    for folder in [
        ".git",
        ".GIT",
        ".github",
        ".vscode",
        ".claude",
        ".cursor",
        ".venv/bin",
        "node_modules/.bin",
        ".git/hooks",
    ] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
        for root in [folder.to_owned(), root.join(folder).to_str().unwrap().to_owned()] {
            let plan = json!({ "plan": { "summary": "s", "edits": [edit] }, "root": root });
            for (tool, arguments) in [
                ("apply_edit_plan", plan.clone()),
                ("validate_edit_plan", plan),
                ("analyze_repository", json!({ "root": root })),
            ] {
                let refused = client.call(tool, arguments).await;
                assert_eq!(refused["result"]["isError"], true, "{tool} {root}: {refused}");
            }
        }
        assert!(!root.join(folder).join("hooks/pre-commit").exists(), "{folder}");
    }
}
