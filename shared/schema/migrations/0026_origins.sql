-- phase: pre
-- The call that wrote what waits for a vector, as W3C `traceparent`, where that was traced: embedding is linked to its trace,
-- whichever writer embeds it. Former code leaves it empty.

ALTER TABLE embedding_queue ADD COLUMN origin text;
