//! The context tools on projects that real CLIs wrote: numbers as an independent script counted them,
//! documented keys, and nothing secret, over both dialects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use server::App;

use crate::harness::{TestClient, app};
use crate::repositories::{SUPPORT_BOT, unpack};

const FIXTURE_PROJECTS: [&str; 7] = [
    "bookshop-0.2.30",
    "legacy-0.2.30",
    "two-0.2.36",
    "root-0.2.36",
    "scenarios-0.3.11",
    "workspace-0.4.0",
    "twice-0.4.0",
];

/// The documented keys of each tool, with what their values are.
const DOCUMENTED_KEYS: [(&str, &[(&str, char)]); 4] = [
    (
        "fetch_integration_context",
        &[
            ("mode", 's'),
            ("repository_profile", 'o'),
            ("integration_workflow", 'o'),
            ("structure_context", 'o'),
            ("rag_topics", 'a'),
        ],
    ),
    (
        "fetch_base_input_context",
        &[("mode", 's'), ("existing_inputs", 'o'), ("service_context", 's'), ("rag_topics", 'a')],
    ),
    (
        "fetch_experiment_context",
        &[
            ("mode", 's'),
            ("recent_experiments", 'a'),
            ("runner_config", 'o'),
            ("simulation_templates", 'a'),
            ("rag_topics", 'a'),
        ],
    ),
    (
        "fetch_insight_context",
        &[("mode", 's'), ("evaluation_reports", 'a'), ("aggregated_metrics", 'o'), ("rag_topics", 'a')],
    ),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fluxloop/tests/projects").canonicalize().unwrap()
}

fn app_for_root(root: &Path) -> Arc<App> {
    app().roots(vec![root.canonicalize().unwrap()]).build()
}

fn expected(project: &str) -> Value {
    serde_json::from_slice(&std::fs::read(fixtures().join(project).join("expected.json")).unwrap()).unwrap()
}

/// A client of the envelope, at a folder.
struct ContextClient(TestClient);

impl ContextClient {
    fn for_root(root: &Path) -> Self {
        Self(TestClient::new(&app_for_root(root)))
    }

    async fn call_tool(&mut self, tool: &str, params: Value) -> Value {
        let request = json!({ "type": "request", "id": "1", "tool": tool, "params": params });
        let mut answer = self.0.request(request).await;
        assert_eq!(answer["type"], "response", "{tool}: {answer}");
        answer["result"].take()
    }
}

fn is_of_kind(value: &Value, kind: char) -> bool {
    match kind {
        's' => value.is_string(),
        'o' => value.is_object(),
        _ => value.is_array(),
    }
}

#[tokio::test(start_paused = true)]
async fn replies_have_documented_keys_and_no_secrets() {
    for project in FIXTURE_PROJECTS {
        let root = fixtures().join(project);
        let mut asker = ContextClient::for_root(&root);
        let secret = expected(project)["secret"].as_str().unwrap().to_owned();
        for (tool, keys) in DOCUMENTED_KEYS {
            let answer = asker.call_tool(tool, json!({})).await;
            for (key, kind) in keys {
                assert!(is_of_kind(&answer[key], *kind), "{project}, {tool}: {key} is {}", answer[key]);
            }
            let full = match tool {
                "fetch_integration_context" => json!({ "max_tokens": 100_000 }),
                _ => json!({ "detail": "full", "limit": 200, "max_tokens": 100_000 }),
            };
            let full = asker.call_tool(tool, full).await;
            for answer in [answer, full] {
                assert!(!answer.to_string().contains(&secret), "{project}, {tool}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn metrics_match_the_project_files() {
    for project in FIXTURE_PROJECTS {
        let root = fixtures().join(project);
        let mut asker = ContextClient::for_root(&root);
        let expected = expected(project);
        let all = json!({ "limit": 200, "max_tokens": 100_000 });
        let experiments = asker.call_tool("fetch_experiment_context", all.clone()).await;
        let recent = experiments["recent_experiments"].as_array().unwrap().iter();
        let ids: Vec<&Value> =
            recent.filter(|one| one["unfinished"] == false).map(|one| &one["id"]).collect();
        let newest: Vec<&Value> = expected["newest_first"].as_array().unwrap().iter().collect();
        assert_eq!(ids, newest, "{project}");
        for (folder, project_expected) in expected["projects"].as_object().unwrap() {
            let mut params = all.clone();
            params["project"] = json!(folder);
            let aggregate = &project_expected["aggregate"];
            let insight = asker.call_tool("fetch_insight_context", params.clone()).await;
            let metrics = &insight["aggregated_metrics"];
            for key in
                ["experiments", "total", "successful", "failed", "success_rate", "total_tokens", "by_persona"]
            {
                assert_eq!(
                    round_numbers(&metrics[key]),
                    round_numbers(&aggregate[key]),
                    "{project}, {folder}: {key}"
                );
            }
            let trend: Vec<Value> = metrics["trend"]
                .as_array()
                .unwrap()
                .iter()
                .map(|point| json!([point["time"], point["success_rate"]]))
                .collect();
            assert_eq!(
                round_numbers(&json!(trend)),
                round_numbers(&aggregate["trend"]),
                "{project}, {folder}"
            );
            let inputs = asker.call_tool("fetch_base_input_context", params).await;
            let (found, wanted) = (&inputs["existing_inputs"], &project_expected["inputs"]);
            let texts = |list: &Value, key: &str| -> Vec<Value> {
                list.as_array().unwrap().iter().map(|entry| entry[key].clone()).collect()
            };
            assert_eq!(
                json!(texts(&found["base_inputs"], "input")),
                wanted["base_inputs"],
                "{project}, {folder}"
            );
            assert_eq!(json!(texts(&found["personas"], "name")), wanted["personas"], "{project}, {folder}");
            for key in ["count", "by_persona", "by_strategy"] {
                assert_eq!(found["generated"][0][key], wanted[key], "{project}, {folder}: {key}");
            }
            let context = project_expected["service_context"].as_str().unwrap_or_default();
            assert_eq!(inputs["service_context"], context, "{project}, {folder}");
        }
    }
}

/// Numbers with three digits behind the point: rates and means are rounded in both.
fn round_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!((number.as_f64().unwrap() * 1000.0).round() / 1000.0),
        Value::Array(values) => values.iter().map(round_numbers).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), round_numbers(value))).collect())
        }
        other => other.clone(),
    }
}

