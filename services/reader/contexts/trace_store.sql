-- Traces of context compilation. Throughout, but for what leaves one: $1 the namespace, $2 the restricting labels that the
-- caller holds, $3 whether restricting labels hide nothing from it, $4 the caller.

-- name: leave_trace
-- Whether the trace is left: its columns, and the observations that it rests on.
SELECT leave_trace($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: get_trace
-- The trace $5, if it is the caller's own. One that it holds fewer labels than then is not its own any more.
SELECT trace_id, compiled_at, request, trace, pack
FROM context_traces
WHERE namespace = $1 AND trace_id = $5 AND subject = $4 AND expires_at > now() AND ($3 OR (NOT sees_all AND granted <@ $2));

-- name: get_packed
-- The pack $5, as it was last compiled for the caller, and what the caller knew besides.
SELECT pack, known, item_keys
FROM context_traces
WHERE namespace = $1 AND pack_id = $5 AND subject = $4 AND expires_at > now() AND ($3 OR (NOT sees_all AND granted <@ $2))
ORDER BY compiled_at DESC
LIMIT 1;

-- name: stems
-- Stems of words in normal form ($4), in their order: Latin ones as English, others as Russian. Empty: a word that carries no
-- meaning of its own.
SELECT coalesce((tsvector_to_array(to_tsvector('pg_catalog.russian', given.word)))[1], '') AS stem
FROM unnest($4::text[]) WITH ORDINALITY AS given (word, place)
WHERE $1::text IS NOT NULL AND $2::text[] IS NOT NULL AND $3::boolean IS NOT NULL
ORDER BY given.place;
