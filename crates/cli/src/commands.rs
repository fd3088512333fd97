//! One file per command.

pub(crate) mod call;
pub(crate) mod completions;
mod database;
pub(crate) mod demo;
pub(crate) mod faq;
pub(crate) mod http;
pub(crate) mod index;
mod insight;
pub(crate) mod integrate;
pub(crate) mod keys;
pub(crate) mod plan;
pub(crate) mod projects;
mod render;
pub(crate) mod serve;
pub(crate) mod tools;

mod client;
