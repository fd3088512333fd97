//! `tell_fortune`: the tool of the reference server.

mod fortunes;

use std::collections::BTreeMap;

use protocol::mcp::{PromptArgument, PromptDescriptor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Tool, ToolSpec, Toolset};
use crate::ToolContext;
use crate::error::RequestError;
use crate::rpc::prompts::PromptEntry;

/// Tell a fortune. Choose the area of life it is about and its mood.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Area of life it is about.
    category: Category,
    /// Mood of the fortune.
    #[serde(default)]
    mood: Mood,
}

/// The area of life a fortune is about.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Category {
    Love,
    Career,
    Health,
    Wealth,
    General,
}

/// The mood of a fortune.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mood {
    Optimistic,
    #[default]
    Mysterious,
    Cautious,
}

/// A fortune.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    category: Category,
    mood: Mood,
    fortune: &'static str,
}

pub(crate) struct TellFortune;

impl Tool for TellFortune {
    const SPEC: ToolSpec = ToolSpec {
        name: "tell_fortune",
        title: "Tell a fortune",
        toolset: Toolset::Reference,
        effect: Effect::ReadOnly,
    };
    type Args = Args;
    type Reply = Reply;

    async fn call(&self, call: ToolContext, Args { category, mood }: Args) -> Result<Reply, RequestError> {
        let fortunes = fortunes::fortunes(category, mood);
        Ok(Reply { category, mood, fortune: fortunes[call.random_below(fortunes.len())] })
    }
}

pub(crate) const PROMPT: PromptEntry = PromptEntry {
    tool: "tell_fortune",
    prompt: PromptDescriptor {
        name: "fortune",
        title: Some("Tell my fortune"),
        description: "Have your fortune told.",
        arguments: &[
            PromptArgument { name: "category", description: "Area of life it is about.", required: true },
            PromptArgument { name: "mood", description: "Mood of the fortune.", required: false },
        ],
    },
    text: prompt_text,
};

fn prompt_text(arguments: &BTreeMap<String, String>) -> String {
    let category = arguments.get("category").map_or("general", String::as_str);
    let mood = arguments.get("mood").map(|mood| format!(" and the mood \"{mood}\"")).unwrap_or_default();
    format!(
        "Tell me my fortune: call tell_fortune with the category \"{category}\"{mood}, then give me the fortune \
         and one sentence on what to make of it today."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_and_mood_has_enough_unique_fortunes() {
        let mut seen = std::collections::HashSet::new();
        for category in
            [Category::Love, Category::Career, Category::Health, Category::Wealth, Category::General]
        {
            for mood in [Mood::Optimistic, Mood::Mysterious, Mood::Cautious] {
                let fortunes = fortunes::fortunes(category, mood);
                assert!(fortunes.len() >= 8, "{category:?} {mood:?}");
                assert!(fortunes.iter().all(|fortune| seen.insert(*fortune)), "{category:?} {mood:?}");
            }
        }
    }
}
