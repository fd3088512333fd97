//! The port and start command of a program's development server.

use crate::patterns;
use tree::Tree;

use crate::layout::read_package_json;
use crate::recipe::Recipe;

/// The port of a package's development server, if it appears in the code.
pub(crate) fn find_port(tree: &Tree, files: &[String]) -> Option<u16> {
    let pattern = patterns::compile(
        r"(?:listen\(\s*|\bport\s*[:=]\s*|[a-z]Port\s*[:=]\s*|\bPORT\s*[:=]\s*|PORT\s*(?:\|\||\?\?)\s*|--port[= ]|\s-p\s)[^\d\n{]{0,40}?(\d{4,5})\b|PORT[^\n\d]{0,12}(?:10\s*)?\)?\s*(?:\|\||\?\?)\s*[\x22']?(\d{4,5})\b|PORT\s*:\s*z\.[^\n]{0,80}?default\(\s*[\x22']?(\d{4,5})\b",
    )
    .ok()?;
    files.iter().take(20).find_map(|path| {
        let mut text = String::from_utf8(tree.read(path, 256 * 1024).ok()?).ok()?;
        if let Some(package) = path.strip_suffix("package.json") {
            // Only the script that starts the server: others start other things.
            text = start_script(tree, package.trim_end_matches('/'))?.1;
        }
        let found = pattern.captures(&text)?;
        (1..=3).find_map(|group| found.get(group))?.as_str().parse().ok()
    })
}

/// The name and the text of the script of `package.json` that starts the server.
fn start_script(tree: &Tree, package: &str) -> Option<(&'static str, String)> {
    let scripts = read_package_json(tree, package)?["scripts"].take();
    let mut names = ["dev", "start:dev", "develop", "serve", "start"].into_iter();
    names.find_map(|name| Some((name, scripts.get(name)?.as_str()?.to_owned())))
}

/// The port that a tool uses if it is told none.
pub(crate) fn port_of_tool(tree: &Tree, package: &str) -> Option<u16> {
    const PORTS: &[(&str, u16)] =
        &[("wrangler", 8787), ("vite", 5173), ("astro", 4321), ("netlify dev", 8888)];
    let (_, script) = start_script(tree, package)?;
    PORTS.iter().find(|(tool, _)| script.contains(tool)).map(|(_, port)| *port)
}

/// The command that starts a package's development server: a script of its `package.json`; its main file; else the recipe's.
/// `entry_points`: paths within the package.
pub(crate) fn start_command(
    tree: &Tree,
    recipe: &Recipe,
    package: &str,
    manager: &str,
    entry_points: &[String],
) -> String {
    match start_script(tree, package) {
        Some(("start", _)) => return format!("{manager} start"),
        Some((name, _)) => return format!("{manager} run {name}"),
        None => {}
    }
    let script = entry_points.iter().find(|path| matches!(path.rsplit('.').next(), Some("js" | "mjs")));
    script.map_or_else(|| recipe.start_command.to_owned(), |path| format!("node {path}"))
}
