//! Recipes at work: every `repositories/*.txt` is a small repository, its snapshot the plan for it.
//!
//! The first line names what is asked for (`framework=… cli=… variant=… package=… agent=… request_field=…`), `=== path`
//! begins a file.

#![expect(clippy::unwrap_used, reason = "a test that fails should stop")]
#![expect(clippy::disallowed_methods, reason = "tests prepare folders")]

mod feasibility;

use std::fmt::Write;
use std::path::Path;

use codebase::plan::{self, Resolution};
use codebase::{AnalysisRequest, Profile, ScanDepth, analyze};
use fluxloop::{
    GuideInput, Integration, IntegrationOptions, RECIPES, Recipe, ReleaseLine, SummaryKind, Variant,
    build_guide, find_recipe, integrate,
};
use tempfile::TempDir;
use tree::{Tree, WorkBudget};

/// Writes a repository into a folder of its own.
fn unpack(text: &str) -> (TempDir, Tree, Profile) {
    let folder = tempfile::tempdir().unwrap();
    for file in text.split("\n=== ").skip(1) {
        let (name, content) = file.split_once('\n').unwrap_or((file, ""));
        let path = folder.path().join(name.trim());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{}\n", content.trim_end_matches('\n'))).unwrap();
    }
    let tree = Tree::open(folder.path()).unwrap();
    let profile =
        analyze(&AnalysisRequest::new(&tree, ScanDepth::Contents), &WorkBudget::unlimited()).unwrap();
    (folder, tree, profile)
}

fn parse_variant(name: &str) -> Option<Variant> {
    match name {
        "sdk" => Some(Variant::Sdk),
        "bridge" => Some(Variant::Bridge),
        _ => None,
    }
}

fn parse_options(head: &str) -> (&'static Recipe, IntegrationOptions) {
    let value = |name: &str| {
        let found = head.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.map(|text| text.replace('+', " "))
    };
    let options = IntegrationOptions {
        package: value("package"),
        variant: value("variant").as_deref().and_then(parse_variant),
        release_line: value("cli").as_deref().and_then(ReleaseLine::from_name),
        agent: value("agent"),
        request_field: value("request_field"),
    };
    (find_recipe(&value("framework").unwrap()).unwrap(), options)
}

fn resolve_plan(tree: &Tree, integration: &Integration) -> Resolution {
    plan::resolve_edits(tree, integration.edits().to_vec(), &[], &WorkBudget::unlimited()).unwrap()
}

/// Everything that a reader of the plan sees.
fn render_plan(integration: &Integration, resolution: &Resolution) -> String {
    let mut text = format!(
        "{}\n",
        integration.summary(match integration.refusal() {
            Some(_) => SummaryKind::Refused,
            None => SummaryKind::Planned,
        })
    );
    writeln!(
        text,
        "{} ({}), FluxLoop {} ({})",
        integration.variant.name(),
        integration.why_variant,
        integration.release_line.name(),
        integration.why_release_line
    )
    .unwrap();
    for (title, lines) in [
        ("needed", &integration.facts.prerequisites),
        ("note", &integration.facts.notes),
        ("warning", &integration.facts.warnings),
        ("check", &integration.facts.post_checks),
    ] {
        for line in lines {
            writeln!(text, "{title}: {line}").unwrap();
        }
    }
    for finding in &resolution.findings {
        writeln!(text, "finding: {}", finding.sentence()).unwrap();
    }
    for file in &resolution.files {
        writeln!(text, "\n{}", fold_templates(file.change.diff.trim_end())).unwrap();
    }
    text
}

/// Leaves out what every target file has alike: `tests/plans/answers.py` runs it.
fn fold_templates(diff: &str) -> String {
    const SHARED: &[&str] = &[
        include_str!("../../src/templates/answer.py"),
        include_str!("../../src/templates/text.py"),
        include_str!("../../src/templates/bridge.mjs"),
    ];
    let is_shared = |line: &&str| {
        let line = line.strip_prefix('+').unwrap_or("-");
        line.is_empty() || SHARED.iter().any(|template| template.lines().any(|one| one == line))
    };
    let lines: Vec<&str> = diff.lines().collect();
    let folded = lines.chunk_by(|one, next| is_shared(one) == is_shared(next)).flat_map(|run| {
        let is_long = run.len() > 6 && run.iter().all(is_shared);
        if is_long { vec!["+…"] } else { run.to_vec() }
    });
    // The number of lines of a new file would be that of what is left out.
    let is_new_file = |line: &str| line.starts_with("@@ -0,0 ");
    let shown = |line: &str| if is_new_file(line) { "@@ new @@".to_owned() } else { line.to_owned() };
    folded.map(shown).collect::<Vec<_>>().join("\n")
}

#[test]
fn recipes() {
    insta::glob!("repositories/*.txt", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let head = text.lines().next().unwrap().trim_start_matches("# ");
        let (_folder, tree, profile) = unpack(&text);
        let (recipe, options) = parse_options(head);
        let integration = integrate(&tree, &profile, recipe, &options).unwrap();
        let resolution = resolve_plan(&tree, &integration);
        assert!(resolution.is_clean(), "{path:?}: {:#?}", resolution.findings);
        assert_eq!(integration.refusal().is_some(), resolution.files.is_empty(), "{path:?}");
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(render_plan(&integration, &resolution));
        });
    });
}

/// Over every repository that the analysis is tested with: a plan can be placed, or there is none and a reason.
#[test]
fn every_plan_resolves_cleanly_and_idempotently() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codebase/tests/fixtures");
    let (mut plans, mut refusals) = (0, 0);
    for entry in std::fs::read_dir(fixtures).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let (_folder, tree, profile) = unpack(&text);
        let fits = |name: &str| name == "python" || profile.frameworks.iter().any(|one| one.name == name);
        for recipe in RECIPES.iter().filter(|recipe| fits(recipe.name)) {
            for (line, wanted) in ReleaseLine::ALL
                .into_iter()
                .flat_map(|line| [(line, None), (line, Some(Variant::Bridge)), (line, Some(Variant::Sdk))])
            {
                let options = IntegrationOptions {
                    variant: wanted,
                    release_line: Some(line),
                    ..IntegrationOptions::default()
                };
                let integration = integrate(&tree, &profile, recipe, &options).unwrap();
                let first = resolve_plan(&tree, &integration);
                assert!(first.is_clean(), "{path:?} {} {}: {:#?}", recipe.name, line.name(), first.findings);
                assert_eq!(
                    integration.refusal().is_none(),
                    !integration.edits().is_empty(),
                    "{path:?} {}",
                    recipe.name
                );
                let exact =
                    plan::resolve_edits(&tree, first.edits.clone(), &[], &WorkBudget::unlimited()).unwrap();
                assert_eq!(exact.files, first.files, "{path:?} {}", recipe.name);
                assert_eq!(build_guide(&GuideInput::from_integration(&integration)).steps.len(), 4);
                if integration.refusal().is_none() { plans += 1 } else { refusals += 1 }
            }
        }
    }
    assert!(plans > 100 && refusals > 100, "{plans} plans, {refusals} refusals");
}
