-- Walks through the graph. Throughout: $1 the namespace, $2 the restricting labels that the caller holds, $3 whether
-- restricting labels hide nothing from it. What `visible` refuses is neither walked over nor counted (AC-6).

-- name: prepare_walk
-- The planner's settings for this transaction. A step reads the heaviest edges of one entity in the order of an index, and
-- stops; no estimate of how much there is may make it read and sort all edges instead. So the plan is one for all arguments,
-- and made once: making it takes longer than most walks.
SELECT
    set_config('enable_hashjoin', 'off', true),
    set_config('enable_mergejoin', 'off', true),
    set_config('enable_seqscan', 'off', true),
    set_config('enable_sort', 'off', true),
    set_config('jit', 'off', true),
    set_config('max_parallel_workers_per_gather', '0', true),
    set_config('plan_cache_mode', 'force_generic_plan', true)
WHERE ($3 OR $2::text[] IS NOT NULL) AND $1::text IS NOT NULL;

-- name: anchors
-- The entities that are named, by the places $4: those that have one of the keys $5 of a place, or else the only one whose
-- title or alias its name $6 is; an empty name is nobody's. A merged entity is told by the key that it answers as.
WITH asked AS (
    SELECT place, key, name FROM unnest($4::bigint[], $5::text[], $6::text[]) AS asked (place, key, name)
),
live AS NOT MATERIALIZED (
    SELECT e.*, coalesce((
        SELECT canonical.natural_key
        FROM entity_merges AS merge JOIN entities AS canonical
            ON canonical.namespace = $1 AND canonical.natural_key = merge.canonical_key
        WHERE merge.namespace = $1 AND merge.merged_key = e.natural_key
            AND visible(canonical.restricting, $2, $3) AND NOT canonical.withdrawn), e.natural_key) AS head
    FROM entities AS e
    WHERE e.namespace = $1 AND visible(e.restricting, $2, $3) AND NOT e.withdrawn
),
by_key AS MATERIALIZED (
    SELECT asked.place, live.head FROM asked JOIN live ON live.natural_key = asked.key
),
by_name AS (
    SELECT asked.place, min(named.head) AS head
    FROM (SELECT DISTINCT place, name FROM asked) AS asked CROSS JOIN LATERAL (
        SELECT live.head, live.status, live.archived
        FROM live
        WHERE live.title <> ''
            AND hashtextextended(normal_form(live.title), 0) = hashtextextended(normal_form(asked.name), 0)
            AND normal_form(live.title) = normal_form(asked.name)
        UNION ALL
        -- The passage of an entity holds the words of its aliases, so its index finds them.
        SELECT live.head, live.status, live.archived
        FROM passages AS p JOIN live ON live.natural_key = p.owner_key
        WHERE p.namespace = $1 AND p.kind = 3 AND NOT p.hidden AND visible(p.restricting, $2, $3)
            AND p.tsv @@ plainto_tsquery('pg_catalog.simple', normal_form(asked.name))
            AND EXISTS (
                SELECT FROM unnest(live.aliases) AS alias WHERE comparable_name(alias) = comparable_name(asked.name))
    ) AS named
    WHERE asked.name <> ''
        AND effective_status(named.status, named.archived) IN (1, 3)
        AND asked.place NOT IN (SELECT place FROM by_key)
    GROUP BY asked.place
    HAVING count(DISTINCT named.head) = 1
)
SELECT head AS key
FROM (SELECT * FROM by_key UNION ALL SELECT * FROM by_name) AS found
GROUP BY head
ORDER BY min(place);

