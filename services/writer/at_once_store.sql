-- One statement for all that observations write which touch nothing stored but entities that they only name.
--
-- $1 is the namespace; $2 and $3 say which passages are bulk; $4 is the key of the namespace's lock, $5 the version of its
-- settings; $6 the observations, $7 the entities that are described, $8 the facts, $9 and $10 kind and source id of described
-- entities; $11 the rows of each table, in the order of the parts, sorted, as JSON, and behind them the ends of facts, as an array.
-- Parts without rows are left out.
--
-- Each part waits for the one before it, so that locks are taken in the one order. What another has written since the first look
-- ends the statement as a conflict does.

-- name: write_at_once
-- What the first look found and, where that is `new`, the observations with the moment when they were recorded. Otherwise
-- nothing was written.
WITH looked AS MATERIALIZED (
    SELECT lock_for_new_rows($1, $4, $5, $6, $7, $8, $9, $10) AS found
), claimed AS (
    INSERT INTO observations (
{observation_columns})
    SELECT
{observation_values}
    FROM looked, json_to_recordset(($11::text[])[1]::json) AS given (
{observation_types})
    WHERE looked.found = 'new'
    ON CONFLICT (namespace, observation_id) DO NOTHING
    RETURNING observation_id, recorded_at
), recorded AS MATERIALIZED (
    SELECT FROM looked WHERE looked.found = 'new' AND ((SELECT count(*) FROM claimed) = cardinality($6) OR begin_anew())
), evidence AS (
    INSERT INTO entity_evidence ({entity_evidence_columns})
    SELECT given.* FROM recorded, json_to_recordset(($11::text[])[2]::json) AS given (
{entity_evidence_types})
    ON CONFLICT DO NOTHING
), given AS MATERIALIZED (
    SELECT given.* FROM recorded, json_to_recordset(($11::text[])[3]::json) AS given (
{entity_types})
), inserted AS (
    INSERT INTO entities (
{entity_columns})
    SELECT
{entity_values}
    FROM given
    ON CONFLICT (namespace, natural_key) DO NOTHING
    RETURNING natural_key
), {named}, touched AS MATERIALIZED (
    SELECT FROM recorded
    WHERE (SELECT count(*) FROM inserted) + (SELECT count(*) FROM stored) = (SELECT count(*) FROM given) OR begin_anew()
), {facts}, {documents}, written AS (
    INSERT INTO passages (
{passage_columns})
    SELECT
{passage_values}
    FROM kept, json_to_recordset(($11::text[])[7]::json) AS given (
{passage_types})
    RETURNING namespace, passage_id, embedding_hash, observation_id
{queued_and_woken}, shown AS MATERIALIZED (
    SELECT FROM kept WHERE (SELECT count(*) FROM woken) >= 0
), {links}
SELECT looked.found, claimed.observation_id, claimed.recorded_at
FROM looked LEFT JOIN (claimed CROSS JOIN shown) ON true;

-- fragment: origins_among_rows
($11::text[])[10]::json

-- fragment: named_entities
-- Locked in the order of the keys. Of one that is there already nothing may change but the moment when it was last seen: not the
-- kind, nor labels, nor a link that waits for it. Nor may it hide a fact from who sees what names it.
stored AS MATERIALIZED (
    SELECT named.natural_key, named.last_seen_at, entity.last_seen_at < named.last_seen_at AS is_later
    FROM (
        SELECT natural_key, kind, restricting, last_seen_at FROM given
        -- Unnested, so that its length tells the planner nothing: else the statement is planned anew for each batch.
        WHERE natural_key NOT IN (SELECT unnest($7) UNION ALL SELECT natural_key FROM inserted)
        ORDER BY natural_key COLLATE "C") AS named
    CROSS JOIN LATERAL (
        SELECT last_seen_at FROM entities AS old
        WHERE old.namespace = $1 AND old.natural_key = named.natural_key
          AND (named.kind IN ('', old.kind) OR old.stamps ? 'kind')
          AND (old.restricting = '{}' OR old.stamps ? 'scopes' AND old.natural_key <> ALL (($11::text[])[11]::text[])
               OR named.restricting <> '{}' AND named.restricting <@ old.restricting)
          AND (old.source_id = '' OR NOT EXISTS (
            SELECT FROM link_claims AS claim
            WHERE claim.namespace = $1 AND claim.target_kind = old.kind AND claim.target_ref = old.source_id))
        FOR UPDATE) AS entity
), seen AS (
    UPDATE entities SET last_seen_at = stored.last_seen_at FROM stored
    WHERE entities.namespace = $1 AND entities.natural_key = stored.natural_key AND stored.is_later
)

-- fragment: no_named_entities
stored AS (SELECT WHERE false)

-- fragment: new_facts
fact AS (
    INSERT INTO facts (
{fact_columns})
    SELECT
{fact_values}
    FROM touched, json_to_recordset(($11::text[])[4]::json) AS given (
{fact_types})
    ON CONFLICT (namespace, fact_id) DO NOTHING
    RETURNING 1
), asserted AS MATERIALIZED (
    SELECT FROM touched WHERE (SELECT count(*) FROM fact) = cardinality($8) OR begin_anew()
), fact_evidence AS (
    INSERT INTO fact_evidence (namespace, fact_id, observation_id, occurred_at, evidence, confidence)
    SELECT given.* FROM asserted, json_to_recordset(($11::text[])[5]::json) AS given (
    namespace text, fact_id text, observation_id text, occurred_at timestamptz, evidence smallint,
    confidence double precision)
    ON CONFLICT DO NOTHING
)

-- fragment: no_facts
asserted AS (SELECT FROM touched)

-- fragment: new_documents
document AS (
    INSERT INTO documents (
{document_columns})
    SELECT
{document_values}
    FROM asserted, json_to_recordset(($11::text[])[6]::json) AS given (
{document_types})
    ON CONFLICT (namespace, entity_key) DO NOTHING
    RETURNING 1
), kept AS MATERIALIZED (
    SELECT FROM asserted
    WHERE (SELECT count(*) FROM document) = json_array_length(($11::text[])[6]::json) OR begin_anew()
)

-- fragment: no_documents
kept AS (SELECT FROM asserted)

-- fragment: given_links
link_evidence AS (
    INSERT INTO link_evidence ({link_evidence_columns})
    SELECT given.* FROM shown, json_to_recordset(($11::text[])[8]::json) AS given (
{link_evidence_types})
{greater_weight_of_evidence}
), link AS (
    INSERT INTO links (namespace, source_key, relation, target_key, weight)
    SELECT given.* FROM shown, json_to_recordset(($11::text[])[9]::json) AS given (
{link_types})
{greater_weight}
)

-- fragment: no_links
link AS (SELECT WHERE false)
