//! Who calls whom, as far as names tell, and which calls go into a language model.

use std::collections::{BTreeMap, BTreeSet};

use crate::language::Language;
use crate::look::Looks;
use crate::manifest::Ecosystem;
use crate::modules;
use crate::rules::{RULES, Role, RuleId};
use crate::source::{Argument, Class, Function, Source};
use crate::survey::ecosystem_of;

/// A function in a file; `None` for what the file does when it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId {
    pub(crate) file: usize,
    pub(crate) function: Option<usize>,
}

/// A call into a library for language models.
#[derive(Debug, Clone)]
pub(crate) struct ModelCall {
    pub(crate) rule: RuleId,
    pub(crate) line: u32,
    pub(crate) callee: String,
}

/// The files that take part.
pub(crate) struct Graph<'l, 'a> {
    pub(crate) looks: &'l Looks<'a>,
    pub(crate) files: Vec<File<'l>>,
    by_path: BTreeMap<&'l str, usize>,
    edges: BTreeMap<NodeId, BTreeSet<NodeId>>,
    pub(crate) model_calls: BTreeMap<NodeId, ModelCall>,
}

pub(crate) struct File<'l> {
    pub(crate) path: &'l str,
    pub(crate) source: &'l Source,
    ecosystem: Ecosystem,
}

/// Methods that make a model work, in all the libraries that are known.
const RUNS: &[&str] = &[
    "run",
    "run_sync",
    "run_async",
    "run_live",
    "run_stream",
    "run_streamed",
    "runSync",
    "iter",
    "invoke",
    "ainvoke",
    "stream",
    "astream",
    "astream_events",
    "streamEvents",
    "batch",
    "abatch",
    "kickoff",
    "kickoff_async",
    "akickoff",
    "kickoff_for_each",
    "chat",
    "achat",
    "stream_chat",
    "astream_chat",
    "query",
    "aquery",
    "complete",
    "acomplete",
    "completion",
    "acompletion",
    "initiate_chat",
    "a_initiate_chat",
    "on_messages",
    "generateText",
    "streamText",
    "generateObject",
    "streamObject",
    "generate",
    "generate_content",
    "generate_content_async",
    "generate_content_stream",
    "generateContent",
    "generateContentStream",
    "send_message",
    "send_message_async",
    "send_message_stream",
    "sendMessage",
    "sendMessageStream",
    "predict",
    "apredict",
    "streamVNext",
    "generateVNext",
];

/// Ends of calls that are about a model whoever makes them.
const KNOWN: &[&str] = &[
    ".chat.completions.create",
    ".beta.chat.completions.parse",
    ".chat.completions.parse",
    ".responses.create",
    ".runs.create",
    ".runs.stream",
    ".runs.wait",
    ".messages.create",
    ".messages.stream",
    ".generate_content",
    ".models.generateContent",
    ".completions.create",
];

impl<'l, 'a> Graph<'l, 'a> {
    pub(crate) fn new(looks: &'l Looks<'a>) -> Self {
        let file = |(path, seen): (&'l str, &'l crate::look::Seen)| {
            let language = looks.survey.find(path).and_then(|file| file.language).unwrap_or(Language::Html);
            Some(File { path, source: seen.source.as_ref()?, ecosystem: ecosystem_of(language)? })
        };
        let files: Vec<File<'l>> = looks.all().filter_map(file).collect();
        let by_path = files.iter().enumerate().map(|(at, file)| (file.path, at)).collect();
        let mut graph = Self { looks, files, by_path, edges: BTreeMap::new(), model_calls: BTreeMap::new() };
        for file in 0..graph.files.len() {
            graph.connect(file);
        }
        graph
    }

