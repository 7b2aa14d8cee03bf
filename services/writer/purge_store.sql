-- What is selected to be purged, and what beside observations and what rests on them names it. $1 is the namespace.

-- name: said_by_source
-- Observations of the system $2; of its stream $3, its event $4 and revision $5, where they are not empty.
SELECT observation_id
FROM observations
WHERE namespace = $1 AND source_system = $2 AND ($3 = '' OR source_stream = $3) AND ($4 = '' OR external_id = $4)
  AND ($5 = '' OR revision = $5);

-- name: said_since
-- Observations of the system $2, of its stream $3 where it is not empty, that were recorded at $4 or later, and have their
-- content: what was redacted has no effect that could be taken back.
SELECT observation_id
FROM observations
WHERE namespace = $1 AND source_system = $2 AND ($3 = '' OR source_stream = $3) AND recorded_at >= $4 AND status <> 5;

-- name: stored
-- The observation $2, where it is stored.
SELECT observation_id FROM observations WHERE namespace = $1 AND observation_id = $2;

-- name: merged_with
-- The entities $2 and all that they were confirmed to be one with.
WITH RECURSIVE one AS (
    SELECT unnest($2::text[]) AS key
    UNION
    SELECT other.key
    FROM one JOIN entity_merges AS merge ON merge.namespace = $1 AND one.key IN (merge.merged_key, merge.canonical_key)
    CROSS JOIN LATERAL (VALUES (merge.merged_key), (merge.canonical_key)) AS other (key)
)
SELECT key FROM one;

-- name: facts_about
-- Facts of which one of the entities $2 is an end.
SELECT fact_id FROM facts WHERE namespace = $1 AND subject_key = ANY ($2)
UNION
SELECT fact_id FROM facts WHERE namespace = $1 AND object_key = ANY ($2);

-- name: said_about
-- Observations by or of the entities $2, or that name them, or speak of the facts $3 or of links at these entities; or did before
-- they were redacted.
SELECT observation_id FROM observations WHERE namespace = $1 AND (actor_key = ANY ($2) OR subject_key = ANY ($2))
UNION
SELECT observation_id FROM entity_evidence WHERE namespace = $1 AND natural_key = ANY ($2)
UNION
SELECT observation_id FROM fact_evidence WHERE namespace = $1 AND fact_id = ANY ($3)
UNION
SELECT observation_id FROM fact_supersessions
WHERE namespace = $1 AND (old_fact_id = ANY ($3) OR new_fact_id = ANY ($3))
UNION
SELECT observation_id FROM fact_retractions WHERE namespace = $1 AND fact_id = ANY ($3)
UNION
SELECT observation_id FROM struck_evidence WHERE namespace = $1 AND item = ANY ($3)
UNION
SELECT struck.observation_id
FROM unnest($2::text[]) AS key
JOIN struck_evidence AS struck
    ON struck.namespace = $1 AND struck.item = encode(sha256(convert_to(key, 'UTF8')), 'hex')
UNION
SELECT evidence.observation_id
FROM links
JOIN link_evidence AS evidence USING (namespace, source_key, relation, target_key)
WHERE links.namespace = $1 AND links.source_key = ANY ($2)
UNION
SELECT evidence.observation_id
FROM links
JOIN link_evidence AS evidence USING (namespace, source_key, relation, target_key)
WHERE links.namespace = $1 AND links.target_key = ANY ($2);

-- name: names_of
-- Titles and other names of the entities $2.
SELECT title, aliases FROM entities WHERE namespace = $1 AND natural_key = ANY ($2);

-- name: delete_lost_facts
-- Those of the facts $2 that nothing asserts any more. Returns them.
DELETE FROM facts
WHERE namespace = $1 AND fact_id = ANY ($2) AND NOT EXISTS (
    SELECT FROM fact_evidence AS evidence WHERE evidence.namespace = $1 AND evidence.fact_id = facts.fact_id)
RETURNING fact_id;

-- name: forget_struck_evidence
-- What the facts $2 rested on before it was redacted.
DELETE FROM struck_evidence WHERE namespace = $1 AND item = ANY ($2);

-- name: forget_vault_keys
-- The entities $2, as runs of vaults told that they had removed them.
UPDATE vault_runs
SET removed_keys = ARRAY(SELECT key FROM unnest(removed_keys) AS key WHERE key <> ALL ($2::text[]))
WHERE namespace = $1 AND removed_keys && $2::text[];

