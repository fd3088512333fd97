//! The application object of a Python web framework: where it is made, and how it is reached from another file.

use crate::patterns;
use codebase::{FileSummary, FunctionSignature, NameKind};

use crate::integrate::RecipeInput;
use crate::package::is_python_file;
use crate::python_module::{PythonModule, complete_roots, join, resolve_module};
use crate::recipe::{InProcessClient, find_recipe};

/// An application that can be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Application {
    pub(crate) module: PythonModule,
    pub(crate) name: String,
    /// `name` is a function that makes it.
    pub(crate) is_factory: bool,
    /// What the program does before it serves, and only if it is started by itself: `db.create_all()`.
    pub(crate) set_up: Option<String>,
    pub(crate) is_flask: bool,
}

impl Application {
    /// The lines that bring it into scope, and the name it then has.
    pub(crate) fn import_lines(&self) -> (String, String) {
        let import = format!("from {} import {}  # noqa: E402\n", self.module.name, self.name);
        if self.is_factory {
            (format!("{import}\napp = {}()\n", self.name), "app".to_owned())
        } else if let Some(call) = &self.set_up {
            let top = call.split('.').next().unwrap_or(call);
            let import = format!("from {} import {}, {top}  # noqa: E402\n", self.module.name, self.name);
            let lines = format!(
                "{import}\n# The program does this only if it is started by itself.\n{}",
                if self.is_flask {
                    format!("with {}.app_context():\n    {call}()\n", self.name)
                } else {
                    format!("{call}()\n")
                }
            );
            (lines, self.name.clone())
        } else {
            (import, self.name.clone())
        }
    }
}

/// The call under `if __name__ == "__main__"` that prepares the database: `db.create_all()`, `init_db()`.
fn main_set_up(text: &str) -> Option<String> {
    let (before, guarded) = text.split_once("if __name__")?;
    let call = patterns::compile(
        r"(?m)^[ \t]+((?:\w+\.)*(?:create_all|init_db|create_tables|create_db|init_database|setup_database|setup_db|initialize_database))\(\s*\)",
    )
    .ok()?;
    let found = call.captures(guarded)?[1].to_owned();
    // Another file can import only what the guard does not hide.
    let top = found.split('.').next().unwrap_or(&found);
    defines_at_top(before, top).then_some(found)
}

/// Whether Python code defines, assigns or imports a name outside of functions.
pub(crate) fn defines_at_top(text: &str, name: &str) -> bool {
    let name = regex::escape(name);
    let made = patterns::compile(&format!(
        r"(?m)^(?:async )?(?:def|class) {name}\b|^{name}\s*(?::[^=\n]+)?=|^(?:from|import)\b[^\n]*\b{name}\b"
    ));
    made.is_ok_and(|made| made.is_match(text))
}

impl Application {
    /// Adds the folders that its imports are found in.
    pub(crate) fn complete_roots(&mut self, input: &RecipeInput<'_>) {
        let inside = self.module.name.replace('.', "/");
        let places = [format!("{inside}.py"), format!("{inside}/__init__.py")]
            .map(|file| join(&self.module.root, &file));
        if let Some(path) = places.iter().find(|path| input.file_exists(path)) {
            self.set_up = main_set_up(&input.file_text(path)).filter(|_| !self.is_factory);
            complete_roots(input, std::slice::from_ref(path), &mut self.module);
        }
    }
}

impl InProcessClient {
    /// The command that starts a program, for people.
    pub(crate) fn start_command(self, application: Option<&Application>) -> Option<String> {
        let Some(application) = application else {
            return (self == Self::Django).then(|| "python manage.py runserver".to_owned());
        };
        let Application { module, name, is_factory, .. } = application;
        let place = if module.root.is_empty() { String::new() } else { format!(" in {}", module.root) };
        let name = format!("{}:{name}", module.name);
        NameKind::Target.is_safe_name(&name).then(|| match self {
            Self::Flask => format!("flask --app {name} run{place}"),
            Self::Starlette if *is_factory => format!("uvicorn --factory {name}{place}"),
            Self::Starlette | Self::Django => format!("uvicorn {name}{place}"),
        })
    }
}

/// How a request gets in, and the application, unless the framework finds it.
pub(crate) type FoundApplication = Option<(InProcessClient, Option<Application>)>;

/// How a request gets into the program without a server, and into which application. Django finds its application itself.
pub(crate) fn find_application(input: &RecipeInput<'_>, is_django_project: bool) -> FoundApplication {
    if let Some(known) = input.applications.borrow().get(&is_django_project) {
        return known.clone();
    }
    let found = search_application(input, is_django_project);
    input.applications.borrow_mut().insert(is_django_project, found.clone());
    found
}

