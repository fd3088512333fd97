//! JavaScript and TypeScript, through oxc's parser.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument as Given, ArrowFunctionExpression, BindingPattern, CallExpression, Class as ClassNode,
    Declaration, Decorator, ExportDeclaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind,
    ExportFromDeclaration, ExportNamedDeclaration, Expression, FormalParameter, FormalParameters,
    Function as FunctionNode, ImportDeclaration, ImportDeclarationSpecifier, ImportExpression,
    MethodDefinition, NewExpression, ObjectProperty, ObjectPropertyKind, PropertyDefinition, ReturnStatement,
    StaticMemberExpression, TSInterfaceDeclaration, TSSignature, TSType, TSTypeAliasDeclaration,
    TSTypeAnnotation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::scope::ScopeFlags;

use super::{Argument, Binding, CallSite, Class, Function, Import, Lines, Parameter, Source, Unparsed};

/// What a file of this name is written in.
pub(crate) fn kind(path: &str) -> SourceType {
    match path.rsplit('.').next() {
        Some("ts" | "mts" | "cts") => SourceType::ts(),
        // `.js` may hold JSX, which oxc leaves off for it.
        Some("js" | "cjs" | "mjs" | "jsx") => SourceType::jsx().with_unambiguous(true),
        _ => SourceType::tsx(),
    }
}

pub(super) fn parse(path: &str, text: &str) -> Result<Source, Unparsed> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, kind(path)).parse();
    if parsed.panicked {
        return Err(Unparsed::Broken);
    }
    let mut reader = Reader::new(text);
    reader.visit_program(&parsed.program);
    Ok(reader.source)
}

/// The script in a component file, at the lines where it stands.
pub(super) fn parse_embedded(path: &str, text: &str) -> Result<Source, Unparsed> {
    let (start, end) = if path.ends_with(".astro") {
        let start = text.strip_prefix("---").map(|_| 3).ok_or(Unparsed::Broken)?;
        (start, text[start..].find("\n---").map_or(text.len(), |at| start + at))
    } else {
        let tag = text.find("<script").ok_or(Unparsed::Broken)?;
        let start = tag + text[tag..].find('>').ok_or(Unparsed::Broken)? + 1;
        (start, text[start..].find("</script").map_or(text.len(), |at| start + at))
    };
    let before = "\n".repeat(memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count());
    parse("embedded.ts", &format!("{before}{}", &text[start..end]))
}

