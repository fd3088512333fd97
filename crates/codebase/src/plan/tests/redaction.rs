//! Redacted plans and diffs. A line that begins with `S` is a secret.

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::*;

/// Lines that begin with `S`, and lines after `BEGIN`.
fn find_test_secrets(lines: &[&str]) -> Vec<usize> {
    let is_secret = |at: usize| {
        let line = lines[at].trim_start();
        line.starts_with('S') || line.contains("\"S") || at > 0 && lines[at - 1] == "BEGIN"
    };
    (0..lines.len()).filter(|at| is_secret(*at)).collect()
}

fn no_secrets(_: &[&str]) -> Vec<usize> {
    Vec::new()
}

/// Applies the diff of one file strictly by its headers: every line must be where they say, on both sides.
fn apply_patch(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut new, mut at): (Vec<String>, usize) = (Vec::new(), 0);
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(header) = lines.next() {
        let words: Vec<&str> = header.trim_end().split(' ').collect();
        assert!(words.len() == 4 && words[0] == "@@" && words[3] == "@@", "{header:?} in {diff}");
        let range = |word: &str| -> (usize, usize) {
            let (start, length) = word[1..].split_once(',').unwrap_or((&word[1..], "1"));
            let (start, length): (usize, usize) = (start.parse().unwrap(), length.parse().unwrap());
            (if length == 0 { start } else { start - 1 }, length)
        };
        let ((old_start, old_length), (new_start, new_length)) = (range(words[1]), range(words[2]));
        new.extend(old[at..old_start].iter().map(|line| (*line).to_owned()));
        at = old_start;
        assert_eq!(new.len(), new_start, "{diff}");
        while at < old_start + old_length || new.len() < new_start + new_length {
            let line = lines.next().unwrap();
            let is_last = lines.next_if(|next| next.starts_with('\\')).is_some();
            let text = if is_last { line[1..].trim_end_matches('\n') } else { &line[1..] };
            if !line.starts_with('+') {
                assert_eq!(old[at], text, "{diff}");
                at += 1;
            }
            if !line.starts_with('-') {
                new.push(text.to_owned());
            }
        }
        assert_eq!((at, new.len()), (old_start + old_length, new_start + new_length), "{diff}");
    }
    new.extend(old[at..].iter().map(|line| (*line).to_owned()));
    new.concat()
}

/// The lines of a diff without its marks.
fn diff_line_contents(diff: &str) -> Vec<&str> {
    let lines = diff.lines().filter(|line| !line.starts_with("@@") && !line.starts_with('\\'));
    lines.map(|line| &line[1..]).collect()
}

#[test]
fn secret_context_lines_are_omitted() {
    let head = "--- a/f\n+++ b/f\n";
    for (old, new, hunks, left_out, needs_unidiff_zero) in [
        // Far from the change, at the edge of its context, between two changes.
        ("S\n1\n2\n3\n4\n", "S\n1\n2\n3\n4\nx\n", "@@ -3,3 +3,4 @@\n 2\n 3\n 4\n+x\n", 0, false),
        ("1\nS\n2\n3\n4\n", "1\nS\n2\n3\nx\n4\n", "@@ -3,3 +3,4 @@\n 2\n 3\n+x\n 4\n", 1, false),
        (
            "1\n2\nS\n3\n4\n",
            "x\n1\n2\nS\n3\n4\ny\n",
            "@@ -1,2 +1,3 @@\n+x\n 1\n 2\n@@ -4,2 +5,3 @@\n 3\n 4\n+y\n",
            1,
            false,
        ),
        // Right above and right below.
        ("S\n1\n2\n", "S\nx\n1\n2\n", "@@ -2,2 +2,3 @@\n+x\n 1\n 2\n", 1, false),
        ("1\nS\n2\n", "1\nx\nS\n2\n", "@@ -1 +1,2 @@\n 1\n+x\n", 1, true),
        ("S\nS2\n", "S\nx\nS2\n", "@@ -1,0 +2 @@\n+x\n", 2, true),
        ("S\n1\nS2\n", "S\nS2\n", "@@ -2 +1,0 @@\n-1\n", 2, true),
        ("S\n1\n", "x\nS\n1\n", "@@ -0,0 +1 @@\n+x\n", 1, true),
        ("S\n", "S\nx\n", "@@ -1,0 +2 @@\n+x\n", 1, true),
        ("S\n1\nS2\nS3\n2\n", "S\nx\nS2\nS3\ny\n", "@@ -2 +2 @@\n-1\n+x\n@@ -5 +5 @@\n-2\n+y\n", 3, true),
        // Line ends.
        ("1\r\nS\r\n2\r\n", "1\r\nS\r\n2\r\nx\r\n", "@@ -3 +3,2 @@\n 2\r\n+x\r\n", 1, false),
        ("1\nS", "x\n1\nS", "@@ -1 +1,2 @@\n+x\n 1\n", 1, false),
        (
            "S\n1",
            "S\nx",
            "@@ -2 +2 @@\n-1\n\\ No newline at end of file\n+x\n\\ No newline at end of file\n",
            1,
            false,
        ),
        // What looks like a header is a line.
        ("S\n-- a/g\n++ b/g\n", "S\n", "@@ -2,2 +1,0 @@\n--- a/g\n-++ b/g\n", 1, false),
        // Recognizable as a secret only by the line before it.
        ("BEGIN\nkey\n1\n2\n", "BEGIN\nkey\n1\nx\n2\n", "@@ -3,2 +3,3 @@\n 1\n+x\n 2\n", 1, false),
    ] {
        let diff = unified_diff("f", Some(old), Some(new));
        let shown = redact_diff(&diff, find_test_secrets);
        assert_eq!(shown.text, format!("{head}{hunks}"), "{diff}");
        assert_eq!((shown.omitted_lines, shown.needs_unidiff_zero), (left_out, needs_unidiff_zero), "{diff}");
        assert_eq!(shown.withheld, [""; 0]);
        assert_eq!(apply_patch(old, &shown.text), new);
        assert_eq!(redact_diff(&diff, no_secrets).text, diff);
    }
}

