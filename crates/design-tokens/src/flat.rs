//! All tokens of a document in one list, with what they inherit from groups and through `$extends`.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::budget::Budget;
use super::document::{Document, children, is_token, join};
use super::finding::{Finding, Told, shown, way};
use super::json::{Json, Map};
use super::limits::{MAX_DEPTH, MAX_EXTENDS, MAX_PATH, MAX_TOKENS};
use super::reference::Reference;

/// How many groups may be looked at, inherited ones counted wherever they appear. Groups that extend groups in groups
/// could go on for ages.
const MAX_STEPS: usize = 200_000;
/// How many times a group may be extended, in all.
const MAX_EXTENDED: usize = 20_000;

/// A token in its place.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    /// Its path.
    pub(super) path: Rc<str>,
    /// The path where it is written: another one if `$extends` brought it.
    pub(super) origin: Rc<str>,
    /// How many names its path and its origin share at the end, if `$extends` brought it.
    pub(super) shared: usize,
    /// Its members.
    pub(super) map: &'a Map,
    /// The `$type` of the nearest group that has one.
    pub(super) group_type: Option<&'a str>,
    /// Its `$deprecated`, or that of the nearest group.
    pub(super) deprecated: Option<&'a Json>,
}

/// The tokens of a document, local ones of a group first, then those it inherits.
#[derive(Debug)]
pub(super) struct Flat<'a> {
    pub(super) root: &'a Map,
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) index: HashMap<Rc<str>, usize>,
    /// The paths of all groups.
    pub(super) groups: HashSet<String>,
    pub(super) findings: Vec<Finding>,
    told: Told,
    steps: usize,
    extended: usize,
}

/// One of the objects that make up a group: what is written there, or what it extends.
#[derive(Clone, Debug)]
struct Layer<'a> {
    map: &'a Map,
    origin: String,
    /// How many names deep it is in what was extended.
    depth: usize,
}

/// What a group passes on to what is in it.
#[derive(Clone, Copy)]
struct Heritage<'a> {
    group_type: Option<&'a str>,
    deprecated: Option<&'a Json>,
    depth: usize,
}