#[tokio::test(start_paused = true)]
async fn project_is_found_from_any_of_its_folders() {
    let cases = [
        ("bookshop-0.2.30", ".", "desk"),
        ("bookshop-0.2.30", "shop", "desk"),
        ("bookshop-0.2.30", "fluxloop/desk", "desk"),
        ("bookshop-0.2.30", "fluxloop/desk/configs", "desk"),
        ("workspace-0.4.0", ".fluxloop/scenarios/talk", "talk"),
        ("scenarios-0.3.11", ".fluxloop/scenarios/talk/experiments", "talk"),
        ("root-0.2.36", ".", "root"),
    ];
    for (project, root, name) in cases {
        let mut asker = ContextClient::for_root(&fixtures().join(project));
        let answer = asker.call_tool("fetch_experiment_context", json!({ "root": root })).await;
        let names: Vec<&str> =
            answer["projects"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        match name {
            "root" => assert_eq!(names.len(), 1, "{project}/{root}: {names:?}"),
            name => assert_eq!(names, [name], "{project}/{root}"),
        }
        assert!(!answer["recent_experiments"].as_array().unwrap().is_empty(), "{project}/{root}");
    }
    let mut asker = ContextClient::for_root(&fixtures().join("two-0.2.36"));
    let both = asker.call_tool("fetch_insight_context", json!({})).await;
    assert_eq!(both["projects"].as_array().unwrap().len(), 2);
    assert_eq!(both["metrics_by_project"].as_array().unwrap().len(), 2);
    let one = asker.call_tool("fetch_insight_context", json!({ "project": "tour" })).await;
    assert_eq!(one["projects"][0]["name"], "tour");
    assert_eq!(one["metrics_by_project"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn upward_search_stops_at_repository_and_roots() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "name: outer\n").unwrap();
    };
    write("fluxloop/outer/configs/simulation.yaml");
    write("mine/.git/HEAD");
    write("mine/app/main.py");
    write("open/app/main.py");
    let found = async |root: &str, inside: &str| {
        let mut asker = ContextClient::for_root(&folder.path().join(root));
        let answer = asker.call_tool("fetch_base_input_context", json!({ "root": inside })).await;
        let told = answer["warnings"].to_string();
        assert_eq!(answer["projects"] == json!([]), told.contains("no FluxLoop project found"), "{told}");
        answer["projects"].as_array().unwrap().len()
    };
    assert_eq!(found(".", "open/app").await, 1);
    assert_eq!(found(".", "mine/app").await, 0, "another repository's project is none of ours");
    assert_eq!(found("open", "app").await, 0, "what lies above the root is not looked at");
    write("other/fluxloop/theirs/configs/simulation.yaml");
    std::fs::remove_dir_all(folder.path().join("fluxloop")).unwrap();
    assert_eq!(found(".", "open/app").await, 0, "a project beside the folder is another's");
    assert_eq!(found(".", ".").await, 1);
}

#[tokio::test(start_paused = true)]
async fn invalid_arguments_are_rejected() {
    let mut client = TestClient::new(&app_for_root(&fixtures().join("two-0.2.36")));
    let mut refusal = async |params: Value| {
        let request =
            json!({ "type": "request", "id": "1", "tool": "fetch_insight_context", "params": params });
        let answer = client.request(request).await;
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert!(refusal(json!({ "project": "nope" })).await.contains("chat, tour"));
    assert!(refusal(json!({ "limit": 0 })).await.contains("limit"));
    assert!(refusal(json!({ "max_tokens": 10 })).await.contains("at least 500"));
    assert!(refusal(json!({ "detail": "huge" })).await.contains("brief"));
    assert!(refusal(json!({ "root": "/" })).await.contains("outside the allowed folders"));
    assert!(refusal(json!({ "roots": "." })).await.contains("roots"));
}

#[tokio::test(start_paused = true)]
async fn replies_fit_max_tokens_and_report_omissions() {
    let mut cut = 0;
    for project in FIXTURE_PROJECTS {
        let mut asker = ContextClient::for_root(&fixtures().join(project));
        for (tool, keys) in DOCUMENTED_KEYS.into_iter().skip(1) {
            let whole =
                asker.call_tool(tool, json!({ "detail": "full", "limit": 200, "max_tokens": 100_000 })).await;
            let small =
                asker.call_tool(tool, json!({ "detail": "full", "limit": 200, "max_tokens": 700 })).await;
            for (key, kind) in keys {
                assert!(is_of_kind(&small[key], *kind), "{project}, {tool}: {key}");
            }
            let (before, after) = (whole.to_string().len() / 4, small.to_string().len() / 4);
            if before > 1000 {
                assert!(after < before, "{project}, {tool}: {after} of {before} tokens");
                assert_ne!(small["left_out"], json!([]), "{project}, {tool}");
                cut += 1;
            }
        }
        let usual = asker.call_tool("fetch_insight_context", json!({})).await;
        assert!(usual.to_string().len() / 4 < 4400, "{project}");
    }
    assert!(cut > 2, "only {cut} answers were long enough to be cut");
}

#[tokio::test(start_paused = true)]
async fn every_rag_topic_has_a_faq_answer() {
    for project in FIXTURE_PROJECTS {
        let mut asker = ContextClient::for_root(&fixtures().join(project));
        for (tool, _) in DOCUMENTED_KEYS {
            let answer = asker.call_tool(tool, json!({})).await;
            let topics = answer["rag_topics"].as_array().unwrap();
            assert!(!topics.is_empty(), "{project}, {tool}: {answer}");
            for topic in topics {
                let found = asker.call_tool("faq", json!({ "query": topic })).await;
                assert_ne!(found["citations"], json!([]), "{project}, {tool}: {topic}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn experiments_are_readable_as_resources() {
    let root = fixtures().join("bookshop-0.2.30");
    let mut client = TestClient::initialized(&app_for_root(&root), "2025-11-25", json!({})).await;
    let mut request = async |method: &str, params: Value| {
        client.request(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await
    };
    let reference = json!({ "type": "ref/resource", "uri": "fluxloop://experiments/{+path}" });
    let argument = json!({ "name": "path", "value": "fluxloop/desk/experiments/week" });
    let completed = request("completion/complete", json!({ "ref": reference, "argument": argument })).await;
    let path = "fluxloop/desk/experiments/weekly_20260303_170510";
    assert_eq!(completed["result"]["completion"]["values"], json!([path]));
    let prompt = json!({ "ref": { "type": "ref/prompt", "name": "explain_experiment" }, "argument": { "name": "experiment", "value": "" } });
    let completed = request("completion/complete", prompt).await;
    let names: Vec<&str> = [
        "all_inputs_20260316_080030",
        "desk_smoke_20260309_080059",
        "weekly_20260303_170510",
        "desk_smoke_20260302_093000",
    ]
    .into();
    assert_eq!(completed["result"]["completion"]["values"], json!(names));

    let mut read = async |uri: &str| {
        let answer = request("resources/read", json!({ "uri": uri })).await;
        let content = answer["result"]["contents"][0].clone();
        (content["mimeType"].as_str().map(str::to_owned), content["text"].as_str().map(str::to_owned))
    };
    let (mime, overview) = read(&format!("fluxloop://experiments/{path}")).await;
    assert_eq!(mime.as_deref(), Some("application/json"));
    let overview: Value = serde_json::from_str(&overview.unwrap()).unwrap();
    assert_eq!(overview["experiment"]["failed"], 5);
    let documents = overview["documents"].as_array().unwrap();
    assert!(documents.iter().any(|document| document["name"] == "errors.json"), "{documents:?}");
    for document in documents {
        let (_, text) = read(document["uri"].as_str().unwrap()).await;
        assert!(!text.unwrap().contains("sk-test-not-a-key"), "{document}");
    }
    let hidden =
        ["fluxloop://experiments/../secret", "fluxloop://experiments/fluxloop/desk/configs/input.yaml"];
    for uri in hidden.into_iter().chain(["fluxloop://experiments/", "fluxloop://experiments/%zz"]) {
        assert_eq!(read(uri).await, (None, None), "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn integration_context_contains_workflow_and_structure() {
    let (_folder, root) = unpack(SUPPORT_BOT);
    let mut asker = ContextClient::for_root(&root);
    let context = asker.call_tool("fetch_integration_context", json!({ "root": "." })).await;
    let structure = &context["structure_context"];
    assert!(!structure["key_files"].as_array().unwrap().is_empty());
    assert!(!structure["agents"].as_array().unwrap().is_empty());
    let workflow = asker.call_tool("run_integration_workflow", json!({})).await;
    assert_eq!(context["integration_workflow"]["edit_plan"]["id"], workflow["edit_plan"]["id"]);
    assert_eq!(context["repository_profile"]["languages"], workflow["profile"]["languages"]);
    assert_eq!(context["projects"], json!([]));
    insta::assert_json_snapshot!(
        "integration_context",
        json!({
            "structure_context": structure, "rag_topics": context["rag_topics"], "left_out": context["left_out"],
        })
    );
}

#[tokio::test(start_paused = true)]
async fn damaged_projects_produce_warnings_and_a_full_reply() {
    let mut damaged = 0;
    for entry in std::fs::read_dir(fixtures().join("damaged")).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut asker = ContextClient::for_root(&path);
        let mut warnings: Vec<String> = Vec::new();
        for (tool, keys) in DOCUMENTED_KEYS {
            let answer = asker.call_tool(tool, json!({})).await;
            for (key, kind) in keys {
                assert!(is_of_kind(&answer[key], *kind), "{name}, {tool}: {key}");
            }
            let contradictions = answer["recent_experiments"].as_array().into_iter().flatten();
            warnings.extend(contradictions.flat_map(|one| to_strings(&one["disagreements"])));
            warnings.extend(to_strings(&answer["warnings"]));
        }
        let is_sound = ["yaml-bom-crlf", "names-without-time"].contains(&name.as_str());
        assert_eq!(warnings.is_empty(), is_sound, "{name}: {warnings:?}");
        damaged += usize::from(!is_sound);
    }
    assert!(damaged > 15, "only {damaged} damaged projects");
}

fn to_strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(Value::to_string).collect()
}

/// Whatever folder was asked about: what an answer calls a resource can be read.
#[tokio::test(start_paused = true)]
async fn every_resource_uri_in_a_reply_is_readable() {
    let mut read = 0;
    for root in [
        "bookshop-0.2.30",
        "workspace-0.4.0/.fluxloop/scenarios/desk",
        "damaged/evaluation-types",
        "scenarios-0.3.11",
    ] {
        let mut client = TestClient::initialized(&app_for_root(&fixtures()), "2025-11-25", json!({})).await;
        for tool in ["fetch_experiment_context", "fetch_insight_context"] {
            let answer = client.call(tool, json!({ "root": root })).await;
            let mut uris = std::collections::BTreeSet::new();
            crate::documents::collect_values(
                &answer["result"]["structuredContent"],
                &["uri", "report_uri"],
                &mut uris,
            );
            for uri in uris {
                let params = json!({ "uri": uri });
                let request =
                    json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
                let answer = client.request(request).await;
                assert!(
                    answer["result"]["contents"][0]["text"].is_string(),
                    "{root}, {tool}: {uri}: {answer}"
                );
                read += 1;
            }
        }
    }
    assert!(read >= 20, "{read}");
}

#[tokio::test(start_paused = true)]
async fn current_scenario_is_marked() {
    let mut asker = ContextClient::for_root(&fixtures().join("workspace-0.4.0"));
    let answer = asker.call_tool("fetch_base_input_context", json!({})).await;
    let current: Vec<&Value> =
        answer["projects"].as_array().unwrap().iter().filter(|one| one["current"] == true).collect();
    assert_eq!(current.len(), 1, "{}", answer["projects"]);
    assert_eq!(current[0]["name"], "desk");
}
