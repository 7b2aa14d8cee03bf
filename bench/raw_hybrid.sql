-- The yardstick that the bars of Search are set against: a hybrid in one statement on a table of its own, as an engineer
-- writes it who knows Postgres and pgvector, and has nothing but search to think of.

-- name: raw_hybrid_table
-- Words in English, as the figures that the bars come from were measured.
CREATE TABLE raw_chunks (
    chunk_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    namespace text NOT NULL,
    external_id text NOT NULL,
    body text NOT NULL,
    tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED,
    embedding halfvec(384) NOT NULL,
    UNIQUE (namespace, external_id)
);

-- name: raw_hybrid_words_index
CREATE INDEX ON raw_chunks USING gin (tsv);

-- name: raw_hybrid_vector_index
CREATE INDEX ON raw_chunks USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 64);

-- name: raw_hybrid_source
-- {vectors}: the table of the active space. What Search searches: all passages that have a vector.
SELECT p.namespace, p.passage_id::text, p.text, v.embedding
FROM passages AS p JOIN {vectors} AS v ON v.namespace = p.namespace AND v.passage_id = p.passage_id
WHERE NOT p.hidden
ORDER BY p.passage_id;

-- name: raw_hybrid
-- $1 namespace, $2 the query's vector (halfvec, bound in binary), $3 its words joined by OR, $4 most hits. The nearest 50
-- and the first 50 by `ts_rank`, fused by reciprocal ranks with k = 60; the best with their text.
WITH nearest AS MATERIALIZED (
    SELECT chunk_id, row_number() OVER (ORDER BY distance) AS place
    FROM (
        SELECT chunk_id, embedding <=> $2::halfvec AS distance
        FROM raw_chunks
        WHERE namespace = $1
        ORDER BY embedding <=> $2::halfvec
        LIMIT 50
    ) AS by_distance
),
asked AS (SELECT to_tsquery('english', $3) AS words),
worded AS MATERIALIZED (
    SELECT chunk_id, row_number() OVER (ORDER BY score DESC) AS place
    FROM (
        SELECT c.chunk_id, ts_rank(c.tsv, asked.words) AS score
        FROM raw_chunks AS c, asked
        WHERE c.namespace = $1 AND c.tsv @@ asked.words
        ORDER BY score DESC
        LIMIT 50
    ) AS by_words
),
fused AS (
    SELECT chunk_id, sum(share) AS score
    FROM (
        SELECT chunk_id, 1.0 / (60 + place) AS share FROM nearest
        UNION ALL
        SELECT chunk_id, 1.0 / (60 + place) FROM worded
    ) AS found
    GROUP BY chunk_id
    ORDER BY score DESC
    LIMIT $4
)
SELECT c.external_id, c.body, fused.score
FROM fused JOIN raw_chunks AS c USING (chunk_id)
ORDER BY fused.score DESC;
