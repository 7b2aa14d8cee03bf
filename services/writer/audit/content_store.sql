-- What callers told the audit. $1 is the namespace.

-- name: hold_audit
-- Lets no other event of the namespace come before the end of the transaction.
SELECT pg_advisory_xact_lock(audit_lock($1))::text;

-- name: erase_contents
-- What was told of the targets $2, or names one of $3. Returns the numbers of the events.
DELETE FROM audit_contents
WHERE namespace = $1 AND (
    target = ANY ($2::text[]) OR EXISTS (SELECT FROM unnest($3::text[]) AS name WHERE position(name IN words) > 0))
RETURNING sequence;
