-- The graph as a signal of search (RE-3). Numbers as in the statement `search`, whose fragments it uses beside those of
-- walks.

-- fragment: is_near
-- Whether a passage `p` is as near to the query as the nearer half of what the vectors found.
coalesce((SELECT v.embedding <=> $5 FROM {vectors} AS v WHERE v.namespace = $1 AND v.passage_id = p.passage_id) 
    <= (SELECT greatest_distance FROM bounds), false)

-- fragment: is_near_never
-- No vector is compared.
false

-- fragment: shares_rare_word
-- Whether a passage `p` holds a rare word of the query.
coalesce(p.tsv @@ (SELECT query FROM rare), false)

-- name: graph_signal
-- Passages that a walk comes to from the entities that the query names, and from those that own the best passages or are the
-- subject of the facts among them, if these are relevant themselves. Of a path the weight is that of its beginning, times those
-- of its steps, times a factor a step. Each step must lead to an entity of which a text of its own is near to the query or
-- holds a rare word of it: so that what a hub links, or a common word, brings nothing of another topic. Told are the facts that
-- were walked over, and of what was come to the entity and its relevant pieces of text. The last parameter has the
-- bounds, as in `bounds`.
WITH RECURSIVE parameters AS (
{parameters}
),
bounds AS MATERIALIZED (
    SELECT *
    FROM jsonb_to_record(${last}::jsonb) AS given (
        passage_ids bigint[],
        weights float8[],
        anchors text[],
        -- Whether the beginnings are told too.
        begun_told boolean,
        greatest_distance float8,
        depth integer,
        -- Edges of an entity, the heaviest.
        fan_out bigint,
        -- Of a path.
        least_weight float8,
        step_factor float8,
        -- Of a length.
        paths bigint,
        -- Of an entity.
        texts bigint)
),
route AS MATERIALIZED (
    SELECT
        coalesce($8, now()) AS moment,
        '{}'::text[] AS relations,
        '{}'::text[] AS kinds,
        true AS outgoing,
        true AS incoming,
        fan_out,
        least_weight
    FROM bounds
),
{edges},
-- Of a namespace's passages no more than the square root of their number hold a rare word.
rare AS MATERIALIZED (
    SELECT string_agg(asked.query::text, ' | ')::tsquery AS query
    FROM (
{asked}
    ) AS asked
    WHERE asked.is_term AND sqrt($11) >= (
        SELECT count(*)
        FROM (
            SELECT FROM passages AS p
            WHERE p.namespace = $1 AND NOT p.hidden AND p.tsv @@ asked.query AND visible(p.restricting, $2, $3)
            LIMIT floor(sqrt($11))::bigint + 1
        ) AS holding
    )
),
-- By key, whatever the planner thinks of their number: before statistics are made it would join all entities to all.
named AS MATERIALIZED (
    SELECT coalesce(f.subject_key, p.owner_key) AS key, best.weight
    FROM bounds CROSS JOIN unnest(bounds.passage_ids, bounds.weights) AS best (passage_id, weight)
        CROSS JOIN LATERAL (
            SELECT passage_id, kind, owner_key, tsv FROM passages WHERE namespace = $1 AND passage_id = best.passage_id OFFSET 0
        ) AS p
        LEFT JOIN LATERAL (
            SELECT subject_key FROM facts WHERE p.kind = 2 AND namespace = $1 AND fact_id = p.owner_key OFFSET 0
        ) AS f ON true
    WHERE {shares_rare_word} OR {near}
    UNION ALL
    SELECT anchor.key, 1 FROM bounds CROSS JOIN unnest(bounds.anchors) AS anchor (key)
),
graph_seeds AS MATERIALIZED (
    SELECT seed.key AS owner_key, max(named.weight) AS weight
    FROM named CROSS JOIN LATERAL (SELECT reached.key FROM reached WHERE reached.own_key = named.key OFFSET 0) AS seed
    GROUP BY seed.key
    HAVING max(named.weight) >= (SELECT least_weight FROM bounds)
),
walk AS (
    SELECT 0 AS depth, ARRAY[owner_key] AS keys, '' AS fact_id, weight FROM graph_seeds
    UNION ALL
    SELECT next.*
    FROM (
        SELECT walk.depth + 1, walk.keys || step.key, step.fact_id, walk.weight * step.weight * (SELECT step_factor FROM bounds) AS weight
        FROM {reaching} AS walk
            CROSS JOIN LATERAL (
{steps}
            ) AS step
            CROSS JOIN LATERAL (
                SELECT count(*) AS texts, coalesce(bool_or({shares_rare_word} OR {near}), false) AS is_relevant
                FROM (
                    SELECT p.passage_id, p.tsv
                    FROM passages AS p
                    WHERE p.namespace = $1 AND p.kind IN (1, 3, 4) AND p.owner_key = step.key AND {passes}
                    ORDER BY p.kind DESC, p.ordinal
                    LIMIT 20
                ) AS p
            ) AS own
        WHERE walk.depth < (SELECT depth FROM bounds)
            AND step.place <= (SELECT fan_out FROM route)
            -- What is only named, and has no text, is told by its key and by the sentence that names it; but the words of
            -- that are those of the other end too.
            AND (own.is_relevant OR (own.texts = 0 AND (
                coalesce(
                    lexemes(substr(step.key, strpos(step.key, ':') + 1)) @@ (SELECT query FROM rare), false)
                OR EXISTS (
                    SELECT FROM passages AS p
                    WHERE p.namespace = $1 AND p.kind = 2 AND p.owner_key = step.fact_id AND {passes} AND {near}))))
        ORDER BY weight DESC, 2, 3
        LIMIT (SELECT paths FROM bounds)
    ) AS next (depth, keys, fact_id, weight)
),
graph_found AS MATERIALIZED (
    SELECT found.passage_id, max(found.weight) AS weight
    FROM (
        SELECT p.passage_id, walk.weight
        FROM walk JOIN passages AS p ON p.namespace = $1 AND p.kind = 2 AND p.owner_key = walk.fact_id
        WHERE walk.depth > 0 AND walk.fact_id <> '' AND {passes} AND {filter}
        UNION ALL
        SELECT p.passage_id, come_to.weight
        FROM (
            SELECT keys[depth + 1] AS key, max(weight) AS weight FROM walk WHERE depth > 0 OR (SELECT begun_told FROM bounds) GROUP BY 1
        ) AS come_to CROSS JOIN LATERAL (
            SELECT p.passage_id
            FROM passages AS p
            WHERE p.namespace = $1 AND p.kind IN (1, 3, 4) AND p.owner_key = come_to.key AND {passes} AND {filter}
                AND (p.kind <> 1 OR {shares_rare_word} OR {near})
            ORDER BY p.kind DESC, p.ordinal
            LIMIT (SELECT texts FROM bounds)
        ) AS p
    ) AS found
    GROUP BY found.passage_id
    ORDER BY weight DESC, found.passage_id
    LIMIT $6
)
SELECT
    p.passage_id,
    p.kind,
    p.owner_key,
    p.ordinal,
    CASE WHEN p.status = 1 AND EXISTS (
        SELECT FROM stale_marks AS mark
        WHERE mark.namespace = $1 AND mark.item_key = p.owner_key
            AND mark.item_kind = CASE p.kind WHEN 2 THEN 2 ELSE 3 END) THEN 3 ELSE p.status END AS status,
    p.importance,
    p.author_key,
    octet_length(p.text) - length(p.text) < $15 * length(p.text) AS is_latin,
    graph_found.weight
FROM graph_found JOIN passages AS p ON p.namespace = $1 AND p.passage_id = graph_found.passage_id;
