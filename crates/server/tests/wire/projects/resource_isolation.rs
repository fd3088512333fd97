//! Resources, news and completions: what somebody else has is not there, either.

use std::sync::Arc;

use serde_json::{Value, json};
use server::{App, Principal, Scope};

use super::sample_calls::list_tools;
use super::{ADA, EVE, REVISION, SampleProject, app, client, member_strings, request, send_request};
use crate::harness::{TestClient, key_principal, stateless_meta};

/// The templates that are the same for everybody.
const SHARED_TEMPLATES: [&str; 1] = ["fluxway://tools/{name}"];
const FORMATS: [&str; 6] = ["css", "scss", "tailwind", "tailwind-v3", "json", "flat"];

async fn list_templates(client: &mut TestClient) -> Vec<String> {
    let answer = send_request(client, "resources/templates/list", json!({})).await;
    member_strings(&answer["result"]["resourceTemplates"], "uriTemplate")
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// The addresses of a template for a site. One that nobody has thought of is named.
fn expand_template(template: &str, sample: &SampleProject) -> Vec<String> {
    let filled = template.replace("{projectId}", &sample.project).replace("{assetId}", &sample.asset);
    let all: Vec<String> = if filled.contains("{format}") {
        FORMATS.iter().map(|format| filled.replace("{format}", format)).collect()
    } else {
        vec![filled]
    };
    assert!(
        all.iter().all(|uri| uri != template && !uri.contains('{')),
        "{template} needs a row in walls.rs"
    );
    all
}

/// All addresses of a site, by the templates that a client sees.
async fn resource_uris(client: &mut TestClient, sample: &SampleProject) -> Vec<String> {
    let owned = list_templates(client)
        .await
        .into_iter()
        .filter(|template| !SHARED_TEMPLATES.contains(&template.as_str()));
    owned.flat_map(|template| expand_template(&template, sample)).collect()
}

/// What a client is told when it reads, watches and listens to something.
async fn resource_answers(app: &Arc<App>, caller: &Principal, uri: &str) -> [String; 4] {
    let client = || TestClient::for_principal(app, caller.clone());
    let mut old = client().initialize(REVISION, json!({})).await;
    let read = send_request(&mut old, "resources/read", json!({ "uri": uri })).await;
    let watched = send_request(&mut old, "resources/subscribe", json!({ "uri": uri })).await;
    let params = json!({ "uri": uri, "_meta": stateless_meta(json!({})) });
    let read_without_session = send_request(&mut client(), "resources/read", params).await;
    let params =
        json!({ "_meta": stateless_meta(json!({})), "notifications": { "resourceSubscriptions": [uri] } });
    let mut listener = client();
    let listening = listener.exchange(&request("subscriptions/listen", params).to_string()).await.concat();
    let end = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    listener.exchange(&end.to_string()).await;
    [read.to_string(), watched.to_string(), read_without_session.to_string(), listening]
}

/// What is not there for this caller is as if it was nowhere.
async fn assert_not_found(app: &Arc<App>, caller: &Principal, theirs: &SampleProject) {
    let nobodys = SampleProject::nonexistent();
    let mut client = TestClient::for_principal(app, caller.clone()).initialize(REVISION, json!({})).await;
    let (found, missing) =
        (resource_uris(&mut client, theirs).await, resource_uris(&mut client, &nobodys).await);
    assert!(found.len() > 7 && found.len() == missing.len(), "{found:?}");
    for (found, missing) in found.iter().zip(&missing) {
        let answers = resource_answers(app, caller, found).await.map(|text| theirs.mask_ids(&text));
        let expected = resource_answers(app, caller, missing).await.map(|text| nobodys.mask_ids(&text));
        assert_eq!(answers, expected, "{found}");
        let [read, watched, without_session, listening] = &answers;
        for answer in [read, watched, without_session] {
            assert!(answer.contains("Resource not found: codefluss://"), "{answer}");
        }
        assert!(!listening.contains("codefluss://"), "{listening}");
    }
    let listed = send_request(&mut client, "resources/list", json!({})).await.to_string();
    let all = send_request(&mut client, "resources/read", json!({ "uri": "codefluss://projects" }))
        .await
        .to_string();
    for list in [listed, all] {
        assert!(!list.contains(&theirs.project), "{list}");
    }
}

/// Those who may not know of a site of Ada's, who has another one too.
fn unauthorized_principals(sample: &SampleProject, other: &SampleProject) -> [Principal; 4] {
    [
        key_principal(EVE, Scope::Write, None),
        key_principal(EVE, Scope::Write, Some(&sample.project)),
        key_principal(ADA, Scope::Write, Some(&other.project)),
        key_principal(ADA, Scope::Read, Some(&other.project)),
    ]
}

#[tokio::test(start_paused = true)]
async fn unauthorized_callers_cannot_read_or_subscribe() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (site, other) = (SampleProject::build(&mut ada).await, SampleProject::build(&mut ada).await);
    for caller in unauthorized_principals(&site, &other) {
        assert_not_found(&app, &caller, &site).await;
    }
    let own = resource_uris(&mut ada, &site).await;
    assert!(own.len() > 7, "{own:?}");
    for uri in own {
        let told = resource_answers(&app, &key_principal(ADA, Scope::Read, Some(&site.project)), &uri).await;
        assert!(
            told.iter().all(|answer| !answer.contains("not found") && !answer.contains("error")),
            "{told:?}"
        );
        assert!(told[3].contains(&uri), "{told:?}");
    }
}

