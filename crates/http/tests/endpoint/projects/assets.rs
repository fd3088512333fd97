//! Content of up to 10 MB, which no single message can carry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use server::Scope;
use server::projects::Digest;
use server::projects::limits::MAX_ASSET_BYTES;

use super::{ACCOUNT, PROJECT_ID, ProjectCaller, insert_project, load_project, request};
use crate::harness::HttpTestServer;
use crate::mcp_session::McpSessionClient;

fn start_server() -> HttpTestServer {
    let endpoint = HttpTestServer::start_with_keys(None);
    insert_project(&endpoint, ACCOUNT, PROJECT_ID, "Meine Website");
    endpoint
}

/// A film of so many bytes, no two stretches of which are alike.
fn video_bytes(bytes: u64) -> Vec<u8> {
    let mut film = b"\0\0\0\x10ftypisom\0\0\0\0".to_vec();
    film.extend(
        (0_u32..)
            .flat_map(|n| n.wrapping_mul(0x9e37_79b1).to_le_bytes())
            .take(usize::try_from(bytes).unwrap() - 16),
    );
    film
}

fn append_arguments(asset: &Value, content: &[u8]) -> Value {
    json!({ "projectId": PROJECT_ID, "action": "put", "assetId": asset, "append": true, "content": STANDARD.encode(content) })
}

fn put_arguments(name: &str, content: &[u8]) -> Value {
    json!({ "projectId": PROJECT_ID, "action": "put", "name": name, "content": STANDARD.encode(content) })
}

#[test]
fn asset_is_uploaded_in_parts_up_to_the_limit() {
    let endpoint = start_server();
    let caller = ProjectCaller::with_write_key(&endpoint);
    let film = video_bytes(MAX_ASSET_BYTES);
    let parts: Vec<&[u8]> = film.chunks(3_000_000).collect();
    let mut asset = caller.call_tool_ok("edit_asset", put_arguments("film.mp4", parts[0]))["asset"].clone();
    for content in &parts[1..] {
        asset = caller.call_tool_ok("edit_asset", append_arguments(&asset["id"], content))["asset"].clone();
    }
    assert_eq!(asset["digest"], Digest::from_content(&film).to_string());
    assert_eq!((&asset["bytes"], &asset["contentType"]), (&json!(film.len()), &json!("video/mp4")));
    assert_eq!(
        load_project(&endpoint, ACCOUNT, PROJECT_ID).revision,
        1 + parts.len() as u64,
        "each part is a write"
    );

    let error = caller.call_tool("edit_asset", append_arguments(&asset["id"], b"x")).unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32004), &json!("too_large")));
    assert_eq!(error["data"]["limit"], MAX_ASSET_BYTES);
    let kept = load_project(&endpoint, ACCOUNT, PROJECT_ID);
    assert_eq!((kept.revision, kept.usage.asset_bytes), (1 + parts.len() as u64, MAX_ASSET_BYTES));

    let uri = json!({ "uri": asset["uri"] });
    let answer = caller.request_api("resources/read", &uri);
    let contents = &answer["result"]["contents"][0];
    assert_eq!((&contents["uri"], &contents["mimeType"]), (&asset["uri"], &json!("video/mp4")));
    assert!(contents.get("text").is_none());
    assert!(STANDARD.decode(contents["blob"].as_str().unwrap()).unwrap() == film, "what came in comes out");
}

/// The same bytes, in the manner of each endpoint.
#[test]
fn asset_bytes_are_read_as_blob_on_every_endpoint() {
    let endpoint = start_server();
    let key = endpoint.create_key(Scope::Write);
    let caller = ProjectCaller::new(&endpoint, &key);
    let bytes = b"\x89PNG\r\n\x1a\n\0\xff\xfe";
    let uri =
        json!({ "uri": caller.call_tool_ok("edit_asset", put_arguments("a.png", bytes))["asset"]["uri"] });
    let session = McpSessionClient::with_key(&endpoint, "2025-11-25", Some(&key));
    for answer in [
        caller.request_api("resources/read", &uri),
        caller.post_mcp("resources/read", uri.clone()).json(),
        session.post(&request(1, "resources/read", &uri).to_string()).json(),
    ] {
        let contents =
            json!([{ "uri": uri["uri"], "mimeType": "image/png", "blob": STANDARD.encode(bytes) }]);
        assert_eq!(answer["result"]["contents"], contents, "{answer}");
    }
}

