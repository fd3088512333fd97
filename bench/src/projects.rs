//! Projects and design systems: how many calls a server takes, whether they get slower as there is more, and what a large design
//! system costs.

mod caller;
mod calls;
mod tokens;

use crate::BenchResult;
use crate::database::{BenchPostgres, Scratch, postgres_url, sqlite_location};
use crate::table::{FigureTable, save};

/// What is measured unless some of it is named.
const PARTS: [&str; 2] = ["tokens", "calls"];

pub(crate) fn run(quick: bool, parts: &[String]) -> BenchResult<()> {
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(format!("there is no part {unknown}; there are {}", PARTS.join(", ")).into());
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let mut tables = Vec::new();
    if wanted("tokens") {
        tables.push(tokens::build_table(quick)?);
    }
    if wanted("calls") {
        let scratch = Scratch::new("projects")?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let location = sqlite_location(&scratch.0, "projects.db")?;
        tables.extend(runtime.block_on(calls::build_tables(&location, "SQLite", quick))?);
        if let Some(url) = postgres_url() {
            let database = runtime.block_on(BenchPostgres::open(&url))?;
            let measured = runtime.block_on(calls::build_tables(&database.location, "PostgreSQL", quick));
            runtime.block_on(database.remove())?;
            tables.extend(measured?);
        }
    }
    tables.iter().for_each(FigureTable::print);
    save("projects", &tables.iter().collect::<Vec<_>>())
}
