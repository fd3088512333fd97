//! The whole analysis, from a folder to a profile.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use tree::{Budget, Cut, Globs, Limits, Tree};

use crate::agents;
use crate::entry;
use crate::findings::{self, CANDIDATE};
use crate::language::Language;
use crate::look::Looks;
use crate::manager::Manager;
use crate::place;
use crate::profile::{EntryPoint, Evidence, Framework, LanguageShare, Profile, ProjectProfile, Risk, Stats};
use crate::project::Projects;
use crate::rules::Role;
use crate::source;
use crate::survey::{FileFact, Reading, Survey};

/// What is to be analysed, and how.
pub struct Request<'a> {
    /// The folder.
    pub tree: &'a Tree,
    /// Which source files count. A project counts if one of its own files does.
    pub globs: Globs,
    /// Whether source files are read, or only what is needed to find frameworks.
    pub reading: Reading,
    /// Where to stop.
    pub limits: Limits,
    /// Files that are worth a look, if they are there.
    pub hints: Vec<String>,
}

impl<'a> Request<'a> {
    /// The whole tree, with the usual limits.
    pub fn new(tree: &'a Tree, reading: Reading) -> Self {
        Self { tree, globs: Globs::default(), reading, limits: Limits::default(), hints: Vec::new() }
    }
}

/// Lines from which a repository is large.
const LARGE: u64 = 100_000;

/// Analyses a tree. Parsers need a large stack, so the work is done on a thread that has one; that it cannot be had is
/// the only error.
pub fn analyze(request: &Request<'_>, budget: &Budget) -> io::Result<Profile> {
    source::with_stack(|| run(request, budget))
}

fn run(request: &Request<'_>, budget: &Budget) -> Profile {
    let survey = Survey::of(request.tree, request.reading, &request.globs, request.limits, budget);
    // In a small tree it is all over before anybody could read this.
    let tell = |step: u64, what: &str| {
        if survey.seen >= 1024 {
            budget.tell(survey.seen + step, what);
        }
    };
    tell(1, "reading manifests");
    let mut projects = Projects::find(request.tree, &survey, budget);
    if !request.globs.match_all() {
        let counts = |own: &Vec<&FileFact>| own.iter().any(|file| file.language.is_some());
        let counted: Vec<bool> = assign(&survey, &projects).iter().map(counts).collect();
        projects.keep(&counted);
    }
    let files = assign(&survey, &projects);
    tell(2, "looking at code");
    let mut looks = Looks::new(request.tree, &survey, &projects, budget);
    let mut chosen = findings::candidates(&looks, &files);
    chosen.extend(files.iter().flat_map(|own| entry::candidates(own)));
    chosen.extend(request.hints.iter().map(String::as_str).filter(|path| survey.has(path)));
    looks.at(chosen);
    let (found, entries) = conclude(&looks, &files);
    let with_models: Vec<bool> =
        found.iter().map(|found| found.iter().any(|one| one.role != Role::Web)).collect();
    let (agents, routes) = if request.reading == Reading::Contents && with_models.contains(&true) {
        tell(3, "following calls to agents");
        agents::find(&mut looks, &files, &entries, &with_models)
    } else {
        (Vec::new(), Vec::new())
    };
    let skipped = looks.skipped();
    let mut profile = Profile {
        languages: languages(survey.files.iter()),
        managers: managers(&projects),
        entry_points: all_entries(&entries),
        frameworks: frameworks(&found),
        agents,
        routes,
        projects: profiles(&projects, &files, &found, &entries),
        risks: Vec::new(),
        stats: Stats {
            files: survey.seen,
            lines: survey.files.iter().filter_map(|file| file.lines).map(u64::from).sum(),
            directories: survey.directories,
        },
        broken: projects.broken.clone(),
        skipped_in_all: survey.skipped_in_all + (skipped.len() - survey.skipped.len()) as u64,
        skipped,
        cuts: cuts(&survey, budget),
        left_out: looks.left_out,
        texts: looks.texts,
    };
    if projects.is_cut {
        profile.left_out.insert("there are more manifests than are read".to_owned());
    }
    profile.risks = risks(&profile, &projects);
    profile
}

/// The limits that were met by the scan, and by what came after it.
fn cuts(survey: &Survey, budget: &Budget) -> BTreeSet<Cut> {
    let mut cuts = survey.cuts.clone();
    if budget.is_stopped() {
        cuts.insert(Cut::Stopped);
    } else if budget.is_over() {
        cuts.insert(Cut::Time);
    }
    cuts
}

