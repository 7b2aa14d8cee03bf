-- The queue of extraction and what capture took out. Throughout: $1 the namespace, $2 the restricting labels that the caller
-- holds, $3 whether restricting labels hide nothing from it.

-- name: extraction_queue
-- How many messages wait, since how many seconds the oldest does, and how many were given up.
SELECT count(*) FILTER (WHERE NOT q.dead) AS depth,
       coalesce(extract(epoch FROM now() - min(q.enqueued_at) FILTER (WHERE NOT q.dead)), 0)::float8 AS oldest_age_s,
       count(*) FILTER (WHERE q.dead) AS dead
FROM extraction_queue AS q JOIN observations AS o USING (namespace, observation_id)
WHERE q.namespace = $1 AND visible(o.restricting, $2, $3);

-- name: dead_letters
-- The first $4 messages that were given up, with what went wrong last.
SELECT q.observation_id, q.last_error
FROM extraction_queue AS q JOIN observations AS o USING (namespace, observation_id)
WHERE q.namespace = $1 AND q.dead AND visible(o.restricting, $2, $3)
ORDER BY q.enqueued_at, q.observation_id
LIMIT $4;

-- name: extraction_by_age
-- Messages that wait: how many are at least $4 seconds old, less those of the next age.
WITH waiting AS (
    SELECT extract(epoch FROM now() - q.enqueued_at) AS age_s
    FROM extraction_queue AS q JOIN observations AS o USING (namespace, observation_id)
    WHERE q.namespace = $1 AND NOT q.dead AND visible(o.restricting, $2, $3)
)
SELECT age.from_s, count(waiting.age_s) AS number
FROM (SELECT from_s, lead(from_s) OVER (ORDER BY from_s) AS before_s FROM unnest($4::bigint[]) AS from_s) AS age
    LEFT JOIN waiting
        ON greatest(waiting.age_s, 0) >= age.from_s AND (age.before_s IS NULL OR waiting.age_s < age.before_s)
GROUP BY age.from_s
ORDER BY age.from_s;

-- name: stripped
-- How much was taken out of captured messages. Nobody knows any more under which labels: told as refusals are.
SELECT coalesce(sum(number), 0)::bigint AS number
FROM stripped
WHERE namespace = $1 AND $3 AND $2::text[] IS NOT NULL;
