-- phase: pre
-- Edges of an entity, heaviest first: a walk reads as many as it follows, however many there are. The order is whole, so that
-- equal weights cost no more. The indexes by the end that is led to take the place of those without weights.

CREATE INDEX links_from_by_weight ON links (namespace, source_key, weight DESC, relation, target_key);
CREATE INDEX links_to_by_weight ON links (namespace, target_key, weight DESC, relation, source_key);
CREATE INDEX facts_from_by_weight ON facts (namespace, subject_key, confidence DESC, predicate, fact_id)
    WHERE object_key IS NOT NULL;
CREATE INDEX facts_to_by_weight ON facts (namespace, object_key, confidence DESC, predicate, fact_id)
    WHERE object_key IS NOT NULL;
DROP INDEX links_by_target;
DROP INDEX facts_by_object;
