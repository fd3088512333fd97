//! Regression tests.

use super::*;

/// One insertion: what the file becomes, or why not.
fn apply_insertion(
    path: &str,
    before: &str,
    kind: &str,
    pattern: &str,
    code: &str,
) -> Result<String, String> {
    apply_edit(
        path,
        before,
        json!({ "strategy": "insert_middleware", "anchors": [{ "type": kind, "pattern": pattern }], "payload": { "code": code } }),
    )
}

fn apply_import(path: &str, before: &str, import: &str) -> Result<String, String> {
    apply_edit(path, before, json!({ "strategy": "add_import", "payload": { "import": import } }))
}

fn apply_edit(path: &str, before: &str, mut edit: Value) -> Result<String, String> {
    let folder = temp_folder(&[(path, before)]);
    edit["filepath"] = path.into();
    let verdict = validate_edits(&open_tree(&folder), json!([edit]));
    if !verdict.is_valid() {
        return Err(blocking_codes(&verdict).join(","));
    }
    Ok(verdict.resolution.files.first().map_or(before.to_owned(), |file| file.new.clone()))
}

fn rejected_with(code: &str) -> Result<String, String> {
    Err(code.to_owned())
}

#[test]
fn inserted_code_does_not_merge_with_its_neighbours() {
    // The sole statement of an `if` without braces is not an insertion point.
    assert_eq!(
        apply_insertion("a.js", "if (a)\n  b()\nz()\n", "before_match", "b()", "h()"),
        Ok("h()\nif (a)\n  b()\nz()\n".to_owned())
    );
    // Without a semicolon, the next line would become an argument.
    assert_eq!(
        apply_insertion(
            "a.js",
            "const app = express()\nz()\n",
            "after_match",
            "express()",
            "(async () => {})()"
        ),
        rejected_with("breaks_file")
    );
    assert_eq!(
        apply_insertion("a.js", "let y = z\nfoo()\n", "before_match", "foo()", "[1, 2].map(q)"),
        rejected_with("breaks_file")
    );
    assert_eq!(
        apply_insertion("a.py", "\u{feff}import os\n", "before_match", "\u{feff}import os", "x = 1"),
        rejected_with("anchor_not_found")
    );
    assert_eq!(
        apply_insertion("a.py", "def f():\n    # HERE\n    a()\n", "after_match", "# HERE", "b()"),
        Ok("def f():\n    # HERE\n    b()\n    a()\n".to_owned())
    );
    assert_eq!(
        apply_insertion("a.py", "def f():\n    a()\n", "after_match", "a()", "x = \"\"\"\nraw\n\"\"\""),
        rejected_with("multiline_text")
    );
    assert_eq!(
        apply_insertion("a.py", "import os\rx = 1\r", "append_file", "", "y"),
        rejected_with("not_text")
    );
    let commented = "/*\napp.use(x())\n*/\nconst app = e();\n";
    assert_eq!(
        apply_insertion("a.js", commented, "after_match", "e()", "app.use(x())"),
        Ok(format!("{commented}app.use(x())\n"))
    );
}

#[test]
fn imports_precede_their_use_and_are_added_once() {
    let late = "def run(q):\n    return q\n\nimport argparse\n";
    let decorate = json!({ "strategy": "add_decorator", "anchors": [{ "type": "before_match", "pattern": "def run(" }], "payload": { "import": "import sdk", "code": "@sdk.agent()" } });
    assert_eq!(apply_edit("a.py", late, decorate.clone()), Ok(format!("import sdk\n\n@sdk.agent()\n{late}")));
    let after = "def run(q):\n    return q\n\nimport sdk\n";
    assert_eq!(apply_edit("a.py", after, decorate), Ok(format!("import sdk\n\n@sdk.agent()\n{after}")));
    assert_eq!(
        apply_import("a.py", "import os; X = \"\"\"\nhello\n\"\"\"\n", "import sdk"),
        Ok("import os; X = \"\"\"\nhello\n\"\"\"\n\nimport sdk\n".to_owned())
    );
    assert_eq!(
        apply_import("a.py", "# c\nimport os\n", "from __future__ import annotations"),
        Ok("# c\n\nfrom __future__ import annotations\n\nimport os\n".to_owned())
    );
    let tried = "try:\n    import sdk\nexcept ImportError:\n    sdk = None\n";
    assert_eq!(apply_import("a.py", tried, "import sdk"), Ok(tried.to_owned()));
    assert_eq!(
        apply_import("a.py", "import os\n", "import os\nimport sys"),
        Ok("import os\nimport sys\n".to_owned())
    );
    assert_eq!(
        apply_import("a.js", "const sdk = 1;\n", "import { sdk } from 'sdk';"),
        rejected_with("name_taken")
    );
    assert_eq!(
        apply_import("a.js", "const a = require('a');\n", "import { sdk } from 'sdk';"),
        rejected_with("module_kind")
    );
    assert_eq!(apply_import("a.js", "run();\n", "import a from 'a'; evil()"), rejected_with("not_an_import"));
    assert_eq!(
        apply_import("a.ts", "// @ts-nocheck\nrun();\n", "import a from 'a';"),
        Ok("// @ts-nocheck\n\nimport a from 'a';\n\nrun();\n".to_owned())
    );
}

