//! Programs that plans name run as they do without a sandbox.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Site, has, isolations};

#[test]
fn usual_commands_run() {
    const PACKAGE: &str =
        r#"{"name": "it", "version": "1.0.0", "scripts": {"test": "node test.js", "greet": "tool"}}"#;
    const TEST: &str =
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertTrue(True)\n";
    const CARGO: &str = "[package]\nname = \"it\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let site = Site::new();
    site.file("hello.py", "import json, asyncio, sqlite3; print('ok')")
        .file("app/__init__.py", "")
        .file("app/main.py", "print('ok')")
        .file("test_it.py", TEST)
        .file("test.js", "require('fs').writeFileSync('made', 'x'); require('assert')(require('os').cpus().length); console.log('ok')")
        .file("package.json", PACKAGE)
        .script("node_modules/tool/cli.js", "#!/usr/bin/env node\nconsole.log('ok')\n")
        .file("Cargo.toml", CARGO)
        .file("src/lib.rs", "pub fn one() -> u8 { 1 }\n#[test]\nfn it() { assert_eq!(one(), 1); }\n")
        .file("go.mod", "module it\ngo 1.20\n")
        .file("it.go", "package it\n");
    fs::create_dir(site.tree.join("node_modules/.bin")).unwrap();
    symlink("../tool/cli.js", site.tree.join("node_modules/.bin/tool")).unwrap();
    for isolation in isolations() {
        for (program, command) in [
            ("python3", "python3 hello.py"),
            ("python3", "python3 -m app.main"),
            ("python3", "python3 -m py_compile hello.py"),
            ("python3", "python3 -m unittest"),
            ("pytest", "pytest -q"),
            ("node", "node --check test.js"),
            ("node", "tool"),
            ("npm", "npm test"),
            ("npm", "npm run greet"),
            ("cargo", "cargo test"),
            ("go", "go vet ./..."),
            ("java", "java -version"),
        ] {
            if has(program) {
                let ended = site.run_as(command, isolation);
                assert_eq!(ended.code, Some(0), "{command} {isolation:?}: {}", ended.output);
            }
        }
    }
}

/// Environments of Python: their interpreter is a link to one that is installed anywhere.
#[test]
fn programs_of_an_environment_run() {
    if !has("python3") {
        return;
    }
    for folder in [".venv", "venv"] {
        let site = Site::new();
        let made = site.run(&format!("python3 -m venv --without-pip {folder}"));
        if made.code != Some(0) {
            println!("not tested: no environment can be made here: {}", made.output);
            return;
        }
        let python = site.tree.join(folder).join("bin/python3");
        let body = "import sys, json, it_is_installed\nprint(sys.prefix)\n";
        site.script(&format!("{folder}/bin/pytest"), &format!("#!{}\n{body}", python.display()))
            .script(&format!("{folder}/bin/other"), &format!("#!/usr/bin/env python3\n{body}"))
            .file("run.py", body);
        let library = fs::read_dir(site.tree.join(folder).join("lib")).unwrap().flatten().next().unwrap();
        fs::write(library.path().join("site-packages/it_is_installed.py"), "").unwrap();
        for isolation in isolations() {
            for command in ["pytest -q", "other", "python3 run.py", "python run.py"] {
                let ended = site.run_as(command, isolation);
                let prefix = format!("{}\n", site.tree.join(folder).display());
                assert_eq!((ended.code, ended.output), (Some(0), prefix), "{command} {isolation:?}");
            }
        }
    }
}
