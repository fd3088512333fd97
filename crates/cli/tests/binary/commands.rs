//! The commands, as typed.

use serde_json::Value;

use crate::process::{fluxway, run, run_with};

#[test]
fn call_prints_for_people_and_for_programs() {
    let (code, out, _) = run(&["call", "tell_fortune", "--category", "career"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("category: career\nfortune: "), "{out}");

    let (code, out, _) =
        run(&["call", "tell_fortune", "--json", "--args", r#"{"category":"love","mood":"cautious"}"#]);
    let reply: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &reply["mood"]), (0, &Value::from("cautious")));
}

#[test]
fn refusals_say_what_to_do_and_exit_with_1() {
    for (args, expected) in [
        (&["call", "nope"][..], "error: Unknown tool: nope\n"),
        (&["call", "tell_fortune"], "error: missing argument `category`\n"),
        (
            &["call", "tell_fortune", "--category", "x"],
            "error: `category`: \"x\" is not one of [\"love\",\"career\",\"health\",\"wealth\",\"general\"]\n",
        ),
        (
            &["call", "booking", "--destination", "Oslo"],
            "error: booking needs more: `departure` (First day, YYYY-MM-DD).",
        ),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (1, ""), "{args:?}");
        assert!(err.starts_with(expected), "{args:?}: {err}");
    }
}

#[test]
fn wrong_use_exits_with_2() {
    for (args, expected) in [
        (&["--nonsense"][..], "unexpected argument '--nonsense'"),
        (&["serve", "--read-onyl"], "unexpected argument '--read-onyl'"),
        (&["serve", "--toolsets", "nope"], "there is no toolset `nope`; there are reference, diagnostics"),
        (&["serve", "--root", "/no/such/folder"], "/no/such/folder is not a folder"),
        (&["serve", "--config", "/no/such/file"], "cannot read the settings in /no/such/file"),
        (&["serve", "--http", "0.0.0.0:80"], "0.0.0.0:80 is not a loopback address"),
        (&["call", "tell_fortune", "career"], "`career` stands where --NAME VALUE was expected"),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
}

#[test]
fn a_variable_that_is_no_setting_is_refused() {
    let (code, _, err) = run_with(fluxway(&["tools"]).env("FLUXWAY_READ_ONYL", "1"));
    assert_eq!(code, 2);
    assert!(
        err.starts_with("error: there is no setting FLUXWAY_READ_ONYL; the variables are FLUXWAY_"),
        "{err}"
    );
    let (code, out, _) = run_with(fluxway(&["tools"]).env("FLUXWAY_TOOLSETS", "diagnostics"));
    assert_eq!(code, 0);
    assert!(out.starts_with("echo: "), "{out}");
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
    assert_eq!(list["tools"][0]["name"], "tell_fortune");
}

#[test]
fn the_demo_comes_to_its_end() {
    let (code, out, err) = run(&["demo"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.contains("A client of 2026-07-28 calls the same tool") && out.contains("exit status: 0"),
        "{out}"
    );
}

#[test]
fn help_and_completions_are_there() {
    let (code, out, _) = run(&["--help"]);
    assert!(code == 0 && out.contains("fluxway demo"), "{out}");
    let (code, out, _) = run(&["completions", "bash"]);
    assert!(code == 0 && out.contains("_fluxway()"));
    let (code, out, _) = run(&["--version"]);
    assert_eq!((code, out.as_str()), (0, concat!("fluxway ", env!("CARGO_PKG_VERSION"), "\n")));
}
