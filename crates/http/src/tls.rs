//! TLS, for servers without a TLS-terminating proxy.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate and its key, which can be replaced while the server runs.
#[derive(Clone)]
pub struct ReloadableTls(Arc<RwLock<TlsAcceptor>>);

impl ReloadableTls {
    /// Parses a certificate chain and a private key, both in PEM format.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, String> {
        Ok(Self(Arc::new(RwLock::new(build_acceptor(certificates, key)?))))
    }

    /// Uses another certificate for new connections. On an error, the current one stays in use.
    pub fn replace(&self, certificates: &[u8], key: &[u8]) -> Result<(), String> {
        let acceptor = build_acceptor(certificates, key)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
        Ok(())
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        let acceptor = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        acceptor.accept(stream).await
    }
}

fn build_acceptor(certificates: &[u8], key: &[u8]) -> Result<TlsAcceptor, String> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("invalid certificate file: {error}"))?;
    if chain.is_empty() {
        return Err("the certificate file contains no PEM certificate".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("invalid private key: {error}"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("the certificate does not match the private key: {error}"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
