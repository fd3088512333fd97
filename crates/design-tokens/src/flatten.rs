//! Flattens a document to a list of tokens, with everything they inherit from groups and through `$extends`.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::budget::CostBudget;
use super::document::{TokenDocument, children, is_token, join_path};
use super::finding::{SeenFindings, TokenFinding, excerpt, format_path_chain};
use super::json::{Json, JsonMap};
use super::limits::{MAX_DEPTH, MAX_EXTENDS_CHAIN, MAX_PATH_BYTES, MAX_TOKENS};
use super::reference::TokenReference;

/// Limit on visited groups, counting inherited ones wherever they appear. Nested groups that extend groups
/// can grow exponentially.
const MAX_GROUP_VISITS: usize = 200_000;
/// Limit on the total number of extensions.
const MAX_EXTENDS_TOTAL: usize = 20_000;

/// A token at its path.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) path: Rc<str>,
    /// The path where it is written, which differs from `path` if it is inherited through `$extends`.
    pub(super) origin: Rc<str>,
    /// Number of trailing names shared by `path` and `origin`, if it is inherited through `$extends`.
    pub(super) shared_suffix_len: usize,
    pub(super) map: &'a JsonMap,
    /// The `$type` of the nearest group with one.
    pub(super) group_type: Option<&'a str>,
    /// Its `$deprecated`, or that of the nearest group with one.
    pub(super) deprecated: Option<&'a Json>,
}

/// The tokens of a document. In each group, local tokens precede inherited ones.
#[derive(Debug)]
pub(super) struct FlatTokens<'a> {
    pub(super) root: &'a JsonMap,
    pub(super) tokens: Vec<Token<'a>>,
    pub(super) index: HashMap<Rc<str>, usize>,
    pub(super) groups: HashSet<String>,
    pub(super) findings: Vec<TokenFinding>,
    seen: SeenFindings,
    group_visits: usize,
    extends_count: usize,
}

/// One of the objects that make up a group: its own, or one it extends.
#[derive(Clone, Debug)]
struct GroupLayer<'a> {
    map: &'a JsonMap,
    origin: String,
    /// Depth below the extended group.
    depth: usize,
}

/// What a group passes on to its members.
#[derive(Clone, Copy)]
struct GroupInheritance<'a> {
    group_type: Option<&'a str>,
    deprecated: Option<&'a Json>,
    depth: usize,
}

impl<'a> FlatTokens<'a> {
    pub(super) fn from_document(document: &'a TokenDocument) -> Self {
        Self::from_root(document.root())
    }

    pub(super) fn from_root(root: &'a JsonMap) -> Self {
        let mut flat = Self::new(root);
        let heritage = GroupInheritance { group_type: None, deprecated: None, depth: 0 };
        flat.walk(
            vec![GroupLayer { map: root, origin: String::new(), depth: 0 }],
            "",
            heritage,
            &mut Vec::new(),
        );
        if flat.group_visits > MAX_GROUP_VISITS {
            flat.findings.push(TokenFinding::error(
                "",
                "the groups extend each other too often; use fewer `$extends`",
            ));
        }
        flat
    }

    fn new(root: &'a JsonMap) -> Self {
        Self {
            root,
            tokens: Vec::new(),
            index: HashMap::new(),
            groups: HashSet::new(),
            findings: Vec::new(),
            seen: SeenFindings::default(),
            group_visits: 0,
            extends_count: 0,
        }
    }

