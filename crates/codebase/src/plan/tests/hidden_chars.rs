//! Hidden characters in a plan.

use super::*;

/// The findings about hidden characters: (edit, file, line, message).
type HiddenCharFinding = (Option<usize>, Option<String>, Option<u32>, String);

fn hidden_char_findings(plan: &Value) -> Vec<HiddenCharFinding> {
    let folder = temp_folder(&[("app/main.py", "import os\n\napp = 1\n"), ("conf.yaml", "a: 1\n")]);
    let verdict = validate_plan(&open_tree(&folder), plan, &validation_rules()).unwrap();
    let hidden = verdict.findings.into_iter().filter(|finding| finding.code == "hidden_characters");
    let hidden = hidden.inspect(|finding| assert!(!finding.is_blocking()));
    hidden.map(|finding| (finding.edit, finding.path, finding.line, finding.text)).collect()
}

fn edit(path: &str, strategy: &str, pattern: &str, payload: &Value, rationale: &str) -> Value {
    let anchors =
        if pattern.is_empty() { json!([]) } else { json!([{ "type": "after_match", "pattern": pattern }]) };
    json!({ "filepath": path, "strategy": strategy, "anchors": anchors, "payload": payload, "rationale": rationale })
}

#[test]
fn hidden_characters_are_reported_with_their_line() {
    let insert =
        |code: &str| edit("app/main.py", "insert_middleware", "app = 1", &json!({ "code": code }), "r");
    let create = |code: &str| edit("new.py", "create_file", "", &json!({ "code": code }), "r");
    let set = |key: &str, value: Value| {
        edit("conf.yaml", "modify_config", "", &json!({ "set": [{ "key": [key], "value": value }] }), "r")
    };
    let first = edit("first.py", "create_file", "", &json!({ "code": "z = 1\n" }), "r");
    for (edit, expected) in [
        (insert("x = 'plain\ttext'\r\ny = 'é 日本 ❤\u{fe0f}'\n"), None),
        (create("\u{feff}x = 1\n"), None),
        (
            create("x = 1\n\u{feff}y = 2\n"),
            Some((Some(2), "`payload.code` contains U+FEFF, first on line 2")),
        ),
        (
            create("x = 1\n\ny = '\u{202e}\u{2066}'\n"),
            Some((Some(3), "`payload.code` contains U+202E and 1 more")),
        ),
        (
            insert("x = 1\ny = '\u{e0041}'"),
            Some((Some(5), "`payload.code` contains U+E0041, first on line 2")),
        ),
        (insert("\u{feff}x = 1"), Some((Some(4), "`payload.code` contains U+FEFF"))),
        (insert("x = '\u{9b}2J'"), Some((Some(4), "`payload.code` contains U+009B"))),
        (insert("x = '\u{fe0f}'"), Some((Some(4), "`payload.code` contains U+FE0F"))),
        (
            edit("app/main.py", "add_import", "", &json!({ "import": "import s\u{200b}dk" }), "r"),
            Some((None, "`payload.import` contains U+200B")),
        ),
        (set("b", json!({ "c": ["x", "\u{ad}y"] })), Some((Some(5), "`payload.set` contains U+00AD"))),
        (set("b\u{3164}", json!(1)), Some((Some(2), "`payload.set` contains U+3164"))),
        (
            edit("app/main.py", "insert_middleware", "app\u{200d} = 1", &json!({ "code": "x" }), "r"),
            Some((None, "`anchors.pattern` contains U+200D")),
        ),
        (
            edit(
                "app/main.py",
                "insert_middleware",
                "app = 1",
                &json!({ "code": "x = 2" }),
                "be\u{2029}cause",
            ),
            Some((None, "`rationale` contains U+2029")),
        ),
    ] {
        let found = hidden_char_findings(&json!({ "summary": "s", "edits": [first, edit], "rollback": "x" }));
        let Some((line, says)) = expected else {
            assert_eq!(found, [], "{edit}");
            continue;
        };
        let [(Some(1), Some(path), found_line, sentence)] = &found[..] else { panic!("{edit}: {found:?}") };
        assert_eq!(*path, edit["filepath"]);
        assert!(sentence.starts_with(says), "{edit}: {sentence}");
        assert_eq!(*found_line, line, "{edit}");
    }
}

#[test]
fn hidden_characters_outside_edits_are_reported() {
    let edits = json!([edit("new.py", "create_file", "", &json!({ "code": "x = 1\n" }), "r")]);
    for (name, value) in [
        ("summary", json!("Harm\u{2060}less")),
        ("postChecks", json!(["pytest", "pytest t\u{202d}ests"])),
        ("rollback", json!("undo\u{180e}")),
    ] {
        let mut plan = json!({ "summary": "s", "edits": edits, "postChecks": ["pytest"], "rollback": "x" });
        assert_eq!(hidden_char_findings(&plan), []);
        plan[name] = value;
        let found = hidden_char_findings(&plan);
        let [(None, None, None, sentence)] = &found[..] else { panic!("{name}: {found:?}") };
        assert!(sentence.starts_with(&format!("`{name}` contains U+")), "{sentence}");
    }
}
