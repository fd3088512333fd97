//! Protects manifest keys whose values are executed. A plan may add a dependency to a manifest, but tools run
//! the values of some keys, such as `scripts`.
//!
//! The old and the new text are compared key by key. Every changed key is reported, and an executed key needs
//! explicit consent, written as `package.json#scripts.postinstall`.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{PlanFinding, quote};
use crate::manifest::{DocumentNode, DocumentSyntaxError, parse_json, parse_toml};

struct ProtectedManifest {
    names: &'static [&'static str],
    parse: fn(&str) -> Result<DocumentNode, DocumentSyntaxError>,
    /// Keys that tools run, including everything under them. `*` matches any single key.
    executed_keys: &'static [&'static str],
}

#[rustfmt::skip] // rows, not columns
const MANIFESTS: &[ProtectedManifest] = &[
    ProtectedManifest { names: &["package.json"], parse: parse_json, executed_keys: &[
        // Run by npm, pnpm, Yarn and Bun, or used by them to install programs.
        "scripts", "bin", "directories.bin", "gypfile", "packageManager", "devEngines", "volta", "trustedDependencies", "dependenciesMeta", "lavamoat",
        "pnpm.onlyBuiltDependencies", "pnpm.onlyBuiltDependenciesFile", "pnpm.neverBuiltDependencies", "pnpm.ignoredBuiltDependencies", "pnpm.dangerouslyAllowAllBuilds", "pnpm.allowBuilds", "pnpm.patchedDependencies", "pnpm.configDependencies",
        // Git hooks.
        "husky", "lint-staged", "simple-git-hooks", "pre-commit", "pre-push", "gitHooks", "ghooks", "config.ghooks", "config.pre-git",
        // Task runners, and tools that load code by a name configured here.
        "wireit", "nx", "nodemonConfig", "eslintConfig", "prettier", "stylelint", "babel", "jest", "mocha", "ava", "tap", "release", "commitlint"] },
    ProtectedManifest { names: &["composer.json"], parse: parse_json, executed_keys: &[
        "scripts", "bin", "config.allow-plugins", "config.bin-dir", "config.vendor-dir", "autoload.files", "autoload-dev.files"] },
    ProtectedManifest { names: &["deno.json", "deno.jsonc"], parse: parse_json, executed_keys: &[
        "tasks", "allowScripts", "permissions", "lint.plugins"] },
    ProtectedManifest { names: &["pyproject.toml"], parse: parse_toml, executed_keys: &[
        // Building and installing.
        "build-system", "project.scripts", "project.gui-scripts", "project.entry-points", "tool.setuptools.cmdclass", "tool.setuptools.dynamic", "tool.hatch.build.hooks", "tool.hatch.build.targets.*.hooks",
        "tool.hatch.metadata.hooks", "tool.hatch.version", "tool.hatch.envs", "tool.hatch.env", "tool.pdm.build", "tool.pdm.scripts", "tool.pdm.plugins", "tool.pdm.version", "tool.poetry.build", "tool.poetry.scripts", "tool.poetry.plugins", "tool.poetry.requires-plugins",
        "tool.cibuildwheel", "tool.scikit-build", "tool.meson-python", "tool.maturin",
        // Tasks.
        "tool.poe", "tool.taskipy", "tool.rye.scripts", "tool.pixi.tasks", "tool.pixi.activation", "tool.pixi.feature.*.tasks", "tool.pixi.feature.*.activation", "tool.tox", "tool.nox", "tool.doit", "tool.invoke", "tool.commitizen", "tool.semantic_release", "tool.bumpversion",
        // Tools that load code by a name configured here.
        "tool.pytest", "tool.mypy.plugins", "tool.pylint", "tool.coverage"] },
    ProtectedManifest { names: &["pipfile", "pixi.toml"], parse: parse_toml, executed_keys: &["scripts", "tasks", "activation", "feature.*.tasks", "feature.*.activation"] },
    ProtectedManifest { names: &["cargo.toml"], parse: parse_toml, executed_keys: &["package.build", "lib.proc-macro", "lib.proc_macro", "patch", "replace"] },
];

