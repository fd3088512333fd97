//! The complete analysis, from a folder to a profile.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use tree::{GlobFilter, LimitHit, Limits, Tree, WorkBudget};

use crate::agents;
use crate::client_calls;
use crate::entry_points;
use crate::framework_detection::{self, MIN_CANDIDATE_CONFIDENCE};
use crate::inventory::{FileInventory, FileRecord, ScanDepth};
use crate::language::Language;
use crate::package_manager::PackageManager;
use crate::path_role;
use crate::profile::{
    EntryPoint, Evidence, Framework, LanguageShare, Profile, ProjectProfile, Risk, SourceTreeStats,
};
use crate::project::ProjectSet;
use crate::rules::{LibraryRole, RULES};
use crate::source;
use crate::source_cache::{AnalyzedFile, SourceCache};

pub struct AnalysisRequest<'a> {
    pub tree: &'a Tree,
    /// Selects source files. A project is included if one of its files is.
    pub globs: GlobFilter,
    /// Whether to read all source files, or only what is needed to detect frameworks.
    pub scan_depth: ScanDepth,
    pub limits: Limits,
    /// Additional files to parse, if they exist.
    pub extra_paths: Vec<String>,
}

impl<'a> AnalysisRequest<'a> {
    /// The whole tree, with default limits.
    pub fn new(tree: &'a Tree, scan_depth: ScanDepth) -> Self {
        Self {
            tree,
            globs: GlobFilter::default(),
            scan_depth,
            limits: Limits::default(),
            extra_paths: Vec::new(),
        }
    }
}

const LARGE_REPOSITORY_LINES: u64 = 100_000;

/// Analyses a tree. Parsers need a large stack, so the work runs on a separate thread; the only error is a
/// failure to start it.
pub fn analyze(request: &AnalysisRequest<'_>, budget: &WorkBudget) -> io::Result<Profile> {
    source::run_with_parser_stack(|| run_analysis(request, budget))
}

fn run_analysis(request: &AnalysisRequest<'_>, budget: &WorkBudget) -> Profile {
    let survey =
        FileInventory::scan(request.tree, request.scan_depth, &request.globs, request.limits, budget);
    // A small tree is done before progress could be displayed.
    let tell = |step: u64, what: &str| {
        if survey.file_count >= 1024 {
            budget.report_progress(survey.file_count + step, what);
        }
    };
    tell(1, "reading manifests");
    let mut projects = ProjectSet::detect(request.tree, &survey, budget);
    if !request.globs.matches_everything() {
        let counts = |own: &Vec<&FileRecord>| own.iter().any(|file| file.language.is_some());
        let counted: Vec<bool> = group_files_by_project(&survey, &projects).iter().map(counts).collect();
        projects.retain(&counted);
    }
    let files = group_files_by_project(&survey, &projects);
    tell(2, "parsing code");
    let mut sources = SourceCache::new(request.tree, &survey, &projects, budget);
    let mut chosen = framework_detection::select_files_to_parse(&sources, &files);
    chosen.extend(files.iter().flat_map(|own| entry_points::entry_point_candidates(own)));
    chosen.extend(request.extra_paths.iter().map(String::as_str).filter(|path| survey.contains(path)));
    sources.load_files(chosen);
    let (found, entries) = detect_frameworks_and_entry_points(&sources, &files);
    // A program that calls a provider over HTTP has no library for it.
    let mentions_model = |own: &Vec<&FileRecord>| {
        own.iter().filter_map(|file| file.hits).any(|hits| {
            RULES.iter().enumerate().any(|(id, rule)| rule.role == LibraryRole::Model && hits.mentions(id))
        })
    };
    let with_models: Vec<bool> = found
        .iter()
        .zip(&files)
        .map(|(found, own)| found.iter().any(|one| one.role != LibraryRole::Web) || mentions_model(own))
        .collect();
    // Routes of programs without a model are wanted too: the user may know better.
    let has_routes = found.iter().flatten().any(|one| one.role == LibraryRole::Web);
    let (agents, (mut routes, mut other_routes)) =
        if request.scan_depth == ScanDepth::Contents && (has_routes || with_models.contains(&true)) {
            tell(3, "following calls to agents");
            agents::find_agents(&mut sources, &files, &entries, &with_models)
        } else {
            Default::default()
        };
    client_calls::note_clients(request.tree, &survey, &mut routes, &mut other_routes, budget);
    let skipped = sources.skipped();
    let mut profile = Profile {
        languages: count_languages(survey.files.iter()),
        managers: collect_managers(&projects),
        entry_points: merge_entry_points(&entries),
        frameworks: merge_frameworks(&found),
        agents,
        routes,
        other_routes,
        projects: project_profiles(&projects, &files, &found, &entries),
        model_imports: model_imports(&sources),
        risks: Vec::new(),
        stats: SourceTreeStats {
            files: survey.file_count,
            lines: survey.files.iter().filter_map(|file| file.lines).map(u64::from).sum(),
            directories: survey.directories,
        },
        manifest_errors: projects.manifest_errors.clone(),
        skipped_total: survey.skipped_total + (skipped.len() - survey.skipped.len()) as u64,
        skipped,
        limits_hit: limits_hit(&survey, budget),
        omissions: sources.omissions,
        redactor: sources.redactor,
    };
    if projects.is_truncated {
        profile.omissions.insert("not all manifests were read: there are too many".to_owned());
    }
    profile.risks = assess_risks(&profile, &projects);
    profile
}