/// Addresses are taken letter for letter: no other spelling of one leads anywhere.
#[tokio::test(start_paused = true)]
async fn other_spellings_of_a_uri_are_not_found() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let SampleProject { project, asset, .. } = &site;
    for uri in [
        format!("codefluss://design-system/{}", project.to_uppercase()),
        format!("codefluss://design-system/{}", project.replace('_', "%5F")),
        format!("codefluss://design-system/{project}%00"),
        format!("codefluss://design-system/{project}\0"),
        format!("codefluss://design-system/{project}/"),
        format!("codefluss://design-system/{project}/CSS"),
        format!("codefluss://design-system/{project}/css/"),
        format!("codefluss://design-system//{project}"),
        format!("codefluss://design-system/../design-system/{project}"),
        format!("codefluss://design-system/{project}?mode=dark"),
        format!("codefluss://design-system/{project}#css"),
        format!("CODEFLUSS://design-system/{project}"),
        format!("codefluss://assets/{project}"),
        format!("codefluss://assets/{project}/"),
        format!("codefluss://assets/{project}/{asset}/"),
        format!("codefluss://assets/{project}/{}", asset.to_uppercase()),
        format!("codefluss://assets/{asset}/{project}"),
        format!("codefluss://assets/{project}/../{project}/{asset}"),
        "codefluss://projects/".to_owned(),
        "codefluss://design-system/".to_owned(),
        "codefluss://design-system/{projectId}".to_owned(),
        "codefluss://assets//".to_owned(),
    ] {
        let [read, watched, ..] = resource_answers(&app, &key_principal(ADA, Scope::Write, None), &uri).await;
        for answer in [read, watched] {
            assert!(answer.contains("Resource not found"), "{uri:?}: {answer}");
        }
    }
}

/// Everything that a client could ask to have completed: the arguments of all tools, the variables of all
/// templates.
async fn completion_targets(client: &mut TestClient) -> Vec<(Value, String)> {
    let mut places = Vec::new();
    for tool in list_tools(client).await {
        let reference = json!({ "type": "ref/tool", "name": tool["name"] });
        let arguments = tool["inputSchema"]["properties"].as_object().unwrap().keys();
        places.extend(arguments.map(|argument| (reference.clone(), argument.clone())));
    }
    for template in list_templates(client).await {
        let variables = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        let reference = json!({ "type": "ref/resource", "uri": template });
        places.extend(variables.map(|name| (reference.clone(), name.to_owned())));
    }
    places
}

async fn complete(
    client: &mut TestClient,
    place: &(Value, String),
    typed: &str,
    known: &SampleProject,
) -> String {
    let (reference, argument) = place;
    let params = json!({
        "ref": reference,
        "argument": { "name": argument, "value": typed },
        "context": { "arguments": { "projectId": known.project } },
    });
    let answer = send_request(client, "completion/complete", params).await;
    assert!(answer["result"]["completion"]["values"].is_array(), "{reference} {argument}: {answer}");
    answer.to_string()
}

#[tokio::test(start_paused = true)]
async fn completions_reveal_nothing_of_other_callers() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (site, other) = (SampleProject::build(&mut ada).await, SampleProject::build(&mut ada).await);
    for caller in unauthorized_principals(&site, &other) {
        let mut client = TestClient::for_principal(&app, caller).initialize(REVISION, json!({})).await;
        for place in completion_targets(&mut client).await {
            for (_, id) in site.ids().into_iter().chain([("nothing", "")]) {
                let typed = &id[..id.len().min(8)];
                let found = complete(&mut client, &place, typed, &site).await;
                let missing = complete(&mut client, &place, typed, &SampleProject::nonexistent()).await;
                assert_eq!(found, missing, "{place:?} {typed}");
                assert_eq!(found, site.mask_ids(&found), "{place:?} {typed}");
            }
        }
    }
}
