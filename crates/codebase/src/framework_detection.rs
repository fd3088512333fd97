//! Detects frameworks from evidence in manifests and code.

use std::collections::{BTreeMap, BTreeSet};

use crate::confidence::{DependencyStatus, EvidenceKind, ProjectRole, confidence};
use crate::entry_points;
use crate::inventory::FileRecord;
use crate::language::Language;
use crate::manifest::{Dependency, DependencyScope, Manifest, file_name, join_path};
use crate::name_redaction::NameKind;
use crate::path_role;
use crate::profile::{Evidence, Framework, InsertionAnchor};
use crate::project::DetectedProject;
use crate::rules::{self, LibraryRule, RULES, RuleId};
use crate::source;
use crate::source_cache::SourceCache;

/// Minimum confidence for a framework to be a candidate.
pub const MIN_CANDIDATE_CONFIDENCE: f64 = 0.5;
const MAX_FILES_PER_FRAMEWORK: usize = 8;
/// Limits for files whose contents were not scanned: files per project, and projects per framework.
const MAX_UNSCANNED_FILES_PER_PROJECT: usize = 10;
const MAX_PROBED_PROJECTS_PER_FRAMEWORK: usize = 20;
const MAX_ANCHORS_PER_FRAMEWORK: usize = 5;

type DeclaredDependencies<'a> = BTreeMap<RuleId, (&'a Manifest, &'a Dependency)>;

/// The files of each project that have to be parsed.
pub(crate) fn select_files_to_parse<'a>(
    sources: &SourceCache<'a>,
    files: &[Vec<&'a FileRecord>],
) -> Vec<&'a str> {
    let mut chosen = Vec::new();
    let mut proofs: BTreeMap<RuleId, usize> = BTreeMap::new();
    let mut order: Vec<usize> = (0..files.len()).collect();
    let is_aside = |at: usize| {
        sources.projects.all.get(at).is_some_and(|project| path_role::is_example_or_test(&project.folder))
    };
    order.sort_by_key(|at| is_aside(*at));
    for at in order {
        let own = &files[at];
        let most =
            sources.projects.all.get(at).map_or(MAX_UNSCANNED_FILES_PER_PROJECT, |project| {
                unscanned_file_limit(project, &mut proofs)
            });
        if most == 0 && own.iter().all(|file| file.hits.is_none()) {
            continue;
        }
        let mut ranked: Vec<&FileRecord> = own
            .iter()
            .copied()
            .filter(|file| file.language.is_some() && !path_role::is_test(&file.path))
            .collect();
        // Files are sorted by path and the sort is stable, so they stay sorted within a rank.
        ranked.sort_by_cached_key(|file| path_role::entry_point_rank(&file.path));
        // If only names are known, take the likeliest files.
        let blind = ranked.iter().filter(|file| file.hits.is_none() && file.lines.is_none());
        let readable = blind.filter(|file| file.language.and_then(Language::ecosystem).is_some());
        chosen.extend(readable.take(most).map(|file| file.path.as_str()));
        for id in 0..RULES.len() {
            let mentioning = ranked.iter().filter(|file| file.hits.is_some_and(|hits| hits.mentions(id)));
            chosen.extend(mentioning.take(MAX_FILES_PER_FRAMEWORK).map(|file| file.path.as_str()));
        }
    }
    chosen
}

/// How many unscanned files of a project to parse: many while a declared library still needs proof in code,
/// one if it declares no known library.
fn unscanned_file_limit(project: &DetectedProject, proofs: &mut BTreeMap<RuleId, usize>) -> usize {
    let declared = declared_dependencies(project);
    if declared.is_empty() {
        return 1;
    }
    let wants_proof = declared
        .keys()
        .any(|id| proofs.get(id).is_none_or(|found| *found < MAX_PROBED_PROJECTS_PER_FRAMEWORK));
    for id in declared.keys() {
        *proofs.entry(*id).or_default() += 1;
    }
    if wants_proof { MAX_UNSCANNED_FILES_PER_PROJECT } else { 0 }
}

fn declared_dependencies(project: &DetectedProject) -> DeclaredDependencies<'_> {
    let mut found: DeclaredDependencies<'_> = BTreeMap::new();
    for (manifest, dependency) in project.dependencies() {
        let Some(rule) = rules::find_rule_for_package(manifest.ecosystem, &dependency.name) else { continue };
        let better = found.get(&rule).is_none_or(|(_, known)| is_more_specific(rule, dependency, known));
        if better {
            found.insert(rule, (manifest, dependency));
        }
    }
    found
}

