//! Outline of Python files, using ruff's parser.

use std::collections::BTreeSet;

use ruff_python_ast::visitor::{Visitor, walk_stmt};
use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;

use super::{CodeOutline, OutlineError, OutlineFunction, OutlineImport, next_line_start};
use crate::source::{SourceLineIndex, dotted_name};

pub(super) fn parse_outline(text: &str) -> Result<CodeOutline, OutlineError> {
    let parsed = parse_module(text).map_err(|error| OutlineError {
        line: SourceLineIndex::new(text).line_at(error.location.start().to_usize()),
        reason: error.error.to_string(),
    })?;
    let body = &parsed.syntax().body;
    let mut reader = PythonOutlineVisitor { text, outline: CodeOutline::default(), classes: Vec::new() };
    reader.outline.body_start = find_body_start(text, body);
    reader.outline.imports = collect_imports(body);
    reader.outline.top_level_names = collect_top_level_names(body);
    body.iter().for_each(|statement| reader.visit_stmt(statement));
    Ok(reader.outline)
}

/// The import statements of a text; `None` if it contains anything else.
pub(in super::super) fn parse_imports_only(text: &str) -> Option<Vec<OutlineImport>> {
    let parsed = parse_module(text).ok()?;
    let body = &parsed.syntax().body;
    let all = collect_imports(body);
    (!all.is_empty() && all.len() == body.len()).then_some(all)
}

/// The names of the decorators in a text; `None` if it contains anything else.
pub(in super::super) fn parse_decorators_only(text: &str) -> Option<Vec<String>> {
    if !text.trim_start().starts_with('@') {
        return None;
    }
    let whole = format!("{}\ndef f(): pass\n", text.trim_end());
    let parsed = parse_module(&whole).ok()?;
    match parsed.syntax().body.as_slice() {
        [Stmt::FunctionDef(def)] => Some(decorator_names(def)),
        _ => None,
    }
}

pub(in super::super) fn starts_with_definition(text: &str) -> bool {
    let parsed = parse_module(text);
    parsed.is_ok_and(|p| matches!(p.syntax().body.first(), Some(Stmt::FunctionDef(_) | Stmt::ClassDef(_))))
}

fn find_body_start(text: &str, body: &[Stmt]) -> usize {
    let is_docstring = |statement: &&Stmt| matches!(statement, Stmt::Expr(expression) if expression.value.is_string_literal_expr());
    let is_future = |statement: &&Stmt| matches!(statement, Stmt::ImportFrom(import) if import.module.as_ref().is_some_and(|module| module.as_str() == "__future__"));
    let docstring = body.first().filter(is_docstring);
    let last = body.iter().rfind(is_future).or(docstring);
    if let Some(last) = last {
        return next_line_start(text, last.end().to_usize());
    }
    // Shebang, encoding, licence: contiguous comments at the top of the file.
    let mut at = 0;
    while text[at..].starts_with('#') {
        at = next_line_start(text, at);
    }
    at
}

fn collect_imports(body: &[Stmt]) -> Vec<OutlineImport> {
    let (mut all, mut tried, mut run) = (Vec::new(), Vec::new(), 0);
    for (at, statement) in body.iter().enumerate() {
        let span = statement.range().to_std_range();
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = alias.name.to_string();
                    let local = alias.asname.as_ref().map_or_else(
                        || module.split('.').next().unwrap_or(&module).to_owned(),
                        ToString::to_string,
                    );
                    all.push(OutlineImport {
                        span: span.clone(),
                        module,
                        names: vec![(None, local)],
                        import_block: run,
                    });
                }
            }
            Stmt::ImportFrom(import) => {
                let dots = ".".repeat(usize::try_from(import.level).unwrap_or(0));
                let module = format!("{dots}{}", import.module.as_ref().map_or("", |module| module.as_str()));
                let name = |alias: &ruff_python_ast::Alias| {
                    let local = alias.asname.as_ref().unwrap_or(&alias.name);
                    (Some(alias.name.to_string()), local.to_string())
                };
                all.push(OutlineImport {
                    span,
                    module,
                    names: import.names.iter().map(name).collect(),
                    import_block: run,
                });
            }
            // The docstring.
            Stmt::Expr(_) if at == 0 => {}
            // Imports within `try` count as present, but are not a position to insert next to: the new import
            // would land in the `try` branch.
            Stmt::Try(attempt) => {
                let inner = collect_imports(&attempt.body).into_iter();
                tried.extend(inner.map(|import| OutlineImport { import_block: usize::MAX, ..import }));
                run += usize::from(!all.is_empty());
            }
            // Imports after the first definition do not form the leading block.
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) if all.is_empty() => run = 1,
            _ if all.is_empty() => {}
            _ => run = all.last().map_or(0, |last: &OutlineImport| last.import_block + 1),
        }
    }
    all.append(&mut tried);
    all
}

fn collect_top_level_names(body: &[Stmt]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in body {
        match statement {
            Stmt::FunctionDef(def) => drop(names.insert(def.name.to_string())),
            Stmt::ClassDef(def) => drop(names.insert(def.name.to_string())),
            Stmt::Assign(assign) => {
                names.extend(
                    assign.targets.iter().filter_map(Expr::as_name_expr).map(|name| name.id.to_string()),
                );
            }
            Stmt::AnnAssign(assign) => {
                names.extend(assign.target.as_name_expr().map(|name| name.id.to_string()));
            }
            _ => {}
        }
    }
    names
}

fn decorator_names(def: &StmtFunctionDef) -> Vec<String> {
    let callee = |expression: &Expr| match expression {
        Expr::Call(call) => dotted_name(&call.func),
        other => dotted_name(other),
    };
    def.decorator_list.iter().filter_map(|decorator| callee(&decorator.expression)).collect()
}

struct PythonOutlineVisitor<'t> {
    text: &'t str,
    outline: CodeOutline,
    classes: Vec<String>,
}

impl<'a> Visitor<'a> for PythonOutlineVisitor<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.outline.statements.push(statement.range().to_std_range());
        match statement {
            Stmt::FunctionDef(def) => {
                let mut name = self.classes.clone();
                name.push(def.name.to_string());
                self.outline.functions.push(OutlineFunction {
                    name: name.join("."),
                    span: def.range().to_std_range(),
                    def_start: self.def_start(def),
                    decorators: decorator_names(def),
                });
                self.classes.push(format!("{}.<locals>", def.name));
                walk_stmt(self, statement);
                self.classes.pop();
            }
            Stmt::ClassDef(def) => {
                self.classes.push(def.name.to_string());
                walk_stmt(self, statement);
                self.classes.pop();
            }
            _ => walk_stmt(self, statement),
        }
    }
}

impl PythonOutlineVisitor<'_> {
    /// The offset of `def` or `async`, after the decorators and the comments between them.
    fn def_start(&self, def: &StmtFunctionDef) -> usize {
        let mut at = def.decorator_list.last().map_or(def.start(), Ranged::end).to_usize();
        loop {
            let rest = &self.text[at..];
            let blank = rest.len() - rest.trim_start().len();
            at += blank;
            if !self.text[at..].starts_with('#') {
                return at;
            }
            at = next_line_start(self.text, at);
        }
    }
}
