//! Builds and installs the servers, outside the clone where they are not ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BenchResult;
use crate::peer::BenchPeer;

const BENCH_DIR: &str = env!("CARGO_MANIFEST_DIR");

/// Builds the Rust servers as this program was built (in release, if figures are wanted) and returns the folder that they
/// are in.
pub(crate) fn build() -> BenchResult<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let profile: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
    // One after the other: together they would share features, and everything would be built once more.
    for package in ["bench", "fluxway-cli"] {
        run_with_retries(Command::new(&cargo).arg("build").args(profile).args(["--bins", "-p", package]))?;
    }
    Ok(std::env::current_exe()?.parent().ok_or("the bench is in a folder")?.to_owned())
}

fn cache_dir() -> BenchResult<PathBuf> {
    let cache = std::env::var_os("CHECK_CACHE").map(PathBuf::from);
    let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/fluxway"));
    Ok(cache.or_else(usual).ok_or("no HOME to keep the peers in")?.join("bench-peers"))
}

fn run_with_retries(command: &mut Command) -> BenchResult<()> {
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

fn typescript_peer() -> BenchResult<BenchPeer> {
    let folder = cache_dir()?.join("typescript");
    std::fs::create_dir_all(&folder)?;
    for file in ["package.json", "server.mjs"] {
        std::fs::copy(Path::new(BENCH_DIR).join("peers/typescript").join(file), folder.join(file))?;
    }
    if !folder.join("node_modules/@modelcontextprotocol/sdk").exists() {
        run_with_retries(
            Command::new("npm").args(["install", "--no-audit", "--no-fund", "--silent"]).current_dir(&folder),
        )?;
    }
    let server = folder.join("server.mjs").display().to_string();
    Ok(BenchPeer::new("TypeScript SDK 1.32", "node", &[&server]))
}

fn python_peer() -> BenchResult<BenchPeer> {
    let folder = cache_dir()?.join("python");
    let python = folder.join("bin/python");
    if !folder.join("bin/pip").exists() {
        run_with_retries(Command::new("python3").arg("-m").arg("venv").arg(&folder))?;
    }
    let requirements = Path::new(BENCH_DIR).join("peers/python/requirements.txt");
    run_with_retries(
        Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(requirements),
    )?;
    let server = Path::new(BENCH_DIR).join("peers/python/server.py").display().to_string();
    Ok(BenchPeer::new("Python mcp 2.3", &python.display().to_string(), &[&server]))
}

/// A peer of another language that cannot be had is named, and the rest is measured.
fn or_report_missing(name: &str, peer: BenchResult<BenchPeer>) -> Option<BenchPeer> {
    peer.map_err(|error| println!("NOT MEASURED: {name}: {error}")).ok()
}

/// Fluxway, the floor, and the servers of the other SDKs.
pub(crate) fn all_peers() -> BenchResult<Vec<BenchPeer>> {
    let mut peers = rust_peers()?;
    peers.extend(or_report_missing("TypeScript SDK", typescript_peer()));
    peers.extend(or_report_missing("Python mcp", python_peer()));
    Ok(peers)
}

/// Those that can ask.
pub(crate) fn eliciting_peers() -> BenchResult<Vec<BenchPeer>> {
    let mut peers = rust_peers()?;
    peers.retain(|peer| !peer.name.starts_with("rmcp"));
    peers.extend(or_report_missing("TypeScript SDK", typescript_peer()));
    Ok(peers)
}

fn rust_peers() -> BenchResult<Vec<BenchPeer>> {
    let folder = build()?;
    let binary = |name: &str| folder.join(name).display().to_string();
    Ok(vec![
        BenchPeer::new(
            "fluxway",
            &binary("fluxway"),
            &["serve", "--config", "/dev/null", "--toolsets", "reference,diagnostics"],
        ),
        BenchPeer::new("bare loop", &binary("peer-bare"), &[]),
        BenchPeer::new("rmcp 3.8", &binary("peer-rmcp"), &[]),
    ])
}

/// Fluxway alone.
pub(crate) fn fluxway_peer() -> BenchResult<BenchPeer> {
    Ok(rust_peers()?.swap_remove(0))
}

/// Fluxway with its tools for repositories, in this folder.
pub(crate) fn repository_server_command(root: &str) -> BenchResult<Vec<String>> {
    let binary = build()?.join("fluxway").display().to_string();
    let args = ["serve", "--config", "/dev/null", "--read-only", "--root", root];
    Ok(std::iter::once(binary).chain(args.map(str::to_owned)).collect())
}

/// A program that reads or lists a tree, as a shell command in which `$DIR` is the folder.
pub(crate) struct TreeTool {
    pub(crate) name: String,
    pub(crate) command: String,
}

/// The endings of the files whose lines fluxway counts.
const CODE_EXTENSIONS: &[&str] = &[
    "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "go", "rs", "java", "kt", "kts",
    "scala", "groovy", "gradle", "rb", "rake", "ru", "gemspec", "php", "cs", "fs", "fsx", "ex", "exs",
    "heex", "eex", "erl", "hrl", "c", "h", "cc", "cpp", "cxx", "hpp", "hh", "hxx", "swift", "m", "mm",
    "dart", "lua", "r", "R", "jl", "hs", "clj", "cljs", "cljc", "zig", "pl", "pm", "sh", "bash", "zsh",
    "ps1", "sql", "vue", "svelte", "astro", "html", "htm", "erb", "jinja", "j2", "cshtml", "razor", "twig",
    "css", "scss", "sass", "less",
];

/// Fluxway's two tools, and what they are measured beside.
pub(crate) fn tree_tools() -> BenchResult<Vec<TreeTool>> {
    let fluxway = build()?.join("fluxway").display().to_string();
    let tool = |name: &str, command: String| TreeTool { name: name.to_owned(), command };
    let call = |tool: &str, args: &str| {
        format!("{fluxway} --config /dev/null --root \"$DIR\" call {tool} --json{args}")
    };
    let mut tools = vec![
        tool("analyze_repository", call("analyze_repository", "")),
        tool("detect_frameworks", call("detect_frameworks", " --args '{\"repository_profile\":{}}'")),
    ];
    match cargo_install("ripgrep", "rg") {
        Ok(rg) => {
            let globs: Vec<String> =
                CODE_EXTENSIONS.iter().map(|ending| format!("-g '*.{ending}'")).collect();
            let options = "--no-config --no-require-git";
            tools.push(tool(
                "rg -c '' (code files)",
                format!("{rg} {options} -c '' {} \"$DIR\"", globs.join(" ")),
            ));
            tools.push(tool("rg --files", format!("{rg} {options} --files \"$DIR\"")));
        }
        Err(error) => println!("NOT MEASURED: ripgrep: {error}"),
    }
    match cargo_install("tokei", "tokei") {
        Ok(tokei) => tools.push(tool("tokei", format!("{tokei} \"$DIR\""))),
        Err(error) => println!("NOT MEASURED: tokei: {error}"),
    }
    match which("scc") {
        Some(scc) => tools.push(tool("scc", format!("{scc} \"$DIR\""))),
        None => println!("NOT MEASURED: scc: it is not installed"),
    }
    match install_fluxloop() {
        Ok(python) => tools.push(tool("fluxloop-mcp 0.1.3 (Python)", fluxloop_command(&python))),
        Err(error) => println!("NOT MEASURED: fluxloop-mcp: {error}"),
    }
    Ok(tools)
}

/// A Rust program, built once and kept outside the clone.
fn cargo_install(package: &str, program: &str) -> BenchResult<String> {
    let folder = cache_dir()?.join("tools");
    let path = folder.join("bin").join(program);
    if !path.exists() {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        run_with_retries(
            Command::new(cargo).args(["install", "--quiet", "--locked", package, "--root"]).arg(&folder),
        )?;
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
pub(crate) fn install_fluxloop() -> BenchResult<String> {
    let folder = cache_dir()?.join("fluxloop");
    let python = folder.join("bin/python");
    if !python.exists() {
        run_with_retries(Command::new("python3").arg("-m").arg("venv").arg(&folder))?;
    }
    if !folder.join("bin/fluxloop-mcp").exists() {
        run_with_retries(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "fluxloop-mcp==0.1.3",
        ]))?;
    }
    Ok(folder.join("bin/fluxloop-mcp").display().to_string())
}

/// One request on its pipe: it has no command for this.
fn fluxloop_command(server: &str) -> String {
    let request = r#"{\"type\":\"request\",\"id\":\"1\",\"tool\":\"analyze_repository\",\"root\":\"$DIR\",\"params\":{\"root\":\"$DIR\"}}"#;
    format!("{server} <<< \"{request}\"")
}
