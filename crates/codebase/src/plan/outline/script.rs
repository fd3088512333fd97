//! JavaScript and TypeScript, through oxc's parser.

use std::ops::Range;

use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, Program, Statement};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, Span};

use super::{Broken, ImportPlace, Outline, next_line};
use crate::source::{Lines, script_kind};

pub(super) fn outline(path: &str, text: &str) -> Result<Outline, Broken> {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, text, script_kind(path)).parse();
    if let Some(error) = parsed.diagnostics.first() {
        let at = error.labels.first().map_or(0, oxc_span::LabeledSpan::offset);
        return Err(Broken { line: Lines::new(text).at(at as usize), reason: error.message.to_string() });
    }
    if parsed.panicked {
        return Err(Broken { line: 1, reason: "its syntax is broken".to_owned() });
    }
    let mut reader = Reader { outline: Outline::default() };
    reader.outline.head = head(text, &parsed.program);
    reader.outline.imports = imports(path, text, &parsed.program);
    reader.visit_program(&parsed.program);
    Ok(reader.outline)
}

fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

fn head(text: &str, program: &Program<'_>) -> usize {
    let directive = program.directives.last().map(|directive| directive.span);
    let last = directive.or(program.hashbang.as_ref().map(|hashbang| hashbang.span));
    last.map_or(0, |span| next_line(text, span.end as usize))
}

/// `import … from` and `const … = require(…)` at the top level. What they name is known from the facts of the file.
fn imports(path: &str, text: &str, program: &Program<'_>) -> Vec<ImportPlace> {
    let lines = Lines::new(text);
    let language = crate::language::of(path);
    let facts =
        language.and_then(|language| crate::source::parse(path, text, language).ok()).unwrap_or_default();
    let (mut all, mut run) = (Vec::new(), 0);
    for statement in &program.body {
        if !is_import(statement) {
            run = all.last().map_or(0, |last: &ImportPlace| last.run + 1);
            continue;
        }
        let span = range(statement.span());
        let within = lines.at(span.start)..=lines.at(span.end);
        let own: Vec<_> = facts.imports.iter().filter(|import| within.contains(&import.line)).collect();
        let module = own.first().map(|import| import.module.clone()).unwrap_or_default();
        let names = own.iter().filter(|import| import.module == module);
        let names = names.map(|import| (import.name.clone(), import.local.clone())).collect();
        all.push(ImportPlace { span, module, names, run });
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

struct Reader {
    outline: Outline,
}

impl<'a> Visit<'a> for Reader {
    fn visit_statement(&mut self, statement: &Statement<'a>) {
        self.outline.statements.push(range(statement.span()));
        walk::walk_statement(self, statement);
    }
}
