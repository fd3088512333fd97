//! The request for a route of a Python program, and what a client does before it.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::patterns;
use codebase::{FileSummary, Route};

use super::guards::{guard_of_route, http_middleware};
use crate::application::{defines_at_top, find_application, usual_files};
use crate::blocker::Blocker;
use crate::endpoint::{AgentEndpoint, LiveState, RouteChoice, conversation_stem, find_text_field};
use crate::integrate::RecipeInput;
use crate::package::is_python_file;
use crate::python_module::any_imported_text;
use crate::recipe::InProcessClient;
use crate::route_choice::{shown_guard, waits_for_upload};
use crate::target::is_id_name;

/// The request for a route, if it can be sent from nowhere.
pub(super) fn resolve_endpoint(
    input: &RecipeInput<'_>,
    route: &Route,
    choice: RouteChoice,
) -> Result<AgentEndpoint, Vec<Blocker>> {
    let seen = input.file_summary(&route.file).unwrap_or_default();
    let handler = seen.functions.iter().find(|function| {
        function.line == route.line && function.name.rsplit('.').next() == Some(route.handler.as_str())
    });
    let parameters = handler.map(|handler| handler.parameters.as_slice()).unwrap_or_default();
    let source = source_with_helpers(input, route, &seen);
    let mut endpoint = AgentEndpoint::from_route(
        route,
        &source,
        input.options.request_field.as_deref(),
        choice,
        input.redactor(),
    )?;
    if endpoint.page_variable().is_some()
        && find_application(input, super::django::django_settings(input).is_some()).is_none()
    {
        let what =
            format!("{} answers with a page, not with the text of an answer", input.display_route(route));
        let file = input.redactor().file(&route.file);
        return Err(vec![Blocker::new(what).at(file, route.line).lifted_by("agent")]);
    }
    if endpoint.is_socket()
        && !find_application(input, false)
            .is_some_and(|(client, app)| client == InProcessClient::Starlette && app.is_some())
    {
        let what = format!("{} talks over a websocket", input.display_route(route));
        let file = input.redactor().file(&route.file);
        return Err(vec![Blocker::new(what).at(file, route.line).lifted_by("agent")]);
    }
    if let Some(page) = page_that_fills_session(input, route, &source) {
        endpoint.open_with(page);
    }
    if let Some(what) = waits_for_upload(input, route) {
        endpoint.add_warning(what);
        if !endpoint.is_socket() && !keeps_on_disk(input, &route.file) {
            endpoint.send_to_running_program(LiveState::HoldsUploads);
        }
    } else if !endpoint.is_socket()
        && let Some(file) = file_with_state(input, &source)
    {
        endpoint.send_to_running_program(LiveState::StartedAs(file));
    }
    // Only a test client keeps what it has begun in reach of the next request.
    if endpoint.invents_conversation()
        && !endpoint.is_socket()
        && endpoint.live_state().is_none()
        && let Some((opening, id_field)) = route_that_begins(input, route)
    {
        endpoint.begin_by(opening, &id_field, &input.display_route(opening));
    }
    // Threads of a provider exist only there.
    let is_remote = endpoint.invents_conversation() && uses_remote_threads(input, &route.file);
    let remote = if is_remote { "\nthreads.get(thread_id)  # 404" } else { "" };
    endpoint.demand_existing_ids(&format!("{source}{remote}"));
    if let Some(guard) = guard_of_route(input, route, parameters, &source) {
        let shown = shown_guard(input, &guard, route);
        // The header is read where the caller is checked.
        let checks = route.guard_files.iter().map(|file| input.file_text(file));
        let middleware = http_middleware(input, route).map(|(_, text)| text);
        let defined = seen.imports.iter().find(|(_, known)| known.as_deref() == Some(guard.as_str()));
        let defined = defined.and_then(|(module, _)| input.module_file(&route.file, module));
        let defined = defined.map(|file| input.file_text(&file));
        let texts: Vec<Rc<str>> = [source.into(), input.file_text(&route.file)]
            .into_iter()
            .chain(checks)
            .chain(middleware.map(Into::into))
            .chain(defined)
            .collect();
        endpoint.require_credentials(&shown, &texts.join("\n"));
    }
    Ok(endpoint)
}

/// Whether a file, or what it imports, goes on with threads of a provider.
fn uses_remote_threads(input: &RecipeInput<'_>, path: &str) -> bool {
    let used = patterns::compile(r"threads\.(?:retrieve|messages\.create|runs\.\w+)\(");
    used.is_ok_and(|used| any_imported_text(input, path, |text| used.is_match(text)))
}

/// Whether a file, or what it imports, keeps what was uploaded where another process finds it.
fn keeps_on_disk(input: &RecipeInput<'_>, path: &str) -> bool {
    #[rustfmt::skip] // a list, not a column
    const WORDS: &[&str] = &[
        "persist_directory", "PersistentClient", "load_local", "faiss.read_index", "qdrant", "pinecone", "psycopg", "pgvector",
        "sqlite", "sqlalchemy", "pymongo", "motor", "redis", "weaviate", "milvus", "json.load(", "pickle.load(",
    ];
    any_imported_text(input, path, |text| WORDS.iter().any(|word| text.contains(word)))
}