struct Reader<'t> {
    text: &'t str,
    lines: Lines,
    source: Source,
    functions: Vec<usize>,
    classes: Vec<String>,
    /// The name that the next function gets, if it has none of its own.
    name: Option<(String, Span)>,
    decorators: Vec<CallSite>,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            lines: Lines::new(text),
            source: Source::default(),
            functions: Vec::new(),
            classes: Vec::new(),
            name: None,
            decorators: Vec::new(),
        }
    }

    fn line(&self, span: Span) -> u32 {
        self.lines.at(span.start as usize)
    }

    fn annotation(&self, annotation: Option<&TSTypeAnnotation<'_>>) -> Option<String> {
        let span = annotation?.type_annotation.span();
        Some(super::as_type(self.text.get(span.start as usize..span.end as usize)?))
    }

    /// Enters a function; the caller leaves it with `self.functions.pop()`.
    fn enter(
        &mut self,
        own: Option<(String, Span)>,
        at: Span,
        is_async: bool,
        given: &FormalParameters<'_>,
        returns: Option<&TSTypeAnnotation<'_>>,
    ) {
        let outer_name = self.name.take();
        let (name, span) = own.or(outer_name).unwrap_or((String::new(), at));
        let parameters = given.items.iter().map(|parameter| Parameter {
            name: names_of(&parameter.pattern),
            annotation: self.annotation(parameter.type_annotation.as_deref()),
            optional: parameter.optional || parameter.initializer.is_some(),
            ..Parameter::default()
        });
        let function = Function {
            parameters: parameters.collect(),
            owner: if self.functions.is_empty() { self.classes.last().cloned() } else { None },
            outer: self.functions.last().copied(),
            line: self.line(span),
            returns: self.annotation(returns),
            decorators: std::mem::take(&mut self.decorators),
            name,
            is_async,
            ..Function::default()
        };
        self.source.functions.push(function);
        self.functions.push(self.source.functions.len() - 1);
        self.read_parameters(&given.items);
    }

    /// `@Body('message') message: string` of `NestJS`: a parameter that is a field of the request.
    fn read_parameters(&mut self, parameters: &[FormalParameter<'_>]) {
        for decorator in
            parameters.iter().flat_map(|parameter| self.decorated(&parameter.decorators)).collect::<Vec<_>>()
        {
            if let ("Body" | "Query", Some(field)) = (decorator.callee.as_str(), decorator.first_text()) {
                self.field(field, |function| &mut function.reads);
            }
        }
    }

    /// Whether an answer is one that tells of an error: `res.status(400).json(…)`, `json(…, { status: 500 })`.
    fn is_error(&self, span: Span) -> bool {
        let written = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        ["status(4", "status(5", "status: 4", "status: 5", "code(4", "code(5"]
            .iter()
            .any(|code| written.contains(code))
    }

    fn call(&self, callee: &Expression<'_>, span: Span, arguments: &[Given<'_>]) -> CallSite {
        CallSite {
            callee: dotted(callee).unwrap_or_default(),
            line: self.line(span),
            arguments: arguments
                .iter()
                .map(|given| given.as_expression().map_or(Argument::Other, argument))
                .collect(),
            named: arguments.first().and_then(Given::as_expression).map(named).unwrap_or_default(),
            within: self.functions.last().copied(),
        }
    }

    /// Visits arguments; a function that is written among them becomes one of the call's.
    fn arguments(&mut self, mut site: CallSite, arguments: &[Given<'_>]) {
        let at = self.source.calls.len();
        self.source.calls.push(CallSite::default());
        for (place, given) in arguments.iter().enumerate() {
            let before = self.source.functions.len();
            self.visit_argument(given);
            let wraps = matches!(
                given,
                Given::FunctionExpression(_) | Given::ArrowFunctionExpression(_) | Given::CallExpression(_)
            );
            if wraps && self.source.functions.len() > before {
                site.arguments[place] = Argument::Function(before);
            }
        }
        self.source.calls[at] = site;
    }

    fn decorated(&self, decorators: &[Decorator<'_>]) -> Vec<CallSite> {
        let one = |decorator: &Decorator<'_>| match &decorator.expression {
            Expression::CallExpression(call) => self.call(&call.callee, call.span, &call.arguments),
            other => CallSite {
                callee: dotted(other).unwrap_or_default(),
                line: self.line(decorator.span),
                ..CallSite::default()
            },
        };
        decorators.iter().map(one).collect()
    }

    fn import(&mut self, module: &str, name: Option<&str>, local: &str, span: Span) {
        let (module, name, local) = (module.to_owned(), name.map(str::to_owned), local.to_owned());
        let line = self.line(span);
        self.source.imports.push(Import { module, name, local, line });
    }

    /// `const {a, b: c} = require("m")`.
    fn require(&mut self, pattern: &BindingPattern<'_>, module: &str, span: Span) {
        match pattern {
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    if let (Some(name), Some(local)) = (property.key.static_name(), bound(&property.value)) {
                        self.import(module, Some(&name), &local, span);
                    }
                }
            }
            other => self.import(module, None, &bound(other).unwrap_or_default(), span),
        }
    }

    fn field(&mut self, field: &str, choose: fn(&mut Function) -> &mut Vec<String>) {
        self.source.note_field(self.functions.last().copied(), field, choose);
    }

    fn class_of_signatures(&mut self, name: &str, span: Span, members: &[TSSignature<'_>]) {
        let fields = members.iter().filter_map(|member| match member {
            TSSignature::TSPropertySignature(property) => Some(Parameter {
                name: property.key.static_name()?.into_owned(),
                annotation: self.annotation(property.type_annotation.as_deref()),
                optional: property.optional,
                ..Parameter::default()
            }),
            _ => None,
        });
        let (fields, line) = (fields.collect(), self.line(span));
        self.source.classes.push(Class { name: name.to_owned(), fields, line, ..Class::default() });
    }

    fn export_names(&mut self, declaration: &Declaration<'_>) {
        match declaration {
            Declaration::VariableDeclaration(variables) => {
                let names = variables.declarations.iter().filter_map(|variable| bound(&variable.id));
                self.source.exports.extend(names);
            }
            other => self.source.exports.extend(other.id().map(|id| id.name.to_string())),
        }
    }
}

