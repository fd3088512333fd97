//! Small repositories as texts, each with what must be found in it.
//!
//! The head of a fixture says what is expected (`# frameworks: fastapi`), `=== path` begins a file.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use codebase::{CANDIDATE, Profile, Reading, Request, analyze};
use tree::Budget;

use crate::unpack;

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
fn every_framework_has_a_fixture_in_every_language() {
    let mut tried = BTreeSet::new();
    for fixture in texts() {
        let (_folder, tree) = unpack(&fixture);
        let profile = analyze(&Request::new(&tree, Reading::Contents), &Budget::unlimited()).unwrap();
        tried.extend(profile.frameworks.iter().map(|found| (found.name, found.ecosystem)));
    }
    let rules = codebase::rules::RULES.iter().filter(|rule| rule.is_framework());
    let missing: Vec<_> =
        rules.map(|rule| (rule.name, rule.ecosystem)).filter(|rule| !tried.contains(rule)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Reading names alone finds the same frameworks and managers.
#[test]
fn detection_agrees_with_analysis() {
    let mut wrong = Vec::new();
    for fixture in texts() {
        let (_folder, tree) = unpack(&fixture);
        let of = |reading| {
            let profile = analyze(&Request::new(&tree, reading), &Budget::unlimited()).unwrap();
            let candidates = profile.frameworks.iter().filter(|found| found.confidence >= CANDIDATE);
            let names: BTreeSet<_> = candidates.map(|found| found.name).collect();
            (names, profile.managers.iter().map(|(manager, _)| *manager).collect::<Vec<_>>())
        };
        if of(Reading::Names) != of(Reading::Contents) {
            wrong.push(fixture.lines().next().unwrap_or_default().to_owned());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn texts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

/// What differs from the head of a fixture.
fn check(fixture: &str) -> Vec<String> {
    let (_folder, tree) = unpack(fixture);
    let profile = analyze(&Request::new(&tree, Reading::Contents), &Budget::unlimited()).unwrap();
    let candidates = profile.frameworks.iter().filter(|found| found.confidence >= CANDIDATE);
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
        ("version", versions.collect::<BTreeSet<_>>()),
        ("agents", agents.collect()),
        ("routes", routes.collect()),
    ];
    let differs = |(name, found): (&str, BTreeSet<String>)| {
        let expected: BTreeSet<String> =
            head(fixture, name).filter(|expected| !expected.is_empty()).collect();
        // Versions of frameworks that a fixture is not about may be found as well; agents and routes may not.
        let fits = if name == "version" {
            expected.is_subset(&found)
        } else {
            expected.is_empty() || expected == found
        };
        (!fits).then(|| format!("{name} {found:?}, expected {expected:?}"))
    };
    found.into_iter().filter_map(differs).collect()
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
    let entries = entries.chain(profile.agents.iter().map(|agent| &agent.why));
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
