//! Keeps web pages out: a page in the user's browser can reach loopback, and must not reach the tools.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Refuses requests whose `Host` or `Origin` is another machine's name (DNS rebinding, cross-site requests).
pub(crate) async fn only_from_this_machine(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host_is_ours = single(headers, &header::HOST).is_some_and(is_loopback_authority);
    let origin_is_ours = match headers.get(header::ORIGIN) {
        None => true,
        Some(_) => single(headers, &header::ORIGIN)
            .and_then(|origin| origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")))
            .is_some_and(is_loopback_authority),
    };
    if host_is_ours && origin_is_ours {
        next.run(request).await
    } else {
        StatusCode::FORBIDDEN.into_response()
    }
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

fn is_loopback_authority(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let host = authority.host();
    // The parser is lenient about what stands around the host (`user@`, `[::1].evil.com`); nothing may stand there.
    let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
    let ip = host.trim_start_matches('[').trim_end_matches(']');
    authority.as_str() == format!("{host}{port}")
        && (host.eq_ignore_ascii_case("localhost") || ip.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::is_loopback_authority;

    #[test]
    fn only_loopback_names_pass() {
        for ours in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:9999", "[::1]:80", "[::1]"] {
            assert!(is_loopback_authority(ours), "{ours}");
        }
        for foreign in [
            "evil.com",
            "localhost.evil.com",
            "127.0.0.1.evil.com",
            "",
            "null",
            "10.0.0.1",
            "[::2]:80",
            "[::1].evil.com",
            "x@localhost",
            "localhost:x",
        ] {
            assert!(!is_loopback_authority(foreign), "{foreign}");
        }
    }
}
