-- How personal data is protected in a namespace.

-- name: protection
-- Whether the settings in force protect it, and the secret of its masks: one row, whatever there is.
SELECT coalesce((
        SELECT (settings::jsonb ->> 'pii_protection')::boolean
        FROM namespace_settings
        WHERE namespace = $1
        ORDER BY version DESC
        LIMIT 1), false) AS is_on,
    (SELECT secret FROM personal_data_secrets WHERE namespace = $1) AS secret;

-- name: declared
-- What the entities $2 declare to be personal, and the ends of the facts $3, and what the pack $4 may hold words of.
SELECT title, aliases, attributes::text AS attributes, pii_categories
FROM entities
WHERE namespace = $1 AND pii_categories <> '{}' AND natural_key IN (
    SELECT unnest($2::text[])
    UNION ALL
    SELECT unnest(ARRAY[subject_key, object_key]) FROM facts WHERE namespace = $1 AND fact_id = ANY ($3::text[])
    UNION ALL
    SELECT unnest(item_keys) FROM context_traces WHERE $4::text <> '' AND namespace = $1 AND pack_id = $4);
