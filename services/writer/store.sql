-- The writer's statements. Sets of rows come as one array per column, in sorted key order (text compares by bytes, as
-- COLLATE "C" does), so that writers who meet lock in one order and never wait for each other in a circle. Wide rows come
-- as one JSON array of objects: many arrays of few values each cost more to send and to read than the rows to write.
-- A column of lists comes as array literals in text.

-- name: lock_namespaces
-- Shared, or exclusive, till the end of the transaction.
SELECT CASE WHEN wanted.exclusive THEN pg_advisory_xact_lock(wanted.key)::text
            ELSE pg_advisory_xact_lock_shared(wanted.key)::text END
FROM unnest($1::bigint[], $2::boolean[]) AS wanted (key, exclusive);

-- name: lock_for_writing
-- Locks a namespace till the end of the transaction, and says what a writer must know of it.
SELECT settings_version, has_statements, has_marks FROM lock_for_writing($1, $2, $3, $4);

-- fragment: observation_columns
        namespace, observation_id, content_hash, source_system, source_stream, external_id, revision, kind, occurred_at,
        actor_key, subject_key, scopes, restricting, applies, content, data, message, trace_id, status, failures, private_to,
        denied

-- fragment: observation_values
-- The columns of `given`.
           namespace, observation_id, content_hash, source_system, source_stream, external_id, revision, kind, occurred_at,
           actor_key, subject_key, scopes, restricting, applies, content, data::json, message,
           trace_id, status, failures::jsonb, private_to, denied

-- fragment: observation_types
        namespace text, observation_id text, content_hash text, source_system text, source_stream text,
        external_id text, revision text, kind text, occurred_at timestamptz, actor_key text, subject_key text,
        scopes text[], restricting text[], applies text[], content text, data text, message bytea,
        trace_id text, status smallint, failures text, private_to text, denied integer[]

-- name: claim_observations
-- Stores those that are not stored yet. Waits for whoever is storing one of them right now.
INSERT INTO observations (
{observation_columns})
SELECT
{observation_values}
FROM json_to_recordset($1::json) AS given (
{observation_types})
ON CONFLICT (namespace, observation_id) DO NOTHING
RETURNING namespace, observation_id, recorded_at;

-- name: lock_and_claim
-- The two before at once, in one round trip, for a namespace whose settings are of version $5: where it can be written without
-- a further look. The lock is taken before any row is, and what is claimed then is seen whatever the statement's snapshot.
WITH state AS MATERIALIZED (
    SELECT settings_version, has_statements, has_marks FROM lock_for_writing($1, $2, $3, $4)
), claimed AS (
    INSERT INTO observations (
{observation_columns})
    SELECT
{observation_values}
    FROM state, json_to_recordset($6::json) AS given (
{observation_types})
    WHERE state.settings_version = $5 AND NOT state.has_statements AND NOT state.has_marks
    ON CONFLICT (namespace, observation_id) DO NOTHING
    RETURNING observation_id, recorded_at
)
SELECT state.settings_version, state.has_statements, state.has_marks, claimed.observation_id, claimed.recorded_at
FROM state LEFT JOIN claimed ON true;

-- name: stored_observations
-- What is known of observations that are stored.
SELECT namespace, observation_id, content_hash, status, failures, recorded_at
FROM observations JOIN unnest($1::text[], $2::text[]) AS given (namespace, observation_id)
    USING (namespace, observation_id);

-- name: lock_observations
-- The messages and outcomes of observations, locked.
SELECT observations.namespace, observations.observation_id, observations.message, observations.status,
       observations.failures
FROM observations JOIN unnest($1::text[], $2::text[]) AS given (namespace, observation_id)
    USING (namespace, observation_id)
ORDER BY namespace COLLATE "C", observation_id COLLATE "C"
FOR UPDATE OF observations;

-- name: update_outcomes
-- Statuses and failures of observations.
UPDATE observations
SET status = given.status, failures = given.failures::jsonb
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) AS given (namespace, observation_id, status, failures)
WHERE observations.namespace = given.namespace AND observations.observation_id = given.observation_id;

-- fragment: entity_columns
        namespace, natural_key, kind, title, aliases, source_path, source_id, url, author, source_created_at,
        source_updated_at, confidence, importance, last_seen_at, attributes, status, expires_at, scopes, provenance,
        pii_categories, placeholder, stamps, restricting, applies

-- fragment: entity_values
-- The columns of `given`.
        namespace, natural_key, kind, title, aliases, source_path, source_id, url, author, source_created_at,
        source_updated_at, confidence, importance, last_seen_at, attributes::jsonb, status, expires_at, scopes,
        provenance, pii_categories, placeholder, stamps::jsonb, restricting, applies

