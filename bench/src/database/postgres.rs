//! Two databases on a server, with the same tables, for as long as a bench runs.

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use flow::Entropy;
use server::OsEntropy;
use tokio_postgres::{Client, NoTls};

use crate::Outcome;

/// Connections: as many as the store has.
const CONNECTIONS: usize = 8;

/// Both belong to an ordinary role, as which the store comes. Plain rows are written to the second, by a superuser, for whom
/// no policies are asked.
#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Pool,
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
        let config = at(admin, &format!("{name}_plain"))?.parse()?;
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool =
            Pool::builder(Manager::from_config(config, NoTls, recycling)).max_size(CONNECTIONS).build()?;
        let all = Self { pool, admin: admin.to_owned(), name: name.clone(), password: password.clone() };
        all.tell(&format!("CREATE ROLE {name} LOGIN PASSWORD '{password}' NOSUPERUSER NOBYPASSRLS")).await?;
        for database in all.databases() {
            all.tell(&format!("CREATE DATABASE {database} OWNER {name}")).await?;
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
        let (_, host) = self.admin.rsplit_once('@').ok_or("TEST_POSTGRES names no user")?;
        let (host, _) = host.split_once('/').ok_or("TEST_POSTGRES names no database")?;
        let url = |database: String| {
            format!("postgres://{}:{}@{host}/{database}", self.name, self.password).parse()
        };
        let [own, other] = self.databases();
        Ok([url(own)?, url(other)?])
    }

    /// A connection to the database of plain rows.
    pub(crate) async fn client(&self) -> Result<Object, String> {
        self.pool.get().await.map_err(|error| error.to_string())
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

async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
