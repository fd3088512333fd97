//! Outline of JavaScript and TypeScript files, using oxc's parser.

use std::collections::BTreeSet;
use std::ops::Range;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, Program, Statement};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, Span};

use super::{CodeOutline, OutlineError, OutlineImport, next_line_start};
use crate::source::{SourceLineIndex, source_type};

pub(super) fn parse_outline(path: &str, text: &str) -> Result<CodeOutline, OutlineError> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, source_type(path)).parse();
    if let Some(error) = parsed.diagnostics.first() {
        let at = error.labels.first().map_or(0, oxc_span::LabeledSpan::offset);
        return Err(OutlineError {
            line: SourceLineIndex::new(text).line_at(at as usize),
            reason: error.message.to_string(),
        });
    }
    if parsed.panicked {
        return Err(OutlineError { line: 1, reason: "it has a syntax error".to_owned() });
    }
    let mut reader = ScriptOutlineVisitor { outline: CodeOutline::default() };
    reader.outline.body_start = find_body_start(text, &parsed.program);
    reader.outline.imports = collect_imports(path, text, &parsed.program);
    reader.outline.top_level_names = collect_top_level_names(&parsed.program);
    reader.visit_program(&parsed.program);
    Ok(reader.outline)
}

fn span_range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

fn find_body_start(text: &str, program: &Program<'_>) -> usize {
    let directive = program.directives.last().map(|directive| directive.span);
    let last = directive.or(program.hashbang.as_ref().map(|hashbang| hashbang.span));
    let mut at = last.map_or(0, |span| next_line_start(text, span.end as usize));
    // A licence, `// @ts-nocheck`, `/// <reference …/>`: contiguous comments.
    while let Some(comment) = program.comments.iter().find(|comment| comment.span.start as usize == at) {
        at = next_line_start(text, comment.span.end as usize);
    }
    at
}

/// The names that a file declares at its top level, without imports.
fn collect_top_level_names(program: &Program<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in program.body.iter().filter(|statement| !is_import(statement)) {
        match statement {
            Statement::VariableDeclaration(declaration) => {
                let ids = declaration.declarations.iter().filter_map(|one| one.id.get_identifier_name());
                names.extend(ids.map(|name| name.to_string()));
            }
            Statement::FunctionDeclaration(function) => {
                names.extend(function.id.as_ref().map(|id| id.name.to_string()));
            }
            Statement::ClassDeclaration(class) => {
                names.extend(class.id.as_ref().map(|id| id.name.to_string()));
            }
            _ => {}
        }
    }
    names
}

/// `import … from` and `const … = require(…)` at the top level. The imported names come from the source
/// facts.
fn collect_imports(path: &str, text: &str, program: &Program<'_>) -> Vec<OutlineImport> {
    let lines = SourceLineIndex::new(text);
    let language = crate::language::detect_language(path);
    let facts =
        language.and_then(|language| crate::source::parse(path, text, language).ok()).unwrap_or_default();
    let (mut all, mut run) = (Vec::new(), 0);
    for statement in &program.body {
        if !is_import(statement) {
            run = all.last().map_or(0, |last: &OutlineImport| last.import_block + 1);
            continue;
        }
        let span = span_range(statement.span());
        let within = lines.line_at(span.start)..=lines.line_at(span.end);
        let own: Vec<_> = facts.imports.iter().filter(|import| within.contains(&import.line)).collect();
        let module = own.first().map(|import| import.module.clone()).unwrap_or_default();
        let names = own.iter().filter(|import| import.module == module);
        let names = names.map(|import| (import.name.clone(), import.local.clone())).collect();
        all.push(OutlineImport { span, module, names, import_block: run });
    }
    all
}

fn is_import(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::ImportDeclaration(_) => true,
        Statement::VariableDeclaration(declaration) => declaration.declarations.iter().all(|one| {
            let Some(Expression::CallExpression(call)) = &one.init else { return false };
            matches!(&call.callee, Expression::Identifier(name) if name.name == "require")
        }),
        _ => false,
    }
}

struct ScriptOutlineVisitor {
    outline: CodeOutline,
}

impl<'a> Visit<'a> for ScriptOutlineVisitor {
    /// Only statements in a list: nothing can be inserted next to the sole statement of an `if` without
    /// braces.
    fn visit_statements(&mut self, statements: &oxc_allocator::Vec<'a, Statement<'a>>) {
        self.outline.statements.extend(statements.iter().map(|statement| span_range(statement.span())));
        walk::walk_statements(self, statements);
    }
}
