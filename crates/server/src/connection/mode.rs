//! The rules of the places where connections are made.

use protocol::{Dialect, Revision};

use crate::Locale;

/// The rules of the place where a connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionMode {
    /// A pipe: MCP of every revision with its lifecycle, and the envelope, mixed as the client likes.
    Stream,
    /// A POST to `/api/mcp`: one body, no greeting, no news. Errors are told in this language.
    Codefluss(Locale),
    /// A session on `/mcp`: MCP up to 2025-11-25.
    Session,
    /// A POST to `/mcp` that stands for itself: MCP from 2026-07-28 on.
    Stateless,
}

impl ConnectionMode {
    /// Messages may carry their own version.
    pub(crate) fn accepts_stateless(self) -> bool {
        matches!(self, Self::Stream | Self::Stateless)
    }

    pub(crate) fn language(self) -> Locale {
        match self {
            Self::Codefluss(language) => language,
            Self::Stream | Self::Session | Self::Stateless => Locale::English,
        }
    }

    /// The dialect of a message that does not say which one it is in, before anything was agreed on.
    pub(crate) fn default_dialect(self) -> Dialect {
        match self {
            Self::Codefluss(_) => Dialect::Codefluss,
            Self::Stream | Self::Session => Dialect::Mcp(Revision::OFFERED),
            Self::Stateless => Dialect::Mcp(Revision::NEWEST),
        }
    }
}
