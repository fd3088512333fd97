//! Source facts of JavaScript and TypeScript files, using oxc's parser.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument as ArgumentNode, ArrowFunctionExpression, AssignmentExpression, AssignmentTarget,
    BindingPattern, CallExpression, Class as ClassNode, Declaration, Decorator, ExportAllDeclaration,
    ExportDeclaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind, ExportFromDeclaration,
    ExportNamedDeclaration, Expression, FormalParameter, FormalParameters, Function as FunctionNode,
    ImportDeclaration, ImportDeclarationSpecifier, ImportExpression, LogicalExpression, MethodDefinition,
    NewExpression, ObjectPattern, ObjectProperty, ObjectPropertyKind, PropertyDefinition, ReturnStatement,
    StaticMemberExpression, StringLiteral, TSInterfaceDeclaration, TSSignature, TSType,
    TSTypeAliasDeclaration, TSTypeAnnotation, TemplateLiteral, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::scope::ScopeFlags;

use super::{
    ALL_NAMES, CallArgument, CallBinding, CallSite, ParsedSource, ProviderUrl, RequestPart, SourceClass,
    SourceFunction, SourceImport, SourceLineIndex, SourceParameter, SourceParseError, provider_library,
};

pub(crate) fn source_type(path: &str) -> SourceType {
    match path.rsplit('.').next() {
        Some("ts" | "mts" | "cts") => SourceType::ts(),
        // `.js` files may contain JSX, which oxc does not enable for them.
        Some("js" | "cjs" | "mjs" | "jsx") => SourceType::jsx().with_unambiguous(true),
        _ => SourceType::tsx(),
    }
}

pub(super) fn parse(path: &str, text: &str) -> Result<ParsedSource, SourceParseError> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type(path)).parse();
    if parsed.panicked {
        return Err(SourceParseError::Syntax);
    }
    let mut reader = ScriptVisitor::new(text);
    reader.visit_program(&parsed.program);
    Ok(reader.source)
}

/// Parses the script of a component file, keeping its line numbers.
pub(super) fn parse_embedded(path: &str, text: &str) -> Result<ParsedSource, SourceParseError> {
    let (start, end) = if path.ends_with(".astro") {
        let start = text.strip_prefix("---").map(|_| 3).ok_or(SourceParseError::Syntax)?;
        (start, text[start..].find("\n---").map_or(text.len(), |at| start + at))
    } else {
        let tag = text.find("<script").ok_or(SourceParseError::Syntax)?;
        let start = tag + text[tag..].find('>').ok_or(SourceParseError::Syntax)? + 1;
        (start, text[start..].find("</script").map_or(text.len(), |at| start + at))
    };
    let before = "\n".repeat(memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count());
    parse("embedded.ts", &format!("{before}{}", &text[start..end]))
}

struct ScriptVisitor<'t> {
    text: &'t str,
    lines: SourceLineIndex,
    source: ParsedSource,
    functions: Vec<usize>,
    classes: Vec<String>,
    /// The name for the next anonymous function.
    name: Option<(String, Span)>,
    decorators: Vec<CallSite>,
    /// Names that hold a part of the request: `const body = await req.json()`.
    request_aliases: Vec<(Option<usize>, String, RequestPart)>,
}

