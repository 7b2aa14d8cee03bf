-- Statements of curation. Throughout: $1 the namespace. Keys are looked at in the order of the index; what is written goes
-- in by rising bytes of the key, as everybody's writes do.

-- name: cursors
-- How far the pass has come.
SELECT phase, position, finished FROM curation_cursors WHERE namespace = $1;

-- name: move_cursor
-- A phase goes on behind $3, or is finished.
INSERT INTO curation_cursors (namespace, phase, position, finished) VALUES ($1, $2, $3, $4)
ON CONFLICT (namespace, phase) DO UPDATE SET position = excluded.position, finished = excluded.finished;

-- name: delete_cursors
-- The pass is whole.
DELETE FROM curation_cursors WHERE namespace = $1;

-- name: next_entities
-- Keys of entities after $2, at most $3.
SELECT natural_key AS key FROM entities WHERE namespace = $1 AND natural_key > $2 ORDER BY natural_key LIMIT $3;

-- name: next_documents
-- Keys of entities with a text, after $2, at most $3.
SELECT entity_key AS key FROM documents WHERE namespace = $1 AND entity_key > $2 ORDER BY entity_key LIMIT $3;

-- name: next_facts
-- Ids of facts after $2, at most $3.
SELECT fact_id AS key FROM facts WHERE namespace = $1 AND fact_id > $2 ORDER BY fact_id LIMIT $3;

-- name: next_claims
-- Entities after $2 from which links lead that wait, or whose target curation found, at most $3.
SELECT DISTINCT source_key AS key
FROM link_claims
WHERE namespace = $1 AND source_key > $2 AND (target_key IS NULL OR curated_target IS NOT NULL)
ORDER BY source_key
LIMIT $3;

-- name: delete_names
-- Forgets names that the entities $2 no longer have. $3 are kinds that are never compared.
DELETE FROM entity_names AS known
WHERE known.namespace = $1 AND known.natural_key = ANY ($2::text[]) AND NOT EXISTS (
    SELECT
    FROM entities AS e CROSS JOIN LATERAL unnest(array_append(e.aliases, e.title)) AS given (name)
    WHERE e.namespace = $1 AND e.natural_key = known.natural_key AND e.kind = known.kind
        AND NOT e.placeholder AND e.kind <> ALL ($3::text[]) AND comparable_name(given.name) = known.name);

-- name: insert_names
-- The names of the entities $2 that were not known yet. $3 are kinds that are never compared.
INSERT INTO entity_names (namespace, natural_key, name, kind)
SELECT DISTINCT $1::text, e.natural_key, comparable_name(given.name), e.kind
FROM entities AS e CROSS JOIN LATERAL unnest(array_append(e.aliases, e.title)) AS given (name)
WHERE e.namespace = $1 AND e.natural_key = ANY ($2::text[])
    AND NOT e.placeholder AND e.kind <> ALL ($3::text[]) AND comparable_name(given.name) <> ''
ON CONFLICT DO NOTHING
RETURNING natural_key, name, kind;

-- name: delete_name_keys
-- Forgets beginnings of words that no name of the entities $2 has any more; $3 is how long a beginning is.
DELETE FROM entity_name_keys AS known
WHERE known.namespace = $1 AND known.natural_key = ANY ($2::text[]) AND NOT EXISTS (
    SELECT
    FROM entity_names AS own CROSS JOIN LATERAL regexp_split_to_table(own.name, '[[:space:][:punct:]]+') AS word
    WHERE own.namespace = $1 AND own.natural_key = known.natural_key AND own.kind = known.kind
        AND left(word, $3) = known.key);

-- name: insert_name_keys
-- The beginnings of the words in the names of the entities $2; $3 is how long a beginning is.
INSERT INTO entity_name_keys (namespace, kind, key, natural_key)
SELECT DISTINCT own.namespace, own.kind, left(word, $3), own.natural_key
FROM entity_names AS own CROSS JOIN LATERAL regexp_split_to_table(own.name, '[[:space:][:punct:]]+') AS word
WHERE own.namespace = $1 AND own.natural_key = ANY ($2::text[]) AND word <> ''
ON CONFLICT DO NOTHING;

