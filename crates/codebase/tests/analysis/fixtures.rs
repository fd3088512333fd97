//! Small repositories as text files, each with the expected findings.
//!
//! The header of a fixture lists the expectations (`# frameworks: fastapi`), `=== path` begins a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use codebase::{AnalysisRequest, MIN_CANDIDATE_CONFIDENCE, Profile, ScanDepth, analyze};
use tree::WorkBudget;

use crate::write_repository;

/// The keys of a header, besides the description on its first line.
const HEADER_KEYS: &[&str] = &["frameworks", "managers", "entries", "risks", "version", "agents", "routes"];

#[test]
fn every_fixture_matches_its_header() {
    let mut wrong = String::new();
    for (name, text) in read_fixtures() {
        for problem in check_fixture(&text) {
            writeln!(wrong, "{name}: {problem}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Every rule must have a fixture.
#[test]
fn every_framework_has_a_fixture_in_every_language() {
    let mut tried = BTreeSet::new();
    for (_, fixture) in read_fixtures() {
        let (_folder, tree) = write_repository(&fixture);
        let profile =
            analyze(&AnalysisRequest::new(&tree, ScanDepth::Contents), &WorkBudget::unlimited()).unwrap();
        tried.extend(profile.frameworks.iter().map(|found| (found.name, found.ecosystem)));
    }
    let rules = codebase::rules::RULES.iter().filter(|rule| rule.is_framework());
    let missing: Vec<_> =
        rules.map(|rule| (rule.name, rule.ecosystem)).filter(|rule| !tried.contains(rule)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A scan of names only finds the same frameworks and managers.
#[test]
fn detection_agrees_with_analysis() {
    let mut wrong = Vec::new();
    for (name, fixture) in read_fixtures() {
        let (_folder, tree) = write_repository(&fixture);
        let found_by = |reading| {
            let profile = analyze(&AnalysisRequest::new(&tree, reading), &WorkBudget::unlimited()).unwrap();
            let candidates =
                profile.frameworks.iter().filter(|found| found.confidence >= MIN_CANDIDATE_CONFIDENCE);
            let names: BTreeSet<_> = candidates.map(|found| found.name).collect();
            (names, profile.managers.iter().map(|(manager, _)| *manager).collect::<Vec<_>>())
        };
        if found_by(ScanDepth::Names) != found_by(ScanDepth::Contents) {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The fixtures with their file names. An empty folder would let every test pass, so a minimum is required.
fn read_fixtures() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    let texts: BTreeMap<_, _> = fs::read_dir(folder).unwrap().map(|entry| text(entry.unwrap())).collect();
    assert!(texts.len() > 90, "only {} fixtures", texts.len());
    texts
}

/// The differences from the header of a fixture. An absent key means that nothing of that kind is expected.
fn check_fixture(fixture: &str) -> Vec<String> {
    let (_folder, tree) = write_repository(fixture);
    let profile =
        analyze(&AnalysisRequest::new(&tree, ScanDepth::Contents), &WorkBudget::unlimited()).unwrap();
    let candidates = profile.frameworks.iter().filter(|found| found.confidence >= MIN_CANDIDATE_CONFIDENCE);
    let mut problems: Vec<String> = unknown_headers(fixture).collect();
    let mut sets = |name: &str, found: BTreeSet<String>| {
        let expected: BTreeSet<String> = header_items(fixture, name).collect();
        if found != expected {
            problems.push(format!("{name} {found:?}, expected {expected:?}"));
        }
    };
    sets("frameworks", candidates.map(|found| found.name.to_owned()).collect());
    sets("managers", profile.managers.iter().map(|(manager, _)| manager.name().to_owned()).collect());
    sets("entries", profile.entry_points.iter().map(|point| point.path.clone()).collect());
    sets("risks", profile.risks.iter().map(|risk| risk.name().to_owned()).collect());
    problems.extend(compare_with_header(fixture, &profile));
    problems.extend(find_false_evidence(fixture, &profile));
    problems
}

/// Repeatable expectations: versions, agents, routes. A duplicate finding is an error.
fn compare_with_header(fixture: &str, profile: &Profile) -> Vec<String> {
    let versions =
        profile.frameworks.iter().filter_map(|f| Some(format!("{} {}", f.name, f.version.as_ref()?)));
    let agents = profile.agents.iter().map(|agent| format!("{} {}", agent.path, agent.name));
    let routes = profile.routes.iter().map(|route| {
        let (request, response) = (route.request.join(", "), route.response.join(", "));
        format!("{} {} {} [{request}] [{response}]", route.method, route.path, route.agent)
    });
    let found = [
        ("version", versions.collect::<Vec<_>>()),
        ("agents", agents.collect()),
        ("routes", routes.collect()),
    ];
    let differs = |(name, mut found): (&str, Vec<String>)| {
        let mut expected: Vec<String> = header_lines(fixture, name).collect();
        expected.sort();
        found.sort();
        (found != expected).then(|| format!("{name} {found:?}, expected {expected:?}"))
    };
    found.into_iter().filter_map(differs).collect()
}

/// Rejects misspelt keys, which would otherwise expect nothing.
fn unknown_headers(fixture: &str) -> impl Iterator<Item = String> {
    let lines = fixture.lines().take_while(|line| line.starts_with('#')).skip(1);
    let is_known = |line: &str| {
        let name = line.strip_prefix("# ").and_then(|line| line.split_once(':'));
        name.is_some_and(|(name, _)| HEADER_KEYS.contains(&name))
    };
    lines.filter(move |line| !is_known(line)).map(|line| format!("`{line}` is no head"))
}

/// Evidence must be accurate: the file exists and has that line, and an anchor's pattern matches there.
fn find_false_evidence(fixture: &str, profile: &Profile) -> Vec<String> {
    let text_of = |path: &str| {
        let files = fixture.split("\n=== ").skip(1).filter_map(|file| file.split_once('\n'));
        files.filter(|(name, _)| *name == path).map(|(_, text)| text.to_owned()).next()
    };
    let frameworks = profile.frameworks.iter().flat_map(|framework| &framework.evidence);
    let others = profile.managers.iter().map(|(_, evidence)| evidence);
    let entries = profile.entry_points.iter().map(|point| &point.evidence);
    let entries = entries.chain(profile.agents.iter().map(|agent| &agent.evidence));
    let mut wrong = Vec::new();
    for evidence in frameworks.chain(others).chain(entries) {
        let lines = text_of(&evidence.path).map_or(0, |text| text.lines().count().max(1));
        if lines == 0 || evidence.line as usize > lines {
            wrong.push(format!("there is no {}:{} ({})", evidence.path, evidence.line, evidence.fact));
        }
    }
    for anchor in profile.frameworks.iter().flat_map(|framework| &framework.anchors) {
        let pattern = regex::Regex::new(&anchor.pattern).unwrap();
        if !text_of(&anchor.path).is_some_and(|text| pattern.is_match(&text)) {
            wrong.push(format!("`{}` does not match in {}", anchor.pattern, anchor.path));
        }
    }
    // The line of an agent contains its name; a handler may have no name.
    let agents = profile.agents.iter().map(|agent| (&agent.path, agent.line, &agent.name));
    let parts = profile.agents.iter().flat_map(|agent| &agent.functions);
    let parts = parts.map(|part| (&part.path, part.line, &part.name));
    let handlers = profile.routes.iter().map(|route| (&route.file, route.line, &route.handler));
    for (path, line, name) in agents.chain(parts).chain(handlers) {
        let own = name.rsplit('.').next().unwrap_or(name);
        let text = text_of(path)
            .and_then(|text| Some(text.lines().nth((line as usize).checked_sub(1)?)?.to_owned()));
        if !text.is_some_and(|text| text.contains(own)) {
            wrong.push(format!("{name} does not stand at {path}:{line}"));
        }
    }
    wrong
}

/// The lines of the head that begin with this name.
fn header_lines<'f>(fixture: &'f str, name: &'f str) -> impl Iterator<Item = String> + 'f {
    let lines = fixture.lines().take_while(|line| line.starts_with('#'));
    lines.filter_map(move |line| {
        Some(line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned())
    })
}

fn header_items<'f>(fixture: &'f str, name: &'f str) -> impl Iterator<Item = String> + 'f {
    let split = |line: String| line.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>();
    header_lines(fixture, name).flat_map(split).filter(|name| !name.is_empty())
}
