-- The writer's statements about how namespaces behave: registered packs and settings.

-- name: latest_settings
-- The settings in force.
SELECT version, settings, updated_at, updated_by
FROM namespace_settings
WHERE namespace = $1
ORDER BY version DESC
LIMIT 1;

-- name: insert_settings
-- A new version of the settings.
INSERT INTO namespace_settings (namespace, version, settings, updated_by, reason)
VALUES ($1, $2, $3::json, $4, $5)
RETURNING updated_at;

-- name: begin_protection
-- A secret for its masks, unless there is one; what is stored is marked anew.
INSERT INTO personal_data_secrets (namespace) VALUES ($1)
ON CONFLICT (namespace) DO UPDATE SET marked_to = '';

-- name: insert_pack
-- A version of a pack, unless one is there. Waits for whoever is registering it right now.
INSERT INTO domain_packs (namespace, pack, version, definition, content_hash)
VALUES ($1, $2, $3, $4::json, $5)
ON CONFLICT (namespace, pack, version) DO NOTHING
RETURNING pack;

-- name: pack_hash
-- The hash of a version of a pack.
SELECT content_hash FROM domain_packs WHERE namespace = $1 AND pack = $2 AND version = $3;

-- name: packs
-- Those of the named versions that are registered, by name.
SELECT domain_packs.definition
FROM domain_packs JOIN unnest($2::text[], $3::bigint[]) AS wanted (pack, version) USING (pack, version)
WHERE namespace = $1
ORDER BY pack COLLATE "C";

-- name: timeline_facts
-- Facts of each given subject and predicate.
SELECT facts.namespace, facts.fact_id
FROM facts JOIN unnest($1::text[], $2::text[], $3::text[]) AS given (namespace, subject_key, predicate)
    USING (namespace, subject_key, predicate);

-- name: subjects_of
-- Subjects that have facts of the predicates $2, after ($3, $4), with the predicate; at most $5.
SELECT DISTINCT subject_key COLLATE "C" AS subject_key, predicate COLLATE "C" AS predicate
FROM facts
WHERE namespace = $1 AND predicate = ANY ($2::text[])
    AND (subject_key COLLATE "C", predicate COLLATE "C") > ($3::text, $4::text)
ORDER BY 1, 2
LIMIT $5;
