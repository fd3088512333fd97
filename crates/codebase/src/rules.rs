//! The known libraries, one line each. To add one, add a line here and a fixture in `tests/fixtures`.

use std::sync::LazyLock;

use crate::manifest::Ecosystem::{self, Dotnet, Elixir, Go, Jvm, Node, Php, Python, Ruby, Rust};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryRole {
    /// It serves requests or pages.
    Web,
    /// It runs agents.
    Agent,
    /// It calls a language model. Not a framework, but a function that uses it acts as an agent.
    Model,
}

#[derive(Debug)]
pub struct LibraryRule {
    /// The name in results.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    pub ecosystem: Ecosystem,
    pub role: LibraryRole,
    /// Package names. `x*` matches all that begin with `x`.
    packages: &'static [&'static str],
    /// Module names, including their submodules.
    pub(crate) modules: &'static [&'static str],
    /// Calls that create its central object: `FastAPI(…)`.
    pub(crate) constructors: &'static [&'static str],
    /// Configuration files specific to it; `*` matches any extension.
    pub(crate) config_files: &'static [&'static str],
    /// Frameworks that it is built on, which are dropped when both are found.
    pub(crate) supersedes: &'static [&'static str],
    /// A build tool: listing it as a development dependency does not lower the confidence.
    pub(crate) is_build_tool: bool,
}

impl LibraryRule {
    const fn new(name: &'static str, title: &'static str, ecosystem: Ecosystem, role: LibraryRole) -> Self {
        let none: &[&str] = &[];
        Self {
            name,
            title,
            ecosystem,
            role,
            packages: none,
            modules: none,
            constructors: none,
            config_files: none,
            supersedes: none,
            is_build_tool: false,
        }
    }

    const fn packages(mut self, packages: &'static [&'static str], modules: &'static [&'static str]) -> Self {
        self.packages = packages;
        self.modules = modules;
        self
    }

    const fn constructors(mut self, makers: &'static [&'static str]) -> Self {
        self.constructors = makers;
        self
    }

    const fn config_files(mut self, files: &'static [&'static str]) -> Self {
        self.config_files = files;
        self
    }

    const fn supersedes(mut self, others: &'static [&'static str]) -> Self {
        self.supersedes = others;
        self
    }

    const fn build_tool(mut self) -> Self {
        self.is_build_tool = true;
        self
    }

    pub fn is_framework(&self) -> bool {
        self.role != LibraryRole::Model
    }

    /// The index of a package; the first one carries the framework's version.
    pub(crate) fn package_rank(&self, package: &str) -> usize {
        self.packages.iter().position(|known| *known == package).unwrap_or(self.packages.len())
    }

    pub(crate) fn has_shared_version(&self) -> bool {
        matches!(self.ecosystem, Jvm | Dotnet)
    }

    /// The length of the pattern that a package name matches; longer is more specific.
    fn match_length(&self, package: &str) -> Option<usize> {
        let fits = |pattern: &&&str| match pattern.strip_suffix('*') {
            Some(start) => package.starts_with(start),
            None => **pattern == package,
        };
        self.packages.iter().filter(fits).map(|pattern| pattern.len()).max()
    }
}

const fn web(name: &'static str, title: &'static str, ecosystem: Ecosystem) -> LibraryRule {
    LibraryRule::new(name, title, ecosystem, LibraryRole::Web)
}

const fn agent(name: &'static str, title: &'static str, ecosystem: Ecosystem) -> LibraryRule {
    LibraryRule::new(name, title, ecosystem, LibraryRole::Agent)
}

const fn model(name: &'static str, title: &'static str, ecosystem: Ecosystem) -> LibraryRule {
    LibraryRule::new(name, title, ecosystem, LibraryRole::Model)
}