#[test]
fn path_cannot_be_both_file_and_folder() {
    let folder = temp_folder(&[("a.py", "x = 1\n")]);
    let create =
        |path: &str| json!({ "filepath": path, "strategy": "create_file", "payload": { "code": "x\n" } });
    assert_eq!(
        blocking_codes(&validate_edits(&open_tree(&folder), json!([create("n"), create("n/b")]))),
        ["overlap"]
    );
    for path in ["CLAUDE.local.md", "x.pth", ".env-prod", ".g\u{200c}it/x", "a\u{202e}b"] {
        assert_eq!(
            blocking_codes(&validate_edits(&open_tree(&folder), json!([create(path)]))).len(),
            1,
            "{path:?}"
        );
    }
}

fn apply_sample_plan(folder: &TempDir) -> EditPlan {
    let tree = open_tree(folder);
    let edit = |path: &str| json!({ "filepath": path, "strategy": "insert_middleware", "anchors": [{ "type": "append_file" }], "payload": { "code": "y = 2" } });
    let verdict = validate_edits(&tree, json!([edit("a.py"), edit("b.py")]));
    let plan = verdict.plan.unwrap();
    apply(&tree, &plan, &verdict.resolution.files).unwrap();
    plan
}

/// Changes a journal as its own author would.
#[expect(clippy::disallowed_methods, reason = "tests play killed processes")]
fn rewrite_signed_journal(path: &Path, change: impl Fn(&mut Value)) {
    let mut signed: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut journal: Value = serde_json::from_str(signed["journal"].as_str().unwrap()).unwrap();
    change(&mut journal);
    let journal = journal.to_string();
    signed["signature"] = TEST_ACTOR.signer.sign("fluxway plan journal", journal.as_bytes()).into();
    signed["journal"] = journal.into();
    std::fs::write(path, signed.to_string()).unwrap();
}

