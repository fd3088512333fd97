//! Call graph of the parsed files, with the calls into language model libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use tree::WorkBudget;

use crate::rules::{LibraryRole, RULES, RuleId, find_rule};
use crate::source::{CallArgument, CallSite, ProviderUrl};
use crate::source_cache::SourceCache;
use crate::symbols::{IndexedFile, NodeId, SymbolIndex, type_names};

/// A call into a language model library.
#[derive(Debug, Clone)]
pub(crate) struct ModelCall {
    pub(crate) rule: RuleId,
    pub(crate) line: u32,
    pub(crate) callee: String,
}

pub(crate) struct CallGraph<'l, 'a> {
    symbols: SymbolIndex<'l, 'a>,
    edges: BTreeMap<NodeId, BTreeSet<NodeId>>,
    pub(crate) model_calls: BTreeMap<NodeId, ModelCall>,
}

impl<'l, 'a> Deref for CallGraph<'l, 'a> {
    type Target = SymbolIndex<'l, 'a>;

    fn deref(&self) -> &Self::Target {
        &self.symbols
    }
}

/// Methods that invoke a model, across all known libraries.
#[rustfmt::skip] // a list, not a column
const MODEL_CALL_METHODS: &[&str] = &[
    "run", "run_sync", "run_async", "run_live", "run_stream", "run_streamed", "runSync", "iter", "invoke", "ainvoke",
    "stream", "astream", "astream_events", "streamEvents", "batch", "abatch", "kickoff", "kickoff_async", "akickoff",
    "kickoff_for_each", "chat", "achat", "stream_chat", "astream_chat", "query", "aquery", "complete", "acomplete",
    "completion", "acompletion", "initiate_chat", "a_initiate_chat", "on_messages", "generateText", "streamText",
    "generateObject", "streamObject", "generate", "generate_content", "generate_content_async",
    "generate_content_stream", "generateContent", "generateContentStream", "send_message", "send_message_async",
    "send_message_stream", "sendMessage", "sendMessageStream", "predict", "apredict", "streamVNext", "generateVNext",
    "arun", "call", "acall", "generate_text", "agenerate", "apply", "invoke_prompt", "invoke_prompt_stream", "get_response", "invoke_stream",
    "get_chat_message_content", "get_chat_message_contents", "get_streaming_chat_message_contents", "run_stream_events",
    "text_generation", "chat_completion", "conversational", "print_response",
];

/// Suffixes that identify a model call regardless of the object.
#[rustfmt::skip]
const MODEL_CALL_SUFFIXES: &[&str] = &[
    ".chat.completions.create", ".beta.chat.completions.parse", ".chat.completions.parse", ".responses.create",
    ".runs.create", ".runs.stream", ".runs.wait", ".messages.create", ".messages.stream", ".generate_content",
    ".generate_content_stream", ".generateContentStream",
    ".models.generateContent", ".completions.create", ".ChatCompletion.create", ".ChatCompletion.acreate",
    ".Completion.create", ".Completion.acreate", ".createChatCompletion", ".createCompletion", ".responses.stream",
    ".converse", ".converse_stream", ".invoke_model", ".invoke_model_with_response_stream", "ConverseCommand",
    "ConverseStreamCommand", "InvokeModelCommand", "InvokeModelWithResponseStreamCommand", ".responses.parse", ".chat.completions.stream", ".beta.chat.completions.stream", ".messages.parse",
];

/// Calls that send an HTTP request.
const HTTP_CALL_METHODS: &[&str] =
    &["fetch", "axios", "post", "request", "urlopen", "stream", "$fetch", "ofetch", "got"];

impl<'l, 'a> CallGraph<'l, 'a> {
    pub(crate) fn new(sources: &'l SourceCache<'a>, budget: &WorkBudget) -> Self {
        let mut graph =
            Self { symbols: SymbolIndex::new(sources), edges: BTreeMap::new(), model_calls: BTreeMap::new() };
        for file in 0..graph.files.len() {
            if budget.is_expired() || budget.is_cancelled() {
                break;
            }
            graph.add_file_edges(file);
        }
        graph.add_edges_by_method_name();
        graph
    }

