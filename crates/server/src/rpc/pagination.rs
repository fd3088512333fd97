//! Pages of lists.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::error::RequestError;
use crate::rpc::context::RequestContext;

/// Cuts the page out of a list that the request asks for. A cursor names the last entry of the page before,
/// so a list that changes between two pages neither repeats nor skips what stayed.
pub(crate) fn paginate<T>(
    ctx: &RequestContext,
    params: &Map<String, Value>,
    entries: Vec<T>,
    name: impl Fn(&T) -> &str,
) -> Result<(Vec<T>, Option<String>), RequestError> {
    let start = match params.get("cursor") {
        None | Some(Value::Null) => 0,
        Some(cursor) => {
            let last = cursor.as_str().and_then(decode_cursor).ok_or(RequestError::InvalidCursor)?;
            entries.iter().position(|entry| name(entry) == last).ok_or(RequestError::InvalidCursor)? + 1
        }
    };
    // The CODEFLUSS document knows no pages: its lists are whole unless a cursor was asked for.
    let whole = ctx.dialect == protocol::Dialect::Codefluss && start == 0;
    let size = if whole { entries.len() } else { ctx.app().page_size };
    let more = entries.len() > start + size;
    let page: Vec<T> = entries.into_iter().skip(start).take(size).collect();
    let next = page.last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(name(last)));
    Ok((page, next))
}

fn decode_cursor(cursor: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}