/// The file that makes what a handler uses only where it is started by itself: under `if __name__ == "__main__"`.
fn file_with_state(input: &RecipeInput<'_>, source: &str) -> Option<String> {
    const USUAL: &[&str] = &[
        "port", "host", "debug", "parser", "args", "config", "server", "loop", "app", "address", "reload",
        "workers",
    ];
    let assigned =
        patterns::compile(r"(?m)^[ \t]+(?:(?:current_app|app|server|application)\.(\w+)|(\w+))\s*=[^=]");
    let assigned = assigned.ok()?;
    let matches =
        |pattern: String, text: &str| patterns::compile(&pattern).is_ok_and(|pattern| pattern.is_match(text));
    let files: BTreeSet<String> = usual_files(input).into_iter().chain(input.entry_points()).collect();
    files.into_iter().filter(|path| is_python_file(path)).find(|path| {
        let text = input.file_text(path);
        let Some((before, guarded)) = text.split_once("if __name__") else { return false };
        assigned.captures_iter(guarded).any(|found| {
            let field = found.get(1);
            let Some(name) = field.or_else(|| found.get(2)).map(|name| name.as_str()) else { return false };
            if USUAL.contains(&name) {
                return false;
            }
            let plain = regex::escape(name);
            if field.is_some() {
                return matches(format!(r"\.{plain}\b"), source);
            }
            let nothing = format!(r"(?m)^{plain}\s*(?::[^=\n]+)?=\s*None\b");
            matches(format!(r"(?:^|[^.\w]){plain}\b"), source)
                && !matches(format!(r"(?:^|[^.\w]){plain}\s*=[^=]"), source)
                && (matches(nothing, before) || !defines_at_top(before, name))
        })
    })
}

/// The route that begins the conversations that another one names, and the field of its answer that holds the id.
pub(super) fn route_that_begins<'i>(
    input: &'i RecipeInput<'_>,
    route: &Route,
) -> Option<(&'i Route, String)> {
    #[rustfmt::skip] // a list, not a column
    const IDS: &[&str] = &[
        "conversation_id", "session_id", "thread_id", "chat_id", "id", "sessionId", "conversationId", "threadId", "chatId",
    ];
    // Only where the request goes through the application in this process.
    let web = find_application(input, false).map(|(client, _)| client);
    if !matches!(web, Some(InProcessClient::Flask | InProcessClient::Starlette)) {
        return None;
    }
    // A GET that makes one, and does not only list those that there are.
    let is_made_there = |other: &Route| {
        let source = input.source_lines(&other.file, other.line, other.end_line);
        ["create", "new_", "start", "uuid"].iter().any(|word| source.contains(word))
    };
    let begins = |other: &&Route| {
        let last = other.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let is_called_so = IDS.contains(&last)
            || conversation_stem(last).is_some()
            || matches!(last, "new" | "create" | "start") && conversation_stem(&other.path).is_some();
        let may_be_left_out = |field: &String| {
            other.optional.contains(field)
                || other.declared.iter().any(|declared| declared.name == *field && declared.optional)
        };
        let names_id = IDS.contains(&last) || conversation_stem(last).is_some();
        (other.method == "POST" || other.method == "GET" && names_id && is_made_there(other))
            && is_called_so
            && (&other.file, other.line) != (&route.file, route.line)
            && !other.path.contains(['{', '<'])
            && find_text_field(&other.request).is_none()
            && other.request.iter().all(may_be_left_out)
    };
    let id_of = |other: &'i Route| {
        let field = IDS.iter().find(|id| other.response.iter().any(|field| field == **id))?;
        Some((other, (*field).to_owned()))
    };
    input.routes().chain(input.other_routes()).filter(begins).find_map(id_of)
}

/// The page that puts into the session what a handler takes out of it without looking: a browser loads it first.
pub(super) fn page_that_fills_session(
    input: &RecipeInput<'_>,
    route: &Route,
    source: &str,
) -> Option<String> {
    let read = patterns::compile(r#"\bsession\[\s*["'](\w+)["']\s*\]"#).ok()?;
    let set = |text: &str, key: &str| {
        let key = regex::escape(key);
        let set =
            format!(r#"\bsession\[\s*["']{key}["']\s*\]\s*=[^=]|\bsession\.setdefault\(\s*["']{key}["']"#);
        patterns::compile(&set).is_ok_and(|set| set.is_match(text))
    };
    let looks = |key: &str| {
        [
            format!("\"{key}\" not in session"),
            format!("'{key}' not in session"),
            format!("\"{key}\" in session"),
            format!("'{key}' in session"),
        ]
        .iter()
        .any(|check| source.contains(check))
    };
    let needed = read.captures_iter(source).map(|found| found[1].to_owned());
    let mut needed = needed.filter(|key| !set(source, key) && !looks(key) && !is_id_name(key));
    let key = needed.next()?;
    let pages = input.other_routes().chain(input.routes()).filter(|page| {
        page.method == "GET"
            && page.file == route.file
            && !page.path.contains(['<', '{'])
            && page.line != route.line
    });
    pages
        .into_iter()
        .find(|page| set(&input.source_lines(&page.file, page.line, page.end_line), &key))
        .map(|page| page.path.clone())
}

/// The code of a handler, and of the functions of its file that it hands the request to.
pub(super) fn source_with_helpers(input: &RecipeInput<'_>, route: &Route, seen: &FileSummary) -> String {
    let mut source = input.source_lines(&route.file, route.line, route.end_line);
    let Ok(handed) = patterns::compile(
        r"\b(\w+)\(\s*(?:self\.)?request\s*[,)]|(?m)(?:=|return|if|not)\s+(?:await\s+)?(\w+)\(",
    ) else {
        return source;
    };
    let names: BTreeSet<String> = handed
        .captures_iter(&source)
        .filter_map(|found| Some(found.get(1).or_else(|| found.get(2))?.as_str().to_owned()))
        .collect();
    let helpers = seen.functions.iter().filter(|function| {
        function.line != route.line && names.contains(function.name.rsplit('.').next().unwrap_or_default())
    });
    for helper in helpers.take(6) {
        source.push_str("\n\n");
        source.push_str(&input.source_lines(&route.file, helper.line, helper.end_line));
    }
    source
}
