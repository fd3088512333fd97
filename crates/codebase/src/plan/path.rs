//! Which paths an edit may name.

use super::finding::is_invisible;

/// What is wrong with a path as such.
pub(crate) fn problem(path: &str) -> Option<&'static str> {
    let bytes = path.as_bytes();
    if path.is_empty() {
        Some("it is empty")
    } else if path.len() > 1024 {
        Some("it is longer than 1024 bytes")
    } else if path.chars().any(is_invisible) {
        Some("it has characters in it that are not seen")
    } else if path.contains('\\') {
        Some("it has backslashes in it; write it with `/`")
    } else if path.starts_with(['/', '~']) || bytes.get(1) == Some(&b':') {
        Some("it is absolute; write it from the root of the repository")
    } else if path.split('/').any(|part| part == "..") {
        Some("it climbs out by `..`")
    } else if path.split('/').any(|part| part.is_empty() || part == ".") {
        Some("it has empty parts or `.` in it; write it in its shortest form")
    } else {
        None
    }
}

/// How well a path is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// It is not written to, whoever agrees.
    Never(&'static str),
    /// Only with consent that names it.
    Consent(&'static str),
}

#[rustfmt::skip] // rows, not columns
const GUARDED: &[(&str, &[&str])] = &[
    ("a CI configuration", &[".github", ".gitlab", ".gitlab-ci.yml", ".circleci", ".travis.yml", "jenkinsfile", "azure-pipelines.yml", ".buildkite", ".drone.yml", "bitbucket-pipelines.yml", ".gitlab-ci.yaml", "azure-pipelines.yaml", ".cirrus.yml", "appveyor.yml", ".appveyor.yml", ".woodpecker", ".forgejo", ".gitea"]),
    ("a hook or a task that others run", &[".husky", ".githooks", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", "lefthook.toml", ".pre-commit-hooks.yaml", ".mise.toml", "mise.toml", ".envrc.local", ".exrc", ".nvim.lua", ".dir-locals.el", ".devcontainer", ".devcontainer.json", ".envrc", "conftest.py", "sitecustomize.py", "usercustomize.py"]),
    ("a configuration of an editor or an agent", &[".vscode", ".idea", ".zed", ".cursor", ".cursorrules", ".claude", ".claude.json", "claude.md", "agents.md", "gemini.md", ".gemini", ".codex", ".windsurf", ".windsurfrules", ".roo", ".roomodes", ".continue", ".cline", ".clinerules", ".kiro", ".amazonq", ".aider.conf.yml", "claude.local.md", ".opencode", ".junie", ".trae", ".augment", ".goosehints", ".goose", ".mcp.json", "mcp.json", "copilot-instructions.md"]),
    ("a file for secrets or a shell", &[".env", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn", ".pypirc", ".netrc", ".ssh", ".aws", ".gnupg", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".gitconfig", ".gitattributes", ".gitmodules"]),
    ("a lock file", &["package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock", "uv.lock", "poetry.lock", "pdm.lock", "pipfile.lock", "cargo.lock", "composer.lock", "gemfile.lock", "go.sum", "mix.lock"]),
    ("somebody else's code, or made by a program", &["node_modules", "site-packages", ".venv", "venv", "__pycache__", "vendor", "third_party", "dist", ".next", ".svelte-kit", ".nuxt", ".tox"]),
];

/// Whether writing there needs more than a plan.
pub(crate) fn guard(path: &str) -> Option<Guard> {
    for part in path.split('/') {
        // Some disks do not tell `.GIT` from `.git`, nor `.git ` or `.git.`.
        let part = part.to_lowercase();
        let part = part.trim_end_matches(['.', ' ']);
        if matches!(part, ".git" | ".hg" | ".svn" | ".jj" | ".fluxway") || part.starts_with("git~") {
            return Some(Guard::Never("it belongs to the version control system, or to this server"));
        }
        if let Some((what, _)) = GUARDED.iter().find(|(_, names)| names.contains(&part)) {
            return Some(Guard::Consent(what));
        }
        if (part.starts_with(".env.") || part.starts_with(".env-")) && !part.ends_with(".example") {
            return Some(Guard::Consent("a file for secrets or a shell"));
        }
        if part.ends_with(".pth") || part.ends_with(".code-workspace") {
            return Some(Guard::Consent("a hook or a task that others run"));
        }
    }
    None
}

/// Whether nothing is ever written there.
pub(crate) fn is_never(path: &str) -> bool {
    matches!(guard(path), Some(Guard::Never(_)))
}