impl<'a> Flat<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        Self::of_root(document.root())
    }

    pub(super) fn of_root(root: &'a Map) -> Self {
        let mut flat = Self::new(root);
        let heritage = Heritage { group_type: None, deprecated: None, depth: 0 };
        flat.walk(vec![Layer { map: root, origin: String::new(), depth: 0 }], "", heritage, &mut Vec::new());
        if flat.steps > MAX_STEPS {
            flat.findings
                .push(Finding::error("", "the groups extend one another too often; use fewer `$extends`"));
        }
        flat
    }

    fn new(root: &'a Map) -> Self {
        Self {
            root,
            tokens: Vec::new(),
            index: HashMap::new(),
            groups: HashSet::new(),
            findings: Vec::new(),
            told: Told::default(),
            steps: 0,
            extended: 0,
        }
    }

    fn walk(
        &mut self,
        layers: Vec<Layer<'a>>,
        path: &str,
        mut heritage: Heritage<'a>,
        open: &mut Vec<Layer<'a>>,
    ) {
        self.steps += 1;
        if heritage.depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return;
        }
        self.groups.insert(path.to_owned());
        let layers = self.complete(layers, open, &mut Vec::new());
        let member = |name| layers.iter().find_map(|layer| layer.map.get(name));
        heritage.group_type = member("$type").and_then(Json::as_str).or(heritage.group_type);
        heritage.deprecated = member("$deprecated").or(heritage.deprecated);
        heritage.depth += 1;
        let opened = open.len();
        open.extend(layers.iter().cloned());
        let mut seen = HashSet::new();
        for (nth, layer) in layers.iter().enumerate() {
            for (name, child) in children(layer.map) {
                if layers.len() > 1 && !seen.insert(name) {
                    continue;
                }
                let is_inherited = layer.origin != path;
                let path = join(path, name);
                if path.len() > MAX_PATH {
                    let message =
                        format!("with `$extends` its path has more than {MAX_PATH} bytes; shorten its names");
                    self.report(Finding::error(shown(&path), message));
                } else if self.is_token(child) {
                    let path = Rc::from(path);
                    let origin =
                        if is_inherited { join(&layer.origin, name).into() } else { Rc::clone(&path) };
                    self.push(Token {
                        path,
                        origin,
                        shared: layer.depth + 1,
                        map: child,
                        group_type: heritage.group_type,
                        deprecated: child.get("$deprecated").or(heritage.deprecated),
                    });
                } else {
                    let below =
                        layers[nth..].iter().filter_map(|layer| layer.child(name)).collect::<Vec<_>>();
                    let below = below.into_iter().filter(|layer| !self.is_token(layer.map)).collect();
                    self.walk(below, &path, heritage, open);
                }
            }
        }
        open.truncate(opened);
    }

    fn push(&mut self, token: Token<'a>) {
        if self.index.contains_key(&*token.path) {
            let message = "another token has the same path, for a name has a `.`; rename one of them";
            self.report(Finding::error(&*token.path, message));
        } else if self.tokens.len() < MAX_TOKENS {
            self.index.insert(Rc::clone(&token.path), self.tokens.len());
            self.tokens.push(token);
        } else if self.steps <= MAX_STEPS {
            self.steps = MAX_STEPS;
            let message = format!("with `$extends` there are more than {MAX_TOKENS} tokens; extend less");
            self.findings.push(Finding::error(&*token.path, message));
        }
    }

    /// The layers with all that they extend.
    fn complete(
        &mut self,
        layers: Vec<Layer<'a>>,
        open: &[Layer<'a>],
        chain: &mut Vec<Layer<'a>>,
    ) -> Vec<Layer<'a>> {
        if !layers.iter().any(|layer| extends(layer.map).is_some()) {
            return layers;
        }
        let mut all = Vec::new();
        for layer in layers {
            self.add(layer, open, chain, &mut all);
        }
        all
    }

    fn add(
        &mut self,
        layer: Layer<'a>,
        open: &[Layer<'a>],
        chain: &mut Vec<Layer<'a>>,
        all: &mut Vec<Layer<'a>>,
    ) {
        self.extended += 1;
        if self.extended > MAX_EXTENDED {
            self.steps = MAX_STEPS + 1;
        }
        if self.steps > MAX_STEPS {
            return;
        }
        if chain.iter().any(|known| std::ptr::eq(known.map, layer.map)) {
            return self.circle(&layer, chain);
        }
        if chain.len() == MAX_EXTENDS {
            let message =
                format!("more than {MAX_EXTENDS} groups extend one another in a row; extend another one");
            return self.report(Finding::error(layer.origin, message));
        }
        if all.iter().any(|known| std::ptr::eq(known.map, layer.map)) {
            return;
        }
        all.push(layer.clone());
        let Some(reference) = extends(layer.map) else { return };
        let Ok(reference) = reference else { return }; // `validate` says what is wrong with it.
        chain.push(layer.clone());
        let targets = self.layers_at(&reference.segments(), chain);
        if targets.is_empty() {
            let message = format!("`$extends` names {reference}, and there is no such group");
            self.report(Finding::error(layer.origin.clone(), message));
        }
        for target in targets {
            if self.is_token(target.map) {
                let message =
                    format!("`$extends` names {reference}, which is a token; only groups can be extended");
                self.report(Finding::error(layer.origin.clone(), message));
            } else if open.iter().any(|known| std::ptr::eq(known.map, target.map)) {
                self.circle(&target, chain);
            } else {
                self.add(Layer { depth: 0, ..target }, open, chain, all);
            }
        }
        chain.pop();
    }

    /// What stands at a path, with what groups on the way inherit.
    fn layers_at(&mut self, segments: &[&str], chain: &mut Vec<Layer<'a>>) -> Vec<Layer<'a>> {
        let top = vec![Layer { map: self.root, origin: String::new(), depth: 0 }];
        segments.iter().fold(top, |layers, name| self.layers_in(layers, name, chain))
    }

    /// What a name stands for in a group.
    fn layers_in(&mut self, group: Vec<Layer<'a>>, name: &str, chain: &mut Vec<Layer<'a>>) -> Vec<Layer<'a>> {
        self.complete(group, &[], chain).iter().filter_map(|layer| layer.child(name)).collect()
    }

    fn circle(&mut self, layer: &Layer<'a>, chain: &[Layer<'a>]) {
        let from = chain.iter().position(|known| std::ptr::eq(known.map, layer.map));
        let mut names: Vec<_> =
            chain[from.unwrap_or(0)..].iter().map(|layer| layer.origin.as_str()).collect();
        if from.is_some() {
            // A circle is met from each of its groups; begun at the same one it is told once.
            let first = (0..names.len()).min_by_key(|at| names[*at]).unwrap_or(0);
            names.rotate_left(first);
            names.extend(names.first().copied());
        } else {
            names.push(&layer.origin);
        }
        let path = names.iter().min().copied().unwrap_or_default();
        self.report(Finding::error(path, format!("`$extends` goes in a circle: {}", way(&names))));
    }

    fn report(&mut self, finding: Finding) {
        if self.told.is_new(&finding) {
            self.findings.push(finding);
        }
    }

    fn is_token(&self, map: &Map) -> bool {
        is_token_in(self.root, map)
    }
}

