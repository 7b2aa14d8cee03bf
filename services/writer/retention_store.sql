-- Statements of retention. $1 is the namespace; what was deleted before $2, a moment, is to go.

-- name: outlived
-- Observations that were recorded before $2 and have their content still, the oldest $3, with their messages.
SELECT observation_id, message
FROM observations
WHERE namespace = $1 AND recorded_at < $2 AND status <> 5
ORDER BY recorded_at, observation_id
LIMIT $3;

-- name: resting_on_deleted
-- What deleted items rest on, after ($3, $4, $5), at most $6: kind and key of the item, and the observation.
SELECT resting.item_kind, resting.item_key, resting.observation_id
FROM (
    SELECT mark.kind AS item_kind, mark.item_key, evidence.observation_id
    FROM item_marks AS mark
        JOIN entity_evidence AS evidence ON evidence.namespace = $1 AND evidence.natural_key = mark.item_key
    WHERE mark.namespace = $1 AND mark.kind = 3 AND mark.deleted_at < $2
    UNION ALL
    SELECT mark.kind, mark.item_key, evidence.observation_id
    FROM item_marks AS mark
        JOIN fact_evidence AS evidence ON evidence.namespace = $1 AND evidence.fact_id = mark.item_key
    WHERE mark.namespace = $1 AND mark.kind = 2 AND mark.deleted_at < $2
) AS resting
WHERE (resting.item_kind, resting.item_key, resting.observation_id) > ($3::smallint, $4::text, $5::text)
ORDER BY resting.item_kind, resting.item_key, resting.observation_id
LIMIT $6;

-- name: deleted_among
-- Those of the entities ($3 = 3) or facts ($3 = 2) $4 that were deleted so long ago.
SELECT item_key AS key
FROM item_marks
WHERE namespace = $1 AND deleted_at < $2 AND kind = $3 AND item_key = ANY ($4::text[]);

-- name: date_deletions
-- Notes sources that are deleted since nobody knows when as deleted now.
UPDATE sources SET deleted_at = clock_timestamp() WHERE namespace = $1 AND state = 3 AND deleted_at IS NULL;

-- name: of_deleted_sources
-- Observations, with their messages, whose source was deleted before $2 and which have their content still, at most $3. What says
-- whether an observation's source is deleted, and since when, is the row of its stream, else that of the whole system.
SELECT said.observation_id, said.message
FROM sources AS source
JOIN observations AS said ON said.namespace = source.namespace AND said.source_system = source.system
    AND (source.stream = '' OR said.source_stream = source.stream)
WHERE source.namespace = $1 AND source.state = 3 AND source.deleted_at < $2 AND said.withdrawn AND said.status <> 5
  AND NOT (source.stream = '' AND said.source_stream <> '' AND EXISTS (
    SELECT FROM sources AS own
    WHERE own.namespace = $1 AND own.system = source.system AND own.stream = said.source_stream))
ORDER BY said.source_system, said.source_stream, said.observation_id
LIMIT $3;

-- name: sources_deleted
-- Sources that were deleted before $2.
SELECT system, stream FROM sources WHERE namespace = $1 AND state = 3 AND deleted_at < $2 ORDER BY system, stream;

-- name: moment_before
-- The moment so many seconds before now.
SELECT now() - make_interval(secs => $1);
