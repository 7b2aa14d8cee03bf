-- Vector spaces: made, filled, switched between and dropped.

-- name: lock_spaces
-- One changes spaces at a time. The key is the first 8 bytes of sha256("palimpsest.embedding_spaces").
SELECT pg_advisory_xact_lock($1);

-- name: lock_writers
-- Waits until all have ended that have written passages, and lets others wait till the end of the transaction: who writes looks
-- after that which spaces there are.
LOCK TABLE passages IN SHARE ROW EXCLUSIVE MODE;

-- name: create_vector_table
-- The table of a space's vectors; nothing if it is there.
SELECT create_vector_table($1, $2);

-- name: insert_space
-- A space, active or yet to be filled ($10).
INSERT INTO embedding_spaces (
    fingerprint, model, revision, query_prefix, passage_prefix, pooling, dimension, normalized, table_name, state,
    is_filled)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10 = 'active');

-- name: set_state
-- Another state of a space.
UPDATE embedding_spaces
SET state = $2, is_restored = $3, retired_at = CASE WHEN $2 = 'retired' THEN clock_timestamp() END
WHERE fingerprint = $1;

-- name: delete_space
-- From now on nobody fills or searches it who does not do so yet.
DELETE FROM embedding_spaces WHERE fingerprint = $1;

-- name: has_vector_table
-- Whether the table is there.
SELECT to_regclass($1) IS NOT NULL;

-- name: lock_vector_table
-- Waits for those that still use it.
LOCK TABLE {vectors} IN ACCESS EXCLUSIVE MODE;

-- name: let_few_wait
-- How long what follows waits for a lock, in milliseconds: all that search wait behind it.
SELECT set_config('lock_timeout', $1, true);

-- name: count_vectors
-- Vectors of a space.
SELECT count(*) FROM {vectors};

-- name: drop_vector_table
-- The table, if it is there, with its indexes and what these are made by.
SELECT drop_vector_table($1);

-- name: lock_filling
-- How far a space is filled with what was there before it, held against others that fill it; no row where it is filled, or
-- where another fills it.
SELECT filled_namespace, filled_passage_id
FROM embedding_spaces
WHERE fingerprint = $1 AND NOT is_filled
FOR UPDATE SKIP LOCKED;

-- name: look_through
-- The next $4 passages after ($2, $3); those without a vector of their text in the space $1 wait for it from now on. Answers how
-- many were looked at, and the last one; no row where there are none.
WITH looked_at AS MATERIALIZED (
    SELECT namespace, passage_id, embedding_hash
    FROM passages
    WHERE (namespace, passage_id) > ($2::text, $3::bigint)
    ORDER BY namespace, passage_id
    LIMIT $4
),
waiting AS (
    INSERT INTO embedding_backlog (namespace, passage_id, fingerprint, embedding_hash)
    SELECT namespace, passage_id, $1, embedding_hash
    FROM looked_at
    WHERE embedding_hash <> '' AND NOT EXISTS (
        SELECT FROM {vectors} AS vectors
        WHERE vectors.namespace = looked_at.namespace AND vectors.passage_id = looked_at.passage_id
            AND vectors.embedding_hash = looked_at.embedding_hash)
    ON CONFLICT DO NOTHING
)
SELECT (SELECT count(*) FROM looked_at) AS number, namespace, passage_id
FROM looked_at
ORDER BY namespace DESC, passage_id DESC
LIMIT 1;

-- name: note_filling
-- The passage that was looked at last, and whether it was the last of all.
UPDATE embedding_spaces
SET filled_namespace = $2, filled_passage_id = $3, is_filled = $4
WHERE fingerprint = $1;

-- name: count_unseen
-- Passages that a space is yet to be filled with, less those that wait in all spaces.
SELECT count(*)
FROM passages JOIN embedding_spaces AS space
    ON (passages.namespace, passages.passage_id) > (space.filled_namespace, space.filled_passage_id)
WHERE space.fingerprint = $1 AND NOT space.is_filled AND passages.embedding_hash <> '' AND NOT EXISTS (
    SELECT FROM embedding_queue AS waiting
    WHERE waiting.namespace = passages.namespace AND waiting.passage_id = passages.passage_id);
