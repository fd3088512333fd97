//! Bodies of requests, and the headers that say what they are.
//!
//! A caller is counted before the body is read, so that the memory for it is only taken for calls that may be made.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use futures_util::StreamExt;
use server::access::Standing;
use server::{Claims, Correlation, Delivery, Letter, Outbox, Refusal};

use crate::State;
use crate::budget::Reservation;
use crate::caller::Caller;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(30);
/// The most that is read of a body whose request is refused, to find the id that the refusal should carry.
const OF_REFUSED: usize = 64 * 1024;
/// How long it may take to arrive.
const REFUSED: Duration = Duration::from_secs(1);

/// A body that was read, and how far its caller's limit goes.
pub(crate) struct Received {
    pub(crate) letter: Letter,
    pub(crate) standing: Option<Standing>,
    /// The memory that the message takes, until it is answered.
    pub(crate) held: Reservation,
}

/// Why a body was not read to its end, and what of it was, for the id of the answer.
pub(crate) struct Unread {
    pub(crate) refusal: Refusal,
    pub(crate) bytes: Bytes,
}

impl From<Refusal> for Unread {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, bytes: Bytes::new() }
    }
}

/// Reads the body of a caller who was let in: one call is counted before, the others of a batch after.
pub(crate) async fn receive(state: &State, caller: &Caller, body: Body) -> Result<Received, Unread> {
    let admitted = async {
        let first = state.door.count(&caller.principal, 1, state.app.moment()).await?;
        Ok((first, state.bodies.begin(caller.address, Some(caller.principal.subject()))?))
    };
    let (first, mut held) = match admitted.await {
        Ok(admitted) => admitted,
        Err(refusal) => {
            return Err(Unread { bytes: read_refused(state, caller.address, body).await, refusal });
        }
    };
    let longest = state.app.longest_message();
    let bytes = match first {
        // What is short is looked at all the same: it may be an answer that a call waits for, and those are not counted.
        Some(Standing { granted: 0, retry_after, .. }) => {
            let short = read(body, longest.min(OF_REFUSED), REFUSED, &mut held).await;
            short.map_err(|_| Refusal::RateLimited { retry_after })?
        }
        _ => read(body, longest, BODY, &mut held).await?,
    };
    held.finish();
    let letter = state.app.decode(&bytes);
    let standing = match first {
        Some(first) if first.granted > 0 && letter.weight() > 1 => {
            let others = state.door.count(&caller.principal, letter.weight() - 1, state.app.moment()).await;
            let others = others.map_err(|refusal| Unread { refusal, bytes })?;
            others.map(|others| Standing { granted: others.granted + 1, ..others })
        }
        first => first,
    };
    Ok(Received { letter, standing, held })
}

/// The beginning of a body whose request is refused; nothing if it is long, slow or broken.
pub(crate) async fn read_refused(state: &State, address: IpAddr, body: Body) -> Bytes {
    let Ok(mut held) = state.bodies.begin(address, None) else { return Bytes::new() };
    let most = state.app.longest_message().min(OF_REFUSED);
    read(body, most, REFUSED, &mut held).await.unwrap_or_default()
}

/// Reads a body to its end, within its limits.
async fn read(body: Body, limit: usize, time: Duration, held: &mut Reservation) -> Result<Bytes, Refusal> {
    tokio::time::timeout(time, collect(body, limit, held)).await.unwrap_or(Err(Refusal::TooSlow))
}

async fn collect(body: Body, limit: usize, held: &mut Reservation) -> Result<Bytes, Refusal> {
    let expected = HttpBody::size_hint(&body).exact().and_then(|bytes| usize::try_from(bytes).ok());
    let mut chunks = body.into_data_stream();
    let mut collected = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Refusal::Broken)?;
        if collected.len() + chunk.len() > limit {
            discard(chunks, limit).await;
            return Err(Refusal::TooLarge { limit });
        }
        if let Err(refusal) = held.grow(chunk.len()) {
            drop(collected);
            discard(chunks, limit).await;
            return Err(refusal);
        }
        if expected == Some(chunk.len()) {
            return Ok(chunk);
        }
        // A length that is only announced gets no memory; that of a body which is well on its way does, in one piece.
        let rest = expected
            .filter(|_| collected.len() > OF_REFUSED)
            .map_or(0, |all| all.min(limit).saturating_sub(collected.len()));
        collected.reserve(rest.max(chunk.len()));
        collected.extend_from_slice(&chunk);
    }
    Ok(collected.into())
}

/// Lets a client that is refused send what it was sending, so that it is there to hear the answer. Nothing of it is kept.
async fn discard(mut chunks: axum::body::BodyDataStream, most: usize) {
    let mut left = most;
    let all = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(REFUSED, all).await;
}

/// The same for a client whose body is not looked at.
pub(crate) async fn drain(body: Body) {
    discard(body.into_data_stream(), OF_REFUSED).await;
}

