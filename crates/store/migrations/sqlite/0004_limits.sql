-- The sessions of an owner that have ended, the oldest first: no more of them are kept than may be.
CREATE INDEX flow_sessions_ended ON flow_sessions (tenant, subject, ends) WHERE NOT is_open;

-- Tokens come in by the uptime of the machine, in microseconds, which no step of the wall clock changes. An old bucket goes on
-- from the moment that it is next used.
ALTER TABLE rate_buckets ADD COLUMN uptime INTEGER NOT NULL DEFAULT 9223372036854775807;
