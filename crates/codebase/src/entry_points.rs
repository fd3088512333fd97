//! Detects where programs start.

use std::collections::BTreeMap;

use crate::import_resolution::resolve_script_path;
use crate::inventory::{FileInventory, FileRecord};
use crate::language::Language;
use crate::manifest::{
    DeclaredProgram, Ecosystem, Manifest, ProgramOrigin, ProgramTarget, file_name, join_path, numbered_lines,
    parse_json,
};
use crate::name_redaction::{NameKind, NameRedactor};
use crate::path_role;
use crate::profile::{EntryPoint, EntryPointKind, Evidence, Framework};
use crate::project::DetectedProject;
use crate::rules::{LibraryRole, RULES};
use crate::source::CallSite;
use crate::source_cache::{AnalyzedFile, LibraryUse, SourceCache};

const MAX_CONFIG_FILE_BYTES: u64 = 256 * 1024;
const MAX_PROGRAMS_PER_FILE: usize = 100;

/// The entry points of one project. `files` are the files of that project.
pub(crate) fn detect_entry_points(
    sources: &SourceCache<'_>,
    project: Option<&DetectedProject>,
    files: &[&FileRecord],
    frameworks: &[Framework],
) -> Vec<EntryPoint> {
    let folder = project.map_or("", |project| project.folder.as_str());
    let mut found = EntryPointCollector {
        inventory: sources.inventory,
        redactor: &sources.redactor,
        points: BTreeMap::new(),
    };
    for manifest in project.into_iter().flat_map(|project| &project.manifests) {
        found.add_programs(folder, &manifest.path, &manifest.programs);
        found.add_conventional(manifest);
    }
    for file in files {
        found.add_programs(folder, &file.path, &declared_programs(sources, &file.path));
    }
    for file in files.iter().filter(|file| has_usual_name(&file.path, folder)) {
        let says = "has the usual name of a program's first file";
        let evidence = Evidence::new(&file.path, 1, says);
        found.add(&file.path, 1, EntryPointKind::UsualName, says.to_owned(), evidence);
    }
    for framework in frameworks {
        for path in convention_files(files, folder, framework.name) {
            let says = format!("{} calls it", framework.title);
            let evidence = Evidence::new(path, 1, says.clone());
            found.add(path, 1, EntryPointKind::Convention, says, evidence);
        }
    }
    found.add_page_scripts(sources, folder);
    found.add_from_code(sources, files);
    // A module meant to be imported counts as an entry point only if there is no other.
    if found.points.values().any(|point| point.kind != EntryPointKind::Imported) {
        found.points.retain(|_, point| point.kind != EntryPointKind::Imported);
    }
    found.finish()
}

struct EntryPointCollector<'a> {
    inventory: &'a FileInventory,
    redactor: &'a NameRedactor,
    points: BTreeMap<String, EntryPoint>,
}