#[rustfmt::skip] // one line per rule
pub static RULES: &[LibraryRule] = &[
    // Python web frameworks
    web("fastapi", "FastAPI", Python).packages(&["fastapi", "fastapi-slim"], &["fastapi"]).constructors(&["FastAPI"]).supersedes(&["starlette"]),
    web("starlette", "Starlette", Python).packages(&["starlette"], &["starlette"]).constructors(&["Starlette"]),
    web("flask", "Flask", Python).packages(&["flask"], &["flask"]).constructors(&["Flask"]),
    web("django", "Django", Python).packages(&["django"], &["django"]).constructors(&["get_asgi_application", "get_wsgi_application", "execute_from_command_line"]).config_files(&["manage.py"]),
    web("litestar", "Litestar", Python).packages(&["litestar"], &["litestar"]).constructors(&["Litestar"]).supersedes(&["starlette"]),
    // JavaScript and TypeScript web frameworks
    web("express", "Express", Node).packages(&["express"], &["express"]).constructors(&["express"]),
    web("nextjs", "Next.js", Node).packages(&["next"], &["next"]).config_files(&["next.config.*"]).build_tool(),
    web("nestjs", "NestJS", Node).packages(&["@nestjs/core", "@nestjs/common"], &["@nestjs"]).constructors(&["NestFactory.create", "NestFactory.createMicroservice", "NestFactory.createApplicationContext"]).config_files(&["nest-cli.json"]).supersedes(&["express", "fastify"]),
    web("sveltekit", "SvelteKit", Node).packages(&["@sveltejs/kit"], &["@sveltejs/kit", "$app"]).supersedes(&["svelte"]).build_tool(),
    web("svelte", "Svelte", Node).packages(&["svelte"], &["svelte"]).config_files(&["svelte.config.*"]).build_tool(),
    web("remix", "Remix", Node).packages(&["@remix-run/react", "@remix-run/node", "@remix-run/serve", "@remix-run/dev", "@remix-run/express", "@remix-run/cloudflare", "@remix-run/deno", "@remix-run/architect", "@remix-run/server-runtime"], &["@remix-run/react", "@remix-run/node", "@remix-run/express", "@remix-run/cloudflare", "@remix-run/deno", "@remix-run/dev"]).config_files(&["remix.config.*"]).supersedes(&["react-router", "express"]).build_tool(),
    web("react-router", "React Router", Node).packages(&["@react-router/*"], &["@react-router"]).config_files(&["react-router.config.*"]).build_tool(),
    web("nuxt", "Nuxt", Node).packages(&["nuxt", "nuxt3", "nuxt-edge"], &["nuxt", "#app", "#imports"]).config_files(&["nuxt.config.*"]).build_tool(),
    web("astro", "Astro", Node).packages(&["astro"], &["astro", "astro:content", "astro:assets"]).config_files(&["astro.config.*"]).build_tool(),
    web("hono", "Hono", Node).packages(&["hono", "@hono/hono"], &["hono", "@hono/hono", "@hono/zod-openapi"]).constructors(&["Hono", "OpenAPIHono"]),
    web("fastify", "Fastify", Node).packages(&["fastify"], &["fastify"]).constructors(&["fastify", "Fastify"]),
    web("koa", "Koa", Node).packages(&["koa"], &["koa"]).constructors(&["Koa"]),
    // Agent frameworks
    agent("langchain", "LangChain", Python).packages(&["langchain", "langchain-core", "langchain-*"], &["langchain", "langchain_core", "langchain_community", "langchain_openai", "langchain_anthropic", "langchain_*"]).constructors(&["create_agent", "AgentExecutor", "init_chat_model", "ChatOpenAI", "ChatAnthropic", "AzureChatOpenAI"]),
    agent("langgraph", "LangGraph", Python).packages(&["langgraph", "langgraph-*"], &["langgraph", "langgraph_*"]).constructors(&["StateGraph", "create_react_agent", "MessageGraph"]).config_files(&["langgraph.json"]),
    agent("crewai", "CrewAI", Python).packages(&["crewai", "crewai-tools"], &["crewai", "crewai_tools"]).constructors(&["Crew", "Agent", "Flow"]),
    agent("openai-agents", "OpenAI Agents SDK", Python).packages(&["openai-agents"], &["agents"]).constructors(&["Agent"]),
    agent("pydantic-ai", "Pydantic AI", Python).packages(&["pydantic-ai", "pydantic-ai-*"], &["pydantic_ai"]).constructors(&["Agent"]),
    agent("llamaindex", "LlamaIndex", Python).packages(&["llama-index", "llama-index-core", "llama-index-*"], &["llama_index"]).constructors(&["FunctionAgent", "ReActAgent", "AgentWorkflow", "VectorStoreIndex.from_documents"]),
    agent("autogen", "AutoGen", Python).packages(&["autogen", "pyautogen", "ag2", "autogen-*"], &["autogen", "autogen_agentchat", "autogen_core", "autogen_ext"]).constructors(&["AssistantAgent", "ConversableAgent", "UserProxyAgent"]),
    agent("semantic-kernel", "Semantic Kernel", Python).packages(&["semantic-kernel"], &["semantic_kernel"]).constructors(&["Kernel", "ChatCompletionAgent"]),
    agent("deepagents", "Deep Agents", Python).packages(&["deepagents"], &["deepagents"]).constructors(&["create_deep_agent"]),
    agent("smolagents", "smolagents", Python).packages(&["smolagents"], &["smolagents"]).constructors(&["CodeAgent", "ToolCallingAgent"]),
    agent("agno", "Agno", Python).packages(&["agno", "phidata"], &["agno", "phi"]).constructors(&["Agent", "Team"]),
    agent("strands", "Strands Agents", Python).packages(&["strands-agents", "strands-agents-*"], &["strands"]).constructors(&["Agent"]),
    agent("genkit", "Genkit", Python).packages(&["genkit", "genkit-*"], &["genkit"]).constructors(&["Genkit"]),
    agent("haystack", "Haystack", Python).packages(&["haystack-ai", "farm-haystack"], &["haystack"]).constructors(&["Pipeline"]),
    agent("dspy", "DSPy", Python).packages(&["dspy", "dspy-ai"], &["dspy"]).constructors(&["dspy.LM"]),
    agent("google-adk", "Google ADK", Python).packages(&["google-adk"], &["google.adk"]).constructors(&["Agent", "LlmAgent", "SequentialAgent", "ParallelAgent", "LoopAgent"]),
    agent("langchain", "LangChain.js", Node).packages(&["langchain", "@langchain/core", "@langchain/*"], &["langchain", "@langchain"]).constructors(&["ChatOpenAI", "createAgent", "AgentExecutor"]),
    agent("langgraph", "LangGraph.js", Node).packages(&["@langchain/langgraph", "@langchain/langgraph-*"], &["@langchain/langgraph", "@langchain/langgraph-sdk"]).constructors(&["StateGraph", "createReactAgent"]).config_files(&["langgraph.json"]),
    agent("llamaindex", "LlamaIndex.TS", Node).packages(&["llamaindex", "@llamaindex/*"], &["llamaindex", "@llamaindex"]).constructors(&["agent", "VectorStoreIndex.fromDocuments"]),
    agent("openai-agents", "OpenAI Agents SDK", Node).packages(&["@openai/agents", "@openai/agents-*"], &["@openai/agents", "@openai/agents-core", "@openai/agents-realtime"]).constructors(&["Agent"]),
    agent("google-adk", "Google ADK", Node).packages(&["@google/adk"], &["@google/adk"]).constructors(&["LlmAgent"]),
    agent("google-adk", "Google ADK", Jvm).packages(&["com.google.adk:*"], &["com.google.adk"]).constructors(&["LlmAgent.builder"]),
    agent("ai-sdk", "Vercel AI SDK", Node).packages(&["ai", "@ai-sdk/*"], &["ai", "@ai-sdk"]).constructors(&["streamText", "generateText", "streamObject", "generateObject", "ToolLoopAgent"]),
    agent("genkit", "Genkit", Node).packages(&["genkit", "@genkit-ai/*"], &["genkit", "@genkit-ai"]).constructors(&["genkit"]),
    agent("mastra", "Mastra", Node).packages(&["@mastra/core", "mastra", "@mastra/*"], &["@mastra"]).constructors(&["Mastra", "Agent"]).supersedes(&["ai-sdk"]),
    // Go, Rust, Java, Ruby, PHP, C#, Elixir
    web("gin", "Gin", Go).packages(&["github.com/gin-gonic/gin"], &["github.com/gin-gonic/gin"]).constructors(&["gin.Default", "gin.New"]),
    web("echo", "Echo", Go).packages(&["github.com/labstack/echo", "github.com/labstack/echo/*"], &["github.com/labstack/echo"]).constructors(&["echo.New"]),
    web("fiber", "Fiber", Go).packages(&["github.com/gofiber/fiber", "github.com/gofiber/fiber/*"], &["github.com/gofiber/fiber"]).constructors(&["fiber.New"]),
    web("axum", "Axum", Rust).packages(&["axum"], &["axum"]).constructors(&["Router::new", "axum::serve"]),
    web("actix", "Actix Web", Rust).packages(&["actix-web"], &["actix_web"]).constructors(&["HttpServer::new", "App::new"]),
    web("rocket", "Rocket", Rust).packages(&["rocket"], &["rocket"]).constructors(&["rocket::build", "rocket::ignite"]),
    web("spring-boot", "Spring Boot", Jvm).packages(&["org.springframework.boot", "org.springframework.boot:*"], &["org.springframework.boot"]).constructors(&["SpringApplication.run", "runApplication"]),
    web("quarkus", "Quarkus", Jvm).packages(&["io.quarkus", "io.quarkus:*", "io.quarkus.platform:*"], &["io.quarkus"]).constructors(&["Quarkus.run"]),
    web("rails", "Ruby on Rails", Ruby).packages(&["rails", "railties"], &["rails"]).constructors(&["Rails.application"]).config_files(&["config/application.rb", "bin/rails"]).supersedes(&["sinatra"]),
    web("sinatra", "Sinatra", Ruby).packages(&["sinatra"], &["sinatra"]).constructors(&["Sinatra::Base", "Sinatra::Application"]),
    web("laravel", "Laravel", Php).packages(&["laravel/framework", "laravel/lumen-framework"], &["Illuminate\\Foundation", "Illuminate\\Support\\Facades"]).constructors(&["Application::configure"]).config_files(&["artisan"]).supersedes(&["symfony"]),
    web("symfony", "Symfony", Php).packages(&["symfony/framework-bundle", "symfony/symfony"], &["Symfony\\Bundle"]).config_files(&["config/bundles.php", "symfony.lock"]),
    web("aspnetcore", "ASP.NET Core", Dotnet).packages(&["Microsoft.NET.Sdk.Web", "Microsoft.AspNetCore.App", "Microsoft.AspNetCore.OpenApi", "Microsoft.AspNetCore.Mvc*", "Microsoft.AspNetCore.Identity*", "Microsoft.AspNetCore.Authentication*"], &["Microsoft.AspNetCore"]).constructors(&["WebApplication.CreateBuilder", "WebApplication.CreateSlimBuilder", "WebHost.CreateDefaultBuilder"]),
    web("phoenix", "Phoenix", Elixir).packages(&["phoenix"], &["Phoenix"]).constructors(&["use Phoenix.Endpoint"]),
    // Language model libraries
    model("openai", "OpenAI", Python).packages(&["openai"], &["openai"]).constructors(&["OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"]),
    model("anthropic", "Anthropic", Python).packages(&["anthropic"], &["anthropic"]).constructors(&["Anthropic", "AsyncAnthropic"]),
    model("google-genai", "Google Gen AI", Python).packages(&["google-genai", "google-generativeai"], &["google.genai", "google.generativeai"]).constructors(&["genai.Client", "genai.GenerativeModel"]),
    model("litellm", "LiteLLM", Python).packages(&["litellm"], &["litellm"]),
    model("mistral", "Mistral", Python).packages(&["mistralai"], &["mistralai"]).constructors(&["Mistral"]),
    model("groq", "Groq", Python).packages(&["groq"], &["groq"]).constructors(&["Groq", "AsyncGroq"]),
    model("cohere", "Cohere", Python).packages(&["cohere"], &["cohere"]),
    model("ollama", "Ollama", Python).packages(&["ollama"], &["ollama"]),
    model("huggingface", "Hugging Face", Python).packages(&["huggingface-hub"], &["huggingface_hub"]).constructors(&["InferenceClient", "AsyncInferenceClient"]),
    model("transformers", "a local model", Python).packages(&["transformers", "ctransformers", "llama-cpp-python", "gpt4all", "vllm"], &["transformers", "ctransformers", "llama_cpp", "gpt4all", "vllm"]),
    model("vertex-ai", "Vertex AI", Python).packages(&["google-cloud-aiplatform"], &["vertexai"]).constructors(&["GenerativeModel"]),
    model("together", "Together AI", Python).packages(&["together"], &["together"]),
    model("replicate", "Replicate", Python).packages(&["replicate"], &["replicate"]),
    model("dashscope", "DashScope", Python).packages(&["dashscope"], &["dashscope"]),
    model("zhipu", "Zhipu AI", Python).packages(&["zhipuai", "zai-sdk"], &["zhipuai", "zai"]),
    model("xai", "xAI", Python).packages(&["xai-sdk"], &["xai_sdk"]),
    model("cerebras", "Cerebras", Python).packages(&["cerebras-cloud-sdk"], &["cerebras"]),
    model("claude-agent", "Claude Agent SDK", Python).packages(&["claude-agent-sdk", "claude-code-sdk"], &["claude_agent_sdk", "claude_code_sdk"]),
    model("azure-inference", "Azure AI Inference", Python).packages(&["azure-ai-inference"], &["azure.ai.inference"]),
    model("bedrock", "Amazon Bedrock", Python),
    model("openai-compatible", "an OpenAI-compatible service", Python),
    model("openai-compatible", "an OpenAI-compatible service", Node),
    model("openai", "OpenAI", Node).packages(&["openai", "openai-api", "openai-edge"], &["openai", "openai-api", "openai-edge"]).constructors(&["OpenAI", "AzureOpenAI"]),
    model("anthropic", "Anthropic", Node).packages(&["@anthropic-ai/sdk"], &["@anthropic-ai/sdk"]).constructors(&["Anthropic"]),
    model("google-genai", "Google Gen AI", Node).packages(&["@google/genai", "@google/generative-ai"], &["@google/genai", "@google/generative-ai"]).constructors(&["GoogleGenAI", "GoogleGenerativeAI"]),
    model("mistral", "Mistral", Node).packages(&["@mistralai/mistralai"], &["@mistralai/mistralai"]).constructors(&["Mistral"]),
    model("groq", "Groq", Node).packages(&["groq-sdk"], &["groq-sdk"]).constructors(&["Groq"]),
    model("cohere", "Cohere", Node).packages(&["cohere-ai"], &["cohere-ai"]),
    model("ollama", "Ollama", Node).packages(&["ollama"], &["ollama"]),
    model("huggingface", "Hugging Face", Node).packages(&["@huggingface/inference", "@xenova/transformers", "@huggingface/transformers"], &["@huggingface/inference", "@xenova/transformers", "@huggingface/transformers"]),
    model("replicate", "Replicate", Node).packages(&["replicate"], &["replicate"]),
    model("together", "Together AI", Node).packages(&["together-ai"], &["together-ai"]),
    model("vertex-ai", "Vertex AI", Node).packages(&["@google-cloud/vertexai"], &["@google-cloud/vertexai"]),
    model("claude-agent", "Claude Agent SDK", Node).packages(&["@anthropic-ai/claude-agent-sdk"], &["@anthropic-ai/claude-agent-sdk"]),
    model("bedrock", "Amazon Bedrock", Node).packages(&["@aws-sdk/client-bedrock-runtime"], &["@aws-sdk/client-bedrock-runtime"]),
];

