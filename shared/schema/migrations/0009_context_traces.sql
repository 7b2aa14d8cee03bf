-- phase: pre
-- Traces of context compilation, and the packs that they made.

-- The advisory lock that compilations share while they leave a trace, and that erasure holds alone: so that no trace of what is
-- being erased is left behind its back.
CREATE FUNCTION trace_lock(namespace text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('palimpsest.trace' || namespace, 0);

-- What compilations of context saw and chose (RE-9). The one table that readers write, and no knowledge: it follows from reads.
CREATE TABLE context_traces (
    namespace text NOT NULL,
    trace_id text NOT NULL,
    pack_id text NOT NULL,
    compiled_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Whose it is: the caller, and the restricting labels that it held. Who holds fewer by now may not read it any more.
    subject text NOT NULL,
    granted text[] NOT NULL,
    sees_all boolean NOT NULL,
    -- Serialized palimpsest.v1.CompileContextRequest, ContextTrace and ContextPack.
    request bytea NOT NULL,
    trace bytea NOT NULL,
    pack bytea NOT NULL,
    -- Of a delta: serialized ContextPack of what former packs told and still holds. Empty: none.
    known bytea NOT NULL DEFAULT '',
    -- What erasure finds it by: keys of entities, ids of facts and observations that it names or rests on.
    item_keys text[] NOT NULL,
    PRIMARY KEY (namespace, trace_id)
);
-- The latest trace of a pack.
CREATE INDEX context_traces_by_pack ON context_traces (namespace, pack_id, compiled_at DESC);
-- What erasure of an item takes with it.
CREATE INDEX context_traces_by_item ON context_traces USING gin (namespace, item_keys);
-- What has expired.
CREATE INDEX context_traces_by_expiry ON context_traces (expires_at);
