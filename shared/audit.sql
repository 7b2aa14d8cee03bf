-- The one statement by which the audit grows, for whoever has something to answer for.

-- name: append
-- Appends an event: namespace, action, actor, target, details, trace.
SELECT * FROM append_audit($1, $2, $3, $4, $5, $6);

-- name: keep_content
-- Keeps what a caller told of the event $2: salt, target, details, trace, and the words of them.
INSERT INTO audit_contents (namespace, sequence, salt, target, details, trace_id, words)
VALUES ($1, $2, $3, $4, $5, $6, $7);