impl<'a> Visit<'a> for Reader<'_> {
    fn visit_function(&mut self, node: &FunctionNode<'a>, flags: ScopeFlags) {
        let own = node.id.as_ref().map(|id| (id.name.to_string(), id.span));
        self.enter(own, node.span, node.r#async, &node.params, node.return_type.as_deref());
        walk::walk_function(self, node, flags);
        self.functions.pop();
    }

    fn visit_arrow_function_expression(&mut self, node: &ArrowFunctionExpression<'a>) {
        self.enter(None, node.span, node.r#async, &node.params, node.return_type.as_deref());
        walk::walk_arrow_function_expression(self, node);
        self.functions.pop();
    }

    fn visit_class(&mut self, node: &ClassNode<'a>) {
        let name =
            node.id.as_ref().map(|id| id.name.to_string()).or_else(|| self.name.take().map(|(name, _)| name));
        let name = name.unwrap_or_default();
        let fields = node.body.body.iter().filter_map(|element| match element {
            oxc_ast::ast::ClassElement::PropertyDefinition(property) => Some(Parameter {
                name: property.key.static_name()?.into_owned(),
                annotation: self.annotation(property.type_annotation.as_deref()),
                optional: property.optional,
                ..Parameter::default()
            }),
            _ => None,
        });
        let class = Class {
            fields: fields.collect(),
            bases: node.heritage.iter().filter_map(|heritage| dotted(&heritage.expression)).collect(),
            decorators: self.decorated(&node.decorators),
            line: self.line(node.id.as_ref().map_or(node.span, |id| id.span)),
            name: name.clone(),
        };
        self.source.classes.push(class);
        self.classes.push(name);
        let functions = std::mem::take(&mut self.functions);
        walk::walk_class(self, node);
        self.functions = functions;
        self.classes.pop();
    }

    fn visit_method_definition(&mut self, node: &MethodDefinition<'a>) {
        self.decorators = self.decorated(&node.decorators);
        self.name = node.key.static_name().map(|name| (name.into_owned(), node.key.span()));
        self.visit_function(&node.value, ScopeFlags::Function);
    }

    fn visit_property_definition(&mut self, node: &PropertyDefinition<'a>) {
        if let Some(value @ (Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_))) =
            &node.value
        {
            self.name = node.key.static_name().map(|name| (name.into_owned(), node.key.span()));
            self.visit_expression(value);
            return;
        }
        if let (Some(name), Some(callee)) = (node.key.static_name(), node.value.as_ref().and_then(called)) {
            let (name, line) = (format!("this.{name}"), self.line(node.span));
            self.source.bindings.push(Binding { name, callee, line, within: None });
        }
        walk::walk_property_definition(self, node);
    }

    fn visit_object_property(&mut self, node: &ObjectProperty<'a>) {
        if matches!(node.value, Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_)) {
            self.name = node.key.static_name().map(|name| (name.into_owned(), node.key.span()));
        }
        walk::walk_object_property(self, node);
    }

    fn visit_variable_declarator(&mut self, node: &VariableDeclarator<'a>) {
        let Some(init) = &node.init else { return walk::walk_variable_declarator(self, node) };
        if let Some(module) = required(init) {
            self.require(&node.id, module, node.span);
        }
        if let (Some(name), Some(callee)) = (bound(&node.id), called(init)) {
            let (line, within) = (self.line(node.span), self.functions.last().copied());
            self.source.bindings.push(Binding { name, callee, line, within });
        }
        if let BindingPattern::ObjectPattern(object) = &node.id
            && dotted(init).is_some_and(|body| is_body(&body))
        {
            for property in &object.properties {
                if let Some(field) = property.key.static_name() {
                    self.field(&field, |function| &mut function.reads);
                }
            }
        }
        if matches!(
            init,
            Expression::ArrowFunctionExpression(_)
                | Expression::FunctionExpression(_)
                | Expression::ClassExpression(_)
        ) {
            self.name = bound(&node.id).map(|name| (name, node.id.span()));
        }
        walk::walk_variable_declarator(self, node);
    }

    fn visit_call_expression(&mut self, node: &CallExpression<'a>) {
        let site = self.call(&node.callee, node.span, &node.arguments);
        if let (true, Some(module)) = (site.callee == "require", site.first_text().map(str::to_owned)) {
            // Bound ones were seen by their declaration; this is for those that are used on the spot.
            if !self.source.imports.iter().any(|import| import.module == module) {
                self.import(&module, None, "", node.span);
            }
        }
        if answers(&site.callee) && !self.is_error(node.span) {
            for (name, _) in &site.named {
                self.field(name, |function| &mut function.writes);
            }
        }
        self.visit_expression(&node.callee);
        self.arguments(site, &node.arguments);
    }

    fn visit_new_expression(&mut self, node: &NewExpression<'a>) {
        let site = self.call(&node.callee, node.span, &node.arguments);
        self.arguments(site, &node.arguments);
    }

    fn visit_return_statement(&mut self, node: &ReturnStatement<'a>) {
        for (name, _) in node.argument.as_ref().map(named).unwrap_or_default() {
            self.field(&name, |function| &mut function.writes);
        }
        walk::walk_return_statement(self, node);
    }

    fn visit_static_member_expression(&mut self, node: &StaticMemberExpression<'a>) {
        if dotted(&node.object).is_some_and(|body| is_body(&body)) {
            self.field(&node.property.name, |function| &mut function.reads);
        }
        walk::walk_static_member_expression(self, node);
    }

    fn visit_import_declaration(&mut self, node: &ImportDeclaration<'a>) {
        let module = node.source.value.as_str();
        match &node.specifiers {
            None => self.import(module, None, "", node.span),
            Some(specifiers) if specifiers.is_empty() => self.import(module, None, "", node.span),
            Some(specifiers) => {
                for specifier in specifiers {
                    match specifier {
                        ImportDeclarationSpecifier::ImportSpecifier(one) => {
                            self.import(module, Some(&one.imported.name()), &one.local.name, node.span);
                        }
                        ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => {
                            self.import(module, Some("default"), &one.local.name, node.span);
                        }
                        ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => {
                            self.import(module, None, &one.local.name, node.span);
                        }
                    }
                }
            }
        }
    }

    fn visit_import_expression(&mut self, node: &ImportExpression<'a>) {
        if let Expression::StringLiteral(module) = &node.source {
            self.import(&module.value, None, "", node.span);
        }
        walk::walk_import_expression(self, node);
    }

    fn visit_export_declaration(&mut self, node: &ExportDeclaration<'a>) {
        self.export_names(&node.declaration);
        walk::walk_export_declaration(self, node);
    }

    fn visit_export_named_declaration(&mut self, node: &ExportNamedDeclaration<'a>) {
        self.source.exports.extend(node.specifiers.iter().map(|one| one.exported.name().to_string()));
    }

    fn visit_export_from_declaration(&mut self, node: &ExportFromDeclaration<'a>) {
        for one in &node.specifiers {
            self.source.exports.push(one.exported.name().to_string());
            self.import(&node.source.value, Some(&one.local.name()), &one.exported.name(), node.span);
        }
    }

    fn visit_export_default_declaration(&mut self, node: &ExportDefaultDeclaration<'a>) {
        self.source.exports.push("default".to_owned());
        self.source.default_export = match &node.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                function.id.as_ref().map(|id| id.name.to_string())
            }
            ExportDefaultDeclarationKind::Identifier(name) => Some(name.name.to_string()),
            _ => None,
        };
        if matches!(
            node.declaration,
            ExportDefaultDeclarationKind::FunctionDeclaration(_)
                | ExportDefaultDeclarationKind::ArrowFunctionExpression(_)
        ) {
            self.name = Some(("default".to_owned(), node.span));
        }
        walk::walk_export_default_declaration(self, node);
    }

    fn visit_ts_interface_declaration(&mut self, node: &TSInterfaceDeclaration<'a>) {
        self.class_of_signatures(&node.id.name, node.id.span, &node.body.body);
    }

    fn visit_ts_type_alias_declaration(&mut self, node: &TSTypeAliasDeclaration<'a>) {
        if let TSType::TSTypeLiteral(literal) = &node.type_annotation {
            self.class_of_signatures(&node.id.name, node.id.span, &literal.members);
        }
    }
}