impl<'t> ScriptVisitor<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            lines: SourceLineIndex::new(text),
            source: ParsedSource::default(),
            functions: Vec::new(),
            classes: Vec::new(),
            name: None,
            decorators: Vec::new(),
            request_aliases: Vec::new(),
        }
    }

    fn line(&self, span: Span) -> u32 {
        self.lines.line_at(span.start as usize)
    }

    fn annotation(&self, annotation: Option<&TSTypeAnnotation<'_>>) -> Option<String> {
        let span = annotation?.type_annotation.span();
        Some(super::normalize_type(self.text.get(span.start as usize..span.end as usize)?))
    }

    /// Enters a function; the caller leaves it with `self.functions.pop()`.
    fn enter_function(
        &mut self,
        own: Option<(String, Span)>,
        at: Span,
        is_async: bool,
        given: &FormalParameters<'_>,
        returns: Option<&TSTypeAnnotation<'_>>,
    ) {
        let outer_name = self.name.take();
        let (name, span) = own.or(outer_name).unwrap_or((String::new(), at));
        let parameters = given.items.iter().map(|parameter| SourceParameter {
            name: pattern_text(&parameter.pattern),
            annotation: self.annotation(parameter.type_annotation.as_deref()),
            optional: parameter.optional || parameter.initializer.is_some(),
            ..SourceParameter::default()
        });
        let function = SourceFunction {
            parameters: parameters.collect(),
            owner: if self.functions.is_empty() { self.classes.last().cloned() } else { None },
            outer: self.functions.last().copied(),
            line: self.line(span),
            end_line: self.lines.line_at(at.end as usize),
            returns: self.annotation(returns),
            decorators: std::mem::take(&mut self.decorators),
            name,
            is_async,
            ..SourceFunction::default()
        };
        self.source.functions.push(function);
        self.functions.push(self.source.functions.len() - 1);
        self.record_parameter_fields(&given.items);
        for pattern in given.items.iter().map(|parameter| &parameter.pattern) {
            if let BindingPattern::ObjectPattern(object) = pattern {
                self.record_destructured(&pattern_text(pattern), object);
            }
        }
    }

    /// Records the type of a request's body: `const { message }: ChatRequest = await req.json()`, or `… as ChatRequest`.
    fn record_body_type(&mut self, annotation: Option<&TSType<'_>>, value: &Expression<'_>) {
        let cast = match value {
            Expression::TSAsExpression(cast) => Some(&cast.type_annotation),
            _ => None,
        };
        let name = match annotation.or(cast) {
            Some(TSType::TSTypeReference(reference)) => self
                .text
                .get(reference.span.start as usize..reference.span.end as usize)
                .map(super::normalize_type),
            Some(TSType::TSTypeLiteral(literal)) => {
                let name = format!("body_at_{}", self.line(literal.span));
                self.record_interface(&name, literal.span, &literal.members);
                Some(name)
            }
            _ => None,
        };
        if let (Some(name), Some(function)) = (name, self.functions.last()) {
            self.source.functions[*function].body_type = Some(name);
        }
    }

    /// Records the fields that a pattern takes out of a parameter.
    fn record_destructured(&mut self, parameter: &str, pattern: &ObjectPattern<'_>) {
        for property in &pattern.properties {
            if let Some(field) = property.key.static_name() {
                self.source.add_parameter_field(&self.functions, parameter, &field);
            }
        }
    }

    /// `NestJS`'s `@Body('message') message: string`: a parameter that is a request field.
    fn record_parameter_fields(&mut self, parameters: &[FormalParameter<'_>]) {
        for decorator in parameters
            .iter()
            .flat_map(|parameter| self.decorator_calls(&parameter.decorators))
            .collect::<Vec<_>>()
        {
            let part = match decorator.callee.as_str() {
                "Body" => RequestPart::Json,
                "Query" => RequestPart::Query,
                _ => continue,
            };
            if let Some(field) = decorator.first_string() {
                self.record_request_field(part, field);
            }
        }
    }

    /// Whether a response reports an error: `res.status(400).json(…)`, `json(…, { status: 500 })`.
    fn is_error_response(&self, span: Span) -> bool {
        let written = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        ["status(4", "status(5", "status: 4", "status: 5", "code(4", "code(5"]
            .iter()
            .any(|code| written.contains(code))
    }

    fn call_site(&self, callee: &Expression<'_>, span: Span, arguments: &[ArgumentNode<'_>]) -> CallSite {
        CallSite {
            callee: dotted_name(callee).unwrap_or_default(),
            line: self.line(span),
            arguments: arguments
                .iter()
                .map(|given| given.as_expression().map_or(CallArgument::Other, call_argument))
                .collect(),
            keyword_arguments: arguments
                .first()
                .and_then(ArgumentNode::as_expression)
                .map(object_entries)
                .unwrap_or_default(),
            within: self.functions.last().copied(),
        }
    }

    /// Visits arguments; an inline function becomes an argument of the call.
    fn visit_call_arguments(&mut self, mut site: CallSite, arguments: &[ArgumentNode<'_>]) {
        let at = self.source.calls.len();
        self.source.calls.push(CallSite::default());
        for (place, given) in arguments.iter().enumerate() {
            let before = self.source.functions.len();
            self.visit_argument(given);
            let wraps = matches!(
                given,
                ArgumentNode::FunctionExpression(_)
                    | ArgumentNode::ArrowFunctionExpression(_)
                    | ArgumentNode::CallExpression(_)
            );
            if wraps && self.source.functions.len() > before {
                site.arguments[place] = CallArgument::Function(before);
            }
        }
        self.source.calls[at] = site;
    }

    fn decorator_calls(&self, decorators: &[Decorator<'_>]) -> Vec<CallSite> {
        let one = |decorator: &Decorator<'_>| match &decorator.expression {
            Expression::CallExpression(call) => self.call_site(&call.callee, call.span, &call.arguments),
            other => CallSite {
                callee: dotted_name(other).unwrap_or_default(),
                line: self.line(decorator.span),
                ..CallSite::default()
            },
        };
        decorators.iter().map(one).collect()
    }

    fn record_import(&mut self, module: &str, name: Option<&str>, local: &str, span: Span) {
        let (module, name, local) = (module.to_owned(), name.map(str::to_owned), local.to_owned());
        let line = self.line(span);
        self.source.imports.push(SourceImport { module, name, local, line });
    }

    /// `const {a, b: c} = require("m")`.
    fn record_require(&mut self, pattern: &BindingPattern<'_>, module: &str, span: Span) {
        match pattern {
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    if let (Some(name), Some(local)) =
                        (property.key.static_name(), bound_name(&property.value))
                    {
                        self.record_import(module, Some(&name), &local, span);
                    }
                }
            }
            other => self.record_import(module, None, &bound_name(other).unwrap_or_default(), span),
        }
    }

    fn record_field(&mut self, field: &str, choose: fn(&mut SourceFunction) -> &mut Vec<String>) {
        self.source.add_field(self.functions.last().copied(), field, choose);
    }

    /// Records a field that is read from a part of the request.
    fn record_request_field(&mut self, part: RequestPart, field: &str) {
        self.source.add_request_field(self.functions.last().copied(), part, field);
    }

    /// The part of the request that an expression is.
    fn request_part(&self, expression: &Expression<'_>) -> Option<RequestPart> {
        let expression = match expression.get_inner_expression() {
            Expression::LogicalExpression(either) => either.left.get_inner_expression(),
            other => other,
        };
        let name = dotted_name(expression)?;
        let functions = self.functions.iter().rev().map(|at| Some(*at)).chain([None]);
        let alias = functions.into_iter().find_map(|within| {
            let mut own = self.request_aliases.iter().rev().filter(|(function, ..)| *function == within);
            own.find(|(_, alias, _)| *alias == name).map(|(.., part)| *part)
        });
        alias.or_else(|| request_part(&name))
    }

    fn record_provider_url(&mut self, text: &str, span: Span) {
        if let Some(library) = provider_library(text) {
            let (line, within) = (self.line(span), self.functions.last().copied());
            self.source.provider_urls.push(ProviderUrl { library, line, within });
        }
    }

    /// Records an object that has no name but that of the default export: `export default new ChatService()`.
    fn record_default_object(&mut self, class: &Expression<'_>, span: Span) -> Option<String> {
        let (name, line) = ("default".to_owned(), self.line(span));
        let callee = dotted_name(class)?;
        let binding =
            CallBinding { name: name.clone(), callee, line, within: None, is_absent_on_import: false };
        self.source.bindings.push(binding);
        Some(name)
    }

    fn record_interface(&mut self, name: &str, span: Span, members: &[TSSignature<'_>]) {
        let fields = members.iter().filter_map(|member| match member {
            TSSignature::TSPropertySignature(property) => Some(SourceParameter {
                name: property.key.static_name()?.into_owned(),
                annotation: self.annotation(property.type_annotation.as_deref()),
                optional: property.optional,
                ..SourceParameter::default()
            }),
            _ => None,
        });
        let (fields, line) = (fields.collect(), self.line(span));
        self.source.classes.push(SourceClass {
            name: name.to_owned(),
            fields,
            line,
            ..SourceClass::default()
        });
    }

    /// Records the functions that a value names: itself, or those of a table.
    fn record_references(&mut self, holder: Option<&str>, value: &Expression<'_>) {
        match value.get_inner_expression() {
            Expression::ObjectExpression(object) => {
                if let Some(holder) = holder.filter(|_| self.functions.is_empty()) {
                    self.source.object_literals.push(holder.to_owned());
                }
                for property in &object.properties {
                    if let ObjectPropertyKind::ObjectProperty(property) = property {
                        self.record_references(holder, &property.value);
                    }
                }
            }
            Expression::ConditionalExpression(either) => {
                self.record_references(holder, &either.consequent);
                self.record_references(holder, &either.alternate);
            }
            value @ (Expression::Identifier(_) | Expression::StaticMemberExpression(_)) => {
                let within = self.functions.last().copied();
                if let Some(name) = dotted_name(value).filter(|name| !name.contains("()")) {
                    self.source.add_reference(holder, name, within);
                }
            }
            _ => {}
        }
    }

    fn record_exports(&mut self, declaration: &Declaration<'_>) {
        match declaration {
            Declaration::VariableDeclaration(variables) => {
                let names = variables.declarations.iter().filter_map(|variable| bound_name(&variable.id));
                self.source.exports.extend(names);
            }
            other => self.source.exports.extend(other.id().map(|id| id.name.to_string())),
        }
    }
}

