-- What tells of the database itself, and of no namespace.

-- name: replica_lag
-- Whether this is a replica, and the age of the last transaction that it shows, in seconds: 0 where it has replayed all
-- that it received, for then nothing was written since.
SELECT pg_is_in_recovery() AS is_replica,
       CASE WHEN pg_last_wal_receive_lsn() IS NOT DISTINCT FROM pg_last_wal_replay_lsn() THEN 0
            ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0) END::float8
           AS lag_s;
