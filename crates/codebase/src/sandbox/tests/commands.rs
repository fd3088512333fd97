//! Programs that plans name run as they do without a sandbox.

use std::fs;
use std::os::unix::fs::symlink;

use super::{SandboxFixture, available_isolations, is_installed};

#[test]
fn common_commands_run() {
    const PACKAGE: &str =
        r#"{"name": "it", "version": "1.0.0", "scripts": {"test": "node test.js", "greet": "tool"}}"#;
    const TEST: &str =
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertTrue(True)\n";
    const CARGO: &str = "[package]\nname = \"it\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let site = SandboxFixture::new();
    site.write_file("hello.py", "import json, asyncio, sqlite3; print('ok')")
        .write_file("app/__init__.py", "")
        .write_file("app/main.py", "print('ok')")
        .write_file("test_it.py", TEST)
        .write_file("test.js", "require('fs').writeFileSync('made', 'x'); require('assert')(require('os').cpus().length); console.log('ok')")
        .write_file("package.json", PACKAGE)
        .write_script("node_modules/tool/cli.js", "#!/usr/bin/env node\nconsole.log('ok')\n")
        .write_file("Cargo.toml", CARGO)
        .write_file("src/lib.rs", "pub fn one() -> u8 { 1 }\n#[test]\nfn it() { assert_eq!(one(), 1); }\n")
        .write_file("go.mod", "module it\ngo 1.20\n")
        .write_file("it.go", "package it\n");
    fs::create_dir(site.tree.join("node_modules/.bin")).unwrap();
    symlink("../tool/cli.js", site.tree.join("node_modules/.bin/tool")).unwrap();
    for isolation in available_isolations() {
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
            if is_installed(program) {
                let ended = site.run_with_isolation(command, isolation);
                assert_eq!(ended.code, Some(0), "{command} {isolation:?}: {}", ended.output);
            }
        }
    }
}

/// Environments of Python: their interpreter is a link to one that is installed anywhere.
#[test]
fn virtual_env_programs_run() {
    if !is_installed("python3") {
        return;
    }
    for folder in [".venv", "venv"] {
        let site = SandboxFixture::new();
        let made = site.run(&format!("python3 -m venv --without-pip {folder}"));
        if made.code != Some(0) {
            println!("not tested: no environment can be made here: {}", made.output);
            return;
        }
        let python = site.tree.join(folder).join("bin/python3");
        let body = "import sys, json, it_is_installed\nprint(sys.prefix)\n";
        site.write_script(&format!("{folder}/bin/pytest"), &format!("#!{}\n{body}", python.display()))
            .write_script(&format!("{folder}/bin/other"), &format!("#!/usr/bin/env python3\n{body}"))
            .write_file("run.py", body);
        let library = fs::read_dir(site.tree.join(folder).join("lib")).unwrap().flatten().next().unwrap();
        fs::write(library.path().join("site-packages/it_is_installed.py"), "").unwrap();
        for isolation in available_isolations() {
            for command in ["pytest -q", "other", "python3 run.py", "python run.py"] {
                let ended = site.run_with_isolation(command, isolation);
                let prefix = format!("{}\n", site.tree.join(folder).display());
                assert_eq!((ended.code, ended.output), (Some(0), prefix), "{command} {isolation:?}");
            }
        }
    }
}
