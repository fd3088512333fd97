//! Source facts of Python files, using ruff's parser.

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{
    CmpOp, Decorator, Expr, ExprBinOp, ExprCall, Operator, Stmt, StmtClassDef, StmtFunctionDef,
};
use ruff_python_parser::parse_module;
use ruff_text_size::{Ranged, TextSize};

use super::{
    CallArgument, CallBinding, CallSite, ContextRead, ParameterKind, ParsedSource, ProviderUrl, RequestPart,
    SourceClass, SourceFunction, SourceImport, SourceLineIndex, SourceParameter, SourceParseError,
    provider_library,
};

pub(super) fn parse(text: &str) -> Result<ParsedSource, SourceParseError> {
    let parsed = parse_module(text).map_err(|_| SourceParseError::Syntax)?;
    let mut reader = PythonVisitor::new(text);
    for statement in &parsed.syntax().body {
        reader.record_exports(statement);
        reader.visit_stmt(statement);
    }
    Ok(reader.source)
}

struct PythonVisitor<'t> {
    text: &'t str,
    lines: SourceLineIndex,
    source: ParsedSource,
    functions: Vec<usize>,
    classes: Vec<String>,
    /// Names that hold a part of the request: `data = request.get_json()`, with the function they are in.
    request_aliases: Vec<(Option<usize>, String, RequestPart)>,
    /// Under `if __name__ == "__main__"`.
    is_in_main_guard: bool,
}

impl<'t> PythonVisitor<'t> {
    fn new(text: &'t str) -> Self {
        let (source, functions, classes, request_aliases) = Default::default();
        let (lines, is_in_main_guard) = (SourceLineIndex::new(text), false);
        Self { text, lines, source, functions, classes, request_aliases, is_in_main_guard }
    }

    fn line(&self, at: TextSize) -> u32 {
        self.lines.line_at(at.to_usize())
    }

    fn type_text(&self, node: &impl Ranged) -> String {
        super::normalize_type(self.text.get(node.range().to_std_range()).unwrap_or_default())
    }

    fn record_exports(&mut self, statement: &Stmt) {
        match statement {
            Stmt::FunctionDef(def) => self.source.exports.push(def.name.to_string()),
            Stmt::ClassDef(def) => self.source.exports.push(def.name.to_string()),
            Stmt::Assign(assign) => {
                let names = assign.targets.iter().filter_map(Expr::as_name_expr);
                self.source.exports.extend(names.map(|name| name.id.to_string()));
            }
            _ => {}
        }
    }

    fn call_site(&self, call: &ExprCall) -> CallSite {
        let named =
            call.arguments.keywords.iter().filter_map(|keyword| {
                Some((keyword.arg.as_ref()?.to_string(), call_argument(&keyword.value)))
            });
        CallSite {
            callee: dotted_name(&call.func).unwrap_or_default(),
            line: self.line(call.start()),
            arguments: call.arguments.args.iter().map(call_argument).collect(),
            keyword_arguments: named.collect(),
            within: self.functions.last().copied(),
        }
    }

    fn decorator_calls(&self, decorators: &[Decorator]) -> Vec<CallSite> {
        let one = |decorator: &Decorator| match &decorator.expression {
            Expr::Call(call) => self.call_site(call),
            other => CallSite {
                callee: dotted_name(other).unwrap_or_default(),
                line: self.line(decorator.start()),
                ..CallSite::default()
            },
        };
        decorators.iter().map(one).collect()
    }

