//! The frameworks that are known, one line each. To add one: a line here, and a fixture in `tests/fixtures`.

use std::sync::LazyLock;

use crate::manifest::Ecosystem::{self, Dotnet, Elixir, Go, Jvm, Node, Php, Python, Ruby, Rust};

/// What a library is to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It serves requests or pages.
    Web,
    /// It runs agents.
    Agent,
    /// It talks to a language model. No framework, but what makes a function an agent.
    Model,
}

/// How a library is recognised.
#[derive(Debug)]
pub struct Rule {
    /// Its name in answers.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Where its packages come from.
    pub ecosystem: Ecosystem,
    /// What it is to a program.
    pub role: Role,
    /// Packages that are it. `x*` stands for all that begin with `x`.
    packages: &'static [&'static str],
    /// Modules that are imported from it: the module itself and what is beneath it.
    pub(crate) modules: &'static [&'static str],
    /// Calls that make its central object: `FastAPI(…)`.
    pub(crate) makers: &'static [&'static str],
    /// Files that only its users have; `*` stands for an ending.
    pub(crate) files: &'static [&'static str],
    /// Frameworks that lie beneath it and are not meant when both are found.
    pub(crate) over: &'static [&'static str],
    /// It builds the program, so its users rightly list it for development.
    pub(crate) builds: bool,
}

impl Rule {
    const fn new(name: &'static str, title: &'static str, ecosystem: Ecosystem, role: Role) -> Self {
        let none: &[&str] = &[];
        Self {
            name,
            title,
            ecosystem,
            role,
            packages: none,
            modules: none,
            makers: none,
            files: none,
            over: none,
            builds: false,
        }
    }

    const fn of(mut self, packages: &'static [&'static str], modules: &'static [&'static str]) -> Self {
        self.packages = packages;
        self.modules = modules;
        self
    }

    const fn made_by(mut self, makers: &'static [&'static str]) -> Self {
        self.makers = makers;
        self
    }

    const fn with(mut self, files: &'static [&'static str]) -> Self {
        self.files = files;
        self
    }

    const fn over(mut self, others: &'static [&'static str]) -> Self {
        self.over = others;
        self
    }

    const fn builds(mut self) -> Self {
        self.builds = true;
        self
    }

    /// Whether it counts as a framework.
    pub fn is_framework(&self) -> bool {
        self.role != Role::Model
    }

    /// Which of its packages this is; the first is the one that carries its version.
    pub(crate) fn place_of(&self, package: &str) -> usize {
        self.packages.iter().position(|known| *known == package).unwrap_or(self.packages.len())
    }

    /// Whether its packages all have the same version.
    pub(crate) fn is_train(&self) -> bool {
        matches!(self.ecosystem, Jvm | Dotnet)
    }

    /// How well a package name fits: the length of the pattern that it matches.
    fn fit(&self, package: &str) -> Option<usize> {
        let fits = |pattern: &&&str| match pattern.strip_suffix('*') {
            Some(start) => package.starts_with(start),
            None => **pattern == package,
        };
        self.packages.iter().filter(fits).map(|pattern| pattern.len()).max()
    }
}

const fn web(name: &'static str, title: &'static str, ecosystem: Ecosystem) -> Rule {
    Rule::new(name, title, ecosystem, Role::Web)
}

const fn agent(name: &'static str, title: &'static str, ecosystem: Ecosystem) -> Rule {
    Rule::new(name, title, ecosystem, Role::Agent)
}

const fn model(name: &'static str, title: &'static str, ecosystem: Ecosystem) -> Rule {
    Rule::new(name, title, ecosystem, Role::Model)
}

