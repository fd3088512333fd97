//! Selects the package to integrate, its framework, and the name of its FluxLoop project.

use codebase::language::{self, Language};
use codebase::{Ecosystem, Framework, MIN_CANDIDATE_CONFIDENCE, NameKind, Profile, ProjectProfile};

use crate::integrate::{IntegrationOptions, UnknownPackage};
use crate::layout::FluxloopLayout;
use crate::recipe::{Recipe, find_recipe, plain_python};

/// Package names with more words than this are taken for sentences, not names.
const MAX_SCENARIO_WORDS: usize = 3;

/// The package to integrate, with notes about others that would fit.
pub(crate) fn select_package(
    profile: &Profile,
    recipe: &Recipe,
    options: &IntegrationOptions,
) -> Result<(String, Vec<String>), UnknownPackage> {
    if let Some(wanted) = &options.package {
        return Ok((resolve_package_folder(profile, wanted)?, Vec::new()));
    }
    if let Some((path, _)) = options.agent.as_ref().and_then(|agent| agent.split_once(':')) {
        return Ok((owning_package(profile, path), Vec::new()));
    }
    let with_agents = |folder: &str| {
        let own = |path: &str| {
            owning_package(profile, path) == folder
                && is_python_file(path) == (recipe.ecosystem == Ecosystem::Python)
        };
        profile.agents.iter().any(|agent| own(&agent.path))
    };
    let uses = |project: &&ProjectProfile| project.frameworks.contains(&recipe.name);
    let mut fitting: Vec<&ProjectProfile> = profile.projects.iter().filter(uses).collect();
    let is_used = !fitting.is_empty();
    if !is_used {
        fitting = profile.projects.iter().filter(|project| with_agents(&project.folder)).collect();
    }
    fitting.sort_by_key(|project| (project.is_example_or_test, !with_agents(&project.folder)));
    let Some((first, others)) = fitting.split_first() else { return Ok((String::new(), Vec::new())) };
    let others: Vec<&str> = others
        .iter()
        .filter(|project| !project.is_example_or_test)
        .map(|project| project.folder.as_str())
        .take(8)
        .collect();
    let notes = if others.is_empty() || !is_used {
        Vec::new()
    } else {
        let shown = |folder: &str| profile.redactor.folder(folder).into_owned();
        vec![format!(
            "This plan is for `{}`. {} is also used in {}; pass `package` to plan for one of them.",
            shown(&first.folder),
            recipe.title,
            others.iter().map(|folder| shown(folder)).collect::<Vec<_>>().join(", ")
        )]
    };
    Ok((first.folder.clone(), notes))
}

/// Resolves a package given by folder or name. The root is always valid: programs without a manifest are
/// there.
pub(crate) fn resolve_package_folder(profile: &Profile, wanted: &str) -> Result<String, UnknownPackage> {
    let plain = normalize_package_name(wanted);
    match find_package(profile, wanted) {
        Some(project) => Ok(project.folder.clone()),
        None if plain.is_empty() => Ok(String::new()),
        None => {
            let known =
                profile.projects.iter().take(20).map(|project| profile.redactor.folder(&project.folder));
            let known = known.map(std::borrow::Cow::into_owned).collect();
            Err(UnknownPackage { package: profile.redactor.folder(plain).into_owned(), known })
        }
    }
}

/// Strips the `./` and `/` that shell completion adds.
fn normalize_package_name(wanted: &str) -> &str {
    let plain = wanted.trim_start_matches("./").trim_end_matches('/');
    if plain == "." { "" } else { plain }
}

/// Finds a package by its folder or name.
fn find_package<'p>(profile: &'p Profile, wanted: &str) -> Option<&'p ProjectProfile> {
    let plain = normalize_package_name(wanted);
    let by_name =
        |project: &&ProjectProfile| project.folder == plain || project.name.as_deref() == Some(plain);
    // Messages show unsafe folder names as a stand-in, so accept the stand-in as an argument too.
    let by_stand_in = |project: &&ProjectProfile| {
        wanted.starts_with('(') && profile.redactor.folder(&project.folder) == wanted
    };
    profile.projects.iter().find(by_name).or_else(|| profile.projects.iter().find(by_stand_in))
}

