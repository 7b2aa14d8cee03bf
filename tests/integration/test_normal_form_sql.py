"""The normal form of text is one thing, in Python and in SQL."""

import unicodedata

from shared.database import Database
from shared.normal_form import normal_form


async def test_sql_and_python_agree(database: Database) -> None:
    """OB-8: for every named character of the first two planes, alone and between others."""
    characters = [chr(point) for point in range(1, 0x20000) if not 0xD800 <= point < 0xE000]
    named = [character for character in characters if unicodedata.name(character, "")]
    texts = named + [f"{first}x{second}" for first, second in zip(named, reversed(named), strict=True)]
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT given, normal_form(given) AS normal FROM unnest($1::text[]) AS texts (given)", texts
        )
    assert len(rows) == len(texts)
    assert [row["given"] for row in rows if row["normal"] != normal_form(row["given"])] == []
