//! The MCP revisions, and one named predicate for each difference in behaviour.
//!
//! Nothing outside this file compares revisions: other code calls the predicate it means.

use std::fmt;

/// A revision of the Model Context Protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

impl Revision {
    /// Every supported revision, newest first.
    pub const ALL: [Self; 5] = [V2026_07_28, V2025_11_25, V2025_06_18, V2025_03_26, V2024_11_05];

    pub const NEWEST: Self = V2026_07_28;

    /// Offered to clients whose `initialize` requests an unknown revision: the newest one with a handshake.
    pub const OFFERED: Self = V2025_11_25;

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            V2024_11_05 => "2024-11-05",
            V2025_03_26 => "2025-03-26",
            V2025_06_18 => "2025-06-18",
            V2025_11_25 => "2025-11-25",
            V2026_07_28 => "2026-07-28",
        }
    }

    /// Negotiates the revision for `initialize`: echoes a known revision with a handshake, otherwise returns
    /// [`OFFERED`](Self::OFFERED).
    pub fn negotiate(requested: &str) -> Self {
        Self::parse(requested).filter(|revision| !revision.is_stateless()).unwrap_or(Self::OFFERED)
    }

    /// Every request carries its version and capabilities; there is no handshake and no server-to-client
    /// request.
    pub fn is_stateless(self) -> bool {
        self >= V2026_07_28
    }

    /// Arrays of messages are allowed.
    pub fn has_batches(self) -> bool {
        self <= V2025_03_26
    }

    /// A tool may carry hints such as `readOnlyHint`.
    pub fn has_tool_annotations(self) -> bool {
        self >= V2025_03_26
    }

    /// `completions` is a capability to announce (the method itself is older).
    pub fn announces_completions(self) -> bool {
        self >= V2025_03_26
    }

    /// A progress notification may carry a message.
    pub fn has_progress_message(self) -> bool {
        self >= V2025_03_26
    }

    /// Tools, prompts and resources have a `title` next to their name.
    pub fn has_titles(self) -> bool {
        self >= V2025_06_18
    }

    /// Tools have `outputSchema` and answer with `structuredContent`.
    pub fn has_structured_content(self) -> bool {
        self >= V2025_06_18
    }

    /// The server asks the user through `elicitation/create`.
    pub fn asks_by_elicitation(self) -> bool {
        matches!(self, V2025_06_18 | V2025_11_25)
    }

    /// The server asks the user by returning `input_required`.
    pub fn asks_by_input_required(self) -> bool {
        self >= V2026_07_28
    }

    /// A question's form may carry default values, titled choices and lists of choices.
    pub fn has_rich_forms(self) -> bool {
        self >= V2025_11_25
    }

    /// Invalid arguments are reported in a tool result, which the model can act on, not as a protocol error.
    pub fn model_repairs_bad_arguments(self) -> bool {
        self >= V2025_11_25
    }

    /// Results carry `resultType`, and the server in `_meta`.
    pub fn stamps_results(self) -> bool {
        self >= V2026_07_28
    }

    /// Lists and reads carry `ttlMs` and `cacheScope`.
    pub fn has_cache_hints(self) -> bool {
        self >= V2026_07_28
    }

    /// `logging/setLevel` sets the log level; in later revisions each request carries it.
    pub fn sets_log_level_by_request(self) -> bool {
        self < V2026_07_28
    }

    /// `ping` exists.
    pub fn has_ping(self) -> bool {
        self < V2026_07_28
    }

    /// Clients watch a resource with `resources/subscribe`; in later revisions with `subscriptions/listen`.
    pub fn has_resource_subscriptions(self) -> bool {
        self < V2026_07_28
    }

    /// A stream starts with an event that has an id and no message, so that a client can resume it from the
    /// start.
    pub fn primes_streams(self) -> bool {
        self == V2025_11_25
    }

    /// A missing resource has a dedicated error code (-32002); in later revisions it is an invalid parameter.
    pub fn has_missing_resource_code(self) -> bool {
        self < V2026_07_28
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiation_echoes_known_revisions_with_a_handshake() {
        for (asked, offered) in [
            ("2024-11-05", V2024_11_05),
            ("2025-03-26", V2025_03_26),
            ("2025-06-18", V2025_06_18),
            ("2025-11-25", V2025_11_25),
            ("2026-07-28", V2025_11_25),
            ("1999-01-01", V2025_11_25),
            ("", V2025_11_25),
        ] {
            assert_eq!(Revision::negotiate(asked), offered, "{asked}");
        }
    }

    #[test]
    fn names_round_trip_and_all_is_newest_first() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.as_str()), Some(revision));
        }
        assert!(Revision::ALL.is_sorted_by(|a, b| a > b));
    }
}
