//! What a name in a file means, as far as names tell: functions, classes, imports, and what things were made with.

use std::collections::{BTreeMap, HashMap};

use crate::look::{Looks, Seen};
use crate::manifest::Ecosystem;
use crate::modules;
use crate::source::{Class, Function, Source};

/// A function in a file; `None` for what the file does when it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId {
    pub(crate) file: usize,
    pub(crate) function: Option<usize>,
}

/// A file that takes part, with its names sorted out: what is looked up for every call must not be searched for.
pub(crate) struct File<'l> {
    pub(crate) path: &'l str,
    pub(crate) source: &'l Source,
    pub(crate) ecosystem: Ecosystem,
    /// Functions by name; of several, the one that counts: on top, and the last.
    functions: HashMap<&'l str, usize>,
    methods: HashMap<(&'l str, &'l str), usize>,
    classes: HashMap<&'l str, usize>,
    bindings: HashMap<&'l str, Vec<usize>>,
    /// The file that a local name comes from, and its name there.
    imports: HashMap<&'l str, (usize, &'l str)>,
}

/// All files that take part.
pub(crate) struct Names<'l, 'a> {
    pub(crate) looks: &'l Looks<'a>,
    pub(crate) files: Vec<File<'l>>,
    by_path: BTreeMap<&'l str, usize>,
}

impl<'l, 'a> Names<'l, 'a> {
    pub(crate) fn new(looks: &'l Looks<'a>) -> Self {
        let file = |(path, seen): (&'l str, &'l Seen)| {
            let language = looks.survey.find(path)?.language?;
            Some(File::new(path, seen.source.as_ref()?, language.ecosystem()?))
        };
        let files: Vec<File<'l>> = looks.all().filter_map(file).collect();
        let by_path: BTreeMap<&str, usize> =
            files.iter().enumerate().map(|(at, file)| (file.path, at)).collect();
        let mut names = Self { looks, files, by_path };
        for at in 0..names.files.len() {
            names.files[at].imports = names.imports_of(at);
        }
        names
    }

