-- Times are microseconds since 1970, UTC.

CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL CHECK (tenant <> ''),
    label TEXT NOT NULL,
    environment TEXT NOT NULL,
    scope TEXT NOT NULL,
    project TEXT,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER
) STRICT;

CREATE INDEX api_keys_by_tenant ON api_keys (tenant, created, id);

CREATE TABLE api_key_secrets (
    prefix TEXT PRIMARY KEY,
    key_id TEXT NOT NULL REFERENCES api_keys (id),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    until INTEGER,
    -- The newest secret of a key has the highest.
    ordinal INTEGER NOT NULL,
    UNIQUE (key_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE rate_buckets (
    name TEXT PRIMARY KEY,
    tokens REAL NOT NULL,
    -- What the last lease took. It is kept so that one statement can both change and tell it.
    taken INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    -- By then it is full again, and nothing about it needs to be remembered.
    full_by INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE server_secrets (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
