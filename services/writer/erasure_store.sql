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
SELECT fact_id FROM fact_retractions WHERE namespace = $1 AND observation_id = ANY ($2)
UNION
SELECT item FROM struck_evidence WHERE namespace = $1 AND observation_id = ANY ($2);

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

-- name: keep_struck_evidence
-- Keeps which facts and entities rested on the observations.
INSERT INTO struck_evidence (namespace, item, observation_id)
SELECT namespace, fact_id, observation_id FROM fact_evidence WHERE namespace = $1 AND observation_id = ANY ($2)
UNION ALL
SELECT namespace, encode(sha256(convert_to(natural_key, 'UTF8')), 'hex'), observation_id
FROM entity_evidence WHERE namespace = $1 AND observation_id = ANY ($2)
ON CONFLICT DO NOTHING;

-- name: delete_struck_evidence
-- That anything rested on the observations before these were redacted.
DELETE FROM struck_evidence WHERE namespace = $1 AND observation_id = ANY ($2);

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
-- Takes the observations out of the links that wait, or have waited, for their target. Returns these links.
UPDATE link_claims
SET observation_ids = ARRAY(
    SELECT one FROM unnest(observation_ids) AS one WHERE one <> ALL ($2::text[]) ORDER BY one COLLATE "C")
WHERE namespace = $1 AND observation_ids && $2::text[]
RETURNING namespace, source_key, relation, target_kind, target_ref, weight, observation_ids, target_key;

-- name: restate_claims
-- What is left of links that wait, as the rest of their observations says it.
UPDATE link_claims AS claim
SET source_hint = given.source_hint, weight = given.weight
FROM json_to_recordset($1::json) AS given (
    namespace text, source_key text, relation text, target_kind text, target_ref text, source_hint text,
    weight double precision, observation_ids text[])
WHERE claim.namespace = given.namespace AND claim.source_key = given.source_key AND claim.relation = given.relation
  AND claim.target_kind = given.target_kind AND claim.target_ref = given.target_ref;

-- name: delete_empty_claims
-- Links that wait, and that nobody claims any more.
DELETE FROM link_claims WHERE namespace = $1 AND observation_ids = '{}';

-- name: delete_documents
-- Texts that came from the observations.
DELETE FROM documents WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: delete_guards
-- Which roles the observations said may change something.
DELETE FROM write_guards WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: delete_records
-- Passages of records that came from the observations. Returns whose they were.
DELETE FROM passages WHERE namespace = $1 AND kind = 4 AND observation_id = ANY ($2) RETURNING owner_key;

-- name: delete_observations
-- The observations themselves.
DELETE FROM observations WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: empty_observations
-- What is left of the observations $2: their identities. $3 the messages that stand for them.
UPDATE observations
SET content = '', data = NULL, message = given.message, status = 5, failures = '[]', redacted_at = clock_timestamp()
FROM unnest($2::text[], $3::bytea[]) AS given (observation_id, message)
WHERE observations.namespace = $1 AND observations.observation_id = given.observation_id;

-- name: lose_facts_without_evidence
-- Leaves of facts that nothing asserts any more their identity alone, for the audit. Returns them.
UPDATE facts
SET evidence_lost = true, asserted_valid_to = NULL, valid_to = NULL, closure = 0, supersedes = '{}',
    superseded_by = '{}', observed_at = '0001-01-01 00:00:00+00', evidence = 0, confidence = 0, importance = 0,
    source_path = '', scopes = '{}', restricting = '{}', applies = '{}', attributes = '{}', expires_at = NULL,
    stamps = '{}'
WHERE namespace = $1 AND fact_id = ANY ($2) AND NOT EXISTS (
    SELECT FROM fact_evidence AS evidence WHERE evidence.namespace = $1 AND evidence.fact_id = facts.fact_id)
RETURNING fact_id;

-- name: forget_entity_versions
-- Former states that hold what the observations $3 said of the entities $2.
DELETE FROM entity_versions AS version
WHERE version.namespace = $1 AND version.natural_key = ANY ($2) AND EXISTS (
    SELECT FROM jsonb_each(version.state -> 'stamps') AS stamp WHERE stamp.value ->> 1 = ANY ($3::text[]));

-- name: forget_fact_versions
-- Former states that hold what the observations $3 said of the facts $2.
DELETE FROM fact_versions AS version
WHERE version.namespace = $1 AND version.fact_id = ANY ($2) AND EXISTS (
    SELECT FROM jsonb_each(version.state -> 'stamps') AS stamp WHERE stamp.value ->> 1 = ANY ($3::text[]));

-- name: forget_link_versions
-- Former states of links that are gone: their keys alone may tell what was said.
DELETE FROM link_versions AS version
USING unnest($2::text[], $3::text[], $4::text[]) AS given (source_key, relation, target_key)
WHERE version.namespace = $1 AND version.source_key = given.source_key AND version.relation = given.relation
  AND version.target_key = given.target_key AND NOT EXISTS (
    SELECT FROM links
    WHERE links.namespace = $1 AND links.source_key = given.source_key AND links.relation = given.relation
      AND links.target_key = given.target_key);

