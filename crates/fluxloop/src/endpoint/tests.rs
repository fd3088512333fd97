use super::render::BridgeLanguage;
use codebase::NameRedactor;

use super::*;
use crate::blocker::Blocker;

fn route(method: &str, path: &str, request: &[&str], response: &[&str]) -> Route {
    let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Route {
        method: method.to_owned(),
        path: path.to_owned(),
        file: "a.ts".to_owned(),
        line: 1,
        request: texts(request),
        response: texts(response),
        ..Route::default()
    }
}

fn endpoint(route: &Route, field: Option<&str>, choice: RouteChoice) -> Result<AgentEndpoint, Vec<Blocker>> {
    AgentEndpoint::from_route(route, "", field, choice, &NameRedactor::default())
}

#[test]
fn text_field_is_detected_or_requested() {
    let field = |request: &[&str]| {
        endpoint(&route("POST", "/x", request, &[]), None, RouteChoice::Found).map(|e| e.name().to_owned())
    };
    assert_eq!(field(&["session", "message"]).as_deref(), Ok("message"));
    assert_eq!(field(&["messages", "model"]).as_deref(), Ok("messages"));
    assert_eq!(field(&["topicName"]).as_deref(), Ok("topicName"));
    assert_eq!(field(&["topicName", "userId", "model"]).as_deref(), Ok("topicName"));
    assert!(field(&[]).is_err() && field(&["a", "b"]).is_err() && field(&["userId"]).is_err());
    let named = endpoint(&route("POST", "/x", &[], &[]), Some("ask"), RouteChoice::Found).unwrap();
    assert_eq!(named.fields_expression(BridgeLanguage::Python), "{\"ask\": message}");
    let guessed = endpoint(&route("POST", "/x", &[], &[]), None, RouteChoice::Named).unwrap();
    assert_eq!(guessed.name(), "message");
    assert!(guessed.warnings()[0].contains("`request_field`"), "{:?}", guessed.warnings());
}

#[test]
fn paths_get_values_for_their_parameters() {
    let check = |path: &str, expected: Option<&str>| {
        let found = endpoint(&route("POST", path, &["message"], &[]), None, RouteChoice::Found);
        assert_eq!(
            found.ok().map(|e| e.path_expression(BridgeLanguage::Python)).as_deref(),
            expected,
            "{path}"
        );
    };
    check("/chat/", Some("\"/chat/\""));
    let id = "os.environ.get(\"AGENT_SESSION_ID\", str(uuid.uuid4()))";
    check("/chat/{session_id}", Some(&format!("\"/chat/\" + {id}")));
    check("/chat/<string:session_id>/send", Some(&format!("\"/chat/\" + {id} + \"/send\"")));
    check("/bots/{botId}", Some("\"/bots/\" + _required(\"AGENT_BOT_ID\")"));
    check("/bots/<int:id>/x", Some("\"/bots/\" + _required(\"AGENT_ID\") + \"/x\""));
    check("/bots/{name}", Some("\"/bots/\" + _required(\"AGENT_NAME\")"));
    check(&format!("/x/{{{}}}", "ignore_this_and_".repeat(8)), None);
    for path in ["/x/*", "/x y", "/x\"y", "/x/[...slug]", "^x$", "(computed)"] {
        check(path, None);
    }
    let delete = endpoint(&route("DELETE", "/x", &["message"], &[]), None, RouteChoice::Named);
    assert!(delete.is_err());
}

#[test]
fn other_fields_are_filled_omitted_or_asked_for() {
    let check_in = |file: &str, source: &str, request: &[&str], optional: &[&str], expected: &str| {
        let optional = optional.iter().map(|name| (*name).to_owned()).collect();
        let route = Route { optional, file: file.to_owned(), ..route("POST", "/x", request, &[]) };
        let found =
            AgentEndpoint::from_route(&route, source, None, RouteChoice::Found, &NameRedactor::default());
        assert_eq!(found.unwrap().fields_expression(BridgeLanguage::Python), expected, "{request:?}");
    };
    let id =
        "{\"message\": message, \"session_id\": os.environ.get(\"AGENT_SESSION_ID\", str(uuid.uuid4()))}";
    check_in("a.py", "", &["message", "session_id"], &[], id);
    let check = |source: &str, request: &[&str], optional: &[&str], expected: &str| {
        check_in("a.ts", source, request, optional, expected);
    };
    // JavaScript goes on without a field, unless it refuses the request or reads members of the value.
    check("", &["message", "session_id"], &[], "{\"message\": message}");
    check("if (!session_id) return res.status(400)", &["message", "session_id"], &[], id);
    check("", &["message", "session_id"], &["session_id"], "{\"message\": message}");
    check("", &["message", "chatHistory", "tone"], &[], "{\"chatHistory\": [], \"message\": message}");
    check(
        "if (!tone) return res.status(400)",
        &["message", "tone"],
        &[],
        "{\"message\": message, \"tone\": _required(\"AGENT_TONE\")}",
    );
}

#[test]
fn templates_have_no_unfilled_placeholders() {
    let mut one =
        endpoint(&route("POST", "/@x@/{kind}", &["messages"], &["reply"]), None, RouteChoice::Found).unwrap();
    one.require_credentials("require_token", "request.headers.get('X-API-Key')");
    let get = endpoint(&route("GET", "/x", &["q"], &[]), None, RouteChoice::Found).unwrap();
    for text in [
        one.render_python_bridge("http://u"),
        one.render_node_bridge("http://u"),
        get.render_python_bridge("u"),
        get.render_node_bridge("u"),
    ] {
        let marks = ["@URL@", "@REQUEST@", "@PICK@", "@ANSWER@", "@HELPERS@", "@NAME@", "@VARIABLE@"];
        assert!(!marks.iter().any(|mark| text.contains(mark)), "{text}");
    }
    assert!(one.render_node_bridge("http://u").contains(r#""role": "user""#));
    assert!(one.render_node_bridge("http://u").contains("AGENT_X_API_KEY"));
}