/// All that are known.
#[rustfmt::skip] // a line is a line
pub static RULES: &[Rule] = &[
    // Python on the web
    web("fastapi", "FastAPI", Python).of(&["fastapi", "fastapi-slim"], &["fastapi"]).made_by(&["FastAPI"]).over(&["starlette"]),
    web("starlette", "Starlette", Python).of(&["starlette"], &["starlette"]).made_by(&["Starlette"]),
    web("flask", "Flask", Python).of(&["flask"], &["flask"]).made_by(&["Flask"]),
    web("django", "Django", Python).of(&["django"], &["django"]).made_by(&["get_asgi_application", "get_wsgi_application", "execute_from_command_line"]).with(&["manage.py"]),
    web("litestar", "Litestar", Python).of(&["litestar"], &["litestar"]).made_by(&["Litestar"]).over(&["starlette"]),
    // JavaScript and TypeScript on the web
    web("express", "Express", Node).of(&["express"], &["express"]).made_by(&["express"]),
    web("nextjs", "Next.js", Node).of(&["next"], &["next"]).with(&["next.config.*"]).builds(),
    web("nestjs", "NestJS", Node).of(&["@nestjs/core", "@nestjs/common"], &["@nestjs"]).made_by(&["NestFactory.create", "NestFactory.createMicroservice", "NestFactory.createApplicationContext"]).with(&["nest-cli.json"]).over(&["express", "fastify"]),
    web("sveltekit", "SvelteKit", Node).of(&["@sveltejs/kit"], &["@sveltejs/kit", "$app"]).over(&["svelte"]).builds(),
    web("svelte", "Svelte", Node).of(&["svelte"], &["svelte"]).with(&["svelte.config.*"]).builds(),
    web("remix", "Remix", Node).of(&["@remix-run/react", "@remix-run/node", "@remix-run/serve", "@remix-run/dev", "@remix-run/express", "@remix-run/cloudflare", "@remix-run/deno", "@remix-run/architect", "@remix-run/server-runtime"], &["@remix-run/react", "@remix-run/node", "@remix-run/express", "@remix-run/cloudflare", "@remix-run/deno", "@remix-run/dev"]).with(&["remix.config.*"]).over(&["react-router", "express"]).builds(),
    web("react-router", "React Router", Node).of(&["@react-router/*"], &["@react-router"]).with(&["react-router.config.*"]).builds(),
    web("nuxt", "Nuxt", Node).of(&["nuxt", "nuxt3", "nuxt-edge"], &["nuxt", "#app", "#imports"]).with(&["nuxt.config.*"]).builds(),
    web("astro", "Astro", Node).of(&["astro"], &["astro", "astro:content", "astro:assets"]).with(&["astro.config.*"]).builds(),
    web("hono", "Hono", Node).of(&["hono", "@hono/hono"], &["hono", "@hono/hono", "@hono/zod-openapi"]).made_by(&["Hono", "OpenAPIHono"]),
    web("fastify", "Fastify", Node).of(&["fastify"], &["fastify"]).made_by(&["fastify", "Fastify"]),
    web("koa", "Koa", Node).of(&["koa"], &["koa"]).made_by(&["Koa"]),
    // Agents
    agent("langchain", "LangChain", Python).of(&["langchain", "langchain-core", "langchain-*"], &["langchain", "langchain_core", "langchain_community", "langchain_openai", "langchain_anthropic", "langchain_*"]).made_by(&["create_agent", "AgentExecutor", "init_chat_model", "ChatOpenAI", "ChatAnthropic", "AzureChatOpenAI"]),
    agent("langgraph", "LangGraph", Python).of(&["langgraph", "langgraph-*"], &["langgraph", "langgraph_*"]).made_by(&["StateGraph", "create_react_agent", "MessageGraph"]).with(&["langgraph.json"]),
    agent("crewai", "CrewAI", Python).of(&["crewai", "crewai-tools"], &["crewai", "crewai_tools"]).made_by(&["Crew", "Agent", "Flow"]),
    agent("openai-agents", "OpenAI Agents SDK", Python).of(&["openai-agents"], &["agents"]).made_by(&["Agent"]),
    agent("pydantic-ai", "Pydantic AI", Python).of(&["pydantic-ai", "pydantic-ai-*"], &["pydantic_ai"]).made_by(&["Agent"]),
    agent("llamaindex", "LlamaIndex", Python).of(&["llama-index", "llama-index-core", "llama-index-*"], &["llama_index"]).made_by(&["FunctionAgent", "ReActAgent", "AgentWorkflow", "VectorStoreIndex.from_documents"]),
    agent("autogen", "AutoGen", Python).of(&["autogen", "pyautogen", "ag2", "autogen-*"], &["autogen", "autogen_agentchat", "autogen_core", "autogen_ext"]).made_by(&["AssistantAgent", "ConversableAgent", "UserProxyAgent"]),
    agent("google-adk", "Google ADK", Python).of(&["google-adk"], &["google.adk"]).made_by(&["Agent", "LlmAgent", "SequentialAgent", "ParallelAgent", "LoopAgent"]),
    agent("langchain", "LangChain.js", Node).of(&["langchain", "@langchain/core", "@langchain/*"], &["langchain", "@langchain"]).made_by(&["ChatOpenAI", "createAgent", "AgentExecutor"]),
    agent("langgraph", "LangGraph.js", Node).of(&["@langchain/langgraph", "@langchain/langgraph-*"], &["@langchain/langgraph", "@langchain/langgraph-sdk"]).made_by(&["StateGraph", "createReactAgent"]).with(&["langgraph.json"]),
    agent("llamaindex", "LlamaIndex.TS", Node).of(&["llamaindex", "@llamaindex/*"], &["llamaindex", "@llamaindex"]).made_by(&["agent", "VectorStoreIndex.fromDocuments"]),
    agent("openai-agents", "OpenAI Agents SDK", Node).of(&["@openai/agents", "@openai/agents-*"], &["@openai/agents", "@openai/agents-core", "@openai/agents-realtime"]).made_by(&["Agent"]),
    agent("google-adk", "Google ADK", Node).of(&["@google/adk"], &["@google/adk"]).made_by(&["LlmAgent"]),
    agent("google-adk", "Google ADK", Jvm).of(&["com.google.adk:*"], &["com.google.adk"]).made_by(&["LlmAgent.builder"]),
    agent("ai-sdk", "Vercel AI SDK", Node).of(&["ai", "@ai-sdk/*"], &["ai", "@ai-sdk"]).made_by(&["streamText", "generateText", "streamObject", "generateObject", "ToolLoopAgent"]),
    agent("mastra", "Mastra", Node).of(&["@mastra/core", "mastra", "@mastra/*"], &["@mastra"]).made_by(&["Mastra", "Agent"]).over(&["ai-sdk"]),
    // Go, Rust, Java, Ruby, PHP, C#, Elixir
    web("gin", "Gin", Go).of(&["github.com/gin-gonic/gin"], &["github.com/gin-gonic/gin"]).made_by(&["gin.Default", "gin.New"]),
    web("echo", "Echo", Go).of(&["github.com/labstack/echo", "github.com/labstack/echo/*"], &["github.com/labstack/echo"]).made_by(&["echo.New"]),
    web("fiber", "Fiber", Go).of(&["github.com/gofiber/fiber", "github.com/gofiber/fiber/*"], &["github.com/gofiber/fiber"]).made_by(&["fiber.New"]),
    web("axum", "Axum", Rust).of(&["axum"], &["axum"]).made_by(&["Router::new", "axum::serve"]),
    web("actix", "Actix Web", Rust).of(&["actix-web"], &["actix_web"]).made_by(&["HttpServer::new", "App::new"]),
    web("rocket", "Rocket", Rust).of(&["rocket"], &["rocket"]).made_by(&["rocket::build", "rocket::ignite"]),
    web("spring-boot", "Spring Boot", Jvm).of(&["org.springframework.boot", "org.springframework.boot:*"], &["org.springframework.boot"]).made_by(&["SpringApplication.run", "runApplication"]),
    web("quarkus", "Quarkus", Jvm).of(&["io.quarkus", "io.quarkus:*", "io.quarkus.platform:*"], &["io.quarkus"]).made_by(&["Quarkus.run"]),
    web("rails", "Ruby on Rails", Ruby).of(&["rails", "railties"], &["rails"]).made_by(&["Rails.application"]).with(&["config/application.rb", "bin/rails"]).over(&["sinatra"]),
    web("sinatra", "Sinatra", Ruby).of(&["sinatra"], &["sinatra"]).made_by(&["Sinatra::Base", "Sinatra::Application"]),
    web("laravel", "Laravel", Php).of(&["laravel/framework", "laravel/lumen-framework"], &["Illuminate\\Foundation", "Illuminate\\Support\\Facades"]).made_by(&["Application::configure"]).with(&["artisan"]).over(&["symfony"]),
    web("symfony", "Symfony", Php).of(&["symfony/framework-bundle", "symfony/symfony"], &["Symfony\\Bundle"]).with(&["config/bundles.php", "symfony.lock"]),
    web("aspnetcore", "ASP.NET Core", Dotnet).of(&["Microsoft.NET.Sdk.Web", "Microsoft.AspNetCore.App", "Microsoft.AspNetCore.OpenApi", "Microsoft.AspNetCore.Mvc*", "Microsoft.AspNetCore.Identity*", "Microsoft.AspNetCore.Authentication*"], &["Microsoft.AspNetCore"]).made_by(&["WebApplication.CreateBuilder", "WebApplication.CreateSlimBuilder", "WebHost.CreateDefaultBuilder"]),
    web("phoenix", "Phoenix", Elixir).of(&["phoenix"], &["Phoenix"]).made_by(&["use Phoenix.Endpoint"]),
    // Language models
    model("openai", "OpenAI", Python).of(&["openai"], &["openai"]).made_by(&["OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"]),
    model("anthropic", "Anthropic", Python).of(&["anthropic"], &["anthropic"]).made_by(&["Anthropic", "AsyncAnthropic"]),
    model("google-genai", "Google Gen AI", Python).of(&["google-genai", "google-generativeai"], &["google.genai", "google.generativeai"]).made_by(&["genai.Client", "genai.GenerativeModel"]),
    model("litellm", "LiteLLM", Python).of(&["litellm"], &["litellm"]),
    model("mistral", "Mistral", Python).of(&["mistralai"], &["mistralai"]).made_by(&["Mistral"]),
    model("groq", "Groq", Python).of(&["groq"], &["groq"]).made_by(&["Groq", "AsyncGroq"]),
    model("cohere", "Cohere", Python).of(&["cohere"], &["cohere"]),
    model("ollama", "Ollama", Python).of(&["ollama"], &["ollama"]),
    model("openai", "OpenAI", Node).of(&["openai"], &["openai"]).made_by(&["OpenAI", "AzureOpenAI"]),
    model("anthropic", "Anthropic", Node).of(&["@anthropic-ai/sdk"], &["@anthropic-ai/sdk"]).made_by(&["Anthropic"]),
    model("google-genai", "Google Gen AI", Node).of(&["@google/genai", "@google/generative-ai"], &["@google/genai", "@google/generative-ai"]).made_by(&["GoogleGenAI", "GoogleGenerativeAI"]),
    model("mistral", "Mistral", Node).of(&["@mistralai/mistralai"], &["@mistralai/mistralai"]).made_by(&["Mistral"]),
    model("groq", "Groq", Node).of(&["groq-sdk"], &["groq-sdk"]).made_by(&["Groq"]),
    model("cohere", "Cohere", Node).of(&["cohere-ai"], &["cohere-ai"]),
    model("ollama", "Ollama", Node).of(&["ollama"], &["ollama"]),
];