-- name: forget_link_versions_of
-- Former states of links at the entities $2, which are gone.
DELETE FROM link_versions WHERE namespace = $1 AND (source_key = ANY ($2) OR target_key = ANY ($2));

-- name: texts_of
-- Passages that came from the observations, or are of the facts $3 or the entities $4: kind, and whether it waits for its
-- vector.
SELECT passages.passage_id, passages.kind, passages.observation_id = ANY ($2) IS TRUE AS is_theirs,
    (EXISTS (SELECT FROM embedding_queue AS waiting
             WHERE waiting.namespace = $1 AND waiting.passage_id = passages.passage_id)
        OR EXISTS (SELECT FROM embedding_backlog AS waiting
                   WHERE waiting.namespace = $1 AND waiting.passage_id = passages.passage_id)) AS is_queued
FROM passages
WHERE passages.namespace = $1 AND (
    (passages.kind = 2 AND passages.owner_key = ANY ($3)) OR (passages.kind IN (1, 3, 4) AND passages.owner_key = ANY ($4)));

-- name: with_vectors
-- Those of the passages that have a vector in a space.
SELECT passage_id FROM {vectors} WHERE namespace = $1 AND passage_id = ANY ($2);

-- name: redaction_moment
-- When an observation was redacted.
SELECT redacted_at FROM observations WHERE namespace = $1 AND observation_id = $2;

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
-- Those of the facts that nothing asserts any more, nor did before it was redacted. Returns them.
DELETE FROM facts
WHERE namespace = $1 AND fact_id = ANY ($2) AND NOT EXISTS (
    SELECT FROM fact_evidence AS evidence WHERE evidence.namespace = $1 AND evidence.fact_id = facts.fact_id)
  AND NOT EXISTS (
    SELECT FROM struck_evidence AS struck WHERE struck.namespace = $1 AND struck.item = facts.fact_id)
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

-- name: inherit_labels
-- The labels of entities that were given none, by what still names them: none where it does so openly, else all of theirs.
UPDATE entities
SET restricting = said.labels
FROM (
    SELECT given.natural_key, CASE
        WHEN EXISTS (
            SELECT FROM entity_evidence AS evidence
            WHERE evidence.namespace = $1 AND evidence.natural_key = given.natural_key AND evidence.restricting IS NULL)
        THEN '{}'::text[]
        ELSE ARRAY(
            SELECT DISTINCT label COLLATE "C"
            FROM entity_evidence AS evidence CROSS JOIN unnest(evidence.restricting) AS label
            WHERE evidence.namespace = $1 AND evidence.natural_key = given.natural_key
            ORDER BY 1)
        END AS labels
    FROM unnest($2::text[]) AS given (natural_key)
) AS said
WHERE entities.namespace = $1 AND entities.natural_key = said.natural_key
  AND NOT entities.stamps ? 'scopes' AND entities.restricting <> said.labels;

-- name: observations_naming
-- Observations that say something of one of the entities $2 or assert one of the facts $3, and the observations $4, whole.
SELECT observation.*
FROM observations AS observation
WHERE observation.namespace = $1 AND observation.observation_id IN (
    SELECT evidence.observation_id FROM entity_evidence AS evidence
    WHERE evidence.namespace = $1 AND evidence.natural_key = ANY ($2) AND evidence.described
    UNION
    SELECT evidence.observation_id FROM fact_evidence AS evidence
    WHERE evidence.namespace = $1 AND evidence.fact_id = ANY ($3)
    UNION ALL
    SELECT unnest($4::text[]));

-- name: hold_traces
-- Keeps compilations from leaving traces, till the end of the transaction.
SELECT pg_advisory_xact_lock(trace_lock($1))::text;

-- name: delete_traces
-- Traces of context compilation, and their packs, that hold or name one of the observations, entities and facts.
DELETE FROM context_traces WHERE namespace = $1 AND item_keys && $2::text[]
RETURNING trace_id;

-- name: unqueue
-- The observations wait for extraction no more. Returns those that did.
DELETE FROM extraction_queue WHERE namespace = $1 AND observation_id = ANY ($2) RETURNING observation_id;

-- name: changed_entities
-- Those of the entities that this transaction changed.
SELECT natural_key FROM entities WHERE namespace = $1 AND natural_key = ANY ($2) AND change_id = current_change_id();

-- name: changed_facts
-- Those of the facts that this transaction changed.
SELECT fact_id FROM facts WHERE namespace = $1 AND fact_id = ANY ($2) AND change_id = current_change_id();

-- name: insert_receipt
-- Keeps a receipt. One of the same id stays as it was.
INSERT INTO erasure_receipts (namespace, receipt_id, erased_at, counts, actor, reason, audit_hash)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING;

-- name: get_receipt
-- A receipt that was kept.
SELECT receipt_id, erased_at, counts, actor, reason, audit_hash
FROM erasure_receipts
WHERE namespace = $1 AND receipt_id = $2;

-- name: reasons
-- Receipts with a reason.
SELECT receipt_id, reason FROM erasure_receipts WHERE namespace = $1 AND reason <> '';

-- name: forget_reasons
-- Why the erasures were asked for whose receipts are $2.
UPDATE erasure_receipts SET reason = '' WHERE namespace = $1 AND receipt_id = ANY ($2) AND reason <> '';
