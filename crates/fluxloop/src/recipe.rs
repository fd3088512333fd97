//! The frameworks that an integration is known for, one line each.

use codebase::Ecosystem::{self, Node, Python};

/// How the SDK comes into a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SdkSupport {
    /// Python: decorators on functions.
    Decorators,
    /// JavaScript: the documented `app.use(fluxloop(…))`.
    Middleware,
    /// JavaScript: no document says how.
    Undocumented,
}

/// How a request reaches a Python program without a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InProcessClient {
    /// `app.test_client()`.
    Flask,
    /// Starlette's `TestClient`, which `FastAPI` has as well.
    Starlette,
    /// `django.test.Client`.
    Django,
}

/// What is known about integrating programs of one framework.
#[derive(Debug)]
pub struct Recipe {
    /// The framework.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Where its packages come from.
    pub ecosystem: Ecosystem,
    /// How the SDK comes in.
    pub sdk: SdkSupport,
    pub(crate) in_process: Option<InProcessClient>,
    /// Where its development server listens. Vite takes the name, and listens only on what it means.
    pub(crate) host: &'static str,
    pub(crate) port: u16,
    /// How that is started, if the project does not say.
    pub(crate) start_command: &'static str,
}

const LOOPBACK_HOST: &str = "127.0.0.1";

const fn python_recipe(name: &'static str, title: &'static str) -> Recipe {
    Recipe {
        name,
        title,
        ecosystem: Python,
        sdk: SdkSupport::Decorators,
        in_process: None,
        host: LOOPBACK_HOST,
        port: 8000,
        start_command: "",
    }
}

const fn web_recipe(
    name: &'static str,
    title: &'static str,
    by: InProcessClient,
    port: u16,
    start: &'static str,
) -> Recipe {
    Recipe { in_process: Some(by), port, start_command: start, ..python_recipe(name, title) }
}

const fn node_recipe(name: &'static str, title: &'static str, sdk: SdkSupport, port: u16) -> Recipe {
    Recipe {
        name,
        title,
        ecosystem: Node,
        sdk,
        in_process: None,
        host: LOOPBACK_HOST,
        port,
        start_command: "npm run dev",
    }
}

const fn vite_recipe(name: &'static str, title: &'static str) -> Recipe {
    Recipe { host: "localhost", ..node_recipe(name, title, SdkSupport::Undocumented, 5173) }
}

/// All of them; the four of the documents first.
pub static RECIPES: &[Recipe] = &[
    web_recipe("fastapi", "FastAPI", InProcessClient::Starlette, 8000, "uvicorn"),
    node_recipe("express", "Express", SdkSupport::Middleware, 3000),
    node_recipe("nextjs", "Next.js", SdkSupport::Undocumented, 3000),
    node_recipe("nestjs", "NestJS", SdkSupport::Middleware, 3000),
    web_recipe("flask", "Flask", InProcessClient::Flask, 5000, "flask run"),
    web_recipe("django", "Django", InProcessClient::Django, 8000, "python manage.py runserver"),
    web_recipe("starlette", "Starlette", InProcessClient::Starlette, 8000, "uvicorn"),
    node_recipe("fastify", "Fastify", SdkSupport::Undocumented, 3000),
    node_recipe("hono", "Hono", SdkSupport::Middleware, 3000),
    node_recipe("koa", "Koa", SdkSupport::Middleware, 3000),
    vite_recipe("sveltekit", "SvelteKit"),
    vite_recipe("remix", "Remix"),
    python_recipe(PLAIN_PYTHON, "Python"),
    python_recipe("langchain", "LangChain"),
    python_recipe("langgraph", "LangGraph"),
    python_recipe("openai-agents", "OpenAI Agents SDK"),
    python_recipe("pydantic-ai", "Pydantic AI"),
    python_recipe("crewai", "CrewAI"),
    python_recipe("llamaindex", "LlamaIndex"),
    python_recipe("autogen", "AutoGen"),
    python_recipe("google-adk", "Google ADK"),
];

/// The name of the recipe for Python programs that use no framework.
const PLAIN_PYTHON: &str = "python";

/// The recipe for Python programs that use no framework.
pub(crate) fn plain_python() -> Option<&'static Recipe> {
    find_recipe(PLAIN_PYTHON)
}

/// The recipe for a framework.
pub fn find_recipe(name: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.name == name)
}

impl Recipe {
    /// Whether it is for programs that use no framework.
    pub fn is_plain_python(&self) -> bool {
        self.name == PLAIN_PYTHON
    }

    /// The documented name of the way FluxLoop runs such a program.
    pub fn runner_pattern(&self) -> &'static str {
        if self.ecosystem == Python { "python-function" } else { "http-rest" }
    }

    pub(crate) fn runner_doc_page(&self) -> &'static str {
        if self.ecosystem == Python {
            "packages/website/docs-cli/configuration/runners/python-function.md"
        } else {
            "packages/website/docs-cli/configuration/runners/http-rest.md"
        }
    }

    /// The page about this very framework.
    pub(crate) fn doc_page(&self) -> String {
        format!("packages/website/docs-sdk/integration/{}.md", self.name)
    }
}
