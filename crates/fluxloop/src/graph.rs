//! Decides whether and how a `LangGraph` graph can be called with a single message.

use crate::patterns;
use codebase::{FileSummary, FunctionParameter, FunctionSignature, NameKind, NameRedactor, summarize_file};
use tree::Tree;

use crate::endpoint::{find_reply_field, find_text_field, tells_reply};
use crate::target::is_text_type;
use crate::wrapper::AgentObject;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GraphCall {
    /// The graph is returned by a function; the flag tells whether it is async.
    pub(crate) factory: Option<bool>,
    /// Class of the context argument, imported next to the graph.
    pub(crate) context: Option<String>,
    /// For a chain: what it is given, as an expression, and the key of its answer.
    pub(crate) chain: Option<(String, Option<String>)>,
    /// It is only built: it has to be compiled before it runs.
    pub(crate) is_builder: bool,
    /// Its checkpointer works only without `await`.
    pub(crate) is_sync: bool,
    /// The graph stores state between calls and needs a thread id.
    pub(crate) has_checkpointer: bool,
    /// The fields of the state that take the text and hold the answer; `None`: a list of messages does both.
    pub(crate) fields: Option<(String, String)>,
    /// The only field for an answer that the graph gives back: no messages.
    pub(crate) output: Option<String>,
    /// The field of the state that holds the answer beside the messages.
    pub(crate) answer: Option<String>,
}

