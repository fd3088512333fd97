//! What is done to websites, through a tool and beside it in SQL.

use std::sync::atomic::{AtomicU64, Ordering};

use super::caller::Call;
use super::made::Site;

/// Entries of a list.
pub(super) const PAGE: u32 = 50;

/// A token of the starter design system that is set anew each time.
const TOKEN: &str = "palette.teal.600";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    GetProject,
    ListProjects,
    GetBlocks,
    GetDesignSystem,
    UpdateProject,
    UpdateBlock,
    CreateBlock,
    SetToken,
}

impl Case {
    pub(super) const ALL: [Self; 8] = [
        Self::GetProject,
        Self::ListProjects,
        Self::GetBlocks,
        Self::GetDesignSystem,
        Self::UpdateProject,
        Self::UpdateBlock,
        Self::CreateBlock,
        Self::SetToken,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::GetProject => "get_project",
            Self::ListProjects => "list_projects, 50 of them",
            Self::GetBlocks => "get_blocks, a page of 50",
            Self::GetDesignSystem => "get_design_system",
            Self::UpdateProject => "update_project",
            Self::UpdateBlock => "edit_blocks, update",
            Self::CreateBlock => "edit_blocks, create",
            Self::SetToken => "edit_design_system, set",
        }
    }

    /// Whether it only reads.
    pub(super) const fn reads(self) -> bool {
        matches!(self, Self::GetProject | Self::ListProjects | Self::GetBlocks | Self::GetDesignSystem)
    }

    /// The call that does it.
    pub(super) fn call(self, site: &Site) -> Call {
        let Site { id, page, notes, last, .. } = site;
        match self {
            Self::GetProject => ("get_project", format!(r#"{{"projectId":"{id}"}}"#)),
            Self::ListProjects => ("list_projects", format!(r#"{{"limit":{PAGE}}}"#)),
            Self::GetBlocks => ("get_blocks", format!(r#"{{"projectId":"{id}","blockId":"{page}"}}"#)),
            Self::GetDesignSystem => ("get_design_system", format!(r#"{{"projectId":"{id}"}}"#)),
            Self::UpdateProject => {
                ("update_project", format!(r#"{{"projectId":"{id}","description":"{}"}}"#, words()))
            }
            Self::UpdateBlock => {
                let props = props(&words());
                let what = format!(r#""action":"update","blockId":"{last}","props":{props}"#);
                ("edit_blocks", format!(r#"{{"projectId":"{id}",{what}}}"#))
            }
            Self::CreateBlock => {
                let new = format!(r#"[{{"type":"text","props":{}}}]"#, props(&words()));
                let what = format!(r#""action":"create","parentId":"{notes}","blocks":{new}"#);
                ("edit_blocks", format!(r#"{{"projectId":"{id}",{what}}}"#))
            }
            Self::SetToken => {
                let color = format!("#{:06x}", fresh() % 0x00ff_ffff);
                let change = format!(r#"[{{"op":"set","path":"{TOKEN}","value":"{color}"}}]"#);
                ("edit_design_system", format!(r#"{{"projectId":"{id}","changes":{change}}}"#))
            }
        }
    }
}

/// A number that was not there before.
pub(super) fn fresh() -> u64 {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    DRAWN.fetch_add(1, Ordering::Relaxed)
}

/// Something else each time, of the same length.
pub(super) fn words() -> String {
    format!("{:08}: {}", fresh() % 100_000_000, "What a visitor reads here. ".repeat(6))
}

/// The props of a block with these words.
pub(super) fn props(words: &str) -> String {
    format!(r#"{{"text":"{words}"}}"#)
}
