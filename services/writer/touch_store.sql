-- Statements on what is noted for streams of changes.

-- name: delete_old
-- What was noted before $1, at most $2, in whichever namespaces. What another replica is deleting is left to it.
DELETE FROM touched_items
WHERE (namespace, change_id, touch_id) IN (
    SELECT namespace, change_id, touch_id FROM touched_items
    WHERE touched_at < $1 LIMIT $2
    FOR UPDATE SKIP LOCKED)
RETURNING touch_id;
