//! What is said about plans, ours and others.

use super::*;

fn sample_app() -> TempDir {
    temp_folder(&[
        ("app/main.py", "from fastapi import FastAPI\n\napp = FastAPI(\n    title='x',\n)\n"),
        ("README.md", "x\n"),
    ])
}

fn valid_plan(tree: &Tree, edits: Value) -> EditPlan {
    let verdict = validate_edits(tree, edits);
    verdict.plan.unwrap_or_else(|| panic!("{:#?}", verdict.findings))
}

fn insertion_edit() -> Value {
    json!([{ "filepath": "app/main.py", "strategy": "insert_middleware",
        "anchors": [{ "type": "after_match", "pattern": "app = FastAPI\\(" }],
        "payload": { "import": "import sdk", "code": "app.add(sdk)" }, "rationale": "r" }])
}

#[test]
fn documented_plan_is_valid() {
    let folder = sample_app();
    let documented = json!({
        "summary": "Add it.",
        "edits": [{
            "filepath": "app/main.py", "strategy": "add_decorator",
            "anchors": [{ "type": "after_match", "pattern": "app = FastAPI\\(" }],
            "payload": { "import": "import sdk", "code": "@sdk.trace()\nasync def handler(request: Request):\n    ...", "location": "above_function" },
            "rationale": "r"
        }],
        "postChecks": ["pytest tests/", "python -m app.main"],
        "rollback": { "instruction": "git restore -SW :/", "description": "d" }
    });
    let verdict = validate_plan(&open_tree(&folder), &documented, &validation_rules()).unwrap();
    assert_eq!(blocking_codes(&verdict), [""; 0]);
    let new = "from fastapi import FastAPI\nimport sdk\n\napp = FastAPI(\n    title='x',\n)\n\n\n@sdk.trace()\nasync def handler(request: Request):\n    ...\n";
    assert_eq!(
        verdict.resolution.files[0].new,
        new.replace("from fastapi import FastAPI\nimport sdk\n", "import sdk\nfrom fastapi import FastAPI\n")
    );
    let warned: Vec<_> = verdict.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(warned, ["rollback"]);
}

#[test]
fn documented_messages_are_exact() {
    let folder = temp_folder(&[("src/server.ts", "import x from 'x';\n")]);
    let tree = open_tree(&folder);
    let sentences = |plan: Value| {
        let verdict = validate_plan(&tree, &plan, &validation_rules()).unwrap();
        assert!(!verdict.is_valid() || plan["edits"][0]["strategy"] == "add_import");
        verdict.findings.iter().map(PlanFinding::sentence).collect::<Vec<_>>().join("\n")
    };
    let edit = |path: &str| {
        json!({ "filepath": path, "strategy": "insert_middleware",
        "anchors": [{ "type": "after_match", "pattern": "const app = express()" }], "payload": { "code": "x" } })
    };
    assert!(sentences(json!({ "edits": [] })).contains("Required field 'summary' missing from plan"));
    assert!(
        sentences(json!({ "summary": "s", "edits": [edit("src/app.ts")] }))
            .contains("Edit #0: file 'src/app.ts' does not exist.")
    );
    let found = sentences(json!({ "summary": "s", "edits": [edit("src/server.ts")] }));
    assert!(found.contains("Edit #0: anchor pattern 'const app = express()' not found in src/server.ts"));
    let import = json!({ "filepath": "src/server.ts", "strategy": "add_import", "payload": { "import": "import x from 'x';" } });
    let found = sentences(json!({ "summary": "s", "edits": [import] }));
    assert!(found.contains("Edit #0: import 'import x from 'x';' already present in src/server.ts"));
}

