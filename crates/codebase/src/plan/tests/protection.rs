//! Protected paths and keys cannot be bypassed through another root, name or file.

use std::sync::Arc;

use tree::Roots;

use super::*;

fn create_file_edit(path: &str) -> Value {
    json!({ "filepath": path, "strategy": "create_file", "payload": { "code": "x\n" } })
}

fn set_edit(path: &str, settings: Value) -> Value {
    json!([{ "filepath": path, "strategy": "modify_config", "payload": { "set": settings } }])
}

fn validate_with_consent(tree: &Tree, edits: Value, consent: &[&str]) -> PlanValidation {
    let consent: Vec<String> = consent.iter().map(ToString::to_string).collect();
    let plan = json!({ "summary": "s", "edits": edits, "rollback": { "instruction": "x" } });
    validate_plan(tree, &plan, &ValidationRules { consent: &consent, ..validation_rules() }).unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "roots are canonical")]
fn paths_are_checked_from_the_allowed_root() {
    let folder = temp_folder(&[
        ("amp/a.txt", ""),
        ("web/.git/config", "[core]\nhooksPath = ../tools/hooks\n"),
        ("web/tools/a.txt", ""),
        (".git/config", "[core]\nhooksPath = web/tools/run\n"),
    ]);
    let roots = Roots::new(Arc::from([folder.path().canonicalize().unwrap()]));
    for (root, path, expected) in [
        ("amp", "settings.json", "protected_path"),
        ("web/tools", "run/pre-commit", "protected_path"),
        ("web", "tools/run/pre-commit", "protected_path"),
        ("web", "tools/other", ""),
        (".", "amp/settings.json", "protected_path"),
    ] {
        let found =
            blocking_codes(&validate_edits(&roots.open(root).unwrap(), json!([create_file_edit(path)])));
        assert_eq!(found.concat(), expected, "{root} {path}");
    }
    // Never-writable paths stay so, regardless of the protected folder they are in and of consent.
    let inner = ".github/.git/config";
    let verdict =
        validate_with_consent(&roots.open(".").unwrap(), json!([create_file_edit(inner)]), &[inner]);
    assert_eq!(blocking_codes(&verdict), ["protected_path"]);
}

#[test]
fn aliases_of_a_protected_path_are_protected() {
    let folder = temp_folder(&[("a.py", ""), ("sub/.git", "gitdir: ../.git/modules/sub\n")]);
    for path in [
        ".\u{ff47}it/config",
        ".git::$INDEX_ALLOCATION/config",
        ".github /x.yml",
        "GITHUB~1/x.yml",
        "sub/.git",
        ".git/modules/sub/config",
        "Makefile",
        ".cargo/config.toml",
        "opencode.json",
    ] {
        assert_eq!(
            blocking_codes(&validate_edits(&open_tree(&folder), json!([create_file_edit(path)]))),
            ["protected_path"],
            "{path:?}"
        );
    }
}

