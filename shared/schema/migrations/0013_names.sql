-- phase: pre
-- Names and identifiers, by which misspelt words and parts of identifiers are found. Writes `passages` anew, once: it is locked
-- for some minutes a million passages.

CREATE EXTENSION IF NOT EXISTS fuzzystrmatch;

-- The words of a text that look like identifiers: of four characters at least, with a digit, maybe joined by `-`, `_` or `.`; in
-- normal form, cut to 500 characters. NULL: none.
CREATE FUNCTION identifiers(value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (
        SELECT left(string_agg(found[1], ' '), 500)
        FROM regexp_matches(
            normal_form(value), '\m(?=[[:alpha:]_.-]*[0-9])[[:alnum:]]+(?:[-_.][[:alnum:]]+)*', 'g') AS found
        WHERE length(found[1]) > 3);

-- How alike two words of at most 255 characters are, 0 to 1: by Damerau and Levenshtein, where two neighbours that changed
-- places are one edit. 0 above one edit, or above two where both words have nine letters.
CREATE FUNCTION likeness(one text, other text) RETURNS float8
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    edits integer := levenshtein_less_equal(one, other, 2);
    place integer := 1;
BEGIN
    IF edits > 2 THEN
        RETURN 0;
    END IF;
    IF edits = 2 AND length(one) = length(other) THEN
        WHILE substr(one, place, 1) = substr(other, place, 1) LOOP
            place := place + 1;
        END LOOP;
        IF other = overlay(one placing reverse(substr(one, place, 2)) from place for 2) THEN
            edits := 1;
        END IF;
    END IF;
    IF edits = 2 AND least(length(one), length(other)) < 9 THEN
        RETURN 0;
    END IF;
    RETURN 1 - edits::float8 / greatest(length(one), length(other));
END
$$;

ALTER TABLE passages ADD COLUMN names text GENERATED ALWAYS AS (CASE kind
    WHEN 3 THEN normal_form(left(text, 500) || ' ' || substr(owner_key, strpos(owner_key, ':') + 1))
    WHEN 2 THEN normal_form(left(text, 500))
    ELSE nullif(btrim(
        CASE ordinal WHEN 0 THEN normal_form(title || ' ' || source_path) ELSE '' END
        || CASE WHEN text ~ '[0-9]' THEN ' ' || coalesce(identifiers(text), '') ELSE '' END), '')
    END) STORED;
-- Names and identifiers by their trigrams.
CREATE INDEX passages_by_names ON passages USING gin (namespace, names gin_trgm_ops)
    WHERE NOT hidden AND names IS NOT NULL;
