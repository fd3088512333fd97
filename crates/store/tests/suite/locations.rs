//! URLs of stores.

use std::path::PathBuf;

use store::{LocationError, StoreLocation};

fn parse_location(url: &str) -> Result<StoreLocation, LocationError> {
    url.parse()
}

fn sqlite_location(path: &str) -> StoreLocation {
    StoreLocation::Sqlite(PathBuf::from(path))
}

#[test]
fn sqlite_paths_parse_in_every_form() {
    assert_eq!(parse_location("sqlite:store.db"), Ok(sqlite_location("store.db")));
    assert_eq!(parse_location("sqlite:/var/lib/store.db"), Ok(sqlite_location("/var/lib/store.db")));
    assert_eq!(parse_location("sqlite:///var/lib/store.db"), Ok(sqlite_location("/var/lib/store.db")));
    assert_eq!(parse_location("sqlite://data/store.db"), Ok(sqlite_location("data/store.db")));
    assert_eq!(parse_location("sqlite::memory:"), Ok(StoreLocation::Memory));
    for wrong in ["sqlite:", "sqlite://", "sqlite:store.db?mode=ro", "sqlite:a\0b"] {
        assert_eq!(parse_location(wrong), Err(LocationError::NoPath), "{wrong}");
    }
}

#[test]
fn unsupported_urls_are_rejected_with_a_hint() {
    assert_eq!(parse_location("mysql://root@host/db"), Err(LocationError::UnknownScheme("mysql".to_owned())));
    assert!(parse_location("mysql://x").unwrap_err().to_string().ends_with("use `sqlite:` or `postgres:`"));
    for wrong in ["", "store.db", "/var/lib/store.db", "S3cr3t:x", "://"] {
        assert!(
            matches!(parse_location(wrong), Err(LocationError::NotAUrl | LocationError::UnknownScheme(_))),
            "{wrong}"
        );
    }
}

#[test]
fn server_is_displayed_without_its_password() {
    let shown = |url: &str| parse_location(url).unwrap().to_string();
    assert_eq!(
        shown("postgres://ann:hunter2@db.example:6432/flux"),
        "postgres://ann@db.example:6432/flux?sslmode=require"
    );
    assert_eq!(
        shown("postgresql://ann@localhost/flux"),
        "postgres://ann@localhost:5432/flux?sslmode=disable"
    );
    assert_eq!(shown("postgres://[::1]/flux"), "postgres://::1:5432/flux?sslmode=disable");
    assert_eq!(
        shown("postgres://ann@%2Frun%2Fpg/flux?password=hunter2"),
        "postgres://ann@/run/pg:5432/flux?sslmode=disable"
    );
    assert_eq!(shown("postgres://h1:1,h2:2/flux?sslmode=prefer"), "postgres://h1:1,h2:2/flux?sslmode=prefer");
    let hidden =
        format!("{:?}", parse_location("postgres://ann:hunter2@host/flux?password=hunter2").unwrap());
    assert!(!hidden.contains("hunter2"), "{hidden}");
}

#[test]
fn no_error_quotes_a_password() {
    for url in [
        "postgres://ann:hunter2@host:port/flux",
        "postgres://ann:hunter2@@/flux?x",
        "postgres://ann:hun@ter2@host/flux",
        "postgres://ann:hunter2?host/flux",
        "postgres://ann@host/flux?passwrd=hunter2",
        "postgres://ann@host/flux?hunter2=",
        "postgres://ann@host/flux?sslmode=hunter2",
        "postgres://ann:hunter2@host/flux?sslmode=maybe",
        "postgres://ann:hunter2@host/flux?sslrootcert=%zz",
        "postgres://ann:hunter2@host/flux?sslrootcert=%2",
        "postgres://",
    ] {
        let error = parse_location(url).unwrap_err().to_string();
        assert!(!error.contains("hunter2") && !error.contains("ter2"), "{error}");
    }
    assert_eq!(
        parse_location("postgres://ann@host/flux?passwrd=x"),
        Err(LocationError::UnknownParameter("passwrd".to_owned()))
    );
    assert_eq!(
        parse_location("postgres://ann@host/flux?sslmode=verify-ca"),
        Err(LocationError::UnknownTls("verify-ca".to_owned()))
    );
}
