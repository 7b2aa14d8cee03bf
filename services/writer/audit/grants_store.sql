-- What the audit has of the grants file.

-- name: hold_audit
-- Lets no other event of the namespace $1 come before the end of the transaction.
SELECT pg_advisory_xact_lock(audit_lock($1))::text;

-- name: last_details
-- Particulars of the last event of the action $2.
SELECT details FROM audit_events WHERE namespace = $1 AND action = $2 ORDER BY sequence DESC LIMIT 1;
