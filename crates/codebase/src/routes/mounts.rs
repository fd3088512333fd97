//! Routers mounted under a prefix: `app.include_router(router, prefix="/api")`, `app.use("/api", router)`.

use super::join_route_path;
use crate::import_resolution;
use crate::path_role;
use crate::source::{CallArgument, CallSite, FunctionReference, SourceImport};
use crate::symbols::SymbolIndex;

pub(super) struct Mount {
    prefix: String,
    /// The file that defines the router, and its name there if known.
    file: usize,
    router: Option<String>,
    /// The application or router on which it is mounted.
    parent_file: usize,
    parent_router: Option<String>,
    /// What runs before the router: `app.use("/api", requireUser, router)`.
    guards: Vec<String>,
}

pub(super) fn find_mounts(symbols: &SymbolIndex<'_, '_>) -> Vec<Mount> {
    let files = 0..symbols.files.len();
    let calls = |file: usize| {
        symbols.files[file].source.calls.iter().enumerate().map(move |(at, call)| (file, at, call))
    };
    // A copy of the program mounts nothing.
    let files = files.filter(|file| !path_role::is_example_or_test(symbols.files[*file].path));
    files.flat_map(calls).filter_map(|(file, at, call)| parse_mount(symbols, file, at, call)).collect()
}

/// Whether a file with the routes of a Django project is included by none of the others, and is not where they begin.
pub(super) fn is_orphan_urlconf(symbols: &SymbolIndex<'_, '_>, mounts: &[Mount], file: usize) -> bool {
    let path = symbols.files[file].path;
    let Some(folder) = path.strip_suffix("urls.py") else { return false };
    let is_django = |mount: &&Mount| symbols.files[mount.parent_file].path.ends_with("urls.py");
    let begins = ["settings.py", "wsgi.py", "asgi.py", "settings/__init__.py", "settings/base.py"];
    let is_root = begins.iter().any(|name| symbols.sources.inventory.contains(&format!("{folder}{name}")));
    !is_root
        && mounts.iter().filter(is_django).any(|mount| mount.file != file)
        && !mounts.iter().any(|mount| mount.file == file)
}

/// The prefix of a router, including those of its parent routers, and what runs before all of its routes, with the file
/// that says so.
pub(super) fn mount_prefix(
    symbols: &SymbolIndex<'_, '_>,
    mounts: &[Mount],
    file: usize,
    router: Option<&str>,
) -> (String, Vec<(String, usize)>) {
    let (mut prefix, mut file, mut router) = (String::new(), file, router);
    let mut guards = Vec::new();
    // The bound stops at a router that is mounted on itself.
    for _ in 0..8 {
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
        guards.extend(mount.guards.iter().map(|guard| (guard.clone(), mount.parent_file)));
        (file, router) = (mount.parent_file, mount.parent_router.as_deref());
        // The router of a package may come from one of its files.
        if let Some((there, name)) = router.map(|router| symbols.defining_file(file, router))
            && there != file
        {
            (file, router) = (there, Some(name));
        }
        // An intermediate router may have a prefix, too.
        let own = router.map(|router| super::router_prefix(symbols, file, router)).unwrap_or_default();
        if !own.is_empty() {
            prefix = join_route_path(&own, &prefix);
        }
    }
    (prefix, guards)
}

/// Whether two names refer to the same router: `chat_router = r = APIRouter()`.
fn is_same_router(
    symbols: &SymbolIndex<'_, '_>,
    file: usize,
    one: Option<&str>,
    other: Option<&str>,
) -> bool {
    let source = symbols.files[file].source;
    // `export const chatRoutes = router`
    let aliased = |name: Option<&str>| {
        let named = |reference: &&FunctionReference| reference.holder.as_deref() == name && name.is_some();
        source.references.iter().find(named).map(|reference| reference.name.clone())
    };
    let made = |name: Option<&str>| {
        let original = aliased(name);
        let name = original.as_deref().or(name);
        let binding = source.bindings.iter().find(|binding| Some(binding.name.as_str()) == name)?;
        Some((binding.line, binding.callee.as_str()))
    };
    one == other || made(one).is_some() && made(one) == made(other)
}

