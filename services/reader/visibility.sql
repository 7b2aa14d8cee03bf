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