#[test]
fn diffs_of_changed_secrets_are_withheld() {
    let remark =
        "@@ withheld: a changed line contains a secret; the plan's `id` identifies the complete diff @@\n";
    for (old, new, head) in [
        (Some("1\nS\n"), Some("1\n"), "--- a/f\n+++ b/f\n"),
        (Some("1\n"), Some("1\nS\n"), "--- a/f\n+++ b/f\n"),
        (None, Some("S\n"), "--- /dev/null\n+++ b/f\n"),
        (Some("S\n"), None, "--- a/f\n+++ /dev/null\n"),
        (Some("1\nS"), Some("1\nS\n"), "--- a/f\n+++ b/f\n"),
        (Some("S\n"), Some("S\r\n"), "--- a/f\n+++ b/f\n"),
        (Some("BEGIN\n1\n2\n"), Some("BEGIN\nx\n2\n"), "--- a/f\n+++ b/f\n"),
        // Lone CRs end lines that the diff does not show as such.
        (Some("1\rS\r2"), Some("1\rS\r3"), "--- a/f\n+++ b/f\n"),
    ] {
        let diff = unified_diff("f", old, new);
        let shown = redact_diff(&diff, find_test_secrets);
        assert_eq!(shown.text, format!("{head}{remark}"), "{diff}");
        assert_eq!(shown.withheld, ["f"]);
        // Redaction is idempotent.
        assert_eq!(redact_diff(&shown.text, find_test_secrets).text, shown.text);
    }
}

#[test]
fn diffs_of_several_files_are_redacted_separately() {
    let one = unified_diff("a b", Some("S\n1\n"), Some("S\n2\n"));
    let two = unified_diff("c", Some("S\n"), Some("x\n"));
    let three = unified_diff("d", Some(&"a\n".repeat(3000)), Some(&"b\n".repeat(3000)));
    assert!(three.contains("too many changed lines"));
    let four = unified_diff("e", None, Some("1"));
    let shown = redact_diff(&format!("{one}{two}{three}{four}"), find_test_secrets);
    let withheld = redact_diff(&two, find_test_secrets).text;
    assert_eq!(shown.text, format!("--- a/a b\n+++ b/a b\n@@ -2 +2 @@\n-1\n+2\n{withheld}{three}{four}"));
    assert_eq!((shown.omitted_lines, shown.withheld), (1, vec!["c".to_owned()]));
    for text in ["", "no diff\n", "--- a/f\n", "--- a/f\n+++ b/f\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n"] {
        assert_eq!(redact_diff(text, find_test_secrets).text, text);
    }
    for text in [
        "S",
        "no diff\n S\n",
        "--- a/f\n+++ b/f\n@@ -1 +1,9 @@\n S\n",
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n 1\nS\n",
    ] {
        assert!(!redact_diff(text, find_test_secrets).text.contains('S'), "{text}");
    }
}