    fn record_function(&mut self, def: &StmtFunctionDef) {
        let method = self.functions.is_empty() && !self.classes.is_empty();
        let kinds = [
            (&def.parameters.posonlyargs, ParameterKind::PositionalOnly),
            (&def.parameters.args, ParameterKind::PositionalOrKeyword),
            (&def.parameters.kwonlyargs, ParameterKind::KeywordOnly),
        ];
        let parameters = kinds.into_iter().flat_map(|(all, given)| all.iter().map(move |one| (one, given)));
        let parameters = parameters.map(|(one, given)| SourceParameter {
            name: one.name().to_string(),
            annotation: one.parameter.annotation().map(|annotation| self.type_text(annotation)),
            optional: one.default().is_some_and(is_default_value),
            kind: given,
            injected: one.default().is_some_and(is_injected)
                || one.parameter.annotation().is_some_and(|given| self.type_text(given).contains("Depends(")),
            dependency: one
                .default()
                .and_then(dependency_name)
                .or_else(|| one.parameter.annotation().and_then(dependency_name)),
            part: one.default().and_then(parameter_part).or_else(|| {
                let annotation = one.parameter.annotation()?;
                annotated_part(&self.type_text(annotation))
            }),
        });
        let function = SourceFunction {
            name: def.name.to_string(),
            owner: method.then(|| self.classes.last().cloned()).flatten(),
            outer: self.functions.last().copied(),
            line: self.line(def.name.start()),
            end_line: self.line(def.end()),
            is_async: def.is_async,
            parameters: parameters.filter(|p| !matches!(p.name.as_str(), "self" | "cls")).collect(),
            returns: def.returns.as_ref().map(|returns| self.type_text(returns.as_ref())),
            decorators: self.decorator_calls(&def.decorator_list),
            ..SourceFunction::default()
        };
        self.source.functions.push(function);
        self.functions.push(self.source.functions.len() - 1);
        // Defaults may contain calls: `agent = Depends(get_agent)`.
        self.visit_parameters(&def.parameters);
        def.body.iter().for_each(|statement| self.visit_stmt(statement));
        self.functions.pop();
    }

    fn record_class(&mut self, def: &StmtClassDef) {
        let fields = def.body.iter().filter_map(|statement| match statement {
            Stmt::AnnAssign(field) => Some(SourceParameter {
                name: field.target.as_name_expr()?.id.to_string(),
                annotation: Some(self.type_text(field.annotation.as_ref())),
                optional: field.value.as_deref().is_some_and(is_default_value),
                ..SourceParameter::default()
            }),
            _ => None,
        });
        let bases = def.arguments.iter().flat_map(|arguments| arguments.args.iter()).filter_map(dotted_name);
        let class = SourceClass {
            name: def.name.to_string(),
            bases: bases.collect(),
            fields: fields.collect(),
            decorators: self.decorator_calls(&def.decorator_list),
            line: self.line(def.name.start()),
        };
        self.source.classes.push(class);
        self.classes.push(def.name.to_string());
        // Methods of a nested class belong to the class, not to the enclosing function.
        let functions = std::mem::take(&mut self.functions);
        def.body.iter().for_each(|statement| self.visit_stmt(statement));
        self.functions = functions;
        self.classes.pop();
    }

    fn record_binding(&mut self, target: &Expr, value: &Expr) {
        if let (Some(name), Expr::StringLiteral(text)) = (target.as_name_expr(), value)
            && self.functions.is_empty()
        {
            let class = self.classes.last().map(String::as_str);
            self.source.add_text_constant(class, &name.id, text.value.to_str());
        }
        if let (Some(name), Some(part)) = (target.as_name_expr(), Self::request_part_of_value(value)) {
            let within = self.functions.last().copied();
            self.source.add_request_name(within, &name.id);
            self.request_aliases.push((within, name.id.to_string(), part));
        }
        let (Some(name), Some(callee)) = (dotted_name(target), called_name(value)) else { return };
        let (line, within) = (self.line(target.start()), self.functions.last().copied());
        let is_absent_on_import = self.is_in_main_guard;
        self.source.bindings.push(CallBinding { name, callee, line, within, is_absent_on_import });
    }