-- fragment: entity_types
    namespace text, natural_key text, kind text, title text, aliases text[], source_path text,
    source_id text, url text, author text, source_created_at timestamptz, source_updated_at timestamptz,
    confidence double precision, importance smallint, last_seen_at timestamptz, attributes text,
    status smallint, expires_at timestamptz, scopes text[], provenance bytea, pii_categories text[],
    placeholder boolean, stamps text, restricting text[], applies text[]

-- fragment: entity_evidence_columns
namespace, natural_key, observation_id, occurred_at, described, restricting

-- fragment: entity_evidence_types
    namespace text, natural_key text, observation_id text, occurred_at timestamptz, described boolean,
    restricting text[]

-- name: insert_entities
-- Those that are not there yet, and who wrote or named any of them; the others as whole rows, locked in the order of the keys.
-- Waits for whoever is inserting one of them right now: what another has inserted meanwhile is neither new nor found.
WITH evidence AS (
    INSERT INTO entity_evidence ({entity_evidence_columns})
    SELECT * FROM json_to_recordset($1::json) AS given (
{entity_evidence_types})
    ON CONFLICT DO NOTHING
), given AS MATERIALIZED (
    SELECT * FROM json_to_recordset($2::json) AS given (
{entity_types})
), inserted AS (
    INSERT INTO entities (
{entity_columns})
    SELECT
{entity_values}
    FROM given
    ON CONFLICT (namespace, natural_key) DO NOTHING
    RETURNING namespace, natural_key
), wanted AS (
    SELECT given.namespace, given.natural_key, inserted.natural_key IS NOT NULL AS is_new
    FROM given LEFT JOIN inserted USING (namespace, natural_key)
    ORDER BY given.namespace COLLATE "C", given.natural_key COLLATE "C"
)
SELECT wanted.namespace AS wanted_namespace, wanted.natural_key AS wanted_key, wanted.is_new, stored.*
FROM wanted LEFT JOIN LATERAL (
    SELECT entities.* FROM entities
    WHERE NOT wanted.is_new AND entities.namespace = wanted.namespace AND entities.natural_key = wanted.natural_key
    FOR UPDATE
) AS stored ON true;

-- name: lock_entities
-- Whole rows, locked.
SELECT entities.*
FROM entities JOIN unnest($1::text[], $2::text[]) AS given (namespace, natural_key) USING (namespace, natural_key)
ORDER BY namespace COLLATE "C", natural_key COLLATE "C"
FOR UPDATE OF entities;

-- name: update_entities
-- What assertions decide; the rest stays.
UPDATE entities
SET kind = given.kind, title = given.title, aliases = given.aliases, source_path = given.source_path,
    source_id = given.source_id, url = given.url, author = given.author, source_created_at = given.source_created_at,
    source_updated_at = given.source_updated_at, confidence = given.confidence, importance = given.importance,
    last_seen_at = given.last_seen_at, attributes = given.attributes::jsonb, status = given.status,
    expires_at = given.expires_at, scopes = given.scopes, restricting = given.restricting,
    applies = given.applies, provenance = given.provenance, pii_categories = given.pii_categories,
    placeholder = given.placeholder, stamps = given.stamps::jsonb
FROM json_to_recordset($1::json) AS given (
{entity_types})
WHERE entities.namespace = given.namespace AND entities.natural_key = given.natural_key;

-- name: see_entities
-- When entities were last seen.
UPDATE entities
SET last_seen_at = given.last_seen_at
FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS given (namespace, natural_key, last_seen_at)
WHERE entities.namespace = given.namespace AND entities.natural_key = given.natural_key;

-- fragment: fact_columns
    namespace, fact_id, subject_key, predicate, object_type, object_text, object_key, object, valid_from,
    asserted_valid_to, valid_to, closure, supersedes, superseded_by, observed_at, evidence, confidence, importance,
    source_path, scopes, attributes, expires_at, sentence, stamps, evidence_lost, restricting, applies

-- fragment: fact_values
-- The columns of `given`.
       namespace, fact_id, subject_key, predicate, object_type, object_text, object_key, object, valid_from,
       asserted_valid_to, valid_to, closure, supersedes, superseded_by, observed_at, evidence,
       confidence, importance, source_path, scopes, attributes::jsonb, expires_at, sentence, stamps::jsonb,
       evidence_lost, restricting, applies

