//! What a Python program does and reads when it starts.

use std::collections::BTreeSet;

use crate::patterns;

use crate::application::{Application, usual_files};
use crate::integrate::RecipeInput;
use crate::package::is_python_file;

/// Where the application of a web framework starts things: `FastAPI(lifespan=…)`, `@app.on_event("startup")`.
pub(super) fn start_up(input: &RecipeInput<'_>) -> Option<String> {
    let starts =
        patterns::compile(r#"lifespan\s*=|on_event\(\s*["']startup["']|on_startup\s*=|before_serving"#)
            .ok()?;
    let anchors = input.framework.iter().flat_map(|framework| &framework.anchors);
    let files: BTreeSet<&str> = anchors.map(|anchor| anchor.path.as_str()).collect();
    files.into_iter().filter(|path| is_python_file(path)).find_map(|path| {
        let text = input.file_text(path);
        let line = text[..starts.find(&text)?.start()].matches('\n').count() + 1;
        Some(input.redactor().location(path, u32::try_from(line).unwrap_or(0)))
    })
}

/// The files of what the application calls when it starts, and its own if it keeps something of that.
pub(super) fn started_files(input: &RecipeInput<'_>) -> BTreeSet<String> {
    let anchors = input.profile.frameworks.iter().flat_map(|framework| &framework.anchors);
    let files: BTreeSet<&str> =
        anchors.map(|anchor| anchor.path.as_str()).filter(|path| is_python_file(path)).collect();
    let begins = patterns::compile(r"(?m)^(?:async )?def (?:\w*lifespan\w*|\w*start\w*)\(|^@\w+\.on_event\(");
    let called = patterns::compile(r"(?:^|[^.\w])(\w+)(?:\.\w+)*\(");
    let (Ok(begins), Ok(called)) = (begins, called) else { return BTreeSet::new() };
    let mut started = BTreeSet::new();
    for path in files {
        let text = input.file_text(path);
        let Some(summary) = input.file_summary(path) else { continue };
        for found in begins.find_iter(&text) {
            let is_inner = |line: &&str| {
                line.is_empty() || line.starts_with([' ', '\t', '#', ')']) || line.contains("def ")
            };
            let lines = text[found.start()..].lines().skip(1).take_while(is_inner);
            let body = lines.collect::<Vec<_>>().join("\n");
            if body.contains("global ") || body.contains("app.state") {
                started.insert(path.to_owned());
            }
            for name in called.captures_iter(&body) {
                let name = &name[1];
                let is_it = |(module, known): &&(String, Option<String>)| match known {
                    Some(known) => known == name,
                    None => module.rsplit('.').next() == Some(name),
                };
                let Some((module, _)) = summary.imports.iter().find(is_it) else { continue };
                let inner = input.module_file(path, &format!("{module}.{name}"));
                started.extend(inner.or_else(|| input.module_file(path, module)));
            }
        }
    }
    started
}

/// The environment variables without which the files of the target fail when they are imported.
pub(super) fn variables_of_program(
    input: &RecipeInput<'_>,
    target: &str,
    application: Option<&Application>,
) -> Option<String> {
    let read = patterns::compile(r#"(?m)^[^\s#][^\n]*\bos\.environ\[\s*["']([A-Z][A-Z0-9_]{0,79})["']\s*\]"#)
        .ok()?;
    let app = application.map(|app| {
        let inside = app.module.name.replace('.', "/");
        if app.module.root.is_empty() {
            format!("{inside}.py")
        } else {
            format!("{}/{inside}.py", app.module.root)
        }
    });
    let files = [Some(target.to_owned()), app].into_iter().flatten();
    let names: BTreeSet<String> = files
        .flat_map(|file| {
            let text = input.file_text(&file);
            read.captures_iter(&text).map(|found| found[1].to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let list: Vec<String> = names.into_iter().take(12).collect();
    (!list.is_empty())
        .then(|| format!("Environment variables that the program reads when it starts: {}", list.join(", ")))
}

/// Whether the program reads an `.env` file where it starts, which a call of one of its functions may not come by.
pub(super) fn loads_env_file(input: &RecipeInput<'_>) -> bool {
    let more = ["config.py", "settings.py", "app/config.py", "src/config.py", "app/settings.py"];
    let files = usual_files(input).into_iter().chain(input.entry_points());
    let files: BTreeSet<String> = files.chain(more.map(|file| input.package_path(file))).collect();
    files.iter().any(|file| input.file_text(file).contains("load_dotenv("))
}
