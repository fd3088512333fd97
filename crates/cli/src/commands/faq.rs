//! `fluxway faq QUESTION`.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, json};
use server::tools::Toolset;

use super::client::{AskPolicy, CliClient, with_client};
use crate::args::FaqArgs;
use crate::config::Config;
use crate::exit::{self, CommandError};
use crate::styling;

pub(crate) fn run(mut config: Config, args: &FaqArgs) -> Result<(), CommandError> {
    if let Some(missing) = args.docs.indexes().iter().find(|index| is_missing(index)) {
        return Err(CommandError::Usage(format!("no such index file: {}", missing.display())));
    }
    config.toolsets = vec![Toolset::Docs];
    let mut arguments = Map::from_iter([("query".to_owned(), json!(args.question.join(" ")))]);
    arguments.extend(args.top.map(|top| ("topK".to_owned(), json!(top))));
    let text = with_client(config, AskPolicy::Never, async |client: &mut CliClient| {
        client.call_tool("faq", arguments).await
    })?;
    if args.json {
        return exit::print(&text);
    }
    match serde_json::from_str::<FaqAnswer>(&text) {
        Ok(shown) => exit::print(
            &shown.render(styling::use_colour_on_stdout(), styling::stdout_columns().unwrap_or(usize::MAX)),
        ),
        Err(_) => exit::print(&text),
    }
}

/// The server only warns about an index that it cannot read; one that was just typed is a mistake.
#[expect(clippy::disallowed_methods, reason = "the user named this file")]
fn is_missing(index: &Path) -> bool {
    !index.exists()
}

#[derive(Deserialize)]
struct FaqAnswer {
    answer: String,
    citation_details: Vec<FaqSource>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct FaqSource {
    path: String,
    section: String,
    lines: (usize, usize),
    score: f32,
}

impl FaqAnswer {
    fn render(&self, coloured: bool, width: usize) -> String {
        let mut page = styling::render_markdown(&self.answer, coloured, width);
        if !self.citation_details.is_empty() {
            page.push('\n');
        }
        for (number, source) in (1..).zip(&self.citation_details) {
            let FaqSource { path, section, lines: (first, last), score } = source;
            let line = format!("[{number}] {path}:{first}-{last}  {section}  ({score:.2})");
            for line in styling::wrap_hanging(&styling::escape_controls(&line), width) {
                page.push_str(&styling::dim(&line, coloured));
                page.push('\n');
            }
        }
        for warning in &self.warnings {
            let warning = format!("warning: {}", styling::escape_controls(warning));
            page.push_str(&styling::render_message(&warning, coloured, width));
        }
        page
    }
}
