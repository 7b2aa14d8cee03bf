-- phase: pre
-- What compares who sees two things has a name.

-- Whether whoever sees a row with the labels `own` sees one with the labels `other`, too; neither has groups. What is told of the
-- first may rest on the second only then (AC-6).
CREATE FUNCTION seen_by_all_of(own text[], other text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN other = '{}'::text[] OR own <> '{}'::text[] AND own <@ other;

CREATE OR REPLACE FUNCTION mirror_fact_labels(names text[], ids text[]) RETURNS TABLE (namespace text, passage_id bigint)
    LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    UPDATE passages AS p SET restricting = shown.restricting
    FROM (
        SELECT fact.namespace, fact.fact_id, CASE
            WHEN seen_by_all_of(own, subject) AND seen_by_all_of(own, object) AND evidence = '{}'
            THEN own ELSE labels_of_all(own, subject, object, evidence) END AS restricting
        FROM (
            SELECT f.namespace, f.fact_id, f.restricting AS own,
                coalesce((
                    SELECT e.restricting FROM entities AS e
                    WHERE e.namespace = f.namespace AND e.natural_key = f.subject_key), '{}') AS subject,
                coalesce((
                    SELECT e.restricting FROM entities AS e
                    WHERE e.namespace = f.namespace AND e.natural_key = f.object_key), '{}') AS object,
                -- None where one observation is open, or whoever sees the fact itself may see one: most facts.
                CASE WHEN EXISTS (
                    SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
                    WHERE fe.namespace = f.namespace AND fe.fact_id = f.fact_id
                      AND seen_by_all_of(f.restricting, o.restricting))
                THEN '{}' ELSE ARRAY(
                    SELECT DISTINCT label COLLATE "C"
                    FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
                        CROSS JOIN LATERAL unnest(o.restricting) AS label
                    WHERE fe.namespace = f.namespace AND fe.fact_id = f.fact_id
                    ORDER BY 1) END AS evidence
            FROM unnest(names, ids) AS given (namespace, fact_id) JOIN facts AS f USING (namespace, fact_id)
            OFFSET 0
        ) AS fact
    ) AS shown
    WHERE p.namespace = shown.namespace AND p.kind = 2 AND p.owner_key = shown.fact_id
      AND p.restricting <> shown.restricting
    RETURNING p.namespace, p.passage_id;
END
$$;