-- fragment: fact_types
    namespace text, fact_id text, subject_key text, predicate text, object_type text, object_text text,
    object_key text, object bytea, valid_from timestamptz, asserted_valid_to timestamptz,
    valid_to timestamptz, closure smallint, supersedes text[], superseded_by text[],
    observed_at timestamptz, evidence smallint, confidence double precision, importance smallint,
    source_path text, scopes text[], attributes text, expires_at timestamptz, sentence text, stamps text,
    evidence_lost boolean, restricting text[], applies text[]

-- name: insert_facts
-- Those that are not there yet. Waits for whoever is inserting one of them right now.
INSERT INTO facts (
{fact_columns})
SELECT
{fact_values}
FROM json_to_recordset($1::json) AS given (
{fact_types})
ON CONFLICT (namespace, fact_id) DO NOTHING
RETURNING namespace, fact_id;

-- name: lock_facts
-- Whole rows, locked, and whether something else than their own labels hides them.
SELECT facts.*, (
    SELECT true FROM passages AS p
    WHERE p.namespace = facts.namespace AND p.kind = 2 AND p.owner_key = facts.fact_id AND p.restricting[1] = '&'
    LIMIT 1) IS NOT NULL AS is_hidden_otherwise
FROM facts JOIN unnest($1::text[], $2::text[]) AS given (namespace, fact_id) USING (namespace, fact_id)
ORDER BY namespace COLLATE "C", fact_id COLLATE "C"
FOR UPDATE OF facts;

-- name: update_facts
-- What evidence decides, and what is derived; the identity stays.
UPDATE facts
SET object = given.object, asserted_valid_to = given.asserted_valid_to, valid_to = given.valid_to,
    closure = given.closure, supersedes = given.supersedes, superseded_by = given.superseded_by,
    observed_at = given.observed_at, evidence = given.evidence, confidence = given.confidence,
    importance = given.importance, source_path = given.source_path, scopes = given.scopes,
    restricting = given.restricting, applies = given.applies, attributes = given.attributes::jsonb,
    evidence_lost = given.evidence_lost, expires_at = given.expires_at, sentence = given.sentence,
    stamps = given.stamps::jsonb
FROM json_to_recordset($1::json) AS given (
{fact_types})
WHERE facts.namespace = given.namespace AND facts.fact_id = given.fact_id;

-- name: insert_fact_evidence
-- Observations that facts rest on.
INSERT INTO fact_evidence (namespace, fact_id, observation_id, occurred_at, evidence, confidence)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::smallint[], $6::double precision[])
ON CONFLICT DO NOTHING;

-- name: insert_supersessions
-- Statements that one fact takes the place of another.
INSERT INTO fact_supersessions (
    namespace, old_fact_id, new_fact_id, observation_id, assertion_index, occurred_at, correction, reason)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::boolean[], $8::text[])
ON CONFLICT DO NOTHING;

-- name: insert_retractions
-- Statements that facts ended.
INSERT INTO fact_retractions (namespace, fact_id, observation_id, valid_to, occurred_at, reason, closure)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::text[], $7::smallint[])
ON CONFLICT DO NOTHING;

-- name: supersessions_around
-- All statements that are joined with the facts by any number of statements.
WITH RECURSIVE component (namespace, fact_id) AS (
    SELECT * FROM unnest($1::text[], $2::text[])
    UNION
    SELECT component.namespace, neighbour.fact_id
    FROM component
    CROSS JOIN LATERAL (
        SELECT statement.new_fact_id AS fact_id
        FROM fact_supersessions AS statement
        WHERE statement.namespace = component.namespace AND statement.old_fact_id = component.fact_id
        UNION ALL
        SELECT statement.old_fact_id
        FROM fact_supersessions AS statement
        WHERE statement.namespace = component.namespace AND statement.new_fact_id = component.fact_id
    ) AS neighbour
)
SELECT statement.namespace, statement.old_fact_id, statement.new_fact_id, statement.observation_id,
       statement.assertion_index, statement.occurred_at, statement.correction, statement.refused, statement.reason
FROM component JOIN fact_supersessions AS statement
    ON statement.namespace = component.namespace AND statement.old_fact_id = component.fact_id;

-- name: retractions_of
-- Statements that the facts ended.
SELECT namespace, fact_id, observation_id, valid_to, occurred_at, reason, closure
FROM fact_retractions JOIN unnest($1::text[], $2::text[]) AS given (namespace, fact_id) USING (namespace, fact_id);

-- name: update_refusals
-- Whether statements of supersession are refused.
UPDATE fact_supersessions AS statement
SET refused = given.refused
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[])
    AS given (namespace, old_fact_id, new_fact_id, observation_id, refused)
WHERE statement.namespace = given.namespace AND statement.old_fact_id = given.old_fact_id
  AND statement.new_fact_id = given.new_fact_id AND statement.observation_id = given.observation_id;

