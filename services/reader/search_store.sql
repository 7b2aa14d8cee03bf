-- The statements of a search. Throughout: $1 the namespace, $2 the restricting labels that the caller holds, $3 whether
-- restricting labels hide nothing from it.
--
-- `search` itself is put together of fragments: of each signal the way that fits the size of the namespace, and filters
-- only where the request has any. Its other parameters are named in `parameters`.

-- name: prepare_search
-- The active vector space, and the number of passages that the caller may see, counted up to $4.
SELECT size.passages, space.fingerprint, space.table_name
FROM (
    SELECT count(*) AS passages
    FROM (
        SELECT FROM passages
        WHERE namespace = $1 AND ($3 OR (NOT hidden AND visible(restricting, $2, $3)))
        LIMIT $4
    ) AS counted
) AS size LEFT JOIN embedding_spaces AS space ON space.state = 'active';

-- name: prefer_index_order
-- Makes the walk over the vector index cheaper than any plan that sorts.
SET LOCAL enable_sort = off;

-- name: has_vectors
-- Whether anything of the namespace that the caller may see has a vector.
SELECT EXISTS (
    SELECT FROM {vectors} WHERE namespace = $1 AND NOT hidden AND visible(restricting, $2, $3)
);

-- name: has_lexemes_left_out
-- Whether the query $1 has more than $2 lexemes.
SELECT length(lexemes($1)) > $2;

-- name: passages_by_id
-- Passages $4, in no order, and whether they have a vector. Only for ids that a search of the same snapshot gave.
SELECT passage_id, kind, owner_key, ordinal, owner_kind, title, heading, text, source_path, token_count, meta,
    embedding_hash, observation_id, source_system, source_stream, occurred_at, valid_from, valid_to, importance,
    CASE WHEN p.status = 1 AND EXISTS (
        SELECT FROM stale_marks AS mark
        WHERE mark.namespace = $1 AND mark.item_key = p.owner_key
            AND mark.item_kind = CASE p.kind WHEN 2 THEN 2 ELSE 3 END) THEN 3 ELSE p.status END AS status, scopes,
    {embedded} AS embedded
FROM passages AS p
WHERE namespace = $1 AND passage_id = ANY ($4) AND visible(restricting, $2, $3);

-- fragment: has_vector
EXISTS (SELECT FROM {vectors} AS v WHERE v.namespace = $1 AND v.passage_id = p.passage_id)

-- fragment: has_none
false

-- fragment: parameters
-- Never run: what each parameter is, so that it has a type in the variants that do not use it.
SELECT
    $4::text AS words,
    $5::halfvec AS vector,
    $6::bigint AS most_candidates_a_signal,
    $7::text[] AS labels_of_the_request,
    $8::timestamptz AS moment,
    $9::boolean AS drafts_too,
    -- Who is asking, as rules name their holders.
    $10::text[] AS rule_holders,
    $11::float8 AS visible_passages,
    $12::bigint AS most_lexemes,
    -- A word that occurs more often is not counted further.
    $13::bigint AS most_rows_counted_a_lexeme,
    -- What the rarest lexemes may bring together.
    $14::float8 AS most_rows_scored,
    -- Share of bytes beyond one a character from which a text is not in Latin.
    $15::float8 AS other_script_share,
    $16::smallint[] AS item_kinds,
    $17::text[] AS owner_kinds,
    $18::text[] AS source_systems,
    $19::timestamptz AS occurred_from,
    $20::timestamptz AS occurred_before,
    $21::text[] AS entity_keys,
    -- [{"key", "any_of" | "minimum" and "maximum"}]
    $22::text AS conditions_on_meta

-- fragment: passes
-- What a passage `p` must be to be searched at all. In each signal, so that it acts before ranking.
    NOT p.hidden
    AND visible(p.restricting, $2, $3)
    AND applicable(p.applies, $7)
    AND (p.status IN (1, 3) OR ($9 AND p.status = 2))
    AND (p.expires_at IS NULL OR p.expires_at > now())
    AND (p.kind IN (1, 3) OR (
        (p.valid_from IS NULL OR p.valid_from <= coalesce($8, now()))
        AND (p.valid_to IS NULL OR p.valid_to > coalesce($8, now()))
        -- Rules that have a holder apply to it alone.
        AND (p.kind <> 4 OR coalesce(p.meta ->> 'rule_holder', '') = ''
            OR concat_ws(' ', p.meta ->> 'rule_scope', p.meta ->> 'rule_holder') = ANY ($10))
        -- A fact is visible only where some evidence and both its ends are.
        AND ($3 OR p.kind <> 2 OR EXISTS (
            SELECT FROM facts AS f
            WHERE f.namespace = $1 AND f.fact_id = p.owner_key
                AND NOT EXISTS (
                    SELECT FROM entities AS e
                    WHERE e.namespace = $1 AND e.natural_key IN (f.subject_key, f.object_key)
                        AND NOT visible(e.restricting, $2, $3))
                AND EXISTS (
                    SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
                    WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3))))))

