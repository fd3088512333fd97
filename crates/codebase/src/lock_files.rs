//! Lock files: which package manager writes them, and the locked version of a declared package.
//!
//! They are machine-written in a fixed layout and can be megabytes in size, so they are searched instead of
//! parsed.

use crate::package_manager::PackageManager;
use crate::source;

/// Files that are written by exactly one package manager.
const LOCK_FILES: &[(&str, PackageManager)] = &[
    ("package-lock.json", PackageManager::Npm),
    ("npm-shrinkwrap.json", PackageManager::Npm),
    ("pnpm-lock.yaml", PackageManager::Pnpm),
    ("yarn.lock", PackageManager::Yarn),
    ("bun.lock", PackageManager::Bun),
    ("bun.lockb", PackageManager::Bun),
    ("deno.lock", PackageManager::Deno),
    ("uv.lock", PackageManager::Uv),
    ("poetry.lock", PackageManager::Poetry),
    ("pdm.lock", PackageManager::Pdm),
    ("Pipfile.lock", PackageManager::Pipenv),
    ("conda-lock.yml", PackageManager::Conda),
    ("Cargo.lock", PackageManager::Cargo),
    ("go.sum", PackageManager::Go),
    ("gradle.lockfile", PackageManager::Gradle),
    ("Gemfile.lock", PackageManager::Bundler),
    ("composer.lock", PackageManager::Composer),
    ("packages.lock.json", PackageManager::Nuget),
    ("mix.lock", PackageManager::Mix),
];

pub(crate) fn manager_of_lock_file(name: &str) -> Option<PackageManager> {
    LOCK_FILES.iter().find(|(lock, _)| *lock == name).map(|(_, manager)| *manager)
}

pub(crate) fn lock_file_names(manager: PackageManager) -> impl Iterator<Item = &'static str> {
    LOCK_FILES.iter().filter(move |(_, writer)| *writer == manager).map(|(name, _)| *name)
}

/// Whether a file with this name must be read to know that it has content: pnpm leaves empty lock files
/// behind.
pub(crate) fn may_be_stub(name: &str) -> bool {
    name == "pnpm-lock.yaml"
}

/// Whether a lock file locks nothing.
pub(crate) fn is_stub(text: &str) -> bool {
    !text.contains("packages:") && !text.contains("specifier")
}

/// Whether the format can lock different versions for workspace members.
pub(crate) fn has_member_versions(name: &str) -> bool {
    matches!(name, "package-lock.json" | "npm-shrinkwrap.json" | "pnpm-lock.yaml")
}

/// The version of a package for a workspace member (empty for the workspace itself), and its line.
pub(crate) fn find_locked_version(
    name: &str,
    text: &str,
    member: &str,
    package: &str,
) -> Option<(String, u32)> {
    let found = match name {
        "package-lock.json" | "npm-shrinkwrap.json" => [
            format!("\"{member}/node_modules/{package}\": {{"),
            format!("\"node_modules/{package}\": {{"),
            format!("\"{package}\": {{"),
        ]
        .iter()
        .find_map(|key| find_object_field(text, key, "\"version\":")),
        "Pipfile.lock" => find_object_field(text, &format!("\"{package}\": {{"), "\"version\":"),
        "composer.lock" => find_object_field(text, &format!("\"name\": \"{package}\""), "\"version\":"),
        "packages.lock.json" => find_object_field(text, &format!("\"{package}\": {{"), "\"resolved\":"),
        "deno.lock" => {
            let keys = [format!("\"jsr:{package}@"), format!("\"npm:{package}@")];
            keys.iter().find_map(|key| find_object_field(text, key, "\":"))
        }
        "pnpm-lock.yaml" => find_importer_version(text, member, package),
        "yarn.lock" => {
            let keys = [format!("\n{package}@"), format!("\n\"{package}@")];
            keys.iter().find_map(|key| find_value_below(text, text.find(key)? + 1, "version"))
        }
        "uv.lock" | "poetry.lock" | "pdm.lock" | "Cargo.lock" => {
            find_value_below(text, text.find(&format!("name = \"{package}\"\n"))?, "version =")
        }
        "bun.lock" => find_value_after(text, &format!("\"{package}\": [\"{package}@")),
        "Gemfile.lock" => find_value_after(text, &format!("\n    {package} (")),
        "mix.lock" => find_value_after(text, &format!("\"{package}\": {{:hex, :{package}, \"")),
        _ => None,
    };
    let (value, at) = found?;
    Some((value, source::SourceLineIndex::new(&text[..at]).line_at(at)))
}

/// `"field": "value"` within the object that begins with `key`.
fn find_object_field(text: &str, key: &str, field: &str) -> Option<(String, usize)> {
    let begin = text.find(key)? + key.len();
    let object = &text[begin..];
    let object = &object[..object.find('}').unwrap_or(object.len())];
    let at = object.find(field)? + field.len();
    let value = clean_version(object[at..].trim_start().trim_start_matches('"').split('"').next()?)?;
    Some((value, begin + at))
}

/// The version under `importers` for one member. Older files with a single project have no such section.
fn find_importer_version(text: &str, member: &str, package: &str) -> Option<(String, usize)> {
    // The rest of the file is much longer and not specific to members.
    let text = &text[..text.find("\npackages:").unwrap_or(text.len())];
    let member = if member.is_empty() { "." } else { member };
    let begin = match text.find(&format!("\n  {member}:\n")) {
        Some(at) => at + 1,
        None if text.contains("\nimporters:") => return None,
        None => 0,
    };
    // Up to the next member or the next section of the file.
    let first = text[begin..].find('\n')? + 1;
    let inner = &text[begin + first..];
    let is_deeper = |line: &&str| begin == 0 || line.is_empty() || line.starts_with("   ");
    let length: usize = inner
        .split_inclusive('\n')
        .take_while(|line| is_deeper(&line.trim_end_matches('\n')))
        .map(str::len)
        .sum();
    let own = &inner[..length];
    let keys = [format!(" {package}:\n"), format!(" '{package}':\n")];
    let at = keys.iter().find_map(|key| own.find(key))?;
    find_value_below(text, begin + first + at, "version:")
}

