-- What operators' marks, deleted sources and vaults mean to the rows of the items concerned. Sets of rows come as one array per
-- column, sorted by key.

-- name: concerns
-- Whether anything in the namespaces can hide or archive an item, or makes one a vault's.
SELECT EXISTS (SELECT FROM item_marks WHERE namespace = ANY ($1))
    OR EXISTS (SELECT FROM obsolete_marks WHERE namespace = ANY ($1))
    OR EXISTS (SELECT FROM sources WHERE namespace = ANY ($1) AND state = 3)
    OR EXISTS (SELECT FROM vault_observations WHERE namespace = ANY ($1));

-- name: settle_entities
-- An entity is withdrawn where it was deleted, or all that names it came from deleted sources; it is a vault's where it has a
-- text of one, or nothing else names it. Returns those that changed in what passages repeat.
WITH wanted AS MATERIALIZED (
    SELECT entity.namespace, entity.natural_key, mark.archived, obsolete.marked_at AS obsolete_at,
        mark.deleted_at IS NOT NULL OR NOT EXISTS (
            SELECT FROM entity_evidence AS evidence JOIN observations AS said USING (namespace, observation_id)
            WHERE evidence.namespace = entity.namespace AND evidence.natural_key = entity.natural_key
              AND NOT said.withdrawn) AS withdrawn,
        CASE WHEN EXISTS (
                SELECT FROM vault_observations AS met
                WHERE met.namespace = entity.namespace AND met.entity_key = entity.natural_key)
            OR NOT EXISTS (
                SELECT FROM entity_evidence AS evidence
                WHERE evidence.namespace = entity.namespace AND evidence.natural_key = entity.natural_key
                  AND NOT EXISTS (
                    SELECT FROM vault_observations AS met
                    WHERE met.namespace = evidence.namespace AND met.observation_id = evidence.observation_id))
            THEN 1 ELSE 2 END AS origin
    FROM unnest($1::text[], $2::text[]) AS given (namespace, natural_key)
    JOIN entities AS entity USING (namespace, natural_key)
    LEFT JOIN item_marks AS mark
        ON mark.namespace = entity.namespace AND mark.kind = 3 AND mark.item_key = entity.natural_key
    LEFT JOIN obsolete_marks AS obsolete
        ON obsolete.namespace = entity.namespace AND obsolete.kind = 3 AND obsolete.item_key = entity.natural_key
), changed AS (
    SELECT wanted.*, (entity.withdrawn, entity.archived, entity.obsolete_at)
        IS DISTINCT FROM (wanted.withdrawn, wanted.archived, wanted.obsolete_at) AS shows
    FROM wanted JOIN entities AS entity USING (namespace, natural_key)
    WHERE (entity.withdrawn, entity.archived, entity.obsolete_at, entity.origin)
        IS DISTINCT FROM (wanted.withdrawn, wanted.archived, wanted.obsolete_at, wanted.origin)
), updated AS (
    UPDATE entities AS entity
    SET withdrawn = changed.withdrawn, archived = changed.archived, obsolete_at = changed.obsolete_at,
        origin = changed.origin
    FROM changed
    WHERE entity.namespace = changed.namespace AND entity.natural_key = changed.natural_key
)
SELECT namespace, natural_key FROM changed WHERE shows;

-- name: facts_at
-- Facts that begin or end at the entities.
SELECT fact.namespace, fact.fact_id
FROM unnest($1::text[], $2::text[]) AS given (namespace, natural_key)
JOIN facts AS fact ON fact.namespace = given.namespace AND fact.subject_key = given.natural_key
UNION
SELECT fact.namespace, fact.fact_id
FROM unnest($1::text[], $2::text[]) AS given (namespace, natural_key)
JOIN facts AS fact ON fact.namespace = given.namespace AND fact.object_key = given.natural_key;

-- name: settle_facts
-- A fact is withdrawn where it or one of its ends was deleted, or all that it rests on came from deleted sources. One whose
-- evidence is lost stays as it is. Returns those that changed.
WITH wanted AS MATERIALIZED (
    SELECT fact.namespace, fact.fact_id, mark.archived, obsolete.marked_at AS obsolete_at,
        coalesce(obsolete.reason, '') AS obsolete_reason,
        mark.deleted_at IS NOT NULL
        OR EXISTS (
            SELECT FROM entities AS one_end
            WHERE one_end.namespace = fact.namespace AND one_end.natural_key IN (fact.subject_key, fact.object_key)
              AND one_end.withdrawn)
        OR (NOT fact.evidence_lost AND NOT EXISTS (
            SELECT FROM fact_evidence AS evidence JOIN observations AS said USING (namespace, observation_id)
            WHERE evidence.namespace = fact.namespace AND evidence.fact_id = fact.fact_id
              AND NOT said.withdrawn)) AS withdrawn
    FROM unnest($1::text[], $2::text[]) AS given (namespace, fact_id)
    JOIN facts AS fact USING (namespace, fact_id)
    LEFT JOIN item_marks AS mark
        ON mark.namespace = fact.namespace AND mark.kind = 2 AND mark.item_key = fact.fact_id
    LEFT JOIN obsolete_marks AS obsolete
        ON obsolete.namespace = fact.namespace AND obsolete.kind = 2 AND obsolete.item_key = fact.fact_id
)
UPDATE facts AS fact
SET withdrawn = wanted.withdrawn, archived = wanted.archived, obsolete_at = wanted.obsolete_at,
    obsolete_reason = wanted.obsolete_reason
