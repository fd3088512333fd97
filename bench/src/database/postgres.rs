//! Two databases on a server, with the same tables, for as long as a bench runs.

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use flow::Entropy;
use server::OsEntropy;
use tokio_postgres::{Client, NoTls};

use crate::Outcome;

/// Connections: as many as the store has.
const CONNECTIONS: usize = 8;

/// Both belong to an ordinary role, as which the store comes. Plain rows are written to the second: by a superuser, for whom
/// no policies are asked, or by the same role.
#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Pool,
    own_pool: Pool,
    admin: String,
    name: String,
    password: String,
}

impl Postgres {
    pub(crate) async fn open(admin: &str) -> Outcome<Self> {
        let mut random = [0; 16];
        OsEntropy.fill(&mut random);
        let password = format!("{:032x}", u128::from_le_bytes(random));
        let name = format!("bench_{}", std::process::id());
        let plain = at(admin, &format!("{name}_plain"))?;
        let (pool, own_pool) = (pool(&plain)?, pool(&by(&name, &password, &plain)?)?);
        let role = format!("CREATE ROLE {name} LOGIN PASSWORD '{password}' NOSUPERUSER NOBYPASSRLS");
        let all = Self { pool, own_pool, admin: admin.to_owned(), name, password };
        all.tell(&role).await?;
        for database in all.databases() {
            all.tell(&format!("CREATE DATABASE {database} OWNER {}", all.name)).await?;
        }
        // Makes the tables.
        for location in all.locations()? {
            drop(store::open(&location, &store::Options::default()).await?);
        }
        Ok(all)
    }

    fn databases(&self) -> [String; 2] {
        [self.name.clone(), format!("{}_plain", self.name)]
    }

    /// Where the store is: its own database, and the other one.
    pub(crate) fn locations(&self) -> Outcome<[store::Location; 2]> {
        let location = |database: &str| {
            Outcome::Ok(by(&self.name, &self.password, &at(&self.admin, database)?)?.parse()?)
        };
        let [own, other] = self.databases();
        Ok([location(&own)?, location(&other)?])
    }

    /// A connection to the database of plain rows.
    pub(crate) async fn client(&self) -> Result<Object, String> {
        self.pool.get().await.map_err(|error| error.to_string())
    }

    /// The same as the role that the store comes as, behind the same policies.
    pub(crate) async fn own_client(&self) -> Result<Object, String> {
        self.own_pool.get().await.map_err(|error| error.to_string())
    }

    /// A superuser in the database of the store, and one in the other.
    pub(crate) async fn superusers(&self) -> Outcome<[Client; 2]> {
        let [own, other] = self.databases();
        Ok([connect(&at(&self.admin, &own)?).await?, connect(&at(&self.admin, &other)?).await?])
    }

    async fn tell(&self, sql: &str) -> Outcome<()> {
        Ok(connect(&self.admin).await?.batch_execute(sql).await?)
    }

    /// Removes the databases and the role.
    pub(crate) async fn remove(&self) -> Outcome<()> {
        for database in self.databases() {
            self.tell(&format!("DROP DATABASE {database} WITH (FORCE)")).await?;
        }
        self.tell(&format!("DROP ROLE {}", self.name)).await
    }
}

/// Another database of the same server.
fn at(url: &str, database: &str) -> Outcome<String> {
    let (server, _) = url.rsplit_once('/').ok_or("TEST_POSTGRES names no database")?;
    Ok(format!("{server}/{database}"))
}

/// The same database, for somebody else.
fn by(name: &str, password: &str, url: &str) -> Outcome<String> {
    let (_, place) = url.rsplit_once('@').ok_or("TEST_POSTGRES names no user")?;
    Ok(format!("postgres://{name}:{password}@{place}"))
}

fn pool(url: &str) -> Outcome<Pool> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(url.parse()?, NoTls, recycling);
    Ok(Pool::builder(manager).max_size(CONNECTIONS).build()?)
}

async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
