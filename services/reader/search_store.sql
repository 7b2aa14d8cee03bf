-- The statements of a search. Throughout: $1 the namespace, $2 the restricting labels that the caller holds, $3 whether
-- restricting labels hide nothing from it.
--
-- `search` itself is put together of fragments: of each signal the way that fits the size of the namespace, and filters
-- only where the request has any. Its other parameters are named in `parameters`.

-- fragment: settings
-- How the namespace behaves, as JSON; NULL: by default.
(SELECT settings FROM namespace_settings WHERE namespace = $1 ORDER BY version DESC LIMIT 1)

-- fragment: has_edges
-- Whether the namespace has a graph at all.
(EXISTS (SELECT FROM links WHERE namespace = $1)
    OR EXISTS (SELECT FROM facts WHERE namespace = $1 AND object_key IS NOT NULL))

-- fragment: fact_shown
-- Whether of a fact, whose passage is `p`, some evidence and both ends are visible. The labels of its passage tell that, too; what is
-- shown does not rest on these alone.
EXISTS (
            SELECT FROM facts AS f
            WHERE f.namespace = $1 AND f.fact_id = p.owner_key
                AND {ends_are_visible}
                AND {evidence_is_visible})

-- fragment: planned
-- How what follows is planned, by whether the namespace is small, whoever sees what is in it. All that is searched there is
-- found by the namespace in an index, so that one plan fits all, and the time to make others is saved.
set_config('plan_cache_mode', CASE WHEN few.are_all THEN 'force_generic_plan' ELSE 'force_custom_plan' END, true),
    set_config('enable_seqscan', CASE WHEN few.are_all THEN 'off' ELSE 'on' END, true)

-- name: prepare_search
-- The active vector space, the namespace's settings, whether it has a graph, whether it is small, and the number of passages,
-- counted up to $4; of at most $5 it is small. For a caller from whom labels hide nothing: the index alone tells the number.
SELECT size.passages, space.fingerprint, space.table_name, space.first_pass, space.first_pass_dimension,
    NULL::bigint[] AS label_sets, {settings} AS settings,
    {has_edges} AS has_edges, few.are_all AS is_few, {planned}
FROM (
    SELECT count(*) AS passages
    FROM (SELECT FROM passages WHERE namespace = $1 AND NOT hidden LIMIT $4) AS counted
    WHERE $3::boolean OR $2::text[] IS NULL
) AS size CROSS JOIN LATERAL (SELECT size.passages <= $5::bigint AS are_all) AS few
    LEFT JOIN embedding_spaces AS space ON space.state = 'active';

-- name: prepare_labelled_search
-- As above, where labels hide something: also which sets of labels caller and request ($5) let through; NULL where the
-- namespace has more than $6 sets: then rows are asked one by one, for the same. Of at most $7 passages it is small. How it is searched
-- goes by what the caller may see of it, so that what is hidden changes no score; how that is planned goes by all. Each set is found by
-- one step over the index, however many rows have it.
WITH RECURSIVE met AS (
    (
        SELECT label_set(restricting, applies) AS id, restricting, applies
        FROM passages
        WHERE namespace = $1 AND NOT hidden
        ORDER BY label_set(restricting, applies)
        LIMIT 1
    )
    UNION ALL
    SELECT next.*
    FROM met AS last CROSS JOIN LATERAL (
        SELECT label_set(restricting, applies) AS id, restricting, applies
        FROM passages
        WHERE namespace = $1 AND NOT hidden AND label_set(restricting, applies) > last.id
        ORDER BY label_set(restricting, applies)
        LIMIT 1
    ) AS next
),
label_sets AS MATERIALIZED (
    SELECT
        coalesce(array_agg(id) FILTER (WHERE visible(restricting, $2, $3)), '{}') AS visible,
        coalesce(array_agg(id) FILTER (WHERE visible(restricting, $2, $3) AND applicable(applies, $5)), '{}') AS applying,
        count(*) <= $6 AS are_all,
        $3 OR (count(*) <= $6 AND bool_and(visible(restricting, $2, $3))) AS hide_nothing
    FROM (SELECT * FROM met LIMIT $6::bigint + 1) AS looked_at
),
-- One part of three. Where nothing is hidden, the index alone tells it.
counted AS (
    (
        SELECT FROM passages
        WHERE (SELECT hide_nothing FROM label_sets) AND namespace = $1 AND NOT hidden
        LIMIT $4
    )
    UNION ALL
    (
        SELECT FROM passages
        WHERE (SELECT are_all AND NOT hide_nothing FROM label_sets)
            AND namespace = $1
            AND NOT hidden
            AND label_set(restricting, applies) = ANY ((SELECT visible FROM label_sets)::bigint[])
            AND visible(restricting, $2, $3)
        LIMIT $4
    )
    UNION ALL
    (
        SELECT FROM passages
        WHERE (SELECT NOT are_all AND NOT hide_nothing FROM label_sets)
            AND namespace = $1
            AND NOT hidden
            AND visible(restricting, $2, $3)
        LIMIT $4
    )
)
SELECT size.passages, space.fingerprint, space.table_name, space.first_pass, space.first_pass_dimension,
    CASE WHEN label_sets.are_all THEN applying END AS label_sets,
    {settings} AS settings, {has_edges} AS has_edges, size.passages <= $7 AS is_few, {planned}
