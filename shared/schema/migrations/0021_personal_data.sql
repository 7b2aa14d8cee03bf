-- phase: pre
-- Personal data: what is found where, and what its masks are told apart by.

-- Categories of personal data that were found in what an observation says of an entity, where the namespace protects it. What an
-- entity holds is what its observations say that are there.
ALTER TABLE entity_evidence ADD COLUMN pii_categories text[] NOT NULL DEFAULT '{}';
-- Entities with personal data.
CREATE INDEX entity_evidence_by_pii ON entity_evidence (namespace, natural_key) WHERE pii_categories <> '{}';

-- Namespaces that protect personal data, or did.
CREATE TABLE personal_data_secrets (
    namespace text PRIMARY KEY,
    -- By which masks of keys are told apart, and tokens are sealed. Never leaves the services.
    secret bytea NOT NULL DEFAULT (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
    -- How far curation has marked what was stored before the protection: the last observation; NULL: all.
    marked_to text DEFAULT ''
);
INSERT INTO personal_data_secrets (namespace)
SELECT latest.namespace
FROM (
    SELECT DISTINCT ON (namespace) namespace, settings FROM namespace_settings ORDER BY namespace, version DESC
) AS latest
WHERE (latest.settings::jsonb ->> 'pii_protection')::boolean;