#[test]
fn any_json_can_be_validated() {
    let folder = sample_app();
    let tree = open_tree(&folder);
    let check = |plan: Value, expected: &str| {
        let verdict = validate_plan(&tree, &plan, &validation_rules()).unwrap();
        assert!(blocking_codes(&verdict).contains(&expected), "{plan} {:?}", blocking_codes(&verdict));
        assert!(verdict.plan.is_none());
    };
    check(json!([]), "bad_plan");
    check(json!("x"), "bad_plan");
    check(json!({}), "missing_field");
    check(json!({ "summary": 1, "edits": {} }), "bad_field");
    check(json!({ "summary": "s", "edits": [1] }), "bad_edit");
    check(json!({ "summary": "s", "edits": [{}] }), "missing_field");
    let edit = |change: Value| {
        let mut edit = insertion_edit()[0].clone();
        change.as_object().unwrap().iter().for_each(|(key, value)| edit[key] = value.clone());
        json!({ "summary": "s", "edits": [edit] })
    };
    check(edit(json!({ "strategy": "rewrite" })), "unknown_strategy");
    check(edit(json!({ "anchors": [{ "type": "near", "pattern": "x" }] })), "bad_anchor");
    check(edit(json!({ "anchors": {} })), "bad_field");
    check(edit(json!({ "anchors": [] })), "no_anchor");
    check(edit(json!({ "payload": [] })), "bad_field");
    check(edit(json!({ "payload": {} })), "empty_payload");
    check(edit(json!({ "payload": { "code": "x", "location": "somewhere" } })), "bad_payload");
    check(edit(json!({ "payload": { "import": "from sdk import sdk" } })), "wrong_import");
    check(edit(json!({ "payload": { "code": "x".repeat(MAX_PAYLOAD_BYTES + 1) } })), "payload_too_large");
    check(json!({ "summary": "s", "edits": vec![insertion_edit()[0].clone(); 201] }), "too_many_edits");
    check(json!({ "summary": "s", "edits": [], "id": "x", "schema": 1, "files": 7 }), "bad_plan");
    check(json!({ "summary": "s", "edits": [], "postChecks": "pytest" }), "bad_field");
    for command in [
        "pytest; rm -rf ~",
        "$(id)",
        "`id`",
        "python -c 'x'",
        "pytest --config=evil",
        "LD_PRELOAD=x pytest",
        "pytest\nid",
        "python -m pip install x",
        "python -m http.server",
        "npx evil",
        "",
        "pytest ../x",
        "/bin/sh",
    ] {
        check(json!({ "summary": "s", "edits": [], "postChecks": [command] }), "unsafe_command");
    }
}

