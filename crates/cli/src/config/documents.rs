//! Settings of the documents that `faq` searches.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use server::DocumentSettings;

use super::layers::layer;

/// Heading in `--help`. Settings beneath it are in the section `[docs]` of the file.
pub(super) const HEADING: &str = "Document options";

/// The section `[docs]`.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = HEADING)]
pub(crate) struct DocumentLayer {
    /// Index of your own documents, made with `fluxway index`; repeatable
    #[arg(long, value_name = "FILE", env = "FLUXWAY_INDEX")]
    index: Option<Vec<PathBuf>>,
    /// Search only your own indexes, not the documentation that comes with Fluxway
    #[arg(long, env = "FLUXWAY_NO_SHIPPED_DOCS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    no_shipped_docs: Option<bool>,
}
layer!(DocumentLayer { index, no_shipped_docs });

impl DocumentLayer {
    pub(crate) fn indexes(&self) -> &[PathBuf] {
        self.index.as_deref().unwrap_or_default()
    }
}

impl From<DocumentLayer> for DocumentSettings {
    fn from(layer: DocumentLayer) -> Self {
        Self { shipped: !layer.no_shipped_docs.unwrap_or(false), indexes: layer.index.unwrap_or_default() }
    }
}
