-- The reader's statements. Throughout: $1 the namespace, $2 the restricting labels that the caller holds, $3 whether
-- restricting labels hide nothing from it. What `visible` refuses is left out before anything is ranked or counted.

-- name: provenance
-- The observations that items rest on, oldest first, at most $6 each. An item is its place in the arrays and either an
-- observation ($5) or what evidence tells of a fact or entity ($4 kinds: 2 a fact, else an entity; $7 keys).
SELECT item.place, o.observation_id, o.source_system, o.source_stream, o.external_id, o.revision, o.occurred_at,
    o.actor_key, o.message
FROM unnest($4::smallint[], $7::text[], $5::text[]) WITH ORDINALITY AS item (kind, key, observation_id, place)
CROSS JOIN LATERAL (
    SELECT found.*
    FROM (
        SELECT item.observation_id AS id WHERE item.observation_id IS NOT NULL
        UNION
        SELECT fe.observation_id FROM fact_evidence AS fe
        WHERE item.observation_id IS NULL AND item.kind = 2 AND fe.namespace = $1 AND fe.fact_id = item.key
        UNION
        SELECT ee.observation_id FROM entity_evidence AS ee
        WHERE item.observation_id IS NULL AND item.kind <> 2 AND ee.namespace = $1 AND ee.natural_key = item.key
    ) AS evidence
    -- By key, whatever the planner thinks of the number: it would rather read all of the namespace in order of time.
    CROSS JOIN LATERAL (
        SELECT * FROM observations AS o WHERE o.namespace = $1 AND o.observation_id = evidence.id OFFSET 0
    ) AS found
    WHERE visible(found.restricting, $2, $3) AND NOT found.withdrawn
    ORDER BY found.occurred_at, found.observation_id
    LIMIT $6
) AS o
ORDER BY item.place, o.occurred_at, o.observation_id;

-- name: get_entities
-- The entities with the keys $4 that the caller may see, in no order, each with the observations that wrote it, newest first.
SELECT e.*, mark.last_confirmed_at,
    coalesce(evidence.ids, '{}') AS observation_ids, evidence.number AS observation_count,
    -- Not before, or after, what the caller may see of it.
    coalesce(evidence.last_seen_at, e.last_seen_at) AS last_seen_at,
    greatest(evidence.recorded_at, e.recorded_at) AS recorded_at,
    weighed.trust,
    stale.item_key IS NOT NULL AS is_stale,
    coalesce((
        SELECT canonical.natural_key
        FROM entity_merges AS merge JOIN entities AS canonical
            ON canonical.namespace = $1 AND canonical.natural_key = merge.canonical_key
        WHERE merge.namespace = $1 AND merge.merged_key = e.natural_key
            AND visible(canonical.restricting, $2, $3) AND NOT canonical.withdrawn), '') AS merged_into,
    coalesce((
        SELECT array_agg(DISTINCT category)
        FROM entity_evidence AS ee JOIN observations AS o USING (namespace, observation_id)
        CROSS JOIN unnest(ee.pii_categories) AS category
        WHERE ee.namespace = $1 AND ee.natural_key = e.natural_key AND ee.pii_categories <> '{}'
            AND visible(o.restricting, $2, $3) AND NOT o.withdrawn), '{}') AS found_pii_categories
FROM entities AS e
    LEFT JOIN item_marks AS mark ON mark.namespace = $1 AND mark.kind = 3 AND mark.item_key = e.natural_key
    LEFT JOIN entity_trust AS weighed ON weighed.namespace = $1 AND weighed.natural_key = e.natural_key
    LEFT JOIN stale_marks AS stale
        ON stale.namespace = $1 AND stale.item_kind = 3 AND stale.item_key = e.natural_key
