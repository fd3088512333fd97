-- Tokens come in by the uptime of the machine, in microseconds, which no step of the wall clock changes. An old bucket goes on
-- from the moment that it is next used.
ALTER TABLE rate_buckets ADD COLUMN uptime INTEGER NOT NULL DEFAULT 9223372036854775807;
