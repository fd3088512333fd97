-- A session is written at every turn of a conversation. No index has a column that is written each time, so the new row
-- can stay on the page of the old one, and no index learns of it (a HOT update); `fillfactor` keeps room for that.
-- Names are compared as bytes.
CREATE TABLE flow_sessions (
    id text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL CHECK (tenant <> ''),
    subject text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    is_open boolean NOT NULL,
    ends timestamptz NOT NULL,
    forgotten timestamptz NOT NULL,
    leased_until timestamptz,
    -- Not before then is there something to sweep: its body, or all of it. As long as a conversation goes on, and ends
    -- later at every turn, it is cut to the hour, so that it seldom changes.
    due timestamptz NOT NULL GENERATED ALWAYS AS (
        CASE WHEN body IS NULL THEN forgotten
            ELSE least(date_bin('1 hour', ends, timestamptz '2000-01-01 00:00:00+00'), forgotten) END) STORED,
    body bytea
) WITH (fillfactor = 50);

-- It is encrypted, and gets no shorter by compression.
ALTER TABLE flow_sessions ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE INDEX flow_sessions_open ON flow_sessions (tenant, subject) WHERE is_open;
CREATE INDEX flow_sessions_due ON flow_sessions (due);

ALTER TABLE flow_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE flow_sessions FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON flow_sessions
    USING (tenant = nullif(current_setting('fluxway.tenant', true), ''));

-- Whoever sweeps sees all tenants.
CREATE POLICY operator ON flow_sessions
    USING (current_setting('fluxway.operator', true) = 'on');

-- What may be used once, and was.
CREATE TABLE flow_spent (
    token bytea PRIMARY KEY CHECK (length(token) = 32),
    forgotten timestamptz NOT NULL
);

CREATE INDEX flow_spent_forgotten ON flow_spent (forgotten);

-- What is done at every turn is one statement for the caller, and no transaction of four: the messages to and fro cost more
-- than the work. A function has no more rights than its caller; it tells the policies who asks, until the statement ends.

-- Sessions of one owner begin one after the other, wherever: else two could both count the other one out. What the INSERT
-- sees is settled when it begins, and so after the lock.
CREATE FUNCTION flow_begin(
    tenant text, subject text, id text, is_open boolean, ends timestamptz, forgotten timestamptz, leased_until timestamptz,
    body bytea, now timestamptz, most bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('fluxway.tenant', flow_begin.tenant, true),
        pg_advisory_xact_lock(hashtextextended(flow_begin.subject, hashtextextended(flow_begin.tenant, 0)));
    INSERT INTO flow_sessions (id, tenant, subject, version, is_open, ends, forgotten, leased_until, body)
        SELECT flow_begin.id, flow_begin.tenant, flow_begin.subject, 1, flow_begin.is_open, flow_begin.ends,
            flow_begin.forgotten, flow_begin.leased_until, flow_begin.body
        WHERE flow_begin.most > (SELECT count(*) FROM flow_sessions s
            WHERE s.tenant = flow_begin.tenant AND s.subject = flow_begin.subject AND s.is_open
                AND s.ends > flow_begin.now);
    RETURN found;
END $$;

CREATE FUNCTION flow_load(tenant text, subject text, id text) RETURNS TABLE (
    version bigint, is_open boolean, ends timestamptz, forgotten timestamptz, leased_until timestamptz, body bytea
) LANGUAGE plpgsql ROWS 1 AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('fluxway.tenant', flow_load.tenant, true);
    RETURN QUERY SELECT s.version, s.is_open, s.ends, s.forgotten, s.leased_until, s.body FROM flow_sessions s
        WHERE s.id = flow_load.id AND s.tenant = flow_load.tenant AND s.subject = flow_load.subject;
END $$;

CREATE FUNCTION flow_save(
    tenant text, subject text, id text, version bigint, is_open boolean, ends timestamptz, forgotten timestamptz,
    leased_until timestamptz, body bytea
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('fluxway.tenant', flow_save.tenant, true);
    UPDATE flow_sessions s SET version = s.version + 1, is_open = flow_save.is_open, ends = flow_save.ends,
            forgotten = flow_save.forgotten, leased_until = flow_save.leased_until, body = flow_save.body
        WHERE s.id = flow_save.id AND s.tenant = flow_save.tenant AND s.subject = flow_save.subject
            AND s.version = flow_save.version;
    RETURN found;
END $$;

CREATE FUNCTION flow_renew(tenant text, subject text, id text, version bigint, leased_until timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('fluxway.tenant', flow_renew.tenant, true);
    UPDATE flow_sessions s SET leased_until = flow_renew.leased_until
        WHERE s.id = flow_renew.id AND s.tenant = flow_renew.tenant AND s.subject = flow_renew.subject
            AND s.version = flow_renew.version;
    RETURN found;
END $$;