CROSS JOIN LATERAL (
    SELECT (array_agg(ee.observation_id ORDER BY ee.occurred_at DESC, ee.observation_id DESC))[:100] AS ids,
        count(*) AS number, max(ee.occurred_at) AS last_seen_at, min(o.recorded_at) AS recorded_at
    FROM entity_evidence AS ee JOIN observations AS o USING (namespace, observation_id)
    WHERE ee.namespace = $1 AND ee.natural_key = e.natural_key AND visible(o.restricting, $2, $3) AND NOT o.withdrawn
) AS evidence
WHERE e.namespace = $1 AND e.natural_key = ANY ($4) AND visible(e.restricting, $2, $3) AND NOT e.withdrawn;

-- name: list_entity_keys
-- Keys after $4 in rising order, at most $5. $6 kinds, $7 prefix, $8 placeholders too, $9 history too.
SELECT natural_key
FROM entities
WHERE namespace = $1
    AND visible(restricting, $2, $3)
    AND NOT withdrawn
    AND ($4::text IS NULL OR natural_key > $4)
    AND ($6::text[] = '{}' OR kind = ANY ($6))
    AND starts_with(natural_key, $7)
    AND ($8 OR NOT placeholder)
    AND ($9 OR (effective_status(status, archived) IN (1, 3) AND (expires_at IS NULL OR expires_at > now())
        AND obsolete_at IS NULL))
    AND ($9 OR NOT EXISTS (
        SELECT
        FROM entity_merges AS merge JOIN entities AS canonical
            ON canonical.namespace = $1 AND canonical.natural_key = merge.canonical_key
        WHERE merge.namespace = $1 AND merge.merged_key = entities.natural_key
            AND visible(canonical.restricting, $2, $3) AND NOT canonical.withdrawn))
ORDER BY natural_key
LIMIT $5;

-- name: get_facts
-- The facts with the ids $4 that the caller may see, in no order, whatever their intervals and states.
SELECT f.*, mark.last_confirmed_at, (
        SELECT jsonb_build_object('source', source, 'scope', scope, 'snapshot_id', snapshot_id)
        FROM snapshot_facts AS taken
        WHERE taken.namespace = $1 AND taken.fact_id = f.fact_id
        ORDER BY taken_at DESC, source, scope
        LIMIT 1) AS snapshot,
    coalesce(evidence.ids, '{}') AS observation_ids, stale.item_key IS NOT NULL AS is_stale,
    {those_it_closed} AS supersedes, {those_that_closed_it} AS superseded_by
FROM facts AS f
    LEFT JOIN item_marks AS mark ON mark.namespace = $1 AND mark.kind = 2 AND mark.item_key = f.fact_id
    LEFT JOIN stale_marks AS stale ON stale.namespace = $1 AND stale.item_kind = 2 AND stale.item_key = f.fact_id
CROSS JOIN LATERAL (
    SELECT (array_agg(fe.observation_id ORDER BY fe.observation_id))[:200] AS ids
    FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
    WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3) AND NOT o.withdrawn
) AS evidence
WHERE f.namespace = $1 AND f.fact_id = ANY ($4)
    AND visible(f.restricting, $2, $3)
    AND NOT f.withdrawn
    AND ($3 OR evidence.ids IS NOT NULL)
    AND {ends_are_visible};

