//! Resolves edits to exact changes in the current tree.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tree::{ReadError, Tree, WorkBudget};

use super::config;
use super::diff::unified_diff;
use super::digest::sha256_hex;
use super::document::{AnchorKind, Edit, FileChange, InsertLocation, Strategy, TextChange};
use super::finding::{PlanFinding, quote};
use super::imports::{self, ImportPlacement, ImportTarget, is_local_module};
use super::insertion_point::{
    InsertionPoint, first_use_offset, is_code_present, point_after_imports, resolve_anchors,
};
use super::manifest_keys;
use super::outline::{self, CodeOutline};
use super::path_check;
use super::result_check::{check_claimed_changes, find_lost_statement};
use super::text_file::{TextFile, apply_changes};
use super::{MAX_EDITED_FILE_BYTES, MAX_EDITS, MAX_PAYLOAD_BYTES};
use crate::language::{self, Language};
use crate::source::run_with_parser_stack;
use crate::text_encoding::TextEncoding;

#[derive(Debug, Default)]
pub struct Resolution {
    /// The edits, each with its resolved changes.
    pub edits: Vec<Edit>,
    /// The files that change.
    pub files: Vec<ResolvedFile>,
    pub findings: Vec<PlanFinding>,
    /// Outlines of the new file contents.
    pub(super) outlines: BTreeMap<String, CodeOutline>,
}

/// Files that take precedence over the tree: path to text, with the outline if it was already computed.
pub(super) type FileOverlay = BTreeMap<String, (Vec<u8>, Option<CodeOutline>)>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedFile {
    pub change: FileChange,
    /// The current content; `None` if the file does not exist.
    pub old: Option<String>,
    pub new: String,
    encoding: TextEncoding,
}

impl ResolvedFile {
    /// The current content as it is on disk.
    pub fn old_bytes(&self) -> Option<Vec<u8>> {
        self.old.as_deref().map(|text| self.encoding.encode(text))
    }

    /// The new content as it will be on disk.
    pub fn new_bytes(&self) -> Vec<u8> {
        self.encoding.encode(&self.new)
    }
}

impl Resolution {
    /// Whether no finding is blocking.
    pub fn is_clean(&self) -> bool {
        !self.findings.iter().any(PlanFinding::is_blocking)
    }
}

/// Resolves edits against a tree. `consent` lists the protected paths that may be written to.
pub fn resolve_edits(
    tree: &Tree,
    edits: Vec<Edit>,
    consent: &[String],
    budget: &WorkBudget,
) -> std::io::Result<Resolution> {
    run_with_parser_stack(|| resolve_edits_with_overlay(tree, edits, consent, &BTreeMap::new(), budget))
}

/// Like [`resolve_edits`], with files that take precedence over those of the tree.
pub(super) fn resolve_edits_with_overlay(
    tree: &Tree,
    edits: Vec<Edit>,
    consent: &[String],
    over: &FileOverlay,
    budget: &WorkBudget,
) -> Resolution {
    let mut resolver = EditResolver {
        tree,
        consent,
        overlay: over,
        budget,
        local_modules: RefCell::default(),
        files: BTreeMap::new(),
        findings: Vec::new(),
        changes: Vec::new(),
    };
    if edits.len() > MAX_EDITS {
        let says = format!("the plan has {} edits; the limit is {MAX_EDITS}", edits.len());
        resolver
            .findings
            .push(PlanFinding::blocking("too_many_edits", says).with_fix("split it into several plans"));
        return Resolution { edits, findings: resolver.findings, ..Resolution::default() };
    }
    for (at, edit) in edits.iter().enumerate() {
        resolver.changes.push(Vec::new());
        if let Err(findings) = resolver.resolve_edit(edit) {
            resolver.findings.extend(findings.into_iter().map(|finding| finding.for_edit(at)));
        }
        for finding in resolver.findings.iter_mut().filter(|finding| finding.edit.is_none()) {
            finding.edit = Some(at);
        }
    }
    resolver.finish(edits)
}

