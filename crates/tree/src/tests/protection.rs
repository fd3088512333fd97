//! Protected paths under any name, and writes while a folder is being swapped.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// The protection of a path: `never`, `consent`, or empty.
fn protection_level(tree: &Tree, path: &str) -> &'static str {
    match tree.protection(path).unwrap() {
        Some(Protection::NeverWritable(_)) => "never",
        Some(Protection::RequiresConsent(_)) => "consent",
        None => "",
    }
}

#[test]
fn protected_names_match_in_every_spelling() {
    let folder = temp_folder(&[("a.txt", "")]);
    let tree = Tree::open(folder.path()).unwrap();
    for path in [
        ".git",
        ".git/hooks/pre-commit",
        "sub/.git",
        "sub/.git/config",
        ".GIT/config",
        ".Git /config",
        ".git./config",
        ".git. ./config",
        ".git::$INDEX_ALLOCATION/config",
        ".git:x",
        "git~1/config",
        "GIT~2",
        "GI7EBA~1/x",
        ".g\u{200c}it/config",
        ".g\u{34f}it/config",
        ".\u{fe0f}git/config",
        ".gi\u{e0020}t/config",
        "\u{ff0e}git/config",
        ".\u{ff47}\u{ff49}\u{ff54}/config",
        "\u{2024}git/config",
        ".git\u{ff0f}config",
        ".git\\config",
        ".g\u{131}t/config",
        ".\u{1d420}\u{1d422}\u{1d42d}/config",
        ".hg/hgrc",
        ".svn/x",
        ".jj/x",
        ".fluxway/plans/x",
        "FLUXWA~1/x",
        // Never-writable takes precedence over a protected parent.
        ".github/.git/config",
        "node_modules/x/.git/hooks/y",
    ] {
        assert_eq!(protection_level(&tree, path), "never", "{path:?}");
    }
    for path in [
        ".GitHub/workflows/x.yml",
        "GITHUB~1/workflows/x.yml",
        ".vs\u{200d}code/tasks.json",
        ".v\u{17f}code/tasks.json",
        "CLAUDE.md:stream",
        "A\u{ff27}ENTS.md",
        ".mcp.json.",
        "\u{212a}ilo.json",
    ] {
        assert_eq!(protection_level(&tree, path), "consent", "{path:?}");
    }
}

#[test]
fn tool_and_agent_config_requires_consent() {
    let folder = temp_folder(&[("a.txt", "")]);
    let tree = Tree::open(folder.path()).unwrap();
    // User and project files of all known clients, and files that tools run automatically.
    let guarded = "
        .mcp.json .claude.json .claude/settings.json Claude/claude_desktop_config.json .cursor/mcp.json Code/User/mcp.json Code/User/settings.json .vscode/mcp.json
        .copilot/mcp-config.json .github/mcp.json .codex/config.toml .gemini/settings.json opencode.json opencode.jsonc .opencode/x .config/opencode/opencode.json
        .zed/settings.json zed/settings.json .devin/mcp_config.json .config/devin/mcp_config.json .codeium/windsurf/mcp_config.json .agents/mcp_config.json
        goose/config.yaml .config/goose/config.yaml .junie/mcp/mcp.json .cline/data/settings/cline_mcp_settings.json settings/cline_mcp_settings.json
        .kiro/settings/mcp.json .amp/settings.json amp/settings.jsonc kilo.json kilo.jsonc .kilo/x crush.json .mcp/x .qwen/settings.json .openhands/setup.sh .rules WARP.md
        AGENTS.md GEMINI.md CLAUDE.md .goosehints .clinerules/x web/AGENTS.md
        .cargo/config.toml .cargo/config .docker/config.json .kube/config .direnv/x .vimrc .exrc .envrc build.rs crates/x/build.rs Makefile GNUmakefile makefile rules.mk justfile
        Taskfile.yml Rakefile setup.py setup.cfg conftest.py tests/conftest.py sitecustomize.py x.pth tox.ini noxfile.py pytest.ini binding.gyp gradlew .pylintrc .eslintrc.js
        .husky/pre-commit .githooks/x .gitattributes .gitmodules lefthook.yml .gitlab-ci.yml .circleci/config.yml Jenkinsfile
        .env .env.local .env-prod .npmrc .pnpmfile.cjs bunfig.toml .ssh/config .bashrc package-lock.json uv.lock Cargo.lock
        node_modules/.bin/x .venv/bin/python venv/x vendor/x dist/x.js sub/HEAD package.yaml
    ";
    for path in guarded.split_whitespace() {
        assert_eq!(protection_level(&tree, path), "consent", "{path}");
    }
    let plain = "
        pyproject.toml requirements.txt package.json tsconfig.json next.config.js vite.config.ts app/main.py src/index.ts README.md .gitignore Dockerfile Cargo.toml go.mod
        .env.example .env.local.example app/settings.json config.yaml head/index.ts makefile/x.py docs/git.md git/x.py hooks/useX.ts tasks.py manage.py user/mcp.py code/x.py
        distribution/x.py vendored.py agents/md.py digit~x.py
    ";
    for path in plain.split_whitespace() {
        assert_eq!(protection_level(&tree, path), "", "{path}");
    }
}

