//! Settings of the documents that are searched.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use server::DocumentSettings;

/// The heading that these settings stand under, in `--help` and on the page of settings.
pub(super) const HEADING: &str = "Documents";

/// One source of these settings. In the file they stand under `[docs]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[command(next_help_heading = HEADING)]
pub(super) struct DocumentLayer {
    /// An index of your own documents, made with `fluxway index`; may be given several times
    #[arg(long, global = true, value_name = "FILE", env = "FLUXWAY_INDEX")]
    index: Option<Vec<PathBuf>>,
    /// Search only the indexes that are named, not what comes with the program [default: false]
    #[arg(long, global = true, env = "FLUXWAY_NO_SHIPPED_DOCS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    no_shipped_docs: Option<bool>,
}

/// What was typed goes before the file.
pub(super) fn resolve(typed: DocumentLayer, file: DocumentLayer) -> DocumentSettings {
    DocumentSettings {
        shipped: !typed.no_shipped_docs.or(file.no_shipped_docs).unwrap_or(false),
        indexes: typed.index.or(file.index).unwrap_or_default(),
    }
}