impl<'a> Visit<'a> for ScriptVisitor<'_> {
    fn visit_function(&mut self, node: &FunctionNode<'a>, flags: ScopeFlags) {
        let own = node.id.as_ref().map(|id| (id.name.to_string(), id.span));
        self.enter_function(own, node.span, node.r#async, &node.params, node.return_type.as_deref());
        walk::walk_function(self, node, flags);
        self.functions.pop();
    }

    fn visit_arrow_function_expression(&mut self, node: &ArrowFunctionExpression<'a>) {
        self.enter_function(None, node.span, node.r#async, &node.params, node.return_type.as_deref());
        walk::walk_arrow_function_expression(self, node);
        self.functions.pop();
    }

    fn visit_class(&mut self, node: &ClassNode<'a>) {
        let name =
            node.id.as_ref().map(|id| id.name.to_string()).or_else(|| self.name.take().map(|(name, _)| name));
        let name = name.unwrap_or_default();
        let fields = node.body.body.iter().filter_map(|element| match element {
            oxc_ast::ast::ClassElement::PropertyDefinition(property) => Some(SourceParameter {
                name: property.key.static_name()?.into_owned(),
                annotation: self.annotation(property.type_annotation.as_deref()),
                // `@IsOptional() limit = 5`
                optional: property.optional
                    || property.value.is_some()
                    || self
                        .decorator_calls(&property.decorators)
                        .iter()
                        .any(|one| one.callee == "IsOptional"),
                ..SourceParameter::default()
            }),
            _ => None,
        });
        let class = SourceClass {
            fields: fields.collect(),
            bases: node.heritage.iter().filter_map(|heritage| dotted_name(&heritage.expression)).collect(),
            decorators: self.decorator_calls(&node.decorators),
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
        self.decorators = self.decorator_calls(&node.decorators);
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
        if let (Some(name), Some(callee)) =
            (node.key.static_name(), node.value.as_ref().and_then(called_name))
        {
            let (name, line) = (format!("this.{name}"), self.line(node.span));
            self.source.bindings.push(CallBinding {
                name,
                callee,
                line,
                within: None,
                is_absent_on_import: false,
            });
        }
        walk::walk_property_definition(self, node);
    }

    fn visit_object_expression(&mut self, node: &oxc_ast::ast::ObjectExpression<'a>) {
        let keys: Vec<String> = node
            .properties
            .iter()
            .filter_map(|property| match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    property.key.static_name().map(std::borrow::Cow::into_owned)
                }
                ObjectPropertyKind::SpreadProperty(_) => None,
            })
            .collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let line = self.line(node.span);
        self.source.record_model_request(&keys, line, self.functions.last().copied());
        walk::walk_object_expression(self, node);
    }

    fn visit_object_property(&mut self, node: &ObjectProperty<'a>) {
        if is_function(&node.value) {
            self.name = node.key.static_name().map(|name| (name.into_owned(), node.key.span()));
        }
        walk::walk_object_property(self, node);
    }

    fn visit_variable_declarator(&mut self, node: &VariableDeclarator<'a>) {
        let Some(init) = &node.init else { return walk::walk_variable_declarator(self, node) };
        if let Some(module) = required_module(init) {
            self.record_require(&node.id, module, node.span);
        }
        self.record_references(bound_name(&node.id).as_deref(), init);
        if let (Some(name), Expression::StringLiteral(text)) =
            (bound_name(&node.id), init.get_inner_expression())
            && self.functions.is_empty()
        {
            self.source.add_text_constant(None, &name, &text.value);
        }
        // `const create = [validate(schema), async (req, res) => {…}]`: what a route is given.
        if let (Some(name), Expression::ArrayExpression(list)) =
            (bound_name(&node.id), init.get_inner_expression())
            && self.functions.is_empty()
            && list.elements.last().and_then(|last| last.as_expression()).is_some_and(is_function)
        {
            self.name = Some((name, node.id.span()));
        }
        if let (Some(name), Some(callee)) = (bound_name(&node.id), called_name(init)) {
            let (line, within) = (self.line(node.span), self.functions.last().copied());
            self.source.bindings.push(CallBinding { name, callee, line, within, is_absent_on_import: false });
        }
        if let (BindingPattern::ObjectPattern(object), Some(from)) =
            (&node.id, dotted_name(init.get_inner_expression()))
        {
            self.record_destructured(&from, object);
        }
        if let Some(part) = self.request_part(init) {
            if part == RequestPart::Json {
                self.record_body_type(node.type_annotation.as_deref().map(|of| &of.type_annotation), init);
            }
            match &node.id {
                BindingPattern::ObjectPattern(object) => {
                    for property in &object.properties {
                        let Some(field) = property.key.static_name() else { continue };
                        self.record_request_field(part, &field);
                        if matches!(property.value, BindingPattern::AssignmentPattern(_)) {
                            self.source.add_optional_field(self.functions.last().copied(), &field);
                        }
                    }
                }
                other => {
                    let within = self.functions.last().copied();
                    if let Some(name) = bound_name(other) {
                        self.source.add_request_name(within, &name);
                        self.request_aliases.push((within, name, part));
                    }
                }
            }
        }
        let is_wrapped = self.functions.is_empty() && wraps_function(init);
        if is_function(init) || is_wrapped || matches!(init, Expression::ClassExpression(_)) {
            self.name = bound_name(&node.id).map(|name| (name, node.id.span()));
        }
        walk::walk_variable_declarator(self, node);
    }

    /// `exports.chat = async (req, res) => {…}`, `this.client = new OpenAI()`.
    fn visit_assignment_expression(&mut self, node: &AssignmentExpression<'a>) {
        let target = match &node.left {
            AssignmentTarget::StaticMemberExpression(member) => {
                dotted_name(&member.object).map(|object| (object, member.property.name.to_string()))
            }
            AssignmentTarget::AssignmentTargetIdentifier(name) => {
                Some((String::new(), name.name.to_string()))
            }
            _ => None,
        };
        if let (Some((object, name)), Some(part)) = (&target, self.request_part(&node.right))
            && object.is_empty()
        {
            self.source.add_request_name(self.functions.last().copied(), name);
            self.request_aliases.push((self.functions.last().copied(), name.clone(), part));
        }
        if let Some((object, name)) = target {
            if object == "module" && name == "exports" {
                self.record_references(Some("exports"), &node.right);
                self.source.default_export = dotted_name(&node.right);
                if is_function(&node.right) {
                    self.source.default_export = Some("exports".to_owned());
                }
                if let Expression::NewExpression(made) = &node.right {
                    self.source.default_export = self.record_default_object(&made.callee, node.span);
                }
            }
            if matches!(object.as_str(), "exports" | "module.exports") {
                self.source.exports.push(name.clone());
            }
            if is_function(&node.right) || self.functions.is_empty() && wraps_function(&node.right) {
                self.name = Some((name, node.left.span()));
            } else if let Some(callee) = called_name(&node.right) {
                let within = self.functions.last().copied().filter(|_| object != "this");
                let name = if object.is_empty() { name } else { format!("{object}.{name}") };
                let line = self.line(node.span);
                self.source.bindings.push(CallBinding {
                    name,
                    callee,
                    line,
                    within,
                    is_absent_on_import: false,
                });
            }
        }
        walk::walk_assignment_expression(self, node);
    }

    /// `req.body.stream ?? false`: the field may be absent.
    fn visit_logical_expression(&mut self, node: &LogicalExpression<'a>) {
        if let Expression::StaticMemberExpression(member) = node.left.get_inner_expression()
            && self.request_part(&member.object).is_some()
        {
            let field = member.property.name.to_string();
            self.source.add_optional_field(self.functions.last().copied(), &field);
        }
        walk::walk_logical_expression(self, node);
    }

    fn visit_string_literal(&mut self, node: &StringLiteral<'a>) {
        self.record_provider_url(&node.value, node.span);
    }

    fn visit_template_literal(&mut self, node: &TemplateLiteral<'a>) {
        let written = self.text.get(node.span.start as usize..node.span.end as usize).unwrap_or_default();
        self.record_provider_url(written, node.span);
        walk::walk_template_literal(self, node);
    }

    fn visit_call_expression(&mut self, node: &CallExpression<'a>) {
        let site = self.call_site(&node.callee, node.span, &node.arguments);
        if let (true, Some(module)) = (site.callee == "require", site.first_string().map(str::to_owned)) {
            // Bound imports were recorded at their declaration; this covers inline use.
            if !self.source.imports.iter().any(|import| import.module == module) {
                self.record_import(&module, None, "", node.span);
            }
        }
        // `form.get("message")`, `searchParams.get("q")`.
        if let (Some(field), Expression::StaticMemberExpression(member)) =
            (site.first_string(), node.callee.get_inner_expression())
            && member.property.name == "get"
            && let Some(part) = self.request_part(&member.object)
        {
            let field = field.to_owned();
            self.record_request_field(part, &field);
        }
        if sends_response(&site.callee) && !self.is_error_response(node.span) {
            for (name, _) in &site.keyword_arguments {
                self.record_field(name, |function| &mut function.response_fields);
            }
        }
        self.visit_expression(&node.callee);
        self.visit_call_arguments(site, &node.arguments);
    }

    fn visit_new_expression(&mut self, node: &NewExpression<'a>) {
        let site = self.call_site(&node.callee, node.span, &node.arguments);
        self.visit_call_arguments(site, &node.arguments);
    }

    fn visit_return_statement(&mut self, node: &ReturnStatement<'a>) {
        if let Some(value) = &node.argument {
            self.record_references(None, value);
        }
        for (name, _) in node.argument.as_ref().map(object_entries).unwrap_or_default() {
            self.record_field(&name, |function| &mut function.response_fields);
        }
        walk::walk_return_statement(self, node);
    }

    fn visit_static_member_expression(&mut self, node: &StaticMemberExpression<'a>) {
        let is_method =
            matches!(node.property.name.as_str(), "get" | "has" | "getAll" | "entries" | "toString");
        if let Some(part) =
            self.request_part(&node.object).filter(|part| *part == RequestPart::Json || !is_method)
        {
            self.record_request_field(part, &node.property.name);
        }
        if let Expression::Identifier(object) = node.object.get_inner_expression() {
            self.source.add_parameter_field(&self.functions, &object.name, &node.property.name);
        }
        walk::walk_static_member_expression(self, node);
    }

    fn visit_import_declaration(&mut self, node: &ImportDeclaration<'a>) {
        let module = node.source.value.as_str();
        match &node.specifiers {
            None => self.record_import(module, None, "", node.span),
            Some(specifiers) if specifiers.is_empty() => self.record_import(module, None, "", node.span),
            Some(specifiers) => {
                for specifier in specifiers {
                    match specifier {
                        ImportDeclarationSpecifier::ImportSpecifier(one) => {
                            self.record_import(
                                module,
                                Some(&one.imported.name()),
                                &one.local.name,
                                node.span,
                            );
                        }
                        ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => {
                            self.record_import(module, Some("default"), &one.local.name, node.span);
                        }
                        ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => {
                            self.record_import(module, None, &one.local.name, node.span);
                        }
                    }
                }
            }
        }
    }

    fn visit_import_expression(&mut self, node: &ImportExpression<'a>) {
        if let Expression::StringLiteral(module) = &node.source {
            self.record_import(&module.value, None, "", node.span);
        }
        walk::walk_import_expression(self, node);
    }

    fn visit_export_declaration(&mut self, node: &ExportDeclaration<'a>) {
        self.record_exports(&node.declaration);
        walk::walk_export_declaration(self, node);
    }

    fn visit_export_named_declaration(&mut self, node: &ExportNamedDeclaration<'a>) {
        self.source.exports.extend(node.specifiers.iter().map(|one| one.exported.name().to_string()));
    }

    fn visit_export_from_declaration(&mut self, node: &ExportFromDeclaration<'a>) {
        for one in &node.specifiers {
            self.source.exports.push(one.exported.name().to_string());
            self.record_import(&node.source.value, Some(&one.local.name()), &one.exported.name(), node.span);
        }
    }

    fn visit_export_all_declaration(&mut self, node: &ExportAllDeclaration<'a>) {
        if node.exported.is_none() {
            self.record_import(&node.source.value, Some(ALL_NAMES), ALL_NAMES, node.span);
        }
    }

    fn visit_export_default_declaration(&mut self, node: &ExportDefaultDeclaration<'a>) {
        self.source.exports.push("default".to_owned());
        // `export default withAuth(handler)`, `export default withAuth(async (req, res) => {…})`
        let wrapped = match &node.declaration {
            ExportDefaultDeclarationKind::CallExpression(call) => call.arguments.last(),
            _ => None,
        };
        self.source.default_export = match &node.declaration {
            ExportDefaultDeclarationKind::CallExpression(_) => match wrapped {
                Some(ArgumentNode::Identifier(name)) => Some(name.name.to_string()),
                Some(ArgumentNode::FunctionExpression(function)) => {
                    function.id.as_ref().map(|id| id.name.to_string())
                }
                _ => None,
            },
            ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                function.id.as_ref().map(|id| id.name.to_string())
            }
            ExportDefaultDeclarationKind::ClassDeclaration(class) => {
                class.id.as_ref().map(|id| id.name.to_string())
            }
            ExportDefaultDeclarationKind::NewExpression(made) => {
                self.record_default_object(&made.callee, node.span)
            }
            ExportDefaultDeclarationKind::Identifier(name) => Some(name.name.to_string()),
            _ => None,
        };
        if matches!(
            node.declaration,
            ExportDefaultDeclarationKind::FunctionDeclaration(_)
                | ExportDefaultDeclarationKind::ArrowFunctionExpression(_)
        ) || matches!(
            wrapped,
            Some(ArgumentNode::ArrowFunctionExpression(_) | ArgumentNode::FunctionExpression(_))
        ) {
            self.name = Some(("default".to_owned(), node.span));
        }
        walk::walk_export_default_declaration(self, node);
    }

    fn visit_ts_interface_declaration(&mut self, node: &TSInterfaceDeclaration<'a>) {
        self.record_interface(&node.id.name, node.id.span, &node.body.body);
    }

    fn visit_ts_type_alias_declaration(&mut self, node: &TSTypeAliasDeclaration<'a>) {
        if let TSType::TSTypeLiteral(literal) = &node.type_annotation {
            self.record_interface(&node.id.name, node.id.span, &literal.members);
        }
    }
}

