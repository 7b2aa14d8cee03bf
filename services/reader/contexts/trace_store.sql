-- Traces of context compilation. Throughout, but for what leaves one: $1 the namespace, $2 the restricting labels that the
-- caller holds, $3 whether restricting labels hide nothing from it, $4 the caller.

-- name: begin_trace
-- Whether a trace may be left now: not on a replica, and not while erasure is at work ($1). A commit that is lost in a crash
-- loses a trace and nothing else, so nobody waits for the disk.
SELECT NOT pg_is_in_recovery() AND pg_try_advisory_xact_lock_shared(trace_lock($1)) AS allowed,
    set_config('synchronous_commit', 'off', true);

-- name: leave_trace
-- Leaves a trace, unless one of the observations $13 that it rests on was erased since it was compiled.
INSERT INTO context_traces (
    namespace, trace_id, pack_id, compiled_at, expires_at, subject, granted, sees_all, request, trace, pack, known, item_keys)
SELECT $1, $2, $3, $4::timestamptz, $4 + make_interval(secs => $5), $6, $7, $8, $9, $10, $11, $12, $14
WHERE NOT EXISTS (
    SELECT FROM unnest($13::text[]) AS rests (observation_id)
    WHERE NOT EXISTS (
        SELECT FROM observations AS o
        WHERE o.namespace = $1 AND o.observation_id = rests.observation_id AND o.redacted_at IS NULL))
-- Equal compilations in one microsecond are one.
ON CONFLICT DO NOTHING;

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
