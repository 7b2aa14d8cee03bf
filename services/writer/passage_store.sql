-- Passages, their vectors and the queue of those that wait for one. The same conventions as in store.sql.
-- Locks are taken in one order by everybody: passages by (namespace, kind, owner, ordinal), then vectors, then the queue, then
-- the backlog.

-- name: lock_passages
-- What the owners have now, locked.
SELECT passages.namespace, passages.kind, passages.owner_key, passages.ordinal, passages.passage_id,
       passages.embedding_hash, passages.occurred_at, passages.observation_id
FROM passages JOIN unnest($1::text[], $2::smallint[], $3::text[]) AS owner (namespace, kind, owner_key)
    USING (namespace, kind, owner_key)
ORDER BY namespace COLLATE "C", kind, owner_key COLLATE "C", ordinal
FOR UPDATE OF passages;

-- name: delete_passages
-- With their vectors and places in the queue, by cascade.
DELETE FROM passages
USING unnest($1::text[], $2::bigint[]) AS given (namespace, passage_id)
WHERE passages.namespace = given.namespace AND passages.passage_id = given.passage_id;

-- fragment: passage_columns
        namespace, kind, owner_key, ordinal, owner_kind, title, heading, text, source_path, token_count, meta,
        embedding_hash, observation_id, source_system, source_stream, occurred_at, author_key, place_in_stream, valid_from,
        valid_to, expires_at, importance, status, scopes, restricting, applies, hidden

-- fragment: passage_values
-- The columns of `given`.
           namespace, kind, owner_key, ordinal, owner_kind, title, heading, text, source_path, token_count, meta::jsonb,
           embedding_hash, observation_id, source_system, source_stream, occurred_at, author_key, place_in_stream, valid_from,
           valid_to, expires_at, importance, status, scopes, restricting, applies, hidden

-- fragment: passage_types
    namespace text, kind smallint, owner_key text, ordinal integer, owner_kind text, title text,
    heading text, text text, source_path text, token_count integer, meta text, embedding_hash text,
    observation_id text, source_system text, source_stream text, occurred_at timestamptz, author_key text, place_in_stream text,
    valid_from timestamptz, valid_to timestamptz, expires_at timestamptz, importance smallint,
    status smallint, scopes text[], restricting text[], applies text[], hidden boolean

-- fragment: origins_of_observations
$4::json

-- fragment: queued_and_woken
-- What was `written` is queued for its vectors, as bulk ($2) or where it is more than $3, with the call that wrote it, by
-- observation or of all. Wakes the embedding loops, unless some
-- passage waits already: then they were woken, and commits that notify wait for each other.
), queued AS (
    INSERT INTO embedding_queue (namespace, passage_id, embedding_hash, is_bulk, origin)
    SELECT namespace, passage_id, embedding_hash, $2 OR count(*) OVER () > $3,
        coalesce({origins} ->> observation_id, {origins} ->> '')
    FROM written WHERE embedding_hash <> ''
    RETURNING 1
), woken AS (
    SELECT pg_notify('embedding', '') FROM queued
    WHERE NOT EXISTS (
        SELECT FROM embedding_queue WHERE is_bulk IN (false, true) AND leased_until = '-infinity' AND NOT poisoned)
    LIMIT 1
)

