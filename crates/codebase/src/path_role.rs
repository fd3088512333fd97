//! Infers the role of a file from its path.

pub(crate) fn is_test(path: &str) -> bool {
    let mut parts = path.split('/');
    let name = parts.next_back().unwrap_or(path);
    let folder = |part: &str| {
        matches!(
            part,
            "test"
                | "tests"
                | "__tests__"
                | "spec"
                | "specs"
                | "e2e"
                | "fixtures"
                | "__fixtures__"
                | "__mocks__"
                | "testdata"
                | "testing"
                | "cypress"
                | "playwright"
        ) || part.ends_with("-tests")
            || part.ends_with("_tests")
            || part.ends_with(".Tests")
            || part.ends_with("Tests")
            || part.contains("testsuite")
            || part.contains("test-suite")
    };
    let stem = name.split('.').next().unwrap_or(name);
    parts.any(folder)
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("Tests")
        || path.starts_with("t/")
        || stem == "conftest"
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.contains(".e2e-")
}

/// Whether a file is documentation or a benchmark.
pub(crate) fn is_docs_or_benchmark(path: &str) -> bool {
    let about =
        |part: &str| matches!(part, "docs" | "doc" | "docs_src" | "benchmark" | "benchmarks" | "bench");
    path.split('/').any(about)
}

/// Whether a file is not part of the product: an example, a test, documentation or a benchmark.
pub fn is_example_or_test(path: &str) -> bool {
    const EXAMPLE_FOLDERS: &[&str] = &[
        "examples",
        "example",
        "samples",
        "sample",
        "demos",
        "demo",
        "playground",
        "playgrounds",
        "templates",
        "template",
        "cookbook",
        "tutorials",
        "scripts",
        "starters",
        "boilerplate",
        "eval",
        "evals",
        "evaluation",
        "evaluations",
        "experiments",
        "notebooks",
        "legacy",
        "deprecated",
        "archive",
        "archived",
        "backup",
        "old",
    ];
    let beside = |part: &str| {
        // `server_backup_2025`, a copy of the program beside it.
        let is_copy = part.split(['_', '-', '.', ' ']).any(|word| {
            let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
            ["backup", "backups", "bak", "old"].iter().any(|known| word.eq_ignore_ascii_case(known))
        });
        is_copy || EXAMPLE_FOLDERS.iter().any(|known| part.eq_ignore_ascii_case(known))
    };
    path.split('/').any(beside) || is_docs_or_benchmark(path) || is_test(path)
}

/// How likely a file with this name is an entry point; smaller is likelier.
pub(crate) fn entry_point_rank(path: &str) -> usize {
    const LIKELY_ENTRY_NAMES: &[&str] = &[
        "main",
        "app",
        "server",
        "index",
        "asgi",
        "wsgi",
        "manage",
        "application",
        "program",
        "api",
        "agent",
        "graph",
        "bot",
        "cli",
        "run",
        "__init__",
        "__main__",
        "route",
        "routes",
        "chat",
        "agents",
        "views",
        "layout",
        "page",
        "root",
        "lib",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let by_name =
        LIKELY_ENTRY_NAMES.iter().position(|likely| *likely == stem).unwrap_or(LIKELY_ENTRY_NAMES.len());
    by_name + 2 * path.matches('/').count() + if is_example_or_test(path) { 40 } else { 0 }
}