-- fragment: steps
-- The heaviest edges that lead from where `walk` stands to where it was not, as many as are followed and one, by their place.
-- `reached` tells where an edge leads, `members` which other keys an entity has; `route` what may be walked, which is not
-- asked by numbers, so that several statements can share this. An edge below `walk.least_edge` is too light in any case: by
-- that the index ends, where a path of little weight comes to a hub.
    SELECT edge.*, row_number() OVER (
        ORDER BY edge.weight DESC, edge.relation, edge.fact_id, edge.end_key, edge.reversed, own.key) AS place
    FROM (
        SELECT walk.keys[walk.depth + 1] AS key
        UNION ALL
        SELECT members.own_key FROM members WHERE members.key = walk.keys[walk.depth + 1]
    ) AS own
    -- Each of the four in the order of its index, which the order above continues, so that none reads more than
    -- it may bring.
    CROSS JOIN LATERAL (
        (
            SELECT l.weight, l.relation, '' AS fact_id, l.target_key AS end_key, false AS reversed, reached.key
            FROM shown_links AS l JOIN reached ON reached.own_key = l.target_key
            WHERE (SELECT outgoing FROM route) AND l.source_key = own.key
                AND l.weight >= walk.least_edge AND walk.weight * l.weight >= (SELECT least_weight FROM route)
                AND reached.key <> ALL (walk.keys)
            ORDER BY l.weight DESC, l.relation, l.target_key
            LIMIT (SELECT fan_out + 1 FROM route)
        )
        UNION ALL
        (
            SELECT l.weight, l.relation, '', l.source_key, true, reached.key
            FROM shown_links AS l JOIN reached ON reached.own_key = l.source_key
            WHERE (SELECT incoming FROM route) AND l.target_key = own.key
                AND l.weight >= walk.least_edge AND walk.weight * l.weight >= (SELECT least_weight FROM route)
                AND reached.key <> ALL (walk.keys)
            ORDER BY l.weight DESC, l.relation, l.source_key
            LIMIT (SELECT fan_out + 1 FROM route)
        )
        UNION ALL
        (
            SELECT f.confidence, f.predicate, f.fact_id, f.object_key, false, reached.key
            FROM shown_facts AS f JOIN reached ON reached.own_key = f.object_key
            WHERE (SELECT outgoing FROM route) AND f.subject_key = own.key
                AND f.confidence >= walk.least_edge AND walk.weight * f.confidence >= (SELECT least_weight FROM route)
                AND reached.key <> ALL (walk.keys)
            ORDER BY f.confidence DESC, f.predicate, f.fact_id
            LIMIT (SELECT fan_out + 1 FROM route)
        )
        UNION ALL
        (
            SELECT f.confidence, f.predicate, f.fact_id, f.subject_key, true, reached.key
            FROM shown_facts AS f JOIN reached ON reached.own_key = f.subject_key
            WHERE (SELECT incoming FROM route) AND f.object_key = own.key
                AND f.confidence >= walk.least_edge AND walk.weight * f.confidence >= (SELECT least_weight FROM route)
                AND reached.key <> ALL (walk.keys)
            ORDER BY f.confidence DESC, f.predicate, f.fact_id
            LIMIT (SELECT fan_out + 1 FROM route)
        )
    ) AS edge
    ORDER BY place
    LIMIT (SELECT fan_out + 1 FROM route)

-- fragment: reaching
-- The paths that are gone on from, with the least weight that an edge may have: a little less, since products are rounded.
(SELECT walk.*, (SELECT least_weight FROM route) / walk.weight * 0.999999 AS least_edge FROM walk)

-- fragment: paths
-- Paths from the entities $4, shortest and heaviest first, at most $6, of at most $7 steps. No entity is twice on a path. A row
-- of the walk that is `cut` stands for edges beyond those that are followed.
walk AS (
    SELECT
        0 AS depth,
        ARRAY[anchor.key] AS keys,
        '{}'::text[] AS relations,
        '{}'::boolean[] AS reversed,
        '{}'::float8[] AS weights,
        '{}'::text[] AS fact_ids,
        1::float8 AS weight,
        false AS cut,
        0::bigint AS found
    FROM unnest($4::text[]) AS anchor (key)
    UNION ALL
    SELECT next.*
    FROM (
        SELECT
            walk.depth + 1,
            walk.keys || step.key,
            walk.relations || step.relation,
            walk.reversed || step.reversed,
            walk.weights || step.weight,
            walk.fact_ids || step.fact_id,
            walk.weight * step.weight AS weight,
            step.place > (SELECT fan_out FROM route) AS cut,
            walk.found + count(*) FILTER (WHERE step.place <= (SELECT fan_out FROM route)) OVER () AS found
        FROM {reaching} AS walk CROSS JOIN LATERAL (
{steps}
        ) AS step
        -- Longer paths come after shorter ones, so enough of these end the walk; and of one length a path is never heavier
        -- than the one that it continues, so the heaviest are enough to go on from.
        WHERE NOT walk.cut AND walk.depth < $7 AND walk.found <= $6
        ORDER BY cut, weight DESC, 2, 3, 6, 4
        LIMIT $6 + 1
    ) AS next (depth, keys, relations, reversed, weights, fact_ids, weight, cut, found)
)
SELECT keys, relations, reversed, weights, fact_ids, weight, seen.truncated
FROM walk CROSS JOIN (
    SELECT bool_or(cut) OR count(*) FILTER (WHERE depth > 0 AND NOT cut) > $6 AS truncated FROM walk
) AS seen
WHERE depth > 0 AND NOT cut
ORDER BY depth, weight DESC, keys, relations, fact_ids, reversed
LIMIT $6

