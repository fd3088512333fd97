//! The port and start command of a program's development server.

use regex::Regex;
use tree::Tree;

use crate::layout::read_package_json;
use crate::recipe::Recipe;

/// The port of a package's development server, if it appears in the code.
pub(crate) fn find_port(tree: &Tree, files: &[String]) -> Option<u16> {
    let pattern = Regex::new(
        r"(?:listen\(\s*|\bport\s*[:=]\s*|[a-z]Port\s*[:=]\s*|\bPORT\s*[:=]\s*|PORT\s*(?:\|\||\?\?)\s*|--port[= ]|\s-p\s)[^\d\n{]{0,40}?(\d{4,5})\b",
    )
    .ok()?;
    files.iter().take(20).find_map(|path| {
        let text = String::from_utf8(tree.read(path, 256 * 1024).ok()?).ok()?;
        pattern.captures(&text)?.get(1)?.as_str().parse().ok()
    })
}

/// The command that starts a package's development server: a script of its `package.json`, else the recipe's.
pub(crate) fn start_command(tree: &Tree, recipe: &Recipe, package: &str, manager: &str) -> String {
    let scripts = read_package_json(tree, package).map(|mut json| json["scripts"].take()).unwrap_or_default();
    let named =
        ["dev", "start:dev", "develop", "start"].into_iter().find(|name| scripts.get(*name).is_some());
    match named {
        Some("start") => format!("{manager} start"),
        Some(name) => format!("{manager} run {name}"),
        None => recipe.start_command.to_owned(),
    }
}
