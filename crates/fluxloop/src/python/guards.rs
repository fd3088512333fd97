//! What checks the caller of a route of a Python program.

use std::collections::BTreeSet;

use crate::patterns;
use codebase::{FileSummary, FunctionParameter, Route};

use super::django::{django_settings, settings_text};
use crate::endpoint::{OWN_CHECK, find_guard, is_guard_name};
use crate::integrate::RecipeInput;
use crate::package::is_python_file;

/// What checks the caller of a route: a decorator, a dependency, a base class, or the handler itself.
pub(super) fn guard_of_route(
    input: &RecipeInput<'_>,
    route: &Route,
    parameters: &[FunctionParameter],
    source: &str,
) -> Option<String> {
    let decorators = decorators_above(&input.file_text(&route.file), route.line);
    let is_open = decorators.contains("AllowAny") || decorators.contains("permission_classes([])");
    let guards: Vec<String> = route
        .guards
        .iter()
        .filter(|guard| {
            !(is_open && (guard.ends_with("permission_classes") || guard.ends_with("authentication_classes")))
        })
        .cloned()
        .collect();
    if let Some(guard) = find_guard(&guards) {
        return Some(guard.clone());
    }
    if is_open {
        return None;
    }
    if let Some(guard) = route.guards.iter().find(|guard| refuses_callers(input, &route.file, guard)) {
        return Some(guard.clone());
    }
    let injected = parameters.iter().filter(|parameter| parameter.injected);
    if let Some(parameter) = injected.into_iter().find(|parameter| is_guard_name(&parameter.name)) {
        return Some(parameter.name.clone());
    }
    let text = input.file_text(&route.file);
    let everywhere = patterns::compile(
        r"(?:APIRouter|FastAPI|include_router)\([^)]*dependencies\s*=\s*\[\s*(?:Depends|Security)\(\s*(\w+)",
    )
    .ok()?;
    if let Some(found) = everywhere.captures(&text).and_then(|found| found.get(1)) {
        let name = found.as_str();
        return (is_guard_name(name) || refuses_callers(input, &route.file, name)).then(|| name.to_owned());
    }
    if let Some(permission) = class_permission(&text, route.line) {
        return Some(permission).filter(|name| name.contains("IsAuth"));
    }
    if let Some(found) = default_permission(input) {
        return Some(found);
    }
    if let Some((name, _)) = http_middleware(input, route) {
        return Some(name);
    }
    let inside = patterns::compile(r"\b40[12]\b|HTTP_40[12]|[Uu]nauthori[sz]ed").ok()?;
    let checks = inside.is_match(source)
        && ["headers", "session", "token", "auth"].iter().any(|word| source.contains(word));
    // `if "user" not in session: return redirect("/login")`
    let logs_in = patterns::compile(
        r"(?s)(?:not\s+in\s+session|session\.get\(|session\[).{0,160}?redirect\([^)\n]*(?:login|sign|auth)|return\s+redirect\([^)\n]*(?:login|sign_in|signin)",
    )
    .ok()?
    .is_match(source);
    // `APIKey.objects.get(user=request.user)` finds nothing for a caller who is not logged in.
    let is_personal = patterns::compile(r"(?:user|owner|author)\w*\s*=\s*(?:self\.)?request\.user\b")
        .ok()?
        .is_match(source)
        && !source.contains("is_authenticated");
    (checks || is_personal || logs_in).then(|| OWN_CHECK.to_owned())
}

/// The decorators of the function whose name is on a line.
fn decorators_above(text: &str, line: u32) -> String {
    const MAX_LINES: usize = 12;
    let lines: Vec<&str> = text.lines().take(line.saturating_sub(1) as usize).collect();
    let is_decorator = |line: &&&str| {
        let line = line.trim_start();
        line.starts_with(['@', ')', ']', '"', '\''])
            || line.starts_with("async ")
            || line.ends_with([',', '(', '['])
    };
    lines.iter().rev().take(MAX_LINES).take_while(is_decorator).copied().collect::<Vec<_>>().join("\n")
}

