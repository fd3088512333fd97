//! What tools do, written by somebody who keeps no rules: no revision is compared, nothing is judged, nobody is told. The same
//! tables, transactions and number of statements as in the store; and nothing is made of what was read.

mod postgres;
mod sqlite;

use std::sync::Arc;

use server::projects::OrderKey;

use super::case::{Case, fresh};
use super::made::{DESIGN, Site};
use crate::database::Done;

pub(super) trait Plain: Send + Sync + 'static {
    /// Does it once.
    fn run(&self, wish: Wish) -> impl Future<Output = Done> + Send;
}

/// What is to be done, and to which website.
pub(super) struct Wish {
    pub(super) case: Case,
    pub(super) site: Arc<Site>,
}

impl Wish {
    /// The design system with another value in it.
    fn design() -> String {
        DESIGN.replacen("0.0902", &format!("0.{:04}", fresh() % 10_000), 1)
    }
}

/// The id of a block to come.
fn new_id() -> String {
    format!("blk_{:016x}", fresh())
}

/// The place after all others.
fn after(last: Option<&str>) -> String {
    let last = last.and_then(|last| OrderKey::parse(last).ok());
    OrderKey::between(last.as_ref(), None).unwrap_or_else(OrderKey::first).to_string()
}
