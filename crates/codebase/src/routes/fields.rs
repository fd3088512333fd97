//! What a handler reads from the request and answers with.

use crate::file_summary::function_parameter;
use crate::profile::FunctionParameter;
use crate::source::{CallArgument, CallSite, RequestPart, SourceFunction};
use crate::symbols::{NodeId, SymbolIndex, type_names};

/// What a handler reads from the request and answers with, as far as types or code show it.
#[derive(Default)]
pub(crate) struct HandlerFields {
    pub(crate) request: Vec<String>,
    pub(crate) response: Vec<String>,
    /// The request fields that a class or a parameter declares.
    pub(crate) declared: Vec<FunctionParameter>,
    pub(crate) is_validated: bool,
    pub(crate) is_bare_body: bool,
    pub(crate) form: Vec<String>,
    pub(crate) query: Vec<String>,
    pub(crate) optional: Vec<String>,
}

pub(crate) fn handler_fields(
    symbols: &SymbolIndex<'_, '_>,
    handler: NodeId,
    path: &str,
    schema: Option<&str>,
) -> HandlerFields {
    let Some(function) = symbols.function(handler) else { return HandlerFields::default() };
    let of_type = |annotation: &str| {
        // `@Body() body: { question: string; topK?: number }`
        if annotation.starts_with('{') {
            return Some(fields_of_literal(annotation)).filter(|fields| !fields.is_empty());
        }
        let class = type_names(annotation).find_map(|word| symbols.find_class(handler.file, word));
        class.map(|(file, class)| class_fields(symbols, file, class, 3)).filter(|fields| !fields.is_empty())
    };
    // Injected parameters and response types are not part of the request.
    let is_sent = |annotation: &&str| !annotation.contains("Response");
    let is_python = symbols.files[handler.file].path.ends_with(".py");
    let own = || function.parameters.iter().filter(|parameter| !parameter.injected);
    let mut helper = handed_on_fields(symbols, handler, function);
    let mut annotations = own().filter_map(|parameter| parameter.annotation.as_deref()).filter(is_sent);
    let mut fields = HandlerFields {
        declared: annotations
            .find_map(of_type)
            .or_else(|| function.body_type.as_deref().and_then(of_type))
            .unwrap_or_default(),
        form: [&function.form_fields[..], &helper.form].concat(),
        query: [&function.query_fields[..], &helper.query].concat(),
        optional: [&function.optional_fields[..], &helper.optional].concat(),
        // A controller of NestJS has decorators, and its classes are checked.
        is_validated: is_python || !function.decorators.is_empty(),
        ..HandlerFields::default()
    };
    // FastAPI fills plain parameters from the query, and others from the part that their default names.
    let in_path = |name: &str| path.contains(&format!("{{{name}}}")) || path.contains(&format!("{{{name}:"));
    let is_field = |parameter: &&crate::source::SourceParameter| {
        is_python && !in_path(&parameter.name) && parameter.part != Some(RequestPart::Header)
    };
    for parameter in own().filter(is_field) {
        let is_plain = parameter.annotation.as_deref().is_some_and(is_scalar_type);
        let names = match parameter.part {
            Some(RequestPart::Form) => &mut fields.form,
            Some(RequestPart::Query) => &mut fields.query,
            None if is_plain && !path.contains('<') => &mut fields.query,
            Some(RequestPart::Json | RequestPart::Body) if is_plain => {
                fields.declared.push(function_parameter(parameter));
                continue;
            }
            _ => continue,
        };
        names.push(parameter.name.clone());
        fields.declared.push(function_parameter(parameter));
    }
    // One alone is the body itself; several are its fields.
    let of_body = |parameter: &&crate::source::SourceParameter| {
        let is_class = || parameter.annotation.as_deref().is_some_and(|given| of_type(given).is_some());
        matches!(parameter.part, Some(RequestPart::Body | RequestPart::Json)) || is_class()
    };
    let mut bodies = own().filter(of_body);
    fields.is_bare_body = is_python
        && bodies.next().is_some_and(|first| {
            first.part == Some(RequestPart::Body) && first.annotation.as_deref().is_some_and(is_scalar_type)
        })
        && bodies.next().is_none();
    let model = function.decorators.iter().find_map(|decorator| decorator.keyword_argument("response_model"));
    let answered = match model {
        Some(CallArgument::Name(name)) => of_type(name),
        _ => None,
    };
    let answered = answered.or_else(|| function.returns.as_deref().and_then(of_type));
    let names_of =
        |fields: &[FunctionParameter]| fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
    if fields.declared.is_empty()
        && let Some(schema) = validated_schema(symbols, handler, schema)
    {
        fields.declared = schema.keyword_arguments.iter().map(schema_field).collect();
        fields.request = names_of(&fields.declared);
        fields.is_validated = true;
        fields.response.clone_from(&function.response_fields);
        return fields;
    }
    fields.request = match (fields.declared.is_empty(), function.request_fields.is_empty()) {
        (false, _) => names_of(&fields.declared),
        (true, false) => function.request_fields.clone(),
        (true, true) => std::mem::take(&mut helper.request),
    };
    fields.response = match answered {
        Some(answered) => names_of(&answered),
        None if function.response_fields.is_empty() => helper.response,
        None => function.response_fields.clone(),
    };
    fields
}

