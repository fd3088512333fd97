//! The functions that act as an agent, and the routes that lead to them.
//!
//! A function acts as an agent if a call into a model library can be reached from it and it is itself reached from a
//! route or an entry point. Of a chain of such functions the agent is the outermost that is not merely the route's
//! handler: that is what one would call with a question.

use std::collections::{BTreeMap, BTreeSet};

use crate::calls::{Graph, ModelCall};
use crate::glance;
use crate::look::Looks;
use crate::modules;
use crate::names::NodeId;
use crate::place;
use crate::profile::{Agent, Does, EntryPoint, Evidence, Part, Route};
use crate::repository_text::NameKind;
use crate::routes::{self, RouteFact};
use crate::rules::{RULES, Role};
use crate::survey::FileFact;

/// The most files that are followed, and that each project contributes to begin with.
const FOLLOWED: usize = 1500;
const EACH: usize = 150;
const MOST_AGENTS: usize = 50;
const MOST_ROUTES: usize = 100;
const MOST_FIELDS: usize = 40;
const MOST_PARTS: usize = 12;

pub(crate) fn find(
    looks: &mut Looks<'_>,
    files: &[Vec<&FileFact>],
    entries: &[Vec<EntryPoint>],
    with_models: &[bool],
) -> (Vec<Agent>, Vec<Route>) {
    follow(looks, begin(files, entries, with_models));
    let graph = Graph::new(looks, looks.budget());
    let finder = Finder { reaching: graph.reaching(), graph: &graph, agents: BTreeMap::new() };
    let (mut agents, mut routes) = finder.find(entries);
    let left_out = [("agents", agents.len(), MOST_AGENTS), ("routes", routes.len(), MOST_ROUTES)];
    agents.truncate(MOST_AGENTS);
    routes.truncate(MOST_ROUTES);
    for (what, all, shown) in left_out.into_iter().filter(|(_, all, shown)| all > shown) {
        looks.left_out.insert(format!("{shown} of {all} {what} are named"));
    }
    (agents, routes)
}

/// Files from which agents may be reached, or in which they may be.
fn begin(files: &[Vec<&FileFact>], entries: &[Vec<EntryPoint>], with_models: &[bool]) -> Vec<String> {
    let mut begin: Vec<String> = entries.iter().flatten().map(|point| point.path.clone()).collect();
    for (own, with_model) in files.iter().zip(with_models) {
        let interesting = |file: &&&FileFact| {
            let Some(hits) = file.hits else { return false };
            let mentions =
                |rule: usize| hits.mentions(rule) && (*with_model || RULES[rule].role == Role::Web);
            !place::is_test(&file.path) && (0..RULES.len()).any(mentions)
        };
        let mut paths: Vec<&str> = own.iter().filter(interesting).map(|file| file.path.as_str()).collect();
        // They come sorted by path, and stay so within a rank.
        paths.sort_by_cached_key(|path| place::rank(path));
        begin.extend(paths.into_iter().take(EACH).map(str::to_owned));
    }
    begin
}

/// Looks at these files, and at those they import, and so on.
fn follow(looks: &mut Looks<'_>, begin: Vec<String>) {
    let mut open = begin;
    let mut known: BTreeSet<String> = BTreeSet::new();
    while !open.is_empty() && known.len() < FOLLOWED {
        open.truncate(FOLLOWED - known.len());
        looks.at(open.iter().map(String::as_str).collect());
        known.extend(open.iter().cloned());
        let mut next = BTreeSet::new();
        for path in &open {
            let imports = looks.get(path).and_then(|seen| seen.source.as_ref()).map(|source| &source.imports);
            let files =
                imports.into_iter().flatten().filter_map(|import| modules::file_of(looks, path, import));
            next.extend(files.filter(|file| !known.contains(file) && !place::is_test(file)));
        }
        open = next.into_iter().collect();
    }
}

struct Finder<'g, 'l, 'a> {
    graph: &'g Graph<'l, 'a>,
    reaching: BTreeSet<NodeId>,
    agents: BTreeMap<NodeId, Agent>,
}