/// Addresses of model providers, each with the library that speaks to it. Some programs call them without it.
pub(crate) const PROVIDER_HOSTS: &[(&str, &str)] = &[
    ("api.openai.com", "openai"),
    ("openrouter.ai/api", "openai-compatible"),
    ("api.deepseek.com", "openai-compatible"),
    ("api.together.xyz", "openai-compatible"),
    ("api.perplexity.ai", "openai-compatible"),
    ("api.x.ai", "openai-compatible"),
    (".openai.azure.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "google-genai"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral"),
    ("api.cohere.", "cohere"),
    (":11434", "ollama"),
    // Compatible servers under any address.
    ("/chat/completions", "openai-compatible"),
    (":generateContent", "google-genai"),
    (":streamGenerateContent", "google-genai"),
];

/// The rule of a library in an ecosystem.
pub(crate) fn find_rule(ecosystem: Ecosystem, name: &str) -> Option<RuleId> {
    RULES.iter().position(|rule| rule.ecosystem == ecosystem && rule.name == name)
}

/// The index of a rule in [`RULES`].
pub(crate) type RuleId = usize;

/// The most specific rule for a declared package.
pub(crate) fn find_rule_for_package(ecosystem: Ecosystem, package: &str) -> Option<RuleId> {
    let fits = |(id, rule): (RuleId, &LibraryRule)| Some((rule.match_length(package)?, id));
    let rules = RULES.iter().enumerate().filter(|(_, rule)| rule.ecosystem == ecosystem);
    rules.filter_map(fits).max().map(|(_, id)| id)
}

