//! Request bodies, and the headers that describe them.
//!
//! The rate limit is charged before the body is read, so that memory is only used for permitted calls.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use futures_util::StreamExt;
use server::access::RateLimitStatus;
use server::{Correlation, DecodedMessage, MessageOrigin, MirroredHeaders, Outbox, RequestRejection};

use crate::HttpState;
use crate::body_budget::BodyReservation;
use crate::caller::AuthenticatedCaller;

const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How much of a rejected request's body is read, to find the id for the response.
const MAX_REFUSED_BODY_BYTES: usize = 64 * 1024;
const REFUSED_BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// A decoded body, and the caller's rate-limit status.
pub(crate) struct ReceivedBody {
    pub(crate) message: DecodedMessage,
    pub(crate) rate_limit: Option<RateLimitStatus>,
    /// Held until the message is answered.
    pub(crate) reservation: BodyReservation,
}

/// Why a body was not accepted, and what was read of it, to find the id for the response.
pub(crate) struct BodyError {
    pub(crate) rejection: RequestRejection,
    pub(crate) partial_body: Bytes,
}

impl From<RequestRejection> for BodyError {
    fn from(rejection: RequestRejection) -> Self {
        Self { rejection, partial_body: Bytes::new() }
    }
}

/// Reads the body of an authenticated caller. Charges one call before reading, and the rest of a batch after.
pub(crate) async fn receive(
    state: &HttpState,
    caller: &AuthenticatedCaller,
    body: Body,
) -> Result<ReceivedBody, BodyError> {
    let admitted = async {
        let first =
            state.authenticator.charge_rate_limit(&caller.principal, 1, state.app.clock_reading()).await?;
        Ok((first, state.bodies.reserve(caller.address, Some(caller.principal.subject()))?))
    };
    let (first, mut reserved) = match admitted.await {
        Ok(admitted) => admitted,
        Err(rejection) => {
            return Err(BodyError {
                partial_body: read_refused(state, caller.address, body).await,
                rejection,
            });
        }
    };
    let longest = state.app.max_message_bytes();
    let bytes = match first {
        // Read short bodies anyway: they may be responses that a call is waiting for, and those are not
        // rate-limited.
        Some(RateLimitStatus { granted: 0, retry_after, .. }) => {
            let short = read_with_timeout(
                body,
                longest.min(MAX_REFUSED_BODY_BYTES),
                REFUSED_BODY_TIMEOUT,
                &mut reserved,
            )
            .await;
            short.map_err(|_| RequestRejection::RateLimited { retry_after })?
        }
        _ => read_with_timeout(body, longest, BODY_TIMEOUT, &mut reserved).await?,
    };
    reserved.finish();
    let decoded = state.app.decode(&bytes);
    let rate_limit = match first {
        Some(first) if first.granted > 0 && decoded.rate_limit_cost() > 1 => {
            let others = state
                .authenticator
                .charge_rate_limit(
                    &caller.principal,
                    decoded.rate_limit_cost() - 1,
                    state.app.clock_reading(),
                )
                .await;
            let others = others.map_err(|rejection| BodyError { rejection, partial_body: bytes })?;
            others.map(|others| RateLimitStatus { granted: others.granted + 1, ..others })
        }
        first => first,
    };
    Ok(ReceivedBody { message: decoded, rate_limit, reservation: reserved })
}

/// Reads the body of a rejected request; empty if it is long, slow or malformed.
pub(crate) async fn read_refused(state: &HttpState, address: IpAddr, body: Body) -> Bytes {
    let Ok(mut reserved) = state.bodies.reserve(address, None) else { return Bytes::new() };
    let most = state.app.max_message_bytes().min(MAX_REFUSED_BODY_BYTES);
    read_with_timeout(body, most, REFUSED_BODY_TIMEOUT, &mut reserved).await.unwrap_or_default()
}

async fn read_with_timeout(
    body: Body,
    limit: usize,
    time: Duration,
    reserved: &mut BodyReservation,
) -> Result<Bytes, RequestRejection> {
    tokio::time::timeout(time, collect(body, limit, reserved))
        .await
        .unwrap_or(Err(RequestRejection::BodyTimeout))
}

