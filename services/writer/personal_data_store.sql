-- The writer's statements about personal data.

-- name: mark
-- Categories that were found in what observations say of entities.
UPDATE entity_evidence AS evidence
SET pii_categories = given.categories::text[]
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS given (namespace, natural_key, observation_id, categories)
WHERE evidence.namespace = given.namespace AND evidence.natural_key = given.natural_key
  AND evidence.observation_id = given.observation_id;

-- name: next_unmarked
-- Observations that are to be marked, in order, at most $2; none where all are, or nothing is protected.
SELECT observation.*
FROM personal_data_secrets AS protected
CROSS JOIN LATERAL (
    SELECT o.* FROM observations AS o
    WHERE o.namespace = $1 AND o.observation_id > protected.marked_to
    ORDER BY o.observation_id
    LIMIT $2
) AS observation
WHERE protected.namespace = $1 AND protected.marked_to IS NOT NULL;

-- name: marked_to
-- How far observations are marked.
UPDATE personal_data_secrets SET marked_to = $2 WHERE namespace = $1;