    pub(crate) fn path(&self, node: NodeId) -> &'l str {
        self.files[node.file].path
    }

    pub(crate) fn callees(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.edges.get(&node).into_iter().flatten().copied()
    }

    /// The nodes that call one of these.
    pub(crate) fn callers_of<'n>(&'n self, nodes: &'n BTreeSet<NodeId>) -> impl Iterator<Item = NodeId> + 'n {
        self.edges.iter().filter(|(_, to)| !to.is_disjoint(nodes)).map(|(from, _)| *from)
    }

    /// All nodes from which a model call can be reached.
    pub(crate) fn nodes_reaching_model(&self) -> BTreeSet<NodeId> {
        let mut callers: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for (from, to) in self.edges.iter().flat_map(|(from, all)| all.iter().map(move |to| (*from, *to))) {
            callers.entry(to).or_default().push(from);
        }
        let mut found: BTreeSet<NodeId> = self.model_calls.keys().copied().collect();
        let mut open: Vec<NodeId> = found.iter().copied().collect();
        while let Some(node) = open.pop() {
            for caller in callers.get(&node).into_iter().flatten() {
                if found.insert(*caller) {
                    open.push(*caller);
                }
            }
        }
        found
    }

    /// Follows calls of objects whose class is not known: handed to a constructor, taken from a table, made by a factory.
    ///
    /// `self.writer.compose_reply(text)` leads to a model if most methods of that name do.
    fn add_edges_by_method_name(&mut self) {
        const MAX_ROUNDS: usize = 4;
        const MAX_METHODS: usize = 12;
        let mut open: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
        for (file, seen) in self.files.iter().enumerate() {
            for call in &seen.source.calls {
                let Some((object, method)) = call.callee.rsplit_once('.') else { continue };
                let root = object.split(['.', '(']).next().unwrap_or_default();
                let is_own = matches!(object, "self" | "this" | "cls" | "super()" | "super");
                if is_own || !is_telling_method(method) || self.is_external(file, root) {
                    continue;
                }
                if self.method_count(method) > MAX_METHODS {
                    continue;
                }
                let methods = self.methods_named(method);
                let is_same = |to: &NodeId| self.files[to.file].ecosystem == seen.ecosystem;
                let fits = !methods.is_empty() && methods.iter().all(is_same);
                if fits
                    && !self.is_made_outside(file, call.within, root)
                    && self.resolve_function(file, call.within, &call.callee).is_none()
                {
                    open.push((NodeId { file, function: call.within }, methods));
                }
            }
        }
        for _ in 0..MAX_ROUNDS {
            let reaching = self.nodes_reaching_model();
            let mut found = Vec::new();
            open.retain(|(from, methods)| {
                let to: Vec<NodeId> = methods.iter().filter(|to| reaching.contains(to)).copied().collect();
                let enough = to.len() * 2 >= methods.len();
                if enough {
                    found.push((*from, to));
                }
                !enough
            });
            if found.is_empty() {
                break;
            }
            for (from, to) in found {
                self.edges.entry(from).or_default().extend(to.into_iter().filter(|to| *to != from));
            }
        }
    }

    /// Whether an object was made by a call into an imported package.
    fn is_made_outside(&self, file: usize, within: Option<usize>, object: &str) -> bool {
        let made = self.find_binding(file, within, object);
        made.is_some_and(|callee| self.is_external(file, callee.split(['.', '(']).next().unwrap_or_default()))
    }

    fn add_file_edges(&mut self, file: usize) {
        let source = self.files[file].source;
        for (inner, function) in source.functions.iter().enumerate() {
            // A nested function is assumed to be called by the enclosing one.
            if let Some(outer) = function.outer {
                let to = NodeId { file, function: Some(inner) };
                self.edges.entry(NodeId { file, function: Some(outer) }).or_default().insert(to);
            }
        }
        for reference in &source.references {
            let from = NodeId { file, function: reference.within };
            let to = self.resolve_function(file, reference.within, &reference.name);
            if let Some(to) = to.filter(|to| *to != from && reference.within.is_some()) {
                self.edges.entry(from).or_default().insert(to);
            }
        }
        for call in &source.calls {
            let from = NodeId { file, function: call.within };
            let targets: Vec<NodeId> =
                self.resolve_call_targets(file, call).into_iter().filter(|to| *to != from).collect();
            self.edges.entry(from).or_default().extend(targets);
            let found = self
                .model_library_of_call(file, call.within, &call.callee)
                .filter(|rule| !runs_other_model(*rule, call));
            if found.is_none() && calls_what_it_is_given(&call.callee) {
                self.record_handed_call(file, call);
            }
            if let Some(rule) = found.or_else(|| self.library_of_request(file, call)) {
                self.record_model_call(file, call, rule);
            }
        }
    }

    /// The library for the provider that a plain HTTP request goes to: its address is in the function, or a constant of the
    /// file.
    fn library_of_request(&self, file: usize, call: &CallSite) -> Option<RuleId> {
        let IndexedFile { source, ecosystem, .. } = &self.files[file];
        let verb = call.callee.rsplit('.').next()?.trim_end_matches("()");
        if source.provider_urls.is_empty() || call.within.is_none() || !HTTP_CALL_METHODS.contains(&verb) {
            return None;
        }
        // The address of a provider is also that of its vectors.
        let name = call.within.and_then(|at| source.functions.get(at)).map_or("", |function| &function.name);
        if [self.files[file].path, name].iter().any(|name| name.to_ascii_lowercase().contains("embed")) {
            return None;
        }
        let is_near = |within: Option<usize>| within == call.within || within.is_none();
        // Kept by the constructor, as a default: `constructor(url = "https://api.openai.com/…")`.
        let is_made = |within: Option<usize>| {
            let function = within.and_then(|at| source.functions.get(at));
            function.is_some_and(|function| matches!(function.name.as_str(), "constructor" | "__init__"))
        };
        let urls = || source.provider_urls.iter();
        // The host tells more than the form of a request.
        let of_host = |url: &&ProviderUrl| url.library != "openai-compatible";
        let near = || urls().filter(|url| is_near(url.within));
        let found = near()
            .find(of_host)
            .or_else(|| near().next())
            .or_else(|| urls().find(|url| is_made(url.within)))?;
        find_rule(*ecosystem, found.library)
    }

    /// The function that is called, and functions passed as arguments: `add_node(call_model)`,
    /// `Depends(get_agent)`.
    fn resolve_call_targets(&self, file: usize, call: &CallSite) -> Vec<NodeId> {
        let handed = call.arguments.iter().chain(call.keyword_arguments.iter().map(|(_, value)| value));
        let handed = handed.filter_map(|value| match value {
            CallArgument::Name(name) => self.resolve_function(file, call.within, name),
            CallArgument::Function(function) => Some(NodeId { file, function: Some(*function) }),
            _ => None,
        });
        let called = self.resolve_function(file, call.within, &call.callee);
        let implemented = called.into_iter().flat_map(|called| self.implementations(called)).take(8);
        let listed = match called {
            Some(_) => Vec::new(),
            // `getattr(self, name)` may be any of the methods.
            None if call.callee == "getattr"
                && call.arguments.first() == Some(&CallArgument::Name("self".to_owned())) =>
            {
                self.methods_beside(file, call.within)
            }
            None => self.functions_in_table(file, &call.callee),
        };
        called.into_iter().chain(implemented).chain(handed).chain(listed).collect()
    }

    /// Records a method of a model that another function calls: `asyncio.to_thread(agent.invoke, {…})`.
    fn record_handed_call(&mut self, file: usize, call: &CallSite) {
        let names = call.arguments.iter().filter_map(|argument| match argument {
            CallArgument::Name(name) if name.contains('.') => Some(name),
            _ => None,
        });
        let found = names
            .into_iter()
            .find_map(|name| Some((name, self.model_library_of_call(file, call.within, name)?)));
        if let Some((name, rule)) = found {
            let handed = CallSite { callee: name.clone(), ..call.clone() };
            self.record_model_call(file, &handed, rule);
        }
    }

    /// Records a model call for the function and all enclosing ones: only the outermost can be called from
    /// elsewhere.
    fn record_model_call(&mut self, file: usize, call: &CallSite, rule: RuleId) {
        let found = ModelCall { rule, line: call.line, callee: call.callee.clone() };
        let functions = &self.files[file].source.functions;
        let mut outer = call.within;
        while let Some(at) = outer {
            self.model_calls.entry(NodeId { file, function: outer }).or_insert_with(|| found.clone());
            outer = functions.get(at).and_then(|function| function.outer);
        }
        self.model_calls.entry(NodeId { file, function: call.within }).or_insert(found);
    }

    /// The library that a call invokes a model with, if any.
    fn model_library_of_call(&self, file: usize, within: Option<usize>, callee: &str) -> Option<RuleId> {
        let verb = callee.rsplit('.').next()?.trim_end_matches("()");
        // Pictures, sounds and vectors are no answers.
        let others = [
            ".images.",
            ".image.",
            ".audio.",
            ".embeddings.",
            ".moderations.",
            ".files.",
            // A message is stored in a thread; a run answers it.
            ".threads.messages.",
        ];
        let lower = callee.to_ascii_lowercase();
        // A tool is run with what a model says.
        let object = lower.rsplit('.').nth(1).unwrap_or_default();
        let is_tool = object.ends_with("tool") || object.starts_with("tools_by") || object == "tools";
        let finds = [
            "retriever.",
            "retriever()",
            "vectorstore.",
            "vector_store.",
            "embedding",
            "splitter.",
            "loader.",
        ];
        if is_tool
            || others.iter().any(|part| callee.contains(part))
            || finds.iter().any(|part| lower.contains(part))
        {
            return None;
        }
        let is_known = MODEL_CALL_SUFFIXES.iter().any(|end| callee.ends_with(end));
        let is_pipeline = !callee.contains('.') && self.is_callable_model(file, within, callee);
        // Functions defined in the tree are followed through the graph instead.
        if !(is_known || is_pipeline || MODEL_CALL_METHODS.contains(&verb))
            || self.resolve_declared_function(file, within, callee).is_some()
        {
            return None;
        }
        let found = self.resolve_model_library(file, within, callee, 5);
        if found.is_none() && self.resolve_function(file, within, callee).is_some() {
            return None;
        }
        let found = found.or_else(|| is_known.then(|| self.first_imported_model_library(file)).flatten());
        // The method of this name is nowhere else to be found.
        let is_compatible = callee.contains(".chat.completions.") || callee.ends_with(".responses.create");
        let is_bedrock = || {
            let verbs =
                [".converse", ".converse_stream", ".invoke_model", ".invoke_model_with_response_stream"];
            let is_called = verbs.iter().any(|end| callee.ends_with(end));
            is_called.then(|| find_rule(self.files[file].ecosystem, "bedrock"))?
        };
        found
            .or_else(is_bedrock)
            .or_else(|| is_compatible.then(|| find_rule(self.files[file].ecosystem, "openai-compatible"))?)
            .or_else(|| self.runnable_library(file, callee, verb))
    }

    /// `LangChain`, for an object that is handed in without a type: `self.agent.ainvoke(…)`, where the program uses it.
    fn runnable_library(&self, file: usize, callee: &str, verb: &str) -> Option<RuleId> {
        if !matches!(verb, "ainvoke" | "astream" | "astream_events" | "invoke") {
            return None;
        }
        let object = callee.rsplit('.').nth(1)?.to_ascii_lowercase();
        let is_runnable = ["agent", "chain", "graph", "llm", "model", "workflow", "executor"]
            .iter()
            .any(|word| object.ends_with(word));
        let rule = find_rule(self.files[file].ecosystem, "langchain").filter(|_| is_runnable)?;
        let uses_it = |source: &crate::source::ParsedSource| {
            source.imports.iter().any(|import| {
                let module = import.module.trim_start_matches('@');
                module.starts_with("langchain") || module.starts_with("langgraph")
            })
        };
        self.files.iter().any(|file| uses_it(file.source)).then_some(rule)
    }

    /// Whether a name holds an object that is called to get an answer: `pipe = pipeline("text-generation")`.
    fn is_callable_model(&self, file: usize, within: Option<usize>, name: &str) -> bool {
        let made = self.find_binding(file, within, name).unwrap_or_default();
        let maker = made.rsplit('.').next().unwrap_or_default();
        matches!(maker, "pipeline" | "Llama" | "from_chain_type" | "from_llm" | "LLMChain" | "AgentExecutor")
            || maker.ends_with("Chain")
            // An agent of Strands is called like a function.
            || !made.is_empty()
                && self
                    .resolve_model_library(file, within, name, 5)
                    .is_some_and(|rule| RULES[rule].name == "strands")
    }

    /// The model library that provides the object of a call.
    fn resolve_model_library(
        &self,
        file: usize,
        within: Option<usize>,
        name: &str,
        hops: usize,
    ) -> Option<RuleId> {
        if let Some(rule) = self.imported_library(file, name) {
            return Some(rule).filter(|rule| RULES[*rule].role != LibraryRole::Web);
        }
        if hops == 0 {
            return None;
        }
        let mut parts = name.split('.').map(|part| part.trim_end_matches("()"));
        let first = parts.next()?;
        let root = match (first, parts.next()) {
            ("self" | "this", Some(attribute)) => format!("{first}.{attribute}"),
            _ => first.to_owned(),
        };
        if let Some(callee) = self.find_binding(file, within, &root) {
            let found = self.resolve_model_library(file, within, callee, hops - 1);
            // `prompt | model`: whatever the first part is, a model is among them.
            let is_chain = callee.ends_with("__or__") || callee.ends_with("__ror__");
            return found.or_else(|| self.first_imported_model_library(file).filter(|_| is_chain));
        }
        if let Some(annotation) = self.find_annotation(file, within, &root) {
            // A field of an object of the program: `self.provider.client.responses.create`.
            let depth = root.split('.').count();
            let attribute = name.split('.').nth(depth).unwrap_or_default().trim_end_matches("()");
            let by_field = type_names(annotation)
                .filter_map(|word| self.find_class(file, word))
                .find_map(|(other, class)| self.library_of_field(other, class, attribute, hops - 1));
            if by_field.is_some() {
                return by_field;
            }
            let mut rules = type_names(annotation).filter_map(|word| self.imported_library(file, word));
            return rules.find(|rule| RULES[*rule].role != LibraryRole::Web);
        }
        if let Some((other, class)) = self.find_class(file, first) {
            return self.library_of_class(other, class);
        }
        if let Some((other, there)) = self.imported_from(file, &root) {
            let there = if there.is_empty() { name.split('.').nth(1)?.trim_end_matches("()") } else { there };
            return match self.find_binding(other, None, there) {
                Some(callee) => self.resolve_model_library(other, None, callee, hops - 1),
                None => self.library_of_return_value(other, there),
            };
        }
        self.library_of_return_value(file, first).or_else(|| {
            // `self._build_chain()`: what the method makes.
            let node = self.resolve_function(file, within, name)?;
            self.library_of_calls_in(node)
        })
    }

    /// The library of what a class keeps in a field: `self.client = OpenAI()`.
    fn library_of_field(&self, file: usize, class: &str, field: &str, hops: usize) -> Option<RuleId> {
        let source = self.files[file].source;
        let wanted = [format!("self.{field}"), format!("this.{field}")];
        let made = source.bindings.iter().find(|binding| {
            wanted.contains(&binding.name) && self.enclosing_class(file, binding.within) == Some(class)
        })?;
        self.resolve_model_library(file, made.within, &made.callee, hops)
    }

    /// The library that a name was imported from.
    fn imported_library(&self, file: usize, name: &str) -> Option<RuleId> {
        let IndexedFile { path, source, ecosystem, .. } = &self.files[file];
        self.sources.resolve_library_name(path, *ecosystem, source, name).map(|(rule, _)| rule)
    }

    /// The library that a class of the tree wraps, judging by what its methods call:
    /// `MyCrew().crew().kickoff()`.
    fn library_of_class(&self, file: usize, class: &str) -> Option<RuleId> {
        let source = self.files[file].source;
        let is_own = |within: Option<usize>| {
            let owner = within.and_then(|at| source.functions.get(at)).and_then(|f| f.owner.as_deref());
            owner == Some(class)
        };
        let bases = self.resolve_class(file, class).into_iter().flat_map(|class| &class.bases);
        let made = source.calls.iter().filter(|call| is_own(call.within)).map(|call| &call.callee).take(200);
        bases
            .chain(made)
            .filter_map(|name| self.imported_library(file, name))
            .find(|rule| RULES[*rule].role != LibraryRole::Web)
    }

    /// The library of a function's return value, guessed from the calls in its body.
    fn library_of_return_value(&self, file: usize, function: &str) -> Option<RuleId> {
        self.library_of_calls_in(self.find_function(file, function, 2)?)
    }

    fn library_of_calls_in(&self, node: NodeId) -> Option<RuleId> {
        let calls = self.files[node.file].source.calls.iter().filter(|call| call.within == node.function);
        let rules = calls.take(50).filter_map(|call| self.imported_library(node.file, &call.callee));
        rules.into_iter().find(|rule| RULES[*rule].role != LibraryRole::Web)
    }

    fn first_imported_model_library(&self, file: usize) -> Option<RuleId> {
        let seen = self.sources.get(self.files[file].path)?;
        seen.imports.iter().map(|import| import.rule).find(|rule| RULES[*rule].role != LibraryRole::Web)
    }
}