    fn imports_of(&self, at: usize) -> HashMap<&'l str, (usize, &'l str)> {
        let File { path, source, .. } = &self.files[at];
        let mut imports = HashMap::new();
        for import in source.imports.iter().filter(|import| !import.local.is_empty()) {
            let file = modules::file_of(self.looks, path, import).and_then(|path| self.file(&path));
            if let Some(file) = file {
                imports.insert(import.local.as_str(), (file, import.name.as_deref().unwrap_or_default()));
            }
        }
        imports
    }

    pub(crate) fn file(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    pub(crate) fn function(&self, node: NodeId) -> Option<&'l Function> {
        self.files[node.file].source.functions.get(node.function?)
    }

    /// The function of the tree that a dotted name means.
    pub(crate) fn target(&self, file: usize, within: Option<usize>, name: &str) -> Option<NodeId> {
        let parts: Vec<&str> = name.split('.').map(|part| part.trim_end_matches("()")).collect();
        match parts.as_slice() {
            [] | [""] => None,
            [only] => self.named(file, only, 3),
            ["self" | "this" | "cls", method] => self.method(file, self.class_around(file, within)?, method),
            ["self" | "this", attribute, .., method] => {
                let owner = format!("{}.{attribute}", parts[0]);
                let (file, class) = self.class_of(file, within, &owner)?;
                self.method(file, class, method)
            }
            [object, .., method] => match self.class_of(file, within, object) {
                Some((file, class)) => self.method(file, class, method),
                None => self.imported(file, object).and_then(|(file, _)| self.named(file, method, 1)),
            },
        }
    }

    /// A function by its name: here, or where the name is imported from.
    pub(crate) fn named(&self, file: usize, name: &str, hops: usize) -> Option<NodeId> {
        if let Some(function) = self.files[file].functions.get(name) {
            return Some(NodeId { file, function: Some(*function) });
        }
        let (other, name) = self.imported(file, name).filter(|(other, _)| *other != file && hops > 0)?;
        self.named(other, name, hops - 1)
    }

    /// The file that a local name comes from, and its name there.
    pub(crate) fn imported(&self, file: usize, local: &str) -> Option<(usize, &'l str)> {
        self.files[file].imports.get(local).copied()
    }

    fn method(&self, file: usize, class: &str, method: &str) -> Option<NodeId> {
        let function = self.files[file].methods.get(&(class, method))?;
        Some(NodeId { file, function: Some(*function) })
    }

    pub(crate) fn class_around(&self, file: usize, within: Option<usize>) -> Option<&'l str> {
        let functions = &self.files[file].source.functions;
        let mut at = functions.get(within?)?;
        while at.owner.is_none() {
            at = functions.get(at.outer?)?;
        }
        at.owner.as_deref()
    }

    /// The class of an object, by what it was made with or declared as.
    fn class_of(&self, file: usize, within: Option<usize>, object: &str) -> Option<(usize, &'l str)> {
        let made = self.binding(file, within, object).and_then(|callee| self.class_named(file, callee));
        let declared = || {
            let annotation = self.annotation(file, within, object)?;
            words(annotation).find_map(|word| self.class_named(file, word))
        };
        // Made in another file: `from .deps import agent`.
        let elsewhere = || {
            let (other, name) = self.imported(file, object)?;
            self.class_named(other, self.binding(other, None, name)?)
        };
        // Made on the spot: `Assistant().answer(…)`.
        made.or_else(declared).or_else(elsewhere).or_else(|| self.class_named(file, object))
    }

    /// The class of this name, here or where it is imported from.
    pub(crate) fn class_named(&self, file: usize, name: &str) -> Option<(usize, &'l str)> {
        let name = name.rsplit('.').next()?;
        if let Some((name, _)) = self.files[file].classes.get_key_value(name) {
            return Some((file, name));
        }
        let (other, name) = self.imported(file, name)?;
        self.files[other].classes.get_key_value(name).map(|(name, _)| (other, *name))
    }

    pub(crate) fn class(&self, file: usize, name: &str) -> Option<&'l Class> {
        let (file, name) = self.class_named(file, name)?;
        self.files[file].source.classes.get(*self.files[file].classes.get(name)?)
    }

    /// What a name was made with: in this function, in those around it, or in the file.
    pub(crate) fn binding(&self, file: usize, within: Option<usize>, name: &str) -> Option<&'l str> {
        let File { source, bindings, .. } = &self.files[file];
        let of_name = bindings.get(name)?;
        let by_place = |place: Option<usize>| {
            of_name.iter().map(|at| &source.bindings[*at]).find(|binding| binding.within == place)
        };
        if name.contains('.') {
            return of_name.first().map(|at| source.bindings[*at].callee.as_str());
        }
        let mut place = within;
        while let Some(at) = place {
            if let Some(binding) = by_place(place) {
                return Some(&binding.callee);
            }
            place = source.functions.get(at)?.outer;
        }
        by_place(None).map(|binding| binding.callee.as_str())
    }

    /// The type that a parameter or a field says to have.
    pub(crate) fn annotation(&self, file: usize, within: Option<usize>, object: &str) -> Option<&'l str> {
        let File { source, classes, methods, .. } = &self.files[file];
        let field = object.strip_prefix("this.").or_else(|| object.strip_prefix("self."));
        let Some(field) = field else {
            let function = source.functions.get(within?)?;
            return function.parameters.iter().find(|p| p.name == object)?.annotation.as_deref();
        };
        let class = self.class_around(file, within)?;
        let declared = classes.get(class).into_iter().flat_map(|at| &source.classes[*at].fields);
        let makers = ["constructor", "__init__"].iter().filter_map(|maker| methods.get(&(class, *maker)));
        let mut all = declared.chain(makers.flat_map(|at| &source.functions[*at].parameters));
        all.find(|parameter| parameter.name == field)?.annotation.as_deref()
    }
}

impl<'l> File<'l> {
    fn new(path: &'l str, source: &'l Source, ecosystem: Ecosystem) -> Self {
        let (mut functions, mut methods) = (HashMap::new(), HashMap::new());
        for (at, function) in source.functions.iter().enumerate() {
            let name = function.name.as_str();
            match &function.owner {
                Some(owner) => _ = methods.insert((owner.as_str(), name), at),
                None if function.outer.is_none() => _ = functions.insert(name, at),
                None => _ = functions.entry(name).or_insert(at),
            }
        }
        let mut bindings: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, binding) in source.bindings.iter().enumerate() {
            bindings.entry(&binding.name).or_default().push(at);
        }
        let classes =
            source.classes.iter().enumerate().map(|(at, class)| (class.name.as_str(), at)).collect();
        Self { path, source, ecosystem, functions, methods, classes, bindings, imports: HashMap::new() }
    }
}

/// The names in a type: `Optional[list[ChatRequest]]`.
pub(crate) fn words(annotation: &str) -> impl Iterator<Item = &str> {
    annotation.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).filter(|word| !word.is_empty())
}
