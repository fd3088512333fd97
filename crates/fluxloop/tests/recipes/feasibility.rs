//! What is offered to somebody who has to choose, for every repository of the recipes.

use std::fmt::Write;

use fluxloop::{AgentCandidate, FeasibleIntegration, IntegrationOptions, find_feasible_integrations};
use tree::WorkBudget;

use crate::unpack;

fn render_integration(candidate: &FeasibleIntegration) -> String {
    let package = if candidate.package.is_empty() { "." } else { &candidate.package };
    let variants: Vec<&str> = candidate.variants.iter().map(|variant| variant.name()).collect();
    let (name, target, variants) = (candidate.recipe.name, &candidate.target, variants.join(", "));
    let mut text = format!("  {package} {name}: {target}, by {variants}\n");
    for AgentCandidate { value, line, why, is_default: is_usual, field, .. } in &candidate.agents {
        let mark = if *is_usual { "*" } else { " " };
        writeln!(text, "    {mark} {value} (line {line}, {why})").unwrap();
        if let Some(field) = field {
            writeln!(text, "      field: {:?}, since {}", field.known_fields, field.why).unwrap();
        }
    }
    text
}

#[test]
fn all_feasible_integrations_match_snapshot() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/repositories");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = String::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (_folder, tree, profile) = unpack(&text);
        let found = find_feasible_integrations(
            &tree,
            &profile,
            None,
            &IntegrationOptions::default(),
            &WorkBudget::unlimited(),
        )
        .unwrap();
        writeln!(all, "{}", path.file_stem().unwrap().to_str().unwrap()).unwrap();
        all.extend(found.integrations.iter().map(render_integration));
        for reason in found.reasons.iter().filter(|_| found.integrations.is_empty()) {
            writeln!(all, "  no: {reason}").unwrap();
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("prospects", all);
    });
}

#[test]
fn feasible_integrations_respect_options() {
    let (_folder, tree, profile) = unpack(include_str!("repositories/monorepo.txt"));
    let ways = |options: IntegrationOptions| {
        let found = find_feasible_integrations(&tree, &profile, None, &options, &WorkBudget::unlimited());
        found.map(|found| found.integrations.iter().map(|one| one.package.clone()).collect::<Vec<_>>())
    };
    let package =
        |name: &str| IntegrationOptions { package: Some(name.to_owned()), ..IntegrationOptions::default() };
    assert_eq!(ways(IntegrationOptions::default()), Ok(vec!["services/chat".to_owned()]));
    assert_eq!(ways(package("chat-service")), Ok(vec!["services/chat".to_owned()]));
    assert_eq!(ways(package("services/mail/")), Ok(vec![]));
    assert_eq!(ways(package("web")), Ok(vec![]));
    assert!(ways(package("mail-service")).is_err_and(|error| error.to_string().contains("., services/chat")));
    let agent = IntegrationOptions {
        agent: Some("services/chat/chat/brain.py:think".to_owned()),
        ..IntegrationOptions::default()
    };
    assert_eq!(ways(agent), Ok(vec!["services/chat".to_owned()]));
    let agent = IntegrationOptions {
        agent: Some("services/chat/chat/brain.py:sink".to_owned()),
        ..IntegrationOptions::default()
    };
    assert_eq!(ways(agent), Ok(vec![]));
}
