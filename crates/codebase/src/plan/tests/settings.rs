//! Values in configuration files.

use super::*;

fn setting(key: &str, value: Value) -> Setting {
    let (key, append) = key.strip_suffix("[]").map_or((key, false), |key| (key, true));
    Setting { key: key.split('.').map(str::to_owned).collect(), value, append }
}

#[track_caller]
fn check_setting(path: &str, before: &str, key: &str, value: Value, after: &str) {
    assert_eq!(config::apply_settings(path, before, &[setting(key, value)]).as_deref(), Ok(after));
}

#[test]
fn yaml_settings_are_edited_in_place() {
    let simulation = "# mine\nname: x   # the name\nrunner:\n  target: \"old:run\" # which\n  timeout: 3\n\nlist:\n  - a\n  # more\n  - b\nlast:\n";
    check_setting(
        "a.yaml",
        simulation,
        "runner.target",
        json!("app:run"),
        &simulation.replace("old:run", "app:run"),
    );
    check_setting(
        "a.yaml",
        simulation,
        "name",
        json!("other"),
        &simulation.replace("name: x", "name: other"),
    );
    check_setting(
        "a.yaml",
        simulation,
        "name",
        json!("true"),
        &simulation.replace("name: x", "name: \"true\""),
    );
    check_setting(
        "a.yaml",
        simulation,
        "runner.retries",
        json!(2),
        &simulation.replace("timeout: 3\n", "timeout: 3\n  retries: 2\n"),
    );
    check_setting(
        "a.yaml",
        simulation,
        "runner.env.KEY",
        json!("v"),
        &simulation.replace("timeout: 3\n", "timeout: 3\n  env:\n    KEY: v\n"),
    );
    check_setting("a.yaml", simulation, "last", json!("z"), &simulation.replace("last:\n", "last: z\n"));
    check_setting(
        "a.yaml",
        simulation,
        "last.deep",
        json!("z"),
        &simulation.replace("last:\n", "last:\n  deep: z\n"),
    );
    check_setting(
        "a.yaml",
        simulation,
        "list[]",
        json!("c"),
        &simulation.replace("  - b\n", "  - b\n  - c\n"),
    );
    check_setting("a.yaml", simulation, "list[]", json!("a"), simulation);
    check_setting("a.yaml", simulation, "runner.timeout", json!(3), simulation);
    check_setting("a.yaml", "a: 1", "b", json!([{"c": "d", "e": 1}]), "a: 1\nb:\n  - c: d\n    e: 1");
    check_setting("a.yaml", "# only a comment\n", "a.b", json!(1), "# only a comment\na:\n  b: 1\n");
    check_setting("a.yaml", "a: 1\r\nb: 2\r\n", "a", json!(5), "a: 5\r\nb: 2\r\n");
    check_setting("a.yaml", "a: ü # ö\nb: 'x'\n", "b", json!("é"), "a: ü # ö\nb: 'é'\n");
    check_setting(
        "a.yaml",
        "runner:\n  x: |\n    text\n    more\nz: 1\n",
        "runner.w",
        json!(1),
        "runner:\n  x: |\n    text\n    more\n  w: 1\nz: 1\n",
    );
    check_setting(
        "a.yaml",
        "runner:\n  a: 1\n  b: 2\nz: 1\n",
        "runner",
        json!({"c": 3}),
        "runner:\n  c: 3\nz: 1\n",
    );
    for (before, key) in [
        ("a: {b: 1}\n", "a.c"),
        ("- a\n", "a"),
        ("a: *x\n", "b"),
        ("a: 1\n---\nb: 2\n", "a"),
        ("a: [\n", "a"),
        ("a: 1\n", "a.b"),
    ] {
        assert!(config::apply_settings("a.yaml", before, &[setting(key, json!(9))]).is_err(), "{before:?}");
    }
}

#[test]
fn toml_settings_are_edited_in_place() {
    let project = "# mine\n[project]\nname = \"x\" # n\ndependencies = [\n    \"a>=1\", # one\n    \"b\",\n]\n\n[tool.x]\ny = 1\n";
    check_setting("p.toml", project, "project.name", json!("z"), &project.replace("\"x\" # n", "\"z\" # n"));
    check_setting(
        "p.toml",
        project,
        "project.dependencies[]",
        json!("sdk"),
        &project.replace("    \"b\",\n", "    \"b\",\n    \"sdk\",\n"),
    );
    check_setting("p.toml", project, "project.dependencies[]", json!("b"), project);
    check_setting(
        "p.toml",
        project,
        "tool.x.z",
        json!(true),
        &project.replace("y = 1\n", "y = 1\nz = true\n"),
    );
    check_setting("p.toml", "a = 1\r\n[b]\r\nc = 2\r\n", "b.c", json!(3), "a = 1\r\n[b]\r\nc = 3\r\n");
    check_setting("p.toml", "a = [\"x\"]\n", "a[]", json!("y"), "a = [\"x\", \"y\"]\n");
    assert!(config::apply_settings("p.toml", "a = 1\n", &[setting("a.b", json!(1))]).is_err());
    assert!(config::apply_settings("p.toml", "a = \n", &[setting("a", json!(1))]).is_err());
}

#[test]
fn json_settings_keep_comments() {
    let package = "{\n  // mine\n  \"name\": \"x\",\n  \"scripts\": {\n    \"dev\": \"next\" // d\n  }\n}\n";
    check_setting("p.json", package, "name", json!("y"), &package.replace("\"x\"", "\"y\""));
    check_setting(
        "p.json",
        package,
        "scripts.sim",
        json!("run"),
        &package.replace("\"next\" // d\n", "\"next\", // d\n    \"sim\": \"run\"\n"),
    );
    check_setting("p.json", "{\"a\": [1]}", "a[]", json!(2), "{\"a\": [1, 2]}");
    check_setting("p.json", "{\"a\": 1}", "a", json!(1), "{\"a\": 1}");
    assert!(config::apply_settings("p.json", "[1]", &[setting("a", json!(1))]).is_err());
    assert!(config::apply_settings("p.ini", "", &[setting("a", json!(1))]).is_err());
}
