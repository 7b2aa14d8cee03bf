-- phase: pre
-- Order within a stream where moments are equal, and an index of what was said there by somebody. Of passages that are
-- stored already the order is that of their moments alone.

ALTER TABLE passages ADD COLUMN place_in_stream text COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX passages_by_stream;
CREATE INDEX passages_by_stream
    ON passages (namespace, source_system, source_stream, occurred_at, place_in_stream, ordinal)
    WHERE author_key <> '' AND source_stream <> '' AND NOT hidden;
