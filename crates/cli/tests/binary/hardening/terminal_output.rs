//! What a terminal is sent.

use std::process::Command;

use serde_json::{Value, json};

use crate::process::{fluxway, run_command};
use crate::pty::PtyTerminal;

/// C1, bidirectional, zero width, a tag, a row of selectors.
const HOSTILE_TEXT: &str =
    "a\u{9b}31mb\u{202e}c\u{200b}d\u{feff}e\u{ad}f\u{e0041}g\u{fe0f}\u{fe0f}h\u{61c}i\u{3164}";

/// Whether a terminal could be fooled by it. Its own driver turns a line feed into two characters.
fn is_harmless(written: &str) -> bool {
    let colourless = ["0", "1", "2", "31", "32", "36"]
        .iter()
        .fold(written.replace("\r\n", "\n"), |text, code| text.replace(&format!("\x1b[{code}m"), ""));
    // The line for progress is cleared by these.
    let plain = colourless.replace("\r\x1b[K", "");
    !plain.chars().any(|c| (c.is_control() && c != '\n') || HOSTILE_TEXT.contains(c) && !c.is_ascii())
}

fn run_in_terminal(command: &mut Command) -> (i32, String) {
    let ended = PtyTerminal::start_with_stdout(command.env("TERM", "xterm-256color").env_remove("NO_COLOR"))
        .wait_for_exit();
    (ended.code, ended.written)
}

#[test]
fn terminal_output_is_escaped_and_stays_valid_json() {
    let arguments = json!({ "text": HOSTILE_TEXT }).to_string();
    let args = ["call", "echo", "--toolsets", "diagnostics", "--args", &arguments];
    let with_json = [&args[..], &["--json"]].concat();
    // A program gets it as it is.
    let (code, out, _) = run_command(&mut fluxway(&with_json));
    assert_eq!(code, 0);
    assert!(out.contains(HOSTILE_TEXT), "{out:?}");
    let answer: Value = serde_json::from_str(&out).unwrap();

    let (code, written) = run_in_terminal(&mut fluxway(&with_json));
    assert!(code == 0 && is_harmless(&written), "{code}: {written:?}");
    let shown = &written[written.find('{').unwrap()..=written.rfind('}').unwrap()];
    assert_eq!(serde_json::from_str::<Value>(shown).unwrap(), answer);

    let (code, written) = run_in_terminal(&mut fluxway(&args));
    assert!(code == 0 && is_harmless(&written), "{code}: {written:?}");
    assert!(written.contains("a\\u{9b}31mb\\u{202e}c"), "{written:?}");
}

#[test]
fn hostile_file_names_are_escaped_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join(HOSTILE_TEXT);
    std::fs::create_dir(&named).unwrap();
    std::fs::write(named.join("a.md"), "# Cake\n\nThere is cake on Thursdays.\n").unwrap();
    let (docs, index) = (named.to_str().unwrap(), named.join("docs.index"));
    let index = index.to_str().unwrap();
    for (args, expected) in [
        (&["index", docs, "--out", index][..], 0),
        (&["index", docs, "--out", index, "--json"], 0),
        (&["index", &format!("{docs}/none")], 1),
        (&["faq", "--index", index, "--no-shipped-docs", "when is there cake?"], 0),
        (&["tools", docs], 2),
        (&["tools", "--toolsets", HOSTILE_TEXT], 2),
        (&["call", HOSTILE_TEXT], 1),
        (&["serve", "--root", &format!("{docs}/none")], 2),
        (&["projects", "export", HOSTILE_TEXT, "--database", "sqlite::memory:"], 1),
    ] {
        let (code, written) = run_in_terminal(&mut fluxway(args));
        assert!(is_harmless(&written), "{args:?}: {written:?}");
        assert_eq!(code, expected, "{args:?}: {written:?}");
    }
}
