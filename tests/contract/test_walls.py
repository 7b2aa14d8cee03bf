"""SH-1: the parts of the system keep apart, and their names say what they are."""

import pytest

from tests.contract.contract import ROOT
from tests.contract.walls import violations

FOLDERS = ("services", "shared", "cli", "bench", "protos/palimpsest")


def sources() -> list[str]:
    """The files of the system, relative to its root, but for those that the generator writes."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(str(path.relative_to(ROOT)) for path in found if "_pb2" not in path.name)


def test_walls_stand() -> None:
    """SH-1: no import passes a wall, no name is vague, and each `__init__.py` is one sentence."""
    found = [one for path in sources() for one in violations(path, (ROOT / path).read_text())]
    assert found == []


def test_the_check_sees_the_whole_system() -> None:
    """SH-1: every part is among the files that are checked."""
    parts = {path.split("/")[0] for path in sources()}
    assert {"services", "shared", "cli", "protos"} <= parts
    assert len(sources()) > 40


def test_folders_of_code_are_packages() -> None:
    """SH-1: each folder of code says in one sentence what lives there."""
    folders = {(ROOT / path).parent for path in sources()}
    assert sorted(str(folder) for folder in folders if not (folder / "__init__.py").exists()) == []


@pytest.mark.parametrize(
    ("path", "source", "why"),
    [
        ("services/reader/servicer.py", "from services.writer import store", "no other service"),
        ("services/reader/servicer.py", "import services.writer.projection.rows", "no other service"),
        ("services/reader/queries/search.py", "def f():\n    from services import embedder", "no other service"),
        ("shared/labels.py", "from services.reader import store", "shared imports no service"),
        ("shared/labels.py", "if True:\n    import services", "shared imports no service"),
        ("shared/labels.py", "from . import halfvec", "absolute"),
        ("services/writer/commands/record.py", "import asyncpg", "import asyncpg"),
        ("shared/server.py", "from asyncpg import Pool", "import asyncpg"),
        ("services/embedder/batcher.py", "import torch.nn", "model's library"),
        ("services/reader/retrieval/fusion.py", "from sentence_transformers import CrossEncoder", "model's library"),
        ("services/reader/retrieval/fusion.py", "from palimpsest.v1 import reader_service_pb2", "import messages"),
        ("services/writer/store.py", "from palimpsest.v1.fact_pb2 import Fact", "import messages"),
        ("shared/labels.py", "import palimpsest.v1.fact_pb2 as pb", "import messages"),
        ("shared/validation.py", "from palimpsest.v1.fact_pb2 import Fact", "import messages"),
        ("shared/utils.py", "", "utils says nothing"),
        ("shared/text_helpers.py", "", "text_helpers says nothing"),
        ("cli/common/output.py", "", "common says nothing"),
        ("shared/pool.py", "class PoolManager:\n    pass", "PoolManager says nothing"),
        ("services/base.py", "", "base says nothing"),
        ("shared/__init__.py", "", "one sentence"),
        ("shared/__init__.py", '"""One. Two."""', "one sentence"),
        ("shared/__init__.py", '"""One."""\nimport os', "one sentence"),
    ],
)
def test_a_breach_is_found(path: str, source: str, why: str) -> None:
    """SH-1: the check finds a planted breach of each wall, and nothing else."""
    found = violations(path, source)
    assert found
    assert all(why in one and one.startswith(path) for one in found)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("services/writer/store.py", "import asyncpg"),
        ("services/writer/passage_store.py", "import asyncpg"),
        ("shared/database.py", "import asyncpg"),
        ("shared/schema/migrate.py", "import asyncpg"),
        ("services/embedder/backends/sentence_transformers.py", "import torch"),
        ("services/reader/servicer.py", "from palimpsest.v1 import reader_service_pb2"),
        ("services/reader/messages.py", "from palimpsest.v1 import reader_service_pb2"),
        ("services/reader/embedder_client.py", "from palimpsest.v1 import embedder_service_pb2"),
        ("services/writer/projection/project.py", "from palimpsest.v1 import observation_pb2"),
        ("shared/validation.py", "from palimpsest.v1.limits_pb2 import FieldLimits"),
        ("shared/interceptors/status.py", "from palimpsest.v1.item_error_pb2 import ItemError"),
        ("shared/database.py", "from collections import abc\nimport services_of_another_kind"),
        ("shared/database.py", "class Database:\n    pass"),
        ("cli/main.py", "from services.writer import servicer\nfrom palimpsest.v1 import fact_pb2"),
        ("shared/__init__.py", '"""What the services share: the database, errors, e.g. timeouts."""'),
    ],
)
def test_what_is_allowed_is_not_found(path: str, source: str) -> None:
    """SH-1: the walls have doors."""
    assert violations(path, source) == []
