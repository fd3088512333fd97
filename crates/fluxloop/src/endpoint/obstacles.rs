//! What keeps one text from being sent to a route, and what checks the caller.

use crate::patterns;
use codebase::{NameKind, Route};
use regex::Regex;

use super::fields::{STATUS_FIELDS, is_refused_without, tells_reply};

/// Words in the names of middleware and dependencies that require authentication.
#[rustfmt::skip]
const GUARD_WORDS: &[&str] = &[
    "auth", "jwt", "login", "guard", "protect", "verify", "token", "permission", "current_user", "currentuser",
    "session_required", "api_key", "apikey", "credential", "principal", "bearer",
];

/// Why one text cannot be sent to a route, or its answer not be had, if that is so. `shows_answer`: its page is known to.
pub(super) fn find_obstacle(route: &Route, source: &str, shows_answer: bool) -> Option<&'static str> {
    #[rustfmt::skip] // a list, not a column
    let streams =
        ["StreamingResponse", "EventSourceResponse", "text/event-stream", "yield ", "ReadableStream", "streamSSE(", "streamText(",
         "stream(", ".pipe(", ".write("].iter().any(|word| source.contains(word));
    let is_status =
        |name: &String| STATUS_FIELDS.contains(&name.as_str()) || name.to_lowercase().ends_with("id");
    if expects_file(route, source) {
        Some("expects a file")
    } else if !shows_answer && answers_with_page(source) {
        Some("answers with a page, not with the text of an answer")
    } else if answers_with_redirect(source) {
        Some("answers with a redirect to another page")
    } else if answers_later(source) && !route.response.iter().any(|field| tells_reply(field)) {
        Some("starts the work in the background and answers before it is done")
    } else if !streams
        && !route.response.is_empty()
        && route.response.iter().all(is_status)
        && !returns_value_of_others(source)
    {
        Some("returns only a status or an id, as far as its code shows")
    } else {
        None
    }
}

/// Whether a handler gives back something whose fields its own code does not show: `return answer`.
fn returns_value_of_others(source: &str) -> bool {
    let returned = patterns::compile(r"\breturn\s+(?:await\s+)?([A-Za-z_$][\w$]*)");
    let made_here = [
        "res",
        "NextResponse",
        "Response",
        "reply",
        "c",
        "ctx",
        "json",
        "jsonify",
        "JsonResponse",
        "JSONResponse",
        "new",
        "None",
        "null",
        "h",
    ];
    returned.is_ok_and(|returned| returned.captures_iter(source).any(|found| !made_here.contains(&&found[1])))
}

/// Whether a handler reads a file from the request.
pub(super) fn expects_file(route: &Route, source: &str) -> bool {
    let by_code = [
        "UploadFile",
        "request.files",
        "request.FILES",
        "req.file",
        "req.files",
        "FileInterceptor",
        "as File",
        "instanceof File",
    ];
    let by_guard = |guard: &String| guard.contains("upload") || guard.contains("multer");
    // Read only if it is there, and nothing says that it has to be.
    let may_miss = patterns::compile(
        r"(?:includes|startsWith)\([\x22'`]multipart|req\.files?\?\.|if\s*\(\s*req\.files?\b|(?:File\(\s*(?:default\s*=\s*)?None|Optional\[\s*(?:List\[|list\[)?\s*UploadFile|UploadFile\]?\s*\|\s*None)|request\.(?:files|FILES)\.get\(",
    );
    let is_refused = patterns::compile(
        r"!\s*req\.files?\b|\bnot\s+(?:file|files|image|upload\w*)\b|[\x22']\w*[\x22']\s+not\s+in\s+request\.files",
    );
    if let (Ok(may_miss), Ok(is_refused)) = (may_miss, is_refused)
        && may_miss.is_match(source)
        && !is_refused.is_match(source)
    {
        return false;
    }
    by_code.iter().any(|word| source.contains(word)) || route.guards.iter().any(by_guard)
}

/// Whether a handler only renders templates.
pub(super) fn answers_with_page(source: &str) -> bool {
    let page = patterns::compile(
        r"\b(?:render_template|TemplateResponse|render_to_string)\(|\breturn render\(|\bres\.render\(",
    );
    let other = patterns::compile(
        r"\b(?:jsonify|JsonResponse|JSONResponse|Response|PlainTextResponse|StreamingResponse|StreamingHttpResponse)\(|\.json\(",
    );
    let is_in =
        |words: &Result<Regex, regex::Error>| words.as_ref().is_ok_and(|words| words.is_match(source));
    // The body of a request is read by `.json()`, too.
    let rest = source.replace("request.json(", "");
    is_in(&page) && !other.as_ref().is_ok_and(|other| other.is_match(&rest))
}

/// Whether all that a handler gives back is a redirect.
fn answers_with_redirect(source: &str) -> bool {
    let returned = patterns::compile(r"\breturn\s+(?:await\s+)?([\w.]+)\(?");
    returned.is_ok_and(|returned| {
        let mut given = returned.captures_iter(source).map(|found| found[1].to_owned()).peekable();
        given.peek().is_some()
            && given.all(|name| {
                matches!(
                    name.rsplit('.').next(),
                    Some("redirect" | "RedirectResponse" | "HttpResponseRedirect")
                )
            })
    })
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
    guards.iter().find(|name| {
        let name = name.to_lowercase();
        !name.contains("optional") && GUARD_WORDS.iter().any(|word| name.contains(word))
    })
}

