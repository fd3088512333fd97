//! Tools as a client calls them: how many in a second, and how long one takes in a large project and among many projects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::caller::{BenchToolCall, ToolCaller, ToolCallers, connect_callers};
use crate::BenchResult;
use crate::database::measure_rate;
use crate::table::{FigureTable, median};

/// Callers at the same time, each with a project of its own.
const CONCURRENT_CALLERS: usize = 16;
/// Blocks of a usual project, and those that a call creates at most.
const DEFAULT_BLOCKS: usize = 100;
const MAX_BLOCKS_PER_CALL: usize = 2_000;

type MakeCall = fn(&BenchSite) -> BenchToolCall;

/// What is called, in the order in which it is told.
const CALLS: [(&str, MakeCall); 9] = [
    ("get_project", |site| site.call("get_project", json!({}))),
    ("list_projects, 50 of them", |_| ("list_projects", json!({ "limit": 50 }).to_string())),
    ("get_blocks, 50 of a page", |site| {
        site.call("get_blocks", json!({ "blockId": site.page, "limit": 50 }))
    }),
    ("get_design_system", |site| site.call("get_design_system", json!({}))),
    ("update_project", |site| site.call("update_project", json!({ "description": fresh_text() }))),
    ("edit_blocks, update", |site| {
        let change = json!({ "action": "update", "blockId": site.last, "props": { "text": fresh_text() } });
        site.call("edit_blocks", change)
    }),
    ("edit_blocks, move", |site| {
        let side = if next_number().is_multiple_of(2) { "before" } else { "after" };
        site.call("edit_blocks", json!({ "action": "move", "blockId": site.last, side: site.first }))
    }),
    ("edit_blocks, create", |site| site.call("edit_blocks", create_blocks_arguments(&site.page, 1))),
    ("edit_design_system, set", |site| {
        let color = format!("#{:06x}", next_number() % 0x00ff_ffff);
        let change = json!([{ "op": "set", "path": "palette.teal.600", "value": color }]);
        site.call("edit_design_system", json!({ "changes": change }))
    }),
];

/// A project with one page, and what calls have to know of it.
struct BenchSite {
    id: String,
    page: String,
    first: String,
    last: String,
}

impl BenchSite {
    async fn create(caller: &mut ToolCaller, blocks: usize) -> BenchResult<Self> {
        let new =
            json!({ "name": format!("Website {}", next_number()), "description": "", "template": "empty" });
        let id =
            to_string_or_empty(&caller.call_for_result(&("create_project", new.to_string())).await?["id"]);
        let mut site = Self { id, page: String::new(), first: String::new(), last: String::new() };
        let page =
            json!([{ "type": "page", "props": { "title": "Home", "path": format!("/{}", next_number()) } }]);
        let page = site.call("edit_blocks", json!({ "action": "create", "blocks": page }));
        site.page = to_string_or_empty(&caller.call_for_result(&page).await?["blocks"][0]["id"]);
        for done in (1..blocks).step_by(MAX_BLOCKS_PER_CALL) {
            let call = site.call(
                "edit_blocks",
                create_blocks_arguments(&site.page, MAX_BLOCKS_PER_CALL.min(blocks - done)),
            );
            let made = caller.call_for_result(&call).await?;
            let ids = made["blocks"].as_array().ok_or("no blocks")?;
            site.last = ids.last().map(|block| to_string_or_empty(&block["id"])).unwrap_or_default();
            if done == 1 {
                site.first = to_string_or_empty(&ids[0]["id"]);
            }
        }
        Ok(site)
    }

    fn call(&self, tool: &'static str, mut arguments: Value) -> BenchToolCall {
        arguments["projectId"] = json!(self.id);
        (tool, arguments.to_string())
    }
}