impl EntryPointCollector<'_> {
    fn add(&mut self, path: &str, line: u32, kind: EntryPointKind, says: String, evidence: Evidence) {
        // Scripts in documentation and benchmarks are not the purpose of the repository.
        if path_role::is_test(path)
            || (path_role::is_docs_or_benchmark(path) && kind != EntryPointKind::Convention)
        {
            return;
        }
        let point = EntryPoint { path: path.to_owned(), line, kind, description: says, evidence };
        match self.points.get(path) {
            Some(known) if known.kind <= kind => {}
            _ => _ = self.points.insert(path.to_owned(), point),
        }
    }

    fn add_programs(&mut self, folder: &str, source: &str, programs: &[DeclaredProgram]) {
        for program in programs.iter().take(MAX_PROGRAMS_PER_FILE) {
            let Some(path) = resolve_target(self.inventory, folder, &program.target) else { continue };
            let says = program.origin.describe(self.redactor, source, program.line);
            let fact = format!("{says} starts {}", self.redactor.file(&path));
            let evidence = Evidence::new(source, program.line, fact);
            let kind = if program.is_imported { EntryPointKind::Imported } else { EntryPointKind::Declared };
            self.add(&path, 1, kind, says, evidence);
        }
    }

    /// Files that Cargo, Rails, Laravel and Symfony find by convention.
    fn add_conventional(&mut self, manifest: &Manifest) {
        let folder = manifest.folder();
        let at = |name: &str| join_path(folder, name);
        let conventions: &[(&str, &str)] = match manifest.ecosystem {
            Ecosystem::Rust => &[("src/main.rs", "cargo runs it")],
            Ecosystem::Ruby => &[("config.ru", "Rack starts here")],
            Ecosystem::Php => {
                &[("public/index.php", "the web server starts here"), ("artisan", "the console")]
            }
            _ => &[],
        };
        let built = |name: &str| manifest.dependencies.iter().any(|dependency| dependency.name == name);
        let pages: &[(&str, &str)] = match manifest.ecosystem {
            Ecosystem::Node if built("react-scripts") => &[
                ("src/index.js", "react-scripts starts here"),
                ("src/index.jsx", "react-scripts starts here"),
                ("src/index.ts", "react-scripts starts here"),
                ("src/index.tsx", "react-scripts starts here"),
            ],
            Ecosystem::Node if built("@tanstack/react-start") => {
                &[("src/router.tsx", "TanStack Start calls it")]
            }
            _ => &[],
        };
        for (name, says) in conventions.iter().chain(pages) {
            if self.inventory.contains(&at(name)) {
                let evidence = Evidence::new(&at(name), 1, *says);
                self.add(&at(name), 1, EntryPointKind::Convention, (*says).to_owned(), evidence);
            }
        }
        if manifest.ecosystem == Ecosystem::Php && self.inventory.contains(&at("bin/console")) {
            let evidence = Evidence::new(&at("bin/console"), 1, "the console");
            self.add(&at("bin/console"), 1, EntryPointKind::Convention, "the console".to_owned(), evidence);
        }
        if manifest.ecosystem == Ecosystem::Rust {
            let bins = self.inventory.files_beneath(&at("src/bin"));
            let bins: Vec<_> = bins.iter().map(|file| file.path.clone()).collect();
            let inside = |path: &str| {
                path.strip_prefix(at("src/bin").as_str()).map(|rest| rest.trim_start_matches('/').to_owned())
            };
            let is_bin = |path: &&String| {
                inside(path).is_some_and(|rest| {
                    rest.ends_with(".rs")
                        && (!rest.contains('/')
                            || rest.matches('/').count() == 1 && rest.ends_with("/main.rs"))
                })
            };
            for path in bins.iter().filter(is_bin) {
                let evidence = Evidence::new(path, 1, "cargo runs it");
                self.add(path, 1, EntryPointKind::Convention, "cargo runs it".to_owned(), evidence);
            }
        }
    }

    /// `<script type="module" src="/src/main.tsx">` in the HTML entry page of a bundler.
    fn add_page_scripts(&mut self, sources: &SourceCache<'_>, folder: &str) {
        let page = join_path(folder, "index.html");
        if !self.inventory.contains(&page) {
            return;
        }
        let Some(text) = sources.read(&page, MAX_CONFIG_FILE_BYTES) else { return };
        for (line, written) in numbered_lines(&String::from_utf8_lossy(&text)) {
            let Some((_, rest)) = written.split_once("<script").and_then(|(_, tag)| tag.split_once("src=\""))
            else {
                continue;
            };
            let script = rest.split('"').next().unwrap_or_default().trim_start_matches(['.', '/']);
            let path = join_path(folder, script);
            if self.inventory.find(&path).is_some_and(|file| file.language.is_some_and(Language::has_parser))
            {
                let evidence =
                    Evidence::new(&page, line, format!("the page loads {}", self.redactor.file(&path)));
                self.add(&path, 1, EntryPointKind::Declared, "the page loads it".to_owned(), evidence);
            }
        }
    }

    /// Files that create the application, and files that run something.
    fn add_from_code(&mut self, sources: &SourceCache<'_>, files: &[&FileRecord]) {
        for file in files {
            let path = file.path.as_str();
            if file_name(path) == "__main__.py" {
                let evidence = Evidence::new(path, 1, "python -m runs it");
                self.add(path, 1, EntryPointKind::Convention, "python -m runs it".to_owned(), evidence);
            }
            let Some(seen) = sources.get(path) else { continue };
            if let Some(made) = seen.constructions.iter().find(|made| creates_application(made, seen)) {
                let what = self.redactor.name(NameKind::Identifier, &made.text, path, made.line);
                let says = format!("creates {what}(…)");
                let evidence = Evidence::new(path, made.line, format!("calls {what}(…)"));
                self.add(path, made.line, EntryPointKind::CreatesApplication, says, evidence);
            }
            // Rust programs are covered by Cargo's conventions.
            let main = seen.main_line.filter(|_| file.language != Some(Language::Rust));
            if let Some(line) = main.or_else(|| script_start_line(path, seen)) {
                let evidence = Evidence::new(path, line, "has a main");
                self.add(path, line, EntryPointKind::Main, "has a main".to_owned(), evidence);
            }
        }
    }

    fn finish(self) -> Vec<EntryPoint> {
        let mut points: Vec<_> = self.points.into_values().collect();
        points.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| a.path.cmp(&b.path)));
        points
    }
}

