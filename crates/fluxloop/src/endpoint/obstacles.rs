//! What keeps one text from being sent to a route, and what checks the caller.

use codebase::Route;
use regex::Regex;

use super::fields::{STATUS_FIELDS, is_refused_without};

/// Words in the names of middleware and dependencies that require authentication.
#[rustfmt::skip]
const GUARD_WORDS: &[&str] = &[
    "auth", "jwt", "login", "guard", "protect", "verify", "token", "permission", "current_user", "currentuser",
    "session_required", "api_key", "apikey", "credential", "principal", "bearer",
];

/// Why one text cannot be sent to a route, or its answer not be had, if that is so.
pub(super) fn find_obstacle(route: &Route, source: &str) -> Option<&'static str> {
    let streams =
        ["StreamingResponse", "EventSourceResponse", "text/event-stream", "yield ", "ReadableStream"]
            .iter()
            .any(|word| source.contains(word));
    let is_status = |name: &String| STATUS_FIELDS.contains(&name.as_str());
    if expects_file(route, source) {
        Some("expects a file")
    } else if answers_with_page(source) {
        Some("answers with a page, not with the text of an answer")
    } else if answers_later(source) {
        Some("starts the work in the background and answers before it is done")
    } else if !streams && !route.response.is_empty() && route.response.iter().all(is_status) {
        Some("returns only a status")
    } else {
        None
    }
}

/// Whether a handler reads a file from the request.
pub(super) fn expects_file(route: &Route, source: &str) -> bool {
    let by_code =
        ["UploadFile", "request.files", "request.FILES", "req.file", "req.files", "FileInterceptor"];
    let by_guard = |guard: &String| guard.contains("upload") || guard.contains("multer");
    by_code.iter().any(|word| source.contains(word)) || route.guards.iter().any(by_guard)
}

/// Whether a handler only renders templates.
pub(super) fn answers_with_page(source: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| source.contains(word));
    has(&["render_template(", "return render(", "TemplateResponse(", "res.render(", "render_to_string("])
        && !has(&[
            "jsonify(",
            "JsonResponse(",
            "JSONResponse(",
            "Response(",
            ".json(",
            "StreamingHttpResponse",
        ])
}

/// Whether a handler hands the work to a queue or a background task.
pub(super) fn answers_later(source: &str) -> bool {
    // A controller enqueues the pieces of a stream.
    let source = source.replace("controller.enqueue(", "");
    [".add_task(", ".delay(", ".apply_async(", ".enqueue(", "queue.add(", "Queue.add("]
        .iter()
        .any(|word| source.contains(word))
}

/// The guard among the names in front of a handler, if one checks who calls.
pub(crate) fn find_guard(guards: &[String]) -> Option<&String> {
    guards.iter().find(|name| GUARD_WORDS.iter().any(|word| name.to_lowercase().contains(word)))
}

/// Whether the name of a parameter or dependency tells that it identifies the caller.
pub(crate) fn is_guard_name(name: &str) -> bool {
    let name = name.to_lowercase();
    name == "user" || name.ends_with("_user") || GUARD_WORDS.iter().any(|word| name.contains(word))
}

/// The headers of its own without which a handler refuses a request.
pub(super) fn required_headers(source: &str) -> Vec<String> {
    let read =
        Regex::new(r#"(?i)\b(\w+)\s*(?::\s*\w+\s*)?=\s*[^=\n]*headers(?:\.get\(|\[)\s*["'](x-[\w-]+)["']"#);
    let declared = Regex::new(r"(\w+)\s*:\s*[^=,\n]+=\s*Header\(\s*\.\.\.");
    let (Ok(read), Ok(declared)) = (read, declared) else { return Vec::new() };
    let asked = read.captures_iter(source).filter(|found| is_refused_without(source, &found[1]));
    let asked = asked.map(|found| found[2].to_lowercase());
    let mut all: Vec<String> =
        asked.chain(declared.captures_iter(source).map(|found| found[1].replace('_', "-"))).collect();
    all.dedup();
    all
}

/// The header that code reads credentials from.
pub(super) fn credential_header(source: &str) -> String {
    let read = Regex::new(r#"(?i)headers(?:\.get\(|\[|\.)\s*["']?([\w-]*(?:key|token|secret|auth)[\w-]*)"#);
    let found = read.ok().and_then(|read| Some(read.captures(source)?.get(1)?.as_str().to_owned()));
    let by_parameter = || {
        let parameter = Regex::new(r"(\w*(?:key|token|secret)\w*)\s*:\s*[^=,)]+=\s*Header\(").ok()?;
        Some(parameter.captures(source)?.get(1)?.as_str().replace('_', "-"))
    };
    found.or_else(by_parameter).unwrap_or_else(|| "Authorization".to_owned())
}

/// A member that the code reads from each message but that messages usually do not have.
pub(super) fn unexpected_message_member(text: &str, list: &str) -> Option<String> {
    let each = Regex::new(&format!(
        r"{}\s*(?:\?\.|\.)\s*(?:map|forEach|filter|reduce)\(\s*(?:async\s*)?\(?\s*(\w+)",
        regex::escape(list)
    ))
    .ok()?;
    let name = each.captures(text)?.get(1)?.as_str();
    let members = Regex::new(&format!(r"\b{}\??\.(\w+)", regex::escape(name))).ok()?;
    let usual =
        ["role", "content", "parts", "id", "name", "type", "text", "toolInvocations", "metadata", "length"];
    let mut read = members.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str().to_owned()));
    read.find(|member| !usual.contains(&member.as_str()))
}
