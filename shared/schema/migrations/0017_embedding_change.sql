-- phase: pre
-- Several spaces are filled at once: what waits in one of them alone, how far it is filled, and which writes go first.

ALTER TABLE embedding_spaces
    -- While it is filled with what was there before: the last passage that was looked at.
    ADD COLUMN filled_namespace text NOT NULL DEFAULT '',
    ADD COLUMN filled_passage_id bigint NOT NULL DEFAULT 0,
    ADD COLUMN is_filled boolean NOT NULL DEFAULT true,
    -- When another took its place.
    ADD COLUMN retired_at timestamptz,
    -- Made active by going back to it.
    ADD COLUMN is_restored boolean NOT NULL DEFAULT false;

-- Of a batch, a stream or a long text: single writes go first.
ALTER TABLE embedding_queue ADD COLUMN is_bulk boolean NOT NULL DEFAULT false;

-- The order of claiming. Rows that nobody has claimed yet stand first.
CREATE INDEX embedding_queue_by_turn ON embedding_queue (is_bulk, leased_until, enqueued_at) WHERE NOT poisoned;
DROP INDEX embedding_queue_by_lease;

-- Passages that wait for a vector in one space alone: which had none when the space was made, whose text the space's model
-- could not embed, or that got theirs in another space while this one's model was not served.
CREATE TABLE embedding_backlog (
    namespace text NOT NULL,
    passage_id bigint NOT NULL,
    fingerprint text NOT NULL,
    embedding_hash text NOT NULL,
    enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    leased_until timestamptz NOT NULL DEFAULT '-infinity',
    attempts integer NOT NULL DEFAULT 0,
    last_error text NOT NULL DEFAULT '',
    -- Set aside after repeated failures: claimed no more, counted in the status.
    poisoned boolean NOT NULL DEFAULT false,
    PRIMARY KEY (namespace, passage_id, fingerprint),
    FOREIGN KEY (namespace, passage_id) REFERENCES passages ON DELETE CASCADE
);
-- The order of claiming.
CREATE INDEX embedding_backlog_by_turn ON embedding_backlog (fingerprint, leased_until, enqueued_at) WHERE NOT poisoned;
-- Set aside, by space.
CREATE INDEX embedding_backlog_set_aside ON embedding_backlog (namespace, fingerprint) WHERE poisoned;

-- Passages that have no vector in the active space yet, or never will. Two parts of the backlog, for each has its index.
CREATE VIEW unembedded AS
    SELECT namespace, passage_id, enqueued_at, poisoned FROM embedding_queue
    UNION ALL
    SELECT namespace, passage_id, enqueued_at, poisoned
    FROM embedding_backlog
    WHERE NOT poisoned AND fingerprint = (SELECT fingerprint FROM embedding_spaces WHERE state = 'active')
    UNION ALL
    SELECT namespace, passage_id, enqueued_at, poisoned
    FROM embedding_backlog
    WHERE poisoned AND fingerprint = (SELECT fingerprint FROM embedding_spaces WHERE state = 'active');

-- What failed so far, failed in the active space.
INSERT INTO embedding_backlog (
    namespace, passage_id, fingerprint, embedding_hash, enqueued_at, attempts, last_error, poisoned)
SELECT waiting.namespace, waiting.passage_id, space.fingerprint, waiting.embedding_hash, waiting.enqueued_at,
    waiting.attempts, waiting.last_error, waiting.poisoned
FROM embedding_queue AS waiting JOIN embedding_spaces AS space ON space.state = 'active'
WHERE waiting.poisoned;
DELETE FROM embedding_queue WHERE poisoned AND EXISTS (SELECT FROM embedding_spaces WHERE state = 'active');