/// The limits hit by the scan and by the later steps.
fn limits_hit(inventory: &FileInventory, budget: &WorkBudget) -> BTreeSet<LimitHit> {
    let mut cuts = inventory.limits_hit.clone();
    if budget.is_cancelled() {
        cuts.insert(LimitHit::Cancelled);
    } else if budget.is_expired() {
        cuts.insert(LimitHit::Time);
    }
    cuts
}

/// The frameworks and entry points of each project, until the budget is used up.
fn detect_frameworks_and_entry_points(
    sources: &SourceCache<'_>,
    files: &[Vec<&FileRecord>],
) -> (Vec<Vec<Framework>>, Vec<Vec<EntryPoint>>) {
    let one = |(at, own): (usize, &Vec<&FileRecord>)| {
        if sources.is_out_of_budget() {
            return (Vec::new(), Vec::new());
        }
        let project = sources.projects.all.get(at);
        let found = framework_detection::detect_project_frameworks(sources, project, own);
        let entries = entry_points::detect_entry_points(sources, project, own, &candidate_frameworks(&found));
        (found, entries)
    };
    files.iter().enumerate().map(one).unzip()
}

/// The files of each project; the last group contains files without a project.
fn group_files_by_project<'s>(
    inventory: &'s FileInventory,
    projects: &ProjectSet,
) -> Vec<Vec<&'s FileRecord>> {
    let mut files: Vec<Vec<&FileRecord>> = vec![Vec::new(); projects.all.len() + 1];
    let mut last: Option<(&str, usize)> = None;
    for file in &inventory.files {
        let folder = crate::manifest::parent_folder(&file.path);
        let at = match last {
            // Files are sorted, so the next one is usually in the same folder.
            Some((known, at)) if known == folder => at,
            _ => projects.innermost_project(&file.path).unwrap_or(projects.all.len()),
        };
        last = Some((folder, at));
        files[at].push(file);
    }
    files
}

fn candidate_frameworks(found: &[Framework]) -> Vec<Framework> {
    found.iter().filter(|one| one.confidence >= MIN_CANDIDATE_CONFIDENCE).cloned().collect()
}

fn merge_frameworks(found: &[Vec<Framework>]) -> Vec<Framework> {
    let only =
        |found: &Vec<Framework>| found.iter().filter(|one| one.role != LibraryRole::Model).cloned().collect();
    framework_detection::merge_project_frameworks(&found.iter().map(only).collect::<Vec<_>>())
}