/// The recipe that fits the repository best, given the package and agent if the caller named them.
pub fn likely_recipe(
    profile: &Profile,
    package: Option<&str>,
    agent: Option<&str>,
) -> Option<&'static Recipe> {
    let project = package.and_then(|package| find_package(profile, package));
    let agent = agent.and_then(|agent| agent.split_once(':')).map(|(path, _)| path);
    if agent.is_some_and(is_python_file) {
        let own =
            profile.frameworks.iter().filter(|one| agent.is_some_and(|path| path.starts_with(&one.project)));
        let mut recipes =
            own.filter_map(|one| find_recipe(one.name).filter(|recipe| recipe.ecosystem == one.ecosystem));
        return recipes.find(|recipe| recipe.ecosystem == Ecosystem::Python).or_else(plain_python);
    }
    let wanted = |one: &&Framework| {
        package.is_none()
            || project.is_some_and(|project| {
                one.project == project.folder || project.frameworks.contains(&one.name)
            })
    };
    // How much of a framework's program leads to a model: a small one beside it, such as a page, has less.
    let weight = |one: &Framework| {
        let folder = &one.project;
        let is_own = |path: &str| {
            (folder.is_empty() || path.starts_with(&format!("{folder}/")))
                && is_python_file(path) == (one.ecosystem == Ecosystem::Python)
        };
        let agents = profile.agents.iter().filter(|agent| is_own(&agent.path)).count();
        agents + profile.routes.iter().filter(|route| agents > 0 && is_own(&route.file)).count()
    };
    let found =
        profile.frameworks.iter().filter(|one| one.confidence >= MIN_CANDIDATE_CONFIDENCE && wanted(one));
    let mut known: Vec<_> = found
        .filter_map(|one| {
            let recipe = find_recipe(one.name).filter(|recipe| recipe.ecosystem == one.ecosystem)?;
            Some((std::cmp::Reverse(weight(one)), recipe))
        })
        .collect();
    // Stable sort: of equals, the one with the highest confidence.
    known.sort_by_key(|(weight, _)| *weight);
    let python =
        || profile.agents.iter().any(|agent| is_python_file(&agent.path)).then(plain_python).flatten();
    known.first().map(|(_, recipe)| *recipe).or_else(python)
}

/// Name of the FluxLoop project or scenario: an existing one, or one derived from the package.
pub(crate) fn scenario_name(
    profile: &Profile,
    layout: &FluxloopLayout,
    package: &str,
    notes: &mut Vec<String>,
) -> String {
    let project = profile.projects.iter().find(|project| project.folder == package);
    // Some manifests have a sentence as the name: do not turn that into a slug.
    let is_name = |text: &&str| {
        let words = text.split(' ').filter(|word| !word.is_empty());
        words.clone().count() <= MAX_SCENARIO_WORDS
            && words.into_iter().all(|word| NameKind::Package.is_safe_name(word))
    };
    let named = project.and_then(|project| project.name.as_deref()).filter(is_name).unwrap_or_default();
    let last = package.rsplit('/').next().filter(is_name).unwrap_or_default();
    let slug = |text: &str| {
        let plain: String = text
            .rsplit('/')
            .next()
            .unwrap_or(text)
            .chars()
            .take(40)
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect();
        plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    };
    let wished = [named, last, "agent"].iter().map(|text| slug(text)).find(|text| !text.is_empty());
    let wished = wished.unwrap_or_default();
    let known: Vec<&String> = layout.projects.iter().map(|(name, _)| name).collect();
    match known.as_slice() {
        [] => wished,
        known if known.contains(&&wished) => wished,
        [only] => (*only).clone(),
        [first, ..] => {
            let shown = |(name, folder): &(String, String)| {
                profile.redactor.name(NameKind::Setting, name, folder, 0).into_owned()
            };
            let all: Vec<String> = layout.projects.iter().map(shown).collect();
            notes.push(format!(
                "There are several FluxLoop projects ({}); this plan changes {}.",
                all.join(", "),
                all.first().map_or("", String::as_str)
            ));
            (*first).clone()
        }
    }
}

/// Folder of the innermost package that contains a file.
pub(crate) fn owning_package(profile: &Profile, path: &str) -> String {
    let holds = |project: &&ProjectProfile| {
        project.folder.is_empty()
            || path.strip_prefix(&project.folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let project = profile.projects.iter().filter(holds).max_by_key(|project| project.folder.len());
    project.map(|project| project.folder.clone()).unwrap_or_default()
}

pub(crate) fn is_python_file(path: &str) -> bool {
    language::detect_language(path) == Some(Language::Python)
}

/// A note about other packages that call a model.
pub(crate) fn other_packages_note(
    profile: &Profile,
    options: &IntegrationOptions,
    package: &str,
) -> Option<String> {
    if options.package.is_some() || options.agent.is_some() {
        return None;
    }
    let mut others: Vec<String> = Vec::new();
    for agent in profile.agents.iter().filter(|agent| !codebase::is_example_or_test(&agent.path)) {
        let folder = owning_package(profile, &agent.path);
        let shown = profile.redactor.folder(&folder).into_owned();
        if folder != package && !others.contains(&shown) {
            others.push(shown);
        }
    }
    others.truncate(8);
    let list = others.join(", ");
    (!others.is_empty())
        .then(|| format!("A model is also called in {list}; pass `package` to plan for one of them."))
}
