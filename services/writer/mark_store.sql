-- Marks that operators set on facts and entities. $1 is the namespace, $2 the kind (2 fact, 3 entity or record), $3 the key.

-- name: lock_entity
-- Whether the entity is there and visible to who holds the labels $4, or sees all ($5), and whether it is archived. Locked.
SELECT effective_status(status, archived) = 5 AS archived
FROM entities
WHERE namespace = $1 AND $2 = 3 AND natural_key = $3 AND visible(restricting, $4, $5)
FOR UPDATE;

-- name: lock_fact
-- The same for a fact, which is visible where both its ends and some of its evidence are, too.
SELECT effective_status(status, archived) = 5 AS archived
FROM facts
WHERE namespace = $1 AND $2 = 2 AND fact_id = $3 AND visible(restricting, $4, $5)
  AND ($5 OR (
    NOT EXISTS (
        SELECT FROM entities AS one_end
        WHERE one_end.namespace = $1 AND one_end.natural_key IN (facts.subject_key, facts.object_key)
          AND NOT visible(one_end.restricting, $4, $5))
    AND EXISTS (
        SELECT FROM fact_evidence AS evidence JOIN observations AS said USING (namespace, observation_id)
        WHERE evidence.namespace = $1 AND evidence.fact_id = facts.fact_id AND visible(said.restricting, $4, $5))))
FOR UPDATE;

-- name: confirm
-- Raises the moment of the last confirmation: $4, or now.
INSERT INTO item_marks AS mark (namespace, kind, item_key, last_confirmed_at, marked_by)
VALUES ($1, $2, $3, coalesce($4, clock_timestamp()), $5)
ON CONFLICT (namespace, kind, item_key) DO UPDATE
SET last_confirmed_at = greatest(mark.last_confirmed_at, excluded.last_confirmed_at), marked_by = excluded.marked_by
RETURNING last_confirmed_at;

-- name: set_archived
-- Archives, or restores whatever is asserted.
INSERT INTO item_marks AS mark (namespace, kind, item_key, archived, archive_reason, marked_by)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (namespace, kind, item_key) DO UPDATE
SET archived = excluded.archived, archive_reason = excluded.archive_reason, marked_by = excluded.marked_by;

-- name: is_deleted
-- Whether the item was deleted.
SELECT deleted_at IS NOT NULL FROM item_marks WHERE namespace = $1 AND kind = $2 AND item_key = $3;

-- name: set_deleted
-- Deletes ($4), or takes a deletion back.
INSERT INTO item_marks AS mark (namespace, kind, item_key, deleted_at, delete_reason, marked_by)
VALUES ($1, $2, $3, CASE WHEN $4::boolean THEN clock_timestamp() END, $5, $6)
ON CONFLICT (namespace, kind, item_key) DO UPDATE
SET deleted_at = excluded.deleted_at, delete_reason = excluded.delete_reason, marked_by = excluded.marked_by;

-- name: entity_title
-- What an entity is called.
SELECT title FROM entities WHERE namespace = $1 AND $2 = 3 AND natural_key = $3;

-- name: fact_title
-- What a fact says.
SELECT sentence FROM facts WHERE namespace = $1 AND $2 = 2 AND fact_id = $3;

-- name: count_shown_chunks
-- Pieces of the item's text that are not hidden.
SELECT count(*) FROM passages WHERE namespace = $1 AND $2 = 3 AND kind = 1 AND owner_key = $3 AND NOT hidden;

-- name: set_obsolete
-- Marks obsolete, with reason and evidence. Returns a row where there was no mark.
INSERT INTO obsolete_marks (namespace, kind, item_key, reason, evidence_observation_ids, marked_by)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
RETURNING item_key;

-- name: clear_obsolete
-- Takes the mark back. Returns a row where there was one.
DELETE FROM obsolete_marks WHERE namespace = $1 AND kind = $2 AND item_key = $3
RETURNING item_key;
