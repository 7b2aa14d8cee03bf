-- phase: pre
-- Passages and vectors of facts repeat all that decides who may see these: not their own labels alone, but those of their ends and of
-- their evidence. Facts that former code writes while it still runs repeat their own alone, until they are written again; nothing
-- shows them to whom they are hidden from, for reads ask for ends and evidence, too.

-- Whether a caller holds a label of each group. `&` stands before each group. Few rows are asked for it: no plan should mind it.
CREATE FUNCTION holds_of_each(groups text[], granted text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1
AS $$
DECLARE
    label text;
    is_held boolean := true;
BEGIN
    FOREACH label IN ARRAY groups LOOP
        IF label <> '&' THEN
            is_held := is_held OR label = ANY (granted);
        ELSIF is_held THEN
            is_held := false;
        ELSE
            RETURN false;
        END IF;
    END LOOP;
    RETURN is_held;
END
$$;

-- Whether a caller may see a row with these restricting labels (AC-2), of which it must hold one; where the first is `&`, one of
-- each group. The one place where visibility is decided in SQL.
CREATE OR REPLACE FUNCTION visible(restricting text[], granted text[], sees_all boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sees_all OR restricting = '{}'::text[]
        OR (restricting && granted AND (restricting[1] <> '&' OR holds_of_each(restricting, granted)));

-- The labels of a fact that is seen only where its ends and some evidence are (AC-6): its own, where whoever holds one of these
-- may see the others; else groups, each once, sorted, and none that another group implies. So equal conditions are equal arrays.
CREATE FUNCTION labels_of_all(own text[], subject text[], object text[], evidence text[]) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    WITH asked AS (
        SELECT DISTINCT one.labels FROM (VALUES (own), (subject), (object), (evidence)) AS one (labels) WHERE one.labels <> '{}'
    ), needed AS (
        SELECT labels, row_number() OVER (ORDER BY labels COLLATE "C") AS place
        FROM asked
        WHERE NOT EXISTS (
            SELECT FROM asked AS other
            WHERE other.labels <@ asked.labels AND (NOT asked.labels <@ other.labels OR other.labels < asked.labels))
    )
    SELECT CASE WHEN NOT EXISTS (SELECT FROM needed WHERE labels <> own) THEN own ELSE (
        SELECT array_agg(label ORDER BY needed.place, part.place)
        FROM needed CROSS JOIN LATERAL unnest('&'::text || needed.labels) WITH ORDINALITY AS part (label, place)
    ) END
$$;

-- Makes passages of facts repeat who may see these (AC-4, AC-6): whoever sees the fact itself, both ends and one of the
-- observations that it rests on. The passages are locked, or the namespace is held alone. Answers those that changed; their
-- vectors have to follow.
CREATE FUNCTION mirror_fact_labels(names text[], ids text[]) RETURNS TABLE (namespace text, passage_id bigint)
    LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    UPDATE passages AS p SET restricting = shown.restricting
    FROM (
        SELECT fact.namespace, fact.fact_id, CASE
            WHEN (subject = '{}' OR own <> '{}' AND own <@ subject) AND (object = '{}' OR own <> '{}' AND own <@ object)
                AND evidence = '{}'
            THEN own ELSE labels_of_all(own, subject, object, evidence) END AS restricting
        FROM (
            SELECT f.namespace, f.fact_id, f.restricting AS own,
                coalesce((
                    SELECT e.restricting FROM entities AS e
                    WHERE e.namespace = f.namespace AND e.natural_key = f.subject_key), '{}') AS subject,
                coalesce((
                    SELECT e.restricting FROM entities AS e
                    WHERE e.namespace = f.namespace AND e.natural_key = f.object_key), '{}') AS object,
                -- None where one observation is open, or whoever sees the fact itself may see one: most facts.
                CASE WHEN EXISTS (
                    SELECT FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
                    WHERE fe.namespace = f.namespace AND fe.fact_id = f.fact_id
                      AND (o.restricting = '{}' OR f.restricting <> '{}' AND f.restricting <@ o.restricting))
                THEN '{}' ELSE ARRAY(
                    SELECT DISTINCT label COLLATE "C"
                    FROM fact_evidence AS fe JOIN observations AS o USING (namespace, observation_id)
                        CROSS JOIN LATERAL unnest(o.restricting) AS label
                    WHERE fe.namespace = f.namespace AND fe.fact_id = f.fact_id
                    ORDER BY 1) END AS evidence
            FROM unnest(names, ids) AS given (namespace, fact_id) JOIN facts AS f USING (namespace, fact_id)
            OFFSET 0
        ) AS fact
    ) AS shown
    WHERE p.namespace = shown.namespace AND p.kind = 2 AND p.owner_key = shown.fact_id
      AND p.restricting <> shown.restricting
    RETURNING p.namespace, p.passage_id;
END
$$;

-- Facts that something else than their own labels hides: of these alone more can be seen, where an end is hidden less.
CREATE INDEX passages_hidden_otherwise ON passages (namespace, owner_key) WHERE kind = 2 AND restricting[1] = '&';

DO $$
DECLARE
    changed bigint[];
    vectors text;
BEGIN
    SELECT array_agg(mirrored.passage_id) INTO changed
    FROM (
        SELECT array_agg(namespace) AS names, array_agg(fact_id) AS ids FROM facts
    ) AS every CROSS JOIN LATERAL mirror_fact_labels(every.names, every.ids) AS mirrored;
    FOR vectors IN SELECT table_name FROM embedding_spaces LOOP
        EXECUTE format(
            'UPDATE %I AS v SET restricting = p.restricting FROM passages AS p
             WHERE p.passage_id = ANY ($1) AND v.namespace = p.namespace AND v.passage_id = p.passage_id', vectors) USING changed;
    END LOOP;
END
$$;
