//! What FluxLoop can call in a Python program, and what stands in the way.

use codebase::{Agent, Parameter, Signature};
use tree::Tree;

/// A function, as far as it matters who calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) path: String,
    /// `Class.method` for a method.
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) is_async: bool,
    pub(crate) is_generator: bool,
    pub(crate) makes_itself: bool,
}

impl Function {
    pub(crate) fn of_agent(agent: &Agent) -> Self {
        Self {
            path: agent.path.clone(),
            name: agent.name.clone(),
            parameters: agent.parameters.clone(),
            is_async: agent.is_async,
            is_generator: agent.is_generator,
            makes_itself: agent.makes_itself,
        }
    }

    pub(crate) fn of_signature(path: &str, signature: &Signature) -> Self {
        Self {
            path: path.to_owned(),
            name: signature.name.clone(),
            parameters: signature.parameters.clone(),
            is_async: signature.is_async,
            is_generator: signature.is_generator,
            makes_itself: signature.makes_itself,
        }
    }

    /// The class of a method.
    pub(crate) fn owner(&self) -> Option<&str> {
        self.name.rsplit_once('.').map(|(owner, _)| owner)
    }

    /// Every line of the CLI can call it as it is: by position, and by the names that 0.2 and 0.3 look for.
    pub(crate) fn is_direct(&self) -> bool {
        self.owner().is_none()
            && !self.is_generator
            && passing(&self.parameters) == Ok(Passing::Text)
            && binds_first(&self.parameters)
    }
}

/// How one text is handed to a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    Text,
    /// As the only message of a conversation.
    Messages,
}

/// Names that 0.2 and 0.3 look for, in this order.
const BOUND: [&str; 7] = ["input", "input_text", "message", "query", "text", "content", "user_message"];

fn binds_first(parameters: &[Parameter]) -> bool {
    let known = BOUND.iter().find_map(|name| parameters.iter().position(|parameter| parameter.name == *name));
    known.unwrap_or(0) == 0
}

/// Names that stand for something else than what a user says.
#[rustfmt::skip] // a list, not a column
const OTHERS: &[&str] = &[
    "state", "request", "req", "ctx", "context", "config", "event", "body", "data", "payload", "session", "db", "settings",
    "client", "args", "argv", "options", "user", "user_id", "session_id", "file", "path", "model", "agent", "graph", "inputs",
];

/// How one text can be handed over; why not, if it cannot.
pub(crate) fn passing(parameters: &[Parameter]) -> Result<Passing, String> {
    let Some((first, rest)) = parameters.split_first() else { return Err("it takes no argument".to_owned()) };
    if let Some(other) = rest.iter().find(|parameter| !parameter.optional) {
        return Err(format!("it needs `{}` and `{}`", first.name, other.name));
    }
    let is_list = |text: &str| {
        let text = text.to_lowercase();
        text.starts_with("list") || text.starts_with("sequence") || text.starts_with("iterable")
    };
    let of_messages = matches!(first.name.as_str(), "messages" | "history" | "conversation" | "chat_history");
    match first.annotation.as_deref().map(str::trim) {
        Some(text) if is_list(text) && of_messages => Ok(Passing::Messages),
        Some("str" | "Any" | "object") => Ok(Passing::Text),
        Some(text)
            if text
                .replace(' ', "")
                .split(['|', '[', ']', ','])
                .all(|part| matches!(part, "" | "str" | "None" | "Optional" | "Union" | "…")) =>
        {
            Ok(Passing::Text)
        }
        Some(text) if text.starts_with("Annotated[str") => Ok(Passing::Text),
        Some(text) => Err(format!("it takes a `{text}`, not a text")),
        None if of_messages => Ok(Passing::Messages),
        None if OTHERS.contains(&first.name.as_str()) => {
            Err(format!("it takes `{}`, which is not a text", first.name))
        }
        None => Ok(Passing::Text),
    }
}

/// A Python module and the folder that it is found from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    /// The folder, from the root of the repository.
    pub(crate) root: String,
    pub(crate) name: String,
}

/// The module that a file is. The folder is the one from which most of its own imports are found.
pub(crate) fn module_of(tree: &Tree, package: &str, path: &str) -> Option<Module> {
    let join = |folder: &str, name: &str| {
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut roots = vec![top_package(tree, folder)];
    for root in [join(package, "src"), package.to_owned(), String::new(), folder.to_owned()] {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots.retain(|root| root.is_empty() || path.starts_with(&format!("{root}/")));
    let imports = codebase::glance(tree, path).map(|glance| glance.imports).unwrap_or_default();
    let tops =
        imports.iter().filter_map(|(module, _)| module.split('.').next().filter(|top| !top.is_empty()));
    let is_there = |path: String| tree.find(&path).ok().flatten().is_some();
    let tops: Vec<&str> = tops.collect();
    let finds = |root: &String| {
        tops.iter()
            .filter(|top| is_there(join(root, &format!("{top}.py"))) || is_there(join(root, top)))
            .count()
    };
    // Of those that find as much, the first.
    let root = roots.iter().rev().max_by_key(|root| finds(root))?.clone();
    let inside = path.strip_prefix(&root)?.trim_start_matches('/').strip_suffix(".py")?;
    let name = inside.strip_suffix("/__init__").unwrap_or(inside).replace('/', ".");
    let is_name = |part: &str| {
        !part.is_empty()
            && !part.starts_with(|c: char| c.is_ascii_digit())
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    name.split('.').all(is_name).then_some(Module { root, name })
}

/// The folder above the outermost of the packages that a folder is in.
fn top_package(tree: &Tree, folder: &str) -> String {
    let mut at = folder;
    while !at.is_empty() && tree.find(&format!("{at}/__init__.py")).ok().flatten().is_some() {
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
    at.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(texts: &[&str]) -> Vec<Parameter> {
        let one = |text: &&str| {
            let (text, optional) = text.strip_suffix('?').map_or((*text, false), |text| (text, true));
            let (name, annotation) =
                text.split_once(": ").map_or((text, None), |(name, of)| (name, Some(of.to_owned())));
            Parameter { name: name.to_owned(), annotation, optional }
        };
        texts.iter().map(one).collect()
    }

    #[test]
    fn what_takes_one_text_can_be_called() {
        let check = |texts: &[&str], expected: Option<Passing>| {
            assert_eq!(passing(&parameters(texts)).ok(), expected, "{texts:?}");
        };
        check(&["question: str"], Some(Passing::Text));
        check(&["question"], Some(Passing::Text));
        check(&["q: str | None", "k: int?"], Some(Passing::Text));
        check(&["q: Optional[str]"], Some(Passing::Text));
        check(&["messages: list[dict]"], Some(Passing::Messages));
        check(&["messages"], Some(Passing::Messages));
        check(&[], None);
        check(&["q: str", "session: str"], None);
        check(&["body: ChatRequest"], None);
        check(&["state"], None);
        check(&["numbers: list[int]"], None);
    }

    #[test]
    fn a_direct_target_works_with_every_line() {
        let direct = |name: &str, texts: &[&str]| {
            let parameters = parameters(texts);
            let (path, name) = (String::new(), name.to_owned());
            Function { path, name, parameters, is_async: false, is_generator: false, makes_itself: true }
                .is_direct()
        };
        assert!(direct("f", &["q: str"]));
        assert!(!direct("A.f", &["q: str"]));
        // 0.4 would hand the text to `session`, 0.2 to `message`.
        assert!(!direct("f", &["session: str?", "message: str?"]));
    }
}