#[test]
fn escaping_paths_are_rejected() {
    let folder = sample_app();
    for path in [
        "../x",
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../b",
        "./x",
        "a//b",
        "C:\\x",
        "C:/x",
        "app/main.py/.",
        "app/",
        "app/main.py\0.txt",
        "~/x",
        "",
        "a\nb",
    ] {
        let edit = json!([{ "filepath": path, "strategy": "create_file", "payload": { "code": "x" } }]);
        assert_eq!(blocking_codes(&validate_edits(&open_tree(&folder), edit)), ["bad_path"], "{path:?}");
    }
    for path in [
        ".git/hooks/pre-commit",
        ".GIT/config",
        "x/.git/y",
        ".github/workflows/x.yml",
        ".vscode/tasks.json",
        ".mcp.json",
        ".cursor/mcp.json",
        "uv.lock",
        ".env",
        "CLAUDE.md",
        ".fluxway/plans/x",
        "node_modules/x/index.js",
    ] {
        let edit = json!([{ "filepath": path, "strategy": "create_file", "payload": { "code": "x" } }]);
        assert_eq!(
            blocking_codes(&validate_edits(&open_tree(&folder), edit)),
            ["protected_path"],
            "{path:?}"
        );
    }
    let edit = json!({ "summary": "s", "edits": [
        { "filepath": ".github/workflows/x.yml", "strategy": "create_file", "payload": { "code": "a: 1\n" } },
        { "filepath": ".git/config", "strategy": "create_file", "payload": { "code": "x" } }] });
    let consent = [".github/workflows/x.yml".to_owned(), ".git/config".to_owned()];
    let verdict = validate_plan(
        &open_tree(&folder),
        &edit,
        &ValidationRules { consent: &consent, ..validation_rules() },
    )
    .unwrap();
    assert_eq!(
        verdict
            .findings
            .iter()
            .filter(|f| f.severity == PlanSeverity::Blocking)
            .map(|f| f.edit)
            .collect::<Vec<_>>(),
        [Some(1)]
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests make links")]
fn symlinks_and_hard_links_are_rejected() {
    let (outside, inside) = (temp_folder(&[("secret.py", "x = 1\n")]), sample_app());
    let link = |to: &Path, name: &str| std::os::unix::fs::symlink(to, inside.path().join(name)).unwrap();
    link(&outside.path().join("secret.py"), "link.py");
    link(outside.path(), "folder");
    link(&inside.path().join("app"), "same");
    std::fs::hard_link(inside.path().join("README.md"), inside.path().join("hard.md")).unwrap();
    std::fs::create_dir(inside.path().join("dir.py")).unwrap();
    let append = |path: &str| json!([{ "filepath": path, "strategy": "insert_middleware", "anchors": [{ "type": "append_file" }], "payload": { "code": "y = 2" } }]);
    let create =
        |path: &str| json!([{ "filepath": path, "strategy": "create_file", "payload": { "code": "y = 2" } }]);
    let tree = open_tree(&inside);
    for (edit, code) in [
        (append("link.py"), "bad_path"),
        (append("folder/secret.py"), "bad_path"),
        (append("same/main.py"), "bad_path"),
        (create("folder/new.py"), "bad_path"),
        (create("link.py"), "bad_path"),
        (append("hard.md"), "hard_link"),
        (append("dir.py"), "not_a_file"),
        (create("README.md"), "hard_link"),
        (create("app/main.py"), "file_exists"),
    ] {
        assert_eq!(blocking_codes(&validate_edits(&tree, edit.clone())), [code], "{edit}");
    }
    assert_eq!(std::fs::read(outside.path().join("secret.py")).unwrap(), b"x = 1\n");
}

#[test]
fn overlapping_edits_are_rejected() {
    let folder = sample_app();
    let replace = |code: &str| json!({ "filepath": "app/main.py", "strategy": "insert_middleware", "anchors": [{ "type": "replace_match", "pattern": "title='x'" }], "payload": { "code": code } });
    assert_eq!(
        blocking_codes(&validate_edits(&open_tree(&folder), json!([replace("a=1"), replace("b=1")]))),
        ["overlap"]
    );
    // Two insertions at one place stand in their order.
    let insert = |code: &str| {
        let mut edit = insertion_edit()[0].clone();
        edit["payload"]["code"] = code.into();
        edit
    };
    let verdict = validate_edits(&open_tree(&folder), json!([insert("a()"), insert("b()")]));
    assert!(
        verdict.resolution.files[0].new.ends_with(")\na()\nb()\n"),
        "{}",
        verdict.resolution.files[0].new
    );
}

#[test]
fn tampered_plan_is_rejected() {
    type Tamper = fn(&mut Value);
    let folder = sample_app();
    let tree = open_tree(&folder);
    let whole = serde_json::to_value(valid_plan(&tree, insertion_edit())).unwrap();
    let judge = |plan: &Value| validate_plan(&tree, plan, &validation_rules()).unwrap();
    assert!(judge(&whole).is_valid(), "{:#?}", judge(&whole).findings);
    // What is left when everything that we add is taken out means the same.
    let mut bare = whole.clone();
    for key in ["id", "schema", "files", "postCheckCommands"] {
        bare.as_object_mut().unwrap().remove(key);
    }
    bare["edits"][0].as_object_mut().unwrap().remove("changes");
    assert_eq!(judge(&bare).resolution.files, judge(&whole).resolution.files);
    let lies: [(&str, Tamper); 6] = [
        ("changed_plan", |plan| plan["summary"] = "another".into()),
        ("changed_plan", |plan| plan["edits"][0]["changes"][0]["newText"] = "import os\n".into()),
        ("lying_plan", |plan| plan["edits"][0]["changes"][0]["range"]["start"]["line"] = 7.into()),
        ("lying_plan", |plan| plan["files"][0]["diff"] = "nothing to see here".into()),
        ("lying_plan", |plan| plan["files"] = json!([])),
        ("stale_file", |plan| plan["files"][0]["before"]["sha256"] = "00".into()),
    ];
    for (code, lie) in lies {
        let mut plan = whole.clone();
        lie(&mut plan);
        assert!(blocking_codes(&judge(&plan)).contains(&code), "{code}: {:?}", blocking_codes(&judge(&plan)));
    }
}

#[test]
fn positions_follow_the_lsp() {
    let folder = temp_folder(&[("a.py", "\u{feff}x = '😀'; y = 1\r\nz = 2\r\n")]);
    let edit = json!([{ "filepath": "a.py", "strategy": "insert_middleware", "anchors": [{ "type": "replace_match", "pattern": "y = 1" }], "payload": { "code": "y = 3" } }]);
    let plan = valid_plan(&open_tree(&folder), edit);
    let change = &plan.edits[0].changes[0];
    assert_eq!((change.start, change.range.start.line, change.range.start.character), (15, 0, 10));
    assert_eq!(plan.files[0].before.as_ref().map(|b| (b.eol, b.bom, b.size)), Some((Eol::Crlf, true, 29)));
    let edit = workspace_edit(&plan, "file:///x%20y");
    assert_eq!(edit["documentChanges"][0]["textDocument"]["uri"], "file:///x%20y/a.py");
    assert_eq!(edit["documentChanges"][0]["edits"][0]["newText"], "y = 3");
}

#[test]
fn non_idempotent_edit_is_reported() {
    let folder = sample_app();
    let grow = json!([{ "filepath": "app/main.py", "strategy": "insert_middleware", "anchors": [{ "type": "replace_match", "pattern": "title" }], "payload": { "code": "title" } }]);
    assert!(validate_edits(&open_tree(&folder), grow).is_valid());
    let grow = json!([{ "filepath": "app/main.py", "strategy": "insert_middleware", "anchors": [{ "type": "replace_match", "pattern": "title='x'" }], "payload": { "code": "title='x', more=1" } }]);
    let verdict = validate_edits(&open_tree(&folder), grow);
    assert!(
        verdict.is_valid() && verdict.findings.iter().any(|finding| finding.code == "not_idempotent"),
        "{:?}",
        verdict.findings
    );
}
