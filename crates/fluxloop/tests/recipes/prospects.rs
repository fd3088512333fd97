//! What is offered to somebody who has to choose, for every repository of the recipes.

use std::fmt::Write;

use fluxloop::{Candidate, Prospect, Wanted, prospects};
use tree::Budget;

use crate::unpack;

fn told(prospect: &Prospect) -> String {
    let package = if prospect.package.is_empty() { "." } else { &prospect.package };
    let variants: Vec<&str> = prospect.variants.iter().map(|variant| variant.name()).collect();
    let (name, target, variants) = (prospect.recipe.name, &prospect.target, variants.join(", "));
    let mut text = format!("  {package} {name}: {target}, by {variants}\n");
    for Candidate { value, line, why, is_usual, field, .. } in &prospect.agents {
        let mark = if *is_usual { "*" } else { " " };
        writeln!(text, "    {mark} {value} (line {line}, {why})").unwrap();
        if let Some(field) = field {
            writeln!(text, "      field: {:?}, since {}", field.known, field.why).unwrap();
        }
    }
    text
}

#[test]
fn every_way_in_is_offered() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recipes/repositories");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = String::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (_folder, tree, profile) = unpack(&text);
        let found = prospects(&tree, &profile, &Wanted::default(), &Budget::unlimited()).unwrap();
        writeln!(all, "{}", path.file_stem().unwrap().to_str().unwrap()).unwrap();
        all.extend(found.found.iter().map(told));
        for reason in found.reasons.iter().filter(|_| found.found.is_empty()) {
            writeln!(all, "  no: {reason}").unwrap();
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("prospects", all);
    });
}

#[test]
fn what_is_wanted_is_not_offered_otherwise() {
    let (_folder, tree, profile) = unpack(include_str!("repositories/monorepo.txt"));
    let ways = |wanted: Wanted| {
        let found = prospects(&tree, &profile, &wanted, &Budget::unlimited());
        found.map(|found| found.found.iter().map(|one| one.package.clone()).collect::<Vec<_>>())
    };
    let package = |name: &str| Wanted { package: Some(name.to_owned()), ..Wanted::default() };
    assert_eq!(ways(Wanted::default()), Ok(vec!["services/chat".to_owned()]));
    assert_eq!(ways(package("chat-service")), Ok(vec!["services/chat".to_owned()]));
    assert_eq!(ways(package("services/mail/")), Ok(vec![]));
    assert_eq!(ways(package("web")), Ok(vec![]));
    assert!(ways(package("mail-service")).is_err_and(|why| why.contains("there are ., services/chat")));
    let agent = Wanted { agent: Some("services/chat/chat/brain.py:think".to_owned()), ..Wanted::default() };
    assert_eq!(ways(agent), Ok(vec!["services/chat".to_owned()]));
    let agent = Wanted { agent: Some("services/chat/chat/brain.py:sink".to_owned()), ..Wanted::default() };
    assert_eq!(ways(agent), Ok(vec![]));
}
