//! Detects the projects in a tree: the folders with manifests.

use std::collections::{BTreeMap, BTreeSet};

use tree::{Tree, WorkBudget};

use crate::Evidence;
use crate::inventory::FileInventory;
use crate::lock_files;
use crate::manifest::{
    self, Dependency, DependencyScope, Ecosystem, HintStrength, Manifest, file_name, parent_folder,
};
use crate::name_redaction::NameKind;
use crate::package_manager::PackageManager;
use crate::rules;
use crate::source_cache::SourceCache;
use crate::text_encoding::decode_text;

const MAX_MANIFEST_BYTES: u64 = 1 << 20;
const MAX_TOTAL_MANIFEST_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct DetectedProject {
    pub(crate) folder: String,
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) managers: Vec<(PackageManager, Evidence)>,
}

impl DetectedProject {
    pub(crate) fn name(&self) -> Option<&str> {
        self.manifests.iter().find_map(|manifest| manifest.name.as_deref())
    }

    /// The declared dependencies, each with its manifest.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = (&Manifest, &Dependency)> {
        self.manifests.iter().flat_map(|manifest| manifest.dependencies.iter().map(move |d| (manifest, d)))
    }

    pub(crate) fn ecosystems(&self) -> BTreeSet<Ecosystem> {
        self.manifests.iter().map(|manifest| manifest.ecosystem).collect()
    }
}

pub(crate) struct ProjectSet {
    /// Sorted by folder, so the root comes first.
    pub(crate) all: Vec<DetectedProject>,
    pub(crate) manifest_errors: Vec<Evidence>,
    by_name: BTreeMap<String, usize>,
    /// Whether manifests were left out because of a limit.
    pub(crate) is_truncated: bool,
    /// Folders with lock files of two package managers of the same ecosystem.
    pub(crate) conflicting_managers: Vec<String>,
}

impl ProjectSet {
    pub(crate) fn detect(tree: &Tree, survey: &FileInventory, budget: &WorkBudget) -> Self {
        let mut reader = ManifestReader {
            tree,
            inventory: survey,
            manifests: BTreeMap::new(),
            errors: Vec::new(),
            bytes: 0,
        };
        for file in &survey.files {
            if budget.is_expired() || budget.is_cancelled() {
                break;
            }
            reader.read(&file.path);
        }
        let ManifestReader { manifests, errors: broken, bytes, .. } = reader;
        let is_cut = bytes > MAX_TOTAL_MANIFEST_BYTES;
        let mut folders: BTreeMap<String, Vec<Manifest>> = BTreeMap::new();
        for manifest in manifests.into_values() {
            folders.entry(manifest.folder().to_owned()).or_default().push(manifest);
        }
        apply_inheritance(&mut folders);
        folders.retain(|_, manifests| manifests.iter().any(is_meaningful));
        let all = folders.into_iter().map(|(folder, manifests)| DetectedProject {
            folder,
            manifests,
            managers: Vec::new(),
        });
        let mut projects = Self {
            all: all.collect(),
            by_name: BTreeMap::new(),
            manifest_errors: broken,
            conflicting_managers: Vec::new(),
            is_truncated: is_cut,
        };
        let names = projects
            .all
            .iter()
            .enumerate()
            .filter_map(|(at, project)| Some((project.name()?.to_owned(), at)));
        projects.by_name = names.collect();
        projects.assign_managers(tree, survey);
        projects
    }

    /// The innermost project that contains a file.
    pub(crate) fn innermost_project(&self, path: &str) -> Option<usize> {
        self.enclosing_projects(parent_folder(path)).next()
    }

    pub(crate) fn find_by_name(&self, name: &str) -> Option<&DetectedProject> {
        self.by_name.get(name).and_then(|at| self.all.get(*at))
    }

    /// Keeps the selected projects and their findings.
    pub(crate) fn retain(&mut self, counted: &[bool]) {
        let mut counts = counted.iter();
        self.all.retain(|_| counts.next() == Some(&true));
        self.by_name.clear();
        let kept: BTreeSet<&str> = self.all.iter().map(|project| project.folder.as_str()).collect();
        self.conflicting_managers.retain(|folder| kept.contains(folder.as_str()));
        self.manifest_errors.retain(|broken| kept.contains(parent_folder(&broken.path)));
    }

    /// The project in a folder and its enclosing projects, innermost first.
    pub(crate) fn enclosing_projects<'s>(&'s self, folder: &'s str) -> impl Iterator<Item = usize> + 's {
        enclosing_folders(folder).filter_map(|folder| {
            self.all.binary_search_by(|project| project.folder.as_str().cmp(folder)).ok()
        })
    }