-- name: insert_passages
-- Passages of owners that have none yet, queued for their vectors, as above.
WITH written AS (
    INSERT INTO passages (
{passage_columns})
    SELECT
{passage_values}
    FROM json_to_recordset($1::json) AS given (
{passage_types})
    RETURNING namespace, passage_id, embedding_hash, observation_id
{queued_and_woken}
SELECT FROM woken;

-- name: upsert_passages
-- Returns those that are new or changed in anything; the others' rows and index entries are not touched. What restricts a fact
-- that is there is for `mirror_fact_labels` to say.
INSERT INTO passages AS passage (
{passage_columns})
SELECT
{passage_values}
FROM json_to_recordset($1::json) AS given (
{passage_types})
ON CONFLICT (namespace, kind, owner_key, ordinal) DO UPDATE
SET owner_kind = excluded.owner_kind, title = excluded.title, heading = excluded.heading, text = excluded.text,
    source_path = excluded.source_path, token_count = excluded.token_count, meta = excluded.meta,
    embedding_hash = excluded.embedding_hash, observation_id = excluded.observation_id,
    source_system = excluded.source_system, source_stream = excluded.source_stream,
    occurred_at = excluded.occurred_at, author_key = excluded.author_key, place_in_stream = excluded.place_in_stream,
    valid_from = excluded.valid_from,
    valid_to = excluded.valid_to, expires_at = excluded.expires_at, importance = excluded.importance,
    status = excluded.status, scopes = excluded.scopes,
    restricting = CASE passage.kind WHEN 2 THEN passage.restricting ELSE excluded.restricting END,
    applies = excluded.applies, hidden = excluded.hidden
WHERE (passage.owner_kind, passage.title, passage.heading, passage.text, passage.source_path, passage.token_count,
       passage.meta, passage.embedding_hash, passage.observation_id, passage.source_system, passage.source_stream,
       passage.occurred_at, passage.author_key, passage.place_in_stream, passage.valid_from, passage.valid_to, passage.expires_at,
       passage.importance, passage.status, passage.scopes, passage.hidden)
    IS DISTINCT FROM
      (excluded.owner_kind, excluded.title, excluded.heading, excluded.text, excluded.source_path,
       excluded.token_count, excluded.meta, excluded.embedding_hash, excluded.observation_id, excluded.source_system,
       excluded.source_stream, excluded.occurred_at, excluded.author_key, excluded.place_in_stream, excluded.valid_from, excluded.valid_to,
       excluded.expires_at, excluded.importance, excluded.status, excluded.scopes, excluded.hidden)
RETURNING passage.namespace, passage.kind, passage.owner_key, passage.ordinal, passage.passage_id,
          passage.embedding_hash;

-- name: mirror_entities
-- What passages of texts and records repeat of their entity. Returns the passages that changed.
UPDATE passages
SET owner_kind = given.owner_kind, importance = given.importance, status = given.status,
    expires_at = given.expires_at, hidden = given.hidden
FROM unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::smallint[], $6::timestamptz[], $7::boolean[])
    AS given (namespace, owner_key, owner_kind, importance, status, expires_at, hidden)
WHERE passages.namespace = given.namespace AND passages.kind IN (1, 4) AND passages.owner_key = given.owner_key
  AND (passages.owner_kind, passages.importance, passages.status, passages.expires_at, passages.hidden)
      IS DISTINCT FROM (given.owner_kind, given.importance, given.status, given.expires_at, given.hidden)
RETURNING passages.namespace, passages.passage_id;

-- name: mirror_fact_labels
-- Who may see facts, onto their passages, which are locked. Returns the passages that changed.
SELECT namespace, passage_id FROM mirror_fact_labels($1::text[], $2::text[]);

-- name: facts_hidden_otherwise_at
-- Facts at entities that something else than their own labels hides: few, found by an index of these alone.
SELECT f.namespace, f.fact_id
FROM (SELECT namespace, array_agg(natural_key) AS keys FROM unnest($1::text[], $2::text[]) AS given (namespace, natural_key) GROUP BY 1)
        AS given
    JOIN passages AS p ON p.namespace = given.namespace AND p.kind = 2 AND p.restricting[1] = '&'
    JOIN facts AS f ON f.namespace = p.namespace AND f.fact_id = p.owner_key
WHERE f.subject_key = ANY (given.keys) OR f.object_key = ANY (given.keys);

-- name: spaces
-- All vector spaces: the active one first, then those that are built.
SELECT fingerprint, model, revision, query_prefix, passage_prefix, pooling, dimension, normalized, table_name, state,
       created_at, is_filled, retired_at, is_restored
FROM embedding_spaces
ORDER BY state, retired_at DESC, created_at DESC, fingerprint;

-- name: copy_vectors
-- Gives passages the vector of an equal text in the same namespace, where there is one. Returns those.
INSERT INTO {vectors} (namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, embedding)
SELECT passages.namespace, passages.passage_id, passages.embedding_hash, passages.kind, passages.restricting,
       passages.applies, passages.hidden, twin.embedding
FROM unnest($1::text[], $2::bigint[]) AS given (namespace, passage_id)
JOIN passages USING (namespace, passage_id)
CROSS JOIN LATERAL (
    SELECT vectors.embedding
    FROM {vectors} AS vectors
    WHERE vectors.namespace = passages.namespace AND vectors.embedding_hash = passages.embedding_hash
    LIMIT 1) AS twin
ON CONFLICT (namespace, passage_id) DO UPDATE
SET embedding_hash = excluded.embedding_hash, restricting = excluded.restricting, applies = excluded.applies,
    hidden = excluded.hidden, embedding = excluded.embedding
RETURNING namespace, passage_id;