/// Whether creating this object starts a program.
fn creates_application(made: &LibraryUse, seen: &AnalyzedFile) -> bool {
    let rule = &RULES[made.rule];
    let calls = |verbs: &[&str]| {
        let verb = |call: &CallSite| verbs.contains(&call.callee.rsplit('.').next().unwrap_or_default());
        seen.source.as_ref().is_some_and(|source| source.calls.iter().any(verb))
    };
    match (rule.role, rule.ecosystem) {
        // A factory function counts like the application: servers call it.
        (LibraryRole::Web, Ecosystem::Python) => !made.in_method,
        // Routers are created in functions anywhere; an application is created at the top level or listens.
        (LibraryRole::Web, Ecosystem::Node) => {
            let exports_it =
                || seen.source.as_ref().is_some_and(|s| s.exports.iter().any(|name| name == "default"));
            match rule.name {
                "nestjs" => true,
                // Its routers are applications, too; the main one is served or is the default export.
                "hono" => calls(&["listen", "serve", "fire", "handle"]) || made.at_top_level && exports_it(),
                _ => made.at_top_level || calls(&["listen", "serve"]),
            }
        }
        (LibraryRole::Agent, Ecosystem::Node) => made.text == "Mastra",
        // The name that the `adk` command looks for.
        (LibraryRole::Agent, Ecosystem::Python) if rule.name == "google-adk" => {
            let is_root = |name: &String| name == "root_agent";
            seen.source.as_ref().is_some_and(|source| source.exports.iter().any(is_root))
        }
        _ => false,
    }
}

/// The first line that a script runs at the top level, if it looks like a script and not an importable
/// module.
fn script_start_line(path: &str, seen: &AnalyzedFile) -> Option<u32> {
    let uses_model = seen.imports.iter().any(|import| RULES[import.rule].role != LibraryRole::Web);
    let line = seen.source.as_ref()?.first_run_line?;
    (uses_model || is_script_name(path)).then_some(line)
}

fn is_script_name(path: &str) -> bool {
    matches!(file_name(path), "main.py" | "run.py" | "__main__.py")
}

/// Whether a file in the folder of a project, or in its `src`, is called like the first file of a server.
fn has_usual_name(path: &str, folder: &str) -> bool {
    let inside = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
    matches!(
        inside.strip_prefix("src/").unwrap_or(inside),
        "server.ts" | "server.js" | "server.mjs" | "app.ts" | "app.js" | "app.mjs" | "app.py" | "server.py"
    )
}

/// The programs that a Procfile, a Dockerfile or a framework's configuration starts.
fn declared_programs(sources: &SourceCache<'_>, path: &str) -> Vec<DeclaredProgram> {
    let name = file_name(path);
    let is_docker = name == "Dockerfile" || name.starts_with("Dockerfile.") || name.ends_with(".Dockerfile");
    let reader: fn(&str) -> Vec<DeclaredProgram> = match name {
        "Procfile" => parse_procfile,
        "langgraph.json" => parse_langgraph,
        "nest-cli.json" => parse_nest_cli,
        _ if is_docker => parse_dockerfile,
        _ => return Vec::new(),
    };
    let Some(text) = sources.read(path, MAX_CONFIG_FILE_BYTES) else { return Vec::new() };
    reader(&String::from_utf8_lossy(&text))
}

fn parse_procfile(text: &str) -> Vec<DeclaredProgram> {
    let lines = numbered_lines(text).filter_map(|(line, written)| Some((line, written.split_once(':')?)));
    lines
        .flat_map(|(line, (name, command))| {
            DeclaredProgram::from_command(command, line, ProgramOrigin::with_name("Procfile", name))
        })
        .collect()
}

