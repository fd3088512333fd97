//! Builds and installs the servers, outside the clone where they are not ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::peer::Peer;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Builds the Rust servers as this program was built (in release, if figures are wanted) and returns the folder that they
/// are in.
pub(crate) fn build() -> Outcome<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let profile: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
    // One after the other: together they would share features, and everything would be built once more.
    for package in ["bench", "fluxway-cli"] {
        run(Command::new(&cargo).arg("build").args(profile).args(["--bins", "-p", package]))?;
    }
    Ok(std::env::current_exe()?.parent().ok_or("the bench is in a folder")?.to_owned())
}

fn cache() -> Outcome<PathBuf> {
    let cache = std::env::var_os("CHECK_CACHE").map(PathBuf::from);
    let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/fluxway"));
    Ok(cache.or_else(usual).ok_or("no HOME to keep the peers in")?.join("bench-peers"))
}

fn run(command: &mut Command) -> Outcome<()> {
    let mut left = 3;
    loop {
        left -= 1;
        match command.status()? {
            status if status.success() => return Ok(()),
            status if left == 0 => return Err(format!("{command:?} ended with {status}").into()),
            _ => {}
        }
    }
}

fn typescript() -> Outcome<Peer> {
    let folder = cache()?.join("typescript");
    std::fs::create_dir_all(&folder)?;
    for file in ["package.json", "server.mjs"] {
        std::fs::copy(Path::new(HERE).join("peers/typescript").join(file), folder.join(file))?;
    }
    if !folder.join("node_modules/@modelcontextprotocol/sdk").exists() {
        run(Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--silent"])
            .current_dir(&folder))?;
    }
    let server = folder.join("server.mjs").display().to_string();
    Ok(Peer::new("TypeScript SDK 1.32", "node", &[&server]))
}

fn python() -> Outcome<Peer> {
    let folder = cache()?.join("python");
    let python = folder.join("bin/python");
    if !folder.join("bin/pip").exists() {
        run(Command::new("python3").arg("-m").arg("venv").arg(&folder))?;
    }
    let requirements = Path::new(HERE).join("peers/python/requirements.txt");
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(requirements))?;
    let server = Path::new(HERE).join("peers/python/server.py").display().to_string();
    Ok(Peer::new("Python mcp 2.3", &python.display().to_string(), &[&server]))
}

/// A peer of another language that cannot be had is named, and the rest is measured.
fn or_missing(name: &str, peer: Outcome<Peer>) -> Option<Peer> {
    peer.map_err(|error| println!("NOT MEASURED: {name}: {error}")).ok()
}

/// Fluxway, the floor, and the servers of the other SDKs.
pub(crate) fn all() -> Outcome<Vec<Peer>> {
    let mut peers = rust()?;
    peers.extend(or_missing("TypeScript SDK", typescript()));
    peers.extend(or_missing("Python mcp", python()));
    Ok(peers)
}

/// Those that can ask.
pub(crate) fn asking() -> Outcome<Vec<Peer>> {
    let mut peers = rust()?;
    peers.retain(|peer| !peer.name.starts_with("rmcp"));
    peers.extend(or_missing("TypeScript SDK", typescript()));
    Ok(peers)
}

fn rust() -> Outcome<Vec<Peer>> {
    let folder = build()?;
    let binary = |name: &str| folder.join(name).display().to_string();
    Ok(vec![
        Peer::new(
            "fluxway",
            &binary("fluxway"),
            &["serve", "--config", "/dev/null", "--toolsets", "reference,diagnostics"],
        ),
        Peer::new("bare loop", &binary("peer-bare"), &[]),
        Peer::new("rmcp 3.8", &binary("peer-rmcp"), &[]),
    ])
}

/// Fluxway alone.
pub(crate) fn fluxway() -> Outcome<Peer> {
    Ok(rust()?.swap_remove(0))
}

/// Fluxway with its tools for repositories, in this folder.
pub(crate) fn integrating(root: &str) -> Outcome<Vec<String>> {
    let binary = build()?.join("fluxway").display().to_string();
    let args = ["serve", "--config", "/dev/null", "--read-only", "--root", root];
    Ok(std::iter::once(binary).chain(args.map(str::to_owned)).collect())
}