/// Common forms of the parts of a request: `req.body`, `await request.json()`, `req.query`, `await request.formData()`.
fn request_part(name: &str) -> Option<RequestPart> {
    let is_request = |name: &str| {
        matches!(name, "req" | "request" | "ctx.request" | "c.req" | "ctx.req" | "event.request" | "this.req")
    };
    let ends = |endings: &[&str]| endings.iter().any(|end| name.strip_suffix(end).is_some_and(is_request));
    if ends(&[".body", ".json()", ".valid()"]) {
        Some(RequestPart::Json)
    } else if ends(&[".formData()", ".parseBody()"]) {
        Some(RequestPart::Form)
    } else if ends(&[".query"])
        || matches!(name, "ctx.query" | "searchParams")
        || name.ends_with(".searchParams")
    {
        Some(RequestPart::Query)
    } else {
        None
    }
}

fn is_function(value: &Expression<'_>) -> bool {
    let value = value.get_inner_expression();
    matches!(value, Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_))
}

/// Whether a call wraps a function: `asyncHandler(async (req, res) => {…})`.
fn wraps_function(value: &Expression<'_>) -> bool {
    match value.get_inner_expression() {
        Expression::CallExpression(call) => call.arguments.iter().any(|argument| {
            matches!(argument, ArgumentNode::ArrowFunctionExpression(_) | ArgumentNode::FunctionExpression(_))
        }),
        _ => false,
    }
}

