CREATE TABLE api_keys (
    id text PRIMARY KEY,
    tenant text NOT NULL CHECK (tenant <> ''),
    label text NOT NULL,
    environment text NOT NULL,
    scope text NOT NULL,
    project text,
    created timestamptz NOT NULL,
    expires timestamptz,
    revoked timestamptz,
    UNIQUE (id, tenant)
);

CREATE INDEX api_keys_by_tenant ON api_keys (tenant, created, id);

CREATE TABLE api_key_secrets (
    prefix text PRIMARY KEY,
    key_id text NOT NULL,
    -- Also here, so that the policies of this table need not look into the other one.
    tenant text NOT NULL,
    hash bytea NOT NULL CHECK (length(hash) = 32),
    until timestamptz,
    -- The newest secret of a key has the highest.
    ordinal integer NOT NULL,
    UNIQUE (key_id, ordinal),
    FOREIGN KEY (key_id, tenant) REFERENCES api_keys (id, tenant)
);

CREATE TABLE rate_buckets (
    name text PRIMARY KEY,
    tokens double precision NOT NULL,
    -- What the last lease took. It is kept so that one statement can both change and tell it.
    taken bigint NOT NULL,
    updated timestamptz NOT NULL,
    -- By then it is full again, and nothing about it needs to be remembered.
    full_by timestamptz NOT NULL
);

CREATE TABLE server_secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);

-- The second wall between tenants: who does not say for whom they ask sees nothing, be it the owner of the tables.
-- A setting that a finished transaction had is empty afterwards, not absent; hence `nullif`.

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
ALTER TABLE api_key_secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_key_secrets FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON api_keys
    USING (tenant = nullif(current_setting('fluxway.tenant', true), ''));
CREATE POLICY own_tenant ON api_key_secrets
    USING (tenant = nullif(current_setting('fluxway.tenant', true), ''));

-- Whoever presents a key has no tenant yet: that is what they look up.
CREATE POLICY known_prefix ON api_key_secrets FOR SELECT
    USING (prefix = nullif(current_setting('fluxway.prefix', true), ''));
CREATE POLICY known_prefix ON api_keys FOR SELECT
    USING (id = (SELECT key_id FROM api_key_secrets
                 WHERE prefix = nullif(current_setting('fluxway.prefix', true), '')));

-- Commands of the operator see all tenants.
CREATE POLICY operator ON api_keys
    USING (current_setting('fluxway.operator', true) = 'on');
CREATE POLICY operator ON api_key_secrets
    USING (current_setting('fluxway.operator', true) = 'on');
