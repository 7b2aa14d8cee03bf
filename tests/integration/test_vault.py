"""Complete passes over a folder: what a pass does not meet is removed, and nothing else is (DO-5)."""

import asyncio

import pytest
from palimpsest.v1.reference_pb2 import ORIGIN_AGENT, ORIGIN_VAULT

from tests.conftest import created
from tests.integration.retaining import Memory, identity, link_to, remembering, waiting_link
from tests.integration.serving import failure, reason
from tests.integration.writing import entity, fact, observation, state


@pytest.fixture
async def memory(dsn: str):
    async with remembering(dsn) as made:
        yield made


async def walk(memory: Memory, files: dict[str, str], *, run: str | None = None, complete: bool = True, **fields):
    """A pass over files by path; each text's revision is the text."""
    run = run or await memory.begin()
    for path, text in files.items():
        await memory.retain(
            f"doc:{path}", text, source=identity(path, text), article_source_path=path, vault_run_id=run, **fields
        )
    return await memory.complete(run) if complete else run


async def documents(memory: Memory) -> list[str]:
    return [row["entity_key"] for row in await memory.writer.rows("SELECT entity_key FROM documents ORDER BY 1")]


async def test_a_complete_run_removes_what_it_did_not_meet(memory: Memory):
    """DO-5: text, passages, links, entity and evidence of a file that is gone are gone; what was met stays."""
    run = await walk(memory, {"a.md": "alpha file"}, complete=False)
    assert (await walk(memory, {"b.md": "beta file"}, run=run, links=[link_to("doc:b.md", "topic:x")])).met == 2
    assert (await memory.entity("doc:a.md")).origin == ORIGIN_VAULT
    assert (await memory.entity("doc:a.md")).kind == "document"
    swept = await walk(memory, {"a.md": "alpha file"})
    assert (swept.met, swept.removed, list(swept.removed_keys)) == (1, 1, ["doc:b.md"])
    assert await documents(memory) == ["doc:a.md"]
    assert reason(await failure(memory.entity("doc:b.md"))) == "NOT_FOUND"
    assert await memory.found("beta") == []
    assert await memory.found("alpha") != []
    for table in ("passages", "documents", "entities", "entity_evidence", "links", "link_evidence"):
        rows = await memory.writer.rows(f"SELECT to_jsonb(t)::text AS row FROM {table} AS t")
        assert not [row for row in rows if "doc:b.md" in row["row"] and "doc:a.md" not in row["row"]], table


async def test_the_state_is_that_of_a_memory_that_never_saw_it(dsn: str, postgres, template):
    """DO-5, OB-7: after a sweep the state is what the remaining files alone give."""
    async with remembering(dsn) as memory, created(postgres, template) as other, remembering(other) as fresh:
        files = {"a.md": "alpha", "c.md": "gamma"}
        links = {"links": [link_to("doc:a.md", "topic:x"), waiting_link("doc:a.md", "b.md")]}
        await walk(memory, files | {"b.md": "beta"}, **links)
        assert "doc:b.md" in await memory.neighbors("doc:a.md")
        await walk(memory, files, **links)
        await walk(fresh, files, **links)
        assert await state(dsn) == await state(other)


async def test_a_file_that_comes_back_is_there_again(memory: Memory):
    """DO-5: the same file with the same text after a sweep is stored anew, not taken for a duplicate."""
    files = {"a.md": "alpha", "b.md": "beta"}
    await walk(memory, files)
    await walk(memory, {"a.md": "alpha"})
    await walk(memory, files)
    assert await documents(memory) == ["doc:a.md", "doc:b.md"]
    assert await memory.found("beta") != []


async def test_an_older_form_that_comes_back_replaces_the_newer(memory: Memory):
    """DO-5: the folder is the truth: a file that goes back to an older text has that text, and its links only."""
    await walk(memory, {"a.md": "first"}, minutes=1, links=[link_to("doc:a.md", "topic:old")])
    await walk(memory, {"a.md": "second"}, minutes=2, links=[link_to("doc:a.md", "topic:new")])
    assert (await memory.source("doc:a.md")).text == "second"
    assert await memory.neighbors("doc:a.md") == ["topic:new"]
    assert (await walk(memory, {"a.md": "first"}, minutes=1, links=[link_to("doc:a.md", "topic:old")])).removed == 0
    assert (await memory.source("doc:a.md")).text == "first"
    assert await memory.found("second") == []
    assert await memory.neighbors("doc:a.md") == ["topic:old"]


async def test_an_unchanged_file_is_met(memory: Memory):
    """DO-5: a file whose observation is a duplicate counts as met, also where its particulars differ."""
    await walk(memory, {"a.md": "alpha"})
    run = await memory.begin()
    conflict = memory.retain(
        "doc:a.md", "alpha", source=identity("a.md", "alpha"), vault_run_id=run, article_source_path="elsewhere.md"
    )
    assert reason(await failure(conflict)) == "OBSERVATION_CONFLICT"
    swept = await memory.complete(run)
    assert (swept.met, swept.removed) == (1, 0)
    assert (await walk(memory, {"a.md": "alpha"})).met == 1
    assert await documents(memory) == ["doc:a.md"]