-- name: alike_by_name
-- Pairs of entities of one kind with names of at least the likeness $7: $2 keys, $3 names and $4 kinds are compared with all
-- names that are known and equal, or share the beginning of a word that at most $8 entities have; at most $5 likest each.
-- Names with other numbers are of other things ("Room 101", "Room 102"); a name that more than $6 entities have tells
-- nothing.
SELECT
    least(fresh.natural_key COLLATE "C", other.natural_key) AS first_key,
    greatest(fresh.natural_key COLLATE "C", other.natural_key) AS second_key,
    max(other.score) AS score,
    bool_or(other.is_equal) AS is_equal
FROM unnest($2::text[], $3::text[], $4::text[]) AS fresh (natural_key, name, kind)
CROSS JOIN LATERAL (
    SELECT compared.natural_key, compared.score, compared.name = fresh.name AS is_equal
    FROM (
        SELECT known.natural_key, known.name, similarity(known.name, fresh.name)::float8 AS score
        FROM (
            SELECT same.natural_key
            FROM entity_names AS same
            WHERE same.namespace = $1 AND same.kind = fresh.kind AND same.name = fresh.name
            UNION
            SELECT sharing.natural_key
            FROM entity_name_keys AS own
            CROSS JOIN LATERAL (
                SELECT holder.natural_key, count(*) OVER () AS holders
                FROM (
                    SELECT any_of.natural_key FROM entity_name_keys AS any_of
                    WHERE any_of.namespace = $1 AND any_of.kind = fresh.kind AND any_of.key = own.key
                    LIMIT $8 + 1
                ) AS holder
            ) AS sharing
            WHERE own.namespace = $1 AND own.natural_key = fresh.natural_key AND sharing.holders <= $8
            -- The candidates first, whatever the planner thinks of tables that have just been filled.
            OFFSET 0
        ) AS candidate
        CROSS JOIN LATERAL (
            SELECT any_of.natural_key, any_of.name, any_of.kind
            FROM entity_names AS any_of
            WHERE any_of.namespace = $1 AND any_of.natural_key = candidate.natural_key
            OFFSET 0
        ) AS known
        WHERE known.kind = fresh.kind AND known.natural_key <> fresh.natural_key
            AND btrim(regexp_replace(known.name, '[^0-9]+', ' ', 'g'))
                = btrim(regexp_replace(fresh.name, '[^0-9]+', ' ', 'g'))
    ) AS compared
    WHERE compared.score >= $7::float8
    ORDER BY compared.score DESC, compared.natural_key
    LIMIT $5
) AS other
WHERE (
    SELECT count(*)
    FROM (
        SELECT FROM entity_names AS known
        WHERE known.namespace = $1 AND known.kind = fresh.kind AND known.name = fresh.name
        LIMIT $6 + 1
    ) AS same
) <= $6
GROUP BY 1, 2;

-- name: alike_by_text
-- Pairs of documents of which at least the share $3 of the longer one's pieces is also in the other: those of the entities
-- $2, each of whose pieces is compared with at most $4 others. Observations repeat each other lawfully.
WITH mine AS MATERIALIZED (
    SELECT owner_key, embedding_hash, count(*) OVER (PARTITION BY owner_key) AS pieces
    FROM passages
    WHERE namespace = $1 AND kind = 1 AND owner_kind <> 'observation' AND NOT hidden AND owner_key = ANY ($2::text[])
),
common AS (
    SELECT mine.owner_key, mine.pieces, other.owner_key AS other_key, count(DISTINCT mine.embedding_hash) AS number
    FROM mine CROSS JOIN LATERAL (
        SELECT DISTINCT owner_key
        FROM passages
        WHERE namespace = $1 AND kind = 1 AND owner_kind <> 'observation' AND NOT hidden
            AND embedding_hash = mine.embedding_hash AND owner_key <> mine.owner_key
        LIMIT $4
    ) AS other
    GROUP BY 1, 2, 3
),
shares AS (
    SELECT owner_key, other_key, number::float8 / greatest(pieces, (
        SELECT count(*) FROM passages
        WHERE namespace = $1 AND kind = 1 AND owner_key = common.other_key AND NOT hidden)) AS score
    FROM common
)
SELECT
    least(owner_key COLLATE "C", other_key) AS first_key,
    greatest(owner_key COLLATE "C", other_key) AS second_key,
    max(score) AS score
FROM shares
WHERE score >= $3
GROUP BY 1, 2;

