use super::*;
use crate::name_redaction::NameRedactor;

fn describe_origin(program: &DeclaredProgram) -> String {
    program.origin.describe(&NameRedactor::default(), "x", program.line)
}

/// A manifest in one line each.
fn facts(path: &str, text: &str) -> Vec<String> {
    let manifest = find_parser(path).unwrap().1(path, text).unwrap();
    let mut facts: Vec<String> = manifest.name.iter().map(|name| format!("name {name}")).collect();
    for d in &manifest.dependencies {
        let version = d.requirement.as_deref().unwrap_or("-");
        facts.push(format!("{} {:?} {} {version}", d.line, d.scope, d.name));
    }
    facts.extend(
        manifest
            .shared_versions
            .iter()
            .map(|d| format!("{} shared {} {}", d.line, d.name, d.requirement.as_deref().unwrap_or("-"))),
    );
    facts.extend(manifest.programs.iter().map(|p| match &p.target {
        ProgramTarget::File(file) => format!("{} starts {file} ({})", p.line, describe_origin(p)),
        ProgramTarget::Module(module) => {
            format!("{} starts module {module} ({})", p.line, describe_origin(p))
        }
    }));
    facts.extend(manifest.includes.iter().map(|file| format!("includes {file}")));
    facts.extend(manifest.hints.iter().map(|h| format!("{} {:?} {}", h.line, h.strength, h.manager.name())));
    facts
}

#[track_caller]
fn check_facts(path: &str, text: &str, expected: &[&str]) {
    assert_eq!(facts(path, text), expected, "{path}");
}

#[test]
fn package_json_is_parsed() {
    check_facts(
        "package.json",
        r#"{
  "name": "shop", "packageManager": "pnpm@9.1.0+sha", "main": "./dist/app.js",
  "scripts": {
    "start": "NODE_ENV=production node -r dotenv/config dist/server.js", "test": "node test.js",
    "dev": "concurrently \"nodemon --exec tsx src/server.ts\" && next dev", "dev:w": "tsx watch src/worker.ts" },
  "dependencies": { "express": "catalog:", "@acme/ui": "workspace:*" },
  "devDependencies": { "vitest": "^1" },
  "bin": { "shop": "./cli.js" }, "engines": { "node": ">=20", "yarn": "1" } }"#,
        &[
            "name shop",
            "6 Main express catalog:",
            "6 Main @acme/ui workspace:*",
            "7 Dev vitest ^1",
            "4 starts dist/server.js (script `start`)",
            "5 starts src/server.ts (script `dev`)",
            "5 starts src/worker.ts (script `dev:w`)",
            "8 starts cli.js (`bin`)",
            "2 starts dist/app.js (`main`)",
            "2 Explicit pnpm",
            "8 Configured yarn",
        ],
    );
    check_facts(
        "pnpm-workspace.yaml",
        "packages: [a]\ncatalog:\n  next: ^15\ncatalogs:\n  old:\n    next: ^14\n",
        &["3 shared next ^15", "6 shared next ^14", "1 OwnFile pnpm"],
    );
    check_facts(
        "deno.jsonc",
        "{ // c\n\"imports\": { \"hono\": \"jsr:@hono/hono@^4\", \"x/\": \"./x/\" },\n\"tasks\": { \"start\": \"deno run -A main.ts\" } }",
        &["2 Main @hono/hono ^4", "2 Main x -", "3 starts main.ts (task `start`)", "1 OwnFile deno"],
    );
}