#[test]
fn executed_manifest_keys_require_their_own_consent() {
    let package = r#"{ "name": "x", "scripts": { "test": "t" }, "dependencies": {} }"#;
    let project = "[project]\nname = \"x\"\ndependencies = [\"a\"]\n";
    let check = |path: &str, before: &str, settings: Value, keys: &[&str], blocks: &[&str]| {
        let folder = temp_folder(&[(path, before)]);
        let verdict = validate_edits(&open_tree(&folder), set_edit(path, settings.clone()));
        let said = verdict.findings.iter().filter(|finding| finding.code == "manifest_key");
        let said: Vec<_> = said.map(|finding| finding.text.clone()).collect();
        assert_eq!(said, [format!("{path}: changes {}", keys.join(", "))], "{settings}");
        let found: Vec<_> = verdict.findings.iter().filter(|finding| finding.is_blocking()).collect();
        assert_eq!(found.len(), blocks.len(), "{found:#?}");
        for (finding, key) in found.iter().zip(blocks) {
            assert_eq!(finding.code, "protected_path");
            assert!(finding.text.contains(&format!("'{path}#{key}'")), "{finding:?}");
        }
        // Consent for the file or for another key does not cover this key.
        let named: Vec<String> = blocks.iter().map(|key| format!("{path}#{key}")).collect();
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        let others = [path, &format!("{path}#scripts"), &format!("{path}#scripts.other")];
        assert_eq!(
            validate_with_consent(&open_tree(&folder), set_edit(path, settings.clone()), &others).is_valid(),
            blocks.is_empty()
        );
        assert!(validate_with_consent(&open_tree(&folder), set_edit(path, settings), &named).is_valid());
    };
    check(
        "package.json",
        package,
        json!({ "dependencies.@fluxloop/sdk": "^1" }),
        &["dependencies.@fluxloop/sdk"],
        &[],
    );
    check("package.json", package, json!({ "workspaces": ["a"] }), &["workspaces"], &[]);
    for key in [
        "scripts.postinstall",
        "scripts.test",
        "husky.hooks.pre-commit",
        "lint-staged",
        "simple-git-hooks.pre-push",
        "pre-commit",
        "bin.x",
        "gypfile",
        "pnpm.onlyBuiltDependencies",
        "packageManager",
    ] {
        check("package.json", package, json!({ key: "x" }), &[key], &[key]);
        check("web/package.json", package, json!({ key: "x" }), &[key], &[key]);
    }
    check(
        "package.json",
        package,
        json!({ "dependencies.a": "1", "scripts.a": "x", "scripts.b": "y" }),
        &["dependencies.a", "scripts.a", "scripts.b"],
        &["scripts.a", "scripts.b"],
    );
    check(
        "pyproject.toml",
        project,
        json!([{ "key": ["project", "dependencies"], "value": "fluxloop", "append": true }]),
        &["project.dependencies"],
        &[],
    );
    check(
        "pyproject.toml",
        project,
        json!({ "tool.ruff.line-length": 100 }),
        &["tool.ruff.line-length"],
        &[],
    );
    for key in [
        "build-system.build-backend",
        "tool.pdm.scripts.x",
        "tool.poe.tasks.x",
        "tool.hatch.build.hooks.x.y",
        "tool.hatch.build.targets.wheel.hooks.x",
        "tool.taskipy.tasks.x",
        "tool.pytest.ini_options.addopts",
        "project.scripts.x",
        "tool.mypy.plugins",
    ] {
        check("pyproject.toml", project, json!({ key: "x" }), &[key], &[key]);
    }
    check("composer.json", "{}", json!({ "scripts.x": "y" }), &["scripts.x"], &["scripts.x"]);
    check("composer.json", "{}", json!({ "require.x": "y" }), &["require.x"], &[]);
    check("deno.json", "{}", json!({ "tasks.x": "y" }), &["tasks.x"], &["tasks.x"]);
    check("deno.jsonc", "{ // c\n}", json!({ "imports.x": "y" }), &["imports.x"], &[]);
    check(
        "Cargo.toml",
        "[package]\n",
        json!({ "package.build": "b.rs" }),
        &["package.build"],
        &["package.build"],
    );
}

