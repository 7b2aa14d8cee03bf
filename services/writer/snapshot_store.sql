-- Snapshots (DO-6). $1 is the namespace, $2 the source, $3 the scope.

-- name: get_snapshot
-- A snapshot that was received before.
SELECT content_hash, counts FROM snapshots WHERE namespace = $1 AND source = $2 AND scope = $3 AND snapshot_id = $4;

-- name: latest_taken_at
-- When the newest snapshot that was applied was taken.
SELECT max(taken_at) FROM snapshots WHERE namespace = $1 AND source = $2 AND scope = $3 AND applied;

-- name: differences
-- Keys $4 with the hashes $5 of their items, against what is stored: those that are new, changed or gone.
SELECT coalesce(given.entity_key, stored.entity_key) AS entity_key, given.entity_key IS NOT NULL AS given,
    stored.item, stored.facts
FROM unnest($4::text[], $5::text[]) AS given (entity_key, item_hash)
FULL JOIN (
    SELECT entity_key, item_hash, item, facts
    FROM snapshot_items
    WHERE namespace = $1 AND source = $2 AND scope = $3
) AS stored ON stored.entity_key = given.entity_key
WHERE given.item_hash IS DISTINCT FROM stored.item_hash
ORDER BY 1;

-- name: held_elsewhere
-- Those of the entities $4 that another scope has too, or that anything but snapshots (observations of the kind $5) speaks of.
SELECT given.entity_key
FROM unnest($4::text[]) AS given (entity_key)
WHERE EXISTS (
        SELECT FROM snapshot_items AS other
        WHERE other.namespace = $1 AND other.entity_key = given.entity_key AND (other.source, other.scope) <> ($2, $3))
    OR EXISTS (
        SELECT FROM entity_evidence AS evidence JOIN observations AS said USING (namespace, observation_id)
        WHERE evidence.namespace = $1 AND evidence.natural_key = given.entity_key
          AND said.kind <> $5);

-- name: archived_entities
-- Those of the entities $2 that are archived by what was asserted.
SELECT natural_key FROM entities WHERE namespace = $1 AND natural_key = ANY ($2) AND status = 5;

-- name: upsert_items
-- Items as they are now.
INSERT INTO snapshot_items AS item (namespace, source, scope, entity_key, item_hash, item, facts)
SELECT $1, $2, $3, given.entity_key, given.item_hash, given.item, given.facts::jsonb
FROM unnest($4::text[], $5::text[], $6::bytea[], $7::text[]) AS given (entity_key, item_hash, item, facts)
ON CONFLICT (namespace, source, scope, entity_key) DO UPDATE
SET item_hash = excluded.item_hash, item = excluded.item, facts = excluded.facts;

-- name: delete_items
-- Items that are gone.
DELETE FROM snapshot_items WHERE namespace = $1 AND source = $2 AND scope = $3 AND entity_key = ANY ($4);

-- name: upsert_facts
-- Which snapshot asserted facts last.
INSERT INTO snapshot_facts AS fact (namespace, source, scope, fact_id, snapshot_id, taken_at)
SELECT $1, $2, $3, given.fact_id, $5, $6
FROM unnest($4::text[]) AS given (fact_id)
ON CONFLICT (namespace, fact_id, source, scope) DO UPDATE
SET snapshot_id = excluded.snapshot_id, taken_at = excluded.taken_at
WHERE fact.taken_at <= excluded.taken_at;

-- name: insert_snapshot
-- Writes a snapshot into the journal.
INSERT INTO snapshots (namespace, source, scope, snapshot_id, taken_at, content_hash, applied, counts)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: forget_items
-- All items of a source, of one scope or (empty) of all.
DELETE FROM snapshot_items WHERE namespace = $1 AND source = $2 AND ($3 = '' OR scope = $3);

-- name: forget_facts
-- Which snapshots asserted facts of a source.
DELETE FROM snapshot_facts WHERE namespace = $1 AND source = $2 AND ($3 = '' OR scope = $3);

-- name: forget_snapshots
-- The journal of a source.
DELETE FROM snapshots WHERE namespace = $1 AND source = $2 AND ($3 = '' OR scope = $3);
