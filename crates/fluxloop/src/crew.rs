//! A crew that the program starts with inputs of its own: `MyCrew().crew().kickoff(inputs={"topic": "…"})`.

use crate::patterns;
use codebase::Agent;
use serde_json::json;

use crate::endpoint::find_text_field;
use crate::integrate::RecipeInput;
use crate::project::contains_secret;
use crate::python_module::{PythonModule, resolve_module};

/// How a crew is started with a text in place of the input that the program has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CrewCall {
    pub(crate) path: String,
    pub(crate) module: PythonModule,
    /// The class or object that is imported.
    pub(crate) name: String,
    /// What it is called on: `MyCrew().crew()`.
    crew: String,
    /// The inputs as Python source, the text among them.
    inputs: String,
}

impl CrewCall {
    /// Reads it from a function without parameters that starts a crew.
    pub(crate) fn from_agent(input: &RecipeInput<'_>, agent: &Agent) -> Option<Self> {
        if agent.library != "crewai" || !agent.parameters.is_empty() {
            return None;
        }
        let seen = input.file_summary(&agent.path)?;
        let function = seen.functions.iter().find(|function| function.name == agent.name)?;
        let body = input.source_lines(&agent.path, function.line, function.end_line);
        let call =
            patterns::compile(r"\b((\w+)(?:\(\))?(?:\.crew\(\))?)\.kickoff\(\s*inputs\s*=\s*(\w+|\{[^}]*\})")
                .ok()?;
        let found = call.captures(&body)?;
        let (crew, name, given) = (found.get(1)?.as_str(), found.get(2)?.as_str(), found.get(3)?.as_str());
        let written = if given.starts_with('{') {
            given.to_owned()
        } else {
            let assigned = patterns::compile(&format!(
                r"\b{}\s*(?::\s*[\w\[\], ]+)?=\s*(\{{[^}}]*\}})",
                regex::escape(given)
            ))
            .ok()?;
            assigned.captures(&body)?.get(1)?.as_str().to_owned()
        };
        let inputs = fill_inputs(&written)?;
        // The class from its own file; an object from this one.
        let imported = seen.imports.iter().find(|(_, known)| known.as_deref() == Some(name));
        let path = if let Some((module, _)) = imported {
            input.module_file(&agent.path, module)?
        } else {
            let is_own = seen.classes.iter().any(|(class, ..)| class == name)
                || seen.assigned_calls.iter().any(|(known, _)| known == name);
            is_own.then(|| agent.path.clone())?
        };
        let module = resolve_module(input, &path)?;
        Some(Self { path, module, name: name.to_owned(), crew: crew.to_owned(), inputs })
    }

    /// The import, and the function that FluxLoop calls.
    pub(crate) fn render(&self) -> (String, String) {
        let date = if self.inputs.contains("date.today()") {
            "from datetime import date  # noqa: E402\n\n"
        } else {
            ""
        };
        let import = format!("{date}from {} import {}  # noqa: E402\n", self.module.name, self.name);
        let body = format!(
            "def run(message: str) -> str:\n    result = {}.kickoff(inputs={})\n    return _text(result.raw if hasattr(result, \
             \"raw\") else result)",
            self.crew, self.inputs
        );
        (import, body)
    }
}

/// The inputs with the text in place of the one that a user would give; the others keep what the program gives them.
fn fill_inputs(written: &str) -> Option<String> {
    let entry = patterns::compile(
        r#"["'](\w+)["']\s*:\s*("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^,{}\n]+)\s*(?:[,}\n#]|$)"#,
    )
    .ok()?;
    let entries: Vec<(String, String)> = entry
        .captures_iter(written)
        .map(|found| (found[1].to_owned(), found[2].trim().trim_end_matches(',').to_owned()))
        .collect();
    let texts: Vec<String> = entries
        .iter()
        .filter(|(name, value)| {
            value.starts_with(['"', '\'']) && !name.contains("year") && !name.contains("date")
        })
        .map(|(name, _)| name.clone())
        .collect();
    let text = match texts.as_slice() {
        [only] => only.clone(),
        several => find_text_field(several)?,
    };
    let parts = entries.iter().map(|(name, value)| {
        let value = match value {
            _ if *name == text => "message".to_owned(),
            value if contains_secret(&format!("{name}: {value}")) => return None,
            value if value.starts_with(['"', '\'']) => value.clone(),
            // `str(datetime.now().year)`
            value if value.contains("year") || value.contains("now()") => {
                if name.contains("year") { "str(date.today().year)" } else { "str(date.today())" }.to_owned()
            }
            value if value.parse::<f64>().is_ok() || matches!(value.as_str(), "True" | "False" | "None") => {
                value.clone()
            }
            _ => return None,
        };
        Some(format!("{}: {value}", json!(name)))
    });
    Some(format!("{{{}}}", parts.collect::<Option<Vec<_>>>()?.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_input_becomes_the_text() {
        let check = |written: &str, expected: Option<&str>| {
            assert_eq!(fill_inputs(written).as_deref(), expected, "{written}");
        };
        check("{'topic': 'AI LLMs'}", Some("{\"topic\": message}"));
        check(
            "{\"question\": \"What?\", \"tone\": 'dry', \"n\": 3}",
            Some("{\"question\": message, \"tone\": 'dry', \"n\": 3}"),
        );
        check(
            "{\n  'topic': 'AI',\n  'current_year': str(datetime.now().year)\n}",
            Some("{\"topic\": message, \"current_year\": str(date.today().year)}"),
        );
        check(
            r#"{"topic": "AI", "note": "He said \"dry\"", "n": 1}"#,
            Some(r#"{"topic": message, "note": "He said \"dry\"", "n": 1}"#),
        );
        // A secret of the program is not written into another file.
        check(&format!("{{'topic': 'AI', 'api_key': 'sk-ant-api03-{}'}}", "Ab1".repeat(24)), None);
        // Which of them is the text?
        check("{'colour': 'red', 'shape': 'round'}", None);
        check("{'topic': 'AI', 'rows': load_rows()}", None);
        check("{}", None);
    }
}
