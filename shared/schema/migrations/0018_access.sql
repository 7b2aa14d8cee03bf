-- phase: pre
-- Who may see names that only hidden observations use, and who may change what.

ALTER TABLE entity_evidence ADD COLUMN restricting text[];

UPDATE entity_evidence AS evidence
SET restricting = o.restricting
FROM observations AS o
WHERE o.namespace = evidence.namespace AND o.observation_id = evidence.observation_id AND o.restricting <> '{}';

-- Entities that were given no labels, and that nothing names openly, get those of all that names them.
UPDATE entities
SET restricting = named.labels
FROM (
    SELECT evidence.namespace, evidence.natural_key,
        array_agg(DISTINCT label COLLATE "C" ORDER BY label COLLATE "C") AS labels
    FROM entity_evidence AS evidence CROSS JOIN unnest(evidence.restricting) AS label
    GROUP BY evidence.namespace, evidence.natural_key
) AS named
WHERE entities.namespace = named.namespace AND entities.natural_key = named.natural_key
  AND entities.restricting = '{}' AND NOT entities.stamps ? 'scopes'
  AND NOT EXISTS (
    SELECT FROM entity_evidence AS openly
    WHERE openly.namespace = entities.namespace AND openly.natural_key = entities.natural_key
      AND openly.restricting IS NULL);

CREATE INDEX entities_restricted ON entities (namespace) WHERE restricting <> '{}';

ALTER TABLE observations ADD COLUMN denied integer[] NOT NULL DEFAULT '{}';

-- Which roles may change an item (AC-5): rows of their own, one an assertion that says so, so that what acts, the latest, does
-- not depend on the order of arrival.
CREATE TABLE write_guards (
    namespace text NOT NULL,
    -- Numbers of ItemKind: 2 a fact, 3 an entity or record.
    kind smallint NOT NULL CHECK (kind IN (2, 3)),
    item_key text NOT NULL,
    observation_id text NOT NULL,
    assertion_index integer NOT NULL,
    occurred_at timestamptz NOT NULL,
    write_roles text[] NOT NULL,
    PRIMARY KEY (namespace, kind, item_key, observation_id, assertion_index)
);
-- What redaction of an observation touches.
CREATE INDEX write_guards_by_observation ON write_guards (namespace, observation_id);

CREATE FUNCTION require_vector_table(table_name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF table_name !~ '^vectors_[0-9a-f]{24}$' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'no table of vectors has that name';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION create_vector_table(table_name text, dimension integer) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    partitions CONSTANT integer := 16;
BEGIN
    PERFORM require_vector_table(table_name);
    EXECUTE format(
        'CREATE TABLE IF NOT EXISTS %1$I (
            namespace text NOT NULL,
            passage_id bigint NOT NULL,
            embedding_hash text NOT NULL,
            kind smallint NOT NULL,
            restricting text[] NOT NULL,
            applies text[] NOT NULL,
            hidden boolean NOT NULL,
            embedding halfvec(%2$s) NOT NULL,
            label_set bigint NOT NULL GENERATED ALWAYS AS (label_set(restricting, applies)) STORED,
            PRIMARY KEY (namespace, passage_id),
            FOREIGN KEY (namespace, passage_id) REFERENCES passages ON DELETE CASCADE
        ) PARTITION BY HASH (namespace)',
        table_name, dimension);
    FOR number IN 0 .. partitions - 1 LOOP
        EXECUTE format(
            'CREATE TABLE IF NOT EXISTS %1$I PARTITION OF %2$I FOR VALUES WITH (MODULUS %3$s, REMAINDER %4$s)',
            format('%s_%s', table_name, number), table_name, partitions, number);
    END LOOP;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %1$I ON %2$I (namespace, embedding_hash)', table_name || '_by_hash', table_name);
    -- Rows by their labels, and how many there are.
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %1$I ON %2$I (namespace, label_set) WHERE NOT hidden',
        table_name || '_by_labels', table_name);
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS %1$I ON %2$I USING hnsw (embedding halfvec_cosine_ops) WHERE NOT hidden',
        table_name || '_by_meaning', table_name);
END
$$;

CREATE FUNCTION drop_vector_table(table_name text) RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM require_vector_table(table_name);
    EXECUTE format('DROP TABLE IF EXISTS %I', table_name);
    EXECUTE format('DROP FUNCTION IF EXISTS %I(halfvec)', table_name || '_binary');
    EXECUTE format('DROP FUNCTION IF EXISTS %I(halfvec)', table_name || '_truncated');
END
$$;

DO $$
DECLARE
    -- pg_catalog is sought first without being named, and tables are made in what is named first.
    path text := concat_ws(', ', quote_ident(current_schema()), (
        SELECT quote_ident(n.nspname)
        FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector' AND n.nspname <> current_schema()), 'pg_temp');
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['create_vector_table', 'drop_vector_table', 'leave_trace'] LOOP
        EXECUTE format('ALTER FUNCTION %I SECURITY DEFINER SET search_path = %s', one, path);
    END LOOP;
END
$$;
