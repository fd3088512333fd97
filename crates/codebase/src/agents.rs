//! Finds the functions that act as an agent, and the routes that lead to them.
//!
//! A function acts as an agent if it leads to a call into a model library and is itself reachable from a
//! route or an entry point. In a chain of such functions, the agent is the outermost one that is not merely a
//! route handler: it is the one to call with a question.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::call_graph::{CallGraph, ModelCall};
use crate::file_summary;
use crate::import_resolution;
use crate::instances::{MAX_DEPTH, MakerIndex, find_maker, parameter_makers};
use crate::inventory::FileRecord;
use crate::manifest::join_path;
use crate::name_redaction::NameKind;
use crate::path_role;
use crate::profile::{Agent, AgentFunction, AgentFunctionRole, EntryPoint, Evidence, Route};
use crate::routes::{self, DetectedRoute};
use crate::rules::{LibraryRole, RULES};
use crate::source::CallArgument;
use crate::source_cache::SourceCache;
use crate::symbols::NodeId;

const MAX_FOLLOWED_FILES: usize = 1500;
const MAX_START_FILES_PER_PROJECT: usize = 150;
const MAX_AGENTS: usize = 50;
const MAX_ROUTES: usize = 100;
const MAX_FIELDS: usize = 40;
const MAX_AGENT_FUNCTIONS: usize = 12;

pub(crate) fn find_agents(
    sources: &mut SourceCache<'_>,
    files: &[Vec<&FileRecord>],
    entries: &[Vec<EntryPoint>],
    with_models: &[bool],
) -> (Vec<Agent>, (Vec<Route>, Vec<Route>)) {
    load_imported_files(sources, starting_files(files, entries, with_models));
    let graph = CallGraph::new(sources, sources.budget());
    let finder = AgentFinder {
        reaches_model: graph.nodes_reaching_model(),
        graph: &graph,
        agents: BTreeMap::new(),
        used_names: OnceCell::new(),
        makers: OnceCell::new(),
    };
    let (mut agents, mut routes, mut other_routes) = finder.find(entries);
    other_routes.truncate(MAX_ROUTES);
    let left_out = [("agents", agents.len(), MAX_AGENTS), ("routes", routes.len(), MAX_ROUTES)];
    agents.truncate(MAX_AGENTS);
    routes.truncate(MAX_ROUTES);
    for (what, all, shown) in left_out.into_iter().filter(|(_, all, shown)| all > shown) {
        sources.omissions.insert(format!("{shown} of {all} {what} are listed"));
    }
    (agents, (routes, other_routes))
}

/// Files that may contain agents or lead to them.
fn starting_files(
    files: &[Vec<&FileRecord>],
    entries: &[Vec<EntryPoint>],
    with_models: &[bool],
) -> Vec<String> {
    let mut begin: Vec<String> = entries.iter().flatten().map(|point| point.path.clone()).collect();
    for (own, with_model) in files.iter().zip(with_models) {
        let interesting = |file: &&&FileRecord| {
            let Some(hits) = file.hits else { return false };
            let mentions =
                |rule: usize| hits.mentions(rule) && (*with_model || RULES[rule].role == LibraryRole::Web);
            !path_role::is_test(&file.path) && (0..RULES.len()).any(mentions)
        };
        let mut paths: Vec<&str> = own.iter().filter(interesting).map(|file| file.path.as_str()).collect();
        // The input is sorted by path and the sort is stable, so paths stay sorted within a rank.
        paths.sort_by_cached_key(|path| path_role::entry_point_rank(path));
        begin.extend(paths.into_iter().take(MAX_START_FILES_PER_PROJECT).map(str::to_owned));
    }
    begin
}

