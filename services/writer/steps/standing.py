"""Standing: what marks, deleted sources and vaults make of items, whatever else is said of these (EN-5, EN-6, DO-9).

Marks are rows of their own. What they come to is told by columns of the items, derived anew whenever an item is written
or a mark is set; so no order of both makes a difference.
"""

from collections.abc import Set as AbstractSet

from services.writer.passage_store import PassageStore
from services.writer.projection.merge import EntityState
from services.writer.standing_store import StandingStore
from services.writer.steps.entities import TouchedEntity
from services.writer.steps.facts import StoredFact
from services.writer.steps.passages import wanted_passages, write_passages
from services.writer.store import Key, Store
from shared.database import Connection


async def settle_touched(connection: Connection, entities: AbstractSet[Key], facts: AbstractSet[Key]) -> None:
    """Settles items that were just written. Costs one statement where nothing is marked."""
    namespaces = {namespace for namespace, _ in entities | facts}
    if namespaces and await StandingStore(connection).concerns(namespaces):
        await settle_standing(connection, entities, facts)


async def settle_standing(connection: Connection, entities: AbstractSet[Key], facts: AbstractSet[Key]) -> None:
    """Lets items, the facts at their ends, and the passages and vectors of both follow marks and evidence."""
    standing = StandingStore(connection)
    turned = await standing.settle_entities(entities)
    facts = facts | await standing.facts_at(turned)
    turned_facts = await standing.settle_facts(facts)
    await standing.settle_links(entities)
    await _show(connection, turned, turned_facts)
    changed = await standing.settle_entity_passages(entities) + await standing.settle_fact_passages(facts)
    passages = PassageStore(connection)
    for space in await passages.spaces() if changed else ():
        await passages.mirror_vectors(space.table_name, sorted(changed))


async def _show(connection: Connection, entities: AbstractSet[Key], facts: AbstractSet[Key]) -> None:
    """Writes passages as items show them by themselves: an item may have been hidden when it was last written."""
    store = Store(connection)
    states = {key: EntityState.from_row(row) for key, row in (await store.lock_entities(sorted(entities))).items()}
    stored = {key: StoredFact.from_row(row) for key, row in (await store.lock_facts(sorted(facts))).items()}
    touched = {key: TouchedEntity(None, state) for key, state in states.items()}
    await write_passages(PassageStore(connection), wanted_passages((), touched, stored, {}))
