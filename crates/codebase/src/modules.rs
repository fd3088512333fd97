//! Which file an import means, if it is one of the tree's own.

use crate::look::Looks;
use crate::manifest::{folder_of, join};
use crate::source::Import;
use crate::survey::Survey;

/// The file that an import in `path` leads to.
pub(crate) fn file_of(looks: &Looks<'_>, path: &str, import: &Import) -> Option<String> {
    if path.ends_with(".py") { python(looks, path, import) } else { script(looks, path, &import.module) }
}

fn python(looks: &Looks<'_>, path: &str, import: &Import) -> Option<String> {
    let dots = import.module.len() - import.module.trim_start_matches('.').len();
    let way = import.module[dots..].replace('.', "/");
    let mut near = folder_of(path);
    for _ in 1..dots {
        near = folder_of(near);
    }
    let project = project_of(looks, path);
    let src = join(project, "src");
    let bases: &[&str] = if dots > 0 { &[near] } else { &[project, src.as_str(), near, ""] };
    for base in bases {
        let module = join(base, &way);
        // `from package import module` before `from module import name`.
        let inner = import.name.as_ref().map(|name| join(&module, name));
        for place in inner.iter().chain([&module]) {
            let found = [format!("{place}.py"), format!("{place}/__init__.py")];
            if let Some(file) = found.into_iter().find(|file| looks.survey.has(file)) {
                return Some(file);
            }
        }
    }
    None
}

fn script(looks: &Looks<'_>, path: &str, module: &str) -> Option<String> {
    if module.starts_with('.') {
        return spelled(looks.survey, &join(folder_of(path), module));
    }
    let project = project_of(looks, path);
    // The usual aliases; what `tsconfig.json` says in full is not read.
    for alias in ["@/", "~/", "$lib/", "src/", "#/"] {
        if let Some(rest) = module.strip_prefix(alias) {
            let places = ["src", "", "app", "src/lib"];
            return places.iter().find_map(|place| spelled(looks.survey, &join(&join(project, place), rest)));
        }
    }
    // Another package of the same workspace: `@acme/ui/button` is `button` of `@acme/ui`.
    let parts = if module.starts_with('@') { 2 } else { 1 };
    let end = module.match_indices('/').nth(parts - 1).map_or(module.len(), |(at, _)| at);
    let other = looks.projects.named(&module[..end])?;
    let rest = module[end..].trim_start_matches('/');
    let rest = if rest.is_empty() { "index" } else { rest };
    ["src", "", "lib"]
        .iter()
        .find_map(|place| spelled(looks.survey, &join(&join(&other.folder, place), rest)))
}

fn project_of<'l>(looks: &'l Looks<'_>, path: &str) -> &'l str {
    looks.projects.of(path).map_or("", |at| looks.projects.all[at].folder.as_str())
}

/// A script with or without its ending, or the index of a folder. `./chat.js` may be written for `chat.ts`.
pub(crate) fn spelled(survey: &Survey, path: &str) -> Option<String> {
    if survey.has(path) {
        return Some(path.to_owned());
    }
    let written =
        ["js", "mjs", "cjs", "jsx"].iter().find_map(|ending| path.strip_suffix(&format!(".{ending}")));
    let stem = written.unwrap_or(path);
    let endings = ["ts", "tsx", "js", "jsx", "mts", "mjs", "cts", "cjs"];
    let plain = endings.iter().map(|ending| format!("{stem}.{ending}"));
    let index = endings.iter().map(|ending| format!("{stem}/index.{ending}"));
    plain.chain(index).find(|path| survey.has(path))
}