struct EditedFile {
    text: Option<TextFile>,
    outline: Option<CodeOutline>,
    /// Each with the number of its edit.
    changes: Vec<(usize, TextChange)>,
    /// Imports added by edits of this plan.
    imports: Vec<String>,
}

struct EditResolver<'a> {
    tree: &'a Tree,
    consent: &'a [String],
    overlay: &'a FileOverlay,
    budget: &'a WorkBudget,
    /// Cache of module lookups in the tree.
    local_modules: RefCell<BTreeMap<String, bool>>,
    files: BTreeMap<String, EditedFile>,
    findings: Vec<PlanFinding>,
    changes: Vec<Vec<TextChange>>,
}

const MAX_ANCHORS: usize = 16;

type BlockingFindings = Vec<PlanFinding>;

fn blocked_by(finding: PlanFinding) -> BlockingFindings {
    vec![finding]
}

impl EditResolver<'_> {
    fn resolve_edit(&mut self, edit: &Edit) -> Result<(), BlockingFindings> {
        if self.budget.is_expired() || self.budget.is_cancelled() {
            return Err(blocked_by(PlanFinding::blocking(
                "out_of_time",
                "the time limit was reached before this edit was checked",
            )));
        }
        let path = edit.filepath.as_str();
        path_check::check_path(self.tree, path, self.consent).map_err(blocked_by)?;
        let payload = &edit.payload;
        let texts = [&payload.code, &payload.import].into_iter().flatten().map(String::len).sum::<usize>();
        let size = texts + payload.set.iter().map(|setting| setting.value.to_string().len()).sum::<usize>();
        if edit.anchors.len() > MAX_ANCHORS {
            let says = format!("the edit has {} anchors; the limit is {MAX_ANCHORS}", edit.anchors.len());
            return Err(blocked_by(PlanFinding::blocking("too_many_anchors", says)));
        }
        if size > MAX_PAYLOAD_BYTES {
            let says = format!("the payload has {size} bytes; the limit is {MAX_PAYLOAD_BYTES}");
            return Err(blocked_by(PlanFinding::blocking("payload_too_large", says)));
        }
        if edit.strategy == Strategy::CreateFile {
            return self.create_file(edit);
        }
        self.load(path).map_err(|refused| add_anchor_warnings(refused, edit))?;
        if payload.import.is_none() && payload.code.is_none() && payload.set.is_empty() {
            let says = "the payload has none of `import`, `code` and `set`";
            return Err(blocked_by(PlanFinding::blocking("empty_payload", says)));
        }
        if let Some(import) = &payload.import {
            self.add_import(edit, import)?;
        }
        if !payload.set.is_empty() {
            self.apply_settings(edit)?;
        }
        if let Some(code) = &payload.code {
            self.insert_code(edit, code)?;
        }
        Ok(())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.overlay.get(path) {
            Some((bytes, _)) => Ok(bytes.clone()),
            None => self.tree.read_nofollow(path, MAX_EDITED_FILE_BYTES),
        }
    }

    /// Reads a file that must exist.
    fn load(&mut self, path: &str) -> Result<(), BlockingFindings> {
        if let Some(known) = self.files.get(path) {
            let made = known.text.is_none();
            let says = format!("{path} is created by an earlier edit; put its whole content there");
            return if made {
                Err(blocked_by(PlanFinding::blocking("edits_new_file", says)))
            } else {
                Ok(())
            };
        }
        let bytes = match self.read(path) {
            Ok(bytes) => bytes,
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                let says = format!("file {} does not exist.", quote(path));
                // The contract documents this sentence as a warning; the blocking finding is added next to
                // it.
                return Err(vec![
                    PlanFinding::warning("missing_file", says),
                    PlanFinding::blocking(
                        "missing_file",
                        format!("{} cannot be edited: it does not exist", quote(path)),
                    )
                    .with_fix("fix `filepath`, or use the strategy `create_file`"),
                ]);
            }
            Err(error) => {
                let says = format!("{} cannot be read: {error}", quote(path));
                return Err(blocked_by(PlanFinding::blocking("unreadable_file", says)));
            }
        };
        let text = TextFile::from_bytes(bytes).ok_or_else(|| {
            let says =
                format!("{} is binary, neither UTF-8 nor UTF-16, or has lone CR line endings", quote(path));
            blocked_by(PlanFinding::blocking("not_text", says).with_fix("edit it by hand"))
        })?;
        let known = self.overlay.get(path).and_then(|(_, outline)| outline.clone());
        let outline = match known {
            Some(outline) => Some(outline),
            None => outline::parse_outline(path, &text.content).map_err(|broken| {
                let says = format!("{path} cannot be parsed: {}", broken.reason);
                blocked_by(
                    PlanFinding::blocking("broken_file", says)
                        .with_location(path, broken.line)
                        .with_fix("fix the syntax error first"),
                )
            })?,
        };
        if is_generated_file(&text.content) {
            let says = format!("{path} is marked as generated; the edit may be overwritten");
            self.findings.push(PlanFinding::warning("generated_file", says));
        }
        let subject = EditedFile { text: Some(text), outline, changes: Vec::new(), imports: Vec::new() };
        self.files.insert(path.to_owned(), subject);
        Ok(())
    }

    fn create_file(&mut self, edit: &Edit) -> Result<(), BlockingFindings> {
        let path = edit.filepath.as_str();
        let Some(content) = &edit.payload.code else {
            let says = "the payload has no `code`, which is the content of the new file";
            return Err(blocked_by(PlanFinding::blocking("empty_payload", says)));
        };
        if self.files.contains_key(path) {
            let says = format!("{path} is already changed by an earlier edit");
            return Err(blocked_by(PlanFinding::blocking("overlap", says)));
        }
        match self.read(path) {
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(bytes) if bytes == content.as_bytes() => {
                self.findings.push(PlanFinding::warning(
                    "already_applied",
                    format!("{path} already exists with this content"),
                ));
                return Ok(());
            }
            _ => {
                let says = format!("{} already exists with different content", quote(path));
                return Err(blocked_by(
                    PlanFinding::blocking("file_exists", says)
                        .with_fix("choose another name, or edit the existing file"),
                ));
            }
        }
        let subject = EditedFile { text: None, outline: None, changes: Vec::new(), imports: Vec::new() };
        self.files.insert(path.to_owned(), subject);
        self.add_change(path, TextChange { new_text: content.clone(), ..TextChange::default() });
        Ok(())
    }

    fn edited_file(&self, path: &str) -> Result<(&EditedFile, &TextFile), BlockingFindings> {
        let subject = self.files.get(path);
        let found = subject.and_then(|subject| Some((subject, subject.text.as_ref()?)));
        found.ok_or_else(|| {
            blocked_by(PlanFinding::blocking("missing_file", format!("{} was not read", quote(path))))
        })
    }

    fn add_change(&mut self, path: &str, change: TextChange) {
        let at = self.changes.len() - 1;
        self.changes[at].push(change.clone());
        if let Some(subject) = self.files.get_mut(path) {
            subject.changes.push((at, change));
        }
    }

    fn add_import(&mut self, edit: &Edit, statement: &str) -> Result<(), BlockingFindings> {
        let path = edit.filepath.as_str();
        let (subject, text) = self.edited_file(path)?;
        let Some(outline) = &subject.outline else {
            let says = format!("imports are not supported in {path}");
            return Err(blocked_by(
                PlanFinding::blocking("no_parser", says).with_fix("use an anchor and `code` instead"),
            ));
        };
        let words = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        if subject.imports.contains(&words) {
            return Ok(());
        }
        let is_local = |module: &str| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            *self
                .local_modules
                .borrow_mut()
                .entry(format!("{folder}:{module}"))
                .or_insert_with(|| is_local_module(self.tree, path, module))
        };
        let target = ImportTarget {
            path,
            text,
            outline,
            is_local: &is_local,
            first_use: first_use_offset(edit, text, outline),
        };
        match imports::place_import(&target, statement).map_err(blocked_by)? {
            ImportPlacement::AlreadyPresent => {
                let says = format!("import {} already present in {path}", quote(statement));
                self.findings.push(PlanFinding::already_present(says));
            }
            ImportPlacement::Insert(change) => {
                self.add_change(path, change);
                if let Some(subject) = self.files.get_mut(path) {
                    subject.imports.push(words);
                }
            }
        }
        Ok(())
    }

    fn apply_settings(&mut self, edit: &Edit) -> Result<(), BlockingFindings> {
        let path = edit.filepath.as_str();
        let (subject, text) = self.edited_file(path)?;
        if !subject.changes.is_empty() {
            let says = format!("{path} is changed by another edit; put all values into one `set`");
            return Err(blocked_by(PlanFinding::blocking("overlap", says)));
        }
        let new = config::apply_settings(path, &text.content, &edit.payload.set).map_err(|reason| {
            blocked_by(PlanFinding::blocking("bad_setting", format!("{path} cannot be changed: {reason}")))
        })?;
        if let Some(change) = text.minimal_change(&new) {
            self.add_change(path, change);
        } else {
            let says = format!("the values are already set in {path}");
            self.findings.push(PlanFinding::already_present(says));
        }
        Ok(())
    }

    fn insert_code(&mut self, edit: &Edit, code: &str) -> Result<(), BlockingFindings> {
        let path = edit.filepath.as_str();
        let (subject, text) = self.edited_file(path)?;
        let decorates = language::detect_language(path) == Some(Language::Python)
            && outline::parse_decorators_only(code).is_some();
        if !decorates && is_code_present(text, subject.outline.as_ref(), code, edit) {
            let says = format!("the code is already present in {path}");
            self.findings.push(PlanFinding::already_present(says));
            return Ok(());
        }
        let outline = subject.outline.as_ref();
        let spots = match edit.payload.location {
            Some(InsertLocation::TopOfFile) => {
                vec![InsertionPoint::Before(outline.map_or(text.content_start(), |o| o.body_start))]
            }
            Some(InsertLocation::EndOfFile) => vec![InsertionPoint::End],
            Some(InsertLocation::AfterImports) => vec![point_after_imports(text, outline)],
            _ => resolve_anchors(edit, code, text, outline)?,
        };
        let mut changes = Vec::new();
        let mut known: Vec<InsertionPoint> = Vec::new();
        for spot in spots {
            if known.contains(&spot) {
                continue;
            }
            changes.extend(spot.to_change(path, text, code).map_err(blocked_by)?);
            known.push(spot);
        }
        for change in changes {
            self.add_change(path, change);
        }
        Ok(())
    }

    fn finish(mut self, mut edits: Vec<Edit>) -> Resolution {
        let (mut files, mut outlines) = (Vec::new(), BTreeMap::new());
        let subjects = std::mem::take(&mut self.files);
        self.findings.extend(find_nested_paths(&subjects));
        for (at, (edit, changes)) in edits.iter_mut().zip(self.changes).enumerate() {
            let claimed = std::mem::replace(&mut edit.changes, changes);
            let text = subjects.get(&edit.filepath).and_then(|subject| subject.text.as_ref());
            self.findings
                .extend(check_claimed_changes(edit, &claimed, text).map(|finding| finding.for_edit(at)));
        }
        for (path, mut subject) in subjects {
            subject.changes.sort_by_key(|(edit, change)| (change.start, change.end, *edit));
            let overlaps = subject.changes.windows(2).find(|pair| {
                let ((_, a), (_, b)) = (&pair[0], &pair[1]);
                a.end > b.start || a.start == b.start && a.end > a.start
            });
            if let Some(pair) = overlaps {
                let says = format!("it overlaps with edit #{} in {path}", pair[0].0);
                let line = subject.text.as_ref().map_or(1, |text| text.line_at(pair[1].1.start));
                let finding =
                    PlanFinding::blocking("overlap", says).with_location(&path, line).for_edit(pair[1].0);
                self.findings.push(finding.with_fix("merge both edits into one"));
                continue;
            }
            if subject.changes.is_empty() {
                continue;
            }
            let resolved = build_resolved_file(&path, &subject);
            let at = subject.changes[0].0;
            let (finding, after) = check_result(&path, &subject, &resolved.new);
            self.findings.extend(finding.map(|finding| finding.for_edit(at)));
            outlines.extend(after.map(|after| (path.clone(), after)));
            let keys = manifest_keys::check_manifest_keys(
                &path,
                resolved.old.as_deref(),
                &resolved.new,
                self.consent,
            );
            self.findings.extend(keys.into_iter().map(|finding| finding.for_edit(at)));
            files.push(resolved);
        }
        self.findings.sort_by_key(|finding| (finding.edit, finding.severity));
        Resolution { edits, files, findings: self.findings, outlines }
    }
}

