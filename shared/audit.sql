-- The one statement by which the audit grows, for whoever has something to answer for.

-- name: append
-- Appends an event: namespace, action, actor, target, details, trace.
SELECT * FROM append_audit($1, $2, $3, $4, $5, $6);
