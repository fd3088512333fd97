//! Decides where an import statement is inserted.

use ruff_python_stdlib::sys::is_known_standard_library;
use tree::Tree;

use super::document::TextChange;
use super::finding::{PlanFinding, quote};
use super::outline::{CodeOutline, OutlineImport};
use super::text_file::TextFile;
use crate::language::{self, Language};

pub(crate) enum ImportPlacement {
    AlreadyPresent,
    Insert(TextChange),
}

/// A file that receives an import.
pub(crate) struct ImportTarget<'t> {
    pub(crate) path: &'t str,
    pub(crate) text: &'t TextFile,
    pub(crate) outline: &'t CodeOutline,
    /// Whether a Python module is part of the tree.
    pub(crate) is_local: &'t dyn Fn(&str) -> bool,
    /// Where the imported name is first used, if known.
    pub(crate) first_use: Option<usize>,
}

pub(crate) fn place_import(
    target: &ImportTarget<'_>,
    statement: &str,
) -> Result<ImportPlacement, PlanFinding> {
    let statement = statement.trim();
    if language::detect_language(target.path) == Some(Language::Python) {
        target.place_python_import(statement)
    } else {
        target.place_script_import(statement)
    }
}

/// The groups in which Python imports are sorted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ImportGroup {
    Future,
    Standard,
    ThirdParty,
    Local,
}

fn not_an_import_finding(statement: &str) -> PlanFinding {
    PlanFinding::blocking("not_an_import", format!("{} is not an import statement", quote(statement)))
        .with_fix("write one or more whole import statements in `payload.import`")
}