/// The number of a rule in the table.
pub(crate) type RuleId = usize;

/// The rule that a declared package belongs to: the one that names it most exactly.
pub(crate) fn of_package(ecosystem: Ecosystem, package: &str) -> Option<RuleId> {
    let fits = |(id, rule): (RuleId, &Rule)| Some((rule.fit(package)?, id));
    let rules = RULES.iter().enumerate().filter(|(_, rule)| rule.ecosystem == ecosystem);
    rules.filter_map(fits).max().map(|(_, id)| id)
}

/// The rule that an imported module belongs to: the one that names it most exactly.
pub(crate) fn of_module(ecosystem: Ecosystem, module: &str) -> Option<RuleId> {
    let module = if ecosystem == Node { without_version(module) } else { module.to_owned() };
    let fits = |(id, rule): (RuleId, &Rule)| {
        let length =
            rule.modules.iter().filter(|known| is_beneath(&module, known)).map(|known| known.len()).max()?;
        Some((length, id))
    };
    let rules = RULES.iter().enumerate().filter(|(_, rule)| rule.ecosystem == ecosystem);
    rules.filter_map(fits).max().map(|(_, id)| id)
}

/// `jsr:@hono/hono@4.6.14/cors` is `@hono/hono/cors`.
fn without_version(module: &str) -> String {
    let Some(module) = module.strip_prefix("jsr:").or_else(|| module.strip_prefix("npm:")) else {
        return module.to_owned();
    };
    let name = usize::from(module.starts_with('@'));
    let Some(at) = module[name..].find('@').map(|at| at + name) else { return module.to_owned() };
    let rest = module[at..].find('/').map_or("", |slash| &module[at + slash..]);
    format!("{}{rest}", &module[..at])
}