/// Names under which the body of a request goes: `req.body`, `await request.json()`, `ctx.request.body`.
fn is_body(name: &str) -> bool {
    let request = |name: &str| {
        matches!(name, "req" | "request" | "ctx.request" | "c.req" | "ctx.req" | "event.request" | "this.req")
    };
    name.strip_suffix(".body").is_some_and(request) || name.strip_suffix(".json()").is_some_and(request)
}

/// Calls that answer with the object they are given.
fn answers(callee: &str) -> bool {
    let (object, method) = callee.rsplit_once('.').unwrap_or(("", callee));
    method == "json" && !object.is_empty() && !object.ends_with("req") && !object.ends_with("request")
        || (method == "send" && (object.starts_with("res") || object.starts_with("reply")))
        || callee == "json"
}

/// What an object literal names.
fn named(expression: &Expression<'_>) -> Vec<(String, Argument)> {
    let Expression::ObjectExpression(object) = expression.get_inner_expression() else { return Vec::new() };
    let pair = |property: &ObjectPropertyKind<'_>| match property {
        ObjectPropertyKind::ObjectProperty(property) => {
            Some((property.key.static_name()?.into_owned(), argument(&property.value)))
        }
        ObjectPropertyKind::SpreadProperty(_) => None,
    };
    object.properties.iter().filter_map(pair).collect()
}

