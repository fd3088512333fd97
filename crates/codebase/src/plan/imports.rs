//! Where an import goes.

use ruff_python_stdlib::sys::is_known_standard_library;
use tree::Tree;

use super::document::TextChange;
use super::finding::{PlanFinding, quote};
use super::outline::{CodeOutline, OutlineImport};
use super::text_file::TextFile;
use crate::language::{self, Language};

/// What becomes of an import.
pub(crate) enum ImportPlacement {
    /// It is there already.
    AlreadyPresent,
    /// It goes there.
    Insert(TextChange),
}

/// A file that gets an import.
pub(crate) struct ImportTarget<'t> {
    pub(crate) path: &'t str,
    pub(crate) text: &'t TextFile,
    pub(crate) outline: &'t CodeOutline,
    /// Whether a Python module belongs to the tree itself.
    pub(crate) is_local: &'t dyn Fn(&str) -> bool,
    /// Where what is imported is first used, if that is known.
    pub(crate) first_use: Option<usize>,
}

/// Places an import statement.
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

/// Standard library, others, one's own: the groups in which Python imports stand.
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
                // Not between an import and the comment above it.
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
            let says =
                format!("{} loads its modules by `require`, and `import` does not go with that", self.path);
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

    /// Those of the wanted imports that are not there, and their text.
    fn missing_imports(&self, wanted: Vec<OutlineImport>, statement: &str) -> (Vec<OutlineImport>, String) {
        let open: Vec<OutlineImport> = wanted.into_iter().filter(|import| !self.is_present(import)).collect();
        let mut lines: Vec<&str> =
            open.iter().filter_map(|import| statement.get(import.span.clone())).collect();
        lines.dedup();
        let text = lines.join("\n");
        (open, text)
    }

    /// Everything that it binds is bound to the same already.
    fn is_present(&self, wanted: &OutlineImport) -> bool {
        let binds = |name: &(Option<String>, String)| {
            self.outline.imports.iter().any(|known| {
                let in_time = self.first_use.is_none_or(|before| known.span.start < before);
                in_time && known.module == wanted.module && known.names.contains(name)
            })
        };
        wanted.names.iter().all(binds) && (!wanted.names.is_empty() || self.has_bare_import(&wanted.module))
    }

    /// `import "./side-effect"`.
    fn has_bare_import(&self, module: &str) -> bool {
        self.outline.imports.iter().any(|known| known.module == module)
    }

    /// No name that it binds means something else in this file.
    fn check_names_are_free(&self, wanted: &[OutlineImport]) -> Result<(), PlanFinding> {
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
                let line = other.map(|import| self.text.line_at(import.span.start));
                if line.is_some() || self.outline.top_level_names.contains(local) {
                    let says =
                        format!("the name {} means something else in {} already", quote(local), self.path);
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
        // A blank line between them, and it is not about this import.
        before.len() + 2 >= start && line.trim_start().starts_with('#')
    }

    fn insert_after(&self, import: &OutlineImport, gap: &str, statement: &str) -> TextChange {
        let mut at = self.text.next_line_start(import.span.end);
        // Another statement may share its line, and go on.
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

    /// In a file without imports: after what must come first.
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

/// Whether a Python module of this name lies in the tree, as seen from a file.
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
