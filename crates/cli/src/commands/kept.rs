//! The store, opened as the settings say; and the server's own secrets in it.

use std::sync::Arc;

use server::access::{AccessStore, Pepper};
use server::flow::session::{Memory, SessionStore, StoreError};
use server::{Entropy, FlowSettings, OpenSessions, OpenedSessions, OsEntropy, SealKey};
use store::{Location, Options, Store};

use crate::config::{ConfigError, Interactive, Serving};
use crate::exit::Failure;

/// Opens the store.
pub(crate) async fn open(serving: &Serving) -> Result<Arc<dyn Store>, Failure> {
    let location = serving.database.as_ref().ok_or(ConfigError::NoDataFolder)?;
    Ok(store::open(location, &options(serving)).await?)
}

fn options(serving: &Serving) -> Options {
    Options { ca_file: serving.database_ca.clone(), ..Options::default() }
}

/// Interactive sessions in a store that is open.
pub(crate) fn sessions_in(
    store: &Arc<dyn Store>,
    serving: &Serving,
    interactive: Interactive,
) -> FlowSettings {
    let Interactive { mode, limits } = interactive;
    if serving.database == Some(Location::Memory) {
        return FlowSettings { mode, limits, store: None };
    }
    let store = Arc::clone(store) as Arc<dyn SessionStore>;
    let open: OpenSessions = Box::new(move || {
        let store = Arc::clone(&store);
        Box::pin(async move { Ok((store, None)) })
    });
    FlowSettings { mode, limits, store: Some(open) }
}

/// Interactive sessions in a store that is opened when the first of them begins: most servers on a pipe have none.
pub(crate) fn sessions(serving: &Serving, interactive: Interactive, has_key: bool) -> FlowSettings {
    let Interactive { mode, limits } = interactive;
    // What is gone with the process needs no database, and must not be called lasting.
    let Some(location) = serving.database.clone().filter(|location| *location != Location::Memory) else {
        return FlowSettings { mode, limits, store: None };
    };
    let options = options(serving);
    let open: OpenSessions = Box::new(move || {
        let (location, options) = (location.clone(), options.clone());
        Box::pin(async move { open_sessions(&location, &options, has_key).await })
    });
    FlowSettings { mode, limits, store: Some(open) }
}

async fn open_sessions(location: &Location, options: &Options, has_key: bool) -> OpenedSessions {
    let store = match store::open(location, options).await {
        Ok(store) => store,
        // A home that cannot be written to is no reason to ask nothing.
        Err(error) if matches!(location, Location::Sqlite(_)) => {
            tracing::warn!(%error, "interactive sessions end with this process");
            return Ok((Arc::new(Memory::default()), None));
        }
        Err(error) => return Err(StoreError::Unreachable(error.to_string())),
    };
    if has_key {
        return Ok((store, None));
    }
    let broken = |error: Failure| StoreError::Broken(error.to_string());
    let key = SealKey::of(secret(store.as_ref(), "seal_key").await.map_err(broken)?);
    Ok((store, Some(key)))
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
