-- How items stand in the store. $1 the namespace, $2 the restricting labels that the caller holds, $3 whether restricting
-- labels hide nothing from it.

-- name: standing
-- Of each item, in the order given, where it is stored and which gates of retrieval it passes now, gate by gate. An item is a
-- kind ($31: 1 a chunk, 0 anything else), a key ($32) and an ordinal ($33). The others are named in `parameters`, as are the
-- conditions that are those of a search itself.
WITH parameters AS (
{parameters}
),
query AS MATERIALIZED (
    SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, ' | ')::tsquery AS words FROM unnest(lexemes($4))
)
SELECT
    p.passage_id, coalesce(p.kind, CASE WHEN f.fact_id IS NOT NULL THEN 2 WHEN e.natural_key IS NOT NULL THEN 3 END) AS kind,
    p.ordinal, p.recorded_at, p.text,
    CASE WHEN p.status = 1 AND EXISTS (
        SELECT FROM stale_marks AS mark
        WHERE mark.namespace = $1 AND mark.item_key = p.owner_key
            AND mark.item_kind = CASE p.kind WHEN 2 THEN 2 ELSE 3 END) THEN 3 ELSE p.status END AS status,
    coalesce(p.importance, 0) AS importance,
    coalesce(p.passage_id::text, f.fact_id, e.natural_key) IS NOT NULL AS is_stored,
    -- A fact is visible only where some evidence and both its ends are.
    $3 OR (
        visible(coalesce(p.restricting, '{}'), $2, $3)
        AND visible(coalesce(f.restricting, e.restricting, '{}'), $2, $3)
        AND (f.fact_id IS NULL OR (
            {ends_are_visible}
            AND (f.evidence_lost OR {evidence_is_visible})))
    ) AS is_visible,
    applicable(coalesce(p.applies, f.applies, e.applies, '{}'), $7)
        AND {is_meant} AS is_applicable,
    {those_that_closed_it} AS superseded_by,
    coalesce(f.closure, 0) AS closure,
    coalesce(f.obsolete_at, e.obsolete_at) AS obsolete_at,
    coalesce(p.valid_from, f.valid_from) AS valid_from,
    coalesce(p.valid_to, f.valid_to) AS valid_to,
    (p.kind IS DISTINCT FROM 2 AND p.kind IS DISTINCT FROM 4 AND f.fact_id IS NULL)
        OR ((coalesce(p.valid_from, f.valid_from) IS NULL
                OR coalesce(p.valid_from, f.valid_from) <= coalesce($8, now()))
            AND (coalesce(p.valid_to, f.valid_to) IS NULL
                OR coalesce(p.valid_to, f.valid_to) > coalesce($8, now()))) AS holds,
    coalesce(f.evidence_lost, false) AS is_evidence_lost,
    -- Whether it can still be read by its id.
    CASE WHEN f.fact_id IS NOT NULL THEN NOT (f.withdrawn OR f.evidence_lost)
         WHEN e.natural_key IS NOT NULL THEN NOT e.withdrawn
         ELSE p.kind = 1 AND NOT p.hidden END AS is_readable,
    p.passage_id IS NOT NULL
        AND (p.status IN (1, 3) OR ($9 AND p.status = 2))
        AND (p.expires_at IS NULL OR p.expires_at > now())
        AND NOT p.hidden AS is_current,
    p.passage_id IS NOT NULL AND (
{wanted}
    ) AS is_wanted,
    coalesce(p.tsv @@ (SELECT words FROM query), false) AS has_words
FROM unnest($31::smallint[], $32::text[], $33::integer[]) WITH ORDINALITY AS item (kind, key, ordinal, place)
LEFT JOIN LATERAL (
    SELECT *
    FROM passages
    WHERE passages.namespace = $1 AND passages.owner_key = item.key
        AND CASE WHEN item.kind = 1 THEN passages.kind = 1 AND passages.ordinal = item.ordinal
                 ELSE passages.kind IN (2, 3, 4) END
    -- An entity may have a passage of its own beside that of its record.
    ORDER BY passages.hidden, passages.kind DESC
    LIMIT 1
) AS p ON true
LEFT JOIN facts AS f ON f.namespace = $1 AND f.fact_id = item.key AND item.kind <> 1
LEFT JOIN entities AS e ON e.namespace = $1 AND e.natural_key = item.key AND item.kind <> 1
ORDER BY item.place;
