-- phase: pre
-- The audit, receipts of erasures, and tombstones of what was purged.

-- What was done that people may have to answer for (AU-1). Nothing may change or remove an event, whoever asks: triggers refuse it.
-- Rows come by `append_audit` alone. Personal data is here only as hashes and masks, for no purge reaches this table.
CREATE TABLE audit_events (
    namespace text NOT NULL,
    -- From 1, without gaps.
    sequence bigint NOT NULL CHECK (sequence > 0),
    action text NOT NULL,
    actor text NOT NULL,
    target text NOT NULL,
    -- A JSON object as its caller wrote it, or empty: the hash is over its very characters.
    details text NOT NULL,
    trace_id text NOT NULL,
    recorded_at timestamptz NOT NULL,
    hash text NOT NULL,
    -- Of the event before; empty: the first.
    previous_hash text NOT NULL,
    PRIMARY KEY (namespace, sequence)
);
-- Events of one trace.
CREATE INDEX audit_events_by_trace ON audit_events (namespace, trace_id, sequence) WHERE trace_id <> '';

-- A field of the canonical form of a message: a text, which is absent where it is empty.
CREATE FUNCTION canonical_field(number integer, value text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN CASE value
        WHEN '' THEN ''
        ELSE number || '=' || octet_length(normalize(value, NFC)) || ':' || normalize(value, NFC)
    END;

-- The hash of an event, in hex, as the contract's AuditEvent tells it.
CREATE FUNCTION audit_hash(event audit_events) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$
    SELECT encode(sha256(convert_to(
        '16:palimpsest.audit1:1' || octet_length(normalize(event.namespace, NFC)) || ':'
        || normalize(event.namespace, NFC)
        || '{1=i' || event.sequence || ';'
        || canonical_field(2, event.action) || canonical_field(3, event.actor) || canonical_field(4, event.target)
        || canonical_field(5, event.details) || canonical_field(6, event.trace_id)
        || '7=t' || (extract(epoch FROM event.recorded_at) * 1000000)::bigint || ';'
        || canonical_field(9, event.previous_hash) || '}', 'UTF8')), 'hex')
$$;

-- The advisory lock that lets events of a namespace come one after the other. Taken last of all locks.
CREATE FUNCTION audit_lock(namespace text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('palimpsest.audit' || namespace, 0);

-- Appends an event, which is there once the transaction is; returns it. Other events of the namespace wait till then. Acts with the
-- rights of the owner of the table, so that nobody else needs any.
CREATE FUNCTION append_audit(
    namespace text, action text, actor text, target text, details text, trace_id text) RETURNS audit_events
    LANGUAGE plpgsql VOLATILE STRICT SECURITY DEFINER
AS $$
DECLARE
    event audit_events;
BEGIN
    PERFORM pg_advisory_xact_lock(audit_lock($1));
    -- After the lock: each query of a volatile function sees what was committed up to then.
    SELECT head.sequence, head.hash INTO event.sequence, event.previous_hash
    FROM audit_events AS head WHERE head.namespace = $1 ORDER BY head.sequence DESC LIMIT 1;
    event.namespace := $1;
    event.sequence := coalesce(event.sequence, 0) + 1;
    event.previous_hash := coalesce(event.previous_hash, '');
    event.action := $2;
    event.actor := $3;
    event.target := $4;
    event.details := $5;
    event.trace_id := $6;
    event.recorded_at := clock_timestamp();
    event.hash := audit_hash(event);
    INSERT INTO audit_events SELECT (event).*;
    RETURN event;
END
$$;
-- What it names is sought in this schema only, whatever its caller's path is.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION append_audit(text, text, text, text, text, text) SET search_path = pg_catalog, %I, pg_temp',
        current_schema());
END
$$;

CREATE FUNCTION refuse_change() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    RAISE insufficient_privilege USING MESSAGE = format('%s is append-only', TG_TABLE_NAME);
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- For replicating sessions, in which other triggers sleep, too.
ALTER TABLE audit_events ENABLE ALWAYS TRIGGER append_only;

-- What erasures removed, for those who asked for them (AU-3).
CREATE TABLE erasure_receipts (
    namespace text NOT NULL,
    receipt_id text NOT NULL,
    erased_at timestamptz NOT NULL,
    -- Numbers of rows, by what they were.
    counts jsonb NOT NULL,
    actor text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    -- Hash of its event in the audit.
    audit_hash text NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, receipt_id)
);

-- What facts and entities rested on before it was redacted: by which a purge finds what is redacted already, and what that said.
CREATE TABLE struck_evidence (
    namespace text NOT NULL,
    -- A fact's id; of an entity's key a hash.
    item text NOT NULL,
    observation_id text NOT NULL,
    PRIMARY KEY (namespace, item, observation_id)
);
CREATE INDEX struck_evidence_by_observation ON struck_evidence (namespace, observation_id);

-- What was purged and must not come back by a late delivery. An observation's id is a hash of its identity, and all that is left.
CREATE TABLE tombstones (
    namespace text NOT NULL,
    observation_id text NOT NULL,
    -- Empty: whatever comes under the identity is kept out; else only the same content, for another may be its correction.
    content_hash text NOT NULL DEFAULT '',
    erased_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace, observation_id)
);

-- Locks a namespace for a writer, shared or alone, and only then looks at what it must know of it; one round trip, because each
-- query of a volatile function sees what was committed up to then. `fact_ids`: whether stored supersessions name one of them.
CREATE OR REPLACE FUNCTION lock_for_writing(name text, lock_key bigint, alone boolean, fact_ids text[])
    RETURNS TABLE (settings_version bigint, has_statements boolean, has_marks boolean)
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF alone THEN
        PERFORM pg_advisory_xact_lock(lock_key);
    ELSE
        PERFORM pg_advisory_xact_lock_shared(lock_key);
    END IF;
    settings_version := coalesce((SELECT max(version) FROM namespace_settings WHERE namespace = name), 0);
    has_statements := fact_ids <> '{}' AND (
        EXISTS (SELECT FROM fact_supersessions WHERE namespace = name AND old_fact_id = ANY (fact_ids))
        OR EXISTS (SELECT FROM fact_supersessions WHERE namespace = name AND new_fact_id = ANY (fact_ids)));
    has_marks := EXISTS (SELECT FROM item_marks WHERE namespace = name)
        OR EXISTS (SELECT FROM sources WHERE namespace = name AND state <> 1)
        OR EXISTS (SELECT FROM obsolete_marks WHERE namespace = name)
        OR EXISTS (SELECT FROM vault_observations WHERE namespace = name)
        OR EXISTS (SELECT FROM tombstones WHERE namespace = name)
        OR EXISTS (SELECT FROM write_guards WHERE namespace = name);
    RETURN NEXT;
END
$$;
