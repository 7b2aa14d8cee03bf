-- phase: pre
-- What an observation says plainly and what it claims are evidence of their own: a claim may leave a target.
ALTER TABLE link_evidence ADD COLUMN claimed boolean NOT NULL DEFAULT false;
UPDATE link_evidence AS evidence
SET claimed = true
FROM link_claims AS claim
WHERE claim.namespace = evidence.namespace AND claim.source_key = evidence.source_key
  AND claim.relation = evidence.relation AND claim.target_key = evidence.target_key
  AND evidence.observation_id = ANY (claim.observation_ids);
ALTER TABLE link_evidence DROP CONSTRAINT link_evidence_pkey;
ALTER TABLE link_evidence
    ADD PRIMARY KEY (namespace, source_key, relation, target_key, observation_id, claimed);
-- Whom the private parts of an observation belong to: re-projection has to give them the same labels.
ALTER TABLE observations ADD COLUMN private_to text NOT NULL DEFAULT '';
-- Whether the observation said something of the entity, or only named it: what re-projection has to read. Unknown counts as
-- said.
ALTER TABLE entity_evidence ADD COLUMN described boolean NOT NULL DEFAULT true;

-- Locks a namespace for a writer, shared or alone, and only then looks at what it must know of it; one round trip, because each
-- query of a volatile function sees what was committed up to then. `fact_ids`: whether stored supersessions name one of them.
CREATE FUNCTION lock_for_writing(name text, lock_key bigint, alone boolean, fact_ids text[])
    RETURNS TABLE (settings_version bigint, has_statements boolean, has_marks boolean)
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock(lock_key);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(lock_key);
    END IF;
    settings_version := coalesce((SELECT max(version) FROM namespace_settings WHERE namespace = name), 0);
    has_statements := fact_ids <> '{}' AND (
        EXISTS (SELECT FROM fact_supersessions WHERE namespace = name AND old_fact_id = ANY (fact_ids))
        OR EXISTS (SELECT FROM fact_supersessions WHERE namespace = name AND new_fact_id = ANY (fact_ids)));
    has_marks := EXISTS (SELECT FROM item_marks WHERE namespace = name)
        OR EXISTS (SELECT FROM sources WHERE namespace = name AND state <> 1)
        OR EXISTS (SELECT FROM obsolete_marks WHERE namespace = name)
        OR EXISTS (SELECT FROM vault_observations WHERE namespace = name);
    RETURN NEXT;
END
$$;