fn argument(expression: &Expression<'_>) -> Argument {
    match expression.get_inner_expression() {
        Expression::StringLiteral(text) => Argument::Text(text.value.to_string()),
        Expression::TemplateLiteral(text) if text.expressions.is_empty() => {
            Argument::Text(text.quasis.iter().map(|part| part.value.raw.as_str()).collect())
        }
        Expression::CallExpression(call) => dotted(&call.callee).map_or(Argument::Other, Argument::Call),
        Expression::NewExpression(call) => dotted(&call.callee).map_or(Argument::Other, Argument::Call),
        Expression::ArrayExpression(list) => Argument::List(
            list.elements.iter().filter_map(|item| item.as_expression()).map(argument).collect(),
        ),
        Expression::ObjectExpression(_) => Argument::Map(named(expression)),
        other => dotted(other).map_or(Argument::Other, Argument::Name),
    }
}

/// The module of `require("module")`.
fn required<'e>(expression: &'e Expression<'_>) -> Option<&'e str> {
    match expression.get_inner_expression() {
        Expression::CallExpression(call) if call.callee.is_specific_id("require") => {
            match call.arguments.first() {
                Some(Given::StringLiteral(module)) => Some(module.value.as_str()),
                _ => None,
            }
        }
        Expression::StaticMemberExpression(member) => required(&member.object),
        _ => None,
    }
}

/// What is called to make this value.
fn called(expression: &Expression<'_>) -> Option<String> {
    match expression.get_inner_expression() {
        Expression::CallExpression(call) => dotted(&call.callee),
        Expression::NewExpression(call) => dotted(&call.callee),
        Expression::AwaitExpression(awaited) => called(&awaited.argument),
        _ => None,
    }
}

/// The names that a pattern binds; without defaults, which may be secret.
fn names_of(pattern: &BindingPattern<'_>) -> String {
    bound(pattern).unwrap_or_else(|| {
        let names: Vec<_> = pattern.get_binding_identifiers().iter().map(|id| id.name.to_string()).collect();
        format!("{{ {} }}", names.join(", "))
    })
}

/// The name that a pattern binds, if it is only a name.
fn bound(pattern: &BindingPattern<'_>) -> Option<String> {
    pattern.get_binding_identifier().map(|id| id.name.to_string())
}

/// `a.b().c` as text, if it is nothing else.
fn dotted(mut expression: &Expression<'_>) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    loop {
        match expression.get_inner_expression() {
            Expression::Identifier(name) => {
                parts.push(name.name.as_str());
                break;
            }
            Expression::ThisExpression(_) => {
                parts.push("this");
                break;
            }
            Expression::StaticMemberExpression(member) => {
                parts.push(member.property.name.as_str());
                parts.push(".");
                expression = &member.object;
            }
            Expression::ComputedMemberExpression(member) => expression = &member.object,
            Expression::CallExpression(call) => {
                parts.push("()");
                expression = &call.callee;
            }
            Expression::NewExpression(call) => {
                parts.push("()");
                expression = &call.callee;
            }
            Expression::AwaitExpression(awaited) => expression = &awaited.argument,
            _ => return None,
        }
        if parts.len() > 64 {
            return None;
        }
    }
    parts.reverse();
    Some(parts.concat())
}
