//! The commands, as typed.

use serde_json::Value;

use crate::process::{fluxway, run, run_command};

#[test]
fn call_prints_text_or_json() {
    let (code, out, _) = run(&["call", "tell_fortune", "--category", "career"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("category: career\nmood: mysterious\nfortune: "), "{out}");

    let (code, out, _) =
        run(&["call", "tell_fortune", "--json", "--args", r#"{"category":"love","mood":"cautious"}"#]);
    let reply: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &reply["mood"]), (0, &Value::from("cautious")));
}

#[test]
fn analysis_is_printed_as_tables() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("requirements.txt", "flask==3.0.1\n");
    write("app.py", "from flask import Flask\napp = Flask(__name__)\n");
    write("\u{1b}[31mred.py", "import os\n");
    let root = folder.path().to_str().unwrap();
    let (code, out, err) = run(&["call", "analyze_repository", "--root", root]);
    assert_eq!((code, err.as_str()), (0, ""));
    for line in [
        "languages: python",
        "packageManagers: pip",
        "entryPoints: app.py",
        "stats: files 3, loc 3, directories 0",
        "  requirements.txt  1     framework flask: declares flask ==3.0.1",
        "  .     python     pip              flask       app.py",
    ] {
        assert!(out.lines().any(|shown| shown == line), "{line:?} is not in\n{out}");
    }
    let (code, out, _) = run(&["call", "analyze_repository", "--root", root, "--json"]);
    let reply: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &reply["frameworkCandidates"][0]), (0, &Value::from("flask")));
    let (code, _, err) = run(&["call", "analyze_repository", "--args", r#"{"root":"/etc"}"#]);
    assert_eq!(code, 1);
    assert!(err.starts_with("error: `/etc` is outside the allowed folders"), "{err}");
}

#[test]
fn refused_calls_exit_with_1_and_a_hint() {
    for (args, expected) in [
        (&["call", "nope"][..], "error: Unknown tool: nope\nhint: `fluxway tools` lists the tools\n"),
        (
            &["call", "create_project", "--name", "x"],
            "error: Unknown tool: create_project\nhint: it is in the toolset `projects`, which is not enabled; pass --toolsets projects\n",
        ),
        (
            &["call", "list_projects", "--read-only", "--fields"],
            "error: Unknown tool: list_projects\nhint: it is in the toolset `projects`, which is not enabled; pass --toolsets projects\n",
        ),
        (&["call", "tell_fortun"], "error: Unknown tool: tell_fortun\nhint: did you mean tell_fortune?\n"),
        (&["call", "tell_fortune"], "error: category is required\n"),
        (
            &["call", "tell_fortune", "--category", "x"],
            "error: `category`: \"x\" is not one of [\"love\",\"career\",\"health\",\"wealth\",\"general\"]\n",
        ),
        (
            &["call", "booking", "--destination", "Oslo"],
            "error: booking also needs --departure (First day, YYYY-MM-DD)\n",
        ),
        (&["call", "booking"], "error: booking needs --destination ("),
        (&["call", "validate_edit_plan"], "error: `plan_id`: pass `plan_id` or `plan`\n"),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}");
        assert!(err.starts_with(expected), "{args:?}: {err}");
    }
}

#[test]
fn usage_errors_exit_with_2() {
    for (args, expected) in [
        (&["--nonsense"][..], "unexpected argument '--nonsense'"),
        (&["serve", "--read-onyl"], "unexpected argument '--read-onyl'"),
        (
            &["serve", "--toolsets", "nope"],
            "unknown toolset `nope`; expected one of integrate, docs, context, reference, projects, diagnostics",
        ),
        (&["serve", "--root", "/no/such/folder"], "no such folder: /no/such/folder"),
        (&["serve", "--config", "/no/such/file"], "cannot read the settings in /no/such/file"),
        (&["serve", "--http", "0.0.0.0:80", "--no-auth"], "--no-auth works on loopback only"),
        (&["serve", "--no-auth"], "--no-auth is about HTTP and needs --http"),
        (&["--root", ".", "plan"], "hint: options go after the command: fluxway plan --root ."),
        (&["faq", "--index", "nofile", "what is a persona?"], "error: no such index file: nofile"),
        (&["tools", "faqz"], "error: there is no tool `faqz`\nhint: did you mean faq?"),
        (&["tools", "faq", "get_blocks"], "pass --toolsets projects"),
        (&["call", "validate_edit_plan", "--plan", "@/no/such/file"], "cannot read --plan @/no/such/file"),
        (
            &["call", "tell_fortune", "--mood", "x", "--mood", "y"],
            "--mood is given twice but takes one value",
        ),
        (&["call", "tell_fortune", "--args", "@/no/such/file"], "cannot read --args @/no/such/file"),
        (&["call", "tell_fortune", "career"], "unexpected `career`; arguments are --NAME VALUE"),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
}

#[test]
fn unknown_variables_are_warned_about_and_invalid_values_rejected() {
    let (code, _, err) = run_command(fluxway(&["tools"]).env("FLUXWAY_READ_ONYL", "1"));
    let warning = "warning: unknown variable FLUXWAY_READ_ONYL is ignored; did you mean FLUXWAY_READ_ONLY?\n";
    assert_eq!((code, err.as_str()), (0, warning));
    // A variable of `serve` is checked by every command.
    let (code, _, err) = run_command(fluxway(&["tools"]).env("FLUXWAY_HTTP", "somewhere"));
    assert_eq!(code, 2);
    assert!(
        err.starts_with("error: in the environment: FLUXWAY_HTTP: invalid value 'somewhere': expected IP"),
        "{err}"
    );
    let (code, out, _) = run_command(fluxway(&["tools"]).env("FLUXWAY_TOOLSETS", "diagnostics"));
    assert_eq!(code, 0);
    assert!(out.starts_with("4 tools of the toolset diagnostics\n\necho: "), "{out}");
}

#[test]
fn tools_lists_what_would_be_served() {
    let (code, out, _) = run(&["tools"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("tell_fortune: Tell a fortune.") && out.contains("--category <love|career|"),
        "{out}"
    );
    let (_, out, _) = run(&["tools", "--json"]);
    let list: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(list["tools"][0]["name"], "faq");
    let (code, out, _) = run(&["tools", "tell_fortune", "faq"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("tell_fortune: ") && out.contains("\n\nfaq: "), "{out}");
    assert!(!out.contains("booking"), "{out}");
}

#[test]
fn demo_runs_to_completion() {
    let (code, out, err) = run(&["demo", "--full"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for part in [
        "(lighthouse/agent.py:8)",
        "3 files restored; every byte is as before.",
        "for a client of 2026-07-28",
    ] {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
}

#[test]
fn help_completions_and_version_are_printed() {
    let (code, out, _) = run(&["--help"]);
    assert!(code == 0 && out.contains("fluxway demo"), "{out}");
    let (code, out, _) = run(&["completions", "bash"]);
    assert!(code == 0 && out.contains("_fluxway()"));
    let (code, out, _) = run(&["--version"]);
    assert_eq!((code, out.as_str()), (0, concat!("fluxway ", env!("CARGO_PKG_VERSION"), "\n")));
}