/// Whether `one` is better evidence for a framework than `other`: runtime scope first, then the package that
/// carries the framework's version.
fn is_more_specific(rule: RuleId, one: &Dependency, other: &Dependency) -> bool {
    let key = |d: &Dependency| (d.scope, RULES[rule].package_rank(&d.name), d.name.len());
    key(one) < key(other)
}

/// The frameworks and model libraries of one project. `files` are the files of that project.
pub(crate) fn detect_project_frameworks(
    sources: &SourceCache<'_>,
    project: Option<&DetectedProject>,
    files: &[&FileRecord],
) -> Vec<Framework> {
    let mut declared = project.map(declared_dependencies).unwrap_or_default();
    let mut gathered: BTreeMap<RuleId, FrameworkEvidence> =
        declared.keys().map(|id| (*id, FrameworkEvidence::default())).collect();
    collect_code_evidence(sources, project, files, &mut gathered);
    if let Some(project) = project {
        inherit_declarations(sources, project, &gathered, &mut declared);
    }
    let mut found = BTreeMap::new();
    for (id, mut evidence) in gathered {
        if let Some((manifest, dependency)) = declared.get(&id) {
            evidence.add_declaration(sources, manifest, dependency);
        }
        if let Some(project) = project {
            evidence.add_config_files(sources, &RULES[id], project, files);
        }
        found.insert(id, evidence.into_framework(sources, id, project, declared.get(&id).copied()));
    }
    remove_superseded(&mut found);
    found.into_values().collect()
}

/// A library that a project uses but does not declare may be declared by an enclosing project, such as a
/// workspace root.
fn inherit_declarations<'l>(
    sources: &'l SourceCache<'_>,
    project: &DetectedProject,
    gathered: &BTreeMap<RuleId, FrameworkEvidence>,
    known: &mut DeclaredDependencies<'l>,
) {
    for outer in sources.projects.enclosing_projects(&project.folder).skip(1) {
        for (id, found) in declared_dependencies(&sources.projects.all[outer]) {
            if gathered.contains_key(&id) {
                known.entry(id).or_insert(found);
            }
        }
    }
}

/// Imports and constructor calls in the parsed files, likeliest file first.
fn collect_code_evidence(
    sources: &SourceCache<'_>,
    project: Option<&DetectedProject>,
    files: &[&FileRecord],
    gathered: &mut BTreeMap<RuleId, FrameworkEvidence>,
) {
    let folder = project.map_or("", |project| project.folder.as_str());
    let paths = files.iter().map(|file| file.path.as_str());
    let mut seen: Vec<_> = paths.filter_map(|path| Some((path, sources.get(path)?))).collect();
    seen.retain(|(path, _)| !path_role::is_test(path));
    seen.sort_by_cached_key(|(path, _)| path_role::entry_point_rank(path));
    for (path, seen) in seen {
        // Relative to the project: everything in `examples/shop` is the product of `shop`.
        let is_aside = path_role::is_example_or_test(path.strip_prefix(folder).unwrap_or(path));
        let kind = |kind: EvidenceKind| if is_aside { EvidenceKind::UsedInExamples } else { kind };
        for import in &seen.imports {
            let evidence = || Evidence::new(path, import.line, import.text.clone());
            gathered
                .entry(import.rule)
                .or_default()
                .kinds
                .entry(kind(EvidenceKind::Imported))
                .or_insert_with(evidence);
        }
        for made in &seen.constructions {
            let evidence = || {
                let what = sources.redactor.name(NameKind::Identifier, &made.text, path, made.line);
                Evidence::new(path, made.line, format!("calls {what}(…)"))
            };
            let entry = gathered.entry(made.rule).or_default();
            entry.kinds.entry(kind(EvidenceKind::Constructed)).or_insert_with(evidence);
            entry.anchors_tried += 1;
            if entry.anchors_tried <= MAX_ANCHORS_PER_FRAMEWORK {
                entry.anchors.extend(build_anchor(sources, path, &made.text, made.line));
            }
        }
    }
}