    /// Records the functions that a value names: itself, or those of a table, a tuple or a choice.
    fn record_references(&mut self, holder: Option<&str>, value: &Expr) {
        match value {
            Expr::Name(_) | Expr::Attribute(_) => {
                let within = self.functions.last().copied();
                if let Some(name) = dotted_name(value).filter(|name| !name.contains("()")) {
                    self.source.add_reference(holder, name, within);
                }
            }
            Expr::Dict(dict) => {
                dict.items.iter().for_each(|item| self.record_references(holder, &item.value));
            }
            Expr::Tuple(list) => list.elts.iter().for_each(|item| self.record_references(holder, item)),
            Expr::List(list) => list.elts.iter().for_each(|item| self.record_references(holder, item)),
            Expr::If(either) => {
                self.record_references(holder, &either.body);
                self.record_references(holder, &either.orelse);
            }
            _ => {}
        }
    }

    /// Records a variable as an object of the class that its annotation names.
    fn record_declared_type(&mut self, target: &Expr, annotation: &Expr) {
        // In the body of a class it declares a field.
        if self.functions.is_empty() && !self.classes.is_empty() {
            return;
        }
        let written = self.type_text(annotation);
        let mut words = written.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let generic = [
            "Optional",
            "Union",
            "List",
            "Dict",
            "Any",
            "Annotated",
            "Sequence",
            "Callable",
            "Literal",
            "None",
        ];
        let class = words.find(|word| {
            let last = word.rsplit('.').next().unwrap_or(word);
            last.starts_with(char::is_uppercase) && !generic.contains(&last)
        });
        if let (Some(name), Some(class)) = (dotted_name(target), class) {
            let (line, within) = (self.line(target.start()), self.functions.last().copied());
            let callee = class.to_owned();
            let is_absent_on_import = true;
            self.source.bindings.push(CallBinding { name, callee, line, within, is_absent_on_import });
        }
    }

    /// The part of the request that a name holds.
    fn request_part(&self, name: &str) -> Option<RequestPart> {
        // Also what an enclosing function has: a generator inside a handler.
        let is_near = |within: &Option<usize>| within.is_none_or(|at| self.functions.contains(&at));
        let aliases = self.request_aliases.iter().rev();
        let mut known = aliases.filter(|(function, ..)| is_near(function));
        known.find(|(_, alias, _)| alias == name).map(|(.., part)| *part).or_else(|| request_part(name))
    }

    /// The part of the request that an expression is: `await request.json()`, `json.loads(request.body)`.
    fn request_part_of_value(value: &Expr) -> Option<RequestPart> {
        let value = match value {
            Expr::Await(awaited) => awaited.value.as_ref(),
            Expr::BoolOp(either) => either.values.first()?,
            other => other,
        };
        if let Expr::Call(call) = value
            && let Some(first) = call.arguments.args.first()
            && dotted_name(&call.func).is_some_and(|callee| callee.ends_with("loads"))
        {
            return Self::request_part_of_value(first);
        }
        let name = dotted_name(value)?;
        // `text = data.strip()` is no longer the request.
        let name = name.trim_end_matches("()").trim_end_matches(".decode");
        name.starts_with("request.").then(|| request_part(name))?
    }

    /// Records a field that is read from a part of the request.
    fn record_request_field(&mut self, part: RequestPart, field: &str) {
        // What a generator inside a handler reads, the handler reads.
        for function in self.functions.clone() {
            self.source.add_request_field(Some(function), part, field);
        }
    }

    fn record_provider_url(&mut self, text: &str, at: TextSize) {
        if let Some(library) = provider_library(text) {
            let (line, within) = (self.line(at), self.functions.last().copied());
            self.source.provider_urls.push(ProviderUrl { library, line, within });
        }
    }

    /// Flask's objects of the current request or application.
    fn record_context_read(&mut self, name: &str, at: TextSize) {
        if !matches!(name, "current_app" | "session" | "request" | "g") {
            return;
        }
        let is_imported = |import: &SourceImport| {
            import.local == name && matches!(import.module.as_str(), "flask" | "quart")
        };
        if self.source.imports.iter().any(is_imported) {
            let (name, line, within) = (name.to_owned(), self.line(at), self.functions.last().copied());
            self.source.context_reads.push(ContextRead { name, line, within });
        }
    }

