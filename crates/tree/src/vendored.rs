//! Folders whose contents somebody else wrote, or a program did.

/// Always, wherever they are.
const ALWAYS: &[&str] = &[
    "node_modules",
    "bower_components",
    "jspm_packages",
    "site-packages",
    "__pycache__",
    "__pypackages__",
    "dist",
    "Pods",
    "Carthage",
    "third_party",
    "thirdparty",
    "htmlcov",
    "storybook-static",
];

/// Only beside a file that says who makes them.
const BESIDE: &[(&str, &[&str])] = &[
    ("target", &["Cargo.toml", "pom.xml"]),
    ("build", &["build.gradle", "build.gradle.kts", "CMakeLists.txt", "setup.py"]),
    ("vendor", &["go.mod", "composer.json", "Gemfile", "Cargo.toml"]),
    ("deps", &["mix.exs"]),
    ("_build", &["mix.exs"]),
    ("out", &["package.json", "build.gradle"]),
    ("coverage", &["package.json", "pyproject.toml", "Gemfile"]),
];

/// With this file inside: a virtual environment.
const MARKER_OF_VENV: &str = "pyvenv.cfg";

/// Whether a folder of this name, among these siblings, is left out.
pub(crate) fn by_name(name: &str, siblings: impl Fn(&str) -> bool) -> bool {
    // Hidden folders belong to tools: .git, .venv, .next, .svelte-kit …
    name.starts_with('.')
        || ALWAYS.contains(&name)
        || BESIDE.iter().any(|(folder, makers)| *folder == name && makers.iter().any(|maker| siblings(maker)))
}

/// Whether a folder that holds these names is left out.
pub(crate) fn by_contents(has: impl Fn(&str) -> bool) -> bool {
    has(MARKER_OF_VENV)
}
