-- Passages that wait for a vector. In `embedding_queue` is what waits in all spaces, in `embedding_backlog` what waits in one
-- alone. A lease is told by the moment at which it ends, which no two claims of a row have in common: who was late finds
-- another moment there, and ends nobody else's claim. Locks: passages, vectors, the queue, the backlog.

-- fragment: claimed
RETURNING waiting.namespace, waiting.passage_id, waiting.embedding_hash, waiting.attempts, waiting.enqueued_at,
    waiting.leased_until, passages.title, passages.heading, passages.text, passages.observation_id

-- fragment: leased_in_queue
UPDATE embedding_queue AS waiting
SET leased_until = clock_timestamp() + make_interval(secs => $2)
FROM due JOIN passages USING (namespace, passage_id)
WHERE waiting.namespace = due.namespace AND waiting.passage_id = due.passage_id
{claimed}, waiting.origin

-- name: claim_newest
-- Single writes that nobody has claimed yet, the newest first, leased, with what is to be embedded.
WITH due AS (
    SELECT namespace, passage_id
    FROM embedding_queue
    WHERE NOT poisoned AND NOT is_bulk AND leased_until = '-infinity'
    ORDER BY enqueued_at DESC
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
{leased_in_queue};

-- name: claim_oldest
-- Those that have waited longest, of bulk ($3) or of single writes. Those that others are claiming are skipped.
WITH due AS (
    SELECT namespace, passage_id
    FROM embedding_queue
    WHERE NOT poisoned AND is_bulk = $3 AND leased_until <= now()
    ORDER BY leased_until, enqueued_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
{leased_in_queue};

-- name: claim_backlog
-- Those that have waited longest in the space $3.
WITH due AS (
    SELECT namespace, passage_id
    FROM embedding_backlog
    WHERE NOT poisoned AND fingerprint = $3 AND leased_until <= now()
    ORDER BY leased_until, enqueued_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE embedding_backlog AS waiting
SET leased_until = clock_timestamp() + make_interval(secs => $2)
FROM due JOIN passages USING (namespace, passage_id)
WHERE waiting.namespace = due.namespace AND waiting.passage_id = due.passage_id AND waiting.fingerprint = $3
{claimed};

-- fragment: given
unnest($1::text[], $2::bigint[], $3::text[], $4::timestamptz[])
    AS given (namespace, passage_id, embedding_hash, leased_until)

-- fragment: is_claim
    waiting.namespace = given.namespace AND waiting.passage_id = given.passage_id
    AND waiting.embedding_hash = given.embedding_hash AND waiting.leased_until = given.leased_until

-- fragment: held_in_queue
SELECT FROM embedding_queue AS waiting WHERE {is_claim}

-- fragment: held_in_backlog
SELECT FROM embedding_backlog AS waiting WHERE {is_claim} AND waiting.fingerprint = $5

-- name: lock_for_vectors
-- Passages that still say what was embedded, held against changes till the end of the transaction, and whether the claim is
-- still ours.
SELECT passages.namespace, passages.passage_id, EXISTS ({held}) AS is_held
FROM {given} JOIN passages USING (namespace, passage_id)
WHERE passages.embedding_hash = given.embedding_hash
ORDER BY passages.namespace COLLATE "C", passages.kind, passages.owner_key COLLATE "C", passages.ordinal
FOR SHARE OF passages;

-- name: finish_queued
-- Ends claims: what waited for this text waits no longer. One whose text has changed meanwhile is another row.
DELETE FROM embedding_queue AS waiting USING {given} WHERE {is_claim};

-- name: finish_backlog
-- The same in the space $5.
DELETE FROM embedding_backlog AS waiting USING {given} WHERE {is_claim} AND waiting.fingerprint = $5;

-- name: put_back_queued
-- Ends claims without an outcome: behind those that wait already.
UPDATE embedding_queue AS waiting SET leased_until = clock_timestamp() FROM {given} WHERE {is_claim};

-- name: put_back_backlog
-- The same in the space $5.
UPDATE embedding_backlog AS waiting
SET leased_until = clock_timestamp()
FROM {given}
WHERE {is_claim} AND waiting.fingerprint = $5;

-- name: spread
-- Lets passages that were dealt with in the space $5 wait in all others. Answers how many.
WITH waiting AS (
    INSERT INTO embedding_backlog AS waiting (namespace, passage_id, fingerprint, embedding_hash, enqueued_at)
    SELECT given.namespace, given.passage_id, space.fingerprint, given.embedding_hash, given.enqueued_at
    FROM unnest($1::text[], $2::bigint[], $3::text[], $4::timestamptz[])
            AS given (namespace, passage_id, embedding_hash, enqueued_at)
        JOIN embedding_spaces AS space ON space.fingerprint <> $5
    ORDER BY given.namespace, given.passage_id, space.fingerprint
    ON CONFLICT (namespace, passage_id, fingerprint) DO UPDATE
    SET embedding_hash = excluded.embedding_hash, enqueued_at = excluded.enqueued_at, leased_until = '-infinity',
        attempts = 0, last_error = '', poisoned = false
    WHERE waiting.embedding_hash <> excluded.embedding_hash
    RETURNING 1
)
SELECT count(*) FROM waiting;

-- name: put_off
-- Lets passages whose text failed in the space $9 wait there for another try, or sets them aside.
INSERT INTO embedding_backlog (
    namespace, passage_id, embedding_hash, enqueued_at, leased_until, attempts, last_error, poisoned, fingerprint)
SELECT given.namespace, given.passage_id, given.embedding_hash, given.enqueued_at,
    clock_timestamp() + make_interval(secs => given.delay_s), given.attempts, given.last_error, given.poisoned, $9
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::timestamptz[], $5::double precision[], $6::integer[], $7::text[],
        $8::boolean[])
    AS given (namespace, passage_id, embedding_hash, enqueued_at, delay_s, attempts, last_error, poisoned)
ON CONFLICT (namespace, passage_id, fingerprint) DO UPDATE
SET embedding_hash = excluded.embedding_hash, enqueued_at = excluded.enqueued_at, leased_until = excluded.leased_until,
    attempts = excluded.attempts, last_error = excluded.last_error, poisoned = excluded.poisoned;

-- name: insert_vectors
-- Vectors of passages that are locked by `lock_for_vectors`.
INSERT INTO {vectors} (namespace, passage_id, embedding_hash, kind, restricting, applies, hidden, embedding)
SELECT passages.namespace, passages.passage_id, passages.embedding_hash, passages.kind, passages.restricting,
       passages.applies, passages.hidden, given.embedding
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::halfvec[])
    AS given (namespace, passage_id, embedding_hash, embedding)
JOIN passages USING (namespace, passage_id)
WHERE passages.embedding_hash = given.embedding_hash
ON CONFLICT (namespace, passage_id) DO UPDATE
SET embedding_hash = excluded.embedding_hash, restricting = excluded.restricting, applies = excluded.applies,
    hidden = excluded.hidden, embedding = excluded.embedding;

-- name: queue_summary
-- What waits in all spaces: how many, since how many seconds, and how many are set aside.
SELECT count(*) FILTER (WHERE NOT poisoned) AS depth,
       coalesce(extract(epoch FROM clock_timestamp() - min(enqueued_at) FILTER (WHERE NOT poisoned)), 0)::float8
           AS oldest_age_s,
       count(*) FILTER (WHERE poisoned) AS poisoned
FROM embedding_queue;

-- name: backlog_summary
-- The same of what waits in one space alone.
SELECT fingerprint, count(*) FILTER (WHERE NOT poisoned) AS depth,
       coalesce(extract(epoch FROM clock_timestamp() - min(enqueued_at) FILTER (WHERE NOT poisoned)), 0)::float8
           AS oldest_age_s,
       count(*) FILTER (WHERE poisoned) AS poisoned
FROM embedding_backlog
GROUP BY fingerprint;

-- name: waits_in
-- Whether anything waits in the space $1 alone that is not set aside.
SELECT EXISTS (SELECT FROM embedding_backlog WHERE fingerprint = $1 AND NOT poisoned);

-- name: forget_space
-- What waits in a space that is not there, up to $2 rows.
DELETE FROM embedding_backlog
WHERE ctid = ANY (ARRAY(
    SELECT waiting.ctid
    FROM embedding_backlog AS waiting
    WHERE waiting.fingerprint = $1 AND NOT EXISTS (SELECT FROM embedding_spaces WHERE fingerprint = $1)
    LIMIT $2))
RETURNING 1;