fn search_application(input: &RecipeInput<'_>, is_django_project: bool) -> FoundApplication {
    // The framework of the routes may be another than the one that was asked for.
    let web =
        input.profile.frameworks.iter().filter_map(|one| Some((one, find_recipe(one.name)?.in_process?)));
    let own = input.recipe().in_process;
    let fits = |(one, client): &(&codebase::Framework, InProcessClient)| {
        own.is_none_or(|own| own == *client)
            && (*client == InProcessClient::Django
                || one.anchors.iter().any(|anchor| input.owns_file(&anchor.path)))
    };
    let (framework, client) = web.into_iter().find(fits)?;
    if client == InProcessClient::Django {
        return is_django_project.then_some((client, None));
    }
    let anchors: Vec<String> = framework
        .anchors
        .iter()
        .map(|anchor| anchor.path.clone())
        .filter(|path| input.owns_file(path))
        .collect();
    let named = named_in_commands(input);
    let files = anchors.iter().cloned().chain(input.entry_points()).chain(usual_files(input));
    let mut seen: Vec<String> = Vec::new();
    for path in files.filter(|path| is_python_file(path) && !input.is_example_or_test(path)) {
        if !seen.contains(&path) {
            seen.push(path);
        }
    }
    let is_flask = client == InProcessClient::Flask;
    // What a command starts is the application that runs; then an object; then a function that makes one.
    let find = |pick: &dyn Fn(&FileSummary) -> Option<(String, bool)>| {
        seen.iter().find_map(|path| {
            let (name, is_factory) = pick(&*input.file_summary(path)?)?;
            Some(Application {
                module: resolve_module(input, path)?,
                name,
                is_factory,
                set_up: None,
                is_flask,
            })
        })
    };
    let factory = find(&|summary| Some((find_factory(summary)?, true)));
    let makes = |callee: &str| {
        let last = callee.rsplit('.').next().unwrap_or(callee);
        matches!(last, "FastAPI" | "Starlette" | "Flask" | "Quart")
            || is_factory_name(last)
            || factory.as_ref().is_some_and(|factory| factory.name == last)
    };
    let object = find(&|summary| {
        let (name, _) =
            summary.assigned_calls.iter().find(|(name, callee)| !name.contains('.') && makes(callee))?;
        Some((name.clone(), false))
    });
    named.or(object).or(factory).map(|application| (client, Some(application)))
}

/// The application that a route's own file makes: a repository may have several programs.
pub(crate) fn own_application(input: &RecipeInput<'_>, route: &codebase::Route) -> Option<Application> {
    let summary = input.file_summary(&route.file)?;
    let is_application =
        |callee: &str| matches!(callee.rsplit('.').next(), Some("FastAPI" | "Starlette" | "Flask" | "Quart"));
    let (name, _) =
        summary.assigned_calls.iter().find(|(name, callee)| !name.contains('.') && is_application(callee))?;
    let is_flask = imports_flask(&summary);
    let module = resolve_module(input, &route.file)?;
    let mut own = Application { module, name: name.clone(), is_factory: false, set_up: None, is_flask };
    own.complete_roots(input);
    Some(own)
}

/// Whether a route's file makes an application of its own, but has a name that cannot be imported.
pub(crate) fn is_unimportable_program(input: &RecipeInput<'_>, route: &codebase::Route) -> bool {
    let makes = input.file_summary(&route.file).is_some_and(|summary| {
        summary
            .assigned_calls
            .iter()
            .any(|(_, callee)| matches!(callee.rsplit('.').next(), Some("FastAPI" | "Flask")))
    });
    makes && resolve_module(input, &route.file).is_none()
}

fn imports_flask(summary: &FileSummary) -> bool {
    summary.imports.iter().any(|(module, _)| module.split('.').next() == Some("flask"))
}

/// Where a program usually begins.
pub(crate) fn usual_files(input: &RecipeInput<'_>) -> Vec<String> {
    const NAMES: &[&str] =
        &["main.py", "app.py", "wsgi.py", "asgi.py", "run.py", "server.py", "application.py", "manage.py"];
    let places = |name: &&str| ["", "src/", "app/", "api/"].map(|folder| format!("{folder}{name}"));
    NAMES.iter().flat_map(places).map(|path| input.package_path(&path)).collect()
}

fn is_factory_name(name: &str) -> bool {
    matches!(
        name,
        "create_app"
            | "make_app"
            | "get_app"
            | "build_app"
            | "create_application"
            | "get_application"
            | "app_factory"
            | "init_app"
    )
}

/// A function without required parameters that makes the application.
fn find_factory(summary: &FileSummary) -> Option<String> {
    let can_be_called = |function: &&FunctionSignature| {
        is_factory_name(&function.name)
            && !function.is_async
            && function.parameters.iter().all(|parameter| parameter.optional)
    };
    summary.functions.iter().find(can_be_called).map(|function| function.name.clone())
}

/// The application that the project's own commands start: `uvicorn app.main:app`, `gunicorn "app:create_app()"`.
fn named_in_commands(input: &RecipeInput<'_>) -> Option<Application> {
    const FILES: &[&str] = &[
        "Procfile",
        "Dockerfile",
        "docker-compose.yml",
        "docker-compose.yaml",
        "compose.yml",
        "compose.yaml",
        "pyproject.toml",
        "Makefile",
        "start.sh",
        "run.sh",
        "scripts/start.sh",
        "render.yaml",
        "railway.json",
        "README.md",
        ".flaskenv",
    ];
    let command = patterns::compile(
        r#"(?:uvicorn|gunicorn|hypercorn|fastapi run|FLASK_APP)[^\n]*?[\s"'=]([A-Za-z_][\w.]*):([A-Za-z_]\w*)(\(\))?"#,
    )
    .ok()?;
    FILES.iter().find_map(|file| {
        let text = input.tree.read(&input.package_path(file), 256 * 1024).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        command.captures_iter(&text).find_map(|found| {
            let (module, name) = (found.get(1)?.as_str(), found.get(2)?.as_str());
            let place = module.replace('.', "/");
            let paths = [format!("{place}.py"), format!("src/{place}.py"), format!("{place}/__init__.py")];
            let path =
                paths.iter().map(|path| input.package_path(path)).find(|path| input.file_exists(path))?;
            let summary = input.file_summary(&path)?;
            let is_function = summary.functions.iter().any(|function| function.name == name);
            let is_object = summary.assigned_calls.iter().any(|(known, _)| known == name);
            let needs_nothing = find_factory(&summary).as_deref() == Some(name);
            let found = Application {
                module: resolve_module(input, &path)?,
                name: name.to_owned(),
                is_factory: is_function,
                set_up: None,
                is_flask: imports_flask(&summary),
            };
            (is_object || is_function && needs_nothing).then_some(found)
        })
    })
}
