-- What changed, in the order of commits (RE-13). Read from rows and the changes that made them what they are, beside what
-- `touched_items` keeps of that which rows no longer tell.

-- name: beginning
-- What cursors are sealed by, and the clock.
SELECT secret, clock_timestamp() AS now FROM cursor_secret;

-- name: heads
-- Of the namespaces $1 the latest moment that is committed; and, to know on a replica when all is replayed that comes before it,
-- the oldest transaction under way, and the next one that is not known yet, which is read after the snapshot was taken.
SELECT name, (SELECT max(c.known_at) FROM changes AS c WHERE c.namespace = name) AS head,
    pg_is_in_recovery() AS is_replica,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
    age('3'::xid)::bigint AS after_third
FROM unnest($1::text[]) AS name;

-- name: committing
-- Of the namespaces $1 the transactions that have their moment, or are taking it, and are not committed yet.
SELECT name, lock.virtualtransaction AS holder
FROM unnest($1::text[]) AS name
JOIN pg_locks AS lock
    ON lock.locktype = 'advisory' AND lock.objsubid = 1 AND lock.granted AND lock.mode = 'ShareLock'
    AND lock.classid = ((moment_lock(name) >> 32) & 4294967295)::oid
    AND lock.objid = (moment_lock(name) & 4294967295)::oid
    AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: reach
-- Of the changes of the namespace $1 from the moment $2 to $3 the first $4: the moment of the last of them, between which
-- numbers they lie, and whether there may be notes of them. NULL: there are none.
WITH cut AS (
    SELECT max(first.known_at) AS until
    FROM (
        SELECT known_at FROM changes WHERE namespace = $1 AND known_at BETWEEN $2 AND $3 ORDER BY known_at LIMIT $4
    ) AS first
)
SELECT bounds.*, EXISTS (
    SELECT FROM touched_items AS t
    WHERE t.namespace = $1 AND t.change_id BETWEEN bounds.least AND bounds.greatest) AS is_touched
FROM (
    SELECT cut.until, min(c.change_id) AS least, max(c.change_id) AS greatest
    FROM cut LEFT JOIN changes AS c ON c.namespace = $1 AND c.known_at BETWEEN $2 AND cut.until
    GROUP BY cut.until
) AS bounds;

-- name: observations_by_id
-- The observations $4 that the caller may see.
SELECT * FROM observations WHERE namespace = $1 AND observation_id = ANY ($4) AND visible(restricting, $2, $3)
    AND NOT withdrawn;

-- fragment: changes_and_rows
-- The changes, and whose rows they made as they are.
span AS MATERIALIZED (
    -- Of a moment of which all was told nothing counts any more.
    SELECT change_id, known_at FROM changes
    WHERE namespace = $1 AND known_at BETWEEN $4 AND $5 AND ($8::integer < 9 OR known_at > $4)
),
recorded AS MATERIALIZED (
    SELECT o.observation_id, span.known_at
    FROM observations AS o JOIN span USING (change_id)
    WHERE o.namespace = $1 AND o.change_id BETWEEN $6 AND $7 AND visible(o.restricting, $2, $3) AND NOT o.withdrawn
),
-- Found by the summaries of pages, before anything is asked about them.
changed_entities AS MATERIALIZED (
    SELECT natural_key, change_id FROM entities WHERE namespace = $1 AND change_id BETWEEN $6 AND $7
),
changed_facts AS MATERIALIZED (
    SELECT * FROM facts WHERE namespace = $1 AND change_id BETWEEN $6 AND $7
)

-- fragment: entities_changed
-- Entities whose rows were written.
SELECT e.natural_key AS item_key, span.known_at, true AS is_now, NULL::boolean AS was_seen,
    NOT EXISTS (
        SELECT FROM entity_versions AS v
        WHERE v.namespace = $1 AND v.natural_key = e.natural_key
          AND v.change_id NOT IN (SELECT change_id FROM span)) AS is_new
FROM changed_entities AS e JOIN span USING (change_id)

-- fragment: entities_said_again
-- Entities that rest on what came into sight.
SELECT ee.natural_key, told.known_at, true, NULL, false
FROM told JOIN entity_evidence AS ee ON ee.namespace = $1 AND ee.observation_id = told.observation_id

-- fragment: facts_changed
-- Facts whose rows were written.
SELECT f.fact_id AS item_key, span.known_at, NULL::boolean AS was_seen,
    NOT EXISTS (
        SELECT FROM fact_versions AS v
        WHERE v.namespace = $1 AND v.fact_id = f.fact_id AND v.change_id NOT IN (SELECT change_id FROM span)) AS is_new
