//! The formats that a design system is exported to.

use design_tokens::TokenDocument;
use design_tokens::export::{
    ExportOptions, ExportOutput, css, dtcg_json, resolved_json, scss, tailwind_v3, tailwind_v4,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// An export format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum DesignExportFormat {
    Css,
    Scss,
    Tailwind,
    TailwindV3,
    Json,
    Flat,
}

impl DesignExportFormat {
    pub(crate) const ALL: [Self; 6] =
        [Self::Css, Self::Scss, Self::Tailwind, Self::TailwindV3, Self::Json, Self::Flat];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Css => "css",
            Self::Scss => "scss",
            Self::Tailwind => "tailwind",
            Self::TailwindV3 => "tailwind-v3",
            Self::Json => "json",
            Self::Flat => "flat",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    pub(crate) const fn mime_type(self) -> &'static str {
        match self {
            Self::Css | Self::Tailwind => "text/css",
            Self::Scss => "text/x-scss",
            // A preset: an object that a Tailwind configuration includes.
            Self::TailwindV3 | Self::Json | Self::Flat => "application/json",
        }
    }

    pub(crate) fn export(self, design: &TokenDocument, options: &ExportOptions) -> ExportOutput {
        match self {
            Self::Css => css(design, options),
            Self::Scss => scss(design, options),
            Self::Tailwind => tailwind_v4(design, options),
            Self::TailwindV3 => tailwind_v3(design).warn_if_prefix_ignored(options),
            Self::Json => dtcg_json(design).warn_if_prefix_ignored(options),
            Self::Flat => resolved_json(design, None).warn_if_prefix_ignored(options),
        }
    }
}