    /// Records a request or response field of the current function.
    fn record_field(&mut self, field: &str, choose: fn(&mut SourceFunction) -> &mut Vec<String>) {
        self.source.add_field(self.functions.last().copied(), field, choose);
    }

    fn record_response(&mut self, value: &Expr) {
        match value {
            Expr::Dict(dict) => {
                for item in &dict.items {
                    if let Some(Expr::StringLiteral(key)) = &item.key {
                        self.record_field(key.value.to_str(), |function| &mut function.response_fields);
                    }
                }
            }
            Expr::Call(call) if is_error_response(call) => {}
            Expr::Call(call) if dotted_name(&call.func).is_some_and(|callee| builds_response(&callee)) => {
                for keyword in &call.arguments.keywords {
                    if let Some(name) = keyword.arg.as_ref().filter(|name| !is_response_option(name.as_str()))
                    {
                        self.record_field(name.as_str(), |function| &mut function.response_fields);
                    }
                }
                call.arguments.args.first().into_iter().for_each(|first| self.record_response(first));
            }
            _ => {}
        }
    }
}

/// Whether the value of a field or parameter is a default: `field(metadata=…)`, `Field(...)` and `Form()` are not.
fn is_default_value(value: &Expr) -> bool {
    let Expr::Call(call) = value else { return !value.is_ellipsis_literal_expr() };
    let callee = dotted_name(&call.func).unwrap_or_default();
    if !matches!(callee.rsplit('.').next(), Some("field" | "Field" | "Form" | "Query" | "Body")) {
        return true;
    }
    let names = call.arguments.keywords.iter().filter_map(|keyword| keyword.arg.as_ref());
    let says_it = names.into_iter().any(|name| matches!(name.as_str(), "default" | "default_factory"));
    says_it || call.arguments.args.first().is_some_and(|first| !first.is_ellipsis_literal_expr())
}

/// Defaults that mark a parameter as injected by a framework.
fn is_injected(default: &Expr) -> bool {
    let Expr::Call(call) = default else { return false };
    let callee = dotted_name(&call.func).unwrap_or_default();
    let name = callee.rsplit('.').next().unwrap_or_default();
    matches!(name, "Depends" | "Security" | "Header" | "Cookie" | "File" | "Path" | "Provide")
}

/// What a default or an annotation is filled from: `Depends(get_user)`, `Annotated[User, Depends(get_user)]`.
fn dependency_name(value: &Expr) -> Option<String> {
    match value {
        Expr::Call(call) => {
            let callee = dotted_name(&call.func)?;
            let is_dependency = matches!(callee.rsplit('.').next(), Some("Depends" | "Security"));
            let given = call.arguments.args.first().filter(|_| is_dependency)?;
            // `Depends(RateLimiter(times=5))`: the class.
            dotted_name(given).map(|name| name.trim_end_matches("()").to_owned())
        }
        Expr::Subscript(subscript) => dependency_name(&subscript.slice),
        Expr::Tuple(parts) => parts.elts.iter().find_map(dependency_name),
        _ => None,
    }
}

/// Whether a response reports an error.
fn is_error_response(call: &ExprCall) -> bool {
    call.arguments.keywords.iter().any(|keyword| {
        let named =
            keyword.arg.as_ref().is_some_and(|name| matches!(name.as_str(), "status_code" | "status"));
        if let Expr::Attribute(constant) = &keyword.value {
            let name = constant.attr.as_str();
            return named && (name.starts_with("HTTP_4") || name.starts_with("HTTP_5"));
        }
        let Expr::NumberLiteral(number) = &keyword.value else { return false };
        named && number.value.as_int().and_then(ruff_python_ast::Int::as_u16).is_some_and(|code| code >= 400)
    })
}

/// Calls that build a response from their arguments.
fn builds_response(callee: &str) -> bool {
    let name = callee.rsplit('.').next().unwrap_or(callee);
    matches!(name, "jsonify" | "JsonResponse" | "JSONResponse" | "ORJSONResponse" | "Response")
        || name.ends_with("Response")
}