const MAX_NAMED_KEYS: usize = 40;

/// Findings about the keys that change in a manifest; empty for other files.
pub(super) fn check_manifest_keys(
    path: &str,
    old: Option<&str>,
    new: &str,
    consent: &[String],
) -> Vec<PlanFinding> {
    let name = tree::normalized_components(path).pop().unwrap_or_default();
    let Some(manifest) = MANIFESTS.iter().find(|manifest| manifest.names.contains(&name.as_str())) else {
        return Vec::new();
    };
    let Ok(changed) = manifest.changed_keys(old, new) else {
        let says = format!("{} cannot be parsed, so its changed keys cannot be checked", quote(path));
        return vec![PlanFinding::blocking("protected_path", says).with_fix("fix the syntax error first")];
    };
    let mut findings = Vec::new();
    for key in changed.iter().filter(|key| manifest.is_executed_key(key)) {
        let named = format!("{path}#{}", key.join("."));
        if !consent.contains(&named) {
            let says = format!("{} is protected: tools run the value of this key", quote(&named));
            let fix = format!("remove it, or add `{named}` to `allow` if the user agrees");
            findings.push(PlanFinding::blocking("protected_path", says).with_fix(fix));
        }
    }
    if !changed.is_empty() {
        let shown: Vec<_> = changed.iter().take(MAX_NAMED_KEYS).map(|key| key.join(".")).collect();
        let more = match changed.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let says = format!("{path}: changes {}{more}", shown.join(", "));
        findings
            .push(PlanFinding::warning("manifest_key", says).with_fix("review these keys before applying"));
    }
    findings
}

type KeyPath = Vec<String>;

impl ProtectedManifest {
    fn changed_keys(&self, old: Option<&str>, new: &str) -> Result<BTreeSet<KeyPath>, DocumentSyntaxError> {
        let (old, new) =
            (old.map_or_else(|| Ok(BTreeMap::new()), |old| self.parse_values(old))?, self.parse_values(new)?);
        let keys: BTreeSet<&KeyPath> = old.keys().chain(new.keys()).collect();
        Ok(keys.into_iter().filter(|key| old.get(*key) != new.get(*key)).cloned().collect())
    }

    /// Every leaf value by its key path. A duplicate key keeps all its values: tools differ in which one they
    /// use.
    fn parse_values(&self, text: &str) -> Result<BTreeMap<KeyPath, Vec<String>>, DocumentSyntaxError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut values = BTreeMap::new();
        collect_values(&(self.parse)(text)?, &mut Vec::new(), &mut values);
        Ok(values)
    }

    fn is_executed_key(&self, key: &[String]) -> bool {
        self.executed_keys.iter().any(|run| {
            // A parent of an executed key counts too: `"pnpm": 1` removes everything under it.
            let mut pairs = run.split('.').zip(key);
            pairs.all(|(run, key)| run == "*" || run == key)
        })
    }
}

fn collect_values(node: &DocumentNode, key: &mut KeyPath, values: &mut BTreeMap<KeyPath, Vec<String>>) {
    let mut entries = node.entries().peekable();
    if entries.peek().is_none() {
        // An empty object has no effect.
        if node.as_text().is_some() || !node.items().is_empty() {
            values.entry(key.clone()).or_default().push(canonical_text(node));
        }
        return;
    }
    for (name, value) in entries {
        key.push(name.to_owned());
        collect_values(value, key, values);
        key.pop();
    }
}

/// An unambiguous string form of a value: different values yield different strings.
fn canonical_text(node: &DocumentNode) -> String {
    match node.as_text() {
        Some(text) => format!("{text:?}"),
        None if node.items().is_empty() => {
            let pair = |(key, value): (&str, &DocumentNode)| format!("{key:?}:{}", canonical_text(value));
            format!("{{{}}}", node.entries().map(pair).collect::<Vec<_>>().join(","))
        }
        None => format!("[{}]", node.items().iter().map(canonical_text).collect::<Vec<_>>().join(",")),
    }
}