/// Both tables of a database.
pub(super) async fn build_tables(
    location: &store::StoreLocation,
    name: &str,
    quick: bool,
) -> BenchResult<[FigureTable; 2]> {
    let store = store::open(location, &store::StoreOptions::default()).await?;
    let callers = connect_callers(store, CONCURRENT_CALLERS).await?;
    Ok([measure_rates(&callers, name, quick).await?, measure_growth(&callers, name, quick).await?])
}

async fn measure_rates(callers: &ToolCallers, name: &str, quick: bool) -> BenchResult<FigureTable> {
    let (rounds, span) = if quick { (1, Duration::from_millis(40)) } else { (3, Duration::from_secs(1)) };
    let mut sites = Vec::new();
    for caller in callers.iter() {
        sites.push(BenchSite::create(&mut *caller.lock().await, DEFAULT_BLOCKS).await?);
    }
    let sites: Arc<[BenchSite]> = sites.into();
    let title = format!("Calls of project tools in a second, in {name}");
    let mut table = FigureTable::without_ratios(title, &["one at a time", "16 at once"]);
    for (called, call) in CALLS {
        let mut row = Vec::new();
        for at_once in [1, CONCURRENT_CALLERS] {
            let mut found = Vec::new();
            for _ in 0..rounds {
                found.push(measure_calls(callers, &sites, call, span, at_once).await?);
            }
            row.push(median(found));
        }
        table.add_row(called, row);
    }
    Ok(table)
}

async fn measure_growth(callers: &ToolCallers, name: &str, quick: bool) -> BenchResult<FigureTable> {
    let (most, many, span) = if quick { (2_000, 50, 20) } else { (18_000, 2_000, 200) };
    let span = Duration::from_millis(span);
    let title =
        format!("One call as there is more, µs: {most} blocks in a project, {many} projects; in {name}");
    let mut table =
        FigureTable::without_ratios(title, &["usual project", "large project", "usual project among many"]);
    let mut columns = Vec::new();
    for (blocks, before) in [(DEFAULT_BLOCKS, 0), (most, 0), (DEFAULT_BLOCKS, many)] {
        let mut caller = callers[0].lock().await;
        let site = BenchSite::create(&mut caller, blocks).await?;
        for _ in 0..before {
            let copy =
                json!({ "name": format!("Copy {}", next_number()), "description": "", "copyOf": site.id });
            caller.call(&("create_project", copy.to_string())).await?;
        }
        drop(caller);
        let (sites, mut column): (Arc<[BenchSite]>, _) = ([site].into(), Vec::new());
        for (_, call) in CALLS {
            column.push(Some(1e6 / measure_calls(callers, &sites, call, span, 1).await?));
        }
        columns.push(column);
    }
    for (at, (called, _)) in CALLS.iter().enumerate() {
        table.add_row(called, columns.iter().map(|column| column[at]).collect());
    }
    Ok(table)
}

/// How many calls there are in a second, if so many call at once.
async fn measure_calls(
    callers: &ToolCallers,
    sites: &Arc<[BenchSite]>,
    call: MakeCall,
    span: Duration,
    at_once: usize,
) -> BenchResult<f64> {
    let (callers, sites) = (Arc::clone(callers), Arc::clone(sites));
    let one = move |task: usize| {
        let (callers, call) = (Arc::clone(&callers), call(&sites[task]));
        async move { callers[task].lock().await.call(&call).await }
    };
    measure_rate(span, at_once, one).await
}

/// Creates so many texts at the end of a page.
fn create_blocks_arguments(page: &str, count: usize) -> Value {
    let blocks: Vec<Value> =
        (0..count).map(|_| json!({ "type": "text", "props": { "text": fresh_text() } })).collect();
    json!({ "action": "create", "parentId": page, "blocks": blocks })
}

/// Something else each time, of the same length.
fn fresh_text() -> String {
    format!("{:08}: {}", next_number() % 100_000_000, "What a visitor reads here. ".repeat(6))
}

/// A number that was not there before.
fn next_number() -> u64 {
    static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

fn to_string_or_empty(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