#[test]
fn python_manifests_are_parsed() {
    check_facts(
        "pyproject.toml",
        r#"[project]
name = "bot"
dependencies = ["FastAPI[standard]>=0.110,<1; python_version>'3.8'", "Django_Rest.Framework"]
optional-dependencies.web = ["flask"]
scripts.bot = "bot.cli:main"
[dependency-groups]
dev = ["pytest"]
[tool.uv]
dev-dependencies = ["ruff"]
[build-system]
build-backend = "uv_build"
"#,
        &[
            "name bot",
            "3 Main fastapi >=0.110,<1",
            "3 Main django-rest-framework -",
            "4 Optional flask -",
            "7 Dev pytest -",
            "9 Dev ruff -",
            "5 starts module bot.cli (console script `bot`)",
            "8 OwnFile uv",
            "11 Configured uv",
            "1 Default pip",
        ],
    );
    check_facts(
        "a/pyproject.toml",
        "[tool.poetry]\nname='p'\n[tool.poetry.dependencies]\npython='^3'\nflask={version='^3', optional=true}\nx='*'\n[tool.poetry.group.dev.dependencies]\nblack='1'\n[tool.poetry.scripts]\np='p:run'\n",
        &[
            "name p",
            "5 Optional flask ^3",
            "6 Main x *",
            "8 Dev black 1",
            "10 starts module p (console script `p`)",
            "1 OwnFile poetry",
            "1 Default pip",
        ],
    );
    check_facts(
        "requirements/prod.txt",
        "# django is not used\n-r base.txt\n--requirement ../more.txt\nflask==3.0 # not fastapi\n-e git+https://x/y#egg=own\nhttps://x/y.whl\ncelery[redis]>=5 ; x\n",
        &[
            "4 Main flask ==3.0",
            "5 Main own -",
            "7 Main celery >=5",
            "includes requirements/base.txt",
            "includes more.txt",
            "1 Default pip",
        ],
    );
    check_facts("requirements-dev.txt", "pytest\n", &["1 Dev pytest -", "1 Default pip"]);
    check_facts(
        "setup.cfg",
        "[metadata]\nname = x\n[options]\ninstall_requires =\n    flask>=2\n    # django\n    attrs\n[options.entry_points]\nconsole_scripts =\n    x = x.cli:main\n",
        &[
            "name x",
            "5 Main flask >=2",
            "7 Main attrs -",
            "10 starts module x.cli (console script `x`)",
            "2 Default pip",
        ],
    );
    check_facts(
        "setup.py",
        "from setuptools import setup\n# django\nsetup(name='y', install_requires=['flask<3'], entry_points={'console_scripts': ['y=y.m:f']})",
        &["name y", "3 Main flask <3", "3 starts module y.m (console script `y`)", "3 Default pip"],
    );
    check_facts(
        "Pipfile",
        "[packages]\nflask = '*'\n[dev-packages]\npytest = {version = '1'}\n",
        &["2 Main flask *", "4 Dev pytest 1", "1 OwnFile pipenv"],
    );
    check_facts(
        "environment.yml",
        "name: e\ndependencies:\n  - python=3.11\n  - conda-forge::flask=3\n  - pip:\n    - openai\n",
        &["name e", "4 Main flask =3.*", "6 Main openai -", "2 OwnFile conda"],
    );
}

#[test]
fn manifests_of_compiled_languages_are_parsed() {
    check_facts(
        "Cargo.toml",
        "[package]\nname='s'\n[dependencies]\naxum.workspace = true\nweb = { package = 'actix-web', version = '4' }\n[dev-dependencies]\ntokio='1'\n[[bin]]\nname='x'\npath='src/x.rs'\n[workspace.dependencies]\naxum = '0.8'\n",
        &[
            "name s",
            "4 Main axum -",
            "5 Main actix-web 4",
            "7 Dev tokio 1",
            "12 shared axum 0.8",
            "8 starts src/x.rs ([[bin]])",
            "1 OwnFile cargo",
        ],
    );
    check_facts(
        "go.mod",
        "module m\nrequire github.com/a/b v1\nrequire (\n\tgithub.com/gin-gonic/gin v1.9 // direct\n\tx/y v2 // indirect\n)\n",
        &["name m", "2 Main github.com/a/b v1", "4 Main github.com/gin-gonic/gin v1.9", "1 OwnFile go"],
    );
    check_facts(
        "pom.xml",
        "<project>\n<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>3.3.1</version></parent>\n<artifactId>app</artifactId>\n<properties><v>2</v></properties>\n<!-- <dependency><groupId>io.quarkus</groupId><artifactId>x</artifactId></dependency> -->\n<dependencies>\n<dependency><groupId>g</groupId><artifactId>a</artifactId><version>${v}</version></dependency>\n<dependency><groupId>g</groupId><artifactId>t</artifactId><scope>test</scope></dependency>\n</dependencies></project>",
        &[
            "name app",
            "2 Main org.springframework.boot:spring-boot-starter-parent 3.3.1",
            "7 Main g:a 2",
            "8 Dev g:t -",
            "1 OwnFile maven",
        ],
    );
    check_facts(
        "build.gradle.kts",
        "plugins {\n  id(\"org.springframework.boot\") version \"3.3.0\"\n  alias(libs.plugins.quarkus.core)\n}\n/* implementation(\"a:b:c\") */\ndependencies {\n  // implementation(\"x:y:z\")\n  implementation(\"g:a:1\")\n  testImplementation(libs.junit)\n  implementation group: 'org.g', name: 'b', version: '2'\n}\n",
        &[
            "2 Main org.springframework.boot 3.3.0",
            "3 Main libs:quarkus-core -",
            "8 Main g:a 1",
            "9 Dev libs:junit -",
            "10 Main org.g:b 2",
            "1 OwnFile gradle",
        ],
    );
    check_facts(
        "gradle/libs.versions.toml",
        "[versions]\nsb='3.3'\n[plugins]\nspring-boot={id='org.springframework.boot', version.ref='sb'}\n[libraries]\njunit={module='j:u', version='5'}\n",
        &[
            "4 shared libs:spring-boot=org.springframework.boot 3.3",
            "6 shared libs:junit=j:u 5",
            "1 OwnFile gradle",
        ],
    );
    check_facts(
        "Web.csproj",
        "<Project Sdk=\"Microsoft.NET.Sdk.Web\">\n<ItemGroup>\n<PackageReference Include=\"Dapper\" Version=\"2\" />\n</ItemGroup></Project>",
        &[
            "name Web",
            "1 Main Microsoft.NET.Sdk.Web -",
            "3 Main Dapper 2",
            "1 starts Program.cs (the project builds a program)",
            "1 OwnFile nuget",
        ],
    );
}

