"""Faults by which others' memories showed what was private."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from palimpsest.v1 import reader_service_pb2 as pb

from shared.embedded_postgres import EmbeddedPostgres
from tests.conftest import created
from tests.integration.reader_seed import NOON, Seed, seeding
from tests.integration.writing import NAMESPACE
from tests.property.asking import QUESTIONS, Asker, Known, answers, differing
from tests.property.memories import reading, set_clocks, three_days_ago
from tests.unit.granting import entry, grants_file

CANARY = "Zugzwang"
HIDDEN_KEY = "project:zugzwang"
KEYS = ("person:ann", HIDDEN_KEY, "service:gate", "page:1", "nothing:here")
QUERIES = ("Zugzwang of Ann and the gate", "who works on project zugzwang", "zugzwnag")


async def store(seed: Seed, *, with_hidden: bool) -> list[str]:
    """Ann, a gate and a page are known to all; what stands between them is not. All evidence is everybody's."""
    said = await seed.observation("1", "Ann and the gate", uri="https://example.org/1")
    for key, title in (("person:ann", "Ann"), ("service:gate", "The gate"), ("page:1", "A page about Ann")):
        await seed.entity(key, title=title, observations=[said])
        await seed.passage(3, key, title)
    await seed.link("page:1", "MENTIONS", "person:ann", [said])
    facts = [await seed.fact("person:ann", "KEEPS", "service:gate", [said])]
    if not with_hidden:
        return facts
    await seed.entity(HIDDEN_KEY, title=CANARY, aliases=[CANARY], observations=[said], scopes=["role:board"])
    await seed.passage(3, HIDDEN_KEY, CANARY, scopes=["role:board"])
    await seed.passage(1, HIDDEN_KEY, f"{CANARY} is secret", scopes=["role:board"], observation_id=said)
    facts += [
        await seed.fact("person:ann", "WORKS_ON", HIDDEN_KEY, [said]),
        await seed.fact(HIDDEN_KEY, "DEPENDS_ON", "service:gate", [said]),
    ]
    await seed.link("page:1", "MENTIONS", HIDDEN_KEY, [said])
    await seed.link(HIDDEN_KEY, "PART_OF", "service:gate", [said])
    for number, pair in enumerate(((HIDDEN_KEY, "service:gate"), ("page:1", HIDDEN_KEY))):
        await seed._insert(
            "duplicate_proposals",
            proposal_id=f"dup-{number}",
            first_key=pair[0],
            second_key=pair[1],
            score=0.9,
            reason=CANARY,
        )
    await seed._insert(
        "link_claims",
        source_key=HIDDEN_KEY,
        relation="MENTIONS",
        target_kind="issue",
        target_ref="7",
        observation_ids=[said],
    )
    return facts


async def test_a_private_entity_between_open_ones(postgres: EmbeddedPostgres, template: str, tmp_path: Path) -> None:
    """AC-6, NS-1, fault 24: a private entity in the middle of a two-step path and as the end of facts and links, which
    everybody's observations speak of. Through each RPC an outsider gets what it would get if it were not there: no
    title of a link's end, no step over it, no difference in counts, errors or suggestions; its name is in no answer."""
    grants = grants_file(
        tmp_path, entry("outsider", "out", grants=[{"namespaces": [NAMESPACE], "permissions": ["read"]}])
    )
    begun, known, found = three_days_ago(), Known((), (), (), ()), []
    async with AsyncExitStack() as stack:
        for with_hidden in (True, False):
            dsn = await stack.enter_async_context(created(postgres, template))
            async with seeding(dsn, NAMESPACE) as seed:
                facts = await store(seed, with_hidden=with_hidden)
                await set_clocks(seed.connection, begun)
                await seed.connection.execute("UPDATE changes SET known_at = $1", begun)
                ids = [row[0] for row in await seed.connection.fetch("SELECT observation_id FROM observations")]
            known = Known(KEYS, facts, ids, QUERIES) if with_hidden else known
            asker = Asker(await stack.enter_async_context(reading(dsn, grants)), "out", known)
            found.append([answer for method in QUESTIONS for answer in await answers(asker, method)])
    faults = differing(found[1], found[0])
    assert not faults, "\n".join(faults)
    # What the asking one said itself is told back in its traces and verdicts, and nowhere else.
    named = [asked for asked, shown in found[0] if CANARY.encode() in shown]
    assert {asked.split(" ")[0] for asked in named} <= {"GetContextTrace", "Verify"}
    assert {each.name for each in pb.DESCRIPTOR.services_by_name["ReaderService"].methods} >= set(QUESTIONS)


async def test_the_ids_of_hidden_facts_that_closed_an_open_one(
    postgres: EmbeddedPostgres, template: str, tmp_path: Path
) -> None:
    """AC-6: an open fact that hidden facts closed, and that closed hidden ones, is closed for all, and names them to
    nobody who may not see them: an id can be guessed from what it stands for. Hidden by label, evidence or end."""
    grants = grants_file(
        tmp_path,
        entry("outsider", "out", grants=[{"namespaces": [NAMESPACE], "permissions": ["read"]}]),
        entry("insider", "in", grants=[{"namespaces": [NAMESPACE], "permissions": ["read"]}], labels=["role:board"]),
    )
    async with created(postgres, template) as dsn:
        async with seeding(dsn, NAMESPACE) as seed:
            said = await seed.observation("1", "Ann lives somewhere")
            whispered = await seed.observation("2", "Ann lives elsewhere", scopes=["role:board"])
            for key in ("person:ann", "place:rome", "place:oslo", "place:bonn", "place:lima"):
                scopes = ["role:board"] if key == "place:bonn" else []
                await seed.entity(key, title=key, observations=[said], scopes=scopes)
            by_label = await seed.fact("person:ann", "LIVES_IN", "place:oslo", [said], scopes=["role:board"])
            by_end = await seed.fact("person:ann", "LIVES_IN", "place:bonn", [said])
            by_evidence = await seed.fact("person:ann", "LIVES_IN", "place:lima", [whispered])
            hidden = sorted((by_label, by_end, by_evidence))
            shown = await seed.fact("person:ann", "LOVES", "place:rome", [said])
            closed = await seed.fact(
                "person:ann",
                "LIVES_IN",
                "place:rome",
                [said],
                valid_to=NOON,
                closure=1,
                supersedes=hidden,
                superseded_by=sorted((*hidden, shown)),
            )
        async with reading(dsn, grants) as channel:
            known = Known(KEYS, [closed], [said], ("where does Ann live",))
            outsider = Asker(channel, "out", known)
            told = [answer for method in QUESTIONS for answer in await answers(outsider, method)]
            assert any(closed.encode() in shown for _, shown in told)
            betrayed = [asked for asked, answer in told if any(each.encode() in answer for each in hidden)]
            request = pb.GetFactRequest(namespace=NAMESPACE, fact_id=closed)
            seen = await outsider.ask("GetFact", request)
            everything = await Asker(channel, "in", known).ask("GetFact", request)
    assert not betrayed
    assert (list(seen.fact.superseded_by), list(seen.fact.supersedes)) == ([shown], [])
    assert list(everything.fact.superseded_by) == sorted((*hidden, shown))
    assert list(everything.fact.supersedes) == hidden