/// Removes frameworks that another detected framework is built on.
fn remove_superseded(found: &mut BTreeMap<RuleId, Framework>) {
    let sure: BTreeSet<&str> = found
        .iter()
        .filter(|(_, framework)| framework.confidence >= MIN_CANDIDATE_CONFIDENCE)
        .flat_map(|(id, _)| RULES[*id].supersedes.iter().copied())
        .collect();
    found.retain(|id, _| !sure.contains(RULES[*id].name));
}

#[derive(Default)]
struct FrameworkEvidence {
    kinds: BTreeMap<EvidenceKind, Evidence>,
    anchors: Vec<InsertionAnchor>,
    anchors_tried: usize,
}

impl FrameworkEvidence {
    fn add_declaration(&mut self, sources: &SourceCache<'_>, manifest: &Manifest, dependency: &Dependency) {
        let requirement = dependency.requirement.as_deref().filter(|text| is_version_range(text));
        let requirement = requirement.map(|text| format!(" {text}")).unwrap_or_default();
        let scope = match dependency.scope {
            DependencyScope::Main => "",
            DependencyScope::Optional => " as an extra",
            DependencyScope::Dev => " for development",
        };
        let name =
            sources.redactor.name(NameKind::Package, &dependency.name, &manifest.path, dependency.line);
        let fact = format!("declares {name}{requirement}{scope}");
        self.kinds.insert(EvidenceKind::Declared, Evidence::new(&manifest.path, dependency.line, fact));
    }

    /// Configuration files and folder layout specific to this framework. They only confirm other evidence: a
    /// file with that name may belong to anything.
    fn add_config_files(
        &mut self,
        sources: &SourceCache<'_>,
        rule: &LibraryRule,
        project: &DetectedProject,
        files: &[&FileRecord],
    ) {
        let file =
            rule.config_files.iter().find_map(|pattern| find_config_file(sources, &project.folder, pattern));
        let place = entry_points::find_layout_file(files, &project.folder, rule.name);
        let evidence = match (&file, place) {
            (Some(path), _) => Some(Evidence::new(
                path,
                1,
                format!("{} is a configuration file of {}", file_name(path), rule.title),
            )),
            (None, Some(path)) => {
                Some(Evidence::new(path, 1, format!("{} loads files from this location", rule.title)))
            }
            (None, None) => None,
        };
        self.kinds.extend(evidence.map(|evidence| (EvidenceKind::Configured, evidence)));
        if self.anchors.is_empty() {
            self.anchors.extend(place.and_then(|path| {
                build_anchor(sources, path, "export default", 1)
                    .or_else(|| build_anchor(sources, path, "export", 1))
            }));
        }
    }

    fn into_framework(
        self,
        sources: &SourceCache<'_>,
        id: RuleId,
        project: Option<&DetectedProject>,
        declared: Option<(&Manifest, &Dependency)>,
    ) -> Framework {
        let rule = &RULES[id];
        let folder = project.map_or("", |project| project.folder.as_str());
        let standing = match declared.map(|(_, dependency)| dependency.scope) {
            Some(DependencyScope::Main) => DependencyStatus::Required,
            Some(DependencyScope::Dev) if rule.is_build_tool => DependencyStatus::Required,
            Some(DependencyScope::Dev) => DependencyStatus::Development,
            Some(DependencyScope::Optional) => DependencyStatus::Optional,
            None if project.is_some_and(|project| project.ecosystems().contains(&rule.ecosystem)) => {
                DependencyStatus::Undeclared
            }
            None => DependencyStatus::NoManifest,
        };
        let place = match format!("{folder}/x") {
            inside if path_role::is_test(&inside) => ProjectRole::Test,
            inside if path_role::is_example_or_test(&inside) => ProjectRole::Example,
            _ => ProjectRole::Product,
        };
        let confidence = confidence(&self.kinds.keys().copied().collect(), standing, place);
        let version = project
            .zip(declared)
            .and_then(|(project, declared)| resolve_version(sources, rule, project, declared));
        let mut evidence: Vec<_> = self.kinds.into_values().collect();
        let (version, locked) = version.unzip();
        // Where nothing is locked, what is declared.
        let declared_range = || {
            let (_, dependency) = declared?;
            dependency.requirement.as_deref().map(str::trim).filter(|text| is_version_range(text))
        };
        let version = version.or_else(|| declared_range().map(str::to_owned));
        evidence.extend(locked.filter(|locked| !evidence.iter().any(|known| known.path == locked.path)));
        Framework {
            name: rule.name,
            title: rule.title,
            role: rule.role,
            ecosystem: rule.ecosystem,
            confidence,
            version,
            project: folder.to_owned(),
            evidence,
            anchors: self.anchors,
        }
    }
}

