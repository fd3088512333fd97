//! How FluxLoop runs a program, by the framework that the program is built on.

use codebase::Ecosystem;
use codebase::rules::{RULES, Role};

/// A way to run a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Its documented name.
    pub name: &'static str,
    /// The page that explains it.
    pub page: &'static str,
    /// Why it fits.
    pub rationale: String,
}

const PYTHON_FUNCTION: &str = "packages/website/docs-cli/configuration/runners/python-function.md";
const HTTP_REST: &str = "packages/website/docs-cli/configuration/runners/http-rest.md";

/// The way that fits a framework; `None` for a framework that is not known.
pub fn pattern(framework: &str) -> Option<Pattern> {
    // A framework that exists for several languages is taken as its first line in the table says.
    let rule = RULES.iter().find(|rule| rule.name == framework && rule.is_framework())?;
    let title = rule.title;
    Some(match (rule.ecosystem, rule.role) {
        (Ecosystem::Python, Role::Agent) => Pattern {
            name: "python-function",
            page: PYTHON_FUNCTION,
            rationale: format!(
                "Agents of {title} are called through a Python function, which the runner can call directly."
            ),
        },
        (Ecosystem::Python, _) => Pattern {
            name: "python-function",
            page: PYTHON_FUNCTION,
            rationale: format!(
                "Behind a {title} endpoint stands a Python function; the runner calls that function, so no server has to run."
            ),
        },
        (_, Role::Agent) => Pattern {
            name: "http-rest",
            page: HTTP_REST,
            rationale: format!(
                "{title} does not run in Python, so its agent is reached through an endpoint of the program."
            ),
        },
        _ => Pattern {
            name: "http-rest",
            page: HTTP_REST,
            rationale: format!(
                "A {title} program does not run in Python, so it is reached through its HTTP endpoint."
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_framework_has_a_pattern() {
        for rule in RULES {
            assert_eq!(
                pattern(rule.name).is_some(),
                codebase::rules::NAMES.contains(&rule.name),
                "{}",
                rule.name
            );
        }
        assert_eq!(pattern("fastapi").map(|pattern| pattern.name), Some("python-function"));
        assert_eq!(pattern("express").map(|pattern| pattern.name), Some("http-rest"));
        assert_eq!(pattern("cobol"), None);
    }
}
