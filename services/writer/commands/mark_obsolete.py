"""MarkObsolete: a fact or record is obsolete, named by its id or by the whole of its text (FA-9)."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.writer.applier import namespace_lock_key
from services.writer.fact_store import FactStore
from services.writer.mark_store import ENTITY, FACT, Marked, MarkStore, Operator
from services.writer.marking import mark, where_true
from services.writer.store import Store
from shared.database import Connection, Database
from shared.errors import AmbiguousMatch, NotFound
from shared.intervals import with_interval
from shared.normal_form import normal_form

_MOST_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class Obsolescence:
    """Why something is obsolete, and which observations show it."""

    reason: str
    evidence_observation_ids: Sequence[str]


async def mark_obsolete(
    database: Database, item: Marked, operator: Operator, why: Obsolescence, *, timeout_s: float | None
) -> tuple[bool, str]:
    """Whether it was marked before, and a token. Raises NotFound."""

    async def set_obsolete(marks: MarkStore, archived: bool) -> bool:
        return not await marks.set_obsolete(why.reason, why.evidence_observation_ids, operator.subject)

    return await mark(
        database,
        item,
        operator,
        set_obsolete,
        action="mark_obsolete",
        telling=lambda already: where_true(not already),
        reason=why.reason,
        timeout_s=timeout_s,
    )


async def exactly_said(
    database: Database, namespace: str, text: str, operator: Operator, *, timeout_s: float | None
) -> Marked:
    """The one visible thing that has just this text, in normal form: a fact with this sentence, with its interval or
    without, or an entity or record with this title or whole text.

    Likeness never chooses. Raises NotFound where there is none, AmbiguousMatch where there are several.
    """

    async def find(connection: Connection) -> list[Marked]:
        await Store(connection).lock_namespaces([(namespace_lock_key(namespace), False)])
        store = FactStore(connection, namespace, operator)
        facts = await _facts_said(store, text)
        entities = await store.entities_said(text, _MOST_CANDIDATES)
        return [*(Marked(namespace, FACT, key) for key in facts), *(Marked(namespace, ENTITY, key) for key in entities)]

    found = await database.transaction(find, timeout_s=timeout_s)
    if not found:
        raise NotFound("item")
    if len(found) > 1:
        raise AmbiguousMatch([item.key for item in found[:_MOST_CANDIDATES]])
    return found[0]


async def _facts_said(store: FactStore, text: str) -> list[str]:
    # A sentence may end in brackets of its own, so both readings are looked up.
    bare = text[: text.rindex(" (")] if text.endswith(")") and " (" in text else text
    wanted = normal_form(text)
    return [
        row["key"]
        for row in await store.facts_said([text, bare], _MOST_CANDIDATES)
        if wanted
        in {
            normal_form(row["sentence"]),
            normal_form(with_interval(row["sentence"], row["valid_from"], row["valid_to"])),
        }
    ]
