-- phase: pre
-- Observations that touch nothing stored are written by one statement; what came from deleted sources is kept for a time.

-- Shares the lock of a namespace as a writer does, and says what writing rows without a look at stored ones would meet there:
-- `marked`, where marks act on all that is written, or the settings are not of that version; `stored`, where one of the
-- observations, of the entities that are described, or of the facts is there, or statements and links speak of one that is
-- not; else `new`. `source_kinds`, `source_ids`: by which links may wait for the described entities.
CREATE FUNCTION lock_for_new_rows(
    name text, lock_key bigint, version bigint, observation_ids text[], described text[], fact_ids text[],
    source_kinds text[], source_ids text[])
    RETURNS text
    LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    state record;
BEGIN
    state := lock_for_writing(name, lock_key, false, fact_ids);
    IF state.settings_version <> version OR state.has_marks THEN
        RETURN 'marked';
    END IF;
    IF state.has_statements
        OR EXISTS (SELECT FROM observations AS o WHERE o.namespace = name AND o.observation_id = ANY (observation_ids))
        OR EXISTS (SELECT FROM entities AS e WHERE e.namespace = name AND e.natural_key = ANY (described))
        OR fact_ids <> '{}' AND (
            EXISTS (SELECT FROM facts AS f WHERE f.namespace = name AND f.fact_id = ANY (fact_ids))
            OR EXISTS (SELECT FROM fact_retractions AS r WHERE r.namespace = name AND r.fact_id = ANY (fact_ids)))
        OR source_ids <> '{}' AND EXISTS (
            SELECT FROM unnest(source_kinds, source_ids) AS given (kind, source_id)
            JOIN link_claims AS c
                ON c.namespace = name AND c.target_kind = given.kind AND c.target_ref = given.source_id)
    THEN
        RETURN 'stored';
    END IF;
    RETURN 'new';
END
$$;

-- Ends a statement as a conflict does: what it rests on has changed since it began.
CREATE FUNCTION begin_anew() RETURNS boolean
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE serialization_failure;
END
$$;

-- Since when a source is deleted. Of those that were before nobody knows, nor of those that older code deletes: the first pass
-- of retention sets it.
ALTER TABLE sources ADD COLUMN deleted_at timestamptz;
-- Of deleted sources, those that still have their content.
CREATE INDEX observations_withdrawn ON observations (namespace, source_system, source_stream)
    WHERE withdrawn AND status <> 5;
