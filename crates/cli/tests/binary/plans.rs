//! From a repository to a change and back, as typed; and what a kill in the middle leaves behind.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{fluxway, run, run_command};

/// Every file beneath a folder but our own notes.
pub(crate) fn read_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found.retain(|name, _| !name.starts_with(".fluxway"));
    found
}

pub(crate) fn agent_repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("requirements.txt", "openai==1.50.0\n");
    write(
        "bot.py",
        "import sys\n\nfrom openai import OpenAI\n\nclient = OpenAI()\n\n\ndef reply(message: str) -> str:\n    answer = client.chat.completions.create(model=\"m\", messages=[{\"role\": \"user\", \"content\": message}])\n    return answer.choices[0].message.content\n\n\nif __name__ == \"__main__\":\n    print(reply(sys.argv[1]))\n",
    );
    folder
}

/// A `pip` that says what it was asked for, in a folder to put on the path.
fn stand_in_for_pip(code: i32) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let pip = folder.path().join("pip");
    std::fs::write(
        &pip,
        format!("#!/bin/sh\necho \"$*\" >> \"$0.log\"\necho asked for \"$*\"\nexit {code}\n"),
    )
    .unwrap();
    std::fs::set_permissions(&pip, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn packages_are_installed_on_request() {
    // With the flag; with the flag where pip fails; beside an environment that is not active; without the flag.
    for (flags, code, has_venv, expected, asked) in [
        (&["--install", "--yes"][..], 0, false, "passed: pip install fluxloop\n", 2),
        (
            &["--install", "--yes"],
            1,
            false,
            "failed: pip install fluxloop\n    asked for install fluxloop",
            2,
        ),
        (&["--install", "--yes"], 0, true, "the virtual environment .venv is not active", 0),
        (&["--yes"], 0, false, "Applied: 4 files written.", 0),
    ] {
        let (folder, pip) = (agent_repository(), stand_in_for_pip(code));
        if has_venv {
            std::fs::create_dir(folder.path().join(".venv")).unwrap();
        }
        let root = folder.path().to_str().unwrap();
        let plan = pip.path().join("plan.json");
        run(&["plan", root, "--out", plan.to_str().unwrap()]);
        let mut apply = fluxway(&[&["apply", plan.to_str().unwrap(), "--root", root], flags].concat());
        let path = std::env::var("PATH").unwrap();
        apply.env("PATH", format!("{}:{path}", pip.path().display())).env_remove("VIRTUAL_ENV");
        let (exit, out, err) = run_command(&mut apply);
        assert!(out.contains(expected), "{out}{err}");
        assert_eq!(exit, code, "{out}{err}");
        let log = std::fs::read_to_string(pip.path().join("pip.log")).unwrap_or_default();
        let lines = ["install fluxloop", "install fluxloop-cli>=0.4,<0.5"];
        assert_eq!(log.lines().collect::<Vec<_>>(), lines[..asked], "{flags:?}");
    }
}

#[test]
fn plan_is_applied_and_undone() {
    let folder = agent_repository();
    let root = folder.path().to_str().unwrap();
    let kept = tempfile::tempdir().unwrap();
    let plan = kept.path().join("plan.json");
    let plan = plan.to_str().unwrap();
    let before = read_files(folder.path());

    let (code, out, err) = run(&["plan", root, "--out", plan]);
    assert_eq!((code, err.as_str()), (0, ""));
    for line in [
        "+@fluxloop.agent(name=\"reply\")",
        "+import fluxloop",
        "+fluxloop>=0.1.8",
        "+from bot import reply  # noqa: E402",
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line:?} is not in\n{out}");
    }
    assert!(!out.contains('\u{1b}'), "colours belong on a terminal");
    assert_eq!(read_files(folder.path()), before);

    let (code, out, _) = run(&["apply", plan, "--root", root, "--dry-run"]);
    assert!(code == 0 && out.contains("Dry run: nothing was written.\n"), "{out}");
    assert_eq!(read_files(folder.path()), before);
    let (code, out, _) = run(&["apply", plan, "--root", root]);
    assert!(code == 0 && out.contains("Applied: 4 files written."), "{out}");
    let after = read_files(folder.path());
    assert_eq!(after["requirements.txt"], b"openai==1.50.0\nfluxloop>=0.1.8\n");
    let (code, out, _) = run(&["apply", plan, "--root", root]);
    assert!(code == 0 && out.contains("Already applied"), "{out}");
    // Nothing is left to propose. The folder can be named in two ways.
    let (code, out, _) = run(&["plan", "--root", root]);
    assert!(code == 0 && out.contains("is already integrated"), "{out}");
    assert_eq!(read_files(folder.path()), after);

    // Without a terminal to ask on, the plan is named, and nothing is undone.
    let (code, _, err) = run(&["undo", "--root", root]);
    let expected =
        "error: nothing was undone: there is no terminal to ask on; pass --yes or the id of a plan\n";
    assert!(code == 1 && err.starts_with(expected), "{err}");
    assert!(err.contains("The last applied plan is ") && err.contains("Add FluxLoop"), "{err}");
    assert_eq!(read_files(folder.path()), after);
    let (code, out, _) = run(&["undo", "--root", root, "--yes"]);
    assert!(
        code == 0 && out.starts_with("Undone. These files are as they were before the plan:\n  "),
        "{out}"
    );
    assert_eq!(read_files(folder.path()), before);
    assert!(!folder.path().join(".fluxway").exists());
    let (code, _, err) = run(&["undo", "--root", root]);
    assert_eq!((code, err.as_str()), (1, "error: no plan is applied here; there is nothing to undo\n"));
    let id: Value = serde_json::from_slice(&std::fs::read(plan).unwrap()).unwrap();
    for args in [&["undo", "--plan", plan][..], &["undo", id["id"].as_str().unwrap()]] {
        let (code, out, _) = run(&[args, &["--root", root]].concat());
        assert!(code == 0 && out.starts_with("Already undone. "), "{args:?}: {out}");
    }
}

