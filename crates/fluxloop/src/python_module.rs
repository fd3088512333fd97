//! Python modules: the folder that a file is imported from, and what it imports in turn.

use std::collections::BTreeSet;

use crate::patterns;
use tree::Tree;

use crate::integrate::RecipeInput;

/// A Python module and the folder that it is found from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonModule {
    /// The folder, from the root of the repository.
    pub(crate) root: String,
    /// Folders that others of its imports are found from.
    pub(crate) more_roots: Vec<String>,
    pub(crate) name: String,
}

/// Words that cannot stand in an import.
#[rustfmt::skip] // a list, not a column
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally",
    "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try",
    "while", "with", "yield", "None", "True", "False",
];

/// The module that a file is. The folder is the one from which most of its own imports are found.
pub(crate) fn resolve_module(input: &RecipeInput<'_>, path: &str) -> Option<PythonModule> {
    if let Some(known) = input.modules.borrow().get(path) {
        return known.clone();
    }
    let found = search_module(input, path);
    input.modules.borrow_mut().insert(path.to_owned(), found.clone());
    found
}

fn search_module(input: &RecipeInput<'_>, path: &str) -> Option<PythonModule> {
    let (tree, package) = (input.tree, input.package.as_str());
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut roots = vec![package_root(tree, folder)];
    for root in [join(package, "src"), package.to_owned(), String::new(), folder.to_owned()] {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots.retain(|root| root.is_empty() || path.starts_with(&format!("{root}/")));
    let seen = input.file_summary(path).unwrap_or_default();
    let imports = &seen.imports;
    // `from ..x import y` needs as many packages around the file as it has dots.
    let dots = imports
        .iter()
        .map(|(module, _)| module.len() - module.trim_start_matches('.').len())
        .max()
        .unwrap_or(0);
    let depth =
        |root: &str| path.strip_prefix(root).unwrap_or(path).trim_start_matches('/').matches('/').count();
    roots.retain(|root| depth(root) >= dots);
    let tops =
        imports.iter().filter_map(|(module, _)| module.split('.').next().filter(|top| !top.is_empty()));
    let is_there = |path: String| tree.metadata(&path).ok().flatten().is_some();
    let tops: Vec<&str> = tops.collect();
    // The whole way of an import: an empty folder of the same name is no package.
    let ways: Vec<String> = imports
        .iter()
        .filter(|(module, _)| !module.starts_with('.'))
        .map(|(module, _)| module.replace('.', "/"))
        .collect();
    let finds = |root: &String| {
        ways.iter()
            .filter(|way| is_there(join(root, &format!("{way}.py"))) || is_there(join(root, way)))
            .count()
    };
    // A Django project is imported from the folder of its `manage.py`. Else, of those that find as much, the first.
    let above = path.rmatch_indices('/').map(|(end, _)| &path[..end]).chain([""]);
    let managed = above.into_iter().find(|folder| is_there(join(folder, "manage.py"))).map(str::to_owned);
    let managed = managed.filter(|folder| depth(folder) >= dots);
    let root = managed.or_else(|| roots.iter().rev().max_by_key(|root| finds(root)).cloned())?;
    // Some programs import one module as `app.tools` and the next as `tools`.
    let has =
        |root: &String, top: &str| is_there(join(root, &format!("{top}.py"))) || is_there(join(root, top));
    let missing = tops.iter().filter(|top| !has(&root, top));
    let more: BTreeSet<String> =
        missing.filter_map(|top| roots.iter().find(|other| has(other, top)).cloned()).collect();
    let inside = path.strip_prefix(&root)?.trim_start_matches('/').strip_suffix(".py")?;
    let name = inside.strip_suffix("/__init__").unwrap_or(inside).replace('/', ".");
    let is_name = |part: &str| {
        !part.is_empty()
            && !part.starts_with(|c: char| c.is_ascii_digit())
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !KEYWORDS.contains(&part)
    };
    let more_roots = more.into_iter().collect();
    name.split('.').all(is_name).then_some(PythonModule { root, more_roots, name })
}

/// The path of something in a folder; of the root, if the folder is empty.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// An import of a module that is, or should be, in the repository.
enum OwnImport<'i> {
    /// The folder that it was found from, its file, and the path and name that were imported.
    Found { root: &'i str, file: &'i str, way: &'i str, name: Option<&'i String> },
    /// The folder of its package, in which it is not.
    Missing { root: &'i str, way: &'i str },
}