#[test]
fn executed_keys_are_found_in_every_notation() {
    let package = "{\n  \"scripts\": {\n    \"test\": \"t\"\n  },\n  \"name\": \"x\"\n}\n";
    let replace = |pattern: &str, code: &str| {
        json!([{ "filepath": "package.json", "strategy": "insert_middleware",
            "anchors": [{ "type": "replace_match", "pattern": pattern }], "payload": { "code": code } }])
    };
    for (pattern, code) in [
        ("\"test\": \"t\"", "\"test\": \"t\", \"prepare\": \"evil\""),
        ("\"test\": \"t\"", "\"test\": \"evil\""),
        ("\"name\": \"x\"", "\"name\": \"x\", \"scripts\": { \"test\": \"evil\" }"),
        ("\"name\": \"x\"", "\"name\": \"x\", \"\\u0073cripts\": { \"test\": \"evil\" }"),
        ("\"name\": \"x\"", "\"name\": \"x\", \"bin\": \"./evil\""),
        ("\"scripts\": {", "\"scripts2\": {"),
    ] {
        let folder = temp_folder(&[("package.json", package)]);
        let verdict = validate_edits(&open_tree(&folder), replace(pattern, code));
        assert_eq!(
            blocking_codes(&verdict).first(),
            Some(&"protected_path"),
            "{code} {:#?}",
            verdict.findings
        );
    }
    let folder = temp_folder(&[("package.json", package), ("composer.json", "{ broken")]);
    let tree = open_tree(&folder);
    let make = |path: &str, code: &str| json!([{ "filepath": path, "strategy": "create_file", "payload": { "code": code } }]);
    // All keys of a new manifest are checked, also if its name is spelled differently.
    for path in ["web/package.json", "web/PACKAGE.JSON", "web/package.json.", "web/package.json:x"] {
        let verdict =
            validate_edits(&tree, make(path, "{ \"name\": \"x\", \"scripts\": { \"prepare\": \"evil\" } }"));
        assert_eq!(blocking_codes(&verdict), ["protected_path"], "{path}");
    }
    assert!(validate_edits(&tree, make("web/package.json", "{ \"name\": \"x\" }")).is_valid());
    assert_eq!(
        blocking_codes(&validate_edits(&tree, replace("\"name\": \"x\"", "\"name\": \"y\""))),
        [""; 0]
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the editor writes the files")]
fn undoing_a_protected_key_requires_the_same_consent() {
    let folder = temp_folder(&[("package.json", "{ \"scripts\": {} }\n")]);
    let tree = open_tree(&folder);
    let named = ["package.json#scripts.prepare", "web/package.json#scripts.prepare"];
    let new = "{ \"scripts\": { \"prepare\": \"x\" } }\n";
    let edits = json!([
        { "filepath": "package.json", "strategy": "modify_config", "payload": { "set": { "scripts.prepare": "x" } } },
        { "filepath": "web/package.json", "strategy": "create_file", "payload": { "code": new } },
    ]);
    let verdict = validate_with_consent(&tree, edits, &named);
    for file in &verdict.resolution.files {
        let path = folder.path().join(&file.change.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &file.new).unwrap();
    }
    let plan = verdict.plan.unwrap();
    let named = named.map(str::to_owned);
    for consent in [&[], &named[..1], &named[1..]] {
        assert!(matches!(undo_by_plan(&tree, &plan, consent), Err(ApplyError::Unknown(_))), "{consent:?}");
    }
    assert_eq!(undo_by_plan(&tree, &plan, &named).unwrap().files.len(), 2);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests swap folders")]
fn plan_is_not_applied_through_a_swapped_folder() {
    let folder = temp_folder(&[("src/a.py", "x = 1\n"), (".git/hooks/keep", "")]);
    let tree = open_tree(&folder);
    let verdict = validate_edits(
        &tree,
        json!([{ "filepath": "src/pre-commit", "strategy": "create_file", "payload": { "code": "evil\n" } }]),
    );
    let plan = verdict.plan.unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::rename(at("src"), at("away")).unwrap();
    std::os::unix::fs::symlink(".git/hooks", at("src")).unwrap();
    assert!(apply(&tree, &plan, &verdict.resolution.files).is_err());
    // Nor if the root is the hooks folder itself.
    std::fs::remove_file(at("src")).unwrap();
    std::fs::rename(at(".git/hooks"), at("src")).unwrap();
    assert!(apply(&tree, &plan, &verdict.resolution.files).is_err());
    assert_eq!(std::fs::read_dir(at("src")).unwrap().count(), 1);
}