-- name: list_fact_ids
-- Facts by subject, predicate, start (an unknown one last) and id, at most $4. $5 keys of the subject, $6 predicate, $7 and $8 type
-- and texts of the object, $9 the moment, $10 whatever their intervals and states; after ($11, $12, $13, $14).
SELECT f.fact_id, f.subject_key, f.predicate, f.valid_from
FROM facts AS f
WHERE f.namespace = $1
    AND visible(f.restricting, $2, $3)
    AND NOT f.withdrawn
    AND ($5::text[] IS NULL OR f.subject_key = ANY ($5))
    AND ($6::text = '' OR f.predicate = $6)
    AND ($7::text IS NULL OR (f.object_type = $7 AND f.object_text = ANY ($8::text[])))
    AND ($10 OR (
        NOT f.evidence_lost
        AND f.closure <> 4
        AND effective_status(f.status, f.archived) IN (1, 3)
        AND (f.expires_at IS NULL OR f.expires_at > now())
        AND (f.obsolete_at IS NULL OR f.obsolete_at > coalesce($9, now()))
        AND (f.valid_from IS NULL OR f.valid_from <= coalesce($9, now()))
        AND (f.valid_to IS NULL OR f.valid_to > coalesce($9, now()))))
    AND {fact_is_visible}
    AND ($11::text IS NULL OR (
        (f.subject_key, f.predicate) >= ($11, $12::text)
        AND (
            (f.subject_key, f.predicate) > ($11, $12)
            OR (f.valid_from IS NULL AND $13::timestamptz IS NOT NULL)
            OR f.valid_from > $13
            OR (f.valid_from IS NOT DISTINCT FROM $13 AND f.fact_id > $14::text))))
ORDER BY f.subject_key, f.predicate, f.valid_from, f.fact_id
LIMIT $4;

-- name: get_observation
-- The observation $4. No row where it is not stored or not visible.
SELECT * FROM observations WHERE namespace = $1 AND observation_id = $4 AND visible(restricting, $2, $3)
    AND NOT withdrawn;

-- name: list_observations
-- Observations, newest first, then by id, at most $4. $5 system, $6 stream, $7 kinds, $8 keys of the subject, $9 of the
-- actor, $10 and $11 the window of occurred_at; after ($12, $13).
SELECT *
FROM observations
WHERE namespace = $1
    AND visible(restricting, $2, $3)
    AND NOT withdrawn
    AND ($5::text = '' OR source_system = $5)
    AND ($6::text = '' OR source_stream = $6)
    AND ($7::text[] = '{}' OR kind = ANY ($7))
    AND ($8::text[] IS NULL OR subject_key = ANY ($8))
    AND ($9::text[] IS NULL OR actor_key = ANY ($9))
    AND ($10::timestamptz IS NULL OR occurred_at >= $10)
    AND ($11::timestamptz IS NULL OR occurred_at < $11)
    AND ($12::timestamptz IS NULL OR (
        occurred_at <= $12 AND (occurred_at < $12 OR observation_id > $13::text)))
ORDER BY occurred_at DESC, observation_id
LIMIT $4;

-- name: get_document
-- The text of the entity $4, less the text itself where it came in chunks. No row where it has none that the caller may see.
SELECT d.body, d.media_type, d.observation_id, o.message
FROM documents AS d LEFT JOIN observations AS o USING (namespace, observation_id)
WHERE d.namespace = $1 AND d.entity_key = $4 AND ($3 OR visible(o.restricting, $2, $3))
    AND o.withdrawn IS NOT true;

-- name: joined_chunks
-- The chunks of the entity $4, which is not withdrawn, joined in order: of one that was put away, too.
SELECT coalesce(string_agg(text, '' ORDER BY ordinal), '')
FROM passages
WHERE namespace = $1 AND kind = 1 AND owner_key = $4 AND visible(restricting, $2, $3) AND NOT EXISTS (
    SELECT FROM observations AS o
    WHERE o.namespace = $1 AND o.observation_id = passages.observation_id AND o.withdrawn);

-- name: list_chunks
-- Chunks of the entity $4, which is not withdrawn, after ordinal $5, at most $6.
SELECT passage_id, owner_key, ordinal, title, heading, text, source_path, token_count, meta, embedding_hash,
    observation_id, scopes
FROM passages
WHERE namespace = $1 AND kind = 1 AND owner_key = $4 AND visible(restricting, $2, $3) AND ordinal > $5
    AND NOT EXISTS (
        SELECT FROM observations AS o
        WHERE o.namespace = $1 AND o.observation_id = passages.observation_id AND o.withdrawn)
ORDER BY ordinal
LIMIT $6;

