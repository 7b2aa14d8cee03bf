-- The yardstick of Search: a hybrid in one statement on the same tables, as a competent engineer would write it.

-- name: raw_words
-- The lexemes of a query's text $1, joined by OR, as text: what `raw_search` takes as its $2. Empty: nothing to look for.
SELECT coalesce(string_agg(array_to_tsvector(ARRAY[lexeme])::text, ' | '), '') FROM unnest(lexemes($1));

-- name: raw_search
-- {vectors}: the table of the active space. $1 namespace, $2 words as `raw_words` gives them, $3 the query's vector (halfvec,
-- bound in binary). The first 100 by `ts_rank` and the nearest 100 by cosine, whichever plan the planner likes, fused by
-- reciprocal ranks with k = 60; the best 10 with their text.
WITH words AS (
    SELECT passage_id, row_number() OVER (ORDER BY score DESC) AS place
    FROM (
        SELECT passage_id, ts_rank(tsv, $2::text::tsquery) AS score
        FROM passages
        WHERE namespace = $1 AND NOT hidden AND tsv @@ $2::text::tsquery
        ORDER BY score DESC
        LIMIT 100
    ) AS best
),
meaning AS (
    SELECT passage_id, row_number() OVER (ORDER BY distance) AS place
    FROM (
        SELECT passage_id, embedding <=> $3 AS distance
        FROM {vectors}
        WHERE namespace = $1 AND NOT hidden
        ORDER BY embedding <=> $3
        LIMIT 100
    ) AS nearest
),
fused AS (
    SELECT passage_id, sum(1.0 / (60 + place)) AS score
    FROM (SELECT * FROM words UNION ALL SELECT * FROM meaning) AS found
    GROUP BY passage_id
    ORDER BY score DESC, passage_id
    LIMIT 10
)
SELECT p.passage_id, p.owner_key, p.ordinal, p.title, p.text, fused.score
FROM fused JOIN passages AS p ON p.namespace = $1 AND p.passage_id = fused.passage_id
ORDER BY fused.score DESC, p.passage_id;