/// Resolves how to call the graph `name` with one message. The error is the reason it cannot be called.
pub(crate) fn resolve_graph_call(
    tree: &Tree,
    path: &str,
    seen: &FileSummary,
    name: &str,
    redactor: &NameRedactor,
) -> Result<GraphCall, String> {
    let shown = |name: &str| redactor.name(NameKind::Identifier, name, path, 0).into_owned();
    let (graph, file) = (shown(name), redactor.file(path));
    let bytes = tree.read(path, 256 * 1024).map_err(|error| format!("{file} cannot be read: {error}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let prebuilt =
        ["create_react_agent(", "create_agent(", "MessageGraph(", "create_supervisor(", "create_swarm("]
            .iter()
            .any(|maker| text.contains(maker));
    let mut call = GraphCall { has_checkpointer: text.contains("checkpointer="), ..GraphCall::default() };
    let made = seen.assigned_calls.iter().find(|(known, _)| known == name);
    call.is_builder = made
        .is_some_and(|(_, callee)| matches!(callee.rsplit('.').next(), Some("StateGraph" | "MessageGraph")));
    // A file may build several: the one that this is compiled from.
    let builder = made.and_then(|(_, callee)| callee.strip_suffix(".compile")).map_or(r"", |builder| builder);
    let of_builder = format!(r"\b{}\s*=\s*StateGraph\(", regex::escape(builder));
    let own = patterns::compile(&of_builder).ok().filter(|_| !builder.is_empty() && !builder.contains('('));
    let built = own.and_then(|own| own.find(&text)).map_or(&*text, |found| &text[found.start()..]);
    call.is_sync =
        ["SqliteSaver", "PostgresSaver"].iter().any(|saver| text.contains(saver)) && !text.contains("Async");
    let state = first_capture(built, r"StateGraph\(\s*(?:state_schema\s*=\s*)?(\w+)");
    // What the graph gives back may be a part of its state.
    let given = first_capture(built, r"StateGraph\(([^)]*)\)").unwrap_or_default();
    let output = first_capture(&given, r"\boutput(?:_schema)?\s*=\s*(\w+)");
    if let Some(output) = output.as_deref().filter(|output| Some(*output) != state.as_deref())
        && !has_messages(tree, path, seen, output)
    {
        let fields: Vec<String> =
            all_fields(tree, path, seen, output).into_iter().map(|field| field.name).collect();
        let answer = find_reply_field(&fields, &[]).filter(|name| tells_reply(name));
        let Some(answer) = answer else {
            return Err(format!(
                "no field for an answer was found in what `{graph}` in {file} gives back ({})",
                shown(output)
            ));
        };
        call.output = Some(answer);
    }
    if let Some(state) = &state {
        const ANSWERS: &[&str] = &[
            "final_answer",
            "final_response",
            "final_report",
            "final_output",
            "answer",
            "response",
            "report",
        ];
        let fields = all_fields(tree, path, seen, state);
        let is_there = |name: &&&str| fields.iter().any(|field| field.name == **name);
        call.answer = ANSWERS.iter().find(is_there).map(|name| (*name).to_owned());
    }
    if let Some(state) = state
        && !prebuilt
        && !has_messages(tree, path, seen, &state)
    {
        call.fields = text_fields(tree, path, seen, &state);
        if call.fields.is_none() {
            return Err(format!(
                "no `messages` field was found in the state of `{graph}` in {file} ({}), nor one field for a text and one \
                 for an answer",
                shown(&state)
            ));
        }
    }
    if let Some(function) = seen.functions.iter().find(|function| function.name == name) {
        if function.parameters.iter().any(|parameter| !parameter.optional) {
            return Err(format!("`{graph}` in {file} needs arguments to build its graph"));
        }
        call.factory = Some(function.is_async);
        let body: String = text
            .lines()
            .skip(function.line.saturating_sub(1) as usize)
            .take((function.end_line + 1).saturating_sub(function.line) as usize)
            .collect::<Vec<_>>()
            .join("\n");
        call.is_builder = gives_builder(&body);
    }
    if let Some(class) = first_capture(&text, r"config_schema\s*=\s*(\w+)") {
        let missing = all_fields(tree, path, seen, &class).into_iter().find(|field| !field.optional);
        if let Some(field) = missing {
            let (field, class) = (shown(&field.name), shown(&class));
            return Err(format!("`{graph}` in {file} requires `{field}` in its configuration ({class})"));
        }
    }
    if let Some(class) = first_capture(&text, r"context_schema\s*=\s*(\w+)") {
        let fields = class_fields(tree, path, seen, &class);
        if !fields.is_some_and(|(_, fields)| fields.iter().all(|field| field.optional)) {
            let class = shown(&class);
            return Err(format!(
                "`{graph}` in {file} requires a context ({class}) that only you can fill in"
            ));
        }
        call.context = Some(class);
    }
    Ok(call)
}

/// The fields of a state that take a text and hold the answer: `question` and `answer`.
fn text_fields(tree: &Tree, path: &str, seen: &FileSummary, state: &str) -> Option<(String, String)> {
    let (bases, _) = class_fields(tree, path, seen, state)?;
    let fields = all_fields(tree, path, seen, state);
    let is_text = |field: &&FunctionParameter| field.annotation.as_deref().is_none_or(is_text_type);
    let texts: Vec<String> = fields.iter().filter(is_text).map(|field| field.name.clone()).collect();
    let input = find_text_field(&texts)?;
    let rest: Vec<String> =
        fields.iter().map(|field| field.name.clone()).filter(|name| *name != input).collect();
    let output = find_reply_field(&rest, &[]).filter(|name| tells_reply(name))?;
    // A model checks what it is made from; a dictionary does not.
    let is_checked = bases.iter().any(|base| base.ends_with("BaseModel"));
    let needs_more = fields.iter().any(|field| !field.optional && field.name != input);
    (!(is_checked && needs_more)).then_some((input, output))
}

/// Whether a function gives back a graph that is built and not compiled.
fn gives_builder(body: &str) -> bool {
    let made = first_capture(body, r"\b(\w+)\s*=\s*StateGraph\(");
    made.is_some_and(|made| {
        let returned = patterns::compile(&format!(r"(?m)^[ \t]+return\s+{}\s*$", regex::escape(&made)));
        returned.is_ok_and(|returned| returned.is_match(body))
    })
}

/// A function without required parameters that makes an object of an agent framework and returns it.
pub(crate) fn find_object_factory<'s>(
    seen: &'s FileSummary,
    source_of: &dyn Fn(&FunctionSignature) -> String,
) -> Option<(&'s FunctionSignature, AgentObject)> {
    let returned = patterns::compile(r"(?m)^[ \t]+return\s+([\w.]+)(\(?)").ok()?;
    seen.functions.iter().find_map(|function| {
        let is_free = !function.name.contains('.')
            && !function.is_generator
            && function.parameters.iter().all(|given| given.optional);
        let body = if is_free { source_of(function) } else { return None };
        if gives_builder(&body) {
            return Some((function, AgentObject::Graph));
        }
        let found = returned.captures_iter(&body).last()?;
        let callee = if found[2].is_empty() {
            let made = format!(r"\b{}\s*=\s*(?:await\s+)?([\w.]+)\(", regex::escape(&found[1]));
            first_capture(&body, &made)?
        } else {
            found[1].to_owned()
        };
        Some((function, AgentObject::from_constructor(&callee, &seen.imports)?))
    })
}

/// A function without required parameters that builds a graph and returns it.
pub(crate) fn find_graph_factory<'s>(
    seen: &'s FileSummary,
    source_of: &dyn Fn(&FunctionSignature) -> String,
) -> Option<&'s FunctionSignature> {
    let top = |module: &str| module.split('.').next().unwrap_or_default().to_owned();
    let is_there = |(module, _): &(String, Option<String>)| {
        top(module).starts_with("langgraph") || module.starts_with("langchain.agents")
    };
    if !seen.imports.iter().any(is_there) {
        return None;
    }
    let returns = patterns::compile(
        r"(?s)return\s+\w+\.compile\(|return\s+(?:create_react_agent|create_agent|create_supervisor|create_swarm)\(|(\w+)\s*=\s*(?:\w+\.compile|create_react_agent|create_agent)\(.*return\s+(\w+)\s*(?:\n|$)",
    )
    .ok()?;
    // One that gathers others is what users talk to.
    let gathers = |function: &&FunctionSignature| {
        ["supervisor", "team", "swarm", "orchestrat"].iter().any(|word| function.name.contains(word))
    };
    let all = seen.functions.iter().filter(gathers).chain(seen.functions.iter());
    all.into_iter().find(|function| {
        let is_free = !function.name.contains('.') && function.parameters.iter().all(|given| given.optional);
        is_free
            && returns.captures(&source_of(function)).is_some_and(|found| {
                found.get(1).map(|made| made.as_str()) == found.get(2).map(|given| given.as_str())
            })
    })
}

