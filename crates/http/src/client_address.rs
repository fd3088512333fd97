//! The client address of a request, even behind a proxy.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Proxies whose `X-Forwarded-For` is trusted. It is ignored from all others.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client of a request from `peer`: the last address in `X-Forwarded-For` that is not a trusted
    /// proxy. Anything before it could have been written by the client itself.
    pub(crate) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.contains(client) {
            return client;
        }
        let values: Vec<&str> =
            headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default()).collect();
        for hop in values.iter().rev().flat_map(|value| value.rsplit(',')) {
            // An unparsable entry identifies no client, so the proxy that wrote it counts as the client.
            let Some(address) = parse_address(hop.trim()) else { break };
            client = address;
            if !self.contains(client) {
                break;
            }
        }
        client
    }
}

/// Parses an address as proxies write it: bare, or with a port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let alone = || text.trim_start_matches('[').trim_end_matches(']').parse().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    alone().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_for_is_trusted_only_from_trusted_proxies() {
        let proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        for (peer, headers, client) in [
            ("192.0.2.1", &["203.0.113.9"][..], "192.0.2.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            ("::ffff:10.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["198.51.100.7, 203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["198.51.100.7, 203.0.113.9, 10.9.9.9"], "203.0.113.9"),
            ("10.0.0.1", &["198.51.100.7", "203.0.113.9,10.1.1.1"], "203.0.113.9"),
            ("10.0.0.1", &["10.2.2.2, 10.1.1.1"], "10.2.2.2"),
            ("10.0.0.1", &["203.0.113.9:4711"], "203.0.113.9"),
            ("fd00::1", &["[2001:db8::9]:4711"], "2001:db8::9"),
            ("fd00::1", &["2001:db8::9"], "2001:db8::9"),
            ("10.0.0.1", &["203.0.113.9, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.9, unknown, 10.1.1.1"], "10.1.1.1"),
            ("10.0.0.1", &["", ""], "10.0.0.1"),
        ] {
            let mut map = HeaderMap::new();
            for value in headers {
                map.append(FORWARDED_FOR, value.parse().unwrap());
            }
            let expected: IpAddr = client.parse().unwrap();
            assert_eq!(proxies.client_address(peer.parse().unwrap(), &map), expected, "{peer} {headers:?}");
        }
    }
}