fn is_response_option(name: &str) -> bool {
    matches!(name, "status" | "status_code" | "headers" | "content" | "media_type" | "safe" | "mimetype")
}

/// The part of a request that a name usually holds.
fn request_part(name: &str) -> Option<RequestPart> {
    let name = name.trim_end_matches("()");
    let name = name.strip_prefix("self.").unwrap_or(name);
    match name {
        "data" | "body" | "payload" | "request.json" | "request.data" | "request.get_json"
        | "request.body" | "request.get_data" => Some(RequestPart::Json),
        "request.form" | "request.POST" | "request.values" => Some(RequestPart::Form),
        "request.args" | "request.GET" | "request.query_params" => Some(RequestPart::Query),
        _ if name.ends_with(".validated_data") => Some(RequestPart::Json),
        _ if name.ends_with(".cleaned_data") => Some(RequestPart::Form),
        _ => None,
    }
}

/// `message: str = Form(...)`.
fn parameter_part(default: &Expr) -> Option<RequestPart> {
    let Expr::Call(call) = default else { return None };
    let callee = dotted_name(&call.func)?;
    match callee.rsplit('.').next()? {
        "Form" => Some(RequestPart::Form),
        "Query" => Some(RequestPart::Query),
        "Body" if call.arguments.find_keyword("embed").is_some() => Some(RequestPart::Json),
        "Body" => Some(RequestPart::Body),
        "Header" | "Cookie" => Some(RequestPart::Header),
        _ => None,
    }
}

/// `message: Annotated[str, Form()]`.
fn annotated_part(annotation: &str) -> Option<RequestPart> {
    let known = [
        ("Form(", RequestPart::Form),
        ("Query(", RequestPart::Query),
        ("Body(embed", RequestPart::Json),
        ("Body(", RequestPart::Body),
        ("Header(", RequestPart::Header),
        ("Cookie(", RequestPart::Header),
    ];
    let found = known.iter().find(|(call, _)| annotation.contains(call));
    found.filter(|_| annotation.starts_with("Annotated[")).map(|(_, part)| *part)
}

/// The callee that produces a value; of alternatives, one that is a call: `graph or build_graph()`.
fn called_name(value: &Expr) -> Option<String> {
    match value {
        Expr::Await(awaited) => called_name(&awaited.value),
        Expr::Call(call) => dotted_name(&call.func),
        Expr::BinOp(operation) => {
            pipe_call(operation).and_then(|(object, method)| dotted_chain(object, vec![method]))
        }
        Expr::BoolOp(either) => either.values.iter().rev().find_map(called_name),
        Expr::If(either) => called_name(&either.body).or_else(|| called_name(&either.orelse)),
        _ => None,
    }
}