/// Whether a call of Replicate runs something else than a language model, by its name.
fn runs_other_model(rule: RuleId, call: &CallSite) -> bool {
    let words = [
        "llama", "mistral", "mixtral", "gpt", "claude", "gemini", "chat", "instruct", "qwen", "deepseek",
        "vicuna", "falcon", "phi", "granite",
    ];
    RULES[rule].name == "replicate"
        && call
            .first_string()
            .is_some_and(|model| !words.iter().any(|word| model.to_lowercase().contains(word)))
}

/// Whether a function calls a function that it is given.
fn calls_what_it_is_given(callee: &str) -> bool {
    matches!(
        callee.rsplit('.').next(),
        Some(
            "to_thread"
                | "run_in_executor"
                | "run_in_threadpool"
                | "submit"
                | "partial"
                | "run_sync"
                | "wait_for"
                | "sync_to_async"
        )
    )
}

/// Whether a method's name says enough to find it by: not one that everything has.
fn is_telling_method(name: &str) -> bool {
    #[rustfmt::skip] // a list, not a column
    const COMMON: &[&str] = &[
        "run", "execute", "invoke", "ainvoke", "call", "process", "handle", "start", "stop", "create", "update", "delete", "get",
        "set", "add", "save", "load", "find", "send", "post", "put", "list", "read", "write", "open", "close", "init", "setup",
        "build", "make", "emit", "append", "push", "pop", "map", "filter", "forEach", "format", "parse", "join", "query", "search",
        "stream", "next", "then", "commit", "connect", "validate", "clear", "reset", "on", "use", "render", "model_dump", "dict",
        "apply", "fetch", "request", "main", "test", "train", "predict", "encode", "decode", "transform", "log", "info", "error",
    ];
    name.len() >= 4 && !COMMON.contains(&name)
}
