//! From an edit as it is written to what it means in the tree.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tree::{Budget, ReadError, Tree};

use super::config;
use super::diff::unified;
use super::digest::sha256;
use super::document::{AnchorKind, Change, Edit, FileChange, Location, Strategy};
use super::finding::{Finding, quoted};
use super::imports::{self, Placed, Target, is_local};
use super::manifest;
use super::outline::{self, Outline};
use super::path;
use super::result::{false_claim, lost_statement};
use super::spot::{Spot, after_imports, anchored, is_present, used_at};
use super::text::{Text, patched};
use super::{LARGEST_FILE, LARGEST_PAYLOAD, MOST_EDITS};
use crate::language::{self, Language};
use crate::source::with_stack;

/// What edits come to.
#[derive(Debug, Default)]
pub struct Resolution {
    /// The edits, each with its changes.
    pub edits: Vec<Edit>,
    /// The files that change.
    pub files: Vec<Resolved>,
    /// What is wrong, or may be.
    pub findings: Vec<Finding>,
    /// Where things stand in the files as they will be.
    pub(super) outlines: BTreeMap<String, Outline>,
}

/// A file as if it stood in the tree: its text, and where things stand in it if somebody has looked.
pub(super) type Over = BTreeMap<String, (String, Option<Outline>)>;

/// A file that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Before and after.
    pub change: FileChange,
    /// Its content now; nothing: it is not there.
    pub old: Option<String>,
    /// What it becomes.
    pub new: String,
}

impl Resolution {
    /// Whether nothing stands in the way.
    pub fn is_clean(&self) -> bool {
        !self.findings.iter().any(Finding::is_blocking)
    }
}

/// Finds out what edits mean in a tree. `consent` names guarded paths that may be written to all the same.
pub fn resolve(
    tree: &Tree,
    edits: Vec<Edit>,
    consent: &[String],
    budget: &Budget,
) -> std::io::Result<Resolution> {
    with_stack(|| resolve_over(tree, edits, consent, &BTreeMap::new(), budget))
}

/// The same, as if these files stood in the tree already.
pub(super) fn resolve_over(
    tree: &Tree,
    edits: Vec<Edit>,
    consent: &[String],
    over: &Over,
    budget: &Budget,
) -> Resolution {
    let mut resolver = Resolver {
        tree,
        consent,
        over,
        budget,
        local: RefCell::default(),
        files: BTreeMap::new(),
        findings: Vec::new(),
        changes: Vec::new(),
    };
    if edits.len() > MOST_EDITS {
        let says = format!("the plan has {} edits; {MOST_EDITS} are the most", edits.len());
        resolver.findings.push(Finding::blocks("too_many_edits", says).fix("split it into several plans"));
        return Resolution { edits, findings: resolver.findings, ..Resolution::default() };
    }
    for (at, edit) in edits.iter().enumerate() {
        resolver.changes.push(Vec::new());
        if let Err(findings) = resolver.edit(edit) {
            resolver.findings.extend(findings.into_iter().map(|finding| finding.of(at)));
        }
        for finding in resolver.findings.iter_mut().filter(|finding| finding.edit.is_none()) {
            finding.edit = Some(at);
        }
    }
    resolver.finish(edits)
}

/// A file that edits are about.
struct Subject {
    text: Option<Text>,
    outline: Option<Outline>,
    /// With the number of the edit.
    changes: Vec<(usize, Change)>,
    /// Imports that edits of this plan add.
    imports: Vec<String>,
}

struct Resolver<'a> {
    tree: &'a Tree,
    consent: &'a [String],
    over: &'a Over,
    budget: &'a Budget,
    /// Modules that were looked for in the tree.
    local: RefCell<BTreeMap<String, bool>>,
    files: BTreeMap<String, Subject>,
    findings: Vec<Finding>,
    changes: Vec<Vec<Change>>,
}

/// The most anchors of an edit.
const MOST_ANCHORS: usize = 16;

type Refused = Vec<Finding>;

fn refused(finding: Finding) -> Refused {
    vec![finding]
}

