//! `fluxway index DIR`.

use std::path::{Path, PathBuf};

use serde_json::json;
use server::knowledge::{self, Budget, shipped};

use crate::args::IndexArgs;
use crate::exit::{self, Failure};
use crate::terminal;

/// What an index is called unless somebody says otherwise.
const USUAL_NAME: &str = "fluxway-docs.index";

pub(crate) fn run(args: &IndexArgs) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(USUAL_NAME));
    let made = knowledge::index_folder(&args.folder, &out, shipped::encoder(), &progress());
    terminal::end_progress();
    let made = made.map_err(|error| Failure::Refused(error.to_string()))?;
    for problem in &made.skipped {
        exit::tell(&format!("left out: {}", crate::paint::safe(problem)));
    }
    if args.json {
        let skipped = made.skipped.len();
        return exit::print(
            &json!({ "index": out, "pages": made.pages, "passages": made.chunks, "unchanged": made.unchanged, "leftOut": skipped })
                .to_string(),
        );
    }
    exit::print(&summary(&made, &out))
}

/// Says how far the work is, if somebody sees it.
fn progress() -> Budget {
    let budget = Budget::unlimited();
    if !terminal::shows_progress() {
        return budget;
    }
    budget.telling(|done, what| terminal::show_progress(&json!({ "progress": done, "message": what })))
}

fn summary(made: &knowledge::Made, out: &Path) -> String {
    let knowledge::Made { pages, chunks, unchanged, .. } = made;
    let out = crate::paint::safe(&out.display().to_string());
    format!(
        "{pages} documents in {chunks} passages ({unchanged} unchanged), written to {out}\n\
         Ask it:  fluxway faq --index {out} \"…\"\n\
         Serve it: fluxway serve --index {out}"
    )
}