fn two_file_repository() -> TempDir {
    temp_folder(&[("a.py", "x = 1\n"), ("b.py", "x = 2\n"), (".github/workflows/ci.yml", "on: push\n")])
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests play killed processes and users")]
fn recovery_keeps_user_edits() {
    let folder = two_file_repository();
    let plan = apply_sample_plan(&folder);
    let notes = folder.path().join(".fluxway/plans").join(&plan.id);
    rewrite_signed_journal(&notes.join("journal.json"), |journal| journal["progress"] = "applying".into());
    std::fs::write(folder.path().join("b.py"), "mine\n").unwrap();
    let tree = open_tree(&folder);
    assert_eq!(recover(&tree).unwrap(), std::slice::from_ref(&plan.id));
    assert_eq!(std::fs::read(folder.path().join("a.py")).unwrap(), b"x = 1\n");
    let Err(ApplyError::Conflict { conflicts }) = undo(&tree, None) else { panic!("it was undone") };
    assert!(conflicts[0].ours.contains("+y = 2") && conflicts[0].theirs.contains("+mine"), "{conflicts:#?}");
    // Without the copy the diff is incomplete, but nothing is lost.
    std::fs::remove_file(notes.join("1.old")).unwrap();
    assert!(matches!(undo(&tree, None), Err(ApplyError::Conflict { .. })));
    // Foreign files in the folder stay.
    std::fs::create_dir_all(folder.path().join(".fluxway/plans/notes")).unwrap();
    std::fs::write(folder.path().join(".fluxway/plans/notes/mine.txt"), "x").unwrap();
    apply(&tree, &plan, &[]).unwrap();
    assert!(folder.path().join(".fluxway/plans/notes/mine.txt").exists());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests make folders")]
fn invalid_state_folder_is_harmless() {
    let folder = two_file_repository();
    std::fs::write(folder.path().join(".fluxway"), "x").unwrap();
    assert_eq!(recover(&open_tree(&folder)).unwrap(), [""; 0]);
    assert_eq!(blocking_codes(&validate_edits(&open_tree(&folder), json!([]))), ["no_edits"]);
}

#[test]
fn changed_file_mode_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = two_file_repository();
    apply_sample_plan(&folder);
    let path = folder.path().join("a.py");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    undo(&open_tree(&folder), None).unwrap();
    assert_eq!(snapshot_files(folder.path())["a.py"], (0o100_755, b"x = 1\n".to_vec()));
}

#[test]
fn undo_by_plan_rejects_unexplained_changes() {
    let folder = two_file_repository();
    let tree = open_tree(&folder);
    let before = snapshot_files(folder.path());
    let sha = |text: &str| digest::sha256_hex(text.as_bytes());
    let file = |path: &str, before: Value, now: &str| json!({ "path": path, "before": before, "sha256": sha(now), "size": now.len(), "diff": "" });
    let was = json!({ "sha256": sha("run: evil\non: push\n"), "size": 19, "eol": "lf", "bom": false, "indent": { "spaces": 4 } });
    let zero = json!({ "line": 0, "character": 0 });
    let change = json!({ "start": 0, "end": 10, "range": { "start": zero, "end": zero }, "oldText": "run: evil\n", "newText": "" });
    let edit = json!({ "filepath": ".github/workflows/ci.yml", "strategy": "modify_config", "anchors": [], "payload": { "code": "x" }, "changes": [change] });
    let lie = json!({ "schema": 1, "id": "", "summary": "s", "edits": [edit],
        "files": [file(".github/workflows/ci.yml", was, "on: push\n"), file("a.py", Value::Null, "x = 1\n")],
        "postChecks": [], "postCheckCommands": [], "rollback": { "instruction": "", "description": "" }, "warnings": [], "prerequisites": [] });
    let mut plan: EditPlan = serde_json::from_value(lie).unwrap();
    for id in ["x".to_owned(), digest::plan_id(&plan)] {
        plan.id = id;
        assert!(matches!(undo_by_plan(&tree, &plan, &[]), Err(ApplyError::Unknown(_))));
        let verdict =
            validate_plan(&tree, &serde_json::to_value(&plan).unwrap(), &validation_rules()).unwrap();
        assert!(!verdict.is_valid() && !verdict.already_applied);
    }
    assert_eq!(snapshot_files(folder.path()), before);
}

#[test]
fn plan_with_forged_commands_is_rejected() {
    let folder = two_file_repository();
    let tree = open_tree(&folder);
    let edit = json!({ "filepath": "a.py", "strategy": "insert_middleware", "anchors": [{ "type": "append_file" }], "payload": { "code": "y = 2" } });
    let mut plan = validate_edits(&tree, json!([edit])).plan.unwrap();
    plan.post_check_commands = vec![vec!["rm".to_owned(), "-rf".to_owned(), "/".to_owned()]];
    plan.id = digest::plan_id(&plan);
    let verdict = validate_plan(&tree, &serde_json::to_value(&plan).unwrap(), &validation_rules()).unwrap();
    assert_eq!(blocking_codes(&verdict), ["lying_plan"]);
    for command in [
        "pytest @args.txt",
        "bun run ..",
        "python -m PIP",
        "python -m pip3",
        "python -m distutils",
        "npx tsc --noEmit",
    ] {
        assert!(judge_check(command, no_extra_commands).is_err(), "{command}");
    }
}

#[test]
fn costly_patterns_finish_in_time() {
    let text = "A".repeat(1 << 20);
    for (pattern, is_tried) in
        [(".*[^A-Z]|[A-Z]", true), ("(?:a{1,100}){1,100}b", false), ("(A+)+$b", true), (r"\pL{1000}", false)]
    {
        let start = std::time::Instant::now();
        assert_eq!(anchor::find_matches(pattern, &text).is_ok(), is_tried, "{pattern}");
        // The slowest takes 0.1 s; a backtracking engine would not finish.
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{pattern}: {:?}", start.elapsed());
    }
    let folder = temp_folder(&[("a.txt", &text)]);
    let over = tree::WorkBudget::unlimited().with_cancellation(|| true);
    let edit = json!({ "summary": "s", "edits": [{ "filepath": "a.txt", "strategy": "insert_middleware", "anchors": [{ "type": "append_file" }], "payload": { "code": "x" } }] });
    let verdict =
        validate_plan(&open_tree(&folder), &edit, &ValidationRules { budget: &over, ..validation_rules() })
            .unwrap();
    assert_eq!(blocking_codes(&verdict), ["out_of_time"]);
}