/// Checks that the result is well-formed and that no untouched statement is lost. Returns the new outline,
/// too.
fn check_result(path: &str, subject: &EditedFile, new: &str) -> (Option<PlanFinding>, Option<CodeOutline>) {
    let breaks = |broken: outline::OutlineError| {
        let says = format!("{path} cannot be parsed after the edit: {}", broken.reason);
        PlanFinding::blocking("breaks_file", says)
            .with_location(path, broken.line)
            .with_fix("fix the code or the anchor")
    };
    match outline::parse_outline(path, new) {
        Err(broken) => (Some(breaks(broken)), None),
        Ok(Some(after)) => {
            let lost = match (&subject.text, &subject.outline) {
                (Some(text), Some(outline)) => {
                    find_lost_statement(path, text, outline, &subject.changes, new, &after)
                }
                _ => None,
            };
            (lost, Some(after))
        }
        Ok(None) => {
            let unknown = || {
                let says = format!(
                    "{path} cannot be checked: its language has no parser here; review the diff closely"
                );
                is_source_file(path).then(|| PlanFinding::warning("not_parsed", says))
            };
            (
                outline::check_well_formed(path, new).map_or_else(unknown, |formed| formed.err().map(breaks)),
                None,
            )
        }
    }
}

/// A path cannot be both a file and the folder of another file.
fn find_nested_paths(subjects: &BTreeMap<String, EditedFile>) -> Option<PlanFinding> {
    let under = |path: &String, other: &String| {
        other.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let pair =
        subjects.keys().find_map(|path| Some((path, subjects.keys().find(|other| under(path, other))?)))?;
    let says =
        format!("the plan uses {} both as a file and as the folder of {}", quote(pair.0), quote(pair.1));
    Some(PlanFinding::blocking("overlap", says))
}

/// Adds the documented "anchor pattern … not found" warning for each anchor in a missing file.
fn add_anchor_warnings(mut refused: BlockingFindings, edit: &Edit) -> BlockingFindings {
    if refused.iter().any(|finding| finding.code == "missing_file") {
        let named = edit.anchors.iter().filter(|anchor| anchor.kind != AnchorKind::AppendFile);
        refused.extend(named.map(|anchor| {
            let says = format!("anchor pattern {} not found in {}", quote(&anchor.pattern), edit.filepath);
            PlanFinding::warning("anchor_not_found", says)
        }));
    }
    refused
}

fn build_resolved_file(path: &str, subject: &EditedFile) -> ResolvedFile {
    let old = subject.text.as_ref().map(|text| text.content.clone());
    // Cannot fail: the changes were computed for this text.
    let changes = subject.changes.iter().map(|(_, change)| change);
    let new = apply_changes(old.as_deref().unwrap_or_default(), changes).unwrap_or_default();
    let encoding = subject.text.as_ref().map(|text| text.encoding).unwrap_or_default();
    let bytes = encoding.encode(&new);
    let change = FileChange {
        path: path.to_owned(),
        before: subject.text.as_ref().map(TextFile::original_file),
        sha256: sha256_hex(&bytes),
        size: bytes.len(),
        diff: unified_diff(path, old.as_deref(), Some(&new)),
    };
    ResolvedFile { change, old, new, encoding }
}

fn is_generated_file(content: &str) -> bool {
    let mut end = content.len().min(1024);
    while !content.is_char_boundary(end) {
        end -= 1;
    }
    let head = &content[..end];
    head.contains("@generated") || head.to_lowercase().contains("do not edit")
}

fn is_source_file(path: &str) -> bool {
    language::detect_language(path).is_some_and(Language::is_programming)
}
