-- How namespaces behave, and what it makes of facts. Throughout: $1 the namespace, $2 the restricting labels that the caller
-- holds, $3 whether restricting labels hide nothing from it. Packs and settings have no labels.

-- name: get_settings
-- The settings in force. No row where nobody configured the namespace.
SELECT version, settings, updated_at, updated_by
FROM namespace_settings
WHERE namespace = $1 AND ($3 OR $2::text[] IS NOT NULL)
ORDER BY version DESC
LIMIT 1;

-- name: get_pack
-- The version $5 of the pack $4, the latest where that is 0. No row where it is not registered.
SELECT definition
FROM domain_packs
WHERE namespace = $1 AND ($3 OR $2::text[] IS NOT NULL) AND pack = $4 AND $5::bigint IN (0, version)
ORDER BY version DESC
LIMIT 1;

-- name: list_packs
-- Registered packs by name and version after ($4, $5), at most $6.
SELECT definition
FROM domain_packs
WHERE namespace = $1 AND ($3 OR $2::text[] IS NOT NULL)
    AND (pack COLLATE "C", version) > ($4::text, $5::bigint)
ORDER BY pack COLLATE "C", version
LIMIT $6;

-- name: enabled_packs
-- The named versions $5 of the packs $4, by name.
SELECT definition
FROM domain_packs JOIN unnest($4::text[], $5::bigint[]) AS enabled (pack, version) USING (pack, version)
WHERE namespace = $1 AND ($3 OR $2::text[] IS NOT NULL)
ORDER BY pack COLLATE "C";

-- name: rivals
-- For each of the facts $4 the visible ones of its subject and predicate that hold at $5 too, with another object, at most $9
-- each. $6 predicates, $7 all predicates instead but $8.
SELECT f.fact_id, rival.fact_id AS rival_id
FROM facts AS f
CROSS JOIN LATERAL (
    SELECT r.fact_id
    FROM facts AS r JOIN passages AS p ON p.namespace = $1 AND p.kind = 2 AND p.owner_key = r.fact_id
    WHERE r.namespace = $1 AND r.subject_key = f.subject_key AND r.predicate = f.predicate
        AND (r.object_type, r.object_text) <> (f.object_type, f.object_text)
        AND NOT p.hidden
        AND p.status IN (1, 3)
        AND (p.expires_at IS NULL OR p.expires_at > now())
        AND (p.valid_from IS NULL OR p.valid_from <= coalesce($5::timestamptz, now()))
        AND (p.valid_to IS NULL OR p.valid_to > coalesce($5, now()))
        AND visible(p.restricting, $2, $3)
        AND ($3 OR (
            NOT EXISTS (
                SELECT FROM entities AS e
                WHERE e.namespace = $1 AND e.natural_key IN (r.subject_key, r.object_key)
                    AND NOT visible(e.restricting, $2, $3))
            AND EXISTS (
                SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
                WHERE fe.namespace = $1 AND fe.fact_id = r.fact_id AND visible(o.restricting, $2, $3))))
    ORDER BY r.fact_id
    LIMIT $9
) AS rival
WHERE f.namespace = $1 AND f.fact_id = ANY ($4::text[])
    AND (f.predicate = ANY ($6::text[]) OR ($7::boolean AND f.predicate <> ALL ($8::text[])))
ORDER BY f.fact_id, rival.fact_id;
