//! The JSON-RPC methods: [`dispatch`] has one line for each, its handlers are beside it.

pub(crate) mod client_roots;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod dispatch;
pub(crate) mod embedded;
pub(crate) mod envelope;
pub(crate) mod interaction;
pub(crate) mod lifecycle;
pub(crate) mod method;
pub(crate) mod pagination;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod subscriptions;
pub(crate) mod tool_context;