fn parse_dockerfile(text: &str) -> Vec<DeclaredProgram> {
    let mut programs = Vec::new();
    let (mut instruction, mut begun) = (String::new(), 0);
    for (line, written) in numbered_lines(text) {
        if written.trim_start().starts_with('#') {
            continue;
        }
        if instruction.is_empty() {
            begun = line;
        }
        instruction.push_str(written.trim().trim_end_matches('\\'));
        if written.trim_end().ends_with('\\') {
            instruction.push(' ');
            continue;
        }
        let (word, command) = instruction.split_once(char::is_whitespace).unwrap_or((&instruction, ""));
        if matches!(word.to_ascii_uppercase().as_str(), "CMD" | "ENTRYPOINT") {
            programs.extend(DeclaredProgram::from_command(command, begun, "Dockerfile"));
        }
        instruction.clear();
    }
    programs
}

/// `{"graphs": {"agent": "./src/agent/graph.py:graph"}}`.
fn parse_langgraph(text: &str) -> Vec<DeclaredProgram> {
    let Ok(document) = parse_json(text) else { return Vec::new() };
    let graph = |(name, target): (&str, &crate::manifest::DocumentNode)| {
        let text = target.as_text().or_else(|| target.get("path").as_text())?;
        Some(file_or_module_program(text, target.line, ProgramOrigin::with_name("graph", name)))
    };
    let http = document.get_path(["http", "app"]);
    let app = http
        .as_text()
        .map(|text| file_or_module_program(text, http.line, "the app of langgraph.json".into()));
    document.get("graphs").entries().filter_map(graph).chain(app).collect()
}

/// `./src/graph.py:graph` or `package.graph:graph`.
fn file_or_module_program(target: &str, line: u32, says: ProgramOrigin) -> DeclaredProgram {
    let (place, _) = target.rsplit_once(':').unwrap_or((target, ""));
    if place.contains('/') || place.ends_with(".py") {
        DeclaredProgram::for_file(place, line, says)
    } else {
        DeclaredProgram::for_module(place, line, says)
    }
}

fn parse_nest_cli(text: &str) -> Vec<DeclaredProgram> {
    let Ok(document) = parse_json(text) else { return Vec::new() };
    let root = document.get("sourceRoot").as_text().unwrap_or("src");
    let entry = document.get("entryFile").as_text().unwrap_or("main");
    vec![DeclaredProgram::for_file(&format!("{root}/{entry}.ts"), 1, "nest-cli.json")]
}

/// The files of a project that a framework loads by location, as far as they are entry points.
fn convention_files<'f>(files: &[&'f FileRecord], folder: &str, framework: &str) -> Vec<&'f str> {
    let wanted = |inside: &str| -> bool {
        let inside = inside.strip_prefix("src/").unwrap_or(inside);
        let (place, name) = inside.rsplit_once('/').unwrap_or(("", inside));
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        let script = matches!(ending, "ts" | "tsx" | "js" | "jsx" | "mjs");
        match framework {
            "nextjs" => {
                // Route groups `(auth)` and `[lang]` segments may precede the first page.
                let root = place.strip_prefix("app").is_some_and(|rest| {
                    rest.split('/').filter(|part| !part.is_empty()).all(|part| part.starts_with(['(', '[']))
                });
                script && (root && matches!(stem, "layout" | "page"))
                    || script && stem == "route" && (place == "app" || place.starts_with("app/"))
                    || script && place == "pages" && matches!(stem, "_app" | "index")
                    || script && (place == "pages/api" || place.starts_with("pages/api/"))
            }
            "sveltekit" => {
                place == "routes" && (stem.starts_with("+page") || stem.starts_with("+layout"))
                    || stem == "+server"
                    || place.is_empty() && (stem == "hooks" || stem.starts_with("hooks."))
            }
            "svelte" => place.is_empty() && stem == "main" && script,
            "remix" | "react-router" => place == "app" && (stem == "root" || stem.starts_with("entry.")),
            "nuxt" => {
                matches!(inside, "app.vue" | "app/app.vue")
                    || place == "server/api"
                    || place.starts_with("server/api/")
            }
            "mastra" => place == "mastra" && stem == "index",
            "astro" => place == "pages" && matches!(name, "index.astro" | "index.md" | "index.mdx"),
            "django" => matches!(name, "asgi.py" | "wsgi.py") || inside == "manage.py",
            _ => false,
        }
    };
    let inside = |path: &'f str| path.strip_prefix(folder).map(|rest| rest.trim_start_matches('/'));
    files.iter().map(|file| file.path.as_str()).filter(|path| inside(path).is_some_and(wanted)).collect()
}

