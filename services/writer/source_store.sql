-- Registered sources (DO-9). $1 is the namespace, $2 the system, $3 the stream; empty: all streams of the system.

-- name: register_source
-- Registers a source, or changes it; when it was registered first stays.
INSERT INTO sources (namespace, system, stream, authority, state, description, changed_by, deleted_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $5::smallint = 3 THEN clock_timestamp() END)
ON CONFLICT (namespace, system, stream) DO UPDATE
SET authority = excluded.authority, state = excluded.state, description = excluded.description, reason = '',
    changed_by = excluded.changed_by,
    deleted_at = CASE WHEN excluded.state = 3 THEN coalesce(sources.deleted_at, excluded.deleted_at) END
RETURNING system, stream, authority, state, description, registered_at;

-- name: delete_source
-- Marks a source as deleted, registered or not; with a whole system all its streams.
WITH streams AS (
    UPDATE sources
    SET state = 3, reason = $4, changed_by = $5, deleted_at = coalesce(deleted_at, clock_timestamp())
    WHERE namespace = $1 AND system = $2 AND $3 = '' AND stream <> ''
)
INSERT INTO sources (namespace, system, stream, authority, state, reason, changed_by, deleted_at)
VALUES ($1, $2, $3, 0.5, 3, $4, $5, clock_timestamp())
ON CONFLICT (namespace, system, stream) DO UPDATE
SET state = 3, reason = excluded.reason, changed_by = excluded.changed_by,
    deleted_at = coalesce(sources.deleted_at, excluded.deleted_at);

-- name: withdraw_observations
-- Lets observations of the source follow its state: a stream's own goes before that of its system. Returns those that changed.
WITH wanted AS MATERIALIZED (
    SELECT said.namespace, said.observation_id, coalesce((
        SELECT source.state = 3
        FROM sources AS source
        WHERE source.namespace = said.namespace AND source.system = said.source_system
          AND source.stream IN ('', said.source_stream)
        ORDER BY source.stream = '' AND said.source_stream <> '', source.stream DESC
        LIMIT 1), false) AS withdrawn
    FROM observations AS said
    WHERE said.namespace = $1 AND said.source_system = $2 AND ($3 = '' OR said.source_stream = $3)
)
UPDATE observations AS said
SET withdrawn = wanted.withdrawn
FROM wanted
WHERE said.namespace = wanted.namespace AND said.observation_id = wanted.observation_id
  AND said.withdrawn <> wanted.withdrawn
RETURNING said.observation_id;

-- name: observations_of_source
-- All observations of the source.
SELECT observation_id
FROM observations
WHERE namespace = $1 AND source_system = $2 AND ($3 = '' OR source_stream = $3);

-- name: items_of_observations
-- Entities ($2 = 3) or facts that the observations $3 name or assert.
SELECT natural_key AS item_key FROM entity_evidence WHERE namespace = $1 AND $2 = 3 AND observation_id = ANY ($3)
UNION
SELECT fact_id FROM fact_evidence WHERE namespace = $1 AND $2 = 2 AND observation_id = ANY ($3);

-- name: count_shown
-- How many of the entities $2 and facts $3 are not withdrawn, and how many pieces of text of the entities are not hidden.
SELECT
    (SELECT count(*) FROM entities WHERE namespace = $1 AND natural_key = ANY ($2) AND NOT withdrawn) AS entities,
    (SELECT count(*) FROM facts WHERE namespace = $1 AND fact_id = ANY ($3) AND NOT withdrawn) AS facts,
    (SELECT count(*) FROM passages
     WHERE namespace = $1 AND kind = 1 AND owner_key = ANY ($2) AND NOT hidden) AS chunks;

-- name: closed_sources
-- Of the (namespace, system, stream) given those that take no new observations, with their state.
SELECT given.namespace, given.system, given.stream, source.state
FROM unnest($1::text[], $2::text[], $3::text[]) AS given (namespace, system, stream)
CROSS JOIN LATERAL (
    SELECT found.state
    FROM sources AS found
    WHERE found.namespace = given.namespace AND found.system = given.system AND found.stream IN ('', given.stream)
    ORDER BY found.stream = '' AND given.stream <> '', found.stream DESC
    LIMIT 1
) AS source
WHERE source.state IN (2, 3);
