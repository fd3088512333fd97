//! From evidence to frameworks.

use std::collections::{BTreeMap, BTreeSet};

use crate::entry;
use crate::look::Looks;
use crate::manifest::{Dependency, Manifest, Scope, join, name_of};
use crate::place;
use crate::profile::{Anchor, Evidence, Framework};
use crate::project::Project;
use crate::rules::{self, RULES, Rule, RuleId};
use crate::source;
use crate::survey::{FileFact, ecosystem_of};

/// A kind of evidence, and how much one of its kind alone says. Kinds are independent, so what each leaves in doubt is
/// multiplied: declared and imported leave 0.25 × 0.35, and the rest is confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Declared,
    DeclaredAside,
    Imported,
    Made,
    Configured,
}

impl Kind {
    fn weight(self) -> f64 {
        match self {
            Self::Declared => 0.75,
            Self::DeclaredAside => 0.4,
            Self::Imported | Self::Made => 0.65,
            Self::Configured => 0.6,
        }
    }
}

/// What is found in examples, documentation and tests says less about the product.
const ASIDE: f64 = 0.6;
/// From here on a framework is a candidate.
pub(crate) const CANDIDATE: f64 = 0.5;
/// How many files are looked at for one framework in one project.
const FILES_EACH: usize = 8;
/// How many are looked at in one project when nothing is known about their contents.
const FILES_BLIND: usize = 10;
const PROJECTS_BLIND: usize = 60;

/// What a project declares of a rule.
type Declared<'a> = BTreeMap<RuleId, (&'a Manifest, &'a Dependency)>;

/// Which files of each project have to be looked at.
pub(crate) fn candidates<'a>(looks: &Looks<'a>, files: &[Vec<&'a FileFact>]) -> Vec<&'a str> {
    let mut chosen = Vec::new();
    for (at, own) in files.iter().enumerate() {
        let declares = at < looks.projects.all.len() && !declared(&looks.projects.all[at]).is_empty();
        let mut ranked: Vec<&FileFact> = own
            .iter()
            .copied()
            .filter(|file| file.language.is_some() && !place::is_test(&file.path))
            .collect();
        ranked.sort_by_cached_key(|file| (place::rank(&file.path), file.path.clone()));
        let blind = ranked.iter().filter(|file| file.hits.is_none() && file.lines.is_none());
        if declares && at < PROJECTS_BLIND {
            let readable = blind.filter(|file| file.language.and_then(ecosystem_of).is_some());
            chosen.extend(readable.take(FILES_BLIND).map(|file| file.path.as_str()));
        }
        for id in 0..RULES.len() {
            let mentioning = ranked.iter().filter(|file| file.hits.is_some_and(|hits| hits.mentions(id)));
            chosen.extend(mentioning.take(FILES_EACH).map(|file| file.path.as_str()));
        }
    }
    chosen
}

fn declared(project: &Project) -> Declared<'_> {
    let mut found: Declared<'_> = BTreeMap::new();
    for (manifest, dependency) in project.dependencies() {
        let Some(rule) = rules::of_package(manifest.ecosystem, &dependency.name) else { continue };
        let better = found.get(&rule).is_none_or(|(_, known)| sorts_before(rule, dependency, known));
        if better {
            found.insert(rule, (manifest, dependency));
        }
    }
    found
}

/// The dependency that says most about a framework: one for the program, and the package of its own name.
fn sorts_before(rule: RuleId, one: &Dependency, other: &Dependency) -> bool {
    let key = |d: &Dependency| (d.scope, d.name != RULES[rule].name, d.requirement.is_none(), d.name.len());
    key(one) < key(other)
}

/// The frameworks and model libraries of one project. `files` are its own files.
pub(crate) fn of_project(
    looks: &Looks<'_>,
    project: Option<&Project>,
    files: &[&FileFact],
) -> Vec<Framework> {
    let declared = project.map(declared).unwrap_or_default();
    let folder = project.map_or("", |project| project.folder.as_str());
    let mut found = BTreeMap::new();
    for id in 0..RULES.len() {
        let evidence = Gathered::of(looks, id, project, declared.get(&id).copied(), files);
        if let Some(framework) = evidence.framework(looks, project, folder, declared.get(&id).copied()) {
            found.insert(id, framework);
        }
    }
    supersede(&mut found);
    found.into_values().collect()
}

/// Takes away what lies beneath a framework that was found, unless it is the surer of the two by far.
fn supersede(found: &mut BTreeMap<RuleId, Framework>) {
    let sure: BTreeSet<&str> = found
        .iter()
        .filter(|(_, framework)| framework.confidence >= CANDIDATE)
        .flat_map(|(id, _)| RULES[*id].over.iter().copied())
        .collect();
    found.retain(|id, _| !sure.contains(RULES[*id].name));
}

/// The evidence for one rule in one project.
struct Gathered {
    rule: RuleId,
    kinds: BTreeMap<Kind, Evidence>,
    anchors: Vec<Anchor>,
}

impl Gathered {
    fn of(
        looks: &Looks<'_>,
        id: RuleId,
        project: Option<&Project>,
        declared: Option<(&Manifest, &Dependency)>,
        files: &[&FileFact],
    ) -> Self {
        let rule = &RULES[id];
        let mut gathered = Self { rule: id, kinds: BTreeMap::new(), anchors: Vec::new() };
        if let Some((manifest, dependency)) = declared {
            let kind = match dependency.scope {
                Scope::Main => Kind::Declared,
                Scope::Dev if rule.builds => Kind::Declared,
                Scope::Dev | Scope::Optional => Kind::DeclaredAside,
            };
            let requirement =
                dependency.requirement.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
            let aside = if kind == Kind::DeclaredAside { " for development or as an extra" } else { "" };
            let fact = format!("declares {}{requirement}{aside}", dependency.name);
            gathered.kinds.insert(kind, Evidence::new(&manifest.path, dependency.line, fact));
        }
        gathered.look(looks, files);
        if let Some(project) = project {
            gathered.configured(looks, rule, project);
        }
        gathered
    }

