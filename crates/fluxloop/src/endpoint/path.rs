//! The path of a route with values for its parameters.

use codebase::NameKind;

use crate::patterns;

use super::fields::field_variable;
use super::{IdForm, invented_id_warning};
use crate::target::{is_id_name, is_invented_id, tells_text, variable_name};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathPart {
    Text(String),
    /// An environment variable that the user sets.
    Variable(String),
    /// An id: of the environment, else an invented one.
    Id(String, IdForm),
    /// The text.
    Message,
}

/// The parameter of a path that carries the text, by its name, and the variable that would stand for it: `/ask/:question`.
pub(super) fn path_text_name(path: &str, variable: &str) -> Option<(String, String)> {
    let names = path.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let mut texts = names.filter(|name| !name.is_empty() && field_variable(name) == variable);
    let name = texts.find(|name| tells_text(name) || *name == "q")?;
    Some((name.to_owned(), variable.to_owned()))
}

/// The parts of a path. Its parameters become constants if they are ids, else environment variables.
pub(super) fn path_parts(path: &str, warnings: &mut Vec<String>) -> Result<Vec<PathPart>, String> {
    let path = format!("/{}", path.trim_start_matches('/'));
    if path.contains("(computed)") {
        return Err("the path of the route is computed at run time".to_owned());
    }
    let parameter = patterns::compile(r"\{(\w+)(?::(\w+))?\}|<(?:(\w+):)?(\w+)>|:(\w+)|\[(\w+)\]")
        .map_err(|error| error.to_string())?;
    let (mut parts, mut last) = (Vec::new(), 0);
    for found in parameter.captures_iter(&path) {
        let Some(all) = found.get(0) else { continue };
        let text = |group: usize| found.get(group).map(|found| found.as_str());
        let name = text(1).or_else(|| text(4)).or_else(|| text(5)).or_else(|| text(6)).unwrap_or_default();
        if !NameKind::Identifier.is_safe_name(name) {
            return Err("a parameter in the path of the route has too long a name".to_owned());
        }
        let kind = text(2).or_else(|| text(3)).unwrap_or_default();
        parts.push(PathPart::Text(path[last..all.start()].to_owned()));
        parts.push(if is_id_name(name) && is_invented_id(name) && kind != "int" {
            let variable = format!("AGENT_{}", variable_name(name));
            let form = if kind == "uuid" { IdForm::Uuid } else { IdForm::of_name(name) };
            warnings.push(invented_id_warning(name, &variable, form));
            PathPart::Id(variable, form)
        } else {
            PathPart::Variable(field_variable(name))
        });
        last = all.end();
    }
    parts.push(PathPart::Text(path[last..].to_owned()));
    let rest = |part: &PathPart| matches!(part, PathPart::Text(text) if text.contains(['{', '<', '[', '*', '$', ':', '(', '^', '?']));
    if parts.iter().any(rest) {
        return Err("the path of the route is a pattern".to_owned());
    }
    let odd = |c: char| c.is_whitespace() || c.is_control() || "\"'`\\".contains(c);
    if parts.iter().any(|part| matches!(part, PathPart::Text(text) if text.contains(odd))) {
        return Err("the path of the route contains characters not allowed in a URL".to_owned());
    }
    // Neighbouring texts are one.
    let mut joined: Vec<PathPart> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(PathPart::Text(before)), PathPart::Text(text)) => before.push_str(&text),
            (_, PathPart::Text(text)) if text.is_empty() => {}
            (_, part) => joined.push(part),
        }
    }
    Ok(joined)
}
