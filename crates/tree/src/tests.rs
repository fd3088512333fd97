#![expect(clippy::disallowed_methods, reason = "tests prepare the folders that they walk")]

mod protection;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::*;

/// Collects paths, and reads what it sees.
#[derive(Default)]
struct PathCollector(Vec<String>, Vec<u8>);

impl Visitor for PathCollector {
    fn visit(&mut self, file: &FileEntry<'_>) {
        file.read(&mut self.1);
        self.0.push(file.path.to_owned());
    }
}

/// A folder with these files; a name that ends in a slash is a folder.
fn temp_folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    folder
}

fn walk_paths(tree: &Tree, limits: Limits, budget: &WorkBudget) -> (Vec<String>, WalkReport<PathCollector>) {
    let walked = tree.walk(limits, budget, PathCollector::default);
    let mut paths: Vec<_> = walked.visitors.iter().flat_map(|v| v.0.clone()).collect();
    paths.sort();
    (paths, walked)
}

#[track_caller]
fn check_walked_paths(files: &[(&str, &str)], expected: &[&str]) {
    let folder = temp_folder(files);
    let tree = Tree::open(folder.path()).unwrap();
    assert_eq!(walk_paths(&tree, Limits::default(), &WorkBudget::unlimited()).0, expected);
}

#[test]
fn ignored_and_vendored_files_are_left_out() {
    check_walked_paths(
        &[
            (".gitignore", "*.log\n/only-here.txt\nsecret/\n"),
            ("a.py", ""),
            ("a.log", ""),
            ("only-here.txt", ""),
            ("sub/only-here.txt", ""),
            ("sub/.gitignore", "!keep.log\n"),
            ("sub/keep.log", ""),
            ("sub/other.log", ""),
            ("secret/x.py", ""),
            ("bom/.gitignore", "\u{feff}first.py\n"),
            ("bom/first.py", ""),
            (".git/config", ""),
            (".git/info/exclude", "excluded.py\n"),
            ("excluded.py", ""),
            (".next/server.js", ""),
            ("node_modules/x/index.js", ""),
            ("venv-of-mine/pyvenv.cfg", ""),
            ("venv-of-mine/lib/x.py", ""),
        ],
        &[".gitignore", "a.py", "bom/.gitignore", "sub/.gitignore", "sub/keep.log", "sub/only-here.txt"],
    );
    // The root is always walked, even if its name looks vendored.
    check_walked_paths(&[("pyvenv.cfg", ""), ("main.py", "")], &["main.py", "pyvenv.cfg"]);
    // Names that count as generated only next to a marker file.
    check_walked_paths(&[("target/a.rs", ""), ("vendor/b.rb", "")], &["target/a.rs", "vendor/b.rb"]);
    check_walked_paths(&[("Cargo.toml", ""), ("target/a.rs", "")], &["Cargo.toml"]);
    check_walked_paths(&[("go.mod", ""), ("vendor/b.go", "")], &["go.mod"]);
}

#[test]
fn ignore_files_above_the_root_are_not_read() {
    let outer = temp_folder(&[(".gitignore", "*.py\n"), ("inner/a.py", "")]);
    let tree = Tree::open(&outer.path().join("inner")).unwrap();
    assert_eq!(walk_paths(&tree, Limits::default(), &WorkBudget::unlimited()).0, ["a.py"]);
}

#[test]
fn symlinks_neither_escape_nor_loop() {
    let outside = temp_folder(&[("secret.txt", "secret")]);
    let inside = temp_folder(&[("a.txt", "a"), ("sub/b.txt", "b")]);
    let at = |name: &str| inside.path().join(name);
    symlink(outside.path().join("secret.txt"), at("link.txt")).unwrap();
    symlink(outside.path(), at("linked")).unwrap();
    symlink("..", at("sub/loop")).unwrap();
    symlink("a.txt", at("within.txt")).unwrap();
    let tree = Tree::open(inside.path()).unwrap();
    assert_eq!(walk_paths(&tree, Limits::default(), &WorkBudget::unlimited()).0, ["a.txt", "sub/b.txt"]);
    let outside = outside.path().display().to_string();
    let escapes = [
        "link.txt".to_owned(),
        "linked/secret.txt".to_owned(),
        format!("{outside}/secret.txt"),
        format!("../{}/secret.txt", outside.rsplit('/').next().unwrap()),
        "sub/../../x".to_owned(),
        "/etc/passwd".to_owned(),
        "a.txt\0".to_owned(),
        String::new(),
    ];
    for escape in escapes {
        assert!(matches!(tree.read(&escape, 100), Err(ReadError::Io(_))), "{escape:?}");
    }
    assert_eq!(tree.read("within.txt", 100).unwrap(), b"a");
    assert_eq!(tree.read("sub/loop/sub/../a.txt", 100).unwrap(), b"a");
}

