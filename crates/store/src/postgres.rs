//! PostgreSQL: a pool of connections, and what is done when one breaks.

mod access;
mod cancel;
mod case;
mod column;
mod fault;
mod projects;
mod schema;
mod sessions;
mod tls;
mod transaction;
mod turns;
mod work;

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use crate::{OpenError, Options, Server, Store, Tls};
use cancel::Canceller;
use turns::Turns;

/// What is granted on top of the time that the database allows a statement, for the way there and back.
const WAY: Duration = Duration::from_secs(2);

/// A store in PostgreSQL.
pub(crate) struct Postgres {
    pool: Pool,
    canceller: Canceller,
    /// How long to wait for an answer. A database that can be reached gives up before.
    patience: Duration,
    turns: Turns,
    leases: AtomicU32,
}

impl Store for Postgres {}

impl Postgres {
    /// Connects, and makes or updates the tables.
    pub(crate) async fn open(server: &Server, options: &Options) -> Result<Self, OpenError> {
        let place = server.to_string();
        let (pool, canceller) = pool(server, options).await?;
        let failed = |cause| OpenError::Failed { place: place.clone(), cause };
        let mut client = pool.get().await.map_err(|error| failed(fault::of_pool(&error)))?;
        schema::migrate(&place, &mut client).await?;
        if schema::is_exempt(&client).await.map_err(|error| failed(fault::of(&error)))? {
            tracing::warn!(
                store = place,
                "the database does not keep tenants apart for this role: it is a superuser or has BYPASSRLS"
            );
        }
        drop(client);
        let patience = options.statement_timeout + WAY;
        let turns = Turns::of(options.connections, patience);
        Ok(Self { pool, canceller, patience, turns, leases: AtomicU32::default() })
    }
}

async fn pool(server: &Server, options: &Options) -> Result<(Pool, Canceller), OpenError> {
    let mut config = server.config.clone();
    let own = session_settings(options);
    config.options(config.get_options().map_or(own.clone(), |given| format!("{own} {given}")));
    if config.get_application_name().is_none() {
        config.application_name("fluxway");
    }
    config.connect_timeout(options.connect_timeout);
    config.ssl_mode(match server.tls {
        Tls::Off => SslMode::Disable,
        Tls::IfOffered => SslMode::Prefer,
        Tls::Required => SslMode::Require,
    });
    // Whether a connection is closed is known without asking: each is watched by a task of its own.
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let (manager, canceller) = if server.tls == Tls::Off {
        (Manager::from_config(config, NoTls, recycling), Canceller::by(NoTls))
    } else {
        let ca_file = options.ca_file.clone().or_else(|| server.ca_file.clone());
        let connector = tls::connector(ca_file).await?;
        (Manager::from_config(config, connector.clone(), recycling), Canceller::by(connector))
    };
    let built = Pool::builder(manager)
        .max_size(options.connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(options.connect_timeout))
        .create_timeout(Some(options.connect_timeout))
        .recycle_timeout(Some(options.connect_timeout))
        .build();
    let pool = built.map_err(|error| OpenError::Failed {
        place: server.to_string(),
        cause: storage::StoreError::Broken(error.to_string()),
    })?;
    Ok((pool, canceller))
}

/// What every session is begun with. What the URL says comes after it and wins. Who waited for a lock has to see what
/// was done under it, whatever the database has for others.
fn session_settings(options: &Options) -> String {
    let limit = options.statement_timeout.as_millis();
    format!(
        "-c statement_timeout={limit} -c idle_in_transaction_session_timeout={limit} \
         -c default_transaction_isolation=read\\ committed"
    )
}
