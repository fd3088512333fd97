//! Recognizes folders with third-party or generated content.

/// Skipped everywhere.
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

/// Skipped only next to a file of the tool that generates them.
const GENERATED_NAMES_BY_MARKER: &[(&str, &[&str])] = &[
    ("target", &["Cargo.toml", "pom.xml"]),
    ("build", &["build.gradle", "build.gradle.kts", "CMakeLists.txt", "setup.py"]),
    ("vendor", &["go.mod", "composer.json", "Gemfile", "Cargo.toml"]),
    ("deps", &["mix.exs"]),
    ("_build", &["mix.exs"]),
    ("out", &["package.json", "build.gradle"]),
    ("coverage", &["package.json", "pyproject.toml", "Gemfile"]),
];

const VIRTUAL_ENV_MARKER: &str = "pyvenv.cfg";

/// Whether a folder with this name and these siblings is skipped.
pub(crate) fn is_vendored_name(name: &str, siblings: impl Fn(&str) -> bool) -> bool {
    // Hidden folders belong to tools: .git, .venv, .next, .svelte-kit …
    name.starts_with('.')
        || VENDORED_NAMES.contains(&name)
        || GENERATED_NAMES_BY_MARKER
            .iter()
            .any(|(folder, makers)| *folder == name && makers.iter().any(|maker| siblings(maker)))
}

pub(crate) fn is_virtual_env(has: impl Fn(&str) -> bool) -> bool {
    has(VIRTUAL_ENV_MARKER)
}
