//! Routers mounted under a prefix: `app.include_router(router, prefix="/api")`, `app.use("/api", router)`.

use super::join_route_path;
use crate::import_resolution;
use crate::source::{CallArgument, CallSite, SourceImport};
use crate::symbols::SymbolIndex;

pub(super) struct Mount {
    prefix: String,
    /// The file that defines the router, and its name there if known.
    file: usize,
    router: Option<String>,
    /// The application or router on which it is mounted.
    parent_file: usize,
    parent_router: Option<String>,
}

pub(super) fn find_mounts(symbols: &SymbolIndex<'_, '_>) -> Vec<Mount> {
    let files = 0..symbols.files.len();
    let calls = |file: usize| {
        symbols.files[file].source.calls.iter().enumerate().map(move |(at, call)| (file, at, call))
    };
    files.flat_map(calls).filter_map(|(file, at, call)| parse_mount(symbols, file, at, call)).collect()
}

/// The prefix of a router, including those of its parent routers.
pub(super) fn mount_prefix(
    symbols: &SymbolIndex<'_, '_>,
    mounts: &[Mount],
    file: usize,
    router: Option<&str>,
) -> String {
    let (mut prefix, mut file, mut router) = (String::new(), file, router);
    // Three levels are enough in practice, and the bound stops at a router that is mounted on itself.
    for _ in 0..3 {
        let fits = |mount: &&Mount| {
            let same = mount.router.is_none()
                || router.is_none()
                || is_same_router(symbols, file, mount.router.as_deref(), router);
            mount.file == file
                && same
                && (mount.parent_file, mount.parent_router.as_deref()) != (file, router)
        };
        let Some(mount) = mounts.iter().find(fits) else { break };
        prefix =
            if prefix.is_empty() { mount.prefix.clone() } else { join_route_path(&mount.prefix, &prefix) };
        (file, router) = (mount.parent_file, mount.parent_router.as_deref());
        // An intermediate router may have a prefix, too.
        let own =
            router.map(|router| super::router_prefix(symbols.files[file].source, router)).unwrap_or_default();
        if !own.is_empty() {
            prefix = join_route_path(&own, &prefix);
        }
    }
    prefix
}

/// Whether two names refer to the same router: `chat_router = r = APIRouter()`.
fn is_same_router(
    symbols: &SymbolIndex<'_, '_>,
    file: usize,
    one: Option<&str>,
    other: Option<&str>,
) -> bool {
    let made = |name: Option<&str>| {
        let binding =
            symbols.files[file].source.bindings.iter().find(|binding| Some(binding.name.as_str()) == name)?;
        Some((binding.line, binding.callee.as_str()))
    };
    one == other || made(one).is_some() && made(one) == made(other)
}

fn parse_mount(symbols: &SymbolIndex<'_, '_>, file: usize, at: usize, call: &CallSite) -> Option<Mount> {
    let (object, verb) = call.callee.rsplit_once('.').unwrap_or(("", &call.callee));
    let text_of = |name: &str| match call.keyword_argument(name) {
        Some(CallArgument::Text(text)) => text.clone(),
        None => String::new(),
        Some(_) => super::COMPUTED_PATH.to_owned(),
    };
    let (prefix, (target, router)) = match (verb, call.arguments.as_slice()) {
        ("include_router", [CallArgument::Name(name), ..]) => {
            (text_of("prefix"), resolve_router(symbols, file, name))
        }
        ("register_blueprint", [CallArgument::Name(name), ..]) => {
            (text_of("url_prefix"), resolve_router(symbols, file, name))
        }
        ("use" | "route" | "mount", [CallArgument::Text(prefix), .., CallArgument::Name(name)]) => {
            (prefix.clone(), resolve_router(symbols, file, name))
        }
        ("use" | "route" | "mount", [CallArgument::Text(prefix), .., CallArgument::Call(require)])
            if require == "require" =>
        {
            // The nested call is among the next in the list.
            let mut next = symbols.files[file].source.calls.get(at + 1..)?.iter().take(8);
            let required = next.find(|next| next.callee == "require" && next.line >= call.line)?;
            (prefix.clone(), (resolve_module_file(symbols, file, required.first_string()?)?, None))
        }
        // A function that makes the router.
        ("use" | "route" | "mount", [CallArgument::Text(prefix), .., CallArgument::Call(maker)]) => {
            let imported = || symbols.imported_from(file, maker).map(|(other, _)| other);
            let made = symbols.resolve_function(file, call.within, maker).map(|node| node.file);
            (prefix.clone(), (made.or_else(imported)?, None))
        }
        ("register", [CallArgument::Name(name), CallArgument::Map(options)]) => {
            let prefix = options.iter().find_map(|(key, value)| match (key.as_str(), value) {
                ("prefix", CallArgument::Text(text)) => Some(text.clone()),
                _ => None,
            })?;
            (prefix, resolve_router(symbols, file, name))
        }
        ("path" | "re_path", [CallArgument::Text(prefix), CallArgument::Call(include)])
            if include == "include" =>
        {
            // The nested call is the next one in the list.
            let included = symbols.files[file].source.calls.get(at + 1)?.first_string()?;
            (prefix.clone(), (resolve_module_file(symbols, file, included)?, None))
        }
        _ => return None,
    };
    let at = (!object.is_empty()).then(|| object.to_owned());
    Some(Mount { prefix, file: target, router, parent_file: file, parent_router: at })
}

/// Resolves the name under which a router is mounted to its file and its name there.
fn resolve_router(symbols: &SymbolIndex<'_, '_>, file: usize, name: &str) -> (usize, Option<String>) {
    let (object, rest) = name.split_once('.').unwrap_or((name, ""));
    match symbols.imported_from(file, object) {
        // `users.router`: a module and the router in it.
        Some((other, _)) if !rest.is_empty() => (other, Some(rest.to_owned())),
        Some((other, there)) => {
            (other, Some(there.to_owned()).filter(|there| !there.is_empty() && there != "default"))
        }
        None => (file, Some(name.to_owned())),
    }
}

fn resolve_module_file(symbols: &SymbolIndex<'_, '_>, file: usize, module: &str) -> Option<usize> {
    let import = SourceImport { module: module.to_owned(), name: None, local: String::new(), line: 0 };
    symbols.file_index(&import_resolution::resolve_import(
        symbols.sources,
        symbols.files[file].path,
        &import,
    )?)
}