/// A program that reads or lists a tree, as a shell command in which `$DIR` is the folder.
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) command: String,
}

/// The endings of the files whose lines fluxway counts.
const CODE: &[&str] = &[
    "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "go", "rs", "java", "kt", "kts",
    "scala", "groovy", "gradle", "rb", "rake", "ru", "gemspec", "php", "cs", "fs", "fsx", "ex", "exs",
    "heex", "eex", "erl", "hrl", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "swift", "m", "mm",
    "dart", "lua", "r", "R", "jl", "hs", "clj", "cljs", "cljc", "zig", "pl", "pm", "sh", "bash", "zsh",
    "ps1", "sql", "vue", "svelte", "astro", "html", "htm", "erb", "jinja", "j2", "cshtml", "razor", "twig",
    "css", "scss", "sass", "less",
];

/// Fluxway's two tools, and what they are measured beside.
pub(crate) fn readers() -> Outcome<Vec<Tool>> {
    let fluxway = build()?.join("fluxway").display().to_string();
    let tool = |name: &str, command: String| Tool { name: name.to_owned(), command };
    let call = |tool: &str, args: &str| {
        format!("{fluxway} --config /dev/null --root \"$DIR\" call {tool} --json{args}")
    };
    let mut tools = vec![
        tool("analyze_repository", call("analyze_repository", "")),
        tool("detect_frameworks", call("detect_frameworks", " --args '{\"repository_profile\":{}}'")),
    ];
    match installed("ripgrep", "rg") {
        Ok(rg) => {
            let globs: Vec<String> = CODE.iter().map(|ending| format!("-g '*.{ending}'")).collect();
            let options = "--no-config --no-require-git";
            tools.push(tool(
                "rg -c '' (code files)",
                format!("{rg} {options} -c '' {} \"$DIR\"", globs.join(" ")),
            ));
            tools.push(tool("rg --files", format!("{rg} {options} --files \"$DIR\"")));
        }
        Err(error) => println!("NOT MEASURED: ripgrep: {error}"),
    }
    match installed("tokei", "tokei") {
        Ok(tokei) => tools.push(tool("tokei", format!("{tokei} \"$DIR\""))),
        Err(error) => println!("NOT MEASURED: tokei: {error}"),
    }
    match which("scc") {
        Some(scc) => tools.push(tool("scc", format!("{scc} \"$DIR\""))),
        None => println!("NOT MEASURED: scc: it is not installed"),
    }
    match fluxloop() {
        Ok(python) => tools.push(tool("fluxloop-mcp 0.1.3 (Python)", fluxloop_command(&python))),
        Err(error) => println!("NOT MEASURED: fluxloop-mcp: {error}"),
    }
    Ok(tools)
}

/// A Rust program, built once and kept outside the clone.
fn installed(package: &str, program: &str) -> Outcome<String> {
    let folder = cache()?.join("tools");
    let path = folder.join("bin").join(program);
    if !path.exists() {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        run(Command::new(cargo).args(["install", "--quiet", "--locked", package, "--root"]).arg(&folder))?;
    }
    Ok(path.display().to_string())
}

fn which(program: &str) -> Option<String> {
    let paths = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.exists())?;
    Some(found.display().to_string())
}

/// The server whose documents fluxway implements, in an environment of its own.
pub(crate) fn fluxloop() -> Outcome<String> {
    let folder = cache()?.join("fluxloop");
    let python = folder.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").arg("-m").arg("venv").arg(&folder))?;
    }
    if !folder.join("bin/fluxloop-mcp").exists() {
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "fluxloop-mcp==0.1.3"]))?;
    }
    Ok(folder.join("bin/fluxloop-mcp").display().to_string())
}

/// One request on its pipe: it has no command for this.
fn fluxloop_command(server: &str) -> String {
    let request = r#"{\"type\":\"request\",\"id\":\"1\",\"tool\":\"analyze_repository\",\"root\":\"$DIR\",\"params\":{\"root\":\"$DIR\"}}"#;
    format!("{server} <<< \"{request}\"")
}
