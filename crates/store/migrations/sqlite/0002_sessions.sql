CREATE TABLE flow_sessions (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL CHECK (tenant <> ''),
    subject TEXT NOT NULL,
    version INTEGER NOT NULL,
    is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    ends INTEGER NOT NULL,
    forgotten INTEGER NOT NULL,
    leased_until INTEGER,
    -- From then on there is something to sweep: its body, or all of it.
    due INTEGER NOT NULL AS (CASE WHEN body IS NULL THEN forgotten ELSE min(ends, forgotten) END),
    -- The last, because it may be long: what stands before it is read without it.
    body BLOB
) STRICT;

CREATE INDEX flow_sessions_open ON flow_sessions (tenant, subject) WHERE is_open;
CREATE INDEX flow_sessions_due ON flow_sessions (due);

-- What may be used once, and was.
CREATE TABLE flow_spent (
    token BLOB PRIMARY KEY CHECK (length(token) = 32),
    forgotten INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX flow_spent_forgotten ON flow_spent (forgotten);