    fn look(&mut self, looks: &Looks<'_>, files: &[&FileFact]) {
        let mut ranked: Vec<&str> = files
            .iter()
            .map(|file| file.path.as_str())
            .filter(|path| !place::is_test(path) && looks.get(path).is_some())
            .collect();
        ranked.sort_by_cached_key(|path| (place::rank(path), (*path).to_owned()));
        for path in ranked {
            let Some(seen) = looks.get(path) else { continue };
            if let Some(import) = seen.imports.iter().find(|mention| mention.rule == self.rule) {
                let evidence = Evidence::new(path, import.line, import.what.clone());
                self.kinds.entry(Kind::Imported).or_insert(evidence);
            }
            for made in seen.makers.iter().filter(|mention| mention.rule == self.rule) {
                let evidence = Evidence::new(path, made.line, format!("calls {}(…)", made.what));
                self.kinds.entry(Kind::Made).or_insert(evidence);
                self.anchors.extend(anchor(looks, path, &made.what, made.line));
            }
        }
    }

    /// Files that only users of this framework have, and its layout of folders.
    fn configured(&mut self, looks: &Looks<'_>, rule: &Rule, project: &Project) {
        if !project.ecosystems().contains(&rule.ecosystem) {
            return;
        }
        let file = rule.files.iter().find_map(|pattern| find(looks, &project.folder, pattern));
        let evidence = match file {
            Some(path) => {
                Some(Evidence::new(&path, 1, format!("{} is a file of {}", name_of(&path), rule.title)))
            }
            None => entry::layout(looks.survey, &project.folder, rule.name)
                .map(|path| Evidence::new(&path, 1, format!("{} calls files at this place", rule.title))),
        };
        self.kinds.extend(evidence.map(|evidence| (Kind::Configured, evidence)));
        if self.anchors.is_empty() {
            let place = entry::layout(looks.survey, &project.folder, rule.name);
            self.anchors.extend(place.and_then(|path| anchor(looks, &path, "export", 1)));
        }
    }

    fn framework(
        self,
        looks: &Looks<'_>,
        project: Option<&Project>,
        folder: &str,
        declared: Option<(&Manifest, &Dependency)>,
    ) -> Option<Framework> {
        let rule = &RULES[self.rule];
        // A file alone may belong to anything; a program that uses a framework declares or imports it.
        if self.kinds.is_empty() || self.kinds.keys().all(|kind| *kind == Kind::Configured) {
            return None;
        }
        let doubt: f64 = self.kinds.keys().map(|kind| 1.0 - kind.weight()).product();
        let aside = if place::is_aside(&format!("{folder}/x")) { ASIDE } else { 1.0 };
        let version = project.zip(declared).and_then(|(project, declared)| {
            looks.projects.version(looks.tree, looks.survey, project, declared)
        });
        let mut evidence: Vec<_> = self.kinds.into_values().collect();
        let (version, locked) = version.unzip();
        evidence.extend(locked.filter(|locked| !evidence.iter().any(|known| known.path == locked.path)));
        Some(Framework {
            name: rule.name,
            title: rule.title,
            role: rule.role,
            confidence: ((1.0 - doubt) * aside * 100.0).round().min(99.0) / 100.0,
            version,
            project: folder.to_owned(),
            evidence,
            anchors: self.anchors,
        })
    }
}

/// A file beneath a folder that a pattern such as `next.config.*` names.
fn find(looks: &Looks<'_>, folder: &str, pattern: &str) -> Option<String> {
    let path = join(folder, pattern.trim_end_matches('*'));
    match pattern.strip_suffix('*') {
        None => looks.survey.has(&path).then_some(path),
        Some(_) => ["js", "ts", "mjs", "cjs", "mts", "cts"]
            .iter()
            .map(|ending| format!("{path}{ending}"))
            .find(|path| looks.survey.has(path)),
    }
}

/// A pattern that matches the call, tried on the file before it is offered.
fn anchor(looks: &Looks<'_>, path: &str, what: &str, line: u32) -> Option<Anchor> {
    let text = looks.tree.read(path, source::LARGEST as u64).ok()?;
    let text = String::from_utf8_lossy(&text);
    let escaped = regex::escape(what);
    let patterns = [format!("{escaped}\\("), format!("{escaped}\\s*(<.*>)?\\("), format!("\\b{escaped}\\b")];
    patterns.into_iter().find_map(|pattern| {
        let matched = regex::Regex::new(&pattern).ok()?.find(&text)?;
        let line = if line > 1 { line } else { source::Lines::new(&text).at(matched.start()) };
        Some(Anchor { path: path.to_owned(), pattern, line })
    })
}

/// The frameworks of the whole tree: each once, from the project where it is surest.
pub(crate) fn of_tree(projects: &[Vec<Framework>]) -> Vec<Framework> {
    let mut best: BTreeMap<&str, Framework> = BTreeMap::new();
    for framework in projects.iter().flatten() {
        match best.get_mut(framework.name) {
            Some(known) if known.confidence >= framework.confidence => {
                known.anchors.extend(framework.anchors.iter().cloned());
                known.version = known.version.take().or_else(|| framework.version.clone());
            }
            Some(known) => {
                let anchors = std::mem::replace(known, framework.clone()).anchors;
                known.anchors.extend(anchors);
            }
            None => _ = best.insert(framework.name, framework.clone()),
        }
    }
    let mut all: Vec<_> = best.into_values().collect();
    all.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.name.cmp(b.name)));
    all
}