/// The plan built from edits.
fn plan_for(files: &[(&str, &str)], edits: Value) -> (TempDir, EditPlan) {
    let folder = temp_folder(files);
    let verdict = validate_edits(&open_tree(&folder), edits);
    assert_eq!(blocking_codes(&verdict), [""; 0]);
    (folder, verdict.plan.unwrap())
}

fn set_edit(path: &str, values: Value) -> Value {
    json!({ "filepath": path, "strategy": "modify_config", "payload": { "set": values } })
}

#[test]
fn plan_without_secrets_is_unchanged() {
    let (_folder, plan) =
        plan_for(&[("a.yaml", "x: 1\ny: 2\n")], json!([set_edit("a.yaml", json!({"y": 3}))]));
    let shown = redact_plan(&plan, find_test_secrets);
    assert_eq!(shown.plan, plan);
    assert_eq!((shown.omitted_context_lines, shown.withheld.len(), shown.incomplete.len()), (0, 0, 0));
    assert_eq!(redacted_workspace_edit(&plan, &shown, "file:///r"), workspace_edit(&plan, "file:///r"));
}

#[test]
fn secrets_next_to_a_change_are_omitted() {
    let (_folder, plan) =
        plan_for(&[("a.yaml", "Spass: hunter2\nx: 1\ny: 2\n")], json!([set_edit("a.yaml", json!({"x": 3}))]));
    let shown = redact_plan(&plan, find_test_secrets);
    assert_eq!(
        shown.plan.files[0].diff,
        "--- a/a.yaml\n+++ b/a.yaml\n@@ -2,2 +2,2 @@\n-x: 1\n+x: 3\n y: 2\n"
    );
    assert_eq!(
        shown.plan.rollback.reverse_diff,
        "--- a/a.yaml\n+++ b/a.yaml\n@@ -2,2 +2,2 @@\n-x: 3\n+x: 1\n y: 2\n"
    );
    assert_eq!(shown.plan.edits, plan.edits);
    assert_eq!((shown.omitted_context_lines, shown.withheld.len(), shown.incomplete.len()), (1, 0, 0));
}

/// The change of a `set` spans from the first to the last value, including everything in between.
#[test]
fn secrets_between_changes_are_omitted() {
    for between in ["Spass: hunter2\n", "a: 1\nb: 1\nc: 1\nd: 1\nSpass: hunter2\ne: 1\nf: 1\ng: 1\nh: 1\n"] {
        let text = format!("x: 1\n{between}y: 2\n");
        let (_folder, plan) = plan_for(
            &[("a.yaml", &text), ("b.yaml", "z: 1\n")],
            json!([set_edit("a.yaml", json!({"x": 3, "y": 4})), set_edit("b.yaml", json!({"z": 2}))]),
        );
        let shown = redact_plan(&plan, find_test_secrets);
        assert!(!serde_json::to_string(&shown.plan).unwrap().contains("hunter2"));
        assert_eq!(shown.withheld, [""; 0]);
        assert_eq!(shown.incomplete, ["a.yaml"]);
        assert_eq!(
            apply_patch(&text, &shown.plan.files[0].diff),
            text.replace("x: 1", "x: 3").replace("y: 2", "y: 4")
        );
        assert_eq!(shown.plan.edits[0].changes, []);
        assert_eq!(shown.plan.edits[0].payload, plan.edits[0].payload);
        let edit = redacted_workspace_edit(&plan, &shown, "file:///r");
        assert_eq!(edit["documentChanges"].as_array().unwrap().len(), 1);
        assert_eq!(edit["documentChanges"][0]["textDocument"]["uri"], "file:///r/b.yaml");
    }
}

#[test]
fn changed_secrets_are_withheld() {
    let (_folder, plan) = plan_for(
        &[("a.yaml", "Spass: hunter2\nx: 1\n"), ("b.py", "Stoken = 'hunter2'\nx = 1\n")],
        json!([
            set_edit("a.yaml", json!([{"key": ["Spass"], "value": "hunter3"}, {"key": ["x"], "value": 2}])),
            {"filepath": "new.py", "strategy": "create_file", "payload": {"code": "Skey = 'hunter2'\n"}},
            {"filepath": "b.py", "strategy": "insert_middleware", "payload": {"code": "y = 2"},
             "anchors": [{"type": "after_match", "pattern": "hunter2"}]},
        ]),
    );
    let shown = redact_plan(&plan, find_test_secrets);
    assert_eq!(shown.withheld, ["a.yaml", "new.py"]);
    assert_eq!(shown.incomplete, ["a.yaml", "b.py", "new.py"]);
    let text = serde_json::to_string(&shown.plan).unwrap();
    assert!(!text.contains("hunter"), "{text}");
    // Edits without secrets are kept.
    let set = &shown.plan.edits[0].payload.set;
    assert_eq!(set.iter().map(|setting| setting.key.clone()).collect::<Vec<_>>(), [["x"]]);
    assert_eq!(shown.plan.edits[2].payload, plan.edits[2].payload);
    assert_eq!(shown.plan.edits[2].changes, plan.edits[2].changes);
    let edit = redacted_workspace_edit(&plan, &shown, "file:///r");
    assert_eq!(edit["documentChanges"].as_array().unwrap().len(), 1);
    assert_eq!(edit["documentChanges"][0]["textDocument"]["uri"], "file:///r/b.py");
    assert_eq!(shown.plan.id, plan.id);
}

