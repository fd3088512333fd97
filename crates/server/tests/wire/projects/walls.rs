//! Resources, news and completions: what somebody else has is not there, either.

use std::sync::Arc;

use serde_json::{Value, json};
use server::{App, Principal, Scope};

use super::samples::listed;
use super::{ADA, EVE, REVISION, Site, app, ask, client, each, request};
use crate::harness::{TestClient, holder, stateless};

/// The templates that are the same for everybody.
const SHARED: [&str; 1] = ["fluxway://tools/{name}"];
const FORMATS: [&str; 6] = ["css", "scss", "tailwind", "tailwind-v3", "json", "flat"];

async fn templates(client: &mut TestClient) -> Vec<String> {
    let answer = ask(client, "resources/templates/list", json!({})).await;
    each(&answer["result"]["resourceTemplates"], "uriTemplate").into_iter().map(str::to_owned).collect()
}

/// The addresses of a template for a site. One that nobody has thought of is named.
fn expanded(template: &str, site: &Site) -> Vec<String> {
    let filled = template.replace("{projectId}", &site.project).replace("{assetId}", &site.asset);
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
async fn addresses(client: &mut TestClient, site: &Site) -> Vec<String> {
    let owned = templates(client).await.into_iter().filter(|template| !SHARED.contains(&template.as_str()));
    owned.flat_map(|template| expanded(&template, site)).collect()
}

/// What a client is told when it reads, watches and listens to something.
async fn told(app: &Arc<App>, caller: &Principal, uri: &str) -> [String; 4] {
    let client = || TestClient::of(app, caller.clone());
    let mut old = client().greet(REVISION, json!({})).await;
    let read = ask(&mut old, "resources/read", json!({ "uri": uri })).await;
    let watched = ask(&mut old, "resources/subscribe", json!({ "uri": uri })).await;
    let params = json!({ "uri": uri, "_meta": stateless(json!({})) });
    let read_without_session = ask(&mut client(), "resources/read", params).await;
    let params =
        json!({ "_meta": stateless(json!({})), "notifications": { "resourceSubscriptions": [uri] } });
    let mut listener = client();
    let listening = listener.exchange(&request("subscriptions/listen", params).to_string()).await.concat();
    let end = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    listener.exchange(&end.to_string()).await;
    [read.to_string(), watched.to_string(), read_without_session.to_string(), listening]
}

/// What is not there for this caller is as if it was nowhere.
async fn judge(app: &Arc<App>, caller: &Principal, theirs: &Site) {
    let nobodys = Site::absent();
    let mut client = TestClient::of(app, caller.clone()).greet(REVISION, json!({})).await;
    let (found, missing) = (addresses(&mut client, theirs).await, addresses(&mut client, &nobodys).await);
    assert!(found.len() > 7 && found.len() == missing.len(), "{found:?}");
    for (found, missing) in found.iter().zip(&missing) {
        let answers = told(app, caller, found).await.map(|text| theirs.hidden(&text));
        let expected = told(app, caller, missing).await.map(|text| nobodys.hidden(&text));
        assert_eq!(answers, expected, "{found}");
        let [read, watched, without_session, listening] = &answers;
        for answer in [read, watched, without_session] {
            assert!(answer.contains("Resource not found: codefluss://"), "{answer}");
        }
        assert!(!listening.contains("codefluss://"), "{listening}");
    }
    let listed = ask(&mut client, "resources/list", json!({})).await.to_string();
    let all = ask(&mut client, "resources/read", json!({ "uri": "codefluss://projects" })).await.to_string();
    for list in [listed, all] {
        assert!(!list.contains(&theirs.project), "{list}");
    }
}

/// Those who may not know of a site of Ada's, who has another one too.
fn strangers(site: &Site, other: &Site) -> [Principal; 4] {
    [
        holder(EVE, Scope::Write, None),
        holder(EVE, Scope::Write, Some(&site.project)),
        holder(ADA, Scope::Write, Some(&other.project)),
        holder(ADA, Scope::Read, Some(&other.project)),
    ]
}

#[tokio::test(start_paused = true)]
async fn nobody_reads_or_watches_what_is_not_theirs() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (site, other) = (Site::build(&mut ada).await, Site::build(&mut ada).await);
    for caller in strangers(&site, &other) {
        judge(&app, &caller, &site).await;
    }
    let own = addresses(&mut ada, &site).await;
    assert!(own.len() > 7, "{own:?}");
    for uri in own {
        let told = told(&app, &holder(ADA, Scope::Read, Some(&site.project)), &uri).await;
        assert!(
            told.iter().all(|answer| !answer.contains("not found") && !answer.contains("error")),
            "{told:?}"
        );
        assert!(told[3].contains(&uri), "{told:?}");
    }
}

/// Addresses are taken letter for letter: no other spelling of one leads anywhere.
#[tokio::test(start_paused = true)]
async fn other_spellings_of_an_address_lead_nowhere() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let Site { project, asset, .. } = &site;
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
        let [read, watched, ..] = told(&app, &holder(ADA, Scope::Write, None), &uri).await;
        for answer in [read, watched] {
            assert!(answer.contains("Resource not found"), "{uri:?}: {answer}");
        }
    }
}

/// Everything that a client could ask to have completed: the arguments of all tools, the variables of all templates.
async fn places(client: &mut TestClient) -> Vec<(Value, String)> {
    let mut places = Vec::new();
    for tool in listed(client).await {
        let reference = json!({ "type": "ref/tool", "name": tool["name"] });
        let arguments = tool["inputSchema"]["properties"].as_object().unwrap().keys();
        places.extend(arguments.map(|argument| (reference.clone(), argument.clone())));
    }
    for template in templates(client).await {
        let variables = template.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        let reference = json!({ "type": "ref/resource", "uri": template });
        places.extend(variables.map(|name| (reference.clone(), name.to_owned())));
    }
    places
}

async fn completions(client: &mut TestClient, place: &(Value, String), typed: &str, known: &Site) -> String {
    let (reference, argument) = place;
    let params = json!({
        "ref": reference,
        "argument": { "name": argument, "value": typed },
        "context": { "arguments": { "projectId": known.project } },
    });
    let answer = ask(client, "completion/complete", params).await;
    assert!(answer["result"]["completion"]["values"].is_array(), "{reference} {argument}: {answer}");
    answer.to_string()
}

#[tokio::test(start_paused = true)]
async fn completions_tell_of_nothing_that_is_not_the_callers() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let (site, other) = (Site::build(&mut ada).await, Site::build(&mut ada).await);
    for caller in strangers(&site, &other) {
        let mut client = TestClient::of(&app, caller).greet(REVISION, json!({})).await;
        for place in places(&mut client).await {
            for (_, id) in site.ids().into_iter().chain([("nothing", "")]) {
                let typed = &id[..id.len().min(8)];
                let found = completions(&mut client, &place, typed, &site).await;
                let missing = completions(&mut client, &place, typed, &Site::absent()).await;
                assert_eq!(found, missing, "{place:?} {typed}");
                assert_eq!(found, site.hidden(&found), "{place:?} {typed}");
            }
        }
    }
}
