//! Where an import goes.

use ruff_python_stdlib::sys::is_known_standard_library;
use tree::Tree;

use super::document::Change;
use super::finding::{Finding, quoted};
use super::outline::{ImportPlace, Outline};
use super::text::Text;
use crate::language::{self, Language};

/// What becomes of an import.
pub(crate) enum Placed {
    /// It is there already.
    Present,
    /// It goes there.
    At(Change),
}

/// A file that gets an import.
pub(crate) struct Target<'t> {
    pub(crate) path: &'t str,
    pub(crate) text: &'t Text,
    pub(crate) outline: &'t Outline,
    /// Whether a Python module belongs to the tree itself.
    pub(crate) is_local: &'t dyn Fn(&str) -> bool,
    /// Where what is imported is first used, if that is known.
    pub(crate) before: Option<usize>,
}

/// Places an import statement.
pub(crate) fn place(target: &Target<'_>, statement: &str) -> Result<Placed, Finding> {
    let statement = statement.trim();
    if language::of(target.path) == Some(Language::Python) {
        target.python(statement)
    } else {
        target.script(statement)
    }
}

/// Standard library, others, one's own: the groups in which Python imports stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Future,
    Standard,
    Others,
    Own,
}

fn not_an_import(statement: &str) -> Finding {
    Finding::blocks("not_an_import", format!("{} is not an import statement", quoted(statement)))
        .fix("write one or more whole import statements in `payload.import`")
}

