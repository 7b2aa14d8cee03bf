"""`palimpsest reembed`, against a running writer (EM-5)."""

import asyncio
import json
from dataclasses import dataclass

from typer.testing import CliRunner

from cli.failure import ExitCode, Failure
from cli.main import app
from tests.integration.changing_models import System, WordModel, embedding, system
from tests.integration.writing import document, observation
from tests.ports import free_port


@dataclass(frozen=True)
class Ended:
    """How a command ended: its output, and its exit code."""

    out: str
    code: int


async def palimpsest(running: System, *arguments: str) -> Ended:
    """Runs a command in a thread, as its calls block."""
    command = [*arguments, "--target", running.writer.target]
    result = await asyncio.to_thread(CliRunner().invoke, app, command, env={"COLUMNS": "300"})
    if isinstance(result.exception, Failure):
        return Ended(str(result.exception), result.exception.code)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Ended(result.output, result.exit_code)


async def test_a_change_from_the_command_line(dsn: str):
    """EM-5: start, status, switch, rollback and drop, each with what it says and its exit code."""
    old, new = WordModel("a"), WordModel("z", 48)
    async with embedding(old) as first, embedding(new) as second, system(dsn, first, second) as running:
        await running.writer.record(observation("1", document("doc:1", "one text")), wait_for_embedding=True)

        nothing = await palimpsest(running, "reembed", "switch")
        assert (nothing.code, "reembed start" in nothing.out) == (ExitCode.NOTHING, True)
        back = await palimpsest(running, "reembed", "rollback")
        assert (back.code, "nothing to go back to" in back.out) == (ExitCode.FAILED, True)
        told = await palimpsest(running, "reembed", "status")
        assert f"palimpsest reembed start {new.id}" in told.out

        started = await palimpsest(running, "reembed", "start", "--wait", "--json")
        assert (started.code, json.loads(started.out)["fingerprint"]) == (ExitCode.OK, new.id)
        rows = (await palimpsest(running, "reembed", "status")).out.splitlines()
        assert [row.split()[3] for row in rows if row.startswith("fp-")] == ["active", "building"]

        switched = await palimpsest(running, "reembed", "switch", "--wait")
        assert (switched.code, new.id in switched.out) == (ExitCode.OK, True)
        refused = await palimpsest(running, "reembed", "drop", new.id)
        assert (refused.code, "are searched" in refused.out) == (ExitCode.FAILED, True)
        assert (await palimpsest(running, "reembed", "drop", "vectors")).code == ExitCode.USAGE
        assert old.id in (await palimpsest(running, "reembed", "rollback")).out
        assert "1 vectors dropped" in (await palimpsest(running, "reembed", "drop", new.id)).out
        [only] = json.loads((await palimpsest(running, "reembed", "status", "--json")).out)["spaces"]
        assert (only["fingerprint"], only["state"]) == (old.id, "EMBEDDING_SPACE_STATE_ACTIVE")


async def test_another_model_is_told_with_the_way_out(dsn: str):
    """EM-4, EM-5, fault 21: `reembed status` and `status` name both models, and what to do."""
    old, new = WordModel("a"), WordModel("z", 48)
    port = free_port()
    async with embedding(old, port) as target, system(dsn, target) as running:
        await running.until_whole(old.id)
    async with embedding(new, port), system(dsn, target) as running:
        for command in (("reembed", "status"), ("status",)):
            told = " ".join((await palimpsest(running, *command)).out.split())
            assert f"searched are vectors of {old.id}, served is {new.id}" in told
            assert "palimpsest reembed start" in told
