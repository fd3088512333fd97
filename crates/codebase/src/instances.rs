//! Where a program makes an object of a class that cannot be made without arguments.

use crate::call_graph::CallGraph;
use crate::manifest::Ecosystem;
use crate::path_role;
use crate::profile::ObjectMaker;
use crate::source::{SourceFunction, SourceParameter};
use crate::symbols::{NodeId, type_names};

/// How deep the arguments of what makes an object may be made in turn.
pub(crate) const MAX_DEPTH: usize = 3;

/// An expression that makes an object of a class, as the program itself does: an object that another file can import, a
/// function that gives one back, or the class itself; with arguments that are made in the same way.
pub(crate) fn find_maker(
    graph: &CallGraph<'_, '_>,
    file: usize,
    class: &str,
    depth: usize,
) -> Option<ObjectMaker> {
    let wanted = graph.find_class(file, class)?;
    let (home, class) = wanted;
    let is_it = |at: usize, callee: &str| {
        callee.rsplit('.').next() == Some(class) && graph.find_class(at, callee) == Some(wanted)
    };
    let own = || {
        let files = graph.files.iter().enumerate();
        files.filter(|(_, of)| of.ecosystem == Ecosystem::Python && !path_role::is_example_or_test(of.path))
    };
    let object = own().find_map(|(at, of)| {
        let mut bindings = of.source.bindings.iter().filter(|binding| {
            binding.within.is_none() && !binding.is_absent_on_import && !binding.name.contains('.')
        });
        let found = bindings.find(|binding| is_it(at, &binding.callee))?;
        Some(ObjectMaker::named(of.path, &found.name))
    });
    if object.is_some() {
        return object;
    }
    let gives = |(at, place, function): &(usize, usize, &SourceFunction)| {
        let is_free = function.outer.is_none()
            && function.owner.is_none()
            && !function.is_generator
            && function.decorators.is_empty()
            && function.parameters.iter().all(|parameter| !parameter.injected);
        let declared =
            || function.returns.as_deref().is_some_and(|returns| is_it(*at, returns.trim_matches('"')));
        let source = graph.files[*at].source;
        let calls =
            || source.calls.iter().any(|call| call.within == Some(*place) && is_it(*at, &call.callee));
        is_free && (declared() || is_maker(&function.name) && calls())
    };
    let mut makers: Vec<(usize, usize, &SourceFunction)> = own()
        .flat_map(|(at, of)| {
            of.source.functions.iter().enumerate().map(move |(place, function)| (at, place, function))
        })
        .filter(gives)
        .collect();
    let required = |function: &SourceFunction| {
        function.parameters.iter().filter(|parameter| !parameter.optional).count()
    };
    makers.sort_by_key(|(.., function)| required(function));
    let by_function = makers.into_iter().find_map(|(at, _, function)| {
        let made = make_call(graph, at, &function.name, &function.parameters, depth)?;
        let expression =
            if function.is_async { format!("(await {})", made.expression) } else { made.expression.clone() };
        Some(ObjectMaker { is_async: function.is_async || made.is_async, expression, ..made })
    });
    by_function.or_else(|| {
        if graph.is_default_constructible(home, class, 4) {
            return make_call(graph, home, class, &[], depth);
        }
        let known = graph.resolve_class(home, class)?;
        let is_abstract =
            known.bases.iter().any(|base| matches!(base.rsplit('.').next(), Some("ABC" | "Protocol")));
        let has_settings = |base: &String| base.ends_with("BaseSettings");
        if known.bases.iter().any(has_settings) {
            return make_call(graph, home, class, &[], depth);
        }
        let init = graph.resolve_function(home, None, &format!("{class}.__init__"))?;
        let parameters = &graph.function(init)?.parameters;
        if is_abstract || parameters.is_empty() || init.file != home {
            return None;
        }
        make_call(graph, home, class, parameters, depth)
    })
}

/// A call whose required arguments are made by the program's own means.
fn make_call(
    graph: &CallGraph<'_, '_>,
    file: usize,
    callee: &str,
    parameters: &[SourceParameter],
    depth: usize,
) -> Option<ObjectMaker> {
    let mut made = ObjectMaker::named(graph.files[file].path, callee);
    let mut arguments = Vec::new();
    for parameter in parameters.iter().filter(|parameter| !parameter.optional) {
        let given = make_argument(graph, file, parameter, depth.checked_sub(1)?)?;
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
pub(crate) fn make_argument(
    graph: &CallGraph<'_, '_>,
    file: usize,
    parameter: &SourceParameter,
    depth: usize,
) -> Option<ObjectMaker> {
    let annotation = parameter.annotation.as_deref()?;
    // A list or a mapping of them is more than one.
    if annotation.contains(['[', ',']) && !annotation.starts_with("Optional[") {
        return None;
    }
    type_names(annotation).find_map(|name| find_maker(graph, file, name, depth))
}

/// What makes the objects that the parameters of a function, and those of the constructor of its class, are declared to be:
/// the name of each parameter with its maker.
pub(crate) fn parameter_makers(graph: &CallGraph<'_, '_>, node: NodeId) -> Vec<(String, ObjectMaker)> {
    let Some(function) = graph.function(node) else { return Vec::new() };
    let needed = function.parameters.iter().filter(|parameter| !parameter.optional && !parameter.injected);
    needed
        .filter_map(|parameter| {
            Some((parameter.name.clone(), make_argument(graph, node.file, parameter, MAX_DEPTH)?))
        })
        .collect()
}

fn is_maker(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    ["get_", "create_", "build_", "make_", "load_", "init_", "setup_"]
        .iter()
        .any(|start| name.starts_with(start))
}
