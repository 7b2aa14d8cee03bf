-- What curation left for reads. Throughout: $1 the namespace, $2 the restricting labels that the caller holds, $3 whether
-- restricting labels hide nothing from it.

-- name: keys_of
-- The keys that confirmed merges join with the keys $4. The canonical one and those that lead to it must be visible.
WITH heads AS (
    SELECT coalesce((
        SELECT merge.canonical_key
        FROM entity_merges AS merge JOIN entities AS own
            ON own.namespace = $1 AND own.natural_key = merge.merged_key
        WHERE merge.namespace = $1 AND merge.merged_key = asked.key AND visible(own.restricting, $2, $3)
    ), asked.key) AS key
    FROM unnest($4::text[]) AS asked (key)
),
shown AS (
    SELECT heads.key
    FROM heads JOIN entities AS e ON e.namespace = $1 AND e.natural_key = heads.key
    WHERE visible(e.restricting, $2, $3) AND NOT e.withdrawn
)
SELECT key FROM shown
UNION
SELECT merge.merged_key
FROM shown
    JOIN entity_merges AS merge ON merge.namespace = $1 AND merge.canonical_key = shown.key
    JOIN entities AS e ON e.namespace = $1 AND e.natural_key = merge.merged_key
WHERE visible(e.restricting, $2, $3);

-- name: list_proposals
-- Proposals in the state $4 of which the caller may see both entities, likeliest first, at most $5; after ($6, $7).
SELECT p.*
FROM duplicate_proposals AS p
WHERE p.namespace = $1
    AND p.state = $4
    AND ($3 OR NOT EXISTS (
        SELECT FROM entities AS e
        WHERE e.namespace = $1 AND e.natural_key IN (p.first_key, p.second_key) AND NOT visible(e.restricting, $2, $3)))
    AND ($6::float8 IS NULL OR p.score < $6 OR (p.score = $6 AND p.proposal_id > $7::text))
ORDER BY p.score DESC, p.proposal_id
LIMIT $5;

-- name: count_proposals
-- How many proposals wait of which the caller may see both entities.
SELECT count(*) AS number
FROM duplicate_proposals AS p
WHERE p.namespace = $1 AND p.state = 1 AND ($3 OR NOT EXISTS (
    SELECT FROM entities AS e
    WHERE e.namespace = $1 AND e.natural_key IN (p.first_key, p.second_key) AND NOT visible(e.restricting, $2, $3)));

-- name: evidence_expiring
-- Facts that hold now and leave the answers by themselves before $4: they expire, or the last observation that they rest on
-- is redacted $5 seconds after it was recorded (NULL: never).
SELECT count(*) AS number
FROM facts AS f JOIN passages AS p ON p.namespace = $1 AND p.kind = 2 AND p.owner_key = f.fact_id
WHERE f.namespace = $1
    AND NOT p.hidden AND p.status IN (1, 3)
    AND (f.expires_at IS NULL OR f.expires_at > now())
    AND (f.expires_at <= $4::timestamptz OR (
        SELECT max(o.recorded_at) + make_interval(secs => $5::float8)
        FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
        WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3)) <= $4)
    AND (f.valid_from IS NULL OR f.valid_from <= now())
    AND (f.valid_to IS NULL OR f.valid_to > now())
    AND visible(f.restricting, $2, $3)
    AND {fact_is_visible};

-- name: conflicts_by_age
-- Pairs of facts that hold at one time of a predicate of $5, which has one object, with different objects: how many are at
-- least $4 seconds old, less those of the next age. A conflict is as old as its newer fact.
WITH shown AS NOT MATERIALIZED (
    SELECT f.*
    FROM facts AS f JOIN passages AS p ON p.namespace = $1 AND p.kind = 2 AND p.owner_key = f.fact_id
    WHERE f.namespace = $1 AND f.predicate = ANY ($5::text[])
        AND NOT p.hidden AND p.status IN (1, 3)
        AND (f.expires_at IS NULL OR f.expires_at > now())
        AND visible(f.restricting, $2, $3)
        AND {fact_is_visible}
),
pairs AS (
    SELECT extract(epoch FROM now() - greatest(one.recorded_at, other.recorded_at)) AS age_s
    FROM shown AS one JOIN shown AS other
        ON other.subject_key = one.subject_key AND other.predicate = one.predicate AND other.fact_id > one.fact_id
        AND (other.object_type, other.object_text) <> (one.object_type, one.object_text)
    WHERE coalesce(greatest(one.valid_from, other.valid_from), '-infinity')
        < coalesce(least(one.valid_to, other.valid_to), 'infinity')
)
SELECT age.from_s, count(pairs.age_s) AS number
FROM (SELECT from_s, lead(from_s) OVER (ORDER BY from_s) AS before_s FROM unnest($4::bigint[]) AS from_s) AS age
    LEFT JOIN pairs ON greatest(pairs.age_s, 0) >= age.from_s AND (age.before_s IS NULL OR pairs.age_s < age.before_s)
GROUP BY age.from_s
ORDER BY age.from_s;

-- name: backlog_by_age
-- Chunks that wait for a vector: how many are at least $4 seconds old, less those of the next age.
WITH waiting AS (
    SELECT extract(epoch FROM now() - q.enqueued_at) AS age_s
    FROM unembedded AS q JOIN passages AS p USING (namespace, passage_id)
    WHERE q.namespace = $1 AND p.kind = 1 AND NOT p.hidden AND visible(p.restricting, $2, $3)
)
SELECT age.from_s, count(waiting.age_s) AS number
FROM (SELECT from_s, lead(from_s) OVER (ORDER BY from_s) AS before_s FROM unnest($4::bigint[]) AS from_s) AS age
    LEFT JOIN waiting
        ON greatest(waiting.age_s, 0) >= age.from_s AND (age.before_s IS NULL OR waiting.age_s < age.before_s)
GROUP BY age.from_s
ORDER BY age.from_s;

-- name: rejections
-- Input that was refused, by reason. What was refused is stored nowhere, so nobody knows under which labels it was sent: told only
-- to those from whom labels hide nothing.
SELECT reason, number FROM rejections WHERE namespace = $1 AND $3 AND $2::text[] IS NOT NULL ORDER BY reason;
