-- What a caller may see of a fact `f` (AC-6), as parts of the statements of this folder. $1 the namespace, $2 the restricting
-- labels that the caller holds, $3 whether restricting labels hide nothing from it.

-- fragment: ends_are_visible
NOT EXISTS (
    SELECT FROM entities AS e
    WHERE e.namespace = $1 AND e.natural_key IN (f.subject_key, f.object_key) AND NOT visible(e.restricting, $2, $3))

-- fragment: evidence_is_visible
EXISTS (
    SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
    WHERE fe.namespace = $1 AND fe.fact_id = f.fact_id AND visible(o.restricting, $2, $3))

-- fragment: fact_is_visible
($3 OR ({ends_are_visible} AND {evidence_is_visible}))

-- fragment: those_it_closed
-- The facts that it closed, as far as the caller may see them.
(
    SELECT coalesce(array_agg(other.id ORDER BY other.id), '{}') FROM unnest(f.supersedes) AS other (id)
    WHERE $3 OR EXISTS (
        SELECT FROM facts AS f
        WHERE f.namespace = $1 AND f.fact_id = other.id AND visible(f.restricting, $2, $3) AND {fact_is_visible}))

-- fragment: those_that_closed_it
-- The facts that closed it, as far as the caller may see them.
(
    SELECT coalesce(array_agg(other.id ORDER BY other.id), '{}') FROM unnest(f.superseded_by) AS other (id)
    WHERE $3 OR EXISTS (
        SELECT FROM facts AS f
        WHERE f.namespace = $1 AND f.fact_id = other.id AND visible(f.restricting, $2, $3) AND {fact_is_visible}))
