//! Routes that look like the way users talk to the program, though no call of a model was followed from them.

use crate::patterns;
use codebase::Route;

use crate::candidate::rank_name;
use crate::endpoint::find_text_field;
use crate::integrate::RecipeInput;

/// What it costs that no call of a model was followed.
pub(crate) const UNCONNECTED_PENALTY: i32 = 25;
/// From this rank on, a name says by itself that users talk to it.
const MIN_RANK_ALONE: i32 = 20;
const MIN_RANK_WITH_MODEL: i32 = -2;

/// Those of the package whose names and fields say that they answer, with what is missing from the proof.
pub(crate) fn answering_routes<'i>(input: &'i RecipeInput<'_>) -> impl Iterator<Item = (&'i Route, String)> {
    let rank_of = |route: &Route| rank_name(&route.path) + rank_name(&route.handler) / 2;
    // Where a route leads to a model that is more than a helper, others do not.
    let is_known = input.routes().any(|route| rank_of(route) >= 0 && !input.is_example_or_test(&route.file));
    let own = input.other_routes().filter(move |route| !is_known && !input.is_example_or_test(&route.file));
    own.filter_map(move |route| {
        let rank = rank_of(route);
        let is_beside = input.model_imports().any(|import| import.path == route.file);
        let enough =
            if route.model_nearby.is_some() || is_beside { MIN_RANK_WITH_MODEL } else { MIN_RANK_ALONE };
        let takes_text = find_text_field(&route.request).is_some_and(|field| is_said_by_user(&field));
        // Where no model is called at all, a name proves nothing.
        let is_candidate = matches!(route.method.as_str(), "POST" | "ANY") && rank >= enough && takes_text;
        let is_likely = || {
            route.model_nearby.is_some()
                || !input.profile.agents.is_empty()
                || input.model_imports().next().is_some()
                || is_called_like_model(route)
                || names_model(input).is_some()
        };
        (is_candidate && is_likely()).then(|| (route, missing_proof(input, route)))
    })
}

/// Whether a field is called like what a user says; `content` and `text` may be anything that is stored.
fn is_said_by_user(field: &str) -> bool {
    let field = field.to_lowercase().replace('_', "");
    ["message", "question", "query", "prompt", "input", "utterance", "msg"]
        .iter()
        .any(|word| field.contains(word))
}

/// Whether the path or the file of a route has the name of a model or its provider.
fn is_called_like_model(route: &Route) -> bool {
    let names = format!("{} {}", route.path, route.file).to_lowercase();
    ["openai", "gpt", "gemini", "claude", "llm", "ollama", "deepseek", "mistral"]
        .iter()
        .any(|word| names.contains(word))
}

/// What tells that the program uses a model, for a sentence which says that no call of one was followed.
pub(crate) fn model_phrase(input: &RecipeInput<'_>) -> String {
    if let Some(import) = input.model_imports().next() {
        return format!("; {} {}", input.redactor().location(&import.path, import.line), import.fact);
    }
    names_model(input).map_or_else(String::new, |(place, name)| format!("; {place} names {name}"))
}

/// A setting for a model or its provider that the package documents: where, and its name.
fn names_model(input: &RecipeInput<'_>) -> Option<(String, String)> {
    const FILES: &[&str] = &[
        ".env.example",
        ".env.sample",
        ".env.template",
        "env.example",
        ".env.local.example",
        "README.md",
        "readme.md",
        "docker-compose.yml",
        "config.py",
        "app/config.py",
        "app/core/config.py",
    ];
    let setting = patterns::compile(
        r"\b(?:OPENAI|OPEN_AI|ANTHROPIC|CLAUDE|GEMINI|GOOGLE_AI|GOOGLE_GENAI|GROQ|MISTRAL|COHERE|DEEPSEEK|OPENROUTER|TOGETHER|OLLAMA|LLM|AZURE_OPENAI|BEDROCK|WATSONX)_[A-Z_]*(?:KEY|TOKEN|URL|HOST|MODEL|MODEL_ID|PROVIDER|ENDPOINT)\b",
    )
    .ok()?;
    FILES.iter().find_map(|file| {
        let path = input.package_path(file);
        let text = input.file_text(&path);
        let found = setting.find(&text)?;
        let line = text[..found.start()].matches('\n').count() + 1;
        let place = input.redactor().location(&path, u32::try_from(line).unwrap_or(0));
        Some((place, found.as_str().to_owned()))
    })
}

fn missing_proof(input: &RecipeInput<'_>, route: &Route) -> String {
    let shown = input.display_route(route);
    let nearest = route.model_nearby.as_ref().map(|evidence| {
        let place = input.redactor().location(&evidence.path, evidence.line);
        format!("; the nearest one is at {place}, which {}", evidence.fact)
    });
    let nearby = nearest.unwrap_or_else(|| model_phrase(input));
    format!("no call of a known language model was followed from {shown}{nearby}")
}