FROM wanted
WHERE fact.namespace = wanted.namespace AND fact.fact_id = wanted.fact_id
  AND (fact.withdrawn, fact.archived, fact.obsolete_at, fact.obsolete_reason)
    IS DISTINCT FROM (wanted.withdrawn, wanted.archived, wanted.obsolete_at, wanted.obsolete_reason)
RETURNING fact.namespace, fact.fact_id;

-- name: settle_links
-- Links of the entities that all came from deleted sources, or do so no longer.
WITH wanted AS MATERIALIZED (
    SELECT link.namespace, link.source_key, link.relation, link.target_key, NOT EXISTS (
        SELECT FROM link_evidence AS evidence JOIN observations AS said USING (namespace, observation_id)
        WHERE evidence.namespace = link.namespace AND evidence.source_key = link.source_key
          AND evidence.relation = link.relation AND evidence.target_key = link.target_key
          AND NOT said.withdrawn) AS withdrawn
    FROM unnest($1::text[], $2::text[]) AS given (namespace, natural_key)
    JOIN links AS link ON link.namespace = given.namespace AND link.source_key = given.natural_key
)
UPDATE links AS link
SET withdrawn = wanted.withdrawn
FROM wanted
WHERE link.namespace = wanted.namespace AND link.source_key = wanted.source_key AND link.relation = wanted.relation
  AND link.target_key = wanted.target_key AND link.withdrawn <> wanted.withdrawn;

-- name: settle_entity_passages
-- What the passages of marked entities, and those from deleted sources, show. Returns those that changed.
WITH wanted AS MATERIALIZED (
    SELECT passage.namespace, passage.passage_id, effective_status(entity.status, entity.archived) AS status,
        entity.withdrawn OR entity.obsolete_at IS NOT NULL OR coalesce(said.withdrawn, false)
        OR effective_status(entity.status, entity.archived) IN (4, 5)
        OR (passage.hidden AND NOT (entity.archived IS false AND entity.status = 5)) AS hidden
    FROM unnest($1::text[], $2::text[]) AS given (namespace, natural_key)
    JOIN entities AS entity USING (namespace, natural_key)
    JOIN passages AS passage
        ON passage.namespace = entity.namespace AND passage.kind IN (1, 3, 4) AND passage.owner_key = entity.natural_key
    LEFT JOIN observations AS said
        ON said.namespace = passage.namespace AND said.observation_id = passage.observation_id
    WHERE entity.withdrawn OR entity.archived IS NOT NULL OR entity.obsolete_at IS NOT NULL OR said.withdrawn
)
UPDATE passages AS passage
SET status = wanted.status, hidden = wanted.hidden
FROM wanted
WHERE passage.namespace = wanted.namespace AND passage.passage_id = wanted.passage_id
  AND (passage.status, passage.hidden) IS DISTINCT FROM (wanted.status, wanted.hidden)
RETURNING passage.namespace, passage.passage_id;

-- name: settle_fact_passages
-- The same for facts.
UPDATE passages AS passage
SET status = effective_status(fact.status, fact.archived),
    hidden = passage.hidden OR fact.withdrawn OR fact.obsolete_at IS NOT NULL OR effective_status(fact.status, fact.archived) IN (4, 5)
FROM unnest($1::text[], $2::text[]) AS given (namespace, fact_id) JOIN facts AS fact USING (namespace, fact_id)
WHERE passage.namespace = fact.namespace AND passage.kind = 2 AND passage.owner_key = fact.fact_id
  AND (fact.withdrawn OR fact.archived IS NOT NULL OR fact.obsolete_at IS NOT NULL)
  AND (passage.status, passage.hidden) IS DISTINCT FROM (
    effective_status(fact.status, fact.archived),
    passage.hidden OR fact.withdrawn OR fact.obsolete_at IS NOT NULL OR effective_status(fact.status, fact.archived) IN (4, 5))
RETURNING passage.namespace, passage.passage_id;
