//! Creating and deleting as conversations: the same questions and the same end in every way that a client can
//! be asked.

mod interaction_modes;

use serde_json::{Value, json};

use super::{
    ADA, EVE, REVISION, SampleProject, app, call_ok, client, member_strings, request, send_request,
    string_value,
};
use crate::harness::{TestClient, key_principal, stateless_meta};
use interaction_modes::{InteractionMode, ProjectUserAction};
use server::Scope;

use ProjectUserAction::{Decline, FillIn, FillInAfterOtherCall};

/// A conversation: what is called, what the user does, what is asked and how it ends.
struct CreateProjectCase {
    name: &'static str,
    arguments: Value,
    reactions: Vec<ProjectUserAction>,
    asked: &'static [&'static str],
    end: ExpectedEnd,
}

enum ExpectedEnd {
    /// With a project like this.
    Created { name: &'static str, description: &'static str, blocks: u64 },
    /// With these words, and nothing was done.
    Failed(&'static str),
}

fn fill_in(field: &str, value: &str) -> ProjectUserAction {
    FillIn(json!({ field: value }))
}

fn creation_cases() -> Vec<CreateProjectCase> {
    use ExpectedEnd::{Created, Failed};
    let case =
        |name, arguments, reactions, asked, end| CreateProjectCase { name, arguments, reactions, asked, end };
    vec![
        case(
            "everything is asked",
            json!({}),
            vec![fill_in("name", "Site"), fill_in("description", "Ours."), fill_in("template", "page")],
            &["name", "description", "template"],
            Created { name: "Site", description: "Ours.", blocks: 2 },
        ),
        case(
            "what may stay open stays open",
            json!({}),
            vec![fill_in("name", "Site"), FillIn(json!({})), FillIn(json!({}))],
            &["name", "description", "template"],
            Created { name: "Site", description: "", blocks: 0 },
        ),
        case(
            "only what is missing is asked",
            json!({ "name": "Site", "template": "landing" }),
            vec![fill_in("description", "Ours.")],
            &["description"],
            Created { name: "Site", description: "Ours.", blocks: 12 },
        ),
        case(
            "nothing is asked if everything is given",
            json!({ "name": "Site", "description": "Ours.", "template": "bare" }),
            vec![],
            &[],
            Created { name: "Site", description: "Ours.", blocks: 0 },
        ),
        case(
            "a wrong answer is asked for again",
            json!({ "description": "Ours." }),
            vec![
                fill_in("name", &"x".repeat(201)),
                fill_in("name", "Site"),
                fill_in("template", "castle"),
                fill_in("template", "empty"),
            ],
            &["name", "name", "template", "template"],
            Created { name: "Site", description: "Ours.", blocks: 0 },
        ),
        case("whoever declines the first question", json!({}), vec![Decline], &["name"], Failed("")),
        case(
            "whoever declines the last question",
            json!({ "name": "Site", "description": "Ours." }),
            vec![Decline],
            &["template"],
            Failed(""),
        ),
        case(
            "an answer that a rule refuses is asked for again",
            json!({ "description": "Ours.", "template": "bare" }),
            vec![fill_in("name", "a\u{0}b"), fill_in("name", "Site")],
            &["name", "name"],
            Created { name: "Site", description: "Ours.", blocks: 0 },
        ),
    ]
}

async fn list_projects(client: &mut TestClient) -> Value {
    call_ok(client, "list_projects", json!({})).await["projects"].take()
}

#[tokio::test(start_paused = true)]
async fn project_is_created_in_every_interaction_mode() {
    for front in InteractionMode::ALL {
        for case in creation_cases() {
            let app = app();
            let mut ada = client(&app, ADA).await;
            let name = format!("{} by {front:?}", case.name);
            let talk = interaction_modes::run_conversation(
                &app,
                front,
                "create_project",
                &case.arguments,
                &case.reactions,
                &mut ada,
            )
            .await;
            assert_eq!(talk.asked, case.asked, "{name}: {talk:?}");
            let all = list_projects(&mut ada).await;
            match case.end {
                ExpectedEnd::Failed(words) => {
                    assert!(talk.error().contains(words), "{name}: {talk:?}");
                    assert_eq!(all, json!([]), "{name}");
                }
                ExpectedEnd::Created { name: called, description, blocks } => {
                    assert_eq!(all, json!([talk.reply()]), "{name}");
                    let made = (&all[0]["name"], &all[0]["description"], &all[0]["usage"]["blocks"]);
                    assert_eq!(made, (&json!(called), &json!(description), &json!(blocks)), "{name}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn copy_does_not_ask_for_a_template() {
    for front in InteractionMode::ALL {
        let app = app();
        let mut ada = client(&app, ADA).await;
        let site = SampleProject::build(&mut ada).await;
        let reactions = [fill_in("name", "Copy"), FillIn(json!({}))];
        let talk = interaction_modes::run_conversation(
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
        // Nobody is asked about a copy of what is not there, or has changed, or for the rest of what cannot
        // be.
        for (arguments, words) in [
            (json!({ "slug": "No!" }), "/slug: must be 1 to 63"),
            (json!({ "name": "a\nb", "description": "\0" }), "/description: contains control characters"),
            (json!({ "copyOf": "proj_none" }), "project `proj_none` not found"),
            (json!({ "copyOf": site.project, "ifRevision": 1 }), "is at revision 7, not 1"),
        ] {
            let talk =
                interaction_modes::run_conversation(&app, front, "create_project", &arguments, &[], &mut ada)
                    .await;
            assert!(talk.asked.is_empty() && talk.error().contains(words), "{front:?}: {talk:?}");
        }
        assert_eq!(member_strings(&list_projects(&mut ada).await, "name").len(), 2);
    }
}

/// What the user does when asked for the name of what is to go, and the words that it ends with; none if it
/// is gone.
fn deletion_cases() -> Vec<(&'static str, Vec<ProjectUserAction>, usize, Option<&'static str>)> {
    let update = || {
        FillInAfterOtherCall(
            "update_project",
            json!({ "description": "Changed." }),
            json!({ "name": "Aurora" }),
        )
    };
    vec![
        ("types its name", vec![fill_in("name", "Aurora")], 1, None),
        (
            "types a wrong name first",
            vec![fill_in("name", "aurora"), fill_in("name", "Aurora "), fill_in("name", "Aurora")],
            3,
            None,
        ),
        ("declines", vec![Decline], 1, Some("")),
        ("declines after a wrong name", vec![fill_in("name", "yes"), Decline], 2, Some("")),
        (
            "types its name, but it has changed",
            vec![update()],
            1,
            Some("`project` has changed since the question was asked"),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn project_is_deleted_only_after_its_name_is_typed() {
    for front in InteractionMode::ALL {
        for (name, reactions, asked, words) in deletion_cases() {
            let app = app();
            let mut ada = client(&app, ADA).await;
            let site = SampleProject::build(&mut ada).await;
            let reactions: Vec<_> =
                reactions.into_iter().map(|one| one.with_project_id(&site.project)).collect();
            let arguments = json!({ "projectId": site.project });
            let talk = interaction_modes::run_conversation(
                &app,
                front,
                "delete_project",
                &arguments,
                &reactions,
                &mut ada,
            )
            .await;
            assert_eq!(talk.asked, vec!["name"; asked], "{name} by {front:?}: {talk:?}");
            assert!(talk.first_message.contains("(blocks: 5, assets: 1, versions: 2)"), "{talk:?}");
            let left = list_projects(&mut ada).await;
            match words {
                None => {
                    assert_eq!(
                        (&talk.reply()["deleted"], &left),
                        (&json!(true), &json!([])),
                        "{name} by {front:?}"
                    );
                }
                Some(words) => {
                    assert!(talk.error().contains(words), "{name} by {front:?}: {talk:?}");
                    assert_eq!(member_strings(&left, "id"), [&site.project], "{name} by {front:?}");
                }
            }
        }
    }
}

/// Its id is in every call, and a model would fill it in; its name is what a person has in mind.
#[tokio::test(start_paused = true)]
async fn project_id_is_not_accepted_as_confirmation() {
    for front in InteractionMode::ALL {
        let app = app();
        let mut ada = client(&app, ADA).await;
        let site = SampleProject::build(&mut ada).await;
        let reactions = [fill_in("name", &site.project), Decline];
        let arguments = json!({ "projectId": site.project });
        let talk = interaction_modes::run_conversation(
            &app,
            front,
            "delete_project",
            &arguments,
            &reactions,
            &mut ada,
        )
        .await;
        assert_eq!((talk.asked.len(), talk.error().is_empty()), (2, false), "{front:?}: {talk:?}");
        assert_eq!(member_strings(&list_projects(&mut ada).await, "id"), [&site.project]);
    }
}

/// Where the answer is known, nobody is asked: a dry run, a wrong name, a project that is not there or has
/// changed.
#[tokio::test(start_paused = true)]
async fn no_question_is_asked_if_the_outcome_is_known() {
    for front in InteractionMode::ALL {
        let app = app();
        let mut ada = client(&app, ADA).await;
        let site = SampleProject::build(&mut ada).await;
        let of = |mut arguments: Value| {
            arguments["projectId"] = json!(site.project);
            arguments
        };
        let talk = interaction_modes::run_conversation(
            &app,
            front,
            "delete_project",
            &of(json!({ "dryRun": true })),
            &[],
            &mut ada,
        )
        .await;
        let reply = (&talk.reply()["deleted"], &talk.reply()["dryRun"]);
        assert_eq!((talk.asked.len(), reply), (0, (&json!(false), &json!(true))), "{front:?}");
        for (arguments, words) in [
            (json!({ "projectId": "proj_none" }), "project `proj_none` not found"),
            (of(json!({ "ifRevision": 1 })), "is at revision 7, not 1"),
            (of(json!({ "confirm": "Borealis" })), "is not the project's name"),
        ] {
            let talk =
                interaction_modes::run_conversation(&app, front, "delete_project", &arguments, &[], &mut ada)
                    .await;
            assert!(talk.asked.is_empty() && talk.error().contains(words), "{front:?}: {talk:?}");
        }
        // What a model filled in is not what a person said: whoever can be asked is asked.
        let given = of(json!({ "confirm": "Aurora", "ifRevision": SampleProject::REVISION }));
        let talk =
            interaction_modes::run_conversation(&app, front, "delete_project", &given, &[Decline], &mut ada)
                .await;
        assert!(talk.asked == ["name"] && !talk.error().is_empty(), "{front:?}: {talk:?}");
        assert_eq!(member_strings(&list_projects(&mut ada).await, "id"), [&site.project]);
    }
}

/// A wrong name is asked for five times and no more.
#[tokio::test(start_paused = true)]
async fn deletion_fails_after_five_wrong_names() {
    for front in [InteractionMode::Elicitation("2025-06-18"), InteractionMode::Elicitation("2025-11-25")] {
        let app = app();
        let mut ada = client(&app, ADA).await;
        let site = SampleProject::build(&mut ada).await;
        let reactions: Vec<_> = (0..5).map(|n| fill_in("name", &format!("wrong {n}"))).collect();
        let arguments = json!({ "projectId": site.project });
        let talk = interaction_modes::run_conversation(
            &app,
            front,
            "delete_project",
            &arguments,
            &reactions,
            &mut ada,
        )
        .await;
        assert!(
            talk.asked.len() == 5 && talk.error().contains("after 5 attempts; nothing was done"),
            "{talk:?}"
        );
        assert_eq!(member_strings(&list_projects(&mut ada).await, "id"), [&site.project]);
    }
}

/// A sealed state may be sent again, by whoever has it; what follows from it happens once, and for its owner.
#[tokio::test(start_paused = true)]
async fn request_state_creates_one_project_for_its_owner() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let meta = stateless_meta(json!({ "elicitation": {} }));
    let mut params = json!({ "name": "create_project", "arguments": { "name": "Site", "template": "bare" }, "_meta": meta });
    let asked = send_request(&mut ada, "tools/call", params.clone()).await;
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] = json!({ "question": { "action": "accept", "content": {} } });
    let eve = send_request(
        &mut TestClient::for_principal(&app, key_principal(EVE, Scope::Write, None)),
        "tools/call",
        params.clone(),
    )
    .await;
    assert_eq!(eve["error"]["data"]["kind"], "invalid_state", "{eve}");
    let mut other = params.clone();
    other["arguments"]["name"] = json!("Other");
    let other = send_request(&mut ada, "tools/call", other).await;
    assert_eq!(other["error"]["data"]["kind"], "invalid_state", "{other}");
    let made = send_request(&mut ada, "tools/call", params.clone()).await;
    assert_eq!(made["result"]["structuredContent"]["name"], "Site", "{made}");
    let again = send_request(&mut ada, "tools/call", params).await;
    assert_eq!(again["error"]["data"]["kind"], "invalid_state", "{again}");
    assert_eq!(member_strings(&list_projects(&mut ada).await, "name"), ["Site"]);
}

/// Clients that cannot be asked are told what is missing, in every revision and in the envelope.
#[tokio::test(start_paused = true)]
async fn clients_without_elicitation_are_told_missing_arguments() {
    let app = app();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", REVISION] {
        let mut plain = TestClient::for_principal(&app, key_principal(ADA, Scope::Write, None))
            .initialize(revision, json!({}))
            .await;
        let answer = plain.call("create_project", json!({})).await;
        let words = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            words.starts_with("create_project needs more: `name` (What is the project called?)"),
            "{words}"
        );
        let made = send_request(
            &mut plain,
            "tools/call",
            json!({ "name": "create_project", "arguments": { "name": revision } }),
        )
        .await;
        assert!(made["result"].get("isError").is_none(), "{made}");
    }
    let params = json!({ "name": "create_project", "arguments": {}, "_meta": stateless_meta(json!({})) });
    let modern = send_request(
        &mut TestClient::for_principal(&app, key_principal(ADA, Scope::Write, None)),
        "tools/call",
        params,
    )
    .await;
    assert!(string_value(&modern["result"]["content"][0]["text"]).contains("`name`"), "{modern}");
    let envelope = json!({ "type": "request", "id": "1", "tool": "create_project", "params": {} });
    let answer =
        TestClient::for_principal(&app, key_principal(ADA, Scope::Write, None)).request(envelope).await;
    assert_eq!(answer["error"]["details"]["missing_param"], "name", "{answer}");
    let mut ada = client(&app, ADA).await;
    assert_eq!(member_strings(&list_projects(&mut ada).await, "name").len(), 4);
}

/// A session of MCP Flow is its owner's: nobody else answers for them.
#[tokio::test(start_paused = true)]
async fn session_rejects_other_callers() {
    let app = app();
    let mut ada = client(&app, ADA).await;
    let site = SampleProject::build(&mut ada).await;
    let start = json!({ "toolName": "delete_project", "initialParams": { "projectId": site.project } });
    let started = send_request(&mut ada, "interaction.start", start).await;
    let answer = json!({ "sessionId": started["result"]["sessionId"], "response": { "value": "Aurora" } });
    let mut others = [
        TestClient::for_principal(&app, key_principal(EVE, Scope::Write, None)),
        TestClient::for_principal(&app, key_principal(ADA, Scope::Write, Some(&site.project))),
    ];
    for other in &mut others {
        let refused = other.request(request("interaction.respond", answer.clone())).await;
        assert_eq!(refused["error"]["code"], -32001, "{refused}");
    }
    assert_eq!(member_strings(&list_projects(&mut ada).await, "id"), [&site.project]);
}