FROM (
        SELECT count(*) <= $7 AS are_all
        FROM (SELECT FROM passages WHERE namespace = $1 AND NOT hidden LIMIT $7::bigint + 1) AS some_of_all
    ) AS few CROSS JOIN label_sets
    CROSS JOIN (SELECT count(*) AS passages FROM counted) AS size
    LEFT JOIN embedding_spaces AS space ON space.state = 'active';

-- name: walks_index
-- Whether the vector index is walked. Comparing all takes time by the rows that are let through, a walk by the inverse of
-- their share of the index, of which the namespace has a partition: it is taken where rows times share are more than $5, and
-- the share more than $6. Then the planner is made to walk: to it, sorting looks cheaper. $4 the sets of labels that are let
-- through, $7 the labels of the request.
WITH parameters AS (
    SELECT $2::text[] AS granted, $3::boolean AS sees_all, $4::bigint[] AS label_sets, $5::float8 AS exact_scan_rows,
        $7::text[] AS labels_of_the_request
),
bound AS MATERIALIZED (
    SELECT ceil(greatest($5, sqrt($5 * index.rows), $6::float8 * index.rows))::bigint AS rows
    FROM (
        SELECT greatest(max(pg_class.reltuples), 0)::float8 AS rows
        FROM (SELECT tableoid FROM {vectors} WHERE namespace = $1 LIMIT 1) AS one
            JOIN pg_class ON pg_class.oid = one.tableoid
    ) AS index
),
decided AS MATERIALIZED (
    SELECT count(*) > (SELECT rows FROM bound) AS walks
    FROM (
        SELECT FROM {vectors} AS v
        WHERE namespace = $1 AND NOT hidden AND {labels_counted}
        LIMIT (SELECT rows + 1 FROM bound)
    ) AS counted
)
SELECT walks, CASE WHEN walks THEN set_config('enable_sort', 'off', true) END FROM decided;

-- fragment: counted_by_set
label_set = ANY ($4)

-- fragment: counted_by_row
visible(restricting, $2, $3) AND applicable(applies, $7)

-- name: has_vectors
-- Whether anything of the namespace that the caller may see has a vector.
SELECT EXISTS (
    SELECT FROM {vectors} WHERE namespace = $1 AND NOT hidden AND visible(restricting, $2, $3)
);

-- name: has_lexemes_left_out
-- Whether the query $1 has more than $2 lexemes.
SELECT length(lexemes($1)) > $2;

