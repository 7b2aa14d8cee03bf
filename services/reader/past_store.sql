-- What the memory believed at an earlier moment. As in store.sql: $1 the namespace, $2 the restricting labels that the caller
-- holds, $3 whether they hide nothing; and $4 the moment. A row as it was is either the present one, where its change was
-- known by then, or the former version whose change was known by then and whose end was not. Who may see what, and what is
-- withdrawn, is decided by the present: what was hidden since stays hidden.

-- name: clock
-- The database's clock, and whether it is a replica.
SELECT clock_timestamp() AS now, pg_is_in_recovery() AS is_replica;

-- name: wait_for_moments
-- Waits till all writers of the namespace $1 that have taken their moment have committed. Outside of a transaction: then the
-- lock is given back at once.
SELECT pg_advisory_xact_lock(moment_lock($1))::text;

-- name: get_facts
-- Of the facts with the ids $5, which the caller may see now, those that were known.
SELECT f.*, coalesce(evidence.ids, '{}') AS observation_ids,
    {those_it_closed} AS supersedes, {those_that_closed_it} AS superseded_by
FROM (
    SELECT here.* FROM facts AS here
    WHERE here.namespace = $1 AND here.fact_id = ANY ($5)
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = here.change_id),
            here.recorded_at) <= $4
    UNION ALL
    SELECT past.*
    FROM fact_versions AS v CROSS JOIN LATERAL jsonb_populate_record(NULL::facts, v.state) AS past
    WHERE v.namespace = $1 AND v.fact_id = ANY ($5)
        AND (SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.until_change_id) > $4
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.change_id),
            past.recorded_at) <= $4
) AS f
CROSS JOIN LATERAL (
    SELECT (array_agg(fe.observation_id ORDER BY fe.observation_id))[:200] AS ids
    FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
    WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3)
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = o.change_id),
            o.recorded_at) <= $4
) AS evidence
WHERE visible(f.restricting, $2, $3) AND ($3 OR evidence.ids IS NOT NULL);

-- name: list_fact_ids
-- Facts by subject, predicate, start (an unknown one last) and id, at most $5. $6 subjects, $7 predicate, $8 and $9 type and
-- texts of the object, $10 when they hold, $11 whatever their intervals and states; after ($12, $13, $14, $15).
SELECT f.fact_id, f.subject_key, f.predicate, f.valid_from
FROM (
    SELECT here.* FROM facts AS here
    WHERE here.namespace = $1
        AND ($6::text[] IS NULL OR here.subject_key = ANY ($6))
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = here.change_id),
            here.recorded_at) <= $4
    UNION ALL
    SELECT past.*
    FROM fact_versions AS v CROSS JOIN LATERAL jsonb_populate_record(NULL::facts, v.state) AS past
    WHERE v.namespace = $1
        AND ($6::text[] IS NULL OR v.subject_key = ANY ($6))
        AND (SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.until_change_id) > $4
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.change_id),
            past.recorded_at) <= $4
) AS f
WHERE visible(f.restricting, $2, $3)
    AND ($7::text = '' OR f.predicate = $7)
    AND ($8::text IS NULL OR (f.object_type = $8 AND f.object_text = ANY ($9::text[])))
    AND ($11 OR (
        NOT f.evidence_lost
        AND f.closure <> 4
        AND effective_status(f.status, f.archived) IN (1, 3)
        AND (f.expires_at IS NULL OR f.expires_at > $4)
        AND (f.obsolete_at IS NULL OR f.obsolete_at > coalesce($10, now()))
        AND (f.valid_from IS NULL OR f.valid_from <= coalesce($10, now()))
        AND (f.valid_to IS NULL OR f.valid_to > coalesce($10, now()))))
    AND EXISTS (
        SELECT FROM facts AS present
        WHERE present.namespace = $1 AND present.fact_id = f.fact_id
            AND NOT present.withdrawn AND visible(present.restricting, $2, $3))
    AND ($3 OR (
        {ends_are_visible}
        AND EXISTS (
            SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
            WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3)
                AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = o.change_id),
                    o.recorded_at) <= $4)))
    AND ($12::text IS NULL OR (
        (f.subject_key, f.predicate) >= ($12, $13::text)
        AND (
            (f.subject_key, f.predicate) > ($12, $13)
            OR (f.valid_from IS NULL AND $14::timestamptz IS NOT NULL)
            OR f.valid_from > $14
            OR (f.valid_from IS NOT DISTINCT FROM $14 AND f.fact_id > $15::text))))
