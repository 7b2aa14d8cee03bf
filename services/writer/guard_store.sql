-- Which roles may change what (AC-5). $1 is the namespace.

-- name: insert_guards
-- What assertions said of it: kinds $2, keys $3, observations $4, indices $5, moments $6, roles $7 as array literals.
INSERT INTO write_guards (namespace, kind, item_key, observation_id, assertion_index, occurred_at, write_roles)
SELECT $1, kind, item_key, observation_id, assertion_index, occurred_at, roles::text[]
FROM unnest($2::smallint[], $3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::text[])
    AS given (kind, item_key, observation_id, assertion_index, occurred_at, roles)
ON CONFLICT DO NOTHING;

-- name: guards_of
-- The roles that may change each of the items (kinds $2, keys $3) that are guarded: what was said last.
SELECT given.kind, given.item_key, acting.write_roles
FROM unnest($2::smallint[], $3::text[]) AS given (kind, item_key)
CROSS JOIN LATERAL (
    SELECT guard.write_roles
    FROM write_guards AS guard
    WHERE guard.namespace = $1 AND guard.kind = given.kind AND guard.item_key = given.item_key
    ORDER BY guard.occurred_at DESC, guard.observation_id COLLATE "C" DESC, guard.assertion_index DESC
    LIMIT 1
) AS acting;

-- name: guarded_timelines
-- Of the subjects $2 and predicates $3, each a timeline, the facts that are guarded: a fact that joins ends others.
SELECT given.subject_key, given.predicate, f.fact_id
FROM unnest($2::text[], $3::text[]) AS given (subject_key, predicate)
    JOIN facts AS f ON f.namespace = $1 AND f.subject_key = given.subject_key AND f.predicate = given.predicate
WHERE EXISTS (
    SELECT FROM write_guards AS guard
    WHERE guard.namespace = $1 AND guard.kind = 2 AND guard.item_key = f.fact_id);

-- name: guarded_by_source
-- The items that observations of the system $2 guard, of one stream ($3) or, where that is empty, of all.
SELECT DISTINCT guard.kind, guard.item_key
FROM write_guards AS guard JOIN observations AS o USING (namespace, observation_id)
WHERE guard.namespace = $1 AND o.source_system = $2 AND $3 IN ('', o.source_stream);
