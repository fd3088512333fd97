//! Tools as a client calls them: how many in a second, and how long one takes in a large project and among many projects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::caller::{Call, Caller, Callers, callers};
use crate::Outcome;
use crate::database::rate;
use crate::table::{Table, median};

/// Callers at the same time, each with a project of its own.
const AT_ONCE: usize = 16;
/// Blocks of a usual project, and those that a call creates at most.
const USUAL: usize = 100;
const TOGETHER: usize = 2_000;

type MakeCall = fn(&Site) -> Call;

/// What is called, in the order in which it is told.
const CALLS: [(&str, MakeCall); 9] = [
    ("get_project", |site| site.call("get_project", json!({}))),
    ("list_projects, 50 of them", |_| ("list_projects", json!({ "limit": 50 }).to_string())),
    ("get_blocks, 50 of a page", |site| {
        site.call("get_blocks", json!({ "blockId": site.page, "limit": 50 }))
    }),
    ("get_design_system", |site| site.call("get_design_system", json!({}))),
    ("update_project", |site| site.call("update_project", json!({ "description": words() }))),
    ("edit_blocks, update", |site| {
        let change = json!({ "action": "update", "blockId": site.last, "props": { "text": words() } });
        site.call("edit_blocks", change)
    }),
    ("edit_blocks, move", |site| {
        let side = if fresh().is_multiple_of(2) { "before" } else { "after" };
        site.call("edit_blocks", json!({ "action": "move", "blockId": site.last, side: site.first }))
    }),
    ("edit_blocks, create", |site| site.call("edit_blocks", creation(&site.page, 1))),
    ("edit_design_system, set", |site| {
        let color = format!("#{:06x}", fresh() % 0x00ff_ffff);
        let change = json!([{ "op": "set", "path": "palette.teal.600", "value": color }]);
        site.call("edit_design_system", json!({ "changes": change }))
    }),
];

/// A project with one page, and what calls have to know of it.
struct Site {
    id: String,
    page: String,
    first: String,
    last: String,
}

impl Site {
    async fn make(caller: &mut Caller, blocks: usize) -> Outcome<Self> {
        let new = json!({ "name": format!("Website {}", fresh()), "description": "", "template": "empty" });
        let id = text(&caller.ask(&("create_project", new.to_string())).await?["id"]);
        let mut site = Self { id, page: String::new(), first: String::new(), last: String::new() };
        let page = json!([{ "type": "page", "props": { "title": "Home", "path": format!("/{}", fresh()) } }]);
        let page = site.call("edit_blocks", json!({ "action": "create", "blocks": page }));
        site.page = text(&caller.ask(&page).await?["blocks"][0]["id"]);
        for done in (1..blocks).step_by(TOGETHER) {
            let call = site.call("edit_blocks", creation(&site.page, TOGETHER.min(blocks - done)));
            let made = caller.ask(&call).await?;
            let ids = made["blocks"].as_array().ok_or("no blocks")?;
            site.last = ids.last().map(|block| text(&block["id"])).unwrap_or_default();
            if done == 1 {
                site.first = text(&ids[0]["id"]);
            }
        }
        Ok(site)
    }

    fn call(&self, tool: &'static str, mut arguments: Value) -> Call {
        arguments["projectId"] = json!(self.id);
        (tool, arguments.to_string())
    }
}

/// Both tables of a database.
pub(super) async fn tables(location: &store::Location, name: &str, quick: bool) -> Outcome<[Table; 2]> {
    let store = store::open(location, &store::Options::default()).await?;
    let callers = callers(store, AT_ONCE).await?;
    Ok([rates(&callers, name, quick).await?, growth(&callers, name, quick).await?])
}

async fn rates(callers: &Callers, name: &str, quick: bool) -> Outcome<Table> {
    let (rounds, span) = if quick { (1, Duration::from_millis(40)) } else { (3, Duration::from_secs(1)) };
    let mut sites = Vec::new();
    for caller in callers.iter() {
        sites.push(Site::make(&mut *caller.lock().await, USUAL).await?);
    }
    let sites: Arc<[Site]> = sites.into();
    let title = format!("Calls of project tools in a second, in {name}");
    let mut table = Table::plain(title, &["one at a time", "16 at once"]);
    for (called, call) in CALLS {
        let mut row = Vec::new();
        for at_once in [1, AT_ONCE] {
            let mut found = Vec::new();
            for _ in 0..rounds {
                found.push(calls(callers, &sites, call, span, at_once).await?);
            }
            row.push(median(found));
        }
        table.row(called, row);
    }
    Ok(table)
}

async fn growth(callers: &Callers, name: &str, quick: bool) -> Outcome<Table> {
    let (most, many, span) = if quick { (2_000, 50, 20) } else { (18_000, 2_000, 200) };
    let span = Duration::from_millis(span);
    let title =
        format!("One call as there is more, µs: {most} blocks in a project, {many} projects; in {name}");
    let mut table = Table::plain(title, &["usual project", "large project", "usual project among many"]);
    let mut columns = Vec::new();
    for (blocks, before) in [(USUAL, 0), (most, 0), (USUAL, many)] {
        let mut caller = callers[0].lock().await;
        let site = Site::make(&mut caller, blocks).await?;
        for _ in 0..before {
            let copy = json!({ "name": format!("Copy {}", fresh()), "description": "", "copyOf": site.id });
            caller.call(&("create_project", copy.to_string())).await?;
        }
        drop(caller);
        let (sites, mut column): (Arc<[Site]>, _) = ([site].into(), Vec::new());
        for (_, call) in CALLS {
            column.push(Some(1e6 / calls(callers, &sites, call, span, 1).await?));
        }
        columns.push(column);
    }
    for (at, (called, _)) in CALLS.iter().enumerate() {
        table.row(called, columns.iter().map(|column| column[at]).collect());
    }
    Ok(table)
}

/// How many calls there are in a second, if so many call at once.
async fn calls(
    callers: &Callers,
    sites: &Arc<[Site]>,
    call: MakeCall,
    span: Duration,
    at_once: usize,
) -> Outcome<f64> {
    let (callers, sites) = (Arc::clone(callers), Arc::clone(sites));
    let one = move |task: usize| {
        let (callers, call) = (Arc::clone(&callers), call(&sites[task]));
        async move { callers[task].lock().await.call(&call).await }
    };
    rate(span, at_once, one).await
}

/// Creates so many texts at the end of a page.
fn creation(page: &str, count: usize) -> Value {
    let blocks: Vec<Value> =
        (0..count).map(|_| json!({ "type": "text", "props": { "text": words() } })).collect();
    json!({ "action": "create", "parentId": page, "blocks": blocks })
}

/// Something else each time, of the same length.
fn words() -> String {
    format!("{:08}: {}", fresh() % 100_000_000, "What a visitor reads here. ".repeat(6))
}

/// A number that was not there before.
fn fresh() -> u64 {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    DRAWN.fetch_add(1, Ordering::Relaxed)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
