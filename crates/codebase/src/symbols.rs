//! Name resolution across files: functions, classes, imports, and the calls that objects were created with.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::import_resolution;
use crate::manifest::Ecosystem;
use crate::source::{ALL_NAMES, ParsedSource, SourceClass, SourceFunction};
use crate::source_cache::{AnalyzedFile, SourceCache};

/// A function in a file; `None` for the top-level code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId {
    pub(crate) file: usize,
    pub(crate) function: Option<usize>,
}

/// A file with indexed names. Lookups happen for every call, so they must not search linearly.
pub(crate) struct IndexedFile<'l> {
    pub(crate) path: &'l str,
    pub(crate) source: &'l ParsedSource,
    pub(crate) ecosystem: Ecosystem,
    /// Functions by name; of several, the last one at the top level.
    functions: HashMap<&'l str, usize>,
    methods: HashMap<(&'l str, &'l str), usize>,
    classes: HashMap<&'l str, usize>,
    bindings: HashMap<&'l str, Vec<usize>>,
    /// Local names, each with its source file and its name there.
    imports: HashMap<&'l str, (usize, &'l str)>,
    /// Files of which all names are imported or exported on: `from x import *`, `export * from`.
    whole_imports: Vec<usize>,
    /// Files that are imported without a name: `app.use("/chat", require("./chat"))`.
    nameless_imports: Vec<usize>,
}

pub(crate) struct SymbolIndex<'l, 'a> {
    pub(crate) sources: &'l SourceCache<'a>,
    pub(crate) files: Vec<IndexedFile<'l>>,
    /// The classes that have a method of this name.
    classes_by_method: HashMap<&'l str, Vec<(usize, &'l str)>>,
    by_path: BTreeMap<&'l str, usize>,
}