ORDER BY f.subject_key, f.predicate, f.valid_from, f.fact_id
LIMIT $5;

-- name: get_entities
-- Of the entities with the keys $5, which the caller may see now, those that were known, each with the observations that had written it, newest first.
SELECT e.*, coalesce(evidence.ids, '{}') AS observation_ids, evidence.number AS observation_count,
    evidence.last_seen_then, greatest(evidence.named_at, e.recorded_at) AS recorded_at
FROM (
    SELECT here.* FROM entities AS here
    WHERE here.namespace = $1 AND here.natural_key = ANY ($5)
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = here.change_id),
            here.recorded_at) <= $4
    UNION ALL
    SELECT past.*
    FROM entity_versions AS v CROSS JOIN LATERAL jsonb_populate_record(NULL::entities, v.state) AS past
    WHERE v.namespace = $1 AND v.natural_key = ANY ($5)
        AND (SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.until_change_id) > $4
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.change_id),
            past.recorded_at) <= $4
) AS e
CROSS JOIN LATERAL (
    SELECT
        (array_agg(ee.observation_id ORDER BY ee.occurred_at DESC, ee.observation_id DESC)
            FILTER (WHERE visible(o.restricting, $2, $3)))[:100] AS ids,
        count(*) FILTER (WHERE visible(o.restricting, $2, $3)) AS number,
        max(ee.occurred_at) FILTER (WHERE visible(o.restricting, $2, $3)) AS last_seen_then,
        min(o.recorded_at) FILTER (WHERE visible(o.restricting, $2, $3)) AS named_at
    FROM entity_evidence AS ee JOIN observations AS o USING (namespace, observation_id)
    WHERE ee.namespace = $1 AND ee.natural_key = e.natural_key
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = o.change_id),
            o.recorded_at) <= $4
) AS evidence
WHERE visible(e.restricting, $2, $3);

-- name: list_neighbors
-- Neighbours of the entity $5 over links and over facts that hold at $6, heaviest first, at most $7. $8 relations; $9 from
-- source to target, $10 against it; after ($11, $12, $13, $14, $15): weight, relation, key, whether reversed, fact.
WITH links_then AS (
    SELECT here.source_key, here.relation, here.target_key, here.weight
    FROM links AS here
    WHERE here.namespace = $1 AND $5 IN (here.source_key, here.target_key)
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = here.change_id),
            here.recorded_at) <= $4
        AND NOT here.withdrawn
    UNION ALL
    SELECT v.source_key, v.relation, v.target_key, past.weight
    FROM link_versions AS v CROSS JOIN LATERAL jsonb_populate_record(NULL::links, v.state) AS past
    WHERE v.namespace = $1 AND $5 IN (v.source_key, v.target_key)
        AND (SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.until_change_id) > $4
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.change_id),
            past.recorded_at) <= $4
        AND NOT coalesce(past.withdrawn, false)
),
facts_then AS (
    SELECT here.* FROM facts AS here
    WHERE here.namespace = $1 AND here.object_key IS NOT NULL AND $5 IN (here.subject_key, here.object_key)
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = here.change_id),
            here.recorded_at) <= $4
    UNION ALL
    SELECT past.*
    FROM fact_versions AS v CROSS JOIN LATERAL jsonb_populate_record(NULL::facts, v.state) AS past
    WHERE v.namespace = $1 AND v.object_key IS NOT NULL AND $5 IN (v.subject_key, v.object_key)
        AND (SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.until_change_id) > $4
        AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.change_id),
            past.recorded_at) <= $4
),
edges AS (
    SELECT relation, target_key AS key, false AS reversed, weight, '' AS fact_id FROM links_then
    WHERE source_key = $5 AND $9 AND ($8::text[] = '{}' OR relation = ANY ($8))
    UNION ALL
    SELECT relation, source_key, true, weight, '' FROM links_then
    WHERE target_key = $5 AND $10 AND ($8 = '{}' OR relation = ANY ($8))
    UNION ALL
    SELECT f.predicate, CASE WHEN outgoing THEN f.object_key ELSE f.subject_key END, NOT outgoing, f.confidence, f.fact_id
    FROM facts_then AS f CROSS JOIN (VALUES (true), (false)) AS way (outgoing)
    WHERE CASE WHEN outgoing THEN $9 AND f.subject_key = $5 ELSE $10 AND f.object_key = $5 END
        AND ($8 = '{}' OR f.predicate = ANY ($8))
        AND visible(f.restricting, $2, $3)
        AND EXISTS (
            SELECT FROM facts AS present
            WHERE present.namespace = $1 AND present.fact_id = f.fact_id
                AND NOT present.withdrawn AND visible(present.restricting, $2, $3))
        AND NOT f.evidence_lost
        AND f.closure <> 4
        AND effective_status(f.status, f.archived) IN (1, 3)
        AND (f.expires_at IS NULL OR f.expires_at > $4)
        AND (f.obsolete_at IS NULL OR f.obsolete_at > coalesce($6, now()))
        AND (f.valid_from IS NULL OR f.valid_from <= coalesce($6, now()))
        AND (f.valid_to IS NULL OR f.valid_to > coalesce($6, now()))
)
SELECT edges.*
FROM edges JOIN entities AS e ON e.namespace = $1 AND e.natural_key = edges.key
WHERE visible(e.restricting, $2, $3)
    AND NOT e.withdrawn
    AND ($3 OR CASE
        WHEN edges.fact_id <> '' THEN EXISTS (
            SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
            WHERE fe.namespace = $1 AND fe.fact_id = edges.fact_id AND visible(o.restricting, $2, $3)
                AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = o.change_id),
                    o.recorded_at) <= $4)
        ELSE EXISTS (
            SELECT FROM link_evidence AS le JOIN observations AS o USING (namespace, observation_id)
            WHERE le.namespace = $1 AND le.relation = edges.relation AND visible(o.restricting, $2, $3)
                AND le.source_key = CASE WHEN edges.reversed THEN edges.key ELSE $5 END
                AND le.target_key = CASE WHEN edges.reversed THEN $5 ELSE edges.key END)
    END)
    AND ($11::float8 IS NULL
        OR (-weight, relation, key, reversed, fact_id) > (-$11, $12::text, $13::text, $14::bool, $15::text))
