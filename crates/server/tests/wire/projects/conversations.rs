//! Creating and deleting as conversations: the same questions and the same end in every way that a client can be asked.

mod fronts;

use serde_json::{Value, json};

use super::{ADA, EVE, REVISION, Site, app, ask, client, done, each, request, text};
use crate::harness::{TestClient, holder, stateless};
use fronts::{Front, Reaction};
use server::Scope;

use Reaction::{Declines, Meanwhile, Says};

/// A conversation: what is called, what the user does, what is asked and how it ends.
struct Case {
    name: &'static str,
    arguments: Value,
    reactions: Vec<Reaction>,
    asked: &'static [&'static str],
    end: End,
}

enum End {
    /// With a project like this.
    Made { name: &'static str, description: &'static str, blocks: u64 },
    /// With these words, and nothing was done.
    Not(&'static str),
}

fn says(field: &str, value: &str) -> Reaction {
    Says(json!({ field: value }))
}

fn creations() -> Vec<Case> {
    use End::{Made, Not};
    let case = |name, arguments, reactions, asked, end| Case { name, arguments, reactions, asked, end };
    vec![
        case(
            "everything is asked",
            json!({}),
            vec![says("name", "Site"), says("description", "Ours."), says("template", "page")],
            &["name", "description", "template"],
            Made { name: "Site", description: "Ours.", blocks: 2 },
        ),
        case(
            "what may stay open stays open",
            json!({}),
            vec![says("name", "Site"), Says(json!({})), Says(json!({}))],
            &["name", "description", "template"],
            Made { name: "Site", description: "", blocks: 0 },
        ),
        case(
            "only what is missing is asked",
            json!({ "name": "Site", "template": "landing" }),
            vec![says("description", "Ours.")],
            &["description"],
            Made { name: "Site", description: "Ours.", blocks: 12 },
        ),
        case(
            "nothing is asked if everything is given",
            json!({ "name": "Site", "description": "Ours.", "template": "bare" }),
            vec![],
            &[],
            Made { name: "Site", description: "Ours.", blocks: 0 },
        ),
        case(
            "a wrong answer is asked for again",
            json!({ "description": "Ours." }),
            vec![
                says("name", &"x".repeat(201)),
                says("name", "Site"),
                says("template", "castle"),
                says("template", "empty"),
            ],
            &["name", "name", "template", "template"],
            Made { name: "Site", description: "Ours.", blocks: 0 },
        ),
        case("whoever declines the first question", json!({}), vec![Declines], &["name"], Not("")),
        case(
            "whoever declines the last question",
            json!({ "name": "Site", "description": "Ours." }),
            vec![Declines],
            &["template"],
            Not(""),
        ),
        case(
            "an answer that a rule refuses is asked for again",
            json!({ "description": "Ours.", "template": "bare" }),
            vec![says("name", "a\u{0}b"), says("name", "Site")],
            &["name", "name"],
            Made { name: "Site", description: "Ours.", blocks: 0 },
        ),
    ]
}

async fn projects(client: &mut TestClient) -> Value {
    done(client, "list_projects", json!({})).await["projects"].take()
}

#[tokio::test(start_paused = true)]
async fn a_project_is_created_in_every_way() {
    for front in Front::ALL {
        for case in creations() {
            let app = app();
            let mut ada = client(&app, ADA).await;
            let name = format!("{} by {front:?}", case.name);
            let talk =
                fronts::talk(&app, front, "create_project", &case.arguments, &case.reactions, &mut ada).await;
            assert_eq!(talk.asked, case.asked, "{name}: {talk:?}");
            let all = projects(&mut ada).await;
            match case.end {
                End::Not(words) => {
                    assert!(talk.failed().contains(words), "{name}: {talk:?}");
                    assert_eq!(all, json!([]), "{name}");
                }
                End::Made { name: called, description, blocks } => {
                    assert_eq!(all, json!([talk.reply()]), "{name}");
                    let made = (&all[0]["name"], &all[0]["description"], &all[0]["usage"]["blocks"]);
                    assert_eq!(made, (&json!(called), &json!(description), &json!(blocks)), "{name}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_asks_for_no_template() {
    for front in Front::ALL {
        let app = app();
        let mut ada = client(&app, ADA).await;
        let site = Site::build(&mut ada).await;
        let reactions = [says("name", "Copy"), Says(json!({}))];
        let talk = fronts::talk(
            &app,
            front,
            "create_project",
            &json!({ "copyOf": site.project }),
            &reactions,
            &mut ada,
        )
        .await;
        assert_eq!(talk.asked, ["name", "description"], "{front:?}");
        assert_eq!(
            (&talk.reply()["name"], &talk.reply()["usage"]["blocks"]),
            (&json!("Copy"), &json!(5)),
            "{front:?}"
        );
        // Nobody is asked about a copy of what is not there, or has changed, or for the rest of what cannot be.
        for (arguments, words) in [
            (json!({ "slug": "No!" }), "/slug: must have 1 to 63"),
            (json!({ "name": "a\nb", "description": "\0" }), "/description: has control characters"),
            (json!({ "copyOf": "proj_none" }), "there is no project `proj_none`"),
            (json!({ "copyOf": site.project, "ifRevision": 1 }), "is at revision 7 and not 1"),
        ] {
            let talk = fronts::talk(&app, front, "create_project", &arguments, &[], &mut ada).await;
            assert!(talk.asked.is_empty() && talk.failed().contains(words), "{front:?}: {talk:?}");
        }
        assert_eq!(each(&projects(&mut ada).await, "name").len(), 2);
    }
}

/// What the user does when asked for the name of what is to go, and the words that it ends with; none if it is gone.
fn deletions() -> Vec<(&'static str, Vec<Reaction>, usize, Option<&'static str>)> {
    let update =
        || Meanwhile("update_project", json!({ "description": "Changed." }), json!({ "name": "Aurora" }));
    vec![
        ("types its name", vec![says("name", "Aurora")], 1, None),
        (
            "types a wrong name first",
            vec![says("name", "aurora"), says("name", "Aurora "), says("name", "Aurora")],
            3,
            None,
        ),
        ("declines", vec![Declines], 1, Some("")),
        ("declines after a wrong name", vec![says("name", "yes"), Declines], 2, Some("")),
        (
            "types its name, but it has changed",
            vec![update()],
            1,
            Some("`project` is no longer what it was when the question was asked"),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_project_is_deleted_in_every_way_once_its_name_is_typed() {
    for front in Front::ALL {
        for (name, reactions, asked, words) in deletions() {
            let app = app();
            let mut ada = client(&app, ADA).await;
            let site = Site::build(&mut ada).await;
            let reactions: Vec<_> = reactions.into_iter().map(|one| one.about(&site.project)).collect();
            let arguments = json!({ "projectId": site.project });
            let talk = fronts::talk(&app, front, "delete_project", &arguments, &reactions, &mut ada).await;
            assert_eq!(talk.asked, vec!["name"; asked], "{name} by {front:?}: {talk:?}");
            assert!(
                talk.shown.contains("5 blocks, 1 assets and 2 versions will be gone for good"),
                "{talk:?}"
            );
            let left = projects(&mut ada).await;
            match words {
                None => {
                    assert_eq!(
                        (&talk.reply()["deleted"], &left),
                        (&json!(true), &json!([])),
                        "{name} by {front:?}"
                    );
                }
                Some(words) => {
                    assert!(talk.failed().contains(words), "{name} by {front:?}: {talk:?}");
                    assert_eq!(each(&left, "id"), [&site.project], "{name} by {front:?}");
                }
            }
        }
    }
}

/// Its id is in every call, and a model would fill it in; its name is what a person has in mind.
#[tokio::test(start_paused = true)]
async fn an_id_is_no_name() {
    for front in Front::ALL {
        let app = app();
        let mut ada = client(&app, ADA).await;
        let site = Site::build(&mut ada).await;
        let reactions = [says("name", &site.project), Declines];
        let arguments = json!({ "projectId": site.project });
        let talk = fronts::talk(&app, front, "delete_project", &arguments, &reactions, &mut ada).await;
        assert_eq!((talk.asked.len(), talk.failed().is_empty()), (2, false), "{front:?}: {talk:?}");
        assert_eq!(each(&projects(&mut ada).await, "id"), [&site.project]);
    }
}

/// Where the answer is known, nobody is asked: a dry run, a wrong name, a project that is not there or has changed.
#[tokio::test(start_paused = true)]
async fn nobody_is_asked_in_vain() {
    for front in Front::ALL {
        let app = app();
        let mut ada = client(&app, ADA).await;
        let site = Site::build(&mut ada).await;
        let of = |mut arguments: Value| {
            arguments["projectId"] = json!(site.project);
            arguments
        };
        let talk =
            fronts::talk(&app, front, "delete_project", &of(json!({ "dryRun": true })), &[], &mut ada).await;
        let reply = (&talk.reply()["deleted"], &talk.reply()["dryRun"]);
        assert_eq!((talk.asked.len(), reply), (0, (&json!(false), &json!(true))), "{front:?}");
        for (arguments, words) in [
            (json!({ "projectId": "proj_none" }), "there is no project `proj_none`"),
            (of(json!({ "ifRevision": 1 })), "is at revision 7 and not 1"),
            (of(json!({ "confirm": "Borealis" })), "is not the name of the project"),
        ] {
            let talk = fronts::talk(&app, front, "delete_project", &arguments, &[], &mut ada).await;
            assert!(talk.asked.is_empty() && talk.failed().contains(words), "{front:?}: {talk:?}");
        }
        // What a model filled in is not what a person said: whoever can be asked is asked.
        let given = of(json!({ "confirm": "Aurora", "ifRevision": Site::REVISION }));
        let talk = fronts::talk(&app, front, "delete_project", &given, &[Declines], &mut ada).await;
        assert!(talk.asked == ["name"] && !talk.failed().is_empty(), "{front:?}: {talk:?}");
        assert_eq!(each(&projects(&mut ada).await, "id"), [&site.project]);
    }
}

/// A wrong name is asked for five times and no more.
#[tokio::test(start_paused = true)]
async fn patience_ends() {
    for front in [Front::Elicitation("2025-06-18"), Front::Elicitation("2025-11-25")] {
        let app = app();
        let mut ada = client(&app, ADA).await;
        let site = Site::build(&mut ada).await;
        let reactions: Vec<_> = (0..5).map(|n| says("name", &format!("wrong {n}"))).collect();
        let arguments = json!({ "projectId": site.project });
        let talk = fronts::talk(&app, front, "delete_project", &arguments, &reactions, &mut ada).await;
        assert!(
            talk.asked.len() == 5 && talk.failed().contains("after 5 attempts; nothing was done"),
            "{talk:?}"
        );
        assert_eq!(each(&projects(&mut ada).await, "id"), [&site.project]);
    }
}

/// A sealed state may be sent again, by whoever has it; what follows from it happens once, and for its owner.
#[tokio::test(start_paused = true)]
async fn a_state_creates_one_project() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let meta = stateless(json!({ "elicitation": {} }));
    let mut params = json!({ "name": "create_project", "arguments": { "name": "Site", "template": "bare" }, "_meta": meta });
    let asked = ask(&mut ada, "tools/call", params.clone()).await;
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({ "question": { "action": "accept", "content": {} } });
    let eve =
        ask(&mut TestClient::of(&app, holder(EVE, Scope::Write, None)), "tools/call", params.clone()).await;
    assert_eq!(eve["error"]["data"]["kind"], "invalid_state", "{eve}");
    let mut other = params.clone();
    other["arguments"]["name"] = json!("Other");
    let other = ask(&mut ada, "tools/call", other).await;
    assert_eq!(other["error"]["data"]["kind"], "invalid_state", "{other}");
    let made = ask(&mut ada, "tools/call", params.clone()).await;
    assert_eq!(made["result"]["structuredContent"]["name"], "Site", "{made}");
    let again = ask(&mut ada, "tools/call", params).await;
    assert_eq!(again["error"]["data"]["kind"], "invalid_state", "{again}");
    assert_eq!(each(&projects(&mut ada).await, "name"), ["Site"]);
}

/// Clients that cannot be asked are told what is missing, in every revision and in the envelope.
#[tokio::test(start_paused = true)]
async fn who_cannot_be_asked_is_told_what_to_ask() {
    let app = app();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", REVISION] {
        let mut plain =
            TestClient::of(&app, holder(ADA, Scope::Write, None)).greet(revision, json!({})).await;
        let answer = plain.call("create_project", json!({})).await;
        let words = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            words.starts_with("create_project needs more: `name` (What is the project called?)"),
            "{words}"
        );
        let made = ask(
            &mut plain,
            "tools/call",
            json!({ "name": "create_project", "arguments": { "name": revision } }),
        )
        .await;
        assert!(made["result"].get("isError").is_none(), "{made}");
    }
    let params = json!({ "name": "create_project", "arguments": {}, "_meta": stateless(json!({})) });
    let modern = ask(&mut TestClient::of(&app, holder(ADA, Scope::Write, None)), "tools/call", params).await;
    assert!(text(&modern["result"]["content"][0]["text"]).contains("`name`"), "{modern}");
    let envelope = json!({ "type": "request", "id": "1", "tool": "create_project", "params": {} });
    let answer = TestClient::of(&app, holder(ADA, Scope::Write, None)).request(envelope).await;
    assert_eq!(answer["error"]["details"]["missing_param"], "name", "{answer}");
    let mut ada = client(&app, ADA).await;
    assert_eq!(each(&projects(&mut ada).await, "name").len(), 4);
}

/// A session of MCP Flow is its owner's: nobody else answers for them.
#[tokio::test(start_paused = true)]
async fn a_session_belongs_to_whoever_began_it() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = Site::build(&mut ada).await;
    let start = json!({ "toolName": "delete_project", "initialParams": { "projectId": site.project } });
    let started = ask(&mut ada, "interaction.start", start).await;
    let answer = json!({ "sessionId": started["result"]["sessionId"], "response": { "value": "Aurora" } });
    let mut others = [
        TestClient::of(&app, holder(EVE, Scope::Write, None)),
        TestClient::of(&app, holder(ADA, Scope::Write, Some(&site.project))),
    ];
    for other in &mut others {
        let refused = other.request(request("interaction.respond", answer.clone())).await;
        assert_eq!(refused["error"]["code"], -32001, "{refused}");
    }
    assert_eq!(each(&projects(&mut ada).await, "id"), [&site.project]);
}