#[test]
fn manifests_of_scripting_languages_are_parsed() {
    check_facts(
        "Gemfile",
        "source 'https://x'\n# gem 'sinatra'\ngem \"rails\", \"~> 7.1\"\ngem 'puma' # not 'falcon'\ngroup :development, :test do\n  gem 'rspec'\nend\ngem 'x', group: :test\ngem 'y'\n",
        &[
            "3 Main rails ~> 7.1",
            "4 Main puma -",
            "6 Dev rspec -",
            "8 Dev x -",
            "9 Main y -",
            "1 OwnFile bundler",
        ],
    );
    check_facts(
        "x.gemspec",
        "s.add_dependency 'sinatra', '~> 4'\n# s.add_dependency 'rails'\ns.add_development_dependency 'r'\n",
        &["1 Main sinatra ~> 4", "3 Dev r -", "1 Configured bundler"],
    );
    check_facts(
        "composer.json",
        r#"{"name":"a/b","require":{"laravel/framework":"^11"},"require-dev":{"phpunit/phpunit":"1"}}"#,
        &["name a/b", "1 Main laravel/framework ^11", "1 Dev phpunit/phpunit 1", "1 OwnFile composer"],
    );
    check_facts(
        "mix.exs",
        "  def project, do: [app: :live_beats]\n  def application do\n [mod: {LiveBeats.Application, []}]\n end\n  defp deps do\n [\n  {:phoenix, \"~> 1.7\"}, # {:ecto, \"1\"}\n  {:floki, \">= 0.30\", only: :test}\n ]\n",
        &[
            "name live_beats",
            "7 Main phoenix ~> 1.7",
            "8 Dev floki >= 0.30",
            "3 starts lib/live_beats/application.ex (`mod` of the application)",
            "1 OwnFile mix",
        ],
    );
}

#[test]
fn command_targets_are_parsed() {
    let check = |command: &str, expected: &[ProgramTarget]| {
        let started: Vec<_> =
            DeclaredProgram::from_command(command, 1, "x").into_iter().map(|p| p.target).collect();
        assert_eq!(started, expected, "{command}");
    };
    let (file, module) = (|f: &str| ProgramTarget::File(f.into()), |m: &str| ProgramTarget::Module(m.into()));
    check("uvicorn app.main:app --host 0.0.0.0:80", &[module("app.main")]);
    check("uv run gunicorn -b :8000 -w 4 site.wsgi:application", &[module("site.wsgi")]);
    check("poetry run python -m bot.cli --x", &[module("bot.cli")]);
    check("python -m uvicorn main:app", &[module("main")]);
    check("python manage.py migrate && gunicorn a.wsgi", &[file("manage.py")]);
    check("fastapi run app/main.py --port 80", &[file("app/main.py")]);
    check("flask --app shop run", &[module("shop")]);
    check(r#"["node", "dist/main.js"]"#, &[file("dist/main.js")]);
    check("node --enable-source-maps dist/main", &[file("dist/main")]);
    check("bun run src/index.ts", &[file("src/index.ts")]);
    check("next dev", &[]);
    check("pytest -x", &[]);
    check("", &[]);
}

#[test]
fn other_files_are_not_manifests() {
    for path in ["a.json", "xrequirements.md", "go.mod-old", "docs/setup.txt", "Cargo.lock", "requirements"] {
        assert!(find_parser(path).is_none(), "{path}");
    }
}