fn first_capture(text: &str, pattern: &str) -> Option<String> {
    Some(patterns::compile(pattern).ok()?.captures(text)?.get(1)?.as_str().to_owned())
}

fn has_messages(tree: &Tree, path: &str, seen: &FileSummary, class: &str) -> bool {
    let known = |name: &str| {
        matches!(name.rsplit('.').next(), Some("MessagesState" | "AgentState" | "AgentStatePydantic"))
    };
    if known(class) {
        return true;
    }
    let Some((bases, fields)) = class_fields(tree, path, seen, class) else { return false };
    fields.iter().any(|field| field.name == "messages")
        || bases.iter().any(|base| known(base) || base != class && base_has_messages(tree, path, seen, base))
}

/// Checks one more level of base classes only, so that a cycle cannot recurse forever.
fn base_has_messages(tree: &Tree, path: &str, seen: &FileSummary, class: &str) -> bool {
    let found = class_fields(tree, path, seen, class);
    found.is_some_and(|(bases, fields)| {
        fields.iter().any(|field| field.name == "messages")
            || bases.iter().any(|base| base.ends_with("MessagesState"))
    })
}

/// The fields of a class that is defined or imported in a file; `None` if the class is not found.
pub(crate) fn all_fields_of(
    tree: &Tree,
    path: &str,
    seen: &FileSummary,
    class: &str,
) -> Option<Vec<FunctionParameter>> {
    class_fields(tree, path, seen, class)?;
    Some(all_fields(tree, path, seen, class))
}

/// The fields of a class and its direct base classes.
fn all_fields(tree: &Tree, path: &str, seen: &FileSummary, class: &str) -> Vec<FunctionParameter> {
    let Some((bases, mut fields)) = class_fields(tree, path, seen, class) else { return Vec::new() };
    // Look up the bases in the file that defines the class: they are in scope there, not necessarily here.
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let module = seen
        .imports
        .iter()
        .find(|(_, name)| name.as_deref() == Some(class))
        .map(|(module, _)| module.clone());
    let file = module.map(|module| format!("{folder}/{}.py", module.rsplit('.').next().unwrap_or_default()));
    let there = file.as_deref().and_then(|file| summarize_file(tree, file.trim_start_matches('/')));
    for base in &bases {
        let found = class_fields(tree, path, there.as_ref().unwrap_or(seen), base);
        fields.extend(found.into_iter().flat_map(|(_, fields)| fields));
    }
    fields
}

/// Bases and fields of a class defined in this file or in an imported file of the same folder.
fn class_fields(
    tree: &Tree,
    path: &str,
    seen: &FileSummary,
    class: &str,
) -> Option<(Vec<String>, Vec<FunctionParameter>)> {
    let of = |summary: &FileSummary| {
        let found = summary.classes.iter().find(|(name, ..)| name == class);
        found.map(|(_, bases, fields)| (bases.clone(), fields.clone()))
    };
    if let Some(found) = of(seen) {
        return Some(found);
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let module =
        seen.imports.iter().find(|(_, name)| name.as_deref() == Some(class)).map(|(module, _)| module)?;
    let last = module.rsplit('.').next().unwrap_or(module);
    let places =
        [format!("{folder}/{last}.py"), format!("{folder}/{last}/__init__.py"), format!("{last}.py")];
    places
        .iter()
        .map(|place| place.trim_start_matches('/'))
        .find_map(|place| of(&summarize_file(tree, place)?))
}
