//! The formats that a design system is exported to.

use design_tokens::Document;
use design_tokens::export::{Exported, Options, css, flat, plain, scss, tailwind_v3, tailwind_v4};
use schemars::JsonSchema;
use serde::Deserialize;

/// A format for another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum Format {
    Css,
    Scss,
    Tailwind,
    TailwindV3,
    Json,
    Flat,
}

impl Format {
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

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    pub(crate) const fn mime_type(self) -> &'static str {
        match self {
            Self::Css | Self::Tailwind => "text/css",
            Self::Scss => "text/x-scss",
            // A preset: an object that a configuration takes in.
            Self::TailwindV3 | Self::Json | Self::Flat => "application/json",
        }
    }

    pub(crate) fn export(self, design: &Document, options: &Options) -> Exported {
        match self {
            Self::Css => css(design, options),
            Self::Scss => scss(design, options),
            Self::Tailwind => tailwind_v4(design, options),
            Self::TailwindV3 => tailwind_v3(design).without_prefix(options),
            Self::Json => plain(design).without_prefix(options),
            Self::Flat => flat(design, None).without_prefix(options),
        }
    }
}