-- name: active_space
-- Fingerprint and table of the vectors that are searched. No row before there are any.
SELECT fingerprint, table_name FROM embedding_spaces WHERE state = 'active';

-- name: embedded_passages
-- Which of the passages $2 have a vector.
SELECT passage_id FROM {vectors} WHERE namespace = $1 AND passage_id = ANY ($2);

-- name: list_neighbors
-- Neighbours of the entity with the keys $4 over links and facts that hold at $5, heaviest first, at most $6. $7 relations; $8 from source to
-- target, $9 against it; after ($10, $11, $12, $13, $14): weight, relation, key, whether reversed, fact.
WITH edges AS (
    SELECT relation, target_key AS key, false AS reversed, weight, '' AS fact_id, source_key AS own_key, origin FROM links
    WHERE namespace = $1 AND source_key = ANY ($4::text[]) AND NOT withdrawn AND $8 AND ($7::text[] = '{}' OR relation = ANY ($7))
    UNION ALL
    SELECT relation, source_key, true, weight, '', target_key, origin FROM links
    WHERE namespace = $1 AND target_key = ANY ($4) AND NOT withdrawn AND $9 AND ($7 = '{}' OR relation = ANY ($7))
    UNION ALL
    SELECT predicate, CASE WHEN outgoing THEN object_key ELSE subject_key END, NOT outgoing, confidence, fact_id,
        CASE WHEN outgoing THEN subject_key ELSE object_key END, 1
    FROM facts CROSS JOIN (VALUES (true), (false)) AS way (outgoing)
    WHERE namespace = $1
        AND object_key IS NOT NULL
        AND CASE WHEN outgoing THEN $8 AND subject_key = ANY ($4) ELSE $9 AND object_key = ANY ($4) END
        AND (subject_key = ANY ($4) OR object_key = ANY ($4))
        AND ($7 = '{}' OR predicate = ANY ($7))
        AND visible(restricting, $2, $3)
        AND NOT withdrawn
        AND NOT evidence_lost
        AND closure <> 4
        AND effective_status(status, archived) IN (1, 3)
        AND (expires_at IS NULL OR expires_at > now())
        AND (obsolete_at IS NULL OR obsolete_at > coalesce($5, now()))
        AND (valid_from IS NULL OR valid_from <= coalesce($5, now()))
        AND (valid_to IS NULL OR valid_to > coalesce($5, now()))
)
SELECT DISTINCT -weight AS lightness, weight, relation, key, reversed, fact_id
FROM edges JOIN entities AS e ON e.namespace = $1 AND e.natural_key = edges.key
WHERE visible(e.restricting, $2, $3)
    AND NOT e.withdrawn
    AND effective_status(e.status, e.archived) IN (1, 3)
    AND (e.expires_at IS NULL OR e.expires_at > now())
    AND ($3 OR CASE
        WHEN edges.fact_id <> '' THEN EXISTS (
            SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
            WHERE fe.namespace = $1 AND fe.fact_id = edges.fact_id AND visible(o.restricting, $2, $3))
        -- What curation drew rests on both ends alone.
        ELSE edges.origin = 2 OR EXISTS (
            SELECT FROM link_evidence AS le JOIN observations AS o USING (namespace, observation_id)
            WHERE le.namespace = $1 AND le.relation = edges.relation AND visible(o.restricting, $2, $3)
                AND le.source_key = CASE WHEN edges.reversed THEN edges.key ELSE edges.own_key END
                AND le.target_key = CASE WHEN edges.reversed THEN edges.own_key ELSE edges.key END)
    END)
    -- Of one entity with several keys, what joins these is no neighbour.
    AND (edges.key <> ALL ($4) OR edges.key = edges.own_key)
    AND ($10::float8 IS NULL OR (-weight, relation, key, reversed, fact_id) > (-$10, $11::text, $12::text, $13::bool, $14::text))
