//! What FluxLoop could run, and how likely it is that a person would mean it.

use crate::target::variable_name;

/// A function, an object or a route that FluxLoop could run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The value of `agent` that chooses it.
    pub agent: String,
    pub kind: CandidateKind,
    pub path: String,
    /// 0 if only the file is known.
    pub line: u32,
    /// Why it is one.
    pub why: String,
    /// The agent function that it leads to; empty if it is none or unknown.
    pub leads_to: String,
    /// What speaks against it, and what stands for values that only the user knows.
    pub against: Vec<String>,
    /// Higher is better.
    pub score: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    /// Called directly.
    Function,
    /// An object of an agent framework that is run.
    Object,
    /// Called through the application, or over HTTP.
    Route,
}

impl CandidateKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Object => "object",
            Self::Route => "route",
        }
    }
}

/// Words in names of what answers a user.
#[rustfmt::skip] // lists, not columns
const ANSWERING_WORDS: &[(&str, i32)] = &[
    ("chat", 30), ("ask", 28), ("answer", 28), ("conversation", 22), ("message", 20), ("reply", 22), ("respond", 22),
    ("response", 16), ("assistant", 20), ("agent", 18), ("query", 18), ("question", 20), ("invoke", 10), ("talk", 20),
    ("completion", 12), ("generate", 6), ("process", 6), ("run", 6), ("bot", 12), ("copilot", 15), ("rag", 10),
    ("supervisor", 22), ("orchestrat", 20), ("prompt", 4),
];
/// Words in names of what helps to answer, or does something else.
#[rustfmt::skip]
const HELPING_WORDS: &[(&str, i32)] = &[
    ("title", 40), ("summar", 28), ("classif", 30), ("sentiment", 25), ("proxy", 25), ("intent", 25), ("extract", 25), ("embed", 40), ("translat", 22),
    ("rewrite", 28), ("rephrase", 28), ("condense", 28), ("clarif", 25), ("evaluat", 30), ("eval", 25), ("grade", 30),
    ("rerank", 40), ("judge", 30), ("keyword", 28), ("suggest", 20), ("moderat", 30), ("health", 60), ("ping", 60), ("test", 30),
    ("debug", 20), ("image", 30), ("transcri", 30), ("audio", 28), ("speech", 28), ("voice", 15), ("upload", 30), ("ingest", 40),
    ("index", 20), ("parse", 20), ("feedback", 40), ("delete", 60), ("history", 25), ("validat", 20), ("load", 15), ("setup", 25),
    ("init", 25), ("create", 12), ("build", 14), ("make", 10), ("config", 20), ("clear", 40), ("reset", 40), ("status", 40),
    ("list", 20), ("dummy", 50), ("demo", 25), ("mock", 45), ("sample", 20), ("example", 20), ("login", 40), ("register", 40), ("verify", 25), ("route", 10), ("retriev", 14), ("search", 6), ("stream", 4),
    ("json", 10), ("tool", 12), ("expand", 20), ("decompose", 25), ("plan", 8), ("check", 20), ("metric", 30), ("node", 8),
];

/// What it costs a route to be deep inside others: `/api/query` is meant before `/api/options/query`.
pub(crate) fn depth_penalty(path: &str) -> i32 {
    const USUAL: usize = 3;
    let parts = path.split('/').filter(|part| !part.is_empty() && !part.starts_with(['{', '<', ':'])).count();
    2 * i32::try_from(parts.saturating_sub(USUAL - 1)).unwrap_or(0)
}

/// How well a name fits what answers a user; negative for what only helps.
pub(crate) fn rank_name(name: &str) -> i32 {
    let name = variable_name(name).to_lowercase();
    let words: Vec<&str> = name.split('_').filter(|word| !word.is_empty()).collect();
    let best_of = |table: &[(&str, i32)]| {
        let fits = |known: &str| words.iter().any(|word| has_word(word, known));
        table.iter().filter(|(known, _)| fits(known)).map(|(_, score)| *score).max().unwrap_or(0)
    };
    best_of(ANSWERING_WORDS) - best_of(HELPING_WORDS)
}

/// Whether a part of a name is a word, or is made of it: `chatbot`, `getanswer`, but not `task` for `ask`.
fn has_word(part: &str, word: &str) -> bool {
    part.starts_with(word)
        || word.len() >= 4 && part.ends_with(word)
        || word.len() >= 5 && part.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_answers_rank_before_names_of_helpers() {
        for (better, worse) in [
            ("/api/chat", "/api/chat/title"),
            ("/api/chat", "/api/summarize"),
            ("/ask", "/health"),
            ("ChatService.reply", "ChatService.generate_title"),
            ("answer_question", "classify_intent"),
            ("run_agent", "create_agent"),
            ("/conversation/message", "/conversation/history"),
            ("handle_message", "rewrite_query"),
            ("/api/new-chat", "/api/dummy-chat"),
            ("/api/getanswer", "/api/tasks"),
            ("/ask", "/storage"),
        ] {
            assert!(rank_name(better) > rank_name(worse), "{better} {worse}");
        }
    }
}
