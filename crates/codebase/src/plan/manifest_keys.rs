//! Keys of manifests. A plan may add a dependency to a manifest, but some of its keys are programs: tools run what they say.
//!
//! The old text and the new one are compared key by key. Every key that changes is named, and one that tools run needs
//! consent of its own, written `package.json#scripts.postinstall`.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{PlanFinding, quote};
use crate::manifest::{DocumentNode, DocumentSyntaxError, parse_json, parse_toml};

/// A kind of manifest.
struct ProtectedManifest {
    names: &'static [&'static str],
    parse: fn(&str) -> Result<DocumentNode, DocumentSyntaxError>,
    /// Keys that tools run, with all beneath them. `*` is any one key.
    executed_keys: &'static [&'static str],
}

#[rustfmt::skip] // rows, not columns
const MANIFESTS: &[ProtectedManifest] = &[
    ProtectedManifest { names: &["package.json"], parse: parse_json, executed_keys: &[
        // npm, pnpm, Yarn and Bun run these, or install programs by them.
        "scripts", "bin", "directories.bin", "gypfile", "packageManager", "devEngines", "volta", "trustedDependencies", "dependenciesMeta", "lavamoat",
        "pnpm.onlyBuiltDependencies", "pnpm.onlyBuiltDependenciesFile", "pnpm.neverBuiltDependencies", "pnpm.ignoredBuiltDependencies", "pnpm.dangerouslyAllowAllBuilds", "pnpm.allowBuilds", "pnpm.patchedDependencies", "pnpm.configDependencies",
        // Hooks of git.
        "husky", "lint-staged", "simple-git-hooks", "pre-commit", "pre-push", "gitHooks", "ghooks", "config.ghooks", "config.pre-git",
        // Task runners, and what loads code by a name that stands here.
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
        // What loads code by a name that stands here.
        "tool.pytest", "tool.mypy.plugins", "tool.pylint", "tool.coverage"] },
    ProtectedManifest { names: &["pipfile", "pixi.toml"], parse: parse_toml, executed_keys: &["scripts", "tasks", "activation", "feature.*.tasks", "feature.*.activation"] },
    ProtectedManifest { names: &["cargo.toml"], parse: parse_toml, executed_keys: &["package.build", "lib.proc-macro", "lib.proc_macro", "patch", "replace"] },
];

/// How many keys a warning names.
const MAX_NAMED_KEYS: usize = 40;

/// What is to be said about the keys that a manifest changes; nothing about other files.
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
        let says = format!("{} cannot be parsed, so nobody can tell which keys change", quote(path));
        return vec![PlanFinding::blocking("protected_path", says).with_fix("repair it first")];
    };
    let mut findings = Vec::new();
    for key in changed.iter().filter(|key| manifest.is_executed_key(key)) {
        let named = format!("{path}#{}", key.join("."));
        if !consent.contains(&named) {
            let says = format!("{} is protected: it is a key that tools run", quote(&named));
            let fix = format!("leave it out, or name `{named}` in `allow` if the user agrees");
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
        findings.push(
            PlanFinding::warning("manifest_key", says).with_fix("look at these keys before it is applied"),
        );
    }
    findings
}

type KeyPath = Vec<String>;

impl ProtectedManifest {
    /// The keys whose values differ.
    fn changed_keys(&self, old: Option<&str>, new: &str) -> Result<BTreeSet<KeyPath>, DocumentSyntaxError> {
        let (old, new) =
            (old.map_or_else(|| Ok(BTreeMap::new()), |old| self.parse_values(old))?, self.parse_values(new)?);
        let keys: BTreeSet<&KeyPath> = old.keys().chain(new.keys()).collect();
        Ok(keys.into_iter().filter(|key| old.get(*key) != new.get(*key)).cloned().collect())
    }

    /// Every value that is not made of others, under its key. A key that stands there twice has both: which one counts is
    /// for each tool to say.
    fn parse_values(&self, text: &str) -> Result<BTreeMap<KeyPath, Vec<String>>, DocumentSyntaxError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut values = BTreeMap::new();
        collect_values(&(self.parse)(text)?, &mut Vec::new(), &mut values);
        Ok(values)
    }

    /// Whether tools run what stands under a key, or in it.
    fn is_executed_key(&self, key: &[String]) -> bool {
        self.executed_keys.iter().any(|run| {
            // `"pnpm": 1` takes away what stood under it.
            let mut pairs = run.split('.').zip(key);
            pairs.all(|(run, key)| run == "*" || run == key)
        })
    }
}

fn collect_values(node: &DocumentNode, key: &mut KeyPath, values: &mut BTreeMap<KeyPath, Vec<String>>) {
    let mut entries = node.entries().peekable();
    if entries.peek().is_none() {
        // An object with nothing in it says nothing.
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

/// A value written so that others are written differently.
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