-- name: insert_proposals
-- Pairs that were never proposed. Answers which.
INSERT INTO duplicate_proposals (namespace, proposal_id, first_key, second_key, score, reason)
SELECT $1::text, * FROM unnest($2::text[], $3::text[], $4::text[], $5::float8[], $6::text[])
ON CONFLICT DO NOTHING
RETURNING proposal_id;

-- name: draw_duplicate_links
-- Links of the proposals from the entities $2 that nobody refused or undid. What a source said stays the source's.
INSERT INTO links (namespace, source_key, relation, target_key, weight, origin)
SELECT namespace, second_key, 'DUPLICATE_OF', first_key, score, 2
FROM duplicate_proposals
WHERE namespace = $1 AND second_key = ANY ($2::text[]) AND state IN (1, 2)
ORDER BY second_key COLLATE "C", first_key COLLATE "C"
ON CONFLICT DO NOTHING;

-- name: claims_to_settle
-- The links that wait from the entities $2, and those whose target curation found, locked; `found` is the one entity of the
-- kind whose address, path or other name is exactly the reference, or else the one of these that the hinted source spoke
-- of. Two that fit are none.
SELECT claim.namespace, claim.source_key, claim.relation, claim.target_kind, claim.target_ref, claim.weight,
    claim.observation_ids, claim.target_key, claim.curated_target, fitting.found
FROM link_claims AS claim
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN count(*) = 1 THEN min(natural_key)
        WHEN count(*) FILTER (WHERE hinted) = 1 THEN min(natural_key) FILTER (WHERE hinted)
        END AS found
    FROM (
        SELECT e.natural_key, claim.source_hint <> '' AND EXISTS (
            SELECT FROM entity_evidence AS evidence JOIN observations AS o USING (namespace, observation_id)
            WHERE evidence.namespace = $1 AND evidence.natural_key = e.natural_key
                AND o.source_system = claim.source_hint) AS hinted
        FROM entities AS e
        WHERE e.namespace = $1 AND e.kind = claim.target_kind AND NOT e.placeholder AND e.natural_key IN (
            SELECT natural_key FROM entities
            WHERE namespace = $1 AND url <> '' AND url = claim.target_ref
                AND hashtextextended(url, 0) = hashtextextended(claim.target_ref, 0)
            UNION ALL
            SELECT natural_key FROM entities
            WHERE namespace = $1 AND source_path <> '' AND source_path = claim.target_ref
                AND hashtextextended(source_path, 0) = hashtextextended(claim.target_ref, 0)
            UNION ALL
            SELECT known.natural_key
            FROM entity_names AS known JOIN entities AS named USING (namespace, natural_key)
            WHERE known.namespace = $1 AND known.kind = claim.target_kind
                AND known.name = comparable_name(claim.target_ref)
                AND EXISTS (
                    SELECT FROM unnest(named.aliases) AS alias
                    WHERE normal_form(alias) = normal_form(claim.target_ref)))
    ) AS candidates
) AS fitting
WHERE claim.namespace = $1 AND claim.source_key = ANY ($2::text[])
    AND (claim.target_key IS NULL OR claim.curated_target IS NOT NULL)
ORDER BY claim.source_key COLLATE "C", claim.relation COLLATE "C", claim.target_kind COLLATE "C",
    claim.target_ref COLLATE "C"
FOR UPDATE OF claim;

-- name: set_curated_targets
-- What curation found for claims.
UPDATE link_claims AS claim
SET curated_target = given.found
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS given (namespace, source_key, relation, target_kind, target_ref, found)
WHERE claim.namespace = given.namespace AND claim.source_key = given.source_key AND claim.relation = given.relation
    AND claim.target_kind = given.target_kind AND claim.target_ref = given.target_ref;

-- name: settle_trust
-- Computes the trust of the entities $2: the greatest authority of the sources that spoke of each ($3 where nobody
-- registered one; a stream's own goes before its system's), halved every $4 days of age. Answers what changed. Whole days,
-- so that a second pass changes nothing. Of what was said, only that counts which all see who see the entity.
INSERT INTO entity_trust AS known (namespace, natural_key, trust)
SELECT e.namespace, e.natural_key, round((
        coalesce(spoken.authority, $3::float8)
        * power(0.5, least(greatest(extract(day FROM now() - coalesce(spoken.last_seen_at, e.last_seen_at)), 0)::float8
            / $4::float8, 100)))::numeric, 4)
