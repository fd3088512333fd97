//! What programs in all languages have alike: how routes are ranked, named and shown.

use crate::patterns;
use codebase::Route;

use crate::candidate::rank_name;
use crate::endpoint::{AgentEndpoint, OWN_CHECK, find_text_field};
use crate::integrate::{Contribution, RecipeInput};

/// What it is worth that the repository's own client calls a route.
pub(crate) const CLIENT_BONUS: i32 = 20;

/// What it is worth that the README names a route.
pub(crate) const README_BONUS: i32 = 12;

/// Whether a handler answers GET with a page, since it takes its input by POST.
pub(crate) fn is_page_of_other(input: &RecipeInput<'_>, route: &Route) -> bool {
    let is_twin =
        |other: &Route| other.method == "POST" && (&other.file, other.line) == (&route.file, route.line);
    route.method == "GET" && input.routes().any(is_twin)
}

/// Whether what the user named is a route, `POST /chat`, and not a file with a space in its name.
pub(crate) fn is_route_label(wanted: &str) -> bool {
    let is_method = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase());
    wanted
        .split_once(' ')
        .is_some_and(|(method, path)| is_method(method) || path.trim_start().starts_with('/'))
}

/// The name of a route: `POST /chat`.
pub(crate) fn route_label(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

/// Whether a route is the one that the user named: `POST /chat` is also a route for any method, and a slash at the end may
/// be missing.
pub(crate) fn is_named(route: &Route, wanted: &str) -> bool {
    let Some((method, path)) = wanted.split_once(' ') else { return false };
    let plain = |path: &str| path.trim().trim_end_matches('/').to_owned();
    (route.method == method || route.method == "ANY") && plain(&route.path) == plain(path)
}

/// The routes that resemble a name, the most similar first.
pub(crate) fn nearest_routes<'r>(
    wanted: &str,
    routes: impl Iterator<Item = &'r Route>,
) -> impl Iterator<Item = &'r Route> {
    let words = |text: &str| {
        let text = text.to_lowercase();
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let wanted = words(wanted);
    let mut all: Vec<&Route> = routes.collect();
    all.sort_by_cached_key(|route| {
        let own = words(&format!("{} {}", route.method, route.path));
        std::cmp::Reverse(wanted.iter().filter(|word| own.contains(word)).count())
    });
    all.into_iter().take(5)
}

/// The route that is most likely meant, of those that nothing connects to a model.
pub(crate) fn likeliest_route(input: &RecipeInput<'_>) -> Option<String> {
    let takes_text = |route: &&Route| {
        matches!(route.method.as_str(), "POST" | "ANY") && find_text_field(&route.request).is_some()
    };
    let best = input.other_routes().filter(takes_text).max_by_key(|route| {
        rank_name(&route.path) + rank_name(&route.handler) / 2 + 5 * i32::from(route.method == "POST")
    })?;
    Some(input.display_route(best))
}

/// The routes that nothing connects to a model, the most likely first.
pub(crate) fn other_routes_phrase(input: &RecipeInput<'_>) -> String {
    const MAX_SHOWN: usize = 4;
    let mut routes: Vec<&Route> = input.other_routes().collect();
    if routes.is_empty() {
        return String::new();
    }
    routes.sort_by_cached_key(|route| {
        -(rank_name(&route.path) + rank_name(&route.handler) / 2 + i32::from(route.method == "POST") * 5)
    });
    let shown: Vec<String> = routes.iter().take(MAX_SHOWN).map(|route| input.display_route(route)).collect();
    let rest = routes.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("; the routes that were found are {}{more}", shown.join(", "))
}

/// What a handler says to those who have not uploaded anything yet, if it says so.
pub(crate) fn waits_for_upload(input: &RecipeInput<'_>, route: &Route) -> Option<String> {
    let refusal = patterns::compile(
        r"(?i)[\x22'`](?:[^\x22'`\n]*\b(?:upload|ingest|process|load|index|add)\w*\b[^\x22'`\n]*\bfirst\b|[^\x22'`\n]*\bno\s+(?:\w+\s+){0,2}(?:documents?|papers?|files?|pdfs?|index|data|urls?|websites?|videos?|transcripts?)\b[^\x22'`\n]*\b(?:upload|index|process|load|found|available|ingest)\w*\b|[^\x22'`\n]*\b(?:documents?|files?|pdfs?|index|vector ?store)\b[^\x22'`\n]*\bnot (?:been )?(?:loaded|initiali[sz]ed|uploaded|processed|ready|indexed)\b)[^\x22'`\n]*[\x22'`]",
    )
    .ok()?;
    let error = patterns::compile(r"\b4\d\d\b|\braise\b|\bthrow\b|[Ee]rror").ok()?;
    let lines = input.source_lines(&route.file, route.line, route.end_line);
    let at = lines.lines().enumerate().position(|(_, line)| refusal.is_match(line))?;
    let near: Vec<&str> = lines.lines().skip(at.saturating_sub(2)).take(5).collect();
    let place = input.redactor().location(&route.file, route.line + u32::try_from(at).unwrap_or(0));
    error.is_match(&near.join("\n")).then(|| {
        format!(
            "{} refuses a message until something was uploaded or loaded ({place}): do that before a run",
            input.display_route(route)
        )
    })
}

/// What checks the caller, for people.
pub(crate) fn shown_guard(input: &RecipeInput<'_>, guard: &str, route: &Route) -> String {
    if guard == OWN_CHECK {
        return OWN_CHECK.to_owned();
    }
    format!("`{}`", input.display_name(guard, &route.file, route.line))
}

/// What the user has to know or to set for a request.
pub(crate) fn add_endpoint_notes(endpoint: &AgentEndpoint, contribution: &mut Contribution) {
    contribution.warnings.extend(endpoint.warnings().iter().map(|warning| format!("{warning}.")));
    contribution.prerequisites.extend(variables_to_set(&endpoint.variables()));
}

pub(crate) fn variables_to_set(variables: &[String]) -> Option<String> {
    let list = variables.join(", ");
    (!variables.is_empty())
        .then(|| format!("Environment variables that only you know, set before a run: {list}"))
}
