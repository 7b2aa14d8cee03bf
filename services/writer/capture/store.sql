-- What capture reads and counts. $1 is the namespace.

-- name: lately_told
-- Ids of the packs that were rendered last, at most $4, and of those among $5 that were rendered ever, for callers whose labels $2
-- are all held by this one ($3: nothing is hidden from it).
WITH lately AS (
    SELECT pack_id, granted, sees_all
    FROM context_traces
    WHERE namespace = $1
    ORDER BY compiled_at DESC
    LIMIT $4
)
SELECT pack_id FROM lately WHERE $3 OR (NOT sees_all AND granted <@ $2)
UNION
SELECT pack_id
FROM context_traces
WHERE namespace = $1 AND pack_id = ANY ($5::text[]) AND ($3 OR (NOT sees_all AND granted <@ $2));

-- name: told_packs
-- The packs $2, each once.
SELECT DISTINCT ON (pack_id) pack_id, pack
FROM context_traces
WHERE namespace = $1 AND pack_id = ANY ($2::text[])
ORDER BY pack_id, compiled_at DESC;

-- name: stored_messages
-- What is left of the messages of the observations $2.
SELECT observation_id, message, status, failures, recorded_at FROM observations WHERE namespace = $1 AND observation_id = ANY ($2::text[]);

-- name: count_stripped
-- Adds numbers $3 to the counts of $2.
INSERT INTO stripped AS counted (namespace, what, number)
SELECT $1::text, * FROM unnest($2::text[], $3::bigint[])
ON CONFLICT (namespace, what) DO UPDATE SET number = counted.number + excluded.number;
