-- phase: pre
-- Traces are left in one round trip.

-- Leaves a trace in one round trip: each query of a volatile function sees what was committed up to then. False on a replica,
-- while erasure is at work, and where one of the observations that it rests on was erased since. A commit that is lost in a
-- crash loses a trace and nothing else, so nobody waits for the disk.
CREATE FUNCTION leave_trace(
    name text, trace_id text, pack_id text, compiled_at timestamptz, kept_s double precision, subject text, granted text[],
    sees_all boolean, request bytea, trace bytea, pack bytea, known bytea, item_keys text[], observation_ids text[])
    RETURNS boolean
    LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF pg_is_in_recovery() OR NOT pg_try_advisory_xact_lock_shared(trace_lock(name)) THEN
        RETURN false;
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO context_traces (
        namespace, trace_id, pack_id, compiled_at, expires_at, subject, granted, sees_all, request, trace, pack, known,
        item_keys)
    SELECT $1, $2, $3, $4, $4 + make_interval(secs => $5), $6, $7, $8, $9, $10, $11, $12, $13
    WHERE NOT EXISTS (
        SELECT FROM unnest($14) AS rests (observation_id)
        WHERE NOT EXISTS (
            SELECT FROM observations AS o
            WHERE o.namespace = $1 AND o.observation_id = rests.observation_id AND o.redacted_at IS NULL))
    -- Equal compilations in one microsecond are one.
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;
