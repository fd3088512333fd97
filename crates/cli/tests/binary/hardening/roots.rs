//! Where nobody named a folder, the working directory is one only if it can be a project.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{StdioServer, fluxway, run_command};

/// A home with a project in it.
fn home_with_project() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap().join("ann");
    std::fs::create_dir_all(home.join("app")).unwrap();
    std::fs::write(home.join("app/requirements.txt"), "flask==3.0.1\n").unwrap();
    (folder, home)
}

fn command_in(folder: &Path, home: &Path, args: &[&str]) -> Command {
    let mut command = fluxway(args);
    command.env("HOME", home).env_remove("FLUXWAY_ROOT").current_dir(folder);
    command
}

/// What a server says that was asked to look into a folder.
fn analyze_root(command: &mut Command, root: &str) -> Value {
    let mut server = StdioServer::spawn(command.stderr(Stdio::null()));
    let about = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about });
    server.ask("initialize", &hello);
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let fortune = json!({ "name": "tell_fortune", "arguments": { "category": "love" } });
    assert_eq!(server.ask("tools/call", &fortune)["result"]["isError"], Value::Null);
    assert!(server.ask("resources/list", &json!({}))["result"]["resources"].is_array());
    let look = json!({ "name": "analyze_repository", "arguments": { "root": root } });
    server.ask("tools/call", &look)["result"].take()
}

#[test]
fn server_started_outside_a_project_reports_no_root() {
    let (_folder, home) = home_with_project();
    let parent = home.parent().unwrap();
    for fixture in [Path::new("/"), Path::new("/usr/bin"), Path::new("/tmp"), &home, parent] {
        for root in [".", "/", "/etc", home.to_str().unwrap()] {
            let said = analyze_root(&mut command_in(fixture, &home, &["serve"]), root);
            let text = said["content"][0]["text"].as_str().unwrap_or_default();
            let expected = format!("no folder to work in: `{}` is too broad", fixture.display());
            assert!(said["isError"] == true && text.starts_with(&expected), "{fixture:?}, {root}: {said}");
            assert!(text.contains("pass `--root DIR`, or set FLUXWAY_ROOT"), "{text}");
        }
    }
    let said = analyze_root(&mut command_in(&home.join("app"), &home, &["serve"]), ".");
    assert_eq!(said["structuredContent"]["frameworkCandidates"][0], "flask", "{said}");
}

#[test]
fn explicit_roots_are_accepted_with_a_warning() {
    let (_folder, home) = home_with_project();
    let named = home.to_str().unwrap();
    let settings = home.join("settings.toml");
    std::fs::write(&settings, format!("root = ['{named}']\n")).unwrap();
    let settings = settings.to_str().unwrap();
    let mut by_variable = command_in(Path::new("/"), &home, &["serve"]);
    by_variable.env("FLUXWAY_ROOT", &home);
    for command in [
        &mut command_in(Path::new("/"), &home, &["serve", "--root", named]),
        &mut command_in(&home, &home, &["serve", "--root", "."]),
        &mut command_in(Path::new("/"), &home, &["serve", "--config", settings]),
        &mut by_variable,
    ] {
        let said = analyze_root(command, "app");
        assert_eq!(said["structuredContent"]["frameworkCandidates"][0], "flask", "{said}");
    }
    // Said once, in the log; and not where the folder is a project.
    for (args, fixture, warned) in [
        (&["serve", "--root", "/"][..], home.join("app"), Some("tools may read this whole folder")),
        (&["serve", "--root", named], home.join("app"), Some("tools may read this whole folder")),
        (&["serve"], home.clone(), Some("no folder to work in")),
        (&["serve"], home.join("app"), None),
    ] {
        let (code, _, err) = run_command(&mut command_in(&fixture, &home, args));
        assert_eq!(code, 0, "{err}");
        assert_eq!(warned.is_none(), err.is_empty(), "{args:?}: {err}");
        assert!(err.contains(warned.unwrap_or_default()), "{args:?}: {err}");
    }
}

#[test]
fn only_repository_commands_need_a_root() {
    let (_folder, home) = home_with_project();
    let plan = home.join("plan.json");
    std::fs::write(&plan, r#"{"summary": "s", "edits": []}"#).unwrap();
    let (plan, app) = (plan.to_str().unwrap(), home.join("app"));
    let app = app.to_str().unwrap();
    for fixture in [Path::new("/"), &home] {
        for args in [
            &["plan"][..],
            &["integrate", "--yes"],
            &["apply", plan],
            &["undo"],
            &["call", "analyze_repository"],
            &["call", "fetch_insight_context"],
        ] {
            let (code, out, err) = run_command(&mut command_in(fixture, &home, args));
            assert_eq!((code, out.as_str()), (1, ""), "{fixture:?}, {args:?}: {err}");
            assert!(err.contains("no folder to work in"), "{fixture:?}, {args:?}: {err}");
        }
        for args in [
            &["tools"][..],
            &["faq", "what is a persona?"],
            &["call", "tell_fortune", "--category", "love"],
            &["call", "analyze_repository", "--root", app],
            &["demo"],
            &["completions", "bash"],
            &["--version"],
        ] {
            let (code, _, err) = run_command(&mut command_in(fixture, &home, args));
            assert_eq!((code, err.as_str()), (0, ""), "{fixture:?}, {args:?}");
        }
        let (_, _, err) = run_command(&mut command_in(fixture, &home, &["plan", app]));
        assert!(!err.contains("no folder to work in"), "{err}");
    }
}
