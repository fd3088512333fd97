//! Whether a function or an object can be called with one text, and how.

use crate::patterns;
use codebase::{Evidence, FileSummary, FunctionParameter, FunctionSignature, NameKind};

use super::{EntryMethod, FunctionEntry, ObjectSource};
use crate::application::Application;
use crate::chain::resolve_chain_call;
use crate::graph::{self, GraphCall};
use crate::integrate::RecipeInput;
use crate::python_module::resolve_module;
use crate::target::{ClassFinder, NameFormatter, TargetFunction, TextCall, tells_text, text_call};
use crate::wrapper::AgentObject;

pub(super) fn entry_by_function(
    input: &RecipeInput<'_>,
    function: &TargetFunction,
    context: Option<&Evidence>,
    application: Option<&Application>,
) -> Result<EntryMethod, String> {
    let (path, line) = (function.path.as_str(), function.line);
    let seen = input.file_summary(&function.path).unwrap_or_default();
    let own = seen.functions.iter().find(|known| known.name == function.name);
    let is_event =
        |decorator: &String| matches!(decorator.rsplit('.').next(), Some("on" | "event" | "on_event"));
    if let Some(event) = own.and_then(|own| own.decorators.iter().find(|decorator| is_event(decorator))) {
        let event = input.redactor().name(NameKind::Identifier, event, path, line);
        return Err(format!("it handles events (`@{event}`) and sends its answer as another"));
    }
    let body = input.source_lines(path, line, function.end_line);
    let fields_of: &ClassFinder<'_> = &|name| {
        // What its constructor takes, if that is written out.
        let init = format!("{name}.__init__");
        let init = seen.functions.iter().find(|function| function.name == init);
        let fields = || graph::all_fields_of(input.tree, path, &seen, name);
        init.map(|init| init.parameters.clone()).or_else(fields)
    };
    let shown_as: &NameFormatter<'_> = &|kind, name| input.redactor().name(kind, name, path, line);
    if own.is_some_and(|own| own.returns.as_deref().is_some_and(|returns| returns.trim() == "None")) {
        return Err("its type says that it gives nothing back".to_owned());
    }
    if patterns::compile(r"(?:^|[^.\w])input\(").is_ok_and(|asks| asks.is_match(&body)) {
        return Err("it asks on the terminal".to_owned());
    }
    if own.is_some_and(|own| own.returns.is_none()) && !function.is_generator && returns_nothing(&body) {
        return Err("it gives nothing back".to_owned());
    }
    if returns_inner_function(&body) {
        return Err("it makes a function, which answers".to_owned());
    }
    let mut passing = match text_for_constructor(&seen, function) {
        Some(passing) => passing,
        None => text_call(&function.parameters, &body, fields_of, shown_as, &function.makers)?,
    };
    let made = function.instance.iter().flat_map(|made| &made.imports).chain(&passing.imports);
    if let Some((path, _)) = made.into_iter().find(|(path, _)| resolve_module(input, path).is_none()) {
        return Err(format!("{} has a name that cannot be imported", input.redactor().file(path)));
    }
    let mut around = None;
    if let Some(context) = context {
        let place = input.redactor().location(&context.path, context.line);
        around = application.filter(|_| !context.fact.contains("`request`")).cloned();
        if around.is_none() {
            return Err(format!("{place} {}, which exists only while a request is handled", context.fact));
        }
    }
    let page = |module: &str| matches!(module.split('.').next(), Some("streamlit" | "chainlit" | "gradio"));
    if let Some((module, _)) = seen.imports.iter().find(|(module, _)| page(module)) {
        let module = input.redactor().name(NameKind::Module, module, path, 0);
        return Err(format!("its file is a page of {module}, which runs when it is imported"));
    }
    let module =
        resolve_module(input, &function.path).ok_or("its file has a name that cannot be imported")?;
    let mut object = None;
    if let Some(owner) = function.owner_class() {
        let beside = seen.assigned_calls.iter().find(|(_, callee)| callee == owner);
        object = beside.map(|(name, _)| ObjectSource::Beside(name.clone()));
        if let (None, false, Some(made)) = (&object, function.is_default_constructible, &function.instance) {
            object = Some(ObjectSource::Made(made.clone()));
        }
        let shown = input.display_name(owner, path, line);
        if object.is_none() && is_abstract(&seen, owner) {
            return Err(format!("`{shown}` is abstract"));
        }
        if object.is_none() && passing.for_class.is_empty() && !function.is_default_constructible {
            let init = format!("{owner}.__init__");
            let init = seen.functions.iter().find(|known| known.name == init);
            let filled = init.is_some_and(|init| passing.fill_constructor(&init.parameters, shown_as));
            if init.is_some() && !filled {
                return Err(format!("`{shown}` needs arguments to be made"));
            }
            if !filled {
                return Err(format!("what `{shown}` needs to be made is not in its file"));
            }
        }
    }
    let yields_frames =
        function.is_generator && ["data: ", "data:{"].iter().any(|frame| body.contains(frame));
    // `-> str`, and a message is given back: `return model.invoke(prompt)`.
    let gives_message = patterns::compile(
        r"(?m)^[ \t]+return\s+(?:await\s+)?[\w.]*(?:llm|model|chain|agent|chat|executor|graph)\w*\.(?:a?invoke|a?predict_messages)\([^\n]*\)\s*$",
    );
    let returns_text = function.returns_text && !gives_message.is_ok_and(|message| message.is_match(&body));
    let function = TargetFunction { returns_text, yields_frames, ..function.clone() };
    let entry = FunctionEntry { function, module, passing, object, application: around };
    Ok(EntryMethod::Function(Box::new(entry)))
}