async def test_an_interrupted_run_removes_nothing(memory: Memory):
    """DO-5: a run that is never completed removes nothing, whatever it met."""
    await walk(memory, {"a.md": "alpha", "b.md": "beta"})
    await walk(memory, {"a.md": "alpha"}, complete=False)
    assert await documents(memory) == ["doc:a.md", "doc:b.md"]
    await walk(memory, {"b.md": "beta"}, complete=False)
    assert await documents(memory) == ["doc:a.md", "doc:b.md"]


async def test_data_of_agents_is_never_swept(memory: Memory):
    """DO-5: what agents said of a swept document stays, and so does the entity; only the vault's part goes."""
    await walk(memory, {"a.md": "alpha", "b.md": "beta"}, scopes=["project:x"])
    await memory.writer.record(observation("1", fact("doc:b.md", "OWNED_BY", "person:alice")))
    await memory.writer.record(observation("2", entity("doc:b.md", title="Alice's title"), minutes=-5))
    await memory.retain("doc:own", "an agent's article", source=identity("own"))
    assert (await memory.entity("doc:own")).origin == ORIGIN_AGENT
    assert (await walk(memory, {"a.md": "alpha"}, scopes=["project:x"])).removed == 1
    left = await memory.entity("doc:b.md")
    assert (left.title, left.origin, list(left.scopes)) == ("Alice's title", ORIGIN_AGENT, [])
    assert (await memory.source("doc:b.md")).text == ""
    assert await memory.neighbors("doc:b.md") == ["person:alice"]
    assert await documents(memory) == ["doc:a.md", "doc:own"]


async def test_what_an_agent_retained_first_does_not_become_the_vaults(memory: Memory):
    """DO-5: an article that was stored without a run is an agent's, even if a run delivers it again."""
    await memory.retain("doc:a.md", "alpha", source=identity("a.md", "alpha"))
    run = await memory.begin()
    await memory.retain("doc:b.md", "beta", source=identity("b.md", "beta"), vault_run_id=run)
    await memory.complete(run)
    await walk(memory, {})
    assert await documents(memory) == ["doc:a.md"]


async def test_a_dry_run_only_counts(memory: Memory):
    """DO-5: `dry_run` tells what would go, changes nothing, and leaves the run open."""
    await walk(memory, {"a.md": "alpha", "b.md": "beta"})
    run = await walk(memory, {"a.md": "alpha"}, complete=False)
    before = await state(memory.writer.dsn)
    would = await memory.complete(run, dry_run=True)
    assert (would.met, would.removed, list(would.removed_keys)) == (1, 1, ["doc:b.md"])
    assert await state(memory.writer.dsn) == before
    done = await memory.complete(run)
    again = await memory.complete(run)
    assert [(one.met, one.removed, list(one.removed_keys)) for one in (done, again)] == [(1, 1, ["doc:b.md"])] * 2


async def test_runs_that_cross(memory: Memory):
    """DO-5: an older run cannot sweep after a newer one, nor what a newer open one met; vaults are apart."""
    await walk(memory, {"a.md": "alpha"})
    older = await memory.begin()
    newer = await walk(memory, {"b.md": "beta"}, complete=False)
    await memory.retain("doc:c.md", "gamma", source=identity("c.md"), vault_run_id=await memory.begin("other"))
    swept = await memory.complete(older)
    assert list(swept.removed_keys) == ["doc:a.md"]
    assert await documents(memory) == ["doc:b.md", "doc:c.md"]
    late = await memory.begin()
    await memory.complete(await memory.begin())
    assert reason(await failure(memory.complete(late))) == "INVALID_STATE"
    assert reason(await failure(memory.complete(newer))) == "INVALID_STATE"
    assert await documents(memory) == ["doc:c.md"]


async def test_a_run_that_is_over_takes_nothing_more(memory: Memory):
    """DO-5: an unknown run is NOT_FOUND, a completed one INVALID_STATE, and the article is not stored."""
    run = await memory.begin()
    await memory.complete(run)
    assert reason(await failure(memory.retain("doc:a", "a", vault_run_id=run))) == "INVALID_STATE"
    assert reason(await failure(memory.retain("doc:a", "a", vault_run_id="run-unknown"))) == "NOT_FOUND"
    assert reason(await failure(memory.complete("run-unknown"))) == "NOT_FOUND"
    assert await documents(memory) == []
    assert await memory.writer.rows("SELECT FROM observations") == []


async def test_completing_while_others_write(memory: Memory):
    """DO-5: runs and agents that write at the same time lose nothing."""
    await walk(memory, {f"{number}.md": f"text {number}" for number in range(6)})
    run = await walk(memory, {"0.md": "text 0"}, complete=False)
    agents = [memory.writer.record(observation(str(n), fact(f"doc:{n}.md", "IS", "kept"))) for n in range(6)]
    await asyncio.gather(memory.complete(run), *agents)
    assert await documents(memory) == ["doc:0.md"]
    assert len(await memory.writer.rows("SELECT FROM facts")) == 6
    assert len([key for key in await memory.entity_keys(include_placeholders=True) if key.startswith("doc:")]) == 6
