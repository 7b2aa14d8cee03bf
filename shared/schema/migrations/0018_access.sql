-- phase: pre
-- Who may see names that only hidden observations use, and who may change what.

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

ALTER TABLE observations ADD COLUMN denied integer[] NOT NULL DEFAULT '{}';

-- Which roles may change an item (AC-5): rows of their own, one an assertion that says so, so that what acts, the latest, does
-- not depend on the order of arrival.
CREATE TABLE write_guards (
    namespace text NOT NULL,
    -- Numbers of ItemKind: 2 a fact, 3 an entity or record.
    kind smallint NOT NULL CHECK (kind IN (2, 3)),
    item_key text NOT NULL,
    observation_id text NOT NULL,
    assertion_index integer NOT NULL,
    occurred_at timestamptz NOT NULL,
    write_roles text[] NOT NULL,
    PRIMARY KEY (namespace, kind, item_key, observation_id, assertion_index)
);
-- What redaction of an observation touches.
CREATE INDEX write_guards_by_observation ON write_guards (namespace, observation_id);