/// The most specific rule for an imported module.
pub(crate) fn find_rule_for_module(ecosystem: Ecosystem, module: &str) -> Option<RuleId> {
    let module = if ecosystem == Node { strip_version(module) } else { module.to_owned() };
    let fits = |(id, rule): (RuleId, &LibraryRule)| {
        let length = rule
            .modules
            .iter()
            .filter(|known| matches_module(&module, known))
            .map(|known| known.len())
            .max()?;
        Some((length, id))
    };
    let rules = RULES.iter().enumerate().filter(|(_, rule)| rule.ecosystem == ecosystem);
    rules.filter_map(fits).max().map(|(_, id)| id)
}

/// Reduces `jsr:@hono/hono@4.6.14/cors` to `@hono/hono/cors`.
fn strip_version(module: &str) -> String {
    let Some(module) = module.strip_prefix("jsr:").or_else(|| module.strip_prefix("npm:")) else {
        return module.to_owned();
    };
    let name = usize::from(module.starts_with('@'));
    let Some(at) = module[name..].find('@').map(|at| at + name) else { return module.to_owned() };
    let rest = module[at..].find('/').map_or("", |slash| &module[at + slash..]);
    format!("{}{rest}", &module[..at])
}

/// Whether a module is `known` or one of its submodules.
fn matches_module(module: &str, known: &str) -> bool {
    match (known.strip_suffix('*'), module.strip_prefix(known)) {
        (Some(start), _) => module.starts_with(start),
        (None, Some(rest)) => rest.is_empty() || rest.starts_with(['.', '/', ':', '\\']),
        (None, None) => false,
    }
}

/// The names of all frameworks, without duplicates.
pub static FRAMEWORK_NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names: Vec<_> = RULES.iter().filter(|rule| rule.is_framework()).map(|rule| rule.name).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_specific_rule_wins() {
        let package = |ecosystem, name| find_rule_for_package(ecosystem, name).map(|id| RULES[id].name);
        assert_eq!(package(Node, "@langchain/langgraph"), Some("langgraph"));
        assert_eq!(package(Node, "@langchain/openai"), Some("langchain"));
        assert_eq!(package(Python, "langchain-openai"), Some("langchain"));
        assert_eq!(package(Python, "express"), None);
        assert_eq!(package(Jvm, "org.springframework.boot:spring-boot-starter-web"), Some("spring-boot"));
        let module = |ecosystem, name| find_rule_for_module(ecosystem, name).map(|id| RULES[id].name);
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
    fn superseded_frameworks_exist() {
        for rule in RULES {
            assert!(rule.supersedes.iter().all(|name| FRAMEWORK_NAMES.contains(name)), "{}", rule.name);
        }
        assert!(RULES.len() <= 127, "hits are kept in 128 bits, one of them for programs");
    }
}