#[test]
fn mistakes_are_explained_by_their_cause() {
    let folder = agent_repository();
    let real_root = folder.path().canonicalize().unwrap();
    let root = folder.path().to_str().unwrap();
    let kept = tempfile::tempdir().unwrap();
    let plan = kept.path().join("plan.json");
    let plan = plan.to_str().unwrap();
    assert_eq!(run(&["plan", root, "--out", plan]).0, 0);
    assert_eq!(run(&["apply", plan, "--root", root]).0, 0);
    // From a folder below, the plan is not seen, but where it is.
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    let run_below = |args: &[&str]| run_command(fluxway(args).env_remove("FLUXWAY_ROOT").current_dir(&below));
    for args in [&["undo", "--yes"][..], &["undo", "0123"]] {
        let (code, _, err) = run_below(args);
        let hint = format!("hint: a plan is applied in {0}; pass --root {0}\n", real_root.display());
        assert!(code == 1 && err.ends_with(&hint), "{args:?}: {err}");
    }
    let (code, _, err) = run_below(&["apply", plan]);
    assert!(code == 1 && err.contains("is not in this folder, nor is any other file"), "{err}");

    let agent = folder.path().join("bot.py");
    let edited = [std::fs::read(&agent).unwrap().as_slice(), b"# edited\n"].concat();
    std::fs::write(&agent, edited).unwrap();
    let (code, _, err) = run(&["apply", plan, "--root", root]);
    let cause = "\n- this plan is already applied, and bot.py has been edited since; undo it first: ";
    assert!(code == 1 && err.contains(cause), "{err}");
    let unknown = "0".repeat(32);
    let (code, _, err) = run(&["apply", &unknown, "--root", root]);
    let expected =
        format!("error: no plan {unknown} is stored; plans are kept for a day: make it again with ");
    assert!(code == 1 && err.starts_with(&expected), "{err}");
}

#[test]
fn oversized_plan_is_rejected() {
    let kept = tempfile::tempdir().unwrap();
    let plan = kept.path().join("plan.json");
    std::fs::write(&plan, json!({ "summary": "x".repeat(5 << 20), "edits": [] }).to_string()).unwrap();
    let (code, _, err) = run(&["apply", plan.to_str().unwrap(), "--root", kept.path().to_str().unwrap()]);
    assert!(code == 1 && err.contains("bytes"), "{err}");
}

#[test]
fn checks_run_only_when_asked() {
    let folder = agent_repository();
    let root = folder.path().to_str().unwrap();
    let kept = tempfile::tempdir().unwrap();
    let path = kept.path().join("plan.json");
    let plan = |checks: Value| {
        let edit = json!({ "filepath": "x.py", "strategy": "create_file", "payload": { "code": "x = 1\n" } });
        let plan = json!({ "summary": "s", "edits": [edit], "postChecks": checks });
        std::fs::write(&path, plan.to_string()).unwrap();
    };
    let file = path.to_str().unwrap();
    plan(json!(["python3 -m py_compile x.py", "python3 -m nothing_of_that_name"]));
    // Without --check there is nothing to agree to.
    for yes in [&[][..], &["--yes"]] {
        let (code, out, _) = run(&[&["apply", file, "--root", root][..], yes].concat());
        assert!(code == 0 && !out.contains("passed"), "{yes:?}: {out}");
    }
    // Without a terminal, and without a yes, nothing is written either.
    let (code, _, err) = run(&["apply", file, "--root", root, "--check"]);
    assert!(code == 2 && err.contains("--yes"), "{err}");
    let (code, out, err) = run(&["apply", file, "--root", root, "--check", "--yes"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("passed: python3 -m py_compile x.py"), "{out}");
    assert!(
        out.contains("failed: python3 -m nothing_of_that_name") && out.contains("No module named"),
        "{out}"
    );
    assert!(err.contains("1 command failed"), "{err}");
    plan(json!(["python3 -c 'import os'"]));
    let (code, _, err) = run(&["apply", file, "--root", root, "--check", "--yes"]);
    assert!(code == 1 && err.contains("is not safe to run"), "{err}");
}

#[test]
fn a_full_disk_changes_nothing() {
    let folder = agent_repository();
    let before = read_files(folder.path());
    let kept = tempfile::tempdir().unwrap();
    let plan = kept.path().join("plan.json");
    let large = "x = 1\n".repeat(4000);
    let edits = json!([
        { "filepath": "bot.py", "strategy": "insert_middleware", "anchors": [{ "type": "append_file" }], "payload": { "code": "y = 2" } },
        { "filepath": "large.py", "strategy": "create_file", "payload": { "code": large } },
    ]);
    std::fs::write(&plan, json!({ "summary": "s", "edits": edits }).to_string()).unwrap();
    // No file may have more than eight blocks of a kilobyte; the system says so by a signal and an error.
    let script = "ulimit -f 8; exec \"$0\" apply \"$1\" --root \"$2\"";
    let mut shell = std::process::Command::new("bash");
    let binary = crate::process::BINARY;
    let ended = shell.args(["-c", script, binary]).arg(&plan).arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("could not be written"), "{said}");
    assert_eq!(read_files(folder.path()), before);
    assert!(!folder.path().join(".fluxway").exists());
}