impl Resolver<'_> {
    fn edit(&mut self, edit: &Edit) -> Result<(), Refused> {
        if self.budget.is_over() || self.budget.is_stopped() {
            return Err(refused(Finding::blocks("out_of_time", "there was no time left to look at it")));
        }
        let path = edit.filepath.as_str();
        path::admit(self.tree, path, self.consent).map_err(refused)?;
        let payload = &edit.payload;
        let texts = [&payload.code, &payload.import].into_iter().flatten().map(String::len).sum::<usize>();
        let size = texts + payload.set.iter().map(|setting| setting.value.to_string().len()).sum::<usize>();
        if edit.anchors.len() > MOST_ANCHORS {
            let says = format!("the edit has {} anchors; {MOST_ANCHORS} are the most", edit.anchors.len());
            return Err(refused(Finding::blocks("too_many_anchors", says)));
        }
        if size > LARGEST_PAYLOAD {
            let says = format!("the payload has {size} bytes; {LARGEST_PAYLOAD} are the most");
            return Err(refused(Finding::blocks("payload_too_large", says)));
        }
        if edit.strategy == Strategy::CreateFile {
            return self.create(edit);
        }
        self.load(path).map_err(|refused| with_anchors(refused, edit))?;
        if payload.import.is_none() && payload.code.is_none() && payload.set.is_empty() {
            let says = "the payload has neither `import` nor `code` nor `set`";
            return Err(refused(Finding::blocks("empty_payload", says)));
        }
        if let Some(import) = &payload.import {
            self.import(edit, import)?;
        }
        if !payload.set.is_empty() {
            self.set(edit)?;
        }
        if let Some(code) = &payload.code {
            self.code(edit, code)?;
        }
        Ok(())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.over.get(path) {
            Some((text, _)) => Ok(text.clone().into_bytes()),
            None => self.tree.read_plain(path, LARGEST_FILE),
        }
    }

    /// Reads a file that must be there.
    fn load(&mut self, path: &str) -> Result<(), Refused> {
        if let Some(known) = self.files.get(path) {
            let made = known.text.is_none();
            let says = format!("{path} is made by an earlier edit; put all of it there");
            return if made { Err(refused(Finding::blocks("edits_new_file", says))) } else { Ok(()) };
        }
        let bytes = match self.read(path) {
            Ok(bytes) => bytes,
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                let says = format!("file {} does not exist.", quoted(path));
                // The documented sentence is a warning; that it cannot be applied is another.
                return Err(vec![
                    Finding::warns("missing_file", says),
                    Finding::blocks(
                        "missing_file",
                        format!("{} cannot be edited: it does not exist", quoted(path)),
                    )
                    .fix("correct `filepath`, or use the strategy `create_file`"),
                ]);
            }
            Err(error) => {
                let says = format!("{} cannot be read: {error}", quoted(path));
                return Err(refused(Finding::blocks("unreadable_file", says)));
            }
        };
        let text = Text::of(bytes).ok_or_else(|| {
            let says = format!("{} is binary, not UTF-8, or has line ends of old Macs", quoted(path));
            refused(Finding::blocks("not_text", says).fix("edit it by hand"))
        })?;
        let known = self.over.get(path).and_then(|(_, outline)| outline.clone());
        let outline = match known {
            Some(outline) => Some(outline),
            None => outline::outline(path, &text.content).map_err(|broken| {
                let says = format!("{path} cannot be parsed as it is: {}", broken.reason);
                refused(Finding::blocks("broken_file", says).at(path, broken.line).fix("repair it first"))
            })?,
        };
        if is_generated(&text.content) {
            let says = format!("{path} says of itself that it is generated; the edit may be lost");
            self.findings.push(Finding::warns("generated_file", says));
        }
        let subject = Subject { text: Some(text), outline, changes: Vec::new(), imports: Vec::new() };
        self.files.insert(path.to_owned(), subject);
        Ok(())
    }

    fn create(&mut self, edit: &Edit) -> Result<(), Refused> {
        let path = edit.filepath.as_str();
        let Some(content) = &edit.payload.code else {
            let says = "the payload has no `code` to be the content of the file";
            return Err(refused(Finding::blocks("empty_payload", says)));
        };
        if self.files.contains_key(path) {
            let says = format!("{path} is the subject of an earlier edit");
            return Err(refused(Finding::blocks("overlap", says)));
        }
        match self.read(path) {
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(bytes) if bytes == content.as_bytes() => {
                self.findings
                    .push(Finding::warns("already_applied", format!("{path} is there already, just so")));
                return Ok(());
            }
            _ => {
                let says = format!("{} exists already, and is different", quoted(path));
                return Err(refused(
                    Finding::blocks("file_exists", says)
                        .fix("choose another name, or edit the file that is there"),
                ));
            }
        }
        let subject = Subject { text: None, outline: None, changes: Vec::new(), imports: Vec::new() };
        self.files.insert(path.to_owned(), subject);
        self.add(path, Change { new_text: content.clone(), ..Change::default() });
        Ok(())
    }

    fn subject(&self, path: &str) -> Result<(&Subject, &Text), Refused> {
        let subject = self.files.get(path);
        let found = subject.and_then(|subject| Some((subject, subject.text.as_ref()?)));
        found
            .ok_or_else(|| refused(Finding::blocks("missing_file", format!("{} was not read", quoted(path)))))
    }

    fn add(&mut self, path: &str, change: Change) {
        let at = self.changes.len() - 1;
        self.changes[at].push(change.clone());
        if let Some(subject) = self.files.get_mut(path) {
            subject.changes.push((at, change));
        }
    }

    fn import(&mut self, edit: &Edit, statement: &str) -> Result<(), Refused> {
        let path = edit.filepath.as_str();
        let (subject, text) = self.subject(path)?;
        let Some(outline) = &subject.outline else {
            let says = format!("nobody here knows where imports go in {path}");
            return Err(refused(Finding::blocks("no_parser", says).fix("use an anchor and `code` instead")));
        };
        let words = statement.split_whitespace().collect::<Vec<_>>().join(" ");
        if subject.imports.contains(&words) {
            return Ok(());
        }
        let is_local = |module: &str| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            *self
                .local
                .borrow_mut()
                .entry(format!("{folder}:{module}"))
                .or_insert_with(|| is_local(self.tree, path, module))
        };
        let target =
            Target { path, text, outline, is_local: &is_local, before: used_at(edit, text, outline) };
        match imports::place(&target, statement).map_err(refused)? {
            Placed::Present => {
                let says = format!("import {} already present in {path}", quoted(statement));
                self.findings.push(Finding::warns("already_present", says));
            }
            Placed::At(change) => {
                self.add(path, change);
                if let Some(subject) = self.files.get_mut(path) {
                    subject.imports.push(words);
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, edit: &Edit) -> Result<(), Refused> {
        let path = edit.filepath.as_str();
        let (subject, text) = self.subject(path)?;
        if !subject.changes.is_empty() {
            let says = format!("{path} is changed by another edit; put all its values in one `set`");
            return Err(refused(Finding::blocks("overlap", says)));
        }
        let new = config::set(path, &text.content, &edit.payload.set).map_err(|reason| {
            refused(Finding::blocks("bad_setting", format!("{path} cannot be changed: {reason}")))
        })?;
        if let Some(change) = text.difference(&new) {
            self.add(path, change);
        } else {
            let says = format!("the values are set already in {path}");
            self.findings.push(Finding::warns("already_present", says));
        }
        Ok(())
    }

    fn code(&mut self, edit: &Edit, code: &str) -> Result<(), Refused> {
        let path = edit.filepath.as_str();
        let (subject, text) = self.subject(path)?;
        let decorates =
            language::of(path) == Some(Language::Python) && outline::only_decorators(code).is_some();
        if !decorates && is_present(text, subject.outline.as_ref(), code, edit) {
            let says = format!("the code is already present in {path}");
            self.findings.push(Finding::warns("already_present", says));
            return Ok(());
        }
        let outline = subject.outline.as_ref();
        let spots = match edit.payload.location {
            Some(Location::TopOfFile) => vec![Spot::Before(outline.map_or(text.start(), |o| o.head))],
            Some(Location::EndOfFile) => vec![Spot::End],
            Some(Location::AfterImports) => vec![after_imports(text, outline)],
            _ => anchored(edit, code, text, outline)?,
        };
        let mut changes = Vec::new();
        let mut known: Vec<Spot> = Vec::new();
        for spot in spots {
            if known.contains(&spot) {
                continue;
            }
            changes.extend(spot.change(path, text, code).map_err(refused)?);
            known.push(spot);
        }
        for change in changes {
            self.add(path, change);
        }
        Ok(())
    }

    fn finish(mut self, mut edits: Vec<Edit>) -> Resolution {
        let (mut files, mut outlines) = (Vec::new(), BTreeMap::new());
        let subjects = std::mem::take(&mut self.files);
        self.findings.extend(nested(&subjects));
        for (at, (edit, changes)) in edits.iter_mut().zip(self.changes).enumerate() {
            let claimed = std::mem::replace(&mut edit.changes, changes);
            let text = subjects.get(&edit.filepath).and_then(|subject| subject.text.as_ref());
            self.findings.extend(false_claim(edit, &claimed, text).map(|finding| finding.of(at)));
        }
        for (path, mut subject) in subjects {
            subject.changes.sort_by_key(|(edit, change)| (change.start, change.end, *edit));
            let overlaps = subject.changes.windows(2).find(|pair| {
                let ((_, a), (_, b)) = (&pair[0], &pair[1]);
                a.end > b.start || a.start == b.start && a.end > a.start
            });
            if let Some(pair) = overlaps {
                let says = format!("it touches the same place in {path} as edit #{}", pair[0].0);
                let line = subject.text.as_ref().map_or(1, |text| text.line(pair[1].1.start));
                let finding = Finding::blocks("overlap", says).at(&path, line).of(pair[1].0);
                self.findings.push(finding.fix("make one edit of both"));
                continue;
            }
            if subject.changes.is_empty() {
                continue;
            }
            let resolved = resolved(&path, &subject);
            let at = subject.changes[0].0;
            let (finding, after) = judged(&path, &subject, &resolved.new);
            self.findings.extend(finding.map(|finding| finding.of(at)));
            outlines.extend(after.map(|after| (path.clone(), after)));
            let keys = manifest::judge(&path, resolved.old.as_deref(), &resolved.new, self.consent);
            self.findings.extend(keys.into_iter().map(|finding| finding.of(at)));
            files.push(resolved);
        }
        self.findings.sort_by_key(|finding| (finding.edit, finding.severity));
        Resolution { edits, files, findings: self.findings, outlines }
    }
}

/// Whether the result has the form that its name promises, and all that was there before; and where things stand in it.
fn judged(path: &str, subject: &Subject, new: &str) -> (Option<Finding>, Option<Outline>) {
    let breaks = |broken: outline::Broken| {
        let says = format!("{path} could not be parsed after the edit: {}", broken.reason);
        Finding::blocks("breaks_file", says).at(path, broken.line).fix("correct the code or the anchor")
    };
    match outline::outline(path, new) {
        Err(broken) => (Some(breaks(broken)), None),
        Ok(Some(after)) => {
            let lost = match (&subject.text, &subject.outline) {
                (Some(text), Some(outline)) => {
                    lost_statement(path, text, outline, &subject.changes, new, &after)
                }
                _ => None,
            };
            (lost, Some(after))
        }
        Ok(None) => {
            let unknown = || {
                let says =
                    format!("{path} is in a language that is not parsed here: look at the diff closely");
                is_source(path).then(|| Finding::warns("not_parsed", says))
            };
            (outline::well_formed(path, new).map_or_else(unknown, |formed| formed.err().map(breaks)), None)
        }
    }
}

/// One path cannot be a file and the folder of another.
fn nested(subjects: &BTreeMap<String, Subject>) -> Option<Finding> {
    let under = |path: &String, other: &String| {
        other.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let pair =
        subjects.keys().find_map(|path| Some((path, subjects.keys().find(|other| under(path, other))?)))?;
    let says = format!("the plan wants {} to be a file and the folder of {}", quoted(pair.0), quoted(pair.1));
    Some(Finding::blocks("overlap", says))
}

/// In a file that is not there no anchor is found either; the documents say so for each.
fn with_anchors(mut refused: Refused, edit: &Edit) -> Refused {
    if refused.iter().any(|finding| finding.code == "missing_file") {
        let named = edit.anchors.iter().filter(|anchor| anchor.kind != AnchorKind::AppendFile);
        refused.extend(named.map(|anchor| {
            let says = format!("anchor pattern {} not found in {}", quoted(&anchor.pattern), edit.filepath);
            Finding::warns("anchor_not_found", says)
        }));
    }
    refused
}

fn resolved(path: &str, subject: &Subject) -> Resolved {
    let old = subject.text.as_ref().map(|text| text.content.clone());
    // They were made for this text.
    let changes = subject.changes.iter().map(|(_, change)| change);
    let new = patched(old.as_deref().unwrap_or_default(), changes).unwrap_or_default();
    let change = FileChange {
        path: path.to_owned(),
        before: subject.text.as_ref().map(Text::before),
        sha256: sha256(new.as_bytes()),
        size: new.len(),
        diff: unified(path, old.as_deref(), Some(&new)),
    };
    Resolved { change, old, new }
}

fn is_generated(content: &str) -> bool {
    let mut end = content.len().min(1024);
    while !content.is_char_boundary(end) {
        end -= 1;
    }
    let head = &content[..end];
    head.contains("@generated") || head.to_lowercase().contains("do not edit")
}

fn is_source(path: &str) -> bool {
    language::of(path).is_some_and(Language::is_programming)
}