    pub(crate) fn function(&self, node: NodeId) -> Option<&'l Function> {
        self.files[node.file].source.functions.get(node.function?)
    }

    pub(crate) fn path(&self, node: NodeId) -> &'l str {
        self.files[node.file].path
    }

    pub(crate) fn file(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    pub(crate) fn called_by(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.edges.get(&node).into_iter().flatten().copied()
    }

    /// Everything from which a call into a model can be reached.
    pub(crate) fn reaching(&self) -> BTreeSet<NodeId> {
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

    fn connect(&mut self, file: usize) {
        let source = self.files[file].source;
        for (inner, function) in source.functions.iter().enumerate() {
            // A function within a function is taken to be called by it.
            if let Some(outer) = function.outer {
                let to = NodeId { file, function: Some(inner) };
                self.edges.entry(NodeId { file, function: Some(outer) }).or_default().insert(to);
            }
        }
        for call in &source.calls {
            let from = NodeId { file, function: call.within };
            let mut targets = self.targets(file, call.within, &call.callee);
            let values = call.arguments.iter().chain(call.named.iter().map(|(_, value)| value));
            for value in values {
                match value {
                    // What is handed over is called some time: `add_node(call_model)`, `Depends(get_agent)`.
                    Argument::Name(name) => targets.extend(self.targets(file, call.within, name)),
                    Argument::Function(function) => targets.push(NodeId { file, function: Some(*function) }),
                    _ => {}
                }
            }
            self.edges.entry(from).or_default().extend(targets.into_iter().filter(|to| *to != from));
            if let Some(rule) = self.model_call(file, call.within, &call.callee) {
                let found = ModelCall { rule, line: call.line, callee: call.callee.clone() };
                // A call in a function within a function is the outer one's as well: only that has a name for others.
                let mut outer = call.within;
                while let Some(at) = outer {
                    self.model_calls.entry(NodeId { file, function: outer }).or_insert_with(|| found.clone());
                    outer = source.functions.get(at).and_then(|function| function.outer);
                }
                self.model_calls.entry(from).or_insert(found);
            }
        }
    }

    /// The class of this name, here or where it is imported from.
    pub(crate) fn class_definition(&self, file: usize, name: &str) -> Option<&'l Class> {
        let (file, name) = self.class_named(file, name)?;
        self.files[file].source.classes.iter().find(|class| class.name == name)
    }

    /// The functions of the tree that a dotted name may mean.
    pub(crate) fn targets(&self, file: usize, within: Option<usize>, name: &str) -> Vec<NodeId> {
        let parts: Vec<&str> = name.split('.').map(|part| part.trim_end_matches("()")).collect();
        match parts.as_slice() {
            [] | [""] => Vec::new(),
            [only] => self.named(file, only, 3),
            ["self" | "this" | "cls", method] => self
                .class_around(file, within)
                .map(|class| self.methods(file, &class, method))
                .unwrap_or_default(),
            ["self" | "this", attribute, .., method] => {
                let owner = format!("{}.{attribute}", parts[0]);
                self.class_of(file, within, &owner)
                    .map(|(f, class)| self.methods(f, &class, method))
                    .unwrap_or_default()
            }
            [object, .., method] => {
                if let Some((f, class)) = self.class_of(file, within, object) {
                    return self.methods(f, &class, method);
                }
                let module = self.imported(file, object);
                module.map(|(f, _)| self.named(f, method, 1)).unwrap_or_default()
            }
        }
    }

    /// A function by its name: here, or where the name is imported from.
    fn named(&self, file: usize, name: &str, hops: usize) -> Vec<NodeId> {
        let functions = self.files[file].source.functions.iter().enumerate();
        let here: Vec<_> = functions
            .filter(|(_, function)| function.name == name && function.owner.is_none())
            .map(|(at, _)| NodeId { file, function: Some(at) })
            .collect();
        if !here.is_empty() || hops == 0 {
            return here;
        }
        let Some((other, name)) = self.imported(file, name) else { return Vec::new() };
        if other == file { Vec::new() } else { self.named(other, &name, hops - 1) }
    }

    /// The file that a local name comes from, and its name there.
    pub(crate) fn imported(&self, file: usize, local: &str) -> Option<(usize, String)> {
        let File { path, source, .. } = &self.files[file];
        let import = source.imports.iter().find(|import| import.local == local)?;
        let other = modules::file_of(self.looks, path, import)?;
        Some((self.file(&other)?, import.name.clone().unwrap_or_default()))
    }

    fn methods(&self, file: usize, class: &str, method: &str) -> Vec<NodeId> {
        let functions = self.files[file].source.functions.iter().enumerate();
        let own = functions.filter(|(_, f)| f.name == method && f.owner.as_deref() == Some(class));
        own.map(|(at, _)| NodeId { file, function: Some(at) }).collect()
    }

    fn class_around(&self, file: usize, within: Option<usize>) -> Option<String> {
        let functions = &self.files[file].source.functions;
        let mut at = functions.get(within?)?;
        while at.owner.is_none() {
            at = functions.get(at.outer?)?;
        }
        at.owner.clone()
    }

    /// The class of an object, by what it was made with or declared as.
    fn class_of(&self, file: usize, within: Option<usize>, object: &str) -> Option<(usize, String)> {
        let made = self.binding(file, within, object).and_then(|callee| self.class_named(file, callee));
        made.or_else(|| {
            let annotation = self.annotation(file, within, object)?;
            words(annotation).find_map(|word| self.class_named(file, word))
        })
        .or_else(|| {
            // Made in another file: `from .deps import agent`.
            let (other, name) = self.imported(file, object)?;
            let callee = self.binding(other, None, &name)?;
            self.class_named(other, callee)
        })
    }

    fn class_named(&self, file: usize, name: &str) -> Option<(usize, String)> {
        let name = name.rsplit('.').next()?;
        if self.files[file].source.classes.iter().any(|class| class.name == name) {
            return Some((file, name.to_owned()));
        }
        let (other, name) = self.imported(file, name)?;
        let is_there = self.files[other].source.classes.iter().any(|class| class.name == name);
        is_there.then_some((other, name))
    }

    /// What a name was made with: in this function, in those around it, or in the file.
    fn binding(&self, file: usize, within: Option<usize>, name: &str) -> Option<&'l str> {
        let source = self.files[file].source;
        let by_place = |place: Option<usize>| {
            source.bindings.iter().find(|b| b.name == name && b.within == place).map(|b| b.callee.as_str())
        };
        if name.contains('.') {
            return source.bindings.iter().find(|b| b.name == name).map(|b| b.callee.as_str());
        }
        let mut place = within;
        while let Some(at) = place {
            if let Some(callee) = by_place(place) {
                return Some(callee);
            }
            place = source.functions.get(at)?.outer;
        }
        by_place(None)
    }

    /// The type that a parameter or a field says to have.
    fn annotation(&self, file: usize, within: Option<usize>, object: &str) -> Option<&'l str> {
        let source = self.files[file].source;
        let field = object.strip_prefix("this.").or_else(|| object.strip_prefix("self."));
        if let Some(field) = field {
            let class = self.class_around(file, within)?;
            let declared = source.classes.iter().filter(|c| c.name == class).flat_map(|c| &c.fields);
            let makers = source.functions.iter().filter(|f| f.owner.as_deref() == Some(class.as_str()));
            let makers = makers.filter(|f| matches!(f.name.as_str(), "constructor" | "__init__"));
            let mut all = declared.chain(makers.flat_map(|f| &f.parameters));
            return all.find(|parameter| parameter.name == field)?.annotation.as_deref();
        }
        let function = source.functions.get(within?)?;
        function.parameters.iter().find(|parameter| parameter.name == object)?.annotation.as_deref()
    }

    /// The library that a call makes a model work with, if it does.
    fn model_call(&self, file: usize, within: Option<usize>, callee: &str) -> Option<RuleId> {
        let verb = callee.rsplit('.').next()?.trim_end_matches("()");
        let is_known = KNOWN.iter().any(|end| callee.ends_with(end));
        // What the tree defines itself is followed, not judged.
        if !(is_known || RUNS.contains(&verb)) || !self.targets(file, within, callee).is_empty() {
            return None;
        }
        let found = self.library(file, within, callee, 5).filter(|rule| RULES[*rule].role != Role::Web);
        found.or_else(|| is_known.then(|| self.any_model_library(file)).flatten())
    }

    /// The library that the object of a call comes from.
    fn library(&self, file: usize, within: Option<usize>, name: &str, hops: usize) -> Option<RuleId> {
        let File { path, source, ecosystem } = &self.files[file];
        let is_model = |rule: &RuleId| RULES[*rule].role != Role::Web;
        if let Some((rule, _)) = self.looks.resolve(path, *ecosystem, source, name) {
            return Some(rule).filter(is_model);
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
        if let Some(callee) = self.binding(file, within, &root) {
            return self.library(file, within, callee, hops - 1);
        }
        if let Some(annotation) = self.annotation(file, within, &root) {
            return words(annotation).find_map(|word| {
                self.looks.resolve(path, *ecosystem, source, word).map(|(rule, _)| rule).filter(is_model)
            });
        }
        if let Some((other, class)) = self.class_named(file, first) {
            return self.library_of_class(other, &class);
        }
        if let Some((other, there)) = self.imported(file, &root) {
            let there =
                if there.is_empty() { name.split('.').nth(1)?.trim_end_matches("()") } else { &there };
            let callee = self.binding(other, None, there);
            return match callee {
                Some(callee) => self.library(other, None, callee, hops - 1),
                None => self.made_by(other, there, hops - 1),
            };
        }
        self.made_by(file, first, hops - 1)
    }

    /// The library that a class of the tree wraps, by what its methods make: `MyCrew().crew().kickoff()`.
    fn library_of_class(&self, file: usize, class: &str) -> Option<RuleId> {
        let File { path, source, ecosystem } = &self.files[file];
        let is_own = |within: Option<usize>| {
            let owner = within.and_then(|at| source.functions.get(at)).and_then(|f| f.owner.as_deref());
            owner == Some(class)
        };
        let resolved = |name: &str| self.looks.resolve(path, *ecosystem, source, name).map(|(rule, _)| rule);
        let bases = source.classes.iter().filter(|c| c.name == class).flat_map(|c| &c.bases);
        let made = source.calls.iter().filter(|call| is_own(call.within)).map(|call| &call.callee);
        bases.chain(made).filter_map(|name| resolved(name)).find(|rule| RULES[*rule].role != Role::Web)
    }

    /// The library of what a function of the tree gives back, guessed from what it makes.
    fn made_by(&self, file: usize, function: &str, hops: usize) -> Option<RuleId> {
        if hops == 0 {
            return None;
        }
        let node = self.named(file, function, 2).into_iter().next()?;
        let source = self.files[node.file].source;
        let calls =
            source.calls.iter().filter(|call| call.within == node.function && call.callee != function);
        calls.take(50).find_map(|call| {
            let (rule, _) = self.looks.resolve(
                self.files[node.file].path,
                self.files[node.file].ecosystem,
                source,
                &call.callee,
            )?;
            (RULES[rule].role != Role::Web).then_some(rule)
        })
    }

    fn any_model_library(&self, file: usize) -> Option<RuleId> {
        let seen = self.looks.get(self.files[file].path)?;
        seen.imports.iter().map(|import| import.rule).find(|rule| RULES[*rule].role != Role::Web)
    }
}

/// The names in a type: `Optional[list[ChatRequest]]`.
pub(crate) fn words(annotation: &str) -> impl Iterator<Item = &str> {
    annotation.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).filter(|word| !word.is_empty())
}
