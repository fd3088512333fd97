//! What FluxLoop can call in a Python program, and what stands in the way.

use std::borrow::Cow;

use codebase::{Agent, FunctionParameter, FunctionSignature, NameKind, ParameterKind};
use tree::Tree;

use crate::integrate::RecipeInput;

/// A function, as far as it matters who calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct TargetFunction {
    pub(crate) path: String,
    /// The line of its name.
    pub(crate) line: u32,
    /// `Class.method` for a method.
    pub(crate) name: String,
    pub(crate) parameters: Vec<FunctionParameter>,
    pub(crate) is_async: bool,
    pub(crate) is_generator: bool,
    pub(crate) is_default_constructible: bool,
    /// It gives back a text, as far as one can see.
    pub(crate) returns_text: bool,
}

impl TargetFunction {
    pub(crate) fn from_agent(agent: &Agent) -> Self {
        Self {
            path: agent.path.clone(),
            line: agent.line,
            name: agent.name.clone(),
            parameters: agent.parameters.clone(),
            is_async: agent.is_async,
            is_generator: agent.is_generator,
            is_default_constructible: agent.is_default_constructible,
            returns_text: true,
        }
    }

    pub(crate) fn from_signature(path: &str, signature: &FunctionSignature) -> Self {
        Self {
            path: path.to_owned(),
            line: signature.line,
            name: signature.name.clone(),
            parameters: signature.parameters.clone(),
            is_async: signature.is_async,
            is_generator: signature.is_generator,
            is_default_constructible: signature.is_default_constructible,
            returns_text: signature.response_fields.is_empty()
                && signature.returns.as_deref().is_none_or(is_text_type),
        }
    }

    /// The class of a method.
    pub(crate) fn owner_class(&self) -> Option<&str> {
        self.name.rsplit_once('.').map(|(owner, _)| owner)
    }

    /// Every line of the CLI can call it as it is: 0.4 by place, 0.2 and 0.3 by the names that they look for.
    pub(crate) fn is_directly_callable(&self) -> bool {
        let first = self.parameters.first();
        self.owner_class().is_none()
            && !self.is_generator
            && self.returns_text
            && first.is_some_and(|first| first.kind == ParameterKind::PositionalOrKeyword)
            && text_argument(&self.parameters, &|_, name| Cow::Borrowed(name)) == Ok(TextArgument::Text(None))
    }
}

/// How one text is handed to a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextArgument {
    /// As the first argument, or as the one of this name.
    Text(Option<String>),
    /// As the only message of a conversation.
    Messages(Option<String>),
}

/// Names that 0.2 and 0.3 look for, in this order.
const RECOGNIZED_PARAMETERS: [&str; 7] =
    ["input", "input_text", "message", "query", "text", "content", "user_message"];

/// Names that stand for something else than what a user says.
#[rustfmt::skip] // a list, not a column
const NON_TEXT_PARAMETERS: &[&str] = &[
    "state", "request", "req", "ctx", "context", "config", "event", "body", "data", "payload", "session", "db", "settings",
    "client", "args", "argv", "options", "user", "user_id", "session_id", "file", "path", "model", "agent", "graph", "inputs",
];

/// Puts a name or a type into a sentence.
pub(crate) type NameFormatter<'s> = dyn for<'n> Fn(NameKind, &'n str) -> Cow<'n, str> + 's;

/// How one text can be handed over; why not, if it cannot.
pub(crate) fn text_argument(
    parameters: &[FunctionParameter],
    shown: &NameFormatter<'_>,
) -> Result<TextArgument, String> {
    let named = |parameter: &FunctionParameter| shown(NameKind::Identifier, &parameter.name).into_owned();
    if let Some(injected) = parameters.iter().find(|parameter| parameter.injected) {
        return Err(format!("the framework fills in its `{}`", named(injected)));
    }
    let known = RECOGNIZED_PARAMETERS
        .iter()
        .find_map(|name| parameters.iter().position(|parameter| parameter.name == *name));
    let at = known.unwrap_or(0);
    let taker = parameters.get(at).ok_or("it takes no argument")?;
    if let Some((_, other)) =
        parameters.iter().enumerate().find(|(n, parameter)| *n != at && !parameter.optional)
    {
        return Err(format!("it needs `{}` and `{}`", named(taker), named(other)));
    }
    // By its name where its place does not say it.
    let name = (at > 0 || taker.kind == ParameterKind::KeywordOnly).then(|| taker.name.clone());
    if at > 0 && taker.kind == ParameterKind::PositionalOnly {
        return Err(format!("`{}` can only be given after others", named(taker)));
    }
    let is_list = |text: &str| {
        let text = text.to_lowercase();
        text.starts_with("list") || text.starts_with("sequence") || text.starts_with("iterable")
    };
    let of_messages = matches!(taker.name.as_str(), "messages" | "history" | "conversation" | "chat_history");
    match taker.annotation.as_deref().map(str::trim) {
        Some(text) if is_list(text) && of_messages => Ok(TextArgument::Messages(name)),
        Some(text) if is_text_type(text) && !is_id_name(&taker.name) => Ok(TextArgument::Text(name)),
        Some(text) => Err(format!("it takes a `{}`, not a text", shown(NameKind::Type, text))),
        None if of_messages => Ok(TextArgument::Messages(name)),
        None if NON_TEXT_PARAMETERS.contains(&taker.name.as_str()) || is_id_name(&taker.name) => {
            Err(format!("it takes `{}`, which is not a text", named(taker)))
        }
        None => Ok(TextArgument::Text(name)),
    }
}

/// Whether a name is that of an identifier.
pub(crate) fn is_id_name(name: &str) -> bool {
    let name = name.to_lowercase();
    name.ends_with("id") || ["session", "thread", "conversation", "user", "username"].contains(&name.as_str())
}

/// Whether a type is that of a text, or may be.
pub(crate) fn is_text_type(annotation: &str) -> bool {
    let plain = annotation.replace([' ', '"', '\''], "");
    let parts = ["", "str", "None", "Optional", "Union", "…", "Any", "object", "Annotated"];
    plain.starts_with("Annotated[str") || plain.split(['|', '[', ']', ',']).all(|part| parts.contains(&part))
}

/// A Python module and the folder that it is found from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PythonModule {
    /// The folder, from the root of the repository.
    pub(crate) root: String,
    pub(crate) name: String,
}