ORDER BY lightness, relation, key, reversed, fact_id
LIMIT $6;

-- name: has_visible_edges
-- Whether there is a link or a fact between two entities that the caller may see.
SELECT EXISTS (
    SELECT FROM facts AS f
    WHERE f.namespace = $1 AND f.object_key IS NOT NULL AND visible(f.restricting, $2, $3)
        AND {fact_is_visible}
    UNION ALL
    SELECT FROM links AS l
    WHERE l.namespace = $1
        AND ($3 OR (
            NOT EXISTS (
                SELECT FROM entities AS e
                WHERE e.namespace = $1 AND e.natural_key IN (l.source_key, l.target_key)
                    AND NOT visible(e.restricting, $2, $3))
            AND (l.origin = 2 OR EXISTS (
                SELECT FROM link_evidence AS le JOIN observations AS o USING (namespace, observation_id)
                WHERE le.namespace = $1 AND visible(o.restricting, $2, $3)
                    AND (le.source_key, le.relation, le.target_key) = (l.source_key, l.relation, l.target_key)))))
);

-- name: list_link_claims
-- Links that wait, oldest first, at most $4; after ($5, $6, $7, $8, $9).
SELECT c.source_key, c.relation, c.target_kind, c.target_ref, c.source_hint, c.recorded_at
FROM link_claims AS c
WHERE c.namespace = $1
    -- A target that the caller may not see has not arrived.
    AND (c.target_key IS NULL OR NOT EXISTS (
        SELECT FROM entities AS e
        WHERE e.namespace = $1 AND e.natural_key = c.target_key AND visible(e.restricting, $2, $3)))
    AND NOT EXISTS (
        SELECT FROM entities AS e WHERE e.namespace = $1 AND e.natural_key = c.source_key AND e.withdrawn)
    AND NOT EXISTS (
        SELECT FROM observations AS o
        WHERE o.namespace = $1 AND o.observation_id = ANY (c.observation_ids)
        HAVING bool_and(o.withdrawn))
    AND ($3 OR (
        NOT EXISTS (
            SELECT FROM entities AS e
            WHERE e.namespace = $1 AND e.natural_key = c.source_key AND NOT visible(e.restricting, $2, $3))
        AND EXISTS (
            SELECT FROM observations AS o
            WHERE o.namespace = $1 AND o.observation_id = ANY (c.observation_ids) AND visible(o.restricting, $2, $3))))
    AND ($5::timestamptz IS NULL OR (c.recorded_at, c.source_key, c.relation, c.target_kind, c.target_ref)
        > ($5, $6::text, $7::text, $8::text, $9::text))
ORDER BY c.recorded_at, c.source_key, c.relation, c.target_kind, c.target_ref
LIMIT $4;

-- name: list_sources
-- Registered sources by system and stream, at most $2; after ($3, $4). They have no labels.
SELECT system, stream, authority, state, description, registered_at
FROM sources
WHERE namespace = $1 AND ($3::text IS NULL OR (system, stream) > ($3, $4::text))
ORDER BY system, stream
LIMIT $2;

