//! The table of protected names, and how paths are matched against it.
//!
//! A plan may originate from text written by an attacker. Writing to one of the paths listed here can run a
//! program, instruct an agent, or leak a secret without further review.

use unicode_normalization::UnicodeNormalization;

/// The protection of a path, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Not writable, even with consent.
    NeverWritable(&'static str),
    /// Writable only with consent for this exact path.
    RequiresConsent(&'static str),
}

impl Protection {
    /// The reason as a sentence.
    pub fn reason(self) -> String {
        match self {
            Self::NeverWritable(why) => why.to_owned(),
            Self::RequiresConsent(what) => format!("it is {what}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtectionLevel {
    /// Never written to by anything in this crate.
    VersionControl,
    /// The server's own state: plans cannot write to it.
    ServerState,
    /// Writable if the user agrees.
    Consent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProtectedEntryKind {
    /// A file, or a folder with everything in it.
    Any,
    /// Only a file: a folder with this name is not protected.
    File,
}

/// Names that are protected for the same reason.
#[derive(Debug)]
pub(crate) struct ProtectionRule {
    pub(crate) level: ProtectionLevel,
    kind: ProtectedEntryKind,
    reason: &'static str,
    names: &'static [&'static str],
}

impl ProtectionRule {
    pub(crate) fn protection(&self) -> Protection {
        match self.level {
            ProtectionLevel::VersionControl | ProtectionLevel::ServerState => {
                Protection::NeverWritable(self.reason)
            }
            ProtectionLevel::Consent => Protection::RequiresConsent(self.reason),
        }
    }
}

/// Names are in the form that [`normalized_components`] returns. `a/b` is `b` in a folder `a`; `*` matches
/// any string within a name. Never-writable entries come first, so that they take precedence.
#[rustfmt::skip] // rows, not columns
pub(crate) const PROTECTION_RULES: &[ProtectionRule] = &[
    ProtectionRule { level: ProtectionLevel::VersionControl, kind: ProtectedEntryKind::Any, reason: "it belongs to the version control system, which runs hooks and trusts configuration from it", names: &[
        ".git", ".hg", ".svn", ".jj", ".bzr", ".sl", ".pijul", "_darcs"] },
    ProtectionRule { level: ProtectionLevel::ServerState, kind: ProtectedEntryKind::Any, reason: "it belongs to this server, which needs it to undo plans", names: &[
        ".fluxway"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::Any, reason: "a CI configuration, which runs on other machines with access to secrets", names: &[
        ".github", ".gitlab", ".gitlab-ci*.yml", ".gitlab-ci*.yaml", ".circleci", ".travis.yml", ".travis.yaml", "jenkinsfile*", ".buildkite", ".drone.yml", ".drone.yaml", ".drone.star",
        ".cirrus.yml", ".cirrus.star", "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines", ".azuredevops", "bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml",
        ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml", ".forgejo", ".gitea", ".semaphore", ".teamcity", ".tekton", ".harness", "buildspec.yml", "buildspec.yaml",
        "cloudbuild.yaml", "cloudbuild.yml", "codefresh.yml", "wercker.yml", ".readthedocs.yml", ".readthedocs.yaml", "renovate.json", "renovate.json5", ".renovaterc*"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::Any, reason: "a hook, which runs on the next commit, checkout or directory change", names: &[
        ".husky", ".huskyrc*", ".githooks", ".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", "lefthook*.yml", "lefthook*.yaml", "lefthook*.toml", "lefthook*.json",
        ".lefthook", ".lefthook*.yml", ".lefthook*.yaml", ".lefthook*.toml", ".lefthook*.json", ".lintstagedrc*", "lint-staged.config.*", ".simple-git-hooks*", "simple-git-hooks.*", ".overcommit.yml",
        ".git-hooks", ".captain", "captainhook.json", "grumphp.yml", ".gitconfig", ".gitattributes", ".gitmodules", ".lfsconfig",
        ".envrc", ".envrc.local", ".direnv", ".mise", ".mise*.toml", "mise*.toml", ".rtx.toml", ".tool-versions", ".autoenv*", ".flox", "devbox.json", "devenv.nix", "devenv.yaml", "flake.nix", "shell.nix"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::Any, reason: "an editor configuration, which can run tasks, servers and plugins when the folder is opened", names: &[
        ".vscode", ".vscode-server", ".vscode-insiders", "code/user", "code - insiders/user", "*.code-workspace", ".idea", ".run", ".fleet", ".vs", ".zed", "zed/settings.json", "zed/tasks.json", ".nova", ".helix", ".theia", "*.sublime-project",
        ".project", ".settings", ".devcontainer", ".devcontainer.json", ".gitpod*", ".replit", "replit.nix", ".idx", ".codesandbox", ".stackblitzrc",
        ".vimrc", "_vimrc", ".gvimrc", ".nvimrc", ".exrc", "_exrc", ".nvim.lua", ".nvim", ".vim", ".lvimrc", ".local.vimrc", ".vimspector.json", ".lazy.lua", ".neoconf.json", ".luarc.json", ".luarc.jsonc", ".ycm_extra_conf.py",
        ".emacs", ".emacs.d", ".dir-locals.el", ".dir-locals-2.el", ".kakrc"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::Any, reason: "an agent's configuration or instructions, which the agent follows, starting any servers listed there", names: &[
        ".mcp.json", ".mcp", "mcp.json", "mcp_config.json", "mcp-config.json", "mcp_settings.json", "cline_mcp_settings.json", "claude_desktop_config.json",
        ".claude", ".claude.json", ".claude-plugin", "claude.md", "claude.local.md", ".cursor", ".cursor-plugin", ".cursorrules", ".cursorignore", ".copilot", "copilot-instructions.md", ".codex", ".codex-plugin",
        "agents.md", "agents.override.md", "agents.local.md", "agent.md", ".agents", ".agent", "gemini.md", ".gemini", "gemini-extension.json", ".antigravity", "qwen.md", ".qwen", "opencode.json", "opencode.jsonc", ".opencode", "opencode.md",
        "crush.json", ".crush.json", ".crush", "crush.md", ".devin", ".codeium", ".windsurf", ".windsurfrules", ".junie", ".cline", ".clinerules", ".kiro", ".amazonq", ".amp", "amp/settings.json", "amp/settings.jsonc",
        "kilo.json", "kilo.jsonc", ".kilo", ".kilocode", ".kilocodemodes", ".roo", ".roomodes", ".roorules*", ".zoo", ".continue", ".continuerc.json", ".continuerules", ".aider*", ".goose", ".goosehints", "goose/config.yaml", "goose/config/config.yaml",
        ".trae", ".augment", ".augment-guidelines", ".openhands", ".openhands_instructions", ".rules", "warp.md", ".warp", ".factory", ".zencoder", ".tabnine", ".firebender", "firebender.json", ".serena", ".plandex", ".sourcegraph", ".sweep", "replit.md"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::Any, reason: "a file that holds secrets, or that a shell or package manager trusts", names: &[
        ".env", ".env.*", ".env-*", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn", ".pnpmfile.cjs", ".pnpmfile.mjs", ".pnpmfile.js", "pnpm-workspace.yaml", "bunfig.toml", ".bunfig.toml", ".pypirc", ".pip", "pip.conf", ".condarc", ".netrc", "_netrc", ".git-credentials",
        ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".config", ".local", "application support", ".cargo", ".m2", ".mvn", ".gem", ".gemrc", ".bundle", ".terraformrc", ".terraform.d", ".curlrc", ".wgetrc",
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".login", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".inputrc", ".tmux.conf", ".screenrc", ".xinitrc", ".xprofile",
        ".htaccess", ".user.ini"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::File, reason: "a file that a build, installation or task runner executes", names: &[
        "makefile", "gnumakefile", "bsdmakefile", "makefile.*", "*.mk", "justfile", ".justfile", "*.just", "taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "taskfile.dist.yaml", "rakefile", "rakefile.rb", "*.rake",
        "sconstruct", "dodo.py", "fabfile.py", "gulpfile.*", "gruntfile.*", "jakefile", "jakefile.*", "build.rs", "setup.py", "setup.cfg", "hatch_build.py", "pdm_build.py", "hatch.toml", "pdm.toml", "poetry.toml",
        "binding.gyp", "*.gypi", "package.json5", "package.yaml", "gradlew", "gradlew.bat", "gradle-wrapper.properties", "init.gradle", "init.gradle.kts", "mvnw", "mvnw.cmd"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::File, reason: "a file from which an interpreter, test runner or linter loads code automatically", names: &[
        "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "noxfile.py", "tox.ini", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", ".pdbrc", ".pdbrc.py", ".pythonrc", ".pythonrc.py", ".pythonstartup",
        ".pylintrc", "pylintrc", ".pylintrc.toml", "pylintrc.toml", "mypy.ini", ".mypy.ini", ".flake8", ".coveragerc", ".mocharc.*", ".eslintrc", ".eslintrc.*", "eslint.config.*", ".prettierrc", ".prettierrc.*", "prettier.config.*",
        ".irbrc", ".pryrc", ".rspec", ".rprofile", ".renviron", ".gdbinit", ".lldbinit", ".psqlrc", ".sqliterc"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::File, reason: "a file that makes git treat a folder as a repository with hooks and configuration", names: &[
        "head", "commondir", "gitdir"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::File, reason: "a lock file, which a package manager writes and trusts", names: &[
        "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock", "uv.lock", "poetry.lock", "pdm.lock", "pylock*.toml", "pixi.lock", "pipfile.lock", "cargo.lock", "composer.lock", "gemfile.lock", "go.sum", "mix.lock", "flake.lock", "devbox.lock"] },
    ProtectionRule { level: ProtectionLevel::Consent, kind: ProtectedEntryKind::Any, reason: "third-party or generated code, which runs without being reviewed", names: &[
        "node_modules", "bower_components", "jspm_packages", "site-packages", "__pypackages__", "__pycache__", ".venv", "venv", ".virtualenv", ".tox", ".nox", ".eggs", "vendor", "third_party", "dist", ".next", ".svelte-kit", ".nuxt", ".turbo", ".parcel-cache", ".gradle", ".terraform"] },
];

/// Exceptions: example files contain no secrets and are meant to be published.
const UNPROTECTED_EXAMPLES: &[&str] =
    &[".env.example", ".env.*.example", ".env.sample", ".env.template", ".env-example"];

/// File names that git runs in a hooks folder.
pub(crate) const GIT_HOOK_NAMES: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Finds the rule that protects a path by its names only. `above` is the name of the folder that contains
/// `path`: it is not checked itself, but is needed to match `a/b`. The last component is a file if `is_file`.
pub(crate) fn find_rule_by_name(above: &str, path: &str, is_file: bool) -> Option<&'static ProtectionRule> {
    let mut parts = normalized_components(above);
    let begin = parts.len();
    parts.extend(normalized_components(path));
    PROTECTION_RULES
        .iter()
        .find(|row| row.names.iter().any(|name| row.matches_pattern(name, &parts, begin, is_file)))
}

/// Whether a path component is a name of a version control system.
pub(crate) fn contains_version_control_name(path: &str) -> bool {
    let parts = normalized_components(path);
    let rows = PROTECTION_RULES.iter().filter(|row| row.level == ProtectionLevel::VersionControl);
    rows.flat_map(|row| row.names).any(|name| parts.iter().any(|part| matches_name(part, name)))
}

impl ProtectionRule {
    fn matches_pattern(&self, pattern: &str, parts: &[String], begin: usize, is_file: bool) -> bool {
        let names: Vec<&str> = pattern.split('/').collect();
        let mut ends = (begin + 1..=parts.len()).filter(|end| *end >= names.len());
        ends.any(|end| {
            let found = &parts[end - names.len()..end];
            (self.kind == ProtectedEntryKind::Any || is_file && end == parts.len())
                && found.iter().zip(&names).all(|(part, name)| matches_name(part, name))
                && !UNPROTECTED_EXAMPLES.iter().any(|sample| matches_wildcard(&parts[end - 1], sample))
        })
    }
}

/// Names of folders that are protected at any depth.
pub(crate) fn protected_folder_names() -> impl Iterator<Item = (&'static str, &'static ProtectionRule)> {
    let plain = |name: &&str| !name.contains(['*', '/']);
    let rows = PROTECTION_RULES.iter().filter(|row| row.kind == ProtectedEntryKind::Any);
    rows.flat_map(move |row| row.names.iter().copied().filter(plain).map(move |name| (name, row)))
}

fn matches_name(part: &str, pattern: &str) -> bool {
    matches_wildcard(part, pattern) || is_short_file_name_of(part, pattern)
}

fn matches_wildcard(part: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => part == pattern,
        Some((begin, end)) => {
            part.len() >= begin.len() + end.len() && part.starts_with(begin) && part.ends_with(end)
        }
    }
}

/// Whether a name is the Windows 8.3 short name of `pattern`: `git~1` for `.git`, or two letters and a hash
/// if several names begin alike.
fn is_short_file_name_of(part: &str, pattern: &str) -> bool {
    let Some((stem, rest)) = part.split_once('~') else { return false };
    let number = rest.split('.').next().unwrap_or_default();
    if stem.is_empty() || number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let long = pattern.trim_start_matches('.');
    let long: String = long.split(['.', '*']).next().unwrap_or_default().replace(' ', "");
    let begins = |length: usize| long.chars().take(length).eq(stem.chars().take(length));
    let is_hashed = stem.len() == 6 && stem.bytes().skip(2).all(|byte| byte.is_ascii_hexdigit());
    !long.is_empty() && (long.chars().take(6).eq(stem.chars()) || is_hashed && begins(2))
}

/// The components of a path, normalized for the most permissive file systems: some do not distinguish `.GIT`
/// from `.git`, Unicode normalization forms, or `.git ` and `.git.` from `.git`; some ignore certain
/// characters; and some treat what follows a colon as a stream of the same file.
pub fn normalized_components(path: &str) -> Vec<String> {
    let seen = path.nfkc().filter(|c| !is_ignorable(*c)).collect::<String>();
    // Upper case first: several lower-case letters can map to the same upper-case one.
    let plain: String = seen.to_uppercase().to_lowercase().nfkc().collect();
    let part = |part: &str| {
        let name = part.split(':').next().unwrap_or_default();
        name.trim_end_matches(['.', ' ']).to_owned()
    };
    plain.split(['/', '\\']).map(part).filter(|part| !part.is_empty()).collect()
}

/// Default-ignorable code points, which some file systems skip when comparing names.
fn is_ignorable(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}
