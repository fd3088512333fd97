//! The rules of the places where connections are made.

use protocol::{Dialect, Revision};

use crate::Language;

/// The rules of the place where a connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// A pipe: MCP of every revision with its lifecycle, and the envelope, mixed as the client likes.
    Pipe,
    /// A POST to `/api/mcp`: one body, no greeting, no news. Errors are told in this language.
    Codefluss(Language),
    /// A session on `/mcp`: MCP up to 2025-11-25.
    Session,
    /// A POST to `/mcp` that stands for itself: MCP from 2026-07-28 on.
    Stateless,
}

impl Rules {
    /// Messages may carry their own version.
    pub(crate) fn take_stateless(self) -> bool {
        matches!(self, Self::Pipe | Self::Stateless)
    }

    pub(crate) fn language(self) -> Language {
        match self {
            Self::Codefluss(language) => language,
            Self::Pipe | Self::Session | Self::Stateless => Language::English,
        }
    }

    /// The dialect of a message that does not say which one it is in, before anything was agreed on.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Self::Codefluss(_) => Dialect::Codefluss,
            Self::Pipe | Self::Session => Dialect::Mcp(Revision::OFFERED),
            Self::Stateless => Dialect::Mcp(Revision::NEWEST),
        }
    }
}