/// Calls that send their argument as the response.
fn sends_response(callee: &str) -> bool {
    let (object, method) = callee.rsplit_once('.').unwrap_or(("", callee));
    method == "json" && !object.is_empty() && !object.ends_with("req") && !object.ends_with("request")
        || (method == "send" && (object.starts_with("res") || object.starts_with("reply")))
        || callee == "json"
}

/// The entries of an object literal.
fn object_entries(expression: &Expression<'_>) -> Vec<(String, CallArgument)> {
    let Expression::ObjectExpression(object) = expression.get_inner_expression() else { return Vec::new() };
    let pair = |property: &ObjectPropertyKind<'_>| match property {
        ObjectPropertyKind::ObjectProperty(property) => {
            Some((property.key.static_name()?.into_owned(), call_argument(&property.value)))
        }
        ObjectPropertyKind::SpreadProperty(_) => None,
    };
    object.properties.iter().filter_map(pair).collect()
}

fn call_argument(expression: &Expression<'_>) -> CallArgument {
    match expression.get_inner_expression() {
        Expression::StringLiteral(text) => CallArgument::Text(text.value.to_string()),
        Expression::TemplateLiteral(text) if text.expressions.is_empty() => {
            CallArgument::Text(text.quasis.iter().map(|part| part.value.raw.as_str()).collect())
        }
        Expression::CallExpression(call) => {
            dotted_name(&call.callee).map_or(CallArgument::Other, CallArgument::Call)
        }
        Expression::NewExpression(call) => {
            dotted_name(&call.callee).map_or(CallArgument::Other, CallArgument::Call)
        }
        Expression::ArrayExpression(list) => CallArgument::List(
            list.elements.iter().filter_map(|item| item.as_expression()).map(call_argument).collect(),
        ),
        Expression::ObjectExpression(_) => CallArgument::Map(object_entries(expression)),
        other => dotted_name(other).map_or(CallArgument::Other, CallArgument::Name),
    }
}