#[test]
fn protected_folder_is_rejected_as_root() {
    let base = temp_folder(&[
        (".git/hooks/x", ""),
        ("sub/.github/workflows/x", ""),
        (".venv/bin/x", ""),
        ("node_modules/.bin/x", ""),
        (".vscode/x", ""),
        (".claude/x", ""),
        (".cursor/worktrees/x/src/a.py", ""),
        ("data/HEAD", ""),
        ("data/objects/x", ""),
        ("data/refs/x", ""),
        ("src/a.py", ""),
        ("zed/settings.json", ""),
    ]);
    let base = base.path().canonicalize().unwrap();
    symlink(base.join(".git"), base.join("alias")).unwrap();
    let roots = Roots::new(Arc::from([base.clone()]));
    for wanted in [
        ".git",
        ".git/hooks",
        "src/../.git",
        "alias",
        "alias/hooks",
        "sub/.github",
        "sub/.github/workflows",
        ".venv/bin",
        "node_modules/.bin",
        ".vscode",
        ".claude",
        ".cursor/worktrees/x",
        "data",
        "data/objects",
    ] {
        let opened = roots.open(wanted).map(|tree| tree.path().to_path_buf());
        assert!(matches!(opened, Err(RootError::Protected { .. })), "{wanted}: {opened:?}");
    }
    assert!(roots.open("src").is_ok() && roots.open(".").is_ok());
    // Checked from the allowed folder, not from the opened one.
    assert_eq!(protection_level(&roots.open("zed").unwrap(), "settings.json"), "consent");
    assert_eq!(
        protection_level(&Roots::new(Arc::from([base.join("zed")])).open(".").unwrap(), "settings.json"),
        "consent"
    );

    // Folders that are allowed at start.
    for (path, is_fine) in [
        ("", true),
        ("src", true),
        (".cursor/worktrees/x", true),
        (".git", false),
        (".git/hooks", false),
        ("alias/hooks", false),
        (".cursor", false),
        ("node_modules", false),
        ("data", false),
    ] {
        let checked = check_root(&base.join(path));
        assert_eq!(checked.is_ok(), is_fine, "{path}: {checked:?}");
        let opened = Roots::new(Arc::from([base.join(path).canonicalize().unwrap()])).open(".");
        assert_eq!(opened.is_ok(), is_fine, "{path}");
    }
    // The inner of two roots was allowed explicitly, so the check starts there.
    let inner = base.join(".cursor/worktrees/x");
    let both = Roots::new(Arc::from([base.clone(), inner.clone()]));
    assert_eq!(protection_level(&both.open(inner.to_str().unwrap()).unwrap(), "src/a.py"), "");
}