/// Follows the imports of files, and of what they import. Returns all of these files.
fn follow_imports(
    input: &RecipeInput<'_>,
    paths: &[String],
    root: &str,
    mut visit: impl FnMut(&str, &OwnImport<'_>),
) -> BTreeSet<String> {
    const MAX_FILES: usize = 80;
    let mut roots = vec![root.to_owned()];
    for root in [join(&input.package, "src"), input.package.clone(), String::new()] {
        let is_above = |path: &String| root.is_empty() || path.starts_with(&format!("{root}/"));
        if !roots.contains(&root) && paths.iter().all(is_above) {
            roots.push(root);
        }
    }
    let (mut seen, mut open): (BTreeSet<String>, Vec<String>) =
        (paths.iter().cloned().collect(), paths.to_vec());
    while let Some(at) = open.pop() {
        let Some(summary) = input.file_summary(&at) else { continue };
        for (imported, name) in &summary.imports {
            let mut next = Vec::new();
            if imported.starts_with('.') {
                next.extend(input.module_file(&at, imported));
                let inner = name.as_ref().map(|name| format!("{}.{name}", imported.trim_end_matches('.')));
                next.extend(inner.and_then(|inner| input.module_file(&at, &inner)));
            } else {
                let way = imported.replace('.', "/");
                let file_in = |root: &String| {
                    let inner = name.iter().map(|name| format!("{way}/{name}"));
                    inner
                        .chain([way.clone()])
                        .flat_map(|way| {
                            [join(root, &format!("{way}.py")), join(root, &format!("{way}/__init__.py"))]
                        })
                        .find(|file| input.file_exists(file))
                };
                if let Some((root, file)) = roots.iter().find_map(|root| Some((root, file_in(root)?))) {
                    visit(&at, &OwnImport::Found { root, file: &file, way: &way, name: name.as_ref() });
                    next.push(file);
                } else if let Some(root) = roots.iter().find(|root| is_own_package(input, root, &way)) {
                    visit(&at, &OwnImport::Missing { root, way: &way });
                }
            }
            open.extend(next.into_iter().filter(|file| seen.len() < MAX_FILES && seen.insert(file.clone())));
        }
    }
    seen
}

/// Whether the text of a file, or of one that it imports, is such.
pub(crate) fn any_imported_text(input: &RecipeInput<'_>, path: &str, is_such: impl Fn(&str) -> bool) -> bool {
    let files = follow_imports(input, &[path.to_owned()], "", |_, _| {});
    files.iter().any(|file| is_such(&input.file_text(file)))
}

/// Adds the folders that the files which a module imports, and those that they import, find their modules in. Returns what
/// they import from each other that is not there, and the files.
pub(crate) fn complete_roots(
    input: &RecipeInput<'_>,
    paths: &[String],
    module: &mut PythonModule,
) -> (Vec<String>, BTreeSet<String>) {
    let (redactor, first) = (input.redactor(), module.root.clone());
    let mut missing = Vec::new();
    let files = follow_imports(input, paths, &first, |at, import| match import {
        OwnImport::Found { root, file, way, name } => {
            if *root != first && module.more_roots.iter().all(|known| known != root) {
                module.more_roots.push((*root).to_owned());
            }
            if let Some(name) = name.filter(|name| !has_name(input, file, way, name)) {
                missing.push(format!(
                    "{} imports `{}` from {}, where that name is not found: the program cannot be imported as it is",
                    redactor.file(at),
                    input.display_name(name, at, 0),
                    redactor.file(file)
                ));
            }
        }
        OwnImport::Missing { root, way } => missing.push(format!(
            "{} imports {}, which is not in the repository: the program cannot be imported as it is",
            redactor.file(at),
            redactor.file(&join(root, &format!("{way}.py")))
        )),
    });
    (missing, files)
}

/// Whether a module should be in a package of the repository, by the first part of its name, and is not.
fn is_own_package(input: &RecipeInput<'_>, root: &str, way: &str) -> bool {
    let Some((top, _)) = way.split_once('/') else { return false };
    input.file_exists(&join(root, &format!("{top}/__init__.py"))) && !input.file_exists(&join(root, way))
}

/// Whether a file may have a name: it occurs in it, or all names of another module do.
fn has_name(input: &RecipeInput<'_>, file: &str, way: &str, name: &str) -> bool {
    // `from package import module`
    if file.ends_with(&format!("{way}/{name}.py")) || file.ends_with(&format!("{way}/{name}/__init__.py")) {
        return true;
    }
    let text = input.file_text(file);
    let is_open = ["import *", "__getattr__", "globals()", "setattr("].iter().any(|word| text.contains(word));
    let is_folder =
        file.strip_suffix("__init__.py").is_some_and(|folder| input.file_exists(&format!("{folder}{name}")));
    let stub = patterns::compile(&format!(r"\b{}\b", regex::escape(name)));
    name == "*" || is_open || is_folder || stub.is_ok_and(|stub| stub.is_match(&text))
}

/// The folder above the outermost of the packages that a folder is in.
fn package_root(tree: &Tree, folder: &str) -> String {
    let mut at = folder;
    while !at.is_empty() && tree.metadata(&format!("{at}/__init__.py")).ok().flatten().is_some() {
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
    at.to_owned()
}