async fn collect(
    body: Body,
    limit: usize,
    reserved: &mut BodyReservation,
) -> Result<Bytes, RequestRejection> {
    let expected = HttpBody::size_hint(&body).exact().and_then(|bytes| usize::try_from(bytes).ok());
    let mut chunks = body.into_data_stream();
    let mut collected = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| RequestRejection::MalformedBody)?;
        if collected.len() + chunk.len() > limit {
            discard(chunks, limit).await;
            return Err(RequestRejection::BodyTooLarge { limit });
        }
        if let Err(rejection) = reserved.grow(chunk.len()) {
            drop(collected);
            discard(chunks, limit).await;
            return Err(rejection);
        }
        if expected == Some(chunk.len()) {
            return Ok(chunk);
        }
        // Do not allocate for a length that is only announced. Once a good part has arrived, allocate the
        // rest at once.
        let rest = expected
            .filter(|_| collected.len() > MAX_REFUSED_BODY_BYTES)
            .map_or(0, |all| all.min(limit).saturating_sub(collected.len()));
        collected.reserve(rest.max(chunk.len()));
        collected.extend_from_slice(&chunk);
    }
    Ok(collected.into())
}

/// Reads and discards the rest of a rejected body, because many clients only read the response after sending.
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
    let _ = tokio::time::timeout(REFUSED_BODY_TIMEOUT, all).await;
}

/// Discards a body that is not inspected at all.
pub(crate) async fn drain(body: Body) {
    discard(body.into_data_stream(), MAX_REFUSED_BODY_BYTES).await;
}

/// Requires `Content-Type: application/json` without a content encoding.
pub(crate) fn check_content_type(headers: &HeaderMap) -> Result<(), RequestRejection> {
    let is_plain = |value: &HeaderValue| {
        value.to_str().is_ok_and(|codings| {
            let mut codings = codings.split(',').map(str::trim);
            codings.all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"))
        })
    };
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        return Err(RequestRejection::UnsupportedEncoding);
    }
    let media_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json =
        media_type.split(';').next().is_some_and(|m| m.trim().eq_ignore_ascii_case("application/json"));
    if is_json { Ok(()) } else { Err(RequestRejection::NotJson) }
}

/// The media types that the client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedMediaTypes {
    pub(crate) json: bool,
    pub(crate) stream: bool,
}

impl AcceptedMediaTypes {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
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

/// Reads the headers that mirror parts of the message.
pub(crate) fn mirrored_headers(headers: &HeaderMap) -> MirroredHeaders {
    // Repeated headers are joined, so that they do not match any value in the message.
    let text = |name: &str| {
        let mut values =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        values.next().map(|first| values.fold(first, |all, next| format!("{all}, {next}")))
    };
    let params = headers.keys().filter_map(|name| {
        let suffix = name.as_str().strip_prefix("mcp-param-")?;
        Some((suffix.to_owned(), text(name.as_str())?))
    });
    MirroredHeaders {
        version: text("mcp-protocol-version"),
        method: text("mcp-method"),
        name: text("mcp-name"),
        params: params.collect(),
    }
}

/// The correlation ids of a request, from its extensions.
pub(crate) fn correlation(extensions: &Extensions) -> Correlation {
    extensions.get::<Correlation>().cloned().unwrap_or_default()
}

/// The origin of a message, limited to the requests that the rate limit granted.
pub(crate) fn message_origin(
    outbox: Arc<dyn Outbox>,
    rate_limit: Option<RateLimitStatus>,
    correlation: Correlation,
) -> MessageOrigin {
    let delivery = MessageOrigin::for_outbox(outbox).with_correlation(correlation);
    match rate_limit {
        Some(RateLimitStatus { granted, retry_after, .. }) => {
            delivery.with_max_requests(granted, RequestRejection::RateLimited { retry_after })
        }
        None => delivery,
    }
}

/// Adds the `RateLimit-*` headers.
pub(crate) fn add_rate_limit_headers(response: &mut Response, rate_limit: Option<RateLimitStatus>) {
    let Some(RateLimitStatus { limit: rate, remaining, .. }) = rate_limit else { return };
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
    fn accept_header_is_parsed_as_media_ranges() {
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
            assert_eq!(
                AcceptedMediaTypes::from_headers(&headers),
                AcceptedMediaTypes { json, stream },
                "{accept}"
            );
        }
        assert_eq!(
            AcceptedMediaTypes::from_headers(&HeaderMap::new()),
            AcceptedMediaTypes { json: false, stream: false }
        );
    }

    #[test]
    fn encoded_body_is_rejected() {
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
            assert_eq!(check_content_type(&headers).is_ok(), fits, "{value}");
        }
    }

    #[test]
    fn only_json_content_type_is_accepted() {
        for (value, fits) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("text/plain", false),
            ("application/jsonp", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, value.parse().unwrap());
            assert_eq!(check_content_type(&headers).is_ok(), fits, "{value}");
        }
    }
}