-- fragment: everything
-- The request filters nothing.
    true

-- fragment: wanted
-- What the request filters by.
    ($16 = '{}' OR p.kind = ANY ($16))
    AND ($17 = '{}' OR (p.kind <> 2 AND p.owner_kind = ANY ($17)))
    AND ($18 = '{}' OR p.source_system = ANY ($18))
    AND ($19 IS NULL OR p.occurred_at >= $19)
    AND ($20 IS NULL OR p.occurred_at < $20)
    AND ($21 = '{}' OR p.owner_key = ANY ($21) OR (p.kind = 2 AND EXISTS (
        SELECT FROM facts AS f
        WHERE f.namespace = $1 AND f.fact_id = p.owner_key AND f.subject_key = ANY ($21))))
    AND ($22 = '[]' OR NOT EXISTS (
        SELECT FROM jsonb_array_elements($22::jsonb) AS condition
        WHERE NOT CASE
            WHEN condition ? 'any_of' THEN EXISTS (
                SELECT FROM jsonb_array_elements(condition -> 'any_of') AS asked
                WHERE p.meta -> (condition ->> 'key') @> asked)
            -- A value that is no number never matches, and never fails the query.
            WHEN jsonb_typeof(p.meta -> (condition ->> 'key')) = 'number' THEN
                (p.meta -> (condition ->> 'key'))::numeric
                BETWEEN (condition ->> 'minimum')::numeric AND (condition ->> 'maximum')::numeric
            ELSE false
        END))

-- fragment: nearest_none
-- No vector is compared.
    SELECT NULL::bigint AS passage_id, NULL::float8 AS distance WHERE false

-- fragment: nearest_exact
-- The sum keeps the planner from walking the index. Sorted before the join, so that the rest of the filter is asked of
-- the nearest only, until enough have passed it.
    SELECT v.passage_id, v.distance
    FROM (
        SELECT passage_id, (embedding <=> $5) + 0 AS distance
        FROM {vectors}
        WHERE namespace = $1 AND NOT hidden AND visible(restricting, $2, $3) AND applicable(applies, $7)
        ORDER BY distance, passage_id
        OFFSET 0
    ) AS v JOIN passages AS p ON p.namespace = $1 AND p.passage_id = v.passage_id
    WHERE {passes} AND {filter}
    ORDER BY v.distance, v.passage_id
    LIMIT $6

-- fragment: nearest_approximate
-- Only the bare operator can use the index; its order is nearly right, and the caller sorts again.
    SELECT v.passage_id, v.embedding <=> $5 AS distance
    FROM {vectors} AS v JOIN passages AS p ON p.namespace = $1 AND p.passage_id = v.passage_id
    WHERE v.namespace = $1 AND NOT v.hidden AND visible(v.restricting, $2, $3) AND applicable(v.applies, $7)
        AND {passes} AND {filter}
    ORDER BY v.embedding <=> $5
    LIMIT $6

-- fragment: asked
-- The query's lexemes. Stems are the terms by which coverage is told. Of the exact forms those without a stem are stop
-- words, and left out, unless the query has nothing else. The longest first: of a query that is too long, these are likely
-- the rarest.
    SELECT
        own.lexeme,
        own.lexeme = ANY (stems.found) OR stems.found = '{}' AS is_term,
        array_to_tsvector(ARRAY[own.lexeme])::text::tsquery AS query
    FROM (SELECT tsvector_to_array(to_tsvector('pg_catalog.russian', normal_form($4))) AS found OFFSET 0) AS stems,
        unnest(lexemes($4)) AS own
    WHERE stems.found = '{}'
        OR own.lexeme = ANY (stems.found)
        OR to_tsvector('pg_catalog.russian', own.lexeme) <> ''::tsvector
    ORDER BY length(own.lexeme) DESC, own.lexeme
    LIMIT $12

-- fragment: rarity
-- Of a lexeme that `rows` of the visible passages hold. What occurs nowhere weighs as what occurs once.
    ln(1 + (greatest($11 - greatest(rows, 1), 0) + 0.5) / (greatest(rows, 1) + 0.5))

-- fragment: words_none
-- No word is looked up.
weighed AS (
    SELECT NULL::float8 AS idf, NULL::boolean AS is_term WHERE false
),
scored AS (
    SELECT NULL::bigint AS passage_id, NULL::float8 AS words, NULL::float8 AS covered WHERE false
),