#[test]
fn special_large_and_non_unicode_files_are_skipped() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let inside = temp_folder(&[("a\n\u{1b}[31m.py", "x"), ("big.py", "0123456789")]);
    let pipe = inside.path().join("pipe.py");
    mkfifo(&pipe);
    mkfifo(&inside.path().join(".gitignore"));
    fs::write(inside.path().join(OsStr::from_bytes(b"\xff.py")), "").unwrap();
    let tree = Tree::open(inside.path()).unwrap();
    let (paths, walked) =
        walk_paths(&tree, Limits { file_bytes: 5, ..Limits::default() }, &WorkBudget::unlimited());
    assert_eq!(paths, ["a\n\u{1b}[31m.py", "big.py"]);
    let skipped: Vec<_> = walked.skipped.iter().map(|s| (s.path.as_str(), s.reason)).collect();
    assert_eq!(
        skipped,
        [
            (".gitignore", SkipReason::NotRegularFile),
            ("big.py", SkipReason::TooLarge),
            ("pipe.py", SkipReason::NotRegularFile),
            ("\u{fffd}.py", SkipReason::NonUnicodeName),
        ]
    );
    assert!(matches!(tree.read("pipe.py", 9), Err(ReadError::NotAFile)));
    assert!(matches!(tree.read("big.py", 9), Err(ReadError::TooLarge { limit: 9 })));
    assert_eq!(tree.read("big.py", 10).unwrap().len(), 10);
}

/// There is no `mkfifo` in std, and only this test needs one.
fn mkfifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn every_limit_stops_the_walk_and_is_reported() {
    let files: Vec<_> = (0..50).map(|n| (format!("d{n}/e/f{n}.py"), "0123456789")).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let folder = temp_folder(&files);
    let tree = Tree::open(folder.path()).unwrap();
    let check = |limits: Limits, budget: WorkBudget, cut: Option<LimitHit>, most: usize| {
        let (paths, walked) = walk_paths(&tree, limits, &budget);
        assert_eq!(walked.limits_hit.into_iter().next(), cut);
        assert!(paths.len() <= most, "{} {cut:?}", paths.len());
        assert_eq!(walked.files, paths.len() as u64);
    };
    let limits = Limits::default;
    check(limits(), WorkBudget::unlimited(), None, 50);
    check(Limits { files: 7, ..limits() }, WorkBudget::unlimited(), Some(LimitHit::Files), 7);
    check(Limits { bytes: 35, ..limits() }, WorkBudget::unlimited(), Some(LimitHit::Bytes), 50);
    check(Limits { depth: 1, ..limits() }, WorkBudget::unlimited(), Some(LimitHit::Depth), 0);
    check(limits(), WorkBudget::unlimited().with_timeout(Duration::ZERO), Some(LimitHit::Time), 0);
    check(limits(), WorkBudget::unlimited().with_cancellation(|| true), Some(LimitHit::Cancelled), 0);
}

#[test]
fn one_io_error_skips_one_file_or_folder() {
    let folder = temp_folder(&[(".gitignore", "x"), ("a.py", "1"), ("b/c.py", "2"), ("b/d.py", "3")]);
    let (mut failures, mut lost) = (0, Vec::new());
    loop {
        let tree = Tree::open(folder.path()).unwrap().failing_at(failures);
        let (_, walked) = walk_paths(&tree, Limits::default(), &WorkBudget::unlimited());
        if !tree.has_failed() {
            break;
        }
        assert!(walked.skipped.len() <= 1, "operation {failures}: {:?}", walked.skipped);
        lost.extend(walked.skipped.into_iter().map(|skipped| skipped.path));
        failures += 1;
    }
    // Two folders, one ignore file, and four files that are read; a failure to read the exclude file is not
    // reported.
    lost.sort();
    assert_eq!(lost, ["", ".gitignore", ".gitignore", "a.py", "b", "b/c.py", "b/d.py"]);
    assert_eq!(failures, 8);
}