/// Loads these files and, transitively, the files they import.
fn load_imported_files(sources: &mut SourceCache<'_>, begin: Vec<String>) {
    let mut open = begin;
    let mut known: BTreeSet<String> = BTreeSet::new();
    while !open.is_empty() && known.len() < MAX_FOLLOWED_FILES {
        open.truncate(MAX_FOLLOWED_FILES - known.len());
        sources.load_files(open.iter().map(String::as_str).collect());
        known.extend(open.iter().cloned());
        let mut next = BTreeSet::new();
        for path in &open {
            let imports =
                sources.get(path).and_then(|seen| seen.source.as_ref()).map(|source| &source.imports);
            let files = imports
                .into_iter()
                .flatten()
                .filter_map(|import| import_resolution::resolve_import(sources, path, import));
            // Python runs the package of a module first.
            let files: Vec<String> = files.collect();
            let packages = files.iter().filter(|file| file.ends_with(".py")).map(|file| {
                let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
                join_path(folder, "__init__.py")
            });
            let packages: Vec<String> = packages.filter(|file| sources.inventory.contains(file)).collect();
            let all = files.into_iter().chain(packages);
            next.extend(all.filter(|file| !known.contains(file) && !path_role::is_test(file)));
        }
        open = next.into_iter().collect();
    }
}

struct AgentFinder<'g, 'l, 'a> {
    graph: &'g CallGraph<'l, 'a>,
    reaches_model: BTreeSet<NodeId>,
    agents: BTreeMap<NodeId, Agent>,
    used_names: OnceCell<HashSet<&'l str>>,
    makers: OnceCell<MakerIndex<'l>>,
}

impl<'l> AgentFinder<'_, 'l, '_> {
    /// The agents, the routes to them, and the other routes.
    fn find(mut self, entries: &[Vec<EntryPoint>]) -> (Vec<Agent>, Vec<Route>, Vec<Route>) {
        let facts = routes::find_routes(self.graph);
        let handlers: BTreeSet<NodeId> = facts.iter().map(|fact| fact.handler).collect();
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for fact in &facts {
            if self.graph.sources.is_out_of_budget() {
                break;
            }
            let from = format!("{} {}", fact.method, fact.path);
            if let Some(agent) = self.outermost_agent_function(fact.handler, &handlers) {
                let name = self.record_agent(agent, Some(from));
                found.push(self.build_route(fact, Some((agent, name))));
            } else if others.len() < MAX_ROUTES {
                others.push(self.build_route(fact, None));
            }
        }
        for path in entries.iter().flatten().map(|point| &point.path) {
            let Some(file) = self.graph.file_index(path) else { continue };
            for root in self.startup_nodes(file) {
                if let Some(agent) = self.outermost_agent_function(root, &handlers) {
                    self.record_agent(agent, Some(path.clone()));
                }
            }
        }
        // In a library, the agent function may have no caller.
        let direct: Vec<NodeId> = self.graph.model_calls.keys().copied().collect();
        let aside = |node: &NodeId| path_role::is_example_or_test(self.graph.path(*node));
        let projects = &self.graph.sources.projects;
        let project_of = |node: &NodeId| projects.innermost_project(self.graph.path(*node));
        let with_agents: BTreeSet<Option<usize>> =
            self.agents.keys().filter(|node| !aside(node)).map(project_of).collect();
        let is_own = |node: &NodeId| {
            let is_found = with_agents.contains(&project_of(node));
            node.function.is_some() && !is_found && !aside(node) && !self.is_method_of_tool(*node)
        };
        for node in direct.into_iter().filter(is_own).collect::<Vec<_>>() {
            for agent in self.public_callers(self.outermost_function(node)) {
                self.record_agent(agent, None);
            }
        }
        let mut agents: Vec<Agent> = self.agents.into_values().collect();
        agents.sort_by_cached_key(|agent| {
            // A route is `METHOD path`; a file path has no space.
            let by_route = agent.reached_from.as_ref().is_some_and(|from| from.contains(' '));
            (
                path_role::is_example_or_test(&agent.path),
                agent.reached_from.is_none(),
                !by_route,
                agent.path.clone(),
                agent.line,
            )
        });
        (agents, found, others)
    }

