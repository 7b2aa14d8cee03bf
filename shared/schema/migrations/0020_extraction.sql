-- phase: pre
-- Capture and extraction.

-- Messages that wait for facts to be extracted from them. Claimed with SKIP LOCKED, leased, deleted with the transaction that
-- stores what was found (CP-5). Holds no text.
CREATE TABLE extraction_queue (
    namespace text NOT NULL,
    observation_id text NOT NULL,
    enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    -- How often it was claimed: by that a holder knows whether its lease is still the last one.
    claims bigint NOT NULL DEFAULT 0,
    attempts integer NOT NULL DEFAULT 0,
    last_error text NOT NULL DEFAULT '',
    -- Given up after repeated failures: claimed no more until somebody says so.
    dead boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, observation_id)
);
-- The order of claiming.
CREATE INDEX extraction_queue_by_lease ON extraction_queue (leased_until, enqueued_at) WHERE NOT dead;

-- Which observations were made of which: erasure takes them along.
CREATE TABLE derivations (
    namespace text NOT NULL,
    source_observation_id text NOT NULL,
    derived_observation_id text NOT NULL,
    PRIMARY KEY (namespace, source_observation_id, derived_observation_id)
);

-- What was taken out of captured text, counted by what it was.
CREATE TABLE stripped (
    namespace text NOT NULL,
    what text NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (namespace, what)
);

-- What capture compares messages with: the packs that were rendered last.
CREATE INDEX context_traces_by_moment ON context_traces (namespace, compiled_at DESC);