-- fragment: document_columns
    namespace, entity_key, body, media_type, meta, content_hash, occurred_at, observation_id, assertion_index

-- fragment: document_values
-- The columns of `given`.
    namespace, entity_key, body, media_type, meta::jsonb, content_hash, occurred_at, observation_id, assertion_index

-- fragment: document_types
    namespace text, entity_key text, body text, media_type text, meta text, content_hash text,
    occurred_at timestamptz, observation_id text, assertion_index integer

-- name: upsert_documents
-- The text with the greatest stamp stays. Returns the entities whose text was taken.
INSERT INTO documents (
{document_columns})
SELECT
{document_values}
FROM json_to_recordset($1::json) AS given (
{document_types})
ON CONFLICT (namespace, entity_key) DO UPDATE
SET body = excluded.body, media_type = excluded.media_type, meta = excluded.meta, content_hash = excluded.content_hash,
    occurred_at = excluded.occurred_at, observation_id = excluded.observation_id,
    assertion_index = excluded.assertion_index, recorded_at = clock_timestamp()
WHERE (documents.occurred_at, documents.observation_id COLLATE "C", documents.assertion_index)
    < (excluded.occurred_at, excluded.observation_id COLLATE "C", excluded.assertion_index)
RETURNING namespace, entity_key;

-- name: upsert_claims
-- Links that wait. The merge is free of order: the greatest weight, the least hint, all observations.
INSERT INTO link_claims AS claim (
    namespace, source_key, relation, target_kind, target_ref, source_hint, weight, observation_ids)
SELECT namespace, source_key, relation, target_kind, target_ref, source_hint, weight, observation_ids::text[]
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::double precision[], $8::text[])
    AS given (namespace, source_key, relation, target_kind, target_ref, source_hint, weight, observation_ids)
ON CONFLICT (namespace, source_key, relation, target_kind, target_ref) DO UPDATE
SET source_hint = coalesce(
        least(nullif(claim.source_hint, '') COLLATE "C", nullif(excluded.source_hint, '') COLLATE "C"), ''),
    weight = greatest(claim.weight, excluded.weight),
    observation_ids = ARRAY(
        SELECT DISTINCT observation_id COLLATE "C" AS observation_id
        FROM unnest(claim.observation_ids || excluded.observation_ids) AS observation_id
        ORDER BY observation_id)
RETURNING claim.namespace, claim.source_key, claim.relation, claim.target_kind, claim.target_ref, claim.weight,
          claim.observation_ids, claim.target_key;

-- name: lock_claims
-- Claims whose best target may have changed, locked: those of a kind and reference that an entity took or left, and those
-- whose hinted source has spoken of the entity for the first time, in one of the observations $6. These are locked even
-- where the entity has no rival: one may be arriving, and has to wait for the evidence.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[])
        AS given (namespace, natural_key, kind, source_id, changed)
), wanted AS MATERIALIZED (
    SELECT namespace, kind, source_id, NULL AS source_hint FROM given WHERE changed
    UNION
    SELECT given.namespace, given.kind, given.source_id, said.source_system
    FROM given
    JOIN entity_evidence AS evidence USING (namespace, natural_key)
    JOIN observations AS said USING (namespace, observation_id)
    WHERE NOT given.changed AND evidence.observation_id = ANY ($6::text[]) AND NOT EXISTS (
        SELECT FROM entity_evidence AS former JOIN observations AS earlier USING (namespace, observation_id)
        WHERE former.namespace = given.namespace AND former.natural_key = given.natural_key
          AND former.observation_id <> ALL ($6::text[]) AND earlier.source_system = said.source_system)
)
SELECT claim.namespace, claim.source_key, claim.relation, claim.target_kind, claim.target_ref, claim.weight,
       claim.observation_ids, claim.target_key
FROM link_claims AS claim
WHERE EXISTS (
    SELECT FROM wanted
    WHERE claim.namespace = wanted.namespace AND claim.target_kind = wanted.kind AND claim.target_ref = wanted.source_id
      AND (wanted.source_hint IS NULL OR claim.source_hint = wanted.source_hint))
ORDER BY claim.namespace COLLATE "C", claim.source_key COLLATE "C", claim.relation COLLATE "C",
         claim.target_kind COLLATE "C", claim.target_ref COLLATE "C"
FOR UPDATE OF claim;