#[test]
fn anchors_and_remarks_with_secrets_are_omitted() {
    let python = "Stoken = 'hunter2'\nname = 1\n";
    for (pattern, is_shown) in [
        ("hunter2", false),
        ("Stoken = 'hunter2'", false),
        ("name", true),
        ("token =", true),
        ("name = 1", true),
    ] {
        let anchor = json!([{ "type": "after_match", "pattern": pattern }]);
        let edit = json!({ "filepath": "b.py", "strategy": "insert_middleware", "payload": { "code": "y = 2" },
            "anchors": anchor, "rationale": "S is why" });
        let (_folder, plan) = plan_for(&[("b.py", python)], json!([edit]));
        let shown = redact_plan(&plan, find_test_secrets);
        assert_eq!(!shown.plan.edits[0].anchors.is_empty(), is_shown, "{pattern}");
        assert_eq!(shown.plan.edits[0].rationale, "");
    }
    let (_folder, mut plan) = plan_for(&[("a.yaml", "x: 1\n")], json!([set_edit("a.yaml", json!({"x": 2}))]));
    plan.summary = "S".to_owned();
    plan.warnings = ["a", "S"].map(str::to_owned).to_vec();
    plan.post_checks = ["S x", "pytest"].map(str::to_owned).to_vec();
    plan.post_check_commands = vec![vec!["S".to_owned(), "x".to_owned()], vec!["pytest".to_owned()]];
    let shown = redact_plan(&plan, find_test_secrets).plan;
    assert_eq!(
        (shown.summary.as_str(), shown.warnings, shown.post_checks),
        ("", vec!["a".to_owned()], vec!["pytest".to_owned()])
    );
    assert_eq!(shown.post_check_commands, [["pytest"]]);
}

#[test]
fn redacted_plan_is_recognized() {
    let (_folder, plan) = plan_for(
        &[("a.yaml", "Spass: hunter2\nx: 1\n"), ("b.yaml", "Spass: hunter2\nx: 1\n")],
        json!([set_edit("a.yaml", json!({"Spass": "hunter3"})), set_edit("b.yaml", json!({"x": 2}))]),
    );
    let view = serde_json::to_value(redact_plan(&plan, find_test_secrets).plan).unwrap();
    assert_ne!(view, serde_json::to_value(&plan).unwrap());
    let with = |pointer: &str, value: Value| {
        let mut view = view.clone();
        *view.pointer_mut(pointer).unwrap() = value;
        view
    };
    let mut extra = view.clone();
    extra["workspaceEdit"] = json!({"documentChanges": []});
    extra["candidates"] = json!([1]);
    let mut short = view.clone();
    short.as_object_mut().unwrap().remove("files");
    for (sent, expected) in [
        (serde_json::to_value(&plan).unwrap(), true),
        (view.clone(), true),
        (extra, true),
        (with("/summary", json!("another")), false),
        (with("/id", json!("another")), false),
        (with("/edits/1/payload/set/0/value", json!(3)), false),
        (with("/files/0/diff", json!("")), false),
        (with("/rollback/reverseDiff", json!("")), false),
        (short, false),
        (json!(null), false),
    ] {
        assert_eq!(is_plan_or_redaction(&plan, &sent, find_test_secrets), expected, "{sent}");
    }
    assert!(!is_plan_or_redaction(&plan, &view, no_secrets));
}

