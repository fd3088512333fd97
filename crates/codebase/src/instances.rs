//! Where a program makes an object of a class that cannot be made without arguments.

use std::collections::HashMap;

use crate::call_graph::CallGraph;
use crate::manifest::Ecosystem;
use crate::path_role;
use crate::profile::ObjectMaker;
use crate::source::{CallBinding, SourceFunction, SourceParameter};
use crate::symbols::{NodeId, type_names};

/// How deep the arguments of what makes an object may be made in turn.
pub(crate) const MAX_DEPTH: usize = 3;
/// How many functions that give an object back are tried.
const MAX_MAKERS: usize = 8;

/// Where objects may be made, by the last part of the name of their class.
#[derive(Default)]
pub(crate) struct MakerIndex<'l> {
    /// Names at the top level of a file that are assigned a call.
    objects: HashMap<&'l str, Vec<(usize, &'l str)>>,
    /// Functions that say or seem to give one back.
    functions: HashMap<&'l str, Vec<(usize, usize)>>,
}

impl<'l> MakerIndex<'l> {
    pub(crate) fn new(graph: &CallGraph<'l, '_>) -> Self {
        let mut index = Self::default();
        for (at, of) in graph.files.iter().enumerate() {
            if of.ecosystem != Ecosystem::Python || path_role::is_example_or_test(of.path) {
                continue;
            }
            let source = of.source;
            let is_object = |binding: &&CallBinding| {
                binding.within.is_none() && !binding.is_absent_on_import && !binding.name.contains('.')
            };
            for binding in source.bindings.iter().filter(is_object) {
                index.objects.entry(last_part(&binding.callee)).or_default().push((at, &binding.name));
            }
            let is_free = |function: &SourceFunction| {
                function.outer.is_none()
                    && function.owner.is_none()
                    && !function.is_generator
                    && function.decorators.is_empty()
                    && function.parameters.iter().all(|parameter| !parameter.injected)
            };
            for (place, function) in source.functions.iter().enumerate().filter(|(_, one)| is_free(one)) {
                if let Some(returns) = &function.returns {
                    let class = last_part(returns.trim_matches('"'));
                    index.functions.entry(class).or_default().push((at, place));
                }
            }
            for call in &source.calls {
                let Some(place) = call.within else { continue };
                let Some(function) = source.functions.get(place).filter(|one| is_free(one)) else { continue };
                if function.returns.is_none() && is_maker(&function.name) {
                    index.functions.entry(last_part(&call.callee)).or_default().push((at, place));
                }
            }
        }
        index
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// An expression that makes an object of a class, as the program itself does: an object that another file can import, a
/// function that gives one back, or the class itself; with arguments that are made in the same way.
pub(crate) fn find_maker(
    graph: &CallGraph<'_, '_>,
    index: &MakerIndex<'_>,
    file: usize,
    class: &str,
    depth: usize,
) -> Option<ObjectMaker> {
    let wanted = graph.find_class(file, class)?;
    let (home, class) = wanted;
    let is_it = |at: usize| graph.find_class(at, class) == Some(wanted);
    let objects = index.objects.get(class).into_iter().flatten();
    if let Some((at, name)) = objects.into_iter().find(|(at, _)| is_it(*at)) {
        return Some(ObjectMaker::named(graph.files[*at].path, name));
    }
    let functions = index.functions.get(class).into_iter().flatten().filter(|(at, _)| is_it(*at));
    let mut makers: Vec<(usize, &SourceFunction)> =
        functions.map(|(at, place)| (*at, &graph.files[*at].source.functions[*place])).collect();
    makers.sort_by_key(|(_, function)| function.parameters.iter().filter(|one| !one.optional).count());
    let by_function = makers.into_iter().take(MAX_MAKERS).find_map(|(at, function)| {
        let made = make_call(graph, index, at, &function.name, &function.parameters, depth)?;
        let expression =
            if function.is_async { format!("(await {})", made.expression) } else { made.expression.clone() };
        Some(ObjectMaker { is_async: function.is_async || made.is_async, expression, ..made })
    });
    by_function.or_else(|| {
        let known = graph.resolve_class(home, class)?;
        let has_base = |ends: &[&str]| {
            known.bases.iter().any(|base| ends.iter().any(|end| last_part(base).ends_with(end)))
        };
        if graph.is_default_constructible(home, class, 4) || has_base(&["BaseSettings"]) {
            return make_call(graph, index, home, class, &[], depth);
        }
        let init = graph.resolve_function(home, None, &format!("{class}.__init__"))?;
        let parameters = &graph.function(init)?.parameters;
        if has_base(&["ABC", "Protocol"]) || parameters.is_empty() || init.file != home {
            return None;
        }
        make_call(graph, index, home, class, parameters, depth)
    })
}

/// A call whose required arguments are made by the program's own means.
fn make_call(
    graph: &CallGraph<'_, '_>,
    index: &MakerIndex<'_>,
    file: usize,
    callee: &str,
    parameters: &[SourceParameter],
    depth: usize,
) -> Option<ObjectMaker> {
    let mut made = ObjectMaker::named(graph.files[file].path, callee);
    let mut arguments = Vec::new();
    for parameter in parameters.iter().filter(|parameter| !parameter.optional) {
        let given = make_argument(graph, index, file, parameter, depth.checked_sub(1)?)?;
        arguments.push(format!("{}={}", parameter.name, given.expression));
        made.is_async |= given.is_async;
        for import in given.imports {
            let clashes = |(path, name): &(String, String)| *name == import.1 && *path != import.0;
            if made.imports.iter().any(clashes) {
                return None;
            }
            if !made.imports.contains(&import) {
                made.imports.push(import);
            }
        }
    }
    made.expression = format!("{callee}({})", arguments.join(", "));
    Some(made)
}

/// What makes the object that a parameter is declared to be.
fn make_argument(
    graph: &CallGraph<'_, '_>,
    index: &MakerIndex<'_>,
    file: usize,
    parameter: &SourceParameter,
    depth: usize,
) -> Option<ObjectMaker> {
    let annotation = parameter.annotation.as_deref()?;
    // A list or a mapping of them is more than one.
    if annotation.contains(['[', ',']) && !annotation.starts_with("Optional[") {
        return None;
    }
    type_names(annotation).find_map(|name| find_maker(graph, index, file, name, depth))
}

/// What makes the objects that the parameters of a function, and those of the constructor of its class, are declared to be:
/// the name of each parameter with its maker.
pub(crate) fn parameter_makers(
    graph: &CallGraph<'_, '_>,
    index: &MakerIndex<'_>,
    node: NodeId,
) -> Vec<(String, ObjectMaker)> {
    let Some(function) = graph.function(node) else { return Vec::new() };
    let needed = function.parameters.iter().filter(|parameter| !parameter.optional && !parameter.injected);
    needed
        .filter_map(|parameter| {
            Some((parameter.name.clone(), make_argument(graph, index, node.file, parameter, MAX_DEPTH)?))
        })
        .collect()
}

fn is_maker(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    ["get_", "create_", "build_", "make_", "load_", "init_", "setup_"]
        .iter()
        .any(|start| name.starts_with(start))
}