/// A file that is evidence for a framework's folder layout.
pub(crate) fn find_layout_file<'f>(
    files: &[&'f FileRecord],
    folder: &str,
    framework: &str,
) -> Option<&'f str> {
    if !matches!(framework, "nextjs" | "sveltekit" | "remix" | "react-router" | "astro") {
        return None;
    }
    // `src/hooks` is not specific to a framework.
    convention_files(files, folder, framework).into_iter().find(|path| !file_name(path).starts_with("hooks"))
}

/// Resolves a program target relative to a folder.
pub(crate) fn resolve_target(
    inventory: &FileInventory,
    folder: &str,
    start: &ProgramTarget,
) -> Option<String> {
    match start {
        ProgramTarget::File(file) => resolve_file(inventory, folder, file),
        ProgramTarget::Module(module) => resolve_module(inventory, folder, module),
    }
}

fn resolve_file(inventory: &FileInventory, folder: &str, file: &str) -> Option<String> {
    let inside = file.trim_start_matches('/');
    // `/app/server.js` in an image is `server.js` in the project.
    let shorter = file.strip_prefix('/').and_then(|path| path.split_once('/')).map(|(_, rest)| rest);
    for wanted in [Some(inside), shorter].into_iter().flatten() {
        for base in [folder, ""] {
            let path = join_path(base, wanted);
            if let Some(found) = resolve_script_path(inventory, &path)
                .or_else(|| source_of_build_output(inventory, base, wanted))
            {
                return Some(found);
            }
        }
    }
    None
}

/// `dist/server.js` was built from `src/server.ts`.
fn source_of_build_output(inventory: &FileInventory, base: &str, file: &str) -> Option<String> {
    let (first, rest) = file.split_once('/')?;
    if !matches!(first, "dist" | "build" | "lib" | "out" | "output" | ".output" | "bin") {
        return None;
    }
    let stem = rest.rsplit_once('.').map_or(rest, |(stem, _)| stem);
    let inner = stem.split_once('/').map_or(stem, |(_, inner)| inner);
    let guesses = [join_path("src", stem), stem.to_owned(), join_path("src", inner)];
    guesses.iter().find_map(|guess| resolve_script_path(inventory, &join_path(base, guess)))
}

fn resolve_module(inventory: &FileInventory, folder: &str, module: &str) -> Option<String> {
    let path = module.replace('.', "/");
    let src = join_path(folder, "src");
    let app = join_path(folder, "app");
    let names = [format!("{path}.py"), format!("{path}/__main__.py"), format!("{path}/__init__.py")];
    for base in [folder, src.as_str(), app.as_str(), ""] {
        if let Some(found) =
            names.iter().map(|name| join_path(base, name)).find(|path| inventory.contains(path))
        {
            return Some(found);
        }
    }
    // Otherwise accept a unique match anywhere in the folder.
    let ending = format!("/{}", names[0]);
    let mut others = inventory.files_beneath(folder).iter().filter(|file| file.path.ends_with(&ending));
    let only = others.next()?;
    others.next().is_none().then(|| only.path.clone())
}

/// Files to parse because they may contain an entry point.
pub(crate) fn entry_point_candidates<'a>(files: &[&'a FileRecord]) -> Vec<&'a str> {
    const MAX_CANDIDATES: usize = 400;
    let starts = |file: &&&FileRecord| {
        file.hits.is_some_and(super::inventory::MentionSet::may_contain_entry_point)
            || is_script_name(&file.path)
    };
    let starting = files.iter().filter(starts).filter(|file| !path_role::is_test(&file.path));
    let mut paths: Vec<_> = starting.map(|file| file.path.as_str()).collect();
    paths.sort_by_cached_key(|path| path_role::entry_point_rank(path));
    paths.truncate(MAX_CANDIDATES);
    paths
}
