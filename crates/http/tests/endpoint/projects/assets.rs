//! Content of up to 10 MB, which no single message can carry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use server::Scope;
use server::projects::Digest;
use server::projects::limits::MAX_ASSET_BYTES;

use super::{ACCOUNT, Caller, ID, place, request, stored};
use crate::harness::Endpoint;
use crate::mcp_session::Client;

fn site() -> Endpoint {
    let endpoint = Endpoint::keyed(None);
    place(&endpoint, ACCOUNT, ID, "Meine Website");
    endpoint
}

/// A film of so many bytes, no two stretches of which are alike.
fn film(bytes: u64) -> Vec<u8> {
    let mut film = b"\0\0\0\x10ftypisom\0\0\0\0".to_vec();
    film.extend(
        (0_u32..)
            .flat_map(|n| n.wrapping_mul(0x9e37_79b1).to_le_bytes())
            .take(usize::try_from(bytes).unwrap() - 16),
    );
    film
}

fn part(asset: &Value, content: &[u8]) -> Value {
    json!({ "projectId": ID, "action": "put", "assetId": asset, "append": true, "content": STANDARD.encode(content) })
}

fn whole(name: &str, content: &[u8]) -> Value {
    json!({ "projectId": ID, "action": "put", "name": name, "content": STANDARD.encode(content) })
}

#[test]
fn ten_megabytes_come_in_parts_and_not_one_byte_more() {
    let endpoint = site();
    let caller = Caller::writer(&endpoint);
    let film = film(MAX_ASSET_BYTES);
    let parts: Vec<&[u8]> = film.chunks(3_000_000).collect();
    let mut asset = caller.done("edit_asset", whole("film.mp4", parts[0]))["asset"].clone();
    for content in &parts[1..] {
        asset = caller.done("edit_asset", part(&asset["id"], content))["asset"].clone();
    }
    assert_eq!(asset["digest"], Digest::of(&film).to_string());
    assert_eq!((&asset["bytes"], &asset["contentType"]), (&json!(film.len()), &json!("video/mp4")));
    assert_eq!(stored(&endpoint, ACCOUNT, ID).revision, 1 + parts.len() as u64, "each part is a write");

    let error = caller.call("edit_asset", part(&asset["id"], b"x")).unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32004), &json!("too_large")));
    assert_eq!(error["data"]["limit"], MAX_ASSET_BYTES);
    let kept = stored(&endpoint, ACCOUNT, ID);
    assert_eq!((kept.revision, kept.usage.asset_bytes), (1 + parts.len() as u64, MAX_ASSET_BYTES));

    let uri = json!({ "uri": asset["uri"] });
    let answer = caller.ask("resources/read", &uri);
    let contents = &answer["result"]["contents"][0];
    assert_eq!((&contents["uri"], &contents["mimeType"]), (&asset["uri"], &json!("video/mp4")));
    assert!(contents.get("text").is_none());
    assert!(STANDARD.decode(contents["blob"].as_str().unwrap()).unwrap() == film, "what came in comes out");
}

/// The same bytes, in the manner of each endpoint.
#[test]
fn bytes_are_read_as_a_blob_everywhere() {
    let endpoint = site();
    let key = endpoint.key(Scope::Write);
    let caller = Caller::new(&endpoint, &key);
    let bytes = b"\x89PNG\r\n\x1a\n\0\xff\xfe";
    let uri = json!({ "uri": caller.done("edit_asset", whole("a.png", bytes))["asset"]["uri"] });
    let session = Client::with_key(&endpoint, "2025-11-25", Some(&key));
    for answer in [
        caller.ask("resources/read", &uri),
        caller.modern("resources/read", uri.clone()).json(),
        session.post(&request(1, "resources/read", &uri).to_string()).json(),
    ] {
        let contents =
            json!([{ "uri": uri["uri"], "mimeType": "image/png", "blob": STANDARD.encode(bytes) }]);
        assert_eq!(answer["result"]["contents"], contents, "{answer}");
    }
}

/// Too long a message is refused before anybody looks at it, and writes nothing.
#[test]
fn a_message_has_its_own_limit() {
    let endpoint = site();
    let caller = Caller::writer(&endpoint);
    let params = json!({ "name": "edit_asset", "arguments": whole("film.mp4", &film(3_200_000)) });
    let answer = caller.post(&[], &request(1, "tools/call", &params).to_string());
    assert_eq!((answer.status, answer.kind().as_str()), (413, "message_too_large"));
    let answer = caller.modern("tools/call", params);
    assert_eq!((answer.status, answer.kind().as_str()), (413, "message_too_large"));
    assert_eq!(stored(&endpoint, ACCOUNT, ID).revision, 1);
}

#[test]
fn content_that_is_not_what_it_should_be() {
    let endpoint = site();
    let caller = Caller::writer(&endpoint);
    let script = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    let with = |mut arguments: Value, name: &str, value: Value| {
        arguments[name] = value;
        arguments
    };
    let text = whole("a.txt", b"text");
    for (arguments, code, where_) in [
        (with(text.clone(), "content", json!("no base64")), -32004, "/content"),
        (with(text.clone(), "content", json!(5)), -32602, "content"),
        (with(text.clone(), "contentType", json!("text/html")), -32004, "/contentType"),
        (with(text.clone(), "contentType", json!("image/png")), -32004, "/content"),
        (with(text.clone(), "name", json!("../../etc/passwd")), -32004, "/name"),
        (with(text.clone(), "name", json!("a\r\nb")), -32004, "/name"),
        (whole("a.bin", b"\0\x01\x02"), -32004, "/content"),
        (whole("a.svg", script), -32004, "/content"),
        (whole("a.exe", b"MZ\x90\0"), -32004, "/content"),
    ] {
        let error = caller.call("edit_asset", arguments.clone()).unwrap_err();
        let data = &error["data"];
        let told = if code == -32602 { &data["field"] } else { &data["errors"][0]["path"] };
        assert_eq!((&error["code"], told), (&json!(code), &json!(where_)), "{arguments}: {error}");
    }
    assert_eq!(stored(&endpoint, ACCOUNT, ID).revision, 1, "nothing was written");
}

/// What blocks show does not go without a word.
#[test]
fn an_asset_in_use_stays() {
    let endpoint = site();
    let caller = Caller::writer(&endpoint);
    let asset = caller.done("edit_asset", whole("a.png", b"\x89PNG\r\n\x1a\n"))["asset"]["id"].clone();
    let image = json!({ "type": "image", "props": { "src": format!("asset:{}", asset.as_str().unwrap()), "alt": "x" } });
    let page = json!({ "type": "page", "props": { "title": "x", "path": "/" }, "children": [image] });
    caller.done("edit_blocks", json!({ "projectId": ID, "action": "create", "blocks": [page] }));
    let mut delete = json!({ "projectId": ID, "action": "delete", "assetId": asset });
    let error = caller.call("edit_asset", delete.clone()).unwrap_err();
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32004), &json!("in_use")), "{error}");
    assert_eq!(error["data"]["usedBy"].as_array().unwrap().len(), 1, "{error}");
    delete["force"] = json!(true);
    assert_eq!(caller.done("edit_asset", delete)["deleted"], true);
}
