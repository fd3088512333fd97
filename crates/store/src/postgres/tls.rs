//! TLS connections to PostgreSQL. Certificates are always verified; [`crate::TlsMode`] selects when TLS is
//! used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::OpenError;

/// Builds a connector that trusts the CA certificates of the file, or of the system.
pub(super) async fn build_connector(ca_file: Option<PathBuf>) -> Result<MakeRustlsConnect, OpenError> {
    let reading = tokio::task::spawn_blocking(move || match ca_file {
        Some(path) => roots_from_file(&path),
        None => roots_from_system(),
    });
    let roots = reading.await.unwrap_or_else(|_| Err("cannot read the CA certificates".to_owned()));
    let roots = roots.map_err(OpenError::Certificates)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenError::Certificates(error.to_string()))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // Servers require ALPN for direct TLS (`sslnegotiation=direct`).
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(MakeRustlsConnect::new(config))
}

fn roots_from_file(path: &Path) -> Result<RootCertStore, String> {
    let unusable = |reason: String| format!("{}: {reason}", path.display());
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unusable("the file contains no certificate".to_owned())) } else { Ok(roots) }
}

fn roots_from_system() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    // Very old system certificates may not parse and can be ignored.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err("the system has none; set a CA file".to_owned()) } else { Ok(roots) }
}
