//! One file per command.

pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod demo;
mod paint;
pub(crate) mod plan;
mod readable;
pub(crate) mod serve;
pub(crate) mod tools;

mod client;
