//! Bodies of requests, and the headers that say what they are.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use server::access::Standing;
use server::{Claims, Correlation, Delivery, Outbox, Refusal};

/// How long a body may take.
const BODY: Duration = Duration::from_secs(30);

/// Reads a body to its end, within its limits.
pub(crate) async fn read(body: Body, limit: usize) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(BODY, to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(Refusal::TooLarge { limit }),
        Ok(Err(_)) => Err(Refusal::Broken),
        Err(_) => Err(Refusal::TooSlow),
    }
}

/// Lets somebody who is refused send what they were sending, so that they are there to hear it.
pub(crate) async fn drain(body: Body) {
    const SOME: usize = 64 * 1024;
    let _ = tokio::time::timeout(Duration::from_secs(1), to_bytes(body, SOME)).await;
}

fn is_too_long(error: &axum::Error) -> bool {
    // The error that tells of the limit is the innermost.
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if error.to_string().contains("length limit") {
            return true;
        }
        source = error.source();
    }
    false
}

/// The body says that it is JSON.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
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
