-- The sessions of an owner that have ended. It must not have `ends`: that is written at every turn, and an index that has
-- it learns of every turn, also where its condition leaves the row out.
CREATE INDEX flow_sessions_ended ON flow_sessions (tenant, subject) WHERE NOT is_open;

-- Begins a session like `flow_begin`, which stays for replicas of an older version. Says when the first of the owner's open
-- sessions ends if there are too many, and deletes what has ended but for the latest, if it is told how many those are.
-- Rows whose ids begin otherwise are documents and no sessions.
CREATE FUNCTION flow_admit(
    tenant text, subject text, id text, is_open boolean, ends timestamptz, forgotten timestamptz, leased_until timestamptz,
    body bytea, now timestamptz, most bigint, ended bigint
) RETURNS TABLE (begun boolean, until timestamptz) LANGUAGE plpgsql ROWS 1 AS $$
#variable_conflict use_column
BEGIN
    begun := flow_begin(flow_admit.tenant, flow_admit.subject, flow_admit.id, flow_admit.is_open, flow_admit.ends,
        flow_admit.forgotten, flow_admit.leased_until, flow_admit.body, flow_admit.now, flow_admit.most);
    IF NOT begun THEN
        SELECT min(s.ends) INTO until FROM flow_sessions s
            WHERE s.tenant = flow_admit.tenant AND s.subject = flow_admit.subject AND s.is_open
                AND s.ends > flow_admit.now;
    ELSIF flow_admit.ended IS NOT NULL THEN
        DELETE FROM flow_sessions WHERE id = ANY (ARRAY(
            SELECT e.id FROM (
                SELECT s.id, s.ends FROM flow_sessions s
                    WHERE s.tenant = flow_admit.tenant AND s.subject = flow_admit.subject AND NOT s.is_open
                UNION ALL
                SELECT s.id, s.ends FROM flow_sessions s
                    WHERE s.tenant = flow_admit.tenant AND s.subject = flow_admit.subject AND s.is_open
                        AND s.ends <= flow_admit.now) e
            WHERE starts_with(e.id, 'session_') ORDER BY e.ends DESC, e.id DESC OFFSET flow_admit.ended));
    END IF;
    RETURN NEXT;
END $$;
