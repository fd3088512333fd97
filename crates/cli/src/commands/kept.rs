//! The store, opened as the settings say; and the server's own secrets in it.

use std::sync::Arc;

use server::access::{AccessStore, Pepper};
use server::{Entropy, OsEntropy};
use store::{Options, Store};

use crate::config::{ConfigError, Serving};
use crate::exit::Failure;

/// Opens the store.
pub(crate) async fn open(serving: &Serving) -> Result<Arc<dyn Store>, Failure> {
    let location = serving.database.as_ref().ok_or(ConfigError::NoDataFolder)?;
    let options = Options { ca_file: serving.database_ca.clone(), ..Options::default() };
    Ok(store::open(location, &options).await?)
}

/// The secret that keys are hashed with: the one in the settings, else the one in the store.
pub(crate) async fn pepper(serving: &mut Serving, store: &dyn Store) -> Result<Pepper, Failure> {
    match serving.pepper.take() {
        Some(pepper) => Ok(pepper),
        None => Ok(Pepper::new(secret(store, "key_pepper").await?)),
    }
}

/// The secret of this name. It is drawn once, by whoever needs it first.
pub(crate) async fn secret(store: &dyn Store, name: &str) -> Result<[u8; 32], Failure> {
    let mut fresh = [0; 32];
    OsEntropy.fill(&mut fresh);
    let kept = AccessStore::secret(store, name, &fresh).await?;
    kept.try_into().map_err(|_| {
        let why = format!("the secret `{name}` in the database is damaged");
        Failure::Kept(server::access::StoreError::Broken(why))
    })
}
