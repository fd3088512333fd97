//! Names and places that the compiler does not check: CONTRIBUTING.md says how things are named, ARCHITECTURE.md where
//! they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names that every tool or crate has, each with its own meaning.
const SHARED_NAMES: [&str; 4] = ["Args", "Reply", "Error", "Limits"];

/// Constants that do not say what they limit.
const VAGUE_CONSTANTS: [&str; 8] =
    ["MOST", "LONGEST", "LARGEST", "DEEPEST", "PATIENCE", "FEW", "MANY", "AT_ONCE"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust file of ours: its path from the repository, and its lines without comments.
fn source_files() -> Vec<(String, Vec<String>)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = repository();
    let mut paths = Vec::new();
    for folder in ["crates", "bench", "tests/conformance/server"] {
        collect(&root.join(folder), &mut paths);
    }
    paths.sort();
    let without_comment = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    let file = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        (name, text.lines().map(without_comment).collect())
    };
    let files: Vec<_> = paths.into_iter().map(file).collect();
    assert!(files.len() > 500, "found only {} files", files.len());
    files
}

/// The kind and the name of what a line defines.
fn definition(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub") || ["const", "async", "unsafe", "crate::tools)"].contains(word)
    });
    let (kind, name) = (words.next()?, words.next()?);
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some((kind, &name[..end]))
}

#[test]
fn a_type_name_means_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, lines) in source_files() {
        for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with(' ')) {
            if let Some(("struct" | "enum" | "trait" | "union" | "type", name)) = definition(line) {
                places.entry(name.to_owned()).or_default().push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert!(places.len() > 1000, "found only {} types", places.len());
    // The same type for two systems.
    let is_per_system = |places: &[String]| places.iter().all(|fixture| fixture.contains("/src/sandbox/"));
    let repeated: Vec<_> = places
        .iter()
        .filter(|(name, places)| {
            places.len() > 1 && !SHARED_NAMES.contains(&name.as_str()) && !is_per_system(places)
        })
        .collect();
    assert!(repeated.is_empty(), "rename all but one of each: {repeated:#?}");
}

#[test]
fn constructors_and_constants_say_what_they_are() {
    let mut vague = Vec::new();
    for (path, lines) in source_files() {
        for (number, line) in lines.iter().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_vague = words.windows(2).any(|pair| match pair[0] {
                "fn" => pair[1].starts_with("of(") || pair[1].starts_with("of<"),
                "const" => VAGUE_CONSTANTS.contains(&pair[1].trim_end_matches(':')),
                _ => false,
            });
            if is_vague {
                vague.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(
        vague.is_empty(),
        "use `new`, `from_*`, `for_*`, `with_*` and `MAX_*`, `*_TIMEOUT`, `*_LIMIT`: {vague:#?}"
    );
}

/// The methods that `dispatch.rs` knows.
fn dispatched_methods() -> Vec<String> {
    let text = std::fs::read_to_string(repository().join("crates/server/src/rpc/dispatch.rs")).unwrap();
    let (_, table) = text.split_once("KNOWN_METHODS").unwrap();
    let (table, _) = table.split_once("];").unwrap();
    let methods: Vec<String> = table.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(methods.len() > 20, "{methods:?}");
    methods
}

#[test]
fn methods_are_matched_by_name_only_in_dispatch_and_method() {
    let methods = dispatched_methods();
    let allowed = ["crates/server/src/rpc/dispatch.rs", "crates/server/src/rpc/method.rs"];
    let mut elsewhere = Vec::new();
    for (path, lines) in source_files() {
        let is_product = path.starts_with("crates/server/src/") || path.starts_with("crates/http/src/");
        if !is_product || allowed.contains(&path.as_str()) || path.contains("/tests") {
            continue;
        }
        for (number, line) in lines.iter().enumerate() {
            let compares = methods.iter().any(|method| {
                [format!("== \"{method}\""), format!("!= \"{method}\""), format!("\"{method}\" =>")]
                    .iter()
                    .chain(&[format!("\"{method}\" |"), format!("\"{method}\" if ")])
                    .any(|comparison| line.contains(comparison.as_str()))
            });
            if compares {
                elsewhere.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(elsewhere.is_empty(), "ask a predicate of rpc/method.rs: {elsewhere:#?}");
}

#[test]
fn tools_do_not_depend_on_dialect_or_revision() {
    let mut found = Vec::new();
    for (path, lines) in source_files() {
        let Some(rest) = path.strip_prefix("crates/server/src/tools/") else { continue };
        if rest.starts_with("support/") {
            continue;
        }
        let mentions = |line: &&String| {
            line.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Dialect" || word == "Revision")
        };
        found.extend(lines.iter().filter(mentions).map(|line| format!("{rest}: {}", line.trim())));
    }
    assert!(found.is_empty(), "a tool is the same on every wire: {found:#?}");
}

#[test]
fn revisions_are_compared_only_in_the_protocol_crate() {
    let mut found = Vec::new();
    for (path, lines) in source_files() {
        let is_product = path.starts_with("crates/") && path.contains("/src/") && !path.contains("/tests");
        if !is_product || path.starts_with("crates/protocol/src/") {
            continue;
        }
        let compares = |line: &&String| {
            [
                "== Revision::V",
                "!= Revision::V",
                ">= Revision::",
                "<= Revision::",
                "> Revision::",
                "< Revision::",
            ]
            .iter()
            .any(|comparison| line.contains(comparison))
        };
        found.extend(lines.iter().filter(compares).map(|line| format!("{path}: {}", line.trim())));
    }
    assert!(found.is_empty(), "ask a predicate of protocol/src/revision.rs: {found:#?}");
}
