//! Error codes of the CODEFLUSS document.

pub(super) const RATE_LIMITED: i64 = -32000;
pub(super) const UNAUTHENTICATED: i64 = -32001;
pub(super) const FORBIDDEN: i64 = -32002;
pub(super) const NOT_FOUND: i64 = -32003;
pub(super) const VALIDATION: i64 = -32004;

/// The document's name for a code. It is sent as `message`; the explanation goes into `data`.
pub(super) fn code_name(code: i64) -> &'static str {
    match code {
        -32700 => "Parse error",
        -32600 => "Invalid Request",
        -32601 => "Method not found",
        -32602 => "Invalid params",
        RATE_LIMITED => "Rate limit exceeded",
        UNAUTHENTICATED => "Authentication failed",
        FORBIDDEN => "Authorization failed",
        NOT_FOUND => "Resource not found",
        VALIDATION => "Validation error",
        _ => "Internal error",
    }
}