-- name: forget_vault_keys_mentioning
-- Entities, as runs of vaults told that they had removed them, in whose keys one of the words $2 stands.
WITH mentioning AS (
    SELECT run.vault_run_id, array_agg(key) AS keys
    FROM vault_runs AS run
    CROSS JOIN unnest(run.removed_keys) AS key
    JOIN unnest($2::text[]) AS word ON position(word IN key) > 0
    WHERE run.namespace = $1
    GROUP BY run.vault_run_id
)
UPDATE vault_runs
SET removed_keys = ARRAY(SELECT key FROM unnest(removed_keys) AS key WHERE key <> ALL (mentioning.keys))
FROM mentioning
WHERE vault_runs.namespace = $1 AND vault_runs.vault_run_id = mentioning.vault_run_id;

-- name: forget_snapshot_items
-- What snapshots hold of the entities $2, or have open of the facts $3: the next one tells it anew.
DELETE FROM snapshot_items AS item
WHERE namespace = $1 AND (entity_key = ANY ($2) OR EXISTS (
    SELECT FROM jsonb_each(item.facts) AS open WHERE open.value ->> 0 = ANY ($3::text[])));

-- name: forget_snapshot_items_said
-- What snapshots hold of entities that one of the observations $2, made of a snapshot, describes: the next one tells it anew.
DELETE FROM snapshot_items AS item
USING observations AS said
JOIN entity_evidence AS evidence USING (namespace, observation_id)
WHERE said.namespace = $1 AND said.observation_id = ANY ($2) AND said.kind = $3 AND evidence.described
  AND item.namespace = $1 AND item.entity_key = evidence.natural_key;

-- name: forget_snapshot_facts
-- Which snapshots asserted the facts $2.
DELETE FROM snapshot_facts WHERE namespace = $1 AND fact_id = ANY ($2);

-- name: forget_cursors
-- How far passes of curation have come, where that is told by one of the entities and ids $2: they begin anew.
DELETE FROM curation_cursors
WHERE namespace = $1 AND EXISTS (SELECT FROM unnest($2::text[]) AS key WHERE position(key IN curation_cursors.position) > 0);

-- name: delete_traces_mentioning
-- Traces and packs in which one of the words $2, in bytes, stands anywhere. Returns them.
DELETE FROM context_traces AS trace
WHERE namespace = $1 AND EXISTS (
    SELECT FROM unnest($2::bytea[]) AS word
    WHERE position(word IN trace.request) > 0 OR position(word IN trace.trace) > 0 OR position(word IN trace.pack) > 0
      OR position(word IN trace.known) > 0)
RETURNING trace_id;

-- name: forget_authors
-- That settings of any version let messages of the people $2 be evidence.
UPDATE namespace_settings
SET settings = jsonb_set(
    settings::jsonb, ARRAY['capture_authors'], (settings::jsonb -> 'capture_authors') - $2::text[])::json
WHERE namespace = $1 AND settings::jsonb -> 'capture_authors' ?| $2::text[];

-- name: forget_source
-- What operators said of the system $2, of its stream $3 where it is not empty. One that takes no observations goes on so.
WITH active AS (
    DELETE FROM sources WHERE namespace = $1 AND system = $2 AND ($3 = '' OR stream = $3) AND state = 1
)
UPDATE sources SET description = '', reason = ''
WHERE namespace = $1 AND system = $2 AND ($3 = '' OR stream = $3) AND state <> 1;

-- name: bury
-- Keeps the stored observations $2 out from now on, whatever comes under their ids; or ($3) the same content only. What is kept out
-- wholly stays so.
INSERT INTO tombstones AS tombstone (namespace, observation_id, content_hash)
SELECT namespace, observation_id, CASE WHEN $3::boolean THEN content_hash ELSE '' END
FROM observations
WHERE namespace = $1 AND observation_id = ANY ($2)
ON CONFLICT (namespace, observation_id) DO UPDATE
SET content_hash = excluded.content_hash, erased_at = excluded.erased_at
WHERE tombstone.content_hash <> '';

-- name: buried
-- Which of the (namespace, id, content hash) given are kept out, and since when.
SELECT given.namespace, given.observation_id, tombstone.erased_at
FROM unnest($1::text[], $2::text[], $3::text[]) AS given (namespace, observation_id, content_hash)
JOIN tombstones AS tombstone
    ON tombstone.namespace = given.namespace AND tombstone.observation_id = given.observation_id
WHERE tombstone.content_hash IN ('', given.content_hash);