/// Whether the name of a parameter or dependency tells that it identifies the caller.
pub(crate) fn is_guard_name(name: &str) -> bool {
    let name = name.to_lowercase();
    // `get_optional_user` lets everyone in.
    !name.contains("optional")
        && (name == "user" || name.ends_with("_user") || GUARD_WORDS.iter().any(|word| name.contains(word)))
}

/// The headers of its own without which a handler refuses a request.
pub(super) fn required_headers(source: &str) -> Vec<String> {
    let read = patterns::compile(
        r#"(?i)\b(\w+)\s*(?::\s*\w+\s*)?=\s*[^=\n]*headers(?:\.get\(|\[)\s*["'](x-[\w-]+)["']"#,
    );
    // `site_key: Annotated[str, Header(alias="X-Site-Key")]`, `key: str = Header(...)`: without a default.
    let declared = patterns::compile(
        r"(\w+)\s*:\s*(?:Annotated\[\s*str\s*,\s*Header\(([^)]*)\)\s*\]\s*(=)?|[^=,\n\[]+=\s*Header\(\s*(\.\.\.[^)]*)\))",
    );
    let alias = patterns::compile(r"alias\s*=\s*[\x22']([\w-]+)[\x22']");
    let (Ok(read), Ok(declared), Ok(alias)) = (read, declared, alias) else { return Vec::new() };
    let asked = read.captures_iter(source).filter(|found| is_refused_without(source, &found[1]));
    let asked = asked.map(|found| found[2].to_lowercase());
    let declared = declared.captures_iter(source).filter(|found| found.get(3).is_none()).map(|found| {
        let given = found.get(2).or_else(|| found.get(4)).map_or("", |given| given.as_str());
        let named = alias.captures(given).map(|named| named[1].to_owned());
        named.unwrap_or_else(|| found[1].replace('_', "-"))
    });
    let mut all: Vec<String> =
        asked.chain(declared).filter(|name| NameKind::Identifier.is_safe_name(name)).collect();
    all.dedup();
    all
}

/// The header that code reads credentials from.
pub(super) fn credential_header(source: &str) -> String {
    let read =
        patterns::compile(r#"(?i)headers(?:\.get\(|\[|\.)\s*["']?([\w-]*(?:key|token|secret|auth)[\w-]*)"#);
    let found = read.ok().and_then(|read| Some(read.captures(source)?.get(1)?.as_str().to_owned()));
    // `api_key_header = APIKeyHeader(name="X-API-Key")`
    let by_scheme = || {
        let scheme = patterns::compile(r"APIKeyHeader\([^)]*name\s*=\s*[\x22']([\w-]+)[\x22']").ok()?;
        Some(scheme.captures(source)?.get(1)?.as_str().to_owned())
    };
    // `key: str = Header(..., alias="X-API-Key")`, `x_api_key: str | None = Header(None)`
    let by_alias = || {
        let alias = patterns::compile(r"Header\([^)]*alias\s*=\s*[\x22']([\w-]+)[\x22']").ok()?;
        Some(alias.captures(source)?.get(1)?.as_str().to_owned())
    };
    let by_parameter = || {
        let parameter = patterns::compile(r"(\w*(?:key|token|secret)\w*)\s*:\s*[^=,)]+=\s*Header\(").ok()?;
        Some(parameter.captures(source)?.get(1)?.as_str().replace('_', "-"))
    };
    let found =
        found.map(
            |name| if name.eq_ignore_ascii_case("authorization") { "Authorization".to_owned() } else { name },
        );
    by_scheme()
        .or_else(by_alias)
        .or_else(by_parameter)
        .or(found)
        .filter(|name| NameKind::Identifier.is_safe_name(name))
        .unwrap_or_else(|| "Authorization".to_owned())
}

/// A member that the code reads from each message but that messages usually do not have.
pub(super) fn unexpected_message_member(text: &str, list: &str) -> Option<String> {
    const MAX_BODY: usize = 400;
    let each = patterns::compile(&format!(
        r"{}\s*(?:\?\.|\.)\s*(?:map|forEach|filter|reduce)\(\s*(?:async\s*)?\(?\s*(\w+)",
        regex::escape(list)
    ))
    .ok()?;
    let found = each.captures(text)?;
    let name = found.get(1)?.as_str();
    // What is done with each entry, and not with those of another list under the same name.
    let rest: String = text[found.get(0)?.start()..].chars().take(MAX_BODY).collect();
    let text = rest.split_once("\n\n").map_or(rest.as_str(), |(body, _)| body);
    let text = text.split_once("});").map_or(text, |(body, _)| body);
    let members = patterns::compile(&format!(r"\b{}\??\.(\w+)", regex::escape(name))).ok()?;
    let usual =
        ["role", "content", "parts", "id", "name", "type", "text", "toolInvocations", "metadata", "length"];
    let mut read = members.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str().to_owned()));
    read.find(|member| !usual.contains(&member.as_str()))
}
