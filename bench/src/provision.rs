//! Builds and installs the servers, outside the clone where they are not ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::peer::Peer;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Builds the Rust servers in release and returns the folder that they are in.
fn build() -> Outcome<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    // One after the other: together they would share features, and everything would be built once more.
    for package in ["bench", "fluxway-cli"] {
        run(Command::new(&cargo).args(["build", "--release", "--bins", "-p", package]))?;
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