FROM entities AS e
CROSS JOIN LATERAL (
    SELECT max(coalesce(of_stream.authority, of_system.authority, $3::float8)) AS authority,
        max(evidence.occurred_at) AS last_seen_at
    FROM entity_evidence AS evidence
        JOIN observations AS o USING (namespace, observation_id)
        LEFT JOIN sources AS of_stream
            ON of_stream.namespace = o.namespace AND of_stream.system = o.source_system
            AND of_stream.stream = o.source_stream
        LEFT JOIN sources AS of_system
            ON of_system.namespace = o.namespace AND of_system.system = o.source_system AND of_system.stream = ''
    WHERE evidence.namespace = e.namespace AND evidence.natural_key = e.natural_key AND NOT o.withdrawn
        AND seen_by_all_of(e.restricting, o.restricting)
) AS spoken
WHERE e.namespace = $1 AND e.natural_key = ANY ($2::text[]) AND NOT e.placeholder
ORDER BY e.natural_key COLLATE "C"
ON CONFLICT (namespace, natural_key) DO UPDATE SET trust = excluded.trust WHERE known.trust <> excluded.trust
RETURNING natural_key;

-- name: stale_entities
-- Those of the entities $2 that derive from a document whose text has a later stamp than anything said of them, and that
-- nobody confirmed since the memory has that text; where all who see them see who said so, and the text.
SELECT e.natural_key AS key
FROM entities AS e
    LEFT JOIN item_marks AS mark ON mark.namespace = e.namespace AND mark.kind = 3 AND mark.item_key = e.natural_key
WHERE e.namespace = $1 AND e.natural_key = ANY ($2::text[]) AND NOT e.placeholder AND EXISTS (
    SELECT
    FROM links AS l
        JOIN documents AS d ON d.namespace = l.namespace AND d.entity_key = l.target_key
        JOIN observations AS text ON text.namespace = $1 AND text.observation_id = d.observation_id
    WHERE l.namespace = $1 AND l.source_key = e.natural_key AND l.relation = 'DERIVED_FROM'
        AND seen_by_all_of(e.restricting, text.restricting)
        AND EXISTS (
            SELECT
            FROM link_evidence AS evidence JOIN observations AS o USING (namespace, observation_id)
            WHERE evidence.namespace = $1 AND evidence.source_key = l.source_key AND evidence.relation = l.relation
                AND evidence.target_key = l.target_key
                AND seen_by_all_of(e.restricting, o.restricting))
        AND (mark.last_confirmed_at IS NULL OR mark.last_confirmed_at < d.recorded_at)
        AND extract(epoch FROM d.occurred_at) * 1000000 > (
            SELECT max((said.stamp ->> 0)::numeric) FROM jsonb_each(e.stamps) AS said (field, stamp)));

-- name: stale_facts
-- Those of the facts $2 all of whose evidence is an observation of which a later revision is stored, and that nobody
-- confirmed since the memory has that revision. What not all see who see the fact counts neither as evidence nor as a revision.
SELECT f.fact_id AS key
FROM facts AS f
    LEFT JOIN item_marks AS mark ON mark.namespace = f.namespace AND mark.kind = 2 AND mark.item_key = f.fact_id
WHERE f.namespace = $1 AND f.fact_id = ANY ($2::text[]) AND NOT f.evidence_lost
    AND EXISTS (
        SELECT
        FROM fact_evidence AS any_of JOIN observations AS o USING (namespace, observation_id)
        WHERE any_of.namespace = $1 AND any_of.fact_id = f.fact_id
            AND seen_by_all_of(f.restricting, o.restricting))
    AND NOT EXISTS (
        SELECT
        FROM fact_evidence AS evidence JOIN observations AS o USING (namespace, observation_id)
        WHERE evidence.namespace = $1 AND evidence.fact_id = f.fact_id
            AND seen_by_all_of(f.restricting, o.restricting)
            AND NOT (o.external_id <> '' AND EXISTS (
            SELECT FROM observations AS later
            WHERE later.namespace = $1 AND later.source_system = o.source_system
                AND later.source_stream = o.source_stream AND later.external_id = o.external_id AND later.revision <> ''
                AND later.revision <> o.revision
                AND seen_by_all_of(f.restricting, later.restricting)
                AND (later.occurred_at, later.observation_id COLLATE "C") > (o.occurred_at, o.observation_id)
                AND (mark.last_confirmed_at IS NULL OR mark.last_confirmed_at < later.recorded_at))));

