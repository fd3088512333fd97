//! URLs of stores.

use std::path::PathBuf;

use store::{Location, LocationError};

fn parsed(url: &str) -> Result<Location, LocationError> {
    url.parse()
}

fn sqlite(path: &str) -> Location {
    Location::Sqlite(PathBuf::from(path))
}

#[test]
fn a_file_is_named_in_any_usual_way() {
    assert_eq!(parsed("sqlite:store.db"), Ok(sqlite("store.db")));
    assert_eq!(parsed("sqlite:/var/lib/store.db"), Ok(sqlite("/var/lib/store.db")));
    assert_eq!(parsed("sqlite:///var/lib/store.db"), Ok(sqlite("/var/lib/store.db")));
    assert_eq!(parsed("sqlite://data/store.db"), Ok(sqlite("data/store.db")));
    assert_eq!(parsed("sqlite::memory:"), Ok(Location::Memory));
    for wrong in ["sqlite:", "sqlite://", "sqlite:store.db?mode=ro", "sqlite:a\0b"] {
        assert_eq!(parsed(wrong), Err(LocationError::NoPath), "{wrong}");
    }
}

#[test]
fn other_urls_are_refused_with_what_would_do() {
    assert_eq!(parsed("mysql://root@host/db"), Err(LocationError::UnknownScheme("mysql".to_owned())));
    assert!(parsed("mysql://x").unwrap_err().to_string().ends_with("there are `sqlite:` and `postgres:`"));
    for wrong in ["", "store.db", "/var/lib/store.db", "S3cr3t:x", "://"] {
        assert!(
            matches!(parsed(wrong), Err(LocationError::NotAUrl | LocationError::UnknownScheme(_))),
            "{wrong}"
        );
    }
}

#[test]
fn a_server_is_shown_without_its_password() {
    let shown = |url: &str| parsed(url).unwrap().to_string();
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
    let hidden = format!("{:?}", parsed("postgres://ann:hunter2@host/flux?password=hunter2").unwrap());
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
        let error = parsed(url).unwrap_err().to_string();
        assert!(!error.contains("hunter2") && !error.contains("ter2"), "{error}");
    }
    assert_eq!(
        parsed("postgres://ann@host/flux?passwrd=x"),
        Err(LocationError::UnknownParameter("passwrd".to_owned()))
    );
    assert_eq!(
        parsed("postgres://ann@host/flux?sslmode=verify-ca"),
        Err(LocationError::UnknownTls("verify-ca".to_owned()))
    );
}