    /// Assigns package managers to projects. In order of precedence: explicitly named, lock file,
    /// manager-specific file, default; in the project's folder first, then in its parents.
    fn assign_managers(&mut self, tree: &Tree, inventory: &FileInventory) {
        let mut signs = self.collect_manager_evidence(tree, inventory);
        for project in &self.all {
            let managers = signs.get(&project.folder).into_iter().flatten();
            let locked =
                managers.filter(|sign| sign.strength == HintStrength::LockFile).map(|sign| sign.manager);
            let mut kinds: BTreeMap<Ecosystem, BTreeSet<PackageManager>> = BTreeMap::new();
            locked.for_each(|manager| _ = kinds.entry(manager.ecosystem()).or_default().insert(manager));
            if kinds.values().any(|managers| managers.len() > 1) {
                self.conflicting_managers.push(project.folder.clone());
            }
        }
        for signs in signs.values_mut() {
            signs.sort_by_key(|sign| std::cmp::Reverse(sign.strength));
        }
        let decide = |project: &DetectedProject| {
            let decided = project
                .ecosystems()
                .into_iter()
                .flat_map(|kind| choose_managers(&signs, &project.folder, kind));
            decided.collect::<Vec<_>>()
        };
        let decided: Vec<_> = self.all.iter().map(decide).collect();
        for (project, managers) in self.all.iter_mut().zip(decided) {
            project.managers = managers;
        }
        self.adopt_common_manager();
    }

    /// A `package.json` without any hint uses the manager of the others in the repository, if they agree.
    fn adopt_common_manager(&mut self) {
        let of_node = self.all.iter().flat_map(|project| &project.managers);
        let said: BTreeMap<PackageManager, Evidence> = of_node
            .filter(|(manager, evidence)| {
                manager.ecosystem() == Ecosystem::Node && evidence.fact != NO_MANAGER_FACT
            })
            .cloned()
            .collect();
        let Some((only, evidence)) = said.iter().next().filter(|_| said.len() == 1) else { return };
        for (manager, known) in self.all.iter_mut().flat_map(|project| &mut project.managers) {
            if known.fact == NO_MANAGER_FACT {
                (*manager, *known) = (*only, evidence.clone());
            }
        }
    }

    fn collect_manager_evidence(
        &self,
        tree: &Tree,
        inventory: &FileInventory,
    ) -> BTreeMap<String, Vec<ManagerEvidence>> {
        let mut signs: BTreeMap<String, Vec<ManagerEvidence>> = BTreeMap::new();
        for project in &self.all {
            for manifest in &project.manifests {
                let of = |hint: &manifest::ManagerHint| ManagerEvidence {
                    manager: hint.manager,
                    strength: hint.strength,
                    evidence: Evidence::new(&manifest.path, hint.line, hint.fact.clone()),
                };
                signs.entry(project.folder.clone()).or_default().extend(manifest.hints.iter().map(of));
            }
        }
        for file in &inventory.files {
            let name = file_name(&file.path);
            let own = manager_of_config_file(name).map(|manager| (manager, HintStrength::OwnFile));
            let Some((manager, weight)) =
                lock_files::manager_of_lock_file(name).map(|m| (m, HintStrength::LockFile)).or(own)
            else {
                continue;
            };
            let stub = lock_files::may_be_stub(name) && {
                let text = tree.read(&file.path, 4096).unwrap_or_default();
                !text.is_empty() && lock_files::is_stub(&String::from_utf8_lossy(&text))
            };
            if !stub {
                let fact = if weight == HintStrength::LockFile {
                    "lock file"
                } else {
                    "configuration of the manager"
                };
                let evidence = Evidence::new(&file.path, 1, fact);
                signs.entry(parent_folder(&file.path).to_owned()).or_default().push(ManagerEvidence {
                    manager,
                    strength: weight,
                    evidence,
                });
            }
        }
        signs
    }

    /// The version of a declared package: locked, pinned in the manifest, or shared by a workspace.
    pub(crate) fn resolve_version(
        &self,
        sources: &SourceCache<'_>,
        project: &DetectedProject,
        (manifest, dependency): (&Manifest, &Dependency),
    ) -> Option<(String, Evidence)> {
        let written = |dependency: &Dependency| {
            let text = dependency.requirement.as_deref()?.trim();
            let exact = text.trim_start_matches('=').trim_start_matches('v').trim();
            // In Cargo, `1.2.3` is a range.
            let is_exact = manifest.ecosystem != Ecosystem::Rust || text.starts_with('=');
            (is_exact && lock_files::is_exact_version(exact)).then(|| exact.to_owned())
        };
        if let Some(version) = locked_version(sources, project, manifest.ecosystem, &dependency.name) {
            return Some(version);
        }
        if let Some(version) = written(dependency) {
            let fact = version_fact(sources, &manifest.path, dependency, "declares", &version);
            return Some((version, Evidence::new(&manifest.path, dependency.line, fact)));
        }
        self.enclosing_projects(&project.folder).flat_map(|at| &self.all[at].manifests).find_map(|outer| {
            let shared =
                outer.shared_versions.iter().find(|shared| catalog_name(&shared.name) == dependency.name)?;
            let version = written(shared)?;
            let shared = Dependency { line: shared.line, ..dependency.clone() };
            let fact = version_fact(sources, &outer.path, &shared, "shares", &version);
            Some((version, Evidence::new(&outer.path, shared.line, fact)))
        })
    }
}

