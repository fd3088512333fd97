//! `fluxway index DIR`.

use std::path::{Path, PathBuf};

use serde_json::json;
use server::knowledge::{self, WorkBudget, shipped};

use crate::args::IndexArgs;
use crate::exit::{self, CommandError};
use crate::terminal;

const DEFAULT_INDEX_FILE: &str = "fluxway-docs.index";

pub(crate) fn run(args: &IndexArgs) -> Result<(), CommandError> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_INDEX_FILE));
    let made = knowledge::index_folder(&args.folder, &out, shipped::encoder(), &progress_budget());
    terminal::end_progress();
    let made = made.map_err(|error| CommandError::Refused(error.to_string()))?;
    for problem in &made.skipped {
        exit::print_notice(&format!("left out: {}", crate::styling::escape_controls(problem)));
    }
    if args.json {
        let skipped = made.skipped.len();
        return exit::print(
            &json!({ "index": out, "pages": made.documents, "passages": made.chunks, "unchanged": made.unchanged, "leftOut": skipped })
                .to_string(),
        );
    }
    exit::print(&render_summary(&made, &out))
}

/// Shows progress, if there is a terminal.
fn progress_budget() -> WorkBudget {
    let budget = WorkBudget::unlimited();
    if !terminal::shows_progress() {
        return budget;
    }
    budget.with_progress(|done, what| terminal::show_progress(&json!({ "progress": done, "message": what })))
}

fn render_summary(made: &knowledge::IndexingReport, out: &Path) -> String {
    let knowledge::IndexingReport { documents: pages, chunks, unchanged, .. } = made;
    let out = crate::styling::escape_controls(&out.display().to_string());
    format!(
        "{pages} documents in {chunks} passages ({unchanged} unchanged), written to {out}\n\
         Ask it:  fluxway faq --index {out} \"…\"\n\
         Serve it: fluxway serve --index {out}"
    )
}
