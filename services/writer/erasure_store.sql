-- Statements that take observations away, with all that rested on them alone. $1 is the namespace, $2 the observations or keys.

-- name: named_entities
-- Entities that the observations wrote or named.
SELECT DISTINCT natural_key FROM entity_evidence WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: spoken_facts
-- Facts that the observations asserted, closed or retracted.
SELECT fact_id FROM fact_evidence WHERE namespace = $1 AND observation_id = ANY ($2)
UNION
SELECT old_fact_id FROM fact_supersessions WHERE namespace = $1 AND observation_id = ANY ($2)
UNION
SELECT new_fact_id FROM fact_supersessions WHERE namespace = $1 AND observation_id = ANY ($2)
UNION
SELECT fact_id FROM fact_retractions WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: documents_of
-- Entities whose present text came from the observations.
SELECT entity_key FROM documents WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: count_chunks
-- Pieces of text that came from the observations.
SELECT count(*) FROM passages WHERE namespace = $1 AND kind = 1 AND observation_id = ANY ($2);

-- name: forget_marks
-- What operators said of items of the kind $3.
DELETE FROM item_marks WHERE namespace = $1 AND kind = $3 AND item_key = ANY ($2);

-- name: delete_entity_evidence
-- That the observations named anything.
DELETE FROM entity_evidence WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: delete_fact_evidence
-- That facts rest on the observations.
DELETE FROM fact_evidence WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: delete_supersessions
-- What the observations said of the places of facts.
DELETE FROM fact_supersessions WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: delete_retractions
-- What the observations said of the ends of facts.
DELETE FROM fact_retractions WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: delete_link_evidence
-- That links rest on the observations. Returns these links.
WITH gone AS (
    DELETE FROM link_evidence
    WHERE namespace = $1 AND observation_id = ANY ($2)
    RETURNING source_key, relation, target_key
)
SELECT DISTINCT source_key, relation, target_key FROM gone;

-- name: strike_claims
-- Takes the observations out of the links that wait, or have waited, for their target.
UPDATE link_claims
SET observation_ids = ARRAY(
    SELECT one FROM unnest(observation_ids) AS one WHERE one <> ALL ($2::text[]) ORDER BY one COLLATE "C")
WHERE namespace = $1 AND observation_ids && $2::text[];

-- name: delete_empty_claims
-- Links that wait, and that nobody claims any more.
DELETE FROM link_claims WHERE namespace = $1 AND observation_ids = '{}';

-- name: delete_documents
-- Texts that came from the observations.
DELETE FROM documents WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: delete_records
-- Passages of records that came from the observations.
DELETE FROM passages WHERE namespace = $1 AND kind = 4 AND observation_id = ANY ($2);

-- name: delete_observations
-- The observations themselves.
DELETE FROM observations WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: without_evidence
-- Those of the entities that nothing names any more.
SELECT given.natural_key
FROM unnest($2::text[]) AS given (natural_key)
WHERE NOT EXISTS (
    SELECT FROM entity_evidence AS evidence
    WHERE evidence.namespace = $1 AND evidence.natural_key = given.natural_key);

-- name: delete_entities
-- Entities.
DELETE FROM entities WHERE namespace = $1 AND natural_key = ANY ($2);

-- name: delete_passages_of_entities
-- All that is searched of entities, with its vectors.
DELETE FROM passages WHERE namespace = $1 AND kind IN (1, 3, 4) AND owner_key = ANY ($2);

-- name: delete_facts_without_evidence
-- Those of the facts that nothing asserts any more. Returns them.
DELETE FROM facts
WHERE namespace = $1 AND fact_id = ANY ($2) AND NOT EXISTS (
    SELECT FROM fact_evidence AS evidence WHERE evidence.namespace = $1 AND evidence.fact_id = facts.fact_id)
RETURNING fact_id;

-- name: delete_passages_of_facts
-- What is searched of facts, with its vectors.
DELETE FROM passages WHERE namespace = $1 AND kind = 2 AND owner_key = ANY ($2);

-- name: see_last
-- When entities were last seen, by what still names them.
UPDATE entities
SET last_seen_at = latest.occurred_at
FROM (
    SELECT natural_key, max(occurred_at) AS occurred_at
    FROM entity_evidence
    WHERE namespace = $1 AND natural_key = ANY ($2)
    GROUP BY natural_key
) AS latest
WHERE entities.namespace = $1 AND entities.natural_key = latest.natural_key
  AND entities.last_seen_at <> latest.occurred_at;

-- name: observations_naming
-- Observations that name one of the entities $2 or assert one of the facts $3, whole.
SELECT observation.*
FROM observations AS observation
WHERE observation.namespace = $1 AND observation.observation_id IN (
    SELECT evidence.observation_id FROM entity_evidence AS evidence
    WHERE evidence.namespace = $1 AND evidence.natural_key = ANY ($2)
    UNION
    SELECT evidence.observation_id FROM fact_evidence AS evidence
    WHERE evidence.namespace = $1 AND evidence.fact_id = ANY ($3));