#[test]
fn configured_hooks_path_is_protected() {
    let check = |files: &[(&str, &str)], expected: &[(&str, &str)]| {
        let folder = temp_folder(files);
        let root = folder.path().canonicalize().unwrap();
        symlink("real", root.join("link")).unwrap();
        for (name, text) in files {
            fs::write(root.join(name), text.replace("ROOT", root.to_str().unwrap())).unwrap();
        }
        let tree = Tree::open(&root).unwrap();
        for (path, level_) in expected {
            assert_eq!(protection_level(&tree, path), *level_, "{path} {files:?}");
        }
    };
    for line in [
        "[core]\n\thooksPath = tools/hooks\n",
        "[CORE]\nHOOKSPATH=\"tools/hooks\" ; c\n",
        "[core] hooksPath = ./tools//x/../hooks # c\n",
        "[core]\r\nhooksPath = tools/\\\r\nhooks\r\n",
        "[core]\nhooksPath = ROOT/tools/hooks\n",
        "[core]\nhooksPath = tools/hooks\n[core]\nhooksPath = other\n",
    ] {
        let expected =
            [("tools/hooks/pre-commit", "consent"), ("Tools/Hooks/x", "consent"), ("tools/x", ""), ("a", "")];
        check(&[(".git/config", line), ("tools/x", "")], &expected);
    }
    check(
        &[(".git/config", "[user]\nhooksPath = a\n[core \"x\"]\nhooksPath = b\n")],
        &[("a/x", ""), ("b/x", "")],
    );
    check(
        &[(".git/config", "[core]\nhooksPath = .\n")],
        &[("pre-commit", "consent"), ("a.py", ""), ("a/update", "")],
    );
    // Through a link, which is not a name of the folder.
    check(
        &[(".git/config", "[core]\nhooksPath = link\n"), ("real/x", "")],
        &[("real/pre-commit", "consent")],
    );
    // A repository within, one whose data is elsewhere, and a worktree.
    check(
        &[("sub/.git/config", "[core]\nhooksPath = h\n"), ("sub/a", "")],
        &[("sub/h/x", "consent"), ("h/x", "")],
    );
    check(
        &[
            ("sub/.git", "gitdir: ../.git/modules/sub\n"),
            (".git/modules/sub/config", "[core]\nhooksPath = h\n"),
        ],
        &[("sub/h/x", "consent"), ("sub/.git", "never"), ("sub/a.py", "")],
    );
    check(
        &[
            ("tree/.git", "gitdir: ROOT/main/.git/worktrees/tree\n"),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("main/.git/config", "[core]\nhooksPath = h\n"),
        ],
        &[("tree/h/x", "consent"), ("tree/.git", "never"), ("main/h/x", "consent")],
    );
    // Data of a repository in a folder of any name.
    check(
        &[("x/HEAD", ""), ("x/objects/a", ""), ("x/refs/a", "")],
        &[("x/hooks/update", "never"), ("x/config", "never")],
    );
}

#[test]
fn protected_folder_is_recognized_after_rename() {
    // Tests cannot mount. A renamed folder also has the same identity under another name.
    let folder = temp_folder(&[
        (".git/hooks/x", ""),
        (".git/modules/m/hooks/x", ""),
        (".claude/x", ""),
        ("src/a", ""),
    ]);
    let tree = Tree::open(folder.path()).unwrap();
    assert_eq!(protection_level(&tree, "src/hooks/x"), "");
    for (from, to) in [(".git/modules/m", "src/m"), (".git/hooks", "src/hooks"), (".claude", "notes")] {
        fs::rename(folder.path().join(from), folder.path().join(to)).unwrap();
    }
    assert_eq!(protection_level(&tree, "src/hooks/x"), "never");
    assert_eq!(protection_level(&tree, "src/m/hooks/x"), "never");
    assert_eq!(protection_level(&tree, "notes/x"), "consent");
    assert_eq!(protection_level(&tree, "src/a"), "");
    // Writes fail even without a prior protection check.
    assert!(tree.create_file("src/hooks/new", b"x", 0o644).is_err());
    assert!(tree.rename("src/a", "src/hooks/a").is_err());
    assert!(tree.create_folders("src/hooks/new").is_err());
    assert!(tree.remove("src/hooks/x").is_err());
    assert!(
        tree.create_file(".git/new", b"x", 0o644).is_err()
            && tree.create_file("sub/.GIT", b"x", 0o644).is_err()
    );
}