/// The module of `require("module")`.
fn required_module<'e>(expression: &'e Expression<'_>) -> Option<&'e str> {
    match expression.get_inner_expression() {
        Expression::CallExpression(call) if call.callee.is_specific_id("require") => {
            match call.arguments.first() {
                Some(ArgumentNode::StringLiteral(module)) => Some(module.value.as_str()),
                _ => None,
            }
        }
        Expression::StaticMemberExpression(member) => required_module(&member.object),
        _ => None,
    }
}

/// The callee that produces this value.
fn called_name(expression: &Expression<'_>) -> Option<String> {
    match expression.get_inner_expression() {
        Expression::CallExpression(call) => dotted_name(&call.callee),
        Expression::NewExpression(call) => dotted_name(&call.callee),
        Expression::AwaitExpression(awaited) => called_name(&awaited.argument),
        _ => None,
    }
}

/// The names that a pattern binds, without defaults, which may contain secrets.
fn pattern_text(pattern: &BindingPattern<'_>) -> String {
    bound_name(pattern).unwrap_or_else(|| {
        let names: Vec<_> = pattern.get_binding_identifiers().iter().map(|id| id.name.to_string()).collect();
        format!("{{ {} }}", names.join(", "))
    })
}

/// The bound name, if the pattern is a plain identifier.
fn bound_name(pattern: &BindingPattern<'_>) -> Option<String> {
    pattern.get_binding_identifier().map(|id| id.name.to_string())
}

/// `a.b().c` as text; `None` for other expressions.
fn dotted_name(mut expression: &Expression<'_>) -> Option<String> {
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