FROM changed_facts AS f JOIN span USING (change_id)
-- What other facts do to one is told where it shows: by its interval, or by those of them that the caller may see.
WHERE NOT EXISTS (
    SELECT FROM fact_versions AS v
    WHERE v.namespace = $1 AND v.fact_id = f.fact_id AND v.until_change_id = f.change_id
      AND v.state - '{change_id,stamps,supersedes,superseded_by}'::text[]
        = to_jsonb(f) - '{change_id,stamps,supersedes,superseded_by}'::text[]
      AND NOT $3 AND NOT EXISTS (
        SELECT FROM facts AS f
        WHERE f.namespace = $1 AND visible(f.restricting, $2, $3) AND {fact_is_visible}
          AND f.fact_id IN (
            (SELECT jsonb_array_elements_text(v.state -> 'supersedes' || (v.state -> 'superseded_by')))
            UNION ALL
            (SELECT other FROM facts AS here, unnest(here.supersedes || here.superseded_by) AS other
             WHERE here.namespace = $1 AND here.fact_id = v.fact_id))))

-- fragment: facts_said_again
-- Facts that rest on what came into sight.
SELECT fe.fact_id, told.known_at, NULL,
    -- All that the caller may see of its evidence is new.
    NOT $3 AND NOT EXISTS (
        SELECT FROM fact_evidence AS other JOIN observations AS o USING (namespace, observation_id)
        WHERE other.namespace = $1 AND other.fact_id = fe.fact_id AND visible(o.restricting, $2, $3)
          AND other.observation_id NOT IN (SELECT observation_id FROM told))
FROM told JOIN fact_evidence AS fe ON fe.namespace = $1 AND fe.observation_id = told.observation_id

-- fragment: placed
-- All of it, with its place in the order.
items AS (
    SELECT item.*, EXISTS (
        SELECT FROM observations AS o
        WHERE o.namespace = $1 AND o.observation_id = item.item_key AND visible(o.restricting, $2, $3)
          AND NOT o.withdrawn) AS is_visible
    FROM observation_items AS item
    UNION ALL
    SELECT item.*, EXISTS (
        SELECT FROM entities AS e
        WHERE e.namespace = $1 AND e.natural_key = item.item_key AND visible(e.restricting, $2, $3) AND NOT e.withdrawn)
    FROM entity_items AS item
    UNION ALL
    SELECT item.*, EXISTS (
        SELECT FROM facts AS f
        WHERE f.namespace = $1 AND f.fact_id = item.item_key AND visible(f.restricting, $2, $3) AND NOT f.withdrawn
          AND {ends_are_visible}
          AND ($3 OR EXISTS (
            SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
            WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3) AND NOT o.withdrawn)))
    FROM fact_items AS item
),
placed AS (
    SELECT rank, item_key, is_visible, is_visible AND coalesce(is_new, false) AS is_new,
        coalesce(is_relabelled, false) AS is_relabelled, is_erased_key,
        CASE WHEN is_visible THEN shown_at ELSE hidden_at END AS known_at,
        -- What was erased stands before what is there under the same key since the same change.
        CASE WHEN is_erased_key THEN hashtextextended(item_key, 0) | (1::bigint << 63)
            ELSE hashtextextended(item_key, 0) & ~(1::bigint << 63) END AS place
    FROM items
)
SELECT * FROM placed
WHERE known_at IS NOT NULL AND (known_at, rank, place) > ($4, $8::integer, $9::bigint)
ORDER BY known_at, rank, place
LIMIT $10