/// Whether a module is this one, or lies beneath it.
fn is_beneath(module: &str, known: &str) -> bool {
    match (known.strip_suffix('*'), module.strip_prefix(known)) {
        (Some(start), _) => module.starts_with(start),
        (None, Some(rest)) => rest.is_empty() || rest.starts_with(['.', '/', ':', '\\']),
        (None, None) => false,
    }
}

/// The names of all frameworks, without doubles.
pub static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<_> = RULES.iter().filter(|rule| rule.is_framework()).map(|rule| rule.name).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_rule_wins() {
        let package = |ecosystem, name| of_package(ecosystem, name).map(|id| RULES[id].name);
        assert_eq!(package(Node, "@langchain/langgraph"), Some("langgraph"));
        assert_eq!(package(Node, "@langchain/openai"), Some("langchain"));
        assert_eq!(package(Python, "langchain-openai"), Some("langchain"));
        assert_eq!(package(Python, "express"), None);
        assert_eq!(package(Jvm, "org.springframework.boot:spring-boot-starter-web"), Some("spring-boot"));
        let module = |ecosystem, name| of_module(ecosystem, name).map(|id| RULES[id].name);
        assert_eq!(module(Python, "google.adk.agents"), Some("google-adk"));
        assert_eq!(module(Python, "langchain_openai"), Some("langchain"));
        assert_eq!(module(Python, "fastapi_users"), None);
        assert_eq!(module(Node, "next/server"), Some("nextjs"));
        assert_eq!(module(Node, "next-auth"), None);
        assert_eq!(module(Node, "jsr:@hono/hono@4.6.14/cors"), Some("hono"));
        assert_eq!(module(Node, "npm:express@4"), Some("express"));
        assert_eq!(module(Go, "github.com/labstack/echo/v4"), Some("echo"));
    }

    #[test]
    fn what_is_superseded_exists() {
        for rule in RULES {
            assert!(rule.over.iter().all(|name| NAMES.contains(name)), "{}", rule.name);
        }
        assert!(RULES.len() <= 127, "hits are kept in 128 bits, one of them for programs");
    }
}