-- fragment: words_of_few
-- In a small namespace every passage that holds a word is scored, and its words are counted by the way.
asked AS MATERIALIZED (
{asked}
),
posted AS MATERIALIZED (
    SELECT asked.lexeme, found.passage_id, found.rank, found.is_wanted
    FROM asked CROSS JOIN LATERAL (
        SELECT p.passage_id, ts_rank('{1,1,1,1}', p.tsv, asked.query) AS rank, {filter} AS is_wanted
        FROM passages AS p
        WHERE p.namespace = $1 AND p.tsv @@ asked.query AND {passes}
    ) AS found
),
weighed AS MATERIALIZED (
    SELECT asked.lexeme, asked.is_term, {rarity} AS idf
    FROM asked
        LEFT JOIN (SELECT lexeme, count(*) AS rows FROM posted GROUP BY lexeme) AS counted USING (lexeme)
),
-- Sums run in any order, and their last bits are rounded away later.
scored AS MATERIALIZED (
    SELECT passage_id, sum(idf * rank) AS words, coalesce(sum(idf) FILTER (WHERE is_term), 0) AS covered
    FROM posted JOIN weighed USING (lexeme)
    WHERE is_wanted
    GROUP BY passage_id
),

-- fragment: words_of_many
-- In a large namespace the rarest lexemes bring the candidates, on which all are scored.
asked AS MATERIALIZED (
{asked}
),
-- Rarity within the namespace, among what the caller may see.
weighed AS MATERIALIZED (
    SELECT asked.*, counted.rows AS frequency, {rarity} AS idf
    FROM asked CROSS JOIN LATERAL (
        SELECT count(*) AS rows
        FROM (
            SELECT FROM passages AS p
            WHERE p.namespace = $1 AND NOT p.hidden AND p.tsv @@ asked.query AND visible(p.restricting, $2, $3)
            LIMIT $13
        ) AS matching
    ) AS counted
),
-- The rarest lexemes, until they bring as many rows as may be scored; the rarest always.
rarest AS MATERIALIZED (
    SELECT string_agg(query::text, ' | ')::tsquery AS query
    FROM (
        SELECT
            query,
            sum(frequency) OVER (ORDER BY frequency, lexeme) AS brought,
            row_number() OVER (ORDER BY frequency, lexeme) AS place
        FROM weighed
        WHERE frequency > 0
    ) AS running
    WHERE brought <= $14 OR place = 1
),
matching AS MATERIALIZED (
    (
        SELECT p.passage_id FROM passages AS p
        WHERE p.namespace = $1 AND p.tsv @@ (SELECT query FROM rarest) AND {passes} AND {filter}
        LIMIT $13
    )
    UNION
    SELECT passage_id FROM nearest
),
scored AS MATERIALIZED (
    SELECT p.passage_id, sums.words, sums.covered
    FROM matching AS m
        JOIN passages AS p ON p.namespace = $1 AND p.passage_id = m.passage_id
        CROSS JOIN LATERAL (
            SELECT
                sum(w.idf * ts_rank('{1,1,1,1}', p.tsv, w.query)) AS words,
                coalesce(sum(w.idf) FILTER (WHERE w.is_term), 0) AS covered
            FROM weighed AS w
            WHERE p.tsv @@ w.query
        ) AS sums
    WHERE sums.words IS NOT NULL
),

-- name: search
-- Candidates of all signals with their raw scores, in no order.
WITH parameters AS (
{parameters}
),
nearest AS MATERIALIZED (
{nearest}
),
{words}
ranked AS (
    SELECT scored.*, row_number() OVER (ORDER BY words DESC, passage_id) AS place FROM scored
),
found AS MATERIALIZED (
    SELECT passage_id, nearest.distance, ranked.words, ranked.covered
    FROM ranked FULL JOIN nearest USING (passage_id)
    WHERE nearest.distance IS NOT NULL OR ranked.place <= $6
)
SELECT
    p.passage_id,
    p.kind,
    p.owner_key,
    p.ordinal,
    CASE WHEN p.status = 1 AND (SELECT EXISTS (SELECT FROM stale_marks WHERE namespace = $1)) AND EXISTS (
        SELECT FROM stale_marks AS mark
        WHERE mark.namespace = $1 AND mark.item_key = p.owner_key
            AND mark.item_kind = CASE p.kind WHEN 2 THEN 2 ELSE 3 END) THEN 3 ELSE p.status END AS status,
    p.importance,
    p.author_key,
    -- Bytes beyond one a character: Latin has next to none, every other script at least one a letter.
    octet_length(p.text) - length(p.text) < $15 * length(p.text) AS is_latin,
    found.distance,
    coalesce(found.words, 0) AS words,
    coalesce(found.covered / nullif((SELECT sum(idf) FROM weighed WHERE is_term), 0), 0) AS coverage
FROM found JOIN passages AS p ON p.namespace = $1 AND p.passage_id = found.passage_id;
