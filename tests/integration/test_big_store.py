"""The store that scale is measured on: what the product would have made of the same content."""

import asyncio
from pathlib import Path

import asyncpg

from bench.big_store import TABLE, build, serving

ROWS, FACTS = 400, 800
FOUND = f"""
SELECT
    (SELECT count(*) FROM passages WHERE kind = 1) AS chunks,
    (SELECT count(*) FROM passages WHERE kind = 2) AS of_facts,
    (SELECT count(*) FROM facts) AS facts,
    (SELECT count(*) FROM {TABLE}) AS vectors,
    (SELECT count(*) FROM embedding_queue) AS waiting,
    (SELECT count(*) FROM passages AS p JOIN {TABLE} AS v USING (namespace, passage_id)
        WHERE (p.restricting, p.applies, p.embedding_hash, p.kind, p.hidden)
            IS NOT DISTINCT FROM (v.restricting, v.applies, v.embedding_hash, v.kind, v.hidden)) AS alike
"""


def test_a_big_store_has_all_that_it_is_said_to_have(fresh_folder: Path) -> None:
    """OP-5, EM-4: so many chunks and facts, each a passage whose vector says the same of it, and none waits for one."""

    async def found(dsn: str) -> dict[str, int]:
        connection = await asyncpg.connect(dsn)
        row = await connection.fetchrow(FOUND)
        await connection.close()
        return dict(row or {})

    fresh_folder.chmod(0o755)
    build(fresh_folder / "store", ROWS, namespaces=5, facts=FACTS)
    with serving(fresh_folder / "store") as (postgres, content):
        assert (content.rows, content.namespaces) == (ROWS, 5)
        both = ROWS + FACTS
        assert asyncio.run(found(postgres.dsn())) == {
            "chunks": ROWS,
            "of_facts": FACTS,
            "facts": FACTS,
            "vectors": both,
            "waiting": 0,
            "alike": both,
        }
