//! Rows of sessions written by somebody who keeps no rules: no versions are compared, nobody is counted, nothing is sealed.

use flow::session::Row;
use rusqlite::{Connection, params};
use server::Timestamp;

use crate::database::Done;
use crate::database::postgres::Postgres;
use crate::database::sqlite::Sqlite;

pub(super) trait Plain: Send + Sync + 'static {
    /// Adds a row, or replaces what is in it.
    fn write(&self, subject: &str, id: &str, version: i64, row: Row) -> impl Future<Output = Done> + Send;
    /// Reads a row.
    fn read(&self, id: &str) -> impl Future<Output = Done> + Send;
}

impl Plain for Sqlite {
    async fn write(&self, subject: &str, id: &str, version: i64, row: Row) -> Done {
        let (subject, id) = (subject.to_owned(), id.to_owned());
        let work = move |connection: &Connection| {
            let (ends, forgotten) = (row.ends.as_microsecond(), row.forgotten.as_microsecond());
            let leased_until = row.leased_until.map(Timestamp::as_microsecond);
            let values = params![id, subject, version, row.is_open, ends, forgotten, leased_until, row.body];
            let sql = if version == 1 {
                "INSERT INTO flow_sessions (id, tenant, subject, version, is_open, ends, forgotten, leased_until, body)
                 VALUES (?1, 'bench', ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
            } else {
                "UPDATE flow_sessions SET version = ?3, is_open = ?4, ends = ?5, forgotten = ?6,
                 leased_until = ?7, body = ?8 WHERE id = ?1 AND subject = ?2"
            };
            connection.prepare_cached(sql)?.execute(values).map(drop)
        };
        self.change(work).await
    }

    async fn read(&self, id: &str) -> Done {
        let id = id.to_owned();
        let work = move |connection: &Connection| {
            let sql = "SELECT version, is_open, ends, forgotten, leased_until, body FROM flow_sessions WHERE id = ?1";
            connection.prepare_cached(sql)?.query_row([&id], |row| row.get::<_, Vec<u8>>(5)).map(drop)
        };
        self.look(work).await
    }
}

impl Plain for Postgres {
    async fn write(&self, subject: &str, id: &str, version: i64, row: Row) -> Done {
        let sql = if version == 1 {
            "INSERT INTO flow_sessions (id, tenant, subject, version, is_open, ends, forgotten, leased_until, body)
             VALUES ($1, 'bench', $2, $3, $4, $5, $6, $7, $8)"
        } else {
            "UPDATE flow_sessions SET version = $3, is_open = $4, ends = $5, forgotten = $6,
             leased_until = $7, body = $8 WHERE id = $1 AND subject = $2"
        };
        let Row { is_open, ends, forgotten, leased_until, body } = row;
        let client = self.client().await?;
        let written = async {
            let sql = client.prepare_cached(sql).await?;
            client
                .execute(&sql, &[&id, &subject, &version, &is_open, &ends, &forgotten, &leased_until, &body])
                .await
        };
        written.await.map(drop).map_err(|error| error.to_string())
    }

    async fn read(&self, id: &str) -> Done {
        let sql =
            "SELECT version, is_open, ends, forgotten, leased_until, body FROM flow_sessions WHERE id = $1";
        let client = self.client().await?;
        let read = async {
            let sql = client.prepare_cached(sql).await?;
            client.query_one(&sql, &[&id]).await?.try_get::<_, Vec<u8>>(5)
        };
        read.await.map(drop).map_err(|error| error.to_string())
    }
}
