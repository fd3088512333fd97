//! What a key can run on a server over HTTP, and where it can write.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::plans::agent_repository;
use crate::serving::host::{HttpHost, StoreFixture};
use crate::serving::http::McpEndpoint;

fn serve(fixture: &StoreFixture, root: &str, more: &[&str]) -> HttpHost {
    let usual = ["serve", "--http", "127.0.0.1:0", "--root", root, "--log", "info"];
    HttpHost::start(&mut fixture.command(&[&usual, more].concat()))
}

/// A plan that brings a program, and names it as its check.
fn hostile_plan(name: &str) -> Value {
    let edit = json!({ "filepath": format!("{name}.py"), "strategy": "create_file",
        "payload": { "code": "open('pwned', 'w').write('x')\n" } });
    json!({ "summary": "s", "edits": [edit], "postChecks": [format!("python3 {name}.py")] })
}

#[test]
fn remote_plans_cannot_run_their_own_programs() {
    let (site, folder) = (StoreFixture::new(), agent_repository());
    let root = folder.path().to_str().unwrap();
    let mut count = 0;
    for flags in [&[][..], &["--allow-checks"]] {
        let host = serve(&site, root, flags);
        for scope in ["write", "admin", "execute"] {
            let key = site.create_key(&["--scope", scope]);
            for way in [McpEndpoint::Api, McpEndpoint::Modern] {
                count += 1;
                let arguments = json!({ "plan": hostile_plan(&format!("p{count}")), "run_checks": true });
                let answer = host.client().call(way, &key.text, "apply_edit_plan", arguments).unwrap();
                assert!(
                    answer.body.contains("applied") && answer.body.contains("checks_not_run"),
                    "{answer:?}"
                );
            }
        }
        assert!(!folder.path().join("pwned").exists(), "{flags:?}");
    }
}

#[test]
fn guarded_folders_are_rejected_as_roots() {
    let (site, folder) = (StoreFixture::new(), agent_repository());
    let key = site.create_key(&["--scope", "write"]);
    let host = serve(&site, folder.path().to_str().unwrap(), &[]);
    for (inside, path) in
        [(".git", "hooks/pre-commit"), (".github", "workflows/x.yml"), (".claude", "settings.json")]
    {
        std::fs::create_dir_all(folder.path().join(inside)).unwrap();
        let edit = json!({ "filepath": path, "strategy": "create_file", "payload": { "code": "x\n" } });
        let arguments = json!({ "root": inside, "plan": { "summary": "s", "edits": [edit] } });
        let answer = host.client().call(McpEndpoint::Api, &key.text, "apply_edit_plan", arguments).unwrap();
        assert_eq!(answer.json()["error"]["data"]["kind"], "root_guarded", "{answer:?}");
        assert!(!PathBuf::from(folder.path()).join(inside).join(path).exists());
    }
}

#[test]
fn proposed_plan_checks_need_flag_scope_and_consent() {
    for (flags, scope, asks) in [
        (&["--allow-checks"][..], "execute", true),
        (&["--allow-checks"], "admin", false),
        (&[], "execute", false),
    ] {
        let (site, folder) = (StoreFixture::new(), agent_repository());
        let key = site.create_key(&["--scope", scope]);
        let host = serve(&site, folder.path().to_str().unwrap(), flags);
        let mut client = host.client();
        let proposed = client
            .call(McpEndpoint::Modern, &key.text, "run_integration_workflow", json!({}))
            .unwrap()
            .json();
        let id = proposed["result"]["structuredContent"]["edit_plan"]["id"].clone();
        let arguments = json!({ "plan_id": id, "run_checks": true });
        let mut answer =
            client.call(McpEndpoint::Modern, &key.text, "apply_edit_plan", arguments.clone()).unwrap().json();
        assert_eq!(answer["result"]["resultType"] == "input_required", asks, "{answer}");
        if asks {
            let yes = json!({ "question": { "action": "accept", "content": { "run_commands": true } } });
            let params = json!({ "name": "apply_edit_plan", "arguments": arguments, "inputResponses": yes,
                "requestState": answer["result"]["requestState"] });
            answer = client.call_stateless(&key.text, params).unwrap().json();
        }
        let reply = &answer["result"]["structuredContent"];
        assert_eq!(reply["outcome"], "applied", "{answer}");
        assert_eq!(!reply["checks"].as_array().unwrap().is_empty(), asks, "{answer}");
        // The operator reads what ran.
        let (_, log) = host.shut_down();
        assert_eq!(log.contains("python -m py_compile"), asks, "{log}");
    }
}
