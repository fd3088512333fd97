//! What is asked of two stores alike.

use super::Plan;
use crate::Outcome;
use crate::projects::caller::{Call, Caller};
use crate::projects::case::{Case, PAGE};
use crate::projects::made::Site;

/// A question. What is asked depends on the store, and on how often it was asked before.
pub(super) type Probe = (&'static str, fn(&Known, usize) -> Call);

/// What whoever asks has to know of a store.
pub(super) struct Known {
    /// How many websites there are.
    count: usize,
    /// The first of them: one page with everything in it.
    first: Site,
    /// Where the list of websites goes on, and what is inside of that page: after every fifty.
    list: Vec<String>,
    level: Vec<String>,
}

impl Known {
    pub(super) async fn of(caller: &mut Caller, plan: Plan, is_large: bool) -> Outcome<Self> {
        let (count, first) = (plan.count(is_large), plan.first(is_large));
        let list = walk(caller, list).await?;
        let level = walk(caller, |cursor| level(&first, cursor)).await?;
        Ok(Self { count, first, list, level })
    }

    /// One of the websites, another one each time, and from everywhere. The first is not like the others.
    fn any(&self, turn: usize) -> Site {
        Site::of(1 + turn * 7_919 % (self.count - 1))
    }

    /// Moves a block of the first website, another one each time.
    fn relocate(&self, turn: usize, place: impl Fn(usize) -> String) -> Call {
        let Site { id, blocks, .. } = &self.first;
        let children = blocks.len() - 1;
        let block = turn * 13 % children;
        let (moved, place) = (&blocks[1 + block].id, place((block + children / 2) % children));
        ("edit_blocks", format!(r#"{{"projectId":"{id}","action":"move","blockId":"{moved}",{place}}}"#))
    }
}

/// A write to any website.
pub(super) const WRITE: Probe = ("update_project", |known, turn| Case::UpdateProject.call(&known.any(turn)));

/// About any of the websites, and the list of them.
pub(super) const AMONG_MANY: [Probe; 9] = [
    ("list_projects, the first 50", |_, _| list(None)),
    ("list_projects, 50 in the middle", |known, _| list(known.list.get(known.list.len() / 2))),
    ("list_projects, the last 50", |known, _| list(known.list.last())),
    ("get_project", |known, turn| Case::GetProject.call(&known.any(turn))),
    ("get_blocks, a page of 50", |known, turn| Case::GetBlocks.call(&known.any(turn))),
    ("get_design_system", |known, turn| Case::GetDesignSystem.call(&known.any(turn))),
    WRITE,
    ("edit_blocks, update", |known, turn| Case::UpdateBlock.call(&known.any(turn))),
    ("edit_blocks, create", |known, turn| Case::CreateBlock.call(&known.any(turn))),
];

/// About the first website.
pub(super) const IN_LARGE: [Probe; 6] = [
    ("get_blocks, depth 1", |known, _| {
        let Site { id, page, .. } = &known.first;
        ("get_blocks", format!(r#"{{"projectId":"{id}","blockId":"{page}","depth":1}}"#))
    }),
    ("get_blocks, 50 of one level, page by page", |known, turn| {
        level(&known.first, known.level.get(turn % (known.level.len() + 1)))
    }),
    ("get_blocks, the last 49 of one level", |known, _| level(&known.first, known.level.last())),
    ("edit_blocks, move after another", |known, turn| {
        known.relocate(turn, |other| format!(r#""after":"{}""#, known.first.blocks[1 + other].id))
    }),
    ("edit_blocks, move to an index in the middle", |known, turn| {
        let Site { page, blocks, .. } = &known.first;
        known.relocate(turn, |_| format!(r#""parentId":"{page}","index":{}"#, blocks.len() / 2))
    }),
    ("edit_blocks, update", |known, _| Case::UpdateBlock.call(&known.first)),
];

/// Fifty websites, from the beginning or from here on.
fn list(cursor: Option<&String>) -> Call {
    ("list_projects", format!(r#"{{"limit":{PAGE}{}}}"#, from(cursor)))
}

/// Fifty blocks directly inside of the page.
fn level(Site { id, page, .. }: &Site, cursor: Option<&String>) -> Call {
    let from = from(cursor);
    ("get_blocks", format!(r#"{{"projectId":"{id}","blockId":"{page}","limit":{PAGE}{from}}}"#))
}

fn from(cursor: Option<&String>) -> String {
    cursor.map(|cursor| format!(r#","cursor":"{cursor}""#)).unwrap_or_default()
}

/// Goes through a list to its end. Gives the cursor after each part.
async fn walk(caller: &mut Caller, ask: impl Fn(Option<&String>) -> Call) -> Outcome<Vec<String>> {
    let mut cursors: Vec<String> = Vec::new();
    while let Some(next) = caller.ask(&ask(cursors.last())).await?["nextCursor"].as_str() {
        cursors.push(next.to_owned());
    }
    Ok(cursors)
}
