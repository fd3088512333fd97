-- The sessions of an owner that have ended, the oldest first: no more of them are kept than may be.
CREATE INDEX flow_sessions_ended ON flow_sessions (tenant, subject, ends) WHERE NOT is_open;
