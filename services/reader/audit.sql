-- The audit, and receipts of erasures. Throughout: $1 the namespace, $2 the restricting labels that the caller holds, $3 whether
-- restricting labels hide nothing from it. For administrators: neither has labels.

-- name: list_audit_events
-- Events by rising number after $5, of the trace $6 and the action $7 where they are said, at most $4. What callers told stands in
-- its place, where no purge took it.
SELECT e.sequence, e.action, e.actor, coalesce(told.target, e.target) AS target, coalesce(told.details, e.details) AS details,
    coalesce(told.trace_id, e.trace_id) AS trace_id, e.recorded_at, e.hash, e.previous_hash,
    coalesce(told.salt, '') AS content_salt
FROM audit_events AS e
    LEFT JOIN audit_contents AS told ON told.namespace = e.namespace AND told.sequence = e.sequence
WHERE e.namespace = $1 AND ($3 OR $2::text[] IS NOT NULL) AND e.sequence > $5
    AND ($6::text = '' OR e.sequence IN (
        SELECT sequence FROM audit_events WHERE namespace = $1 AND trace_id = $6
        UNION ALL
        SELECT sequence FROM audit_contents WHERE namespace = $1 AND trace_id = $6))
    AND ($7::text = '' OR e.action = $7)
ORDER BY e.sequence
LIMIT $4;

-- name: get_erasure_receipt
-- One receipt. No row where there is none of this id.
SELECT receipt_id, erased_at, counts, actor, reason, audit_hash
FROM erasure_receipts
WHERE namespace = $1 AND ($3 OR $2::text[] IS NOT NULL) AND receipt_id = $4;
