//! Where a program makes an object of a class that cannot be made without arguments.

use crate::call_graph::CallGraph;
use crate::manifest::Ecosystem;
use crate::path_role;
use crate::profile::AgentInstance;
use crate::source::SourceFunction;

/// An object of a class that another file can import, or a function that makes one: `service = ChatService(store)`,
/// `def get_service() -> ChatService`.
pub(crate) fn find_instance(graph: &CallGraph<'_, '_>, file: usize, class: &str) -> Option<AgentInstance> {
    let is_it = |at: usize, callee: &str| {
        callee.rsplit('.').next() == Some(class)
            && graph.find_class(at, callee) == graph.find_class(file, class)
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
        Some(AgentInstance {
            path: of.path.to_owned(),
            name: found.name.clone(),
            is_call: false,
            is_async: false,
        })
    });
    object.or_else(|| {
        own().find_map(|(at, of)| {
            let makes = |(place, function): &(usize, &SourceFunction)| {
                let is_free = function.outer.is_none()
                    && function.owner.is_none()
                    && !function.is_generator
                    && function.parameters.iter().all(|parameter| parameter.optional && !parameter.injected);
                let declared = || {
                    function.returns.as_deref().is_some_and(|returns| is_it(at, returns.trim_matches('"')))
                };
                let calls = || {
                    of.source.calls.iter().any(|call| call.within == Some(*place) && is_it(at, &call.callee))
                };
                is_free && (declared() || is_maker(&function.name) && calls())
            };
            let (_, found) = of.source.functions.iter().enumerate().find(makes)?;
            Some(AgentInstance {
                path: of.path.to_owned(),
                name: found.name.clone(),
                is_call: true,
                is_async: found.is_async,
            })
        })
    })
}

fn is_maker(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    ["get_", "create_", "build_", "make_", "load_", "init_", "setup_"]
        .iter()
        .any(|start| name.starts_with(start))
}
