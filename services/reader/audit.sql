-- The audit, and receipts of erasures. Throughout: $1 the namespace, $2 the restricting labels that the caller holds, $3 whether
-- restricting labels hide nothing from it. For administrators: neither has labels.

-- name: list_audit_events
-- Events by rising number after $5, of the trace $6 and the action $7 where they are said, at most $4.
SELECT sequence, action, actor, target, details, trace_id, recorded_at, hash, previous_hash
FROM audit_events
WHERE namespace = $1 AND ($3 OR $2::text[] IS NOT NULL) AND sequence > $5
    AND ($6::text = '' OR trace_id = $6) AND ($7::text = '' OR action = $7)
ORDER BY sequence
LIMIT $4;

-- name: get_erasure_receipt
-- One receipt. No row where there is none of this id.
SELECT receipt_id, erased_at, counts, actor, reason, audit_hash
FROM erasure_receipts
WHERE namespace = $1 AND ($3 OR $2::text[] IS NOT NULL) AND receipt_id = $4;
