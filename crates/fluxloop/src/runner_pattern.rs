//! How FluxLoop runs a program, by the framework that the program is built on.

use codebase::Ecosystem;
use codebase::rules::LibraryRole;

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
pub fn runner_pattern(ecosystem: Ecosystem, role: LibraryRole, title: &str) -> RunnerPattern {
    let (name, page, rationale) = match (ecosystem, role) {
        (Ecosystem::Python, LibraryRole::Agent) => (
            "python-function",
            PYTHON_FUNCTION,
            format!(
                "Agents of {title} are called through a Python function, which the runner can call directly."
            ),
        ),
        (Ecosystem::Python, LibraryRole::Web | LibraryRole::Model) => (
            "python-function",
            PYTHON_FUNCTION,
            format!(
                "Behind a {title} endpoint stands a Python function; the runner calls that function, so no server has to run."
            ),
        ),
        (_, LibraryRole::Agent) => (
            "http-rest",
            HTTP_REST,
            format!(
                "{title} does not run in Python, so its agent is reached through an endpoint of the program."
            ),
        ),
        (_, LibraryRole::Web | LibraryRole::Model) => (
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
        assert_eq!(name(Ecosystem::Python, LibraryRole::Web), "python-function");
        assert_eq!(name(Ecosystem::Python, LibraryRole::Agent), "python-function");
        assert_eq!(name(Ecosystem::Node, LibraryRole::Agent), "http-rest");
        assert_eq!(name(Ecosystem::Jvm, LibraryRole::Web), "http-rest");
    }
}
