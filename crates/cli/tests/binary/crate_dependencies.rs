//! Which crate may use which: the map of ARCHITECTURE.md, held by the build itself.

use std::collections::BTreeSet;

/// Every edge that the map allows.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("cli", &["http", "server", "store"]),
    ("http", &["server"]),
    ("conformance", &["http", "server"]),
    (
        "server",
        &[
            "protocol",
            "design-tokens",
            "flow",
            "tree",
            "codebase",
            "fluxloop",
            "knowledge",
            "projects",
            "access",
        ],
    ),
    ("codebase", &["tree"]),
    ("fluxloop", &["tree", "codebase"]),
    ("knowledge", &["tree"]),
    ("store", &["access", "design-tokens", "flow", "projects", "store-api"]),
    ("protocol", &[]),
    ("flow", &["store-api"]),
    ("tree", &[]),
    ("projects", &["design-tokens", "store-api"]),
    ("design-tokens", &[]),
    ("access", &["store-api"]),
    ("store-api", &[]),
];

/// Crates of others that must not be used directly: pure crates stay pure.
const BANNED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("protocol", &["tokio", "axum", "schemars"]),
    ("flow", &["tokio", "axum", "getrandom"]),
    ("access", &["tokio", "axum", "getrandom"]),
    ("design-tokens", &["tokio", "axum", "getrandom"]),
    ("projects", &["tokio", "axum", "getrandom", "rusqlite", "tokio-postgres"]),
    ("server", &["hyper", "axum", "rusqlite", "tokio-postgres"]),
];

#[test]
fn crates_use_only_allowed_dependencies() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .unwrap();
    // A row of neither list stands for a crate that is gone, or was never called that.
    let crates: BTreeSet<&str> =
        metadata.packages.iter().filter_map(|package| package.name.strip_prefix("fluxway-")).collect();
    assert_eq!(ALLOWED_DEPENDENCIES.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), crates);
    for (name, _) in BANNED_DEPENDENCIES {
        assert!(crates.contains(name), "there is no {name}");
    }
    let ours: BTreeSet<String> = metadata.packages.iter().map(|package| package.name.to_string()).collect();
    for package in &metadata.packages {
        let Some(name) = package.name.strip_prefix("fluxway-") else { continue };
        let (_, allowed) = ALLOWED_DEPENDENCIES
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap_or_else(|| panic!("{name} is not on the map"));
        let normal =
            package.dependencies.iter().filter(|dep| dep.kind == cargo_metadata::DependencyKind::Normal);
        for dependency in normal.clone().filter(|dep| ours.contains(&dep.name)) {
            let used = dependency.name.strip_prefix("fluxway-").unwrap();
            assert!(allowed.contains(&used), "{name} must not use {used}");
        }
        let banned = BANNED_DEPENDENCIES
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(&[][..], |(_, banned)| banned);
        for dependency in normal {
            assert!(!banned.contains(&dependency.name.as_str()), "{name} must not use {}", dependency.name);
        }
    }
}