impl<'a> Visitor<'a> for PythonVisitor<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => return self.record_function(def),
            Stmt::ClassDef(def) => return self.record_class(def),
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = alias.name.to_string();
                    // `import a.b` binds `a`, but calls are written as `a.b.c`.
                    let local = alias.asname.as_ref().map_or_else(|| module.clone(), ToString::to_string);
                    let line = self.line(alias.start());
                    self.source.imports.push(SourceImport { module, name: None, local, line });
                }
            }
            Stmt::ImportFrom(import) => {
                let dots = ".".repeat(usize::try_from(import.level).unwrap_or(0));
                let module = format!("{dots}{}", import.module.as_ref().map_or("", |module| module.as_str()));
                for alias in &import.names {
                    let name = alias.name.to_string();
                    let local = alias.asname.as_ref().map_or_else(|| name.clone(), ToString::to_string);
                    let line = self.line(import.start());
                    self.source.imports.push(SourceImport {
                        module: module.clone(),
                        name: Some(name),
                        local,
                        line,
                    });
                }
            }
            Stmt::If(branch) if self.functions.is_empty() && is_main_guard(&branch.test) => {
                self.source.main_guard.get_or_insert(self.lines.line_at(branch.start().to_usize()));
                self.is_in_main_guard = true;
                walk_stmt(self, statement);
                self.is_in_main_guard = false;
                return;
            }
            Stmt::Expr(statement)
                if self.functions.is_empty()
                    && self.classes.is_empty()
                    && self.source.first_run_line.is_none()
                    && is_run_call(&statement.value) =>
            {
                self.source.first_run_line = Some(self.line(statement.start()));
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    if let (Some(name), Expr::Subscript(_)) = (target.as_name_expr(), assign.value.as_ref())
                        && let Some(dependency) = dependency_name(&assign.value)
                    {
                        self.source.dependency_types.push((name.id.to_string(), dependency));
                    }
                    if let (Some(name), Expr::List(list)) = (target.as_name_expr(), assign.value.as_ref()) {
                        let dependencies = list.elts.iter().filter_map(dependency_name);
                        self.source
                            .dependency_lists
                            .extend(dependencies.map(|one| (name.id.to_string(), one)));
                    }
                    self.record_binding(target, &assign.value);
                    self.record_references(dotted_name(target).as_deref(), &assign.value);
                }
            }
            Stmt::AnnAssign(assign) => {
                match &assign.value {
                    Some(value) if called_name(value).is_some() || value.is_string_literal_expr() => {
                        self.record_binding(&assign.target, value);
                    }
                    // `service: ChatService = app.state.service`: the type tells more than the value.
                    _ => self.record_declared_type(&assign.target, &assign.annotation),
                }
            }
            Stmt::Return(returned) => {
                if let Some(value) = &returned.value {
                    self.record_response(value);
                    self.record_references(None, value);
                }
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                if let Some(function) =
                    self.functions.last().and_then(|at| self.source.functions.get_mut(*at))
                {
                    function.is_generator = true;
                }
            }
            Expr::Call(call) => {
                let site = self.call_site(call);
                let object = match call.func.as_ref() {
                    Expr::Attribute(attribute) => Self::request_part_of_value(&attribute.value),
                    _ => None,
                };
                let body = site.callee.strip_suffix(".get");
                let reads = body.and_then(|body| self.request_part(body).or(object));
                if let (Some(object), Some(field)) = (site.callee.strip_suffix(".get"), site.first_string()) {
                    self.source.add_parameter_field(&self.functions, object, field);
                }
                if let (Some(part), Some(field)) = (reads, site.first_string()) {
                    let field = field.to_owned();
                    self.record_request_field(part, &field);
                    self.source.add_optional_field(self.functions.last().copied(), &field);
                }
                self.source.calls.push(site);
            }
            Expr::Subscript(subscript) => {
                let reads = dotted_name(&subscript.value)
                    .and_then(|body| self.request_part(&body))
                    .or_else(|| Self::request_part_of_value(&subscript.value));
                if let (Some(part), Expr::StringLiteral(key)) = (reads, subscript.slice.as_ref()) {
                    self.record_request_field(part, key.value.to_str());
                }
                if let (Expr::Name(object), Expr::StringLiteral(key)) =
                    (subscript.value.as_ref(), subscript.slice.as_ref())
                {
                    self.source.add_parameter_field(&self.functions, &object.id, key.value.to_str());
                }
            }
            Expr::Dict(dict) => {
                let keys: Vec<&str> = dict
                    .items
                    .iter()
                    .filter_map(|item| {
                        item.key.as_ref()?.as_string_literal_expr().map(|key| key.value.to_str())
                    })
                    .collect();
                self.source.record_model_request(
                    &keys,
                    self.lines.line_at(dict.start().to_usize()),
                    self.functions.last().copied(),
                );
            }
            Expr::Name(name) => self.record_context_read(name.id.as_str(), name.start()),
            Expr::StringLiteral(text) => self.record_provider_url(text.value.to_str(), text.start()),
            Expr::FString(text) => {
                let written = self.text.get(text.range().to_std_range()).unwrap_or_default();
                self.record_provider_url(written, text.start());
            }
            _ => {}
        }
        walk_expr(self, expression);
    }
}