/// Whether this is only a version range: URLs may contain passwords, and a line that is not a requirement may
/// contain anything.
fn is_version_range(text: &str) -> bool {
    let words = ["workspace:", "catalog:", "latest", "next"];
    let begins = text.trim_start_matches(['=', '<', '>', '~', '^', '!', ' ', 'v', '(', '[']);
    text.len() <= 40
        && NameKind::Version.is_safe_name(text)
        && (begins.starts_with(|c: char| c.is_ascii_digit() || c == '*')
            || words.iter().any(|w| begins.starts_with(w)))
}

/// The version of the package that carries the framework's version, or of any package if all share one.
fn resolve_version(
    sources: &SourceCache<'_>,
    rule: &LibraryRule,
    project: &DetectedProject,
    (manifest, dependency): (&Manifest, &Dependency),
) -> Option<(String, Evidence)> {
    let find =
        |(manifest, dependency)| sources.projects.resolve_version(sources, project, (manifest, dependency));
    let is_of_rule = |(manifest, dependency): &(&Manifest, &Dependency)| {
        let of = rules::find_rule_for_package(manifest.ecosystem, &dependency.name);
        rule.has_shared_version() && of.is_some_and(|id| std::ptr::eq(&raw const RULES[id], rule))
    };
    find((manifest, dependency)).or_else(|| project.dependencies().filter(is_of_rule).take(20).find_map(find))
}

/// Finds a file in a folder by a pattern such as `next.config.*`.
fn find_config_file(sources: &SourceCache<'_>, folder: &str, pattern: &str) -> Option<String> {
    let path = join_path(folder, pattern.trim_end_matches('*'));
    match pattern.strip_suffix('*') {
        None => sources.inventory.contains(&path).then_some(path),
        Some(_) => ["js", "ts", "mjs", "cjs", "mts", "cts"]
            .iter()
            .map(|ending| format!("{path}{ending}"))
            .find(|path| sources.inventory.contains(path)),
    }
}

/// A pattern that matches the call, verified against the file.
fn build_anchor(sources: &SourceCache<'_>, path: &str, what: &str, line: u32) -> Option<InsertionAnchor> {
    let text = sources.read(path, source::MAX_SOURCE_BYTES as u64)?;
    let text = String::from_utf8_lossy(&text);
    let escaped = regex::escape(what);
    // The usual form, then with type arguments or spaces before the parenthesis, then the word anywhere.
    let plain = text.find(&format!("{what}(")).map(|at| (format!("{escaped}\\("), at));
    let (pattern, at) = plain.or_else(|| {
        [format!("{escaped}\\s*(<.*>)?\\("), format!("\\b{escaped}\\b")].into_iter().find_map(|pattern| {
            let at = regex::Regex::new(&pattern).ok()?.find(&text)?.start();
            Some((pattern, at))
        })
    })?;
    let line = if line > 1 { line } else { source::SourceLineIndex::new(&text).line_at(at) };
    Some(InsertionAnchor { path: path.to_owned(), pattern, line })
}

/// The frameworks of the whole tree: each once, from the project with the highest confidence.
pub(crate) fn merge_project_frameworks(projects: &[Vec<Framework>]) -> Vec<Framework> {
    let mut best: BTreeMap<&str, Framework> = BTreeMap::new();
    for framework in projects.iter().flatten() {
        match best.get_mut(framework.name) {
            Some(known) if known.confidence >= framework.confidence => {
                known.anchors.extend(framework.anchors.iter().cloned());
                known.version = known.version.take().or_else(|| framework.version.clone());
            }
            Some(known) => {
                let anchors = std::mem::replace(known, framework.clone()).anchors;
                known.anchors.extend(anchors);
            }
            None => _ = best.insert(framework.name, framework.clone()),
        }
    }
    let mut all: Vec<_> = best.into_values().collect();
    all.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.name.cmp(b.name)));
    all
}
