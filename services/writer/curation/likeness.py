"""Near duplicates: pairs of entities that look alike are proposed, and that is all that likeness ever does (EN-1a)."""

import hashlib
from collections.abc import Iterable, Sequence

from palimpsest.canonical import pack

from services.writer.curation.step import Step
from services.writer.curation_store import CurationStore, Pair

LEAST_NAME_LIKENESS = 0.7
"""Share of common trigrams. At 0.7 a letter may differ in a name of two words; "Тигран" and "Иран" are at 0.2."""
LEAST_COMMON_TEXT = 0.8
"""Share of the longer document's pieces that both hold."""
_MOST_EACH = 5
# Names are compared that share the beginning of a word which so many things of a kind have at most.
_WORD_BEGINNING = 4
_MOST_OF_A_WORD = 200
# A title that so many things of a kind share, such as "Merge branch main", tells nothing of any of them.
_MOST_OF_A_NAME = 10
_MOST_HOLDERS = 20
# What happens and what is said repeats itself lawfully.
_KINDS_LEFT_OUT = ("observation", "trace", "episode", "event")


def proposal_id(namespace: str, first_key: str, second_key: str) -> str:
    """The id of a pair: `dup-` and 24 hex digits over its two keys."""
    packed = pack("palimpsest.duplicate", "1", namespace, first_key, second_key)
    return f"dup-{hashlib.sha256(packed).hexdigest()[:24]}"


async def propose_by_name(store: CurationStore, after: str, limit: int) -> Step:
    """Compares names that are new since they were last compared with all that are known, within a kind."""
    keys = await store.next_entities(after, limit)
    await store.delete_names(keys, _KINDS_LEFT_OUT)
    fresh = await store.insert_names(keys, _KINDS_LEFT_OUT)
    await store.settle_name_keys(keys, _WORD_BEGINNING)
    pairs: list[Pair] = []
    if fresh:
        rows = await store.alike_by_name(
            fresh,
            LEAST_NAME_LIKENESS,
            most_each=_MOST_EACH,
            most_of_a_name=_MOST_OF_A_NAME,
            most_of_a_word=_MOST_OF_A_WORD,
        )
        pairs = [
            Pair(row["first_key"], row["second_key"], row["score"], "equal names" if row["is_equal"] else "names alike")
            for row in rows
        ]
    return Step.of(keys, limit, await _propose(store, keys, pairs))


async def propose_by_text(store: CurationStore, after: str, limit: int) -> Step:
    """Compares documents with all that hold the same pieces of text."""
    keys = await store.next_documents(after, limit)
    rows = await store.alike_by_text(keys, LEAST_COMMON_TEXT, _MOST_HOLDERS)
    pairs = [Pair(row["first_key"], row["second_key"], row["score"], "equal texts") for row in rows]
    return Step.of(keys, limit, await _propose(store, keys, pairs))


async def _propose(store: CurationStore, keys: Sequence[str], pairs: Iterable[Pair]) -> int:
    """Proposes what never was, and sees to the links of what stands; answers how many are new."""
    proposals = {proposal_id(store.namespace, pair.first_key, pair.second_key): pair for pair in pairs}
    proposed = await store.insert_proposals(proposals.items())
    await store.draw_duplicate_links(sorted({*keys, *(pair.second_key for pair in proposals.values())}))
    return proposed