/// The module that a file is. The folder is the one from which most of its own imports are found.
pub(crate) fn resolve_module(input: &RecipeInput<'_>, path: &str) -> Option<PythonModule> {
    let (tree, package) = (input.tree, input.package.as_str());
    let join = |folder: &str, name: &str| {
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut roots = vec![package_root(tree, folder)];
    for root in [join(package, "src"), package.to_owned(), String::new(), folder.to_owned()] {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots.retain(|root| root.is_empty() || path.starts_with(&format!("{root}/")));
    let seen = input.file_summary(path).unwrap_or_default();
    let imports = &seen.imports;
    // `from ..x import y` needs as many packages around the file as it has dots.
    let dots = imports
        .iter()
        .map(|(module, _)| module.len() - module.trim_start_matches('.').len())
        .max()
        .unwrap_or(0);
    let depth =
        |root: &str| path.strip_prefix(root).unwrap_or(path).trim_start_matches('/').matches('/').count();
    roots.retain(|root| depth(root) >= dots);
    let tops =
        imports.iter().filter_map(|(module, _)| module.split('.').next().filter(|top| !top.is_empty()));
    let is_there = |path: String| tree.metadata(&path).ok().flatten().is_some();
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
    name.split('.').all(is_name).then_some(PythonModule { root, name })
}

/// The folder above the outermost of the packages that a folder is in.
fn package_root(tree: &Tree, folder: &str) -> String {
    let mut at = folder;
    while !at.is_empty() && tree.metadata(&format!("{at}/__init__.py")).ok().flatten().is_some() {
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
    at.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(texts: &[&str]) -> Vec<FunctionParameter> {
        let one = |text: &&str| {
            let (text, optional) = text.strip_suffix('?').map_or((*text, false), |text| (text, true));
            let (name, annotation) =
                text.split_once(": ").map_or((text, None), |(name, of)| (name, Some(of.to_owned())));
            let (name, given) = match name.split_at(1) {
                ("/", name) => (name, ParameterKind::PositionalOnly),
                ("*", name) => (name, ParameterKind::KeywordOnly),
                _ => (name, ParameterKind::PositionalOrKeyword),
            };
            FunctionParameter { name: name.to_owned(), annotation, optional, kind: given, injected: false }
        };
        texts.iter().map(one).collect()
    }

    #[test]
    fn functions_taking_one_text_are_callable() {
        let check = |texts: &[&str], expected: Option<TextArgument>| {
            let shown: &NameFormatter<'_> = &|_, name| Cow::Borrowed(name);
            assert_eq!(text_argument(&parameters(texts), shown).ok(), expected, "{texts:?}");
        };
        let named = |name: &str| Some(TextArgument::Text(Some(name.to_owned())));
        check(&["question: str"], Some(TextArgument::Text(None)));
        check(&["question"], Some(TextArgument::Text(None)));
        check(&["q: str | None", "k: int?"], Some(TextArgument::Text(None)));
        check(&["q: Optional[str]"], Some(TextArgument::Text(None)));
        check(&["session: str?", "message: str?"], named("message"));
        check(&["*message: str"], named("message"));
        check(&["/message: str"], Some(TextArgument::Text(None)));
        check(&["messages: list[dict]"], Some(TextArgument::Messages(None)));
        check(&["messages"], Some(TextArgument::Messages(None)));
        check(&[], None);
        check(&["q: str", "session: str"], None);
        check(&["/session: str?", "/message: str?"], None);
        check(&["body: ChatRequest"], None);
        check(&["state"], None);
        check(&["numbers: list[int]"], None);
    }

    #[test]
    fn direct_target_works_with_every_release_line() {
        let direct = |name: &str, texts: &[&str], gives_text: bool| {
            let (path, name, parameters) = (String::new(), name.to_owned(), parameters(texts));
            let (is_async, is_generator, makes_itself) = (false, false, true);
            TargetFunction {
                path,
                line: 1,
                name,
                parameters,
                is_async,
                is_generator,
                is_default_constructible: makes_itself,
                returns_text: gives_text,
            }
            .is_directly_callable()
        };
        assert!(direct("f", &["q: str"], true));
        assert!(!direct("f", &["q: str"], false));
        assert!(!direct("A.f", &["q: str"], true));
        // 0.4 would hand the text to `session`, 0.2 to `message`.
        assert!(!direct("f", &["session: str?", "message: str?"], true));
        assert!(!direct("f", &["*message: str"], true));
        assert!(!direct("f", &["/message: str"], true));
    }
}
