//! Routes that are files: those of Next.js, `SvelteKit` and Remix.

use super::{ANY_METHOD, DetectedRoute};
use crate::source::{ParsedSource, SourceFunction};
use crate::symbols::{NodeId, SymbolIndex};

/// File-based routes of Next.js, `SvelteKit` and Remix.
pub(super) fn find_file_routes(symbols: &SymbolIndex<'_, '_>, file: usize) -> Vec<DetectedRoute> {
    let (path, source) = (symbols.files[file].path, symbols.files[file].source);
    let projects = symbols.sources.projects;
    let folder = projects.innermost_project(path).map_or("", |at| projects.all[at].folder.as_str());
    let inside = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
    let inside = inside.strip_prefix("src/").unwrap_or(inside);
    let (place, name) = inside.rsplit_once('/').unwrap_or(("", inside));
    let stem = name.split('.').next().unwrap_or(name);
    // Groups such as `(chat)` are not part of the path.
    let route = |folders: &str| {
        let parts = folders.split('/').filter(|part| !part.starts_with('(') && !part.is_empty());
        format!("/{}", parts.collect::<Vec<_>>().join("/"))
    };
    let within =
        |root: &str| place.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let verbs = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    match stem {
        "route" if within("app").is_some() => {
            exported_routes(source, file, &route(within("app").unwrap_or_default()), &verbs)
        }
        "+server" if within("routes").is_some() => {
            exported_routes(source, file, &route(within("routes").unwrap_or_default()), &verbs)
        }
        _ if inside.starts_with("app/routes/") => find_remix_routes(source, file, inside),
        _ if within("pages/api").is_some() => {
            let last = if stem == "index" { "" } else { stem };
            exported_routes(
                source,
                file,
                &route(&format!("api{}/{last}", within("pages/api").unwrap_or_default())),
                &["default"],
            )
        }
        _ => Vec::new(),
    }
}

/// Remix's `app/routes/api.chat.ts`: dots become slashes, an `action` handles POST, a `loader` handles GET.
fn find_remix_routes(source: &ParsedSource, file: usize, path: &str) -> Vec<DetectedRoute> {
    let name = path.trim_start_matches("app/routes/");
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    let name = name.strip_suffix("/route").unwrap_or(name);
    // `_layout.chat` and `chat_` both map to `/chat`.
    let parts =
        name.split(['.', '/']).filter(|part| !part.starts_with('_')).map(|part| part.trim_end_matches('_'));
    let place = format!("/{}", parts.collect::<Vec<_>>().join("/"));
    let method = |name: &str| match name {
        "action" => Some("POST"),
        "loader" => Some("GET"),
        _ => None,
    };
    let fact = |(at, function): (usize, &SourceFunction)| {
        let method =
            method(&function.name).filter(|_| function.outer.is_none() && function.owner.is_none())?;
        let handler = NodeId { file, function: Some(at) };
        Some(DetectedRoute {
            method: method.to_owned(),
            path: place.clone(),
            line: function.line,
            handler,
            router: None,
            guards: Vec::new(),
            schema: None,
            checks: Vec::new(),
        })
    };
    source.functions.iter().enumerate().filter_map(fact).collect()
}

fn exported_routes(source: &ParsedSource, file: usize, path: &str, names: &[&str]) -> Vec<DetectedRoute> {
    let is_default = names == ["default"];
    let wanted = |function: &SourceFunction| {
        let stands_for_it = source.default_export.as_ref().filter(|_| is_default) == Some(&function.name);
        function.outer.is_none()
            && function.owner.is_none()
            && (stands_for_it || names.contains(&function.name.as_str()))
    };
    let fact = |method: &str, at: usize| DetectedRoute {
        method: method.to_owned(),
        path: path.to_owned(),
        line: source.functions[at].line,
        handler: NodeId { file, function: Some(at) },
        router: None,
        guards: Vec::new(),
        schema: None,
        checks: Vec::new(),
    };
    let own = (0..source.functions.len()).filter(|at| wanted(&source.functions[*at]));
    let own = own.map(|at| fact(if is_default { ANY_METHOD } else { &source.functions[at].name }, at));
    // `export const POST = handler`.
    let renamed = source.references.iter().filter_map(|reference| {
        let method = names.iter().find(|name| reference.holder.as_deref() == Some(**name))?;
        let at = source.functions.iter().position(|function| {
            function.outer.is_none() && function.owner.is_none() && function.name == reference.name
        })?;
        Some(fact(method, at))
    });
    own.chain(renamed).collect()
}
