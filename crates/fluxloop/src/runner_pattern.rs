//! How FluxLoop runs a program, by the framework that the program is built on.

use codebase::Ecosystem;
use codebase::rules::Role;

/// A way to run a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerPattern {
    /// Its documented name.
    pub name: &'static str,
    /// The page that explains it.
    pub page: &'static str,
    /// Why it fits.
    pub rationale: String,
}

const PYTHON_FUNCTION: &str = "packages/website/docs-cli/configuration/runners/python-function.md";
const HTTP_REST: &str = "packages/website/docs-cli/configuration/runners/http-rest.md";

/// The way that fits a framework of this kind, called `title`.
pub fn runner_pattern(ecosystem: Ecosystem, role: Role, title: &str) -> RunnerPattern {
    let (name, page, rationale) = match (ecosystem, role) {
        (Ecosystem::Python, Role::Agent) => (
            "python-function",
            PYTHON_FUNCTION,
            format!(
                "Agents of {title} are called through a Python function, which the runner can call directly."
            ),
        ),
        (Ecosystem::Python, Role::Web | Role::Model) => (
            "python-function",
            PYTHON_FUNCTION,
            format!(
                "Behind a {title} endpoint stands a Python function; the runner calls that function, so no server has to run."
            ),
        ),
        (_, Role::Agent) => (
            "http-rest",
            HTTP_REST,
            format!(
                "{title} does not run in Python, so its agent is reached through an endpoint of the program."
            ),
        ),
        (_, Role::Web | Role::Model) => (
            "http-rest",
            HTTP_REST,
            format!("A {title} program does not run in Python, so it is reached through its HTTP endpoint."),
        ),
    };
    RunnerPattern { name, page, rationale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_uses_function_runner_and_others_use_http() {
        let name = |ecosystem, role| runner_pattern(ecosystem, role, "X").name;
        assert_eq!(name(Ecosystem::Python, Role::Web), "python-function");
        assert_eq!(name(Ecosystem::Python, Role::Agent), "python-function");
        assert_eq!(name(Ecosystem::Node, Role::Agent), "http-rest");
        assert_eq!(name(Ecosystem::Jvm, Role::Web), "http-rest");
    }
}