impl<'l, 'a> SymbolIndex<'l, 'a> {
    pub(crate) fn new(sources: &'l SourceCache<'a>) -> Self {
        let file = |(path, seen): (&'l str, &'l AnalyzedFile)| {
            let language = sources.inventory.find(path)?.language?;
            Some(IndexedFile::new(path, seen.source.as_ref()?, language.ecosystem()?))
        };
        let files: Vec<IndexedFile<'l>> = sources.all().filter_map(file).collect();
        let by_path: BTreeMap<&str, usize> =
            files.iter().enumerate().map(|(at, file)| (file.path, at)).collect();
        let mut classes_by_method: HashMap<&str, Vec<(usize, &str)>> = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            for (class, method) in file.methods.keys() {
                classes_by_method.entry(method).or_default().push((at, class));
            }
        }
        let mut names = Self { sources, files, classes_by_method, by_path };
        for at in 0..names.files.len() {
            names.resolve_imports(at);
        }
        names
    }

    fn resolve_imports(&mut self, at: usize) {
        let IndexedFile { path, source, .. } = self.files[at];
        let (mut imports, mut whole, mut nameless) = (HashMap::new(), Vec::new(), Vec::new());
        for import in &source.imports {
            let file = import_resolution::resolve_import(self.sources, path, import)
                .and_then(|path| self.file_index(&path));
            match file {
                Some(file) if import.local == ALL_NAMES => whole.push(file),
                Some(file) if import.local.is_empty() => nameless.push(file),
                Some(file) => {
                    let there = import.name.as_deref().unwrap_or_default();
                    imports.insert(import.local.as_str(), (file, there));
                }
                None => {}
            }
        }
        let file = &mut self.files[at];
        (file.imports, file.whole_imports, file.nameless_imports) = (imports, whole, nameless);
    }

    pub(crate) fn file_index(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    pub(crate) fn function(&self, node: NodeId) -> Option<&'l SourceFunction> {
        self.files[node.file].source.functions.get(node.function?)
    }

    /// The function of the tree that a dotted name refers to.
    pub(crate) fn resolve_function(&self, file: usize, within: Option<usize>, name: &str) -> Option<NodeId> {
        self.resolve_declared_function(file, within, name).or_else(|| {
            let (object, method) = name.rsplit_once('.')?;
            let object = object.rsplit('.').next()?.trim_end_matches("()");
            let is_own = matches!(object, "self" | "this" | "cls");
            self.find_method_by_object_name(object, method.trim_end_matches("()")).filter(|_| !is_own)
        })
    }

    /// The same by definitions, imports and types alone, without a guess from the name of an object.
    pub(crate) fn resolve_declared_function(
        &self,
        file: usize,
        within: Option<usize>,
        name: &str,
    ) -> Option<NodeId> {
        let parts: Vec<&str> = name.split('.').map(|part| part.trim_end_matches("()")).collect();
        match parts.as_slice() {
            [] | [""] => None,
            [only] => self.find_function(file, only, 3),
            ["self" | "this" | "cls", method] => {
                self.find_method(file, self.enclosing_class(file, within)?, method)
            }
            ["self" | "this", attribute, .., method] => {
                let owner = format!("{}.{attribute}", parts[0]);
                let (file, class) = self.class_of_object(file, within, &owner)?;
                self.find_method(file, class, method)
            }
            [object, rest @ .., method] => match self.class_of_object(file, within, object) {
                Some((file, class)) if rest.is_empty() => self.find_method(file, class, method),
                _ => {
                    let imported = self.imported_from(file, object).filter(|_| rest.is_empty());
                    let imported = imported.and_then(|(file, _)| self.find_function(file, method, 1));
                    let own = || {
                        let is_literal =
                            self.files[file].source.object_literals.iter().any(|known| known == object);
                        self.find_function(file, method, 0).filter(|_| is_literal && rest.is_empty())
                    };
                    imported.or_else(own)
                }
            },
        }
    }

    /// The functions in the table that a name refers to: `HANDLERS[kind](text)`.
    pub(crate) fn functions_in_table(&self, file: usize, table: &str) -> Vec<NodeId> {
        let in_file = |file: usize, table: &str| -> Vec<NodeId> {
            let references = &self.files[file].source.references;
            let own = references.iter().filter(|reference| reference.holder.as_deref() == Some(table));
            own.filter_map(|reference| self.resolve_function(file, reference.within, &reference.name))
                .collect()
        };
        let own = in_file(file, table);
        match self.imported_from(file, table) {
            Some((other, there)) if own.is_empty() => in_file(other, there),
            _ => own,
        }
    }

    /// The methods of the class that a function is in.
    pub(crate) fn methods_beside(&self, file: usize, within: Option<usize>) -> Vec<NodeId> {
        let Some(class) = self.enclosing_class(file, within) else { return Vec::new() };
        let own = self.files[file].methods.iter().filter(|((owner, _), _)| *owner == class);
        own.map(|(_, at)| NodeId { file, function: Some(*at) }).collect()
    }

    /// The files that a file imports.
    pub(crate) fn imported_files(&self, file: usize) -> BTreeSet<usize> {
        let IndexedFile { imports, whole_imports, nameless_imports, .. } = &self.files[file];
        let named = imports.values().map(|(file, _)| *file);
        named.chain(whole_imports.iter().chain(nameless_imports).copied()).collect()
    }

    /// The text of a constant: `API_PREFIX`, `settings.API_PREFIX`, `config.API_PREFIX` of a module.
    pub(crate) fn text_constant(&self, file: usize, name: &str) -> Option<&'l str> {
        let of_file = |file: usize, name: &str| {
            let constants = &self.files[file].source.text_constants;
            constants.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
        };
        let Some((object, field)) = name.rsplit_once('.') else {
            let elsewhere =
                || self.imported_from(file, name).and_then(|(other, there)| of_file(other, there));
            return of_file(file, name).or_else(elsewhere);
        };
        if let Some((of, class)) = self.class_of_object(file, None, object) {
            return of_file(of, &format!("{class}.{field}"));
        }
        // A function with a cache makes the object: `settings = get_settings()`.
        let (of, object) = self.imported_from(file, object).unwrap_or((file, object));
        let maker = self.find_binding(of, None, object).and_then(|maker| self.find_function(of, maker, 2));
        let class = maker.and_then(|maker| {
            let written = self.function(maker)?.returns.as_deref()?;
            self.find_class(maker.file, written)
        });
        match class {
            Some((of, class)) => of_file(of, &format!("{class}.{field}")),
            None => of_file(of, field),
        }
    }

    /// Finds a function by name, in this file or in the file it is imported from.
    pub(crate) fn find_function(&self, file: usize, name: &str, hops: usize) -> Option<NodeId> {
        if let Some(function) = self.files[file].functions.get(name) {
            return Some(NodeId { file, function: Some(*function) });
        }
        let (other, name) = self.imported_from(file, name).filter(|(other, _)| *other != file && hops > 0)?;
        self.find_function(other, name, hops - 1)
    }

    /// Where a name is defined, with its name there: that of a package is often only handed on by its `__init__.py`.
    pub(crate) fn defining_file<'n>(&self, file: usize, name: &'n str) -> (usize, &'n str)
    where
        'l: 'n,
    {
        let (mut file, mut name) = (file, name);
        for _ in 0..4 {
            let is_defined = self.files[file].defined_name(name).is_some();
            match self.imported_from(file, name).filter(|(other, _)| !is_defined && *other != file) {
                Some(next) => (file, name) = next,
                None => break,
            }
        }
        (file, name)
    }

    /// How many classes have a method of this name.
    pub(crate) fn method_count(&self, method: &str) -> usize {
        self.classes_by_method.get(method).map_or(0, Vec::len)
    }

    /// The methods of this name, of whatever class.
    pub(crate) fn methods_named(&self, method: &str) -> Vec<NodeId> {
        let classes = self.classes_by_method.get(method).into_iter().flatten();
        classes.filter_map(|(file, class)| self.find_method(*file, class, method)).collect()
    }

    /// Whether a name is that of something from outside the tree: an imported package.
    pub(crate) fn is_external(&self, file: usize, local: &str) -> bool {
        let IndexedFile { source, imports, .. } = &self.files[file];
        !imports.contains_key(local) && source.imports.iter().any(|import| import.local == local)
    }

    /// The source file of an imported name, and its name there.
    pub(crate) fn imported_from(&self, file: usize, local: &str) -> Option<(usize, &'l str)> {
        let found = self.files[file].imports.get(local).copied();
        let found = found.map(|(other, there)| (other, self.default_name(other, there)));
        found
            .or_else(|| self.imported_with_all(file, local, 3))
            // Exported on by a file that gathers others.
            .map(|(other, there)| self.imported_with_all(other, there, 3).unwrap_or((other, there)))
    }

    /// The name of what `import x from` and `require` bring: that of a default export, where the file names it.
    fn default_name(&self, file: usize, there: &'l str) -> &'l str {
        match there {
            "" | "default" => self.files[file].source.default_export.as_deref().unwrap_or(there),
            name => name,
        }
    }

    /// The file that defines a name, among those of which a file imports all names.
    fn imported_with_all(&self, file: usize, name: &str, hops: usize) -> Option<(usize, &'l str)> {
        if hops == 0 || self.files[file].defined_name(name).is_some() {
            return None;
        }
        self.files[file].whole_imports.iter().filter(|other| **other != file).find_map(|other| {
            let own = self.files[*other].defined_name(name).map(|name| (*other, name));
            own.or_else(|| self.imported_with_all(*other, name, hops - 1))
        })
    }

    fn find_method(&self, file: usize, class: &str, method: &str) -> Option<NodeId> {
        let function = self.files[file].methods.get(&(class, method))?;
        Some(NodeId { file, function: Some(*function) })
    }

    /// `request.app.state.rag_service.query` without a known type: the only class that is called like the object and has such
    /// a method.
    fn find_method_by_object_name(&self, object: &str, method: &str) -> Option<NodeId> {
        const MIN_NAME_LENGTH: usize = 5;
        let plain = |name: &str| name.replace('_', "").to_lowercase();
        let object = plain(object);
        if object.len() < MIN_NAME_LENGTH {
            return None;
        }
        let is_called_so = |class: &str| {
            let class = plain(class);
            class == object
                || class.ends_with(&object)
                || object.ends_with(&class) && class.len() >= MIN_NAME_LENGTH
        };
        let mut fitting = self.classes_by_method.get(method)?.iter().filter(|(_, class)| is_called_so(class));
        match (fitting.next(), fitting.next()) {
            (Some((file, class)), None) => self.find_method(*file, class, method),
            _ => None,
        }
    }

    /// The methods that implement a method of an interface: of classes that extend its class.
    pub(crate) fn implementations(&self, node: NodeId) -> Vec<NodeId> {
        let Some(function) = self.function(node) else { return Vec::new() };
        let Some(owner) = function.owner.as_deref() else { return Vec::new() };
        let is_protocol = self.files[node.file].classes.get(owner).is_some_and(|at| {
            let bases = &self.files[node.file].source.classes[*at].bases;
            bases.iter().any(|base| matches!(base.rsplit('.').next(), Some("Protocol" | "ABC")))
        });
        let extends = |file: usize, class: &str| {
            let known = &self.files[file];
            let found = known.classes.get(class).map(|at| &known.source.classes[*at]);
            found.is_some_and(|found| found.bases.iter().any(|base| base.rsplit('.').next() == Some(owner)))
                // A protocol is met without being named.
                || is_protocol && class != owner && class.ends_with(owner)
        };
        let all = self.classes_by_method.get(function.name.as_str()).into_iter().flatten();
        all.filter(|(file, class)| extends(*file, class))
            .filter_map(|(file, class)| self.find_method(*file, class, &function.name))
            .filter(|found| *found != node)
            .collect()
    }

    pub(crate) fn enclosing_class(&self, file: usize, within: Option<usize>) -> Option<&'l str> {
        let functions = &self.files[file].source.functions;
        let mut at = functions.get(within?)?;
        while at.owner.is_none() {
            at = functions.get(at.outer?)?;
        }
        at.owner.as_deref()
    }

    /// The class of an object, by its constructor call or its declared type.
    fn class_of_object(&self, file: usize, within: Option<usize>, object: &str) -> Option<(usize, &'l str)> {
        let made = self.find_binding(file, within, object).and_then(|callee| self.find_class(file, callee));
        let declared = || {
            let annotation = self.find_annotation(file, within, object)?;
            type_names(annotation).find_map(|word| self.find_class(file, word))
        };
        // Created in another file: `from .deps import agent`.
        let elsewhere = || {
            let (other, name) = self.imported_from(file, object)?;
            self.find_class(other, self.find_binding(other, None, name)?)
        };
        // Created inline: `Assistant().answer(…)`.
        made.or_else(declared).or_else(elsewhere).or_else(|| self.find_class(file, object))
    }

    /// What supplies a parameter of this type: `CurrentUser = Annotated[User, Depends(get_current_user)]`, with its file.
    pub(crate) fn dependency_of_type(&self, file: usize, annotation: &str) -> Option<(usize, String)> {
        let name = annotation.rsplit('.').next()?.trim();
        let (file, name) = if self.files[file].source.dependency_types.is_empty() {
            self.imported_from(file, name)?
        } else {
            (file, name)
        };
        let types = &self.files[file].source.dependency_types;
        types.iter().find(|(known, _)| known == name).map(|(_, dependency)| (file, dependency.clone()))
    }

    /// Finds a class by name, in this file or in the file it is imported from.
    pub(crate) fn find_class(&self, file: usize, name: &str) -> Option<(usize, &'l str)> {
        // `schemas.ChatRequest`: a module of the tree.
        if let Some((module, class)) = name.rsplit_once('.')
            && let Some((other, _)) = self.imported_from(file, module)
            && let (other, class) = self.defining_file(other, class)
            && let Some((class, _)) = self.files[other].classes.get_key_value(class)
        {
            return Some((other, class));
        }
        let name = name.rsplit('.').next()?;
        let (file, name) = self.defining_file(file, name);
        self.files[file].classes.get_key_value(name).map(|(name, _)| (file, *name))
    }

    pub(crate) fn resolve_class(&self, file: usize, name: &str) -> Option<&'l SourceClass> {
        let (file, name) = self.find_class(file, name)?;
        self.files[file].source.classes.get(*self.files[file].classes.get(name)?)
    }

    /// Whether a class can be made without arguments, also by the constructor of a class of the tree that it extends.
    pub(crate) fn is_default_constructible(&self, file: usize, class: &str, levels: usize) -> bool {
        let Some((file, name)) = self.find_class(file, class) else {
            return matches!(class.rsplit('.').next(), Some("object" | "ABC" | "Generic" | "Protocol"));
        };
        if let Some(function) = self.find_method(file, name, "__init__").and_then(|init| self.function(init))
        {
            return function.parameters.iter().all(|parameter| parameter.optional);
        }
        let Some(found) = self.resolve_class(file, name).filter(|_| levels > 0) else { return false };
        found.fields.iter().all(|field| field.optional)
            && found.bases.iter().all(|base| self.is_default_constructible(file, base, levels - 1))
    }

    /// The call that a name was assigned from: in this function, an enclosing one, or the file.
    pub(crate) fn find_binding(&self, file: usize, within: Option<usize>, name: &str) -> Option<&'l str> {
        let IndexedFile { source, bindings, .. } = &self.files[file];
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
            let function = source.functions.get(at)?;
            if function.parameters.iter().any(|parameter| parameter.name == name) {
                return None;
            }
            place = function.outer;
        }
        // `global service; service = Service()` in a function that starts the program.
        let set_elsewhere = || of_name.first().map(|at| &source.bindings[*at]).filter(|_| within.is_some());
        by_place(None).or_else(set_elsewhere).map(|binding| binding.callee.as_str())
    }

    /// The annotated type of a parameter or a field.
    pub(crate) fn find_annotation(
        &self,
        file: usize,
        within: Option<usize>,
        object: &str,
    ) -> Option<&'l str> {
        let IndexedFile { source, classes, methods, .. } = &self.files[file];
        let field = object.strip_prefix("this.").or_else(|| object.strip_prefix("self."));
        let Some(field) = field else {
            let function = source.functions.get(within?)?;
            return function.parameters.iter().find(|p| p.name == object)?.annotation.as_deref();
        };
        let class = self.enclosing_class(file, within)?;
        let declared = classes.get(class).into_iter().flat_map(|at| &source.classes[*at].fields);
        let makers = ["constructor", "__init__"].iter().filter_map(|maker| methods.get(&(class, *maker)));
        let mut all = declared.chain(makers.flat_map(|at| &source.functions[*at].parameters));
        all.find(|parameter| parameter.name == field)?.annotation.as_deref()
    }
}

impl<'l> IndexedFile<'l> {
    fn new(path: &'l str, source: &'l ParsedSource, ecosystem: Ecosystem) -> Self {
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
        Self {
            path,
            source,
            ecosystem,
            functions,
            methods,
            classes,
            bindings,
            imports: HashMap::new(),
            whole_imports: Vec::new(),
            nameless_imports: Vec::new(),
        }
    }

    /// A name that the file itself defines.
    fn defined_name(&self, name: &str) -> Option<&'l str> {
        let function = self.functions.get_key_value(name).map(|(name, _)| *name);
        let class = || self.classes.get_key_value(name).map(|(name, _)| *name);
        function.or_else(class).or_else(|| self.bindings.get_key_value(name).map(|(name, _)| *name))
    }
}

/// The names in a type: `Optional[list[ChatRequest]]`.
pub(crate) fn type_names(annotation: &str) -> impl Iterator<Item = &str> {
    annotation.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).filter(|word| !word.is_empty())
}
