//! Resolves an import to a file of the tree.

use crate::inventory::FileInventory;
use crate::manifest::{join_path, parent_folder};
use crate::source::SourceImport;
use crate::source_cache::SourceCache;

pub(crate) fn resolve_import(sources: &SourceCache<'_>, path: &str, import: &SourceImport) -> Option<String> {
    if path.ends_with(".py") {
        resolve_python_import(sources, path, import)
    } else {
        resolve_script_import(sources, path, &import.module)
    }
}

fn resolve_python_import(sources: &SourceCache<'_>, path: &str, import: &SourceImport) -> Option<String> {
    let dots = import.module.len() - import.module.trim_start_matches('.').len();
    let way = import.module[dots..].replace('.', "/");
    let mut near = parent_folder(path);
    for _ in 1..dots {
        near = parent_folder(near);
    }
    let project = enclosing_project_folder(sources, path);
    let src = join_path(project, "src");
    // Any folder above may be the one that the program is started in: `manage.py` lies beside the settings' package.
    let above = near.match_indices('/').map(|(end, _)| &near[..end]).rev();
    let bases: Vec<&str> = match dots {
        0 => [project, src.as_str(), near].into_iter().chain(above).chain([""]).collect(),
        _ => vec![near],
    };
    for base in bases {
        let module = join_path(base, &way);
        // `from package import module` before `from module import name`.
        let inner = import.name.as_ref().map(|name| join_path(&module, name));
        for place in inner.iter().chain([&module]) {
            let found = [format!("{place}.py"), format!("{place}/__init__.py")];
            if let Some(file) = found.into_iter().find(|file| sources.inventory.contains(file)) {
                return Some(file);
            }
        }
    }
    None
}

fn resolve_script_import(sources: &SourceCache<'_>, path: &str, module: &str) -> Option<String> {
    if module.starts_with('.') {
        return resolve_script_path(sources.inventory, &join_path(parent_folder(path), module));
    }
    let project = enclosing_project_folder(sources, path);
    // Common aliases; the `paths` of `tsconfig.json` are not read.
    for alias in ["@/", "~/", "$lib/", "src/", "#/"] {
        if let Some(rest) = module.strip_prefix(alias) {
            let places = ["src", "", "app", "src/lib"];
            return places.iter().find_map(|place| {
                resolve_script_path(sources.inventory, &join_path(&join_path(project, place), rest))
            });
        }
    }
    // Another package of the same workspace: `@acme/ui/button` is `button` of `@acme/ui`.
    let parts = if module.starts_with('@') { 2 } else { 1 };
    let end = module.match_indices('/').nth(parts - 1).map_or(module.len(), |(at, _)| at);
    let other = sources.projects.find_by_name(&module[..end])?;
    let rest = module[end..].trim_start_matches('/');
    let rest = if rest.is_empty() { "index" } else { rest };
    ["src", "", "lib"].iter().find_map(|place| {
        resolve_script_path(sources.inventory, &join_path(&join_path(&other.folder, place), rest))
    })
}

fn enclosing_project_folder<'l>(sources: &'l SourceCache<'_>, path: &str) -> &'l str {
    sources.projects.innermost_project(path).map_or("", |at| sources.projects.all[at].folder.as_str())
}

/// Resolves a script with or without extension, or the index of a folder. `./chat.js` may refer to `chat.ts`.
pub(crate) fn resolve_script_path(inventory: &FileInventory, path: &str) -> Option<String> {
    if inventory.contains(path) {
        return Some(path.to_owned());
    }
    let written =
        ["js", "mjs", "cjs", "jsx"].iter().find_map(|ending| path.strip_suffix(&format!(".{ending}")));
    let stem = written.unwrap_or(path);
    let endings = ["ts", "tsx", "js", "jsx", "mts", "mjs", "cts", "cjs"];
    let plain = endings.iter().map(|ending| format!("{stem}.{ending}"));
    let index = endings.iter().map(|ending| format!("{stem}/index.{ending}"));
    plain.chain(index).find(|path| inventory.contains(path))
}
