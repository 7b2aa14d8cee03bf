-- phase: pre

-- Which labels a row has, as one number: rows with equal labels have equal ones. The hash of an empty array forgets its seed.
CREATE FUNCTION label_set(restricting text[], applies text[]) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN applies = '{}'::text[] THEN hash_array_extended(restricting, 0)
        ELSE hash_array_extended(applies, hash_array_extended(restricting, 0))
    END;

-- The sets of labels that occur in a namespace, and how many passages each has.
CREATE INDEX passages_by_labels ON passages (namespace, label_set(restricting, applies)) WHERE NOT hidden;

-- Whether labels of elsewhere exclude a row: it has labels of a requested type, and none of the requested values (AC-3).
-- Asked of very many rows, hence no query within.
CREATE OR REPLACE FUNCTION labels_of_elsewhere(applies text[], requested text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    asked text;
    own text;
    kind text;
    met text[] := '{}';
    missed text[] := '{}';
BEGIN
    FOREACH asked IN ARRAY requested LOOP
        kind := split_part(asked, ':', 1);
        IF asked = ANY (applies) THEN
            met := met || kind;
            CONTINUE;
        END IF;
        FOREACH own IN ARRAY applies LOOP
            IF split_part(own, ':', 1) = kind THEN
                missed := missed || kind;
                EXIT;
            END IF;
        END LOOP;
    END LOOP;
    RETURN NOT missed <@ met;
END
$$;

-- Makes the table of a space's vectors. They live apart from the text, whose row and index entries are never rewritten
-- when a vector arrives, and carry the filter columns, so that a filtered index scan can go on (AC-4, EM-4). Partitioned, so
-- that a large namespace is most of the graph that is walked for it: of what it is a small part of, it finds too little.
CREATE OR REPLACE FUNCTION create_vector_table(table_name text, dimension integer) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    partitions CONSTANT integer := 16;
BEGIN
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

-- The tables that are there. A graph is built faster over rows that are there already.
DO $$
DECLARE
    space record;
BEGIN
    FOR space IN SELECT table_name, dimension FROM embedding_spaces WHERE to_regclass(table_name) IS NOT NULL LOOP
        EXECUTE format('ALTER TABLE %I RENAME TO former_vectors', space.table_name);
        EXECUTE format(
            'DROP INDEX IF EXISTS %I, %I', space.table_name || '_by_hash', space.table_name || '_by_meaning');
        EXECUTE format('ALTER TABLE former_vectors DROP CONSTRAINT IF EXISTS %I', space.table_name || '_pkey');
        PERFORM create_vector_table(space.table_name, space.dimension);
        EXECUTE format('DROP INDEX %I', space.table_name || '_by_meaning');
        EXECUTE format(
            'INSERT INTO %I (namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, embedding)
             SELECT namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, embedding
             FROM former_vectors', space.table_name);
        DROP TABLE former_vectors;
        PERFORM create_vector_table(space.table_name, space.dimension);
    END LOOP;
END
$$;
