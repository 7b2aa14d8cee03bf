"""Which entities answer as which: derived from confirmed proposals (EN-1a)."""

from collections.abc import Iterable

from services.writer.curation_store import CurationStore


async def settle_merges(store: CurationStore, keys: Iterable[str]) -> None:
    """Lets the entities, and all that confirmed proposals join with them, answer as the least key of their group."""
    settled: set[str] = set()
    merges: dict[str, list[str]] = {}
    for key in sorted(keys):
        if key in settled:
            continue
        group = await store.connected_by_merges([key])
        settled |= group
        # By code points, which order text as its bytes in UTF-8 do.
        canonical, *merged = sorted(group)
        if merged:
            merges[canonical] = merged
    await store.replace_merges(settled, merges)
