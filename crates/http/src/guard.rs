//! Keeps web pages out: a page in the user's browser can reach this server, and must not reach the tools.

use std::net::{IpAddr, SocketAddr};

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use server::Refusal;

/// By which names this server may be called, and from which pages.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Where the server listens: what most clients call it by.
    own: String,
    /// Names beside those of loopback, in lower case, with a port or for every port.
    hosts: Vec<String>,
    /// Origins of pages beside the server's own.
    origins: Vec<String>,
}

impl Guard {
    /// A server that listens here is called by loopback names, by the address itself, and by these names; pages may be the
    /// server's own or of these origins.
    pub fn new(listening: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let own = (!listening.ip().is_unspecified()).then(|| listening.ip().to_string());
        let hosts = hosts.iter().cloned().chain(own).map(|host| host.to_ascii_lowercase()).collect();
        let origins =
            origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect();
        Self { own: listening.to_string(), hosts, origins }
    }

    /// Refuses a `Host` that is another machine's name (DNS rebinding) and an `Origin` of somebody else's page.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = single(headers, &header::HOST).ok_or(Refusal::HostNotAllowed)?;
        // A request line may name the server too, and must not name another one.
        let named_alike =
            uri.authority().is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(host));
        if !named_alike || !self.is_ours(host) {
            return Err(Refusal::HostNotAllowed);
        }
        if !headers.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = single(headers, &header::ORIGIN).unwrap_or_default().to_ascii_lowercase();
        let page = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        let is_own = page.is_some_and(|page| page.eq_ignore_ascii_case(host));
        if is_own || self.origins.contains(&origin) { Ok(()) } else { Err(Refusal::OriginNotAllowed) }
    }

    /// The origin of a page of somebody else that was expressly allowed.
    pub(crate) fn allowed_origin<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = single(headers, &header::ORIGIN)?.to_ascii_lowercase();
        headers.get(header::ORIGIN).filter(|_| self.origins.contains(&origin))
    }

    fn is_ours(&self, host: &str) -> bool {
        if host == self.own {
            return true;
        }
        let Some((name, _)) = split(host) else { return false };
        let ip: Option<IpAddr> = name.parse().ok();
        name == "localhost"
            || ip.is_some_and(|ip| ip.is_loopback())
            || self.hosts.iter().any(|ours| *ours == name || *ours == host.to_ascii_lowercase())
    }
}

/// Name (an IPv6 address without its brackets) and port. Nothing else may stand there: the parser is lenient about what
/// surrounds the host (`user@`, `[::1].evil.com`).
fn split(authority: &str) -> Option<(String, Option<u16>)> {
    let parsed: Authority = authority.parse().ok()?;
    let (host, port) = (parsed.host(), parsed.port_u16());
    let spelled = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    (spelled == authority)
        .then(|| (host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase(), port))
}

/// The value of a header that came exactly once.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(host: &str, origin: Option<&str>) -> Result<(), Refusal> {
        let listening = "10.1.2.3:8080".parse().unwrap();
        let guard =
            Guard::new(listening, &["mcp.example.com".to_owned()], &["https://app.example.com".to_owned()]);
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        guard.check(&"/mcp".parse().unwrap(), &headers)
    }

    #[test]
    fn only_names_of_this_server_pass() {
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
            assert_eq!(verdict(ours, None), Ok(()), "{ours}");
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
            assert_eq!(verdict(foreign, None), Err(Refusal::HostNotAllowed), "{foreign}");
        }
    }

    #[test]
    fn only_pages_of_this_server_pass() {
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
            assert_eq!(verdict("localhost:8080", Some(origin)).is_ok(), passes, "{origin}");
        }
    }

    #[test]
    fn two_hosts_are_none() {
        let mut headers = HeaderMap::new();
        headers.append(header::HOST, "localhost".parse().unwrap());
        headers.append(header::HOST, "localhost".parse().unwrap());
        let guard = Guard::new("127.0.0.1:1".parse().unwrap(), &[], &[]);
        assert_eq!(guard.check(&"/".parse().unwrap(), &headers), Err(Refusal::HostNotAllowed));
        headers.remove(header::HOST);
        assert_eq!(guard.check(&"/".parse().unwrap(), &headers), Err(Refusal::HostNotAllowed));
        headers.insert(header::HOST, "localhost".parse().unwrap());
        let elsewhere = "http://evil.com/mcp".parse().unwrap();
        assert_eq!(guard.check(&elsewhere, &headers), Err(Refusal::HostNotAllowed));
    }
}
