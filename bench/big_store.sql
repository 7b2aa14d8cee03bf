-- What fills a big store beside what is copied into `passages` and the table of vectors.

-- name: loading_settings
-- Of the loading session: no triggers and foreign keys, whose work a copy in bulk does not need.
SELECT set_config('session_replication_role', 'replica', false), set_config('synchronous_commit', 'off', false);

-- name: indexes
-- The secondary indexes of a table $1, with the statement that makes each.
SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
FROM pg_index
WHERE indrelid = $1::text::regclass AND NOT indisprimary;

-- name: activate_space
-- The space $1 whose vectors, of $2 dimensions, lie in $3.
INSERT INTO embedding_spaces
    (fingerprint, model, revision, query_prefix, passage_prefix, pooling, dimension, normalized, table_name, state)
VALUES ($1, 'made up', '1', '', '', 'mean', $2, true, $3, 'active');

-- name: documents
-- What documents bring along, one row each: the observation that told of it, the entity, its evidence, the document.
WITH pieces AS (
    SELECT namespace, owner_key, observation_id, title, occurred_at, restricting, applies FROM passages WHERE ordinal = 0
),
told AS (
    INSERT INTO observations (namespace, observation_id, content_hash, source_system, source_stream, external_id, kind,
        occurred_at, subject_key, restricting, applies, message, status, change_id)
    SELECT namespace, observation_id, md5(observation_id), 'bench', 'documents', owner_key, 'document', occurred_at, owner_key,
        restricting, applies, '', 2, 0
    FROM pieces
),
described AS (
    INSERT INTO entities (namespace, natural_key, kind, title, source_id, last_seen_at, restricting, applies, placeholder,
        stamps, change_id)
    SELECT namespace, owner_key, 'document', title, owner_key, occurred_at, restricting, applies, false,
        jsonb_build_object('kind', stamp, 'title', stamp, 'source_id', stamp, 'scopes', stamp), 0
    FROM pieces CROSS JOIN LATERAL (
        SELECT jsonb_build_array((extract(epoch FROM occurred_at) * 1000000)::bigint, observation_id, 0) AS stamp) AS said
),
evidence AS (
    INSERT INTO entity_evidence (namespace, natural_key, observation_id, occurred_at)
    SELECT namespace, owner_key, observation_id, occurred_at FROM pieces
)
INSERT INTO documents (namespace, entity_key, media_type, content_hash, occurred_at, observation_id, assertion_index)
SELECT namespace, owner_key, 'text/markdown', md5(owner_key), occurred_at, observation_id, 0 FROM pieces;

-- name: set_sequence
-- The next passage gets the number after the last of these.
SELECT setval(pg_get_serial_sequence('passages', 'passage_id'), max(passage_id)) FROM passages;

-- name: take_from_queue
-- The passages of namespace $1 that wait for a vector, which they wait for no longer.
DELETE FROM embedding_queue WHERE namespace = $1 RETURNING passage_id, embedding_hash;