/// The fields of a type that is written in place.
fn fields_of_literal(written: &str) -> Vec<FunctionParameter> {
    let inner = written.trim_start_matches('{').split('}').next().unwrap_or_default();
    let members = inner.split([';', ',']).filter_map(|member| member.split_once(':'));
    let field = |(name, kind): (&str, &str)| FunctionParameter {
        name: name.trim().trim_end_matches('?').to_owned(),
        annotation: Some(kind.trim().to_owned()),
        optional: name.trim().ends_with('?'),
        ..FunctionParameter::default()
    };
    members.map(field).filter(|field| field.name.chars().all(|c| c.is_alphanumeric() || c == '_')).collect()
}

/// A field of a zod schema: `sessionId: z.string().uuid().optional()`.
fn schema_field((name, value): &(String, CallArgument)) -> FunctionParameter {
    let CallArgument::Call(written) = value else {
        return FunctionParameter { name: name.clone(), ..FunctionParameter::default() };
    };
    let has = |words: &[&str]| words.iter().any(|word| written.contains(word));
    let kinds = [
        ("array", "unknown[]"),
        ("object", "object"),
        ("uuid", "uuid"),
        ("boolean", "boolean"),
        ("number", "number"),
        ("string", "string"),
    ];
    let kind = kinds.iter().find(|(word, _)| written.contains(word));
    FunctionParameter {
        name: name.clone(),
        annotation: kind.map(|(_, kind)| (*kind).to_owned()),
        optional: has(&["optional", "default", "nullish"]),
        ..FunctionParameter::default()
    }
}

/// The zod schema that a handler validates its request with: `chatSchema.safeParse(body)`.
fn validated_schema<'l>(
    symbols: &SymbolIndex<'l, '_>,
    handler: NodeId,
    by_middleware: Option<&str>,
) -> Option<&'l CallSite> {
    let own = symbols.files[handler.file].source.calls.iter().filter(|call| call.within == handler.function);
    let function = symbols.function(handler);
    // What a model answers is checked in the same way.
    let is_request = |argument: &CallArgument| match argument {
        CallArgument::Name(name) => {
            name.rsplit('.').next() == Some("body")
                || function.is_some_and(|function| function.request_names.contains(name))
        }
        CallArgument::Call(callee) => callee.ends_with(".json"),
        _ => false,
    };
    let reads_nothing_else = function.is_none_or(|function| function.request_fields.is_empty());
    let own = own.filter_map(|call| {
        let (schema, verb) = call.callee.rsplit_once('.')?;
        let is_check = matches!(verb, "parse" | "safeParse" | "parseAsync" | "safeParseAsync");
        (is_check && (reads_nothing_else || call.arguments.iter().any(is_request))).then_some(schema)
    });
    by_middleware.into_iter().chain(own).find_map(|schema| {
        let (file, name) = symbols.imported_from(handler.file, schema).unwrap_or((handler.file, schema));
        let source = symbols.files[file].source;
        let made =
            source.bindings.iter().find(|binding| binding.name == name && binding.callee == "z.object")?;
        source.calls.iter().find(|call| call.callee == "z.object" && call.line >= made.line)
    })
}