impl Target<'_> {
    fn python(&self, statement: &str) -> Result<Placed, Finding> {
        let wanted = super::outline::only_imports(statement).ok_or_else(|| not_an_import(statement))?;
        let (wanted, missing) = self.missing(wanted, statement);
        let Some(first) = wanted.first() else { return Ok(Placed::Present) };
        self.free(&wanted)?;
        let statement = missing.as_str();
        let group = self.group(&first.module);
        let own: Vec<&ImportPlace> = self.outline.imports.iter().filter(|import| import.run == 0).collect();
        let same: Vec<_> = own.iter().filter(|import| self.group(&import.module) == group).copied().collect();
        let key = |import: &ImportPlace| {
            (import.names.iter().any(|(name, _)| name.is_some()), import.module.to_lowercase())
        };
        if group == Group::Future {
            return Ok(Placed::At(self.at_head(statement)));
        }
        if let Some(head) = same.first() {
            let before = same.iter().rev().find(|import| key(import) <= key(first));
            return Ok(Placed::At(match before {
                Some(import) => self.after(import, "", statement),
                // Not between an import and the comment above it.
                None if self.follows_comment(head) => self.after(head, "", statement),
                None => self.before(head.span.start, statement, ""),
            }));
        }
        let earlier = own.iter().rev().find(|import| self.group(&import.module) < group);
        let later = own.iter().find(|import| self.group(&import.module) > group);
        Ok(Placed::At(match (earlier, later) {
            (Some(import), _) => self.after(import, "\n", statement),
            (None, Some(import)) if self.follows_comment(import) => self.after(import, "\n", statement),
            (None, Some(import)) => self.before(import.span.start, statement, "\n"),
            (None, None) => self.at_head(statement),
        }))
    }

    fn script(&self, statement: &str) -> Result<Placed, Finding> {
        let parsed = super::outline::outline(self.path, statement).ok().flatten();
        let is_only = |outline: &Outline| {
            !outline.imports.is_empty() && outline.imports.len() == outline.statements.len()
        };
        let wanted = parsed.filter(is_only).ok_or_else(|| not_an_import(statement))?.imports;
        let (wanted, missing) = self.missing(wanted, statement);
        if wanted.is_empty() {
            return Ok(Placed::Present);
        }
        self.free(&wanted)?;
        let statement = missing.as_str();
        let requires = |import: &ImportPlace| self.text.content[import.span.clone()].contains("require(");
        if statement.starts_with("import")
            && !self.outline.imports.is_empty()
            && self.outline.imports.iter().all(requires)
        {
            let says =
                format!("{} loads its modules by `require`, and `import` does not go with that", self.path);
            return Err(Finding::blocks("module_kind", says).fix("write it as `const … = require(…)`"));
        }
        let last = self.outline.imports.iter().rfind(|import| import.run == 0);
        Ok(Placed::At(match last {
            Some(import) => self.after(import, "", statement),
            None => self.at_head(statement),
        }))
    }

    fn group(&self, module: &str) -> Group {
        const MINOR: u8 = 13;
        let top = module.split('.').next().unwrap_or_default();
        if module == "__future__" {
            Group::Future
        } else if top.is_empty() {
            Group::Own
        } else if is_known_standard_library(MINOR, top) {
            Group::Standard
        } else if (self.is_local)(top) {
            Group::Own
        } else {
            Group::Others
        }
    }

    /// Those of the wanted imports that are not there, and their text.
    fn missing(&self, wanted: Vec<ImportPlace>, statement: &str) -> (Vec<ImportPlace>, String) {
        let open: Vec<ImportPlace> = wanted.into_iter().filter(|import| !self.is_present(import)).collect();
        let mut lines: Vec<&str> =
            open.iter().filter_map(|import| statement.get(import.span.clone())).collect();
        lines.dedup();
        let text = lines.join("\n");
        (open, text)
    }

    /// Everything that it binds is bound to the same already.
    fn is_present(&self, wanted: &ImportPlace) -> bool {
        let binds = |name: &(Option<String>, String)| {
            self.outline.imports.iter().any(|known| {
                let in_time = self.before.is_none_or(|before| known.span.start < before);
                in_time && known.module == wanted.module && known.names.contains(name)
            })
        };
        wanted.names.iter().all(binds) && (!wanted.names.is_empty() || self.imports_bare(&wanted.module))
    }

    /// `import "./side-effect"`.
    fn imports_bare(&self, module: &str) -> bool {
        self.outline.imports.iter().any(|known| known.module == module)
    }

    /// No name that it binds means something else in this file.
    fn free(&self, wanted: &[ImportPlace]) -> Result<(), Finding> {
        for import in wanted {
            for (name, local) in &import.names {
                let other = self.outline.imports.iter().find(|known| {
                    let binds = known.names.iter().any(|(_, known)| known == local);
                    // `import a.b` and `import a.c` both bind `a`, and mean the same by it.
                    let same_top = name.is_none()
                        && known.names.iter().any(|(name, _)| name.is_none())
                        && known.module.split('.').next() == import.module.split('.').next();
                    binds
                        && !same_top
                        && !(known.module == import.module
                            && known.names.contains(&(name.clone(), local.clone())))
                });
                let line = other.map(|import| self.text.line(import.span.start));
                if line.is_some() || self.outline.names.contains(local) {
                    let says =
                        format!("the name {} means something else in {} already", quoted(local), self.path);
                    return Err(Finding::blocks("name_taken", says)
                        .at(self.path, line.unwrap_or(1))
                        .fix("import it under another name, and use that name in the code"));
                }
            }
        }
        Ok(())
    }

    fn follows_comment(&self, import: &ImportPlace) -> bool {
        let start = self.text.line_start(import.span.start);
        let before = self.text.content[..start].trim_end_matches(['\n', '\r']);
        let line = before.rsplit('\n').next().unwrap_or_default();
        // A blank line between them, and it is not about this import.
        before.len() + 2 >= start && line.trim_start().starts_with('#')
    }

    fn after(&self, import: &ImportPlace, gap: &str, statement: &str) -> Change {
        let mut at = self.text.next_line(import.span.end);
        // Another statement may share its line, and go on.
        while let Some(span) = self.outline.statements.iter().find(|span| span.start < at && at < span.end) {
            at = self.text.next_line(span.end);
        }
        if self.text.content[..at].ends_with('\n') {
            self.text.change(at, at, &format!("{gap}{statement}\n"))
        } else {
            self.text.change(at, at, &format!("\n{gap}{statement}"))
        }
    }

    fn before(&self, at: usize, statement: &str, gap: &str) -> Change {
        let at = self.text.line_start(at);
        self.text.change(at, at, &format!("{statement}\n{gap}"))
    }

    /// In a file without imports: after what must come first.
    fn at_head(&self, statement: &str) -> Change {
        let (at, content) = (self.outline.head.max(self.text.start()), &self.text.content);
        let begins = at == self.text.start();
        let open = !begins && !content[..at].ends_with('\n');
        let before = match (open, begins) {
            (true, _) => "\n\n",
            (false, true) => "",
            (false, false) => "\n",
        };
        let rest = &content[at..];
        let after = if rest.is_empty() || rest.starts_with(['\n', '\r']) { "" } else { "\n" };
        self.text.change(at, at, &format!("{before}{statement}\n{after}"))
    }
}

/// Whether a Python module of this name lies in the tree, as seen from a file.
pub(crate) fn is_local(tree: &Tree, path: &str, module: &str) -> bool {
    let mut folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    loop {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        for base in [format!("{prefix}{module}"), format!("{prefix}src/{module}")] {
            let here = |path: &str| tree.find(path).ok().flatten();
            if here(&format!("{base}.py")).is_some_and(|found| found.is_file)
                || here(&format!("{base}/__init__.py")).is_some()
            {
                return true;
            }
        }
        if folder.is_empty() {
            return false;
        }
        folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
    }
}
