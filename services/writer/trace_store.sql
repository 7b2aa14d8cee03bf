-- Statements on the traces that readers leave.

-- name: delete_expired
-- Traces whose time is over, at most $1, in whichever namespaces. What another replica is deleting is left to it.
DELETE FROM context_traces
WHERE (namespace, trace_id) IN (
    SELECT namespace, trace_id FROM context_traces
    WHERE expires_at <= now() ORDER BY expires_at LIMIT $1
    FOR UPDATE SKIP LOCKED)
RETURNING trace_id;
