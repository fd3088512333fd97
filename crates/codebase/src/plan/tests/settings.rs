//! Values in configuration files.

use super::*;

fn setting(key: &str, value: Value) -> Setting {
    let (key, append) = key.strip_suffix("[]").map_or((key, false), |key| (key, true));
    Setting { key: key.split('.').map(str::to_owned).collect(), value, append }
}

#[track_caller]
fn check(path: &str, before: &str, key: &str, value: Value, after: &str) {
    assert_eq!(config::set(path, before, &[setting(key, value)]).as_deref(), Ok(after));
}

#[test]
fn yaml() {
    let simulation = "# mine\nname: x   # the name\nrunner:\n  target: \"old:run\" # which\n  timeout: 3\n\nlist:\n  - a\n  # more\n  - b\nlast:\n";
    check("a.yaml", simulation, "runner.target", json!("app:run"), &simulation.replace("old:run", "app:run"));
    check("a.yaml", simulation, "name", json!("other"), &simulation.replace("name: x", "name: other"));
    check("a.yaml", simulation, "name", json!("true"), &simulation.replace("name: x", "name: \"true\""));
    check(
        "a.yaml",
        simulation,
        "runner.retries",
        json!(2),
        &simulation.replace("timeout: 3\n", "timeout: 3\n  retries: 2\n"),
    );
    check(
        "a.yaml",
        simulation,
        "runner.env.KEY",
        json!("v"),
        &simulation.replace("timeout: 3\n", "timeout: 3\n  env:\n    KEY: v\n"),
    );
    check("a.yaml", simulation, "last", json!("z"), &simulation.replace("last:\n", "last: z\n"));
    check(
        "a.yaml",
        simulation,
        "last.deep",
        json!("z"),
        &simulation.replace("last:\n", "last:\n  deep: z\n"),
    );
    check("a.yaml", simulation, "list[]", json!("c"), &simulation.replace("  - b\n", "  - b\n  - c\n"));
    check("a.yaml", simulation, "list[]", json!("a"), simulation);
    check("a.yaml", simulation, "runner.timeout", json!(3), simulation);
    check("a.yaml", "a: 1", "b", json!([{"c": "d", "e": 1}]), "a: 1\nb:\n  - c: d\n    e: 1");
    check("a.yaml", "# only a comment\n", "a.b", json!(1), "# only a comment\na:\n  b: 1\n");
    check("a.yaml", "a: 1\r\nb: 2\r\n", "a", json!(5), "a: 5\r\nb: 2\r\n");
    check("a.yaml", "a: ü # ö\nb: 'x'\n", "b", json!("é"), "a: ü # ö\nb: 'é'\n");
    check(
        "a.yaml",
        "runner:\n  x: |\n    text\n    more\nz: 1\n",
        "runner.w",
        json!(1),
        "runner:\n  x: |\n    text\n    more\n  w: 1\nz: 1\n",
    );
    check("a.yaml", "runner:\n  a: 1\n  b: 2\nz: 1\n", "runner", json!({"c": 3}), "runner:\n  c: 3\nz: 1\n");
    for (before, key) in [
        ("a: {b: 1}\n", "a.c"),
        ("- a\n", "a"),
        ("a: *x\n", "b"),
        ("a: 1\n---\nb: 2\n", "a"),
        ("a: [\n", "a"),
        ("a: 1\n", "a.b"),
    ] {
        assert!(config::set("a.yaml", before, &[setting(key, json!(9))]).is_err(), "{before:?}");
    }
}

#[test]
fn toml() {
    let project = "# mine\n[project]\nname = \"x\" # n\ndependencies = [\n    \"a>=1\", # one\n    \"b\",\n]\n\n[tool.x]\ny = 1\n";
    check("p.toml", project, "project.name", json!("z"), &project.replace("\"x\" # n", "\"z\" # n"));
    check(
        "p.toml",
        project,
        "project.dependencies[]",
        json!("sdk"),
        &project.replace("    \"b\",\n", "    \"b\",\n    \"sdk\",\n"),
    );
    check("p.toml", project, "project.dependencies[]", json!("b"), project);
    check("p.toml", project, "tool.x.z", json!(true), &project.replace("y = 1\n", "y = 1\nz = true\n"));
    check("p.toml", "a = 1\r\n[b]\r\nc = 2\r\n", "b.c", json!(3), "a = 1\r\n[b]\r\nc = 3\r\n");
    check("p.toml", "a = [\"x\"]\n", "a[]", json!("y"), "a = [\"x\", \"y\"]\n");
    assert!(config::set("p.toml", "a = 1\n", &[setting("a.b", json!(1))]).is_err());
    assert!(config::set("p.toml", "a = \n", &[setting("a", json!(1))]).is_err());
}

#[test]
fn json_with_comments() {
    let package = "{\n  // mine\n  \"name\": \"x\",\n  \"scripts\": {\n    \"dev\": \"next\" // d\n  }\n}\n";
    check("p.json", package, "name", json!("y"), &package.replace("\"x\"", "\"y\""));
    check(
        "p.json",
        package,
        "scripts.sim",
        json!("run"),
        &package.replace("\"next\" // d\n", "\"next\", // d\n    \"sim\": \"run\"\n"),
    );
    check("p.json", "{\"a\": [1]}", "a[]", json!(2), "{\"a\": [1, 2]}");
    check("p.json", "{\"a\": 1}", "a", json!(1), "{\"a\": 1}");
    assert!(config::set("p.json", "[1]", &[setting("a", json!(1))]).is_err());
    assert!(config::set("p.ini", "", &[setting("a", json!(1))]).is_err());
}
