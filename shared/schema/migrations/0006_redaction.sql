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

-- Locks namespaces for a writer, shared or alone, in the order given, and only then looks at what it must know of them; one
-- round trip, because each query of a volatile function sees what was committed up to then.
CREATE FUNCTION lock_for_writing(
    names text[], lock_keys bigint[], alone boolean[], fact_namespaces text[], fact_ids text[])
    RETURNS TABLE (namespace text, settings_version bigint, has_statements boolean, has_marks boolean)
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM CASE WHEN wanted.alone THEN pg_advisory_xact_lock(wanted.key)::text
                 ELSE pg_advisory_xact_lock_shared(wanted.key)::text END
    FROM unnest(lock_keys, alone) AS wanted (key, alone);
    RETURN QUERY
        SELECT given.name,
            coalesce((SELECT max(settings.version) FROM namespace_settings AS settings
                      WHERE settings.namespace = given.name), 0),
            EXISTS (
                SELECT FROM unnest(fact_namespaces, fact_ids) AS fact (namespace, id)
                WHERE fact.namespace = given.name AND (
                    EXISTS (SELECT FROM fact_supersessions AS said
                            WHERE said.namespace = given.name AND said.old_fact_id = fact.id)
                    OR EXISTS (SELECT FROM fact_supersessions AS said
                               WHERE said.namespace = given.name AND said.new_fact_id = fact.id))),
            EXISTS (SELECT FROM item_marks AS mark WHERE mark.namespace = given.name)
                OR EXISTS (SELECT FROM obsolete_marks AS mark WHERE mark.namespace = given.name)
                OR EXISTS (SELECT FROM sources AS source WHERE source.namespace = given.name AND source.state <> 1)
                OR EXISTS (SELECT FROM vault_observations AS vault WHERE vault.namespace = given.name)
        FROM unnest(names) AS given (name);
END
$$;