#[test]
fn read_only_rejects_apply() {
    let folder = agent_repository();
    let root = folder.path().to_str().unwrap();
    let (_, tools, _) = run(&["tools", "--read-only"]);
    assert!(!tools.contains("apply_edit_plan") && tools.contains("validate_edit_plan"), "{tools}");
    let args = r#"{"plan":{"summary":"s","edits":[]}}"#;
    let (code, _, err) = run(&["call", "apply_edit_plan", "--read-only", "--root", root, "--args", args]);
    assert!(code == 1 && err.contains("scope `write`"), "{err}");
}

#[test]
fn a_kill_at_any_moment_leaves_all_or_nothing() {
    // More of them with `KILLS`: ./check --long asks for a thousand.
    let kills: u64 = std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(40);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let edits: Vec<Value> = (0..30)
        .map(|n| {
            let path = format!("d{}/f{n}.py", n % 5);
            std::fs::create_dir_all(folder.path().join(&path).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(&path), format!("a = {n}\n")).unwrap();
            json!({ "filepath": path, "strategy": "insert_middleware", "anchors": [{ "type": "append_file" }], "payload": { "code": "b = 2" } })
        })
        .chain([json!({ "filepath": "made/here.txt", "strategy": "create_file", "payload": { "code": "x" } })])
        .collect();
    let kept = tempfile::tempdir().unwrap();
    let plan = kept.path().join("plan.json");
    std::fs::write(&plan, json!({ "summary": "s", "edits": edits }).to_string()).unwrap();
    let plan = plan.to_str().unwrap();
    let nothing = kept.path().join("nothing.json");
    std::fs::write(&nothing, r#"{"summary":"s","edits":[]}"#).unwrap();
    let nothing = nothing.to_str().unwrap();

    let old = read_files(folder.path());
    let started = std::time::Instant::now();
    let (code, out, err) = run(&["apply", plan, "--root", root]);
    let whole = started.elapsed();
    assert_eq!(code, 0, "{out}{err}");
    let new = read_files(folder.path());
    assert!(new.len() == 31 && new != old);
    assert_eq!(run(&["undo", "--root", root, "--yes"]).0, 0);

    let (mut olds, mut news) = (0, 0);
    let mut delay = Duration::ZERO;
    for kill in 0..kills {
        // Later each time, until it was done before it was killed; undoing as well as applying. How fast the machine is
        // just now does not matter.
        let undoes = read_files(folder.path()) == new;
        let mut child = if undoes {
            fluxway(&["undo", "--root", root, "--yes"])
        } else {
            fluxway(&["apply", plan, "--root", root])
        };
        let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
        std::thread::sleep(delay);
        let is_done = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        delay = if is_done { Duration::ZERO } else { delay + delay / 4 + whole / 20 };
        if kill % 2 == 0 {
            // The next call puts right what was left, even one that is refused.
            let (code, out, err) = run(&["apply", nothing, "--root", root]);
            assert!(code == 1 && err.contains("no edits"), "{out}{err}");
        } else {
            // So does a server that only starts, and it leaves no litter.
            assert_eq!(run(&["serve", "--root", root]).0, 0);
            for plan in std::fs::read_dir(folder.path().join(".fluxway/plans")).into_iter().flatten() {
                assert!(plan.unwrap().path().join("journal.json").exists(), "kill {kill}: litter");
            }
        }
        let now = read_files(folder.path());
        assert!(now == old || now == new, "kill {kill}: neither old nor new");
        if now == old { olds += 1 } else { news += 1 }
    }
    assert!(olds > 0 && news > 0, "{olds} old, {news} new: no kill came early, or none late");
}
