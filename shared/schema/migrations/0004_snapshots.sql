-- phase: pre
-- Complete states that sources sent for a scope (DO-6): what each was, and what is known of the last one.

-- Why a retraction ends its fact: a number of FactClosure, 3 RETRACTED or 6 SNAPSHOT.
ALTER TABLE fact_retractions ADD COLUMN closure smallint NOT NULL DEFAULT 3 CHECK (closure IN (3, 6));

-- The journal of snapshots.
CREATE TABLE snapshots (
    namespace text NOT NULL,
    source text NOT NULL,
    scope text NOT NULL,
    snapshot_id text NOT NULL,
    taken_at timestamptz NOT NULL,
    -- SHA-256, in hex, over its items: the same id comes with the same content only.
    content_hash text NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- False: a newer one had been applied already, so that it changed nothing.
    applied boolean NOT NULL,
    -- Numbers of what it did, by their names in the answer.
    counts jsonb NOT NULL,
    PRIMARY KEY (namespace, source, scope, snapshot_id)
);
-- The newest of a scope.
CREATE INDEX snapshots_by_time ON snapshots (namespace, source, scope, taken_at DESC) WHERE applied;

-- The items that the newest snapshot of a scope has.
CREATE TABLE snapshot_items (
    namespace text NOT NULL,
    source text NOT NULL,
    scope text NOT NULL,
    entity_key text NOT NULL,
    item_hash text NOT NULL,
    -- Serialized palimpsest.v1.SnapshotItem.
    item bytea NOT NULL,
    -- relation's hash -> [fact id, start of the fact in microseconds or null]: the facts that are open.
    facts jsonb NOT NULL,
    PRIMARY KEY (namespace, source, scope, entity_key)
);
-- Whether another scope has an entity too.
CREATE INDEX snapshot_items_by_entity ON snapshot_items (namespace, entity_key);

-- Which snapshot a fact was asserted by last.
CREATE TABLE snapshot_facts (
    namespace text NOT NULL,
    fact_id text NOT NULL,
    source text NOT NULL,
    scope text NOT NULL,
    snapshot_id text NOT NULL,
    taken_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, fact_id, source, scope)
);