ORDER BY -weight, relation, key, reversed, fact_id
LIMIT $7;

-- name: fact_versions
-- All that the fact $5 ever was up to the moment, oldest first: its row, and when that became known.
SELECT f.*, {those_it_closed} AS supersedes, {those_that_closed_it} AS superseded_by
FROM (
    SELECT here.*, coalesce(c.known_at, here.recorded_at) AS known_from
    FROM facts AS here LEFT JOIN changes AS c USING (namespace, change_id)
    WHERE here.namespace = $1 AND here.fact_id = $5
    UNION ALL
    SELECT past.*, coalesce(c.known_at, past.recorded_at)
    FROM fact_versions AS v
    CROSS JOIN LATERAL jsonb_populate_record(NULL::facts, v.state) AS past
    LEFT JOIN changes AS c ON c.namespace = $1 AND c.change_id = v.change_id
    WHERE v.namespace = $1 AND v.fact_id = $5
) AS f
WHERE f.known_from <= $4 AND visible(f.restricting, $2, $3)
ORDER BY f.known_from;

-- name: fact_evidence
-- The visible observations that the fact $5 rests on, in the order in which they became known.
SELECT fe.observation_id, coalesce(c.known_at, o.recorded_at) AS known_from
FROM fact_evidence AS fe
JOIN observations AS o USING (namespace, observation_id)
LEFT JOIN changes AS c ON c.namespace = $1 AND c.change_id = o.change_id
WHERE fe.namespace = $1 AND fe.fact_id = $5 AND visible(o.restricting, $2, $3)
    AND coalesce(c.known_at, o.recorded_at) <= $4
ORDER BY known_from, fe.occurred_at, fe.observation_id;

-- name: fact_statements
-- Without a moment: what visible observations said of the end of the fact $4, earliest first: the other fact, empty where it
-- ended by itself, and when.
SELECT said.*
FROM (
    SELECT s.observation_id, s.occurred_at, s.reason, s.correction, s.new_fact_id AS other_fact_id,
        NULL::timestamptz AS valid_to
    FROM fact_supersessions AS s
    WHERE s.namespace = $1 AND s.old_fact_id = $4 AND NOT s.refused
    UNION ALL
    SELECT r.observation_id, r.occurred_at, r.reason, false, '', r.valid_to
    FROM fact_retractions AS r
    WHERE r.namespace = $1 AND r.fact_id = $4
) AS said
JOIN observations AS o ON o.namespace = $1 AND o.observation_id = said.observation_id
WHERE visible(o.restricting, $2, $3)
ORDER BY said.occurred_at, said.observation_id;