fn parse_mount(symbols: &SymbolIndex<'_, '_>, file: usize, at: usize, call: &CallSite) -> Option<Mount> {
    let (object, verb) = call.callee.rsplit_once('.').unwrap_or(("", &call.callee));
    let text_of = |name: &str| match call.keyword_argument(name) {
        Some(CallArgument::Text(text)) => text.clone(),
        None => String::new(),
        Some(CallArgument::Name(name)) => {
            symbols.text_constant(file, name).unwrap_or(super::COMPUTED_PATH).to_owned()
        }
        Some(_) => super::COMPUTED_PATH.to_owned(),
    };
    let named = ["router", "blueprint"].iter().find_map(|name| call.keyword_argument(name));
    let (prefix, (target, router)) = match (verb, call.arguments.as_slice()) {
        ("include_router" | "register_blueprint", arguments) => {
            let Some(CallArgument::Name(name)) = arguments.first().or(named) else { return None };
            let prefix = if verb == "include_router" { "prefix" } else { "url_prefix" };
            (text_of(prefix), resolve_router(symbols, file, name))
        }
        ("use" | "route" | "mount", [CallArgument::Text(prefix), .., CallArgument::Name(name)]) => {
            (prefix.clone(), resolve_router(symbols, file, name))
        }
        // Koa: `router.use("/api", chatRouter.routes(), chatRouter.allowedMethods())`.
        ("use", [CallArgument::Text(prefix), rest @ ..]) if koa_router(rest).is_some() => {
            (prefix.clone(), resolve_router(symbols, file, koa_router(rest)?))
        }
        ("use" | "route" | "mount", [CallArgument::Text(prefix), .., CallArgument::Call(require)])
            if require == "require" =>
        {
            // The nested call is among the next in the list.
            let mut next = symbols.files[file].source.calls.get(at + 1..)?.iter().take(8);
            let required = next.find(|next| next.callee == "require" && next.line >= call.line)?;
            (prefix.clone(), (resolve_module_file(symbols, file, required.first_string()?)?, None))
        }
        // Without a prefix: `app.use(routes)`.
        ("use", [CallArgument::Name(_) | CallArgument::Call(_), ..]) if !object.is_empty() => {
            let Some(CallArgument::Name(name)) = call.arguments.last() else { return None };
            let (target, router) = resolve_router(symbols, file, name);
            (String::new(), Some((target, router)).filter(|_| target != file)?)
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
    let guards = if matches!(verb, "use" | "route") {
        super::middleware_names(call, call.first_string().is_none())
    } else {
        super::listed_dependencies(symbols, file, call)
    };
    Some(Mount { prefix, file: target, router, parent_file: file, parent_router: at, guards })
}

/// The router of `chatRouter.routes()`.
fn koa_router(arguments: &[CallArgument]) -> Option<&str> {
    arguments.iter().find_map(|argument| match argument {
        CallArgument::Call(callee) => callee.strip_suffix(".routes"),
        _ => None,
    })
}

/// Resolves the name under which a router is mounted to its file and its name there.
fn resolve_router(symbols: &SymbolIndex<'_, '_>, file: usize, name: &str) -> (usize, Option<String>) {
    let (object, rest) = name.split_once('.').unwrap_or((name, ""));
    match symbols.imported_from(file, object) {
        // `users.router`: a module and the router in it.
        Some((other, _)) if !rest.is_empty() => match symbols.imported_from(other, rest) {
            // A file that gathers routers: `app.use("/api", routes.chat)`.
            Some((third, there)) => {
                let (third, there) = symbols.defining_file(third, there);
                (third, Some(there.to_owned()).filter(|there| !there.is_empty()))
            }
            None => (other, Some(rest.to_owned())),
        },
        Some((other, there)) => {
            let (other, there) = symbols.defining_file(other, there);
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