/// The frameworks and entry points of each project, as far as there is time.
fn conclude(looks: &Looks<'_>, files: &[Vec<&FileFact>]) -> (Vec<Vec<Framework>>, Vec<Vec<EntryPoint>>) {
    let one = |(at, own): (usize, &Vec<&FileFact>)| {
        if looks.is_over() {
            return (Vec::new(), Vec::new());
        }
        let project = looks.projects.all.get(at);
        let found = findings::of_project(looks, project, own);
        let entries = entry::of_project(looks, project, own, &sure(&found));
        (found, entries)
    };
    files.iter().enumerate().map(one).unzip()
}

/// The files of each project; those of none come last.
fn assign<'s>(survey: &'s Survey, projects: &Projects) -> Vec<Vec<&'s FileFact>> {
    let mut files: Vec<Vec<&FileFact>> = vec![Vec::new(); projects.all.len() + 1];
    let mut last: Option<(&str, usize)> = None;
    for file in &survey.files {
        let folder = crate::manifest::folder_of(&file.path);
        let at = match last {
            // Files are sorted, so the next one is mostly in the same folder.
            Some((known, at)) if known == folder => at,
            _ => projects.of(&file.path).unwrap_or(projects.all.len()),
        };
        last = Some((folder, at));
        files[at].push(file);
    }
    files
}

fn sure(found: &[Framework]) -> Vec<Framework> {
    found.iter().filter(|one| one.confidence >= CANDIDATE).cloned().collect()
}

fn frameworks(found: &[Vec<Framework>]) -> Vec<Framework> {
    let only = |found: &Vec<Framework>| found.iter().filter(|one| one.role != Role::Model).cloned().collect();
    findings::of_tree(&found.iter().map(only).collect::<Vec<_>>())
}

fn languages<'f>(files: impl Iterator<Item = &'f FileFact>) -> Vec<LanguageShare> {
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

fn managers(projects: &Projects) -> Vec<(Manager, Evidence)> {
    let mut found: Vec<(Manager, Evidence)> = Vec::new();
    for (manager, evidence) in projects.all.iter().flat_map(|project| &project.managers) {
        if found.iter().all(|(known, _)| known != manager) {
            found.push((*manager, evidence.clone()));
        }
    }
    found
}

/// Those of the product first, then those beside it.
fn all_entries(entries: &[Vec<EntryPoint>]) -> Vec<EntryPoint> {
    let mut all: Vec<EntryPoint> = entries.iter().flatten().cloned().collect();
    all.sort_by_cached_key(|point| (place::is_aside(&point.path), point.kind, point.path.clone()));
    let mut seen = BTreeSet::new();
    all.retain(|point| seen.insert(point.path.clone()));
    all
}

fn profiles(
    projects: &Projects,
    files: &[Vec<&FileFact>],
    found: &[Vec<Framework>],
    entries: &[Vec<EntryPoint>],
) -> Vec<ProjectProfile> {
    let profile = |(at, project): (usize, &crate::project::Project)| ProjectProfile {
        folder: project.folder.clone(),
        name: project.name().map(str::to_owned),
        languages: languages(files[at].iter().copied()).into_iter().map(|share| share.language).collect(),
        managers: project.managers.iter().map(|(manager, _)| *manager).collect(),
        frameworks: sure(&found[at])
            .iter()
            .filter(|one| one.role != Role::Model)
            .map(|one| one.name)
            .collect(),
        entry_points: entries[at].iter().map(|point| point.path.clone()).collect(),
        is_aside: place::is_aside(&format!("{}/x", project.folder)),
    };
    projects.all.iter().enumerate().map(profile).collect()
}

fn risks(profile: &Profile, projects: &Projects) -> Vec<Risk> {
    let mut risks = Vec::new();
    match profile.entry_points.len() {
        0 => risks.push(Risk::MissingEntrypoint),
        1 => {}
        _ => risks.push(Risk::MultipleEntrypoints),
    }
    let mut kinds = BTreeSet::new();
    let twice = profile.managers.iter().any(|(manager, _)| !kinds.insert(manager.ecosystem()));
    if twice || !projects.contradictions.is_empty() {
        risks.push(Risk::MixedPackageManagers);
    }
    if profile.stats.lines > LARGE {
        risks.push(Risk::LargeRepository);
    }
    risks
}
