-- Which namespaces are to be curated, and when.

-- name: note_namespaces
-- Namespaces that hold observations are due $1 seconds after they are first met. Each is found by one step over the index.
WITH RECURSIVE held AS (
    (SELECT namespace FROM observations ORDER BY namespace LIMIT 1)
    UNION ALL
    SELECT (SELECT o.namespace FROM observations AS o WHERE o.namespace > held.namespace ORDER BY o.namespace LIMIT 1)
    FROM held
    WHERE held.namespace IS NOT NULL
)
INSERT INTO curation_runs (namespace, due_at)
SELECT namespace, now() + make_interval(secs => $1)
FROM held
WHERE namespace IS NOT NULL AND NOT EXISTS (SELECT FROM curation_runs AS run WHERE run.namespace = held.namespace)
ON CONFLICT DO NOTHING;

-- name: claim_namespace
-- The namespace that has been due for longest, which nobody else takes for $1 seconds. No row where none is due.
UPDATE curation_runs
SET due_at = now() + make_interval(secs => $1)
WHERE namespace = (
    SELECT namespace FROM curation_runs WHERE due_at <= now() ORDER BY due_at, namespace LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING namespace;

-- name: put_off
-- The namespace $1 is due again in $2 seconds.
UPDATE curation_runs SET due_at = now() + make_interval(secs => $2) WHERE namespace = $1;