-- name: mirror_vectors
-- The filter columns of passages onto their vectors.
UPDATE {vectors} AS vectors
SET restricting = passages.restricting, applies = passages.applies, hidden = passages.hidden
FROM unnest($1::text[], $2::bigint[]) AS given (namespace, passage_id) JOIN passages USING (namespace, passage_id)
WHERE vectors.namespace = passages.namespace AND vectors.passage_id = passages.passage_id
  AND (vectors.restricting, vectors.applies, vectors.hidden)
      IS DISTINCT FROM (passages.restricting, passages.applies, passages.hidden);

-- name: delete_stale_vectors
-- Vectors of what the passages said before.
DELETE FROM {vectors} AS vectors
USING unnest($1::text[], $2::bigint[]) AS given (namespace, passage_id) JOIN passages USING (namespace, passage_id)
WHERE vectors.namespace = passages.namespace AND vectors.passage_id = passages.passage_id
  AND vectors.embedding_hash <> passages.embedding_hash;

-- name: queue_passages
-- Passages whose text is new, to get a vector in all spaces; what was known of an older text is forgotten. Bulk and the call as
-- above. Wakes the embedding loops, as above.
WITH queued AS (
    INSERT INTO embedding_queue AS waiting (namespace, passage_id, embedding_hash, is_bulk, origin)
    SELECT given.*, $4 OR count(*) OVER () > $5,
        CASE WHEN $6 <> '{}' THEN (
            SELECT coalesce($6::json ->> passages.observation_id, $6::json ->> '') FROM passages
            WHERE passages.namespace = given.namespace AND passages.passage_id = given.passage_id) END
    FROM unnest($1::text[], $2::bigint[], $3::text[]) AS given (namespace, passage_id, embedding_hash)
    ON CONFLICT (namespace, passage_id) DO UPDATE
    SET embedding_hash = excluded.embedding_hash, enqueued_at = clock_timestamp(), leased_until = '-infinity',
        attempts = 0, last_error = '', poisoned = false, is_bulk = excluded.is_bulk, origin = excluded.origin
    RETURNING 1
)
SELECT pg_notify('embedding', '') FROM queued
WHERE NOT EXISTS (
    SELECT FROM embedding_queue WHERE is_bulk IN (false, true) AND leased_until = '-infinity' AND NOT poisoned)
LIMIT 1;

-- name: forget_queued
-- Passages that wait no longer, whatever for, in whichever space.
WITH given AS (
    SELECT * FROM unnest($1::text[], $2::bigint[]) AS given (namespace, passage_id)
), in_one_space AS (
    DELETE FROM embedding_backlog AS waiting
    USING given
    WHERE waiting.namespace = given.namespace AND waiting.passage_id = given.passage_id
)
DELETE FROM embedding_queue AS waiting
USING given
WHERE waiting.namespace = given.namespace AND waiting.passage_id = given.passage_id;

-- name: count_of_observations
-- Passages of what the observations wrote or named that wait for a vector in the active space.
WITH given AS (SELECT unnest($2::text[]) AS observation_id),
owner AS (
    SELECT natural_key AS owner_key, kind
    FROM given JOIN entity_evidence AS evidence
        ON evidence.namespace = $1 AND evidence.observation_id = given.observation_id
    CROSS JOIN (VALUES (1), (3), (4)) AS kinds (kind)
    UNION
    SELECT fact_id, 2
    FROM given JOIN fact_evidence AS evidence
        ON evidence.namespace = $1 AND evidence.observation_id = given.observation_id
)
SELECT count(*)
FROM owner
JOIN passages ON passages.namespace = $1 AND passages.kind = owner.kind AND passages.owner_key = owner.owner_key
WHERE EXISTS (
        SELECT FROM embedding_queue AS waiting
        WHERE waiting.namespace = $1 AND waiting.passage_id = passages.passage_id AND NOT waiting.poisoned)
    OR EXISTS (
        SELECT FROM embedding_backlog AS waiting
        WHERE waiting.namespace = $1 AND waiting.passage_id = passages.passage_id AND NOT waiting.poisoned
            AND waiting.fingerprint = (SELECT fingerprint FROM embedding_spaces WHERE state = 'active'));

-- name: count_of_entities
-- Passages of the entities (of all where none is named) that wait since the moment or longer, and those set aside.
SELECT count(*) FILTER (WHERE NOT waiting.poisoned AND waiting.enqueued_at <= $3) AS waiting,
       count(*) FILTER (WHERE waiting.poisoned) AS poisoned
FROM unembedded AS waiting
WHERE waiting.namespace = $1 AND ($2::text[] = '{}' OR EXISTS (
    SELECT FROM passages
    WHERE passages.namespace = $1 AND passages.passage_id = waiting.passage_id AND passages.kind <> 2
      AND passages.owner_key = ANY ($2::text[])));

-- name: now
-- The database's clock.
SELECT clock_timestamp();
