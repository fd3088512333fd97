//! What a path says about the part that a file plays.

/// Whether a file is part of the tests.
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

/// Whether a file is about the product rather than part of it: documents, measurements.
pub(crate) fn is_about(path: &str) -> bool {
    let about =
        |part: &str| matches!(part, "docs" | "doc" | "docs_src" | "benchmark" | "benchmarks" | "bench");
    path.split('/').any(about)
}

/// Whether a file stands beside the product: an example, documentation, a benchmark.
pub fn is_aside(path: &str) -> bool {
    const BESIDE: &[&str] = &[
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
    ];
    let beside = |part: &str| BESIDE.iter().any(|known| part.eq_ignore_ascii_case(known));
    path.split('/').any(beside) || is_about(path) || is_test(path)
}

/// How likely a file of this name is where a program begins; smaller is likelier.
pub(crate) fn rank(path: &str) -> usize {
    const LIKELY: &[&str] = &[
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
    let by_name = LIKELY.iter().position(|likely| *likely == stem).unwrap_or(LIKELY.len());
    by_name + 2 * path.matches('/').count() + if is_aside(path) { 40 } else { 0 }
}
