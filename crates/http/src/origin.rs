//! Protects against web pages: a page in the user's browser can reach this server, but must not reach its
//! tools.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use server::RequestRejection;

/// Allowed host names and page origins.
#[derive(Clone, Debug, Default)]
pub struct OriginPolicy {
    /// The address that the server listens on, which most clients use as the host name.
    listen_address: String,
    /// Host names other than loopback, in lower case, with a port or for every port.
    hosts: Vec<String>,
    /// Page origins other than the server itself.
    origins: Vec<String>,
}

impl OriginPolicy {
    /// Allows loopback names, the listen address and `hosts` as host names, and the server itself and
    /// `origins` as page origins.
    pub fn new(listening: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let own = (!listening.ip().is_unspecified()).then(|| listening.ip().to_string());
        let hosts = hosts.iter().cloned().chain(own).map(|host| host.to_ascii_lowercase()).collect();
        let origins =
            origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect();
        Self { listen_address: listening.to_string(), hosts, origins }
    }

    /// Rejects a foreign `Host` (DNS rebinding) and an `Origin` that is not allowed.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), RequestRejection> {
        let host = single_header(headers, &header::HOST).ok_or(RequestRejection::HostNotAllowed)?;
        // The request line may contain an authority as well, which must match.
        let named_alike =
            uri.authority().is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(host));
        if !named_alike || !self.is_allowed_host(host) {
            return Err(RequestRejection::HostNotAllowed);
        }
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = single_header(headers, &header::ORIGIN).unwrap_or_default().to_ascii_lowercase();
        let page = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_own = page.is_some_and(|page| page.eq_ignore_ascii_case(host));
        if is_own || self.origins.contains(&origin) {
            Ok(())
        } else {
            Err(RequestRejection::OriginNotAllowed)
        }
    }

    /// The `Origin` header, if it is explicitly allowed.
    pub(crate) fn allowed_origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = single_header(headers, &header::ORIGIN)?.to_ascii_lowercase();
        headers.get(header::ORIGIN).filter(|_| self.origins.contains(&origin))
    }

    fn is_allowed_host(&self, host: &str) -> bool {
        if host == self.listen_address {
            return true;
        }
        let Some((name, _)) = split_authority(host) else { return false };
        let ip: Option<IpAddr> = name.parse().ok();
        name == "localhost"
            || ip.is_some_and(|ip| ip.is_loopback())
            || self.hosts.iter().any(|ours| *ours == name || *ours == host.to_ascii_lowercase())
    }
}

/// Splits an authority into host (an IPv6 address without its brackets) and port. Rejects anything else,
/// because the parser tolerates additions around the host (`user@`, `[::1].evil.com`).
fn split_authority(authority: &str) -> Option<(String, Option<u16>)> {
    let parsed: Authority = authority.parse().ok()?;
    let (host, port) = (parsed.host(), parsed.port_u16());
    let spelled = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    (spelled == authority)
        .then(|| (host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase(), port))
}

/// The value of a header that occurs exactly once.
pub(crate) fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_headers(host: &str, origin: Option<&str>) -> Result<(), RequestRejection> {
        let listening = "10.1.2.3:8080".parse().unwrap();
        let guard = OriginPolicy::new(
            listening,
            &["mcp.example.com".to_owned()],
            &["https://app.example.com".to_owned()],
        );
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        guard.check(&"/mcp".parse().unwrap(), &headers)
    }

    #[test]
    fn only_host_names_of_this_server_are_allowed() {
        for ours in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1",
            "127.0.0.1:9999",
            "[::1]:80",
            "[::1]",
            "10.1.2.3:8080",
            "mcp.example.com",
            "MCP.example.com:443",
        ] {
            assert_eq!(check_headers(ours, None), Ok(()), "{ours}");
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
            "mcp.example.com.evil.com",
        ] {
            assert_eq!(check_headers(foreign, None), Err(RequestRejection::HostNotAllowed), "{foreign}");
        }
    }

    #[test]
    fn only_allowed_origins_pass() {
        for (origin, passes) in [
            ("http://localhost:8080", true),
            ("https://localhost:8080", true),
            ("https://app.example.com", true),
            ("http://localhost:9999", false),
            ("http://127.0.0.1:8080", false),
            ("https://evil.com", false),
            ("http://localhost.evil.com", false),
            ("null", false),
            ("", false),
            ("http://app.example.com", false),
        ] {
            assert_eq!(check_headers("localhost:8080", Some(origin)).is_ok(), passes, "{origin}");
        }
    }

    #[test]
    fn duplicate_missing_or_conflicting_host_is_rejected() {
        let mut headers = HeaderMap::new();
        headers.append(header::HOST, "localhost".parse().unwrap());
        headers.append(header::HOST, "localhost".parse().unwrap());
        let guard = OriginPolicy::new("127.0.0.1:1".parse().unwrap(), &[], &[]);
        assert_eq!(guard.check(&"/".parse().unwrap(), &headers), Err(RequestRejection::HostNotAllowed));
        headers.remove(header::HOST);
        assert_eq!(guard.check(&"/".parse().unwrap(), &headers), Err(RequestRejection::HostNotAllowed));
        headers.insert(header::HOST, "localhost".parse().unwrap());
        let elsewhere = "http://evil.com/mcp".parse().unwrap();
        assert_eq!(guard.check(&elsewhere, &headers), Err(RequestRejection::HostNotAllowed));
    }
}
