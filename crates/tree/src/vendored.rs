//! Folders whose contents somebody else wrote, or a program did.

/// Always, wherever they are.
const VENDORED_NAMES: &[&str] = &[
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
const GENERATED_NAMES_BY_MARKER: &[(&str, &[&str])] = &[
    ("target", &["Cargo.toml", "pom.xml"]),
    ("build", &["build.gradle", "build.gradle.kts", "CMakeLists.txt", "setup.py"]),
    ("vendor", &["go.mod", "composer.json", "Gemfile", "Cargo.toml"]),
    ("deps", &["mix.exs"]),
    ("_build", &["mix.exs"]),
    ("out", &["package.json", "build.gradle"]),
    ("coverage", &["package.json", "pyproject.toml", "Gemfile"]),
];

/// With this file inside: a virtual environment.
const VIRTUAL_ENV_MARKER: &str = "pyvenv.cfg";

/// Whether a folder of this name, among these siblings, is left out.
pub(crate) fn is_vendored_name(name: &str, siblings: impl Fn(&str) -> bool) -> bool {
    // Hidden folders belong to tools: .git, .venv, .next, .svelte-kit …
    name.starts_with('.')
        || VENDORED_NAMES.contains(&name)
        || GENERATED_NAMES_BY_MARKER
            .iter()
            .any(|(folder, makers)| *folder == name && makers.iter().any(|maker| siblings(maker)))
}

/// Whether a folder that holds these names is left out.
pub(crate) fn is_virtual_env(has: impl Fn(&str) -> bool) -> bool {
    has(VIRTUAL_ENV_MARKER)
}