/// A method that takes nothing, of a class that is made with the text: `Writer(topic).run()`.
fn text_for_constructor(seen: &FileSummary, function: &TargetFunction) -> Option<TextCall> {
    let owner = function.owner_class().filter(|_| function.parameters.is_empty())?;
    let init = format!("{owner}.__init__");
    let init = seen.functions.iter().find(|known| known.name == init)?;
    let needed: Vec<&FunctionParameter> =
        init.parameters.iter().filter(|parameter| !parameter.optional).collect();
    match needed.as_slice() {
        [only] if tells_text(&only.name) || only.name == "topic" => {
            let for_class = vec![(only.name.clone(), "message".to_owned())];
            Some(TextCall { for_class, ..TextCall::default() })
        }
        _ => None,
    }
}

/// Whether a function only prints or stores its answer.
fn returns_nothing(body: &str) -> bool {
    patterns::compile(r"\breturn[ \t]+\S|\byield\b|:[ \t]*\.\.\.")
        .is_ok_and(|gives| !body.is_empty() && !gives.is_match(body))
}

/// Whether what a function gives back is a function or class that is written inside it.
pub(super) fn returns_inner_function(body: &str) -> bool {
    let inner = patterns::compile(r"\n[ \t]+(?:async\s+)?(?:def|class)\s+(\w+)");
    let Ok(inner) = inner else { return false };
    inner.captures_iter(body).any(|found| {
        let returned = format!(r"\breturn\s+{}\b(?:[^\w(]|$)", regex::escape(&found[1]));
        patterns::compile(&returned).is_ok_and(|returned| returned.is_match(body))
    })
}

/// Whether a class cannot be instantiated: it is an interface, or one of its methods is abstract.
pub(super) fn is_abstract(seen: &FileSummary, class: &str) -> bool {
    let bases = seen.classes.iter().filter(|(name, ..)| name == class).flat_map(|(_, bases, _)| bases);
    let mut last = bases.filter_map(|base| base.rsplit('.').next());
    let prefix = format!("{class}.");
    last.any(|base| matches!(base, "ABC" | "Protocol"))
        || seen.functions.iter().any(|function| {
            function.name.starts_with(&prefix)
                && function.decorators.iter().any(|decorator| decorator.ends_with("abstractmethod"))
        })
}

/// An object of an agent framework in a file, if it is clear which: its name and line; why it cannot be run, if that is so.
pub(super) fn entry_by_object(
    input: &RecipeInput<'_>,
    path: &str,
) -> Option<(String, u32, AgentObject, Result<EntryMethod, String>)> {
    let seen = input.file_summary(path)?;
    let source_of = |function: &FunctionSignature| input.source_lines(path, function.line, function.end_line);
    let factory = graph::find_graph_factory(&seen, &source_of);
    let by_factory = |callee: &str| {
        let own = factory.filter(|factory| factory.name == callee).map(|_| AgentObject::Graph);
        own.or_else(|| object_of_factory(input, path, &seen, callee))
    };
    let mut made: Vec<(&String, AgentObject)> = Vec::new();
    for (name, callee) in &seen.assigned_calls {
        let object = AgentObject::from_constructor(callee, &seen.imports).or_else(|| by_factory(callee));
        // One of several branches makes it.
        if let Some(object) = object.filter(|_| made.iter().all(|(known, _)| *known != name)) {
            made.push((name, object));
        }
    }
    let usual = |name: &str| {
        matches!(
            name,
            "graph" | "agent" | "app" | "root_agent" | "main_agent" | "triage_agent" | "workflow" | "team"
        )
    };
    // What an application of ADK holds beside its agent applies to every run.
    let app = made.iter().find(|(_, object)| *object == AgentObject::AdkApp);
    let chosen = app.or_else(|| made.iter().find(|(name, _)| made.len() == 1 || usual(name)));
    let (name, line, object) = match (chosen, factory) {
        (Some((name, object)), _) => ((*name).clone(), 0, *object),
        (None, Some(factory)) if made.is_empty() => (factory.name.clone(), factory.line, AgentObject::Graph),
        (None, None) if made.is_empty() => {
            let (factory, object) = graph::find_object_factory(&seen, &source_of)?;
            (factory.name.clone(), factory.line, object)
        }
        _ => return None,
    };
    let entry = entry_for_object(input, path, &seen, &name, object).transpose()?;
    Some((name, line, object, entry))
}

