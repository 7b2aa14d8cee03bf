-- phase: pre
-- Who may see names that only hidden observations use.

ALTER TABLE entity_evidence ADD COLUMN restricting text[];

UPDATE entity_evidence AS evidence
SET restricting = o.restricting
FROM observations AS o
WHERE o.namespace = evidence.namespace AND o.observation_id = evidence.observation_id AND o.restricting <> '{}';

-- Entities that were given no labels, and that nothing names openly, get those of all that names them.
UPDATE entities
SET restricting = named.labels
FROM (
    SELECT evidence.namespace, evidence.natural_key,
        array_agg(DISTINCT label COLLATE "C" ORDER BY label COLLATE "C") AS labels
    FROM entity_evidence AS evidence CROSS JOIN unnest(evidence.restricting) AS label
    GROUP BY evidence.namespace, evidence.natural_key
) AS named
WHERE entities.namespace = named.namespace AND entities.natural_key = named.natural_key
  AND entities.restricting = '{}' AND NOT entities.stamps ? 'scopes'
  AND NOT EXISTS (
    SELECT FROM entity_evidence AS openly
    WHERE openly.namespace = entities.namespace AND openly.natural_key = entities.natural_key
      AND openly.restricting IS NULL);
