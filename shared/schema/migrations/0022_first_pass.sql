-- phase: pre

-- What the index of a space's vectors holds: they whole, one bit a dimension, or their beginning (EM-6). Those that it finds
-- are held against the query whole.
ALTER TABLE embedding_spaces
    ADD COLUMN first_pass text NOT NULL DEFAULT 'whole' CHECK (first_pass IN ('whole', 'binary', 'truncated')),
    -- Of what the index holds; NULL: whole.
    ADD COLUMN first_pass_dimension integer,
    ADD CHECK ((first_pass = 'whole') = (first_pass_dimension IS NULL));

-- Makes what tells the form of a vector that the index of a space holds, where that is not the whole (EM-6). `binary`: one bit a
-- dimension, on which side of the middle of all it lies there, less what it has of the middle itself; most models put all
-- vectors into one narrow cone, and the signs alone would tell next to nothing. `truncated`: the first numbers.
CREATE FUNCTION define_first_pass(table_name text, form text, dimension integer) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    sample CONSTANT integer := 10000;
    middle halfvec;
BEGIN
    IF form = 'truncated' THEN
        EXECUTE format(
            'CREATE OR REPLACE FUNCTION %1$I(embedding halfvec) RETURNS halfvec
             LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN subvector(embedding, 1, %2$s)',
            table_name || '_truncated', dimension);
        RETURN;
    END IF;
    EXECUTE format(
        'SELECT l2_normalize(avg(embedding)) FROM (
             SELECT embedding FROM %1$I WHERE random() * (SELECT count(*) FROM %1$I) < %2$s) AS sampled',
        table_name, sample) INTO middle;
    IF middle IS NULL THEN
        RAISE EXCEPTION 'the space has no vectors yet' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION %1$I(embedding halfvec) RETURNS bit
         LANGUAGE sql IMMUTABLE PARALLEL SAFE
         RETURN binary_quantize(
             embedding - array_fill((-(embedding <#> %2$L::halfvec))::real, ARRAY[%3$s])::vector::halfvec * %2$L::halfvec)',
        table_name || '_binary', middle, dimension);
END
$$;