/// Finds `key "value"` within the few lines that follow the one at `at`.
fn find_value_below(text: &str, at: usize, key: &str) -> Option<(String, usize)> {
    let mut place = at;
    for line in text[at..].split_inclusive('\n').take(7) {
        if let Some(value) = line.trim().strip_prefix(key).filter(|_| place > at) {
            return Some((clean_version(value)?, place + 1));
        }
        place += line.len();
    }
    None
}

/// The value after `key`, up to a quote or a bracket.
fn find_value_after(text: &str, key: &str) -> Option<(String, usize)> {
    let at = text.find(key)? + key.len();
    Some((clean_version(text[at..].split(['"', ')', '\n']).next()?)?, at))
}

/// Reduces `"==4.2.1"`, `v4.2.1` and `4.2.1(react@19)` to `4.2.1`.
fn clean_version(value: &str) -> Option<String> {
    let value = value.trim().trim_matches(['"', '\'', ',', ' ', ':']).trim_start_matches("==");
    let value = value.split(['(', '"']).next()?.trim();
    let value = value.strip_prefix('v').unwrap_or(value);
    is_exact_version(value).then(|| value.to_owned())
}

/// Whether this is a single version and not a range.
pub(crate) fn is_exact_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.contains('.')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-+_".contains(c))
        && !text.ends_with(".x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_declared_packages_are_found() {
        let check = |lock: &str, text: &str, package: &str, expected: Option<(&str, u32)>| {
            let found = find_locked_version(lock, text, "", package);
            assert_eq!(found.as_ref().map(|(v, l)| (v.as_str(), *l)), expected, "{lock}");
        };
        check(
            "package-lock.json",
            "{\"packages\": {\n  \"node_modules/express\": {\n   \"version\": \"4.19.2\",\n}}}",
            "express",
            Some(("4.19.2", 3)),
        );
        check(
            "pnpm-lock.yaml",
            "lockfileVersion: 9\nimporters:\n  .:\n    dependencies:\n      '@nestjs/core':\n        specifier: ^10\n        version: 10.3.0(x@1)\n",
            "@nestjs/core",
            Some(("10.3.0", 7)),
        );
        check(
            "yarn.lock",
            "express-x@1:\n  version \"9.0\"\nexpress@^4:\n  version \"4.1.0\"\n",
            "express",
            Some(("4.1.0", 4)),
        );
        check(
            "yarn.lock",
            "__metadata:\n\"next@npm:^15\":\n  version: 15.0.1\n",
            "next",
            Some(("15.0.1", 3)),
        );
        check(
            "bun.lock",
            "{ \"packages\": {\n    \"hono\": [\"hono@4.2.0\", \"\"],\n",
            "hono",
            Some(("4.2.0", 2)),
        );
        check(
            "uv.lock",
            "[[package]]\nname = \"fastapi\"\nversion = \"0.115.0\"\n",
            "fastapi",
            Some(("0.115.0", 3)),
        );
        check(
            "Pipfile.lock",
            "  \"flask\": {\n \"hashes\": [],\n  \"version\": \"==3.0.1\"\n",
            "flask",
            Some(("3.0.1", 3)),
        );
        check("composer.lock", "\"name\": \"a/b\",\n\"version\": \"v11.2.0\",", "a/b", Some(("11.2.0", 2)));
        check(
            "Gemfile.lock",
            "  specs:\n    rails (7.1.2)\n      rack (>= 1)\n",
            "rails",
            Some(("7.1.2", 2)),
        );
        check(
            "mix.lock",
            "%{\n  \"phoenix\": {:hex, :phoenix, \"1.7.10\", \"x\"},\n",
            "phoenix",
            Some(("1.7.10", 2)),
        );
        check("deno.lock", "{\n \"jsr:@hono/hono@^4.6.0\": \"4.6.14\",", "@hono/hono", Some(("4.6.14", 2)));
        check(
            "package-lock.json",
            "{ \"node_modules/ai\": { \"version\": \"4.0.13\" } }",
            "ai",
            Some(("4.0.13", 1)),
        );
        check("go.sum", "x", "x", None);
        check("uv.lock", "", "fastapi", None);
    }

    #[test]
    fn workspace_members_have_their_own_versions() {
        let pnpm =
            "importers:\n  a:\n    next:\n      version: 15.0.0\n  b:\n    next:\n      version: 13.0.0\n";
        let npm = "\"node_modules/next\": {\"version\": \"15.0.0\"}, \"b/node_modules/next\": {\"version\": \"13.0.0\"}";
        for (lock, text) in [("pnpm-lock.yaml", pnpm), ("package-lock.json", npm)] {
            let of = |member| find_locked_version(lock, text, member, "next").map(|(version, _)| version);
            assert_eq!((of("a").as_deref(), of("b").as_deref()), (Some("15.0.0"), Some("13.0.0")), "{lock}");
        }
    }

    #[test]
    fn version_range_is_not_an_exact_version() {
        for (text, expected) in
            [("1.2.3", true), ("1.2", true), ("^1.2", false), (">=1", false), ("4.x", false), ("1", false)]
        {
            assert_eq!(is_exact_version(text), expected, "{text}");
        }
    }
}