-- name: claim_targets
-- The best target of each claim, NULL where none is there: one that the hinted source has spoken of, then the least key;
-- where nothing has the reference as its `source_id`, the one that curation found.
SELECT claim.namespace, claim.source_key, claim.relation, claim.target_kind, claim.target_ref, coalesce((
    SELECT entities.natural_key
    FROM entities
    WHERE entities.namespace = claim.namespace AND entities.kind = claim.target_kind
      AND entities.source_id = claim.target_ref AND entities.source_id <> ''
    ORDER BY (claim.source_hint <> '' AND EXISTS (
            SELECT FROM entity_evidence AS evidence JOIN observations USING (namespace, observation_id)
            WHERE evidence.namespace = entities.namespace AND evidence.natural_key = entities.natural_key
              AND observations.source_system = claim.source_hint)) DESC,
        entities.natural_key COLLATE "C"
    LIMIT 1), claim.curated_target) AS target_key
FROM link_claims AS claim
JOIN unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS given (namespace, source_key, relation, target_kind, target_ref)
    USING (namespace, source_key, relation, target_kind, target_ref);

-- name: update_claims
-- The targets of claims.
UPDATE link_claims AS claim
SET target_key = given.target_key
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS given (namespace, source_key, relation, target_kind, target_ref, target_key)
WHERE claim.namespace = given.namespace AND claim.source_key = given.source_key AND claim.relation = given.relation
  AND claim.target_kind = given.target_kind AND claim.target_ref = given.target_ref;

-- fragment: link_evidence_columns
namespace, source_key, relation, target_key, observation_id, claimed, weight

-- fragment: link_evidence_types
    namespace text, source_key text, relation text, target_key text, observation_id text, claimed boolean,
    weight double precision

-- fragment: greater_weight_of_evidence
    ON CONFLICT (namespace, source_key, relation, target_key, observation_id, claimed) DO UPDATE
    SET weight = excluded.weight
    WHERE link_evidence.weight < excluded.weight

-- fragment: link_types
    namespace text, source_key text, relation text, target_key text, weight double precision

-- fragment: greater_weight
-- Of a link that is there; one that curation drew becomes the source's.
ON CONFLICT (namespace, source_key, relation, target_key) DO UPDATE
SET weight = CASE WHEN links.origin = 1 THEN greatest(links.weight, excluded.weight) ELSE excluded.weight END, origin = 1
WHERE links.weight < excluded.weight OR links.origin <> 1

-- name: upsert_links
-- Links with the greatest weight of their evidence, and the evidence. A link that is there is locked, whether its weight changes or not; one
-- that curation drew becomes the source's.
WITH evidence AS (
    INSERT INTO link_evidence ({link_evidence_columns})
    SELECT * FROM json_to_recordset($1::json) AS given (
{link_evidence_types})
{greater_weight_of_evidence}
)
INSERT INTO links (namespace, source_key, relation, target_key, weight)
SELECT * FROM json_to_recordset($2::json) AS given (
{link_types})
{greater_weight};

-- name: delete_link_evidence
-- Evidence of links that a claim no longer leads to.
DELETE FROM link_evidence
USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[])
    AS given (namespace, source_key, relation, target_key, observation_id, claimed)
WHERE link_evidence.namespace = given.namespace AND link_evidence.source_key = given.source_key
  AND link_evidence.relation = given.relation AND link_evidence.target_key = given.target_key
  AND link_evidence.observation_id = given.observation_id AND link_evidence.claimed = given.claimed;

-- name: lock_links
-- Links, locked, so that what is then read of their evidence is complete.
SELECT FROM links
JOIN unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS given (namespace, source_key, relation, target_key)
    USING (namespace, source_key, relation, target_key)
ORDER BY namespace COLLATE "C", source_key COLLATE "C", relation COLLATE "C", target_key COLLATE "C"
FOR UPDATE OF links;

-- name: settle_links
-- Deletes links without evidence, and gives the others the greatest weight of theirs.
WITH left_over AS (
    SELECT given.*, (
        SELECT max(evidence.weight)
        FROM link_evidence AS evidence
        WHERE evidence.namespace = given.namespace AND evidence.source_key = given.source_key
          AND evidence.relation = given.relation AND evidence.target_key = given.target_key) AS weight
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS given (namespace, source_key, relation, target_key)
), deleted AS (
    DELETE FROM links USING left_over
    WHERE links.namespace = left_over.namespace AND links.source_key = left_over.source_key
      AND links.relation = left_over.relation AND links.target_key = left_over.target_key AND left_over.weight IS NULL
)
UPDATE links
SET weight = left_over.weight
FROM left_over
WHERE links.namespace = left_over.namespace AND links.source_key = left_over.source_key
  AND links.relation = left_over.relation AND links.target_key = left_over.target_key
  AND links.weight <> left_over.weight;