/// Too long a message is refused before anybody looks at it, and writes nothing.
#[test]
fn oversized_message_is_rejected_and_writes_nothing() {
    let endpoint = start_server();
    let caller = ProjectCaller::with_write_key(&endpoint);
    let params =
        json!({ "name": "edit_asset", "arguments": put_arguments("film.mp4", &video_bytes(3_200_000)) });
    let answer = caller.post_api(&[], &request(1, "tools/call", &params).to_string());
    assert_eq!((answer.status, answer.error_kind().as_str()), (413, "message_too_large"));
    let answer = caller.post_mcp("tools/call", params);
    assert_eq!((answer.status, answer.error_kind().as_str()), (413, "message_too_large"));
    assert_eq!(load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, 1);
}

#[test]
fn invalid_asset_content_is_rejected() {
    let endpoint = start_server();
    let caller = ProjectCaller::with_write_key(&endpoint);
    let script = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    let with = |mut arguments: Value, name: &str, value: Value| {
        arguments[name] = value;
        arguments
    };
    let text = put_arguments("a.txt", b"text");
    for (arguments, code, where_) in [
        (with(text.clone(), "content", json!("no base64")), -32004, "/content"),
        (with(text.clone(), "content", json!(5)), -32602, "content"),
        (with(text.clone(), "contentType", json!("text/html")), -32004, "/contentType"),
        (with(text.clone(), "contentType", json!("image/png")), -32004, "/content"),
        (with(text.clone(), "name", json!("../../etc/passwd")), -32004, "/name"),
        (with(text.clone(), "name", json!("a\r\nb")), -32004, "/name"),
        (put_arguments("a.bin", b"\0\x01\x02"), -32004, "/content"),
        (put_arguments("a.svg", script), -32004, "/content"),
        (put_arguments("a.exe", b"MZ\x90\0"), -32004, "/content"),
    ] {
        let error = caller.call_tool("edit_asset", arguments.clone()).unwrap_err();
        let data = &error["data"];
        let told = if code == -32602 { &data["field"] } else { &data["errors"][0]["path"] };
        assert_eq!((&error["code"], told), (&json!(code), &json!(where_)), "{arguments}: {error}");
    }
    assert_eq!(load_project(&endpoint, ACCOUNT, PROJECT_ID).revision, 1, "nothing was written");
}

/// What blocks show does not go without a word.
#[test]
fn asset_in_use_is_not_deleted_without_force() {
    let endpoint = start_server();
    let caller = ProjectCaller::with_write_key(&endpoint);
    let asset =
        caller.call_tool_ok("edit_asset", put_arguments("a.png", b"\x89PNG\r\n\x1a\n"))["asset"]["id"]
            .clone();
    let image = json!({ "type": "image", "props": { "src": format!("asset:{}", asset.as_str().unwrap()), "alt": "x" } });
    let page = json!({ "type": "page", "props": { "title": "x", "path": "/" }, "children": [image] });
    caller.call_tool_ok(
        "edit_blocks",
        json!({ "projectId": PROJECT_ID, "action": "create", "blocks": [page] }),
    );
    let mut delete = json!({ "projectId": PROJECT_ID, "action": "delete", "assetId": asset });
    let error = caller.call_tool("edit_asset", delete.clone()).unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32004), &json!("in_use")), "{error}");
    assert_eq!(error["data"]["usedBy"].as_array().unwrap().len(), 1, "{error}");
    delete["force"] = json!(true);
    assert_eq!(caller.call_tool_ok("edit_asset", delete)["deleted"], true);
}