fn count_languages<'f>(files: impl Iterator<Item = &'f FileRecord>) -> Vec<LanguageShare> {
    let mut shares: BTreeMap<Language, (u64, u64)> = BTreeMap::new();
    for file in files {
        if let Some(language) = file.language.filter(|language| language.is_programming()) {
            let share = shares.entry(language).or_default();
            share.0 += 1;
            share.1 += u64::from(file.lines.unwrap_or(0));
        }
    }
    let share = |(language, (files, lines))| LanguageShare { language, files, lines };
    let mut shares: Vec<_> = shares.into_iter().map(share).collect();
    shares.sort_by_key(|share| std::cmp::Reverse((share.lines, share.files)));
    shares
}

fn collect_managers(projects: &ProjectSet) -> Vec<(PackageManager, Evidence)> {
    let mut found: Vec<(PackageManager, Evidence)> = Vec::new();
    for (manager, evidence) in projects.all.iter().flat_map(|project| &project.managers) {
        if found.iter().all(|(known, _)| known != manager) {
            found.push((*manager, evidence.clone()));
        }
    }
    found
}

/// Entry points of the product first, then those of examples and tests.
fn merge_entry_points(entries: &[Vec<EntryPoint>]) -> Vec<EntryPoint> {
    let mut all: Vec<EntryPoint> = entries.iter().flatten().cloned().collect();
    all.sort_by_cached_key(|point| {
        (path_role::is_example_or_test(&point.path), point.kind, point.path.clone())
    });
    let mut seen = BTreeSet::new();
    all.retain(|point| seen.insert(point.path.clone()));
    all
}

fn project_profiles(
    projects: &ProjectSet,
    files: &[Vec<&FileRecord>],
    found: &[Vec<Framework>],
    entries: &[Vec<EntryPoint>],
) -> Vec<ProjectProfile> {
    let profile = |(at, project): (usize, &crate::project::DetectedProject)| ProjectProfile {
        folder: project.folder.clone(),
        name: project.name().map(str::to_owned),
        languages: count_languages(files[at].iter().copied())
            .into_iter()
            .map(|share| share.language)
            .collect(),
        managers: project.managers.iter().map(|(manager, _)| *manager).collect(),
        frameworks: candidate_frameworks(&found[at])
            .iter()
            .filter(|one| one.role != LibraryRole::Model)
            .map(|one| one.name)
            .collect(),
        entry_points: entries[at].iter().map(|point| point.path.clone()).collect(),
        is_example_or_test: path_role::is_example_or_test(&format!("{}/x", project.folder)),
    };
    projects.all.iter().enumerate().map(profile).collect()
}

/// The first import of a library for agents or models in each file that has one.
fn model_imports(sources: &SourceCache<'_>) -> Vec<Evidence> {
    const MAX_IMPORTS: usize = 200;
    let of_file = |(path, seen): (&str, &AnalyzedFile)| {
        let found = seen.imports.iter().find(|import| RULES[import.rule].role != LibraryRole::Web)?;
        Some(Evidence::new(path, found.line, format!("imports {}", RULES[found.rule].title)))
    };
    let own = sources.all().filter(|(path, _)| !path_role::is_example_or_test(path));
    own.filter_map(of_file).take(MAX_IMPORTS).collect()
}

fn assess_risks(profile: &Profile, projects: &ProjectSet) -> Vec<Risk> {
    let mut risks = Vec::new();
    match profile.entry_points.len() {
        0 => risks.push(Risk::MissingEntrypoint),
        1 => {}
        _ => risks.push(Risk::MultipleEntrypoints),
    }
    let mut kinds = BTreeSet::new();
    let twice = profile.managers.iter().any(|(manager, _)| !kinds.insert(manager.ecosystem()));
    if twice || !projects.conflicting_managers.is_empty() {
        risks.push(Risk::MixedPackageManagers);
    }
    if profile.stats.lines > LARGE_REPOSITORY_LINES {
        risks.push(Risk::LargeRepository);
    }
    risks
}
