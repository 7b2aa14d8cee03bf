-- The queue of extraction, and what was derived from which observation. The same conventions as in store.sql.

-- name: enqueue
-- Observations $2 of the namespace $1 wait for extraction. Wakes the loops.
WITH queued AS (
    INSERT INTO extraction_queue (namespace, observation_id)
    SELECT $1::text, observation_id FROM unnest($2::text[]) AS given (observation_id)
    ON CONFLICT (namespace, observation_id) DO NOTHING
    RETURNING 1
)
SELECT pg_notify('extraction', '') FROM queued LIMIT 1;

-- name: claim
-- The messages that have waited longest, leased, with what is extracted from. Those that others are claiming are skipped.
WITH due AS (
    SELECT namespace, observation_id
    FROM extraction_queue
    WHERE NOT dead AND leased_until <= now()
    ORDER BY leased_until, enqueued_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE extraction_queue AS waiting
SET leased_until = clock_timestamp() + make_interval(secs => $2), claims = waiting.claims + 1
FROM due JOIN observations AS o USING (namespace, observation_id)
WHERE waiting.namespace = due.namespace AND waiting.observation_id = due.observation_id
RETURNING waiting.namespace, waiting.observation_id, waiting.claims, waiting.attempts, o.content, o.message, o.scopes;

-- name: release
-- Ends the wait of ($1, $2), claimed as number $3 and no more since. No row where somebody else claimed it, or it was erased.
DELETE FROM extraction_queue WHERE namespace = $1 AND observation_id = $2 AND claims = $3 RETURNING 1;

-- name: put_off
-- Puts a message off for $4 seconds, as one that failed $5 times, or gives it up ($7); unless somebody else claimed it since.
UPDATE extraction_queue
SET leased_until = clock_timestamp() + make_interval(secs => $4), attempts = $5, last_error = $6, dead = $7
WHERE namespace = $1 AND observation_id = $2 AND claims = $3;

-- name: revive
-- Dead letters, those of $2 or, where none is named, all that the caller may see, wait again as if they had never failed.
WITH revived AS (
    UPDATE extraction_queue AS waiting
    SET dead = false, attempts = 0, last_error = '', leased_until = '-infinity', enqueued_at = clock_timestamp()
    FROM observations AS o
    WHERE waiting.namespace = $1 AND waiting.dead AND ($2::text[] = '{}' OR waiting.observation_id = ANY ($2))
        AND o.namespace = $1 AND o.observation_id = waiting.observation_id AND visible(o.restricting, $3, $4)
    RETURNING 1
)
SELECT count(*) AS number, (SELECT pg_notify('extraction', '') FROM revived LIMIT 1)::text AS woken FROM revived;

-- name: source
-- An observation that facts may be proposed of, where the caller may see it.
SELECT observation_id, content, message, scopes, redacted_at IS NOT NULL AS redacted
FROM observations
WHERE namespace = $1 AND observation_id = $2 AND NOT withdrawn AND visible(restricting, $3, $4);

-- name: known_entities
-- Those of the keys $2 that are stored, and visible to the caller.
SELECT natural_key
FROM entities
WHERE namespace = $1 AND natural_key = ANY ($2::text[]) AND NOT withdrawn AND visible(restricting, $3, $4);

-- name: derive
-- Notes that the observation $3 was made of $2. No row where that was erased, or has no text any more.
INSERT INTO derivations (namespace, source_observation_id, derived_observation_id)
SELECT $1, o.observation_id, $3
FROM observations AS o
WHERE o.namespace = $1 AND o.observation_id = $2 AND o.redacted_at IS NULL
ON CONFLICT (namespace, source_observation_id, derived_observation_id) DO UPDATE SET namespace = excluded.namespace
RETURNING 1;

-- name: derived_from
-- All that was made of the observations $2, of what was made of them, and so on, with what is left of their messages.
WITH RECURSIVE found AS (
    SELECT derived_observation_id AS id FROM derivations WHERE namespace = $1 AND source_observation_id = ANY ($2::text[])
    UNION
    SELECT d.derived_observation_id
    FROM found JOIN derivations AS d ON d.namespace = $1 AND d.source_observation_id = found.id
)
SELECT o.observation_id, o.message
FROM found JOIN observations AS o ON o.namespace = $1 AND o.observation_id = found.id
ORDER BY o.observation_id COLLATE "C";

-- name: forget
-- Keeps nothing of how the observations $2 were extracted from or derived.
WITH unqueued AS (
    DELETE FROM extraction_queue WHERE namespace = $1 AND observation_id = ANY ($2::text[]) RETURNING 1
), forgotten AS (
    DELETE FROM derivations
    WHERE namespace = $1 AND (source_observation_id = ANY ($2) OR derived_observation_id = ANY ($2))
)
SELECT count(*) AS number FROM unqueued;

-- name: queue_summary
-- What waits, in all namespaces.
SELECT count(*) FILTER (WHERE NOT dead) AS depth,
       coalesce(extract(epoch FROM clock_timestamp() - min(enqueued_at) FILTER (WHERE NOT dead)), 0)::float8 AS oldest_age_s,
       count(*) FILTER (WHERE dead) AS dead
FROM extraction_queue;