-- name: passages_by_id
-- Passages $4, in no order, and whether they have a vector; of each the observation that it came from, if that is visible.
-- Only for ids that a search of the same snapshot gave.
SELECT p.passage_id, p.kind, p.owner_key, p.ordinal, p.owner_kind, p.title, p.heading, p.text, p.source_path, p.token_count,
    p.meta, p.embedding_hash, p.observation_id, p.source_system, p.source_stream, p.occurred_at, p.valid_from, p.valid_to,
    p.importance,
    CASE WHEN p.status = 1 AND EXISTS (
        SELECT FROM stale_marks AS mark
        WHERE mark.namespace = $1 AND mark.item_key = p.owner_key
            AND mark.item_kind = CASE p.kind WHEN 2 THEN 2 ELSE 3 END) THEN 3 ELSE p.status END AS status, p.scopes,
    {embedded} AS embedded,
    o.observation_id AS origin_id, o.source_system AS origin_system, o.source_stream AS origin_stream, o.external_id,
    o.revision, o.occurred_at AS origin_occurred_at, o.actor_key, o.message
FROM passages AS p LEFT JOIN LATERAL (
    SELECT * FROM observations
    WHERE namespace = $1 AND observation_id = p.observation_id AND visible(restricting, $2, $3) AND NOT withdrawn
    OFFSET 0
) AS o ON true
WHERE p.namespace = $1 AND p.passage_id = ANY ($4) AND visible(p.restricting, $2, $3);

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
    -- Candidates at the head of a signal's list whose neighbours count.
    $16::bigint AS most_leading,
    $17::bigint AS most_authors,
    $18::smallint[] AS item_kinds,
    $19::text[] AS owner_kinds,
    $20::text[] AS source_systems,
    $21::timestamptz AS occurred_from,
    $22::timestamptz AS occurred_before,
    $23::text[] AS entity_keys,
    -- [{"key", "any_of" | "minimum" and "maximum"}]
    $24::text AS conditions_on_meta,
    -- What caller and request let through, where it is known.
    $25::bigint[] AS label_sets,
    -- What the query's words are looked up by.
    $26::boolean AS stems,
    $27::boolean AS exact_forms,
    -- The window that the query's words speak of; both NULL: none. One end may be open.
    $28::timestamptz AS window_start,
    $29::timestamptz AS window_before,
    -- People speak of what has happened for a while after it.
    $30::interval AS spoken_of_for

-- fragment: is_meant
-- Rules that have a holder apply to it alone.
(p.kind <> 4 OR coalesce(p.meta ->> 'rule_holder', '') = ''
            OR concat_ws(' ', p.meta ->> 'rule_scope', p.meta ->> 'rule_holder') = ANY ($10))

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
        AND {is_meant}
        -- A fact is visible only where some evidence and both its ends are.
        AND ($3 OR p.kind <> 2 OR {fact_shown})))

-- fragment: everything
-- The request filters nothing.
    true

