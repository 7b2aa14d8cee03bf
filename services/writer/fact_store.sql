-- What the RPCs about single facts read. $1 is the namespace; $2 the labels that the caller holds, $3 whether they hide nothing.

-- name: get_fact
-- The fact $4, with the observations that it rests on, where the caller may see it.
SELECT f.*, coalesce(evidence.ids, '{}') AS observation_ids, effective_status(f.status, f.archived) AS status_now
FROM facts AS f
CROSS JOIN LATERAL (
    SELECT (array_agg(fe.observation_id ORDER BY fe.observation_id))[:200] AS ids
    FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
    WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3)
) AS evidence
WHERE f.namespace = $1 AND f.fact_id = $4 AND NOT f.withdrawn AND visible(f.restricting, $2, $3)
  AND ($3 OR evidence.ids IS NOT NULL)
  AND NOT EXISTS (
    SELECT FROM entities AS e
    WHERE e.namespace = $1 AND e.natural_key IN (f.subject_key, f.object_key) AND NOT visible(e.restricting, $2, $3));

-- name: occurred_at
-- When the observation $2 happened. No row where it is not stored.
SELECT occurred_at FROM observations WHERE namespace = $1 AND observation_id = $2;

-- name: facts_said
-- Facts whose sentence is one of the texts $4 in normal form, each with its interval. Not those that were never true.
SELECT f.fact_id AS key, f.sentence, f.valid_from, f.valid_to
FROM passages AS p JOIN facts AS f ON f.namespace = $1 AND f.fact_id = p.owner_key
WHERE p.namespace = $1 AND p.kind = 2
  AND hashtextextended(normal_form(p.text), 0) IN (SELECT hashtextextended(normal_form(said), 0) FROM unnest($4::text[]) AS said)
  AND normal_form(f.sentence) IN (SELECT normal_form(said) FROM unnest($4::text[]) AS said)
  AND NOT f.withdrawn AND NOT f.evidence_lost AND f.closure <> 4 AND visible(f.restricting, $2, $3)
  AND ($3 OR (
    NOT EXISTS (
        SELECT FROM entities AS e
        WHERE e.namespace = $1 AND e.natural_key IN (f.subject_key, f.object_key) AND NOT visible(e.restricting, $2, $3))
    AND EXISTS (
        SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
        WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3))))
ORDER BY f.fact_id
LIMIT $5;

-- name: entities_said
-- Entities and records whose title, or whose whole text where that is one piece, is $4 in normal form.
SELECT e.natural_key AS key
FROM entities AS e
WHERE e.namespace = $1 AND NOT e.withdrawn AND visible(e.restricting, $2, $3) AND e.natural_key IN (
    SELECT titled.natural_key
    FROM entities AS titled
    WHERE titled.namespace = $1 AND titled.title <> ''
      AND hashtextextended(normal_form(titled.title), 0) = hashtextextended(normal_form($4), 0)
      AND normal_form(titled.title) = normal_form($4)
    UNION
    SELECT p.owner_key
    FROM passages AS p
    WHERE p.namespace = $1 AND p.kind IN (1, 4) AND p.ordinal = 0
      AND hashtextextended(normal_form(p.text), 0) = hashtextextended(normal_form($4), 0)
      AND normal_form(p.text) = normal_form($4) AND visible(p.restricting, $2, $3)
      AND NOT EXISTS (
        SELECT FROM passages AS next
        WHERE next.namespace = $1 AND next.kind = p.kind AND next.owner_key = p.owner_key AND next.ordinal = 1))
ORDER BY e.natural_key
LIMIT $5;