/// Whether git accepts a diff; `None` if git is not installed.
#[expect(clippy::disallowed_methods, reason = "git is the judge of diffs")]
fn git_applies(old: &str, diff: &str, unidiff_zero: bool) -> Option<bool> {
    let folder = temp_folder(&[("f", old), ("the.diff", diff)]);
    let mut git = std::process::Command::new("git");
    git.current_dir(folder.path()).args(["apply", "--check"]).args(unidiff_zero.then_some("--unidiff-zero"));
    let output = git.arg("the.diff").output().ok()?;
    Some(output.status.success())
}

#[test]
fn git_applies_redacted_diffs() {
    for (old, new) in [
        ("1\nS\n2\n3\n4\n", "1\nS\n2\n3\nx\n4\n"),
        ("1\n2\nS\n3\n4\n", "x\n1\n2\nS\n3\n4\ny\n"),
        ("S\n1\n2\n", "S\nx\n1\n2\n"),
        ("1\nS\n2\n", "1\nx\nS\n2\n"),
        ("S\nS2\n", "S\nx\nS2\n"),
        ("S\n1\n", "x\nS\n1\n"),
        ("S\n", "S\nx\n"),
        ("S\n1\nS2\nS3\n2\n", "S\nx\nS2\nS3\ny\n"),
        ("1\nS", "x\n1\nS"),
        ("S\n1", "S\nx"),
        ("1\r\nS\r\n2\r\n", "1\r\nS\r\n2\r\nx\r\n"),
    ] {
        let shown = redact_diff(&unified_diff("f", Some(old), Some(new)), find_test_secrets);
        assert!(shown.omitted_lines > 0);
        assert_ne!(git_applies(old, &shown.text, shown.needs_unidiff_zero), Some(false), "{}", shown.text);
        // The flag is set only if needed.
        if shown.needs_unidiff_zero {
            assert_ne!(git_applies(old, &shown.text, false), Some(true), "{}", shown.text);
        }
    }
}

fn arbitrary_text() -> impl Strategy<Value = String> {
    let line =
        prop::sample::select(&["S1", "S2", "a", "b", "c", "d", "", "-- x", "++ y", "@@ z", "BEGIN"][..]);
    let lines = prop::collection::vec((line, prop::sample::select(&["\n", "\n", "\r\n"][..])), 0..24);
    (lines, any::<bool>()).prop_map(|(lines, ends)| {
        let text: String = lines.iter().flat_map(|(line, end)| [*line, *end]).collect();
        if ends { text } else { text.trim_end_matches(['\r', '\n']).to_owned() }
    })
}

/// A text, and a copy with some lines changed.
fn arbitrary_pair() -> impl Strategy<Value = (String, String)> {
    let edits = prop::collection::vec(
        (any::<prop::sample::Index>(), 0..3usize, prop::sample::select(&["x\n", "y\n", "a\n"][..])),
        1..5,
    );
    (arbitrary_text(), edits).prop_map(|(old, edits)| {
        let mut lines: Vec<&str> = old.split_inclusive('\n').collect();
        for (at, kind, line) in edits {
            let at = at.index(lines.len() + 1);
            match (kind, lines.get(at)) {
                (0, Some(old)) if !old.starts_with('S') => lines[at] = line,
                (1, Some(old)) if !old.starts_with('S') => drop(lines.remove(at)),
                _ if at > 0 && !lines[at - 1].ends_with('\n') => {}
                _ => lines.insert(at, line),
            }
        }
        let new = lines.concat();
        (old, new)
    })
}

proptest! {
    #[test]
    fn redacted_diff_has_the_same_effect((old, new) in arbitrary_pair()) {
        let diff = unified_diff("f", Some(&old), Some(&new));
        let shown = redact_diff(&diff, find_test_secrets);
        if diff.is_empty() {
            prop_assert_eq!(&shown.text, "");
        } else if shown.withheld.is_empty() {
            prop_assert_eq!(apply_patch(&old, &shown.text), new);
        }
        prop_assert!(diff_line_contents(&shown.text).iter().all(|line| !line.starts_with('S')), "{}", shown.text);
        prop_assert_eq!(redact_diff(&diff, no_secrets).text, diff);
    }

    #[test]
    fn arbitrary_diff_text_never_leaks_secrets(text in "(--- a/f\n|\\+\\+\\+ b/f\n|@@ -[0-3](,[0-3])? \\+[0-3](,[0-3])? @@\n|[ +-]S\n|[ +-]a\r?\n|\\\\ No newline\n|\r|é\n){0,12}") {
        let shown = redact_diff(&text, find_test_secrets).text;
        prop_assert!(!shown.lines().any(|line| line.get(1..).is_some_and(|line| line.starts_with('S'))), "{:?}: {:?}", text, shown);
    }
}