/// Formats "declares x 1.2.3".
fn version_fact(
    sources: &SourceCache<'_>,
    path: &str,
    dependency: &Dependency,
    verb: &str,
    version: &str,
) -> String {
    let name = sources.redactor.name(NameKind::Package, &dependency.name, path, dependency.line);
    let version = sources.redactor.name(NameKind::Version, version, path, dependency.line);
    format!("{verb} {name} {version}")
}

/// The version in the nearest lock file of the project's manager.
fn locked_version(
    sources: &SourceCache<'_>,
    project: &DetectedProject,
    ecosystem: Ecosystem,
    package: &str,
) -> Option<(String, Evidence)> {
    let managers = project.managers.iter().map(|(manager, _)| *manager);
    let managers: Vec<_> = managers.filter(|manager| manager.ecosystem() == ecosystem).collect();
    let path = enclosing_folders(&project.folder).find_map(|folder| {
        let names = managers.iter().flat_map(|manager| lock_files::lock_file_names(*manager));
        names.map(|name| manifest::join_path(folder, name)).find(|path| sources.inventory.contains(path))
    })?;
    let (version, line) = sources.locked_version(&path, &project.folder, package)?;
    let name = sources.redactor.name(NameKind::Package, package, &path, line);
    let shown = sources.redactor.name(NameKind::Version, &version, &path, line);
    let fact = format!("locks {name} at {shown}");
    Some((version, Evidence::new(&path, line, fact)))
}

/// A folder and its parents up to the root.
fn enclosing_folders(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| (!folder.is_empty()).then(|| parent_folder(folder)))
}

/// Reduces `libs:alias=group:name` to `group:name`.
fn catalog_name(name: &str) -> &str {
    name.split_once('=').map_or(name, |(_, name)| name)
}

/// Evidence for a package manager in a folder.
struct ManagerEvidence {
    manager: PackageManager,
    strength: HintStrength,
    evidence: Evidence,
}

/// Configuration files without dependencies that are specific to one manager.
fn manager_of_config_file(name: &str) -> Option<PackageManager> {
    Some(match name {
        ".yarnrc.yml" | ".yarnrc" => PackageManager::Yarn,
        "bunfig.toml" => PackageManager::Bun,
        "settings.gradle" | "settings.gradle.kts" => PackageManager::Gradle,
        _ => return None,
    })
}

/// The managers of one ecosystem in a folder. Usually one, unless two are used side by side (Maven and
/// Gradle).
fn choose_managers(
    signs: &BTreeMap<String, Vec<ManagerEvidence>>,
    folder: &str,
    kind: Ecosystem,
) -> Vec<(PackageManager, Evidence)> {
    let of_kind = |folder: &str| -> Vec<&ManagerEvidence> {
        let here = signs.get(folder).into_iter().flatten();
        here.filter(|sign| sign.manager.ecosystem() == kind).collect()
    };
    let is_sign = |sign: &&ManagerEvidence| sign.strength >= HintStrength::OwnFile;
    // Explicit names, lock files and manager-specific files, nearest first; then what `engines` merely
    // allows, only in this folder; then the default.
    let nearest = enclosing_folders(folder).map(of_kind).find(|here| here.iter().any(is_sign));
    let weaker = || of_kind(folder).into_iter().max_by_key(|sign| sign.strength);
    let Some(here) = nearest else {
        let weaker = weaker().map(|sign| (sign.manager, sign.evidence.clone()));
        return weaker.or_else(|| default_manager(kind, folder)).into_iter().collect();
    };
    let best = here.iter().map(|sign| sign.strength).max().unwrap_or(HintStrength::OwnFile);
    let both = kind == Ecosystem::Jvm;
    // With two lock files side by side, it is unclear which one counts.
    let several = both || best == HintStrength::LockFile;
    let mut chosen: Vec<(PackageManager, Evidence)> = Vec::new();
    for sign in here.iter().filter(|sign| sign.strength == best || (both && is_sign(sign))) {
        if chosen.iter().all(|(manager, _)| *manager != sign.manager) && (several || chosen.is_empty()) {
            chosen.push((sign.manager, sign.evidence.clone()));
        }
    }
    chosen
}

const NO_MANAGER_FACT: &str = "package.json without a lock file or a named manager";