impl Finder<'_, '_, '_> {
    fn find(mut self, entries: &[Vec<EntryPoint>]) -> (Vec<Agent>, Vec<Route>) {
        let facts = routes::all(self.graph);
        let handlers: BTreeSet<NodeId> = facts.iter().map(|fact| fact.handler).collect();
        let mut found = Vec::new();
        for fact in &facts {
            if self.graph.looks.is_over() {
                break;
            }
            let from = format!("{} {}", fact.method, fact.path);
            if let Some(agent) = self.outermost(fact.handler, &handlers) {
                let name = self.keep(agent, Some(from));
                found.push(self.route(fact, name));
            }
        }
        for path in entries.iter().flatten().map(|point| &point.path) {
            let Some(file) = self.graph.file(path) else { continue };
            for root in self.roots(file) {
                if let Some(agent) = self.outermost(root, &handlers) {
                    self.keep(agent, Some(path.clone()));
                }
            }
        }
        // What nothing leads to may still be the agent of a library.
        let direct: Vec<NodeId> = self.graph.model_calls.keys().copied().collect();
        let aside = |node: &NodeId| place::is_aside(self.graph.path(*node));
        if self.agents.is_empty() {
            for node in direct.into_iter().filter(|node| node.function.is_some() && !aside(node)) {
                self.keep(self.named(node), None);
            }
        }
        let mut agents: Vec<Agent> = self.agents.into_values().collect();
        agents.sort_by_cached_key(|agent| {
            // A route has a method before its path; a file has none.
            let by_route = agent.reached_from.as_ref().is_some_and(|from| from.contains(' '));
            (
                place::is_aside(&agent.path),
                agent.reached_from.is_none(),
                !by_route,
                agent.path.clone(),
                agent.line,
            )
        });
        (agents, found)
    }

    /// What runs when a file is started.
    fn roots(&self, file: usize) -> Vec<NodeId> {
        let functions = self.graph.files[file].source.functions.iter().enumerate();
        let starts = functions.filter(|(_, f)| f.outer.is_none() && f.owner.is_none() && is_start(&f.name));
        let starts = starts.map(|(at, _)| NodeId { file, function: Some(at) });
        std::iter::once(NodeId { file, function: None }).chain(starts).collect()
    }

    /// The outermost function on the way from a root to a model.
    fn outermost(&self, root: NodeId, handlers: &BTreeSet<NodeId>) -> Option<NodeId> {
        let mut seen = BTreeSet::new();
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if !self.reaching.contains(&node) || !seen.insert(node) {
                continue;
            }
            let function = self.graph.function(node);
            let is_direct = self.graph.model_calls.contains_key(&node);
            let passes =
                handlers.contains(&node) || function.is_none_or(|f| f.name.is_empty() || is_start(&f.name));
            if function.is_some() && (is_direct || !passes) {
                return Some(self.named(node));
            }
            let mut next: Vec<_> =
                self.graph.called_by(node).filter(|to| self.reaching.contains(to)).collect();
            next.reverse();
            open.extend(next);
        }
        None
    }

    /// A function within a function is known by the outermost: only that one can be called from elsewhere.
    fn named(&self, node: NodeId) -> NodeId {
        let mut at = node;
        while let Some(outer) = self.graph.function(at).and_then(|function| function.outer) {
            at = NodeId { function: Some(outer), ..at };
        }
        at
    }

    fn keep(&mut self, node: NodeId, reached_from: Option<String>) -> String {
        if let Some(known) = self.agents.get(&node) {
            return known.name.clone();
        }
        let Some(function) = self.graph.function(node) else { return String::new() };
        let name = match &function.owner {
            Some(owner) => format!("{owner}.{}", function.name),
            None => function.name.clone(),
        };
        let Some((at, call)) = self.model_call(node) else { return name };
        let rule = &RULES[call.rule];
        let texts = &self.graph.looks.texts;
        let callee = texts.name(NameKind::Identifier, &call.callee, self.graph.path(at), call.line);
        let fact = format!("calls {callee} of {}", rule.title);
        let agent = Agent {
            path: self.graph.path(node).to_owned(),
            line: function.line,
            name: name.clone(),
            parameters: function.parameters.iter().map(glance::parameter).collect(),
            is_generator: function.is_generator,
            makes_itself: function
                .owner
                .as_ref()
                .is_some_and(|owner| glance::makes_itself(self.graph.files[node.file].source, owner)),
            parts: self.parts(node),
            is_async: function.is_async,
            library: rule.name,
            why: Evidence::new(self.graph.path(at), call.line, fact),
            reached_from,
        };
        self.agents.entry(node).or_insert(agent);
        name
    }

    /// The functions between an agent and the model, and those that the model may call.
    fn parts(&self, agent: NodeId) -> Vec<Part> {
        let mut seen = BTreeSet::from([agent]);
        let mut open = vec![agent];
        let mut parts = Vec::new();
        while let Some(at) = open.pop() {
            for to in self.graph.called_by(at) {
                let Some(function) = self.graph.function(to).filter(|_| seen.insert(to)) else { continue };
                let is_own = function.outer.is_none() && !function.name.is_empty();
                let is_tool = function.decorators.iter().any(|decorator| is_tool(&decorator.callee));
                let does = match (is_tool, self.graph.model_calls.contains_key(&to)) {
                    (true, _) => Some(Does::Tool),
                    (false, true) => Some(Does::Prompt),
                    (false, false) => self.reaching.contains(&to).then_some(Does::Step),
                };
                if let Some(does) = does.filter(|_| is_own && !function.name.starts_with("__")) {
                    parts.push(self.part(to, function, does));
                }
                if !is_tool && self.reaching.contains(&to) {
                    open.push(to);
                }
            }
        }
        // Tools are listed, not called: those in the files that take part.
        let files: BTreeSet<usize> = seen.iter().map(|node| node.file).collect();
        for file in files {
            for (at, function) in self.graph.files[file].source.functions.iter().enumerate() {
                let node = NodeId { file, function: Some(at) };
                let is_tool = function.decorators.iter().any(|decorator| is_tool(&decorator.callee));
                if is_tool && function.outer.is_none() && seen.insert(node) {
                    parts.push(self.part(node, function, Does::Tool));
                }
            }
        }
        parts.sort_by(|a, b| (a.does, &a.path, a.line).cmp(&(b.does, &b.path, b.line)));
        parts.truncate(MOST_PARTS);
        parts
    }

    fn part(&self, node: NodeId, function: &crate::source::Function, does: Does) -> Part {
        let name = match &function.owner {
            Some(owner) => format!("{owner}.{}", function.name),
            None => function.name.clone(),
        };
        let (path, is_generator) = (self.graph.path(node).to_owned(), function.is_generator);
        Part { path, line: function.line, name, does, is_generator }
    }

    /// The nearest call into a model that a function leads to.
    fn model_call(&self, node: NodeId) -> Option<(NodeId, &ModelCall)> {
        let mut seen = BTreeSet::new();
        let mut open = std::collections::VecDeque::from([node]);
        while let Some(at) = open.pop_front() {
            if let Some(call) = self.graph.model_calls.get(&at) {
                return Some((at, call));
            }
            open.extend(self.graph.called_by(at).filter(|to| self.reaching.contains(to) && seen.insert(*to)));
        }
        None
    }

    fn route(&self, fact: &RouteFact, agent: String) -> Route {
        let function = self.graph.function(fact.handler);
        let (mut request, mut response, declared) = routes::fields(self.graph, fact.handler);
        let own =
            function.into_iter().flat_map(|f| f.decorators.iter().map(|decorator| decorator.callee.clone()));
        let guards = fact.guards.iter().cloned().chain(own).collect();
        request.truncate(MOST_FIELDS);
        response.truncate(MOST_FIELDS);
        let handler = function.map(|f| f.name.clone()).unwrap_or_default();
        Route {
            method: fact.method.clone(),
            path: fact.path.clone(),
            file: self.graph.path(fact.handler).to_owned(),
            line: function.map_or(fact.line, |f| f.line),
            handler,
            agent,
            request,
            response,
            declared,
            guards,
        }
    }
}

/// Decorators by which a function is offered to a model.
fn is_tool(callee: &str) -> bool {
    let name = callee.rsplit('.').next().unwrap_or(callee);
    matches!(name, "tool" | "function_tool" | "tool_plain" | "kernel_function" | "llm_tool" | "ai_function")
}

/// Functions that only set things going.
fn is_start(name: &str) -> bool {
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