/// Whether a top-level call indicates a program and not an importable module.
fn is_run_call(expression: &Expr) -> bool {
    let Expr::Call(call) = expression else { return false };
    let callee = dotted_name(&call.func).unwrap_or_default();
    let verb = callee.rsplit('.').next().unwrap_or_default();
    matches!(
        verb,
        "print" | "main" | "run" | "kickoff" | "invoke" | "serve" | "launch" | "start" | "run_forever"
    )
}

fn is_main_guard(condition: &Expr) -> bool {
    let Expr::Compare(compare) = condition else { return false };
    let sides = [compare.left.as_ref(), compare.comparators.first().unwrap_or(&compare.left)];
    compare.ops.first() == Some(&CmpOp::Eq)
        && sides.iter().any(|side| matches!(side, Expr::Name(name) if name.id.as_str() == "__name__"))
        && sides
            .iter()
            .any(|side| matches!(side, Expr::StringLiteral(literal) if literal.value.to_str() == "__main__"))
}

fn call_argument(expression: &Expr) -> CallArgument {
    match expression {
        Expr::StringLiteral(text) => CallArgument::Text(text.value.to_str().to_owned()),
        Expr::Call(call) => match dependency_name(expression) {
            Some(dependency) => CallArgument::Name(dependency),
            None => dotted_name(&call.func).map_or(CallArgument::Other, CallArgument::Call),
        },
        Expr::List(list) => CallArgument::List(list.elts.iter().map(call_argument).collect()),
        Expr::Dict(dict) => {
            let pair = |item: &ruff_python_ast::DictItem| match &item.key {
                Some(Expr::StringLiteral(key)) => {
                    Some((key.value.to_str().to_owned(), call_argument(&item.value)))
                }
                _ => None,
            };
            CallArgument::Map(dict.items.iter().filter_map(pair).collect())
        }
        Expr::Tuple(list) => CallArgument::List(list.elts.iter().map(call_argument).collect()),
        other => dotted_name(other).map_or(CallArgument::Other, CallArgument::Name),
    }
}

/// The object and method that `a | b` calls: `LangChain` chains a prompt and a model this way. If the left
/// side is a dictionary, the right side's reflected operator is called.
fn pipe_call(operation: &ExprBinOp) -> Option<(&Expr, &'static str)> {
    let ExprBinOp { left, right, op, .. } = operation;
    match left.as_ref() {
        _ if *op != Operator::BitOr => None,
        Expr::Dict(_) => Some((right, ".__ror__")),
        _ => Some((left, ".__or__")),
    }
}

/// `a.b().c` as text; `None` for other expressions.
pub(crate) fn dotted_name(expression: &Expr) -> Option<String> {
    dotted_chain(expression, Vec::new())
}

/// Like [`dotted_name`], with the parts that follow the expression, in reverse order.
fn dotted_chain<'e>(mut expression: &'e Expr, mut parts: Vec<&'e str>) -> Option<String> {
    loop {
        match expression {
            Expr::Name(name) => {
                parts.push(name.id.as_str());
                break;
            }
            Expr::Attribute(attribute) => {
                parts.push(attribute.attr.as_str());
                parts.push(".");
                expression = &attribute.value;
            }
            Expr::Call(call) => {
                parts.push("()");
                expression = &call.func;
            }
            Expr::Await(awaited) => expression = &awaited.value,
            Expr::Subscript(subscript) => expression = &subscript.value,
            Expr::BinOp(operation) if !parts.is_empty() => {
                let (object, method) = pipe_call(operation)?;
                parts.extend(["()", method]);
                expression = object;
            }
            _ => return None,
        }
        if parts.len() > 64 {
            return None;
        }
    }
    parts.reverse();
    Some(parts.concat())
}
