"""OP-6, AC-4, AC-6: facts that are stored already tell who sees them, with their vectors, after an upgrade."""

from pathlib import Path

from tests.integration.writing import query
from tests.migration.former import SPACE, TABLE, VECTORS, upgraded

BEFORE = "0027"
# Of each subject one fact: at an open end, at a hidden one, with hidden evidence.
STORED = f"""
{SPACE}
INSERT INTO observations
    (namespace, observation_id, content_hash, source_system, kind, occurred_at, message, status, restricting)
VALUES ('n', 'open', '', '', 'note', now(), '', 2, '{{}}'), ('n', 'closed', '', '', 'note', now(), '', 2, '{{role:a}}');
INSERT INTO entities (namespace, natural_key, last_seen_at, restricting)
VALUES ('n', 'person:1', now(), '{{}}'), ('n', 'person:2', now(), '{{role:b}}'), ('n', 'person:3', now(), '{{}}');
INSERT INTO facts
    (namespace, fact_id, subject_key, predicate, object_type, object_text, object, observed_at, evidence, confidence,
    sentence, restricting)
SELECT 'n', 'fact-' || n, 'person:' || n, 'SAID', 'text', '', '', now(), 4, 1, 'said',
    CASE n WHEN 3 THEN '{{role:a,role:c}}'::text[] ELSE '{{}}' END
FROM generate_series(1, 3) AS n;
INSERT INTO fact_evidence (namespace, fact_id, observation_id, occurred_at, evidence, confidence)
SELECT namespace, fact_id, CASE fact_id WHEN 'fact-3' THEN 'closed' ELSE 'open' END, now(), 4, 1 FROM facts;
INSERT INTO passages (namespace, kind, owner_key, text, token_count, embedding_hash, occurred_at, restricting)
SELECT namespace, 2, fact_id, sentence, 1, 'h', now(), restricting FROM facts;
{VECTORS}
"""
SHOWN = f"""
SELECT owner_key, p.restricting, v.restricting AS of_vector, v.label_set
FROM passages AS p JOIN {TABLE} AS v USING (namespace, passage_id) ORDER BY owner_key
"""


async def test_stored_facts_tell_who_sees_them(empty_dsn: str, tmp_path: Path) -> None:
    """OP-6, AC-6: by their ends and evidence, too, and what finds sets of labels tells them apart."""
    await upgraded(empty_dsn, tmp_path, before=BEFORE, stored=STORED)

    rows = await query(empty_dsn, SHOWN)
    assert [row["restricting"] for row in rows] == [[], ["&", "role:b"], ["&", "role:a"]]
    assert [row["of_vector"] for row in rows] == [row["restricting"] for row in rows]
    assert len({row["label_set"] for row in rows}) == 3