/// The manager that an ecosystem uses by default.
fn default_manager(kind: Ecosystem, folder: &str) -> Option<(PackageManager, Evidence)> {
    (kind == Ecosystem::Node).then(|| {
        (PackageManager::Npm, Evidence::new(&manifest::join_path(folder, "package.json"), 1, NO_MANAGER_FACT))
    })
}

/// Whether a manifest is more than a marker such as `{"type": "module"}`.
fn is_meaningful(manifest: &Manifest) -> bool {
    manifest.name.is_some()
        || manifest.is_workspace
        || !manifest.dependencies.is_empty()
        || !manifest.programs.is_empty()
        || manifest.ecosystem != Ecosystem::Node && !manifest.hints.is_empty()
}

struct ManifestReader<'a> {
    tree: &'a Tree,
    inventory: &'a FileInventory,
    manifests: BTreeMap<String, Manifest>,
    errors: Vec<Evidence>,
    bytes: u64,
}

impl ManifestReader<'_> {
    fn read(&mut self, path: &str) {
        let Some((ecosystem, reader)) = manifest::find_parser(path) else { return };
        // Follow `-r other.txt` under any name, but only to files that the walk has seen and that are
        // requirement lists: following an include to `.env` would expose its secrets.
        let is_list = |file: &String| {
            (file.ends_with(".txt") || file.ends_with(".in")) && self.inventory.contains(file)
        };
        let mut open = vec![path.to_owned()];
        while let Some(path) = open.pop() {
            let includes = self.read_with(&path, ecosystem, reader);
            open.extend(includes.into_iter().filter(is_list));
        }
    }

    /// Reads a manifest and returns the files it includes.
    fn read_with(
        &mut self,
        path: &str,
        ecosystem: Ecosystem,
        reader: manifest::ManifestParser,
    ) -> Vec<String> {
        if self.manifests.contains_key(path) || self.bytes > MAX_TOTAL_MANIFEST_BYTES {
            return Vec::new();
        }
        let parsed =
            self.tree.read(path, MAX_MANIFEST_BYTES).map_err(|error| (1, format!("cannot be read: {error}")));
        let parsed = parsed.and_then(|bytes| {
            self.bytes += bytes.len() as u64;
            let text = decode_text(&bytes);
            reader(path, &text)
                .map_err(|broken| (broken.line, format!("cannot be parsed: {}", broken.reason)))
        });
        let manifest = parsed.unwrap_or_else(|(line, reason)| {
            self.errors.push(Evidence::new(path, line, reason));
            // It still marks a project, and files next to it may provide evidence.
            Manifest::unparsed(path, ecosystem)
        });
        let includes = manifest.includes.clone();
        self.manifests.insert(path.to_owned(), manifest);
        includes
    }
}

/// Applies what projects inherit: dependencies of Maven parents, and names from a Gradle version catalog.
fn apply_inheritance(folders: &mut BTreeMap<String, Vec<Manifest>>) {
    // Only dependencies that identify a framework are inherited, and a handful of them is enough.
    const MAX_INHERITED_DEPENDENCIES: usize = 20;
    let known = |d: &&Dependency| {
        d.scope == DependencyScope::Main && rules::find_rule_for_package(Ecosystem::Jvm, &d.name).is_some()
    };
    let mut parents: BTreeMap<String, (Vec<Dependency>, Option<String>)> = BTreeMap::new();
    let mut catalog: BTreeMap<String, String> = BTreeMap::new();
    for manifest in folders.values().flatten() {
        if let Some(coordinates) = &manifest.coordinates {
            let own = manifest
                .dependencies
                .iter()
                .filter(known)
                .take(MAX_INHERITED_DEPENDENCIES)
                .cloned()
                .collect();
            parents.insert(coordinates.clone(), (own, manifest.parent.clone()));
        }
        let names = manifest.shared_versions.iter().filter_map(|shared| shared.name.split_once('='));
        catalog.extend(names.map(|(alias, name)| (alias.to_owned(), name.to_owned())));
    }
    for manifest in folders.values_mut().flatten() {
        let mut parent = manifest.parent.clone();
        // An inherited dependency is attributed to the line that names the parent.
        let line = manifest.dependencies.first().map_or(1, |first| first.line);
        for _ in 0..8 {
            let Some((dependencies, next)) = parent.as_ref().and_then(|name| parents.get(name)) else {
                break;
            };
            let new =
                dependencies.iter().filter(|d| manifest.dependencies.iter().all(|own| own.name != d.name));
            let new: Vec<_> = new.map(|d| Dependency { line, ..d.clone() }).collect();
            manifest.dependencies.extend(new);
            parent.clone_from(next);
        }
        for dependency in &mut manifest.dependencies {
            if let Some(name) = catalog.get(&dependency.name) {
                dependency.name.clone_from(name);
            }
        }
    }
}
