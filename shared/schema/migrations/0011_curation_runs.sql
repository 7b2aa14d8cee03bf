-- phase: pre
-- Curation and retention in the background.

-- When the background loop of curation may look at a namespace next: after the interval or, while a replica is at work there,
-- when its lease ends.
CREATE TABLE curation_runs (
    namespace text PRIMARY KEY,
    due_at timestamptz NOT NULL
);
-- The next one.
CREATE INDEX curation_runs_by_due ON curation_runs (due_at);

-- What retention lets go. Rows lie as they were recorded, so that a summary of pages does, which costs a write next to nothing.
CREATE INDEX observations_by_recording ON observations USING brin (namespace, recorded_at);