    fn walk(
        &mut self,
        layers: Vec<GroupLayer<'a>>,
        path: &str,
        mut heritage: GroupInheritance<'a>,
        open: &mut Vec<GroupLayer<'a>>,
    ) {
        self.group_visits += 1;
        if heritage.depth > MAX_DEPTH || self.group_visits > MAX_GROUP_VISITS {
            return;
        }
        self.groups.insert(path.to_owned());
        let layers = self.expand_extends(layers, open, &mut Vec::new());
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
                let path = join_path(path, name);
                if path.len() > MAX_PATH_BYTES {
                    let message =
                        format!("with `$extends` its path exceeds {MAX_PATH_BYTES} bytes; shorten its names");
                    self.report(TokenFinding::error(excerpt(&path), message));
                } else if self.is_token(child) {
                    let path = Rc::from(path);
                    let origin =
                        if is_inherited { join_path(&layer.origin, name).into() } else { Rc::clone(&path) };
                    self.push(Token {
                        path,
                        origin,
                        shared_suffix_len: layer.depth + 1,
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
            let message =
                "another token has the same path, because a name contains a `.`; rename one of them";
            self.report(TokenFinding::error(&*token.path, message));
        } else if self.tokens.len() < MAX_TOKENS {
            self.index.insert(Rc::clone(&token.path), self.tokens.len());
            self.tokens.push(token);
        } else if self.group_visits <= MAX_GROUP_VISITS {
            self.group_visits = MAX_GROUP_VISITS;
            let message =
                format!("with `$extends` there are more than {MAX_TOKENS} tokens; extend fewer groups");
            self.findings.push(TokenFinding::error(&*token.path, message));
        }
    }

    /// The layers with everything they extend.
    fn expand_extends(
        &mut self,
        layers: Vec<GroupLayer<'a>>,
        open: &[GroupLayer<'a>],
        chain: &mut Vec<GroupLayer<'a>>,
    ) -> Vec<GroupLayer<'a>> {
        if !layers.iter().any(|layer| extends_reference(layer.map).is_some()) {
            return layers;
        }
        let mut all = Vec::new();
        for layer in layers {
            self.add_layer(layer, open, chain, &mut all);
        }
        all
    }

    fn add_layer(
        &mut self,
        layer: GroupLayer<'a>,
        open: &[GroupLayer<'a>],
        chain: &mut Vec<GroupLayer<'a>>,
        all: &mut Vec<GroupLayer<'a>>,
    ) {
        self.extends_count += 1;
        if self.extends_count > MAX_EXTENDS_TOTAL {
            self.group_visits = MAX_GROUP_VISITS + 1;
        }
        if self.group_visits > MAX_GROUP_VISITS {
            return;
        }
        if chain.iter().any(|known| std::ptr::eq(known.map, layer.map)) {
            return self.report_cycle(&layer, chain);
        }
        if chain.len() == MAX_EXTENDS_CHAIN {
            let message = format!(
                "a chain of more than {MAX_EXTENDS_CHAIN} groups extend each other; shorten the chain"
            );
            return self.report(TokenFinding::error(layer.origin, message));
        }
        if all.iter().any(|known| std::ptr::eq(known.map, layer.map)) {
            return;
        }
        all.push(layer.clone());
        let Some(reference) = extends_reference(layer.map) else { return };
        let Ok(reference) = reference else { return }; // `validate` reports what is wrong with it.
        chain.push(layer.clone());
        let targets = self.layers_at(&reference.segments(), chain);
        if targets.is_empty() {
            let message = format!("`$extends` refers to {reference}, but that group does not exist");
            self.report(TokenFinding::error(layer.origin.clone(), message));
        }
        for target in targets {
            if self.is_token(target.map) {
                let message = format!(
                    "`$extends` refers to {reference}, which is a token; only groups can be extended"
                );
                self.report(TokenFinding::error(layer.origin.clone(), message));
            } else if open.iter().any(|known| std::ptr::eq(known.map, target.map)) {
                self.report_cycle(&target, chain);
            } else {
                self.add_layer(GroupLayer { depth: 0, ..target }, open, chain, all);
            }
        }
        chain.pop();
    }

    /// The layers at a path, including those that groups along the path inherit.
    fn layers_at(&mut self, segments: &[&str], chain: &mut Vec<GroupLayer<'a>>) -> Vec<GroupLayer<'a>> {
        let top = vec![GroupLayer { map: self.root, origin: String::new(), depth: 0 }];
        segments.iter().fold(top, |layers, name| self.layers_in(layers, name, chain))
    }

    /// The layers of a name in a group.
    fn layers_in(
        &mut self,
        group: Vec<GroupLayer<'a>>,
        name: &str,
        chain: &mut Vec<GroupLayer<'a>>,
    ) -> Vec<GroupLayer<'a>> {
        self.expand_extends(group, &[], chain).iter().filter_map(|layer| layer.child(name)).collect()
    }

    fn report_cycle(&mut self, layer: &GroupLayer<'a>, chain: &[GroupLayer<'a>]) {
        let from = chain.iter().position(|known| std::ptr::eq(known.map, layer.map));
        let mut names: Vec<_> =
            chain[from.unwrap_or(0)..].iter().map(|layer| layer.origin.as_str()).collect();
        if from.is_some() {
            // A cycle is found from each of its groups; rotating it to a fixed start reports it only once.
            let first = (0..names.len()).min_by_key(|at| names[*at]).unwrap_or(0);
            names.rotate_left(first);
            names.extend(names.first().copied());
        } else {
            names.push(&layer.origin);
        }
        let path = names.iter().min().copied().unwrap_or_default();
        self.report(TokenFinding::error(
            path,
            format!("`$extends` forms a cycle: {}", format_path_chain(&names)),
        ));
    }

    fn report(&mut self, finding: TokenFinding) {
        if self.seen.insert(&finding) {
            self.findings.push(finding);
        }
    }

    fn is_token(&self, map: &JsonMap) -> bool {
        resolves_to_token(self.root, map)
    }
}

/// Whether an object is a token. For an object with only `$ref` the target decides.
pub(super) fn resolves_to_token(root: &JsonMap, map: &JsonMap) -> bool {
    let mut map = map;
    for _ in 0..MAX_DEPTH {
        if is_token(map) {
            return true;
        }
        let Some(pointer) = map.get("$ref") else { return false };
        let Some(Ok(reference)) = pointer.as_str().map(TokenReference::parse_pointer) else { return true };
        let segments = reference.segments();
        match follow_pointer(root, &segments) {
            // A target that is a value, or inside one, makes it a token.
            _ if segments.contains(&"$value") => return true,
            Some(Json::Object(target)) => map = target,
            Some(_) => return true,
            None => return children(map).next().is_none(),
        }
    }
    true
}

/// What is at a path, written or inherited.
pub(super) enum PathLookup<'a> {
    Token(&'a JsonMap),
    Group,
    /// The path leads through a token, whose path has this many bytes.
    Blocked(usize),
    NotFound,
}

/// Limit on extensions while looking up paths, for all paths together.
pub(super) const MAX_LOOKUP_EXTENDS: usize = 200_000;

/// Looks up a path in one pass. `None` if the steps are exhausted.
pub(super) fn look_up_path<'a>(
    root: &'a JsonMap,
    path: &str,
    steps: &mut CostBudget,
) -> Option<PathLookup<'a>> {
    let mut flat = FlatTokens::new(root);
    let mut layers = flat.layers_at(&[], &mut Vec::new());
    let mut found = PathLookup::Group;
    let mut end = 0;
    for name in path.split('.') {
        if let PathLookup::Token(_) = found {
            found = PathLookup::Blocked(end - 1);
            break;
        }
        layers = flat.layers_in(layers, name, &mut Vec::new());
        end += name.len() + 1;
        let Some(first) = layers.first() else {
            found = PathLookup::NotFound;
            break;
        };
        found =
            if resolves_to_token(root, first.map) { PathLookup::Token(first.map) } else { PathLookup::Group };
    }
    steps.spend(flat.extends_count).map(|()| found)
}

impl<'a> GroupLayer<'a> {
    fn child(&self, name: &str) -> Option<GroupLayer<'a>> {
        let map = self.map.get(name)?.as_object()?;
        Some(GroupLayer { map, origin: join_path(&self.origin, name), depth: self.depth + 1 })
    }
}

/// What a group extends: by `$extends`, or by `$ref`, which is equivalent.
fn extends_reference(map: &JsonMap) -> Option<Result<TokenReference, super::reference::MalformedReference>> {
    map.get("$extends").or_else(|| map.get("$ref")).map(TokenReference::parse_extends)
}

/// The target of a pointer in the file as written.
pub(super) fn follow_pointer<'a>(root: &'a JsonMap, segments: &[&str]) -> Option<&'a Json> {
    let (first, rest) = segments.split_first()?;
    rest.iter().try_fold(root.get(first)?, |value, name| value.child(name))
}
