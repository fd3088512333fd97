//! `fluxway faq QUESTION`.

use serde::Deserialize;
use serde_json::{Map, json};
use server::tools::Toolset;

use super::client::{Asking, Client, with_client};
use crate::args::FaqArgs;
use crate::config::Config;
use crate::exit::{self, Failure};
use crate::paint;

pub(crate) fn run(mut config: Config, args: &FaqArgs) -> Result<(), Failure> {
    // Whatever else is served: this is asked of the documents.
    config.toolsets = vec![Toolset::Docs];
    let mut arguments = Map::from_iter([("query".to_owned(), json!(args.question.join(" ")))]);
    arguments.extend(args.top.map(|top| ("topK".to_owned(), json!(top))));
    let text = with_client(config, Asking::Never, async |client: &mut Client| {
        client.answer("faq", arguments).await
    })?;
    if args.json {
        return exit::print(&text);
    }
    match serde_json::from_str::<Shown>(&text) {
        Ok(shown) => exit::print(&shown.page(paint::on_stdout())),
        Err(_) => exit::print(&text),
    }
}

/// As much of the answer as is shown.
#[derive(Deserialize)]
struct Shown {
    answer: String,
    citation_details: Vec<Source>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Source {
    path: String,
    section: String,
    lines: (usize, usize),
    score: f32,
}

impl Shown {
    fn page(&self, coloured: bool) -> String {
        let mut page = paint::markdown(&self.answer, coloured);
        if !self.citation_details.is_empty() {
            page.push('\n');
        }
        for (number, source) in (1..).zip(&self.citation_details) {
            let Source { path, section, lines: (first, last), score } = source;
            let line = format!("[{number}] {path}:{first}-{last}  {section}  ({score:.2})");
            page.push_str(&paint::dimmed(&paint::safe(&line), coloured));
            page.push('\n');
        }
        for warning in &self.warnings {
            page.push_str("warning: ");
            page.push_str(&paint::safe(warning));
            page.push('\n');
        }
        page
    }
}