/// Whether a file runs its object outside of functions: the first is that of a lesson, and the module no part of a program.
fn runs_on_import(text: &str, name: &str) -> bool {
    let name = regex::escape(name);
    let run = patterns::compile(&format!(
        r"(?m)^(?:\w+\s*=\s*|print\(|for\s+\w+\s+in\s+|await\s+)*{name}\.(?:invoke|ainvoke|run|stream|batch|call|kickoff)\("
    ));
    run.is_ok_and(|run| run.is_match(text))
}

/// What a function of this file, or of one that it imports from, makes and returns.
pub(super) fn object_of_factory(
    input: &RecipeInput<'_>,
    path: &str,
    seen: &FileSummary,
    callee: &str,
) -> Option<AgentObject> {
    let made_in = |path: &str, summary: &FileSummary| {
        let function = summary.functions.iter().find(|function| function.name == callee)?;
        let body = input.source_lines(path, function.line, function.end_line);
        let returned = patterns::compile(r"return\s+([\w.]+)(\()?").ok()?;
        returned.captures_iter(&body).find_map(|found| {
            let value = found.get(1)?.as_str();
            if found.get(2).is_some() {
                return AgentObject::from_constructor(value, &summary.imports);
            }
            let assigned =
                patterns::compile(&format!(r"\b{}\s*=\s*([\w.]+)\(", regex::escape(value))).ok()?;
            let maker = assigned.captures(&body)?.get(1)?.as_str().to_owned();
            AgentObject::from_constructor(&maker, &summary.imports)
        })
    };
    if let Some(object) = made_in(path, seen) {
        return Some(object);
    }
    let (module, _) = seen.imports.iter().find(|(_, name)| name.as_deref() == Some(callee))?;
    let place = input.module_file(path, module)?;
    made_in(&place, &*input.file_summary(&place)?)
        // The state of a graph is declared where it is built: that file has a candidate of its own.
        .filter(|object| *object != AgentObject::Graph)
}

/// The way to an object, if its file can be imported.
pub(super) fn entry_for_object(
    input: &RecipeInput<'_>,
    path: &str,
    seen: &FileSummary,
    name: &str,
    object: AgentObject,
) -> Result<Option<EntryMethod>, String> {
    let Some(module) = resolve_module(input, path) else { return Ok(None) };
    if runs_on_import(&input.file_text(path), name) {
        let shown = input.display_name(name, path, 0);
        return Err(format!("the file runs `{shown}` with an input of its own when it is imported"));
    }
    let factory = seen.functions.iter().find(|function| function.name == name);
    let mut call = match object {
        AgentObject::Graph => graph::resolve_graph_call(input.tree, path, seen, name, input.redactor())?,
        AgentObject::Chain | AgentObject::Executor => {
            let made = seen.assigned_calls.iter().find(|(known, _)| known == name);
            let callee = made.map(|(_, callee)| callee.clone()).or_else(|| {
                let factory = factory?;
                let body = input.source_lines(path, factory.line, factory.end_line);
                let maker = patterns::compile(r"\b(RetrievalQA\w*|ConversationalRetrievalChain|LLMChain|ConversationChain|create_retrieval_chain|AgentExecutor|initialize_agent)\b").ok()?;
                Some(maker.captures_iter(&body).last()?[1].to_owned())
            });
            let shown = input.display_name(name, path, 0);
            resolve_chain_call(&input.file_text(path), callee.as_deref().unwrap_or_default(), name)
                .map_err(|why| format!("`{shown}` cannot be called with one text: {why}"))?
        }
        _ => GraphCall::default(),
    };
    if let (Some(factory), None) = (factory, call.factory) {
        call.factory = Some(factory.is_async);
    }
    Ok(Some(EntryMethod::Object { path: path.to_owned(), name: name.to_owned(), module, object, call }))
}