#[test]
fn only_paths_inside_an_allowed_root_are_opened() {
    let base = temp_folder(&[("proj/src/a.py", ""), ("proj_evil/x.py", ""), ("proj/file.txt", "")]);
    let base = base.path().canonicalize().unwrap();
    symlink(base.join("proj_evil"), base.join("proj/out")).unwrap();
    symlink(base.join("proj"), base.join("alias")).unwrap();
    let roots = Roots::new(Arc::from([base.join("proj")]));
    let open = |wanted: &str| roots.open(wanted).map(|tree| tree.path().to_path_buf());
    let ok = |path: &str| -> Result<PathBuf, RootError> { Ok(base.join(path)) };
    assert_eq!(open("."), ok("proj"));
    assert_eq!(open("src"), ok("proj/src"));
    assert_eq!(open("src/../src"), ok("proj/src"));
    assert_eq!(open(base.join("proj/src").to_str().unwrap()), ok("proj/src"));
    assert_eq!(open(base.join("alias").to_str().unwrap()), ok("proj"));
    let long = "x".repeat(10_000);
    for outside in [
        "..",
        "../proj_evil",
        "out",
        "/",
        "/etc",
        "/nowhere",
        "",
        "file:///etc",
        "a\0b",
        "../gone",
        "out/gone",
        "~",
        "~/x",
        r"\\?\C:\",
        long.as_str(),
        "src/../../gone",
    ] {
        assert!(
            matches!(open(outside), Err(RootError::NotAllowed { .. })),
            "{outside:?}: {:?}",
            open(outside)
        );
    }
    for missing in ["gone", "src/gone", "sub/gone"] {
        assert!(
            matches!(open(missing), Err(RootError::Missing { .. })),
            "{missing:.20}: {:?}",
            open(missing)
        );
    }
    assert!(matches!(open("file.txt"), Err(RootError::NotAFolder { .. })), "{:?}", open("file.txt"));
}

#[test]
fn globs_match_paths_and_invalid_ones_are_reported() {
    let globs =
        |patterns: &[&str]| GlobFilter::new(&patterns.iter().map(ToString::to_string).collect::<Vec<_>>());
    let some = globs(&["**/*.py", "./web/*.ts"]).unwrap();
    assert!(some.matches("a.py") && some.matches("x/y/a.py") && some.matches("web/a.ts"));
    assert!(!some.matches("web/sub/a.ts") && !some.matches("a.ts"));
    assert!(globs(&[]).unwrap().matches("anything"));
    assert!(globs(&["a["]).unwrap_err().to_string().contains("invalid pattern `a[`"));
    assert!(globs(&[&"x".repeat(2000)]).unwrap_err().reason.contains("longer than 1024"));
    assert!(globs(&["x"; 65]).unwrap_err().reason.contains("the limit is 64"));
}

#[test]
fn folder_entries_report_their_kind() {
    let outside = temp_folder(&[("there", "")]);
    let folder = temp_folder(&[("b/inner", ""), ("a", "")]);
    symlink(outside.path(), folder.path().join("c")).unwrap();
    let tree = Tree::open(folder.path()).unwrap();
    let listed = |folder: &str, most| {
        let entries = tree.entries(folder, most).unwrap();
        entries.into_iter().map(|entry| (entry.name, entry.kind)).collect::<Vec<_>>()
    };
    assert_eq!(
        listed("", 9),
        [
            ("a".to_owned(), FolderEntryKind::File),
            ("b".to_owned(), FolderEntryKind::Folder),
            ("c".to_owned(), FolderEntryKind::Symlink)
        ]
    );
    assert_eq!(listed("b", 9), [("inner".to_owned(), FolderEntryKind::File)]);
    assert_eq!(listed("", 2).len(), 2);
    assert_eq!(listed("gone", 9), []);
    assert!(tree.entries("c", 9).is_err(), "a link is not followed");
}

#[test]
fn stream_respects_the_size_limit() {
    let outside = temp_folder(&[("secret", "outside")]);
    let folder = temp_folder(&[("lines", "one\ntwo\n"), ("sub/", "")]);
    symlink(outside.path().join("secret"), folder.path().join("out")).unwrap();
    let tree = Tree::open(folder.path()).unwrap();
    let mut text = String::new();
    tree.stream("lines", 8).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "one\ntwo\n");
    assert!(matches!(tree.stream("lines", 7).err(), Some(ReadError::TooLarge { limit: 7 })));
    assert!(matches!(tree.stream("sub", 7).err(), Some(ReadError::NotAFile)));
    assert!(matches!(tree.stream("out", 7).err(), Some(ReadError::Io(_))));

    // Data appended between opening and reading is beyond the limit.
    let mut stream = tree.stream("lines", 8).unwrap();
    fs::write(folder.path().join("lines"), "one\ntwo\nthree\n").unwrap();
    text.clear();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "one\ntwo\n");
}
