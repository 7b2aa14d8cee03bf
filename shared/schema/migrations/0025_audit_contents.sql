-- phase: pre
-- What callers tell the audit lies beside the chain, which has a salted hash of it: so a purge can take it out, and the chain still
-- fits. What was told before this stays in the chain.

CREATE TABLE audit_contents (
    namespace text NOT NULL,
    -- Of its event.
    sequence bigint NOT NULL,
    -- Random, and gone with the content: whoever guesses what was told cannot try it against the hash.
    salt text NOT NULL,
    target text NOT NULL,
    -- As its caller wrote it.
    details text NOT NULL,
    trace_id text NOT NULL,
    -- The words of all three in normal form, with a space on either side: by which a purge finds names.
    words text NOT NULL,
    PRIMARY KEY (namespace, sequence)
);
-- Events of one trace.
CREATE INDEX audit_contents_by_trace ON audit_contents (namespace, trace_id, sequence) WHERE trace_id <> '';
