//! Projects and design systems: tools beside plain SQL, many websites beside few, one very large, a large design system.

mod beside;
mod caller;
mod case;
mod fill;
mod made;
mod marks;
mod plain;
mod ready;
mod scale;
mod tokens;
mod walls;

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Runtime;

use crate::Outcome;
use crate::database::postgres::Postgres;
use crate::database::{Scratch, file, server};
use crate::table::{Table, save};
use made::Site;
use marks::Marks;

/// What is measured unless somebody names some of it.
const PARTS: [&str; 3] = ["tokens", "beside", "scale"];

pub(crate) fn run(quick: bool, parts: &[String]) -> Outcome<()> {
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        return Err(format!("there is no part {unknown}; there are {}", PARTS.join(", ")).into());
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let (scratch, mut marks) = (Scratch::new("projects")?, Marks::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut tables, server) = (Vec::new(), server());
    if wanted("tokens") {
        tables.push(tokens::table(quick, &mut marks)?);
    }
    if wanted("beside") {
        tables.extend(beside::sqlite(&runtime, &scratch.0, quick, &mut marks)?);
        if let Some(url) = &server {
            tables.extend(beside::postgres(&runtime, url, quick, &mut marks)?);
        }
    }
    if wanted("scale") {
        tables.extend(scale::sqlite(&runtime, &scratch.0, quick, &mut marks)?);
        if let Some(url) = &server {
            tables.extend(scale::postgres(&runtime, url, quick, &mut marks)?);
        }
    }
    tables.push(marks.table());
    tables.iter().for_each(Table::print);
    save("projects", &tables.iter().collect::<Vec<_>>())
}

/// A store in a file, with these websites in it.
async fn in_file(
    scratch: &Path,
    name: &str,
    sites: impl ExactSizeIterator<Item = Site>,
) -> Outcome<Arc<dyn store::Store>> {
    // Makes the tables, and is closed.
    drop(open_file(scratch, name).await?);
    fill::sqlite(&scratch.join(name), sites)?;
    open_file(scratch, name).await
}

async fn open_file(scratch: &Path, name: &str) -> Outcome<Arc<dyn store::Store>> {
    Ok(store::open(&file(scratch, name)?, &store::Options::default()).await?)
}

/// Two databases on a server that are gone at the end.
struct Databases<'r> {
    runtime: &'r Runtime,
    databases: Postgres,
}

impl<'r> Databases<'r> {
    fn open(runtime: &'r Runtime, url: &str) -> Outcome<Self> {
        Ok(Self { runtime, databases: runtime.block_on(Postgres::open(url))? })
    }
}

impl Deref for Databases<'_> {
    type Target = Postgres;

    fn deref(&self) -> &Postgres {
        &self.databases
    }
}

impl Drop for Databases<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.runtime.block_on(self.databases.remove()) {
            println!("databases of the bench are left behind: {error}");
        }
    }
}