-- fragment: edges
-- What may be walked at the moment of `route`: links, and facts that hold. Entities that confirmed merges join are one, told by
-- the key that they answer as.
live AS NOT MATERIALIZED (
    SELECT e.natural_key, e.kind
    FROM entities AS e
    WHERE e.namespace = $1
        AND visible(e.restricting, $2, $3)
        AND NOT e.withdrawn
        AND effective_status(e.status, e.archived) IN (1, 3)
        AND (e.expires_at IS NULL OR e.expires_at > now())
),
-- Where an edge leads: the entity that answers for its end.
reached AS NOT MATERIALIZED (
    SELECT own.natural_key AS own_key, head.natural_key AS key, head.kind
    FROM live AS own
        LEFT JOIN entity_merges AS merge ON merge.namespace = $1 AND merge.merged_key = own.natural_key
        -- One that the caller may not see answers for nobody; one that is put away does, and is not shown.
        CROSS JOIN LATERAL (
            SELECT coalesce((
                SELECT e.natural_key FROM entities AS e
                WHERE e.namespace = $1 AND e.natural_key = merge.canonical_key
                    AND visible(e.restricting, $2, $3) AND NOT e.withdrawn), own.natural_key) AS key
            OFFSET 0
        ) AS answering
        JOIN live AS head ON head.natural_key = answering.key
    WHERE (SELECT kinds FROM route) = '{}' OR head.kind = ANY ((SELECT kinds FROM route)::text[])
),
shown_links AS NOT MATERIALIZED (
    SELECT l.source_key, l.relation, l.target_key, l.weight
    FROM links AS l
    WHERE l.namespace = $1
        AND NOT l.withdrawn
        AND ((SELECT relations FROM route) = '{}' OR l.relation = ANY ((SELECT relations FROM route)::text[]))
        -- What curation drew rests on both ends alone.
        AND ($3 OR l.origin = 2 OR EXISTS (
            SELECT FROM link_evidence AS le JOIN observations AS o USING (namespace, observation_id)
            WHERE le.namespace = $1 AND le.source_key = l.source_key AND le.relation = l.relation
                AND le.target_key = l.target_key AND visible(o.restricting, $2, $3) AND NOT o.withdrawn))
),
shown_facts AS NOT MATERIALIZED (
    SELECT f.fact_id, f.subject_key, f.predicate, f.object_key, f.confidence
    FROM facts AS f
    WHERE f.namespace = $1
        AND f.object_key IS NOT NULL
        AND ((SELECT relations FROM route) = '{}' OR f.predicate = ANY ((SELECT relations FROM route)::text[]))
        AND visible(f.restricting, $2, $3)
        AND NOT f.withdrawn
        AND NOT f.evidence_lost
        AND f.closure <> 4
        AND effective_status(f.status, f.archived) IN (1, 3)
        AND (f.expires_at IS NULL OR f.expires_at > now())
        AND (f.obsolete_at IS NULL OR f.obsolete_at > (SELECT moment FROM route))
        AND (f.valid_from IS NULL OR f.valid_from <= (SELECT moment FROM route))
        AND (f.valid_to IS NULL OR f.valid_to > (SELECT moment FROM route))
        AND ($3 OR EXISTS (
            SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
            WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id
                AND visible(o.restricting, $2, $3) AND NOT o.withdrawn))
),
members AS NOT MATERIALIZED (
    SELECT merge.canonical_key AS key, merge.merged_key AS own_key
    FROM entity_merges AS merge JOIN entities AS e ON e.namespace = $1 AND e.natural_key = merge.merged_key
    WHERE merge.namespace = $1 AND visible(e.restricting, $2, $3) AND NOT e.withdrawn
)

-- name: traverse
-- Paths over links, and over facts that hold at $5. $8 relations; $9 kinds; $10 from source to target, $11 against it; $12 the
-- most edges that are followed from one entity, the heaviest; $13 the least weight of a path; the rest as in `paths`.
WITH RECURSIVE route AS MATERIALIZED (
    SELECT
        coalesce($5::timestamptz, now()) AS moment,
        $8::text[] AS relations,
        $9::text[] AS kinds,
        $10::boolean AS outgoing,
        $11::boolean AS incoming,
        $12::bigint AS fan_out,
        $13::float8 AS least_weight
),
{edges},
{paths};