/// A middleware of the application that refuses callers: its name, and the text of its file.
pub(super) fn http_middleware(input: &RecipeInput<'_>, route: &Route) -> Option<(String, String)> {
    let added = patterns::compile(
        r#"(?:middleware\(\s*["']http["']\s*\)\s*(?:\(\s*(\w+)|\n\s*(?:async\s+)?def\s+(\w+))|add_middleware\(\s*(\w+))"#,
    )
    .ok()?;
    let refuses = patterns::compile(r"\b401\b|HTTP_401|[Uu]nauthori[sz]ed").ok()?;
    let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
    let files: BTreeSet<String> =
        anchors.map(|anchor| anchor.path.clone()).chain(input.entry_points()).collect();
    files.iter().filter(|path| is_python_file(path)).find_map(|path| {
        let text = input.file_text(path);
        let summary = input.file_summary(path)?;
        added.captures_iter(&text).find_map(|found| {
            let name = (1..4).find_map(|group| found.get(group))?.as_str();
            let body = definition_of(input, path, &summary, name)?;
            let is_free =
                body.contains(&format!("\"{}\"", route.path)) || body.contains(&format!("'{}'", route.path));
            // It reads who calls, and may answer without handing the request on.
            let head = body.lines().next().unwrap_or_default();
            let lower = body.to_lowercase();
            let is_check = head.contains("BaseHTTPMiddleware")
                && ["authorization", "x-api-key", "api_key"].iter().any(|word| lower.contains(word));
            ((refuses.is_match(&body) || is_check) && !is_free).then(|| (name.to_owned(), body))
        })
    })
}

/// Whether a function answers callers that it does not know with 401 or 403, whatever it is called.
pub(super) fn refuses_callers(input: &RecipeInput<'_>, path: &str, name: &str) -> bool {
    let refuses = patterns::compile(r"\b40[12]\b|HTTP_40[12]|[Uu]nauthori[sz]ed");
    let forbids = patterns::compile(r"\b403\b|HTTP_403");
    let (Ok(refuses), Ok(forbids)) = (refuses, forbids) else { return false };
    let reads = ["eader", "oken", "ookie", "redential", "oauth2", "session"];
    let body = input.file_summary(path).and_then(|summary| definition_of(input, path, &summary, name));
    body.is_some_and(|body| {
        refuses.is_match(&body) || forbids.is_match(&body) && reads.iter().any(|word| body.contains(word))
    })
}

/// The code of a function or class that a file defines or imports.
pub(super) fn definition_of(
    input: &RecipeInput<'_>,
    path: &str,
    summary: &FileSummary,
    name: &str,
) -> Option<String> {
    let defined =
        patterns::compile(&format!(r"(?m)^(?:async\s+)?(?:def|class)\s+{}\b", regex::escape(name))).ok()?;
    let begin = |text: &str| {
        let mut lines = text[defined.find(text)?.start()..].lines();
        let head = lines.next()?;
        let body = lines.take_while(|line| line.is_empty() || line.starts_with([' ', '\t', ')', '#']));
        Some([head].into_iter().chain(body).collect::<Vec<_>>().join("\n"))
    };
    begin(&input.file_text(path)).or_else(|| {
        let (module, _) = summary.imports.iter().find(|(_, known)| known.as_deref() == Some(name))?;
        begin(&input.file_text(&input.module_file(path, module)?))
    })
}

/// What the class around a line of a view says of who may call it: the first name in `permission_classes = [AllowAny]`.
pub(super) fn class_permission(text: &str, line: u32) -> Option<String> {
    let head: Vec<&str> = text.lines().take(line as usize).collect();
    let begin =
        head.iter().rposition(|line| !line.is_empty() && !line.starts_with([' ', '\t', '#', ')', '@']))?;
    let body = text
        .lines()
        .skip(begin + 1)
        .take_while(|line| line.is_empty() || line.starts_with([' ', '\t', '#', ')']));
    let class = head[begin].starts_with("class ").then(|| body.collect::<Vec<_>>().join("\n"))?;
    let listed = patterns::compile(r"permission_classes\s*=\s*[\[(]\s*([\w.]+)").ok()?;
    Some(listed.captures(&class)?.get(1)?.as_str().to_owned())
}

/// What Django REST framework asks for where a view says nothing.
pub(super) fn default_permission(input: &RecipeInput<'_>) -> Option<String> {
    let text = settings_text(input, &django_settings(input)?)?;
    let listed =
        patterns::compile(r"DEFAULT_PERMISSION_CLASSES[\x22']\s*:\s*[\[(]\s*[\x22'][\w.]*\.(IsAuth\w*)")
            .ok()?;
    Some(listed.captures(&text)?.get(1)?.as_str().to_owned())
}