-- fragment: wanted
-- What the request filters by.
    ($18 = '{}' OR p.kind = ANY ($18))
    AND ($19 = '{}' OR (p.kind <> 2 AND p.owner_kind = ANY ($19)))
    AND ($20 = '{}' OR p.source_system = ANY ($20))
    AND ($21 IS NULL OR p.occurred_at >= $21)
    AND ($22 IS NULL OR p.occurred_at < $22)
    AND ($23 = '{}' OR p.owner_key = ANY ($23) OR (p.kind = 2 AND EXISTS (
        SELECT FROM facts AS f
        WHERE f.namespace = $1 AND f.fact_id = p.owner_key AND f.subject_key = ANY ($23))))
    AND ($24 = '[]' OR NOT EXISTS (
        SELECT FROM jsonb_array_elements($24::jsonb) AS condition
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

-- fragment: here_prepared
-- What the search meets is known from the same snapshot.
    SELECT $11 AS passages, true AS is_few

-- fragment: here_remembered
-- What `prepare_search` tells, found out by the way. Where the namespace has more than $31 passages, nothing is sought.
    SELECT size.passages::float8, space.fingerprint, space.table_name, space.first_pass, space.first_pass_dimension,
        NULL::bigint[] AS label_sets, {settings} AS settings, {has_edges} AS has_edges, size.passages <= $31::bigint AS is_few
    FROM (
        SELECT count(*) AS passages
        FROM (SELECT FROM passages WHERE namespace = $1 AND NOT hidden LIMIT $31::bigint + 1) AS counted
    ) AS size LEFT JOIN embedding_spaces AS space ON space.state = 'active'

-- fragment: nearest_none
-- No vector is compared.
    SELECT NULL::bigint AS passage_id, NULL::float8 AS distance WHERE false

-- fragment: labels_by_set
-- A filter of a few numbers, with an index. `passes` asks each that is found for its labels themselves.
    v.label_set = ANY ($25)

-- fragment: labels_by_row
-- Nothing where nothing is hidden.
    visible(v.restricting, $2, $3) AND applicable(v.applies, $7)

-- fragment: by_distance
-- All vectors, the nearest first. The sum keeps the planner from walking the index.
        SELECT v.passage_id, (v.embedding <=> $5) + 0 AS distance
        FROM {vectors} AS v
        WHERE v.namespace = $1 AND NOT v.hidden AND {labels}
        ORDER BY distance, v.passage_id
        OFFSET 0

-- fragment: nearest_exact
-- Sorted before the join, so that the rest of the filter is asked of the nearest only, until enough have passed it.
    SELECT v.passage_id, v.distance
    FROM (
{by_distance}
    ) AS v JOIN passages AS p ON p.namespace = $1 AND p.passage_id = v.passage_id
    WHERE {passes} AND {filter}
    ORDER BY v.distance, v.passage_id
    LIMIT $6

-- fragment: nearest_of_few
-- As above, where all is few: of the nearest each is looked up by its key, and none beyond the last that is wanted. A plan
-- for every namespace would rather hold each against all.
    SELECT v.passage_id, v.distance
    FROM (
{by_distance}
    ) AS v CROSS JOIN LATERAL (
        SELECT FROM passages AS p
        WHERE p.namespace = $1 AND p.passage_id = v.passage_id AND {passes} AND {filter}
        OFFSET 0
    ) AS p
    WHERE (SELECT is_few FROM here)
    ORDER BY v.distance, v.passage_id
    LIMIT $6

-- fragment: by_whole
v.embedding <=> $5

-- fragment: by_bits
{vectors}_binary(v.embedding)::bit({dimension}) <~> {vectors}_binary($5)::bit({dimension})

-- fragment: by_beginning
{vectors}_truncated(v.embedding)::halfvec({dimension}) <=> {vectors}_truncated($5)::halfvec({dimension})

-- fragment: nearest_approximate
-- Only the bare operator over what the index holds can use it; its order is nearly right, of less than whole vectors less so,
-- and several times as many are held against the query whole. Where the rest of the filter lets so little through that the walk
-- gave up, all is compared after all.
    WITH walked AS MATERIALIZED (
        SELECT passage_id, distance
        FROM (
            SELECT v.passage_id, v.embedding <=> $5 AS distance
            FROM {vectors} AS v JOIN passages AS p ON p.namespace = $1 AND p.passage_id = v.passage_id
            WHERE v.namespace = $1 AND NOT v.hidden AND {labels} AND {passes} AND {filter}
            ORDER BY {walked_by}
            LIMIT {times} * $6
        ) AS met
        ORDER BY distance, passage_id
        LIMIT $6
    )
    SELECT passage_id, distance FROM walked WHERE (SELECT count(*) FROM walked) >= $6
    UNION ALL
    SELECT passage_id, distance
    FROM (
{nearest_exact}
    ) AS compared
    WHERE (SELECT count(*) FROM walked) < $6

-- fragment: asked
-- The query's lexemes. Stems are the terms by which coverage is told. Of the exact forms those without a stem are stop
-- words, and left out, unless the query has nothing else. The longest first: of a query that is too long, these are likely
-- the rarest.
    SELECT
        own.lexeme,
        own.lexeme = ANY (stems.found) OR stems.found = '{}' AS is_term,
        array_to_tsvector(ARRAY[own.lexeme])::text::tsquery AS query
    FROM (
            SELECT tsvector_to_array(to_tsvector('pg_catalog.russian', normal_form($4))) AS found WHERE $26
            UNION ALL SELECT '{}' WHERE NOT $26
        ) AS stems,
        unnest(CASE WHEN $26 AND $27 THEN lexemes($4)
            WHEN $26 THEN to_tsvector('pg_catalog.russian', normal_form($4))
            ELSE to_tsvector('pg_catalog.simple', normal_form($4)) END) AS own
    WHERE stems.found = '{}'
        OR own.lexeme = ANY (stems.found)
        OR to_tsvector('pg_catalog.russian', own.lexeme) <> ''::tsvector
    ORDER BY length(own.lexeme) DESC, own.lexeme
    LIMIT $12

-- fragment: rarity
-- Of a lexeme that `rows` of the visible passages hold. What occurs nowhere weighs as what occurs once.
    ln(1 + (greatest((SELECT passages FROM here) - greatest(rows, 1), 0) + 0.5) / (greatest(rows, 1) + 0.5))

-- fragment: words_none
-- No word is looked up.
asked AS (
    SELECT NULL::text AS lexeme WHERE false
),
weighed AS (
    SELECT NULL::float8 AS idf, NULL::boolean AS is_term WHERE false
),
scored AS (
    SELECT NULL::bigint AS passage_id, NULL::float8 AS words, NULL::float8 AS covered WHERE false
),
unheld AS (
    SELECT NULL::text[] AS unknown
),

-- fragment: words_of_few
-- In a small namespace every passage that holds a word is scored, and its words are counted by the way.
asked AS MATERIALIZED (
{asked}
),
weighed AS MATERIALIZED (
    SELECT asked.lexeme, asked.is_term, held.rows AS frequency, {rarity} AS idf, held.passage_ids, held.ranks
    FROM asked CROSS JOIN LATERAL (
        SELECT
            count(*) AS rows,
            array_agg(found.passage_id) FILTER (WHERE found.is_wanted) AS passage_ids,
            array_agg(found.rank) FILTER (WHERE found.is_wanted) AS ranks
        FROM (
            SELECT p.passage_id, ts_rank('{1,1,1,1}', p.tsv, asked.query) AS rank, {filter} AS is_wanted
            FROM passages AS p
            WHERE p.namespace = $1 AND p.tsv @@ asked.query AND {passes}
        ) AS found
    ) AS held
    WHERE (SELECT is_few FROM here)
),
-- Sums run in any order, and their last bits are rounded away later.
scored AS MATERIALIZED (
    SELECT
        posted.passage_id,
        sum(idf * posted.rank * CASE WHEN is_term THEN 1::float8 ELSE 0.5::float8 END) AS words,
        coalesce(sum(idf) FILTER (WHERE is_term), 0) AS covered
    FROM weighed CROSS JOIN LATERAL (
        SELECT unnest(passage_ids) AS passage_id, unnest(ranks) AS rank
    ) AS posted
    GROUP BY posted.passage_id
),
{unheld}

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
        -- Unpacked once, and not by each function of each word: a third of the time.
        CROSS JOIN LATERAL (SELECT p.tsv || ''::tsvector AS tsv OFFSET 0) AS unpacked
        CROSS JOIN LATERAL (
            SELECT
                sum(w.idf * ts_rank('{1,1,1,1}', unpacked.tsv, w.query) * CASE WHEN w.is_term THEN 1::float8 ELSE 0.5::float8 END) AS words,
                coalesce(sum(w.idf) FILTER (WHERE w.is_term), 0) AS covered
            FROM weighed AS w
            WHERE unpacked.tsv @@ w.query
        ) AS sums
    WHERE sums.words IS NOT NULL
),
{unheld}

-- fragment: unheld
-- The query's words that occur nowhere, nor do their stems. Only of letters: what has digits is an identifier.
unheld AS MATERIALIZED (
    SELECT array_agg(form.lexeme) AS unknown
    FROM weighed AS form
    WHERE form.frequency = 0 AND length(form.lexeme) BETWEEN 5 AND 40 AND form.lexeme ~ '^[[:alpha:]]+$'
        AND form.lexeme = ANY ((SELECT tsvector_to_array(to_tsvector('pg_catalog.simple', normal_form($4))))::text[])
        AND NOT EXISTS (
            SELECT FROM weighed AS stem
            WHERE stem.frequency > 0
                AND stem.lexeme = ANY (tsvector_to_array(to_tsvector('pg_catalog.russian', form.lexeme))))
),

-- fragment: alike
-- Names like the words $31, NULL: like any of the query's, and identifiers that those of the query are a part of. The longest
-- four of each, since each costs an index scan.
sought AS MATERIALIZED (
    (
        SELECT word AS held, word, NULL::text AS pattern
        FROM unnest(coalesce($31::text[], (
            SELECT array_agg(lexeme)
            FROM asked
            WHERE length(lexeme) BETWEEN 5 AND 40 AND lexeme ~ '^[[:alpha:]]+$'
                AND lexeme = ANY ((SELECT tsvector_to_array(to_tsvector('pg_catalog.simple', normal_form($4))))::text[])
        ))) AS given (word)
        ORDER BY length(word) DESC, word
        LIMIT 4
    )
    UNION ALL
    (
        SELECT identifier, NULL, '%' || replace(identifier, '_', '\_') || '%'
        FROM (SELECT DISTINCT string_to_table(identifiers($4), ' ') AS identifier WHERE $4 ~ '[0-9]') AS own
        ORDER BY length(identifier) DESC, identifier
        LIMIT 4
    )
),
-- A hundred that the index finds by trigrams; of these the nearest by trigrams; these by their letters.
resembling AS MATERIALIZED (
    SELECT sought.*, found.passage_id, found.names
    FROM sought CROSS JOIN LATERAL (
        SELECT pool.passage_id, pool.names
        FROM (
            -- Beside a row of nothing, so that the scan is planned for all that it may find: for a hundred the planner would
            -- rather read the table.
            SELECT every.passage_id, every.names
            FROM (SELECT OFFSET 0) AS one, LATERAL (
                SELECT p.passage_id, p.names FROM passages AS p
                WHERE p.namespace = $1 AND (p.names %> sought.word OR p.names LIKE sought.pattern)
                    AND {passes} AND {filter}
                OFFSET 0
            ) AS every
            LIMIT 100
        ) AS pool
        ORDER BY pool.names <->> sought.held, pool.passage_id
        LIMIT 20
    ) AS found
),
-- How alike the most alike word is, and what all alike ones stand for, each as far as it is alike.
alike AS MATERIALIZED (
    SELECT passage_id, max(likeness) AS likeness, sum(likeness) AS recovered
    FROM (
        SELECT held, passage_id, CASE WHEN word IS NULL THEN (
                SELECT max(length(held)::float8 / length(name))
                FROM string_to_table(names, ' ') AS name
                WHERE name LIKE pattern
            ) ELSE (
                SELECT max(likeness(word, name[1]))
                FROM regexp_matches(names, '[[:alpha:]]+', 'g') AS name
                WHERE length(name[1]) BETWEEN greatest(length(word) - 2, 5) AND length(word) + 2
            ) END AS likeness
        FROM resembling
        OFFSET 0
    ) AS compared
    WHERE likeness > 0
    GROUP BY passage_id
),

-- fragment: by_key
-- What is read of a passage that was `listed`; by key, whatever the planner thinks of their number.
        SELECT passage_id, kind, owner_key, ordinal, status, importance, author_key, source_system, source_stream,
            occurred_at, place_in_stream, valid_from, valid_to, text, length(text) AS letters
        FROM passages
        WHERE namespace = $1 AND passage_id = listed.passage_id
        OFFSET 0

-- fragment: about
-- What is told of a passage `p` that was found.
        p.passage_id, p.kind, p.owner_key, p.ordinal, p.status, p.importance, p.author_key, p.source_system,
        p.source_stream, p.occurred_at, p.place_in_stream, p.text,
        -- Bytes beyond one a character: Latin has next to none, every other script at least one a letter.
        octet_length(p.text) - p.letters < $15 * p.letters AS is_latin,
        CASE
            WHEN $28 IS NULL AND $29 IS NULL THEN false
            WHEN p.kind IN (2, 4) THEN coalesce(p.valid_from, p.valid_to) IS NOT NULL
                AND ($29 IS NULL OR p.valid_from IS NULL OR p.valid_from < $29)
                AND ($28 IS NULL OR p.valid_to IS NULL OR p.valid_to > $28)
            ELSE p.kind = 1 AND ($28 IS NULL OR p.occurred_at >= $28)
                AND ($29 IS NULL OR p.occurred_at < $29 + CASE WHEN p.author_key <> '' THEN $30 ELSE interval '0' END)
        END AS is_in_window,
        CASE WHEN p.author_key <> '' THEN p.source_system || '/' || nullif(p.source_stream, '') END AS stream,
        -- An expression costs more than a mark is sought for.
        p.author_key <> '' AND p.text LIKE '%?%' AND (p.text LIKE '%?' OR p.text ~ '\?\s*$') AS is_question

-- fragment: told
-- Candidates, as they are given back.
-- Those of the authors whom the query names: by a word of their key, title or aliases.
named AS MATERIALIZED (
    SELECT author.key
    FROM (SELECT DISTINCT author_key AS key FROM found WHERE author_key <> '' LIMIT $17) AS author
        LEFT JOIN entities AS e ON e.namespace = $1 AND e.natural_key = author.key AND visible(e.restricting, $2, $3)
    WHERE tsvector_to_array(lexemes(concat_ws(
        ' ', substr(author.key, strpos(author.key, ':') + 1), e.title, array_to_string(e.aliases, ' '))))
        && (SELECT array_agg(lexeme) FROM asked)
),
told AS (
    SELECT
        p.*,
        CASE WHEN p.status = 1 AND (SELECT EXISTS (SELECT FROM stale_marks WHERE namespace = $1)) AND EXISTS (
            SELECT FROM stale_marks AS mark
            WHERE mark.namespace = $1 AND mark.item_key = p.owner_key
                AND mark.item_kind = CASE p.kind WHEN 2 THEN 2 ELSE 3 END) THEN 3 ELSE p.status END AS state,
        p.author_key IN (SELECT key FROM named) AS is_by_named,
        -- What somebody said is read only where it tells whom it is about.
        CASE WHEN p.author_key <> '' AND (SELECT EXISTS (SELECT FROM named)) THEN p.text END AS said,
        -- How many passages of its stream stand between it and the next candidate there: of 2 and more it does not matter.
        CASE WHEN p.next_said IS NOT NULL THEN (
            SELECT count(*)
            FROM (
                SELECT FROM passages AS n
                WHERE n.namespace = $1 AND n.source_system = p.source_system AND n.source_stream = p.source_stream
                    AND (n.occurred_at, n.place_in_stream, n.ordinal) > (p.occurred_at, p.place_in_stream, p.ordinal)
                    AND (n.occurred_at, n.place_in_stream, n.ordinal) < (p.next_at, p.next_place, p.next_ordinal)
                    AND n.author_key <> '' AND n.source_stream <> '' AND NOT n.hidden AND visible(n.restricting, $2, $3)
                LIMIT 2
            ) AS next) END AS said_between
    FROM (
        SELECT
            found.*,
            CASE WHEN stream IS NOT NULL THEN lead(passage_id) OVER same_stream END AS next_said,
            lead(occurred_at) OVER same_stream AS next_at,
            lead(place_in_stream) OVER same_stream AS next_place,
            lead(ordinal) OVER same_stream AS next_ordinal
        FROM found
        WINDOW same_stream AS (PARTITION BY stream ORDER BY occurred_at, place_in_stream, ordinal, passage_id)
    ) AS p
)

-- fragment: by_keys
-- Candidates as they are given back: by their keys, which decide between equal scores.
(SELECT * FROM told ORDER BY kind, owner_key COLLATE "C", ordinal) AS told

-- fragment: columns
-- Candidates, each column as an array. What is a small number goes into one, by bits: that is a third of the time.
array_agg(passage_id) AS passage_id,
    array_agg(owner_key) AS owner_key,
    array_agg(ordinal) AS ordinal,
    array_agg(author_key) AS author_key,
    array_agg(stream) AS stream,
    array_agg(next_said) AS next_said,
    array_agg(said) AS said,
    array_agg(distance) AS distance,
    array_agg(coalesce(words, 0)) AS words,
    array_agg(coalesce(coverage, 0)) AS coverage,
    array_agg(
        kind | (state << 4) | (importance << 8) | (coalesce(said_between, 0)::integer << 12)
        | (is_by_named::integer << 14) | (is_question::integer << 15) | (is_in_window::integer << 16)
        | (leads::integer << 17) | (is_latin::integer << 18)
    ) AS traits

-- name: search
-- Candidates of words and vectors with their raw scores; and of the query the words that nothing visible holds in any form, and
-- the weight of all its terms together; and what it meets, where that was only remembered.
WITH parameters AS (
{parameters}
),
here AS MATERIALIZED (
{here}
),
nearest AS MATERIALIZED (
{nearest}
),
{words}
-- One that holds more of the query's terms goes before one that repeats fewer.
covering AS (
    SELECT scored.passage_id, scored.words * sqrt(share.coverage) AS words, share.coverage
    FROM scored CROSS JOIN LATERAL (
        SELECT scored.covered / nullif((SELECT sum(idf) FROM weighed WHERE is_term), 0) AS coverage
    ) AS share
    WHERE share.coverage > 0
),
ranked AS (
    SELECT covering.*, row_number() OVER (ORDER BY words DESC, passage_id) AS place FROM covering
),
placed AS (
    SELECT nearest.*, row_number() OVER (ORDER BY distance, passage_id) AS place FROM nearest
),
found AS MATERIALIZED (
    SELECT
{about},
        listed.distance, listed.words, listed.coverage,
        p.author_key <> '' AND p.source_stream <> '' AND listed.place <= $16 AS leads
    FROM (
        SELECT passage_id, placed.distance, ranked.words, ranked.coverage, least(placed.place, ranked.place) AS place
        FROM ranked FULL JOIN placed USING (passage_id)
        WHERE placed.distance IS NOT NULL OR ranked.place <= $6
        OFFSET 0
    ) AS listed CROSS JOIN LATERAL (
{by_key}
    ) AS p
),
{told}
SELECT
    candidates.*,
    (SELECT unknown FROM unheld) AS unknown,
    (SELECT sum(idf) FROM weighed WHERE is_term) AS term_weight,
    here.*
FROM (
    SELECT {columns}
    FROM {by_keys}
) AS candidates CROSS JOIN here;

-- name: search_names
-- Candidates by their names alone, as `search` gives them, with how alike the most alike of their words is, and how much of the
-- words and identifiers that were sought that stands for, each counting 1; and how many terms the query has.
WITH parameters AS (
{parameters}
),
asked AS MATERIALIZED (
{asked}
),
{alike}
found AS MATERIALIZED (
    SELECT
{about},
        NULL::float8 AS distance, NULL::float8 AS words, NULL::float8 AS coverage, false AS leads,
        listed.likeness, listed.recovered
    FROM alike AS listed CROSS JOIN LATERAL (
{by_key}
    ) AS p
),
{told}
SELECT
    {columns},
    array_agg(likeness) AS likeness,
    array_agg(recovered) AS recovered,
    (SELECT count(*) FROM asked WHERE is_term) AS terms
FROM {by_keys};
