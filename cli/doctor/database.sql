-- What the doctor asks of the database. Nothing is written.

-- name: extensions
-- The schema of each extension that is installed, and whether names in it are found without it.
SELECT extension.extname AS name, namespace.nspname AS schema,
       namespace.nspname = ANY (current_schemas(true)) AS is_on_path
FROM pg_extension AS extension JOIN pg_namespace AS namespace ON namespace.oid = extension.extnamespace
WHERE extension.extname = ANY ($1::text[]);

-- name: server
-- What the server is and how it is set.
SELECT pg_is_in_recovery() AS is_replica,
       current_setting('transaction_read_only')::boolean AS is_read_only,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - current_setting('reserved_connections', true)::int AS connections,
       current_setting('autovacuum')::boolean AS autovacuum,
       extract(epoch FROM clock_timestamp())::float8 AS clock_s,
       (current_setting('log_statement') IN ('mod', 'all')
           OR current_setting('log_min_duration_statement')::int >= 0
           OR (current_setting('log_min_duration_sample')::int >= 0
               AND current_setting('log_statement_sample_rate')::float8 > 0))
           AND current_setting('log_parameter_max_length')::int <> 0 AS logs_content;

-- name: tables_without_autovacuum
-- Tables of ours whose dead rows nobody takes away.
SELECT relation.relname AS name
FROM pg_class AS relation
WHERE relation.relkind IN ('r', 'm') AND relation.relnamespace = current_schema()::regnamespace
  AND 'autovacuum_enabled=false' = ANY (relation.reloptions)
ORDER BY relation.relname;

-- name: rights
-- What the connected role may do to knowledge and to the audit.
SELECT current_user AS role, has_table_privilege('facts', 'INSERT') AS may_write,
       has_table_privilege('audit_events', 'INSERT, UPDATE, DELETE, TRUNCATE') AS may_alter_audit;

-- name: applied
-- The migrations that are applied.
SELECT name, checksum FROM schema_migrations;

-- name: has_schema
-- Whether there is any schema of ours.
SELECT to_regclass('schema_migrations') IS NOT NULL;

-- name: queue
-- What waits for vectors: for how many seconds the oldest, and how many passages are set aside.
SELECT coalesce(extract(epoch FROM clock_timestamp() - min(enqueued_at) FILTER (WHERE NOT poisoned)), 0)::float8
           AS oldest_age_s,
       count(*) FILTER (WHERE poisoned) AS set_aside
FROM (SELECT enqueued_at, poisoned FROM embedding_queue
      UNION ALL
      SELECT waiting.enqueued_at, waiting.poisoned
      FROM embedding_backlog AS waiting JOIN embedding_spaces AS space USING (fingerprint)
      WHERE space.state = 'active') AS waiting;

-- name: active_space
-- The model whose vectors are searched.
SELECT fingerprint FROM embedding_spaces WHERE state = 'active';

-- name: notify
-- Says something on the channel $1.
SELECT pg_notify($1, '');
