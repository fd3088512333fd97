//! `fluxway integrate`, where there is no terminal: for scripts.

use serde_json::Value;

use crate::plans::{agent_repository, read_files};
use crate::process::{fluxway, run, run_command};

#[test]
fn yes_applies_and_json_reports_the_result() {
    let folder = agent_repository();
    let root = folder.path().to_str().unwrap();
    let before = read_files(folder.path());
    let (code, out, err) = run(&["integrate", root, "--yes", "--json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let reply: Value = serde_json::from_str(&out).unwrap();
    let told =
        ["outcome", "framework", "package", "variant", "target"].map(|name| reply[name].as_str().unwrap());
    assert_eq!(told, ["applied", "python", ".", "sdk", "bot:reply"]);
    assert_eq!(reply["files"].as_array().unwrap().len(), 4);
    assert_ne!(read_files(folder.path()), before);

    let (code, out, _) = run(&["integrate", root, "--yes"]);
    assert!(code == 0 && out.ends_with("Already integrated: nothing had to be written.\n"), "{out}");
    let (code, _, _) = run(&["undo", reply["plan_id"].as_str().unwrap(), "--root", root]);
    assert_eq!((code, read_files(folder.path())), (0, before));
    assert!(!folder.path().join(".fluxway").exists());
}

#[test]
fn text_output_lists_changes_and_the_undo_command() {
    let folder = agent_repository();
    let root = folder.path().to_str().unwrap();
    // The first check compiles; the second needs FluxLoop, which is not installed.
    let (code, out, err) = run(&["integrate", root, "--yes", "--check", "--variant", "sdk"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    for line in [
        "+@fluxloop.agent(name=\"reply\")",
        "Integrated FluxLoop for python; FluxLoop will run bot:reply. Written:",
        "  bot.py",
        "passed: python -m py_compile .fluxloop/scenarios/agent/fluxloop_target.py bot.py",
        "skipped: fluxloop run --scenario agent --iterations 1 (`fluxloop` is not installed)",
        "needed: FluxLoop SDK installed: pip install fluxloop",
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line:?} is not in\n{out}");
    }
    // What passed has not to be run again; what was skipped has.
    let (_, next) = out.split_once("\nNext:\nneeded: ").unwrap();
    assert!(!next.contains("check: python -m py_compile"), "{next}");
    assert!(next.contains("\ncheck: fluxloop run --scenario agent --iterations 1\n\nTo undo it:"), "{next}");
    let (_, undo) = out.trim_end().rsplit_once("\nTo undo it:\n  fluxway ").unwrap();
    let (code, _, err) = run(&undo.split(' ').collect::<Vec<_>>());
    assert_eq!((code, err.as_str()), (0, ""), "the command at the end works: {undo}");
}

#[test]
fn without_yes_and_without_a_terminal_nothing_is_written() {
    let folder = agent_repository();
    let root = folder.path().to_str().unwrap();
    let before = read_files(folder.path());
    for (args, code, expected) in [
        (
            &["integrate", root][..],
            1,
            "nothing was written: there is no terminal to ask on; pass --yes\n\nAdd FluxLoop",
        ),
        (&["integrate", root, "--json"], 1, "; pass --yes"),
        (&["integrate", root, "--yes", "--agent", "bot.py:nobody"], 1, "no known agent object `nobody`"),
        (
            &["integrate", root, "--yes", "--variant", "magic"],
            2,
            "invalid value `magic` for --variant; expected one of auto, sdk, bridge\n",
        ),
        (
            &["integrate", root, "--framework", "flaks"],
            2,
            "invalid value `flaks` for --framework; did you mean flask? Expected one of fastapi, ",
        ),
        (&["plan", root, "--cli", "9"], 2, "invalid value `9` for --cli; expected one of 0.2, 0.3, 0.4\n"),
        (&["integrate", "/no/such/folder", "--yes"], 2, "no such folder: /no/such/folder"),
        (&["integrate", root, "--root", root, "--yes"], 2, "cannot be used with"),
        (&["plan", root, "--root", root], 2, "cannot be used with"),
        (&["integrate", root, "--yes", "--agnet", "x"], 2, "unexpected argument '--agnet'"),
    ] {
        let (found, out, err) = run(args);
        assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?}: {err}");
        assert_eq!(read_files(folder.path()), before, "{args:?}");
    }
    let (code, _, err) = run_command(fluxway(&["integrate", root, "--yes"]).env("FLUXWAY_READ_ONLY", "true"));
    assert_eq!(code, 1);
    assert!(err.contains("scope `write`"), "{err}");
    assert_eq!(read_files(folder.path()), before);
}

#[test]
fn nothing_to_integrate_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("roman.py"), "def roman(number):\n    return \"I\" * number\n")
        .unwrap();
    let (code, out, err) = run(&["integrate", folder.path().to_str().unwrap(), "--yes"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("error: Found no framework with a recipe"), "{err}");
}
