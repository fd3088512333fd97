//! Projects and design systems: how many calls a server takes, whether they get slower as there is more, and what a large design
//! system costs.

mod caller;
mod calls;
mod tokens;

use crate::Outcome;
use crate::database::{Postgres, Scratch, file, server};
use crate::table::{Table, save};

/// What is measured unless some of it is named.
const PARTS: [&str; 2] = ["tokens", "calls"];

pub(crate) fn run(quick: bool, parts: &[String]) -> Outcome<()> {
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(format!("there is no part {unknown}; there are {}", PARTS.join(", ")).into());
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let mut tables = Vec::new();
    if wanted("tokens") {
        tables.push(tokens::table(quick)?);
    }
    if wanted("calls") {
        let scratch = Scratch::new("projects")?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let location = file(&scratch.0, "projects.db")?;
        tables.extend(runtime.block_on(calls::tables(&location, "SQLite", quick))?);
        if let Some(url) = server() {
            let database = runtime.block_on(Postgres::open(&url))?;
            let measured = runtime.block_on(calls::tables(&database.location, "PostgreSQL", quick));
            runtime.block_on(database.remove())?;
            tables.extend(measured?);
        }
    }
    tables.iter().for_each(Table::print);
    save("projects", &tables.iter().collect::<Vec<_>>())
}
