//! HTTP headers that repeat parts of a message for proxies that do not read bodies. They must be
//! true.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::error::{RequestError, RequestRejection};
use crate::rpc::method;

/// Where a tool's schema says that an argument also travels as a header.
const HEADER_ANNOTATION: &str = "x-mcp-header";

/// What HTTP headers say about the message in the body.
#[derive(Clone, Debug, Default)]
pub struct MirroredHeaders {
    /// `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// `Mcp-Method`.
    pub method: Option<String>,
    /// `Mcp-Name`.
    pub name: Option<String>,
    /// `Mcp-Param-…`, by what follows in lower case.
    pub params: Vec<(String, String)>,
}

impl MirroredHeaders {
    /// The version that the body names.
    pub(crate) fn check_version(&self, version: &str) -> Result<(), RequestError> {
        if self.version.as_deref() == Some(version) {
            return Ok(());
        }
        Err(mismatch("MCP-Protocol-Version", format!("the body says {}", quote_truncated(version))))
    }

    /// The method, and what it is about.
    pub(crate) fn check_method(&self, method: &str, params: &Map<String, Value>) -> Result<(), RequestError> {
        check_header("Mcp-Method", self.method.as_deref(), method)?;
        let Some(member) = method::mirrored_param(method) else { return Ok(()) };
        match params.get(member).and_then(Value::as_str) {
            Some(name) => check_header("Mcp-Name", self.name.as_deref(), name),
            // What is wrong with the body is for the method to say.
            None => Ok(()),
        }
    }

    /// The arguments that this schema marks.
    pub(crate) fn check_arguments(
        &self,
        schema: &Value,
        arguments: &Map<String, Value>,
    ) -> Result<(), RequestError> {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        for (name, property) in properties {
            let Some(mark) = property.get(HEADER_ANNOTATION).and_then(Value::as_str) else { continue };
            let header = format!("Mcp-Param-{mark}");
            let wanted = mark.to_ascii_lowercase();
            let claimed =
                self.params.iter().find(|(suffix, _)| *suffix == wanted).map(|(_, value)| value.as_str());
            match (claimed, arguments.get(name).filter(|value| !value.is_null())) {
                (None, None) => {}
                (claimed, Some(Value::String(value))) => check_header(&header, claimed, value)?,
                (claimed, Some(value)) => check_header(&header, claimed, &value.to_string())?,
                (Some(_), None) => return Err(mismatch(&header, "the body has no such argument".to_owned())),
            }
        }
        Ok(())
    }
}

fn check_header(header: &str, claimed: Option<&str>, actual: &str) -> Result<(), RequestError> {
    let claimed = claimed.ok_or_else(|| mismatch(header, "it is missing".to_owned()))?;
    let claimed = decode_header_value(claimed.trim())
        .ok_or_else(|| mismatch(header, "it is not valid base64".to_owned()))?;
    if claimed == actual {
        Ok(())
    } else {
        Err(mismatch(header, format!("the body says {}", quote_truncated(actual))))
    }
}

/// What a value means: texts that headers cannot hold come as base64, in a wrapper.
fn decode_header_value(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn mismatch(header: &str, problem: String) -> RequestError {
    RequestRejection::HeaderMismatch { header: header.to_owned(), problem }.into()
}

fn quote_truncated(text: &str) -> String {
    format!("`{}`", text.chars().take(64).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn header_must_match_the_body() {
        for (claimed, actual, fits) in [
            (Some("tools/list"), "tools/list", true),
            (Some("  tools/list "), "tools/list", true),
            (Some("TOOLS/LIST"), "tools/list", false),
            (Some("=?base64?SGVsbG8=?="), "Hello", true),
            (Some("=?base64?SGVsbG8?="), "Hello", false),
            (Some("=?base64?SGVs!!!bG8=?="), "Hello", false),
            (Some("SGVsbG8="), "SGVsbG8=", true),
            (Some("=?base64?SGVsbG8="), "=?base64?SGVsbG8=", true),
            (Some(""), "", true),
            (None, "", false),
        ] {
            assert_eq!(check_header("X", claimed, actual).is_ok(), fits, "{claimed:?} {actual}");
        }
    }

    #[test]
    fn annotated_arguments_must_match_their_headers() {
        let schema = json!({ "properties": { "region": { "x-mcp-header": "Region" }, "n": { "x-mcp-header": "N" }, "free": {} } });
        for (headers, arguments, fits) in [
            (vec![("region", "eu")], json!({ "region": "eu" }), true),
            (vec![("region", "eu"), ("n", "3")], json!({ "region": "eu", "n": 3, "free": "x" }), true),
            (vec![("region", "us")], json!({ "region": "eu" }), false),
            (vec![], json!({ "region": "eu" }), false),
            (vec![("region", "eu")], json!({}), false),
            (vec![("free", "y")], json!({ "free": "x" }), true),
        ] {
            let params =
                headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let headers = MirroredHeaders { params, ..MirroredHeaders::default() };
            let arguments = arguments.as_object().unwrap();
            assert_eq!(
                headers.check_arguments(&schema, arguments).is_ok(),
                fits,
                "{headers:?} {arguments:?}"
            );
        }
    }
}
