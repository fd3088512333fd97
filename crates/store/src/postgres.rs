//! PostgreSQL: a connection pool, and recovery from broken connections.

mod access;
mod cancel;
mod column;
mod connection_queue;
mod error;
mod projects;
mod request;
mod schema;
mod sessions;
mod tls;
mod transaction;
mod use_case;

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use crate::{OpenError, PostgresLocation, Store, StoreOptions, TlsMode};
use cancel::Canceller;
use connection_queue::PgConnectionQueue;

/// Added to the statement timeout, for the network round trip.
const ROUND_TRIP_ALLOWANCE: Duration = Duration::from_secs(2);

pub(crate) struct Postgres {
    pool: Pool,
    canceller: Canceller,
    /// How long to wait for an answer. A reachable database times out earlier.
    answer_timeout: Duration,
    queue: PgConnectionQueue,
    lease_count: AtomicU32,
}

impl Store for Postgres {}

impl Postgres {
    /// Connects, and creates or migrates the tables.
    pub(crate) async fn open(server: &PostgresLocation, options: &StoreOptions) -> Result<Self, OpenError> {
        let place = server.to_string();
        let (pool, canceller) = build_pool(server, options).await?;
        let failed = |cause| OpenError::Failed { place: place.clone(), cause };
        let mut client = pool.get().await.map_err(|error| failed(error::pool_store_error(&error)))?;
        schema::migrate(&place, &mut client).await?;
        if schema::bypasses_rls(&client).await.map_err(|error| failed(error::store_error(&error)))? {
            tracing::warn!(
                store = place,
                "row-level security is inactive: the database role is a superuser or has BYPASSRLS"
            );
        }
        drop(client);
        let patience = options.statement_timeout + ROUND_TRIP_ALLOWANCE;
        let turns = PgConnectionQueue::new(options.max_connections, patience);
        Ok(Self {
            pool,
            canceller,
            answer_timeout: patience,
            queue: turns,
            lease_count: AtomicU32::default(),
        })
    }
}

async fn build_pool(
    server: &PostgresLocation,
    options: &StoreOptions,
) -> Result<(Pool, Canceller), OpenError> {
    let mut config = server.config.clone();
    let own = session_settings(options);
    config.options(config.get_options().map_or(own.clone(), |given| format!("{own} {given}")));
    if config.get_application_name().is_none() {
        config.application_name("fluxway");
    }
    config.connect_timeout(options.connect_timeout);
    config.ssl_mode(match server.tls {
        TlsMode::Off => SslMode::Disable,
        TlsMode::IfOffered => SslMode::Prefer,
        TlsMode::Required => SslMode::Require,
    });
    // Each connection has a task that notices when it is closed, so recycling needs no query.
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let (manager, canceller) = if server.tls == TlsMode::Off {
        (Manager::from_config(config, NoTls, recycling), Canceller::new(NoTls))
    } else {
        let ca_file = options.ca_file.clone().or_else(|| server.ca_file.clone());
        let connector = tls::build_connector(ca_file).await?;
        (Manager::from_config(config, connector.clone(), recycling), Canceller::new(connector))
    };
    let built = Pool::builder(manager)
        .max_size(options.max_connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(options.connect_timeout))
        .create_timeout(Some(options.connect_timeout))
        .recycle_timeout(Some(options.connect_timeout))
        .build();
    let pool = built.map_err(|error| OpenError::Failed {
        place: server.to_string(),
        cause: store_api::StoreError::Broken(error.to_string()),
    })?;
    Ok((pool, canceller))
}

/// Session defaults. Options in the URL come later and override them. Read committed is required, regardless
/// of the default of the database: after waiting for a lock, a statement must see what was written under it.
fn session_settings(options: &StoreOptions) -> String {
    let limit = options.statement_timeout.as_millis();
    format!(
        "-c statement_timeout={limit} -c idle_in_transaction_session_timeout={limit} \
         -c default_transaction_isolation=read\\ committed"
    )
}
