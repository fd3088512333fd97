//! Routers that are mounted under a prefix: `app.include_router(router, prefix="/api")`, `app.use("/api", router)`.

use super::glue;
use crate::modules;
use crate::names::Names;
use crate::source::{Argument, CallSite, Import};

/// A router, and where it is mounted.
pub(super) struct Mount {
    prefix: String,
    /// The file that holds the router, and its name there if it is known.
    file: usize,
    router: Option<String>,
    /// What it is mounted at.
    at_file: usize,
    at: Option<String>,
}

/// All mounts in all files.
pub(super) fn all(names: &Names<'_, '_>) -> Vec<Mount> {
    let files = 0..names.files.len();
    let calls = |file: usize| {
        names.files[file].source.calls.iter().enumerate().map(move |(at, call)| (file, at, call))
    };
    files.flat_map(calls).filter_map(|(file, at, call)| mount(names, file, at, call)).collect()
}

/// The prefix of a router, with those of the routers around it.
pub(super) fn prefix(names: &Names<'_, '_>, mounts: &[Mount], file: usize, router: Option<&str>) -> String {
    let (mut prefix, mut file, mut router) = (String::new(), file, router);
    // Three levels are more than anybody has; a router that is mounted at itself must end somewhere.
    for _ in 0..3 {
        let fits = |mount: &&Mount| {
            let same = mount.router.is_none()
                || router.is_none()
                || same_router(names, file, mount.router.as_deref(), router);
            mount.file == file && same && (mount.at_file, mount.at.as_deref()) != (file, router)
        };
        let Some(mount) = mounts.iter().find(fits) else { break };
        prefix = if prefix.is_empty() { mount.prefix.clone() } else { glue(&mount.prefix, &prefix) };
        (file, router) = (mount.at_file, mount.at.as_deref());
        // A router in between may have a prefix of its own.
        let own = router.map(|router| super::prefix_of(names.files[file].source, router)).unwrap_or_default();
        if !own.is_empty() {
            prefix = glue(&own, &prefix);
        }
    }
    prefix
}

/// Whether two names mean one router: `chat_router = r = APIRouter()`.
fn same_router(names: &Names<'_, '_>, file: usize, one: Option<&str>, other: Option<&str>) -> bool {
    let made = |name: Option<&str>| {
        let binding =
            names.files[file].source.bindings.iter().find(|binding| Some(binding.name.as_str()) == name)?;
        Some((binding.line, binding.callee.as_str()))
    };
    one == other || made(one).is_some() && made(one) == made(other)
}

fn mount(names: &Names<'_, '_>, file: usize, at: usize, call: &CallSite) -> Option<Mount> {
    let (object, verb) = call.callee.rsplit_once('.').unwrap_or(("", &call.callee));
    let text_of = |name: &str| match call.named(name) {
        Some(Argument::Text(text)) => text.clone(),
        None => String::new(),
        Some(_) => super::COMPUTED.to_owned(),
    };
    let (prefix, (target, router)) = match (verb, call.arguments.as_slice()) {
        ("include_router", [Argument::Name(name), ..]) => (text_of("prefix"), target(names, file, name)),
        ("register_blueprint", [Argument::Name(name), ..]) => {
            (text_of("url_prefix"), target(names, file, name))
        }
        ("use" | "route" | "mount", [Argument::Text(prefix), .., Argument::Name(name)]) => {
            (prefix.clone(), target(names, file, name))
        }
        ("register", [Argument::Name(name), Argument::Map(options)]) => {
            let prefix = options.iter().find_map(|(key, value)| match (key.as_str(), value) {
                ("prefix", Argument::Text(text)) => Some(text.clone()),
                _ => None,
            })?;
            (prefix, target(names, file, name))
        }
        ("path" | "re_path", [Argument::Text(prefix), Argument::Call(include)]) if include == "include" => {
            // The call within the call is the next one.
            let included = names.files[file].source.calls.get(at + 1)?.first_text()?;
            (prefix.clone(), (module(names, file, included)?, None))
        }
        _ => return None,
    };
    let at = (!object.is_empty()).then(|| object.to_owned());
    Some(Mount { prefix, file: target, router, at_file: file, at })
}

/// The file and the name of a router that is mounted by this name.
fn target(names: &Names<'_, '_>, file: usize, name: &str) -> (usize, Option<String>) {
    let (object, rest) = name.split_once('.').unwrap_or((name, ""));
    match names.imported(file, object) {
        // `users.router`: a module, and the router in it.
        Some((other, _)) if !rest.is_empty() => (other, Some(rest.to_owned())),
        Some((other, there)) => {
            (other, Some(there.to_owned()).filter(|there| !there.is_empty() && there != "default"))
        }
        None => (file, Some(name.to_owned())),
    }
}

/// The file of a Python module.
fn module(names: &Names<'_, '_>, file: usize, module: &str) -> Option<usize> {
    let import = Import { module: module.to_owned(), name: None, local: String::new(), line: 0 };
    names.file(&modules::file_of(names.looks, names.files[file].path, &import)?)
}