-- name: statistics
-- What the caller may see of the namespace, counted.
SELECT
    observed.number AS observations,
    observed.latest AS last_recorded_at,
    (SELECT count(*) FROM entities WHERE namespace = $1 AND NOT withdrawn AND visible(restricting, $2, $3)) AS entities,
    (SELECT count(*) FROM facts AS f
     WHERE f.namespace = $1 AND NOT f.withdrawn AND visible(f.restricting, $2, $3) AND {fact_is_visible}) AS facts,
    (SELECT count(*) FROM links AS l
     WHERE l.namespace = $1 AND NOT l.withdrawn AND NOT EXISTS (
        SELECT FROM entities AS e
        WHERE e.namespace = $1 AND e.natural_key IN (l.source_key, l.target_key) AND e.withdrawn)
        AND ($3 OR (
        NOT EXISTS (
            SELECT FROM entities AS e
            WHERE e.namespace = $1 AND e.natural_key IN (l.source_key, l.target_key)
                AND NOT visible(e.restricting, $2, $3))
        AND (l.origin = 2 OR EXISTS (
            SELECT FROM link_evidence AS le JOIN observations AS o USING (namespace, observation_id)
            WHERE le.namespace = $1 AND visible(o.restricting, $2, $3)
                AND (le.source_key, le.relation, le.target_key) = (l.source_key, l.relation, l.target_key)))))) AS links,
    (SELECT count(*) FROM passages
     WHERE namespace = $1 AND kind = 1 AND NOT hidden AND visible(restricting, $2, $3)) AS chunks,
    (SELECT count(*) FROM unembedded AS q JOIN passages AS p USING (namespace, passage_id)
     WHERE q.namespace = $1 AND p.kind = 1 AND NOT p.hidden AND visible(p.restricting, $2, $3)) AS unembedded_chunks,
    (SELECT count(*) FROM link_claims AS c
     WHERE c.namespace = $1
        AND (c.target_key IS NULL OR NOT EXISTS (
            SELECT FROM entities AS e
            WHERE e.namespace = $1 AND e.natural_key = c.target_key AND visible(e.restricting, $2, $3)))
        AND NOT EXISTS (
        SELECT FROM entities AS e WHERE e.namespace = $1 AND e.natural_key = c.source_key AND e.withdrawn)
        AND ($3 OR (
        NOT EXISTS (
            SELECT FROM entities AS e
            WHERE e.namespace = $1 AND e.natural_key = c.source_key AND NOT visible(e.restricting, $2, $3))
        AND EXISTS (
            SELECT FROM observations AS o
            WHERE o.namespace = $1 AND o.observation_id = ANY (c.observation_ids)
                AND visible(o.restricting, $2, $3))))) AS link_claims
FROM (
    SELECT count(*) AS number, max(recorded_at) AS latest
    FROM observations
    WHERE namespace = $1 AND NOT withdrawn AND visible(restricting, $2, $3)
) AS observed;

-- name: list_namespaces
-- Names after $1 with the prefix $2 that are among $3 or begin with one of $4, at most $5. Each is found by one step over the
-- index, however many rows it has.
WITH RECURSIVE held AS (
    (SELECT namespace FROM observations WHERE $1::text IS NULL OR namespace > $1 ORDER BY namespace LIMIT 1)
    UNION ALL
    SELECT (SELECT o.namespace FROM observations AS o WHERE o.namespace > held.namespace ORDER BY o.namespace LIMIT 1)
    FROM held
    WHERE held.namespace IS NOT NULL
)
SELECT namespace
FROM held
WHERE starts_with(namespace, $2)
    AND (namespace = ANY ($3::text[]) OR EXISTS (SELECT FROM unnest($4::text[]) AS begun WHERE starts_with(namespace, begun)))
LIMIT $5;

-- name: digest_settings
-- Times are written in UTC for this transaction, so that equal rows have equal texts.
SELECT set_config('TimeZone', 'UTC', true), set_config('bytea_output', 'hex', true);

-- name: digest_table
-- Rows of a table in the namespace $1 but those that hold the object $3, and a SHA-256 over the SHA-256 of each row, sorted. A
-- row is its JSON with sorted keys, less the columns $2. Sorting the hashes gives one order whatever the database's collation.
SELECT count(*) AS rows, encode(sha256(coalesce(string_agg(hash, ''::bytea ORDER BY hash), ''::bytea)), 'hex') AS digest
FROM (
    SELECT sha256(convert_to((to_jsonb(t) - $2::text[])::text, 'UTF8')) AS hash
    FROM {table} AS t
    WHERE t.namespace = $1 AND ($3::jsonb IS NULL OR NOT to_jsonb(t) @> $3)
) AS hashed;
