//! MCP payloads: the contents of `params` and `result`.
//!
//! Types are written for the newest revision; `for_revision` removes what an older one does not define.

mod completion;
mod elicitation;
mod lifecycle;
mod meta;
mod prompts;
mod resources;
mod tools;

pub use completion::{CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionReference};
pub use elicitation::{ElicitAction, ElicitParams, ElicitResult, FormSchema, InputRequest, InputRequired};
pub use lifecycle::{
    ClientCapabilities, DiscoverResult, Implementation, InitializeParams, InitializeResult,
    ServerCapabilities,
};
pub use meta::{LogLevel, LogParams, ProgressParams, RequestMeta, StampedResult, StatelessMeta, keys};
pub use prompts::{
    GetPromptParams, GetPromptResult, PromptArgument, PromptDescriptor, PromptList, PromptMessage,
};
pub use resources::{
    ReadResourceParams, ReadResourceResult, ResourceBody, ResourceContents, ResourceDescriptor, ResourceList,
    ResourceTemplate, ResourceTemplateList,
};
pub use tools::{CallToolParams, CallToolResult, ContentBlock, ToolAnnotations, ToolDescriptor, ToolList};

/// The standard JSON-RPC codes and those that MCP adds.
pub mod codes {
    pub const PARSE_ERROR: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const INTERNAL_ERROR: i64 = -32603;
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    pub const HEADER_MISMATCH: i64 = -32020;
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}