/// The request fields that a handler leaves to the functions it hands its request to, if it reads none itself.
fn handed_on_fields(
    symbols: &SymbolIndex<'_, '_>,
    handler: NodeId,
    function: &SourceFunction,
) -> HandlerFields {
    let is_whole = |name: &str| matches!(name, "request" | "req" | "self.request" | "c" | "ctx");
    let is_body = |name: &str| {
        function.request_names.iter().any(|known| known == name)
            || matches!(name, "req.body" | "request.body" | "request.json" | "request.data" | "request.form")
    };
    let own = symbols.files[handler.file].source.calls.iter().filter(|call| call.within == handler.function);
    for call in own.clone().filter(|_| function.request_fields.is_empty()) {
        let Some(called) = symbols.resolve_function(handler.file, call.within, &call.callee) else {
            continue;
        };
        let Some(helper) = symbols.function(called) else { continue };
        for (at, argument) in call.arguments.iter().enumerate() {
            let CallArgument::Name(name) = argument else { continue };
            if is_whole(name) && !helper.request_fields.is_empty() {
                return HandlerFields {
                    request: helper.request_fields.clone(),
                    form: helper.form_fields.clone(),
                    query: helper.query_fields.clone(),
                    optional: helper.optional_fields.clone(),
                    response: helper.response_fields.clone(),
                    ..HandlerFields::default()
                };
            }
            if is_body(name) {
                let request = fields_of_parameter(symbols, called, at, 2);
                if !request.is_empty() {
                    let form = if name == "request.form" { request.clone() } else { Vec::new() };
                    return HandlerFields { request, form, ..HandlerFields::default() };
                }
            }
        }
    }
    HandlerFields::default()
}

/// The fields that a function, or what it hands a parameter on to, reads of that parameter.
fn fields_of_parameter(symbols: &SymbolIndex<'_, '_>, node: NodeId, at: usize, hops: usize) -> Vec<String> {
    let Some(function) = symbols.function(node) else { return Vec::new() };
    let Some(parameter) = function.parameters.get(at) else { return Vec::new() };
    let own = function.parameter_fields.iter().filter(|(name, _)| *name == parameter.name);
    let own: Vec<String> = own.map(|(_, field)| field.clone()).collect();
    if !own.is_empty() || hops == 0 {
        return own;
    }
    let calls = symbols.files[node.file].source.calls.iter().filter(|call| call.within == node.function);
    calls
        .filter_map(|call| {
            let is_it = |argument: &CallArgument| matches!(argument, CallArgument::Name(name) if *name == parameter.name);
            let place = call.arguments.iter().position(is_it)?;
            let called = symbols.resolve_function(node.file, call.within, &call.callee)?;
            Some(fields_of_parameter(symbols, called, place, hops - 1))
        })
        .find(|fields| !fields.is_empty())
        .unwrap_or_default()
}

/// Types that a query or a form field can have.
fn is_scalar_type(annotation: &str) -> bool {
    let plain = annotation.replace([' ', '"', '\''], "");
    let parts = ["", "str", "int", "float", "bool", "None", "Optional", "Union"];
    let first = plain.strip_prefix("Annotated[").and_then(|rest| rest.split(',').next()).unwrap_or(&plain);
    !first.is_empty() && first.split(['|', '[', ']', ',']).all(|part| parts.contains(&part))
}

/// The fields of a class and of the classes that it extends.
fn class_fields(
    symbols: &SymbolIndex<'_, '_>,
    file: usize,
    class: &str,
    levels: usize,
) -> Vec<FunctionParameter> {
    let Some(found) = symbols.resolve_class(file, class) else { return Vec::new() };
    let mut fields: Vec<FunctionParameter> = Vec::new();
    for base in found.bases.iter().filter(|base| levels > 0 && *base != class) {
        if let Some((file, base)) = symbols.find_class(file, base) {
            fields.extend(class_fields(symbols, file, base, levels - 1));
        }
    }
    for field in found.fields.iter().map(function_parameter) {
        fields.retain(|known| known.name != field.name);
        fields.push(field);
    }
    fields
}
