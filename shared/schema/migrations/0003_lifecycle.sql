-- phase: pre
-- Marks of operators, registered sources, and complete passes over folders; what they hide is told by a column of each row.

-- What an item's status is, where an operator archived it, or restored it against what was asserted (EN-6).
CREATE FUNCTION effective_status(status smallint, archived boolean) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN archived THEN 5::smallint WHEN NOT archived AND status = 5 THEN 1::smallint ELSE status END;

ALTER TABLE observations ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;
ALTER TABLE entities ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;
ALTER TABLE entities ADD COLUMN archived boolean;
ALTER TABLE facts ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;
ALTER TABLE facts ADD COLUMN archived boolean;
ALTER TABLE links ADD COLUMN withdrawn boolean NOT NULL DEFAULT false;

-- What operators said of facts and entities (EN-6): rows of their own, so that no later observation undoes them.
CREATE TABLE item_marks (
    namespace text NOT NULL,
    -- Numbers of ItemKind: 2 fact, 3 entity or record.
    kind smallint NOT NULL CHECK (kind IN (2, 3)),
    item_key text NOT NULL,
    last_confirmed_at timestamptz,
    -- NULL: nobody said; false: restored, whatever was asserted.
    archived boolean,
    archive_reason text NOT NULL DEFAULT '',
    -- NULL: not deleted.
    deleted_at timestamptz,
    delete_reason text NOT NULL DEFAULT '',
    -- Who set a mark last.
    marked_by text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, kind, item_key)
);

-- Registered sources (DO-9). A stream's own row goes before that of its whole system.
CREATE TABLE sources (
    namespace text NOT NULL,
    system text NOT NULL,
    -- Empty: all streams of the system.
    stream text NOT NULL DEFAULT '',
    authority double precision NOT NULL CHECK (authority BETWEEN 0 AND 1),
    -- Numbers of SourceState: 1 ACTIVE, 2 PAUSED, 3 DELETED.
    state smallint NOT NULL CHECK (state BETWEEN 1 AND 3),
    description text NOT NULL DEFAULT '',
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Of the last change of state.
    reason text NOT NULL DEFAULT '',
    changed_by text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, system, stream)
);

-- Complete passes over folders of documents (DO-5). The greater number is the newer run.
CREATE TABLE vault_runs (
    namespace text NOT NULL,
    vault_run_id text NOT NULL,
    vault text NOT NULL,
    run_number bigint GENERATED ALWAYS AS IDENTITY,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- NULL: open, or broken off.
    completed_at timestamptz,
    -- What completing it did.
    met bigint NOT NULL DEFAULT 0,
    removed bigint NOT NULL DEFAULT 0,
    removed_keys text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (namespace, vault_run_id)
);
-- The newest completed run of a vault.
CREATE INDEX vault_runs_by_vault ON vault_runs (namespace, vault, run_number);

-- Observations that came from a vault, and the newest run that met each.
CREATE TABLE vault_observations (
    namespace text NOT NULL,
    vault text NOT NULL,
    observation_id text NOT NULL,
    entity_key text NOT NULL,
    last_run_number bigint NOT NULL,
    PRIMARY KEY (namespace, vault, observation_id)
);
-- What a complete run did not meet.
CREATE INDEX vault_observations_by_run ON vault_observations (namespace, vault, last_run_number);
-- Whether an observation or an entity is a vault's.
CREATE INDEX vault_observations_by_observation ON vault_observations (namespace, observation_id);
CREATE INDEX vault_observations_by_entity ON vault_observations (namespace, entity_key);