/// The body says that it is JSON, as it stands.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_plain = |value: &HeaderValue| {
        value.to_str().is_ok_and(|codings| {
            let mut codings = codings.split(',').map(str::trim);
            codings.all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"))
        })
    };
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        return Err(Refusal::Encoded);
    }
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json =
        media_type.split(';').next().is_some_and(|m| m.trim().eq_ignore_ascii_case("application/json"));
    if is_json { Ok(()) } else { Err(Refusal::NotJson) }
}

/// What a client takes as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepts {
    pub(crate) json: bool,
    pub(crate) stream: bool,
}

impl Accepts {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let (mut json, mut stream) = (false, false);
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        for range in values.flat_map(|value| value.split(',')) {
            let mut words = range.split(';').map(str::trim);
            let range = words.next().unwrap_or_default().to_ascii_lowercase();
            if words.any(|word| matches!(word, "q=0" | "q=0.0" | "q=0.00" | "q=0.000")) {
                continue;
            }
            json |= matches!(range.as_str(), "application/json" | "application/*" | "*/*");
            stream |= matches!(range.as_str(), "text/event-stream" | "text/*" | "*/*");
        }
        Self { json, stream }
    }
}

/// What the headers of a request say about the message in its body.
pub(crate) fn claims(headers: &HeaderMap) -> Claims {
    // A header that came twice says nothing that could be relied on.
    let text = |name: &str| {
        let mut values =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        values.next().map(|first| values.fold(first, |all, next| format!("{all}, {next}")))
    };
    let params = headers.keys().filter_map(|name| {
        let suffix = name.as_str().strip_prefix("mcp-param-")?;
        Some((suffix.to_owned(), text(name.as_str())?))
    });
    Claims {
        version: text("mcp-protocol-version"),
        method: text("mcp-method"),
        name: text("mcp-name"),
        params: params.collect(),
    }
}

/// What logs call the request that these are the extensions of.
pub(crate) fn correlation(extensions: &Extensions) -> Correlation {
    extensions.get::<Correlation>().cloned().unwrap_or_default()
}

/// A delivery that goes as far as the caller's limit.
pub(crate) fn delivery(
    outbox: Arc<dyn Outbox>,
    standing: Option<Standing>,
    correlation: Correlation,
) -> Delivery {
    let delivery = Delivery::to(outbox).correlated(correlation);
    match standing {
        Some(Standing { granted, retry_after, .. }) => {
            delivery.granted(granted, Refusal::RateLimited { retry_after })
        }
        None => delivery,
    }
}

/// Says how the caller stands.
pub(crate) fn tell_standing(response: &mut Response, standing: Option<Standing>) {
    let Some(Standing { rate, remaining, .. }) = standing else { return };
    let headers = response.headers_mut();
    let mut number = |name: &'static str, value: u64| {
        headers.insert(HeaderName::from_static(name), value.into());
    };
    let missing = u64::from(rate.burst.saturating_sub(remaining));
    number("ratelimit-limit", rate.burst.into());
    number("ratelimit-remaining", remaining.into());
    number("ratelimit-reset", (missing * 60).div_ceil(u64::from(rate.per_minute.max(1))));
    if let Ok(policy) = HeaderValue::try_from(format!("{};w=60;burst={}", rate.per_minute, rate.burst)) {
        headers.insert(HeaderName::from_static("ratelimit-policy"), policy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_is_read_as_a_list_of_ranges() {
        for (accept, json, stream) in [
            ("application/json, text/event-stream", true, true),
            ("text/event-stream, application/json", true, true),
            ("application/json", true, false),
            ("TEXT/event-stream", false, true),
            ("*/*", true, true),
            ("text/html", false, false),
            ("application/json;q=0, text/event-stream;q=0.5", false, true),
            ("", false, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            assert_eq!(Accepts::of(&headers), Accepts { json, stream }, "{accept}");
        }
        assert_eq!(Accepts::of(&HeaderMap::new()), Accepts { json: false, stream: false });
    }

    #[test]
    fn a_body_is_not_encoded() {
        for (value, fits) in [
            ("identity", true),
            ("IDENTITY", true),
            ("", true),
            ("identity, identity", true),
            ("gzip", false),
            ("br", false),
            ("identity, gzip", false),
            ("zstd", false),
            ("x", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
            headers.append(header::CONTENT_ENCODING, "identity".parse().unwrap());
            headers.append(header::CONTENT_ENCODING, value.parse().unwrap());
            assert_eq!(check_type(&headers).is_ok(), fits, "{value}");
        }
    }

    #[test]
    fn a_json_body_says_so() {
        for (value, fits) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("text/plain", false),
            ("application/jsonp", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, value.parse().unwrap());
            assert_eq!(check_type(&headers).is_ok(), fits, "{value}");
        }
    }
}
