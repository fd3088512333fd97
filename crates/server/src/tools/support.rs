//! Code shared by several tools. The tools themselves are in the parent module, one file each.

pub(crate) mod catalog;
pub(crate) mod context_reply;
mod describe;
pub(crate) mod entry;
pub(crate) mod integration;
pub(crate) mod opaque_object;
pub(crate) mod plan_input;
pub(crate) mod plan_view;
pub(crate) mod projects;
pub(crate) mod repository_text;