-- name: traverse_past
-- The same over what was known at $14. Merges are of the present, so an entity has one key; who may see what, and what is
-- withdrawn, is of the present too.
WITH RECURSIVE route AS MATERIALIZED (
    SELECT
        coalesce($5::timestamptz, now()) AS moment,
        $8::text[] AS relations,
        $9::text[] AS kinds,
        $10::boolean AS outgoing,
        $11::boolean AS incoming,
        $12::bigint AS fan_out,
        $13::float8 AS least_weight
),
live AS NOT MATERIALIZED (
    SELECT e.natural_key, past.kind
    FROM entities AS e CROSS JOIN LATERAL (
        SELECT e.kind, e.status, e.archived, e.expires_at, e.restricting
        WHERE coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = e.change_id),
            e.recorded_at) <= $14
        UNION ALL
        SELECT former.kind, former.status, former.archived, former.expires_at, former.restricting
        FROM entity_versions AS v CROSS JOIN LATERAL jsonb_populate_record(NULL::entities, v.state) AS former
        WHERE v.namespace = $1 AND v.natural_key = e.natural_key
            AND (SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.until_change_id) > $14
            AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.change_id),
                former.recorded_at) <= $14
    ) AS past
    WHERE e.namespace = $1
        AND visible(e.restricting, $2, $3)
        AND visible(past.restricting, $2, $3)
        AND NOT e.withdrawn
        AND effective_status(past.status, past.archived) IN (1, 3)
        AND (past.expires_at IS NULL OR past.expires_at > $14)
),
reached AS NOT MATERIALIZED (
    SELECT natural_key AS own_key, natural_key AS key, kind FROM live WHERE (SELECT kinds FROM route) = '{}' OR kind = ANY ((SELECT kinds FROM route)::text[])
),
shown_links AS NOT MATERIALIZED (
    SELECT l.source_key, l.relation, l.target_key, l.weight
    FROM (
        SELECT here.source_key, here.relation, here.target_key, here.weight, here.origin
        FROM links AS here
        WHERE here.namespace = $1 AND NOT here.withdrawn
            AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = here.change_id),
                here.recorded_at) <= $14
        UNION ALL
        SELECT v.source_key, v.relation, v.target_key, former.weight, former.origin
        FROM link_versions AS v CROSS JOIN LATERAL jsonb_populate_record(NULL::links, v.state) AS former
        WHERE v.namespace = $1 AND NOT coalesce(former.withdrawn, false)
            AND (SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.until_change_id) > $14
            AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.change_id),
                former.recorded_at) <= $14
    ) AS l
    WHERE ((SELECT relations FROM route) = '{}' OR l.relation = ANY ((SELECT relations FROM route)::text[]))
        AND ($3 OR l.origin = 2 OR EXISTS (
            SELECT FROM link_evidence AS le JOIN observations AS o USING (namespace, observation_id)
            WHERE le.namespace = $1 AND le.source_key = l.source_key AND le.relation = l.relation
                AND le.target_key = l.target_key AND visible(o.restricting, $2, $3) AND NOT o.withdrawn
                AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = o.change_id),
                    o.recorded_at) <= $14))
),
shown_facts AS NOT MATERIALIZED (
    SELECT f.fact_id, f.subject_key, f.predicate, f.object_key, f.confidence
    FROM (
        SELECT here.fact_id, here.subject_key, here.predicate, here.object_key, here.confidence, here.restricting,
            here.evidence_lost, here.closure, here.status, here.archived, here.expires_at, here.obsolete_at,
            here.valid_from, here.valid_to
        FROM facts AS here
        WHERE here.namespace = $1 AND here.object_key IS NOT NULL
            AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = here.change_id),
                here.recorded_at) <= $14
        UNION ALL
        SELECT v.fact_id, v.subject_key, v.predicate, v.object_key, former.confidence, former.restricting,
            former.evidence_lost, former.closure, former.status, former.archived, former.expires_at, former.obsolete_at,
            former.valid_from, former.valid_to
        FROM fact_versions AS v CROSS JOIN LATERAL jsonb_populate_record(NULL::facts, v.state) AS former
        WHERE v.namespace = $1 AND v.object_key IS NOT NULL
            AND (SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.until_change_id) > $14
            AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = v.change_id),
                former.recorded_at) <= $14
    ) AS f
    WHERE ((SELECT relations FROM route) = '{}' OR f.predicate = ANY ((SELECT relations FROM route)::text[]))
        AND visible(f.restricting, $2, $3)
        AND EXISTS (
            SELECT FROM facts AS present
            WHERE present.namespace = $1 AND present.fact_id = f.fact_id
                AND NOT present.withdrawn AND visible(present.restricting, $2, $3))
        AND NOT f.evidence_lost
        AND f.closure <> 4
        AND effective_status(f.status, f.archived) IN (1, 3)
        AND (f.expires_at IS NULL OR f.expires_at > $14)
        AND (f.obsolete_at IS NULL OR f.obsolete_at > (SELECT moment FROM route))
        AND (f.valid_from IS NULL OR f.valid_from <= (SELECT moment FROM route))
        AND (f.valid_to IS NULL OR f.valid_to > (SELECT moment FROM route))
        AND ($3 OR EXISTS (
            SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
            WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3) AND NOT o.withdrawn
                AND coalesce((SELECT known_at FROM changes AS c WHERE c.namespace = $1 AND c.change_id = o.change_id),
                    o.recorded_at) <= $14))
),
members AS NOT MATERIALIZED (
    SELECT NULL::text AS key, NULL::text AS own_key WHERE false
),
{paths};
