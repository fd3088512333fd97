//! Small repositories as texts, each with what must be found in it.
//!
//! The head of a fixture says what is expected (`# frameworks: fastapi`), `=== path` begins a file.

#![expect(clippy::unwrap_used, reason = "a test that fails should stop")]
#![expect(clippy::disallowed_methods, reason = "tests prepare the folders that they analyse")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use codebase::{Profile, Reading, Request, analyze};
use tree::{Budget, Tree};

#[test]
fn every_fixture_is_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut fixtures: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    fixtures.sort();
    assert!(fixtures.len() > 50);
    let mut wrong = String::new();
    for path in fixtures {
        let text = fs::read_to_string(&path).unwrap();
        for problem in check(&text) {
            writeln!(wrong, "{}: {problem}", path.file_name().unwrap().display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// A rule without a fixture is a rule that nobody has tried.
#[test]
fn every_framework_has_a_fixture() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let texts = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let expected: BTreeSet<String> =
        texts.flat_map(|text| names(&text, "frameworks").collect::<Vec<_>>()).collect();
    let missing: Vec<_> = codebase::rules::NAMES.iter().filter(|name| !expected.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// What differs from the head of a fixture.
fn check(fixture: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    unpack(fixture, folder.path());
    let tree = Tree::open(folder.path()).unwrap();
    let request = Request::new(&tree, Reading::Contents);
    let profile = analyze(&request, &Budget::unlimited()).unwrap();
    let candidates = profile.frameworks.iter().filter(|found| found.confidence >= 0.5);
    let mut problems = Vec::new();
    let mut sets = |name: &str, found: BTreeSet<String>| {
        let expected: BTreeSet<String> = names(fixture, name).collect();
        if head(fixture, name).next().is_some() && found != expected {
            problems.push(format!("{name} {found:?}, expected {expected:?}"));
        }
    };
    sets("frameworks", candidates.map(|found| found.name.to_owned()).collect());
    sets("managers", profile.managers.iter().map(|(manager, _)| manager.name().to_owned()).collect());
    sets("entries", profile.entry_points.iter().map(|point| point.path.clone()).collect());
    sets("risks", profile.risks.iter().map(|risk| risk.name().to_owned()).collect());
    problems.extend(lines(fixture, &profile));
    problems.extend(false_evidence(fixture, &profile));
    problems
}

/// Expectations of which there may be several: versions, agents, routes.
fn lines(fixture: &str, profile: &Profile) -> Vec<String> {
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
    let missing = |(name, found): (&str, Vec<String>)| {
        let lost = head(fixture, name).filter(|expected| !expected.is_empty() && !found.contains(expected));
        lost.map(|expected| format!("{name} `{expected}` is missing in {found:?}")).collect::<Vec<_>>()
    };
    found.into_iter().flat_map(missing).collect()
}

/// Evidence has to stand where it says: the file exists and has that line, and an anchor's pattern matches there.
fn false_evidence(fixture: &str, profile: &Profile) -> Vec<String> {
    let text_of = |path: &str| {
        let files = fixture.split("\n=== ").skip(1).filter_map(|file| file.split_once('\n'));
        files.filter(|(name, _)| *name == path).map(|(_, text)| text.to_owned()).next()
    };
    let frameworks = profile.frameworks.iter().flat_map(|framework| &framework.evidence);
    let others = profile.managers.iter().map(|(_, evidence)| evidence);
    let entries = profile.entry_points.iter().map(|point| &point.evidence);
    let mut wrong = Vec::new();
    for evidence in frameworks.chain(others).chain(entries) {
        let lines = text_of(&evidence.path).map_or(0, |text| text.lines().count().max(1));
        if lines == 0 || evidence.line as usize > lines {
            wrong.push(format!("there is no {}:{} ({})", evidence.path, evidence.line, evidence.fact));
        }
    }
    for anchor in profile.frameworks.iter().flat_map(|framework| &framework.anchors) {
        let text = text_of(&anchor.path).unwrap_or_default();
        if !regex::Regex::new(&anchor.pattern).unwrap().is_match(&text) {
            wrong.push(format!("`{}` does not match in {}", anchor.pattern, anchor.path));
        }
    }
    wrong
}

fn unpack(fixture: &str, folder: &Path) {
    for file in fixture.split("\n=== ").skip(1) {
        let (name, content) = file.split_once('\n').unwrap_or((file, ""));
        let path = folder.join(name.trim());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{content}\n")).unwrap();
    }
}

/// The lines of the head that begin with this name.
fn head<'f>(fixture: &'f str, name: &'f str) -> impl Iterator<Item = String> + 'f {
    let lines = fixture.lines().take_while(|line| line.starts_with('#'));
    lines.filter_map(move |line| {
        Some(line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned())
    })
}

fn names<'f>(fixture: &'f str, name: &'f str) -> impl Iterator<Item = String> + 'f {
    let split = |line: String| line.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>();
    head(fixture, name).flat_map(split).filter(|name| !name.is_empty())
}
