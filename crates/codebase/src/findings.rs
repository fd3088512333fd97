//! From evidence to frameworks.

use std::collections::{BTreeMap, BTreeSet};

use crate::confidence::{Kind, Place, Standing, confidence};
use crate::entry;
use crate::language::Language;
use crate::look::Looks;
use crate::manifest::{Dependency, Manifest, Scope, join, name_of};
use crate::place;
use crate::profile::{Anchor, Evidence, Framework};
use crate::project::Project;
use crate::repository_text::NameKind;
use crate::rules::{self, RULES, Rule, RuleId};
use crate::source;
use crate::survey::FileFact;

/// From here on a framework is a candidate.
pub const CANDIDATE: f64 = 0.5;
/// How many files are looked at for one framework in one project.
const FILES_EACH: usize = 8;
/// How many are looked at in one project when nothing is known about their contents, and in how many projects for one
/// framework.
const FILES_BLIND: usize = 10;
const PROOFS: usize = 20;
/// How many places to insert are offered for one framework in one project.
const ANCHORS: usize = 5;

/// What a project declares of a rule.
type Declared<'a> = BTreeMap<RuleId, (&'a Manifest, &'a Dependency)>;

/// Which files of each project have to be looked at.
pub(crate) fn candidates<'a>(looks: &Looks<'a>, files: &[Vec<&'a FileFact>]) -> Vec<&'a str> {
    let mut chosen = Vec::new();
    let mut proofs: BTreeMap<RuleId, usize> = BTreeMap::new();
    let mut order: Vec<usize> = (0..files.len()).collect();
    let is_aside =
        |at: usize| looks.projects.all.get(at).is_some_and(|project| place::is_aside(&project.folder));
    order.sort_by_key(|at| is_aside(*at));
    for at in order {
        let own = &files[at];
        let most = looks.projects.all.get(at).map_or(FILES_BLIND, |project| worth(project, &mut proofs));
        if most == 0 && own.iter().all(|file| file.hits.is_none()) {
            continue;
        }
        let mut ranked: Vec<&FileFact> = own
            .iter()
            .copied()
            .filter(|file| file.language.is_some() && !place::is_test(&file.path))
            .collect();
        // Files come sorted by path, and stay so within a rank.
        ranked.sort_by_cached_key(|file| place::rank(&file.path));
        // Where only names are known, the likeliest files have to do.
        let blind = ranked.iter().filter(|file| file.hits.is_none() && file.lines.is_none());
        let readable = blind.filter(|file| file.language.and_then(Language::ecosystem).is_some());
        chosen.extend(readable.take(most).map(|file| file.path.as_str()));
        for id in 0..RULES.len() {
            let mentioning = ranked.iter().filter(|file| file.hits.is_some_and(|hits| hits.mentions(id)));
            chosen.extend(mentioning.take(FILES_EACH).map(|file| file.path.as_str()));
        }
    }
    chosen
}

/// How many files of a project are worth a look when nothing is known about their contents: many while what it declares
/// still wants proof, one where it declares nothing that is known.
fn worth(project: &Project, proofs: &mut BTreeMap<RuleId, usize>) -> usize {
    let declared = declared(project);
    if declared.is_empty() {
        return 1;
    }
    let wants_proof = declared.keys().any(|id| proofs.get(id).is_none_or(|found| *found < PROOFS));
    for id in declared.keys() {
        *proofs.entry(*id).or_default() += 1;
    }
    if wants_proof { FILES_BLIND } else { 0 }
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

/// The dependency that says most about a framework: one for the program, and the package that carries its version.
fn sorts_before(rule: RuleId, one: &Dependency, other: &Dependency) -> bool {
    let key = |d: &Dependency| (d.scope, RULES[rule].place_of(&d.name), d.name.len());
    key(one) < key(other)
}

/// The frameworks and model libraries of one project. `files` are its own files.
pub(crate) fn of_project(
    looks: &Looks<'_>,
    project: Option<&Project>,
    files: &[&FileFact],
) -> Vec<Framework> {
    let mut declared = project.map(declared).unwrap_or_default();
    let mut gathered: BTreeMap<RuleId, Gathered> =
        declared.keys().map(|id| (*id, Gathered::default())).collect();
    look(looks, project, files, &mut gathered);
    if let Some(project) = project {
        inherit(looks, project, &gathered, &mut declared);
    }
    let mut found = BTreeMap::new();
    for (id, mut evidence) in gathered {
        if let Some((manifest, dependency)) = declared.get(&id) {
            evidence.declared(looks, manifest, dependency);
        }
        if let Some(project) = project {
            evidence.configured(looks, &RULES[id], project, files);
        }
        found.insert(id, evidence.framework(looks, id, project, declared.get(&id).copied()));
    }
    supersede(&mut found);
    found.into_values().collect()
}

/// What a project uses without declaring it, a project around it may declare: the root of a workspace.
fn inherit<'l>(
    looks: &'l Looks<'_>,
    project: &Project,
    gathered: &BTreeMap<RuleId, Gathered>,
    known: &mut Declared<'l>,
) {
    for outer in looks.projects.around(&project.folder).skip(1) {
        for (id, found) in declared(&looks.projects.all[outer]) {
            if gathered.contains_key(&id) {
                known.entry(id).or_insert(found);
            }
        }
    }
}

/// What the files that were looked at import and make, the likeliest file first.
fn look(
    looks: &Looks<'_>,
    project: Option<&Project>,
    files: &[&FileFact],
    gathered: &mut BTreeMap<RuleId, Gathered>,
) {
    let folder = project.map_or("", |project| project.folder.as_str());
    let paths = files.iter().map(|file| file.path.as_str());
    let mut seen: Vec<_> = paths.filter_map(|path| Some((path, looks.get(path)?))).collect();
    seen.retain(|(path, _)| !place::is_test(path));
    seen.sort_by_cached_key(|(path, _)| place::rank(path));
    for (path, seen) in seen {
        // Seen from its own project: everything in `examples/shop` is the shop's product.
        let is_aside = place::is_aside(path.strip_prefix(folder).unwrap_or(path));
        let kind = |kind: Kind| if is_aside { Kind::UsedAside } else { kind };
        for import in &seen.imports {
            let evidence = || Evidence::new(path, import.line, import.what.clone());
            gathered
                .entry(import.rule)
                .or_default()
                .kinds
                .entry(kind(Kind::Imported))
                .or_insert_with(evidence);
        }
        for made in &seen.makers {
            let evidence = || {
                let what = looks.texts.name(NameKind::Identifier, &made.what, path, made.line);
                Evidence::new(path, made.line, format!("calls {what}(…)"))
            };
            let entry = gathered.entry(made.rule).or_default();
            entry.kinds.entry(kind(Kind::Made)).or_insert_with(evidence);
            entry.tried += 1;
            if entry.tried <= ANCHORS {
                entry.anchors.extend(anchor(looks, path, &made.what, made.line));
            }
        }
    }
}

/// Takes away what lies beneath a framework that was found.
fn supersede(found: &mut BTreeMap<RuleId, Framework>) {
    let sure: BTreeSet<&str> = found
        .iter()
        .filter(|(_, framework)| framework.confidence >= CANDIDATE)
        .flat_map(|(id, _)| RULES[*id].over.iter().copied())
        .collect();
    found.retain(|id, _| !sure.contains(RULES[*id].name));
}

/// The evidence for one rule in one project.
#[derive(Default)]
struct Gathered {
    kinds: BTreeMap<Kind, Evidence>,
    anchors: Vec<Anchor>,
    /// How many places were tried for them.
    tried: usize,
}

impl Gathered {
    fn declared(&mut self, looks: &Looks<'_>, manifest: &Manifest, dependency: &Dependency) {
        let requirement = dependency.requirement.as_deref().filter(|text| is_range(text));
        let requirement = requirement.map(|text| format!(" {text}")).unwrap_or_default();
        let scope = match dependency.scope {
            Scope::Main => "",
            Scope::Optional => " as an extra",
            Scope::Dev => " for development",
        };
        let name = looks.texts.name(NameKind::Package, &dependency.name, &manifest.path, dependency.line);
        let fact = format!("declares {name}{requirement}{scope}");
        self.kinds.insert(Kind::Declared, Evidence::new(&manifest.path, dependency.line, fact));
    }

    /// Files that only users of this framework have, and its layout of folders. They confirm, and prove nothing alone:
    /// a file of that name may belong to anything.
    fn configured(&mut self, looks: &Looks<'_>, rule: &Rule, project: &Project, files: &[&FileFact]) {
        let file = rule.files.iter().find_map(|pattern| find(looks, &project.folder, pattern));
        let place = entry::layout(files, &project.folder, rule.name);
        let evidence = match (&file, place) {
            (Some(path), _) => {
                Some(Evidence::new(path, 1, format!("{} is a file of {}", name_of(path), rule.title)))
            }
            (None, Some(path)) => {
                Some(Evidence::new(path, 1, format!("{} calls files at this place", rule.title)))
            }
            (None, None) => None,
        };
        self.kinds.extend(evidence.map(|evidence| (Kind::Configured, evidence)));
        if self.anchors.is_empty() {
            self.anchors.extend(place.and_then(|path| {
                anchor(looks, path, "export default", 1).or_else(|| anchor(looks, path, "export", 1))
            }));
        }
    }

    fn framework(
        self,
        looks: &Looks<'_>,
        id: RuleId,
        project: Option<&Project>,
        declared: Option<(&Manifest, &Dependency)>,
    ) -> Framework {
        let rule = &RULES[id];
        let folder = project.map_or("", |project| project.folder.as_str());
        let standing = match declared.map(|(_, dependency)| dependency.scope) {
            Some(Scope::Main) => Standing::Needed,
            Some(Scope::Dev) if rule.builds => Standing::Needed,
            Some(Scope::Dev) => Standing::Development,
            Some(Scope::Optional) => Standing::Optional,
            None if project.is_some_and(|project| project.ecosystems().contains(&rule.ecosystem)) => {
                Standing::Unlisted
            }
            None => Standing::NoManifest,
        };
        let place = match format!("{folder}/x") {
            inside if place::is_test(&inside) => Place::Test,
            inside if place::is_aside(&inside) => Place::Example,
            _ => Place::Product,
        };
        let confidence = confidence(&self.kinds.keys().copied().collect(), standing, place);
        let version =
            project.zip(declared).and_then(|(project, declared)| version(looks, rule, project, declared));
        let mut evidence: Vec<_> = self.kinds.into_values().collect();
        let (version, locked) = version.unzip();
        evidence.extend(locked.filter(|locked| !evidence.iter().any(|known| known.path == locked.path)));
        Framework {
            name: rule.name,
            title: rule.title,
            role: rule.role,
            ecosystem: rule.ecosystem,
            confidence,
            version,
            project: folder.to_owned(),
            evidence,
            anchors: self.anchors,
        }
    }
}

/// Whether this says which versions would do, and nothing else: addresses may hold passwords, and a line that was never
/// meant as a requirement may be anything.
fn is_range(text: &str) -> bool {
    let words = ["workspace:", "catalog:", "latest", "next"];
    let begins = text.trim_start_matches(['=', '<', '>', '~', '^', '!', ' ', 'v', '(', '[']);
    text.len() <= 40
        && NameKind::Version.is_plain(text)
        && (begins.starts_with(|c: char| c.is_ascii_digit() || c == '*')
            || words.iter().any(|w| begins.starts_with(w)))
}

/// The version of the package that carries it; where all packages have one version, of any.
fn version(
    looks: &Looks<'_>,
    rule: &Rule,
    project: &Project,
    (manifest, dependency): (&Manifest, &Dependency),
) -> Option<(String, Evidence)> {
    let find = |(manifest, dependency)| looks.projects.version(looks, project, (manifest, dependency));
    let is_of_rule = |(manifest, dependency): &(&Manifest, &Dependency)| {
        let of = rules::of_package(manifest.ecosystem, &dependency.name);
        rule.is_train() && of.is_some_and(|id| std::ptr::eq(&raw const RULES[id], rule))
    };
    find((manifest, dependency)).or_else(|| project.dependencies().filter(is_of_rule).take(20).find_map(find))
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
    let text = looks.read(path, source::LARGEST as u64)?;
    let text = String::from_utf8_lossy(&text);
    let escaped = regex::escape(what);
    // As it is mostly written; with type arguments or spaces before the bracket; and wherever the word stands.
    let plain = text.find(&format!("{what}(")).map(|at| (format!("{escaped}\\("), at));
    let (pattern, at) = plain.or_else(|| {
        [format!("{escaped}\\s*(<.*>)?\\("), format!("\\b{escaped}\\b")].into_iter().find_map(|pattern| {
            let at = regex::Regex::new(&pattern).ok()?.find(&text)?.start();
            Some((pattern, at))
        })
    })?;
    let line = if line > 1 { line } else { source::Lines::new(&text).at(at) };
    Some(Anchor { path: path.to_owned(), pattern, line })
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