    /// A function, or those that call it if its name says that it is not for others: `_ask`.
    fn public_callers(&self, node: NodeId) -> BTreeSet<NodeId> {
        const MAX_LEVELS: usize = 4;
        let is_private =
            |node: &NodeId| self.graph.function(*node).is_some_and(|function| function.name.starts_with('_'));
        let (mut found, mut open) = (BTreeSet::new(), BTreeSet::from([node]));
        for _ in 0..MAX_LEVELS {
            let (private, public): (BTreeSet<_>, BTreeSet<_>) = open.into_iter().partition(is_private);
            found.extend(public);
            if private.is_empty() {
                break;
            }
            let callers = self.graph.callers_of(&private).filter(|caller| caller.function.is_some());
            open = callers.map(|caller| self.outermost_function(caller)).collect();
        }
        if found.is_empty() { BTreeSet::from([node]) } else { found }
    }

    /// Whether any file of the program makes a class, extends it, or imports it by name.
    fn is_class_used(&self, class: &str) -> bool {
        self.used_names.get_or_init(|| self.names_in_use()).contains(class)
    }

    fn makers(&self) -> &MakerIndex<'l> {
        self.makers.get_or_init(|| MakerIndex::new(self.graph))
    }

    /// The parts of all names that the program calls, hands on, extends or imports.
    fn names_in_use(&self) -> HashSet<&'l str> {
        let mut used = HashSet::new();
        for file in self.graph.files.iter().filter(|file| !path_role::is_example_or_test(file.path)) {
            let source = file.source;
            let given =
                source.calls.iter().flat_map(|call| &call.arguments).filter_map(|argument| match argument {
                    CallArgument::Name(name) => Some(name),
                    _ => None,
                });
            let called = source.calls.iter().map(|call| &call.callee);
            let bases = source.classes.iter().flat_map(|class| &class.bases);
            let named = source.references.iter().map(|reference| &reference.name);
            let all = given.chain(called).chain(bases).chain(named);
            used.extend(all.flat_map(|name| name.split(['.', '('])));
            let imports = source.imports.iter().filter(|_| !file.path.ends_with("__init__.py"));
            used.extend(imports.filter_map(|import| import.name.as_deref()));
        }
        used
    }

    /// Whether a function is the work of a tool, which is handed to an agent: a method of a class that extends `BaseTool`.
    fn is_method_of_tool(&self, node: NodeId) -> bool {
        let owner = self.graph.function(node).and_then(|function| function.owner.as_deref());
        let class = owner.and_then(|owner| self.graph.resolve_class(node.file, owner));
        class.is_some_and(|class| class.bases.iter().any(|base| base.ends_with("Tool")))
    }

    /// The nodes that run when a file is executed.
    fn startup_nodes(&self, file: usize) -> Vec<NodeId> {
        let functions = self.graph.files[file].source.functions.iter().enumerate();
        let starts =
            functions.filter(|(_, f)| f.outer.is_none() && f.owner.is_none() && is_startup_function(&f.name));
        let starts = starts.map(|(at, _)| NodeId { file, function: Some(at) });
        std::iter::once(NodeId { file, function: None }).chain(starts).collect()
    }

    /// The outermost function on the path from a root to a model call.
    fn outermost_agent_function(&self, root: NodeId, handlers: &BTreeSet<NodeId>) -> Option<NodeId> {
        let mut seen = BTreeSet::new();
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if !self.reaches_model.contains(&node) || !seen.insert(node) {
                continue;
            }
            let function = self.graph.function(node);
            let is_direct = self.graph.model_calls.contains_key(&node);
            let passes = handlers.contains(&node)
                || function.is_none_or(|f| f.name.is_empty() || is_startup_function(&f.name));
            if function.is_some() && (is_direct || !passes) {
                return Some(self.outermost_function(node));
            }
            let mut next: Vec<_> =
                self.graph.callees(node).filter(|to| self.reaches_model.contains(to)).collect();
            // What only helps to answer comes last, of others the first.
            next.sort_by_key(|to| {
                self.graph.function(*to).is_some_and(|function| only_helps(&function.name))
            });
            next.reverse();
            open.extend(next);
        }
        None
    }

    /// Replaces a nested function by the outermost one, which is the only one callable from elsewhere.
    fn outermost_function(&self, node: NodeId) -> NodeId {
        let mut at = node;
        while let Some(outer) = self.graph.function(at).and_then(|function| function.outer) {
            at = NodeId { function: Some(outer), ..at };
        }
        at
    }

    fn record_agent(&mut self, node: NodeId, reached_from: Option<String>) -> String {
        if let Some(known) = self.agents.get(&node) {
            return known.name.clone();
        }
        let Some(function) = self.graph.function(node) else { return String::new() };
        let name = match &function.owner {
            Some(owner) => format!("{owner}.{}", function.name),
            None => function.name.clone(),
        };
        let Some((at, call)) = self.nearest_model_call(node) else { return name };
        let rule = &RULES[call.rule];
        let texts = &self.graph.sources.redactor;
        let callee = texts.name(NameKind::Identifier, &call.callee, self.graph.path(at), call.line);
        let verb = if at == node { "calls" } else { "leads to" };
        let fact = format!("{verb} {callee} of {}", rule.title);
        let agent = Agent {
            path: self.graph.path(node).to_owned(),
            line: function.line,
            name: name.clone(),
            parameters: function.parameters.iter().map(file_summary::function_parameter).collect(),
            is_generator: function.is_generator,
            is_default_constructible: function
                .owner
                .as_ref()
                .is_some_and(|owner| self.graph.is_default_constructible(node.file, owner, 4)),
            instance: function
                .owner
                .as_deref()
                .filter(|owner| !self.graph.is_default_constructible(node.file, owner, 4))
                .and_then(|owner| find_maker(self.graph, self.makers(), node.file, owner, MAX_DEPTH)),
            makers: parameter_makers(self.graph, self.makers(), node),
            is_unused: reached_from.is_none()
                && function.owner.as_deref().is_some_and(|owner| !self.is_class_used(owner)),
            functions: self.agent_functions(node),
            is_async: function.is_async,
            library: rule.name,
            request_context: self.request_context(node),
            evidence: Evidence::new(self.graph.path(at), call.line, fact),
            reached_from,
        };
        self.agents.entry(node).or_insert(agent);
        name
    }

    /// The functions between an agent and the model, and the tools that the model may call.
    fn agent_functions(&self, agent: NodeId) -> Vec<AgentFunction> {
        let mut seen = BTreeSet::from([agent]);
        let mut open = vec![agent];
        let mut parts = Vec::new();
        while let Some(at) = open.pop() {
            for to in self.graph.callees(at) {
                let Some(function) = self.graph.function(to).filter(|_| seen.insert(to)) else { continue };
                let is_own = function.outer.is_none() && !function.name.is_empty();
                let is_tool =
                    function.decorators.iter().any(|decorator| is_tool_decorator(&decorator.callee));
                let does = match (is_tool, self.graph.model_calls.contains_key(&to)) {
                    (true, _) => Some(AgentFunctionRole::Tool),
                    (false, true) => Some(AgentFunctionRole::ModelCaller),
                    (false, false) => self.reaches_model.contains(&to).then_some(AgentFunctionRole::Step),
                };
                // One of several implementations may be made by none of the files.
                let is_used = function.owner.as_deref().is_none_or(|owner| self.is_class_used(owner));
                if let Some(does) = does.filter(|_| is_own && is_used && !function.name.starts_with("__")) {
                    parts.push(self.agent_function(to, function, does));
                }
                if !is_tool && self.reaches_model.contains(&to) {
                    open.push(to);
                }
            }
        }
        // Tools are passed to the model, not called, so they have no edges: collect them from the files
        // involved.
        let files: BTreeSet<usize> = seen.iter().map(|node| node.file).collect();
        for file in files {
            for (at, function) in self.graph.files[file].source.functions.iter().enumerate() {
                let node = NodeId { file, function: Some(at) };
                let is_tool =
                    function.decorators.iter().any(|decorator| is_tool_decorator(&decorator.callee));
                if is_tool && function.outer.is_none() && seen.insert(node) {
                    parts.push(self.agent_function(node, function, AgentFunctionRole::Tool));
                }
            }
        }
        parts.sort_by(|a, b| (a.role, &a.path, a.line).cmp(&(b.role, &b.path, b.line)));
        parts.truncate(MAX_AGENT_FUNCTIONS);
        parts
    }

    fn agent_function(
        &self,
        node: NodeId,
        function: &crate::source::SourceFunction,
        does: AgentFunctionRole,
    ) -> AgentFunction {
        let name = match &function.owner {
            Some(owner) => format!("{owner}.{}", function.name),
            None => function.name.clone(),
        };
        let (path, is_generator) = (self.graph.path(node).to_owned(), function.is_generator);
        AgentFunction { path, line: function.line, name, role: does, is_generator }
    }

    /// The nearest model call that a function leads to.
    fn nearest_model_call(&self, node: NodeId) -> Option<(NodeId, &ModelCall)> {
        let mut seen = BTreeSet::new();
        let mut open = std::collections::VecDeque::from([node]);
        while let Some(at) = open.pop_front() {
            if let Some(call) = self.graph.model_calls.get(&at) {
                return Some((at, call));
            }
            open.extend(
                self.graph.callees(at).filter(|to| self.reaches_model.contains(to) && seen.insert(*to)),
            );
        }
        None
    }

    /// The first place in a function or what it calls that works only while a request is handled.
    fn request_context(&self, agent: NodeId) -> Option<Evidence> {
        let mut seen = BTreeSet::from([agent]);
        let mut open = std::collections::VecDeque::from([agent]);
        while let Some(at) = open.pop_front() {
            let source = self.graph.files[at.file].source;
            let own = |within: Option<usize>| within == at.function && at.function.is_some();
            if let Some(read) = source.context_reads.iter().find(|read| own(read.within)) {
                let fact = format!("uses Flask's `{}`", read.name);
                return Some(Evidence::new(self.graph.path(at), read.line, fact));
            }
            // Flask-SQLAlchemy's `db.session` and `Model.query` find their database through the application.
            let is_query =
                |callee: &str| callee.starts_with("db.session.") || callee.contains(".query.filter");
            let uses_flask = source.imports.iter().any(|import| import.module.starts_with("flask"));
            let query = source.calls.iter().find(|call| own(call.within) && is_query(&call.callee));
            if let Some(call) = query.filter(|_| uses_flask || self.uses_flask_sqlalchemy()) {
                let fact = "queries a database through the Flask application".to_owned();
                return Some(Evidence::new(self.graph.path(at), call.line, fact));
            }
            open.extend(self.graph.callees(at).filter(|to| seen.insert(*to)));
        }
        None
    }

    fn uses_flask_sqlalchemy(&self) -> bool {
        let mut imports = self.graph.files.iter().flat_map(|file| &file.source.imports);
        imports.any(|import| import.module == "flask_sqlalchemy")
    }

    /// Whether a handler calls its agent itself and hands it a request field as it is, rather than something it has made.
    fn passes_input(&self, handler: NodeId, agent: NodeId, request: &[String]) -> bool {
        let source = self.graph.files[handler.file].source;
        let Some(function) = self.graph.function(handler) else { return false };
        let is_body =
            |name: &str| matches!(name, "data" | "body" | "payload" | "request.json" | "request.data");
        let is_field = |name: &str| {
            let last = name.rsplit('.').next().unwrap_or(name);
            request.iter().any(|field| field == last)
                || function.parameters.iter().any(|parameter| parameter.name == name)
                || is_body(name)
        };
        let names = |argument: &CallArgument| match argument {
            CallArgument::Name(name) => is_field(name),
            CallArgument::Call(callee) => callee.strip_suffix(".get").is_some_and(is_body),
            _ => false,
        };
        source.calls.iter().filter(|call| call.within == handler.function).any(|call| {
            let name = call.callee.rsplit('.').next().unwrap_or_default();
            let is_it = self.graph.function(agent).is_some_and(|agent| agent.name == name);
            let given = call.arguments.iter().chain(call.keyword_arguments.iter().map(|(_, value)| value));
            is_it && given.clone().any(names)
        })
    }

    /// The nearest call of a model in a file or in what it imports.
    fn model_in_imports(&self, file: usize) -> Option<Evidence> {
        const MAX_FILES: usize = 200;
        let mut seen = BTreeSet::from([file]);
        let mut open = std::collections::VecDeque::from([file]);
        while let Some(at) = open.pop_front() {
            let of_file = NodeId { file: at, function: None }..NodeId { file: at + 1, function: None };
            if let Some((_, call)) = self.graph.model_calls.range(of_file).next() {
                let path = self.graph.files[at].path;
                let callee =
                    self.graph.sources.redactor.name(NameKind::Identifier, &call.callee, path, call.line);
                let fact = format!("calls {callee} of {}", RULES[call.rule].title);
                return Some(Evidence::new(path, call.line, fact));
            }
            let next = self
                .graph
                .imported_files(at)
                .into_iter()
                .filter(|next| seen.len() < MAX_FILES && seen.insert(*next));
            open.extend(next);
        }
        None
    }

    fn build_route(&self, fact: &DetectedRoute, agent: Option<(NodeId, String)>) -> Route {
        let function = self.graph.function(fact.handler);
        let mut fields = routes::handler_fields(self.graph, fact.handler, &fact.path, fact.schema.as_deref());
        let (dependencies, suppliers) = routes::handler_dependencies(self.graph, fact.handler);
        let passes_input =
            agent.as_ref().is_some_and(|(node, _)| self.passes_input(fact.handler, *node, &fields.request));
        let own =
            function.into_iter().flat_map(|f| f.decorators.iter().map(|decorator| decorator.callee.clone()));
        let guards = fact.guards.iter().cloned().chain(own).chain(dependencies).collect();
        let guard_files: BTreeSet<&str> =
            suppliers.iter().chain(&fact.checks).map(|node| self.graph.path(*node)).collect();
        fields.request.truncate(MAX_FIELDS);
        fields.response.truncate(MAX_FIELDS);
        let handler = function.map(|f| f.name.clone()).unwrap_or_default();
        let model_nearby = if agent.is_none() { self.model_in_imports(fact.handler.file) } else { None };
        Route {
            method: fact.method.clone(),
            path: fact.path.clone(),
            file: self.graph.path(fact.handler).to_owned(),
            line: function.map_or(fact.line, |f| f.line),
            end_line: function.map_or(fact.line, |f| f.end_line),
            handler,
            agent: agent.map(|(_, name)| name).unwrap_or_default(),
            passes_input,
            model_nearby,
            request: fields.request,
            response: fields.response,
            declared: fields.declared,
            is_validated: fields.is_validated,
            is_bare_body: fields.is_bare_body,
            form: fields.form,
            query: fields.query,
            optional: fields.optional,
            guards,
            guard_files: guard_files.into_iter().map(str::to_owned).collect(),
            client: None,
        }
    }
}

/// Whether a function does something beside the answer, by its name: it makes the title of a conversation.
fn only_helps(name: &str) -> bool {
    let name = name.to_lowercase();
    ["title", "summar", "classif", "moderat", "embed", "suggest", "intent", "route_", "rewrite", "translate"]
        .iter()
        .any(|word| name.contains(word))
}

/// Decorators that register a function as a tool.
fn is_tool_decorator(callee: &str) -> bool {
    let name = callee.rsplit('.').next().unwrap_or(callee);
    matches!(name, "tool" | "function_tool" | "tool_plain" | "kernel_function" | "llm_tool" | "ai_function")
}

/// Functions that only start something else.
fn is_startup_function(name: &str) -> bool {
    matches!(
        name,
        "main"
            | "run"
            | "cli"
            | "start"
            | "bootstrap"
            | "lifespan"
            | "create_app"
            | "default"
            | "handler"
            | "train"
            | "replay"
            | "test"
    )
}
