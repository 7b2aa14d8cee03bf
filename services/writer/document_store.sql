-- Statements about texts, complete passes over folders (DO-5), and what came from them.

-- name: occurred_at
-- When a stored observation happened.
SELECT occurred_at FROM observations WHERE namespace = $1 AND observation_id = $2;

-- name: count_chunks
-- Pieces of an entity's text.
SELECT count(*) FROM passages WHERE namespace = $1 AND kind = 1 AND owner_key = $2;

-- name: begin_vault_run
-- A new run of a vault.
INSERT INTO vault_runs (namespace, vault, vault_run_id) VALUES ($1, $2, $3);

-- name: hold_vault_run
-- A run, held against being completed until the end of the transaction.
SELECT vault, vault_run_id, run_number, completed_at, met, removed, removed_keys
FROM vault_runs
WHERE namespace = $1 AND vault_run_id = $2
FOR SHARE;

-- name: lock_vault_run
-- A run, locked.
SELECT vault, vault_run_id, run_number, completed_at, met, removed, removed_keys
FROM vault_runs
WHERE namespace = $1 AND vault_run_id = $2
FOR UPDATE;

-- name: has_newer_completed
-- Whether a newer run of the vault was completed.
SELECT EXISTS (
    SELECT FROM vault_runs WHERE namespace = $1 AND vault = $2 AND run_number > $3 AND completed_at IS NOT NULL);

-- name: complete_vault_run
-- Notes that a run was completed, and what that did.
UPDATE vault_runs
SET completed_at = clock_timestamp(), met = $3, removed = $4, removed_keys = $5
WHERE namespace = $1 AND vault_run_id = $2;

-- name: meet_observation
-- Notes that a run met an observation. One that was stored before, without any vault, stays out of it.
INSERT INTO vault_observations AS met (namespace, vault, observation_id, entity_key, last_run_number)
SELECT $1, $2, $3, $4, $5
WHERE $6 OR EXISTS (SELECT FROM vault_observations WHERE namespace = $1 AND observation_id = $3)
ON CONFLICT (namespace, vault, observation_id) DO UPDATE
SET last_run_number = greatest(met.last_run_number, excluded.last_run_number);

-- name: forget_observations
-- That the observations came from any vault.
DELETE FROM vault_observations WHERE namespace = $1 AND observation_id = ANY ($2);

-- name: met_entities
-- Entities that a run met, or one that is newer.
SELECT DISTINCT entity_key FROM vault_observations WHERE namespace = $1 AND vault = $2 AND last_run_number >= $3;

-- name: unmet_observations
-- Observations of the vault that neither the run nor a newer one met.
SELECT observation_id, entity_key FROM vault_observations WHERE namespace = $1 AND vault = $2 AND last_run_number < $3;

-- name: forget_unmet
-- Takes them out of the vault. Returns those that are in no other vault either.
WITH gone AS (
    DELETE FROM vault_observations
    WHERE namespace = $1 AND vault = $2 AND last_run_number < $3
    RETURNING observation_id
)
SELECT observation_id
FROM gone
WHERE NOT EXISTS (
    SELECT FROM vault_observations AS other
    WHERE other.namespace = $1 AND other.observation_id = gone.observation_id AND other.vault <> $2)
ORDER BY observation_id COLLATE "C";
