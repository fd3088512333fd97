//! The frameworks that an integration is known for, one line each.

use codebase::Ecosystem::{self, Node, Python};

/// How the SDK comes into a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sdk {
    /// Python: decorators on functions.
    Decorators,
    /// JavaScript: the documented `app.use(fluxloop(…))`.
    Middleware,
    /// JavaScript: no document says how.
    Undocumented,
}

/// How a request reaches a Python program without a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InProcess {
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
    pub sdk: Sdk,
    pub(crate) in_process: Option<InProcess>,
    /// Where its development server listens. Vite takes the name, and listens only on what it means.
    pub(crate) host: &'static str,
    pub(crate) port: u16,
    /// How that is started, if the project does not say.
    pub(crate) start: &'static str,
}

const LOCAL: &str = "127.0.0.1";

const fn python(name: &'static str, title: &'static str) -> Recipe {
    Recipe {
        name,
        title,
        ecosystem: Python,
        sdk: Sdk::Decorators,
        in_process: None,
        host: LOCAL,
        port: 8000,
        start: "",
    }
}

const fn served(
    name: &'static str,
    title: &'static str,
    by: InProcess,
    port: u16,
    start: &'static str,
) -> Recipe {
    Recipe { in_process: Some(by), port, start, ..python(name, title) }
}

const fn node(name: &'static str, title: &'static str, sdk: Sdk, port: u16) -> Recipe {
    Recipe { name, title, ecosystem: Node, sdk, in_process: None, host: LOCAL, port, start: "npm run dev" }
}

const fn vite(name: &'static str, title: &'static str) -> Recipe {
    Recipe { host: "localhost", ..node(name, title, Sdk::Undocumented, 5173) }
}

/// All of them; the four of the documents first.
pub static RECIPES: &[Recipe] = &[
    served("fastapi", "FastAPI", InProcess::Starlette, 8000, "uvicorn"),
    node("express", "Express", Sdk::Middleware, 3000),
    node("nextjs", "Next.js", Sdk::Undocumented, 3000),
    node("nestjs", "NestJS", Sdk::Middleware, 3000),
    served("flask", "Flask", InProcess::Flask, 5000, "flask run"),
    served("django", "Django", InProcess::Django, 8000, "python manage.py runserver"),
    served("starlette", "Starlette", InProcess::Starlette, 8000, "uvicorn"),
    node("fastify", "Fastify", Sdk::Undocumented, 3000),
    node("hono", "Hono", Sdk::Middleware, 3000),
    node("koa", "Koa", Sdk::Middleware, 3000),
    vite("sveltekit", "SvelteKit"),
    vite("remix", "Remix"),
    python("python", "Python"),
    python("langchain", "LangChain"),
    python("langgraph", "LangGraph"),
    python("openai-agents", "OpenAI Agents SDK"),
    python("pydantic-ai", "Pydantic AI"),
    python("crewai", "CrewAI"),
    python("llamaindex", "LlamaIndex"),
    python("autogen", "AutoGen"),
    python("google-adk", "Google ADK"),
];

/// The recipe for a framework.
pub fn recipe(name: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.name == name)
}

impl Recipe {
    /// The documented name of the way FluxLoop runs such a program.
    pub fn runner_pattern(&self) -> &'static str {
        if self.ecosystem == Python { "python-function" } else { "http-rest" }
    }

    pub(crate) fn runner_page(&self) -> &'static str {
        if self.ecosystem == Python {
            "packages/website/docs-cli/configuration/runners/python-function.md"
        } else {
            "packages/website/docs-cli/configuration/runners/http-rest.md"
        }
    }

    /// The page about this very framework.
    pub(crate) fn page(&self) -> String {
        format!("packages/website/docs-sdk/integration/{}.md", self.name)
    }
}