-- name: changed_things
-- What the caller has to be told of the changes from the moment $4 to $5, whose numbers lie between $6 and $7: things in the order
-- of the latest change that the caller may know of, then observations, entities and facts, each by a number made of its id. $11 the
-- hashes of the labels that the caller holds; after ($4, $8, $9); at most $10. What a thing is by now is read after this.
WITH {changes_and_rows},
touched AS MATERIALIZED (
    SELECT t.kind, t.item_key, t.what, t.is_erased, span.known_at, admits(t.audience, $11, $3) AS is_admitted,
        admits(t.audience, $11, $3) AND NOT t.was_withdrawn AS was_seen
    FROM touched_items AS t JOIN span USING (change_id)
    WHERE t.namespace = $1 AND t.change_id BETWEEN $6 AND $7
),
-- Observations that came into sight, or went out of it.
told AS MATERIALIZED (
    SELECT observation_id, known_at FROM recorded
    UNION ALL
    SELECT o.observation_id, t.known_at
    FROM touched AS t JOIN observations AS o ON o.namespace = $1 AND o.observation_id = t.item_key
    WHERE t.kind = 0 AND visible(o.restricting, $2, $3) AND (t.was_seen OR NOT o.withdrawn)
),
observation_events AS (
    SELECT observation_id AS item_key, known_at, true AS is_now, NULL::boolean AS was_seen, true AS is_new FROM recorded
    UNION ALL
    SELECT item_key, known_at, true, was_seen, false FROM touched WHERE kind = 0
),
entity_events AS (
    {entities_changed}
    UNION ALL
    {entities_said_again}
    UNION ALL
    SELECT item_key, known_at, what = 1 OR is_admitted, CASE what WHEN 1 THEN was_seen END, false
    FROM touched WHERE kind = 3
),
-- Entities whose labels let the caller see them now and did not before, or the other way round.
turned AS MATERIALIZED (
    SELECT t.item_key, t.known_at, t.is_admitted, visible(e.restricting, $2, $3) AS is_visible
    FROM touched AS t JOIN entities AS e ON e.namespace = $1 AND e.natural_key = t.item_key
    WHERE t.kind = 3 AND t.what = 1 AND t.is_admitted <> visible(e.restricting, $2, $3)
),
fact_events AS (
    {facts_changed}
    UNION ALL
    {facts_said_again}
    UNION ALL
    SELECT item_key, known_at, CASE what WHEN 1 THEN was_seen END, false
    FROM touched WHERE kind = 2 AND (what = 1 OR is_admitted)
    UNION ALL
    SELECT f.fact_id, turned.known_at, NULL, turned.is_visible
    FROM turned JOIN facts AS f ON f.namespace = $1 AND f.subject_key = turned.item_key
    UNION ALL
    SELECT f.fact_id, turned.known_at, NULL, turned.is_visible
    FROM turned JOIN facts AS f ON f.namespace = $1 AND f.object_key = turned.item_key
),
observation_items AS (
    SELECT 0 AS rank, event.item_key, bool_or(event.is_new OR event.was_seen IS false) AS is_new,
        bool_or(event.was_seen IS NOT NULL) AS is_relabelled, false AS is_erased_key,
        max(event.known_at) AS shown_at, max(event.known_at) FILTER (WHERE event.was_seen) AS hidden_at
    FROM observation_events AS event GROUP BY event.item_key
),
entity_items AS (
    SELECT 1 AS rank, event.item_key, bool_or(event.is_new OR event.was_seen IS false) AS is_new,
        bool_or(event.was_seen IS NOT NULL) AS is_relabelled,
        EXISTS (SELECT FROM touched AS t WHERE t.kind = 3 AND t.is_erased AND t.item_key = event.item_key) AS is_erased_key,
        max(event.known_at) FILTER (WHERE event.is_now) AS shown_at,
        max(event.known_at) FILTER (WHERE event.was_seen) AS hidden_at
    FROM entity_events AS event GROUP BY event.item_key
),
fact_candidates AS (
    SELECT event.item_key, bool_or(event.is_new OR event.was_seen IS false) AS is_new,
        bool_or(event.was_seen IS NOT NULL) AS is_relabelled, max(event.known_at) AS shown_at
    FROM fact_events AS event GROUP BY event.item_key
),
-- When a fact that the caller sees no longer may have gone out of sight: it changed, what it rests on, or one of its ends.
fact_losses AS (
    SELECT item_key, known_at, is_erased FROM touched WHERE kind = 2 AND what < 3 AND was_seen
    UNION
    SELECT fe.fact_id, t.known_at, false
    FROM touched AS t JOIN fact_evidence AS fe ON fe.namespace = $1 AND fe.observation_id = t.item_key
    WHERE t.kind = 0 AND t.was_seen
    UNION
    SELECT f.fact_id, turned.known_at, false
    FROM turned JOIN facts AS f ON f.namespace = $1 AND f.subject_key = turned.item_key WHERE turned.is_admitted
    UNION
    SELECT f.fact_id, turned.known_at, false
    FROM turned JOIN facts AS f ON f.namespace = $1 AND f.object_key = turned.item_key WHERE turned.is_admitted
),
-- Of these the moments right before which the caller could see all of it: itself, its ends and something that it rests on, each as
-- the first note since then tells, or as it is now. By now is after the span: what hid it may have been several changes.
fact_hidden AS (
    SELECT loss.item_key, max(loss.known_at) AS hidden_at
    FROM fact_losses AS loss LEFT JOIN facts AS f ON f.namespace = $1 AND f.fact_id = loss.item_key
    WHERE CASE
        -- What was noted when it was erased tells of its ends, too; it and they may be there again since.
        WHEN loss.is_erased THEN true
        WHEN f.fact_id IS NULL THEN false
        ELSE coalesce(
            (
                SELECT admits(t.audience, $11, $3) AND NOT t.was_withdrawn
                FROM touched_items AS t JOIN changes AS c USING (namespace, change_id)
                WHERE t.namespace = $1 AND t.kind = 2 AND t.what = 1 AND t.item_key = f.fact_id
                  AND c.known_at >= loss.known_at
                ORDER BY c.known_at, t.touch_id LIMIT 1), visible(f.restricting, $2, $3) AND NOT f.withdrawn)
            AND coalesce((
                SELECT admits(t.audience, $11, $3)
                FROM touched_items AS t JOIN changes AS c USING (namespace, change_id)
                WHERE t.namespace = $1 AND t.kind = 3 AND t.what = 1 AND t.item_key = f.subject_key
                  AND c.known_at >= loss.known_at
                ORDER BY c.known_at, t.touch_id LIMIT 1), NOT EXISTS (
                SELECT FROM entities AS e
                WHERE e.namespace = $1 AND e.natural_key = f.subject_key AND NOT visible(e.restricting, $2, $3)))
            AND coalesce((
                SELECT admits(t.audience, $11, $3)
                FROM touched_items AS t JOIN changes AS c USING (namespace, change_id)
                WHERE t.namespace = $1 AND t.kind = 3 AND t.what = 1 AND t.item_key = f.object_key
                  AND c.known_at >= loss.known_at
                ORDER BY c.known_at, t.touch_id LIMIT 1), NOT EXISTS (
                SELECT FROM entities AS e
                WHERE e.namespace = $1 AND e.natural_key = f.object_key AND NOT visible(e.restricting, $2, $3)))
        END
        AND ($3 OR EXISTS (
            SELECT FROM touched_items AS t JOIN changes AS c USING (namespace, change_id)
            WHERE t.namespace = $1 AND t.kind = 2 AND t.what = 2 AND t.item_key = loss.item_key AND NOT t.was_withdrawn
              AND admits(t.audience, $11, $3) AND (f.fact_id IS NULL OR loss.is_erased OR c.known_at >= loss.known_at))
          OR EXISTS (
            SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
            JOIN changes AS said ON said.namespace = $1 AND said.change_id = o.change_id AND said.known_at < loss.known_at
            WHERE fe.namespace = $1 AND fe.fact_id = loss.item_key
              AND coalesce((
                SELECT admits(t.audience, $11, $3) AND NOT t.was_withdrawn
                FROM touched_items AS t JOIN changes AS c USING (namespace, change_id)
                WHERE t.namespace = $1 AND t.kind = 0 AND t.what = 1 AND t.item_key = o.observation_id
                  AND c.known_at >= loss.known_at
                ORDER BY c.known_at, t.touch_id LIMIT 1), visible(o.restricting, $2, $3) AND NOT o.withdrawn)))
    GROUP BY loss.item_key
),
fact_items AS (
    SELECT 2 AS rank, c.item_key, c.is_new, c.is_relabelled, false AS is_erased_key, c.shown_at, hidden.hidden_at
    FROM fact_candidates AS c LEFT JOIN fact_hidden AS hidden USING (item_key)
),
{placed};

-- name: written_things
-- The same as `changed_things` for changes of which there are no notes, which most are: they let things appear and change, and
-- hide none. Much shorter to plan.
WITH {changes_and_rows},
told AS (SELECT * FROM recorded),
observation_items AS (
    SELECT 0 AS rank, observation_id AS item_key, true AS is_new, false AS is_relabelled, false AS is_erased_key,
        known_at AS shown_at, NULL::timestamptz AS hidden_at
    FROM recorded
),
entity_events AS (
    {entities_changed}
    UNION ALL
    {entities_said_again}
),
entity_items AS (
    SELECT 1 AS rank, item_key, bool_or(is_new) AS is_new, false AS is_relabelled, false AS is_erased_key,
        max(known_at) AS shown_at, NULL::timestamptz AS hidden_at
    FROM entity_events GROUP BY item_key
),
fact_events AS (
    {facts_changed}
    UNION ALL
    {facts_said_again}
),
fact_items AS (
    SELECT 2 AS rank, item_key, bool_or(is_new) AS is_new, false AS is_relabelled, false AS is_erased_key,
        max(known_at) AS shown_at, NULL::timestamptz AS hidden_at
    FROM fact_events GROUP BY item_key
),
{placed};