-- name: mark_stale
-- Marks $3 of kind $2. Answers which were not marked.
INSERT INTO stale_marks (namespace, item_kind, item_key)
SELECT $1::text, $2::smallint, key FROM unnest($3::text[]) AS key ORDER BY key COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING item_key;

-- name: unmark_stale
-- Takes the marks off those of $3, of kind $2, that are not among $4.
DELETE FROM stale_marks
WHERE namespace = $1 AND item_kind = $2::smallint AND item_key = ANY ($3::text[]) AND item_key <> ALL ($4::text[]);

-- name: lock_proposal
-- The proposal $2, locked. No row where there is none.
SELECT * FROM duplicate_proposals WHERE namespace = $1 AND proposal_id = $2 FOR UPDATE;

-- name: decide_proposal
-- The proposal $2 in the state $3, by $4, because of $5.
UPDATE duplicate_proposals
SET state = $3, decided_at = clock_timestamp(), decided_by = $4, decision_reason = $5
WHERE namespace = $1 AND proposal_id = $2
RETURNING *;

-- name: delete_duplicate_link
-- Deletes what curation drew between the keys $2 and $3.
DELETE FROM links
WHERE namespace = $1 AND source_key = $2 AND relation = 'DUPLICATE_OF' AND target_key = $3 AND origin = 2;

-- name: connected_by_merges
-- All keys that confirmed proposals join with the keys $2, these included.
WITH RECURSIVE component (key) AS (
    SELECT unnest($2::text[])
    UNION
    SELECT CASE WHEN p.first_key = component.key THEN p.second_key ELSE p.first_key END
    FROM component JOIN duplicate_proposals AS p
        ON p.namespace = $1 AND p.state = 2 AND component.key IN (p.first_key, p.second_key)
)
SELECT key FROM component;

-- name: delete_merges
-- The entities $2 answer as themselves.
DELETE FROM entity_merges WHERE namespace = $1 AND merged_key = ANY ($2::text[]);

-- name: insert_merges
-- The entities $2 answer as $3.
INSERT INTO entity_merges (namespace, merged_key, canonical_key)
SELECT $1::text, key, $3::text FROM unnest($2::text[]) AS key ORDER BY key COLLATE "C";

-- name: forget_names
-- Nothing of the names of the entities $2 is kept; the next pass reads anew what they have.
DELETE FROM entity_names WHERE namespace = $1 AND natural_key = ANY ($2::text[]);

-- name: forget_name_keys
-- Nothing of the words in the names of the entities $2 is kept.
DELETE FROM entity_name_keys WHERE namespace = $1 AND natural_key = ANY ($2::text[]);

-- name: forget_trust
-- The entities $2 weigh nothing any more.
DELETE FROM entity_trust WHERE namespace = $1 AND natural_key = ANY ($2::text[]);

-- name: delete_proposals_of
-- Deletes the proposals that name one of the entities $2. Answers the pairs.
DELETE FROM duplicate_proposals
WHERE namespace = $1 AND (first_key = ANY ($2::text[]) OR second_key = ANY ($2))
RETURNING first_key, second_key;

-- name: delete_curated_links_of
-- Deletes what curation drew from and to the entities $2.
DELETE FROM links
WHERE namespace = $1 AND origin = 2 AND (source_key = ANY ($2::text[]) OR target_key = ANY ($2));

-- name: claims_curated_to
-- Claims for which curation found one of the entities $2, locked.
SELECT namespace, source_key, relation, target_kind, target_ref, weight, observation_ids, target_key
FROM link_claims
WHERE namespace = $1 AND curated_target = ANY ($2::text[])
ORDER BY source_key COLLATE "C", relation COLLATE "C", target_kind COLLATE "C", target_ref COLLATE "C"
FOR UPDATE;

-- name: count_rejections
-- Adds numbers $3 to the reasons $2.
INSERT INTO rejections AS counted (namespace, reason, number)
SELECT $1::text, * FROM unnest($2::text[], $3::bigint[])
ON CONFLICT (namespace, reason) DO UPDATE SET number = counted.number + excluded.number;
