//! The design system of a project: a design-token document, and edits to it.

use crate::error::ProjectRejection;
use design_tokens::limits::MAX_EDIT_COST;
use design_tokens::{EditOutcome, NewToken, TokenDocument, TokenFinding, diff_documents, import, validate};

/// An edit to a design system, as data, so that a store can apply it in the transaction that reads the
/// document.
#[derive(Clone, Debug, PartialEq)]
pub enum DesignEdit {
    /// Creates a token or changes its value.
    Set { path: String, token: NewToken },
    /// Moves a token or group to another path and updates its aliases.
    Rename { from: String, to: String },
    /// Deletes a token or group, or a token's value for one mode.
    Delete {
        path: String,
        /// Deletes only the value for this mode; `None` deletes everything.
        mode: Option<String>,
        /// Delete even if other tokens refer to it or become invalid.
        force: bool,
    },
    /// Replaces the document by foreign design-token JSON.
    ImportJson(String),
    /// Replaces the document by the custom properties of a stylesheet.
    ImportCss(String),
    /// Replaces the document. Mistakes in it are allowed, so that they can be fixed later.
    Replace(TokenDocument),
    /// Applies edits in order, all or none.
    All(Vec<DesignEdit>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DesignEditReport {
    /// Paths of the changed tokens, sorted.
    pub touched: Vec<String>,
    /// Findings about the imported document.
    pub findings: Vec<TokenFinding>,
}

impl DesignEdit {
    pub fn apply(
        &self,
        document: &TokenDocument,
    ) -> Result<(TokenDocument, DesignEditReport), ProjectRejection> {
        match self {
            Self::Set { path, token } => Ok(edit_report(design_tokens::set_token(document, path, token)?)),
            Self::Rename { from, to } => Ok(edit_report(design_tokens::rename_path(document, from, to)?)),
            Self::Delete { path, mode: None, force } => {
                Ok(edit_report(design_tokens::delete_path(document, path, *force)?))
            }
            Self::Delete { path, mode: Some(mode), force } => {
                Ok(edit_report(design_tokens::delete_mode_value(document, path, mode, *force)?))
            }
            Self::ImportJson(text) => Ok(import_report(document, import::json(text)?)),
            Self::ImportCss(text) => Ok(import_report(document, import::stylesheet(text)?)),
            Self::Replace(new) => {
                let told =
                    DesignEditReport { touched: changed_paths(document, new), findings: validate(new) };
                Ok((new.clone(), told))
            }
            Self::All(edits) => Self::apply_all(edits, document),
        }
    }

    fn apply_all(
        edits: &[Self],
        document: &TokenDocument,
    ) -> Result<(TokenDocument, DesignEditReport), ProjectRejection> {
        let mut runs = edits.chunk_by(|one, next| one.as_set().is_some() && next.as_set().is_some());
        let Some(first) = runs.next() else { return Ok((document.clone(), DesignEditReport::default())) };
        let mut effort = 0;
        let mut spend = |document: &TokenDocument| {
            let size = document.processing_cost();
            effort += size;
            if effort > MAX_EDIT_COST && effort > size { Err(too_many_changes(size)) } else { Ok(()) }
        };
        // A single run of edits is always allowed, so the common case skips measuring the document.
        let is_alone = first.len() == edits.len();
        if !is_alone {
            spend(document)?;
        }
        let (document, told) = Self::apply_run(first, document)?;
        runs.try_fold((document, told.sorted()), |(document, told), run| {
            spend(&document)?;
            let (document, next) = Self::apply_run(run, &document)?;
            Ok((document, told.merge(next, run)))
        })
    }

    fn as_set(&self) -> Option<(&str, &NewToken)> {
        match self {
            Self::Set { path, token } => Some((path, token)),
            _ => None,
        }
    }

    /// Applies consecutive edits. Adjacent `Set` edits are validated together: only once however many there
    /// are, and they may refer to each other in any order. Any other edit is a run by itself.
    fn apply_run(
        run: &[Self],
        document: &TokenDocument,
    ) -> Result<(TokenDocument, DesignEditReport), ProjectRejection> {
        if let [alone] = run {
            return alone.apply(document);
        }
        let tokens: Vec<_> = run.iter().filter_map(Self::as_set).collect();
        Ok(edit_report(design_tokens::set_tokens(document, &tokens)?))
    }
}

impl DesignEditReport {
    /// Sorts and deduplicates the touched paths.
    fn sorted(mut self) -> Self {
        self.touched.sort();
        self.touched.dedup();
        self
    }

    fn merge(mut self, next: Self, run: &[DesignEdit]) -> Self {
        self.touched.extend(next.touched);
        // Findings describe the last imported document.
        if let [DesignEdit::ImportJson(_) | DesignEdit::ImportCss(_) | DesignEdit::Replace(_)] = run {
            self.findings = next.findings;
        }
        self.sorted()
    }
}

/// Rejection for more edits than a document of this size allows at once. Every edit processes the whole
/// document.
fn too_many_changes(size: usize) -> ProjectRejection {
    let most = (MAX_EDIT_COST / size).max(1);
    let why = "too many changes at once for a design system of this size";
    let message = format!("{why}: send about {most} in one call; consecutive tokens to set count as one");
    ProjectRejection::invalid("/changes", message)
}

fn edit_report(EditOutcome { document, touched }: EditOutcome) -> (TokenDocument, DesignEditReport) {
    (document, DesignEditReport { touched, findings: Vec::new() })
}

fn import_report(before: &TokenDocument, new: import::ImportedDocument) -> (TokenDocument, DesignEditReport) {
    let touched = changed_paths(before, &new.document);
    (new.document, DesignEditReport { touched, findings: new.findings })
}

/// Paths of all tokens that differ.
fn changed_paths(before: &TokenDocument, after: &TokenDocument) -> Vec<String> {
    let difference = diff_documents(before, after);
    let mut paths: Vec<String> = Vec::new();
    paths.extend(difference.removed.into_iter().map(|state| state.path));
    paths.extend(difference.changed.into_iter().map(|change| change.after.path));
    paths.extend(difference.renamed.into_iter().flat_map(|renamed| [renamed.from, renamed.to]));
    paths.extend(difference.added.into_iter().map(|state| state.path));
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use design_tokens::{TokenKind, starter_document};

    #[test]
    fn every_edit_reports_touched_paths() {
        let start = TokenDocument::parse(
            r##"{"c":{"$type":"color","a":{"$value":"#ff0000"},"b":{"$value":"{c.a}"}}}"##,
        )
        .unwrap();
        let set = DesignEdit::Set { path: "d".to_owned(), token: NewToken::new(TokenKind::Number, 2.0) };
        let rename = DesignEdit::Rename { from: "c.a".to_owned(), to: "c.z".to_owned() };
        let delete = |force| DesignEdit::Delete { path: "c.a".to_owned(), mode: None, force };
        assert_eq!(set.apply(&start).unwrap().1.touched, ["d"]);
        assert!(rename.apply(&start).unwrap().1.touched.contains(&"c.z".to_owned()));
        assert!(matches!(delete(false).apply(&start), Err(ProjectRejection::Design(_))));
        assert!(delete(true).apply(&start).is_ok());
        let (_, css) = DesignEdit::ImportCss(":root { --gap: 4px }".to_owned()).apply(&start).unwrap();
        assert!(
            css.touched.contains(&"c.a".to_owned()) && css.touched.iter().any(|path| path.contains("gap"))
        );
        assert!(matches!(
            DesignEdit::ImportJson("[".to_owned()).apply(&start),
            Err(ProjectRejection::Import(_))
        ));
        let (document, both) = DesignEdit::All(vec![rename.clone(), set.clone()]).apply(&start).unwrap();
        assert!(document.get("c.z").is_some() && both.touched.contains(&"d".to_owned()));
        assert!(DesignEdit::All(vec![set.clone(), delete(false)]).apply(&start).is_err(), "all or none");
        let alias = |path: &str, to: &str| {
            let token =
                NewToken { kind: Some(TokenKind::Number), value: to.into(), mode: None, description: None };
            DesignEdit::Set { path: path.to_owned(), token }
        };
        let (_, early) = DesignEdit::All(vec![alias("e", "{d}"), set.clone()]).apply(&start).unwrap();
        assert_eq!(early.touched, ["d", "e"], "an alias to a token set later in the same call");
        assert!(DesignEdit::All(vec![alias("e", "{d}"), rename.clone(), set]).apply(&start).is_err());
        let dark = NewToken { mode: Some("dark".to_owned()), ..NewToken::new(TokenKind::Color, "#000000") };
        let (dark, _) = DesignEdit::Set { path: "c.a".to_owned(), token: dark }.apply(&start).unwrap();
        let mode = Some("dark".to_owned());
        let light = DesignEdit::Delete { path: "c.a".to_owned(), mode, force: false };
        let (document, light) = light.apply(&dark).unwrap();
        assert_eq!((light.touched, document.modes()), (vec!["c.a".to_owned()], Vec::<String>::new()));
        assert!(document.get("c.a").is_some());
        let (_, replaced) = DesignEdit::Replace(starter_document()).apply(&start).unwrap();
        assert!(replaced.findings.is_empty() && replaced.touched.len() > 50);
    }

    #[test]
    fn batch_size_is_limited_by_document_size() {
        // Only one token has modes, but every token is evaluated in each of them.
        let system = |tokens: usize, modes: usize| {
            let modes: Vec<_> = (0..modes).map(|at| format!(r#""m{at}":1"#)).collect();
            let modes = format!(r#""$extensions":{{"mode":{{{}}}}}"#, modes.join(","));
            let tokens: Vec<_> = (0..tokens).map(|at| format!(r#""t{at}":{{"$value":{at}}}"#)).collect();
            let text = tokens.join(",").replacen('}', &format!(",{modes}}}"), 1);
            TokenDocument::parse(&format!(r#"{{"$type":"number",{text}}}"#)).unwrap()
        };
        let delete =
            |at: usize| DesignEdit::Delete { path: format!("t{}", at + 1), mode: None, force: false };
        let set = |at: usize| DesignEdit::Set {
            path: format!("t{at}"),
            token: NewToken::new(TokenKind::Number, 2.0),
        };
        let all = |count: usize, change: &dyn Fn(usize) -> DesignEdit| {
            DesignEdit::All((0..count).map(change).collect())
        };
        assert_eq!(all(100, &delete).apply(&system(500, 2)).unwrap().1.touched.len(), 100);
        assert_eq!(all(1_000, &set).apply(&system(3_000, 32)).unwrap().1.touched.len(), 1_000);
        let refused = all(1_000, &delete).apply(&system(3_000, 32)).unwrap_err().to_string();
        assert!(refused.contains("send about 20 in"), "{refused}");
        // One large token can cost as much as thousands.
        let large = format!(r#""t0":{{"$value":1,"$extensions":{{"x":"{}"}}}}"#, "x".repeat(1_000_000));
        let large = TokenDocument::parse(&format!(r#"{{"$type":"number",{large}}}"#)).unwrap();
        let rename = |at: usize| DesignEdit::Rename { from: format!("t{at}"), to: format!("t{}", at + 1) };
        assert!(all(20, &rename).apply(&large).is_ok());
        let refused = all(998, &rename).apply(&large).unwrap_err().to_string();
        assert!(refused.contains("send about 127 in"), "{refused}");
        // Findings describe the document imported last.
        let import = |text: &str| DesignEdit::ImportJson(text.to_owned());
        let wrong = import(r#"{"a":{"$value":1}}"#);
        let right = import(r#"{"a":{"$type":"number","$value":1}}"#);
        for (first, last, told) in [(&wrong, &right, 0), (&right, &wrong, 1)] {
            let (_, made) = DesignEdit::All(vec![first.clone(), last.clone()]).apply(&system(1, 1)).unwrap();
            assert_eq!(made.findings.len(), told);
        }
    }
}
