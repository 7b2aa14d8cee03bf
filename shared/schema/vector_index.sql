-- The indexes of a space's vectors, each of another form of them (EM-6). {table} is the table of the space, {index} one of its
-- indexes, {partition} one of the partitions, {local} that partition's part of the index.

-- name: space
-- The space $1, NULL: the active one.
SELECT fingerprint, table_name, dimension, first_pass, first_pass_dimension
FROM embedding_spaces
WHERE fingerprint = $1::text OR ($1 IS NULL AND state = 'active');

-- name: lock
-- Keeps others from making the indexes of table $1 at the same time; held as long as the session.
SELECT pg_try_advisory_lock(hashtextextended('palimpsest.vector_index ' || $1::text, 0));

-- name: settings
-- Of the session: waits for searches and writers that hold a lock, but not for ever; does not tell what was not there to drop.
SELECT set_config('lock_timeout', '60s', false), set_config('client_min_messages', 'warning', false),
    set_config('maintenance_work_mem', $1, false);

-- name: define
-- What tells the form $2 of vectors of table $1, of $3 dimensions.
SELECT define_first_pass($1, $2, $3);

-- name: partitions
-- The partitions of table $1 and, of each, the name of its part of index $2 where that is whole and in its place.
SELECT part.relname AS partition, (
        SELECT local.relname
        FROM pg_index AS index
            JOIN pg_class AS local ON local.oid = index.indexrelid
            JOIN pg_inherits AS of ON of.inhrelid = index.indexrelid
        WHERE index.indrelid = part.oid AND of.inhparent = to_regclass($2::text) AND index.indisvalid) AS local
FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid
WHERE inhparent = $1::text::regclass
ORDER BY part.oid;

-- fragment: whole
embedding halfvec_cosine_ops

-- fragment: binary
({table}_binary(embedding)::bit({dimension})) bit_hamming_ops

-- fragment: truncated
({table}_truncated(embedding)::halfvec({dimension})) halfvec_cosine_ops

-- name: create_index
-- The index of the whole table, as yet without its parts. It is valid once each partition has one.
CREATE INDEX IF NOT EXISTS {index} ON ONLY {table} USING hnsw ({form}) WHERE NOT hidden;

-- name: drop_local
-- A part that was left half made.
DROP INDEX CONCURRENTLY IF EXISTS {local};

-- name: create_local
CREATE INDEX CONCURRENTLY {local} ON {partition} USING hnsw ({form}) WHERE NOT hidden;

-- name: attach_local
ALTER INDEX {index} ATTACH PARTITION {local};

-- name: choose
-- From now on searches of space $1 walk the index of the form $2, of $3 dimensions.
UPDATE embedding_spaces SET first_pass = $2, first_pass_dimension = $3 WHERE fingerprint = $1;

-- name: under_way
-- The transactions of this database, those of other sessions. A vacuum, which belongs to nobody, searches for nothing.
SELECT lock.virtualtransaction
FROM pg_locks AS lock JOIN pg_stat_activity AS session USING (pid)
WHERE lock.locktype = 'virtualxid' AND lock.granted AND lock.pid <> pg_backend_pid()
    AND session.datname = current_database() AND session.usesysid IS NOT NULL;

-- name: drop_index
DROP INDEX IF EXISTS {index};

-- name: drop_binary
DROP FUNCTION IF EXISTS {table}_binary(halfvec);

-- name: drop_truncated
DROP FUNCTION IF EXISTS {table}_truncated(halfvec);
