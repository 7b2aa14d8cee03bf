"""Writers that die while they make the schema: the next one goes on, and in the end the schema is as it should be."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

from shared.embedded_postgres import EmbeddedPostgres
from tests.faults.crash.dying import Shot
from tests.faults.crash.ground import create_database
from tests.faults.crash.killing import Toll
from tests.faults.crash.plan import AT_RANDOM, Plan
from tests.faults.crash.points import MIGRATION
from tests.faults.crash.system import System
from tests.integration.writing import query

_KILLS_A_DATABASE = 8
_PATIENCE_S, _LONGEST_S = 5.0, 1.0


async def kill_migrations(
    postgres: EmbeddedPostgres, expected: str, folder: Path, kills: int, chosen: Random, toll: Toll
) -> None:
    """Kills writers that start on empty databases; `expected` is the name of one whose schema was made undisturbed."""
    plan = Plan(MIGRATION, kills, chosen, patience_s=_PATIENCE_S, lasts_s=_LONGEST_S)
    whole, number = schema_of(postgres, expected), 0
    while not plan.is_done and not toll.is_hopeless:
        name = f"migrated_{number}"
        number += 1
        await create_database(postgres, name)
        system = System(postgres.dsn(name), folder / name, names=("writer-1",))
        _kill_some(system, plan, toll)
        survivor = system.life("writer-1")
        while not await _is_migrated(postgres, name) and not survivor.wait(0.1):
            pass
        survivor.stop()
        if schema_of(postgres, name) != whole:
            toll.faults.append(f"the schema that killed writers made in {name} is not that of an undisturbed one")


def schema_of(postgres: EmbeddedPostgres, name: str) -> Sequence[str]:
    """All that defines the schema of a database, and which migrations it has."""
    command = [str(postgres.program("pg_dump")), "--schema-only", "--no-owner", postgres.dsn(name)]
    dumped = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    # A key that is another each time.
    return [line for line in dumped if not line.startswith(("\\restrict", "\\unrestrict"))]


def _kill_some(system: System, plan: Plan, toll: Toll) -> None:
    """As many as one database is for. Once the schema is there, no point of it is passed any more."""
    for _ in range(_KILLS_A_DATABASE):
        aim = plan.take()
        if aim is None:
            return
        life = system.life("writer-1", aim.shot)
        if life.wait(aim.after_s):
            if life.was_killed:
                toll.died(aim.shot.point if aim.shot else AT_RANDOM)
            else:
                toll.ended("writer-1", life, system.folder / "writer-1.log")
        elif life.kill():
            toll.died(AT_RANDOM)
            if aim.shot:
                plan.missed(Shot(aim.shot.point, 1))
        if aim.shot and aim.shot.point == "migrate: committed":
            return


async def _is_migrated(postgres: EmbeddedPostgres, name: str) -> bool:
    [row] = await query(postgres.dsn(name), "SELECT to_regclass('schema_migrations') IS NOT NULL AS is_there")
    return bool(row["is_there"])
