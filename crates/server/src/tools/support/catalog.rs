//! The tools that are currently served.

use std::sync::Arc;

use crate::tools::{ToolEntry, Toolset};

/// A selection of tools, in the order of the table.
pub(crate) struct Catalog {
    tools: Vec<Arc<ToolEntry>>,
}

impl Catalog {
    pub(crate) fn for_toolsets(all: &[Arc<ToolEntry>], toolsets: &[Toolset]) -> Self {
        Self { tools: all.iter().filter(|tool| toolsets.contains(&tool.spec.toolset)).cloned().collect() }
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &Arc<ToolEntry>> {
        self.tools.iter()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().map(|tool| tool.spec.name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<ToolEntry>> {
        self.tools.iter().find(|tool| tool.spec.name == name).cloned()
    }
}