#[test]
fn every_write_rejects_symlinks_in_the_path() {
    let folder = temp_folder(&[("real/a", "a"), ("real/empty/", ""), ("b", "b")]);
    symlink("real", folder.path().join("link")).unwrap();
    symlink("a", folder.path().join("real/to-a")).unwrap();
    let tree = Tree::open(folder.path()).unwrap();
    assert!(tree.metadata("link/a").is_err());
    assert!(tree.read("link/a", 9).is_ok(), "reading alone may follow");
    assert!(tree.read_nofollow("link/a", 9).is_err() && tree.read_nofollow("real/to-a", 9).is_err());
    assert_eq!(tree.read_nofollow("real/a", 9).unwrap(), b"a");
    assert!(tree.create_file("link/new", b"x", 0o644).is_err());
    assert!(tree.replace("link/a", "link/aside", b"x", 0o644).is_err());
    assert!(tree.set_mode("link/a", 0o777).is_err() && tree.set_mode("real/to-a", 0o777).is_err());
    assert!(tree.rename("link/a", "c").is_err() && tree.rename("b", "link/b").is_err());
    assert!(tree.remove("link/a").is_err());
    assert!(tree.create_folders("link/new").is_err());
    assert!(!tree.remove_folder("link/empty").unwrap() && !tree.remove_folder("link").unwrap());
    assert!(tree.file_names("link").is_err() && tree.entries("link", 9).is_err());
    for outside in ["../x", "a/../../x", "/etc/x", "real/../b"] {
        assert!(
            tree.create_file(outside, b"x", 0o644).is_err() && tree.metadata(outside).is_err(),
            "{outside}"
        );
    }
    let names = |folder: &str| tree.file_names(folder).unwrap();
    assert_eq!(
        (names("real"), names(".")),
        (vec!["a".into(), "empty".into(), "to-a".into()], vec!["b".into(), "link".into(), "real".into()])
    );
}

/// Writes to a folder while another thread swaps it for `other`, which leads to the hooks, and back.
#[cfg(target_os = "linux")]
fn race_writes_against_folder_swap(other: &str) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    /// Successful writes, and attempted writes.
    const MIN_SUCCESSFUL_WRITES: usize = 200;
    const MAX_ATTEMPTS: usize = 4000;
    let folder = temp_folder(&[(".git/hooks/", ""), ("src/", ""), ("notes/", "")]);
    let at = |name: &str| folder.path().join(name);
    symlink(".git/hooks", at("link")).unwrap();
    let tree = Tree::open(folder.path()).unwrap();
    assert_eq!(protection_level(&tree, "src/f"), "");
    let is_over = AtomicBool::new(false);
    let (mut tried, mut written, mut swaps) = (0, 0, 0);
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            let swap = || renameat_with(CWD, at("src"), CWD, at(other), RenameFlags::EXCHANGE).unwrap();
            let mut swaps = 0;
            while !is_over.load(Ordering::Relaxed) {
                swap();
                swap();
                swaps += 2;
            }
            swaps
        });
        while written < MIN_SUCCESSFUL_WRITES && tried < MAX_ATTEMPTS {
            let n = tried;
            let path = format!("src/f{n}");
            // Like a plan: check, stage elsewhere, rename into place.
            let done = tree.metadata(&path).and_then(|_| match n % 3 {
                0 => tree.create_file(&path, b"x", 0o755),
                1 => tree.create_folders(&path).map(drop),
                _ => {
                    let aside = format!("notes/n{n}");
                    tree.create_file(&aside, b"x", 0o755)?;
                    tree.rename(&aside, &path)
                }
            });
            tried += 1;
            match done {
                Ok(()) => written += 1,
                // On a single core, give the other thread time to swap back.
                Err(_) => std::thread::yield_now(),
            }
        }
        is_over.store(true, Ordering::Relaxed);
        swaps = swapping.join().unwrap();
    });
    assert_eq!(fs::read_dir(at(".git/hooks")).unwrap().count(), 0, "{written} writes, {swaps} swaps");
    assert_eq!(fs::read_dir(at("src")).unwrap().count(), written);
    assert!(
        written > 0 && written < tried && swaps > 0,
        "{written} of {tried} writes, {swaps} swaps: no race"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn writes_never_follow_a_swapped_folder() {
    for other in ["link", ".git/hooks"] {
        race_writes_against_folder_swap(other);
    }
}