/// Whether an object is a token. With `$ref` alone it is what its target is.
pub(super) fn is_token_in(root: &Map, map: &Map) -> bool {
    let mut map = map;
    for _ in 0..MAX_DEPTH {
        if is_token(map) {
            return true;
        }
        let Some(pointer) = map.get("$ref") else { return false };
        let Some(Ok(reference)) = pointer.as_str().map(Reference::in_pointer) else { return true };
        let segments = reference.segments();
        match look_up(root, &segments) {
            // What is a value, or in one, makes a token.
            _ if segments.contains(&"$value") => return true,
            Some(Json::Object(target)) => map = target,
            Some(_) => return true,
            None => return children(map).next().is_none(),
        }
    }
    true
}

/// What is at a path, written there or inherited.
pub(super) enum Found<'a> {
    Token(&'a Map),
    Group,
    /// The path leads through a token: so many bytes of it lead there.
    Blocked(usize),
    Nothing,
}

/// How many times groups may be extended while paths are looked up, all of them together.
pub(super) const MAX_LOOKED_UP: usize = 200_000;

/// Finds what is at a path, going there once. `None`: the steps do not suffice.
pub(super) fn find<'a>(root: &'a Map, path: &str, steps: &mut Budget) -> Option<Found<'a>> {
    let mut flat = Flat::new(root);
    let mut layers = flat.layers_at(&[], &mut Vec::new());
    let mut found = Found::Group;
    let mut end = 0;
    for name in path.split('.') {
        if let Found::Token(_) = found {
            found = Found::Blocked(end - 1);
            break;
        }
        layers = flat.layers_in(layers, name, &mut Vec::new());
        end += name.len() + 1;
        let Some(first) = layers.first() else {
            found = Found::Nothing;
            break;
        };
        found = if is_token_in(root, first.map) { Found::Token(first.map) } else { Found::Group };
    }
    steps.take(flat.extended).map(|()| found)
}

impl<'a> Layer<'a> {
    fn child(&self, name: &str) -> Option<Layer<'a>> {
        let map = self.map.get(name)?.as_object()?;
        Some(Layer { map, origin: join(&self.origin, name), depth: self.depth + 1 })
    }
}

/// What a group extends: by `$extends`, or by `$ref`, which means the same.
fn extends(map: &Map) -> Option<Result<Reference, super::reference::Malformed>> {
    map.get("$extends").or_else(|| map.get("$ref")).map(Reference::in_extends)
}

/// What a pointer points to in the file as it is written.
pub(super) fn look_up<'a>(root: &'a Map, segments: &[&str]) -> Option<&'a Json> {
    let (first, rest) = segments.split_first()?;
    rest.iter().try_fold(root.get(first)?, |value, name| value.step(name))
}
