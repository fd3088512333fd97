//! Websites to keep: two pages with fifty blocks each, of usual lengths, and the starter design system. Each is made from its
//! number, so that nobody has to remember it. Their ids lie as far apart as real ones.

use std::sync::LazyLock;

use server::projects::tokens::starter;
use server::projects::{Digest, Ids, OrderKey, Seed, order};
use server::{Timestamp, projects};

/// Whose they are: the user's of a pipe.
pub(super) const ACCOUNT: &str = "local";
/// Sections of the first page, and texts in each. With the page itself that makes fifty.
const SECTIONS: usize = 7;
const TEXTS: usize = 6;
/// Texts of the second page.
const NOTES: usize = 49;
/// Blocks of the largest website: as many as there may be.
pub(super) const MOST: usize = 20_000;

/// The design system of each, as it is kept.
pub(super) static DESIGN: LazyLock<String> = LazyLock::new(|| starter().to_string());

/// A block as a row. Pages have an empty parent.
pub(super) struct Block {
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) position: OrderKey,
    pub(super) kind: &'static str,
    pub(super) path: Option<[u8; 32]>,
    pub(super) props: String,
}

/// A website.
pub(super) struct Site {
    pub(super) number: usize,
    pub(super) id: String,
    pub(super) blocks: Vec<Block>,
    /// The page that is read, the one that is written to if there are two, and the last block in that.
    pub(super) page: String,
    pub(super) notes: String,
    pub(super) last: String,
}

impl Site {
    /// The one of this number, with a hundred blocks.
    pub(super) fn of(number: usize) -> Self {
        let mut site = Making::begin(number);
        let page = site.page("/");
        let sections = order::spread(SECTIONS);
        let texts = order::spread(TEXTS);
        for section in sections {
            let props = serde_json::json!({ "title": format!("Part {section}"), "tone": "muted" });
            let section = site.add(&page, section, "section", props.to_string());
            for text in &texts {
                site.text(&section, text.clone());
            }
        }
        let notes = site.page("/notes");
        for text in order::spread(NOTES) {
            site.text(&notes, text);
        }
        site.end(page, notes)
    }

    /// The same with so many blocks, all but the first in one page.
    pub(super) fn flat(number: usize, blocks: usize) -> Self {
        let mut site = Making::begin(number);
        let page = site.page("/");
        for text in order::spread(blocks - 1) {
            site.text(&page, text);
        }
        site.end(page.clone(), page)
    }

    pub(super) fn name(&self) -> String {
        format!("Website {}", self.number)
    }

    pub(super) fn slug(&self) -> String {
        format!("website-{}", self.number)
    }

    /// When it was made: one in every second.
    pub(super) fn created(&self) -> Timestamp {
        created(self.number)
    }

    /// How many blocks there are, and how many bytes all props have: as they are kept.
    pub(super) fn usage(&self) -> (i64, i64) {
        let bytes = self.blocks.iter().map(|block| block.props.len()).sum();
        (kept(self.blocks.len()), kept(bytes))
    }
}

/// A number as databases have it.
pub(super) fn kept(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn created(number: usize) -> Timestamp {
    const FIRST: i64 = 1_790_000_000;
    Timestamp::from_second(FIRST + kept(number)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A website before it is done.
struct Making {
    number: usize,
    ids: Ids,
    id: String,
    pages: Vec<OrderKey>,
    blocks: Vec<Block>,
}

impl Making {
    fn begin(number: usize) -> Self {
        let mut ids = Ids::of(Seed((number as u128).to_be_bytes()));
        let id = ids.project().to_string();
        Self { number, ids, id, pages: Vec::new(), blocks: Vec::new() }
    }

    /// Read is the first page, written to the last.
    fn end(self, page: String, notes: String) -> Site {
        let Self { number, id, blocks, .. } = self;
        let last = blocks.last().map(|block| block.id.clone()).unwrap_or_default();
        Site { number, id, blocks, page, notes, last }
    }

    fn page(&mut self, path: &str) -> String {
        let key = OrderKey::between(self.pages.last(), None).unwrap_or_else(OrderKey::first);
        self.pages.push(key.clone());
        let title = format!("Page {path} of website {}", self.number);
        let props = serde_json::json!({ "title": title, "path": path, "description": "One of a few." });
        let id = self.add("", key, projects::types::PAGE, props.to_string());
        if let Some(page) = self.blocks.last_mut() {
            page.path = Some(Digest::of(path.as_bytes()).0);
        }
        id
    }

    fn text(&mut self, parent: &str, position: OrderKey) {
        let number = self.blocks.len();
        let props =
            serde_json::json!({ "text": format!("{number}: {}", "What a visitor reads here. ".repeat(6)) });
        self.add(parent, position, "text", props.to_string());
    }

    fn add(&mut self, parent: &str, position: OrderKey, kind: &'static str, props: String) -> String {
        let id = self.ids.block().to_string();
        let parent = parent.to_owned();
        self.blocks.push(Block { id: id.clone(), parent, position, kind, path: None, props });
        id
    }
}