impl ImportTarget<'_> {
    fn place_python_import(&self, statement: &str) -> Result<ImportPlacement, PlanFinding> {
        let wanted =
            super::outline::parse_imports_only(statement).ok_or_else(|| not_an_import_finding(statement))?;
        let (wanted, missing) = self.missing_imports(wanted, statement);
        let Some(first) = wanted.first() else { return Ok(ImportPlacement::AlreadyPresent) };
        self.check_names_are_free(&wanted)?;
        let statement = missing.as_str();
        let group = self.import_group(&first.module);
        let own: Vec<&OutlineImport> =
            self.outline.imports.iter().filter(|import| import.import_block == 0).collect();
        let same: Vec<_> =
            own.iter().filter(|import| self.import_group(&import.module) == group).copied().collect();
        let key = |import: &OutlineImport| {
            (import.names.iter().any(|(name, _)| name.is_some()), import.module.to_lowercase())
        };
        if group == ImportGroup::Future {
            return Ok(ImportPlacement::Insert(self.insert_at_head(statement)));
        }
        if let Some(head) = same.first() {
            let before = same.iter().rev().find(|import| key(import) <= key(first));
            return Ok(ImportPlacement::Insert(match before {
                Some(import) => self.insert_after(import, "", statement),
                // Do not separate an import from the comment above it.
                None if self.follows_comment(head) => self.insert_after(head, "", statement),
                None => self.insert_before(head.span.start, statement, ""),
            }));
        }
        let earlier = own.iter().rev().find(|import| self.import_group(&import.module) < group);
        let later = own.iter().find(|import| self.import_group(&import.module) > group);
        Ok(ImportPlacement::Insert(match (earlier, later) {
            (Some(import), _) => self.insert_after(import, "\n", statement),
            (None, Some(import)) if self.follows_comment(import) => {
                self.insert_after(import, "\n", statement)
            }
            (None, Some(import)) => self.insert_before(import.span.start, statement, "\n"),
            (None, None) => self.insert_at_head(statement),
        }))
    }

    fn place_script_import(&self, statement: &str) -> Result<ImportPlacement, PlanFinding> {
        let parsed = super::outline::parse_outline(self.path, statement).ok().flatten();
        let is_only = |outline: &CodeOutline| {
            !outline.imports.is_empty() && outline.imports.len() == outline.statements.len()
        };
        let wanted = parsed.filter(is_only).ok_or_else(|| not_an_import_finding(statement))?.imports;
        let (wanted, missing) = self.missing_imports(wanted, statement);
        if wanted.is_empty() {
            return Ok(ImportPlacement::AlreadyPresent);
        }
        self.check_names_are_free(&wanted)?;
        let statement = missing.as_str();
        let requires = |import: &OutlineImport| self.text.content[import.span.clone()].contains("require(");
        if statement.starts_with("import")
            && !self.outline.imports.is_empty()
            && self.outline.imports.iter().all(requires)
        {
            let says = format!(
                "{} loads its modules with `require`, which cannot be mixed with `import`",
                self.path
            );
            return Err(
                PlanFinding::blocking("module_kind", says).with_fix("write it as `const … = require(…)`")
            );
        }
        let last = self.outline.imports.iter().rfind(|import| import.import_block == 0);
        Ok(ImportPlacement::Insert(match last {
            Some(import) => self.insert_after(import, "", statement),
            None => self.insert_at_head(statement),
        }))
    }

    fn import_group(&self, module: &str) -> ImportGroup {
        const PYTHON_MINOR_VERSION: u8 = 13;
        let top = module.split('.').next().unwrap_or_default();
        if module == "__future__" {
            ImportGroup::Future
        } else if top.is_empty() {
            ImportGroup::Local
        } else if is_known_standard_library(PYTHON_MINOR_VERSION, top) {
            ImportGroup::Standard
        } else if (self.is_local)(top) {
            ImportGroup::Local
        } else {
            ImportGroup::ThirdParty
        }
    }

    /// The wanted imports that are missing, and their source text.
    fn missing_imports(&self, wanted: Vec<OutlineImport>, statement: &str) -> (Vec<OutlineImport>, String) {
        let open: Vec<OutlineImport> = wanted.into_iter().filter(|import| !self.is_present(import)).collect();
        let mut lines: Vec<&str> =
            open.iter().filter_map(|import| statement.get(import.span.clone())).collect();
        lines.dedup();
        let text = lines.join("\n");
        (open, text)
    }

    /// Whether every name that the import binds is already bound to the same thing.
    fn is_present(&self, wanted: &OutlineImport) -> bool {
        let binds = |name: &(Option<String>, String)| {
            self.outline.imports.iter().any(|known| {
                let in_time = self.first_use.is_none_or(|before| known.span.start < before);
                in_time && known.module == wanted.module && known.names.contains(name)
            })
        };
        wanted.names.iter().all(binds) && (!wanted.names.is_empty() || self.has_bare_import(&wanted.module))
    }

    /// Whether the module is imported at all, for `import "./side-effect"`.
    fn has_bare_import(&self, module: &str) -> bool {
        self.outline.imports.iter().any(|known| known.module == module)
    }

    /// Fails if a name that the imports bind is already used for something else in this file.
    fn check_names_are_free(&self, wanted: &[OutlineImport]) -> Result<(), PlanFinding> {
        for import in wanted {
            for (name, local) in &import.names {
                let other = self.outline.imports.iter().find(|known| {
                    let binds = known.names.iter().any(|(_, known)| known == local);
                    // `import a.b` and `import a.c` both bind `a` to the same package.
                    let same_top = name.is_none()
                        && known.names.iter().any(|(name, _)| name.is_none())
                        && known.module.split('.').next() == import.module.split('.').next();
                    binds
                        && !same_top
                        && !(known.module == import.module
                            && known.names.contains(&(name.clone(), local.clone())))
                });
                let line = other.map(|import| self.text.line_at(import.span.start));
                if line.is_some() || self.outline.top_level_names.contains(local) {
                    let says = format!(
                        "the name {} is already used for something else in {}",
                        quote(local),
                        self.path
                    );
                    return Err(PlanFinding::blocking("name_taken", says)
                        .with_location(self.path, line.unwrap_or(1))
                        .with_fix("import it under another name, and use that name in the code"));
                }
            }
        }
        Ok(())
    }

    fn follows_comment(&self, import: &OutlineImport) -> bool {
        let start = self.text.line_start(import.span.start);
        let before = self.text.content[..start].trim_end_matches(['\n', '\r']);
        let line = before.rsplit('\n').next().unwrap_or_default();
        // A comment separated by a blank line does not belong to this import.
        before.len() + 2 >= start && line.trim_start().starts_with('#')
    }

    fn insert_after(&self, import: &OutlineImport, gap: &str, statement: &str) -> TextChange {
        let mut at = self.text.next_line_start(import.span.end);
        // Another statement may start on the same line and span further lines.
        while let Some(span) = self.outline.statements.iter().find(|span| span.start < at && at < span.end) {
            at = self.text.next_line_start(span.end);
        }
        if self.text.content[..at].ends_with('\n') {
            self.text.change(at, at, &format!("{gap}{statement}\n"))
        } else {
            self.text.change(at, at, &format!("\n{gap}{statement}"))
        }
    }

    fn insert_before(&self, at: usize, statement: &str, gap: &str) -> TextChange {
        let at = self.text.line_start(at);
        self.text.change(at, at, &format!("{statement}\n{gap}"))
    }

    /// Inserts into a file without imports: after the shebang, docstring and directives.
    fn insert_at_head(&self, statement: &str) -> TextChange {
        let (at, content) = (self.outline.body_start.max(self.text.content_start()), &self.text.content);
        let begins = at == self.text.content_start();
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

/// Whether a Python module of this name is in the tree, as seen from a file.
pub(crate) fn is_local_module(tree: &Tree, path: &str, module: &str) -> bool {
    let mut folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    loop {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        for base in [format!("{prefix}{module}"), format!("{prefix}src/{module}")] {
            let here = |path: &str| tree.metadata(path).ok().flatten();
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
